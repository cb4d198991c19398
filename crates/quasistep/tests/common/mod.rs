//! Small worlds built in code.
#![allow(dead_code)] // each test file uses its part
#![allow(missing_docs)]

use quasistep::{Actuator, Geom, PairFriction, Role, Surface, System, SystemDef};
use quasistep_geometry::Shape;
use quasistep_math::{Mat3, Pose, Vec3};
use quasistep_model::{BodyDef, BodyInertia, JointKind, JointResistance, ModelBuilder, WORLD};

/// Bodies, shapes and roles, added one at a time.
pub struct World {
    builder: ModelBuilder,
    roles: Vec<Role>,
    geoms: Vec<Geom>,
    pub excluded: Vec<(usize, usize)>,
}

impl World {
    pub fn new() -> Self {
        Self {
            builder: ModelBuilder::new(),
            roles: vec![Role::Passive],
            geoms: Vec::new(),
            excluded: Vec::new(),
        }
    }

    /// A body of mass `m` (inertia of a ball of 0.1 m) on a joint at the parent's origin.
    pub fn body(
        &mut self,
        name: &str,
        parent: usize,
        joint: JointKind,
        m: f64,
        role: Role,
    ) -> usize {
        self.limited_body(name, parent, joint, m, role, None)
    }

    pub fn limited_body(
        &mut self,
        name: &str,
        parent: usize,
        joint: JointKind,
        m: f64,
        role: Role,
        limits: Option<[f64; 2]>,
    ) -> usize {
        let i = 0.4 * m * 0.01;
        let inertia = BodyInertia { mass: m, com: Vec3::ZERO, inertia: Mat3::diagonal([i, i, i]) };
        self.body_with(name, parent, joint, inertia, role, limits)
    }

    pub fn body_with(
        &mut self,
        name: &str,
        parent: usize,
        joint: JointKind,
        inertia: BodyInertia,
        role: Role,
        limits: Option<[f64; 2]>,
    ) -> usize {
        self.roles.push(role);
        self.builder
            .add_body(BodyDef {
                name: format!("{name}/body"),
                joint_name: name.into(),
                parent,
                X_PF: Pose::IDENTITY,
                joint,
                inertia,
                limits,
                mimic: None,
                gravity: true,
            })
            .unwrap()
    }

    /// Damping and dry friction of a joint, the same for each of its dofs.
    pub fn resist(&mut self, body: usize, damping: f64, friction: f64, n_v: usize) {
        let (damping, friction) = (vec![damping; n_v], vec![friction; n_v]);
        self.builder.set_resistance(body, JointResistance { damping, friction }).unwrap();
    }

    pub fn shape(&mut self, body: usize, shape: Shape, p: [f64; 3], mu: f64) -> usize {
        self.surface(body, shape, p, Surface::sliding(mu))
    }

    pub fn surface(&mut self, body: usize, shape: Shape, p: [f64; 3], surface: Surface) -> usize {
        self.geoms.push(Geom {
            name: format!("shape{}", self.geoms.len()),
            body,
            X_BG: Pose::from_translation(p.into()),
            shape,
            surface,
        });
        self.geoms.len() - 1
    }

    pub fn floor(&mut self, mu: f64) -> usize {
        self.shape(WORLD, Shape::HalfSpace, [0.0; 3], mu)
    }

    pub fn build(self) -> System {
        self.build_with(|def| def)
    }

    pub fn build_with(self, change: impl FnOnce(SystemDef) -> SystemDef) -> System {
        System::new(change(self.def())).unwrap()
    }

    pub fn def(self) -> SystemDef {
        SystemDef {
            model: self.builder.build().unwrap(),
            geoms: self.geoms,
            instances: (0..self.roles.len() as u32).collect(),
            roles: self.roles,
            friction: PairFriction::Minimum,
            friction_exceptions: Vec::new(),
            excluded: self.excluded,
            springs: Vec::new(),
        }
    }
}

pub fn slide(axis: Vec3) -> JointKind {
    JointKind::Prismatic { axis }
}

pub fn spring(stiffness: f64) -> Role {
    actuator(stiffness, 0.0, f64::INFINITY)
}

pub fn actuator(stiffness: f64, damping: f64, effort_limit: f64) -> Role {
    Role::Actuated(Actuator {
        stiffness: vec![stiffness],
        damping: vec![damping],
        effort_limit: vec![effort_limit],
        ..Actuator::default()
    })
}

pub fn ball(radius: f64) -> Shape {
    Shape::Sphere { radius }
}
