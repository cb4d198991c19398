//! Balance of forces and torques on every dof, summed from the report and from masses, independent
//! of the step's own rows.
//!
//! ```text
//! Σ_contacts J_Bᵀ w − J_Aᵀ w + Σ_B J_Bᵀ m_B g + constraints + limits + drives + dry friction − D v = inertia
//!
//! inertia = 0                                 anitescu, coulomb: `inertia: none`
//!           M_u v_u / h                       `inertia: mass`, passive dofs
//!           M (v − v_0)/h + C(q, v_0) v_0     dynamic
//! ```
//!
//! Drives are springs at the end of the step, `K (q_cmd − q − h v)`, recomputed. Dofs of prescribed
//! joints are left out, because their forces are unknown. Steps of the midpoint rule use Jacobians
//! at the middle of the step, which the report does not contain. Neither does it contain the points
//! of pairs that joined the step. Such steps are only judged by [`contacts`](super::contacts).

use super::Taken;
use super::symmetry::size;
use crate::target::Verdict;
use quasistep::{
    ConstraintKind, ContactReport, DampingOn, Inertia, Integration, Motion, Relaxation, Role,
};
use quasistep_math::Vec3;

/// Acceptable residual of a step, as a share of the largest force or torque on any dof: ten times
/// what its certificate allows.
const SHARE: f64 = 1e-6;
/// Rounding of forces per mass, in m/s², for worlds without forces.
const LEAST: f64 = 1e-9;
/// Rounding of a position, as a share of the sizes around it. Springs and inertia turn it into
/// forces.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Sums of forces on dofs, and of their magnitudes.
struct Sums {
    value: Vec<f64>,
    terms: Vec<f64>,
}

impl Sums {
    fn add(&mut self, dof: usize, force: f64) {
        self.value[dof] += force;
        self.terms[dof] += force.abs();
    }
}

/// Reports a dof that is out of balance as a finding.
pub fn judge(taken: &Taken<'_>, verdict: &mut Verdict) {
    let Taken { scene, report, .. } = taken;
    if scene.params.integration == Integration::Midpoint || report.n_joined > 0 {
        verdict.count("steps without a sum of forces");
        return;
    }
    let model = scene.system.model();
    let n = model.n_v();
    let mut sums = Sums { value: vec![0.0; n], terms: vec![0.0; n] };
    loads(taken, &mut sums);
    let known = drives(taken, &mut sums);
    inertia(taken, &mut sums);
    for (dof, damping) in model.damping().iter().enumerate() {
        sums.add(dof, -damping * report.v[dof]);
    }
    for force in report.limits.iter().chain(&report.joint_friction) {
        sums.add(force.dof as usize, force.force);
    }
    let turns = turns(taken);
    // reference size: the largest torque and the largest force of the world
    let mut scale = [LEAST * total_mass(taken), LEAST * total_mass(taken) * reach(taken)];
    for dof in 0..n {
        let k = usize::from(turns[dof]);
        scale[k] = scale[k].max(sums.terms[dof]);
    }
    // a force with a large lever arm is a torque, even if a body's own torques are small
    scale[1] = scale[1].max(scale[0] * reach(taken));
    // force that corresponds to a rounded position: by the stiffest drive, and by the change of
    // momentum in a step
    let h = scene.params.time_step;
    let drives = scene.system.roles().iter().fold(0.0_f64, |most, role| match role {
        Role::Actuated(drive) => drive.stiffness.iter().fold(most, |m, k| m.max(*k)),
        _ => most,
    });
    let far = size(scene).max(reach(taken));
    let rounding = ROUNDING * far * (drives + total_mass(taken) / (h * h));
    for dof in (0..n).filter(|&dof| known[dof]) {
        let turning = turns[dof];
        let most = SHARE * scale[usize::from(turning)] + rounding * if turning { far } else { 1.0 };
        if !(sums.value[dof].abs() <= most) {
            let name = &model.dof_names()[dof];
            let (value, terms) = (sums.value[dof], sums.terms[dof]);
            let text = format!("{name}: {value:.2e} of {terms:.2e}, {most:.2e} are allowed");
            verdict.blame("out of balance", text);
        }
    }
    verdict.count("steps with a sum of forces");
}

/// Points where a contact acts on A and on B, each on its own surface: half of the gap from the
/// reported point.
pub fn witnesses(c: &ContactReport) -> [Vec3; 2] {
    let half = c.n_AB_W * (0.5 * c.phi);
    [c.p_W - half, c.p_W + half]
}

