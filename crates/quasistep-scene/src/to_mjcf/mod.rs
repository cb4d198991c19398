//! Writes a scene as an MJCF file, and lists what MJCF cannot represent.
//!
//! Bodies and joints keep their names; a planar joint becomes `joint.x`, `joint.y` and
//! `joint.theta`. Drive springs become position servos. The keyframe `start` holds the start state
//! and commands.

mod contact;
mod element;
mod equality;
mod writer;

use crate::scene::Scene;
use contact::Contacts;
use element::{Element, placed};
use quasistep::{DampingOn, Role, StepInput};
use quasistep_geometry::Shape;
use quasistep_math::{Pose, Vec3};
use quasistep_model::{Body, BodyInertia, JointKind, Model, WORLD};
use writer::Writer;

/// Largest time step of the file, in s: MuJoCo's default, because its motion is dynamic.
const LONGEST_STEP: f64 = 0.002;
/// Mass (kg) and moment of inertia (kg·m²) given to moving bodies that have none; MuJoCo requires
/// more than 1e-15.
const LEAST_INERTIA: f64 = 1e-8;
/// Stiffness of the servo that replaces a prescribed joint, in N/m and N·m/rad: that of the step
/// fallback `impedance`.
const SERVO: f64 = 1000.0;

/// A scene in another format.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The file's text.
    pub text: String,
    /// What the format cannot represent, and what was done instead, one sentence each.
    pub lost: Vec<String>,
}

impl Scene {
    /// Writes this scene as an MJCF file.
    pub fn to_mjcf(&self) -> Converted {
        let mut writer = Writer::new(self);
        let root = writer.root();
        let mut text = String::new();
        root.write(0, &mut text);
        Converted { text, lost: writer.lost() }
    }
}

