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
    let rows = quasistep_view::read_joint_rows(&file).unwrap();
    assert_eq!(rows.len(), 1 + N_FRAMES);
    assert_eq!(rows[0].last().unwrap(), "u.finger.slide");
    assert_eq!(rows[0][..8], recording.coordinates[..]);
    for (row, frame) in rows[1..].iter().zip(&recording.frames) {
        let q: Vec<f64> = row[..8].iter().map(|x| x.parse().unwrap()).collect();
        assert_eq!(q, frame.q);
        assert_eq!(row[8].parse().ok(), frame.q_cmd.first().copied());
    }
    for (bytes, says) in
        [(&b"nonsense"[..], "magic"), (&std::fs::read(&file).unwrap()[..9000], "ended")]
    {
        std::fs::write(&file, bytes).unwrap();
        let error = quasistep_view::read_joint_rows(&file).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // a cloud is left out, and nothing else
    quasistep_view::write_mcap(&scan(100, true), &file).unwrap();
    let scene = &messages(&std::fs::read(&file).unwrap())["/scene"].2[0];
    assert_eq!(scene["entities"].as_array().unwrap().len(), 1);
}
