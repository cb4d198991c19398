//! Linear complementarity systems of a scene, from its linearisation at one configuration.
//!
//! The state is `x = (q, v)` with `v` at the end of the last step. The dynamic step, MpcNote (6) to
//! (9), carries velocities from step to step. Springs of actuated joints, if any, are implicit as
//! in the simulator's step, with a constant command. The quasi-dynamic step, Pang21 (10), does not
//! carry velocities; its inputs are the offsets of commands from positions:
//!
//! ```text
//! v⁺ = P⁻¹ (w + h tau + h S u + J_nᵀ c + J_tᵀ beta)          q⁺ = q + h v⁺
//! dynamic:         P = M + h² K_a + h D_a             w = M v + h K_a (q_cmd − q)
//! quasi-dynamic:   P = blkdiag(h² K_a + h D_a | M_u)  w = 0
//! 0 ≤ c      ⊥ phi + J_n (q⁺ − q̄) ≥ 0                        phi, J_n, J_t at q̄
//! 0 ≤ beta   ⊥ lambda + D J_t v⁺  ≥ 0                         D: directions ± t, or a regular polygon
//! 0 ≤ lambda ⊥ mu c − 1ᵀ beta     ≥ 0
//! ```
//!
//! With [`geometric_stiffness`], `v⁺` has the additional term `P⁻¹ G (q − q̄)`. It is the change of
//! the generalised force of approximately known impulses, those of the last plan, as contact points
//! move and normals rotate. Without it, a plan does not model that sliding along a face changes the
//! lever arm.
//!
//! The friction of a joint's support (`support` in a scene) has the size `mu N` for any motion, and
//! a direction given by the ellipsoid of force and torque. A prediction replaces it by a damper
//! with the same force, torque and direction at the rates `w` of the last plan. The damper adds no
//! modes to those of contacts. It is the quasi-static model of Hogan and Rodriguez 2016, at the
//! actual force:
//!
//! ```text
//! P += h mu N/s diag(1, 1, r²),     s = max(‖(w_x, w_y, r w_θ)‖, 0.01 m/s)
//! ```
//!
//! The prediction is exact where Jacobians are constant, as for the point robot of MpcNote.
//! Friction is Coulomb's; the boundary layer of the convex step is not modelled.

#![allow(non_snake_case)] // letters of MpcNote

use crate::lcs::Lcs;
use quasistep::{LinearContact, Linearisation, Role, StepError, System};
use std::f64::consts::TAU;

/// Step with which plans predict, and its inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Dynamics {
    /// MpcNote (6): masses and velocities. Inputs are forces on the driven dofs, in N or N·m, in
    /// addition to those of actuated joints' springs.
    Dynamic {
        /// Dofs that carry an input, in the order of the inputs.
        driven: Vec<usize>,
    },
    /// Pang21 (10): springs of actuated joints and the mass of passive bodies, without momentum
    /// from step to step. Inputs are the offsets of the command from each actuated dof, in m or
    /// rad.
    QuasiDynamic,
}

/// Settings of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictionSettings {
    /// Time step of the prediction, in s.
    pub time_step: f64,
    /// Largest speed at which overlaps separate, in m/s.
    pub max_recovery_speed: f64,
    /// Number of friction directions of a contact that can slide in two dimensions; even, ≥ 2. A
    /// contact in the plane has 2.
    pub directions: usize,
}

/// A linear complementarity system, and the entries of `gamma` of each contact.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The system.
    pub lcs: Lcs,
    /// Entries of `gamma`, one item per contact of the linearisation.
    pub entries: Vec<ContactEntries>,
}

/// Entries of `gamma` of one contact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactEntries {
    /// Index of the normal impulse.
    pub normal: usize,
    /// Indices of the tangential impulses, along [`directions`](Self::directions); empty without
    /// friction.
    pub tangents: Vec<usize>,
    /// Index of the slip speed; `None` without friction.
    pub slip: Option<usize>,
    /// Direction of each tangential impulse, as components along the contact's two tangents.
    pub directions: Vec<[f64; 2]>,
}

