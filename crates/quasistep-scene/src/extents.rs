//! Bounding boxes of bodies at their start; their sides can be used in expressions.

use crate::expr::{Expr, Names};
use quasistep_geometry::{Aabb, Shape};
use quasistep_math::{Pose, Vec3};
use std::collections::BTreeMap;

/// Sides of a box, by name.
const SIDES: [&str; 6] = ["min_x", "min_y", "min_z", "max_x", "max_y", "max_z"];

/// Values `bunny.min_x` to `bunny.max_z` for every bounded body, in the world frame, in m.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    values: BTreeMap<String, f64>,
}

impl Extents {
    /// Adds the bounding box of a body named `model/link`. An unbounded body is left out.
    pub fn add(&mut self, body: &str, bounds: &Aabb) {
        let sides = [bounds.min.to_array(), bounds.max.to_array()].concat();
        if sides.iter().any(|x| !x.is_finite()) {
            return;
        }
        let name = match body.split_once('/') {
            Some((model, link)) if model == link => model.to_owned(),
            _ => body.replace('/', "."),
        };
        for (side, value) in SIDES.iter().zip(sides) {
            self.values.insert(format!("{name}.{side}"), value);
        }
    }

    /// Adds the boxes of `other`.
    pub fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
    }

    /// Value of a name, in m.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}

impl Names for Extents {
    fn valid(&self) -> Vec<&str> {
        self.names().collect()
    }

    fn value(&self, name: &str) -> Option<Expr> {
        self.get(name).map(Expr::Number)
    }

    fn draw(&self, _: usize) -> Option<f64> {
        None
    }
}

/// Names in an expression of time: `t`, and bounding boxes of bodies.
pub(crate) struct OfTime<'a>(pub Option<&'a Extents>);

impl Names for OfTime<'_> {
    fn valid(&self) -> Vec<&str> {
        std::iter::once("t").chain(self.0.into_iter().flat_map(Extents::names)).collect()
    }

    fn value(&self, name: &str) -> Option<Expr> {
        if name == "t" {
            return Some(Expr::Time);
        }
        self.0?.get(name).map(Expr::Number)
    }

    fn draw(&self, _: usize) -> Option<f64> {
        None
    }
}

/// Tight bounding box of a shape at pose `X_WG`, in m.
pub(crate) fn bounds(shape: &Shape, X_WG: &Pose) -> Aabb {
    let Shape::Cloud(cloud) = shape else { return shape.aabb(X_WG) };
    let r = cloud.radius();
    let reach = Vec3::new(r, r, r);
    let far = Vec3::new(f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let (low, high) = cloud.points().iter().fold((far, -far), |(low, high), p| {
        let p = X_WG.transform_point(*p);
        (low.min(p), high.max(p))
    });
    Aabb { min: low - reach, max: high + reach }
}

/// True if a text looks like a side of a body: letters on both sides of a dot.
pub(crate) fn names_a_side(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(3).any(|w| {
        (w[0].is_ascii_alphanumeric() || w[0] == b'_') && w[1] == b'.' && w[2].is_ascii_alphabetic()
    })
}
