//! What a step says about itself: forces, modes, and the certificate.

use crate::certificate::Certificate;
use crate::error::StepError;
use crate::friction::Friction;
use crate::params::Fallback;
use crate::timer::Stage;
use quasistep_math::Vec3;
use quasistep_record::Uniqueness;
pub use quasistep_solvers::{CoulombMethod, Method};

/// Slip speed above which a loaded contact is said to slide, in m/s.
///
/// Far below any motion of interest, far above what rounding leaves on a sticking contact.
pub const SLIP_SPEED_THRESHOLD: f64 = 1e-6;

/// Rate of spinning about the normal above which a loaded contact with torsional friction is said to
/// slide, in rad/s: the slip threshold at a tenth of a metre.
pub const SPIN_RATE_THRESHOLD: f64 = 1e-5;

/// The algorithm that gave a step's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepMethod {
    /// Of a convex program, and why it was taken.
    Convex(Method),
    /// Of a step with exact Coulomb friction.
    Coulomb(CoulombMethod),
}

impl Default for StepMethod {
    fn default() -> Self {
        Self::Convex(Method::default())
    }
}

/// What a contact does during a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactMode {
    /// No force.
    Separate,
    /// Force, and neither slip faster than [`SLIP_SPEED_THRESHOLD`] nor, if the pair has torsional
    /// friction, spin faster than [`SPIN_RATE_THRESHOLD`].
    Stick,
    /// Force, and slip or spin.
    Slide,
}

/// One contact point of a step. All vectors in the world frame.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactReport {
    /// Index of geom A.
    pub geom_a: u32,
    /// Index of geom B.
    pub geom_b: u32,
    /// Body that carries geom A.
    pub body_a: u32,
    /// Body that carries geom B.
    pub body_b: u32,
    /// Pair of features in contact, stable while the contact lasts.
    pub feature: u32,
    /// Middle between the two witness points, in m.
    pub p_W: Vec3,
    /// Unit normal, from A into B.
    pub n_AB_W: Vec3,
    /// Signed distance before the step, in m.
    pub phi: f64,
    /// Linearised signed distance after the step, in m.
    pub phi_next: f64,
    /// Friction of the pair.
    pub friction: Friction,
    /// Normal force on B along `n_AB_W`, ≥ 0, in N.
    pub normal_force: f64,
    /// Friction force on B, in N. Of an area the sum over its points is determined, not how they share it.
    pub friction_force_W: Vec3,
    /// Torque on B about the normal, at `p_W`, in N·m; zero for a point without torsional friction.
    pub spin_torque: f64,
    /// Torque on B across the normal, in N·m; zero for a pair without rolling friction.
    pub roll_torque_W: Vec3,
    /// From `p_W` to the centre of pressure of the area that this contact is a point of, about which its friction cone is, in m;
    /// zero for one that rubs on its own.
    pub lever_W: Vec3,
    /// Velocity of B against A in the tangent plane at `p_W`, in m/s.
    pub slip_W: Vec3,
    /// Angular velocity of B against A about the normal, in rad/s; zero for a pair that does not
    /// resist turning, whose rows do not know it.
    pub spin_rate: f64,
    /// Height `h mu |v_t|` at which the convex step makes a sliding contact float, in m: with exact
    /// Coulomb friction the one that is not there; 0 without force.
    pub boundary_layer: f64,
    /// True where convex friction alone makes it push: it floats above `max_overlap`/1000, and the bodies that it keeps apart
    /// cannot come down on it, for others push back across gaps of their own. With exact friction none of them would push, and
    /// what they hold would move.
    pub artificial: bool,
    /// Speed that it leaves an impact with, in m/s; 0 for what is none.
    pub rebound: f64,
    /// Mode.
    pub mode: ContactMode,
}

impl ContactReport {
    /// The whole force on B, in N.
    pub fn force_W(&self) -> Vec3 {
        self.n_AB_W * self.normal_force + self.friction_force_W
    }

    /// The whole torque on B at the contact point, in N·m.
    pub fn torque_W(&self) -> Vec3 {
        self.n_AB_W * self.spin_torque + self.roll_torque_W
    }

    /// Torque on B at where its friction acts, in N·m.
    pub(crate) fn torque_about_centre_W(&self) -> Vec3 {
        self.n_AB_W * self.spin_torque_about_centre() + self.roll_torque_W
    }

    /// Torque on B about the normal through the centre of pressure, in N·m.
    pub fn spin_torque_about_centre(&self) -> f64 {
        self.spin_torque - self.n_AB_W.dot(self.lever_W.cross(self.friction_force_W))
    }

    /// Normal force that friction of size `sliding` and the torques need, in N; infinite for friction where there
    /// can be none.
    pub(crate) fn normal_force_needed(&self, sliding: f64) -> f64 {
        let Friction { mu, mu_spin, mu_roll, .. } = self.friction;
        let share = |load: f64, coefficient| if load == 0.0 { 0.0 } else { load / coefficient };
        let slide = share(sliding, mu);
        // a difference: where nothing resists turning its rounding is all there is
        let spin = self.spin_torque_about_centre();
        let terms = self.spin_torque.abs() + self.lever_W.norm() * self.friction_force_W.norm();
        let spin = if spin.abs() <= 8.0 * f64::EPSILON * terms { 0.0 } else { spin };
        let spin = share(spin, mu_spin);
        let roll = share(self.roll_torque_W.norm(), mu_roll);
        Vec3::new(slide, spin, roll).norm()
    }
}