/// Reason why a scene has no prediction model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PredictionError {
    /// A joint has orientations as coordinates, which do not form a vector space.
    Orientation {
        /// Name of the joint.
        joint: String,
    },
    /// A joint is prescribed, so forces do not affect its motion.
    Prescribed {
        /// Name of the joint.
        joint: String,
    },
    /// A joint has dry friction, which predictions do not model.
    Friction {
        /// Name of the joint.
        joint: String,
    },
    /// The scene has closed loops or couplings, which predictions do not model.
    Constraint {
        /// Name of the constraint.
        constraint: String,
    },
    /// The scene has a Cartesian spring, which predictions do not model.
    CartesianSpring {
        /// Name of the spring.
        spring: String,
    },
    /// The scene has a pad that pulls what touches it, which predictions do not model.
    Pad {
        /// Name of the pad.
        pad: String,
    },
    /// A dof has neither inertia nor a spring, so its speed is undetermined.
    Massless {
        /// Name of the dof.
        dof: String,
    },
    /// No dof can carry an input.
    NoInput,
    /// An input belongs to a dof that does not exist.
    Input {
        /// Index of the dof.
        dof: usize,
    },
    /// The command of the springs of a dynamic step has the wrong length.
    Command {
        /// Number of entries given.
        got: usize,
        /// Length of a command of this system.
        want: usize,
    },
}

impl std::fmt::Display for PredictionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Orientation { joint } => write!(
                f,
                "joint `{joint}` has an orientation in space; plans know slides, hinges and planar joints"
            ),
            Self::Prescribed { joint } => write!(
                f,
                "joint `{joint}` is prescribed; a plan needs it actuated (give it a `stiffness`) or passive"
            ),
            Self::Friction { joint } => write!(
                f,
                "joint `{joint}` has dry friction, which plans do not know; give it `friction: 0`, or `damping` instead"
            ),
            Self::Constraint { constraint } => write!(
                f,
                "the constraint `{constraint}` closes a loop or couples joints, which plans do not know; let a joint mimic another one instead"
            ),
            Self::CartesianSpring { spring } => write!(
                f,
                "`{spring}` has Cartesian stiffness, which plans do not know; give its joints a `stiffness` instead"
            ),
            Self::Pad { pad } => write!(
                f,
                "the pad `{pad}` pulls what touches it, which plans do not know; leave its `adhesion` out"
            ),
            Self::Massless { dof } => write!(
                f,
                "nothing says how fast `{dof}` moves under a force; give its body a `mass`, or its joint a `stiffness`"
            ),
            Self::NoInput => f.write_str("nothing is driven; a plan needs at least one input"),
            Self::Input { dof } => write!(f, "there is no dof {dof} to drive"),
            Self::Command { got, want } => {
                write!(f, "`q_cmd` has {got} numbers; the springs of this system need {want}")
            }
        }
    }
}

impl std::error::Error for PredictionError {}

impl Dynamics {
    /// True if velocities are part of the state, false if every step starts from rest.
    pub fn carries_velocity(&self) -> bool {
        matches!(self, Self::Dynamic { .. })
    }

    /// Dofs that carry an input, in the order of the inputs.
    ///
    /// # Errors
    ///
    /// A joint that predictions do not model, or no dof that can carry an input.
    pub fn driven(&self, system: &System) -> Result<Vec<usize>, PredictionError> {
        let model = system.model();
        for (index, body) in model.bodies().iter().enumerate() {
            let joint = || body.joint_name.clone();
            if body.q.len() != body.v.len() {
                return Err(PredictionError::Orientation { joint: joint() });
            }
            if system.roles()[index] == Role::Prescribed {
                return Err(PredictionError::Prescribed { joint: joint() });
            }
            if body.resistance.friction.iter().any(|f| *f > 0.0) {
                return Err(PredictionError::Friction { joint: joint() });
            }
        }
        if let Some(constraint) = system.constraints().next() {
            return Err(PredictionError::Constraint { constraint: constraint.name.clone() });
        }
        if let Some(spring) = system.springs().next() {
            return Err(PredictionError::CartesianSpring { spring: spring.name.clone() });
        }
        if let Some(pad) = system.pads().first() {
            return Err(PredictionError::Pad { pad: pad.name.clone() });
        }
        let driven: Vec<usize> = match self {
            Self::Dynamic { driven } => driven.clone(),
            Self::QuasiDynamic => {
                system.commanded().iter().flat_map(|&body| model.body(body).v.clone()).collect()
            }
        };
        if let Some(&dof) = driven.iter().find(|&&dof| dof >= model.n_v()) {
            return Err(PredictionError::Input { dof });
        }
        if driven.is_empty() { Err(PredictionError::NoInput) } else { Ok(driven) }
    }
}

