//! Reader of `.ply` polygon files: text, or binary of either byte order.

use crate::polygon::triangulate;
use crate::{Fault, Lines, Mesh, Place, Scalar, Want, number, shown, words};
use quasistep_math::Vec3;

/// A vertex of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex {
    /// Position, in the file's unit.
    pub point: [f64; 3],
    /// Normal of any length, if the file has normals and they were wanted.
    pub normal: Option<[f64; 3]>,
    /// Red, green, blue, from 0 to 255, if the file has colours.
    pub color: Option<[f64; 3]>,
}

/// Receiver of the vertices and faces of a file, in file order.
pub trait Rows {
    /// True if normals are wanted.
    fn wants_normals(&self) -> bool {
        false
    }

    /// Reserves memory; `count` was checked against the length of the file.
    fn reserve(&mut self, count: usize, normals: bool);

    /// Receives a vertex.
    ///
    /// # Errors
    ///
    /// An error in the vertex; reading then stops.
    fn vertex(&mut self, vertex: &Vertex, place: &dyn Fn() -> Place) -> Result<(), Fault>;

    /// Receives a face: its corners, as indices from 0.
    ///
    /// # Errors
    ///
    /// As for [`Rows::vertex`].
    fn face(&mut self, _corners: &[f64], _place: &dyn Fn() -> Place) -> Result<(), Fault> {
        Ok(())
    }
}

/// Encoding of the data after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Text,
    Binary { big_endian: bool },
}

/// An element of the file, such as `vertex`, with its properties.
#[derive(Debug)]
struct Element {
    name: String,
    count: usize,
    line: usize,
    properties: Vec<Property>,
}

#[derive(Debug)]
struct Property {
    name: String,
    /// Type of the count, if this property is a list.
    list: Option<Scalar>,
    kind: Scalar,
}

impl Element {
    /// Size of one item in bytes, or the smallest possible size if sizes vary.
    fn least_size(&self) -> usize {
        self.properties.iter().map(|p| p.list.unwrap_or(p.kind).size()).sum()
    }

    fn has_lists(&self) -> bool {
        self.properties.iter().any(|p| p.list.is_some())
    }
}

/// Meaning of the properties of a vertex.
#[derive(Debug)]
struct Roles {
    /// Index in [`NAMES`] of each property.
    of: Vec<Option<usize>>,
    normals: bool,
    /// Factor that scales colours to a maximum of 255.
    colors: Option<f64>,
}

/// Properties of a vertex that are read.
const NAMES: [&str; 9] = ["x", "y", "z", "nx", "ny", "nz", "red", "green", "blue"];

/// Reads a file; passes vertices and faces to `gather`.
///
/// # Errors
///
/// An invalid header; a count that exceeds the file's length; no element `vertex`; errors of
/// `gather`.
pub fn read(bytes: &[u8], gather: &mut dyn Rows) -> Result<(), Fault> {
    let (encoding, elements, mut lines) = header(bytes)?;
    let mut roles = None;
    for element in elements.iter().filter(|e| e.name == "vertex") {
        if roles.is_some() {
            return Err(Fault::line(element.line, "a second element `vertex` was seen"));
        }
        roles = Some(find_roles(element, gather.wants_normals())?);
    }
    let Some(roles) = roles else {
        return Err(Fault::new(Place::Whole, "has no element `vertex`; its points are needed"));
    };
    match encoding {
        Encoding::Text => {
            for element in &elements {
                read_text(element, &roles, &mut lines, gather)?;
            }
            match lines.next_filled() {
                None => Ok(()),
                Some(line) => Err(Fault::line(
                    lines.number(),
                    format!("{} was seen after all that the header lists", shown(line)),
                )),
            }
        }
        Encoding::Binary { big_endian } => {
            let mut at = lines.offset();
            for element in &elements {
                at = read_binary(element, &roles, bytes, at, big_endian, gather)?;
            }
            if bytes[at..].iter().all(u8::is_ascii_whitespace) {
                return Ok(());
            }
            let n = bytes.len() - at;
            Err(Fault::byte(at, format!("{n} bytes follow all that the header lists")))
        }
    }
}

