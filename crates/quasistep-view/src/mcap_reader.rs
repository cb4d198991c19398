//! Reads joint states, commands and poses of bodies from MCAP files: of this package, of Foxglove, of ROS 2.
//!
//! | schema | encoding | what is read |
//! |---|---|---|
//! | `foxglove.JointStates` | `json` | positions by name; commands on a topic that ends in `joint_commands` |
//! | `sensor_msgs/msg/JointState` | `cdr` | the same |
//! | `control_msgs/msg/JointTrajectoryControllerState` | `cdr` | commands: the reference of the controller |
//! | `foxglove.FrameTransform`, `foxglove.FrameTransforms` | `json` | poses of frames in their parents |
//! | `tf2_msgs/msg/TFMessage` | `cdr` | the same; on a topic that ends in `tf_static` for all times |
//! | `foxglove.PoseInFrame` | `json` | pose of a body that has the last word of the topic as its name |
//! | `geometry_msgs/msg/PoseStamped` | `cdr` | the same |
//!
//! Messages have the time of their stamp, or that of the log if the stamp was not set.

use crate::ViewError;
use crate::cdr::Cdr;
use crate::foxglove::JOINT_STATES;
use mcap::read::LinearReader;
use mcap::records::Record;
use quasistep_math::{Pose, Quat, Vec3};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Largest MCAP file that is read, and most bytes that its chunks may become, in bytes.
const MOST_BYTES: u64 = 1 << 30;
const MOST_UNPACKED: u64 = 4 << 30;

/// Numbers over time: times in ns, ascending.
pub type Series = Vec<(i64, f64)>;
/// Poses of a frame over time: time in ns, the parent's name, pose in the parent.
pub type PoseSeries = Vec<(i64, String, Pose)>;

/// What an MCAP file says of motions, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McapMotion {
    /// Positions of joints, in m or rad.
    pub positions: BTreeMap<String, Series>,
    /// Commands of joints, in m or rad.
    pub commands: BTreeMap<String, Series>,
    /// Poses of frames.
    pub poses: BTreeMap<String, PoseSeries>,
    /// Poses that hold at all times.
    pub fixed: BTreeMap<String, (String, Pose)>,
}

/// A message.
struct Message<'a> {
    topic: &'a str,
    /// Time of the log, in ns.
    logged: i64,
    data: &'a [u8],
}

/// Reads joint states, commands and poses of an MCAP file.
///
/// # Errors
///
/// [`ViewError::Io`] if the file cannot be read; [`ViewError::Mcap`] if it is spoilt or has no such
/// message.
pub fn read_mcap(file: &Path) -> Result<McapMotion, ViewError> {
    let bytes = bytes_of(file).map_err(|e| ViewError::io(file, e))?;
    let bad = |problem: String| ViewError::Mcap { file: file.to_owned(), problem };
    check_size(&bytes).map_err(bad)?;
    let mut motion = McapMotion::default();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).map_err(|e| bad(e.to_string()))? {
        let message = message.map_err(|e| bad(e.to_string()))?;
        let channel = &message.channel;
        let schema = channel.schema.as_ref().map_or("", |schema| schema.name.as_str());
        let logged = message.log_time as i64;
        let own = Message { topic: &channel.topic, logged, data: &message.data };
        let understood = match channel.message_encoding.as_str() {
            "json" => motion.push_json(schema, &own),
            "cdr" => motion.push_cdr(schema, &own),
            _ => Ok(false),
        };
        match understood {
            Ok(true) => {}
            Ok(false) => *others.entry(schema.to_owned()).or_default() += 1,
            Err(why) => return Err(bad(format!("{} at {logged} ns: {why}", channel.topic))),
        }
    }
    motion.sort();
    if motion == McapMotion::default() {
        let seen: Vec<String> = others.iter().map(|(name, n)| format!("{n} of {name}")).collect();
        let seen = if seen.is_empty() { "none".into() } else { seen.join(", ") };
        return Err(bad(format!(
            "it has no positions or poses; messages seen: {seen}; read are {JOINT_STATES}, foxglove.FrameTransforms and foxglove.PoseInFrame as JSON, and sensor_msgs/msg/JointState, control_msgs/msg/JointTrajectoryControllerState, tf2_msgs/msg/TFMessage and geometry_msgs/msg/PoseStamped of ROS 2"
        )));
    }
    Ok(motion)
}

