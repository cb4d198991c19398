//! Laws of the recording file and the tables.
#![allow(non_snake_case)] // frames in monogram notation

use quasistep_math::{Pose, Quat, Vec3};
use quasistep_record::{
    CONTACTS_HEADER, Contact, ContactKey, ContactsCsv, DeterminedSum, DrawnGeometry, DrawnShape,
    Finish, ForceUniqueness, Frame, Mode, MotionUniqueness, RecordError, Recording, ShapeRole,
    SharedForce, StatesCsv, Uniqueness, write_contacts_csv, write_states_csv,
};
use std::path::PathBuf;

/// A file of this test alone, removed at the end.
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

/// Numbers that test printing: no short decimal, tiny, huge, negative zero, subnormal.
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
        key: Some(ContactKey { shape_a: k % 2, shape_b: 1, feature: 7 + k as u32 }),
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
        contacts: (0..k).map(|i| contact(i + k)).collect(),
        uniqueness: (k > 1).then(|| answer(k / 4)),
    };
    Recording {
        scene: "scenes/test.yml".into(),
        title: "A \"title\" with </script> and ü".into(),
        time_step: 0.1,
        bodies: vec!["world".into(), "box/body".into()],
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
        coordinates: ["a.x", "a.y", "b.qw", "b.qx", "b.qy", "b.qz", "b.x", "b.y", "b.z"]
            .map(String::from)
            .to_vec(),
        dofs: ["a.x", "a.y", "b.wx", "b.wy", "b.wz", "b.vx", "b.vy", "b.vz"]
            .map(String::from)
            .to_vec(),
        commands: vec!["a.x".into()],
        frames: (0..6).map(frame).collect(),
        finish: Finish::Stopped { reason: "contact problem not solved".into() },
    }
}

/// What may be said of a step: everything that there is to say, or nothing but yes.
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

/// Bits of everything numeric, so that -0 and 0 differ.
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
        out.extend(all.chain(f.q_cmd.clone()).chain(f.effort.clone()).map(f64::to_bits));
    }
    out
}

#[test]
fn a_recording_reads_back_with_the_same_bits() {
    let file = Scratch::new("round-trip.json");
    let recording = sample();
    recording.write(&file.0).unwrap();
    let back = Recording::read(&file.0).unwrap();
    assert_eq!(back, recording);
    assert_eq!(bits(&back), bits(&recording));
}

#[test]
fn an_empty_recording_reads_back() {
    let file = Scratch::new("empty.json");
    let recording = Recording { frames: vec![], finish: Finish::Done, ..sample() };
    recording.write(&file.0).unwrap();
    assert_eq!(Recording::read(&file.0).unwrap(), recording);
}

/// 200 frames with 100 contacts each, all digits in use: a few MB.
#[test]
fn a_long_recording_stays_small() {
    let file = Scratch::new("size.json");
    let mut recording = sample();
    let dense = Contact {
        p_W: Vec3::new(1.0 / 3.0, 1.0 / 7.0, 1.0 / 11.0),
        n_AB_W: Vec3::new(0.6, 0.0, 0.8),
        phi: 1e-9 / 3.0,
        phi_next: 1e-9 / 7.0,
        normal_force: 10.0 / 3.0,
        force_W: Vec3::new(1.0 / 13.0, 1.0 / 17.0, 1.0 / 19.0),
        spin: 0.0,
        roll_W: Vec3::ZERO,
        ..contact(0)
    };
    let step = Frame { contacts: vec![dense; 100], ..recording.frames[1].clone() };
    recording.frames = std::iter::once(recording.frames[0].clone())
        .chain((1..=200).map(|k| Frame { t: f64::from(k) * 0.1, ..step.clone() }))
        .collect();
    recording.write(&file.0).unwrap();
    let size = std::fs::metadata(&file.0).unwrap().len();
    assert!(size < 5_000_000, "{size} bytes");
    assert_eq!(Recording::read(&file.0).unwrap(), recording);
}

