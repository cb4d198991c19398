//! The grasp of a point cloud: Tracy Fig. 1 and Fig. 4.

use crate::figure::{Context, FigureResult, ReproduceError, Row, columns_csv};
use crate::scenes::{Run, cold, run};
use quasistep::Stage;
use quasistep_record::Recording;
use quasistep_view::plot::{Axis, Figure, Panel, Series};
use quasistep_view::{Camera, StillOptions, strips};
use std::fmt::Write as _;

const SCENE: &str = "bunny_grasp";
/// Times of the stills in a strip, in s.
const TIMES: [f64; 5] = [0.0, 1.0, 2.0, 4.0, 12.0];
/// Scene change that removes torsional friction.
const POINTS: [(&str, &str); 1] = [("friction.pairs.0.mu_spin", "0")];

/// Rotation of the rabbit relative to its start, in degrees, for each frame.
fn turned(recording: &Recording) -> Result<Vec<f64>, ReproduceError> {
    let bunny = recording.body("bunny/bunny");
    let bunny = bunny.ok_or_else(|| ReproduceError::Missing("bunny".into()))?;
    let start = recording.frames[0].X_WB[bunny].rotation.inverse();
    let turn = |f: &quasistep_record::Frame| (start * f.X_WB[bunny].rotation).to_rotation_vector();
    Ok(recording.frames.iter().map(|f| turn(f).norm().to_degrees()).collect())
}

/// Regenerates Tracy Fig. 1.
pub(crate) fn strips_of_grasp(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    let runs = [run(context, SCENE, &[])?, run(context, SCENE, &POINTS)?];
    let frames = |run: &Run| -> Vec<usize> {
        let h = run.recording.time_step;
        let last = run.recording.frames.len() - 1;
        TIMES.iter().map(|t| ((t / h).round() as usize).min(last)).collect()
    };
    let frames = [frames(&runs[0]), frames(&runs[1])];
    let camera = Camera::isometric(&runs[0].recording, 1.0);
    let rows: Vec<(&Recording, &[usize])> =
        runs.iter().zip(&frames).map(|(run, frames)| (&run.recording, &frames[..])).collect();
    let png = strips(&rows, &camera, 360, 360, &StillOptions::default())?;

    let t: Vec<f64> = runs[0].recording.frames.iter().map(|f| f.t).collect();
    let angles = [turned(&runs[0].recording)?, turned(&runs[1].recording)?];
    let figure = Figure::new("Tracy Fig. 1: how far the held rabbit has turned").panel(
        Panel::new(Axis::linear("t (s)"), Axis::linear("turned (deg)"))
            .series(Series::new("with torsional friction", &t, &angles[0]))
            .series(Series::new("without", &t, &angles[1])),
    );
    // the rabbit hangs free from 2 s on
    let free = t.iter().position(|t| *t >= 2.0).unwrap_or(0);
    let swing = |angles: &[f64]| {
        angles[free..].iter().map(|a| (a - angles[free]).abs()).fold(0.0, f64::max)
    };
    let rows = vec![
        Row::new(
            "turn while it is held for 10 s, with torsional friction (deg)",
            0.0,
            swing(&angles[0]),
            "Fig. 1, top: it does not swing",
        ),
        Row::new(
            "the same without (deg)",
            None,
            swing(&angles[1]),
            "Fig. 1, bottom: it swings about the points that touch; the paper prints no angle",
        ),
    ];
    let [with, without] = angles;
    let columns = [("t", t), ("turned_deg", with), ("turned_without_torsion_deg", without)];
    Ok(FigureResult {
        files: vec![
            context.write_bytes("tracy_fig1.png", &png)?,
            context.write("tracy_fig1.svg", &figure.to_svg())?,
            context.write("tracy_fig1.csv", &columns_csv(&columns))?,
        ],
        rows,
    })
}

/// Regenerates Tracy Fig. 4.
pub(crate) fn profile(context: &Context<'_>) -> Result<FigureResult, ReproduceError> {
    // run twice and measure the second run, with warm caches
    run(context, SCENE, &[])?;
    let tally = run(context, SCENE, &[])?.tally;
    let cold = cold(context, SCENE)?;
    let total = tally.step_us();
    let mut rows = vec![
        Row::new(
            "whole step, median (µs)",
            90.0,
            total.median,
            "Fig. 4: below 90 µs with Julia on an Apple M1 Pro",
        ),
        Row::new("whole step, 95th percentile (µs)", None, total.p95, "one core of this machine"),
        Row::new("whole step without warm start, median (µs)", 90.0, cold.step_us().median, ""),
        Row::new("its 95th percentile (µs)", None, cold.step_us().p95, ""),
        Row::new("unknowns and rows of a step", 80.0, tally.most_rows() as f64, "§III-B: 13 by 80"),
    ];
    let mut text = String::from("stage,median_us,p95_us,cold_median_us,cold_p95_us\n");
    for stage in Stage::ALL {
        let spent = tally.stage_us(stage);
        // writing to a String cannot fail
        let from_cold = cold.stage_us(stage);
        let (name, warm) = (stage.name(), spent);
        let _ = writeln!(
            text,
            "{name},{},{},{},{}",
            warm.median, warm.p95, from_cold.median, from_cold.p95
        );
        let note = match stage {
            Stage::Distance => "992 points against floor and two plates, 5 chosen of each",
            Stage::Solve => "most of the time in the paper",
            _ => "",
        };
        rows.push(Row::new(format!("{name}, median (µs)"), None, warm.median, note));
        if stage == Stage::Solve {
            let what = format!("{name} without warm start, median (µs)");
            rows.push(Row::new(what, None, from_cold.median, ""));
        }
    }
    Ok(FigureResult { files: vec![context.write("tracy_fig4.csv", &text)?], rows })
}
