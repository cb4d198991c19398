//! Derivatives of a convex step: of the next configuration, the velocity and the impulses, with respect to all that
//! goes in.
//!
//! ```text
//! P v − h (K Δq_cmd + tau) = Σ J_iᵀ λ_i,     s_i = max(phi_i/h, −max_recovery_speed) + J_i v,     q_next = q ⊕ h v
//! ```
//!
//! The program of a step is differentiated on its active set, or relaxed ([`Mode`]); what the program is made of,
//! in closed form: distances, normals, witness points and tangents turn with the bodies
//! ([`quasistep_geometry::ContactMotion`]), joint axes with the joints inboard of them
//! ([`quasistep_model::Twist`]), and so do gravity, wrenches and inertia. Rotations are on the tangent space:
//! a change `dq` of `q` is `q ⊕ dq`, of length `n_v`; [`quasistep_model::Model::coordinate_change`] and
//! [`tangent_gradient`](quasistep_model::Model::tangent_gradient) convert to quaternion coordinates.
//! Equations are in `docs/derivatives.md`.

mod chain;
mod constraint;
mod contact;
mod gradient;
mod matrix;
mod pressure;
mod scale;
mod second;
mod step;
mod trees;

use crate::error::StepError;
use crate::formulation::edges::WAYS;
use crate::params::Rotations;
use crate::report::StepReport;
use crate::system::System;
use crate::workspace::Workspace;
use constraint::ConstraintAt;
use contact::{ContactAt, FrameChange};
use quasistep_geometry::ContactMotion;
use quasistep_model::{SpatialForce, Twist};
pub use quasistep_solvers::Kinks;
use quasistep_solvers::{Relaxed, Sensitivity, SensitivityError};
use scale::ScaleAt;

/// Which derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Of the step itself, on its true active set. At a kink, where the step has no derivative in all directions,
    /// it is that of the side that [`StepKinks`] names.
    Exact,
    /// Of the relaxed step, whose contacts push before they touch: its own `q_next` and the derivative of that.
    Smooth {
        /// `λᵀ s = kappa` of every contact and every joint limit, whatever the shape of its cone and the
        /// number of its edges, in J, > 0: a force of `kappa` N at a distance of one metre that closes in a
        /// straight line.
        kappa: f64,
    },
}

/// Where a step has no derivative in every direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepKinks {
    /// Rows of the program that touch without pushing, and limited springs that just reach their limits.
    pub program: Kinks,
    /// Contact points with a force whose features change with the smallest motion of their bodies.
    pub features: u32,
    /// Corners of patches that stand exactly on an edge of the other face, or of two level faces neither of which lies
    /// on the other; of the relaxed step only: in the other one the forces of a patch at rest act alike from either
    /// place. Chosen: the corner goes with its body, the normal with body A.
    pub edges: u32,
    /// Pairs with a point cloud of which the smallest motion may choose other points; of the relaxed step only, where
    /// each of them has a force. Chosen: the points stay.
    pub choices: u32,
    /// Overlaps that just reach the speed at which recovery is bounded. Chosen: it is bounded.
    pub recovery: u32,
    /// Points at the contact margin, which the smallest motion takes in or out; of the relaxed step only, as they
    /// have no force in the other.
    pub margin: u32,
}

impl StepKinks {
    /// True if the step has no derivative in some direction.
    pub fn any(&self) -> bool {
        let of_geometry = self.features + self.edges + self.choices + self.margin;
        !self.only_of_geometry() || of_geometry > 0
    }

    /// True if no kink is but of where bodies are: derivatives by all but the configuration are as good as anywhere.
    pub fn only_of_geometry(&self) -> bool {
        !self.program.any() && self.recovery == 0
    }
}

