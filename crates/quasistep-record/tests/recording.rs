//! Properties of the recording file and the tables.
#![allow(non_snake_case)] // frames in monogram notation

use quasistep_math::{Pose, Quat, Vec3};
use quasistep_record::{
    BodyRole, CONTACTS_HEADER, Contact, ContactKey, ContactsCsv, Curve, DeterminedSum, Digits,
    DrawnGeometry, DrawnShape, Finish, ForceUniqueness, Frame, GoalPose, Mode, MotionUniqueness,
    NamedFrame, RecordError, RecordedSensor, Recording, RecordingWriter, RunFolder, SensorKind,
    SensorsCsv, ShapeRole, SharedForce, StatesCsv, Uniqueness, write_contacts_csv,
    write_sensors_csv, write_states_csv, write_whole,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A file for one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir();
        Self(dir.join(format!("quasistep-record-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Numbers that are hard to print: long decimals, tiny, huge, negative zero, subnormal.
const AWKWARD: [f64; 8] =
    [1.0 / 3.0, 1e-17, -2.5e300, -0.0, 5e-324, 0.1 + 0.2, f64::MAX, -123456.789];

fn contact(k: usize) -> Contact {
    let v = |i: usize| AWKWARD[(k + i) % AWKWARD.len()];
    Contact {
        a: 0,
        b: 1,
        p_W: Vec3::new(v(0), v(1), v(2)),
        n_AB_W: Vec3::Z,
        phi: v(3),
        phi_next: v(4),
        normal_force: v(5).abs(),
        force_W: Vec3::new(v(6), v(7), v(0)),
        spin: v(1),
        roll_W: Vec3::new(v(2), v(3), v(4)),
        mode: Mode::ALL[k % 3],
        mu: 0.5,
        key: ContactKey { shape_a: k % 2, shape_b: 1, feature: 7 + k as u32 },
    }
}

fn sample() -> Recording {
    let shape = |name: &str, geometry| DrawnShape {
        body: 1,
        name: name.into(),
        X_BG: Pose::from_xyz_rpy([0.1, 1.0 / 3.0, -7.0], [0.3, 0.2, 0.1]),
        geometry,
        color: [0.1, 0.2, 0.3, 1.0],
        paint: None,
        role: ShapeRole::Both,
    };
    let mesh = DrawnGeometry::Mesh {
        vertices: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0 / 7.0, 0.0]],
        triangles: vec![[0, 1, 2]],
    };
    let points = vec![[0.1_f32, 1.0 / 3.0, -7.0e-12], [f32::MAX, f32::MIN_POSITIVE, -0.0]];
    let normals = vec![[0.0, 0.0, 1.0], [0.6, 0.8, 0.0]];
    let bare_scan = DrawnGeometry::Points { points: points.clone(), normals: vec![], width: 0.002 };
    let scan = DrawnGeometry::Points { points, normals, width: 0.001 };
    let frame = |k: usize| Frame {
        t: k as f64 * 0.1,
        X_WB: vec![Pose::IDENTITY, Pose::from_xyz_rpy([AWKWARD[k], 0.0, 1.0], [0.1, 0.2, 0.3])],
        q: (0..9).map(|i| AWKWARD[(i + k) % AWKWARD.len()]).collect(),
        v: (0..8).map(|i| AWKWARD[(3 * i + k) % AWKWARD.len()]).collect(),
        q_cmd: if k == 0 { vec![] } else { vec![AWKWARD[k]] },
        effort: if k == 0 { vec![] } else { vec![-AWKWARD[k]] },
        sensors: if k == 0 { vec![] } else { (0..11).map(|i| AWKWARD[(i + k) % 7]).collect() },
        contacts: (0..k).map(|i| contact(i + k)).collect(),
        uniqueness: (k > 1).then(|| answer(k / 4)),
    };
    Recording {
        scene: "scenes/test.yml".into(),
        title: "A \"title\" with </script> and ü".into(),
        time_step: 0.1,
        bodies: vec!["world".into(), "box/body".into()],
        roles: vec![BodyRole::Fixed, BodyRole::Free],
        collision_shapes: vec!["world/floor".into(), "box/body/0".into()],
        shapes: vec![
            shape("ball", DrawnGeometry::Sphere { radius: 0.5 }),
            shape("box", DrawnGeometry::Box { half: [0.1, 0.2, 0.3] }),
            shape("capsule", DrawnGeometry::Capsule { radius: 0.1, half_length: 0.0 }),
            shape("cylinder", DrawnGeometry::Cylinder { radius: 0.1, half_length: 0.2 }),
            shape("floor", DrawnGeometry::HalfSpace),
            shape("mesh", mesh),
            shape("scan", scan),
            shape("bare scan", bare_scan),
        ],
        named_frames: vec![NamedFrame {
            name: "box/lid".into(),
            body: 1,
            X_BF: Pose::from_xyz_rpy([1.0 / 3.0, 0.0, -7.0], [0.3, 0.2, 0.1]),
        }],
        goals: vec![GoalPose { body: 1, X_WB: Pose::from_xyz_rpy([0.1; 3], [1.0, 0.0, 2.0]) }],
        curves: vec![Curve {
            title: "Cost".into(),
            name: "cost".into(),
            times: vec![0.0, 0.1],
            values: vec![1.0 / 3.0, -0.0],
            beside: Some(("bound".into(), vec![0.0; 2])),
        }],
        coordinates: ["a.x", "a.y", "b.qw", "b.qx", "b.qy", "b.qz", "b.x", "b.y", "b.z"]
            .map(String::from)
            .to_vec(),
        units: ["m", "rad", "", "", "", "", "m", "m", "m"].map(String::from).to_vec(),
        dofs: ["a.x", "a.y", "b.wx", "b.wy", "b.wz", "b.vx", "b.vy", "b.vz"]
            .map(String::from)
            .to_vec(),
        commands: vec!["a.x".into()],
        sensors: vec![
            sensor("wrist", SensorKind::ForceTorque, "N, N·m", &[6]),
            sensor("pad", SensorKind::Pressure, "Pa", &[2, 2]),
            sensor("range", SensorKind::Proximity, "m", &[]),
        ],
        frames: (0..6).map(frame).collect(),
        finish: Finish::Stopped { reason: "contact problem not solved".into() },
    }
}

fn sensor(name: &str, kind: SensorKind, unit: &str, shape: &[usize]) -> RecordedSensor {
    let size = if kind == SensorKind::Pressure { vec![0.02, 0.03] } else { vec![] };
    RecordedSensor { name: name.into(), kind, unit: unit.into(), shape: shape.to_vec(), size }
}

/// Uniqueness answers for tests: the full content, or only "unique".
fn answer(kind: usize) -> Uniqueness {
    if kind > 0 {
        return Uniqueness {
            motion: MotionUniqueness::Unique,
            forces: ForceUniqueness::Unknown,
            text: "the motion is the only one".into(),
        };
    }
    let contacts = vec![SharedForce { contact: 1, normal_is_unique: true }];
    let sums = vec![DeterminedSum { body: 1, contacts: vec![0, 1], axes: "xz".into() }];
    Uniqueness {
        motion: MotionUniqueness::Free {
            bodies: vec![1],
            direction: vec![("b.vx".into(), 1.0), ("b.wy".into(), -1.0 / 3.0)],
        },
        forces: ForceUniqueness::Shared { contacts, joints: vec!["a.x".into()], sums },
        text: "`box/body` may as well move".into(),
    }
}

/// Bits of all numbers, so that −0 and 0 differ.
fn bits(r: &Recording) -> Vec<u64> {
    let mut out = Vec::new();
    for f in &r.frames {
        let poses = f.X_WB.iter().flat_map(|X| {
            let (q, p) = (X.rotation.to_array(), X.translation.to_array());
            q.into_iter().chain(p).collect::<Vec<_>>()
        });
        let contacts = f.contacts.iter().flat_map(|c| {
            let numbers = [c.phi, c.phi_next, c.normal_force, c.spin, c.mu];
            let vectors = [c.p_W, c.n_AB_W, c.force_W, c.roll_W].map(Vec3::to_array);
            numbers.into_iter().chain(vectors.into_iter().flatten()).collect::<Vec<_>>()
        });
        let all =
            std::iter::once(f.t).chain(poses).chain(f.q.clone()).chain(f.v.clone()).chain(contacts);
        let forces = f.q_cmd.iter().chain(&f.effort).chain(&f.sensors).copied();
        out.extend(all.chain(forces).map(f64::to_bits));
    }
    out
}

/// A recording written to bytes with all digits, and read back.
fn through_bytes(recording: &Recording) -> Recording {
    Recording::from_bytes(&recording.to_bytes().unwrap(), "test".as_ref()).unwrap()
}

#[test]
fn a_recording_in_memory_keeps_all_bits() {
    let recording = sample();
    let back = through_bytes(&recording);
    assert_eq!(back, recording);
    assert_eq!(bits(&back), bits(&recording));
    let empty = Recording { frames: vec![], finish: Finish::Done, ..sample() };
    assert_eq!(through_bytes(&empty), empty);
}

/// A file keeps states and commands to the bit, and contacts to single precision.
#[test]
fn a_file_keeps_states_to_the_bit_and_contacts_to_seven_digits() {
    let file = Scratch::new("round-trip.qsr");
    let recording = sample();
    recording.write(&file.0).unwrap();
    let back = Recording::read(&file.0).unwrap();
    let states = |r: &Recording| {
        let mut r = r.clone();
        r.frames.iter_mut().for_each(|f| f.contacts.clear());
        r
    };
    assert_eq!(states(&back), states(&recording));
    assert_eq!(bits(&states(&back)), bits(&states(&recording)));
    let contacts = |r: &Recording| {
        let mut r = r.clone();
        let single = |v: f64| f64::from(v.clamp(f32::MIN.into(), f32::MAX.into()) as f32);
        for c in r.frames.iter_mut().flat_map(|f| &mut f.contacts) {
            for number in [&mut c.phi, &mut c.phi_next, &mut c.normal_force, &mut c.spin, &mut c.mu]
            {
                *number = single(*number);
            }
            for vector in [&mut c.p_W, &mut c.n_AB_W, &mut c.force_W, &mut c.roll_W] {
                let [x, y, z] = vector.to_array().map(single);
                *vector = Vec3::new(x, y, z);
            }
        }
        r
    };
    assert_eq!(bits(&back), bits(&contacts(&recording)));
    // numbers already rounded to single precision do not change again
    back.write(&file.0).unwrap();
    assert_eq!(bits(&Recording::read(&file.0).unwrap()), bits(&back));
}

/// Contacts at rest take a few bytes each: 200 frames with 100 contacts.
#[test]
fn a_long_recording_stays_small() {
    let file = Scratch::new("size.qsr");
    let mut recording = sample();
    let contact = |k: usize, i: usize| Contact {
        // constant except for solver noise in the last digits
        p_W: Vec3::new(1.0 / 3.0, i as f64 / 7.0, 1.0 / 11.0 + k as f64 * 1e-15),
        n_AB_W: Vec3::new(0.6, 0.0, 0.8),
        phi: (k * 37 % 11) as f64 * 1e-12,
        phi_next: 0.0,
        normal_force: 10.0 / 3.0 + i as f64,
        force_W: Vec3::new(1.0 / 13.0, i as f64 / 17.0, 1.0 / 19.0),
        spin: 0.0,
        roll_W: Vec3::ZERO,
        ..contact(0)
    };
    let first = recording.frames[1].clone();
    let step = |k: usize| Frame {
        t: k as f64 * 0.1,
        contacts: (0..100).map(|i| contact(k, i)).collect(),
        ..first.clone()
    };
    recording.frames.truncate(1);
    recording.frames.extend((1..=200).map(step));
    recording.write(&file.0).unwrap();
    let size = std::fs::metadata(&file.0).unwrap().len();
    assert!(size < 20 * 200 * 100, "{size} bytes");
}

/// Blocks already written can be read before the run ends.
#[test]
fn a_file_that_grows_is_read_up_to_its_last_block() {
    let recording = sample();
    let mut writer = RecordingWriter::new(Vec::new(), &recording, Digits::All).unwrap();
    for frame in &recording.frames[..4] {
        writer.append(frame.clone()).unwrap();
    }
    writer.flush().unwrap();
    writer.append(recording.frames[4].clone()).unwrap();
    let whole = writer.finish(&Finish::Done).unwrap();
    let frames_at = |bytes: &[u8]| {
        let back = Recording::from_bytes(bytes, "test".as_ref());
        back.map(|r| {
            assert_eq!(r.frames, recording.frames[..r.frames.len()]);
            (r.frames.len(), r.finish)
        })
    };
    assert_eq!(frames_at(&whole).unwrap(), (5, Finish::Done));
    let mut counts = std::collections::BTreeSet::new();
    for cut in 0..whole.len() {
        match frames_at(&whole[..cut]) {
            Ok((n, finish)) => {
                let Finish::Stopped { reason } = finish else { panic!("{n} frames are not all") };
                let where_to = match n {
                    0 => "here".to_owned(),
                    _ => format!("after t = {} s", recording.frames[n - 1].t),
                };
                assert_eq!(reason, format!("the recording is cut off {where_to}"));
                counts.insert(n);
            }
            // the head is incomplete
            Err(e) => assert!(counts.is_empty(), "{e}"),
        }
    }
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [0, 4, 5]);
}

/// A recording larger than the memory limit is read as every second, fourth, … frame, and the last
/// one.
#[test]
fn a_long_recording_is_read_within_bounds() {
    let file = Scratch::new("within.qsr");
    let mut recording = sample();
    let step = recording.frames[1].clone();
    recording.frames.truncate(1);
    recording.frames.extend((1..=1000).map(|k| Frame { t: f64::from(k), ..step.clone() }));
    recording.write(&file.0).unwrap();
    let (all, every) = Recording::read_within(&file.0, usize::MAX).unwrap();
    assert_eq!((all.frames.len(), every), (1001, 1));
    let most = 200 * step.memory();
    let (some, every) = Recording::read_within(&file.0, most).unwrap();
    assert!(some.frames.iter().map(Frame::memory).sum::<usize>() <= most + step.memory());
    assert_eq!(every, 8);
    let times: Vec<f64> = some.frames[1..].iter().map(|frame| frame.t).collect();
    assert_eq!(times[..3], [8.0, 16.0, 24.0]);
    assert_eq!(times.last(), Some(&1000.0));
    assert_eq!(some.finish, all.finish);
}

/// A writer that fails leaves the old file, and no other file.
#[test]
fn a_file_is_replaced_as_a_whole() {
    let dir = Scratch::new("whole");
    std::fs::create_dir_all(&dir.0).unwrap();
    let file = dir.0.join("text");
    write_whole(&file, |out| out.write_all(b"old")).unwrap();
    let failed = write_whole(&file, |out| {
        out.write_all(b"half")?;
        Err(std::io::Error::other("no more"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "no more");
    assert_eq!(std::fs::read(&file).unwrap(), b"old");
    write_whole(&file, |out| out.write_all(b"new")).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"new");
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 1);
    std::fs::remove_dir_all(&dir.0).unwrap();
}

/// Only one run writes into a folder at a time, and foreign files stay.
#[test]
fn a_folder_has_one_run_and_keeps_the_files_of_others() {
    let dir = Scratch::new("folder");
    std::fs::create_dir_all(&dir.0).unwrap();
    std::fs::write(dir.0.join("notes.txt"), "mine").unwrap();
    let first = RunFolder::open(&dir.0).unwrap();
    assert!(matches!(RunFolder::open(&dir.0), Err(RecordError::Busy { .. })));
    std::fs::write(first.place().join("recording.qsr"), "1").unwrap();
    std::fs::write(first.place().join("states.csv"), "1").unwrap();
    assert_eq!(RunFolder::unfinished(&dir.0), Some(first.place()));
    first.publish().unwrap();
    let second = RunFolder::open(&dir.0).unwrap();
    std::fs::write(second.place().join("recording.qsr"), "2").unwrap();
    // not published: the first run's file is unchanged
    drop(second);
    assert_eq!(std::fs::read(dir.0.join("recording.qsr")).unwrap(), b"1");
    let third = RunFolder::open(&dir.0).unwrap();
    std::fs::write(third.place().join("recording.qsr"), "3").unwrap();
    third.publish().unwrap();
    let mut names: Vec<_> =
        std::fs::read_dir(&dir.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["notes.txt", "recording.qsr"]);
    assert_eq!(std::fs::read(dir.0.join("recording.qsr")).unwrap(), b"3");
    std::fs::remove_dir_all(&dir.0).unwrap();
}

/// Start of each block of a file, and start of its contents.
fn blocks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut at = 12;
    let mut found = Vec::new();
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at + 9..at + 17].try_into().unwrap()) as usize;
        found.push((at, at + 17));
        at += 17 + length;
    }
    found
}

