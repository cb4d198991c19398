//! The `quasistep` command: reads arguments, writes text and files. No mathematics. It is a library
//! too, since the Python package has the same command.
//!
//! Exit code 0: success. 1: a step could not be solved (files written so far are kept), or a fact
//! does not hold with `--strict`. 2: an error of the user in a file, key or argument (nothing is
//! written). 3: files could not be written (those of the last run are unchanged). 130: interrupted
//! (files are complete up to that point).

// first, since the other modules use its macros
#[macro_use]
mod say;

mod check;
mod clock;
mod compare;
mod convert;
mod course;
mod examples;
mod explain;
mod failure;
mod interrupt;
mod live;
mod mpc;
mod new;
mod output;
mod plan;
mod reproduce;
mod run;
mod sample;
mod scale;
mod spans;
mod stream;
mod summary;
mod view;
mod wait;

pub use examples::shipped_scene;

use clap::{Args, CommandFactory, Parser, Subcommand};
use failure::Failure;
use output::Output;
use std::ffi::OsString;
use std::path::PathBuf;

/// Quasi-static and quasi-dynamic simulation of robot manipulation.
#[derive(Parser)]
#[command(
    name = "quasistep",
    version,
    after_help = "\
Examples:
  quasistep run scenes/iiwa_stacking.yml
  quasistep run scenes/gripper_2d.yml --step 0.005 -o out/fine
  quasistep check my_scene.yml
  quasistep mpc scenes/point_robot.yml
  quasistep reproduce --list

Exit codes: 0 done, 1 a step could not be solved (or a fact does not hold, with --strict), 2 a mistake in a file or an argument, \
3 files could not be written, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print errors only
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Print every warning, not one of each kind with a count
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    verbose: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate a scene and write its recording, summary, plots and a 3-D page
    #[command(after_help = "\
Examples:
  quasistep run scenes/iiwa_stacking.yml
  quasistep run scenes/iiwa_stacking.yml --step 0.4 --set step.contact_margin=0.05
  quasistep run scenes/pinch.yml --duration 5 -o out/pinch_short --csv
  quasistep run scenes/pile.yml --every 10 --no-page
  quasistep run scenes/gripper_2d.yml --strict --open
  quasistep run scenes/gripper_2d.yml --live --open")]
    Run(RunArgs),
    /// Write a first scene to edit: a finger that pushes a box, or a robot's file with springs at its joints and a floor
    #[command(after_help = "\
Examples:
  quasistep new
  quasistep new robot.urdf -o scene.yml
  quasistep new scenes/models/iiwa7/iiwa7.urdf")]
    New(NewArgs),
    /// Write a scene as an MJCF file for MuJoCo, or the file of a robot or scene as a scene file
    #[command(after_help = "\
What the other format has no counterpart for is told, line by line.

Examples:
  quasistep convert scenes/pinch.yml -o pinch.xml
  quasistep convert scenes/door.yml --set step.cone=4
  quasistep convert robot.urdf -o scene.yml")]
    Convert(ConvertArgs),
    /// Validate a scene or a robot's file without running it, and say what it contains
    #[command(after_help = "\
Examples:
  quasistep check scenes/gripper_2d.yml
  quasistep check robot.urdf
  quasistep check robot.urdf --self-collision 1000
  quasistep check my_scene.yml --set step.inertia=mass
  quasistep check scenes/gripper_2d.yml --uniqueness")]
    Check(CheckArgs),
    /// Rewrite the page, the plots or the tables of a finished run, or write the page of a scene or a robot as it starts
    #[command(after_help = "\