impl McapMotion {
    fn push_json(&mut self, schema: &str, message: &Message<'_>) -> Result<bool, String> {
        const KNOWN: [&str; 4] = [
            JOINT_STATES,
            "foxglove.FrameTransforms",
            "foxglove.FrameTransform",
            "foxglove.PoseInFrame",
        ];
        if !KNOWN.contains(&schema) {
            return Ok(false);
        }
        let value: Value = serde_json::from_slice(message.data).map_err(|e| e.to_string())?;
        let t = message.time(json_time(&value["timestamp"]));
        if schema == JOINT_STATES {
            for joint in value["joints"].as_array().into_iter().flatten() {
                if let (Some(name), Some(x)) = (joint["name"].as_str(), joint["position"].as_f64())
                {
                    self.joints(message.topic).entry(name.to_owned()).or_default().push((t, x));
                }
            }
            return Ok(true);
        }
        if schema == "foxglove.PoseInFrame" {
            let pose = json_pose(&value["pose"]["position"], &value["pose"]["orientation"])?;
            let parent = value["frame_id"].as_str().unwrap_or_default().to_owned();
            self.push_pose(message, last_word(message.topic), t, (parent, pose));
            return Ok(true);
        }
        let transforms = match &value["transforms"] {
            Value::Array(all) => &all[..],
            _ => std::slice::from_ref(&value),
        };
        for one in transforms {
            let t = message.time(json_time(&one["timestamp"]));
            let pose = json_pose(&one["translation"], &one["rotation"])?;
            let name = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            let child = name("child_frame_id");
            self.push_pose(message, &child, t, (name("parent_frame_id"), pose));
        }
        Ok(true)
    }

    fn push_cdr(&mut self, schema: &str, message: &Message<'_>) -> Result<bool, String> {
        let mut cdr = Cdr::new(message.data).ok_or("its bytes are no plain CDR")?;
        let read = match schema {
            "sensor_msgs/msg/JointState" => self.push_joints(&mut cdr, message, false),
            "control_msgs/msg/JointTrajectoryControllerState" => {
                self.push_joints(&mut cdr, message, true)
            }
            "tf2_msgs/msg/TFMessage" => self.push_transforms(&mut cdr, message),
            "geometry_msgs/msg/PoseStamped" => self.push_stamped(&mut cdr, message),
            _ => return Ok(false),
        };
        read.ok_or_else(|| format!("the bytes of the {schema} end early")).map(|()| true)
    }

    /// Header, names and positions: the start of both messages about joints.
    fn push_joints(
        &mut self,
        cdr: &mut Cdr<'_>,
        message: &Message<'_>,
        are_commands: bool,
    ) -> Option<()> {
        let (stamp, _) = cdr.header()?;
        let t = message.time(stamp);
        let names = cdr.list(Cdr::string)?;
        let positions = cdr.list(Cdr::f64)?;
        let all = if are_commands { &mut self.commands } else { self.joints(message.topic) };
        for (name, x) in names.into_iter().zip(positions) {
            all.entry(name).or_default().push((t, x));
        }
        Some(())
    }

    fn push_transforms(&mut self, cdr: &mut Cdr<'_>, message: &Message<'_>) -> Option<()> {
        let all = cdr.list(|cdr| {
            let (stamp, parent) = cdr.header()?;
            Some((stamp, parent, cdr.string()?, cdr.numbers::<7>()?))
        })?;
        for (stamp, parent, child, numbers) in all {
            let t = message.time(stamp);
            self.push_pose(message, &child, t, (parent, ros_pose(numbers)?));
        }
        Some(())
    }

    fn push_stamped(&mut self, cdr: &mut Cdr<'_>, message: &Message<'_>) -> Option<()> {
        let (stamp, parent) = cdr.header()?;
        let pose = ros_pose(cdr.numbers::<7>()?)?;
        self.push_pose(message, last_word(message.topic), message.time(stamp), (parent, pose));
        Some(())
    }

