//! Statistics over the reports of a run.

use crate::certificate::Certificate;
use crate::params::Fallback;
use crate::report::{BodyDrag, ContactMode, CoulombMethod, Method, StepMethod, StepReport};
use crate::sizes::SizeChoice;
use crate::timer::Stage;
use quasistep_record::{ForceUniqueness, MotionUniqueness};
use std::collections::BTreeMap;

/// Statistics over the steps of a run. Add each report with [`push`](Self::push).
#[derive(Clone, Debug, Default)]
pub struct Tally {
    steps: usize,
    total_ns: u64,
    sizes: Option<[f64; 2]>,
    rejected: usize,
    unresolved: Vec<Unresolved>,
    step_ns: Sampled,
    stage_ns: [Sampled; Stage::COUNT],
    substepped: usize,
    most_substeps: u32,
    joined: usize,
    contacts: usize,
    most_contacts: usize,
    loaded_contacts: usize,
    rows: usize,
    most_rows: usize,
    most_iterations: u32,
    iterations: u64,
    restarts: usize,
    fallbacks: usize,
    not_smallest_norm: usize,
    coulomb: BTreeMap<CoulombMethod, usize>,
    stand_ins: usize,
    without_recovery: usize,
    motions: Answers,
    forces: Answers,
    float: Option<Float>,
    artificial: BTreeMap<(u32, u32), f64>,
    saturated_steps: usize,
    drags: BTreeMap<u32, f64>,
    worst: Worst,
    turned: Vec<Turned>,
    /// Last state of each constraint.
    constraints: Vec<Turn>,
}

/// What a switched constraint did in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turned {
    /// Time at the start of the step, in s.
    pub time: f64,
    /// Index of the constraint.
    pub constraint: usize,
    /// What it did.
    pub turn: Turn,
}

/// A turn of a switched constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// It let go.
    #[default]
    Released,
    /// It attached.
    Attached,
    /// It was switched on with nothing within its reach.
    Missed,
}

impl Turn {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Attached => "attached",
            Self::Missed => "found nothing within reach",
        }
    }
}

/// Number of steps with a unique solution, with several solutions, and without a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Steps with a unique solution.
    pub unique: usize,
    /// Steps with other solutions.
    pub many: usize,
    /// Steps for which numerical precision did not permit a decision.
    pub undecided: usize,
}

/// A contact that floats because of convex friction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float {
    /// Height `h mu |v_t|`, in m.
    pub height: f64,
    /// Indices of the bodies in contact.
    pub bodies: [u32; 2],
    /// Time at the end of the step, in s.
    pub time: f64,
}

/// A motion that still changed by more than the tolerance at the smallest size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unresolved {
    /// Time at the end of the two steps, in s.
    pub time: f64,
    /// Displacement between them and one step of twice the size, in m; infinite if that one has no
    /// answer.
    pub error: f64,
}

/// Worst residual of each kind over a run; see [`Certificate`] for meanings and units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst {
    /// Largest unbalanced force, in N.
    pub force_balance: f64,
    /// Largest unbalanced torque, in N·m.
    pub torque_balance: f64,
    /// Largest linearised overlap, in m.
    pub penetration: f64,
    /// Smallest true signed distance after any step, in m (negative is an overlap). At most the
    /// contact margin.
    pub true_distance: f64,
    /// Largest violation of a friction cone, in N.
    pub cone_violation: f64,
    /// Largest complementarity residual, in J.
    pub complementarity: f64,
    /// Largest residual of a constraint row, in m or rad.
    pub constraint: f64,
    /// Largest distance between two points that a constraint joins, after any step, in m; of a
    /// coupling in its own unit.
    pub constraint_error: f64,
}

/// Median and 95th percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
}