impl Writer<'_> {
    fn root(&mut self) -> Element {
        let params = &self.scene.params;
        let cone = match params.formulation.cone {
            quasistep::Cone::Round => "elliptic",
            _ => "pyramidal",
        };
        let option = Element::new("option")
            .with("timestep", self.time_step())
            .numbers("gravity", params.gravity)
            .with("cone", cone);
        let compiler = Element::new("compiler")
            .with("angle", "radian")
            .with("autolimits", "true")
            .with("inertiafromgeom", "false");
        let mut asset = Element::new("asset");
        let mut bodies: Vec<Element> = vec![Element::new("worldbody")];
        let model = self.system.model();
        for index in 1..model.n_bodies() {
            let element = self.body(index);
            bodies.push(element);
        }
        let contacts = Contacts::new(self);
        for index in 0..self.system.geoms().len() {
            if let Some(geom) = self.geom(index, &mut asset) {
                let geom = contacts.on(index, geom);
                bodies[self.system.geoms()[index].body].children.push(geom);
            }
        }
        equality::add_sites(self.system, &mut bodies);
        // last bodies first: children are moved into their parents' elements
        for index in (1..model.n_bodies()).rev() {
            if let Some(element) = bodies.pop() {
                let parent = self.parent(index);
                // after the parent's own joints and shapes, in scene order
                let siblings = &mut bodies[parent].children;
                let at = siblings.iter().position(Element::is_body).unwrap_or(siblings.len());
                siblings.insert(at, element);
            }
        }
        let mut root = Element::new("mujoco").with("model", &self.scene.name);
        root.children = vec![compiler, option, asset];
        root.children.append(&mut bodies);
        root.children.push(contacts.section());
        root.children.extend(equality::sections(self.system));
        root.children.push(self.actuators());
        root.children.push(self.keyframe());
        root.children.retain(Element::is_whole);
        for (count, what) in [
            (self.system.springs().len(), "springs of frames: not written"),
            (self.scene.n_wrenches(), "external wrenches: not written"),
            (self.scene.sensors.len(), "sensors: not written"),
        ] {
            if count > 0 {
                self.lose(what, &count.to_string());
            }
        }
        root
    }

    /// Index of the parent body in the file; free bodies are children of the world.
    fn parent(&self, index: usize) -> usize {
        let body = self.system.model().body(index);
        if body.joint == JointKind::Free { WORLD } else { body.parent }
    }

    fn body(&mut self, index: usize) -> Element {
        let model = self.system.model();
        let body = model.body(index);
        let pose = if body.joint == JointKind::Free { self.start_pose(index) } else { body.X_PF };
        let mut element = placed(Element::new("body").with("name", &body.name), &pose);
        if body.gravity != 1.0 {
            element.set("gravcomp", 1.0 - body.gravity);
        }
        element
            .children
            .extend(inertial(&body.inertia, self.moves(index).then(|| self.middle(index))));
        if body.inertia.mass == 0.0 && self.moves(index) {
            self.lose(
                "moves without a mass, which MuJoCo refuses: given 1e-8 kg and kg·m², and its drives an armature",
                &body.name,
            );
        }
        if body.surface {
            self.lose("moves its surface: MuJoCo moves the body", &body.joint_name);
        }
        let damping = self.damping(index);
        let massless = body.inertia.mass == 0.0;
        let sliding = self.support(index);
        for (k, (name, kind, axis)) in joints(body).into_iter().enumerate() {
            let mut joint = Element::new("joint").with("name", name).with("type", kind);
            if let Some(axis) = axis {
                joint = joint.numbers("axis", axis);
            }
            if let Some([lower, upper]) = body.limits.filter(|l| l.iter().all(|x| x.is_finite())) {
                joint = joint.numbers("range", [lower, upper]);
            } else if body.limits.is_some_and(|l| l.iter().any(|x| x.is_finite())) {
                self.lose("a limit at one end alone: not written", &body.joint_name);
            }
            let of_dof = |values: &[f64]| values.get(k).copied().unwrap_or(0.0);
            let own = of_dof(&body.resistance.armature);
            let armature = if massless { own.max(self.least_armature(index, k)) } else { own };
            for (name, value) in [
                ("damping", of_dof(&damping)),
                ("frictionloss", of_dof(&body.resistance.friction) + sliding[k]),
                ("armature", armature),
            ] {
                if value > 0.0 {
                    joint.set(name, value);
                }
            }
            element.children.push(joint);
        }
        if body.joint == JointKind::Free {
            element.children.push(Element::new("freejoint").with("name", &body.joint_name));
        }
        element
    }

    /// Dry friction of the dofs of a slide or planar joint on its support at the start, in N and N·m.
    fn support(&mut self, index: usize) -> [f64; 3] {
        let model = self.system.model();
        let body = model.body(index);
        let Some(support) = body.resistance.support else { return [0.0; 3] };
        if body.joint == JointKind::Planar {
            self.lose(
                "the support of a planar joint rubs along x, y and about z each by itself in MuJoCo",
                &body.joint_name,
            );
        }
        let mut kin = model.create_kinematics();
        model.kinematics(&self.scene.start.q, &mut kin);
        let gravity = self.scene.params.gravity.into();
        let most = support.friction * model.support_load(&kin, index, gravity).load;
        [most, most, most * support.spin_radius]
    }

    /// Damping of each dof of a body's joint, in N·s/m or N·m·s/rad: its resistance, plus the
    /// damping of its drive.
    fn damping(&self, index: usize) -> Vec<f64> {
        let body = self.system.model().body(index);
        let mut damping = body.resistance.damping.clone();
        damping.resize(body.joint.n_v(), 0.0);
        if let Role::Actuated(actuator) = &self.system.roles()[index] {
            for (sum, own) in damping.iter_mut().zip(&actuator.damping) {
                *sum += own;
            }
        }
        damping
    }

    /// Least inertia of a driven dof without mass, in kg or kg·m². MuJoCo integrates a servo's
    /// spring explicitly, which is stable while `h² kp` is less than four times the inertia.
    fn least_armature(&self, index: usize, dof: usize) -> f64 {
        let h = self.time_step();
        match &self.system.roles()[index] {
            Role::Actuated(actuator) => h * h * actuator.stiffness[dof],
            Role::Prescribed => h * h * SERVO,
            Role::Passive => 0.0,
        }
    }

    fn time_step(&self) -> f64 {
        self.scene.params.time_step.min(LONGEST_STEP)
    }

    /// Middle of the box around a body's shapes, in m, in its frame.
    ///
    /// MuJoCo takes the softness of a contact from how easily the bodies' centres of mass move. A
    /// massless link with its centre on the axis of its joint gets rigid contacts, which throw it
    /// away.
    fn middle(&self, index: usize) -> [f64; 3] {
        let own = self.system.geoms().iter().filter(|geom| geom.body == index);
        let boxes = own.map(|geom| geom.shape.aabb(&geom.X_BG));
        let around = boxes.filter(|b| b.min.is_finite()).reduce(|a, b| a.joined(&b));
        around.map_or([0.0; 3], |b| ((b.min + b.max) * 0.5).to_array())
    }

    fn start_pose(&self, index: usize) -> Pose {
        let model = self.system.model();
        let mut kin = model.create_kinematics();
        model.kinematics(&self.scene.start.q, &mut kin);
        kin.X_WB[index]
    }

    fn geom(&mut self, index: usize, asset: &mut Element) -> Option<Element> {
        let geom = &self.system.geoms()[index];
        let (kind, size): (&str, Vec<f64>) = match &geom.shape {
            Shape::Sphere { radius } => ("sphere", vec![*radius]),
            Shape::Box { half } => ("box", half.to_vec()),
            Shape::Capsule { radius, half_length } => ("capsule", vec![*radius, *half_length]),
            Shape::Cylinder { radius, half_length } => ("cylinder", vec![*radius, *half_length]),
            Shape::Ellipsoid { radii } => ("ellipsoid", radii.to_vec()),
            // an infinite plane, drawn 5 m to each side
            Shape::HalfSpace => ("plane", vec![5.0, 5.0, 0.1]),
            Shape::Polytope(hull) => {
                let name = format!("{}_hull", geom.name);
                let vertices = hull.vertices().iter().flat_map(|v| v.to_array());
                let mesh = Element::new("mesh")
                    .with("name", &name)
                    .numbers("vertex", vertices)
                    .with("inertia", "convex");
                asset.children.push(mesh);
                let own = Element::new("geom").with("type", "mesh").with("mesh", name);
                return Some(placed(own.with("name", &geom.name), &geom.X_BG));
            }
            Shape::HeightField(field) => {
                let name = format!("{}_heights", geom.name);
                let [nx, ny] = field.n();
                let rows = field.heights().chunks_exact(nx).rev().flatten().copied();
                let least = rows.clone().fold(f64::INFINITY, f64::min);
                let most = rows.clone().fold(least, f64::max);
                let [x, y] = field.size().map(|s| 0.5 * s);
                // a flat field has any height
                let height = if most > least { most - least } else { 1.0 };
                asset.children.push(
                    Element::new("hfield")
                        .with("name", &name)
                        .with("nrow", ny.to_string())
                        .with("ncol", nx.to_string())
                        .numbers("elevation", rows)
                        .numbers("size", [x, y, height, field.base()]),
                );
                let own = Element::new("geom").with("type", "hfield").with("hfield", name);
                let X_BG = geom.X_BG * Pose::from_translation(Vec3::Z * least);
                return Some(placed(own.with("name", &geom.name), &X_BG));
            }
            Shape::Sheet(_) => {
                self.lose(
                    "a surface without thickness, which MuJoCo does not have: not written",
                    &geom.name,
                );
                return None;
            }
            _ => {
                self.lose("a point cloud: not written", &geom.name);
                return None;
            }
        };
        let own = Element::new("geom").with("name", &geom.name).with("type", kind);
        Some(placed(own.numbers("size", size), &geom.X_BG))
    }

    fn actuators(&mut self) -> Element {
        let mut actuators = Element::new("actuator");
        for &index in self.system.commanded() {
            let body = self.system.model().body(index);
            let dofs = joints(body);
            if dofs.len() < body.joint.n_v() {
                self.lose("a drive of a free or ball joint: not written", &body.joint_name);
                continue;
            }
            let role = &self.system.roles()[index];
            if *role == Role::Prescribed {
                self.lose(
                    "a prescribed joint: a servo of 1000 N/m or N·m/rad stands for it",
                    &body.joint_name,
                );
            }
            for (k, (name, ..)) in dofs.into_iter().enumerate() {
                let mut position =
                    Element::new("position").with("name", &name).with("joint", &name);
                if let Role::Actuated(actuator) = role {
                    position.set("kp", actuator.stiffness[k]);
                    let effort = actuator.effort_limit[k];
                    if effort.is_finite() {
                        position = position.numbers("forcerange", [-effort, effort]);
                    }
                    if actuator.damping_on == DampingOn::CommandError {
                        self.lose(
                            "damping of the error to the command's rate: it resists the joint's velocity",
                            &name,
                        );
                    }
                } else {
                    position.set("kp", SERVO);
                }
                actuators.children.push(position);
            }
        }
        let motors = self.motors();
        for (name, _) in &motors {
            let motor = Element::new("motor").with("name", format!("{name}.torque"));
            actuators.children.push(motor.with("joint", name));
        }
        let names = self.system.model().coordinate_names();
        let told = self.scene.torques().iter().map(|torque| &names[torque.coordinate]);
        for name in told.filter(|name| !motors.iter().any(|(own, _)| own == *name)) {
            self.lose("a torque on a free joint: not written", name);
        }
        let pads = self.pads();
        actuators.children.extend(pads);
        actuators
    }

    /// Actuators of pads, in the order of their commands.
    fn pads(&mut self) -> Vec<Element> {
        let mut all = Vec::new();
        for pad in self.system.pads() {
            let geoms = self.system.geoms();
            let body = pad.geoms.first().map_or(WORLD, |geom| geoms[*geom].body);
            let whole = geoms.iter().filter(|geom| geom.body == body).count() == pad.geoms.len();
            if pad.seals || !whole {
                self.lose(
                    "a pad that seals, or is a part of its body: all contacts of the body pull",
                    &pad.name,
                );
            }
            let name = &self.system.model().body(body).name;
            let own = Element::new("adhesion").with("name", &pad.name).with("body", name);
            all.push(own.numbers("ctrlrange", [0.0, 1.0]).with("gain", pad.pull));
        }
        all
    }

    /// Joints with a torque command, by name in the file, and the torque at the start.
    fn motors(&self) -> Vec<(String, f64)> {
        let names = self.system.model().coordinate_names();
        let all = self.scene.torques().iter();
        let all = all.map(|told| (names[told.coordinate].clone(), told.curve.at(0.0).0));
        let joints: Vec<_> = self.system.model().bodies().iter().flat_map(joints).collect();
        all.filter(|(name, _)| joints.iter().any(|(joint, ..)| joint == name)).collect()
    }

    /// The keyframe with the start state and commands.
    fn keyframe(&self) -> Element {
        let (model, q) = (self.system.model(), &self.scene.start.q);
        let mut kin = model.create_kinematics();
        model.kinematics(q, &mut kin);
        // MuJoCo's joint order: depth first, each body before its children
        let order = walk(self.system.model(), &|index| self.parent(index));
        let mut qpos = Vec::new();
        for index in order {
            let body = model.body(index);
            match body.joint {
                JointKind::Free => {
                    let X = &kin.X_WB[index];
                    qpos.extend(X.translation.to_array().into_iter().chain(X.rotation.to_array()));
                }
                _ => match &body.mimic {
                    Some(m) => {
                        let leader = q[model.body(m.body).q.start];
                        qpos.push(m.multiplier * leader + m.offset);
                    }
                    None => qpos.extend_from_slice(&q[body.q.clone()]),
                },
            }
        }
        let mut input = StepInput::default();
        self.scene.sample(0.0, &mut input);
        let (mut ctrl, mut at) = (Vec::new(), 0);
        for &index in self.system.commanded() {
            let body = self.system.model().body(index);
            if joints(body).len() == body.joint.n_v() {
                ctrl.extend_from_slice(&input.q_cmd[at..at + body.q.len()]);
            }
            at += body.q.len();
        }
        ctrl.extend(self.motors().into_iter().map(|(_, torque)| torque));
        ctrl.extend_from_slice(&input.q_cmd[input.q_cmd.len() - self.system.pads().len()..]);
        let mut key = Element::new("key").with("name", "start").numbers("qpos", qpos);
        if !ctrl.is_empty() {
            key = key.numbers("ctrl", ctrl);
        }
        let mut keyframe = Element::new("keyframe");
        keyframe.children.push(key);
        keyframe
    }
}

