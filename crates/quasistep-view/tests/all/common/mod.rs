//! A small analytic recording: a finger pushes a box along a floor, past a cylinder.

use quasistep_math::{Pose, Quat, Vec3};
use quasistep_record::{
    Contact, ContactKey, DrawnGeometry, DrawnShape, Finish, Frame, Mode, Recording, ShapeRole,
};
use std::path::{Path, PathBuf};

/// Number of frames of [`push`].
pub const N_FRAMES: usize = 41;

fn shape(
    body: usize,
    name: &str,
    X_BG: Pose,
    geometry: DrawnGeometry,
    rgb: [f32; 3],
) -> DrawnShape {
    let color = [rgb[0], rgb[1], rgb[2], 1.0];
    DrawnShape {
        body,
        name: name.into(),
        X_BG,
        geometry,
        color,
        paint: None,
        role: ShapeRole::Both,
    }
}

/// A tetrahedron with its corners on a sphere.
fn tetrahedron(size: f64) -> DrawnGeometry {
    let corners = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];
    DrawnGeometry::Mesh {
        vertices: corners.map(|c| c.map(|v| v * size)).to_vec(),
        triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]],
    }
}

/// The recording: 41 frames over 4 s. From t = 1 s the box moves 0.6 m along x and turns by 0.5
/// rad.
pub fn push() -> Recording {
    let half = 0.15;
    let h = 0.1;
    let at = |x, y, z| Pose::from_translation(Vec3::new(x, y, z));
    let mut shapes = vec![
        shape(0, "floor", Pose::IDENTITY, DrawnGeometry::HalfSpace, [0.88, 0.89, 0.91]),
        shape(
            0,
            "post",
            at(0.1, 0.45, 0.2),
            DrawnGeometry::Cylinder { radius: 0.08, half_length: 0.2 },
            [0.45, 0.62, 0.55],
        ),
        shape(0, "stone", at(0.55, 0.4, 0.07), tetrahedron(0.12), [0.76, 0.64, 0.42]),
        shape(1, "box", Pose::IDENTITY, DrawnGeometry::Box { half: [half; 3] }, [0.85, 0.35, 0.27]),
        shape(
            2,
            "finger",
            Pose::from_xyz_rpy([0.0; 3], [0.0, std::f64::consts::FRAC_PI_2, 0.0]),
            DrawnGeometry::Capsule { radius: 0.05, half_length: 0.15 },
            [0.28, 0.45, 0.68],
        ),
        shape(3, "ball", Pose::IDENTITY, DrawnGeometry::Sphere { radius: 0.06 }, [0.55, 0.45, 0.7]),
    ];
    let hull = DrawnGeometry::Box { half: [half * 1.05; 3] };
    let mut hull = shape(1, "box hull", Pose::IDENTITY, hull, [0.3, 0.3, 0.35]);
    hull.role = ShapeRole::Collision;
    shapes.push(hull);
    let frames = (0..N_FRAMES).map(|k| frame(k, k as f64 * h, half)).collect();
    let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    Recording {
        scene: "scenes/push.yml".into(),
        title: "A finger pushes a box </script><b>&".into(),
        time_step: h,
        bodies: names(&["world", "box/body", "finger/tip", "ball/body"]),
        roles: vec![],
        collision_shapes: names(&["world/floor", "box/body/0"]),
        shapes,
        named_frames: vec![],
        goals: vec![],
        curves: vec![],
        coordinates: names(&[
            "finger.slide",
            "box.qw",
            "box.qx",
            "box.qy",
            "box.qz",
            "box.x",
            "box.y",
            "box.z",
        ]),
        units: names(&["m", "", "", "", "", "m", "m", "m"]),
        dofs: vec![],
        commands: names(&["finger.slide"]),
        sensors: vec![],
        frames,
        finish: Finish::Done,
    }
}

/// The run of [`push`] with a scan instead of the box: `n` dots on a ball of radius 0.15 m, and the
/// floor.
pub fn scan(n: usize, with_normals: bool) -> Recording {
    let mut recording = push();
    let on_ball = (0..n).map(|k| {
        let z = 1.0 - (2 * k + 1) as f64 / n as f64;
        let (s, c) = (k as f64 * 2.399963229728653).sin_cos();
        let across = (1.0 - z * z).sqrt();
        [across * c, across * s, z]
    });
    let normals: Vec<[f32; 3]> = on_ball.map(|p| p.map(|x| x as f32)).collect();
    let geometry = DrawnGeometry::Points {
        points: normals.iter().map(|p| p.map(|x| 0.15 * x)).collect(),
        normals: if with_normals { normals } else { Vec::new() },
        // twice the spacing of the dots, so that there are no gaps
        width: 0.3 * 2.0 * (std::f64::consts::PI / n as f64).sqrt(),
    };
    recording.shapes = vec![
        shape(0, "floor", Pose::IDENTITY, DrawnGeometry::HalfSpace, [0.88, 0.89, 0.91]),
        shape(1, "scan", Pose::IDENTITY, geometry, [0.85, 0.35, 0.27]),
    ];
    recording
}