impl Tally {
    /// Adds the report of one step.
    pub fn push(&mut self, report: &StepReport) {
        let step_ns = report.stage_ns.iter().sum();
        self.steps += 1;
        self.total_ns += step_ns;
        self.step_ns.push(step_ns);
        for (all, ns) in self.stage_ns.iter_mut().zip(report.stage_ns) {
            all.push(ns);
        }
        let h = report.time_step;
        self.sizes = Some(self.sizes.map_or([h, h], |[low, high]| [low.min(h), high.max(h)]));
        if let Some(SizeChoice { error, rejected, resolved }) = report.choice {
            self.rejected += rejected as usize;
            if !resolved {
                self.unresolved.push(Unresolved { time: report.time, error });
            }
        }
        self.substepped += usize::from(report.substeps > 1);
        self.most_substeps = self.most_substeps.max(report.substeps);
        self.joined += report.n_joined;
        let n = report.contacts.len();
        self.contacts += n;
        self.most_contacts = self.most_contacts.max(n);
        self.loaded_contacts +=
            report.contacts.iter().filter(|c| c.mode != ContactMode::Separate).count();
        self.rows += report.n_rows;
        self.most_rows = self.most_rows.max(report.n_rows);
        self.iterations += u64::from(report.iterations);
        self.most_iterations = self.most_iterations.max(report.iterations);
        match report.method {
            StepMethod::Convex(method) => {
                self.restarts += usize::from(method == Method::RestartedNewton);
                self.fallbacks += usize::from(method.is_fallback());
                self.not_smallest_norm += usize::from(!report.smallest_norm);
            }
            StepMethod::Coulomb(method) => *self.coulomb.entry(method).or_default() += 1,
        }
        let stand_in = report.fallback.as_ref().map(|(fallback, _)| *fallback);
        self.stand_ins += usize::from(stand_in.is_some());
        self.without_recovery += usize::from(stand_in == Some(Fallback::WithoutRecovery));
        if let Some(answer) = &report.uniqueness {
            match answer.motion {
                MotionUniqueness::Unique => self.motions.unique += 1,
                MotionUniqueness::Free { .. } => self.motions.many += 1,
                MotionUniqueness::Unknown => self.motions.undecided += 1,
            }
            match answer.forces {
                ForceUniqueness::Unique => self.forces.unique += 1,
                ForceUniqueness::Shared { .. } => self.forces.many += 1,
                ForceUniqueness::Unknown => self.forces.undecided += 1,
            }
        }
        if matches!(report.method, StepMethod::Convex(_)) {
            self.see_floats(report);
        }
        self.saturated_steps += usize::from(!report.saturated.is_empty());
        for drag in &report.drags {
            let share = self.drags.entry(drag.body).or_default();
            *share = share.max(drag.share);
        }
        self.see_constraints(report);
        let Certificate {
            force_balance,
            torque_balance,
            penetration,
            true_distance,
            cone_violation,
            complementarity,
            constraint,
            force_scale: _,
        } = report.certificate;
        let w = &mut self.worst;
        w.force_balance = w.force_balance.max(force_balance);
        w.torque_balance = w.torque_balance.max(torque_balance);
        w.penetration = w.penetration.max(penetration);
        w.cone_violation = w.cone_violation.max(cone_violation);
        w.complementarity = w.complementarity.max(complementarity);
        w.constraint = w.constraint.max(constraint);
        let errors = report.constraints.iter().map(|c| c.error);
        w.constraint_error = errors.fold(w.constraint_error, f64::max);
        let first = self.steps == 1;
        w.true_distance = if first { true_distance } else { w.true_distance.min(true_distance) };
    }

    fn see_constraints(&mut self, report: &StepReport) {
        self.constraints.resize(report.constraints.len(), Turn::Released);
        let last = self.constraints.iter_mut().enumerate();
        for ((constraint, last), now) in last.zip(&report.constraints) {
            let turn = match (now.on, now.missed) {
                (true, _) => Turn::Attached,
                (false, true) => Turn::Missed,
                (false, false) => Turn::Released,
            };
            // letting go of nothing is no event
            let missed = (*last, turn) == (Turn::Missed, Turn::Released);
            if std::mem::replace(last, turn) != turn && !missed {
                let time = report.time - report.time_step;
                self.turned.push(Turned { time, constraint, turn });
            }
        }
    }

