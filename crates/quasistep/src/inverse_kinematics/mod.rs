//! Inverse kinematics: finds a configuration at which a frame is at a pose, within joint limits,
//! clear of obstacles, and near a given posture.
//!
//! ```text
//! find q:   X_WF(q) = X_target,   q_lower ≤ q ≤ q_upper,   phi_i(q) ≥ avoid        near q0
//! ```
//!
//! | file      | content                                                                                 |
//! |-----------|-----------------------------------------------------------------------------------------|
//! | `answer`  | settings, result and errors                                                             |
//! | `task`    | distance of a frame from its target, and its derivative                                 |
//! | `search`  | one attempt: damped least squares as quadratic programs, then the posture               |
//! | `solve`   | attempts from several starts, and the final check                                       |
//! | `path`    | many targets, each reached from the last                                                |

mod answer;
mod path;
mod search;
mod solve;
mod target;
mod task;

pub use answer::{IkAnswer, IkError, IkSettings, NotReached, TooNear};
pub use path::Follower;
pub use target::{FrameTarget, Orientation};
