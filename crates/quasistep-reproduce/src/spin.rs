//! The spun ball: Tracy Fig. 3, the boundary layer of torsional friction.

use crate::figure::{Context, FigureResult, ReproduceError, Row, columns_csv};
use crate::reference::{TORSION_STEPS, torsion};
use crate::scenes::{Run, run};
use quasistep_view::plot::{Axis, Figure, Line, PALETTE, Panel, Series};

/// Parameters of the scene: mass in kg, gravity in m/s², radius in m, `mu_spin` in m.
const BALL: (f64, f64, f64, f64) = (1.0, 9.81, 0.1, 0.05);

/// Columns of a run: time, gap, spin rate, friction torque against the spin.
struct Spin {
    t: Vec<f64>,
    phi: Vec<f64>,
    omega: Vec<f64>,
    friction: Vec<f64>,
}

impl Spin {
    fn of(run: &Run) -> Result<Self, ReproduceError> {
        let r = &run.recording;
        let missing = |what: &str| ReproduceError::Missing(what.into());
        let ball = r.body("ball/ball").ok_or_else(|| missing("ball"))?;
        let mut spin = Self { t: vec![], phi: vec![], omega: vec![], friction: vec![] };
        for (before, frame) in r.frames.iter().zip(r.frames.iter().skip(1)) {
            let contact = frame.contacts.first().ok_or_else(|| missing("contact"))?;
            let turn = before.X_WB[ball].rotation.inverse() * frame.X_WB[ball].rotation;
            spin.t.push(frame.t);
            spin.phi.push(frame.X_WB[ball].translation.z - BALL.2);
            spin.omega.push(turn.to_rotation_vector().z / r.time_step);
            spin.friction.push(-contact.spin);
        }
        Ok(spin)
    }
}

/// Closed form of the spin rate after a step that begins with the gap `phi`, while the ball spins:
/// `lambda = m (v_n + g h)`, `I omega = tau h − mu_spin lambda` and `v_n = mu_spin omega − phi/h`.
fn closed_form(h: f64, torque: f64, phi: f64) -> f64 {
    let (m, g, r, mu_spin) = BALL;
    let inertia = 0.4 * m * r * r;
    let drive = h * (torque - mu_spin * m * g) + mu_spin * m * phi / h;
    (drive / (inertia + m * mu_spin * mu_spin)).max(0.0)
}

/// Torque on the ball at a time, in N·m.
fn torque(t: f64) -> f64 {
    t.min(1.0)
}

/// Largest friction torque at the ball's weight, in N·m.
fn limit() -> f64 {
    let (m, g, _, mu_spin) = BALL;
    mu_spin * m * g
}

/// Comparisons of a run at step `h` with the closed forms and the recording.
fn rows_of(spin: &Spin, h: f64) -> [Row; 4] {
    let step = |k: usize| if k == 0 { 0.0 } else { spin.phi[k - 1] };
    let worst =
        |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |m: f64, x| m.max(x.abs()));
    let last = spin.t.len() - 1;
    let starts = spin.omega.iter().position(|w| *w > 1e-9).unwrap_or(last);
    let off = (0..spin.t.len()).map(|k| spin.omega[k] - closed_form(h, torque(spin.t[k]), step(k)));
    let recorded = torsion(h, true).column("phi_m");
    let off_phi = spin.phi.iter().zip(&recorded).map(|(a, b)| a - b);
    [
        Row::new(
            format!("torque of the first spinning step, h = {h} s (N·m)"),
            h * (limit() / h).ceil(),
            torque(spin.t[starts]),
            "first step above mu_spin m g = 0.4905 N·m",
        ),
        Row::new(
            format!("phi / (mu_spin omega h) in steady spin, h = {h} s"),
            1.0,
            spin.phi[last] / (BALL.3 * spin.omega[last] * h),
            "boundary layer",
        ),
        Row::new(
            format!("largest difference to the closed form, h = {h} s (rad/s)"),
            0.0,
            worst(&mut { off }),
            "every step",
        ),
        Row::new(
            format!("largest difference of phi to the recording, h = {h} s (m)"),
            0.0,
            worst(&mut { off_phi }),
            "crates/quasistep-reproduce/data/torsion",
        ),
    ]
}

/// Regenerates Tracy Fig. 3.
pub(crate) fn boundary_layer(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let (m, _, r, mu_spin) = BALL;
    let time = || Axis::linear("t (s)");
    let mut height = Panel::new(time(), Axis::linear("height phi (mm)"));
    let mut friction = Panel::new(time(), Axis::linear("torque (N·m)"));
    let mut rows = Vec::new();
    let mut csv = Vec::new();
    let mut first = true;
    for (h, color) in TORSION_STEPS.into_iter().zip(PALETTE) {
        let run = run(context, "sphere_spin", &[("step.size", &h.to_string())])?;
        let spin = Spin::of(&run)?;
        let mm = |values: &[f64]| values.iter().map(|v| 1e3 * v).collect::<Vec<_>>();
        let steady: Vec<f64> = (spin.t.iter())
            .map(|t| mu_spin * h * h * (torque(*t) - limit()).max(0.0) / (0.4 * m * r * r))
            .collect();
        height = height
            .series(Series::new(format!("h = {h} s"), &spin.t, &mm(&spin.phi)).color(color))
            .series(Series::new("", &spin.t, &mm(&steady)).color(color).line(Line::Dashed));
        if first {
            let applied: Vec<f64> = spin.t.iter().map(|t| torque(*t)).collect();
            friction = friction.series(
                Series::new("applied", &spin.t, &applied).line(Line::Dashed).color(PALETTE[9]),
            );
            first = false;
        }
        friction = friction.series(
            Series::new(format!("friction, h = {h} s"), &spin.t, &spin.friction).color(color),
        );
        rows.extend(rows_of(&spin, h));
        if h == 0.01 {
            csv = vec![
                ("t", spin.t),
                ("phi", spin.phi),
                ("phi_steady", steady),
                ("omega", spin.omega),
                ("friction_torque", spin.friction),
            ];
        }
    }
    let figure = Figure::new(
        "Tracy Fig. 3: a spun ball floats phi = mu_spin omega h high (dashed: closed form of steady spin)",
    )
    .panel(height)
    .panel(friction);
    Ok(FigureResult {
        files: vec![
            context.write("tracy_fig3.svg", &figure.to_svg())?,
            context.write("tracy_fig3.csv", &columns_csv(&csv))?,
        ],
        rows,
    })
}