/// Adds contacts, weight and constraints.
fn loads(taken: &Taken<'_>, sums: &mut Sums) {
    let Taken { scene, report, kin, input, .. } = taken;
    let model = scene.system.model();
    // a coupling has no position in the world
    for (of, constraint) in report.constraints.iter().zip(scene.system.constraints()) {
        if let ConstraintKind::Coupling { terms, .. } = &constraint.kind {
            for &(body, factor) in terms {
                model.body(body).v.clone().for_each(|dof| sums.add(dof, factor * of.multiplier));
            }
        }
    }
    let mut wrench = |body: usize, p_W: Vec3, force: Vec3, torque: Vec3| {
        for &index in model.path(body) {
            let column = &kin.columns[index as usize];
            let at = column.v_Wo_W + column.w_W.cross(p_W);
            sums.add(column.dof as usize, at.dot(force) + column.w_W.dot(torque));
        }
    };
    for c in &report.contacts {
        let [p_WCa, p_WCb] = witnesses(c);
        let (f, t) = (c.force_W(), c.torque_W());
        wrench(c.body_b as usize, p_WCb, f, t);
        wrench(c.body_a as usize, p_WCa, f * -1.0, t * -1.0);
    }
    let g = Vec3::from(scene.params.gravity);
    for (k, body) in model.bodies().iter().enumerate().skip(1) {
        let p_Wcm = kin.X_WB[k].transform_point(body.inertia.com);
        wrench(k, p_Wcm, g * body.weight_mass(), Vec3::ZERO);
    }
    for w in &input.wrenches {
        let p_W = kin.X_WB[w.body].transform_point(w.p_B);
        wrench(w.body, p_W, w.force_W, w.torque_W);
    }
    for (of, constraint) in report.constraints.iter().zip(scene.system.constraints()) {
        let (ConstraintKind::Connect { a, b } | ConstraintKind::Weld { a, b }) = &constraint.kind
        else {
            continue;
        };
        wrench(b.body, of.p_W, of.force_W, of.torque_W);
        wrench(a.body, of.p_W, of.force_W * -1.0, of.torque_W * -1.0);
    }
}

/// Adds springs of actuated joints. Returns for each dof whether all its forces are known.
fn drives(taken: &Taken<'_>, sums: &mut Sums) -> Vec<bool> {
    let Taken { scene, before, input, report, .. } = taken;
    let (system, h) = (&scene.system, scene.params.time_step);
    let model = system.model();
    let mut known = vec![true; model.n_v()];
    let (mut at, mut at_v) = (0, 0);
    for &body in system.commanded() {
        let (q, v) = (model.body(body).q.clone(), model.body(body).v.clone());
        for (k, dof) in v.clone().enumerate() {
            let own = match &system.roles()[body] {
                // with one coordinate, the spring follows from the command and the end of the step
                Role::Actuated(drive) if q.len() == 1 => {
                    let stretch = input.q_cmd[at] - before.q[q.start] - h * report.v[dof];
                    let spring = (drive.stiffness[k] * stretch)
                        .clamp(-drive.effort_limit[k], drive.effort_limit[k]);
                    let rate = match drive.damping_on {
                        DampingOn::Velocity => -report.v[dof],
                        DampingOn::CommandError => {
                            input.v_cmd.get(at_v).copied().unwrap_or(0.0) - report.v[dof]
                        }
                    };
                    // the deflection is a difference, with the rounding of its terms
                    sums.terms[dof] +=
                        drive.stiffness[k] * (input.q_cmd[at].abs() + before.q[q.start].abs());
                    Some(spring + drive.damping[k] * rate)
                }
                Role::Actuated(_) => report.effort.get(at_v + k).copied(),
                _ => None,
            };
            known[dof] = own.is_some();
            sums.add(dof, own.unwrap_or(0.0));
        }
        at += q.len();
        at_v += v.len();
    }
    known
}

/// Adds the inertial forces, with the sign of an applied force.
fn inertia(taken: &Taken<'_>, sums: &mut Sums) {
    let Taken { scene, before, report, kin, .. } = taken;
    let (model, h) = (scene.system.model(), scene.params.time_step);
    match scene.params.formulation.motion {
        Motion::Dynamic => {
            let start = |dof: usize| before.v.get(dof).copied().unwrap_or(0.0);
            model.mass_entries(kin, |i, j, m| sums.add(i, -m * (report.v[j] - start(j)) / h));
            if before.v.len() == model.n_v() {
                let mut tau = vec![0.0; model.n_v()];
                model.velocity_force(kin, &before.v, &mut Vec::new(), &mut tau);
                tau.into_iter().enumerate().for_each(|(dof, t)| sums.add(dof, t));
            }
        }
        Motion::QuasiStatic if scene.params.inertia == Inertia::Mass => {
            let mut passive = vec![false; model.n_v()];
            for (body, role) in model.bodies().iter().zip(scene.system.roles()) {
                passive[body.v.clone()].fill(matches!(role, Role::Passive));
            }
            let tau = match scene.params.relaxation {
                Relaxation::Time(tau) => tau,
                Relaxation::Step => h,
            };
            model.mass_entries(kin, |i, j, m| {
                if passive[i] && passive[j] {
                    sums.add(i, -m * report.v[j] / tau);
                }
            });
        }
        Motion::QuasiStatic => {}
    }
}

/// For each dof, whether it is a rotation.
fn turns(taken: &Taken<'_>) -> Vec<bool> {
    let mut turns = vec![false; taken.scene.system.model().n_v()];
    for column in &taken.kin.columns {
        turns[column.dof as usize] |= column.w_W != Vec3::ZERO;
    }
    turns
}

fn total_mass(taken: &Taken<'_>) -> f64 {
    taken.scene.system.model().bodies().iter().map(|b| b.inertia.mass).sum()
}

/// Largest lever arm of a contact about the bodies' origins, in m.
fn reach(taken: &Taken<'_>) -> f64 {
    let arm = |body: u32, p_W: Vec3| match body {
        0 => 0.0,
        _ => (p_W - taken.kin.X_WB[body as usize].translation).norm(),
    };
    let contacts = &taken.report.contacts;
    contacts.iter().map(|c| arm(c.body_a, c.p_W).max(arm(c.body_b, c.p_W))).fold(0.0, f64::max)
}
