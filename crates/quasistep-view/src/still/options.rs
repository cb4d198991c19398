//! Camera and options of a still.

use crate::bounds::{Bounds, bounds};
use crate::first_view::first_view;
use quasistep_math::Vec3;
use quasistep_record::Recording;

/// Camera of a still; world frame, m, rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Position of the eye, in m.
    pub eye: Vec3,
    /// The point shown in the middle of the picture, in m.
    pub target: Vec3,
    /// Up direction of the picture; made orthogonal to the line of sight.
    pub up: Vec3,
    /// Full vertical angle of view, in rad, > 0 and < π.
    pub fov_y: f64,
}

impl Camera {
    /// A camera that looks along `direction` at the moving bodies of a recording, from the distance
    /// at which all are visible. `aspect` is width over height. z is up, or y if looking along z.
    pub fn fit(recording: &Recording, direction: Vec3, aspect: f64) -> Self {
        Self::around(&bounds(recording), direction, aspect)
    }

    fn around(bounds: &Bounds, direction: Vec3, aspect: f64) -> Self {
        let forward = direction.try_normalize().unwrap_or(Vec3::new(-0.5, 0.7, -0.45));
        let up = if forward.x.hypot(forward.y) < 1e-6 { Vec3::Y } else { Vec3::Z };
        let fov_y = 0.6_f64;
        let right = forward.cross(up).try_normalize().unwrap_or(Vec3::X);
        // leave 5 % of the picture free at each side
        let tangent = 0.9 * (0.5 * fov_y).tan();
        let axes = [right, right.cross(forward), forward];
        let distance = bounds.distance(axes, [tangent * aspect.max(1e-3), tangent]);
        Self { eye: bounds.center - forward * distance, target: bounds.center, up, fov_y }
    }

    /// The page's first view: what acts, from where one sees it best.
    pub fn first(recording: &Recording, aspect: f64) -> Self {
        let view = first_view(recording);
        Self::around(&view.bounds, -view.direction, aspect)
    }

    /// A camera from the front, right and above, as the page's initial view.
    pub fn isometric(recording: &Recording, aspect: f64) -> Self {
        Self::fit(recording, Vec3::new(-0.55, 0.75, -0.42), aspect)
    }
}

/// Options of a still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StillOptions {
    /// Draw contact points and force arrows.
    pub contacts: bool,
    /// Length of force arrows, in m/N; with `None` the largest force of the run is a quarter of the
    /// scene's radius long.
    pub force_scale: Option<f64>,
    /// Draw collision shapes instead of visual shapes.
    pub collision: bool,
}

impl Default for StillOptions {
    fn default() -> Self {
        Self { contacts: true, force_scale: None, collision: false }
    }
}
