//! 3-D replay page, plots and stills of quasistep recordings.
//!
//! Draws a [`Recording`](quasistep_record::Recording); the simulator is not needed:
//!
//! - [`write_page`]: one self-contained `view.html` with the scene in 3-D and plots in time, never larger than
//!   [`MOST_BYTES`];
//! - [`live_page`], [`live_frame`]: the same page for a run that goes on;
//! - [`write_plots`]: the plots of a run as SVG, and [`plot`], the writer they are made with;
//! - [`still()`], [`strips`]: one frame, or strips of frames, as a PNG, drawn in software: no GPU, no
//!   browser; [`still_pixels`]: the pixels of one;
//! - [`write_gif`]: a run as a moving picture, drawn in software, too;
//! - [`write_mcap`], [`convert_to_mcap`]: a recording for Foxglove, and [`read_mcap`]: joint states, commands and poses of
//!   such files and of ROS 2.
//!
//! The page's program is built from `viewer/` by this crate's build script if npm is available.
//! Without npm everything else works, and the error of [`write_page`] says what to install.

mod bounds;
mod cdr;
mod drawn;
mod error;
mod first_view;
mod foxglove;
mod live;
mod mcap_reader;
mod page;
pub mod plot;
mod plots;
mod ray;
mod receiver;
mod still;

pub use bounds::{Bounds, bounds};
pub use error::ViewError;
pub use first_view::{FirstView, first_view};
pub use foxglove::{convert_to_mcap, write_mcap};
pub use live::{live_frame, live_page};
pub use mcap_reader::{McapMotion, PoseSeries, Series, read_mcap};
pub use page::{MOST_BYTES, Page, has_page, page, write_page};
pub use plots::write_plots;
pub use still::{Camera, StillOptions, Video, still, still_pixels, strips, write_gif};
