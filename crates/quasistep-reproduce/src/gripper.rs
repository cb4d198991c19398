//! The 2-D gripper: Pang21 Fig. 4, 5, 6b and the numbers of §V-A.

use crate::figure::{Context, FigureResult, ReproduceError, Row, columns_csv};
use crate::reference::{Gripper, gripper_2d};
use crate::scenes::{Run, run};
use quasistep_record::{Contact, Frame, Mode, Recording};
use quasistep_view::plot::{Axis, Figure, Line, Mark, PALETTE, Panel, Series};

/// Times at which contact 1 changes its mode (green lines in Fig. 5), in s.
const MODE_TIMES: [(f64, &str); 3] =
    [(0.03, "separation to rolling"), (0.13, "rolling to sliding"), (0.23, "sliding to rolling")];

/// Change of the scene to exact Coulomb friction, Pang21 (6).
const EXACT: [(&str, &str); 1] = [("step.friction", "exact")];

/// Contact of the ball with the body whose name ends with the given text.
fn contact<'a>(
    recording: &Recording,
    frame: &'a Frame,
    other: &str,
) -> Result<&'a Contact, ReproduceError> {
    let name = |i: usize| recording.bodies[i].as_str();
    let of = |i: usize, j: usize| name(i).starts_with("ball") && name(j).ends_with(other);
    frame
        .contacts
        .iter()
        .find(|c| of(c.a, c.b) || of(c.b, c.a))
        .ok_or_else(|| ReproduceError::Missing(format!("contact of the ball with {other}")))
}

/// A quantity of one contact, one value per step.
fn series(
    run: &Run,
    other: &str,
    quantity: impl Fn(&Contact) -> f64,
) -> Result<Vec<f64>, ReproduceError> {
    let frames = run.recording.frames.iter().skip(1);
    frames.map(|frame| contact(&run.recording, frame, other).map(&quantity)).collect()
}

/// End times of the steps, in s.
fn times(run: &Run) -> Vec<f64> {
    run.recording.frames.iter().skip(1).map(|f| f.t).collect()
}

fn coordinate(run: &Run, name: &str) -> Result<Vec<f64>, ReproduceError> {
    let index = run.recording.coordinate(name);
    let index = index.ok_or_else(|| ReproduceError::Missing(format!("coordinate {name}")))?;
    Ok(run.recording.frames.iter().skip(1).map(|f| f.q[index]).collect())
}

fn command(run: &Run, name: &str) -> Result<Vec<f64>, ReproduceError> {
    let index = run.recording.command(name);
    let index = index.ok_or_else(|| ReproduceError::Missing(format!("command {name}")))?;
    Ok(run.recording.frames.iter().skip(1).map(|f| f.q_cmd[index]).collect())
}

/// Upward friction force on the ball, in N.
fn friction_up(recording: &Recording, c: &Contact) -> f64 {
    let sign = if recording.bodies[c.b].starts_with("ball") { 1.0 } else { -1.0 };
    (c.force_W - c.n_AB_W * c.normal_force).z * sign
}

fn with_mode_times(mut panel: Panel) -> Panel {
    for (x, _) in MODE_TIMES {
        panel = panel.mark(Mark::Vertical { x, label: String::new() });
    }
    panel
}

