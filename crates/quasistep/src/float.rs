//! Finds contacts that push only because convex friction keeps the bodies apart.

use crate::params::StepParams;
use crate::report::{ContactReport, StepMethod, StepReport};
use crate::system::{Role, System};
use quasistep_math::Vec3;

/// Share of [`StepParams::max_overlap`] below which a gap counts as zero: 1 µm by default. A value
/// ten times larger would miss the clearance of a tight peg, 10 µm.
const LEAST: f64 = 1e-3;
/// Normal forces on a body cancel if their resultant is at most this share of the sum of their
/// magnitudes. The share is 1 for a body that slides on another and carries its own weight. It is
/// near 0 for a body between two walls.
const CANCELLED: f64 = 0.1;

/// Memory of the search: for each body, the sum of its normal forces in W, and of their magnitudes,
/// in N.
#[derive(Debug, Default)]
pub(crate) struct Floats {
    load: Vec<(Vec3, f64)>,
}

impl Floats {
    /// Marks contacts as [`artificial`](ContactReport::artificial).
    ///
    /// Such contacts push across gaps from opposite sides, and the normal forces on each movable
    /// body cancel, so that no body could move to close the gaps. A body that slides on another
    /// also floats, but its normal force balances its weight, so it is not marked.
    pub fn mark(&mut self, system: &System, params: &StepParams, report: &mut StepReport) {
        if !matches!(report.method, StepMethod::Convex(_)) {
            return;
        }
        let least = LEAST * params.max_overlap;
        let floats = |c: &ContactReport| c.boundary_layer > least && c.phi_next > least;
        self.load.clear();
        for c in report.contacts.iter().filter(|c| floats(c)) {
            self.load.resize(system.model.n_bodies(), (Vec3::ZERO, 0.0));
            for (body, sign) in [(c.body_a, -1.0), (c.body_b, 1.0)] {
                let (sum, sizes) = &mut self.load[body as usize];
                *sum += c.n_AB_W * (sign * c.normal_force);
                *sizes += c.normal_force;
            }
        }
        for c in report.contacts.iter_mut().filter(|c| floats(c)) {
            c.artificial = [c.body_a, c.body_b].into_iter().all(|body| {
                let (sum, sizes) = self.load[body as usize];
                !yields(system, body as usize) || sum.norm() <= CANCELLED * sizes
            });
        }
    }
}

/// True for a body that forces can move.
fn yields(system: &System, mut body: usize) -> bool {
    while body != 0 {
        let joint = system.model.body(body);
        if !joint.v.is_empty() && system.roles[body] != Role::Prescribed {
            return true;
        }
        body = joint.parent;
    }
    false
}
