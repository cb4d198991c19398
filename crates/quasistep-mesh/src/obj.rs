//! Reader of Wavefront `.obj` and `.mtl`.
//!
//! It uses no library: the existing one (tobj) panics on a texture index before the first, supports
//! neither line continuation nor line numbers, and triangulates concave polygons wrongly.

use crate::open::Opener;
use crate::polygon::triangulate;
use crate::{Fault, Mesh, Want};
use quasistep_math::Vec3;
use std::collections::BTreeMap;

/// Appearance of a material.
#[derive(Clone, Debug, Default)]
struct Material {
    color: Option<[f32; 4]>,
    texture: Option<String>,
}

/// State of reading a file.
struct Reader {
    mesh: Mesh,
    want: Want,
    positions: Vec<Vec3>,
    places: Vec<[f32; 2]>,
    /// Index of the mesh vertex for each pair of position and texture coordinates in the file.
    vertices: BTreeMap<(usize, Option<usize>), u32>,
    materials: BTreeMap<String, Material>,
}

pub(crate) fn read(bytes: &[u8], want: Want, open: &mut Opener<'_>) -> Result<Mesh, Fault> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader {
        mesh: Mesh::default(),
        want,
        positions: Vec::new(),
        places: Vec::new(),
        vertices: BTreeMap::new(),
        materials: BTreeMap::new(),
    };
    // an `o` followed by a `g`, as programs write them, names one group
    let (mut group, mut start) = (String::new(), 0);
    let mut material = Material::default();
    for (number, line) in whole_lines(&text) {
        let line = line.split('#').next().unwrap_or_default();
        let (key, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        match key {
            "v" => {
                let p = numbers::<3>(rest).ok_or_else(|| {
                    Fault::line(
                        number,
                        format!("`{}` was seen; a vertex has three numbers", rest.trim()),
                    )
                })?;
                reader.positions.push(p.into());
            }
            "vt" if want == Want::Looks => {
                let [u, v] = numbers::<2>(rest).unwrap_or_default();
                reader.places.push([u as f32, 1.0 - v as f32]);
            }
            "f" => reader.face(rest, number)?,
            "o" | "g" => {
                reader.mesh.end_group(start, &group);
                start = reader.mesh.triangles.len();
                rest.trim().clone_into(&mut group);
            }
            "usemtl" if want == Want::Looks => {
                reader.end_part(&material, open);
                material = reader.materials.get(rest.trim()).cloned().unwrap_or_default();
            }
            "mtllib" if want == Want::Looks => match open.path(rest.trim()) {
                Ok(bytes) => {
                    read_materials(&String::from_utf8_lossy(&bytes), &mut reader.materials);
                }
                Err(message) if reader.mesh.notes.is_empty() => {
                    reader.mesh.notes.push(format!("materials are not read: {message}"));
                }
                Err(_) => {}
            },
            _ => {}
        }
    }
    reader.end_part(&material, open);
    reader.mesh.end_group(start, &group);
    Ok(reader.mesh)
}

impl Reader {
    /// Adds a polygon: corners `position/texture/normal`, counted from 1, or from the end with
    /// negative numbers.
    fn face(&mut self, corners: &str, line: usize) -> Result<(), Fault> {
        let mut indices = Vec::new();
        for corner in corners.split_whitespace() {
            let mut parts = corner.split('/');
            let position = parts.next().and_then(|word| index(word, self.positions.len()));
            let Some(position) = position else {
                let n = self.positions.len();
                return Err(Fault::line(
                    line,
                    format!("corner `{corner}` was seen; there are {n} vertices so far"),
                ));
            };
            let place = parts.next().and_then(|word| index(word, self.places.len()));
            indices.push((position, place));
        }
        let points: Vec<Vec3> =
            indices.iter().map(|(position, _)| self.positions[*position]).collect();
        let corners: Vec<u32> = indices.into_iter().map(|corner| self.vertex(corner)).collect();
        for triangle in triangulate(&points) {
            self.mesh.push(triangle.map(|k| corners[k]))?;
        }
        Ok(())
    }

    fn vertex(&mut self, corner: (usize, Option<usize>)) -> u32 {
        let Self { mesh, positions, places, want, .. } = self;
        *self.vertices.entry(corner).or_insert_with(|| {
            mesh.vertices.push(positions[corner.0]);
            if *want == Want::Looks {
                mesh.uv.push(corner.1.map_or([0.0; 2], |place| places[place]));
            }
            mesh.vertices.len() as u32 - 1
        })
    }

    fn end_part(&mut self, material: &Material, open: &mut Opener<'_>) {
        if self.mesh.parts.last().map_or(0, |p| p.triangles.end) == self.mesh.triangles.len() {
            return;
        }
        let image = material
            .texture
            .as_ref()
            .and_then(|path| open.texture(&mut self.mesh, path, |open| open.path(path)));
        self.mesh.end_part(material.color, image);
    }
}

/// Lines with their numbers from 1; a line that ends with a backslash continues in the next.
fn whole_lines(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut lines = text.lines().enumerate();
    std::iter::from_fn(move || {
        let (k, first) = lines.next()?;
        let mut whole = first.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole.push(' ');
            whole.push_str(lines.next().map_or("", |(_, line)| line));
        }
        Some((k + 1, whole))
    })
}

/// The first `N` numbers of a line.
fn numbers<const N: usize>(line: &str) -> Option<[f64; N]> {
    let mut words = line.split_whitespace();
    let mut values = [0.0; N];
    for value in &mut values {
        *value = words.next()?.parse().ok()?;
    }
    Some(values)
}

/// Zero-based index among `count` items from a number counted from 1, or from the end if negative.
fn index(word: &str, count: usize) -> Option<usize> {
    let k: i64 = word.parse().ok()?;
    let k = if k < 0 { count as i64 + k } else { k - 1 };
    usize::try_from(k).ok().filter(|k| *k < count)
}

fn read_materials(text: &str, materials: &mut BTreeMap<String, Material>) {
    let mut name = None;
    for line in text.lines() {
        let (key, rest) = line.trim().split_once(char::is_whitespace).unwrap_or_default();
        let rest = rest.trim();
        if key == "newmtl" {
            name = Some(rest.to_owned());
            materials.insert(rest.to_owned(), Material::default());
        }
        let Some(material) = name.as_ref().and_then(|name| materials.get_mut(name)) else {
            continue;
        };
        let opacity = |material: &mut Material, alpha: f64| {
            material.color.get_or_insert([1.0; 4])[3] = alpha.clamp(0.0, 1.0) as f32;
        };
        match (key, numbers::<1>(rest)) {
            ("Kd", _) => {
                if let Some(rgb) = numbers::<3>(rest) {
                    let alpha = material.color.map_or(1.0, |c| c[3]);
                    let [r, g, b] = rgb.map(|c| c.clamp(0.0, 1.0) as f32);
                    material.color = Some([r, g, b, alpha]);
                }
            }
            ("d", Some([alpha])) => opacity(material, alpha),
            ("Tr", Some([clear])) => opacity(material, 1.0 - clear),
            // options precede the file name
            ("map_Kd", _) if rest.starts_with('-') => {
                material.texture =
                    rest.split_whitespace().last().map(|path| path.replace('\\', "/"));
            }
            ("map_Kd", _) => material.texture = Some(rest.replace('\\', "/")),
            _ => {}
        }
    }
    // opacity 0 is taken as opaque: some programs write d 0 or Tr 1 so
    for color in materials.values_mut().filter_map(|m| m.color.as_mut()).filter(|c| c[3] == 0.0) {
        color[3] = 1.0;
    }
}