/// Writes the sample, lets `change` spoil the text, and returns what reading says.
fn refusal(name: &str, change: impl FnOnce(String) -> String) -> String {
    let file = Scratch::new(name);
    sample().write(&file.0).unwrap();
    let text = std::fs::read_to_string(&file.0).unwrap();
    let spoiled = change(text.clone());
    assert_ne!(text, spoiled, "the change did not apply");
    std::fs::write(&file.0, spoiled).unwrap();
    let error = Recording::read(&file.0).unwrap_err().to_string();
    assert!(error.contains(file.0.file_name().unwrap().to_str().unwrap()), "no file in: {error}");
    error
}

#[test]
fn reading_refuses_what_it_does_not_know() {
    for version in ["0", "7"] {
        let error = refusal("version.json", |s| {
            s.replace("\"version\":6", &format!("\"version\":{version}"))
        });
        let wanted = format!("recording version {version}; this program reads versions up to 6");
        assert!(error.ends_with(&wanted), "{error}");
    }
    let error = refusal("format.json", |s| s.replace("quasistep recording", "something else"));
    assert!(error.contains("`format` is `something else`"), "{error}");
    let error = refusal("key.json", |s| s.replace("\"scene\"", "\"zene\""));
    assert!(error.contains("unknown field `zene`") && error.contains("line 1"), "{error}");
}

