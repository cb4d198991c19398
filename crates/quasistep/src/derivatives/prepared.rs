//! A step that was differentiated, and all that its derivatives are made of.

use super::constraint::ConstraintAt;
use super::contact::{ContactAt, FrameChange};
use super::joined::{Joined, PlaceAt};
use super::kinds::StepKinks;
use super::memory::Memory;
use super::scale::ScaleAt;
use crate::formulation::edges::WAYS;
use crate::params::Rotations;
use crate::report::StepReport;
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_geometry::ContactMotion;
use quasistep_math::Vec3;
use quasistep_model::{BodyVelocityForce, LoadAt, SpatialForce, Twist};
use quasistep_solvers::{ConeProgram, Relaxed, Sensitivity};
use std::ops::Range;

/// Distance to a bound, as a share of the larger of two, that counts as on it.
pub(super) const TIE: f64 = 1e-9;

/// One step and its derivatives; keeps its memory. Made by [`System::create_derivatives`], filled by
/// [`System::differentiate`].
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
    /// Solution of the program that is differentiated.
    pub(super) x: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) contacts: Vec<ContactAt>,
    pub(super) constraints: Vec<ConstraintAt>,
    pub(super) motions: Vec<ContactMotion>,
    /// Contacts that joined along the motion, and where their pairs meet.
    pub(super) joined: Vec<Joined>,
    pub(super) places: Vec<PlaceAt>,
    /// The motions before this one in the same step, in their order, and what this one has of them.
    pub(super) parts: Vec<Box<Derivatives>>,
    pub(super) link: Link,
    /// Memory for those motions.
    pub(super) pool: Vec<Box<Derivatives>>,
    /// Joint limits with rows: index of the row, dof, sign in its unit, `∂offset/∂gap`, `∂offset/∂h`.
    pub(super) limits: Vec<LimitAt>,
    pub(super) springs: Vec<SpringAt>,
    /// Supports of joints that rub.
    pub(super) supports: Vec<SupportAt>,
    /// Impulses on bodies at the answer: contacts, gravity, wrenches, and what grows with the time step.
    pub(super) forces: Vec<SpatialForce>,
    pub(super) per_h: Vec<SpatialForce>,
    pub(super) gathered: Vec<SpatialForce>,
    /// Of the rates that inertia resists, if there is any: those of passive dofs, or the change of all from the start.
    pub(super) momenta: Vec<SpatialForce>,
    pub(super) momenta_gathered: Vec<SpatialForce>,
    pub(super) inertia: bool,
    pub(super) scale: ScaleAt,
    pub(super) start: StartAt,
    pub(super) v_inert: Vec<f64>,
    pub(super) V: Vec<Twist>,
    pub(super) V_inert: Vec<Twist>,
    /// Twists of the least-norm rates, once impulses were asked for.
    pub(super) w: Vec<f64>,
    pub(super) W: Vec<Twist>,
    pub(super) has_w: bool,
    pub(super) constants: Constants,
    pub(super) scratch: Scratch,
    pub(super) matrices: Memory,
    /// The program before, whose loads tell where friction of areas acts; none where no area follows its loads.
    pub(super) pressure: Option<Pressure>,
    /// Memory for that.
    pub(super) spare: Option<Box<Derivatives>>,
}

/// The first program and what the second has of its loads.
#[derive(Debug)]
pub(super) struct Pressure {
    pub first: Box<Derivatives>,
    pub areas: Vec<AreaAnswer>,
}

/// How friction of an area follows the loads of its points.
#[derive(Debug)]
pub(super) struct AreaAnswer {
    pub points: Range<usize>,
    /// Changes of the centre along the tangents, in m, and of the logarithm of the spin radius for the normal impulse of each
    /// point.
    pub by_load: Vec<[f64; 3]>,
}

/// What of a step is fixed but for its parameters.
#[derive(Clone, Debug)]
pub(super) struct Constants {
    pub(super) gravity: [f64; 3],
    pub(super) secant: bool,
    pub(super) rotations: Rotations,
    /// Rates that the configuration follows, over dofs.
    pub(super) followed: Vec<f64>,
    pub(super) wrenches: Vec<(usize, Vec3, Vec3)>,
    /// Empty or of length `n_v`.
    pub(super) tau: Vec<f64>,
}

/// What a motion has of the others of its step, and of the step.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// The motion that it starts from, by its number, and how far that is followed; none at the start of the step.
    pub(super) before: Option<(usize, f64)>,
    /// Its share of the time step.
    pub(super) size: f64,
    /// Its command where that is not the step's.
    pub(super) told: Option<Told>,
    /// For each of its contacts the one of the step's report that stands for the same pair.
    pub(super) contacts: Vec<Option<usize>>,
}