/// Encoding, elements, and the lines after the header.
fn header(bytes: &[u8]) -> Result<(Encoding, Vec<Element>, Lines<'_>), Fault> {
    let mut lines = Lines::new(bytes);
    if lines.next().map(<[u8]>::trim_ascii) != Some(b"ply") {
        return Err(Fault::line(1, "the first line is not `ply`; it must be"));
    }
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    while let Some(line) = lines.next() {
        let n = lines.number();
        // comments are skipped
        if matches!(words(line).next(), None | Some(b"comment" | b"obj_info")) {
            continue;
        }
        let text = std::str::from_utf8(line).map_err(|_| unknown(n, line))?;
        let line_words: Vec<&str> = text.split_ascii_whitespace().take(8).collect();
        match *line_words.as_slice() {
            ["format", word, version] => {
                if version != "1.0" {
                    return Err(Fault::line(n, format!("version `{version}`; 1.0 is read")));
                }
                encoding = Some(match word {
                    "ascii" => Encoding::Text,
                    "binary_little_endian" => Encoding::Binary { big_endian: false },
                    "binary_big_endian" => Encoding::Binary { big_endian: true },
                    _ => return Err(unknown(n, line)),
                });
            }
            ["element", name, count] => {
                let Ok(count) = count.parse() else {
                    return Err(Fault::line(n, format!("`{count}` is no number of elements")));
                };
                elements.push(Element {
                    name: name.to_owned(),
                    count,
                    line: n,
                    properties: Vec::new(),
                });
            }
            ["property", ref rest @ ..] => {
                let Some(element) = elements.last_mut() else {
                    return Err(Fault::line(n, "a property was seen before any element"));
                };
                let (list, kind, name) = match *rest {
                    ["list", count, kind, name] => (Some(count), kind, name),
                    [kind, name] => (None, kind, name),
                    _ => return Err(unknown(n, line)),
                };
                let scalar = |word: &str| scalar(word).ok_or_else(|| unknown(n, line));
                let list = list.map(scalar).transpose()?;
                if list.is_some_and(|kind| !kind.is_whole()) {
                    return Err(Fault::line(n, "the length of a list must be a whole number"));
                }
                element.properties.push(Property {
                    name: name.to_owned(),
                    list,
                    kind: scalar(kind)?,
                });
            }
            ["end_header"] => {
                let Some(encoding) = encoding else {
                    return Err(Fault::line(n, "the header ends without `format`"));
                };
                for element in &elements {
                    if element.properties.is_empty() && element.count > 0 {
                        let message = format!("element `{}` has no property", element.name);
                        return Err(Fault::line(element.line, message));
                    }
                }
                return Ok((encoding, elements, lines));
            }
            _ => return Err(unknown(n, line)),
        }
    }
    Err(Fault::line(lines.number(), "the header does not end; `end_header` is missing"))
}

fn unknown(n: usize, line: &[u8]) -> Fault {
    Fault::line(n, format!("{} is no line of a ply header", shown(line)))
}

fn scalar(word: &str) -> Option<Scalar> {
    Some(match word {
        "char" | "int8" => Scalar::I8,
        "uchar" | "uint8" => Scalar::U8,
        "short" | "int16" => Scalar::I16,
        "ushort" | "uint16" => Scalar::U16,
        "int" | "int32" => Scalar::I32,
        "uint" | "uint32" => Scalar::U32,
        "float" | "float32" => Scalar::F32,
        "double" | "float64" => Scalar::F64,
        _ => return None,
    })
}

fn find_roles(vertex: &Element, wants_normals: bool) -> Result<Roles, Fault> {
    let find =
        |name: &str| vertex.properties.iter().position(|p| p.name == name && p.list.is_none());
    let found = NAMES.map(find);
    if let Some(k) = found[..3].iter().position(Option::is_none) {
        let message = format!("its vertices have no property `{}`", NAMES[k]);
        return Err(Fault::line(vertex.line, message));
    }
    let normals = wants_normals && found[3..6].iter().all(Option::is_some);
    let colors = found[6..].iter().all(Option::is_some);
    let mut of = vec![None; vertex.properties.len()];
    for (role, place) in found.into_iter().enumerate() {
        let wanted = [true, normals, colors][role / 3];
        if let Some(k) = place.filter(|_| wanted) {
            of[k] = Some(role);
        }
    }
    let whole = found[6].is_some_and(|k| vertex.properties[k].kind.is_whole());
    Ok(Roles { of, normals, colors: colors.then_some(if whole { 1.0 } else { 255.0 }) })
}

impl Roles {
    /// A vertex from its values in the order of [`NAMES`].
    fn vertex(&self, values: [f64; 9]) -> Vertex {
        let [x, y, z, nx, ny, nz, red, green, blue] = values;
        Vertex {
            point: [x, y, z],
            normal: self.normals.then_some([nx, ny, nz]),
            color: self.colors.map(|scale| [red, green, blue].map(|c| scale * c)),
        }
    }
}

/// True if a list property has the corners of a face.
fn is_corners(element: &Element, property: &Property) -> bool {
    element.name == "face" && matches!(property.name.as_str(), "vertex_indices" | "vertex_index")
}

