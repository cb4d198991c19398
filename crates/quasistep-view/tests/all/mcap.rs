//! MCAP files, read with the public reader.

use crate::common::{N_FRAMES, Scratch, push, scan};
use quasistep_record::{RecordedSensor, SensorKind};
use serde_json::Value;
use std::collections::BTreeMap;

/// Messages of a file by topic: schema, times in ns, contents.
fn messages(bytes: &[u8]) -> BTreeMap<String, (String, Vec<u64>, Vec<Value>)> {
    let mut all: BTreeMap<String, (String, Vec<u64>, Vec<Value>)> = BTreeMap::new();
    for message in ::mcap::MessageStream::new(bytes).unwrap() {
        let message = message.unwrap();
        let schema = message.channel.schema.as_ref().expect("every channel has a schema");
        assert_eq!(
            (schema.encoding.as_str(), message.channel.message_encoding.as_str()),
            ("jsonschema", "json")
        );
        let described: Value = serde_json::from_slice(&schema.data).unwrap();
        let value: Value = serde_json::from_slice(&message.data).unwrap();
        // every field is described
        for key in value.as_object().unwrap().keys() {
            assert!(described["properties"][key].is_object(), "{}: {key}", schema.name);
        }
        let topic = all.entry(message.channel.topic.clone()).or_default();
        topic.0.clone_from(&schema.name);
        topic.1.push(message.log_time);
        topic.2.push(value);
    }
    all
}

#[test]
fn a_file_has_poses_shapes_forces_joints_and_sensors() {
    let dir = Scratch::new("mcap");
    let (file, recorded) = (dir.file("run.mcap"), dir.file("recording.qsr"));
    let mut recording = push();
    recording.sensors = vec![RecordedSensor {
        name: "pad".into(),
        kind: SensorKind::Pressure,
        unit: "Pa".into(),
        shape: vec![1, 2],
        size: vec![0.1, 0.2],
    }];
    for frame in &mut recording.frames[1..] {
        frame.sensors = vec![1.0, frame.t];
    }
    quasistep_view::write_mcap(&recording, &file).unwrap();
    let all = messages(&std::fs::read(&file).unwrap());
    let counts: Vec<(&str, &str, usize)> =
        all.iter().map(|(topic, m)| (topic.as_str(), m.0.as_str(), m.2.len())).collect();
    let steps = N_FRAMES - 1;
    assert_eq!(
        counts,
        [
            ("/contacts", "foxglove.SceneUpdate", N_FRAMES),
            ("/joint_commands", "foxglove.JointStates", steps),
            ("/joint_states", "foxglove.JointStates", N_FRAMES),
            ("/scene", "foxglove.SceneUpdate", 1),
            ("/sensors/pad", "quasistep.Reading", steps),
            ("/tf", "foxglove.FrameTransforms", N_FRAMES),
        ]
    );
    for (_, times, _) in all.values() {
        assert!(times.windows(2).all(|t| t[0] < t[1]));
    }
    let at = |topic: &str, k: usize| &all[topic].2[k];
    // 4 s, the last frame: the box has moved 0.6 m
    let end = at("/tf", N_FRAMES - 1)["transforms"].as_array().unwrap();
    assert_eq!(end[0]["child_frame_id"], "box/body");
    assert_eq!(end[0]["timestamp"], serde_json::json!({"sec": 4, "nsec": 0}));
    let x = end[0]["translation"]["x"].as_f64().unwrap();
    assert!((x - recording.frames[N_FRAMES - 1].X_WB[1].translation.x).abs() < 1e-15, "{x}");
    let joint = &at("/joint_states", 20)["joints"][0];
    assert_eq!(joint["name"], "finger.slide");
    assert_eq!(joint["effort"].as_f64(), Some(recording.frames[20].effort[0]));
    assert_eq!(at("/sensors/pad", 9)["values"], serde_json::json!([1.0, recording.frames[10].t]));
    let entities = at("/scene", 0)["entities"].as_array().unwrap();
    // all but the collision shape
    assert_eq!(entities.len(), recording.shapes.len() - 1);
    let n = |list: &str| entities.iter().map(|e| e[list].as_array().unwrap().len()).sum::<usize>();
    assert_eq!(n("triangles"), 1);
    assert_eq!(n("cylinders"), 2, "the post, and the middle of the finger");
    assert_eq!(n("spheres"), 3, "the ball, and the ends of the finger");
    // arrows start at the contact points and point along the forces
    let arrows = at("/contacts", 40)["entities"][0]["arrows"].as_array().unwrap();
    assert_eq!(arrows.len(), 5);
    // the same from a file, whose contacts keep seven digits
    recording.write(&recorded).unwrap();
    quasistep_view::convert_to_mcap(&recorded, &file).unwrap();
    let again = messages(&std::fs::read(&file).unwrap());
    assert_eq!(again["/tf"], all["/tf"]);
    let error = quasistep_view::convert_to_mcap(&dir.file("none.qsr"), &file).unwrap_err();
    assert!(error.to_string().contains("nothing was written"), "{error}");
}

