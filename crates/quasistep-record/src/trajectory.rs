//! The commands of a run as a joint trajectory, with the fields that robots' controllers read.

use crate::data::{Frame, Recording};
use crate::whole::write_whole;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Commands of joints over time: the fields of the ROS message `trajectory_msgs/JointTrajectory`, and what the
/// run says of the drives.
///
/// Between two points the velocities make a controller's cubic spline monotone (Fritsch and Carlson 1980):
/// it does not leave the range of the two positions. The robot stands still at both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Names of the joints: without their model, where that leaves them different.
    pub joint_names: Vec<String>,
    /// Times from the start of the run, in s, > 0: the ends of the steps.
    pub times: Vec<f64>,
    /// Commands at these times, an entry for each joint, in m or rad.
    pub positions: Vec<Vec<f64>>,
    /// Their rates, in m/s or rad/s.
    pub velocities: Vec<Vec<f64>>,
    /// Drive forces of the run at these times, in N or N·m.
    pub efforts: Vec<Vec<f64>>,
    /// Stiffness of each joint's spring, in N/m or N·m/rad; `None` of a joint that moves as prescribed.
    pub stiffness: Vec<Option<f64>>,
    /// Commands that no joint trajectory has: of frames, pads and switches.
    pub left_out: Vec<String>,
}

impl Trajectory {
    /// The commands of a recording; of one model alone if it is given. `stiffness` has that of springs by the
    /// name of the coordinate.
    ///
    /// # Errors
    ///
    /// A text that says what is missing: no step, no such model, or no joint with a command.
    pub fn of(
        recording: &Recording,
        stiffness: &BTreeMap<String, f64>,
        model: Option<&str>,
    ) -> Result<Self, String> {
        let is_of = |name: &str, model: &str| {
            name.strip_prefix(model).is_some_and(|rest| rest.starts_with('.'))
        };
        let commands: Vec<usize> = (0..recording.commands.len())
            .filter(|k| model.is_none_or(|model| is_of(&recording.commands[*k], model)))
            .collect();
        let is_joint = |k: &usize| recording.coordinates.contains(&recording.commands[*k]);
        let (joints, others): (Vec<usize>, Vec<usize>) = commands.into_iter().partition(is_joint);
        let full = |all: &[usize]| -> Vec<String> {
            all.iter().map(|k| recording.commands[*k].clone()).collect()
        };
        let names = full(&joints);
        if names.is_empty() {
            let of = model.map_or(String::new(), |model| format!(" of the model `{model}`"));
            let valid = recording.commands.join(", ");
            return Err(format!(
                "no joint{of} has a command; commands are: {}",
                if valid.is_empty() { "none" } else { &valid }
            ));
        }
        let steps: Vec<&Frame> =
            recording.frames.iter().filter(|frame| !frame.q_cmd.is_empty()).collect();
        let Some(start) = recording.frames.first().filter(|_| !steps.is_empty()) else {
            return Err("the run has no step".into());
        };
        let of_joints = |all: &[f64]| -> Vec<f64> { joints.iter().map(|k| all[*k]).collect() };
        let times: Vec<f64> = steps.iter().map(|frame| frame.t - start.t).collect();
        let positions: Vec<Vec<f64>> = steps.iter().map(|frame| of_joints(&frame.q_cmd)).collect();
        Ok(Self {
            velocities: monotone_rates(&times, &positions),
            efforts: steps.iter().map(|frame| of_joints(&frame.effort)).collect(),
            stiffness: names.iter().map(|name| stiffness.get(name).copied()).collect(),
            left_out: full(&others),
            joint_names: short(names),
            times,
            positions,
        })
    }

    /// Writes it: as YAML if the name ends in `.yml` or `.yaml`, else as JSON.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let is_yaml = file.extension().is_some_and(|e| e == "yml" || e == "yaml");
        let text = if is_yaml { self.to_yaml() } else { self.to_json() };
        write_whole(file, |out| io::Write::write_all(out, text.as_bytes()))
    }

    /// As JSON: `joint_trajectory` (the message), `stiffness` and `effort`.
    pub fn to_json(&self) -> String {
        let point = |k: usize| {
            let (sec, nanosec) = self.time(k);
            json!({
                "positions": self.positions[k], "velocities": self.velocities[k],
                "accelerations": [], "effort": [],
                "time_from_start": {"sec": sec, "nanosec": nanosec},
            })
        };
        let points: Vec<Value> = (0..self.times.len()).map(point).collect();
        let all = json!({
            "joint_trajectory": {
                "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
                "joint_names": self.joint_names,
                "points": points,
            },
            "stiffness": self.stiffness,
            "effort": self.efforts,
            "left_out": self.left_out,
        });
        format!("{all:#}\n")
    }

    /// As YAML, with the keys of [`to_json`](Self::to_json), a line for each list.
    pub fn to_yaml(&self) -> String {
        let mut text = String::from(
            "# positions in m or rad, velocities in m/s or rad/s\njoint_trajectory:\n  header: {stamp: {sec: 0, nanosec: 0}, frame_id: ''}\n",
        );
        let mut line = |line: String| {
            let _ = writeln!(text, "{line}");
        };
        line(format!("  joint_names: {}\n  points:", json!(self.joint_names)));
        for k in 0..self.times.len() {
            let (sec, nanosec) = self.time(k);
            line(format!("  - positions: {}", json!(self.positions[k])));
            line(format!("    velocities: {}", json!(self.velocities[k])));
            line(format!("    time_from_start: {{sec: {sec}, nanosec: {nanosec}}}"));
        }
        line(format!(
            "# of each joint's spring, in N/m or N·m/rad; null: it moves as prescribed\nstiffness: {}",
            json!(self.stiffness)
        ));
        line("# drive forces at the points, in N or N·m\neffort:".into());
        for efforts in &self.efforts {
            line(format!("- {}", json!(efforts)));
        }
        line(format!("# commands of no joint\nleft_out: {}", json!(self.left_out)));
        text
    }

    /// Whole seconds and the nanoseconds behind them.
    fn time(&self, k: usize) -> (u64, u64) {
        let nanoseconds = (self.times[k] * 1e9).round() as u64;
        (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
    }
}

/// Names without their model, if they stay different.
fn short(names: Vec<String>) -> Vec<String> {
    let own = |name: &String| name.split_once('.').map_or(name.as_str(), |(_, own)| own).to_owned();
    let all: Vec<String> = names.iter().map(own).collect();
    let is_unique = |name: &String| all.iter().filter(|other| *other == name).count() == 1;
    if all.iter().all(is_unique) { all } else { names }
}

/// Rates at the points of a monotone cubic spline: 0 at both ends and at turning points, else the harmonic mean of
/// the slopes on both sides.
fn monotone_rates(times: &[f64], positions: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let slope = |k: usize, joint: usize| {
        (positions[k][joint] - positions[k - 1][joint]) / (times[k] - times[k - 1])
    };
    let rate = |k: usize, joint: usize| {
        if k == 0 || k + 1 == times.len() {
            return 0.0;
        }
        let (before, after) = (slope(k, joint), slope(k + 1, joint));
        if before * after > 0.0 { 2.0 / (1.0 / before + 1.0 / after) } else { 0.0 }
    };
    let row = |k: usize| (0..positions[k].len()).map(|joint| rate(k, joint)).collect();
    (0..times.len()).map(row).collect()
}