/// Regenerates Pang21 Fig. 5.
pub(crate) fn positions(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let run = run(context, "gripper_2d", &[])?;
    let exact = self::run(context, "gripper_2d", &EXACT)?;
    let lcp = gripper_2d(Gripper::LcpPeerKnots);
    let t = times(&run);
    let mut figure =
        Figure::new("Pang21 Fig. 5: commanded and actual positions of the left finger");
    let mut columns = vec![("t", t.clone())];
    let mut rows = Vec::new();
    for (name, label, recorded) in [("gripper.x_l", "x_l (m)", "xl"), ("gripper.y", "y (m)", "y")] {
        let (q, q_cmd) = (coordinate(&run, name)?, command(&run, name)?);
        let q_exact = coordinate(&exact, name)?;
        let panel = Panel::new(Axis::linear("t (s)"), Axis::linear(label))
            .series(Series::new("command", &t, &q_cmd).line(Line::Dashed))
            .series(Series::new("QP (10), quasistep", &t, &q))
            .series(Series::new("LCP (6), quasistep", &t, &q_exact))
            .series(Series::new("LCP (6), recorded", &t, &lcp.column(recorded)).line(Line::Dotted));
        figure = figure.panel(with_mode_times(panel));
        let (own, commanded, by_lcp) =
            if recorded == "xl" { ("x_l", "x_l_cmd", "x_l_lcp") } else { ("y", "y_cmd", "y_lcp") };
        let off = q_exact.iter().zip(lcp.column(recorded)).map(|(a, b)| (a - b).abs());
        rows.push(Row::new(
            format!("{own}, LCP (6): largest distance from the recording, m"),
            0.0,
            off.fold(0.0, f64::max),
            "recorded by Lemke's method",
        ));
        columns.push((own, q));
        columns.push((commanded, q_cmd));
        columns.push((by_lcp, q_exact));
    }
    Ok(FigureResult {
        files: vec![
            context.write("pang21_fig5.svg", &figure.to_svg())?,
            context.write("pang21_fig5.csv", &columns_csv(&columns))?,
        ],
        rows,
    })
}

/// Contacts 1 and 3 over the run: the columns of Fig. 6.
struct Contacts {
    t: Vec<f64>,
    cn1: Vec<f64>,
    cf1: Vec<f64>,
    phi1: Vec<f64>,
    cn3: Vec<f64>,
    phi3: Vec<f64>,
}

impl Contacts {
    fn of(run: &Run) -> Result<Self, ReproduceError> {
        let left = series(run, "left", |c| friction_up(&run.recording, c))?;
        let right = series(run, "right", |c| friction_up(&run.recording, c))?;
        Ok(Self {
            t: times(run),
            cn1: series(run, "left", |c| c.normal_force)?,
            // only the sum of the fingers' friction is determined: draw half of it for each
            cf1: left.iter().zip(right).map(|(l, r)| 0.5 * (l + r)).collect(),
            phi1: series(run, "left", |c| c.phi_next)?,
            cn3: series(run, "ground", |c| c.normal_force)?,
            phi3: series(run, "ground", |c| c.phi_next)?,
        })
    }

    /// Panels: forces of contact 1, its distance, force of contact 3.
    fn panels(&self, model: &str) -> [Panel; 3] {
        let newton = |low| Axis::linear("force (N)").range(low, 22.0);
        let distance = Axis::linear("distance (mm)").range(-0.1, 1.3);
        let time = || Axis::linear("t (s)");
        let t = &self.t;
        let mm: Vec<f64> = self.phi1.iter().map(|phi| 1e3 * phi).collect();
        [
            Panel::new(time(), newton(-6.0))
                .title(model)
                .series(Series::new("c_n1", t, &self.cn1))
                .series(Series::new("c_f1", t, &self.cf1)),
            Panel::new(time(), distance).series(Series::new("phi_1", t, &mm)),
            Panel::new(time(), newton(0.0)).series(Series::new("c_n3", t, &self.cn3)),
        ]
        .map(with_mode_times)
    }

    fn csv(self) -> String {
        columns_csv(&[
            ("t", self.t),
            ("cn1", self.cn1),
            ("cf1", self.cf1),
            ("phi1", self.phi1),
            ("cn3", self.cn3),
            ("phi3", self.phi3),
        ])
    }
}

/// Regenerates Pang21 Fig. 6a, beside Fig. 6b.
pub(crate) fn exact_forces(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let lcp = Contacts::of(&run(context, "gripper_2d", &EXACT)?)?;
    let qp = Contacts::of(&run(context, "gripper_2d", &[])?)?;
    let mut figure =
        Figure::new("Pang21 Fig. 6: contacts 1 (left finger) and 3 (ground)").columns(2);
    for (a, b) in lcp.panels("a: LCP (6)").into_iter().zip(qp.panels("b: QP (10)")) {
        figure = figure.panel(a).panel(b);
    }
    let recorded = gripper_2d(Gripper::LcpPeerKnots);
    let mut rows = Vec::new();
    let largest = |v: &[f64]| v.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (what, ours, column) in [
        ("greatest c_n1, N", &lcp.cn1, "cn1"),
        ("greatest c_f1, N", &lcp.cf1, "cf1"),
        ("greatest c_n3, N", &lcp.cn3, "cn3"),
    ] {
        let theirs = largest(&recorded.column(column));
        rows.push(Row::new(what, theirs, largest(ours), "recorded by Lemke's method"));
    }
    let touching = |phi: &[f64]| largest(&phi[3..]);
    rows.push(Row::new(
        "greatest phi_1 after touch, LCP (6), m",
        0.0,
        touching(&lcp.phi1),
        "Fig. 6a",
    ));
    rows.push(Row::new(
        "greatest phi_1 after touch, QP (10), m",
        0.001,
        touching(&qp.phi1),
        "Fig. 6b, closed form mu v h",
    ));
    Ok(FigureResult {
        files: vec![
            context.write("pang21_fig6a.svg", &figure.to_svg())?,
            context.write("pang21_fig6a.csv", &lcp.csv())?,
        ],
        rows,
    })
}

