//! Growth of the cost of a step with the number of bodies: the pile of `scenes/pile.yml` with 10 to
//! 1000 boxes. Prints µs of CPU per stage, contacts, residuals, and the exponent of the cost.
//!
//! `cargo bench -p benches --bench scaling -- --help`
#![allow(missing_docs)]

use benches::{PowerLaw, thread_cpu_ns};
use quasistep::{Certificate, Stage, StepInput, Tally};
use quasistep_view::plot::{Axis, Color, Figure, Line, Marker, PALETTE, Panel, Series};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
cargo bench -p benches --bench scaling -- [OPTIONS]

  --boxes N,N,...  numbers of boxes, ascending [10,20,50,100,200,500,1000]
  --most N         leave out larger numbers
  --steps K        steps that are measured at each number, after 5 that are not [40]
  --accuracy A     how far steps may be off, `step.accuracy` of a scene [0: all digits]
  --seconds S      CPU time for one number: its run is cut short there, and where not even a few steps are
                   expected to fit it is left out, with all larger ones [120]
  --plot [FILE]    draw the costs [docs/pictures/scaling.svg, with --accuracy A scaling_A.svg]
  --csv FILE       write the table";

/// Steps before the first measured one, in which memory grows and the boxes settle.
const WARM_UP: usize = 5;
/// Least number of measured steps for a meaningful median.
const LEAST_STEPS: usize = 3;

struct Options {
    boxes: Vec<usize>,
    steps: usize,
    seconds: f64,
    accuracy: String,
    plot: Option<PathBuf>,
    csv: Option<PathBuf>,
}

/// One line of the table.
struct Size {
    boxes: usize,
    n_v: usize,
    /// Measured steps.
    timed: Tally,
    /// All steps, including the first ones.
    all: Tally,
    /// Largest force in a step, in N, the reference size of residuals.
    force_scale: f64,
    /// CPU time of all steps, in s.
    seconds: f64,
}

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)) {
        Ok(Some(options)) => run(&options),
        Ok(None) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

impl Options {
    /// Parses the options; `None` if help was requested.
    fn read(arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            boxes: vec![10, 20, 50, 100, 200, 500, 1000],
            steps: 40,
            seconds: 120.0,
            accuracy: "0".into(),
            plot: None,
            csv: None,
        };
        let mut most = usize::MAX;
        let mut benching = false;
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next_if(|next| !next.starts_with("--"))
                    .ok_or_else(|| format!("{argument} needs a value"))
            };
            match argument.as_str() {
                // cargo passes this to a benchmark that is to be measured rather than tested
                "--bench" => benching = true,
                "--help" | "-h" => return Ok(None),
                "--boxes" => {
                    let text = value()?;
                    options.boxes = text
                        .split(',')
                        .map(|part| number(&argument, part))
                        .collect::<Result<_, _>>()?;
                }
                "--most" => most = number(&argument, &value()?)?,
                "--steps" => options.steps = number(&argument, &value()?)?,
                "--seconds" => options.seconds = number(&argument, &value()?)?,
                "--accuracy" => options.accuracy = value()?,
                "--csv" => options.csv = Some(value()?.into()),
                "--plot" => options.plot = Some(value().map(PathBuf::from).unwrap_or_default()),
                _ => return Err(format!("unknown option {argument}")),
            }
        }
        if options.boxes.is_empty() || !options.boxes.is_sorted_by(|a, b| a < b) {
            return Err("--boxes needs ascending numbers".into());
        }
        if !benching {
            most = most.min(options.boxes[0]);
        }
        options.boxes.retain(|n| *n <= most);
        if options.plot.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            let name = format!("scaling{}.svg", options.words("_"));
            options.plot = Some(testkit::root().join("docs/pictures").join(name));
        }
        Ok(Some(options))
    }

    /// The accuracy after the words `before`; empty for exact steps.
    fn words(&self, before: &str) -> String {
        if self.accuracy == "0" { String::new() } else { format!("{before}{}", self.accuracy) }
    }
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{option}: `{text}` is not a number that it takes"))
}

