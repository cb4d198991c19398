//! A differentiated step, with all data of its derivatives.

use super::constraint::ConstraintAt;
use super::contact::{ContactAt, FrameChange};
use super::joined::{Joined, PlaceAt};
use super::kinds::{DerivativeError, StepKinks};
use super::memory::Memory;
use super::scale::ScaleAt;
use crate::formulation::edges::WAYS;
use crate::params::Rotations;
use crate::report::StepReport;
use crate::state::Attached;
use crate::system::System;
use crate::workspace::{SetSystem, Workspace};
use quasistep_cone::{ConeProgram, Relaxed, Sensitivity};
use quasistep_geometry::ContactMotion;
use quasistep_math::Vec3;
use quasistep_model::{BodyVelocityForce, LoadAt, SpatialForce, Twist};
use std::ops::Range;
use std::sync::Arc;

/// A value within this distance of a bound, relative to the larger of both, counts as at the bound.
pub(super) const TIE: f64 = 1e-9;

/// One step and its derivatives; memory is reused. Created by [`System::create_derivatives`],
/// filled by [`System::differentiate`].
#[derive(Debug)]
pub struct Derivatives {
    pub(super) work: Workspace,
    pub(super) sensitivity: Sensitivity,
    pub(super) relaxed: Relaxed,
    pub(super) kinks: StepKinks,
    pub(super) bound: f64,
    pub(super) ready: bool,
    pub(super) time_step: f64,
    pub(super) q: Vec<f64>,
    pub(super) q_target: Vec<f64>,
    /// Solution of the differentiated program.
    pub(super) x: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) contacts: Vec<ContactAt>,
    pub(super) constraints: Vec<ConstraintAt>,
    pub(super) motions: Vec<ContactMotion>,
    /// Contacts added along the motion, and the configurations at which their pairs meet.
    pub(super) joined: Vec<Joined>,
    pub(super) places: Vec<PlaceAt>,
    /// Earlier motions of the step, in order, and the dependence of this motion on them.
    pub(super) parts: Vec<Box<Derivatives>>,
    pub(super) link: Link,
    /// Unused memory for such motions.
    pub(super) pool: Vec<Box<Derivatives>>,
    /// Joint limits with rows.
    pub(super) limits: Vec<LimitAt>,
    pub(super) springs: Vec<SpringAt>,
    /// Supports of joints with friction.
    pub(super) supports: Vec<SupportAt>,
    /// Impulses on bodies at the solution: contacts, gravity, wrenches, and those proportional to
    /// the time step.
    pub(super) forces: Vec<SpatialForce>,
    pub(super) per_h: Vec<SpatialForce>,
    pub(super) gathered: Vec<SpatialForce>,
    /// Momenta of the rates that inertia resists, if any: the rates of passive dofs, or the change
    /// of all rates since the start.
    pub(super) momenta: Vec<SpatialForce>,
    pub(super) momenta_gathered: Vec<SpatialForce>,
    pub(super) inertia: bool,
    pub(super) scale: ScaleAt,
    pub(super) start: StartAt,
    pub(super) v_inert: Vec<f64>,
    pub(super) V: Vec<Twist>,
    pub(super) V_inert: Vec<Twist>,
    /// Least-norm rates and their twists, computed when impulses are first requested.
    pub(super) w: Vec<f64>,
    pub(super) W: Vec<Twist>,
    pub(super) has_w: bool,
    pub(super) constants: Constants,
    pub(super) scratch: Scratch,
    pub(super) matrices: Memory,
    /// The first program, whose loads determine the centres of friction; `None` if no area depends
    /// on its loads.
    pub(super) pressure: Option<Pressure>,
    /// Unused memory for the first program.
    pub(super) spare: Option<Box<Derivatives>>,
    /// Copy of the system with its switches set, in a system with switches.
    pub(super) set: Option<SetSystem>,
    /// Constraints that hold what they found at the start of the step: their error stays zero as the
    /// start moves.
    pub(super) found: Vec<usize>,
}

/// The first program of a step with areas, and the dependence of the second on its loads.
#[derive(Debug)]
pub(super) struct Pressure {
    pub first: Box<Derivatives>,
    pub areas: Vec<AreaAnswer>,
}

/// Dependence of an area's friction on the loads of its points.
#[derive(Debug)]
pub(super) struct AreaAnswer {
    pub points: Range<usize>,
    /// Derivatives of the centre along the tangents (m) and of the logarithm of the spin radius,
    /// with respect to the normal impulse of each point.
    pub by_load: Vec<[f64; 3]>,
}

