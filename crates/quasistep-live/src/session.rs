//! A run that takes one step at a time and obeys messages.

use crate::controls::{Control, of_commands, of_coordinates};
use crate::message::Message;
use crate::pull::Pull;
use quasistep::{
    SensedStep, State, StepError, StepInput, StepParams, StepReport, System, WarmStart, Workspace,
    end_of_step,
};
use quasistep_math::Vec3;
use quasistep_record::{Frame, Recording};
use quasistep_scene::Scene;
use serde_json::{Value, json};
use std::sync::Arc;

/// Largest step of a scene whose steps choose their sizes, in s: that of a smooth picture.
const SMOOTH: f64 = 1.0 / 60.0;
/// Largest pace.
const FASTEST: f64 = 1000.0;
/// Overlaps below this are not marked, in m.
const OVERLAP: f64 = 1e-6;

/// A run of a scene, or its bodies where joints put them.
pub struct Session {
    scene: Scene,
    params: StepParams,
    start: State,
    /// Warm start of the first step.
    warm: Option<WarmStart>,
    state: State,
    work: Workspace,
    frame: Frame,
    /// Report of the step that led to `frame`.
    report: Option<StepReport>,
    controls: Vec<Control>,
    /// Values of the controls that were set.
    told: Vec<Option<f64>>,
    /// Commands on their way to these values, or back to the scene's.
    given: Vec<Option<f64>>,
    pull: Option<Pull>,
    playing: bool,
    pace: f64,
    /// Why the last step was not taken.
    error: Option<String>,
    /// True if nothing is stepped: controls set the coordinates.
    posing: bool,
    /// Number of the present frame, and of the present page.
    versions: [u64; 2],
}

impl Session {
    /// A run of a scene from its start. Where a tolerance chooses the sizes of steps, they are as long as a
    /// picture at 60 Hz, within the scene's bounds.
    pub fn new(scene: Scene) -> Self {
        let start = scene.start.clone();
        Self::from_state(scene, start, None)
    }

    /// As [`new`](Self::new), from where another run of the scene ended, with its warm start. A reset goes
    /// back to it.
    ///
    /// # Panics
    ///
    /// If the state is of another system.
    pub fn from_state(scene: Scene, start: State, warm: Option<WarmStart>) -> Self {
        Self::make(scene, start, warm, false)
    }

    /// The bodies of a scene where its joints put them; nothing is stepped.
    pub fn of_poses(scene: Scene) -> Self {
        let start = scene.start.clone();
        Self::make(scene, start, None, true)
    }

    fn make(scene: Scene, start: State, warm: Option<WarmStart>, posing: bool) -> Self {
        let work = scene.system.create_workspace();
        let frame = scene.frame(&start, None);
        let mut session = Self {
            params: scene.params.clone(),
            state: start.clone(),
            start,
            warm,
            work,
            frame,
            report: None,
            controls: Vec::new(),
            told: Vec::new(),
            given: Vec::new(),
            pull: None,
            playing: false,
            pace: 1.0,
            error: None,
            posing,
            versions: [0, 0],
            scene,
        };
        session.take_up();
        session.reset();
        session
    }

    /// Reads parameters and controls from the scene.
    fn take_up(&mut self) {
        self.params = self.scene.params.clone();
        if let Some(sizes) = self.params.sizes.take() {
            self.params.time_step = SMOOTH.clamp(sizes.min, sizes.max);
        }
        let mut recording = self.scene.empty_recording(&self.params);
        recording.frames.push(self.scene.frame(&self.start, None));
        let reach = 2.0 * quasistep_view::bounds(&recording).radius;
        self.controls = if self.posing {
            of_coordinates(&self.scene, &self.start.q, reach)
        } else {
            let mut input = StepInput::default();
            self.scene.sample_for(&self.params, self.start.time, &mut input);
            of_commands(&self.scene, &input.q_cmd, reach)
        };
    }

    /// Goes back to the start.
    fn reset(&mut self) {
        self.state = self.start.clone();
        self.fit_velocity();
        self.told = vec![None; self.controls.len()];
        self.given = vec![None; self.controls.len()];
        self.pull = None;
        self.error = None;
        self.report = None;
        let warm = self.warm.clone();
        self.renew_workspace(warm.as_ref());
        self.show(self.scene.frame(&self.state, None));
    }

    /// Gives the state a velocity where steps carry one over.
    fn fit_velocity(&mut self) {
        let v = &mut self.state.v;
        if !self.params.formulation.carries_velocity() {
            v.clear();
        } else if v.is_empty() {
            v.resize(self.scene.system.model().n_v(), 0.0);
        }
    }

    fn renew_workspace(&mut self, warm: Option<&WarmStart>) {
        let system = self.pull.as_ref().map_or(&self.scene.system, |pull| &pull.system);
        self.work = system.create_workspace();
        self.work.start_from(warm);
        self.work.set_rest(true);
    }