#[test]
fn joint_states_are_read_back() {
    let dir = Scratch::new("mcap-rows");
    let file = dir.file("run.mcap");
    let recording = push();
    quasistep_view::write_mcap(&recording, &file).unwrap();
    let motion = quasistep_view::read_mcap(&file).unwrap();
    assert_eq!(motion.positions.len(), recording.coordinates.len());
    assert_eq!(motion.commands.keys().collect::<Vec<_>>(), ["finger.slide"]);
    let times = |t: f64| (1e9 * t).round() as i64;
    for (k, name) in recording.coordinates.iter().enumerate() {
        let series: Vec<(i64, f64)> =
            recording.frames.iter().map(|frame| (times(frame.t), frame.q[k])).collect();
        assert_eq!(motion.positions[name], series);
    }
    let commands: Vec<(i64, f64)> =
        recording.frames[1..].iter().map(|frame| (times(frame.t), frame.q_cmd[0])).collect();
    assert_eq!(motion.commands["finger.slide"], commands);
    for (k, frame) in recording.frames.iter().enumerate() {
        let (t, parent, pose) = &motion.poses["box/body"][k];
        assert_eq!((*t, parent.as_str(), *pose), (times(frame.t), "world", frame.X_WB[1]));
    }
    for (bytes, says) in
        [(&b"nonsense"[..], "magic"), (&std::fs::read(&file).unwrap()[..9000], "ended")]
    {
        std::fs::write(&file, bytes).unwrap();
        let error = quasistep_view::read_mcap(&file).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // a cloud is left out, and nothing else
    quasistep_view::write_mcap(&scan(100, true), &file).unwrap();
    let scene = &messages(&std::fs::read(&file).unwrap())["/scene"].2[0];
    assert_eq!(scene["entities"].as_array().unwrap().len(), 1);
}

/// Bytes of a message of ROS 2: numbers aligned to their size behind four bytes.
struct Bytes {
    all: Vec<u8>,
    is_little: bool,
}

impl Bytes {
    fn new(is_little: bool) -> Self {
        Self { all: vec![0, u8::from(is_little), 0, 0], is_little }
    }

    fn number(&mut self, bytes: &[u8]) {
        while !(self.all.len() - 4).is_multiple_of(bytes.len()) {
            self.all.push(0);
        }
        if self.is_little {
            self.all.extend(bytes);
        } else {
            self.all.extend(bytes.iter().rev());
        }
    }

    fn u32(&mut self, x: u32) {
        self.number(&x.to_le_bytes());
    }

    fn f64s(&mut self, all: &[f64]) {
        for x in all {
            self.number(&x.to_le_bytes());
        }
    }

    fn string(&mut self, text: &str) {
        self.u32(text.len() as u32 + 1);
        self.all.extend(text.bytes());
        self.all.push(0);
    }

    fn header(&mut self, seconds: u32, nanoseconds: u32, frame: &str) {
        self.u32(seconds);
        self.u32(nanoseconds);
        self.string(frame);
    }
}

/// A file of messages of ROS 2: topic, schema, bytes; all logged at 7 s.
fn bag(messages: &[(&str, &str, Vec<u8>)], compression: Option<mcap::Compression>) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    let mut writer = mcap::WriteOptions::new().compression(compression).create(&mut out).unwrap();
    for (topic, schema, data) in messages {
        let id = writer.add_schema(schema, "ros2msg", b"").unwrap();
        let channel_id = writer.add_channel(id, topic, "cdr", &BTreeMap::new()).unwrap();
        let time = 7_000_000_000;
        let header = mcap::records::MessageHeader {
            channel_id,
            sequence: 0,
            log_time: time,
            publish_time: time,
        };
        writer.write_to_known_channel(&header, data).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    out.into_inner()
}

#[test]
fn messages_of_ros_are_read() {
    let dir = Scratch::new("mcap-ros");
    let file = dir.file("bag.mcap");
    let pose = [1.0, 2.0, 3.0, 0.0, 0.0, 2.0, 0.0];
    for is_little in [true, false] {
        let mut joints = Bytes::new(is_little);
        joints.header(3, 500, "base");
        joints.u32(2);
        joints.string("a");
        joints.string("elbow");
        joints.u32(2);
        joints.f64s(&[0.25, -1.5]);
        let mut told = Bytes::new(is_little);
        // no stamp: the time of the log
        told.header(0, 0, "");
        told.u32(1);
        told.string("elbow");
        told.u32(1);
        told.f64s(&[-1.0]);
        let mut transforms = Bytes::new(is_little);
        transforms.u32(1);
        transforms.header(4, 0, "camera");
        transforms.string("tag");
        transforms.f64s(&pose);
        let mut stamped = Bytes::new(is_little);
        stamped.header(5, 0, "world");
        stamped.f64s(&pose);
        let messages = [
            ("/joint_states", "sensor_msgs/msg/JointState", joints.all.clone()),
            ("/c/state", "control_msgs/msg/JointTrajectoryControllerState", told.all.clone()),
            ("/tf", "tf2_msgs/msg/TFMessage", transforms.all.clone()),
            ("/tf_static", "tf2_msgs/msg/TFMessage", transforms.all),
            ("/tracker/box/pose", "geometry_msgs/msg/PoseStamped", stamped.all),
            ("/rosout", "rcl_interfaces/msg/Log", vec![0, 1, 0, 0]),
        ];
        for compression in [None, Some(mcap::Compression::Zstd), Some(mcap::Compression::Lz4)] {
            std::fs::write(&file, bag(&messages, compression)).unwrap();
            let motion = quasistep_view::read_mcap(&file).unwrap();
            assert_eq!(motion.positions["a"], [(3_000_000_500, 0.25)]);
            assert_eq!(motion.positions["elbow"], [(3_000_000_500, -1.5)]);
            assert_eq!(motion.commands["elbow"], [(7_000_000_000, -1.0)]);
            let (t, parent, X) = &motion.poses["tag"][0];
            assert_eq!((*t, parent.as_str()), (4_000_000_000, "camera"));
            // x, y, z, then x, y, z, w, made a unit quaternion
            assert_eq!(X.translation, [1.0, 2.0, 3.0].into());
            assert_eq!((X.rotation.z, X.rotation.w), (1.0, 0.0));
            assert_eq!(motion.fixed["tag"], ("camera".to_owned(), *X));
            assert_eq!(motion.poses["box"][0].2, *X);
        }
        // messages that end early, and those of other kinds alone
        let short = ("/joint_states", messages[0].1, joints.all[..joints.all.len() - 8].to_vec());
        for (messages, says) in [
            (
                vec![short],
                "/joint_states at 7000000000 ns: the bytes of the sensor_msgs/msg/JointState end early",
            ),
            (
                messages[5..].to_vec(),
                "it has no positions or poses; messages seen: 1 of rcl_interfaces/msg/Log",
            ),
        ] {
            std::fs::write(&file, bag(&messages, None)).unwrap();
            let error = quasistep_view::read_mcap(&file).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
