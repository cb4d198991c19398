use crate::certificate::Certificate;
use crate::error::ParamError;
use crate::formulation::{Cone, Formulation};
use crate::sizes::Sizes;

/// Parameters of one step. Plain data that may change between steps: `StepParams { time_step: 0.1,
/// ..Default::default() }`.
#[derive(Clone, Debug, PartialEq)]
pub struct StepParams {
    /// Time step `h`, in s, > 0. Default 0.01.
    pub time_step: f64,
    /// Choice of sizes by a tolerance, read by [`System::step_by_tolerance`](crate::System::step_by_tolerance)
    /// and by runs. [`System::step`](crate::System::step) takes a step of `time_step` in any case.
    /// Default `None`.
    pub sizes: Option<Sizes>,
    /// Contact margin, in m, ≥ 0: pairs farther apart have no row at first. Default 0.02. With
    /// `f64::INFINITY` all pairs have rows. Symbol ε in Pang21.
    ///
    /// Rows of farther pairs are added if the step's motion brings them together. A larger margin
    /// gives more rows per step, a smaller one more repeated solves.
    pub contact_margin: f64,
    /// Largest new overlap of two shapes, at the end of a step or on the way, in m, > 0. Default
    /// 1e-3. Thin shapes have a smaller bound, see
    /// [`System::allowed_overlap`](crate::System::allowed_overlap). With `f64::INFINITY` the motion
    /// is not checked, as in the papers: no pair is added and no step is divided.
    pub max_overlap: f64,
    /// What to do if a step's linear rows violate [`max_overlap`](Self::max_overlap). Default
    /// [`Substeps::Auto`].
    pub substeps: Substeps,
    /// Largest speed at which overlaps separate, in m/s (rad/s for a joint beyond its limit), > 0.
    /// Default 0.1. With `f64::INFINITY` they separate within the step, as in Pang21 (10b).
    pub max_recovery_speed: f64,
    /// Acceleration of free fall in the world frame, in m/s². Default (0, 0, −9.81).
    pub gravity: [f64; 3],
    /// Friction law, shape of its cones, kind of motion. Default: exact friction with round cones,
    /// quasi-static.
    pub formulation: Formulation,
    /// Resistance of passive bodies to motion. Default [`Inertia::Mass`]. Not read by
    /// [`Motion::Dynamic`](crate::Motion::Dynamic), which uses the mass of every dof.
    pub inertia: Inertia,
    /// Relaxation time `τ` of [`Inertia::Mass`]. Default 1 s.
    pub relaxation: Relaxation,
    /// Ratio `s` of spring stiffness to passive mass in [`Inertia::Mass`], dimensionless, > 0.
    /// Default `None`: the [`relaxation`](Self::relaxation) time scales the mass.
    ///
    /// If set, mass is scaled in each tree such that the smallest joint stiffness times `h²` is `s`
    /// times the largest entry of the mass matrix. The relaxation time is then not read.
    pub passive_mass_scale: Option<f64>,
    /// Directions from which the edges of friction pyramids start. Default [`TangentAxes::Motion`].
    pub tangents: TangentAxes,
    /// Rate of a prescribed joint for a given command. Default [`PrescribedRate::Secant`].
    pub prescribed_rate: PrescribedRate,
    /// Integration of rotations over a step. Default [`Rotations::Exponential`].
    pub rotations: Rotations,
    /// Time integration of a step. Default [`Integration::Euler`].
    pub integration: Integration,
    /// What to do if exact Coulomb friction has no solution. Default [`Fallback::Undecided`].
    pub fallback: Fallback,
    /// Stiffness of the springs of [`Fallback::Impedance`], in N/m along slides and N·m/rad about hinges,
    /// > 0. Default 1000.
    pub fallback_stiffness: f64,
    /// Relative accuracy of a convex step, from 0 to 1e-7, as a share of the largest force and
    /// speed of the bodies in contact (`quasistep_cone::Settings::accuracy`). Default 0: full
    /// accuracy, on the exact active set.
    ///
    /// With 1e-8 a step of more than 100 dofs costs about half. Forces below this share of the
    /// largest one are set to zero. Where contacts are redundant, velocities have fewer correct
    /// digits than the force balance. Read by [`FrictionLaw::Convex`](crate::FrictionLaw::Convex).
    /// Derivatives are those of the exact step.
    pub accuracy: f64,
    /// Work limit of a step, in multiply-adds of a large factorisation, ≥ 1. Default 5e9, about a
    /// second. `u64::MAX` means no limit.
    ///
    /// Work is counted from problem sizes and so many times that it follows the time, plus 30000
    /// for each pair whose distance is computed, so it does not depend on the machine. All programs of a step count: substeps, fallbacks and
    /// uniqueness. One program may use half of the remaining work. Beyond the limit the step ends
    /// with [`StepError::Undecided`](crate::StepError::Undecided).
    /// [`StepReport::work`](crate::StepReport::work) is the work of a step.
    pub work_limit: u64,
    /// If true, each step with exact Coulomb friction also reports whether its solution is unique,
    /// in [`StepReport::uniqueness`](crate::StepReport::uniqueness). This costs some dense
    /// programs. Default false.
    pub uniqueness: bool,
}

/// Replacement for a step that has no solution with exact Coulomb friction. The report states which
/// one was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fallback {
    /// No replacement: the step returns an error.
    None,
    /// The convex step with the same cones, only if the solver finds neither a solution nor a proof
    /// that none exists.
    Undecided,
    /// The convex step with the same cones.
    Convex,
    /// The step with [`Inertia::Mass`], with exact friction or else convex friction: the
    /// configuration nearest to the present one in the mass metric, against the energy of loads and
    /// springs. Unsupported bodies move as their inertia permits. Gap rows still hold, so that
    /// crushed bodies remain an error.
    Proximal,
    /// The step of Anitescu and Potra, without recovery of overlaps.
    /// [`Motion::Dynamic`](crate::Motion::Dynamic) always uses it as fallback. For quasi-static
    /// steps it means [`None`](Self::None).
    WithoutRecovery,
    /// The step with springs of [`StepParams::fallback_stiffness`] in place of prescribed motion.
    /// Prescribed joints then do not reach their commands.
    Impedance,
}