    fn show(&mut self, frame: Frame) {
        self.frame = frame;
        self.versions[0] += 1;
    }

    /// Does what a message asks.
    ///
    /// # Errors
    ///
    /// What was seen and what would be valid; nothing is changed.
    pub fn apply(&mut self, message: &Message) -> Result<(), String> {
        match message {
            Message::Pause => self.playing = false,
            Message::Play | Message::Step if self.posing => {
                return Err("poses have no steps; `quasistep run SCENE --live` takes them".into());
            }
            Message::Play => self.playing = true,
            Message::Step => {
                self.playing = false;
                self.advance();
            }
            Message::Reset => self.reset(),
            Message::Pace(pace) => {
                if !(*pace > 0.0 && *pace <= FASTEST) {
                    return Err(format!(
                        "speed: {pace} was given; give a number above 0, up to {FASTEST}"
                    ));
                }
                self.pace = *pace;
            }
            Message::Command { control, value } => self.command(*control, *value)?,
            Message::Pull { body, p_B, to_W } => self.pull_at(*body, *p_B, *to_W)?,
            Message::Release => self.release(),
            Message::Set { key, value } => self.set(key, value)?,
        }
        Ok(())
    }

    fn command(&mut self, control: usize, value: Option<f64>) -> Result<(), String> {
        let Some(own) = self.controls.get(control) else {
            let n = self.controls.len();
            return Err(format!("command {control} was given; this scene has {n}, counted from 0"));
        };
        if let Some(value) = value {
            own.check(value)?;
        }
        if self.posing {
            self.state.q[own.at_q] = value.unwrap_or(self.start.q[own.at_q]);
            self.show(self.scene.frame(&self.state, None));
        }
        self.told[control] = value;
        self.error = None;
        Ok(())
    }

    fn pull_at(&mut self, body: usize, p_B: Vec3, to_W: Vec3) -> Result<(), String> {
        if self.posing {
            return Err("poses cannot be pulled; `quasistep run SCENE --live` can".into());
        }
        self.error = None;
        if let Some(pull) = self.pull.as_mut().filter(|p| p.body == body && p.p_B == p_B) {
            pull.to_W = to_W;
            return Ok(());
        }
        self.pull = Some(Pull::new(&self.scene, body, p_B, to_W)?);
        let warm = self.work.warm_start();
        self.renew_workspace(Some(&warm));
        Ok(())
    }

    fn release(&mut self) {
        if self.pull.take().is_some() {
            self.error = None;
            let warm = self.work.warm_start();
            self.renew_workspace(Some(&warm));
            self.versions[0] += 1;
        }
    }