fn frame(k: usize, t: f64, half: f64) -> Frame {
    let pushed = (t - 1.0).max(0.0);
    let x = -0.3 + 0.2 * pushed;
    let turn = Quat::from_axis_angle(Vec3::Z, 0.5 * pushed / 3.0);
    let box_pose = Pose::new(turn, Vec3::new(x, 0.0, half));
    // the finger comes from the left until it touches, then stays at the face
    let slide = if t < 1.0 { -0.65 - 0.2 * (1.0 - t) } else { x - 0.35 };
    let finger = Pose::from_translation(Vec3::new(slide, 0.0, half));
    let ball = Pose::from_translation(Vec3::new(x, 0.0, 2.0 * half + 0.06));
    let weight = 20.0;
    let push = if t >= 1.0 { 0.5 * weight } else { 0.0 };
    let mut contacts = Vec::new();
    if k > 0 {
        for (sx, sy) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
            let corner = box_pose.transform_point(Vec3::new(sx * half, sy * half, -half));
            let normal_force = 0.25 * weight;
            contacts.push(Contact {
                a: 0,
                b: 1,
                p_W: corner,
                n_AB_W: Vec3::Z,
                phi: 0.0,
                phi_next: 0.0,
                normal_force,
                force_W: Vec3::new(-0.25 * push, 0.0, normal_force),
                spin: 0.0,
                roll_W: Vec3::ZERO,
                mode: if push > 0.0 { Mode::Slide } else { Mode::Stick },
                mu: 0.5,
                key: ContactKey { shape_a: 0, shape_b: 1, feature: 0 },
            });
        }
        let touching = push > 0.0;
        contacts.push(Contact {
            a: 2,
            b: 1,
            p_W: box_pose.transform_point(Vec3::new(-half, 0.0, 0.0)),
            n_AB_W: Vec3::X,
            phi: if touching { 0.0 } else { 0.2 * (1.0 - t) },
            phi_next: 0.0,
            normal_force: push,
            force_W: Vec3::new(push, 0.0, 0.0),
            spin: 0.0,
            roll_W: Vec3::ZERO,
            mode: if touching { Mode::Stick } else { Mode::Separate },
            mu: 0.5,
            key: ContactKey { shape_a: 0, shape_b: 1, feature: 0 },
        });
    }
    let q = turn.to_array();
    Frame {
        t,
        X_WB: vec![Pose::IDENTITY, box_pose, finger, ball],
        q: vec![slide, q[0], q[1], q[2], q[3], x, 0.0, half],
        v: vec![],
        q_cmd: if k == 0 { vec![] } else { vec![slide + 0.01] },
        effort: if k == 0 { vec![] } else { vec![push] },
        sensors: vec![],
        contacts,
        uniqueness: None,
    }
}

/// A folder for one test, removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// An empty folder, named after `name` and the process id.
    pub fn new(name: &str) -> Self {
        let dir =
            std::env::temp_dir().join(format!("quasistep-view-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("the folder for temporary files can be written");
        Self(dir)
    }

    /// Path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Pixels of an 8-bit RGB or RGBA PNG.
pub struct Picture {
    /// Width, in px.
    pub width: usize,
    /// Height, in px.
    pub height: usize,
    /// Pixels, row by row from the top.
    pub rgb: Vec<[u8; 3]>,
}

/// Decodes the bytes of a PNG.
pub fn decode(bytes: &[u8]) -> Picture {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    assert_eq!(info.bit_depth, png::BitDepth::Eight);
    let n = match info.color_type {
        png::ColorType::Rgb => 3,
        png::ColorType::Rgba => 4,
        other => panic!("a PNG of kind {other:?}"),
    };
    let rgb = data[..info.buffer_size()].chunks_exact(n).map(|c| [c[0], c[1], c[2]]).collect();
    Picture { width: info.width as usize, height: info.height as usize, rgb }
}

impl Picture {
    /// Reads and decodes a PNG file.
    pub fn read(path: &Path) -> Self {
        decode(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }

    /// Number of pixels that differ by more than `by` in any channel, and their mean position.
    pub fn changes(&self, other: &Self, by: u8) -> (usize, [f64; 2]) {
        assert_eq!((self.width, self.height), (other.width, other.height));
        let (mut count, mut sum) = (0, [0.0, 0.0]);
        for (i, (a, b)) in self.rgb.iter().zip(&other.rgb).enumerate() {
            if (0..3).any(|c| a[c].abs_diff(b[c]) > by) {
                count += 1;
                sum[0] += (i % self.width) as f64;
                sum[1] += (i / self.width) as f64;
            }
        }
        (count, sum.map(|s| s / f64::from(count.max(1) as u32)))
    }

    /// Number of pixels whose colour satisfies `is`, and their mean position.
    pub fn find(&self, is: impl Fn([u8; 3]) -> bool) -> (usize, [f64; 2]) {
        let (mut count, mut sum) = (0, [0.0, 0.0]);
        for (i, c) in self.rgb.iter().enumerate() {
            if is(*c) {
                count += 1;
                sum[0] += (i % self.width) as f64;
                sum[1] += (i / self.width) as f64;
            }
        }
        (count, sum.map(|s| s / f64::from(count.max(1) as u32)))
    }
}

/// True for the red of the box, in light and in shadow.
pub fn is_box_red([r, g, b]: [u8; 3]) -> bool {
    r > 90 && f64::from(r) > 1.7 * f64::from(g) && f64::from(r) > 1.9 * f64::from(b)
}