/// A small change of what goes into a step, or a gradient with respect to it. An empty vector is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputChange {
    /// Configuration, on its tangent space, `n_v`: m, rad.
    pub q: Vec<f64>,
    /// Command, on its tangent space, [`n_cmd_v`](System::n_cmd_v): m, rad. A pose is turned in W and shifted.
    pub q_cmd: Vec<f64>,
    /// Rate of the command, `n_cmd_v`: m/s, rad/s.
    pub v_cmd: Vec<f64>,
    /// External wrench on each body, six numbers a body: the moment about the origin of its frame in N·m, then the
    /// force in N, in W.
    pub wrench: Vec<f64>,
    /// External generalised force, `n_v`: N, N·m.
    pub tau: Vec<f64>,
    /// Friction `mu`, `mu_spin`, `mu_roll` of each contact of the report. A coefficient of 0 has no rows, and no
    /// derivative here.
    pub friction: Vec<f64>,
    /// Stiffness of each commanded dof, `n_cmd_v`: N/m, N·m/rad. Prescribed dofs and springs of frames have none.
    pub stiffness: Vec<f64>,
    /// Damping of each commanded dof, `n_cmd_v`: N·s/m, N·m·s/rad; none of springs of frames.
    pub damping: Vec<f64>,
    /// Mass of each body, in kg, at fixed centre of mass; the inertia grows with it.
    pub mass: Vec<f64>,
    /// Centre of mass of each body, three numbers a body, in its frame, in m; the inertia about the centre stays.
    pub com: Vec<f64>,
    /// Inertia of each body about its centre of mass, six numbers a body in its axes: xx, yy, zz, xy, xz, yz, in kg·m². Beside
    /// what grows with the mass.
    pub inertia: Vec<f64>,
    /// Compliance of each contact of the report, in m/N. A rigid one has no variable, and no derivative here.
    pub compliance: Vec<f64>,
    /// Time step, in s, at fixed command.
    pub time_step: f64,
}

/// A small change of what comes out of a step, or weights on it. An empty vector of weights is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputChange {
    /// Next configuration, on its tangent space, `n_v`.
    pub q_next: Vec<f64>,
    /// Velocity, `n_v`.
    pub v: Vec<f64>,
    /// Normal impulse of each contact of the report, in N·s.
    pub normal: Vec<f64>,
    /// Impulse of each contact on body B, six numbers a contact, in W: linear in N·s, then angular about the contact
    /// point in N·m·s.
    pub impulse: Vec<f64>,
}

/// Why there is no derivative.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DerivativeError {
    /// The step itself was not solved.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The program of the step has no derivative.
    #[error("no derivative of this step: {0}")]
    Program(#[from] SensitivityError),
    /// The step is not a convex one that starts and ends as [`Integration::Euler`](crate::Integration::Euler) does.
    #[error("derivatives are those of convex steps: `{what}` is {seen}; it must be {rule}")]
    Formulation {
        /// Which parameter.
        what: &'static str,
        /// What it is.
        seen: &'static str,
        /// What it must be.
        rule: &'static str,
    },
    /// The step has no derivative as one program: pairs join it along its motion, or it takes substeps.
    #[error(
        "no derivative of this step: {0}; take a smaller step, or a contact_margin that has the pair from the start"
    )]
    Substeps(StepError),
    /// A drive is at its effort limit under constraints: what moves along the constraints then has no stiffness of its own.
    #[error(
        "no derivative of this step: the drive of `{0}`, which constraints couple, is at its effort limit"
    )]
    Limited(String),
    /// A vector has the wrong length.
    #[error("`{what}` has {got} entries; it must have {want}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The length it must have, or 0 for none.
        want: usize,
    },
    /// A number of the system at which friction or compliance of a pair begins, or becomes another law.
    #[error("no derivative by a number at which friction or compliance of a pair begins")]
    Begins,
    /// Nothing was differentiated yet, or the last step could not be.
    #[error("no step was differentiated")]
    NotPrepared,
}