/// Error message of reading these bytes.
fn refusal(bytes: &[u8]) -> String {
    let file = Scratch::new("spoilt.qsr");
    std::fs::write(&file.0, bytes).unwrap();
    let error = Recording::read(&file.0).unwrap_err().to_string();
    assert!(error.contains(file.0.file_name().unwrap().to_str().unwrap()), "no file in: {error}");
    error
}

/// Error message of reading a recording in which one part was changed after its check.
fn written_badly(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = sample().to_bytes().unwrap();
    change(&mut bytes);
    refusal(&bytes)
}

#[test]
fn reading_refuses_what_it_does_not_know() {
    for version in [6_u8, 10] {
        let error = written_badly(|bytes| bytes[8] = version);
        let wanted = format!(
            "recording version {version}; this program reads versions 7 to 9; run the scene again"
        );
        assert!(error.ends_with(&wanted), "{error}");
    }
    let error = written_badly(|bytes| bytes[0] = b'{');
    assert!(error.contains("it does not begin with `quasirec`"), "{error}");
    let error = written_badly(|bytes| bytes.truncate(10));
    assert!(error.contains("it ends in its version"), "{error}");
    let error = written_badly(|bytes| bytes.truncate(40));
    assert!(error.contains("it ends in its head"), "{error}");
    let error = written_badly(|bytes| {
        let (kind, _) = blocks(bytes)[1];
        bytes[kind] = b'X';
    });
    assert!(error.contains("kind `X` is not expected here"), "{error}");
}

