//! Runs a scene from start to end and records every frame.

use crate::scene::{Scene, n_steps};
use crate::sensors::recorded;
use quasistep::{
    Checkpoint, ContactMode, Role, SensedStep, State, StepError, StepInput, StepParams, StepReport,
    Uniqueness, WarmStart, Wrench,
};
use quasistep_math::Pose;
use quasistep_model::JointKind;
use quasistep_record::{
    BodyRole, Contact, ContactKey, Finish, Frame, Mode, NamedFrame, Recording, Trajectory,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// One step of a run, passed to the observer after the step.
pub struct RunStep<'a> {
    /// Index of the step, from 1.
    pub index: usize,
    /// State at the end of the step.
    pub state: &'a State,
    /// Input of the step.
    pub input: &'a StepInput,
    /// Result of the step.
    pub report: &'a StepReport,
}

/// Overrides of the scene's settings for a run; none by default.
#[derive(Clone, Debug, Default)]
pub struct RunOptions<'a> {
    /// Start state.
    pub start: Option<State>,
    /// Warm start of the first step. With the warm start and state of a [`RunOutcome`], the run
    /// continues with identical bits.
    pub warm: Option<&'a WarmStart>,
    /// Step parameters.
    pub params: Option<StepParams>,
    /// Simulated time, in s; ignored if `n_steps` is given.
    pub duration: Option<f64>,
    /// Number of steps; with a tolerance, of rows of `commands` and `tau`.
    pub n_steps: Option<usize>,
    /// With a tolerance: time between outputs, in s, in place of the scene's. A step ends at each of
    /// its multiples. It is also the time between rows of `commands` and `tau`, which begin at the
    /// start; steps between two rows read them as the parts of a divided step do.
    pub every: Option<f64>,
    /// Commands at the end of each step, `n_steps × n_cmd`, and their rates, `n_steps × n_cmd_v` or
    /// empty for zero. They replace the scene's commands.
    pub commands: Option<(&'a [f64], &'a [f64])>,
    /// Generalised forces of each step ([`StepInput::tau`]), `n_steps × n_v`, in N or N·m. They
    /// replace the scene's torques.
    pub tau: Option<&'a [f64]>,
    /// Wrenches at every step, in addition to the scene's.
    pub wrenches: &'a [Wrench],
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Recording of all steps taken.
    pub recording: Recording,
    /// State at the end of the run.
    pub state: State,
    /// Warm start for the next step.
    pub warm: WarmStart,
    /// The error that ended the run early, if any.
    pub stopped: Option<StepError>,
}

/// A pair of bodies that are near one another at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestPair {
    /// Name of body A, `model/link`.
    pub a: String,
    /// Name of body B, `model/link`.
    pub b: String,
    /// Signed distance, in m.
    pub distance: f64,
}

/// The first step of a scene, taken to check the scene.
#[derive(Clone, Debug)]
pub struct FirstStep {
    /// Result of the step.
    pub report: StepReport,
    /// Pairs of bodies within the contact margin before the step, by distance.
    pub pairs: Vec<NearestPair>,
}