fn read_text(
    element: &Element,
    roles: &Roles,
    lines: &mut Lines<'_>,
    gather: &mut dyn Rows,
) -> Result<(), Fault> {
    let Element { name, count, .. } = element;
    // a number and its separator take at least two bytes
    let least = element.properties.len().saturating_mul(*count).saturating_mul(2);
    if least > lines.left() + 1 {
        return Err(Fault::line(
            lines.number(),
            format!(
                "the header lists {count} of `{name}`; {} bytes cannot hold them",
                lines.left()
            ),
        ));
    }
    let is_vertex = name == "vertex";
    if is_vertex {
        gather.reserve(*count, roles.normals);
    }
    let mut corners = Vec::new();
    for k in 0..*count {
        let Some(line) = lines.next_filled() else {
            return Err(Fault::line(
                lines.number(),
                format!("the file ends after {k} of {count} `{name}`"),
            ));
        };
        let n = lines.number();
        let mut row = words(line);
        let mut value = |what: &str| {
            let word = row.next().ok_or_else(|| {
                Fault::line(n, format!("the line ends before `{what}` of a `{name}`"))
            })?;
            number(word)
                .ok_or_else(|| Fault::line(n, format!("{} is no number for `{what}`", shown(word))))
        };
        let mut values = [0.0; 9];
        for (i, property) in element.properties.iter().enumerate() {
            let x = value(&property.name)?;
            if property.list.is_some() {
                if !(x >= 0.0 && x.fract() == 0.0 && x <= line.len() as f64) {
                    let what = &property.name;
                    return Err(Fault::line(n, format!("{x} is no length of the list `{what}`")));
                }
                corners.clear();
                for _ in 0..x as usize {
                    corners.push(value(&property.name)?);
                }
                if is_corners(element, property) {
                    gather.face(&corners, &|| Place::Line(n))?;
                }
            } else if let (true, Some(role)) = (is_vertex, roles.of[i]) {
                values[role] = x;
            }
        }
        if let Some(word) = row.next() {
            return Err(Fault::line(n, format!("{} was seen after a whole `{name}`", shown(word))));
        }
        if is_vertex {
            gather.vertex(&roles.vertex(values), &|| Place::Line(n))?;
        }
    }
    Ok(())
}

/// Reads a binary element; returns the offset of its end.
fn read_binary(
    element: &Element,
    roles: &Roles,
    bytes: &[u8],
    start: usize,
    big_endian: bool,
    gather: &mut dyn Rows,
) -> Result<usize, Fault> {
    let Element { name, count, .. } = element;
    let least = element.least_size();
    let left = bytes.len() - start;
    if count.saturating_mul(least) > left {
        return Err(Fault::byte(
            start,
            format!("the header lists {count} of `{name}`, {least} bytes each; {left} are left"),
        ));
    }
    let is_vertex = name == "vertex";
    if !is_vertex && !element.has_lists() {
        return Ok(start + count * least);
    }
    if is_vertex {
        gather.reserve(*count, roles.normals);
    }
    let mut at = start;
    let mut corners = Vec::new();
    for k in 0..*count {
        let first = at;
        let mut values = [0.0; 9];
        for (i, property) in element.properties.iter().enumerate() {
            let cut = || {
                Fault::byte(first, format!("the file ends within number {k} of {count} `{name}`"))
            };
            let kind = property.list.unwrap_or(property.kind);
            if bytes.len() - at < kind.size() {
                return Err(cut());
            }
            let x = kind.read(bytes, at, big_endian);
            at += kind.size();
            if property.list.is_some() {
                if x < 0.0 {
                    let message = format!("a list `{}` of {x} items was seen", property.name);
                    return Err(Fault::byte(at - kind.size(), message));
                }
                let size = (x as usize).saturating_mul(property.kind.size());
                if size > bytes.len() - at {
                    return Err(cut());
                }
                if is_corners(element, property) {
                    let item = |at: usize| property.kind.read(bytes, at, big_endian);
                    corners.clear();
                    corners.extend((at..at + size).step_by(property.kind.size()).map(item));
                    gather.face(&corners, &|| Place::Byte(first))?;
                }
                at += size;
            } else if let (true, Some(role)) = (is_vertex, roles.of[i]) {
                values[role] = x;
            }
        }
        if is_vertex {
            gather.vertex(&roles.vertex(values), &|| Place::Byte(first))?;
        }
    }
    Ok(at)
}

/// Receiver that builds a mesh.
struct Gather {
    mesh: Mesh,
    want: Want,
}

impl Rows for Gather {
    fn reserve(&mut self, count: usize, _normals: bool) {
        self.mesh.vertices.reserve_exact(count);
    }

    fn vertex(&mut self, vertex: &Vertex, _place: &dyn Fn() -> Place) -> Result<(), Fault> {
        self.mesh.vertices.push(vertex.point.into());
        if let Some(color) = vertex.color.filter(|_| self.want == Want::Looks) {
            self.mesh.colors.push(color.map(|c| c.clamp(0.0, 255.0).round() as u8));
        }
        Ok(())
    }

    fn face(&mut self, corners: &[f64], place: &dyn Fn() -> Place) -> Result<(), Fault> {
        let count = self.mesh.vertices.len();
        if let Some(corner) = corners.iter().find(|k| !(**k >= 0.0 && **k < count as f64)) {
            let message = format!("a face names vertex {corner} (from 0) of {count}");
            return Err(Fault::new(place(), message));
        }
        let points: Vec<Vec3> = corners.iter().map(|k| self.mesh.vertices[*k as usize]).collect();
        for triangle in triangulate(&points) {
            self.mesh.push(triangle.map(|k| corners[k] as u32))?;
        }
        Ok(())
    }
}

/// Reads a mesh from a `.ply` file.
pub(crate) fn read_mesh(bytes: &[u8], want: Want) -> Result<Mesh, Fault> {
    let mut gather = Gather { mesh: Mesh::default(), want };
    read(bytes, &mut gather)?;
    Ok(gather.mesh)
}
