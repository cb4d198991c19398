//! Gaps, cones and slip of every contact, recomputed from its point, its normal and the velocities
//! of both bodies.
//!
//! ```text
//! phi' = phi + h n·(v_B − v_A)(p)        ≥ 0, or as much as `max_recovery_speed` asks of an overlap
//! f_n ≥ 0,   |f_t| ≤ mu f_n              √2 as much for the box around a pyramid
//! f_n > 0    ⇒  phi' ≤ h mu |v_t|        the lift of a convex step; 0 with exact friction
//! f_t·v_t + mu f_n |v_t| = 0             exact friction with round cones: opposite to the slip, and of full size
//! ```
//!
//! Torsional friction, contact areas, compliance and restitution change these laws. Contacts with
//! them are only checked against the first two.

use super::Taken;
use super::balance::witnesses;
use crate::target::Verdict;
use quasistep::{Cone, ContactReport, FrictionLaw, Integration};
use quasistep_math::Vec3;

/// Normal force that counts as one, as a share of the largest. Smaller forces may be rounding.
const FORCE: f64 = 1e-5;
/// Acceptable violation of a friction cone, as a share of the largest normal force.
const CONE: f64 = 1e-6;
/// Acceptable overlap in m, which the certificate allows; the next constant is the share of body
/// sizes and displacements that rounding causes.
const GAP: f64 = 1e-8;
const GAP_SHARE: f64 = 1e-7;
/// Acceptable deficit of the dissipation, as a share of the largest power of friction.
const POWER: f64 = 1e-5;
/// Rounding of a position, as a share of the sizes around it. Divided by the time step, it gives
/// the slip that counts as zero.
const ROUNDING: f64 = 1e-13;
/// Force that counts as zero, in N.
const NO_FORCE: f64 = 1e-24;

/// Reference sizes of errors.
struct Scales {
    force: f64,
    gap: f64,
    slip: f64,
    no_slip: f64,
}

/// Reports the first contact that violates a law as a finding.
pub fn judge(taken: &Taken<'_>, verdict: &mut Verdict) {
    let Taken { scene, report, .. } = taken;
    let params = &scene.params;
    let h = params.time_step;
    let moved = (0..scene.system.model().n_bodies())
        .map(|body| h * velocity(taken, body, taken.kin.X_WB[body].translation).norm());
    let size = scene.system.geoms().iter().map(|g| size_of(&g.shape)).fold(0.0, f64::max);
    let slips = report.contacts.iter().map(|c| relative(taken, c).norm());
    let far = moved.fold(size, f64::max);
    // an inaccurate solution has errors relative to the speeds that weight alone would cause
    let fall = h * h * Vec3::from(params.gravity).norm();
    let scales = Scales {
        force: report.contacts.iter().map(|c| c.normal_force).fold(NO_FORCE, f64::max),
        gap: GAP + GAP_SHARE * far + params.accuracy * fall,
        slip: slips.fold(0.0, f64::max),
        no_slip: ROUNDING * far / h,
    };
    for contact in &report.contacts {
        if let Some((kind, text)) = wrong(taken, contact, &scales) {
            let name = |geom: u32| &scene.system.geoms()[geom as usize].name;
            let pair = format!("{} and {}", name(contact.geom_a), name(contact.geom_b));
            verdict.blame(kind, format!("{pair}: {text}"));
            return;
        }
    }
    verdict.add("contacts", report.contacts.len() as u64);
}

/// Size of a shape in m; 0 of an unbounded one.
fn size_of(shape: &quasistep_geometry::Shape) -> f64 {
    let size = shape.thickness();
    if size.is_finite() { size } else { 0.0 }
}

/// Velocity of the material point of a body at `p_W`, in m/s.
fn velocity(taken: &Taken<'_>, body: usize, p_W: Vec3) -> Vec3 {
    let model = taken.scene.system.model();
    let mut v = Vec3::ZERO;
    for &index in model.path(body) {
        let column = &taken.kin.columns[index as usize];
        v += (column.v_Wo_W + column.w_W.cross(p_W)) * taken.report.v[column.dof as usize];
    }
    v
}

/// Velocity of B relative to A at the contact, each at its own surface, in m/s.
fn relative(taken: &Taken<'_>, c: &ContactReport) -> Vec3 {
    let [p_WCa, p_WCb] = witnesses(c);
    velocity(taken, c.body_b as usize, p_WCb) - velocity(taken, c.body_a as usize, p_WCa)
}

/// The law that a contact violates, with numbers; `None` if there is none.
fn wrong(taken: &Taken<'_>, c: &ContactReport, scales: &Scales) -> Option<(&'static str, String)> {
    let params = &taken.scene.params;
    let (h, mu) = (params.time_step, c.friction.mu);
    let cone = params.formulation.cone;
    let widest = if cone == Cone::Box { 2.0_f64.sqrt() } else { 1.0 };
    let (f_n, f_t) = (c.normal_force, c.friction_force_W);
    if !(f_n >= -CONE * scales.force) {
        return Some(("a contact pulls", format!("{f_n:.2e} N")));
    }
    let beyond = f_t.norm() - widest * mu * f_n;
    if !(beyond <= CONE * scales.force) {
        let text = format!("friction of {:.2e} N at {f_n:.2e} N, mu {mu}", f_t.norm());
        return Some(("friction beyond its cone", text));
    }
    // the report does not contain the middle of the step, nor the points of pairs that joined it
    if params.integration == Integration::Midpoint || taken.report.n_joined > 0 {
        return None;
    }
    let plain = c.lever_W == Vec3::ZERO
        && c.friction.mu_spin == 0.0
        && c.friction.mu_roll == 0.0
        && c.friction.compliance == 0.0
        && c.rebound == 0.0;
    let v = relative(taken, c);
    let v_n = v.dot(c.n_AB_W);
    let v_t = v - c.n_AB_W * v_n;
    let phi = c.phi + h * v_n;
    // where an overlap must be after this step; 0 for separated shapes
    let promised = (c.phi.min(0.0) + h * params.max_recovery_speed).min(0.0);
    let gives = c.friction.compliance * f_n;
    if !(phi >= promised - gives - scales.gap) {
        let text = format!("{phi:.3e} m after the step, {promised:.3e} m are promised");
        return Some(("a gap closes too far", text));
    }
    if !plain || f_n <= FORCE * scales.force {
        return None;
    }
    let exact = params.formulation.friction == FrictionLaw::Exact;
    let float = if exact { 0.0 } else { h * widest * mu * v_t.norm() };
    if !(phi <= promised + float + scales.gap) {
        let text = format!("{f_n:.2e} N over {phi:.3e} m, of which friction floats {float:.3e} m");
        return Some(("a force over a gap", text));
    }
    let short = f_t.dot(v_t) + mu * f_n * v_t.norm();
    let most = scales.force * (POWER * scales.slip + scales.no_slip) * mu.max(1.0);
    if exact && cone == Cone::Round && short > most {
        let text = format!("{short:.2e} W short at {f_n:.2e} N, slip {:.2e} m/s", v_t.norm());
        return Some(("friction not against the slip", text));
    }
    None
}