/// Damaged bytes give an error that names the block, or the same recording; never a panic or much
/// memory.
#[test]
fn reading_refuses_spoilt_bytes() {
    let bytes = sample().to_bytes().unwrap();
    let places = blocks(&bytes);
    for &(block, inside) in &places {
        for at in [block + 1, block + 8, inside, inside + 5] {
            let error = written_badly(|b| b[at] ^= 0x5a);
            assert!(error.contains(&format!("block at byte {block}: ")), "byte {at}: {error}");
        }
    }
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut spoilt = bytes.clone();
            spoilt[at] ^= change;
            if let Ok(back) = Recording::from_bytes(&spoilt, "test".as_ref()) {
                assert!(back.check().is_ok());
            }
        }
    }
}

#[test]
fn dots_that_do_not_fit_are_refused() {
    let refused = |change: fn(&mut DrawnGeometry), words: &str| {
        let mut recording = sample();
        let shape = recording.shapes.iter_mut().find(|s| s.name == "scan").unwrap();
        change(&mut shape.geometry);
        let error = recording.check().unwrap_err();
        assert!(error.contains("shape `scan`") && error.contains(words), "{error}");
    };
    refused(
        |g| {
            if let DrawnGeometry::Points { normals, .. } = g {
                normals.pop();
            }
        },
        "1 normals; expected 2",
    );
    refused(
        |g| {
            if let DrawnGeometry::Points { points, .. } = g {
                points[1][2] = f32::NAN;
            }
        },
        "NaN",
    );
    refused(
        |g| {
            if let DrawnGeometry::Points { width, .. } = g {
                *width = 0.0;
            }
        },
        "width 0",
    );
}