impl Scene {
    /// Runs the scene. `clock` returns ns for stage times. `observer` sees every step and may stop
    /// the run.
    pub fn run(
        &self,
        clock: Option<fn() -> u64>,
        observer: &mut dyn FnMut(&RunStep<'_>) -> ControlFlow<()>,
    ) -> RunOutcome {
        self.run_with(&RunOptions::default(), clock, observer)
    }

    /// [`run`](Self::run) with overrides of start, parameters or commands. A table of commands that
    /// is too short ends the run with [`StepError::Length`].
    pub fn run_with(
        &self,
        options: &RunOptions<'_>,
        clock: Option<fn() -> u64>,
        observer: &mut dyn FnMut(&RunStep<'_>) -> ControlFlow<()>,
    ) -> RunOutcome {
        let params = options.params.as_ref().unwrap_or(&self.params);
        let mut recording = self.empty_recording(params);
        let frames = &mut recording.frames;
        let (end, stopped) = self.run_frames(options, clock, &mut |frame, step| {
            frames.push(frame);
            step.map_or(ControlFlow::Continue(()), &mut *observer)
        });
        if let Some(error) = &stopped {
            recording.finish = Finish::Stopped { reason: error.to_string() };
        }
        let Checkpoint { state, warm } = end;
        RunOutcome { recording, state, warm, stopped }
    }

    /// [`run_with`](Self::run_with) without storing frames. `sink` gets each frame, beginning with
    /// that of the start, with the step that led to it, and may stop the run. Returns the warm
    /// start of the next step, and the error that ended the run, if any.
    pub fn run_frames(
        &self,
        options: &RunOptions<'_>,
        clock: Option<fn() -> u64>,
        sink: &mut dyn FnMut(Frame, Option<&RunStep<'_>>) -> ControlFlow<()>,
    ) -> (Checkpoint, Option<StepError>) {
        let system = &self.system;
        let params = options.params.as_ref().unwrap_or(&self.params);
        let mut work = system.create_workspace();
        work.set_clock(clock);
        work.start_from(options.warm);
        let mut state = options.start.clone().unwrap_or_else(|| self.start.clone());
        if !params.formulation.carries_velocity() {
            state.v.clear();
        } else if state.v.is_empty() {
            state.v.resize(system.model().n_v(), 0.0);
        }
        if sink(self.frame(&state, None), None).is_break() {
            return (work.checkpoint(&state), None);
        }
        if params.sizes.is_some() {
            let stopped = self.run_by_tolerance(options, params, &mut state, &mut work, sink);
            return (work.checkpoint(&state), stopped.err());
        }
        work.set_rest(true);
        let mut input = StepInput::default();
        let mut before = State::default();
        let h = params.time_step;
        for index in 1..=self.n_steps_with(options) {
            let t = quasistep::end_of_step(state.time, h);
            let row = |table: &[f64], n: usize| {
                table.get((index - 1) * n..index * n).unwrap_or_default().to_vec()
            };
            match options.commands {
                None => self.sample_for(params, t, &mut input),
                Some((q_cmd, v_cmd)) => {
                    input.q_cmd = row(q_cmd, system.n_cmd());
                    input.v_cmd = row(v_cmd, system.n_cmd_v());
                    self.sample_torques(t, &mut input.tau);
                    input.wrenches.clear();
                    self.sample_wrenches(t, &mut input.wrenches);
                }
            }
            if let Some(tau) = options.tau {
                input.tau = row(tau, system.model().n_v());
            }
            input.wrenches.extend_from_slice(options.wrenches);
            if !self.sensors.is_empty() {
                before.clone_from(&state);
            }
            match system.step_with(&mut state, &input, params, &mut work).map(|_| ()) {
                Ok(()) => {
                    let report = work.last_report();
                    let poses = work.poses_at(&state.q).map(<[Pose]>::to_vec);
                    let mut frame = self.frame_at(&state, poses, Some((report, &input)));
                    let (start, end, wrenches) = (&before, &state, &input.wrenches[..]);
                    let sensed = SensedStep { start, end, wrenches, report, params };
                    frame.sensors = self.read_sensors(&sensed);
                    let step = RunStep { index, state: &state, input: &input, report };
                    if sink(frame, Some(&step)).is_break() {
                        break;
                    }
                }
                Err(error) => return (work.checkpoint(&state), Some(error)),
            }
        }
        (work.checkpoint(&state), None)
    }

    /// Number of steps of a run with these options, at least one.
    pub fn n_steps_with(&self, options: &RunOptions<'_>) -> usize {
        let params = options.params.as_ref().unwrap_or(&self.params);
        let duration = options.duration.unwrap_or(self.duration);
        options.n_steps.unwrap_or_else(|| n_steps(duration, params.time_step))
    }

    /// Takes the first step on a copy of the start state.
    ///
    /// # Errors
    ///
    /// If the step cannot be taken.
    pub fn first_step(&self) -> Result<FirstStep, StepError> {
        let mut first = None;
        let (_, stopped) = self.run_frames(&RunOptions::default(), None, &mut |_, step| {
            let Some(step) = step else { return ControlFlow::Continue(()) };
            first.get_or_insert_with(|| step.report.clone());
            ControlFlow::Break(())
        });
        stopped.map_or(Ok(()), Err)?;
        Ok(FirstStep { report: first.unwrap_or_default(), pairs: self.pairs_at_start()? })
    }

    /// Pairs of bodies within the contact margin at the start, by distance.
    ///
    /// # Errors
    ///
    /// If the start is not a valid configuration.
    pub fn pairs_at_start(&self) -> Result<Vec<NearestPair>, StepError> {
        let near = self.system.near_pairs(&self.start.q, self.params.contact_margin)?;
        let name = |body: usize| self.system.model().body(body).name.clone();
        let mut pairs: Vec<NearestPair> = near
            .into_iter()
            .map(|([a, b], distance)| NearestPair { a: name(a), b: name(b), distance })
            .collect();
        pairs.sort_by(|x, y| x.distance.total_cmp(&y.distance));
        Ok(pairs)
    }

    /// Runs the scene with exact Coulomb friction, and checks after every step whether its solution
    /// is unique. `observer` gets the time at the end of the step, in s, and the answer.
    ///
    /// # Errors
    ///
    /// The time before the failed step, in s, and its error.
    pub fn uniqueness(
        &self,
        observer: &mut dyn FnMut(f64, Option<Uniqueness>),
    ) -> Result<(), (f64, StepError)> {
        let params = StepParams { uniqueness: true, ..self.params.clone() };
        let options = RunOptions { params: Some(params), ..RunOptions::default() };
        let (end, stopped) = self.run_frames(&options, None, &mut |_, step| {
            if let Some(step) = step {
                observer(step.state.time, step.report.uniqueness.clone());
            }
            ControlFlow::Continue(())
        });
        stopped.map_or(Ok(()), |error| Err((end.state.time, error)))
    }

    /// A recording of this scene without frames, with the time step of these parameters; the smallest
    /// if a tolerance chooses it.
    pub fn empty_recording(&self, params: &StepParams) -> Recording {
        let model = self.system.model();
        Recording {
            scene: self.name.clone(),
            title: self.title.clone(),
            time_step: params.sizes.map_or(params.time_step, |sizes| sizes.min),
            bodies: model.bodies().iter().map(|b| b.name.clone()).collect(),
            roles: self.body_roles(),
            collision_shapes: self.system.geoms().iter().map(|g| g.name.clone()).collect(),
            shapes: self.drawing.clone(),
            named_frames: self.all_named_frames(),
            goals: Vec::new(),
            curves: Vec::new(),
            coordinates: model.coordinate_names(),
            units: model.coordinate_units().into_iter().map(str::to_owned).collect(),
            dofs: if params.formulation.carries_velocity() {
                model.dof_names()
            } else {
                Vec::new()
            },
            commands: {
                let names = self.system.command_names();
                let own = self.commanded_coordinates();
                let mut all: Vec<String> = own.iter().map(|(i, _)| names[*i].clone()).collect();
                let coordinates = model.coordinate_names();
                let told = self.torques().iter().map(|torque| &coordinates[torque.coordinate]);
                told.for_each(|name| {
                    if !all.contains(name) {
                        all.push(name.clone());
                    }
                });
                all
            },
            sensors: self.sensors.iter().map(recorded).collect(),
            frames: Vec::new(),
            finish: Finish::Done,
        }
    }

    /// What moves each body. Bodies that hang together are driven if a drive moves one of them; so are those of a model
    /// with drives that do not float, for loops may tie them to the driven ones.
    fn body_roles(&self) -> Vec<BodyRole> {
        let model = self.system.model();
        let n = model.n_bodies();
        let mut roots = vec![0; n];
        for body in 1..n {
            let parent = model.body(body).parent;
            let is_first = model.path(parent).is_empty();
            roots[body] = if is_first { body } else { roots[parent] };
        }
        let name = |body: usize| model.body(body).name.split('/').next().unwrap_or_default();
        let commanded = self.system.commanded();
        let torques = self.torques().iter().map(|torque| torque.coordinate);
        let told = torques.flat_map(|q| (1..n).filter(move |b| model.body(*b).q.contains(&q)));
        let pulled = self.system.springs().map(|spring| spring.frame.body);
        let driven: BTreeSet<usize> = commanded.iter().copied().chain(told).chain(pulled).collect();
        let trees: BTreeSet<usize> = driven.iter().map(|body| roots[*body]).collect();
        let models: BTreeSet<&str> = driven.iter().map(|body| name(*body)).collect();
        let of = |body: usize| {
            let floats = model.body(roots[body]).joint == JointKind::Free;
            if model.path(body).is_empty() {
                BodyRole::Fixed
            } else if trees.contains(&roots[body]) || (models.contains(name(body)) && !floats) {
                BodyRole::Driven
            } else {
                BodyRole::Free
            }
        };
        (0..n).map(of).collect()
    }

    /// Frames of the model files; links without shapes that are fixed or end a chain, which are frames, too; and frames
    /// that springs pull, if they are not those of links.
    fn all_named_frames(&self) -> Vec<NamedFrame> {
        let model = self.system.model();
        let is_drawn: BTreeSet<usize> = self.drawing.iter().map(|shape| shape.body).collect();
        let carries: BTreeSet<usize> = model.bodies().iter().map(|body| body.parent).collect();
        let is_frame = |body: &usize| {
            let stays = model.body(*body).joint == JointKind::Fixed;
            !is_drawn.contains(body) && (stays || !carries.contains(body))
        };
        let links = (1..model.n_bodies()).filter(is_frame).map(|body| NamedFrame {
            name: model.body(body).name.clone(),
            body,
            X_BF: Pose::IDENTITY,
        });
        let springs = self.system.springs().filter(|spring| spring.frame.X_BF != Pose::IDENTITY);
        let springs = springs.map(|spring| NamedFrame {
            name: spring.name.clone(),
            body: spring.frame.body,
            X_BF: spring.frame.X_BF,
        });
        self.named_frames.iter().cloned().chain(links).chain(springs).collect()
    }

    /// Commands of a recorded run as a joint trajectory, with the stiffness of the springs; of one model alone if it
    /// is given.
    ///
    /// # Errors
    ///
    /// A text that says what is missing.
    pub fn trajectory(
        &self,
        recording: &Recording,
        model: Option<&str>,
    ) -> Result<Trajectory, String> {
        let tree = self.system.model();
        let names = tree.coordinate_names();
        let mut stiffness = BTreeMap::new();
        for (index, role) in self.system.roles().iter().enumerate() {
            let Role::Actuated(actuator) = role else { continue };
            let own = names[tree.body(index).q.clone()].iter();
            stiffness.extend(own.cloned().zip(actuator.stiffness.iter().copied()));
        }
        for torque in self.torques() {
            stiffness.entry(names[torque.coordinate].clone()).or_insert(0.0);
        }
        Trajectory::of(recording, &stiffness, model)
    }

    /// Readings of the scene's sensors in a step; empty if it has none.
    pub fn read_sensors(&self, step: &SensedStep<'_>) -> Vec<f64> {
        if self.sensors.is_empty() {
            return Vec::new();
        }
        self.system.read_sensors(&self.sensors, step)
    }

    /// Coordinates of joints and frames, pads and switches, that have a command and a drive force: index in `q_cmd`,
    /// and index in the effort. Quaternions are left out: their four numbers share three torques.
    pub(crate) fn commanded_coordinates(&self) -> Vec<(usize, usize)> {
        let model = self.system.model();
        let (mut at_q, mut at_v) = (0, 0);
        let mut all = Vec::new();
        let joints = self.system.commanded().iter().map(|&body| model.body(body));
        let joints = joints.map(|joint| (joint.q.len(), joint.v.len()));
        let others = self.system.springs().map(|_| (7, 6));
        let others = others.chain(self.system.pads().iter().map(|_| (1, 1)));
        let others = others.chain(self.system.switched().map(|_| (1, 1)));
        for (n_q, n_v) in joints.chain(others) {
            // positions follow the orientation, in `q` as in `v`
            let skip = if n_q == n_v { (0, 0) } else { (4, 3) };
            for k in 0..n_q - skip.0 {
                all.push((at_q + skip.0 + k, at_v + skip.1 + k));
            }
            at_q += n_q;
            at_v += n_v;
        }
        all
    }

    /// Adds torques to the efforts of a frame. For a joint driven by a torque only, the recorded
    /// command is its position.
    fn add_torques(&self, tau: &[f64], frame: &mut Frame) {
        let model = self.system.model();
        for torque in self.torques() {
            let force = tau.get(torque.dof).copied().unwrap_or(0.0);
            let is_own = |&&body: &&usize| model.body(body).q.contains(&torque.coordinate);
            let commanded = self.system.commanded();
            match commanded.iter().find(is_own) {
                None => {
                    frame.q_cmd.push(frame.q[torque.coordinate]);
                    frame.effort.push(force);
                }
                Some(own) => {
                    // columns before it: those of earlier joints, then its own
                    let skip = |body: &usize| if model.body(*body).q.len() >= 4 { 4 } else { 0 };
                    let before = commanded.iter().take_while(|body| *body != own);
                    let n: usize = before.map(|b| model.body(*b).q.len() - skip(b)).sum();
                    let k = torque.coordinate - model.body(*own).q.start - skip(own);
                    frame.effort[n + k] += force;
                }
            }
        }
    }

    /// The frame of a state; with the step that led to it, also its drive forces and contacts.
    pub fn frame(&self, state: &State, step: Option<(&StepReport, &StepInput)>) -> Frame {
        self.frame_at(state, None, step)
    }

    /// The [`frame`](Self::frame) of a state whose body poses may already be known.
    pub(crate) fn frame_at(
        &self,
        state: &State,
        poses: Option<Vec<Pose>>,
        step: Option<(&StepReport, &StepInput)>,
    ) -> Frame {
        let X_WB = poses.unwrap_or_else(|| {
            let model = self.system.model();
            let mut kin = model.create_kinematics();
            model.kinematics(&state.q, &mut kin);
            kin.X_WB
        });
        let mut frame = Frame {
            t: state.time,
            X_WB,
            q: state.q.clone(),
            v: state.v.clone(),
            q_cmd: Vec::new(),
            effort: Vec::new(),
            sensors: Vec::new(),
            contacts: Vec::new(),
            uniqueness: None,
        };
        let Some((report, input)) = step else { return frame };
        for (in_cmd, in_effort) in self.commanded_coordinates() {
            frame.q_cmd.push(input.q_cmd[in_cmd]);
            frame.effort.push(report.effort[in_effort]);
        }
        self.add_torques(&input.tau, &mut frame);
        frame.contacts = report
            .contacts
            .iter()
            .map(|c| Contact {
                a: c.body_a as usize,
                b: c.body_b as usize,
                p_W: c.p_W,
                n_AB_W: c.n_AB_W,
                phi: c.phi,
                phi_next: c.phi_next,
                normal_force: c.normal_force,
                force_W: c.net_force_W(),
                spin: c.spin_torque,
                roll_W: c.roll_torque_W,
                mode: match c.mode {
                    ContactMode::Separate => Mode::Separate,
                    ContactMode::Stick => Mode::Stick,
                    ContactMode::Slide => Mode::Slide,
                },
                mu: c.friction.mu,
                key: ContactKey {
                    shape_a: c.geom_a as usize,
                    shape_b: c.geom_b as usize,
                    feature: c.feature,
                },
            })
            .collect();
        frame.uniqueness.clone_from(&report.uniqueness);
        frame
    }
}
