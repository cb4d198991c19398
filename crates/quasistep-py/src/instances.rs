//! Instances of a scene that go on from step to step: what environments for learning stand on.

use crate::arrays::{Array, flat, pose};
use crate::derivatives::all_cores;
use crate::error;
use crate::kinematics::FrameArgument;
use crate::system::{NameOrIndex, System};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use quasistep::{Instance, SampleError, State, StepInput, on_threads};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::Frame;
use quasistep_record::{GoalPose, Recording};
use quasistep_scene::{Scene, SceneError};
use quasistep_view::{Camera, StillOptions, still_pixels};
use std::sync::Arc;

/// Why an instance has no answer.
enum Failed {
    Scene(SceneError),
    Step(SampleError),
}

impl Failed {
    fn told(&self) -> PyErr {
        match self {
            Self::Scene(e) => error::scene(e),
            Self::Step(e) => error::sample(e),
        }
    }
}

/// An instance with the scene that loads it and the input of its last step.
struct Slot {
    scene: Arc<Scene>,
    instance: Instance,
    input: StepInput,
    failed: Option<Failed>,
    /// Deepest overlap at its start, in m.
    overlap: f64,
}

impl Slot {
    fn new(scene: &Arc<Scene>) -> Self {
        let instance =
            Instance::new(scene.system.clone(), scene.params.clone(), scene.start.clone());
        Self {
            scene: scene.clone(),
            instance,
            input: StepInput::default(),
            failed: None,
            overlap: 0.0,
        }
    }

    /// Starts at `q` in `scene`.
    fn start(&mut self, scene: Result<Arc<Scene>, SceneError>, q: &[f64]) {
        let scene = match scene {
            Ok(scene) => scene,
            Err(e) => {
                self.failed = Some(Failed::Scene(e));
                return;
            }
        };
        if !Arc::ptr_eq(&scene, &self.scene) {
            *self = Self::new(&scene);
        }
        self.failed = None;
        self.instance.restart(State { q: q.to_vec(), ..scene.start.clone() });
        match self.instance.overlap() {
            Ok(depth) => self.overlap = depth,
            Err(e) => self.failed = Some(Failed::Step(e.into())),
        }
    }

    /// Takes a step with each of these commands, until one fails.
    fn step(&mut self, commands: &[f64]) {
        let Self { scene, instance, input, failed, .. } = self;
        *failed = None;
        let h = instance.params().time_step;
        for u in commands.chunks_exact(scene.system.n_cmd()) {
            let t = quasistep::end_of_step(instance.state().time, h);
            input.q_cmd.clear();
            input.q_cmd.extend_from_slice(u);
            scene.sample_torques(t, &mut input.tau);
            input.wrenches.clear();
            scene.sample_wrenches(t, &mut input.wrenches);
            if let Err(e) = instance.step(input) {
                *failed = Some(Failed::Step(e));
                return;
            }
        }
    }

    /// Configuration, velocity and effort of the last step, poses of frames, forces between bodies.
    fn tell(&self, frames: &[Frame], pairs: &[[usize; 2]], out: &mut Vec<f64>) {
        let (instance, system) = (&self.instance, &self.scene.system);
        let (model, q) = (system.model(), &instance.state().q);
        out.extend(q);
        match instance.report() {
            Some(report) => {
                out.extend(&report.v);
                out.extend(&report.effort);
            }
            None => out.resize(out.len() + model.n_v() + system.n_cmd_v(), 0.0),
        }
        out.extend(frames.iter().flat_map(|f| pose(&(model.pose(q, f.body) * f.X_BF))));
        out.extend(pairs.iter().flat_map(|&[a, b]| instance.force_between(a, b).to_array()));
    }
}

/// Eye, target, up (world, m), vertical angle of view (rad).
type CameraNumbers = ([f64; 3], [f64; 3], [f64; 3], f64);

/// Instances of a scene, each with its own state.
#[pyclass(module = "quasistep._core")]
pub struct Instances {
    slots: Vec<Slot>,
    shared: Arc<Scene>,
    frames: Vec<Frame>,
    pairs: Vec<[usize; 2]>,
    threads: usize,
}

impl Instances {
    /// What these instances tell, one row after the other, and the errors of those that failed, by
    /// their place in the list.
    fn told<'py>(&self, py: Python<'py>, slots: &[usize]) -> PyResult<Told<'py>> {
        let mut out = Vec::new();
        let errors = PyDict::new(py);
        for (k, &i) in slots.iter().enumerate() {
            let slot = &self.slots[i];
            slot.tell(&self.frames, &self.pairs, &mut out);
            if let Some(failed) = &slot.failed {
                errors.set_item(k, failed.told())?;
            }
        }
        Ok((PyArray1::from_vec(py, out), errors))
    }

    /// A recording of where an instance is, with the bodies of frames at goals.
    fn recording(&self, slot: &Slot, goals: &[Pose]) -> Recording {
        let (scene, instance) = (&slot.scene, &slot.instance);
        let mut recording = scene.empty_recording(instance.params());
        let goal = |(frame, X_WG): (&Frame, &Pose)| GoalPose {
            body: frame.body,
            X_WB: *X_WG * frame.X_BF.inverse(),
        };
        recording.goals = self.frames.iter().zip(goals).map(goal).collect();
        recording.frames.push(scene.frame(instance.state(), None));
        recording
    }
}