#[test]
fn recordings_that_do_not_fit_are_refused() {
    let refused = |change: fn(&mut Recording), words: &str| {
        let mut recording = sample();
        change(&mut recording);
        let error = recording.to_bytes().unwrap_err();
        assert!(error.contains(words), "{error}");
    };
    refused(|r| r.bodies.truncate(1), "body 1");
    refused(|r| r.frames[2].contacts[0].a = 5, "contact 0 is between bodies 5 and 1 of 2");
    refused(|r| r.bodies[0] = "box".into(), "body 0 is `box`; it must be `world`");
    refused(|r| r.time_step = 0.0, "time step is 0");
    refused(
        |r| r.shapes[0].geometry = DrawnGeometry::Sphere { radius: -0.5 },
        "shape `ball`: radius -0.5",
    );
    refused(
        |r| {
            if let DrawnGeometry::Mesh { triangles, .. } = &mut r.shapes[5].geometry {
                triangles[0][2] = 3;
            }
        },
        "triangle corner 3 of 3 vertices",
    );
}

#[test]
fn a_missing_file_is_named() {
    let file = Scratch::new("missing.qsr");
    let error = Recording::read(&file.0).unwrap_err();
    assert!(matches!(&error, RecordError::Io { .. }));
    assert!(error.to_string().contains("missing.qsr"), "{error}");
}

