use crate::certificate::Certificate;
use crate::error::ParamError;
use crate::formulation::{Cone, Formulation};

/// How one step is taken. Plain data, may change between steps:
/// `StepParams { time_step: 0.1, ..Default::default() }`.
#[derive(Clone, Debug, PartialEq)]
pub struct StepParams {
    /// Time step `h`, in s, > 0. Default 0.01.
    pub time_step: f64,
    /// Pairs further apart than this make no row at first, in m, ≥ 0; `f64::INFINITY`: all pairs have rows. Default 0.02.
    /// Symbol ε in Pang21. Rows of farther pairs join where the step's motion brings them together: a larger margin has more
    /// rows in each step, a smaller one solves again more often.
    pub contact_margin: f64,
    /// Most that two shapes may overlap at the end of a step or on the way there, in m, > 0, where they did not before;
    /// thin shapes less, see [`System::allowed_overlap`](crate::System::allowed_overlap). With `f64::INFINITY` the motion is
    /// that of the rows whatever it leads to, as in the papers: no pair joins, and no step is cut. Default 1e-3.
    pub max_overlap: f64,
    /// What to do where a step's rows do not keep it to [`max_overlap`](Self::max_overlap). Default [`Substeps::Auto`].
    pub substeps: Substeps,
    /// Overlaps separate at most this fast, in m/s (rad/s for a joint beyond its limit), > 0; `f64::INFINITY`: within
    /// the step, as in Pang21 (10b). Default 0.1.
    pub max_recovery_speed: f64,
    /// Acceleration of free fall in the world frame, in m/s². Default (0, 0, −9.81).
    pub gravity: [f64; 3],
    /// Law of friction, shape of its cones, motion. Default: exact friction with round cones, quasi-static.
    pub formulation: Formulation,
    /// What resists the motion of passive bodies; not read by [`Motion::Dynamic`](crate::Motion::Dynamic), which has the
    /// mass of every dof. Default [`Inertia::Mass`].
    pub inertia: Inertia,
    /// Relaxation time `τ` of [`Inertia::Mass`]. Default 1 s.
    pub relaxation: Relaxation,
    /// How light passive bodies are against the springs around them: the mass in [`Inertia::Mass`] is scaled, tree by tree,
    /// such that the smallest stiffness of a joint, times `h²`, is so many times the largest entry of the mass matrix;
    /// see [`Inertia::Mass`]. > 0, a pure number; [`relaxation`](Self::relaxation) is not read then. `None`, the default:
    /// mass is scaled by the relaxation time.
    pub passive_mass_scale: Option<f64>,
    /// Which directions the edges of friction pyramids start from. Default [`TangentAxes::Motion`].
    pub tangents: TangentAxes,
    /// How the rate of a prescribed joint follows from its command. Default
    /// [`PrescribedRate::Secant`].
    pub prescribed_rate: PrescribedRate,
    /// How a rotation follows its rate over a step. Default [`Rotations::Exponential`].
    pub rotations: Rotations,
    /// How a step advances in time. Default [`Integration::Euler`].
    pub integration: Integration,
    /// What to do where exact Coulomb friction has no solution. Default [`Fallback::Undecided`].
    pub fallback: Fallback,
    /// Stiffness of the springs of [`Fallback::Impedance`], in N/m along slides and N·m/rad about hinges,
    /// > 0. Default 1000.
    pub fallback_stiffness: f64,
    /// How far the answer of a convex step may be off, as a share of the largest force and speed of the bodies that
    /// touch one another (`quasistep_solvers::Settings::accuracy`), from 0 to 1e-7; 0 asks for all digits, on the exact set of
    /// loaded contacts. With 1e-8 a step of more than 100 dofs costs about half; forces of less than this share of the
    /// largest one count as none, and where contacts are redundant speeds are known to fewer digits than balance is.
    /// Read by [`FrictionLaw::Convex`](crate::FrictionLaw::Convex); derivatives are those of the exact step. Default 0.
    pub accuracy: f64,
    /// Most work of a step, in multiply-adds of its solvers, counted from sizes, and of distances along its motion, 10000 each:
    /// the same on every machine. All programs of a step count, substeps, what stands in and uniqueness included, and one may take half of what is left. Beyond it
    /// the step ends as [`StepError::Undecided`](crate::StepError::Undecided); [`StepReport::work`](crate::StepReport::work) is what a step took.
    /// ≥ 1; `u64::MAX`: no limit. Default 5e10, some seconds.
    pub work_limit: u64,
    /// Whether each step with exact Coulomb friction also says if its answer is the only one, in
    /// [`StepReport::uniqueness`](crate::StepReport::uniqueness); it costs some dense programs. Default false.
    pub uniqueness: bool,
}