    /// Positions or commands, as the topic says.
    fn joints(&mut self, topic: &str) -> &mut BTreeMap<String, Series> {
        if topic.ends_with("joint_commands") { &mut self.commands } else { &mut self.positions }
    }

    fn push_pose(&mut self, message: &Message<'_>, child: &str, t: i64, at: (String, Pose)) {
        if message.topic.ends_with("tf_static") {
            self.fixed.insert(child.to_owned(), at);
        } else {
            self.poses.entry(child.to_owned()).or_default().push((t, at.0, at.1));
        }
    }

    /// Puts all series in the order of time; of messages of one time the last counts.
    fn sort(&mut self) {
        for series in self.positions.values_mut().chain(self.commands.values_mut()) {
            series.reverse();
            series.sort_by_key(|at| at.0);
            series.dedup_by_key(|at| at.0);
        }
        for series in self.poses.values_mut() {
            series.reverse();
            series.sort_by_key(|at| at.0);
            series.dedup_by_key(|at| at.0);
        }
    }
}

impl Message<'_> {
    /// Its time, in ns: that of its stamp if it was set.
    fn time(&self, stamp: i64) -> i64 {
        if stamp == 0 { self.logged } else { stamp }
    }
}

/// The name of the body that a topic about one pose speaks of: `box` of `/box`, `/box/pose` and `/tracker/box`.
fn last_word(topic: &str) -> &str {
    let own = topic.strip_suffix("/pose").unwrap_or(topic);
    own.rsplit('/').next().unwrap_or(own)
}

fn json_time(stamp: &Value) -> i64 {
    let part = |key: &str| stamp[key].as_i64().unwrap_or(0);
    part("sec") * 1_000_000_000 + part("nsec") + part("nanosec")
}

fn json_pose(position: &Value, rotation: &Value) -> Result<Pose, String> {
    let number = |of: &Value, key: &str| {
        of[key].as_f64().ok_or_else(|| format!("`{key}` of a pose is {}, not a number", of[key]))
    };
    let mut all = [0.0; 7];
    for (k, key) in ["x", "y", "z"].into_iter().enumerate() {
        all[k] = number(position, key)?;
        all[3 + k] = number(rotation, key)?;
    }
    all[6] = number(rotation, "w")?;
    ros_pose(all).ok_or_else(|| "a pose has no rotation: its quaternion is 0".into())
}

/// A pose from position and quaternion x, y, z, w. `None` if the quaternion has no direction.
fn ros_pose([x, y, z, qx, qy, qz, qw]: [f64; 7]) -> Option<Pose> {
    let norm = (qx * qx + qy * qy + qz * qz + qw * qw).sqrt();
    if !(norm > 1e-6 && norm.is_finite()) {
        return None;
    }
    // unit quaternions keep their bits
    let unit = if (norm - 1.0).abs() < 1e-12 { 1.0 } else { norm };
    let rotation = Quat { w: qw / unit, x: qx / unit, y: qy / unit, z: qz / unit };
    Some(Pose { rotation, translation: Vec3 { x, y, z } })
}

/// Refuses a file whose chunks claim to become too large. What is spoilt is left to the reader.
fn check_size(bytes: &[u8]) -> Result<(), String> {
    let size = |record: Record<'_>| match record {
        Record::Chunk { header, .. } => header.uncompressed_size,
        _ => 0,
    };
    let records = LinearReader::new(bytes).into_iter().flatten().map_while(Result::ok);
    let all = records.map(size).fold(0, u64::saturating_add);
    if all > MOST_UNPACKED {
        return Err(format!("its chunks become {all} bytes; at most {MOST_UNPACKED} are read"));
    }
    Ok(())
}

/// The bytes of a regular file of bounded length.
fn bytes_of(file: &Path) -> io::Result<Vec<u8>> {
    let about = std::fs::metadata(file)?;
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !about.is_file() {
        return refused("it is no file".into());
    }
    if about.len() > MOST_BYTES {
        return refused(format!("it has {} bytes; at most {MOST_BYTES} are read", about.len()));
    }
    std::fs::read(file)
}