#[test]
fn writing_refuses_what_is_no_number() {
    let file = Scratch::new("nan.qsr");
    let mut recording = sample();
    recording.frames[2].effort[0] = f64::NAN;
    let error = recording.write(&file.0).unwrap_err().to_string();
    assert!(error.contains("frame 2: effort holds NaN"), "{error}");
    assert!(!file.0.exists(), "a refused recording leaves no file");
    let mut recording = sample();
    recording.frames[3].q.pop();
    let error = recording.write(&file.0).unwrap_err().to_string();
    assert!(error.contains("frame 3: 8 coordinates; expected 9"), "{error}");
}

#[test]
fn states_table_has_the_promised_columns_and_times() {
    let file = Scratch::new("states.csv");
    let recording = sample();
    write_states_csv(&recording, &file.0).unwrap();
    let text = std::fs::read_to_string(&file.0).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "t,a.x,a.y,b.qw,b.qx,b.qy,b.qz,b.x,b.y,b.z,\
         v.a.x,v.a.y,v.b.wx,v.b.wy,v.b.wz,v.b.vx,v.b.vy,v.b.vz"
    );
    assert_eq!(lines.len(), 7);
    // 3 h is 0.30000000000000004 in floating point
    let times: Vec<&str> = lines[1..].iter().map(|l| l.split(',').next().unwrap()).collect();
    assert_eq!(times, ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
    let x: Vec<f64> =
        lines[1..].iter().map(|l| l.split(',').nth(1).unwrap().parse().unwrap()).collect();
    for (row, frame) in x.iter().zip(&recording.frames) {
        assert_eq!(row.to_bits(), frame.q[0].to_bits());
    }
}

/// q and −q are the same rotation; the table does not jump between them.
#[test]
fn quaternions_in_the_states_table_are_continuous_in_sign() {
    let coordinates = ["j", "b.qw", "b.qx", "b.qy", "b.qz"].map(String::from);
    let bare = Frame {
        t: 0.0,
        X_WB: vec![],
        q: vec![],
        v: vec![],
        q_cmd: vec![],
        effort: vec![],
        sensors: vec![],
        contacts: vec![],
        uniqueness: None,
    };
    let mut out = Vec::new();
    let mut table = StatesCsv::new(&mut out, &coordinates, &[]).unwrap();
    for k in 0..40 {
        // more than a full turn, with signs that from_axis_angle does not give
        let q = Quat::from_axis_angle(Vec3::X, f64::from(k) * 0.3).to_array();
        let sign = if k % 3 == 0 { 1.0 } else { -1.0 };
        let q = std::iter::once(-1.0).chain(q.map(|c| sign * c)).collect();
        let frame = Frame { t: 0.0, q, ..bare.clone() };
        table.append(&frame).unwrap();
    }
    let text = String::from_utf8(out).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
    for pair in rows.windows(2) {
        let jump: f64 = (2..6).map(|i| (pair[1][i] - pair[0][i]).powi(2)).sum::<f64>().sqrt();
        // one step rotates by 0.3 rad: the chord is 2 sin(0.075)
        assert!((jump - 2.0 * 0.075_f64.sin()).abs() < 1e-12, "jump {jump}");
        assert_eq!(pair[1][1], -1.0, "other columns keep their sign");
    }
}

#[test]
fn contacts_table_has_the_promised_columns() {
    let file = Scratch::new("contacts.csv");
    let mut recording = sample();
    recording.bodies[1] = "odd, \"name\"".into();
    write_contacts_csv(&recording, &file.0).unwrap();
    let text = std::fs::read_to_string(&file.0).unwrap();
    let mut lines = text.lines();
    let header = "t,a,b,px,py,pz,nx,ny,nz,phi,phi_next,fn,fx,fy,fz,spin,mode,shape_a,shape_b,feature,rollx,rolly,rollz,mu";
    assert_eq!(lines.next(), Some(header));
    assert_eq!(CONTACTS_HEADER.split(',').count(), 24);
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("0.1,world,\"odd, \"\"name\"\"\",1e-17,-2.5e300,-0,0,0,1,"),
        "{first}"
    );
    let last = ",1e-17,-2.5e300,stick,box/body/0,box/body/0,8,-0,5e-324,0.30000000000000004,0.5";
    assert!(first.ends_with(last), "{first}");
    assert_eq!(text.lines().count(), 1 + (1 + 2 + 3 + 4 + 5));
}

#[test]
fn sensors_table_has_a_column_per_reading_and_a_row_per_step() {
    let file = Scratch::new("sensors.csv");
    let recording = sample();
    write_sensors_csv(&recording, &file.0).unwrap();
    let text = std::fs::read_to_string(&file.0).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "t,wrist.fx,wrist.fy,wrist.fz,wrist.tx,wrist.ty,wrist.tz,pad.0.0,pad.0.1,pad.1.0,pad.1.1,range"
    );
    assert_eq!(lines.len(), 6, "the start has no readings");
    let row: Vec<f64> = lines[3].split(',').map(|v| v.parse().unwrap()).collect();
    assert_eq!(row[0], 0.3);
    let bits = |row: &[f64]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&row[1..]), bits(&recording.frames[3].sensors));
    let (pad, range) = recording.sensor("pad").unwrap();
    assert_eq!((pad.len(), range), (4, 6..10));
}