/// What stands in for a step that has no solution with exact Coulomb friction. The report says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fallback {
    /// Nothing: the step is an error.
    None,
    /// The convex step with the same cones, if the solver found neither an answer nor a proof that there is none.
    Undecided,
    /// The convex step with the same cones.
    Convex,
    /// The configuration nearest to the present one in the metric of the passive bodies' mass, against
    /// the energy of loads and springs: the step with [`Inertia::Mass`], with exact friction or else the
    /// convex one. What nothing supports gives way as its inertia lets it. Gaps hold: what is crushed
    /// stays an error.
    Proximal,
    /// The step of Anitescu and Potra, without recovery of overlaps: what stands in for
    /// [`Motion::Dynamic`](crate::Motion::Dynamic) whether or not it is asked for. Means [`None`](Self::None) to quasi-static steps.
    WithoutRecovery,
    /// The step with springs of [`StepParams::fallback_stiffness`] instead of prescribed motion: joints that
    /// are prescribed do not reach their commands.
    Impedance,
}

impl Fallback {
    /// Its word in scene files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Undecided => "undecided",
            Self::Convex => "convex",
            Self::Proximal => "proximal",
            Self::WithoutRecovery => "without_recovery",
            Self::Impedance => "impedance",
        }
    }
}

/// The block `P_u` of passive bodies in the step's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inertia {
    /// `P_u = 0`: quasi-static, Pang21 (10). An unsupported passive body has no next state.
    None,
    /// `P_u = (h/τ) M_u` with the [relaxation time](Relaxation) `τ`: a viscous drag of `M_u v/τ`. What nothing holds reaches
    /// its terminal velocity, `g τ` in free fall, at once; what is carried at the speed `v` pulls back with `v/(g τ)` of its
    /// weight. Smaller steps converge to one motion. A step of size `τ` is Tracy (13) with `v = δq/h`.
    ///
    /// With [`passive_mass_scale`](StepParams::passive_mass_scale) `s` it is `P_u = ε M_u` in each tree, where
    ///
    /// ```text
    /// ε = h² min K / (s max_k M_kk)         K: stiffness > 0 of actuated dofs, k: passive dofs of the tree
    /// ```
    ///
    /// over numbers in SI, whether of slides or hinges: mass then keeps at rest what nothing pushes, and hardly slows what is
    /// pushed.
    Mass,
}

/// How long a passive body takes from rest to its terminal velocity, by which [`Inertia::Mass`] is scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relaxation {
    /// `τ`, in s, > 0.
    Time(f64),
    /// `τ = h`: the step of Tracy (13), whose drag `M v/h` grows without bound as steps get smaller.
    Step,
}

impl Relaxation {
    /// `h/τ`, by which the mass of passive bodies is scaled.
    pub(crate) fn mass_factor(self, h: f64) -> f64 {
        match self {
            Self::Time(tau) => h / tau,
            Self::Step => 1.0,
        }
    }
}

/// Directions that the edges of a friction pyramid start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TangentAxes {
    /// Of a contact that can only move along one line, that line; else a world axis projected on the tangent plane.
    Motion,
    /// Those that follow from the normal `n` alone: `t1 = a × n / |a × n|`, `t2 = n × t1`, with the world axis `a` that `n`
    /// has least of (x before y before z), and `a = x` for pyramids of two edges: contacts of scenes in the y–z plane. A
    /// contact that can only move along one line has all its edges too. Round cones have no edges, and do not read this.
    Normal,
}

/// Rate of a prescribed joint within a step. It sits on its command at the end either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrescribedRate {
    /// `(q_cmd − q)/h`, Pang21 (1b).
    Secant,
    /// The command's own rate `v_cmd`, Trinkle05.
    Derivative,
}

/// What to do where a step's linear rows do not keep shapes apart, or push where nothing touches: where bodies turn far, or
/// go around one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substeps {
    /// Go as far as the motion is true, and solve again from there: the travel of a substep is limited. The report is that
    /// of the last one.
    Auto,
    /// The step is an error: [`StepError::Overlap`](crate::StepError::Overlap).
    Never,
}

/// How a rotation with a quaternion `Q` follows its angular velocity `w` over a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotations {
    /// `exp(h w) Q`: exactly, at constant `w`.
    Exponential,
    /// `Q + h/2 w Q`, normalised: a turn by `2 atan(θ/2)` in place of `θ = h ‖w‖`, as steps that add `h dQ/dt` have it.
    Linear,
}

/// How a step advances in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integration {
    /// Springs at the end of the step, contact Jacobians at its start: first order in `h`, the step
    /// of the papers.
    Euler,
    /// Contact Jacobians and loads in the middle of the step, where a first Euler solve leads, and
    /// damped springs by exponential fitting: second order in `h` for smooth motion with sticking or
    /// separate contacts, at two solves a step.
    ///
    /// A joint of stiffness `K` and damping `D > 0` follows `K (c − q) − D dq/dt + f = 0` exactly
    /// while `f` and the rate of its command `c` are constant. The command is taken to have moved at
    /// the rate [`v_cmd`](crate::StepInput::v_cmd) during the step. A joint without damping has no
    /// memory and is at its balance at the end of the step, as with Euler.
    Midpoint,
}