/// Data of a step that derivatives keep fixed, apart from its parameters.
#[derive(Clone, Debug)]
pub(super) struct Constants {
    pub(super) gravity: [f64; 3],
    pub(super) secant: bool,
    pub(super) rotations: Rotations,
    /// Rates by which the configuration is integrated, over dofs.
    pub(super) followed: Vec<f64>,
    pub(super) wrenches: Vec<(usize, Vec3, Vec3)>,
    /// External generalised force; empty or of length `n_v`.
    pub(super) tau: Vec<f64>,
}

/// Dependence of a motion on the other motions of its step, and on the step.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// Index of the motion from which it starts, and the share up to which that is followed; `None`
    /// at the start of the step.
    pub(super) before: Option<(usize, f64)>,
    /// Share of the time step that the motion takes.
    pub(super) size: f64,
    /// Command of the motion, if it differs from the step's.
    pub(super) told: Option<Told>,
    /// For each contact of the motion, the contact of the step's report with the same pair.
    pub(super) contacts: Vec<Option<usize>>,
}

impl Link {
    /// Link of a step with a single motion.
    pub(super) fn whole() -> Self {
        Self { size: 1.0, ..Self::default() }
    }
}

/// Command of a motion that ends before the step does.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// Configuration at the step's command, and the displacement to that at the motion's command,
    /// in the tangent space.
    pub(super) target: Vec<f64>,
    pub(super) way: Vec<f64>,
    /// Share of their displacement that prescribed dofs cover.
    pub(super) ratio: f64,
    /// Time from the end of the motion to the end of the step, in s, and its share of the step.
    pub(super) rest: f64,
    pub(super) rest_share: f64,
    /// Rate of the command, over dofs.
    pub(super) rate: Vec<f64>,
}

/// The velocity at the start of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct StartAt {
    /// False if steps start from rest; the other fields are then not read.
    pub(super) carried: bool,
    pub(super) v: Vec<f64>,
    /// Twists of bodies, and their rates of change at constant `v`.
    pub(super) V: Vec<Twist>,
    pub(super) A: Vec<Twist>,
    /// Velocity-product forces on bodies; `None` without mass.
    pub(super) forces: Vec<Option<BodyVelocityForce>>,
}

/// Changes of the velocity at the start and of its effects, or weights on them.
#[derive(Clone, Debug, Default)]
pub(super) struct StartChange {
    /// Change of the velocity, over dofs.
    pub(super) v: Vec<f64>,
    /// Change of the twists due to known rates, minus those at the start.
    pub(super) known: Vec<Twist>,
    pub(super) dV: Vec<Twist>,
    pub(super) dA: Vec<Twist>,
    pub(super) to_V: Vec<SpatialForce>,
    pub(super) to_A: Vec<SpatialForce>,
    pub(super) moves: Vec<Twist>,
}

impl StartAt {
    /// True if inertia resists the rate of a dof.
    pub(super) fn resists(&self, system: &System, dof: usize) -> bool {
        self.carried || system.is_passive(dof)
    }
}

/// One row of a joint limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitAt {
    pub(super) row: usize,
    pub(super) dof: usize,
    pub(super) sign: f64,
    pub(super) per_gap: f64,
    pub(super) per_h: f64,
}

/// Support of a joint at the solution.
#[derive(Clone, Debug)]
pub(super) struct SupportAt {
    pub(super) body: usize,
    /// Its extra variable, for the pressing force.
    pub(super) own: usize,
    pub(super) mu: f64,
    pub(super) load: LoadAt,
    /// Rows of a planar joint's support.
    pub(super) rows: Range<usize>,
}

/// Spring of one actuated dof.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpringAt {
    pub(super) dof: usize,
    /// Index among the commanded dofs.
    pub(super) cmd: usize,
    pub(super) stiffness: f64,
    pub(super) damping: f64,
    /// `Δq_cmd − h v`; zero for a spring at its force limit.
    pub(super) stretch: f64,
    /// Negative of the rate that the damper resists: `v_cmd − v` or `−v`.
    pub(super) rate: f64,
    pub(super) on_error: bool,
    /// True if it has a force limit.
    pub(super) limits: bool,
    /// Force of a spring at its force limit, in N or N·m.
    pub(super) limited: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) moves: Vec<Twist>,
    pub(super) dV: Vec<Twist>,
    pub(super) dV2: Vec<Twist>,
    pub(super) dF: Vec<SpatialForce>,
    pub(super) dF2: Vec<SpatialForce>,
    pub(super) start: StartChange,
    pub(super) frames: Vec<FrameChange>,
    pub(super) rows: Vec<f64>,
    pub(super) forces: Vec<f64>,
    pub(super) turn: Vec<f64>,
    pub(super) dx: Vec<f64>,
    pub(super) dz: Vec<f64>,
    /// Change of the configuration, over dofs.
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) c: Vec<f64>,
    pub(super) d: Vec<f64>,
    pub(super) known: Vec<f64>,
    /// Changes of dependent dofs' rates while the independent dofs rest, or weights on them, over
    /// dofs.
    pub(super) ties: Vec<f64>,
    /// Changes of the rates of constraint rows, or weights on them.
    pub(super) rates: Vec<f64>,
    /// Weights on changes of the least-norm rates' twists.
    pub(super) to_W: Vec<SpatialForce>,
    pub(super) push: Vec<[f64; WAYS]>,
    /// Weights on the logarithms of the areas of points of foundations.
    pub(super) grow: Vec<f64>,
    /// Changes of, or weights on, the centre and the logarithm of the spin radius of each area.
    pub(super) areas: Vec<[f64; 3]>,
    /// Motions of both bodies at each meeting of an added pair, or weights on them.
    pub(super) places: Vec<[Twist; 2]>,
    pub(super) to_places: Vec<[SpatialForce; 2]>,
}

