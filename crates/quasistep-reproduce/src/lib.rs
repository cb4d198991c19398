//! Figures and tables of the papers, regenerated from our own runs, with each published number
//! beside our result. Also runs the closed loop of a scene. `quasistep reproduce` and `quasistep
//! mpc` call this crate.

#![allow(non_snake_case)] // monogram notation: X_WB

mod bunny;
pub mod closed_loop;
mod fence;
mod figure;
mod gripper;
pub mod measure;
pub mod planned;
mod point_robot;
pub mod reference;
mod scenes;
mod spin;
mod stacking;

pub use figure::{Context, Figure, FigureResult, ReproduceError, Row};

/// Every figure that can be regenerated.
pub const FIGURES: [Figure; 16] = [
    Figure {
        name: "mpcnote_fig2",
        title: "MpcNote Fig. 2: contact and friction force, five steps ahead",
        make: point_robot::short_forces,
    },
    Figure {
        name: "mpcnote_fig3",
        title: "MpcNote Fig. 3: contact and friction force, twenty steps ahead",
        make: point_robot::long_forces,
    },
    Figure {
        name: "mpcnote_fig4",
        title: "MpcNote Fig. 4: optimal cost, five and twenty steps ahead",
        make: point_robot::costs,
    },
    Figure {
        name: "pang21_fig1",
        title: "Pang21 Fig. 1: an arm stacks cubes (stills)",
        make: stacking::stills,
    },
    Figure {
        name: "pang21_fig4",
        title: "Pang21 Fig. 4: feasible velocities and forces in the three contact modes",
        make: gripper::modes,
    },
    Figure {
        name: "pang21_fig5",
        title: "Pang21 Fig. 5: commanded and actual finger positions",
        make: gripper::positions,
    },
    Figure {
        name: "pang21_fig6a",
        title: "Pang21 Fig. 6a beside 6b: the gripper by LCP (6), exact friction, and by QP (10)",
        make: gripper::exact_forces,
    },
    Figure {
        name: "pang21_fig6b",
        title: "Pang21 Fig. 6b: contact forces and distances of the gripper by QP (10)",
        make: gripper::forces,
    },
    Figure {
        name: "pang21_fig7",
        title: "Pang21 Fig. 7: integral error of the red cube against the step size",
        make: stacking::integral_errors,
    },
    Figure {
        name: "pang21_fig8",
        title: "Pang21 Fig. 8: trajectory of the red cube at several step sizes",
        make: stacking::trajectories,
    },
    Figure {
        name: "pang21_gripper",
        title: "Pang21 §V-A: mode times and forces of the gripper",
        make: gripper::numbers,
    },
    Figure {
        name: "pang21_stacking",
        title: "Pang21 §V-B: contacts and solve time of the stacking task",
        make: stacking::numbers,
    },
    Figure {
        name: "tracy_fig1",
        title: "Tracy Fig. 1: a point cloud held with and without torsional friction (strips)",
        make: bunny::strips_of_grasp,
    },
    Figure {
        name: "tracy_fig3",
        title: "Tracy Fig. 3: boundary layer of torsional friction under a spun ball",
        make: spin::boundary_layer,
    },
    Figure {
        name: "tracy_fig4",
        title: "Tracy Fig. 4: time of a step of the grasp, stage by stage",
        make: bunny::profile,
    },
    Figure {
        name: "trinkle05_sec5",
        title: "Trinkle05 section 5: a fence pushes a particle, without friction and with it",
        make: fence::path_and_forces,
    },
];