/// Builds the system of a step of `dynamics` from the linearisation `at`, about the configuration
/// `q̄`.
///
/// `stiffness` is the [`geometric_stiffness`] at `q̄`, or empty. `q_cmd` is the command of a
/// dynamic step's springs, in the order of [`System::commanded`]; their effort limits are not
/// modelled. `rates` of the dofs, or an empty slice, are the rates at which supports are
/// linearised.
///
/// # Errors
///
/// See [`PredictionError`].
pub fn predict(
    system: &System,
    at: &Linearisation,
    q_bar: &[f64],
    q_cmd: &[f64],
    stiffness: &[f64],
    dynamics: &Dynamics,
    (rates, settings): (&[f64], &PredictionSettings),
) -> Result<Prediction, PredictionError> {
    let driven = dynamics.driven(system)?;
    let (n, h) = (at.n_v, settings.time_step);
    let carry = dynamics.carries_velocity();
    if carry && q_cmd.len() != system.n_cmd() {
        return Err(PredictionError::Command { got: q_cmd.len(), want: system.n_cmd() });
    }
    let springs = springs(system, q_cmd);
    let mut P = mobility(at, system.model().damping(), &springs, carry, h);
    add_supports(system, at, rates, h, &mut P);
    let inverse = inverse(&P, n)
        .map_err(|dof| PredictionError::Massless { dof: system.dof_names()[dof].clone() })?;
    // a force acts directly, a command through its spring
    let gain = |on: usize| if carry { 1.0 } else { springs[on].stiffness };

    let entries = number(&at.contacts, settings.directions);
    let n_gamma = entries.iter().map(|e| 1 + e.tangents.len() + usize::from(e.slip.is_some()));
    let (n_x, n_u, n_gamma) = (2 * n, driven.len(), n_gamma.sum());
    let mut lcs = Lcs::zeros(n_x, n_u, n_gamma);
    // adds a value to a row of v⁺, and h times the value to the row of q⁺
    let put = |M: &mut [f64], width: usize, dof: usize, column: usize, value: f64| {
        M[dof * width + column] += h * value;
        M[(n + dof) * width + column] += value;
    };
    for dof in 0..n {
        lcs.A[dof * n_x + dof] = 1.0;
        if carry {
            for column in 0..n {
                let held = (0..n).map(|j| inverse[dof * n + j] * at.mass[j * n + column]).sum();
                put(&mut lcs.A, n_x, dof, n + column, held);
            }
            for (j, spring) in springs.iter().enumerate() {
                let pull = inverse[dof * n + j] * h * spring.stiffness;
                put(&mut lcs.A, n_x, dof, j, -pull);
                put(&mut lcs.f, 1, dof, 0, pull * spring.command);
            }
        }
        for (column, &on) in driven.iter().enumerate() {
            put(&mut lcs.B, n_u, dof, column, inverse[dof * n + on] * h * gain(on));
        }
        let load = (0..n).map(|j| inverse[dof * n + j] * h * at.gravity_force[j]).sum();
        put(&mut lcs.f, 1, dof, 0, load);
        for column in (0..n).filter(|_| !stiffness.is_empty()) {
            let rate = (0..n).map(|j| inverse[dof * n + j] * stiffness[j * n + column]).sum();
            put(&mut lcs.A, n_x, dof, column, rate);
            put(&mut lcs.f, 1, dof, 0, -rate * q_bar[column]);
        }
    }
    for (contact, entry) in at.contacts.iter().zip(&entries) {
        let mut push = |column: usize, J: &[f64]| {
            for dof in 0..n {
                let rate: f64 = (0..n).map(|j| inverse[dof * n + j] * J[j]).sum();
                put(&mut lcs.C, n_gamma, dof, column, rate);
            }
        };
        push(entry.normal, &contact.J_n);
        lcs.D[entry.normal * n_x..][..n].copy_from_slice(&contact.J_n);
        let there: f64 = contact.J_n.iter().zip(q_bar).map(|(J, q)| J * q).sum();
        lcs.a[entry.normal] = contact.phi.max(-h * settings.max_recovery_speed) - there;
        for (&column, [d1, d2]) in entry.tangents.iter().zip(&entry.directions) {
            let along: Vec<f64> = (0..n)
                .map(|j| d1 * contact.J_t[0][j] + contact.J_t.get(1).map_or(0.0, |t| d2 * t[j]))
                .collect();
            push(column, &along);
            lcs.D[column * n_x + n..][..n].copy_from_slice(&along);
        }
        let Some(slip) = entry.slip else { continue };
        lcs.E[slip * n_gamma + entry.normal] = contact.mu;
        for &column in &entry.tangents {
            lcs.E[column * n_gamma + slip] = 1.0;
            lcs.E[slip * n_gamma + column] = -1.0;
        }
    }
    Ok(Prediction { lcs, entries })
}