/// A file that a program of version 7 wrote, of three steps of a pinched box.
#[test]
fn recordings_of_the_former_version_are_read() {
    let bytes = include_bytes!("data/version7.qsr");
    assert_eq!(bytes[8], 7);
    let back = Recording::from_bytes(bytes, Path::new("r")).unwrap();
    assert_eq!(back.frames.len(), 4);
    assert_eq!(back.sensors, []);
    let forces = |k: usize| back.frames[k].contacts.iter().map(|c| c.normal_force).sum::<f64>();
    // N: from the contacts.csv of the same run
    assert_eq!([1, 2, 3].map(|k| back.frames[k].contacts.len()), [8; 3]);
    assert!((forces(3) - 6.0).abs() < 1e-5);
}

/// Version 8 has no roles, named frames, goals and curves.
#[test]
fn recordings_without_named_frames_are_read() {
    let none = Recording {
        roles: vec![],
        named_frames: vec![],
        goals: vec![],
        curves: vec![],
        ..sample()
    };
    let mut bytes = none.to_bytes().unwrap();
    bytes[8] = 8;
    assert_eq!(Recording::from_bytes(&bytes, Path::new("r")).unwrap(), none);
}

#[test]
fn named_frames_goals_and_curves_are_checked() {
    let refused = |change: fn(&mut Recording)| {
        let mut recording = sample();
        change(&mut recording);
        recording.to_bytes().unwrap_err()
    };
    assert_eq!(refused(|r| r.named_frames[0].body = 2), "frame `box/lid`: body 2 of 2");
    assert_eq!(refused(|r| r.roles.truncate(1)), "1 roles; expected 2");
    assert_eq!(refused(|r| r.goals[0].body = 7), "the goal of body 7: body 7 of 2");
    assert_eq!(
        refused(|r| r.named_frames[0].X_BF.translation.x = f64::NAN),
        "frame `box/lid`: pose holds NaN; every number must be finite"
    );
    assert_eq!(refused(|r| r.curves[0].times.push(1.0)), "curve `cost`: 2 values; expected 3");
    let beside = |r: &mut Recording| r.curves[0].beside = Some(("bound".into(), vec![1.0]));
    assert_eq!(refused(beside), "curve `cost`: 1 bound; expected 2");
}

/// A frame that a Cartesian spring pulls, and a pad, have commands without a coordinate.
#[test]
fn commands_without_a_coordinate_are_recorded() {
    let mut recording = sample();
    recording.commands[0] = "arm/hand.x".into();
    let back = through_bytes(&recording);
    assert_eq!(back.commands[0], "arm/hand.x");
    assert_eq!(bits(&back), bits(&recording));
}

#[test]
fn contacts_that_repeat_those_of_the_frame_before_take_no_room() {
    let mut recording = sample();
    recording.frames.iter_mut().for_each(|frame| frame.uniqueness = None);
    let last = recording.frames.last().unwrap().clone();
    let one = |n: usize| {
        let mut long = recording.clone();
        long.frames.extend((1..=n).map(|k| Frame { t: last.t + k as f64, ..last.clone() }));
        long
    };
    let [short, long] = [one(1), one(60)];
    for recording in [&short, &long] {
        let back = Recording::from_bytes(&recording.to_bytes().unwrap(), Path::new("r")).unwrap();
        assert_eq!(bits(&back), bits(recording));
    }
    let mut changing = long.clone();
    for (k, frame) in changing.frames.iter_mut().enumerate() {
        frame.contacts.iter_mut().for_each(|c| c.phi += 1e-9 * k as f64);
    }
    let mut without = long.clone();
    let repeated = sample().frames.len();
    without.frames[repeated..].iter_mut().for_each(|frame| frame.contacts.clear());
    let size = |r: &Recording| r.to_bytes().unwrap().len();
    let [same, all] = [&long, &changing].map(|r| size(r) - size(&without));
    assert!(4 * same < all, "{same} bytes of contacts; {all} where they change");
    // a change of one bit, of one contact alone, is kept
    recording = long;
    let contacts = &mut recording.frames.last_mut().unwrap().contacts;
    let changed = contacts.last_mut().unwrap();
    changed.phi = f64::from_bits(changed.phi.to_bits() ^ 1);
    let back = Recording::from_bytes(&recording.to_bytes().unwrap(), Path::new("r")).unwrap();
    assert_eq!(bits(&back), bits(&recording));
}

#[test]
fn readings_that_do_not_fit_their_sensors_are_refused() {
    let refused = |change: fn(&mut Recording)| {
        let mut recording = sample();
        change(&mut recording);
        recording.check().unwrap_err()
    };
    let seen = refused(|r| r.frames[2].sensors.truncate(10));
    assert_eq!(seen, "frame 2: 10 readings of sensors; expected 11");
    let seen = refused(|r| r.frames[1].sensors[3] = f64::NAN);
    assert_eq!(seen, "frame 1: sensors holds NaN; every number must be finite");
    let seen = refused(|r| r.sensors[0].shape = vec![5]);
    assert!(seen.starts_with("sensor `wrist`: readings of shape [5]"), "{seen}");
    let seen = refused(|r| r.sensors[1].shape = vec![1 << 20, 1 << 50]);
    assert!(seen.starts_with("sensor `pad`: readings of shape"), "{seen}");
    let seen = refused(|r| r.sensors[1].size = vec![1.0, 0.0]);
    assert_eq!(seen, "sensor `pad`: edge 0; it must be > 0 m");
}

