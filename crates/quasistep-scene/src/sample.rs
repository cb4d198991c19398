//! Samples a body's collision shapes as a cloud file, as a scanner would measure them.

use crate::names::body_of;
use crate::scene::Scene;
use quasistep_formats::{SceneError, unknown};
use quasistep_geometry::{Samples, Shape, sample_surface};
use quasistep_math::{Pose, Vec3};
use quasistep_record::write_whole;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

impl Scene {
    /// Index of a body given as `model/link`, or as a model of one body.
    ///
    /// # Errors
    ///
    /// If there is no such body; the error lists valid names.
    pub fn body_by_name(&self, body: &str) -> Result<usize, SceneError> {
        let model = self.system.model();
        body_of(body, model).ok_or_else(|| {
            let names: Vec<&str> = model.bodies().iter().map(|b| b.name.as_str()).collect();
            SceneError::new(&self.name, None, body, unknown("body", body, &names))
        })
    }

    /// Samples `count` points (m) on the outer surface of a body's collision shapes, with outward
    /// normals, in the body's frame. `body` is `model/link`, or a model of one body.
    ///
    /// # Errors
    ///
    /// If there is no such body, or its shapes have no surface to sample.
    pub fn sample_body(&self, body: &str, count: usize) -> Result<Samples, SceneError> {
        let complain = |message: String| SceneError::new(&self.name, None, body, message);
        let index = self.body_by_name(body)?;
        let of_body = self.system.geoms().iter().filter(|g| g.body == index);
        let parts: Vec<(Shape, Pose)> = of_body.map(|g| (g.shape.clone(), g.X_BG)).collect();
        sample_surface(&parts, count).map_err(|e| complain(e.to_string()))
    }
}

/// Writes points and normals as a text PLY file, with a comment in its header.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_ply(path: &Path, samples: &Samples, comment: &str) -> Result<(), SceneError> {
    let n = samples.points.len();
    let mut text = format!("ply\nformat ascii 1.0\ncomment {}\n", comment.replace('\n', " "));
    let _ = writeln!(text, "element vertex {n}");
    for property in ["x", "y", "z", "nx", "ny", "nz"] {
        let _ = writeln!(text, "property double {property}");
    }
    text.push_str("end_header\n");
    // points to 0.1 µm, normals to 1e-6
    let number = |value: f64, digits: usize| {
        let text = format!("{value:.digits$}");
        if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
            "0".into()
        } else {
            text
        }
    };
    for (p, n) in samples.points.iter().zip(&samples.normals) {
        let row = |v: &Vec3, digits| v.to_array().map(|c| number(c, digits)).join(" ");
        let _ = writeln!(text, "{} {}", row(p, 7), row(n, 6));
    }
    write_whole(path, |out| out.write_all(text.as_bytes())).map_err(|e| {
        SceneError::new(&path.display().to_string(), None, "", format!("cannot be written: {e}"))
    })
}
