//! Outline of a scene: its models, link by link.

use crate::document::{pose_in_words, short};
use crate::scene::Scene;
use quasistep::{Geom, Role};
use quasistep_geometry::Shape;
use quasistep_model::{JointKind, WORLD};
use std::fmt::Write as _;

impl Scene {
    /// The tree of bodies: one line each, with joint, limits, drive, mass, collision shapes and the
    /// pose in the world at the start.
    pub fn outline(&self) -> String {
        let model = self.system.model();
        let mut children = vec![Vec::new(); model.n_bodies()];
        for body in 1..model.n_bodies() {
            children[model.body(body).parent].push(body);
        }
        let mut shapes: Vec<Vec<&Geom>> = vec![Vec::new(); model.n_bodies()];
        for geom in self.system.geoms() {
            shapes[geom.body].push(geom);
        }
        let mut kin = model.create_kinematics();
        model.kinematics(&self.start.q, &mut kin);
        let mut text = String::new();
        // depth first, children in file order
        let mut stack: Vec<(usize, usize)> =
            children[WORLD].iter().rev().map(|&b| (b, 1)).collect();
        while let Some((body, depth)) = stack.pop() {
            let (line, at) = (self.line(body, &shapes[body]), pose_in_words(&kin.X_WB[body]));
            let indent = 2 * depth.min(DEEPEST);
            // writing to a String cannot fail
            let _ = writeln!(text, "{:indent$}{line}, at {at}", "");
            stack.extend(children[body].iter().rev().map(|&child| (child, depth + 1)));
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn line(&self, index: usize, shapes: &[&Geom]) -> String {
        let model = self.system.model();
        let body = model.body(index);
        let mut says = vec![format!("{} joint", body.joint.word())];
        let is_hinge =
            matches!(body.joint, JointKind::Revolute { .. } | JointKind::Continuous { .. });
        let (angle, torque) = if is_hinge { ("rad", "N·m") } else { ("m", "N") };
        if let Some([lower, upper]) = body.limits {
            says.push(format!("from {lower} to {upper} {angle}"));
        }
        if let Some(mimic) = &body.mimic {
            says.push(format!("follows {}", model.body(mimic.body).joint_name));
        }
        match &self.system.roles()[index] {
            Role::Passive => {}
            Role::Prescribed => says.push("prescribed".to_owned()),
            Role::Actuated(drive) => {
                let all = |values: &[f64]| match values {
                    [first, rest @ ..] if rest.iter().all(|v| v == first) => first.to_string(),
                    _ => format!("{values:?}"),
                };
                says.push(format!("spring {} {torque}/{angle}", all(&drive.stiffness)));
                if drive.effort_limit.iter().any(|e| e.is_finite()) {
                    says.push(format!("at most {} {torque}", all(&drive.effort_limit)));
                }
            }
        }
        if body.inertia.mass > 0.0 {
            says.push(format!("{} kg", short(body.inertia.mass)));
        }
        says.extend(shapes.iter().take(MOST_SHAPES).map(|geom| shape(&geom.shape)));
        if shapes.len() > MOST_SHAPES {
            says.push(format!("and {} more shapes", shapes.len() - MOST_SHAPES));
        }
        format!("{}: {}", body.name, says.join(", "))
    }
}

/// Deepest indentation.
const DEEPEST: usize = 20;
/// Most shapes of a body that are listed.
const MOST_SHAPES: usize = 4;

fn shape(shape: &Shape) -> String {
    match shape {
        Shape::Sphere { radius } => format!("sphere of radius {} m", short(*radius)),
        Shape::Box { half } => {
            let [x, y, z] = half.map(|h| short(2.0 * h));
            format!("box {x} × {y} × {z} m")
        }
        Shape::Capsule { radius, half_length } => {
            format!("capsule of radius {} m, length {} m", short(*radius), short(2.0 * half_length))
        }
        Shape::Cylinder { radius, half_length } => {
            format!(
                "cylinder of radius {} m, length {} m",
                short(*radius),
                short(2.0 * half_length)
            )
        }
        Shape::Ellipsoid { radii } => {
            let [x, y, z] = radii.map(short);
            format!("ellipsoid of radii {x}, {y} and {z} m")
        }
        Shape::HalfSpace => "half-space".to_owned(),
        Shape::Polytope(hull) => format!("hull of {} points", hull.vertices().len()),
        Shape::HeightField(field) => {
            let ([nx, ny], [x, y]) = (field.n(), field.size().map(short));
            format!("height field of {ny} × {nx} heights, {x} × {y} m")
        }
        Shape::Sheet(sheet) => format!("sheet of {} triangles", sheet.triangles().len()),
        Shape::Cloud(cloud) => format!("cloud of {} points", cloud.points().len()),
        _ => "shape".to_owned(),
    }
}