/// Derivative of the generalised force of `impulses` with respect to `q`, `n_v × n_v` row-major, by
/// central differences.
///
/// `impulses` holds components along normal and tangents, in N·s, one per contact of `at`. A
/// contact that does not exist at both displaced configurations is left out.
///
/// # Errors
///
/// See [`System::linearise`].
///
/// See [`System::linearise`].
pub fn geometric_stiffness(
    system: &System,
    at: &Linearisation,
    q_bar: &[f64],
    impulses: &[[f64; 3]],
    margin: f64,
) -> Result<Vec<f64>, StepError> {
    let n = at.n_v;
    let mut G = vec![0.0; n * n];
    let mut q = q_bar.to_vec();
    for column in 0..n {
        let mut beside = |nudge: f64| {
            q[column] = q_bar[column] + nudge;
            let there = system.linearise(&q, [0.0; 3], margin);
            q[column] = q_bar[column];
            there
        };
        let (below, above) = (beside(-NUDGE)?, beside(NUDGE)?);
        for (here, impulse) in at.contacts.iter().zip(impulses) {
            let key = |c: &LinearContact| (c.geom_a, c.geom_b, c.feature);
            let find = |l: &Linearisation| l.contacts.iter().position(|c| key(c) == key(here));
            let (Some(i), Some(j)) = (find(&below), find(&above)) else { continue };
            let [low, high] = [&below.contacts[i], &above.contacts[j]]
                .map(|there| generalised(here, there, *impulse));
            for row in 0..n {
                G[row * n + column] += (high[row] - low[row]) / (2.0 * NUDGE);
            }
        }
    }
    Ok(G)
}

/// Generalised impulse at the contact `there` of an impulse with components along the normal and
/// tangents of `here`.
fn generalised(
    here: &LinearContact,
    there: &LinearContact,
    [normal, first, second]: [f64; 3],
) -> Vec<f64> {
    let mut sum: Vec<f64> = there.J_n.iter().map(|J| normal * J).collect();
    let tangents = here.tangents_W.iter().zip(&there.tangents_W).zip(&there.J_t);
    for (((t_here, t_there), J), size) in tangents.zip([first, second]) {
        // a tangent may have changed its sign
        let size = size * t_here.dot(*t_there).signum();
        sum.iter_mut().zip(J).for_each(|(sum, J)| *sum += size * J);
    }
    sum
}

/// Step of the differences, in m or rad. Rounding of a Jacobian becomes an error of 1e-10, while
/// curvature of the shapes matters over millimetres.
const NUDGE: f64 = 1e-6;

/// Stiffness and damping of a dof, and its command; zero without a spring.
#[derive(Clone, Copy, Default)]
struct Spring {
    actuated: bool,
    stiffness: f64,
    damping: f64,
    command: f64,
}

/// Springs of all dofs; prescribed joints and orientations are excluded beforehand. Since the
/// command is constant, dampers resist the velocity in both damping modes. Without momentum the
/// command is not read and may be empty.
fn springs(system: &System, q_cmd: &[f64]) -> Vec<Spring> {
    let mut springs = vec![Spring::default(); system.model().n_v()];
    let mut commands = q_cmd.iter();
    for &body in system.commanded() {
        let Role::Actuated(actuator) = &system.roles()[body] else { continue };
        for (k, dof) in system.model().body(body).v.clone().enumerate() {
            springs[dof] = Spring {
                actuated: true,
                stiffness: actuator.stiffness[k],
                damping: actuator.damping[k],
                command: commands.next().copied().unwrap_or(0.0),
            };
        }
    }
    springs
}

