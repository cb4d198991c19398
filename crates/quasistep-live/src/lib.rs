//! The page of quasistep runs while they go on: commands by sliders, bodies pulled by a spring,
//! parameters by number.
//!
//! - [`Session`]: a run that takes one step at a time and obeys [`Message`]s. It knows no socket and no
//!   clock.
//! - [`Server`]: the page and its socket at a loopback address with a random token.
//! - [`follow`]: takes steps of a session in real time, until its watcher stops it; [`Live`] does so in a
//!   thread of its own.
//!
//! ```no_run
//! use quasistep_live::{Live, Session};
//! use quasistep_scene::Scene;
//!
//! let live = Live::open(Session::new(Scene::load("scenes/pinch.yml")?))?;
//! println!("{}", live.address());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![allow(non_snake_case)] // monogram notation: p_B, X_WB

mod controls;
mod drive;
mod message;
mod pull;
mod request;
mod server;
mod session;

pub use controls::Control;
pub use drive::{Live, Watched, follow};
pub use message::Message;
pub use pull::Pull;
pub use server::Server;
pub use session::Session;