impl Derivatives {
    /// Turns the warm start from the last differentiated step on (the default) or off. If off,
    /// results have the same bits for any history.
    pub fn set_warm_start(&mut self, on: bool) {
        self.work.set_warm_start(on);
    }

    /// The next step starts cold, with the bits of a step of a new workspace.
    pub(crate) fn start_cold(&mut self) {
        self.work.start_from(None);
    }

    /// Next configuration, length `n_q`; that of the relaxed step if it was differentiated.
    pub fn q_next(&self) -> &[f64] {
        &self.work.q_next
    }

    /// Velocities, contacts and limits of the step, without certificate.
    pub fn report(&self) -> &StepReport {
        &self.work.report
    }

    /// Kinks at which the step has only one-sided derivatives.
    pub fn kinks(&self) -> StepKinks {
        self.kinks
    }

    /// Bound on the difference between the relaxed and the exact velocity: `(v − v_exact)ᵀ P (v −
    /// v_exact) ≤ bound`, in J, with the `P` of the step. It is `kappa` times the number of
    /// contacts and limits with rows; 0 for the exact step, infinity for a relaxed step with exact
    /// friction.
    pub fn smoothing_bound(&self) -> f64 {
        self.bound
    }

    /// What the switched constraints hold after the step: [`State::attached`](crate::State::attached).
    pub fn attached(&self) -> &[Option<Attached>] {
        self.set.as_ref().map_or(&[], |set| &set.attached)
    }

    /// The copy of the system with its switches set.
    pub(super) fn set_system(&self) -> Option<Arc<System>> {
        self.set.as_ref().map(|set| Arc::clone(&set.system))
    }

    /// Error if a constraint attaches in the step, of which `what` has no derivative.
    pub(crate) fn check_found(&self, what: &'static str) -> Result<(), DerivativeError> {
        let (Some(set), Some(k)) = (&self.set, self.found.first()) else { return Ok(()) };
        let name = set.system.constraints[*k].given.name.clone();
        Err(DerivativeError::Attaches { name, what })
    }

    /// Number of contacts of the step.
    pub fn n_contacts(&self) -> usize {
        self.contacts.len()
    }
}

impl System {
    /// Creates memory for derivatives of this system's steps. Use one per thread.
    pub fn create_derivatives(&self) -> Derivatives {
        let mut work = self.create_workspace();
        work.problem.whole = Some(ConeProgram::default());
        Derivatives {
            work,
            sensitivity: Sensitivity::new(),
            relaxed: Relaxed::default(),
            kinks: StepKinks::default(),
            bound: 0.0,
            ready: false,
            time_step: 0.0,
            q: Vec::new(),
            q_target: Vec::new(),
            x: Vec::new(),
            z: Vec::new(),
            contacts: Vec::new(),
            constraints: Vec::new(),
            motions: Vec::new(),
            joined: Vec::new(),
            places: Vec::new(),
            parts: Vec::new(),
            link: Link::default(),
            pool: Vec::new(),
            limits: Vec::new(),
            springs: Vec::new(),
            supports: Vec::new(),
            forces: Vec::new(),
            per_h: Vec::new(),
            gathered: Vec::new(),
            momenta: Vec::new(),
            momenta_gathered: Vec::new(),
            inertia: false,
            scale: ScaleAt::default(),
            start: StartAt::default(),
            v_inert: Vec::new(),
            V: Vec::new(),
            V_inert: Vec::new(),
            w: Vec::new(),
            W: Vec::new(),
            has_w: false,
            constants: Constants {
                gravity: [0.0; 3],
                secant: false,
                rotations: Rotations::Exponential,
                followed: Vec::new(),
                wrenches: Vec::new(),
                tau: Vec::new(),
            },
            scratch: Scratch::default(),
            matrices: Memory::new(self),
            pressure: None,
            spare: None,
            set: None,
            found: Vec::new(),
        }
    }
}