    /// When constraints of the system attached and let go, in order. Those without a switch attach at
    /// the start.
    pub fn turned(&self) -> &[Turned] {
        &self.turned
    }

    fn see_floats(&mut self, report: &StepReport) {
        for c in &report.contacts {
            let bodies = [c.body_a, c.body_b];
            if c.boundary_layer > self.float.map_or(0.0, |f| f.height) {
                self.float = Some(Float { height: c.boundary_layer, bodies, time: report.time });
            }
            if c.artificial {
                let force = self.artificial.entry((c.body_a, c.body_b)).or_default();
                *force = force.max(c.normal_force);
            }
        }
    }

    /// Number of steps added.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Smallest and largest size of a step, in s; zero without steps.
    pub fn sizes(&self) -> [f64; 2] {
        self.sizes.unwrap_or_default()
    }

    /// Number of sizes that a tolerance rejected.
    pub fn rejected(&self) -> usize {
        self.rejected
    }

    /// Steps of the smallest size whose error exceeds the tolerance, in order.
    pub fn unresolved(&self) -> &[Unresolved] {
        &self.unresolved
    }

    /// Bodies with relevant drag in some step, each with its largest share; see [`BodyDrag`].
    pub fn drags(&self) -> impl Iterator<Item = BodyDrag> {
        self.drags.iter().map(|(&body, &share)| BodyDrag { body, share })
    }

    /// Number of steps with more than one substep.
    pub fn substepped(&self) -> usize {
        self.substepped
    }

    /// Largest number of substeps in a step.
    pub fn most_substeps(&self) -> u32 {
        self.most_substeps
    }

    /// Number of pairs beyond the contact margin that were added to the program of some step.
    pub fn joined(&self) -> usize {
        self.joined
    }

    /// Mean number of contact points within the margin.
    pub fn mean_contacts(&self) -> f64 {
        self.mean(self.contacts)
    }

    /// Largest number of contact points in a step.
    pub fn most_contacts(&self) -> usize {
        self.most_contacts
    }

    /// Mean number of contact points that carry force.
    pub fn mean_loaded_contacts(&self) -> f64 {
        self.mean(self.loaded_contacts)
    }

    /// Mean number of rows of the step problem.
    pub fn mean_rows(&self) -> f64 {
        self.mean(self.rows)
    }

    /// Largest number of rows in a step.
    pub fn most_rows(&self) -> usize {
        self.most_rows
    }

    /// Mean number of solver iterations.
    pub fn mean_iterations(&self) -> f64 {
        self.mean(self.iterations as usize)
    }

    /// Largest number of solver iterations in a step.
    pub fn most_iterations(&self) -> u32 {
        self.most_iterations
    }

    /// Number of steps in which the solver restarted cold because the warm start failed.
    pub fn restarts(&self) -> usize {
        self.restarts
    }

    /// Number of steps that only the solver's last fallback method could solve.
    pub fn fallbacks(&self) -> usize {
        self.fallbacks
    }

    /// Number of steps whose impulses do not have the smallest norm.
    pub fn not_smallest_norm(&self) -> usize {
        self.not_smallest_norm
    }

    /// Number of steps with exact Coulomb friction solved by the given algorithm.
    pub fn coulomb_steps(&self, method: CoulombMethod) -> usize {
        self.coulomb.get(&method).copied().unwrap_or_default()
    }

    /// Number of steps without a solution with exact Coulomb friction, in which a fallback was
    /// taken.
    pub fn stand_ins(&self) -> usize {
        self.stand_ins
    }

    /// Number of fallbacks that were the dynamic step of Anitescu and Potra, without recovery of
    /// overlaps.
    pub fn without_recovery(&self) -> usize {
        self.without_recovery
    }

    /// Whether the next configuration was unique for its normal forces, over the steps that were
    /// checked.
    pub fn motions(&self) -> Answers {
        self.motions
    }