Examples:
  quasistep view out/iiwa_stacking --open
  quasistep view out/iiwa_stacking --csv
  quasistep view scenes/pinch.yml
  quasistep view robot.urdf
  quasistep view robot.urdf --live --open")]
    View {
        /// Folder of a run, scene file, or a robot's file
        what: PathBuf,
        /// Folder to write, for a scene or a robot [default: out/<name>]
        #[arg(short, long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Write the tables states.csv and contacts.csv of a run too
        #[arg(long)]
        csv: bool,
        /// Write a run as a moving picture too, a GIF
        #[arg(long, value_name = "FILE.gif")]
        video: Option<PathBuf>,
        /// Serve the page of a scene or a robot, with a slider for each joint, until Ctrl-C
        #[arg(long, conflicts_with_all = ["out", "csv", "video"])]
        live: bool,
        /// Open the page in the browser
        #[arg(long)]
        open: bool,
    },
    /// Regenerate figures and tables of the papers, each published number beside ours
    #[command(after_help = "\
Examples:
  quasistep reproduce --list
  quasistep reproduce pang21_fig7
  quasistep reproduce -o out/papers")]
    Reproduce(ReproduceArgs),
    /// Control a scene through contact, each plan proven optimal, and write mpc.csv, plots and a 3-D page
    #[command(after_help = "\
Examples:
  quasistep mpc scenes/point_robot.yml
  quasistep mpc scenes/point_robot.yml --set mpc.horizon=20 -o out/far_sighted
  quasistep mpc scenes/planar_pusher.yml
  quasistep mpc scenes/planar_hand.yml --set mpc.steps=10
  quasistep mpc scenes/point_robot.yml --set mpc.horizon=20 --export plan.mps")]
    Mpc(MpcArgs),
    /// Search for commands that bring bodies to the goals of a scene, check them, and write plan.json, plots and a 3-D page
    #[command(after_help = "\
Examples:
  quasistep plan scenes/push_to_pose.yml
  quasistep plan scenes/push_to_pose.yml --set plan.planner=cem --set plan.seed=1
  quasistep plan scenes/push_to_pose.yml -o out/plan --csv")]
    Plan(PlanArgs),
    /// Replay a plan in steps of a tenth, and say whether it reaches its goals and keeps its bounds
    #[command(after_help = "\
Examples:
  quasistep check-plan scenes/push_to_pose.yml out/push_to_pose-plan/plan.json
  quasistep check-plan scenes/push_to_pose.yml out/push_to_pose-plan/plan.json --set friction.default=0.3")]
    CheckPlan(CheckPlanArgs),
    /// Compare a recorded run with the scene's own steps: from each recorded state, and from the start on
    #[command(after_help = "\
Examples:
  quasistep compare scenes/planar_push.yml out/planar_push
  quasistep compare scenes/planar_push.yml out/planar_push --set models.box.mass=1.1
  quasistep compare scenes/push_around.yml out/push_around-plan --within 1e-9

Exit code 1: a step from a recorded state ends elsewhere by more than that.")]
    Compare(CompareArgs),
    /// Write a point cloud of a body's collision shapes, as a scanner would see it
    #[command(after_help = "\
Examples:
  quasistep sample scenes/models/clouds/rabbit.yml rabbit --points 992 -o rabbit.ply
  quasistep sample scenes/planar_push.yml box")]
    Sample(SampleArgs),
    /// Say what a message means and what helps, by the short name at its end
    #[command(after_help = "\
Examples:
  quasistep explain
  quasistep explain crushed
  quasistep explain unknown-key limits")]
    Explain {
        /// Short names; without one all names are listed
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(explain::names()), hide_possible_values = true)]
        names: Vec<String>,
    },
    /// Write the shipped scenes, with their models, into a folder: those that the documentation speaks of
    #[command(after_help = "\
Examples:
  quasistep examples
  quasistep examples my/scenes

Then `quasistep run scenes/planar_push.yml` works from here.")]
    Examples {
        /// Folder, which must not have other files of these names
        #[arg(default_value = "scenes")]
        dir: PathBuf,
    },
    /// Print what a shell needs to complete this command's words
    #[command(after_help = "\