/// One step and its derivatives; keeps its memory. Made by [`System::create_derivatives`], filled by
/// [`System::differentiate`].
#[derive(Debug)]
pub struct Derivatives {
    work: Workspace,
    sensitivity: Sensitivity,
    relaxed: Relaxed,
    kinks: StepKinks,
    bound: f64,
    ready: bool,
    time_step: f64,
    q: Vec<f64>,
    q_target: Vec<f64>,
    /// Solution of the program that is differentiated.
    x: Vec<f64>,
    z: Vec<f64>,
    contacts: Vec<ContactAt>,
    constraints: Vec<ConstraintAt>,
    motions: Vec<ContactMotion>,
    /// Joint limits with rows: index of the row, dof, sign in its unit, `∂offset/∂gap`, `∂offset/∂h`.
    limits: Vec<LimitAt>,
    springs: Vec<SpringAt>,
    /// Impulses on bodies at the answer: contacts, gravity, wrenches, and what grows with the time step.
    forces: Vec<SpatialForce>,
    per_h: Vec<SpatialForce>,
    gathered: Vec<SpatialForce>,
    /// Of passive rates alone, if they have inertia.
    momenta: Vec<SpatialForce>,
    momenta_gathered: Vec<SpatialForce>,
    inertia: bool,
    scale: ScaleAt,
    v_passive: Vec<f64>,
    V: Vec<Twist>,
    V_passive: Vec<Twist>,
    /// Twists of the least-norm rates, once impulses were asked for.
    w: Vec<f64>,
    W: Vec<Twist>,
    has_w: bool,
    constants: Constants,
    scratch: Scratch,
    matrices: matrix::Memory,
    /// The program before, whose loads tell where friction of areas acts; none where no area follows its loads.
    pressure: Option<pressure::Pressure>,
    /// Memory for that.
    spare: Option<Box<Derivatives>>,
}

/// What of a step is fixed but for its parameters.
#[derive(Clone, Debug)]
struct Constants {
    gravity: [f64; 3],
    secant: bool,
    rotations: Rotations,
    /// Rates that the configuration follows, over dofs.
    followed: Vec<f64>,
    wrenches: Vec<(usize, quasistep_math::Vec3, quasistep_math::Vec3)>,
    /// Empty or of length `n_v`.
    tau: Vec<f64>,
}

/// One row of a joint limit.
#[derive(Clone, Copy, Debug)]
struct LimitAt {
    row: usize,
    dof: usize,
    sign: f64,
    per_gap: f64,
    per_h: f64,
}

/// One actuated dof.
#[derive(Clone, Copy, Debug)]
struct SpringAt {
    dof: usize,
    /// Its place among the commanded dofs.
    cmd: usize,
    stiffness: f64,
    damping: f64,
    /// `Δq_cmd − h v`, zero for a spring at its limit.
    stretch: f64,
    /// What the damper resists, with a minus: `v_cmd − v` or `−v`.
    rate: f64,
    on_error: bool,
    /// It has a limit.
    limits: bool,
    /// Force of a spring at its limit, in N or N·m.
    limited: Option<f64>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    moves: Vec<Twist>,
    dV: Vec<Twist>,
    dV2: Vec<Twist>,
    dF: Vec<SpatialForce>,
    dF2: Vec<SpatialForce>,
    frames: Vec<FrameChange>,
    rows: Vec<f64>,
    forces: Vec<f64>,
    turn: Vec<f64>,
    dx: Vec<f64>,
    dz: Vec<f64>,
    /// Over dofs.
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    d: Vec<f64>,
    known: Vec<f64>,
    /// Changes of the rates of what follows by constraints where the rest is still, or weights on them, over dofs.
    ties: Vec<f64>,
    /// Over rows of constraints.
    rates: Vec<f64>,
    push: Vec<[f64; WAYS]>,
    /// Weights on the logarithms of the areas of points of foundations.
    grow: Vec<f64>,
    /// Changes of, or weights on, the centre and the logarithm of the spin radius of each area.
    areas: Vec<[f64; 3]>,
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
        Derivatives {
            work: self.create_workspace(),
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
            limits: Vec::new(),
            springs: Vec::new(),
            forces: Vec::new(),
            per_h: Vec::new(),
            gathered: Vec::new(),
            momenta: Vec::new(),
            momenta_gathered: Vec::new(),
            inertia: false,
            scale: ScaleAt::default(),
            v_passive: Vec::new(),
            V: Vec::new(),
            V_passive: Vec::new(),
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
            matrices: matrix::Memory::new(self),
            pressure: None,
            spare: None,
        }
    }
}