    /// Changes a value of the scene. The run goes on where it is, or starts again if the scene has other
    /// bodies or commands then.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let change = [(key.trim().to_owned(), value.trim().to_owned())];
        let scene =
            self.scene.with_changes(&change).map_err(|e| e.to_string().replace("--set ", ""))?;
        let stays = is_like(&self.scene.system, &scene.system);
        let looks = stays && self.scene.drawing == scene.drawing;
        self.scene = scene;
        if !stays {
            (self.start, self.warm) = (self.scene.start.clone(), None);
        }
        self.take_up();
        self.error = None;
        self.pull = None;
        if stays {
            self.fit_velocity();
            self.renew_workspace(None);
            self.versions[0] += 1;
        } else {
            self.reset();
        }
        if !looks {
            self.versions[1] += 1;
        }
        Ok(())
    }

    /// Takes a step, and returns true; if it has no answer the state stays, the run pauses, and
    /// [`error`](Self::error) says why.
    pub fn advance(&mut self) -> bool {
        if self.posing {
            return false;
        }
        match self.step() {
            Ok(()) => {
                self.error = None;
                true
            }
            Err(error) => {
                self.playing = false;
                self.error = Some(error.to_string());
                false
            }
        }
    }

    fn step(&mut self) -> Result<(), StepError> {
        let h = self.params.time_step;
        let mut input = StepInput::default();
        self.scene.sample_for(&self.params, end_of_step(self.state.time, h), &mut input);
        let given = self.commands(&mut input);
        if let Some(pull) = &self.pull {
            pull.add_to(&mut input);
        }
        let system = self.pull.as_ref().map_or(&self.scene.system, |pull| &pull.system);
        let before = self.state.clone();
        system.step_with(&mut self.state, &input, &self.params, &mut self.work)?;
        self.given = given;
        let mut report = self.work.last_report().clone();
        let (params, wrenches) = (&self.params, &input.wrenches[..]);
        let sensed =
            SensedStep { start: &before, end: &self.state, wrenches, report: &report, params };
        let readings = match &self.scene.sensors {
            none if none.is_empty() => Vec::new(),
            sensors => system.read_sensors(sensors, &sensed),
        };
        if let Some(pull) = &mut self.pull {
            pull.take_from(&mut input, &mut report);
        }
        let mut frame = self.scene.frame(&self.state, Some((&report, &input)));
        frame.sensors = readings;
        self.report = Some(report);
        self.show(frame);
        Ok(())
    }

    /// Puts what controls command into the input of a step. Returns the commands after it.
    fn commands(&self, input: &mut StepInput) -> Vec<Option<f64>> {
        let h = self.params.time_step;
        let now = self.frame.q_cmd.as_slice();
        let mut given = self.given.clone();
        for (k, control) in self.controls.iter().enumerate() {
            if self.told[k].is_none() && self.given[k].is_none() {
                continue;
            }
            let scene = input.q_cmd[control.at_q];
            let to = self.told[k].unwrap_or(scene);
            // before the first step the scene's command is the one that holds
            let from = self.given[k].or_else(|| now.get(k).copied()).unwrap_or(scene);
            let most = control.rate * h;
            let command =
                if (to - from).abs() <= most { to } else { from + most.copysign(to - from) };
            input.q_cmd[control.at_q] = command;
            if let Some(rate) = input.v_cmd.get_mut(control.at_v)
                && control.rate.is_finite()
            {
                *rate = (command - from) / h;
            }
            // back at the scene's command
            let is_back = self.told[k].is_none() && command == scene;
            given[k] = (!is_back).then_some(command);
        }
        given
    }

    /// The scene, with its changes.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Parameters of the next step.
    pub fn params(&self) -> &StepParams {
        &self.params
    }

    /// The present state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The present frame.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Report of the step that led here; `None` at the start.
    pub fn report(&self) -> Option<&StepReport> {
        self.report.as_ref()
    }

    /// The controls.
    pub fn controls(&self) -> &[Control] {
        &self.controls
    }

    /// The spring that pulls a body, if one does.
    pub fn pull(&self) -> Option<&Pull> {
        self.pull.as_ref()
    }

    /// True if the run goes on.
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// Simulated time per real time.
    pub fn pace(&self) -> f64 {
        self.pace
    }

    /// Why the last step was not taken, if it was not.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Number of the present frame. It changes with the picture.
    pub fn version(&self) -> u64 {
        self.versions[0]
    }

    /// Number of the present page. It changes with the bodies and their shapes.
    pub fn page_version(&self) -> u64 {
        self.versions[1]
    }

    /// The recording of this run without frames.
    pub fn head(&self) -> Recording {
        self.scene.empty_recording(&self.params)
    }

    /// The page.
    ///
    /// # Errors
    ///
    /// If this build has no page.
    pub fn page(&self, sockets: &[String]) -> Result<String, quasistep_view::ViewError> {
        let live = json!({
            "kind": if self.posing { "poses" } else { "run" },
            "page": self.versions[1],
            "controls": self.controls.iter().map(Control::told).collect::<Vec<_>>(),
        });
        let mut head = self.scene.empty_recording(&self.params);
        // the columns of the page begin without commands
        head.frames.push(self.scene.frame(&self.state, None));
        quasistep_view::live_page(&head, &live, sockets)
    }

    /// The present frame for the page.
    pub fn bytes(&self) -> Vec<u8> {
        let pull = self.pull.as_ref();
        let point = |p: &Pull| self.frame.X_WB[p.body].transform_point(p.p_B);
        let force = pull.map_or(Vec3::ZERO, |p| p.force_W);
        quasistep_view::live_frame(&self.frame, [force, pull.map_or(Vec3::ZERO, point)])
    }

    /// What the page shows beside the frame. `ratio` is the measured pace.
    pub fn told(&self, ratio: Option<f64>, help: Option<&str>) -> Value {
        let mut told = json!({
            "playing": self.playing,
            "pace": self.pace,
            "ratio": ratio,
            "error": self.error,
            "help": help,
            "told": self.told,
            "page": self.versions[1],
        });
        if self.posing {
            told["overlaps"] = json!(self.overlaps());
        }
        told
    }

    /// The numbers that can be changed, as the page's program reads them.
    pub fn settings(&self) -> Value {
        if self.posing {
            return json!([]);
        }
        let all = self.scene.settings();
        all.iter().map(|s| json!({ "key": s.key, "value": s.value })).collect()
    }

    /// Pairs of bodies that overlap where they are, with the depth in m.
    pub fn overlaps(&self) -> Vec<(usize, usize, f64)> {
        let near = self.scene.system.near_pairs(&self.state.q, 0.0).unwrap_or_default();
        let deep = near.into_iter().filter(|(_, distance)| *distance < -OVERLAP);
        deep.map(|([a, b], distance)| (a, b, -distance)).collect()
    }
}

/// True if states and commands of one system are those of the other, too.
fn is_like(a: &Arc<System>, b: &Arc<System>) -> bool {
    let names = |system: &System| -> Vec<String> {
        system.model().bodies().iter().map(|body| body.name.clone()).collect()
    };
    let coordinates = |system: &System| {
        [system.model().coordinate_names(), system.model().dof_names(), system.command_names()]
    };
    names(a) == names(b) && coordinates(a) == coordinates(b)
}