/// Force of a position limit, or of dry friction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointForce {
    /// Dof that it acts on.
    pub dof: u32,
    /// Force on the joint, in N or N·m; of a limit positive at the lower one, negative at the upper one.
    pub force: f64,
}

/// Friction of the surface that a planar joint moves on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SupportForce {
    /// Body that the joint carries.
    pub body: u32,
    /// Normal force, in N.
    pub load: f64,
    /// Force along x and y of the joint's frame, in N, and torque about its z, in N·m, on the body at its origin.
    pub force: [f64; 3],
}

/// Force and error of a constraint, in the order of [`System::constraints`](crate::System::constraints).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConstraintReport {
    /// Where its force acts on both bodies: the origin of B's frame at the start of the step, in m; 0 of a coupling.
    pub p_W: Vec3,
    /// Force on body B, in W, in N; that on A is the opposite one. 0 of a coupling.
    pub force_W: Vec3,
    /// Torque of a weld on body B about that point, in W, in N·m.
    pub torque_W: Vec3,
    /// Multiplier of a coupling: its joint i has `c_i` times this, in N or N·m.
    pub multiplier: f64,
    /// How far it is off at the end of the step: in m, or the unit of a coupling.
    pub error: f64,
    /// That of a weld's axes, in rad.
    pub angle: f64,
    /// Rows that others imply: these are given no force.
    pub dependent: u32,
}

impl ConstraintReport {
    /// Its largest force or torque, in N or N·m.
    pub(crate) fn largest_force(&self) -> f64 {
        self.force_W.norm().max(self.torque_W.norm()).max(self.multiplier.abs())
    }
}

/// How much the drag of the relaxation time slows a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyDrag {
    /// Which body.
    pub body: u32,
    /// Drag at its centre of mass as a share of its weight: `v/(g τ)`.
    pub share: f64,
}

impl StepReport {
    /// Adds to the force of the last support, or begins that of another one.
    pub(crate) fn push_support(&mut self, body: u32, push: [f64; 3]) {
        match self.supports.last_mut() {
            Some(last) if last.body == body => {
                last.force.iter_mut().zip(push).for_each(|(force, push)| *force += push);
            }
            _ => self.supports.push(SupportForce { body, load: 0.0, force: push }),
        }
    }

    /// Counts the force of a support among the friction of its dofs, of which `first` is the first.
    pub(crate) fn add_support(&mut self, first: usize, support: usize) {
        let force = self.supports[support].force;
        for (dof, force) in (first as u32..).zip(force) {
            match self.joint_friction.binary_search_by_key(&dof, |f| f.dof) {
                Ok(at) => self.joint_friction[at].force += force,
                Err(at) => self.joint_friction.insert(at, JointForce { dof, force }),
            }
        }
    }
}

/// Everything a step computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Time at the end of the step, in s.
    pub time: f64,
    /// Generalised velocity during the step, length `n_v`, in m/s or rad/s.
    pub v: Vec<f64>,
    /// Contact points within the margin, ordered by geom pair and feature.
    pub contacts: Vec<ContactReport>,
    /// Closed loops and couplings, all of them.
    pub constraints: Vec<ConstraintReport>,
    /// Position limits that push.
    pub limits: Vec<JointForce>,
    /// Dry friction of each dof that has some, ascending, that of supports with it: against its motion and of full size where it
    /// moves, of any size up to that where it does not. Zero for a prescribed joint at rest, whose drive and friction share a force as they
    /// like.
    pub joint_friction: Vec<JointForce>,
    /// Of these the forces of supports of planar joints, by body.
    pub supports: Vec<SupportForce>,
    /// Drive force on each commanded dof, in N or N·m: spring and damper of an actuated joint, or
    /// the force that a prescribed motion needs. Then of each [`CartesianSpring`](crate::CartesianSpring) the torque and
    /// the force on its frame, at its origin, in W.
    pub effort: Vec<f64>,
    /// Actuated dofs whose spring force is at its effort limit.
    pub saturated: Vec<u32>,
    /// Bodies that the drag of the [relaxation time](crate::Relaxation) slows by more than 1 % of their weight, ascending.
    pub drags: Vec<BodyDrag>,
    /// Residuals.
    pub certificate: Certificate,
    /// Substeps that the step was taken in, 1 for a whole one: velocity, forces and contacts are those of the last.
    pub substeps: u32,
    /// Pairs of shapes beyond the contact margin that joined the program because its motion brought them together.
    pub n_joined: usize,
    /// Rows of the step problem.
    pub n_rows: usize,
    /// Rows with an impulse.
    pub n_active: usize,
    /// Pairs of shapes that reached the exact distance.
    pub n_candidates: usize,
    /// Iterations of the solver.
    pub iterations: u32,
    /// Multiply-adds of the solvers in all programs of the step, counted from sizes: the same on every machine. At most
    /// [`StepParams::work_limit`](crate::StepParams::work_limit).
    pub work: u64,
    /// The algorithm that gave the answer.
    pub method: StepMethod,
    /// What stands in for a step that has no solution with exact Coulomb friction, and why that has none;
    /// `None` for a step as asked for.
    pub fallback: Option<(Fallback, StepError)>,
    /// Whether another answer would have done as well, if [`StepParams::uniqueness`](crate::StepParams::uniqueness)
    /// asks and the step has exact Coulomb friction and took no fallback.
    pub uniqueness: Option<Uniqueness>,
    /// True if the impulses are the smallest-norm ones among all that balance the same forces.
    pub smallest_norm: bool,
    /// Time spent in each stage, in ns of the workspace's clock; zero without one.
    pub stage_ns: [u64; Stage::COUNT],
}
