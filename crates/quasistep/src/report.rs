//! Report of a step: forces, contact modes, and the certificate.

use crate::certificate::Certificate;
use crate::error::StepError;
use crate::friction::Friction;
use crate::params::Fallback;
use crate::sizes::SizeChoice;
use crate::timer::Stage;
pub use quasistep_cone::Method;
pub use quasistep_friction::CoulombMethod;
use quasistep_math::Vec3;
use quasistep_record::Uniqueness;

/// Slip speed above which a loaded contact counts as sliding, in m/s. It is far below any motion of
/// interest, and far above rounding on a sticking contact.
pub const SLIP_SPEED_THRESHOLD: f64 = 1e-6;

/// Spin rate about the normal above which a loaded contact with torsional friction counts as
/// sliding, in rad/s: the slip threshold at a lever arm of 0.1 m.
pub const SPIN_RATE_THRESHOLD: f64 = 1e-5;

/// Algorithm that found a step's solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepMethod {
    /// Solution of a convex program, with the method of the solver.
    Convex(Method),
    /// Solution of a step with exact Coulomb friction.
    Coulomb(CoulombMethod),
}

impl Default for StepMethod {
    fn default() -> Self {
        Self::Convex(Method::default())
    }
}

/// State of a contact during a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactMode {
    /// No contact force.
    Separate,
    /// Contact force, with slip of at most [`SLIP_SPEED_THRESHOLD`] and, if the pair has torsional
    /// friction, spin of at most [`SPIN_RATE_THRESHOLD`].
    Stick,
    /// Contact force with slip or spin.
    Slide,
}

/// One contact point of a step. All vectors are in the world frame.
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
    /// Witness points of A and of B, at which the step has the force act on each of the two, in m.
    pub p_WC: [Vec3; 2],
    /// Unit normal, from A into B.
    pub n_AB_W: Vec3,
    /// Signed distance before the step, in m.
    pub phi: f64,
    /// Linearised signed distance after the step, in m.
    pub phi_next: f64,
    /// Friction of the pair.
    pub friction: Friction,
    /// Normal force on B along `n_AB_W`, ≥ 0, in N: that with which the surfaces press one another.
    pub normal_force: f64,
    /// Pull of pads at this contact, in N, ≥ 0: a force on B against `n_AB_W`, beside the normal
    /// force.
    pub pull: f64,
    /// Friction force on B, in N. For an area only the sum over its points is determined, not its
    /// distribution.
    pub friction_force_W: Vec3,
    /// Torque on B about the normal, at `p_W`, in N·m; zero for a point without torsional friction.
    pub spin_torque: f64,
    /// Torque on B across the normal, in N·m; zero for a pair without rolling friction.
    pub roll_torque_W: Vec3,
    /// Vector from `p_W` to the centre of pressure of the area to which this contact belongs, in m.
    /// The area's friction cone is about that centre. Zero for a contact with a cone of its own.
    pub lever_W: Vec3,
    /// Velocity of B against A in the tangent plane at `p_W`, in m/s.
    pub slip_W: Vec3,
    /// Angular velocity of B against A about the normal, in rad/s. Zero for a pair that does not
    /// resist turning, as its rows do not include it.
    pub spin_rate: f64,
    /// Height `h mu |v_t|` at which the convex step makes a sliding contact float, in m; 0 without
    /// force. With exact Coulomb friction it is the height that is avoided.
    pub boundary_layer: f64,
    /// True if the contact pushes only because of convex friction. It floats above
    /// `max_overlap`/1000, and the bodies cannot close the gap because other contacts push back
    /// across gaps of their own. With exact friction none of these contacts would push, and bodies
    /// held by them would move.
    pub artificial: bool,
    /// Normal speed after an impact, in m/s; 0 if there was no impact.
    pub rebound: f64,
    /// Contact mode.
    pub mode: ContactMode,
}

impl ContactReport {
    /// Contact force on B, in N, without the pull of pads.
    pub fn force_W(&self) -> Vec3 {
        self.n_AB_W * self.normal_force + self.friction_force_W
    }

    /// Total force on B at this contact, in N: the contact force less the pull of pads. A force sensor
    /// between the bodies measures it.
    pub fn net_force_W(&self) -> Vec3 {
        self.force_W() - self.n_AB_W * self.pull
    }