/// Regenerates Pang21 Fig. 6b.
pub(crate) fn forces(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let qp = Contacts::of(&run(context, "gripper_2d", &[])?)?;
    let mut figure = Figure::new("Pang21 Fig. 6b: contacts 1 (left finger) and 3 (ground)");
    for panel in qp.panels("QP (10)") {
        figure = figure.panel(panel);
    }
    Ok(FigureResult {
        files: vec![
            context.write("pang21_fig6b.svg", &figure.to_svg())?,
            context.write("pang21_fig6b.csv", &qp.csv())?,
        ],
        rows: Vec::new(),
    })
}

/// Regenerates the numbers of Pang21 §V-A.
pub(crate) fn numbers(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let run = run(context, "gripper_2d", &[])?;
    let t = times(&run);
    let mode = |k: usize| -> Result<Mode, ReproduceError> {
        Ok(contact(&run.recording, &run.recording.frames[k + 1], "left")?.mode)
    };
    // a mode begins at the end of the step before the first step with this mode
    let start = |k: usize| if k == 0 { 0.0 } else { t[k - 1] };
    let mut change = [f64::NAN; 2];
    for k in 1..t.len() {
        match (mode(k - 1)?, mode(k)?) {
            (Mode::Separate, Mode::Stick) if change[0].is_nan() => change[0] = start(k),
            (Mode::Stick, Mode::Slide) if change[1].is_nan() => change[1] = start(k),
            _ => {}
        }
    }
    // after the command stops, the slip speed of the convex step falls by a factor 3 per step
    let slip = series(&run, "left", |c| c.phi_next)?;
    let sliding = |k: usize| t[k] > change[1];
    let fall = (1..t.len()).find(|&k| sliding(k) && slip[k] < 0.5 * slip[k - 1]);
    let stop = fall.map_or(f64::NAN, start);
    let cn1 = series(&run, "left", |c| c.normal_force)?;
    let at = |time: f64| t.iter().position(|x| (x - time).abs() < 1e-9).unwrap_or(0);
    let ratio = slip[at(0.28)] / slip[at(0.29)];
    let greatest = (0..t.len()).filter(|&k| sliding(k)).map(|k| slip[k]).fold(0.0, f64::max);
    let rows = vec![
        Row::new("touch, s", 0.03, change[0], "Fig. 5"),
        Row::new("slip begins, s", 0.13, change[1], "Fig. 5"),
        Row::new(
            "command stops, slip dies out, s",
            0.23,
            stop,
            "Fig. 5; the text of §V-A says 0.24",
        ),
        Row::new("c_n1 at 0.08 s, N", 10.0, cn1[at(0.08)], "§V-A"),
        Row::new("greatest phi_1 while sliding, m", 0.001, greatest, "closed form mu v h"),
        Row::new("fall of phi_1 a step after the stop", 3.0, ratio, "closed form phi' = phi/3"),
    ];
    Ok(FigureResult { files: Vec::new(), rows })
}