Examples:
  quasistep completions bash > ~/.local/share/bash-completion/completions/quasistep
  quasistep completions zsh > ~/.zfunc/_quasistep
  quasistep completions fish > ~/.config/fish/completions/quasistep.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args)]
struct RunArgs {
    /// Scene file
    scene: PathBuf,
    /// Folder to write [default: out/<scene>]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Say after every step whether its motion and its contact forces are the only ones, in summary.json and
    /// uniqueness.csv (short for --set step.uniqueness=true; needs exact friction)
    #[arg(long)]
    uniqueness: bool,
    /// End with exit code 1 if a fact of the scene does not hold, or if the convex step stood in for one with exact friction
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    serving: Serving,
    /// Run even if the steps are millions
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    changes: Changes,
}

/// Whether a run goes on with its page.
#[derive(Args)]
struct Serving {
    /// Serve the page while the run goes on in real time, with sliders for its commands, until Ctrl-C
    #[arg(long, conflicts_with = "strict")]
    live: bool,
}

#[derive(Args)]
struct MpcArgs {
    /// Scene file with an `mpc` section
    scene: PathBuf,
    /// Folder to write [default: out/<scene>]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run nothing; write the first plan as a problem for other solvers, to a file that ends in .lp or .mps
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// How that file says that one of two numbers is zero
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Complementarity::Sos1, requires = "export")]
    complementarity: Complementarity,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    changes: Changes,
}

#[derive(Args)]
struct PlanArgs {
    /// Scene file with a `plan` section
    scene: PathBuf,
    /// Folder to write [default: out/<scene>]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    changes: Changes,
}

#[derive(Args)]
struct CheckPlanArgs {
    /// Scene file with a `plan` section
    scene: PathBuf,
    /// The plan.json of `quasistep plan`
    plan: PathBuf,
    #[command(flatten)]
    changes: Changes,
}

/// Forms of complementarity in a file.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Complementarity {
    /// Special ordered sets
    Sos1,
    /// Binaries, each with a bound of its own
    BigM,
    /// Binaries with indicator constraints
    Indicator,
}

#[derive(Args)]
struct NewArgs {
    /// A robot's file, .urdf or .xacro; a finger and a box if none is given
    model: Option<PathBuf>,
    /// Scene file to write, which must not exist [default: <model>.yml, or scene.yml]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct ConvertArgs {
    /// Scene file, or the file of a robot or scene
    scene: PathBuf,
    /// File to write, which must not exist; its ending tells the format: .xml or .yml [default: <scene>.xml]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    changes: Changes,
}

#[derive(Args)]
struct CompareArgs {
    /// Scene file
    scene: PathBuf,
    /// Folder of a run, or its recording.qsr
    run: PathBuf,
    /// Largest difference of steps from recorded states, in m or rad
    #[arg(long, value_name = "X", default_value_t = 1e-6)]
    within: f64,
    #[command(flatten)]
    changes: Changes,
}

#[derive(Args)]
struct CheckArgs {
    /// Scene file, or a robot's file
    scene: PathBuf,
    /// Show the tree of bodies, with joints, limits, masses, shapes and poses at the start (a robot's file always does)
    #[arg(long)]
    tree: bool,
    /// Try N random configurations within the joints' limits, and say which pairs of links of a model overlap in
    /// all or none of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    self_collision: Option<u32>,
    /// Run the scene and say at which times its motion and its contact forces are the only ones (needs
    /// exact friction)
    #[arg(long)]
    uniqueness: bool,
    /// Run even if the steps are millions
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    changes: Changes,
}

