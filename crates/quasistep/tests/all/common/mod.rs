//! Builder of small systems for tests.

use quasistep::{Actuator, Geom, PairFriction, Role, Surface, System, SystemDef};
use quasistep_geometry::Shape;
use quasistep_math::{Mat3, Pose, Vec3};
use quasistep_model::{
    BodyDef, BodyInertia, JointKind, JointResistance, Mimic, Model, ModelBuilder, Support,
    SupportLoad, WORLD,
};

/// A system under construction: bodies, shapes and roles are added one at a time.
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

    /// Adds a body of mass `m` (inertia of a ball of radius 0.1 m) with a joint at the parent's
    /// origin.
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
        let def = define(name, parent, joint, inertia);
        self.add(BodyDef { limits, ..def }, role)
    }

    /// Adds a body with a joint at `X_PF` in its parent.
    pub fn placed_body(
        &mut self,
        name: &str,
        parent: usize,
        X_PF: Pose,
        joint: JointKind,
        inertia: BodyInertia,
        role: Role,
    ) -> usize {
        let def = define(name, parent, joint, inertia);
        self.add(BodyDef { X_PF, ..def }, role)
    }

    fn add(&mut self, def: BodyDef, role: Role) -> usize {
        self.roles.push(role);
        self.builder.add_body(def).unwrap()
    }

    /// Sets damping and dry friction of a joint, equal for each of its dofs.
    pub fn resist(&mut self, body: usize, damping: f64, friction: f64, n_v: usize) {
        let (damping, friction) = (vec![damping; n_v], vec![friction; n_v]);
        let resistance = JointResistance { damping, friction, ..JointResistance::default() };
        self.builder.set_resistance(body, resistance).unwrap();
    }

    /// Sets the support surface of a planar joint or a slide.
    pub fn support(&mut self, body: usize, friction: f64, load: SupportLoad, spin_radius: f64) {
        let support = Some(Support { friction, load, spin_radius });
        let resistance = JointResistance { support, ..JointResistance::default() };
        self.builder.set_resistance(body, resistance).unwrap();
    }

    /// Sets the armature of a joint with one dof.
    pub fn rotor(&mut self, body: usize, armature: f64) {
        let resistance = JointResistance { armature: vec![armature], ..JointResistance::default() };
        self.builder.set_resistance(body, resistance).unwrap();
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

    /// Adds a box on three feet, whose loads are statically determined. Its origin is `half` above
    /// the floor.
    pub fn stool(&mut self, body: usize, half: f64, mu: f64) {
        let foot = 0.2 * half;
        for (x, y) in [(half, 0.0), (-half, half), (-half, -half)] {
            self.shape(body, ball(foot), [x, y, foot - half], mu);
        }
        let upper = Shape::Box { half: [half, half, 0.6 * half] };
        self.shape(body, upper, [0.0, 0.0, 0.4 * half], mu);
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
            constraints: Vec::new(),
            pads: Vec::new(),
        }
    }
}

/// A body without limits, with its joint at the parent's origin.
fn define(name: &str, parent: usize, joint: JointKind, inertia: BodyInertia) -> BodyDef {
    BodyDef {
        name: format!("{name}/body"),
        joint_name: name.into(),
        parent,
        X_PF: Pose::IDENTITY,
        joint,
        inertia,
        limits: None,
        mimic: None,
        gravity: 1.0,
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

/// Adds a joint that follows another one, `q = multiplier · q_leader + offset`.
pub fn mimic_of(
    model: &Model,
    follower: usize,
    leader: usize,
    multiplier: f64,
    offset: f64,
) -> Model {
    let mut builder = ModelBuilder::new();
    for (index, body) in model.bodies().iter().enumerate().skip(1) {
        let mimic = (index == follower).then_some(Mimic { body: leader, multiplier, offset });
        builder
            .add_body(BodyDef {
                name: body.name.clone(),
                joint_name: body.joint_name.clone(),
                parent: body.parent,
                X_PF: body.X_PF,
                joint: body.joint,
                inertia: body.inertia,
                limits: body.limits,
                mimic,
                gravity: body.gravity,
            })
            .unwrap();
        builder.set_resistance(index, body.resistance.clone()).unwrap();
    }
    builder.build().unwrap()
}
