//! `.pcd` files of the Point Cloud Library: text, binary, and binary compressed by LZF.
//!
//! The sensor's viewpoint in the header is ignored: points are in the sensor's frame.

use super::gather::{Gather, MOST_POINTS, too_many};
use quasistep_mesh::{Fault, Lines, Place, Scalar, number, shown, words};

#[derive(Debug, Default)]
struct Header {
    names: Vec<String>,
    sizes: Vec<usize>,
    kinds: Vec<String>,
    counts: Vec<usize>,
    width: Option<usize>,
    height: Option<usize>,
    points: Option<usize>,
    /// Line of the field names in the file.
    line: usize,
}

/// A field that is read: its type and position in a point.
#[derive(Clone, Copy, Debug)]
struct Column {
    kind: Scalar,
    /// Numbers of a point before this field.
    words: usize,
    /// Bytes of a point before this field.
    offset: usize,
}

/// Layout given by the header.
#[derive(Debug)]
struct Layout {
    n: usize,
    /// Columns of x, y, z, and of the normal's components if present.
    columns: Vec<Column>,
    /// Numbers per point.
    words: usize,
    /// Bytes per point.
    stride: usize,
}

pub(super) fn read(bytes: &[u8], gather: &mut Gather) -> Result<(), Fault> {
    let mut lines = Lines::new(bytes);
    let mut header = Header::default();
    while let Some(line) = lines.next() {
        let n = lines.number();
        let mut row = words(line.split(|b| *b == b'#').next().unwrap_or_default());
        let Some(key) = row.next() else { continue };
        let wrong = || Fault::line(n, format!("{} is no line of a pcd header", shown(line)));
        let mut texts: Vec<&str> = Vec::new();
        for word in row {
            texts.push(std::str::from_utf8(word).map_err(|_| wrong())?);
        }
        let count = |text: &str| {
            text.parse::<usize>()
                .map_err(|_| Fault::line(n, format!("`{text}` is no number that fits here")))
        };
        let all = |texts: &[&str]| texts.iter().map(|t| count(t)).collect::<Result<Vec<_>, _>>();
        let one = |texts: &[&str]| match texts {
            [text] => count(text).map(Some),
            _ => Err(wrong()),
        };
        match key {
            b"VERSION" | b"VIEWPOINT" => {}
            b"FIELDS" | b"COLUMNS" => {
                header.names = texts.iter().map(|&t| t.to_owned()).collect();
                header.line = n;
            }
            b"SIZE" => header.sizes = all(&texts)?,
            b"TYPE" => header.kinds = texts.iter().map(|&t| t.to_owned()).collect(),
            b"COUNT" => header.counts = all(&texts)?,
            b"WIDTH" => header.width = one(&texts)?,
            b"HEIGHT" => header.height = one(&texts)?,
            b"POINTS" => header.points = one(&texts)?,
            b"DATA" => {
                let layout = layout(&header, gather.wants_normals(), n)?;
                return match *texts.as_slice() {
                    ["ascii"] => read_text(&layout, &mut lines, gather),
                    ["binary"] => read_binary(&layout, bytes, lines.offset(), gather),
                    ["binary_compressed"] => {
                        read_compressed(&layout, bytes, lines.offset(), gather)
                    }
                    _ => Err(wrong()),
                };
            }
            _ => return Err(wrong()),
        }
    }
    Err(Fault::line(lines.number(), "the header does not end; `DATA` is missing"))
}

