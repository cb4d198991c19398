//! Drag of the relaxation time, as a share of each body's weight.

use crate::formulation::problem::Problem;
use crate::params::{Inertia, StepParams};
use crate::report::{BodyDrag, StepReport};
use crate::system::System;
use quasistep_math::Vec3;
use quasistep_model::{Kinematics, Twist};

/// Smallest share of its weight at which a body's drag is reported.
const LEAST: f64 = 0.01;

/// Memory of the measurement.
#[derive(Debug, Default)]
pub(crate) struct Drag {
    v: Vec<f64>,
    V: Vec<Twist>,
}

impl Drag {
    /// Fills [`StepReport::drags`] for bodies with mass: `ε ‖v‖/(h g)` at the centre of mass. `v`
    /// is the velocity due to passive dofs, `ε` the scale of the body's mass.
    pub fn measure(
        &mut self,
        system: &System,
        kin: &Kinematics,
        problem: &Problem,
        params: &StepParams,
        report: &mut StepReport,
    ) {
        report.drags.clear();
        let weight = params.time_step * Vec3::from(params.gravity).norm();
        let drags = params.inertia == Inertia::Mass && !params.formulation.carries_velocity();
        if !drags || weight == 0.0 {
            return;
        }
        let Self { v, V } = self;
        v.clear();
        let passive = |dof: usize| system.is_passive(dof);
        v.extend(report.v.iter().enumerate().map(|(dof, v)| if passive(dof) { *v } else { 0.0 }));
        V.resize(system.model.n_bodies(), Twist::ZERO);
        system.model.twists(kin, v, V);
        for (body, V) in V.iter().enumerate() {
            if system.model.body(body).inertia.mass > 0.0 {
                let scale = problem.mass_scales.of_body(system, body);
                let share = scale * V.at(kin.p_WBcm[body]).norm() / weight;
                if share > LEAST {
                    report.drags.push(BodyDrag { body: body as u32, share });
                }
            }
        }
    }
}
