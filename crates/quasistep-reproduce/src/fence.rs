//! The fence and the particle, Trinkle05 section 5: paths, forces and uniqueness.

use crate::figure::{Context, FigureResult, ReproduceError, Row, columns_csv};
use crate::scenes::{Run, load, run};
use quasistep::{MotionUniqueness, StepError};
use quasistep_math::Vec3;
use quasistep_view::plot::{Axis, Figure, Line, Mark, PALETTE, Panel, Series};

const SCENE: &str = "fence_particle";
/// Friction coefficients of the fence that are compared.
const MU: [f64; 5] = [0.2, 0.5, 0.9, 1.5, 3.0];

/// Columns of a run: positions in m, forces on the particle in N.
struct Push {
    t: Vec<f64>,
    fence: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    /// Normal force and friction of the fence, and friction of the floor.
    normal: Vec<f64>,
    rub: Vec<f64>,
    drag: Vec<f64>,
}

impl Push {
    fn of(run: &Run) -> Result<Self, ReproduceError> {
        let r = &run.recording;
        let place = |name: &str| {
            r.coordinate(name).ok_or_else(|| ReproduceError::Missing(format!("coordinate {name}")))
        };
        let [fence, x, y] = [place("fence.x")?, place("particle.x")?, place("particle.y")?];
        let frames = &r.frames[1..];
        let column = |i: usize| frames.iter().map(|f| f.q[i]).collect::<Vec<_>>();
        let force = |by: &str, part: fn(f64, Vec3) -> f64| {
            let of = |c: &&quasistep_record::Contact| {
                r.bodies[c.a].starts_with(by) || r.bodies[c.b].starts_with(by)
            };
            let value = |c: &quasistep_record::Contact| {
                part(c.normal_force, c.force_W - c.n_AB_W * c.normal_force)
            };
            let at = |f: &quasistep_record::Frame| f.contacts.iter().find(of).map_or(0.0, value);
            frames.iter().map(at).collect::<Vec<_>>()
        };
        Ok(Self {
            t: frames.iter().map(|f| f.t).collect(),
            fence: column(fence),
            x: column(x),
            y: column(y),
            normal: force("fence", |normal, _| normal),
            rub: force("fence", |_, friction| friction.norm()),
            drag: force("floor", |_, friction| friction.norm()),
        })
    }

    fn end(&self) -> (f64, f64) {
        (self.x.last().copied().unwrap_or(f64::NAN), self.y.last().copied().unwrap_or(f64::NAN))
    }
}

/// Runs the scene with the given friction of the fence and of the floor.
fn push(context: &Context<'_>, cone: &str, mu2: f64, mu3: f64) -> Result<Push, ReproduceError> {
    let (mu2, mu3) = (mu2.to_string(), mu3.to_string());
    let changes =
        [("step.cone", cone), ("friction.pairs.1.mu", &*mu2), ("friction.pairs.2.mu", &*mu3)];
    Push::of(&run(context, SCENE, &changes)?)
}

/// Number of steps whose motion is unique for their normal forces.
fn steps_with_one_motion(mu3: &str) -> Result<f64, ReproduceError> {
    let scene = load(SCENE, &[("friction.pairs.2.mu", mu3)])?;
    let mut count = 0.0;
    let step = |(_, error): (f64, StepError)| ReproduceError::Step { scene: SCENE.into(), error };
    scene
        .uniqueness(&mut |_, answer| {
            if answer.is_some_and(|a| a.motion == MotionUniqueness::Unique) {
                count += 1.0;
            }
        })
        .map_err(step)?;
    Ok(count)
}

/// Regenerates the figures of Trinkle05 section 5.
pub(crate) fn path_and_forces(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let glides = push(context, "round", 0.5, 0.0)?;
    let rubs = push(context, "round", 0.5, 0.5)?;
    let (paths, mut rows) = paths(context)?;
    let figure = Figure::new("Trinkle05 section 5: a fence pushes a particle (Model-DQC)")
        .columns(2)
        .panel(free_panel(&rubs.t, &glides))
        .panel(unique_panel(&rubs))
        .panel(paths)
        .panel(forces_panel(&rubs));
    rows.extend(rows_of(&rubs)?);
    let csv = columns_csv(&[
        ("t", rubs.t),
        ("x_fence", rubs.fence),
        ("x", rubs.x),
        ("y", rubs.y),
        ("normal_fence", rubs.normal),
        ("friction_fence", rubs.rub),
        ("friction_floor", rubs.drag),
        ("x_without_friction", glides.x),
    ]);
    Ok(FigureResult {
        files: vec![
            context.write("trinkle05_sec5.svg", &figure.to_svg())?,
            context.write("trinkle05_sec5.csv", &csv)?,
        ],
        rows,
    })
}