    /// Total torque on B about the contact point, in N·m.
    pub fn torque_W(&self) -> Vec3 {
        self.n_AB_W * self.spin_torque + self.roll_torque_W
    }

    /// Torque on B about the centre of friction, in N·m.
    pub(crate) fn torque_about_centre_W(&self) -> Vec3 {
        self.n_AB_W * self.spin_torque_about_centre() + self.roll_torque_W
    }

    /// Torque on B about the normal through the centre of pressure, in N·m.
    pub fn spin_torque_about_centre(&self) -> f64 {
        self.spin_torque - self.n_AB_W.dot(self.lever_W.cross(self.friction_force_W))
    }

    /// Normal force required by friction of size `sliding` (N) and by the torques, in N. Infinite
    /// if a torque or force acts whose coefficient is zero.
    pub(crate) fn normal_force_needed(&self, sliding: f64) -> f64 {
        let Friction { mu, mu_spin, mu_roll, .. } = self.friction;
        let share = |load: f64, coefficient| if load == 0.0 { 0.0 } else { load / coefficient };
        let slide = share(sliding, mu);
        // this difference is pure rounding where nothing resists turning
        let spin = self.spin_torque_about_centre();
        let terms = self.spin_torque.abs() + self.lever_W.norm() * self.friction_force_W.norm();
        let spin = if spin.abs() <= 8.0 * f64::EPSILON * terms { 0.0 } else { spin };
        let spin = share(spin, mu_spin);
        let roll = share(self.roll_torque_W.norm(), mu_roll);
        Vec3::new(slide, spin, roll).norm()
    }
}

/// Force of a joint's position limit or dry friction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointForce {
    /// Dof on which the force acts.
    pub dof: u32,
    /// Force on the joint, in N or N·m. For limits it is positive at the lower limit, negative at
    /// the upper one.
    pub force: f64,
}

/// Friction force of the support surface of a planar joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SupportForce {
    /// Body carried by the joint.
    pub body: u32,
    /// Normal force, in N.
    pub load: f64,
    /// Force on the body along x and y of the joint's frame, in N, and torque about its z, in N·m,
    /// at the body's origin.
    pub force: [f64; 3],
}

/// Force and error of a constraint, in the order of [`System::constraints`](crate::System::constraints).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConstraintReport {
    /// False for a constraint that is switched off: it has no force, and its error is not measured.
    pub on: bool,
    /// True for a constraint that its command switches on, but whose bodies are farther apart than
    /// [`Switch::within`](crate::Switch::within): it stays off.
    pub missed: bool,
    /// Point at which the force acts on both bodies, in m: the origin of B's frame at the start of
    /// the step. Zero for a coupling.
    pub p_W: Vec3,
    /// Force on body B, in W, in N. The force on A is opposite. Zero for a coupling.
    pub force_W: Vec3,
    /// Torque of a weld on body B about `p_W`, in W, in N·m.
    pub torque_W: Vec3,
    /// Multiplier of a coupling. The generalised force on its joint i is `c_i` times the
    /// multiplier, in N or N·m.
    pub multiplier: f64,
    /// Violation at the end of the step, in m, or in the unit of a coupling.
    pub error: f64,
    /// Rotation error of a weld at the end of the step, in rad.
    pub angle: f64,
    /// Number of linearly dependent rows. They carry no force.
    pub dependent: u32,
}

impl ConstraintReport {
    /// Size of the force, in N, or of the multiplier of a coupling.
    pub(crate) fn size(&self) -> f64 {
        self.force_W.norm().max(self.multiplier.abs())
    }

    /// Largest force or torque of the constraint, in N or N·m.
    pub(crate) fn largest_force(&self) -> f64 {
        self.force_W.norm().max(self.torque_W.norm()).max(self.multiplier.abs())
    }
}

/// Drag of the relaxation time on one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyDrag {
    /// Index of the body.
    pub body: u32,
    /// Drag at the centre of mass, as a share of the body's weight: `v/(g τ)`.
    pub share: f64,
}