/// Regenerates Pang21 Fig. 4: feasible velocities, friction cone, velocity and force at three steps
/// of our run.
pub(crate) fn modes(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let run = run(context, "gripper_2d", &[])?;
    let h = run.recording.time_step;
    let mut figure = Figure::new("Pang21 Fig. 4: contact 1 of the gripper in its three modes")
        .columns(3)
        .width(1140.0);
    let mut columns: Vec<(&str, Vec<f64>)> =
        ["t", "phi", "v_t", "v_n", "f_t", "f_n"].map(|name| (name, Vec::new())).into();
    for (title, wanted) in [
        ("(a) sticking", Mode::Stick),
        ("(b) sliding", Mode::Slide),
        ("(c) separation", Mode::Separate),
    ] {
        // for each mode, the middle one of its steps before the command stops
        let mut found = Vec::new();
        for frame in run.recording.frames.iter().skip(1).filter(|f| f.t < 0.225) {
            let c = contact(&run.recording, frame, "left")?;
            if c.mode == wanted {
                found.push((frame.t, c));
            }
        }
        let middle = found.get(found.len() / 2).copied();
        let (t, c) =
            middle.ok_or_else(|| ReproduceError::Missing(format!("step that is {title}")))?;
        // axes of the figure: the normal n (to the right of the finger) is drawn upwards, world z
        // is d
        let v_n = (c.phi_next - c.phi) / h;
        let v_t = slip_up(&run, t)?;
        let f_t = friction_up(&run.recording, c);
        figure = figure.panel(cone_panel(title, c, h, [v_t, v_n], f_t));
        for (column, value) in columns.iter_mut().zip([t, c.phi, v_t, v_n, f_t, c.normal_force]) {
            column.1.push(value);
        }
    }
    Ok(FigureResult {
        files: vec![
            context.write("pang21_fig4.svg", &figure.to_svg())?,
            context.write("pang21_fig4.csv", &columns_csv(&columns))?,
        ],
        rows: Vec::new(),
    })
}

/// Upward speed of the ball relative to the left finger in the step that ends at `t`, in m/s.
fn slip_up(run: &Run, t: f64) -> Result<f64, ReproduceError> {
    let frames = &run.recording.frames;
    let k = frames.iter().position(|f| f.t == t).unwrap_or(1).max(1);
    let height = |name: &str| -> Result<f64, ReproduceError> {
        let index = run.recording.coordinate(name);
        let index = index.ok_or_else(|| ReproduceError::Missing(format!("coordinate {name}")))?;
        Ok((frames[k].q[index] - frames[k - 1].q[index]) / (frames[k].t - frames[k - 1].t))
    };
    Ok(height("ball.y_c")? - height("gripper.y")?)
}

fn cone_panel(title: &str, c: &Contact, h: f64, v: [f64; 2], f_t: f64) -> Panel {
    // window that contains the velocity and the apex of the feasible region
    let apex = -c.phi / h;
    let reach = 1.4 * v[0].abs().max(v[1].abs()).max(apex.abs()).max(0.1);
    let edge = |x: f64| apex + c.mu * x.abs();
    let feasible = vec![
        [-reach, reach.max(edge(reach))],
        [-reach, edge(-reach)],
        [0.0, apex],
        [reach, edge(reach)],
        [reach, reach.max(edge(reach))],
    ];
    // the friction cone and the force in it, scaled to the window
    let cone =
        vec![[-0.6 * c.mu * reach, 0.6 * reach], [0.0, 0.0], [0.6 * c.mu * reach, 0.6 * reach]];
    let scale = if c.normal_force > 0.0 { 0.55 * reach / c.normal_force } else { 0.0 };
    let mut panel = Panel::new(Axis::linear("v_d (m/s)"), Axis::linear("v_n (m/s)"))
        .title(title)
        .height(380.0)
        .equal_aspect()
        .mark(Mark::Polygon {
            points: feasible,
            color: PALETTE[4],
            opacity: 0.18,
            label: "feasible velocities".into(),
        })
        .mark(Mark::Polygon {
            points: cone,
            color: PALETTE[2],
            opacity: 0.3,
            label: "friction cone".into(),
        })
        .mark(Mark::Arrow { from: [0.0, 0.0], to: v, color: PALETTE[0], label: "v".into() });
    if scale > 0.0 {
        panel = panel.mark(Mark::Arrow {
            from: [0.0, 0.0],
            to: [f_t * scale, c.normal_force * scale],
            color: PALETTE[3],
            label: format!("force {:.1} N", c.normal_force.hypot(f_t)),
        });
    }
    panel
}