/// Indices of all bodies except the world, depth first, parents before children.
fn walk(model: &Model, parent: &dyn Fn(usize) -> usize) -> Vec<usize> {
    let n = model.n_bodies();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
    for index in (1..n).rev() {
        children[parent(index)].push(index);
    }
    let mut open = children[WORLD].clone();
    let mut order = Vec::with_capacity(n);
    while let Some(index) = open.pop() {
        order.push(index);
        open.extend_from_slice(&children[index]);
    }
    order
}

/// Joints of the file for a body's joint: name, type and axis of each. One per dof, except for a
/// ball; none for a fixed or free joint.
fn joints(body: &Body) -> Vec<(String, &'static str, Option<[f64; 3]>)> {
    let name = body.joint_name.clone();
    match body.joint {
        JointKind::Fixed | JointKind::Free => Vec::new(),
        JointKind::Revolute { axis } | JointKind::Continuous { axis } => {
            vec![(name, "hinge", Some(axis.to_array()))]
        }
        JointKind::Prismatic { axis } => vec![(name, "slide", Some(axis.to_array()))],
        JointKind::Ball => vec![(name, "ball", None)],
        JointKind::Planar => {
            let dofs = [
                ("slide", [1.0, 0.0, 0.0]),
                ("slide", [0.0, 1.0, 0.0]),
                ("hinge", [0.0, 0.0, 1.0]),
            ];
            let names = body.joint.dof_suffixes();
            let own = |((kind, axis), suffix)| (format!("{name}{suffix}"), kind, Some(axis));
            dofs.into_iter().zip(names).map(own).collect()
        }
    }
}

/// The inertia of a body. One without a mass gets the least at `middle` if it moves.
fn inertial(inertia: &BodyInertia, middle: Option<[f64; 3]>) -> Option<Element> {
    let own = Element::new("inertial");
    if inertia.mass == 0.0 {
        let least = own.numbers("pos", middle?).with("mass", LEAST_INERTIA);
        return Some(least.numbers("diaginertia", [LEAST_INERTIA; 3]));
    }
    let I = &inertia.inertia;
    let moments = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].map(|(r, c)| I.rows[r][c]);
    let own = own.numbers("pos", inertia.com.to_array()).with("mass", inertia.mass);
    Some(own.numbers("fullinertia", moments))
}
