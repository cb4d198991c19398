//! Scene files, URDF robots and meshes → a [`System`](quasistep::System) and its start state.
//!
//! This is the only crate that opens scene files. All quantities are in SI units: m, kg, s, rad, N.
//! Every mistake is reported on one line with file, line and key: [`SceneError`]. The grammar is
//! documented in `docs/scene-format.md` and `docs/scene` of the repository.
//!
//! ```no_run
//! use quasistep_scene::Scene;
//! use std::ops::ControlFlow;
//!
//! let scene = Scene::load("scenes/pinch.yml")?;
//! let outcome = scene.run(None, &mut |step| {
//!     println!("{} s: {:?}", step.state.time, step.report.certificate);
//!     ControlFlow::Continue(())
//! });
//! assert!(outcome.stopped.is_none());
//! # Ok::<(), quasistep_scene::SceneError>(())
//! ```
#![allow(non_snake_case)] // monogram notation: X_WB, p_B, force_W

mod adhesion;
mod assembly;
mod blocked;
mod cartesian;
mod cloud;
mod collision_mesh;
mod collisions;
mod commands;
mod compare;
mod constraints;
mod contents;
mod control;
mod convex_parts;
mod csv;
mod curve;
mod curves;
mod document;
mod drawn_mesh;
mod expr;
mod extents;
mod facts;
mod frame_commands;
mod friction;
mod joints;
mod load;
mod mass;
mod mistakes;
mod model_file;
mod model_start;
mod models;
mod names;
mod openings;
mod outline;
mod plan_section;
mod pose_knots;
mod renew;
mod repeat;
mod replica;
mod robot;
mod rules;
mod run;
mod run_by_tolerance;
mod sample;
mod scene;
mod self_collision;
mod sensors;
mod settings;
mod shapes;
mod solid;
mod source;
mod start_velocity;
mod support;
mod surface_tree;
mod to_mjcf;
mod torques;
mod words;
mod world;

pub use cloud::CloudReport;
pub use compare::{Compared, Course};
pub use contents::{Contents, counted, figure, overlaps_in_words};
pub use control::{ControlModel, ControlSection, ControlWeights};
pub use facts::{Fact, FactResult, FactWatch};
pub use load::load;
pub use model_file::{FIRST_SCENE, first_scene_of_model, scene_of_model};
pub use plan_section::{PlanGrasp, PlanSection, PlanTarget, PlannerKind};
pub use quasistep_formats::SceneError;
pub use renew::renew;
pub use run::{FirstStep, NearestPair, RunOptions, RunOutcome, RunStep};
pub use sample::write_ply;
pub use scene::Scene;
pub use self_collision::SelfCollisions;
pub use sensors::recorded as recorded_sensor;
pub use settings::Setting;
pub use source::{SceneFile, SceneSource};
pub use to_mjcf::Converted;
pub use words::{read_step_words, step_words};