fn time() -> Axis {
    Axis::linear("t (s)")
}

fn place() -> Axis {
    Axis::linear("x (m)").range(0.0, 1.05)
}

fn wall() -> Mark {
    Mark::Horizontal { y: 1.0, label: "wall".into() }
}

/// Panel of the frictionless fence: every position between fence and wall that a step can reach is
/// a solution.
fn free_panel(t: &[f64], glides: &Push) -> Panel {
    let edge = t.iter().zip(&glides.fence).map(|(t, x)| [*t, *x]);
    let all: Vec<[f64; 2]> = edge.chain([[7.0, 1.0], [0.0, 1.0], [0.0, 0.5]]).collect();
    Panel::new(time(), place())
        .title("floor without friction: the motion is not unique")
        .mark(Mark::Polygon {
            points: all,
            color: PALETTE[9],
            opacity: 0.15,
            label: "all solutions".into(),
        })
        .mark(wall())
        .series(Series::new("fence", t, &glides.fence).color(PALETTE[3]))
        .series(Series::new("particle, one of them", t, &glides.x).color(PALETTE[0]))
}

fn unique_panel(rubs: &Push) -> Panel {
    let t = &rubs.t;
    Panel::new(time(), place())
        .title("floor with friction 0.5: the motion is unique")
        .mark(wall())
        .series(Series::new("fence", t, &rubs.fence).color(PALETTE[3]))
        .series(Series::new("particle", t, &rubs.x).color(PALETTE[0]))
        .series(Series::new("particle, y", t, &rubs.y).color(PALETTE[0]).line(Line::Dashed))
}

/// Paths for several friction coefficients of the fence, and their ends.
fn paths(context: &Context<'_>) -> Result<(Panel, Vec<Row>), ReproduceError> {
    let mut path = Panel::new(Axis::linear("x (m)"), Axis::linear("y (m)"))
        .title("paths on the floor by friction of the fence");
    let mut rows = Vec::new();
    for (mu2, color) in MU.into_iter().zip(PALETTE) {
        // with coefficients 3 (fence) and 0.3 (floor) it first sticks to the fence
        let mu3 = if mu2 > 2.0 { 0.3 } else { 0.5 };
        let run = push(context, "round", mu2, mu3)?;
        path = path.series(Series::new(format!("round, {mu2}"), &run.x, &run.y).color(color));
        let (x, y) = run.end();
        let expected = if mu2 > 2.0 { 0.870_905_041_9 } else { mu2 * (x - 0.6) };
        rows.push(Row::new(
            format!("y at the end, Model-DQC, friction {mu2} of the fence, m"),
            expected,
            y,
            "closed form: each push moves it by dy = min(mu2 dx, h)",
        ));
    }
    let turn = 22.5_f64.to_radians().tan();
    for (cone, slope, color) in [("4", 1.0, PALETTE[9]), ("8", turn, PALETTE[8])] {
        let run = push(context, cone, 0.5, 0.5)?;
        let name = format!("{cone} directions, 0.5");
        path = path.series(Series::new(name, &run.x, &run.y).color(color).line(Line::Dashed));
        rows.push(Row::new(
            format!("y at the end, Model-DLC with {cone} directions, m"),
            slope * (run.end().0 - 0.6),
            run.end().1,
            "closed form: the pyramid moves it at 45° or 22.5°",
        ));
    }
    Ok((path, rows))
}

fn forces_panel(rubs: &Push) -> Panel {
    let t = &rubs.t;
    Panel::new(time().range(0.0, 2.0), Axis::linear("force (N)"))
        .title("forces on the particle, friction 0.5")
        .series(Series::new("fence, normal", t, &rubs.normal).line(Line::Steps))
        .series(Series::new("fence, friction", t, &rubs.rub).line(Line::Steps))
        .series(Series::new("floor, friction", t, &rubs.drag).line(Line::Steps))
}

fn rows_of(rubs: &Push) -> Result<[Row; 4], ReproduceError> {
    let greatest = rubs.normal.iter().fold(0.0_f64, |m, f| m.max(*f));
    Ok([
        Row::new(
            "x at the end, m",
            0.900_019_87,
            rubs.end().0,
            "closed form: straight in each step",
        ),
        Row::new(
            "normal force of the fence, friction 0.5, N",
            0.5 * 9.81 / 1.25_f64.sqrt(),
            greatest,
            "closed form: mu3 m g / sqrt(1 + mu2²)",
        ),
        Row::new(
            "steps of 700 with one motion, no friction of the floor",
            0.0,
            steps_with_one_motion("0")?,
            "§5.1.1",
        ),
        Row::new(
            "steps of 700 with one motion, friction 0.5",
            700.0,
            steps_with_one_motion("0.5")?,
            "§5.1.2",
        ),
    ])
}
