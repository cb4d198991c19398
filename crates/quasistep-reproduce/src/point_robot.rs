//! The point robot: MpcNote Figures 2 to 4.

use crate::closed_loop::{self, LoopRun, step_axis};
use crate::figure::{Context, FigureResult, ReproduceError, Row, columns_csv};
use crate::scenes::path;
use quasistep_scene::Scene;
use quasistep_view::plot::{Axis, Figure, Panel, Series};
use std::ops::ControlFlow;

/// Index of the contact of the robot with the floor. The order of the scene is slope, floor, wall.
const FLOOR: usize = 1;
/// Impulses below this count as rounding, in N·s.
const NONE: f64 = 1e-9;

const EXACT: &str = "closed loop proven to 1e-9 by another solver";

fn run(context: &Context<'_>, horizon: usize) -> Result<LoopRun, ReproduceError> {
    let changes = [("mpc.horizon".to_owned(), horizon.to_string())];
    let scene = Scene::load_with(&path("point_robot"), &changes)?;
    let missing = || ReproduceError::Missing("`mpc` section".into());
    let section = scene.control.as_ref().ok_or_else(missing)?;
    let run = closed_loop::run(&scene, section, context.clock, &mut |_| ControlFlow::Continue(()))?;
    match run.stopped {
        Some(error) => Err(error.into()),
        None => Ok(run),
    }
}

/// Regenerates MpcNote Fig. 2: contact and friction force with a horizon of five steps.
pub(crate) fn short_forces(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let run = run(context, 5)?;
    let (touches, friction) = (touches(&run), friction(&run));
    let mut rows = vec![
        Row::new("friction peak (N·s)", 0.0433, peak(&friction), "MpcNote Fig. 2"),
        Row::new("friction peak, exact (N·s)", 0.043312, peak(&friction), EXACT),
    ];
    for (what, want, ours) in [
        ("first step that touches the floor", 81, touches.first()),
        ("last step that touches the floor", 82, touches.last()),
    ] {
        rows.push(Row::new(what, f64::from(want), ours.map_or(f64::NAN, |k| *k as f64), EXACT));
    }
    forces(context, "mpcnote_fig2", "MpcNote Fig. 2: N = 5", &run, rows)
}

/// Regenerates MpcNote Fig. 3: contact and friction force with a horizon of twenty steps.
pub(crate) fn long_forces(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let run = run(context, 20)?;
    let (touches, friction) = (touches(&run), friction(&run));
    let at = |k: usize| friction.get(k).map_or(f64::NAN, |f| f.abs());
    let step = |k: Option<&usize>| k.map_or(f64::NAN, |k| *k as f64);
    let rows = vec![
        Row::new("friction peak (N·s)", 0.049, peak(&friction), "MpcNote Fig. 3"),
        Row::new("friction peak, exact (N·s)", 0.049035, at(34), EXACT),
        Row::new("friction hump at step 59 (N·s)", 0.009820, at(59), EXACT),
        Row::new("first step that touches the floor", 33.0, step(touches.first()), EXACT),
        Row::new("last step that touches the floor", 88.0, step(touches.last()), EXACT),
        Row::new("steps that touch the floor", 54.0, touches.len() as f64, EXACT),
    ];
    forces(context, "mpcnote_fig3", "MpcNote Fig. 3: N = 20", &run, rows)
}

/// Regenerates MpcNote Fig. 4: optimal costs of both horizons.
pub(crate) fn costs(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let runs = [run(context, 5)?, run(context, 20)?];
    let [short, long] = [runs[0].costs(), runs[1].costs()];
    let crossing = long.iter().zip(&short).position(|(l, s)| l < s);
    let mut rows = vec![
        Row::new("cost at the start, N = 5", 156.0, short[0], "MpcNote Fig. 4"),
        Row::new("cost at the start, N = 20", 505.0, long[0], "MpcNote Fig. 4"),
        Row::new(
            "step where the curves cross",
            25.0,
            crossing.map_or(f64::NAN, |k| k as f64),
            "MpcNote Fig. 4",
        ),
    ];
    let last = |costs: &[f64]| costs.last().copied().unwrap_or(f64::NAN);
    for (what, exact, ours) in [
        ("first cost, N = 5", 155.904711933, short[0]),
        ("last cost, N = 5", 33.492340871, last(&short)),
        ("first cost, N = 20", 505.425910, long[0]),
        ("last cost, N = 20", 10.151636, last(&long)),
    ] {
        rows.push(Row::new(what, exact, ours, EXACT));
    }
    for (run, n) in runs.iter().zip([5, 20]) {
        let steps = run.steps.len() as f64;
        rows.push(Row::new(format!("proven steps, N = {n}"), steps, run.proven() as f64, "of all"));
        let most = run.steps.iter().map(|s| s.plan.nodes).max().unwrap_or(0);
        rows.push(Row::new(format!("most nodes, N = {n}"), None, most as f64, ""));
    }
    let k = runs[0].k();
    let panel = Panel::new(step_axis(), Axis::linear("optimal cost"))
        .series(Series::new("N = 5", &k, &short))
        .series(Series::new("N = 20", &k, &long));
    let figure = Figure::new("MpcNote Fig. 4: optimal cost for N = 5 and N = 20").panel(panel);
    let csv = columns_csv(&[("k", k), ("J_N5", short), ("J_N20", long)]);
    Ok(FigureResult {
        files: vec![
            context.write("mpcnote_fig4.svg", &figure.to_svg())?,
            context.write("mpcnote_fig4.csv", &csv)?,
        ],
        rows,
    })
}

fn forces(
    context: &Context<'_>,
    name: &str,
    title: &str,
    run: &LoopRun,
    rows: Vec<Row>,
) -> Result<FigureResult, ReproduceError> {
    let figure = run.impulse_figure(Figure::new(format!("{title}, contact and friction force")));
    Ok(FigureResult {
        files: vec![
            context.write(&format!("{name}.svg"), &figure.to_svg())?,
            context.write(&format!("{name}.csv"), &run.csv())?,
        ],
        rows,
    })
}

fn friction(run: &LoopRun) -> Vec<f64> {
    run.friction_impulses(FLOOR)
}

fn peak(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}

fn touches(run: &LoopRun) -> Vec<usize> {
    let normal = run.normal_impulses(FLOOR);
    (0..normal.len()).filter(|&k| normal[k] > NONE).collect()
}
