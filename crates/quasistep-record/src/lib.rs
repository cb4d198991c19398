//! Recordings of simulated runs, for quasistep: plain data that can be read without the simulator.
//!
//! A [`Recording`] contains everything needed for pictures and plots of a run: the pose of every
//! body at every step, its drawn shapes, coordinates and commands, and contacts with their forces.
//! Models, solvers and shape algorithms are outside this crate. All numbers are in SI units. All
//! vectors are in the world frame W unless their name says otherwise.
//!
//! # The file `recording.qsr`
//!
//! Eight bytes `quasirec`, the version as u32, then blocks. A block is its kind (one byte), its length before and after
//! compression (u64 each; at most 256 MB before), and its bytes, compressed with zlib. All numbers are little endian.
//! A block has at most 100 frames. Versions 8 and 7 are read as well.
//! Version 8 has no roles, named frames, goals and curves. Version 7 has no sensors and no `source` either. Version 9:
//!
//! | kind | content before compression |
//! |------|----------------------------|
//! | `H`, once, first | JSON: `scene`, `title`, `time_step` (s), `bodies` (names `model/link`; entry 0 is `world`), `roles` (of each body: `fixed`, `driven`, `free`; left out if unknown), `coordinates` (names of the entries of `q`), `units` (of each coordinate: `m`, `rad`, or empty for parts of a quaternion; left out if unknown), `dofs` (names of the entries of `v`; empty if no velocity is carried over), `commands` (names of the commanded coordinates, of `coordinates`, of frames that springs pull, of pads, or of switches), `sensors` (objects `name`, `kind` (`force_torque`, `pressure`, `proximity`), `unit`, `shape` (extents of the array of readings), `size` (edges of a pressure array, m); left out if there are none), `collision_shapes` (names `model/link/shape`), `images` (objects `mime`, `data` in base64), `shapes` (objects `body`, `name`, `pose` `X_BG`, `geometry`, `color` (rgba, 0 to 1), `role` (`visual`, `collision`, `both`), and of a mesh `paint`: `{"vertices": [[r, g, b], …]}` (0 to 255) or `{"texture": {"uv": [[u, v], …], "image": k}}`, for each vertex), `named_frames` (objects `name`, `body`, `pose` `X_BF`), `goals` (poses that bodies are to have: objects `body`, `pose` `X_WB`), `curves` (quantities in time: objects `title`, `name`, `times`, `values`, and `beside`, null or a name and values); the last three left out if there are none |
//! | `F`, any number | frames, in the columns below |
//! | `D`, any number | frames as in `F`, with f64 in place of f32; used in memory and by Python's `pickle` |
//! | `E`, once, last | JSON: `"done"` or `{"stopped": {"reason": …}}` |
//!
//! A pose is `qw, qx, qy, qz, x, y, z`. A block of N frames has the columns below, one after
//! another. Each column stores the lowest byte of all its numbers, then the next byte of all, and
//! so on:
//!
//! | column     | numbers           | content                                                       |
//! |------------|-------------------|---------------------------------------------------------------|
//! |            | 1 u32             | N                                                             |
//! | `t`        | N f64             | time in s                                                     |
//! | `poses`    | 7 · bodies · N f64 | `X_WB`, body by body, frame by frame                         |
//! | `q`        | coordinates · N f64 | configuration, frame by frame                               |
//! | `v`        | dofs · N f64      | velocity that the next step begins with                       |
//! | `q_cmd`    | commands · N f64  | commands of the step that ends at the frame; none for the first frame of all |
//! | `effort`   | commands · N f64  | drive force of the step, N or N·m; none for the first frame of all |
//! | `sensors`  | readings · N f64  | readings of all sensors in the step, arrays row by row; none for the first frame of all |
//! | `n_contacts` | N u32           | contacts of the step that ends at the frame; their sum is M   |
//! | `source`   | M u32             | of a contact: 0, or one more than the index of that of the frame before which it repeats to the bit; C are 0, and the columns below are theirs |
//! | `a`, `b`, `shape_a`, `shape_b`, `feature`, `mode` | C u32 each | bodies, collision shapes, number of the pair of features; mode 0 separate, 1 stick, 2 slide |
//! | `p`, `n`, `force`, `roll` | 3 C f32 each | of a contact: point, normal, force, torque across the normal |
//! | `phi`, `phi_next`, `normal_force`, `spin`, `mu` | C f32 each | signed distances, normal force, torque about the normal, and friction coefficient of a contact |
//!
//! States are stored exactly; contacts keep seven digits (`contacts.csv` has all). With
//! `step.uniqueness` a block ends with JSON of two lists. `answers` has the answers, one for each
//! change; `frames` has the index of each frame's answer. In an answer, `motion` is `"unique"`,
//! `"unknown"` or `{"free": {"bodies", "direction"}}`, with body indices, and dof names with their
//! shares. `forces` is `"unique"`, `"unknown"` or `{"shared": {"contacts", "joints", "sums"}}`,
//! with indices of contacts in the frame. `text` states both in words.
//!
//! A truncated file is read up to its last whole block. Reading refuses other versions, damaged
//! blocks, and inconsistent parts; the error names the file, the position and what was seen.
//!
//! [`RecordingWriter`] writes a file frame by frame during a run. [`RecordingReader`] reads it
//! block by block. [`RunFolder`] prevents that files of two runs are mixed.
//!
//! # Tables
//!
//! [`StatesCsv`], [`ContactsCsv`] and [`SensorsCsv`] write `states.csv`, `contacts.csv` and
//! `sensors.csv` frame by frame, so that an interrupted run leaves all rows written so far.
#![allow(non_snake_case)] // frames in monogram notation: X_WB, n_AB_W

mod columns;
mod contacts;
mod csv;
mod data;
mod error;
mod file;
mod folder;
mod query;
mod reader;
mod run_files;
mod swap;
mod trajectory;
mod uniqueness;
mod whole;

pub use columns::{Digits, Packer, compress};
pub use csv::{
    CONTACTS_HEADER, ContactsCsv, SensorsCsv, StatesCsv, write_contacts_csv, write_sensors_csv,
    write_states_csv,
};
pub use data::{
    BodyRole, Contact, ContactKey, Curve, DrawnGeometry, DrawnShape, Finish, Frame, GoalPose,
    Image, Mode, NamedFrame, Paint, RecordedSensor, Recording, SensorKind, ShapeRole,
};
pub use error::RecordError;
pub use file::{RecordingWriter, VERSION};
pub use folder::RunFolder;
pub use query::{continue_quaternions, quaternion_starts};
pub use reader::RecordingReader;
pub use trajectory::Trajectory;
pub use uniqueness::{DeterminedSum, ForceUniqueness, MotionUniqueness, SharedForce, Uniqueness};
pub use whole::write_whole;
