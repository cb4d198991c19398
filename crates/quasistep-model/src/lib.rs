//! Joints, the kinematic tree, Jacobians, inertia and integration on the manifold, for quasistep.
//!
//! A [`Model`] is built once by a [`ModelBuilder`] and never changes. It maps a configuration `q`
//! to a [`Kinematics`]: the pose of every body and one spatial [`Column`] per joint rate, from which
//! Jacobians, gravity and inertia follow.
//!
//! ```text
//! velocity of the material point at p_W of body B = Σ_k ( v_Wo_W[k] + w_W[k] × p_W ) v[dof[k]],  k in path(B)
//! ```
//!
//! | joint                | `n_q` | `n_v` | coordinates `q`                | rates `v`                                 |
//! |----------------------|-------|-------|--------------------------------|-------------------------------------------|
//! | fixed                | 0     | 0     | –                              | –                                         |
//! | revolute, continuous | 1     | 1     | angle, rad                     | rad/s                                     |
//! | prismatic            | 1     | 1     | shift, m                       | m/s                                       |
//! | planar               | 3     | 3     | x, y, theta in F, m and rad    | their derivatives                         |
//! | ball                 | 4     | 3     | quaternion w x y z of `R_FM`   | angular velocity of M in F, in F          |
//! | free                 | 7     | 6     | the same, then `p_FM` in m     | the same, then velocity of M's origin in F |
//!
//! Frames: W the world (body 0), P the parent body, F the joint's frame fixed in the parent
//! (`X_PF` constant), M the joint's moving frame, which is the body frame B. A free body whose
//! parent is the world and whose `X_PF` is the identity has its rates in world axes.
//!
//! Mimic joints follow another joint, `q_B = multiplier q_leader + offset`, and own no coordinate:
//! their column has the leader's dof and is scaled by the multiplier.
//!
//! Shapes, contacts and solvers are outside this crate. Nothing allocates after the first call.
#![allow(non_snake_case)] // monogram notation of frames: X_WB, p_WBcm, v_Wo_W

mod body;
mod build;
mod dynamics;
mod error;
mod frame;
mod inertia;
mod joint;
mod kinematics;
mod manifold;
mod model;
mod motion;
mod rigid_inertia;
mod support;
mod tangent;
mod twist;
mod velocity_force;

pub use body::{Body, BodyDef, JointResistance, Mimic, Support, SupportLoad};
pub use build::ModelBuilder;
pub use error::{ConfigurationError, InertiaError, ModelError};
pub use frame::Frame;
pub use inertia::BodyInertia;
pub use joint::JointKind;
pub use kinematics::{Column, Kinematics};
pub use model::{Model, PositionLimit, WORLD};
pub use motion::BodyMotion;
pub use support::LoadAt;
pub use tangent::left_jacobian_inverse;
pub use twist::{BodyMomentum, SpatialForce, Twist};
pub use velocity_force::{BodyVelocityForce, MotionChange, MotionGradient};
