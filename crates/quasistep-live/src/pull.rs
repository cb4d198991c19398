//! A spring from a point of a body to a point of the world, as a hand pulls at a body.

use quasistep::{CartesianSpring, SpringAxes, StepInput, StepReport, System};
use quasistep_math::{Pose, Vec3};
use quasistep_model::Frame;
use quasistep_scene::Scene;
use std::sync::Arc;

/// Stretch at which a pull carries the weight of what it pulls, as a share of the body's size.
const STRETCH: f64 = 0.25;
/// Share of critical damping.
const DAMPING: f64 = 0.5;
/// Least lever of the weight about the point, as a share of the body's size.
const LEAST_LEVER: f64 = 0.1;
/// Free fall by which masses are weighed where there is none, in m/s².
const USUAL_GRAVITY: f64 = 9.81;
/// Weight of what has no mass, in N, where nothing in the scene has one.
const USUAL_WEIGHT: f64 = 1.0;

/// A spring at a body. The system with it is a copy, whose springs a step solves with its contacts: the pull
/// is stable in steps of any size.
#[derive(Clone, Debug)]
pub struct Pull {
    /// Index of the body.
    pub body: usize,
    /// Point in the body's frame, in m.
    pub p_B: Vec3,
    /// Point in W to which it pulls, in m.
    pub to_W: Vec3,
    /// Stiffness, in N/m.
    pub stiffness: f64,
    /// Force of the last step on the body, in N.
    pub force_W: Vec3,
    pub(crate) system: Arc<System>,
}

impl Pull {
    /// A pull at a point of a body.
    ///
    /// # Errors
    ///
    /// If the body cannot be moved.
    pub(crate) fn new(scene: &Scene, body: usize, p_B: Vec3, to_W: Vec3) -> Result<Self, String> {
        let system = &scene.system;
        let model = system.model();
        if body == 0 || body >= model.n_bodies() {
            let n = model.n_bodies();
            return Err(format!("body {body} was pulled; give one from 1 to {}", n - 1));
        }
        let name = &model.body(body).name;
        let mass = mass_of(system, body);
        let gravity = Vec3::from(scene.params.gravity).norm();
        let weight = mass * if gravity > 0.0 { gravity } else { USUAL_GRAVITY };
        let size = size_of(system, body);
        let weight = if weight > 0.0 { weight } else { USUAL_WEIGHT };
        let stiffness = weight / (STRETCH * size);
        let damping = 2.0 * DAMPING * (stiffness * weight / USUAL_GRAVITY).sqrt();
        // what hangs swings to its place as fast as the spring gets to its length; steps know the torque of the
        // weight at their start alone, and without this damper would swing it to and fro
        let lever = (model.body(body).inertia.com - p_B).norm().max(LEAST_LEVER * size);
        let time = (damping / stiffness).max(scene.params.time_step);
        let turning = weight * lever * time;
        let diagonal = |d: [f64; 6]| {
            std::array::from_fn(|i| std::array::from_fn(|j| if i == j { d[i] } else { 0.0 }))
        };
        let k = stiffness;
        let spring = CartesianSpring {
            name: format!("{name}/pull"),
            frame: Frame { body, X_BF: Pose::from_translation(p_B) },
            stiffness: diagonal([k, k, k, 0.0, 0.0, 0.0]),
            damping: diagonal([damping, damping, damping, turning, turning, turning]),
            axes: SpringAxes::World,
        };
        let system = system
            .with_spring(spring)
            .map_err(|_| format!("`{name}` cannot be pulled: it is fixed to the world"))?;
        Ok(Self { body, p_B, to_W, stiffness, force_W: Vec3::ZERO, system: Arc::new(system) })
    }

    /// First entries of the spring in `q_cmd` and in `v_cmd`: behind those of joints and other springs,
    /// before those of pads and switches.
    fn places(&self) -> [usize; 2] {
        let behind = self.system.pads().len() + self.system.switched().len();
        [self.system.n_cmd() - behind - 7, self.system.n_cmd_v() - behind - 6]
    }

    /// Adds the spring's command to the input of a step.
    pub(crate) fn add_to(&self, input: &mut StepInput) {
        let [at_q, at_v] = self.places();
        let to = self.to_W;
        input.q_cmd.splice(at_q..at_q, [1.0, 0.0, 0.0, 0.0, to.x, to.y, to.z]);
        if !input.v_cmd.is_empty() {
            input.v_cmd.splice(at_v..at_v, [0.0; 6]);
        }
    }

    /// Takes the spring out of the input and the report of a step, and keeps its force.
    pub(crate) fn take_from(&mut self, input: &mut StepInput, report: &mut StepReport) {
        let [at_q, at_v] = self.places();
        input.q_cmd.drain(at_q..at_q + 7);
        if !input.v_cmd.is_empty() {
            input.v_cmd.drain(at_v..at_v + 6);
        }
        let wrench: Vec<f64> = report.effort.drain(at_v..at_v + 6).collect();
        self.force_W = Vec3::new(wrench[3], wrench[4], wrench[5]);
    }
}

/// Mass that joints and fixed joints join with a body, in kg; the largest in the scene if that has none.
fn mass_of(system: &System, body: usize) -> f64 {
    let model = system.model();
    let root = |mut body: usize| {
        while model.body(body).parent != 0 {
            body = model.body(body).parent;
        }
        body
    };
    let mass = |b: usize| model.body(b).inertia.mass;
    let own = root(body);
    let sum: f64 = (1..model.n_bodies()).filter(|b| root(*b) == own).map(mass).sum();
    if sum > 0.0 { sum } else { (1..model.n_bodies()).map(mass).fold(0.0, f64::max) }
}

/// Largest extent of a body's shapes, in m; that of the largest body if it has none.
fn size_of(system: &System, body: usize) -> f64 {
    let extent = |own: &dyn Fn(usize) -> bool| {
        system.geoms().iter().filter(|g| own(g.body)).fold(0.0_f64, |most, geom| {
            let aabb = geom.shape.aabb(&Pose::IDENTITY);
            let size = (aabb.max - aabb.min).max_abs();
            if size.is_finite() { most.max(size) } else { most }
        })
    };
    let own = extent(&|b| b == body);
    if own > 0.0 {
        return own;
    }
    let any = extent(&|b| b != 0);
    if any > 0.0 { any } else { 1.0 }
}