#[test]
fn tables_refuse_frames_that_do_not_fit() {
    let recording = sample();
    let mut table =
        StatesCsv::new(Vec::new(), &recording.coordinates[..3], &recording.dofs).unwrap();
    let error = table.append(&recording.frames[0]).unwrap_err().to_string();
    assert_eq!(error, "a frame of 9 coordinates in a table of 3");
    let mut table = SensorsCsv::new(Vec::new(), &recording.sensors[1..]).unwrap();
    let error = table.append(&recording.frames[1]).unwrap_err().to_string();
    assert_eq!(error, "a frame of 11 readings in a table of 5");
    let shapes = &recording.collision_shapes;
    let mut table = ContactsCsv::new(Vec::new(), &recording.bodies[..1], shapes).unwrap();
    let error = table.append(&recording.frames[1]).unwrap_err().to_string();
    assert_eq!(error, "a contact between bodies 0 and 1 of 1");
    let mut table = ContactsCsv::new(Vec::new(), &recording.bodies, &shapes[..1]).unwrap();
    let error = table.append(&recording.frames[1]).unwrap_err().to_string();
    assert_eq!(error, "a contact between shapes 1 and 1 of 1");
}

/// The force of a pair does not depend on which body is A, and normal forces from two sides add up.
#[test]
fn pair_forces_do_not_depend_on_the_order_of_the_pair() {
    let touch = |a, b, f: f64| Contact {
        a,
        b,
        n_AB_W: Vec3::X,
        normal_force: f.abs(),
        force_W: Vec3::new(f, 0.5, 0.0),
        ..contact(0)
    };
    let frame = Frame {
        contacts: vec![touch(0, 1, 2.0), touch(1, 0, 3.0), touch(1, 2, 7.0)],
        ..sample().frames[1].clone()
    };
    assert_eq!(frame.contact_force(0, 1), Vec3::new(-1.0, 0.0, 0.0));
    assert_eq!(frame.contact_force(1, 0), Vec3::new(1.0, 0.0, 0.0));
    let recording = Recording { frames: vec![frame], ..sample() };
    assert_eq!(recording.contact_pairs(), [(0, 1), (1, 2)]);
}

#[test]
fn names_find_their_columns() {
    let recording = sample();
    assert_eq!(recording.coordinate("b.qz"), Some(5));
    assert_eq!(recording.coordinate("nothing"), None);
    assert_eq!(recording.command("a.x"), Some(0));
    assert_eq!(recording.body("box/body"), Some(1));
}

/// Uniqueness answers are written when they change, and refused if they are inconsistent.
#[test]
fn uniqueness_is_kept_step_by_step() {
    let recording = sample();
    let back = through_bytes(&recording);
    for (frame, read) in recording.frames.iter().zip(&back.frames) {
        assert_eq!(frame.uniqueness, read.uniqueness);
    }
    let refused = |change: fn(&mut Uniqueness), words: &str| {
        let mut recording = sample();
        change(recording.frames[2].uniqueness.as_mut().unwrap());
        let error = recording.to_bytes().unwrap_err();
        assert!(error.contains(words), "{error}");
    };
    refused(
        |u| u.motion = MotionUniqueness::Free { bodies: vec![2], direction: vec![] },
        "uniqueness speaks of body 2 of 2",
    );
    refused(
        |u| {
            if let ForceUniqueness::Shared { contacts, .. } = &mut u.forces {
                contacts[0].contact = 2;
            }
        },
        "uniqueness speaks of contact 2 of 2",
    );
    let mut early = recording;
    early.frames[0].uniqueness = Some(answer(1));
    assert!(early.check().unwrap_err().contains("1 answers on uniqueness; expected 0"));
}

/// A block of a file: kind, lengths, compressed bytes.
fn block(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let packed = quasistep_record::compress(bytes).unwrap();
    let lengths = [bytes.len() as u64, packed.len() as u64];
    [&[kind][..], &lengths[0].to_le_bytes(), &lengths[1].to_le_bytes(), &packed].concat()
}

/// Short data that expand to very long data are refused before they are expanded.
#[test]
fn files_that_grow_without_end_are_refused() {
    let whole = sample().to_bytes().unwrap();
    // magic, version, and the head block with its header of 17 bytes
    let n_packed = u64::from_le_bytes(*whole[21..].first_chunk().unwrap()) as usize;
    let head = &whole[..12 + 17 + n_packed];
    let refused = |bytes: &[u8]| {
        let start = std::time::Instant::now();
        let error = Recording::from_bytes(bytes, Path::new("r")).unwrap_err().to_string();
        assert!(start.elapsed().as_secs() < 20);
        error
    };
    let frames = [&10_000_000_u32.to_le_bytes()[..], &[0; 1000]].concat();
    let said = refused(&[head, &block(b'D', &frames)].concat());
    assert!(said.contains("10000000 frames; at most 100"), "{said}");
    let mut large = block(b'D', &frames);
    large[1..9].copy_from_slice(&((1_u64 << 28) + 1).to_le_bytes());
    let said = refused(&[head, &large].concat());
    assert!(said.contains("268435457 bytes; at most 268435456"), "{said}");
    large = block(b'D', &frames);
    large[9..17].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let said = refused(&[head, &large].concat());
    assert!(said.contains("packed bytes; at most"), "{said}");
    let names = format!(
        "{{\"scene\":\"\",\"title\":\"\",\"time_step\":1,\"bodies\":[{}\"\"]}}",
        "\"\",".repeat(2_000_000)
    );
    let said = refused(&[&whole[..12], &block(b'H', names.as_bytes())].concat());
    assert!(said.contains("a list of at most 1048576"), "{said}");
}