/// Values that replace those of the scene file.
#[derive(Args)]
struct Changes {
    /// Time step, in s (short for --set step.size=H)
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    step: Option<String>,
    /// Let steps choose their size, to this many m (short for --set step.tolerance=M)
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    tolerance: Option<String>,
    /// Simulated time, in s (short for --set step.duration=T)
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    duration: Option<String>,
    /// Law of friction: exact or convex (short for --set step.friction=NAME)
    #[arg(long, value_name = "NAME")]
    friction: Option<String>,
    /// Motion: quasi_static, or dynamic, which carries velocities over (short for --set step.motion=NAME)
    #[arg(long, value_name = "NAME")]
    motion: Option<String>,
    /// Replace a value of the scene file by its dotted path; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Changes {
    /// The changes as `(dotted key, value)`, in the order of the arguments.
    fn pairs(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut pairs = Vec::new();
        for (key, value) in [
            ("step.size", &self.step),
            ("step.tolerance", &self.tolerance),
            ("step.duration", &self.duration),
            ("step.friction", &self.friction),
            ("step.motion", &self.motion),
        ] {
            if let Some(value) = value {
                pairs.push((key.to_owned(), value.clone()));
            }
        }
        for text in &self.set {
            let Some((key, value)) = text.split_once('=') else {
                return Err(Failure::usage(format!(
                    "--set {text}: no `=` seen; write --set KEY=VALUE, as in --set step.size=0.05"
                )));
            };
            pairs.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        Ok(pairs)
    }
}

#[derive(Args)]
struct ReproduceArgs {
    /// Figures to regenerate, by name; all if none is given
    figures: Vec<String>,
    /// Folder to write
    #[arg(short, long, value_name = "DIR", default_value = "out/reproduce")]
    out: PathBuf,
    /// List the figures and stop
    #[arg(long)]
    list: bool,
}

#[derive(Args)]
struct SampleArgs {
    /// Scene file
    scene: PathBuf,
    /// Body, as model/link, or a model of one body
    body: String,
    /// Number of points
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    points: u64,
    /// File to write [default: <body>.ply]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write even if the points are many millions
    #[arg(long)]
    yes: bool,
}

/// How to read what a message means: `help: quasistep explain NAME`, if there is an entry for it or
/// for this class of Python.
pub fn help(message: &str, class: &str) -> Option<String> {
    explain::help(std::iter::once(message), Some(class))
}

/// Runs the command with these arguments, of which the first is its name; returns its exit code.
pub fn execute<S: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = S>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(help) => {
            let _ = help.print();
            return help.exit_code() as u8;
        }
    };
    if cli.verbose {
        say::all_warnings();
    }
    let result = match &cli.command {
        Command::Run(arguments) => run::run(arguments, cli.quiet),
        Command::Check(arguments) => check::check(arguments, cli.quiet),
        Command::New(arguments) => new::new(arguments, cli.quiet),
        Command::Convert(arguments) => convert::convert(arguments, cli.quiet),
        Command::View { what, live: true, open, .. } => live::view(what, *open, cli.quiet),
        Command::View { what, out, csv, video, open, .. } => {
            let files = view::Files { csv: *csv, video: video.as_deref() };
            view::view(what, out.as_deref(), &files, *open, cli.quiet)
        }
        Command::Reproduce(arguments) => reproduce::reproduce(arguments, cli.quiet),
        Command::Mpc(arguments) => mpc::mpc(arguments, cli.quiet),
        Command::Plan(arguments) => plan::plan(arguments, cli.quiet),
        Command::CheckPlan(arguments) => plan::check_plan(arguments, cli.quiet),
        Command::Compare(arguments) => compare::compare(arguments, cli.quiet),
        Command::Sample(arguments) => sample::sample(arguments, cli.quiet),
        Command::Explain { names } => {
            explain::explain(names);
            Ok(())
        }
        Command::Examples { dir } => examples::examples(dir, cli.quiet),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "quasistep", &mut text);
            say::raw(format_args!("{}", String::from_utf8_lossy(&text)));
            Ok(())
        }
    };
    let printed = say::end();
    match result.and(printed) {
        Ok(()) => 0,
        Err(failure) => {
            let message = failure.to_string();
            tell!("{message}");
            say::help(std::iter::once(message.as_str()));
            failure.exit_code()
        }
    }
}
