//! Contacts that push because convex friction makes them float, and for nothing else.

use crate::params::StepParams;
use crate::report::{ContactReport, StepMethod, StepReport};
use crate::system::{Role, System};
use quasistep_math::Vec3;

/// Share of [`StepParams::max_overlap`] up to which a height counts as none: 1 µm by default. Ten times more would miss the clearance of
/// a tight peg, 10 µm.
const LEAST: f64 = 1e-3;
/// Normal forces on a body cancel where at most this share of the sum of their sizes is left. Of a body that slides on another and carries its
/// own weight all of it is left, of one between two walls next to nothing.
const CANCELLED: f64 = 0.1;

/// Memory of the search: of each body the sum of its normal forces in W, and of their sizes, in N.
#[derive(Debug, Default)]
pub(crate) struct Floats {
    load: Vec<(Vec3, f64)>,
}

impl Floats {
    /// Marks contacts as [`artificial`](ContactReport::artificial): they push across a gap, and so do others from
    /// the other side, such that normal forces on each body that can move cancel. No such body could come down to close the gaps.
    /// A body that slides on another floats, too, and its weight remains.
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