    /// Whether the contact forces were unique for their motion, over the steps that were checked.
    pub fn forces(&self) -> Answers {
        self.forces
    }

    /// Contact with the largest floating height due to convex friction.
    pub fn float(&self) -> Option<Float> {
        self.float
    }

    /// Pairs of bodies whose contacts pushed only because of convex friction, each with the largest
    /// normal force of a contact, in N; see
    /// [`ContactReport::artificial`](crate::ContactReport::artificial).
    pub fn artificial(&self) -> impl ExactSizeIterator<Item = ([u32; 2], f64)> {
        self.artificial.iter().map(|(&(a, b), &force)| ([a, b], force))
    }

    /// Number of steps in which a spring force was at its effort limit.
    pub fn saturated_steps(&self) -> usize {
        self.saturated_steps
    }

    /// Worst residuals of the run.
    pub fn worst(&self) -> Worst {
        self.worst
    }

    /// Duration of a step, in µs of the workspace's clock.
    pub fn step_us(&self) -> Spread {
        spread_us(&self.step_ns.values)
    }

    /// Duration of one stage, in µs of the workspace's clock.
    pub fn stage_us(&self, stage: Stage) -> Spread {
        spread_us(&self.stage_ns[stage as usize].values)
    }

    /// Total duration of all steps, in s of the workspace's clock.
    pub fn total_seconds(&self) -> f64 {
        self.total_ns as f64 * 1e-9
    }

    fn mean(&self, sum: usize) -> f64 {
        sum as f64 / self.steps().max(1) as f64
    }
}

/// Largest number of values in a sample.
const MOST_SAMPLED: usize = 1 << 15;

/// All values of a short run, or an evenly spaced sample of a long run. The sample's median differs
/// from that of all values by about one percent.
#[derive(Clone, Debug)]
struct Sampled {
    values: Vec<u64>,
    seen: usize,
    /// One value out of this many is kept.
    every: usize,
}

impl Default for Sampled {
    fn default() -> Self {
        Self { values: Vec::new(), seen: 0, every: 1 }
    }
}

impl Sampled {
    fn push(&mut self, value: u64) {
        if self.seen.is_multiple_of(self.every) {
            self.values.push(value);
        }
        self.seen += 1;
        if self.values.len() == MOST_SAMPLED {
            let mut index = 0;
            self.values.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
    }
}

fn spread_us(ns: &[u64]) -> Spread {
    if ns.is_empty() {
        return Spread::default();
    }
    let mut sorted = ns.to_vec();
    sorted.sort_unstable();
    let rank = |share: f64| {
        let index = (share * sorted.len() as f64).ceil() as usize;
        sorted[index.clamp(1, sorted.len()) - 1] as f64 * 1e-3
    };
    Spread { median: rank(0.5), p95: rank(0.95) }
}

#[cfg(test)]
mod tests {
    use super::{MOST_SAMPLED, Sampled, Spread, spread_us};

    #[test]
    fn median_and_percentile_are_observed_values() {
        let ns: Vec<u64> = (1..=100).map(|k| k * 1000).collect();
        assert_eq!(spread_us(&ns).median, 50.0);
        assert_eq!(spread_us(&ns).p95, 95.0);
        assert_eq!(spread_us(&[7000]).p95, 7.0);
    }

    /// The memory of a long run is bounded, and its sample is evenly spaced.
    #[test]
    fn samples_are_bounded_and_even() {
        let mut sampled = Sampled::default();
        let n = 5 * MOST_SAMPLED as u64;
        (0..n).for_each(|k| sampled.push(1000 * k));
        assert!(sampled.values.len() < MOST_SAMPLED && sampled.values.len() > MOST_SAMPLED / 3);
        let Spread { median, p95 } = spread_us(&sampled.values);
        assert!((median / n as f64 - 0.5).abs() < 0.01 && (p95 / n as f64 - 0.95).abs() < 0.01);
    }
}
