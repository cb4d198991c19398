//! Where the surface of a mesh is open: its borders, and the area that would close them.

use crate::solid::{Key, key};
use quasistep_formats::mesh::Mesh;
use quasistep_math::Vec3;
use std::collections::BTreeMap;

/// Openings of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Openings {
    /// Number of edges of one triangle only.
    pub edges: usize,
    /// Area of fans over all borders, as a share of the area of the closed surface.
    pub share: f64,
}

impl Openings {
    /// Openings of a mesh. Corners at one place are one corner. Triangles with the same corners, which
    /// are the two faces of a surface, count once.
    ///
    /// Where triangles agree on what is outside, a border's area is that of its vector sum, in which
    /// edges that only lie side by side cancel.
    pub fn of(mesh: &Mesh) -> Self {
        // each with its corners sorted, and whether that turned it over
        let mut triangles: Vec<([Key; 3], bool)> = Vec::with_capacity(mesh.triangles.len());
        for t in &mesh.triangles {
            let [a, b, c] = t.map(|v| key(mesh.vertices[v as usize]));
            if a != b && b != c && c != a {
                let mut keys = [a, b, c];
                keys.sort_unstable();
                triangles.push((keys, ![[a, b, c], [b, c, a], [c, a, b]].contains(&keys)));
            }
        }
        triangles.sort_unstable();
        triangles.dedup_by_key(|(keys, _)| *keys);
        let place = |k: &Key| Vec3::from(k.map(f64::from_bits));
        let area = |a: Vec3, b: Vec3, c: Vec3| (b - a).cross(c - a) * 0.5;
        let own = |([a, b, c], _): &([Key; 3], bool)| area(place(a), place(b), place(c)).norm();
        let whole: f64 = triangles.iter().map(own).sum();
        let sides = |([a, b, c], turned): &([Key; 3], bool)| {
            [(*a, *b, *turned), (*a, *c, !*turned), (*b, *c, *turned)]
        };
        let mut edges: Vec<Edge> = triangles.iter().flat_map(sides).collect();
        edges.sort_unstable();
        let mut border: Vec<Edge> = Vec::new();
        let mut agree = true;
        for same in edges.chunk_by(|s, t| (s.0, s.1) == (t.0, t.1)) {
            match same {
                [one] => border.push(*one),
                [one, other] => agree &= one.2 != other.2,
                _ => {}
            }
        }
        let mut open = 0.0;
        for edges in borders(&border) {
            let sum = edges.iter().fold(Vec3::ZERO, |sum, (p, q, _)| sum + place(p) + place(q));
            let middle = sum / (2 * edges.len()) as f64;
            let fans = edges.iter().map(|(p, q, turned)| {
                area(middle, place(p), place(q)) * if *turned { -1.0 } else { 1.0 }
            });
            open += if agree {
                fans.fold(Vec3::ZERO, |sum, fan| sum + fan).norm()
            } else {
                fans.map(Vec3::norm).sum()
            };
        }
        let share = if open > 0.0 { open / (open + whole) } else { 0.0 };
        Self { edges: border.len(), share }
    }
}

/// Ends of an edge of a triangle, sorted, and whether that turned it over.
type Edge = (Key, Key, bool);

/// The edges of each border: those that hang together by their ends.
fn borders(edges: &[Edge]) -> Vec<Vec<Edge>> {
    let mut number: BTreeMap<Key, usize> = BTreeMap::new();
    for k in edges.iter().flat_map(|(p, q, _)| [*p, *q]) {
        let next = number.len();
        number.entry(k).or_insert(next);
    }
    let mut root: Vec<usize> = (0..number.len()).collect();
    let find = |root: &mut [usize], mut k: usize| {
        while root[k] != k {
            root[k] = root[root[k]];
            k = root[k];
        }
        k
    };
    for (p, q, _) in edges {
        let [p, q] = [p, q].map(|k| find(&mut root, number[k]));
        root[p] = q;
    }
    let mut all: BTreeMap<usize, Vec<Edge>> = BTreeMap::new();
    for edge in edges {
        all.entry(find(&mut root, number[&edge.0])).or_default().push(*edge);
    }
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::Openings;
    use quasistep_formats::mesh::Mesh;
    use quasistep_math::Vec3;

    /// A cube without the faces whose numbers are given.
    fn cube(without: &[usize]) -> Openings {
        let corner = |k: u32| Vec3::new(f64::from(k & 1), f64::from(k >> 1 & 1), f64::from(k >> 2));
        let faces =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let kept = (0..6).filter(|k| !without.contains(k));
        let mesh = Mesh {
            vertices: (0..8).map(corner).collect(),
            triangles: kept
                .flat_map(|k| {
                    let [a, b, c, d] = faces[k];
                    [[a, b, c], [a, c, d]]
                })
                .collect(),
            ..Mesh::default()
        };
        Openings::of(&mesh)
    }

    #[test]
    fn a_box_without_a_lid_lacks_a_sixth() {
        assert_eq!(cube(&[]), Openings { edges: 0, share: 0.0 });
        let tray = cube(&[1]);
        assert!(tray.edges == 4 && (tray.share - 1.0 / 6.0).abs() < 1e-12, "{tray:?}");
        let tube = cube(&[0, 1]);
        assert!(tube.edges == 8 && (tube.share - 1.0 / 3.0).abs() < 1e-12, "{tube:?}");
        let plate = cube(&[0, 2, 3, 4, 5]);
        assert!(plate.edges == 4 && (plate.share - 0.5).abs() < 1e-12, "{plate:?}");
    }
}