impl Fallback {
    /// Name in scene files.
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

/// Block `P_u` of passive bodies in the step's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inertia {
    /// `P_u = 0`: quasi-static, Pang21 (10). An unsupported passive body has no next state.
    None,
    /// `P_u = (h/τ) M_u` with the [relaxation time](Relaxation) `τ`: a viscous drag of `M_u v/τ`.
    /// An unsupported body reaches its terminal velocity, `g τ` in free fall, at once. A body
    /// carried at speed `v` resists with `v/(g τ)` of its weight. Smaller steps converge to one
    /// motion. A step with `h = τ` is Tracy (13) with `v = δq/h`.
    ///
    /// With [`passive_mass_scale`](StepParams::passive_mass_scale) `s` it is `P_u = ε M_u` in each
    /// tree, where
    ///
    /// ```text
    /// ε = h² min K / (s max_k M_kk)         K: stiffness > 0 of actuated dofs, k: passive dofs of the tree
    /// ```
    ///
    /// over values in SI units, for slides and hinges together. Mass then keeps bodies at rest that
    /// nothing pushes, and hardly slows bodies that are pushed.
    Mass,
}

/// Time constant from rest to terminal velocity of a passive body, which scales [`Inertia::Mass`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relaxation {
    /// `τ`, in s, > 0.
    Time(f64),
    /// `τ = h`: the step of Tracy (13). Its drag `M v/h` grows without bound for small steps.
    Step,
}

impl Relaxation {
    /// Factor `h/τ` on the mass of passive bodies.
    pub(crate) fn mass_factor(self, h: f64) -> f64 {
        match self {
            Self::Time(tau) => h / tau,
            Self::Step => 1.0,
        }
    }
}

/// Directions from which the edges of a friction pyramid start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TangentAxes {
    /// The line of motion, if the contact can move along one line only; otherwise a world axis
    /// projected on the tangent plane.
    Motion,
    /// Directions computed from the normal `n` alone: `t1 = a × n / |a × n|`, `t2 = n × t1`. `a` is
    /// the world axis along which `n` has the smallest component (x before y before z). For pyramids of two edges
    /// `a = x`, which suits scenes in the y–z plane.
    ///
    /// Contacts that can move along one line only keep all edges. Round cones have no edges and do
    /// not read this.
    Normal,
}

/// Rate of a prescribed joint within a step. For both variants the joint is at its command at the
/// end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrescribedRate {
    /// `(q_cmd − q)/h`, Pang21 (1b).
    Secant,
    /// The rate of the command, `v_cmd`, Trinkle05.
    Derivative,
}

/// What to do if a step's linear rows let shapes overlap, or push them apart across a gap. This
/// occurs if bodies rotate far or move around one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substeps {
    /// Divide the step: go as far as the linearisation is valid, and solve again from there. The
    /// report is that of the last substep.
    Auto,
    /// Return the error [`StepError::Overlap`](crate::StepError::Overlap).
    Never,
}

/// Update of a unit quaternion `Q` with the angular velocity `w` over a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotations {
    /// `exp(h w) Q`: exact for constant `w`.
    Exponential,
    /// `Q + h/2 w Q`, normalised: the angle is `2 atan(θ/2)` instead of `θ = h ‖w‖`, as in steps
    /// that add `h dQ/dt`.
    Linear,
}

/// Time integration of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integration {
    /// Springs at the end of the step, contact Jacobians at its start. First order in `h`; the step
    /// of the papers.
    Euler,
    /// Contact Jacobians and loads in the middle of the step, predicted by a first Euler solve, and
    /// damped springs by exponential fitting. Second order in `h` for smooth motion with sticking
    /// or separate contacts. Costs two solves per step.
    ///
    /// A joint of stiffness `K` and damping `D > 0` follows `K (c − q) − D dq/dt + f = 0` exactly
    /// while `f` and the rate of its command `c` are constant. The command is assumed to move at
    /// the rate [`v_cmd`](crate::StepInput::v_cmd) during the step. A joint without damping is in
    /// balance at the end of the step, as with Euler.
    Midpoint,
}

impl Integration {
    /// Point of the step, from 0 at its start to 1 at its end, at which a spring with relaxation
    /// rate `K/D` is evaluated: `1/(1 − exp(−z)) − 1/z` with `z = h K/D`.
    pub(crate) fn spring_at(self, stiffness: f64, damping: f64, h: f64) -> f64 {
        let z = h * stiffness / damping;
        match self {
            Self::Euler => 1.0,
            // 0/0: no spring; K/0: relaxes at once
            Self::Midpoint if !z.is_finite() => 1.0,
            // Taylor series where the difference would cancel; next term z^5/30240
            Self::Midpoint if z < 1e-2 => 0.5 + z / 12.0 - z.powi(3) / 720.0,
            Self::Midpoint => -1.0 / (-z).exp_m1() - 1.0 / z,
        }
    }
}

impl Default for StepParams {
    fn default() -> Self {
        Self {
            time_step: 0.01,
            sizes: None,
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
            work_limit: 5_000_000_000,
            uniqueness: false,
        }
    }
}

impl StepParams {
    /// Checks every field.
    ///
    /// # Errors
    ///
    /// The first invalid field, with its value and the rule.
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
        self.sizes.as_ref().map_or(Ok(()), Sizes::check)?;
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