impl StepReport {
    /// Adds `push` to the last support force if it belongs to `body`, else appends a new support
    /// force.
    pub(crate) fn push_support(&mut self, body: u32, push: [f64; 3]) {
        match self.supports.last_mut() {
            Some(last) if last.body == body => {
                last.force.iter_mut().zip(push).for_each(|(force, push)| *force += push);
            }
            _ => self.supports.push(SupportForce { body, load: 0.0, force: push }),
        }
    }

    /// Adds a support force to the friction of its joint's dofs, which begin at `first`.
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

/// The last substep of a step that was divided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastSubstep {
    /// Its size, in s.
    pub size: f64,
    /// Configuration at its start.
    pub q: Vec<f64>,
    /// Velocity at its start; empty where none is carried over.
    pub v: Vec<f64>,
}

/// All results of one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Time at the end of the step, in s.
    pub time: f64,
    /// Generalised velocity during the step, length `n_v`, in m/s or rad/s.
    pub v: Vec<f64>,
    /// Contact points within the margin, ordered by geom pair and feature.
    pub contacts: Vec<ContactReport>,
    /// All constraints: closed loops and couplings.
    pub constraints: Vec<ConstraintReport>,
    /// Position limits with a force.
    pub limits: Vec<JointForce>,
    /// Dry friction of each dof that has some, including that of supports, in ascending order. It
    /// opposes the motion with full size if the dof moves, and has at most full size otherwise.
    /// Zero for a prescribed joint at rest, where the split between drive force and friction is
    /// undetermined.
    pub joint_friction: Vec<JointForce>,
    /// Friction forces of the supports of planar joints, by body. `joint_friction` includes them.
    pub supports: Vec<SupportForce>,
    /// Drive force on each commanded dof, in N or N·m: spring and damper of an actuated joint, or
    /// the force that a prescribed motion requires. Then, for each
    /// [`CartesianSpring`](crate::CartesianSpring), torque and force on its frame at the frame's
    /// origin, in W. Then, for each [`AdhesionPad`](crate::AdhesionPad), the pull of all its contact points, in N.
    /// Then, for each constraint with a [`Switch`](crate::Switch), the size of its force, in N, or of a
    /// coupling's multiplier.
    pub effort: Vec<f64>,
    /// Actuated dofs whose spring force is at its effort limit.
    pub saturated: Vec<u32>,
    /// Bodies with a drag of the [relaxation time](crate::Relaxation) above 1 % of their weight,
    /// ascending.
    pub drags: Vec<BodyDrag>,
    /// Residuals.
    pub certificate: Certificate,
    /// Size of the step, in s.
    pub time_step: f64,
    /// How the size was chosen, if it was, in the report of the second of two steps.
    pub choice: Option<SizeChoice>,
    /// Number of substeps, 1 for an undivided step. Velocity, forces and contacts are those of the
    /// last substep.
    pub substeps: u32,
    /// The last substep of a divided step.
    pub last_substep: Option<LastSubstep>,
    /// Number of shape pairs beyond the contact margin that were added because the motion brought
    /// them together.
    pub n_joined: usize,
    /// Number of rows of the step's program.
    pub n_rows: usize,
    /// Number of rows with an impulse.
    pub n_active: usize,
    /// Number of shape pairs whose exact distance was computed.
    pub n_candidates: usize,
    /// Number of solver iterations.
    pub iterations: u32,
    /// Work of the solvers in all programs of the step, in multiply-adds. It is counted from
    /// problem sizes, so it does not depend on the machine. At most
    /// [`StepParams::work_limit`](crate::StepParams::work_limit).
    pub work: u64,
    /// Algorithm that found the solution.
    pub method: StepMethod,
    /// Fallback that was used because the step has no solution with exact Coulomb friction, and the
    /// error of that step. `None` if no fallback was needed.
    pub fallback: Option<(Fallback, StepError)>,
    /// Whether the solution is unique. `None` unless
    /// [`StepParams::uniqueness`](crate::StepParams::uniqueness) is set and the step has exact
    /// Coulomb friction without a fallback.
    pub uniqueness: Option<Uniqueness>,
    /// True if the impulses have the smallest norm among all that satisfy the force balance.
    pub smallest_norm: bool,
    /// Time spent in each stage, in ns of the workspace's clock; zero without one.
    pub stage_ns: [u64; Stage::COUNT],
}