type Told<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>);

#[pymethods]
impl Instances {
    #[new]
    fn new(
        system: &System,
        n: usize,
        frames: Vec<FrameArgument>,
        pairs: Vec<[NameOrIndex; 2]>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let shared = Arc::new(system.scene.clone());
        let frames =
            frames.into_iter().map(|frame| system.frame(frame)).collect::<PyResult<_>>()?;
        let body = |own: &NameOrIndex| system.body(own, "force");
        let pairs = pairs.iter().map(|[a, b]| Ok([body(a)?, body(b)?])).collect::<PyResult<_>>()?;
        let slots = (0..n).map(|_| Slot::new(&shared)).collect();
        let threads = threads.unwrap_or_else(all_cores);
        Ok(Self { slots, shared, frames, pairs, threads })
    }

    /// Starts some instances at the rows of `q`, with changes of their scenes or the shared one.
    /// Returns what they tell, their overlaps at the start (m), and errors.
    #[allow(clippy::type_complexity)] // unpacked at once by the caller
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        indices: Vec<usize>,
        q: Array<'py>,
        changes: Option<Vec<Vec<(String, String)>>>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>)> {
        let (q, n_q) = (flat(&q), self.shared.system.model().n_q());
        let mut place = vec![None; self.slots.len()];
        for (k, &i) in indices.iter().enumerate() {
            place[i] = Some(k);
        }
        let shared = &self.shared;
        let jobs: Vec<(&mut Slot, usize)> =
            self.slots.iter_mut().zip(place).filter_map(|(slot, k)| Some((slot, k?))).collect();
        let sizes =
            |scene: &Scene| (scene.system.model().coordinate_names(), scene.system.command_names());
        py.detach(|| {
            on_threads(jobs, self.threads, |(slot, k)| {
                let scene = match &changes {
                    None => Ok(shared.clone()),
                    Some(changes) => shared.with_changes(&changes[k]).map(Arc::new),
                };
                slot.start(scene, &q[k * n_q..(k + 1) * n_q]);
            });
        });
        let other = indices.iter().find(|&&i| sizes(&self.slots[i].scene) != sizes(shared));
        if other.is_some() {
            return Err(PyValueError::new_err(
                "`vary` changes the joints or commands of the scene; give values such as masses, sizes or friction",
            ));
        }
        let (told, errors) = self.told(py, &indices)?;
        let overlaps = indices.iter().map(|&i| self.slots[i].overlap).collect();
        Ok((told, PyArray1::from_vec(py, overlaps), errors))
    }

    /// Steps all instances but those that are skipped, each with its `n_steps` rows of commands.
    /// Returns what they tell, and errors; where a step failed the state is that before it.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        u: Array<'py>,
        n_steps: usize,
        skip: Vec<usize>,
    ) -> PyResult<Told<'py>> {
        let (u, each) = (flat(&u), n_steps * self.shared.system.n_cmd());
        for &i in &skip {
            self.slots[i].failed = None;
        }
        let mut jobs: Vec<Option<(&mut Slot, &[f64])>> =
            self.slots.iter_mut().zip(u.chunks_exact(each)).map(Some).collect();
        for i in skip {
            jobs[i] = None;
        }
        let jobs: Vec<_> = jobs.into_iter().flatten().collect();
        py.detach(|| on_threads(jobs, self.threads, |(slot, u)| slot.step(u)));
        self.told(py, &(0..self.slots.len()).collect::<Vec<_>>())
    }

    /// A camera that sees the bodies at all rows of `q`.
    fn camera(&self, q: Array<'_>, direction: [f64; 3], aspect: f64) -> CameraNumbers {
        let n_q = self.shared.system.model().n_q();
        let mut recording = self.shared.empty_recording(&self.shared.params);
        for q in flat(&q).chunks_exact(n_q) {
            recording.frames.push(self.shared.frame(&State::at_rest(0.0, q.to_vec()), None));
        }
        let Camera { eye, target, up, fov_y } = Camera::fit(&recording, direction.into(), aspect);
        (eye.to_array(), target.to_array(), up.to_array(), fov_y)
    }

    /// Pixels (red, green, blue, row by row from the top) of an instance, with bodies at goals.
    fn picture<'py>(
        &self,
        py: Python<'py>,
        i: usize,
        goals: Vec<[f64; 7]>,
        camera: CameraNumbers,
        width: u32,
        height: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (eye, target, up, fov_y) = camera;
        let [eye, target, up] = [eye, target, up].map(Vec3::from);
        let camera = Camera { eye, target, up, fov_y };
        let goal = |[w, x, y, z, px, py, pz]: [f64; 7]| {
            Pose::new(Quat::new(w, x, y, z), Vec3::new(px, py, pz))
        };
        let goals: Vec<Pose> = goals.into_iter().map(goal).collect();
        let draw = || {
            let recording = self.recording(&self.slots[i], &goals);
            let options = StillOptions { contacts: false, ..StillOptions::default() };
            still_pixels(&recording, 0, &camera, [width, height], &options)
        };
        let pixels = py.detach(draw).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(PyBytes::new(py, &pixels))
    }
}
