//! Meshes of a COLLADA file: primitives that index sources of numbers.

use super::document::{Dae, Elements, Source, at, short};
use crate::frame::Affine;
use crate::polygon::triangulate;
use crate::{Fault, Mesh, Want};
use quasistep_math::Vec3;
use roxmltree::Node;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Positions in the file's unit, and the primitives over them.
pub(super) struct Geometry<'a> {
    pub positions: Rc<Source>,
    pub primitives: Vec<Primitives<'a>>,
}

/// Triangles with one material.
pub(super) struct Primitives<'a> {
    /// Symbol to which an instance binds a material.
    pub material: Option<&'a str>,
    /// Indices of position and texture coordinates of each corner.
    triangles: Vec<[(u32, u32); 3]>,
    /// Texture coordinates, if any.
    places: Option<Rc<Source>>,
}

impl<'a> Geometry<'a> {
    pub fn read(node: Node<'a, 'a>, dae: &Dae<'a>, want: Want) -> Result<Self, Fault> {
        let mut geometry = Self { positions: Rc::default(), primitives: Vec::new() };
        // splines and other geometry without a mesh are skipped
        let Some(mesh) = node.child("mesh") else { return Ok(geometry) };
        let vertices = mesh.child("vertices").ok_or_else(|| at(mesh, "<vertices> is missing"))?;
        let input = vertices
            .elements("input")
            .find(|input| input.attribute("semantic") == Some("POSITION"))
            .ok_or_else(|| at(vertices, "an input POSITION is missing"))?;
        geometry.positions = dae.source(input)?;
        for primitives in mesh.children().filter(Node::is_element) {
            let kind = primitives.tag_name().name();
            if matches!(kind, "triangles" | "polylist" | "polygons" | "tristrips" | "trifans") {
                geometry.primitives.push(Primitives::read(
                    primitives,
                    kind,
                    &geometry.positions,
                    dae,
                    want,
                )?);
            }
        }
        Ok(geometry)
    }
}

impl<'a> Primitives<'a> {
    fn read(
        node: Node<'a, 'a>,
        kind: &str,
        positions: &Source,
        dae: &Dae<'a>,
        want: Want,
    ) -> Result<Self, Fault> {
        let inputs = || node.elements("input");
        let offset = |input: Node<'a, 'a>| {
            let offset =
                input.attribute("offset").and_then(|word| word.trim().parse::<usize>().ok());
            offset
                .filter(|k| *k < 64)
                .ok_or_else(|| at(input, "offset must be a whole number from 0 to 63"))
        };
        let mut stride = 0;
        for input in inputs() {
            stride = stride.max(offset(input)? + 1);
        }
        let find =
            |semantic: &str| inputs().find(|input| input.attribute("semantic") == Some(semantic));
        let vertex =
            find("VERTEX").ok_or_else(|| at(node, format!("<{kind}> has no input VERTEX")))?;
        let vertex = offset(vertex)?;
        let place = find("TEXCOORD").filter(|_| want == Want::Looks);
        let places = place.map(|input| dae.source(input)).transpose()?;
        let place = place.map(offset).transpose()?;
        let corners = |p: Node<'a, 'a>| -> Result<Vec<(u32, u32)>, Fault> {
            let indices = whole_numbers(p)?;
            let groups = indices.chunks_exact(stride);
            let corners = groups.map(|group| (group[vertex], place.map_or(0, |k| group[k])));
            let corners: Vec<(u32, u32)> = corners.collect();
            match corners.iter().find(|(v, _)| positions.group::<3>(*v).is_none()) {
                Some((v, _)) => Err(at(p, format!("corner {v} (from 0) has no position"))),
                None => Ok(corners),
            }
        };
        let mut triangles = Vec::new();
        let mut polygon = |corners: &[(u32, u32)]| {
            let points: Vec<Vec3> = corners.iter().map(|(v, _)| positions.position(*v)).collect();
            triangles.extend(triangulate(&points).into_iter().map(|t| t.map(|k| corners[k])));
        };
        let lists = || node.elements("p");
        match kind {
            "polylist" => {
                let counts = node.child("vcount").ok_or_else(|| at(node, "<vcount> is missing"))?;
                let all = lists().next().map(corners).transpose()?.unwrap_or_default();
                let mut rest = all.as_slice();
                for count in whole_numbers(counts)? {
                    let Some((first, after)) = rest.split_at_checked(count as usize) else {
                        return Err(at(
                            counts,
                            format!("its sum is more than the {} corners of <p>", all.len()),
                        ));
                    };
                    polygon(first);
                    rest = after;
                }
            }
            "polygons" => {
                // of polygons with holes only the outline is drawn
                let holed = node.elements("ph").filter_map(|ph| ph.child("p"));
                for p in lists().chain(holed) {
                    polygon(&corners(p)?);
                }
            }
            "triangles" => {
                for p in lists() {
                    triangles.extend(corners(p)?.as_chunks::<3>().0);
                }
            }
            _ => {
                for p in lists() {
                    let c = corners(p)?;
                    triangles.extend((2..c.len()).map(|k| match (kind, k % 2) {
                        ("trifans", _) => [c[0], c[k - 1], c[k]],
                        (_, 0) => [c[k - 2], c[k - 1], c[k]],
                        _ => [c[k - 1], c[k - 2], c[k]],
                    }));
                }
            }
        }
        Ok(Self { material: node.attribute("material"), triangles, places })
    }

    /// True if corners have texture coordinates.
    pub fn has_places(&self) -> bool {
        self.places.is_some()
    }

    /// Adds the triangles, transformed by `X`.
    pub fn add(&self, positions: &Source, X: &Affine, mesh: &mut Mesh) -> Result<(), Fault> {
        let mut vertices: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|corner| {
                *vertices.entry(corner).or_insert_with(|| {
                    mesh.vertices.push(X.apply(positions.position(corner.0)));
                    // missing texture coordinates become 0
                    let place = self.places.as_ref().and_then(|places| places.group::<2>(corner.1));
                    mesh.uv.push(place.map_or([0.0; 2], |[u, v]| [u as f32, 1.0 - v as f32]));
                    mesh.vertices.len() as u32 - 1
                })
            });
            mesh.push(if X.mirrors() { [a, c, b] } else { [a, b, c] })?;
        }
        Ok(())
    }
}

fn whole_numbers(node: Node<'_, '_>) -> Result<Vec<u32>, Fault> {
    let words = node.text().unwrap_or_default().split_ascii_whitespace();
    let numbers: Option<Vec<u32>> = words.map(|word| word.parse().ok()).collect();
    numbers.ok_or_else(|| at(node, format!("`{}` was seen; whole numbers are needed", short(node))))
}