impl Integration {
    /// Where in the step, from 0 at its start to 1 at its end, a spring that relaxes at the rate
    /// `K/D` is evaluated: `1/(1 − exp(−z)) − 1/z` with `z = h K/D`.
    pub(crate) fn spring_at(self, stiffness: f64, damping: f64, h: f64) -> f64 {
        let z = h * stiffness / damping;
        match self {
            Self::Euler => 1.0,
            // 0/0 and K/0: nothing relaxes, or at once
            Self::Midpoint if !z.is_finite() => 1.0,
            // Taylor's series where the difference would lose its digits; next term z^5/30240
            Self::Midpoint if z < 1e-2 => 0.5 + z / 12.0 - z.powi(3) / 720.0,
            Self::Midpoint => -1.0 / (-z).exp_m1() - 1.0 / z,
        }
    }
}

impl Default for StepParams {
    fn default() -> Self {
        Self {
            time_step: 0.01,
            contact_margin: 0.02,
            max_overlap: 1e-3,
            substeps: Substeps::Auto,
            max_recovery_speed: 0.1,
            gravity: [0.0, 0.0, -9.81],
            formulation: Formulation::exact(Cone::Round),
            inertia: Inertia::Mass,
            relaxation: Relaxation::Time(1.0),
            passive_mass_scale: None,
            tangents: TangentAxes::Motion,
            prescribed_rate: PrescribedRate::Secant,
            rotations: Rotations::Exponential,
            integration: Integration::Euler,
            fallback: Fallback::Undecided,
            fallback_stiffness: 1000.0,
            accuracy: 0.0,
            work_limit: 50_000_000_000,
            uniqueness: false,
        }
    }
}

impl StepParams {
    /// Checks every number against its rule.
    ///
    /// # Errors
    ///
    /// The first field that breaks its rule, with the value seen and the rule.
    pub fn check(&self) -> Result<(), ParamError> {
        let positive = |name, value: f64, most: f64, unit: &str| {
            if value > 0.0 && value <= most {
                Ok(())
            } else {
                Err(ParamError {
                    name,
                    seen: format!("{value}"),
                    rule: format!("> 0 {unit}").trim_end().into(),
                })
            }
        };
        positive("time_step", self.time_step, f64::MAX, "s")?;
        positive("max_recovery_speed", self.max_recovery_speed, f64::INFINITY, "m/s")?;
        positive("max_overlap", self.max_overlap, f64::INFINITY, "m")?;
        positive("fallback_stiffness", self.fallback_stiffness, f64::MAX, "N/m")?;
        if let Relaxation::Time(tau) = self.relaxation {
            positive("relaxation", tau, f64::MAX, "s")?;
        }
        if let Some(scale) = self.passive_mass_scale {
            positive("passive_mass_scale", scale, f64::MAX, "")?;
            if self.inertia == Inertia::None {
                return Err(ParamError {
                    name: "passive_mass_scale",
                    seen: format!("{scale} with inertia none"),
                    rule: "none, or the inertia mass".into(),
                });
            }
        }
        if !(self.contact_margin >= 0.0) {
            return Err(ParamError {
                name: "contact_margin",
                seen: format!("{}", self.contact_margin),
                rule: "≥ 0 m".into(),
            });
        }
        if !(0.0..=Certificate::RELATIVE_TOLERANCE).contains(&self.accuracy) {
            return Err(ParamError {
                name: "accuracy",
                seen: format!("{}", self.accuracy),
                rule: format!("from 0 to {:e}", Certificate::RELATIVE_TOLERANCE),
            });
        }
        if self.work_limit == 0 {
            return Err(ParamError {
                name: "work_limit",
                seen: "0".into(),
                rule: "≥ 1 multiply-adds".into(),
            });
        }
        if !self.gravity.iter().all(|g| g.is_finite()) {
            return Err(ParamError {
                name: "gravity",
                seen: format!("{:?}", self.gravity),
                rule: "three finite numbers in m/s²".into(),
            });
        }
        if self.formulation.carries_velocity() && self.integration != Integration::Euler {
            return Err(ParamError {
                name: "integration",
                seen: "midpoint".into(),
                rule: "euler where velocities are carried over".into(),
            });
        }
        if let Cone::Pyramid(edges) = self.formulation.cone
            && (edges < 2 || edges % 2 == 1)
        {
            return Err(ParamError {
                name: "cone",
                seen: format!("{edges} edges"),
                rule: "an even number of edges ≥ 2".into(),
            });
        }
        Ok(())
    }
}