impl Link {
    /// Of a step that is one motion.
    pub(super) fn whole() -> Self {
        Self { size: 1.0, ..Self::default() }
    }
}

/// A command on the way to that of the step.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// The configuration at the command of the step, and the way to that of the motion, on the tangent space.
    pub(super) target: Vec<f64>,
    pub(super) way: Vec<f64>,
    /// Share of the way that prescribed dofs go.
    pub(super) ratio: f64,
    /// Time from the end of the motion to that of the step, in s, and its share of the step.
    pub(super) rest: f64,
    pub(super) rest_share: f64,
    /// Rate of the command, over dofs.
    pub(super) rate: Vec<f64>,
}

/// The velocity at the start of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct StartAt {
    /// False where steps start from rest; nothing else is then read.
    pub(super) carried: bool,
    pub(super) v: Vec<f64>,
    /// Twists of bodies, and their rates at constant `v`.
    pub(super) V: Vec<Twist>,
    pub(super) A: Vec<Twist>,
    /// Forces of velocities on bodies; none without mass.
    pub(super) forces: Vec<Option<BodyVelocityForce>>,
}

/// Changes of the start, or weights on them.
#[derive(Clone, Debug, Default)]
pub(super) struct StartChange {
    /// Of the velocity, over dofs.
    pub(super) v: Vec<f64>,
    /// Of twists by rates that are known less those at the start.
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

/// The support of a joint at the answer.
#[derive(Clone, Debug)]
pub(super) struct SupportAt {
    pub(super) body: usize,
    /// The variable that presses it.
    pub(super) own: usize,
    pub(super) mu: f64,
    pub(super) load: LoadAt,
    /// Rows of a planar joint.
    pub(super) rows: Range<usize>,
}

/// One actuated dof.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpringAt {
    pub(super) dof: usize,
    /// Its place among the commanded dofs.
    pub(super) cmd: usize,
    pub(super) stiffness: f64,
    pub(super) damping: f64,
    /// `Δq_cmd − h v`, zero for a spring at its limit.
    pub(super) stretch: f64,
    /// What the damper resists, with a minus: `v_cmd − v` or `−v`.
    pub(super) rate: f64,
    pub(super) on_error: bool,
    /// It has a limit.
    pub(super) limits: bool,
    /// Force of a spring at its limit, in N or N·m.
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
    /// Over dofs.
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) c: Vec<f64>,
    pub(super) d: Vec<f64>,
    pub(super) known: Vec<f64>,
    /// Changes of the rates of what follows by constraints where the rest is still, or weights on them, over dofs.
    pub(super) ties: Vec<f64>,
    /// Over rows of constraints.
    pub(super) rates: Vec<f64>,
    /// Weights on changes of the twists of the least-norm rates.
    pub(super) to_W: Vec<SpatialForce>,
    pub(super) push: Vec<[f64; WAYS]>,
    /// Weights on the logarithms of the areas of points of foundations.
    pub(super) grow: Vec<f64>,
    /// Changes of, or weights on, the centre and the logarithm of the spin radius of each area.
    pub(super) areas: Vec<[f64; 3]>,
    /// Motions of two bodies where each pair meets that joined, and weights on them.
    pub(super) places: Vec<[Twist; 2]>,
    pub(super) to_places: Vec<[SpatialForce; 2]>,
}

impl Derivatives {
    /// Turns the warm start from the last step differentiated on (the default) or off: answers then have the same
    /// bits whatever was differentiated before.
    pub fn set_warm_start(&mut self, on: bool) {
        self.work.set_warm_start(on);
    }

    /// Next configuration, length `n_q`: of the relaxed step if that was asked for.
    pub fn q_next(&self) -> &[f64] {
        &self.work.q_next
    }

    /// Velocities, contacts and limits of the step; its certificate is not made.
    pub fn report(&self) -> &StepReport {
        &self.work.report
    }

    /// Where the step has no derivative in every direction.
    pub fn kinks(&self) -> StepKinks {
        self.kinks
    }

    /// How far the relaxed velocity is from the exact one at most: `(v − v_exact)ᵀ P (v − v_exact) ≤ bound`, in J,
    /// with the `P` of the step. It is `kappa` times the number of contacts and limits with rows; 0 for the exact step.
    pub fn smoothing_bound(&self) -> f64 {
        self.bound
    }

    /// Number of contacts of the step.
    pub fn n_contacts(&self) -> usize {
        self.contacts.len()
    }
}

impl System {
    /// Memory for derivatives of steps of this system. One per thread.
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
        }
    }
}
