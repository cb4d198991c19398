//! Inverse kinematics: joints that bring a frame to a pose, within their limits, clear of obstacles, near a posture.
//!
//! ```text
//! find q:   X_WF(q) = X_target,   q_lower ≤ q ≤ q_upper,   phi_i(q) ≥ avoid        near q0
//! ```
//!
//! | file      | holds                                                                                   |
//! |-----------|-----------------------------------------------------------------------------------------|
//! | this one  | what is asked and answered, attempts from several seeds, the final check                 |
//! | `task`    | distance of a frame to its target, and its derivative                                    |
//! | `search`  | one attempt: damped least squares as quadratic programs, then the posture               |
//! | `path`    | many targets, each from the last                                                         |

mod answer;
mod path;
mod search;
mod solve;
mod target;
mod task;

pub use answer::{IkAnswer, IkError, IkSettings, NotReached, TooNear};
pub use path::Follower;
pub use target::{FrameTarget, Orientation};
