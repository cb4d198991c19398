//! Seeded random trees with every kind of joint.

use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{BodyDef, BodyInertia, JointKind, Mimic, Model, ModelBuilder, WORLD};

/// A small linear congruential generator, deterministic on every machine.
pub struct Samples(pub u64);

impl Samples {
    /// Uniform in [-1, 1).
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
    pub fn vec3(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
    pub fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
    /// Uniform in 0..n.
    pub fn index(&mut self, n: usize) -> usize {
        ((0.5 * (self.next() + 1.0) * n as f64) as usize).min(n - 1)
    }
    pub fn pose(&mut self) -> Pose {
        Pose::new(Quat::from_rotation_vector(self.vec3() * 3.0), self.vec3())
    }
    /// Inertia of a homogeneous box of random size and orientation, so that it is valid.
    pub fn inertia(&mut self) -> BodyInertia {
        let mass = 1.5 + self.next();
        let [a, b, c] = self.vec3().to_array().map(|x| (0.3 + 0.2 * x).powi(2));
        let moments = Mat3::diagonal([b + c, a + c, a + b].map(|x| mass * x / 12.0));
        let R = Quat::from_rotation_vector(self.vec3()).to_matrix();
        let turned = R * moments * R.transpose();
        let inertia = (turned + turned.transpose()) * 0.5;
        BodyInertia { mass, com: self.vec3() * 0.3, inertia }
    }
}

pub fn def(name: &str, parent: usize, joint: JointKind) -> BodyDef {
    BodyDef {
        name: format!("test/{name}"),
        joint_name: format!("test.{name}"),
        parent,
        X_PF: Pose::IDENTITY,
        joint,
        inertia: BodyInertia::default(),
        limits: None,
        mimic: None,
        gravity: 1.0,
    }
}

/// The seven kinds of joints, with random axes.
pub fn kinds(s: &mut Samples) -> [JointKind; 7] {
    [
        JointKind::Free,
        JointKind::Revolute { axis: s.vec3() },
        JointKind::Ball,
        JointKind::Prismatic { axis: s.vec3() },
        JointKind::Planar,
        JointKind::Fixed,
        JointKind::Continuous { axis: s.vec3() },
    ]
}

/// A branching tree in which every kind of joint occurs on the world and on moving parents. Mimic
/// joints occur on the leader's path, in a chain, before their leader, and on another branch.
pub fn everything(seed: u64) -> Model {
    let s = &mut Samples(seed);
    let mut builder = ModelBuilder::new();
    let mut add = |s: &mut Samples, parent: usize, joint: JointKind, mimic: Option<Mimic>| {
        let index = builder.n_bodies();
        let inertia = s.inertia();
        // one body in five without gravity
        let gravity = [1.0, 0.4, 1.0, 0.0, -0.5][index % 5];
        let name = format!("b{index}");
        let X_PF = s.pose();
        let body = BodyDef { X_PF, inertia, mimic, gravity, ..def(&name, parent, joint) };
        builder.add_body(body).unwrap()
    };
    for joint in kinds(s) {
        add(s, WORLD, joint, None);
    }
    // each kind of joint on a random parent, three times
    let mut n = 8;
    for _ in 0..3 {
        for joint in kinds(s) {
            let parent = 1 + s.index(n - 1);
            add(s, parent, joint, None);
            n += 1;
        }
    }
    let axes: [Vec3; 6] = std::array::from_fn(|_| s.vec3());
    let hinge = |k: usize| JointKind::Revolute { axis: axes[k] };
    let slide = |k: usize| JointKind::Prismatic { axis: axes[k] };
    let follow = |body, multiplier, offset| Some(Mimic { body, multiplier, offset });
    let leader = add(s, n - 1, hinge(0), None);
    // mimic joints on the leader's own path: a hinge and a slide
    let a = add(s, leader, hinge(1), follow(leader, -0.7, 0.3));
    let b = add(s, a, slide(2), follow(a, 1.3, -0.1));
    // a chain whose leader has a larger index
    add(s, b, JointKind::Continuous { axis: axes[3] }, follow(b + 3, 0.4, 0.0));
    // a mimic joint on another branch
    add(s, WORLD, slide(4), follow(leader, 2.0, 0.5));
    let last = add(s, 3, hinge(5), None);
    assert_eq!(last, b + 3);
    builder.build().unwrap()
}

/// A random configuration with unit quaternions.
pub fn random_q(model: &Model, s: &mut Samples) -> Vec<f64> {
    let mut q = vec![0.0; model.n_q()];
    let v = s.vector(model.n_v());
    model.integrate(&model.neutral_q(), &v, 2.0, &mut q);
    q
}