fn layout(header: &Header, wants_normals: bool, line: usize) -> Result<Layout, Fault> {
    let fail = |message: String| Err(Fault::line(line, message));
    let fields = header.names.len();
    let counts = if header.counts.is_empty() { vec![1; fields] } else { header.counts.clone() };
    if [header.sizes.len(), header.kinds.len(), counts.len()] != [fields; 3] || fields == 0 {
        return fail(format!(
            "{fields} fields, {} sizes, {} types and {} counts were seen; give as many of each",
            header.sizes.len(),
            header.kinds.len(),
            counts.len()
        ));
    }
    let n = match (header.points, header.width, header.height) {
        (Some(n), None, None) => n,
        (points, Some(w), h) => {
            let n = w.saturating_mul(h.unwrap_or(1));
            if let Some(points) = points.filter(|points| *points != n) {
                return fail(format!("{points} points were promised; width times height is {n}"));
            }
            n
        }
        _ => return fail("neither `POINTS` nor `WIDTH` was seen".into()),
    };
    let mut found: Vec<(&str, usize, Column)> = Vec::new();
    let (mut words, mut stride) = (0_usize, 0_usize);
    for i in 0..fields {
        let (name, size, count) = (header.names[i].as_str(), header.sizes[i], counts[i]);
        let kind = match (header.kinds[i].as_str(), size) {
            ("I", 1) => Scalar::I8,
            ("I", 2) => Scalar::I16,
            ("I", 4) => Scalar::I32,
            ("I", 8) => Scalar::I64,
            ("U", 1) => Scalar::U8,
            ("U", 2) => Scalar::U16,
            ("U", 4) => Scalar::U32,
            ("U", 8) => Scalar::U64,
            ("F", 4) => Scalar::F32,
            ("F", 8) => Scalar::F64,
            (kind, _) => return fail(format!("field `{name}` is `{kind}` of {size} bytes")),
        };
        found.push((name, count, Column { kind, words, offset: stride }));
        words = words.saturating_add(count);
        stride = stride.saturating_add(size.saturating_mul(count));
    }
    let column = |wanted: &str| {
        found.iter().find(|(name, count, _)| *name == wanted && *count == 1).map(|(.., c)| *c)
    };
    let mut columns = Vec::new();
    for name in ["x", "y", "z"] {
        match column(name) {
            Some(column) => columns.push(column),
            None => return Err(Fault::line(header.line, format!("there is no field `{name}`"))),
        }
    }
    let normal = ["normal_x", "normal_y", "normal_z"].map(column);
    if let (true, [Some(x), Some(y), Some(z)]) = (wants_normals, normal) {
        columns.extend([x, y, z]);
    }
    Ok(Layout { n, columns, words, stride })
}

impl Layout {
    fn push(
        &self,
        value: impl Fn(&Column) -> f64,
        gather: &mut Gather,
        place: impl Fn() -> Place,
    ) -> Result<(), Fault> {
        let at = |k: usize| [0, 1, 2].map(|i| value(&self.columns[k + i]));
        let normal = (self.columns.len() == 6).then(|| at(3));
        gather.push(at(0), normal, place)
    }

    fn reserve(&self, gather: &mut Gather) {
        gather.reserve(self.n, self.columns.len() == 6);
    }
}

fn read_text(layout: &Layout, lines: &mut Lines<'_>, gather: &mut Gather) -> Result<(), Fault> {
    // a number and its separator take at least two bytes
    let least = layout.n.saturating_mul(layout.words).saturating_mul(2);
    if least > lines.left() + 1 {
        return Err(Fault::line(
            lines.number(),
            format!("{} points were promised; {} bytes cannot hold them", layout.n, lines.left()),
        ));
    }
    layout.reserve(gather);
    for k in 0..layout.n {
        let Some(line) = lines.next_filled() else {
            return Err(Fault::line(
                lines.number(),
                format!("the file ends after {k} of {} points", layout.n),
            ));
        };
        let n = lines.number();
        let mut values = [0.0; 6];
        let mut seen = 0;
        for word in words(line) {
            if let Some(i) = layout.columns.iter().position(|c| c.words == seen) {
                values[i] = number(word)
                    .ok_or_else(|| Fault::line(n, format!("{} is no number", shown(word))))?;
            }
            seen += 1;
        }
        if seen != layout.words {
            let want = layout.words;
            return Err(Fault::line(n, format!("{seen} numbers were seen; a point has {want}")));
        }
        let [x, y, z, nx, ny, nz] = values;
        let normal = (layout.columns.len() == 6).then_some([nx, ny, nz]);
        gather.push([x, y, z], normal, || Place::Line(n))?;
    }
    match lines.next_filled() {
        None => Ok(()),
        Some(line) => Err(Fault::line(
            lines.number(),
            format!("{} was seen after all {} points", shown(line), layout.n),
        )),
    }
}

fn read_binary(
    layout: &Layout,
    bytes: &[u8],
    start: usize,
    gather: &mut Gather,
) -> Result<(), Fault> {
    let (n, stride) = (layout.n, layout.stride);
    let left = bytes.len() - start;
    let want = n.saturating_mul(stride);
    if want > left {
        let message = format!("{n} points of {stride} bytes were promised; {left} bytes are left");
        return Err(Fault::byte(start, message));
    }
    if !bytes[start + want..].iter().all(u8::is_ascii_whitespace) {
        let message = format!("{} bytes follow all {n} points", left - want);
        return Err(Fault::byte(start + want, message));
    }
    layout.reserve(gather);
    for k in 0..n {
        let at = start + k * stride;
        let value = |c: &Column| c.kind.read(bytes, at + c.offset, false);
        layout.push(value, gather, || Place::Byte(at))?;
    }
    Ok(())
}

