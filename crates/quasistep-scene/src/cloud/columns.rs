//! Points in text files: `.xyz` and similar formats, and vertices of `.obj` files.

use super::gather::Gather;
use quasistep_mesh::{Fault, Lines, Place, number, shown, words};

/// Columns of a table that are read.
#[derive(Debug)]
struct Columns {
    /// Indices of the columns of x, y, z, and of the normal's components if present.
    of: Vec<usize>,
    /// Number of columns of the table.
    width: usize,
    /// True if column names identify the normal.
    named: bool,
}

/// Fields of a line: separated by commas or semicolons if there are any, else by blanks.
fn cells(line: &[u8]) -> Box<dyn Iterator<Item = &[u8]> + '_> {
    let separator = [b',', b';'].into_iter().find(|s| line.contains(s));
    match separator {
        Some(s) => Box::new(line.split(move |b| *b == s).map(<[u8]>::trim_ascii)),
        None => Box::new(words(line)),
    }
}

fn is_remark(line: &[u8]) -> bool {
    line.starts_with(b"#") || line.starts_with(b"//")
}

/// Reads lines of 3 or 6 numbers: positions, or positions and normals. A header may have comments
/// after `#` or `//`, the number of points, and a line of column names. With the names `x y z` and
/// `nx ny nz`, wider tables can be read. In a `.pts` file, 4 or 7 numbers are a position, a
/// brightness, and a colour.
pub(super) fn read_xyz(bytes: &[u8], is_pts: bool, gather: &mut Gather) -> Result<(), Fault> {
    let mut lines = Lines::new(bytes);
    let mut promised: Option<(usize, usize)> = None;
    let mut columns: Option<Columns> = None;
    let mut started = false;
    while let Some(line) = lines.next_filled() {
        let n = lines.number();
        if is_remark(line) {
            continue;
        }
        if !started {
            let mut row = cells(line);
            let first = row.next().unwrap_or_default();
            if number(first).is_none() {
                if columns.is_some() || promised.is_some() {
                    return Err(no_number(n, first));
                }
                columns = named(line, gather.wants_normals());
                continue;
            }
            if row.next().is_none() && promised.is_none() {
                let count = std::str::from_utf8(first).ok().and_then(|text| text.parse().ok());
                promised = Some((count.ok_or_else(|| no_number(n, first))?, n));
                continue;
            }
            started = true;
        }
        if columns.is_none() {
            columns = Some(unnamed(n, cells(line).count(), is_pts)?);
        }
        let Some(columns) = &columns else { continue };
        read_row(line, n, columns, gather)?;
    }
    match promised {
        Some((count, line)) if count != gather.n_read() => Err(Fault::line(
            line,
            format!("{count} points were promised; {} follow", gather.n_read()),
        )),
        _ => Ok(()),
    }
}

/// Columns identified by a line of names; `None` unless x, y and z are among them.
fn named(line: &[u8], wants_normals: bool) -> Option<Columns> {
    let names: Vec<String> = cells(line)
        .map(|name| String::from_utf8_lossy(name).trim_matches('"').to_ascii_lowercase())
        .collect();
    let find = |wanted: [&str; 3]| -> Option<Vec<usize>> {
        wanted.iter().map(|w| names.iter().position(|name| name == w)).collect()
    };
    let mut of = find(["x", "y", "z"])?;
    if wants_normals {
        of.extend(find(["nx", "ny", "nz"]).unwrap_or_default());
    }
    Some(Columns { of, width: names.len(), named: true })
}

fn unnamed(line: usize, width: usize, is_pts: bool) -> Result<Columns, Fault> {
    match width {
        4 | 7 if is_pts => Ok(Columns { of: vec![0, 1, 2], width, named: true }),
        3 | 6 => Ok(Columns { of: (0..width).collect(), width, named: false }),
        _ => Err(Fault::line(
            line,
            format!(
                "{width} columns were seen; give 3 (x y z), 6 (x y z and a unit normal), or a first \
                 line that names x, y and z"
            ),
        )),
    }
}

fn read_row(line: &[u8], n: usize, columns: &Columns, gather: &mut Gather) -> Result<(), Fault> {
    let mut values = [0.0; 6];
    let mut seen = 0;
    for cell in cells(line) {
        if let Some(role) = columns.of.iter().position(|&column| column == seen) {
            values[role] = number(cell).ok_or_else(|| no_number(n, cell))?;
        }
        seen += 1;
    }
    if seen != columns.width {
        let width = columns.width;
        return Err(Fault::line(
            n,
            format!("{seen} columns were seen; the lines above have {width}"),
        ));
    }
    let [x, y, z, nx, ny, nz] = values;
    let normal = (columns.of.len() == 6).then_some([nx, ny, nz]);
    // without column names, the last three numbers may be colours; a normal has length 1
    let length = (nx * nx + ny * ny + nz * nz).sqrt();
    let wrong = normal.is_some() && !columns.named && length.is_finite();
    if wrong && gather.wants_normals() && length != 0.0 && !(0.9..=1.1).contains(&length) {
        return Err(Fault::line(
            n,
            format!(
                "columns 4 to 6 are ({nx}, {ny}, {nz}), no unit normal; if they are something else \
                 give `normals: none`"
            ),
        ));
    }
    gather.push([x, y, z], normal, || Place::Line(n))
}

fn no_number(line: usize, word: &[u8]) -> Fault {
    Fault::line(line, format!("{} is no number", shown(word)))
}

/// Reads lines `v x y z`, ignoring further fields, and lines `vn x y z` as normals if there are as
/// many. Other lines are ignored.
pub(super) fn read_obj(bytes: &[u8], gather: &mut Gather) -> Result<(), Fault> {
    let count = |key: &[u8]| Lines::new(bytes).filter(|l| words(l).next() == Some(key)).count();
    let n = count(b"v");
    let normals = gather.wants_normals() && n > 0 && count(b"vn") == n;
    gather.reserve(n, normals);
    let mut directions = Lines::new(bytes);
    let mut lines = Lines::new(bytes);
    while let Some(line) = lines.next() {
        if words(line).next() != Some(b"v") {
            continue;
        }
        let number = lines.number();
        let point = three(line, number)?;
        let normal = if normals {
            directions
                .by_ref()
                .find(|line| words(line).next() == Some(b"vn"))
                .map(|line| three(line, directions.number()))
                .transpose()?
        } else {
            None
        };
        gather.push(point, normal, || Place::Line(number))?;
    }
    Ok(())
}

/// The three numbers after the first word of a line.
fn three(line: &[u8], n: usize) -> Result<[f64; 3], Fault> {
    let mut values = [0.0; 3];
    let mut row = words(line).skip(1);
    for value in &mut values {
        let word = row.next().ok_or_else(|| Fault::line(n, "fewer than 3 numbers were seen"))?;
        *value = number(word).ok_or_else(|| no_number(n, word))?;
    }
    Ok(values)
}
