//! Results of a closed loop, and the contacts of all its steps.

use quasistep_control::{LoopContact, LoopError, LoopStep, PlanStatus};
use quasistep_record::Recording;
use std::collections::BTreeMap;

/// Results of a closed loop that has ended.
#[derive(Clone, Debug)]
pub struct LoopRun {
    /// All steps, from step 0.
    pub steps: Vec<LoopStep>,
    /// CPU time of each step, in ns, for measuring, planning and moving.
    pub cpu_ns: Vec<u64>,
    /// Positions and velocities after the last step.
    pub x_end: Vec<f64>,
    /// Recording of the scene's motion.
    pub recording: Recording,
    /// Error that ended the loop early.
    pub stopped: Option<LoopError>,
    /// Names of the dofs, in the order of the state.
    pub dofs: Vec<String>,
    /// Names of the driven dofs, in the order of the inputs.
    pub inputs: Vec<String>,
    /// Names of the bodies of each contact in `mpc.csv`.
    pub contacts: Vec<[String; 2]>,
    /// Goal state; for a trajectory, its last state.
    pub goal: Vec<f64>,
    /// Goal states from the start on; the last one is repeated.
    pub trajectory: Vec<Vec<f64>>,
    /// True for entries of the state whose distance from the goal has a cost.
    pub weighed: Vec<bool>,
    /// Duration of a step, in s.
    pub time_step: f64,
    pub(super) slots: Slots,
}

impl LoopRun {
    /// Number of steps with a plan that is proven optimal.
    pub fn proven(&self) -> usize {
        self.steps.iter().filter(|s| s.plan.status == PlanStatus::Optimal).count()
    }

    /// Costs of the plans, the first at step 0.
    pub fn costs(&self) -> Vec<f64> {
        self.steps.iter().map(|s| s.plan.cost).collect()
    }

    /// Largest optimality gap of all plans.
    pub fn worst_gap(&self) -> f64 {
        self.steps.iter().fold(0.0, |m, s| m.max(s.plan.gap()))
    }

    /// Largest prediction error of a planned first step: index of the step, dof, and error, in m or rad.
    pub fn worst_prediction_error(&self) -> (usize, usize, f64) {
        let errors = self.steps.iter().map(LoopStep::prediction_error).enumerate();
        errors.fold(
            (0, 0, 0.0),
            |worst, (step, (dof, error))| {
                if error > worst.2 { (step, dof, error) } else { worst }
            },
        )
    }

    /// Median and largest number of nodes of a search.
    pub fn nodes(&self) -> (u64, u64) {
        let mut nodes: Vec<u64> = self.steps.iter().map(|s| s.plan.nodes).collect();
        nodes.sort_unstable();
        (at_share(&nodes, 0.5), nodes.last().copied().unwrap_or(0))
    }

    /// Median and 99th percentile of the CPU time of a step, in ms.
    pub fn cpu_ms(&self) -> (f64, f64) {
        let mut ns = self.cpu_ns.clone();
        ns.sort_unstable();
        (at_share(&ns, 0.5) as f64 * 1e-6, at_share(&ns, 0.99) as f64 * 1e-6)
    }

    /// Normal impulses of contact `contact` of `mpc.csv`, from 0, one per step, in N·s.
    pub fn normal_impulses(&self, contact: usize) -> Vec<f64> {
        self.slots.column(&self.steps, contact, |c| c.normal)
    }

    /// Friction impulses of a contact, one per step, in N·s: signed along the tangent of a planar
    /// contact, otherwise magnitudes.
    pub fn friction_impulses(&self, contact: usize) -> Vec<f64> {
        self.slots.column(&self.steps, contact, friction)
    }
}

/// Quantile of a sorted list; 0 for an empty list.
fn at_share(sorted: &[u64], share: f64) -> u64 {
    let place = (share * sorted.len() as f64) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}

fn friction(contact: &LoopContact) -> f64 {
    match contact.tangents[..] {
        [] => 0.0,
        [plus, minus] => plus - minus,
        _ => (contact.impulse_W - contact.at.n_AB_W * contact.normal).norm(),
    }
}

/// Column slots for contacts that appear and disappear: one slot per pair of shapes and point of
/// the pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// Slots: `(geom_a, geom_b, number within the pair)` → number of tangential impulses.
    pub tangents: BTreeMap<(usize, usize, usize), usize>,
}

impl Slots {
    pub fn of(steps: &[LoopStep]) -> Self {
        let mut slots = Self::default();
        for step in steps {
            for (key, contact) in keyed(&step.contacts) {
                let n = slots.tangents.entry(key).or_default();
                *n = (*n).max(contact.tangents.len());
            }
        }
        slots
    }

    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.tangents.keys().map(|&(a, b, _)| (a, b))
    }

    /// One quantity of a slot over all steps; zero where the contact does not exist.
    pub fn column(
        &self,
        steps: &[LoopStep],
        slot: usize,
        read: impl Fn(&LoopContact) -> f64,
    ) -> Vec<f64> {
        let Some(&wanted) = self.tangents.keys().nth(slot) else { return Vec::new() };
        let at = |step: &LoopStep| {
            keyed(&step.contacts).find(|(key, _)| *key == wanted).map_or(0.0, |(_, c)| read(c))
        };
        steps.iter().map(at).collect()
    }
}

/// Contacts with their slots. Contacts are sorted by pair.
pub(super) fn keyed(
    contacts: &[LoopContact],
) -> impl Iterator<Item = ((usize, usize, usize), &LoopContact)> {
    let mut last = (usize::MAX, usize::MAX, 0);
    contacts.iter().map(move |c| {
        let (a, b) = (c.at.geom_a, c.at.geom_b);
        last = if (last.0, last.1) == (a, b) { (a, b, last.2 + 1) } else { (a, b, 0) };
        (last, c)
    })
}
