//! Wrenches and generalised forces of batches: the scene's own, and those that Python gives.

use crate::arrays::{Array, flat};
use crate::system::{NameOrIndex, System};
use pyo3::prelude::*;
use quasistep::Wrench;
use quasistep_math::Vec3;
use quasistep_scene::Scene;
use std::ops::Range;

/// Numbers of a wrench: point in the body's frame (m), force (N) and torque (N·m) in the world's axes.
const NUMBERS: usize = 9;

/// Loads as Python passes them: bodies of wrenches, numbers of each wrench in each row, and
/// generalised forces of each row. There is one row for all steps, or one for each step, or one for
/// each step of each sample.
pub type LoadsArgument<'py> = (Vec<NameOrIndex>, Array<'py>, Option<Array<'py>>);

/// Loads given for a batch.
#[derive(Default)]
pub struct Loads {
    bodies: Vec<usize>,
    numbers: Vec<f64>,
    /// Given in place of the scene's torque commands.
    tau: Option<Vec<f64>>,
}

impl Loads {
    pub fn new(system: &System, (bodies, numbers, tau): LoadsArgument<'_>) -> PyResult<Self> {
        let bodies: PyResult<_> = bodies.iter().map(|body| system.body(body, "wrench")).collect();
        Ok(Self { bodies: bodies?, numbers: flat(&numbers), tau: tau.map(|tau| flat(&tau)) })
    }

    /// Number of lists of wrenches, and of rows of forces, that samples share or have of their own.
    fn n_rows(&self) -> usize {
        self.numbers.len() / (NUMBERS * self.bodies.len()).max(1)
    }

    /// Samples for which lists of wrenches are needed: all, or the first one for all.
    pub fn samples(&self, n: usize, n_steps: usize) -> Range<usize> {
        0..if self.n_rows() > n_steps { n } else { 1 }
    }

    /// Wrenches given for a step of a sample.
    pub fn of(
        &self,
        sample: usize,
        step: usize,
        n_steps: usize,
    ) -> impl Iterator<Item = Wrench> + '_ {
        let n_rows = self.n_rows();
        let row =
            if n_rows > n_steps { sample * n_steps + step } else { step.min(n_rows.max(1) - 1) };
        let width = NUMBERS * self.bodies.len();
        let numbers = self.numbers[row * width..].chunks_exact(NUMBERS);
        self.bodies.iter().zip(numbers).map(|(&body, numbers)| {
            let at = |k: usize| Vec3::new(numbers[k], numbers[k + 1], numbers[k + 2]);
            Wrench { body, p_B: at(0), force_W: at(3), torque_W: at(6) }
        })
    }

    /// Wrenches of each step of some samples, whose steps end `h` seconds apart: the scene's own, and
    /// those given.
    pub fn wrenches(
        &self,
        scene: &Scene,
        samples: Range<usize>,
        n_steps: usize,
        (t, h): (f64, f64),
    ) -> Vec<Vec<Wrench>> {
        let at = |(sample, step): (usize, usize)| {
            let mut all = Vec::new();
            scene.sample_wrenches(t + (step + 1) as f64 * h, &mut all);
            all.extend(self.of(sample, step, n_steps));
            all
        };
        samples.flat_map(|i| (0..n_steps).map(move |k| (i, k))).map(at).collect()
    }

    /// Generalised forces of each step, of all samples or of one: those given, or the torque commands
    /// of the scene; empty if it has none.
    pub fn torques(
        &self,
        scene: &Scene,
        sample: Option<usize>,
        n_steps: usize,
        (t, h): (f64, f64),
    ) -> Vec<f64> {
        let Some(given) = &self.tau else {
            let mut tau = Vec::new();
            let at = |k: usize| {
                scene.sample_torques(t + k as f64 * h, &mut tau);
                tau.clone()
            };
            return (1..=n_steps).flat_map(at).collect();
        };
        let each = n_steps * scene.system.model().n_v();
        match sample {
            Some(i) if given.len() > each => given[i * each..(i + 1) * each].to_vec(),
            _ => given.clone(),
        }
    }

    /// Wrenches and generalised forces of a single step of `n` samples that ends at `t`.
    pub fn of_step(&self, scene: &Scene, n: usize, t: f64) -> (Vec<Vec<Wrench>>, Vec<f64>) {
        (
            self.wrenches(scene, self.samples(n, 1), 1, (t, 0.0)),
            self.torques(scene, None, 1, (t, 0.0)),
        )
    }
}
