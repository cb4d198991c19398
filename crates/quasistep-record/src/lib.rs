//! Recordings of simulated runs: plain data, readable without the simulator, for quasistep.
//!
//! A [`Recording`] holds everything that a picture or a plot of a run needs: where every body was
//! at every step, how it is drawn, the coordinates and their commands, and the contacts with their
//! forces. This room knows no model, no solver and no shape algorithm; all numbers are SI, all
//! vectors are in the world frame W unless their name says otherwise.
//!
//! # The file `recording.json`
//!
//! One JSON object, numbers in columns so that a frame costs no key names. Numbers are printed in
//! their shortest form that reads back as the same bits. Version 6:
//!
//! | key           | value                                                                     |
//! |---------------|---------------------------------------------------------------------------|
//! | `format`      | `"quasistep recording"`                                                   |
//! | `version`     | `6`                                                                       |
//! | `scene`, `title` | where the run came from; what to call it                               |
//! | `time_step`   | step size in s                                                            |
//! | `bodies`      | names `model/link`; entry 0 is `world`                                    |
//! | `coordinates` | names of the entries of `q`                                               |
//! | `dofs`        | names of the entries of `v`; absent if no velocity is carried over        |
//! | `commands`    | names of the commanded coordinates, of `coordinates` or of frames that springs pull |
//! | `collision_shapes` | names `model/link/shape` of what may touch; absent if nothing may    |
//! | `images`      | pictures, objects `mime`, `data` (base64); absent if no shape is painted with one |
//! | `shapes`      | objects `body`, `name`, `pose` (7 numbers, `X_BG`), `geometry`, `color` (rgba, 0 to 1), `role` (`visual`, `collision`, `both`); a mesh may have a `paint`, `{"vertices": [[r, g, b], …]}` (0 to 255) or `{"texture": {"uv": [[u, v], …], "image": k}}`, for each vertex |
//! | `finish`      | `"done"` or `{"stopped": {"reason": …}}`                                  |
//! | `frames`      | object of columns, below                                                  |
//!
//! A pose is `qw, qx, qy, qz, x, y, z`. Columns of `frames`, with N frames, each one flat array:
//!
//! | key        | length            | content                                                       |
//! |------------|-------------------|---------------------------------------------------------------|
//! | `t`        | N                 | time in s                                                     |
//! | `poses`    | 7 · bodies · N    | `X_WB`, body by body, frame by frame                          |
//! | `q`        | coordinates · N   | configuration, frame by frame                                 |
//! | `v`        | dofs · N          | velocity that the next step begins with; absent as `dofs` is  |
//! | `q_cmd`    | commands · (N − 1)| commands of the step that ends at the frame; none for frame 0 |
//! | `effort`   | commands · (N − 1)| drive force of the step, N or N·m; none for frame 0           |
//! | `n_contacts` | N               | contacts of the step that ends at the frame; their sum is C   |
//! | `contacts` | columns `a b p n phi phi_next normal_force force spin mode mu` | C entries each, 3 C for `p`, `n`, `force`; `mode` 0 separate, 1 stick, 2 slide; `roll`, 3 C, if a contact has rolling friction; `shape_a`, `shape_b` (indices into `collision_shapes`) and `feature`: which point it is, the same from step to step |
//!
//! With `step.uniqueness` there is one more key in `frames`, `uniqueness`, an object of two lists. `answers` holds
//! what was said, each time that it changed: `motion` is `"unique"`, `"unknown"` or `{"free": {"bodies",
//! "direction"}}`, bodies by index and dofs by name with their shares; `forces` is `"unique"`, `"unknown"` or
//! `{"shared": {"contacts", "joints", "sums"}}`, contacts by index among those of the frame; `text` is both in words.
//! `steps`, of length N − 1, has for every step the index of its answer, or `null` for one without.
//!
//! Versions 1 to 5 are read as well: 2 added a kind of geometry, 3 the velocities, 4 uniqueness, 5 paints, 6 which points touch. Reading
//! refuses other versions, unknown keys, and columns that do not fit each other; the error names the file and what was seen.
//!
//! # Tables
//!
//! [`StatesCsv`] and [`ContactsCsv`] write `states.csv` and `contacts.csv`, a frame at a time, so
//! that a run which stops leaves all rows up to there.
#![allow(non_snake_case)] // frames in monogram notation: X_WB, n_AB_W

mod csv;
mod data;
mod error;
mod query;
mod uniqueness;
mod wire;

pub use csv::{CONTACTS_HEADER, ContactsCsv, StatesCsv, write_contacts_csv, write_states_csv};
pub use data::{
    Contact, ContactKey, DrawnGeometry, DrawnShape, Finish, Frame, Image, Mode, Paint, Recording,
    ShapeRole,
};
pub use error::RecordError;
pub use query::{continue_quaternions, quaternion_starts};
pub use uniqueness::{DeterminedSum, ForceUniqueness, MotionUniqueness, SharedForce, Uniqueness};
pub use wire::VERSION;