/// Reads two lengths, then the numbers of each field for all points, packed by LZF.
fn read_compressed(
    layout: &Layout,
    bytes: &[u8],
    start: usize,
    gather: &mut Gather,
) -> Result<(), Fault> {
    let body = &bytes[start..];
    let length = |k: usize| body.get(4 * k..).and_then(<[u8]>::first_chunk);
    let (Some(packed), Some(whole)) = (length(0), length(1)) else {
        return Err(Fault::byte(start, "the file ends before the lengths of its packed points"));
    };
    let packed = u32::from_le_bytes(*packed) as usize;
    let whole = u32::from_le_bytes(*whole) as usize;
    let body = &body[8..];
    if packed > body.len() {
        let message = format!("{packed} packed bytes were promised; {} are left", body.len());
        return Err(Fault::byte(start, message));
    }
    if layout.n.checked_mul(layout.stride) != Some(whole) {
        let (n, stride) = (layout.n, layout.stride);
        let message = format!("{whole} bytes cannot be {n} points of {stride} bytes");
        return Err(Fault::byte(start + 4, message));
    }
    if layout.n > MOST_POINTS || whole > MOST_PLAIN {
        let message = if layout.n > MOST_POINTS {
            too_many()
        } else {
            format!("{whole} bytes of unpacked points were promised; {MOST_PLAIN} are read")
        };
        return Err(Fault::byte(start + 4, message));
    }
    if whole > packed.saturating_mul(LZF_MOST) {
        let message = format!("{packed} packed bytes cannot become the {whole} promised");
        return Err(Fault::byte(start, message));
    }
    if !body[packed..].iter().all(u8::is_ascii_whitespace) {
        let message = format!("{} bytes follow the packed points", body.len() - packed);
        return Err(Fault::byte(start + 8 + packed, message));
    }
    let plain = unpack(&body[..packed], whole)
        .ok_or_else(|| Fault::byte(start + 8, "the packed points are damaged"))?;
    layout.reserve(gather);
    for k in 0..layout.n {
        let value =
            |c: &Column| c.kind.read(&plain, layout.n * c.offset + k * c.kind.size(), false);
        layout.push(value, gather, || Place::Byte(start + 8))?;
    }
    Ok(())
}

/// Largest size of unpacked points, in bytes: that of the largest file.
const MOST_PLAIN: usize = quasistep_formats::files::MOST_BYTES as usize;

/// Three packed bytes of LZF expand to at most 264 bytes.
const LZF_MOST: usize = 88;

/// Unpacks an LZF stream of known unpacked size; `None` if it is damaged.
///
/// A control byte c < 32 is followed by c + 1 literal bytes. Otherwise its upper three bits are a
/// length less 2 (for 7 the next byte is added). Its lower five bits and the next byte are a
/// backward distance less 1.
fn unpack(packed: &[u8], whole: usize) -> Option<Vec<u8>> {
    // grow as needed: the size promised by a damaged stream is not trusted
    let mut plain = Vec::with_capacity(whole.min(4 * packed.len()));
    let mut rest = packed.iter().copied();
    while let Some(control) = rest.next() {
        if control < 32 {
            for _ in 0..=control {
                plain.push(rest.next()?);
            }
        } else {
            let mut length = usize::from(control >> 5);
            if length == 7 {
                length += usize::from(rest.next()?);
            }
            let back = (usize::from(control & 31) << 8) + usize::from(rest.next()?) + 1;
            let from = plain.len().checked_sub(back)?;
            for k in 0..length + 2 {
                // byte by byte, because source and destination may overlap
                plain.push(plain[from + k]);
            }
        }
        if plain.len() > whole {
            return None;
        }
    }
    (plain.len() == whole).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::unpack;

    /// Hand-written streams, from the description of the format.
    #[test]
    fn lzf_is_unpacked() {
        assert_eq!(unpack(&[2, b'a', b'b', b'c'], 3).unwrap(), b"abc");
        // "abc", then 4 bytes from distance 3, overlapping the output
        assert_eq!(unpack(&[2, b'a', b'b', b'c', 2 << 5, 2], 7).unwrap(), b"abcabca");
        // length 7 + 1 + 2 from distance 1
        assert_eq!(unpack(&[0, b'x', 7 << 5, 1, 0], 11).unwrap(), [b'x'; 11]);
        assert_eq!(unpack(&[2, b'a', b'b', b'c', 2 << 5, 3], 7), None, "before the start");
        assert_eq!(unpack(&[5, b'a'], 6), None, "cut short");
        assert_eq!(unpack(&[0, b'a'], 2), None, "too short");
    }
}
