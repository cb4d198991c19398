//! Contact Jacobians, mass and load at one configuration, for planners and controllers.

use crate::contact::{ContactRow, ContactRows, Tangents};
use crate::error::StepError;
use crate::formulation::Cone;
use crate::scan::Scan;
use crate::system::System;
use crate::timer::Timer;
use quasistep_math::{Pose, Vec3};

/// First-order model of a system about one configuration.
#[derive(Clone, Debug)]
pub struct Linearisation {
    /// Number of dofs.
    pub n_v: usize,
    /// Poses of all bodies.
    pub X_WB: Vec<Pose>,
    /// Mass matrix `M(q)`, `n_v × n_v` row-major; zero rows where a dof moves no mass.
    pub mass: Vec<f64>,
    /// Generalised force of gravity, `n_v` entries, in N or N·m.
    pub gravity_force: Vec<f64>,
    /// Bodies whose joint slides on a support with friction, each with the largest friction force
    /// `mu N`, in N.
    pub supports: Vec<(usize, f64)>,
    /// Points within the margin, sorted by pair of geoms, then by feature.
    pub contacts: Vec<LinearContact>,
}

/// One contact point of two geoms that are near one another.
#[derive(Clone, Debug)]
pub struct LinearContact {
    /// Index of geom A.
    pub geom_a: usize,
    /// Index of geom B.
    pub geom_b: usize,
    /// Pair of features in contact, as named by the geometry.
    pub feature: u32,
    /// Signed distance, in m.
    pub phi: f64,
    /// The contact point, in m: halfway between the two surfaces.
    pub p_W: Vec3,
    /// Unit normal, from A to B.
    pub n_AB_W: Vec3,
    /// Unit tangents along which the contact can slip: two, one for motion in a plane, or none. Where
    /// friction depends on the direction they are scaled such that it is `mu` along each.
    pub tangents_W: Vec<Vec3>,
    /// Normal Jacobian, `n_v` entries: `J_n v` is the velocity of B against A along the normal.
    pub J_n: Vec<f64>,
    /// Rows along `tangents_W`: row `k` times `v` is the velocity of B against A along tangent `k`.
    pub J_t: Vec<Vec<f64>>,
    /// Friction coefficient.
    pub mu: f64,
}

impl System {
    /// Linearises distances and loads at `q`, with a contact for every point nearer than `margin`
    /// (m), under the gravity `gravity` (m/s²).
    ///
    /// # Errors
    ///
    /// A vector has the wrong length, or its numbers are not a valid configuration.
    pub fn linearise(
        &self,
        q: &[f64],
        gravity: [f64; 3],
        margin: f64,
    ) -> Result<Linearisation, StepError> {
        self.check_query(q, margin)?;
        let mut scan = Scan::new(self);
        scan.update(self, q, margin, &mut Timer::default())?;
        let mut rows = ContactRows::default();
        // rows at the corners: areas have no pyramid cones
        rows.update_corners(self, &scan, Cone::Pyramid(4));
        let n_v = self.model.n_v();
        let mut mass = vec![0.0; n_v * n_v];
        self.model.mass_matrix(&scan.kin, &mut mass);
        let mut gravity_force = vec![0.0; n_v];
        self.model.gravity_force(&scan.kin, gravity.into(), &mut gravity_force);
        let bound = |body: usize| {
            let mu = self.mu_of_support(body);
            let load = || self.model.support_load(&scan.kin, body, gravity.into()).load;
            (mu > 0.0).then(|| (body, mu * load()))
        };
        let supports = (0..self.model.n_bodies()).filter_map(bound).collect();
        let contacts = rows.rows.iter().map(|row| linear_contact(&rows, row, n_v)).collect();
        Ok(Linearisation { n_v, X_WB: scan.kin.X_WB, mass, gravity_force, supports, contacts })
    }
}

fn linear_contact(rows: &ContactRows, row: &ContactRow, n_v: usize) -> LinearContact {
    let n_tangents = match row.tangents {
        Tangents::None => 0,
        Tangents::Line => 1,
        Tangents::Plane => 2,
    };
    let mut J = [vec![0.0; n_v], vec![0.0; n_v], vec![0.0; n_v]];
    for (dof, column) in rows.columns_of(row) {
        for k in 0..3 {
            J[k][dof] += column[k];
        }
    }
    let [J_n, J_t1, J_t2] = J;
    let point = &row.near.point;
    LinearContact {
        geom_a: row.near.geom_a as usize,
        geom_b: row.near.geom_b as usize,
        feature: point.feature,
        phi: point.phi,
        p_W: row.near.p_W(),
        n_AB_W: point.n_AB_W,
        tangents_W: [row.t1, row.t2][..n_tangents].to_vec(),
        J_n,
        J_t: [J_t1, J_t2].into_iter().take(n_tangents).collect(),
        mu: row.friction.mu,
    }
}