/// Matrix `P` of a step.
fn mobility(
    at: &Linearisation,
    damping: &[f64],
    springs: &[Spring],
    carry: bool,
    h: f64,
) -> Vec<f64> {
    let n = at.n_v;
    let mut P = at.mass.clone();
    for (dof, spring) in springs.iter().enumerate().filter(|(_, spring)| spring.actuated) {
        // without momentum a driven joint is its spring only: its mass does not count, Pang21 (10)
        if !carry {
            for other in 0..n {
                P[dof * n + other] = 0.0;
                P[other * n + dof] = 0.0;
            }
        }
        P[dof * n + dof] += h * h * spring.stiffness + h * spring.damping;
    }
    for (dof, damping) in damping.iter().enumerate() {
        P[dof * n + dof] += h * damping;
    }
    P
}

/// Smallest speed at which a support is linearised, in m/s. It keeps the damper finite where the
/// last plan is at rest.
const SLOWEST: f64 = 0.01;

/// Adds dampers in place of supports, with the supports' forces at the given rates.
fn add_supports(system: &System, at: &Linearisation, rates: &[f64], h: f64, P: &mut [f64]) {
    for &(body, bound) in &at.supports {
        let joint = system.model().body(body);
        let radius = joint.resistance.support.map_or(0.0, |support| support.spin_radius);
        let scales = [1.0, 1.0, radius];
        let dofs = joint.v.clone().zip(scales);
        let rate = |dof: usize| rates.get(dof).copied().unwrap_or(0.0);
        let speed = dofs.clone().map(|(dof, r)| (r * rate(dof)).powi(2)).sum::<f64>().sqrt();
        for (dof, r) in dofs {
            P[dof * at.n_v + dof] += h * bound / speed.max(SLOWEST) * r * r;
        }
    }
}

/// Assigns entries of `gamma = [c, beta, lambda]` to contacts as in MpcNote (9).
fn number(contacts: &[LinearContact], directions: usize) -> Vec<ContactEntries> {
    let mut entries: Vec<ContactEntries> = (0..contacts.len())
        .map(|normal| ContactEntries { normal, ..ContactEntries::default() })
        .collect();
    let mut next = contacts.len();
    for (contact, entry) in contacts.iter().zip(&mut entries) {
        if contact.mu > 0.0 {
            entry.directions = match contact.J_t.len() {
                0 => Vec::new(),
                1 => vec![[1.0, 0.0], [-1.0, 0.0]],
                _ => (0..directions)
                    .map(|j| {
                        let angle = TAU * j as f64 / directions as f64;
                        [angle.cos(), angle.sin()]
                    })
                    .collect(),
            };
        }
        entry.tangents = (next..next + entry.directions.len()).collect();
        next += entry.directions.len();
    }
    for entry in entries.iter_mut().filter(|e| !e.tangents.is_empty()) {
        entry.slip = Some(next);
        next += 1;
    }
    entries
}

/// Inverse of a symmetric positive definite matrix by Cholesky factorisation. If it is singular,
/// the index of the first dof without inertia.
fn inverse(P: &[f64], n: usize) -> Result<Vec<f64>, usize> {
    let mut L = P.to_vec();
    for k in 0..n {
        let pivot = L[k * n + k] - (0..k).map(|j| L[k * n + j].powi(2)).sum::<f64>();
        // a pivot that is only rounding counts as zero
        if !(pivot > 1e-12 * P[k * n + k].abs()) {
            return Err(k);
        }
        L[k * n + k] = pivot.sqrt();
        for i in k + 1..n {
            let sum: f64 = (0..k).map(|j| L[i * n + j] * L[k * n + j]).sum();
            L[i * n + k] = (L[i * n + k] - sum) / L[k * n + k];
        }
    }
    let mut inverse = vec![0.0; n * n];
    let mut x = vec![0.0; n];
    for column in 0..n {
        for i in 0..n {
            let sum: f64 = (0..i).map(|j| L[i * n + j] * x[j]).sum();
            x[i] = (f64::from(u8::from(i == column)) - sum) / L[i * n + i];
        }
        for i in (0..n).rev() {
            let sum: f64 = (i + 1..n).map(|j| L[j * n + i] * x[j]).sum();
            x[i] = (x[i] - sum) / L[i * n + i];
        }
        for i in 0..n {
            inverse[i * n + column] = x[i];
        }
    }
    Ok(inverse)
}