fn run(options: &Options) -> ExitCode {
    header();
    let mut sizes: Vec<Size> = Vec::new();
    let mut failed = false;
    for &boxes in &options.boxes {
        if let Some(expected) = expected_seconds(&sizes, boxes)
            && expected > options.seconds
        {
            println!(
                "{boxes:>6}  left out: about {expected:.0} s of CPU expected; --seconds {expected:.0} \
                 tries it"
            );
            break;
        }
        match measure(boxes, options) {
            Ok(size) => {
                size.print();
                sizes.push(size);
            }
            Err(why) => {
                println!("{boxes:>6}  stopped: {why}");
                failed = true;
                break;
            }
        }
    }
    exponents(&sizes);
    let mut files = Vec::new();
    if let Some(path) = &options.csv {
        files.push((path, csv(&sizes)));
    }
    if let Some(path) = &options.plot {
        files.push((path, figure(&sizes, options).to_svg()));
    }
    for (path, text) in files {
        if let Err(e) = std::fs::write(path, text) {
            eprintln!("error: {}: {e}", path.display());
            failed = true;
        } else {
            println!("{}", path.display());
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Predicted CPU time (s) of the fewest steps with `boxes` boxes, extrapolated from the last two
/// sizes; `None` before there are two.
fn expected_seconds(sizes: &[Size], boxes: usize) -> Option<f64> {
    let per_step = |s: &Size| [s.boxes as f64, s.seconds / s.all.steps() as f64];
    let [.., a, b] = sizes else { return None };
    let law = PowerLaw::fit(&[per_step(a), per_step(b)])?;
    Some(law.at(boxes as f64) * (WARM_UP + LEAST_STEPS) as f64)
}

fn measure(boxes: usize, options: &Options) -> Result<Size, String> {
    let count = boxes.to_string();
    let changes = [("models.box.repeat.count", &*count), ("step.accuracy", &options.accuracy)];
    let scene = testkit::scene("pile", &changes);
    let (system, params) = (&scene.system, &scene.params);
    let mut work = system.create_workspace();
    work.set_clock(Some(thread_cpu_ns));
    let mut state = scene.start.clone();
    let mut input = StepInput::default();
    let mut size = Size {
        boxes,
        n_v: system.model().n_v(),
        timed: Tally::default(),
        all: Tally::default(),
        force_scale: 0.0,
        seconds: 0.0,
    };
    let start = thread_cpu_ns();
    for index in 0..WARM_UP + options.steps {
        scene.sample(state.time + params.time_step, &mut input);
        let report = system
            .step_with(&mut state, &input, params, &mut work)
            .map_err(|e| format!("step {}: {e}", index + 1))?;
        size.all.push(report);
        let Certificate { force_scale, .. } = report.certificate;
        size.force_scale = size.force_scale.max(force_scale);
        if index >= WARM_UP {
            size.timed.push(report);
        }
        size.seconds = (thread_cpu_ns() - start) as f64 * 1e-9;
        if size.seconds > options.seconds && size.timed.steps() >= LEAST_STEPS {
            break;
        }
    }
    Ok(size)
}

/// Widths of the columns before and after those of the stages.
fn header() {
    print!(
        "{:>6}{:>6}{:>6}{:>9}{:>8}{:>7}{:>7}{:>10}{:>10}",
        "boxes", "n_v", "steps", "contacts", "loaded", "rows", "iter.", "step µs", "p95"
    );
    for stage in Stage::ALL {
        print!("{:>11}", stage.name());
    }
    println!("{:>11}{:>11}{:>10}{:>10}", "balance N", "torque N·m", "gap m", "force N");
}

impl Size {
    fn print(&self) {
        let Self { timed, all, .. } = self;
        let step = timed.step_us();
        print!(
            "{:>6}{:>6}{:>6}{:>9.0}{:>8.0}{:>7.0}{:>7.1}{:>10.0}{:>10.0}",
            self.boxes,
            self.n_v,
            timed.steps(),
            timed.mean_contacts(),
            timed.mean_loaded_contacts(),
            timed.mean_rows(),
            timed.mean_iterations(),
            step.median,
            step.p95
        );
        for stage in Stage::ALL {
            print!("{:>11.1}", timed.stage_us(stage).median);
        }
        let worst = all.worst();
        println!(
            "{:>11.1e}{:>11.1e}{:>10.1e}{:>10.1e}",
            worst.force_balance, worst.torque_balance, worst.penetration, self.force_scale
        );
    }

    /// Median µs of a step, or of one of its stages.
    fn us(&self, stage: Option<Stage>) -> f64 {
        stage.map_or(self.timed.step_us(), |stage| self.timed.stage_us(stage)).median
    }
}

/// Power law fitted to the cost of a step, or of a stage, over all sizes.
fn law(sizes: &[Size], stage: Option<Stage>) -> Option<PowerLaw> {
    let points: Vec<[f64; 2]> = sizes.iter().map(|s| [s.n_v as f64, s.us(stage)]).collect();
    PowerLaw::fit(&points)
}

/// Prints exponents of the cost as a function of the number of dofs: for all sizes, and for the
/// largest three, where constant costs matter least.
fn exponents(sizes: &[Size]) {
    let largest = &sizes[sizes.len().saturating_sub(3)..];
    for (words, some) in [("all sizes", sizes), ("largest three", largest)] {
        let Some(step) = law(some, None) else { continue };
        print!("{:<69}{:>10.2}{:>10}", format!("exponent of n_v, {words}"), step.exponent, "");
        for stage in Stage::ALL {
            match law(some, Some(stage)) {
                Some(law) => print!("{:>11.2}", law.exponent),
                None => print!("{:>11}", "-"),
            }
        }
        println!();
    }
}

fn csv(sizes: &[Size]) -> String {
    let mut text = "boxes,n_v,steps,contacts,loaded,rows,iterations,step_us,step_p95_us".to_owned();
    for stage in Stage::ALL {
        let _ = write!(text, ",{}_us", stage.name());
    }
    text += ",force_balance_N,torque_balance_Nm,penetration_m,force_scale_N\n";
    for size in sizes {
        let Size { timed, .. } = size;
        let step = timed.step_us();
        let _ = write!(
            text,
            "{},{},{},{:.1},{:.1},{:.1},{:.1},{:.1},{:.1}",
            size.boxes,
            size.n_v,
            timed.steps(),
            timed.mean_contacts(),
            timed.mean_loaded_contacts(),
            timed.mean_rows(),
            timed.mean_iterations(),
            step.median,
            step.p95
        );
        for stage in Stage::ALL {
            let _ = write!(text, ",{:.2}", timed.stage_us(stage).median);
        }
        let worst = size.all.worst();
        let _ = writeln!(
            text,
            ",{:e},{:e},{:e},{:e}",
            worst.force_balance, worst.torque_balance, worst.penetration, size.force_scale
        );
    }
    text
}

/// Log-log plot of cost over dofs: the step with its power law, a line of slope 1, the stages.
fn figure(sizes: &[Size], options: &Options) -> Figure {
    let n_v: Vec<f64> = sizes.iter().map(|s| s.n_v as f64).collect();
    let us = |stage| -> Vec<f64> { sizes.iter().map(|s| s.us(stage)).collect() };
    let mut panel = Panel::new(Axis::log("dofs"), Axis::log("CPU time of a step (µs, median)"))
        .title(format!(
            "cargo bench -p benches --bench scaling -- --plot{}",
            options.words(" --accuracy ")
        ))
        .height(520.0)
        .series(
            Series::new("step", &n_v, &us(None))
                .color(Color::INK)
                .marker(Marker::Circle)
                .width(2.4),
        );
    if let Some(law) = law(sizes, None) {
        let fitted: Vec<f64> = n_v.iter().map(|n| law.at(*n)).collect();
        let label = format!("step: dofs^{:.2}", law.exponent);
        let fitted = Series::new(label, &n_v, &fitted).color(Color::INK);
        panel = panel.series(fitted.line(Line::Dashed).width(1.2));
    }
    if let (Some(first), Some(step)) = (n_v.first(), us(None).first()) {
        let linear: Vec<f64> = n_v.iter().map(|n| step * n / first).collect();
        let linear = Series::new("linear in dofs", &n_v, &linear).color(Color::GREY);
        panel = panel.series(linear.line(Line::Dotted).width(1.2));
    }
    for (stage, color) in Stage::ALL.into_iter().zip(PALETTE) {
        let label = match law(sizes, Some(stage)) {
            Some(law) => format!("{}: dofs^{:.2}", stage.name(), law.exponent),
            None => stage.name().to_owned(),
        };
        let series = Series::new(label, &n_v, &us(Some(stage))).color(color).width(1.3);
        panel = panel.series(series.marker(Marker::Ring));
    }
    let most = sizes.last().map_or(0, |s| s.boxes);
    Figure::new(format!("A pile of up to {most} boxes")).panel(panel)
}