/// Version 1 had no dots, versions 1 and 2 no velocities, none of them uniqueness nor keys of contacts, and they were the same
/// otherwise.
#[test]
fn recordings_of_older_versions_are_read() {
    let file = Scratch::new("older.json");
    let mut recording = sample();
    recording.shapes.retain(|s| !matches!(s.geometry, DrawnGeometry::Points { .. }));
    recording.dofs.clear();
    recording.collision_shapes.clear();
    for frame in &mut recording.frames {
        frame.v.clear();
        frame.uniqueness = None;
        frame.contacts.iter_mut().for_each(|contact| contact.key = None);
    }
    recording.write(&file.0).unwrap();
    let text = std::fs::read_to_string(&file.0).unwrap();
    let later = ["\"dofs\"", "\"v\"", "uniqueness", "feature", "collision_shapes"];
    assert!(later.iter().all(|key| !text.contains(key)));
    for version in [1, 2, 3] {
        let old = text.replace("\"version\":6", &format!("\"version\":{version}"));
        assert_ne!(text, old);
        std::fs::write(&file.0, old).unwrap();
        assert_eq!(Recording::read(&file.0).unwrap(), recording);
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
fn reading_refuses_a_file_that_is_cut_short() {
    for keep in [0.0, 0.1, 0.5, 0.999] {
        let error = refusal(&format!("cut-{keep}.json"), |s| {
            s.chars().take((s.chars().count() as f64 * keep) as usize).collect()
        });
        assert!(
            error.contains("not a whole recording: ") && error.contains(" at line 1"),
            "{error}"
        );
    }
}

#[test]
fn reading_refuses_columns_that_do_not_fit() {
    let error = refusal("bodies.json", |s| s.replace("\"world\",\"box/body\"", "\"world\""));
    assert!(error.contains("column `poses` has 84 entries; expected 42"), "{error}");
    let error = refusal("t.json", |s| s.replace("\"t\":[0.0,", "\"t\":["));
    assert!(error.contains("column `poses` has 84 entries; expected 70"), "{error}");
    let error = refusal("count.json", |s| s.replace("\"n_contacts\":[0,1", "\"n_contacts\":[0,2"));
    assert!(error.contains("column `contacts.a` has 15 entries; expected 16"), "{error}");
    let error = refusal("mode.json", |s| s.replace("\"mode\":[1", "\"mode\":[9"));
    assert!(error.contains("contact mode 9"), "{error}");
    let error = refusal("a.json", |s| s.replace("\"a\":[0", "\"a\":[5"));
    assert!(error.contains("contact 0 is between bodies 5 and 1 of 2"), "{error}");
    let error =
        refusal("command.json", |s| s.replace("\"commands\":[\"a.x", "\"commands\":[\"b.w"));
    assert!(error.contains("command `b.w` is not among the coordinates"), "{error}");
    let error =
        refusal("first.json", |s| s.replace("\"bodies\":[\"world\"", "\"bodies\":[\"box\""));
    assert!(error.contains("body 0 is `box`; it must be `world`"), "{error}");
    let error = refusal("mesh.json", |s| s.replace("[[0,1,2]]", "[[0,1,3]]"));
    assert!(error.contains("triangle corner 3 of 3 vertices"), "{error}");
    let error = refusal("radius.json", |s| s.replace("\"radius\":0.5", "\"radius\":-0.5"));
    assert!(error.contains("shape `ball`: radius -0.5"), "{error}");
    let error = refusal("step.json", |s| s.replace("\"time_step\":0.1", "\"time_step\":0.0"));
    assert!(error.contains("time step is 0"), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let file = Scratch::new("missing.json");
    let error = Recording::read(&file.0).unwrap_err();
    assert!(matches!(&error, RecordError::Io { .. }));
    assert!(error.to_string().contains("missing.json"), "{error}");
}

#[test]
fn writing_refuses_numbers_that_json_cannot_hold() {
    let file = Scratch::new("nan.json");
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
    // 3 h is 0.30000000000000004 in binary
    let times: Vec<&str> = lines[1..].iter().map(|l| l.split(',').next().unwrap()).collect();
    assert_eq!(times, ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
    let x: Vec<f64> =
        lines[1..].iter().map(|l| l.split(',').nth(1).unwrap().parse().unwrap()).collect();
    for (row, frame) in x.iter().zip(&recording.frames) {
        assert_eq!(row.to_bits(), frame.q[0].to_bits());
    }
}

/// q and −q are one rotation; the table never jumps between them.
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
        contacts: vec![],
        uniqueness: None,
    };
    let mut out = Vec::new();
    let mut table = StatesCsv::new(&mut out, &coordinates, &[]).unwrap();
    for k in 0..40 {
        // more than a full turn, with the sign that from_axis_angle never gives
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
        // one step turns by 0.3 rad: the chord is 2 sin(0.075)
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
fn tables_refuse_frames_that_do_not_fit() {
    let recording = sample();
    let mut table =
        StatesCsv::new(Vec::new(), &recording.coordinates[..3], &recording.dofs).unwrap();
    let error = table.append(&recording.frames[0]).unwrap_err().to_string();
    assert_eq!(error, "a frame of 9 coordinates in a table of 3");
    let shapes = &recording.collision_shapes;
    let mut table = ContactsCsv::new(Vec::new(), &recording.bodies[..1], shapes).unwrap();
    let error = table.append(&recording.frames[1]).unwrap_err().to_string();
    assert_eq!(error, "a contact between bodies 0 and 1 of 1");
    let mut table = ContactsCsv::new(Vec::new(), &recording.bodies, &shapes[..1]).unwrap();
    let error = table.append(&recording.frames[1]).unwrap_err().to_string();
    assert_eq!(error, "a contact between shapes 1 and 1 of 1");
}

/// Newton's third law in the bookkeeping: who is A does not matter, and a squeeze adds up.
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
    assert_eq!(frame.normal_force(1, 0), 5.0);
    assert_eq!(frame.normal_force(0, 2).to_bits(), 0.0_f64.to_bits());
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

/// Answers on uniqueness are written each time that they change, and refused where they do not fit.
#[test]
fn uniqueness_is_kept_step_by_step() {
    let recording = sample();
    let text = recording.to_json().unwrap();
    // frames 2 and 3 say the same, and so do 4 and 5
    assert!(text.contains("\"steps\":[null,0,0,1,1]"), "{text}");
    let refused = |from: &str, to: &str, words: &str| {
        let changed = text.replace(from, to);
        assert_ne!(text, changed);
        let error = Recording::from_json(changed.as_bytes(), "test".as_ref()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    };
    refused("\"steps\":[null,", "\"steps\":[", "`uniqueness.steps` has 4 entries; expected 5");
    refused("[null,0,0,1,1]", "[null,0,0,1,2]", "speaks of answer 2 of 2");
    refused("\"bodies\":[1]", "\"bodies\":[2]", "uniqueness speaks of body 2 of 2");
    refused("\"contact\":1", "\"contact\":2", "uniqueness speaks of contact 2 of 2");
    let mut early = recording;
    early.frames[0].uniqueness = Some(answer(1));
    assert!(early.check().unwrap_err().contains("1 answers on uniqueness; expected 0"));
}
