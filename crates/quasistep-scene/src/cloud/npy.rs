//! NumPy arrays: `.npy` files of versions 1 to 3 with shape (n, 3) or (n, 6).

use super::gather::Gather;
use quasistep_mesh::{Fault, Place, Scalar, shown};

const MAGIC: &[u8] = b"\x93NUMPY";

pub(super) fn read(bytes: &[u8], gather: &mut Gather) -> Result<(), Fault> {
    let Some((MAGIC, rest)) = bytes.split_at_checked(MAGIC.len()) else {
        return Err(Fault::byte(0, "this is no .npy file: it does not start with `\\x93NUMPY`"));
    };
    let cut = || Fault::byte(bytes.len(), "the file ends within its header");
    let [version, _, rest @ ..] = rest else { return Err(cut()) };
    let (length, rest) = match version {
        1 => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        _ => return Err(Fault::byte(6, format!("version {version} was seen; 1 to 3 are read"))),
    };
    let (text, body) = rest.split_at_checked(length).ok_or_else(cut)?;
    let head = bytes.len() - rest.len();
    let text = std::str::from_utf8(text).map_err(|_| Fault::byte(head, "the header is no text"))?;
    let Header { kind, big_endian, fortran, n, width } =
        header(text).map_err(|message| Fault::byte(head, message))?;
    let start = bytes.len() - body.len();
    let size = kind.size();
    let want = n.saturating_mul(width).saturating_mul(size);
    if body.len() != want {
        return Err(Fault::byte(
            start,
            format!(
                "({n}, {width}) numbers of {size} bytes are {want} bytes; {} follow",
                body.len()
            ),
        ));
    }
    gather.reserve(n, width == 6);
    for k in 0..n {
        let place = |j: usize| if fortran { j * n + k } else { k * width + j };
        let three = |j: usize| [0, 1, 2].map(|i| kind.read(body, size * place(j + i), big_endian));
        let normal = (width == 6).then(|| three(3));
        gather.push(three(0), normal, || Place::Byte(start + size * place(0)))?;
    }
    Ok(())
}

/// Array layout given by the header.
#[derive(Debug, PartialEq)]
struct Header {
    kind: Scalar,
    big_endian: bool,
    fortran: bool,
    n: usize,
    width: usize,
}

/// Parses a header such as `{'descr': '<f8', 'fortran_order': False, 'shape': (992, 3), }`.
fn header(text: &str) -> Result<Header, String> {
    let seen = shown(text.trim().as_bytes());
    let after = |key: &str| {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let rest = quoted.iter().find_map(|q| text.split_once(q.as_str()))?.1;
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    };
    let missing = |key: &str| format!("the header {seen} has no `{key}`");

    let descr = after("descr").ok_or_else(|| missing("descr"))?;
    let mut parts = descr.split(['\'', '"']);
    let word = if parts.next() == Some("") { parts.next().unwrap_or_default() } else { "" };
    let (big_endian, kind) = match word {
        "<f4" => (false, Scalar::F32),
        "<f8" => (false, Scalar::F64),
        ">f4" => (true, Scalar::F32),
        ">f8" => (true, Scalar::F64),
        _ => {
            let seen = shown(descr.as_bytes());
            return Err(format!("numbers of kind {seen} were seen; f4 and f8 are read"));
        }
    };
    let order = after("fortran_order").ok_or_else(|| missing("fortran_order"))?;
    let fortran = match order.split([',', '}', ' ']).next() {
        Some("True") => true,
        Some("False") => false,
        _ => return Err(format!("`fortran_order` is neither True nor False in {seen}")),
    };
    let shape = after("shape").ok_or_else(|| missing("shape"))?;
    let inner = shape.strip_prefix('(').and_then(|s| s.split_once(')')).map(|(inner, _)| inner);
    let edges: Option<Vec<usize>> = inner.and_then(|inner| {
        let inner = inner.trim().trim_end_matches(',');
        inner.split(',').map(|edge| edge.trim().parse().ok()).collect()
    });
    let Some(&[n, width @ (3 | 6)]) = edges.as_deref() else {
        let seen = shown(shape.as_bytes());
        return Err(format!("the shape is {seen}; it must be (n, 3) or, with normals, (n, 6)"));
    };
    Ok(Header { kind, big_endian, fortran, n, width })
}