/// Pipes and folders are refused immediately.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_at_once() {
    let pipe = std::env::temp_dir().join(format!("quasistep-record-pipe-{}", std::process::id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/")] {
        let error = Recording::read(path).unwrap_err().to_string();
        assert!(error.contains("it is no file"), "{error}");
    }
    std::fs::remove_file(pipe).unwrap();
}

/// Where files are put in place one by one, since a folder of someone else is among them: files of
/// the former run that the new one has not are gone, those of others stay.
#[test]
fn a_folder_with_subfolders_of_others_gets_files_one_by_one() {
    let dir = Scratch::new("others");
    std::fs::create_dir_all(dir.0.join("mine")).unwrap();
    for (names, text) in [
        (["recording.qsr", "states.csv", "summary.json"].as_slice(), "1"),
        (&["recording.qsr", "summary.json"], "2"),
    ] {
        let folder = RunFolder::open(&dir.0).unwrap();
        for name in names {
            std::fs::write(folder.place().join(name), text).unwrap();
        }
        folder.publish().unwrap();
        let files = std::fs::read_dir(&dir.0).unwrap().map(|e| e.unwrap().file_name());
        let mut seen: Vec<_> = files.collect();
        seen.sort();
        assert_eq!(seen, [&["mine"], names].concat());
        assert_eq!(std::fs::read_to_string(dir.0.join("summary.json")).unwrap(), text);
    }
    std::fs::remove_dir_all(&dir.0).unwrap();
}

/// A run was killed while folders were exchanged: the next look at the folder ends it, whether it
/// was before or after the exchange, and keeps the files of others.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
#[test]
fn an_exchange_that_was_killed_is_ended() {
    for is_exchanged in [false, true] {
        let dir = Scratch::new("exchanged");
        let name = dir.0.file_name().unwrap().to_str().unwrap().to_owned();
        let beside = dir.0.with_file_name(format!(".{name}.unfinished"));
        let (new, old) = if is_exchanged { (&dir.0, &beside) } else { (&beside, &dir.0) };
        std::fs::create_dir_all(new.join("unfinished")).unwrap();
        std::fs::create_dir_all(old.join("plots")).unwrap();
        for (file, text) in [
            (new.join("recording.qsr"), "new"),
            (new.join("summary.json"), "new"),
            (old.join("recording.qsr"), "old"),
            (old.join("states.csv"), "old"),
            (old.join("plots/joints.svg"), "old"),
            (old.join("notes.txt"), "mine"),
        ] {
            std::fs::write(file, text).unwrap();
        }
        RunFolder::settle_if_free(&dir.0).unwrap();
        let files = std::fs::read_dir(&dir.0).unwrap().map(|e| e.unwrap().file_name());
        let mut seen: Vec<_> = files.collect();
        seen.sort();
        assert_eq!(seen, ["notes.txt", "recording.qsr", "summary.json"], "{is_exchanged}");
        assert_eq!(std::fs::read_to_string(dir.0.join("recording.qsr")).unwrap(), "new");
        assert!(!beside.exists());
        std::fs::remove_dir_all(&dir.0).unwrap();
    }
}

/// A run was killed after its recording was moved and before its other files were.
#[test]
fn a_move_that_was_killed_is_ended() {
    let dir = Scratch::new("settled");
    let place = dir.0.join("unfinished");
    std::fs::create_dir_all(place.join("plots")).unwrap();
    for (file, text) in [
        (dir.0.join("recording.qsr"), "new"),
        (place.join("mpc.csv"), "new"),
        (place.join("plots/joints.svg"), "new"),
    ] {
        std::fs::write(file, text).unwrap();
    }
    RunFolder::settle_if_free(&dir.0).unwrap();
    assert!(dir.0.join("mpc.csv").is_file() && dir.0.join("plots/joints.svg").is_file());
    assert!(!place.exists() && !dir.0.join(".lock").exists());
    // a later run that was killed keeps its files in the subfolder
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("recording.qsr"), "later").unwrap();
    std::fs::write(place.join("mpc.csv"), "later").unwrap();
    RunFolder::settle_if_free(&dir.0).unwrap();
    assert_eq!(std::fs::read(dir.0.join("mpc.csv")).unwrap(), b"new");
    // the next run removes them, together with the draft of a killed writer
    std::fs::write(place.join(".view.html.1-0.part"), "cut").unwrap();
    drop(RunFolder::open(&dir.0).unwrap());
    assert!(!place.exists());
    std::fs::remove_dir_all(&dir.0).unwrap();
}
