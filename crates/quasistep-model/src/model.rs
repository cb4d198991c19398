//! The immutable tree of bodies and joints.

use crate::{Body, ConfigurationError};

/// Index of the world, which is the fixed root of every model.
pub const WORLD: usize = 0;

/// Largest deviation of a quaternion from unit length; kinematics and integration normalise it.
const UNIT_TOLERANCE: f64 = 1e-6;

/// Position limit of one coordinate, `lower ≤ q[q_index] ≤ upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionLimit {
    /// Index in `v` of the coordinate's rate.
    pub dof: u32,
    /// Index in `q` of the coordinate.
    pub q_index: u32,
    /// Lower bound, in m or rad; −∞ for none.
    pub lower: f64,
    /// Upper bound, in m or rad; +∞ for none.
    pub upper: f64,
    /// Index of the body whose joint has the coordinate.
    pub body: usize,
}

/// A tree of bodies and joints. Immutable, so that threads can share it.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) bodies: Vec<Body>,
    pub(crate) n_q: usize,
    pub(crate) n_v: usize,
    pub(crate) n_columns: usize,
    pub(crate) surface_dofs: Vec<u32>,
    pub(crate) limits: Vec<PositionLimit>,
    pub(crate) damping: Vec<f64>,
    pub(crate) friction: Vec<f64>,
    pub(crate) armature: Vec<f64>,
    /// Index in `paths` of each body's first entry; one entry more than bodies.
    pub(crate) path_start: Vec<u32>,
    pub(crate) paths: Vec<u32>,
}

impl Model {
    /// Length of `q`.
    pub fn n_q(&self) -> usize {
        self.n_q
    }

    /// Length of `v`.
    pub fn n_v(&self) -> usize {
        self.n_v
    }

    /// Number of bodies, including the world.
    pub fn n_bodies(&self) -> usize {
        self.bodies.len()
    }

    /// All bodies, the world first and parents before their children.
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// The body with this index; 0 is the world.
    ///
    /// # Panics
    ///
    /// If there is no such body.
    pub fn body(&self, index: usize) -> &Body {
        &self.bodies[index]
    }

    /// Index of the body with this name.
    pub fn body_by_name(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|body| body.name == name)
    }

    /// Index of the body whose joint has this name.
    pub fn joint_by_name(&self, name: &str) -> Option<usize> {
        self.bodies.iter().skip(1).position(|body| body.joint_name == name).map(|k| k + 1)
    }

    /// Indices into [`Kinematics::columns`](crate::Kinematics::columns) of all columns that move
    /// this body, ascending. Empty for the world.
    ///
    /// # Panics
    ///
    /// If there is no such body.
    #[inline]
    pub fn path(&self, body: usize) -> &[u32] {
        &self.paths[self.path_start[body] as usize..self.path_start[body + 1] as usize]
    }

    /// Dofs that move the surface of a body and not its place, ascending.
    pub fn surface_dofs(&self) -> &[u32] {
        &self.surface_dofs
    }

    /// Position limits, at most one per dof, ascending by `dof`. They include the limits of mimic
    /// joints, converted to the leader's coordinate.
    pub fn limits(&self) -> &[PositionLimit] {
        &self.limits
    }

    /// Viscous damping of each dof, `n_v` entries in N·s/m or N·m·s/rad: that of its own joint,
    /// plus `m² d` for every mimic joint with multiplier `m`.
    pub fn damping(&self) -> &[f64] {
        &self.damping
    }

    /// Dry friction of each dof, `n_v` entries in N or N·m: that of its own joint, plus `|m| f` for
    /// every mimic joint with multiplier `m`.
    pub fn friction(&self) -> &[f64] {
        &self.friction
    }

    /// Armature of each dof, which is added to the diagonal of the mass matrix, `n_v` entries in kg
    /// or kg·m²: that of its own joint, plus `m² a` for every mimic joint with multiplier `m`.
    pub fn armature(&self) -> &[f64] {
        &self.armature
    }

    /// Names of the coordinates in the order of `q`. A one-dof joint gives its own name. Others add
    /// suffixes: `.x .y .theta` for planar, `.qw .qx .qy .qz` for ball, `.qw .qx .qy .qz .x .y .z`
    /// for free joints.
    pub fn coordinate_names(&self) -> Vec<String> {
        self.names(|body| body.q.len(), |body| body.joint.coordinate_suffixes())
    }

    /// Units of the coordinates in the order of `q`: `m`, `rad`, or empty for parts of a quaternion.
    pub fn coordinate_units(&self) -> Vec<&'static str> {
        // mimic joints have units, but no coordinates
        let own = self.bodies.iter().filter(|body| !body.q.is_empty());
        own.flat_map(|body| body.joint.coordinate_units()).copied().collect()
    }

    /// Names of the rates in the order of `v`. A one-dof joint gives its own name. Others add
    /// suffixes: `.x .y .theta` for planar, `.wx .wy .wz` for ball, `.wx .wy .wz .vx .vy .vz` for
    /// free joints.
    pub fn dof_names(&self) -> Vec<String> {
        self.names(|body| body.v.len(), |body| body.joint.dof_suffixes())
    }

    fn names(
        &self,
        count: impl Fn(&Body) -> usize,
        suffixes: impl Fn(&Body) -> &'static [&'static str],
    ) -> Vec<String> {
        let mut names = Vec::new();
        // mimic joints have suffixes, but no coordinates
        for body in self.bodies.iter().filter(|body| count(body) > 0) {
            names.extend(suffixes(body).iter().map(|s| format!("{}{s}", body.joint_name)));
        }
        names
    }

    /// Configuration with all coordinates zero and all rotations identity. It may violate position
    /// limits.
    pub fn neutral_q(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.n_q];
        for body in self.bodies.iter().filter(|body| body.joint.has_quaternion()) {
            q[body.q.start] = 1.0;
        }
        q
    }

    /// Checks the length, that numbers are finite, and that quaternions have unit length. Position
    /// limits are not checked.
    ///
    /// # Errors
    ///
    /// The first invalid entry, by name.
    pub fn check_q(&self, q: &[f64]) -> Result<(), ConfigurationError> {
        if q.len() != self.n_q {
            return Err(ConfigurationError::Length { got: q.len(), want: self.n_q });
        }
        if let Some(k) = q.iter().position(|x| !x.is_finite()) {
            let coordinate = self.coordinate_names().swap_remove(k);
            return Err(ConfigurationError::NotFinite { coordinate, value: q[k] });
        }
        for body in self.bodies.iter().filter(|body| body.joint.has_quaternion()) {
            let quaternion = &q[body.q.start..body.q.start + 4];
            let norm = quaternion.iter().map(|c| c * c).sum::<f64>().sqrt();
            if (norm - 1.0).abs() > UNIT_TOLERANCE {
                return Err(ConfigurationError::NotUnit { joint: body.joint_name.clone(), norm });
            }
        }
        Ok(())
    }
}
