//! Nonconvex meshes as convex parts.

use quasistep_geometry::{Shape, signed_distance};
use quasistep_math::{Pose, Vec3};
use quasistep_scene::{Scene, SceneError};
use std::f64::consts::TAU;
use std::fmt::Write;
use std::path::PathBuf;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("quasistep-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn scene(&self, mesh: &str, body: &str) -> Result<Scene, SceneError> {
        std::fs::write(self.0.join("part.obj"), mesh).unwrap();
        let text = format!("models:\n  part:\n    {body}\n");
        Scene::parse(&text, "scene.yml", "scene", &self.0, &[])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A mesh of 180 by 120 by 60, with no `scale` beside a small box, seems to be in millimetres; with its scale, or beside a
/// body of its size, it does not.
#[test]
fn a_mesh_in_millimetres_is_told() {
    let folder = Folder::new("millimetres");
    let mut corners = Obj::default();
    for k in 0..8 {
        let at = |bit: usize, size: f64| if k >> bit & 1 == 1 { size } else { 0.0 };
        corners.vertex([at(0, 180.0), at(1, 120.0), at(2, 60.0)]);
    }
    for face in [[1, 3, 4, 2], [5, 6, 8, 7], [1, 2, 6, 5], [3, 7, 8, 4], [1, 5, 7, 3], [2, 4, 8, 6]]
    {
        corners.face(&face);
    }
    let warnings = |mesh: &str, edge: f64| {
        let beside = format!(
            "mass: 1, shape: {{box: {{size: [{edge}, {edge}, {edge}]}}}}, pose: {{xyz: [0, 0, 500]}}"
        );
        let body = format!("mass: 1\n    shape: {{mesh: {{{mesh}}}}}\n  other: {{{beside}}}");
        folder.scene(&corners.0, &body).unwrap().warnings.join("\n")
    };
    let told = "`part/part` is 180 m large; if its file is in millimetres, `scale: 0.001` makes it 0.180 m";
    assert_eq!(warnings("file: part.obj", 0.2), told);
    assert_eq!(warnings("file: part.obj, parts: split", 0.2), told);
    assert_eq!(warnings("file: part.obj, scale: 0.001", 0.2), "");
    assert_eq!(warnings("file: part.obj", 10.0), "");
}

/// An .obj file being written: text, and number of vertices.
#[derive(Default)]
struct Obj(String, usize);

impl Obj {
    fn vertex(&mut self, p: [f64; 3]) -> usize {
        writeln!(self.0, "v {} {} {}", p[0], p[1], p[2]).unwrap();
        self.1 += 1;
        self.1
    }

    fn face(&mut self, corners: &[usize]) {
        let words: Vec<String> = corners.iter().map(ToString::to_string).collect();
        writeln!(self.0, "f {}", words.join(" ")).unwrap();
    }

    /// Adds a prism: a polygon in the x–z plane, counter-clockwise seen against y, extruded along
    /// y. `caps` divides it into convex pieces.
    fn prism(&mut self, outline: &[[f64; 2]], caps: &[&[usize]], y: [f64; 2]) {
        let near: Vec<usize> = outline.iter().map(|p| self.vertex([p[0], y[0], p[1]])).collect();
        let far: Vec<usize> = outline.iter().map(|p| self.vertex([p[0], y[1], p[1]])).collect();
        for k in 0..outline.len() {
            let next = (k + 1) % outline.len();
            self.face(&[near[next], near[k], far[k], far[next]]);
        }
        for cap in caps {
            self.face(&cap.iter().map(|&k| near[k]).collect::<Vec<_>>());
            self.face(&cap.iter().rev().map(|&k| far[k]).collect::<Vec<_>>());
        }
    }

    /// Adds a surface of revolution about z. Each ring is a radius and a height; the last is joined
    /// to the first.
    fn lathe(&mut self, rings: &[[f64; 2]], n: usize) {
        let corners: Vec<Vec<usize>> = rings
            .iter()
            .map(|[r, z]| {
                let at = |k: usize| (k as f64 / n as f64 * TAU).sin_cos();
                (0..n).map(|k| self.vertex([r * at(k).1, r * at(k).0, *z])).collect()
            })
            .collect();
        for i in 0..rings.len() {
            let (a, b) = (&corners[i], &corners[(i + 1) % rings.len()]);
            for k in 0..n {
                let next = (k + 1) % n;
                self.face(&[a[k], a[next], b[next], b[k]]);
            }
        }
    }
}

const BRACKET: [[f64; 2]; 6] =
    [[0.0, 0.0], [0.3, 0.0], [0.3, 0.1], [0.1, 0.1], [0.1, 0.4], [0.0, 0.4]];

fn bracket() -> String {
    let mut obj = Obj::default();
    obj.prism(&BRACKET, &[&[0, 1, 2, 3], &[0, 3, 4, 5]], [-0.05, 0.05]);
    obj.0
}

/// A pipe with radii 0.06 and 0.05 and length 0.1.
fn pipe() -> String {
    let mut obj = Obj::default();
    obj.lathe(&[[0.05, 0.0], [0.06, 0.0], [0.06, 0.1], [0.05, 0.1]], 24);
    obj.0
}

/// Signed distance of a ball from all parts of the body.
fn ball_distance(scene: &Scene, centre: Vec3, radius: f64) -> f64 {
    let ball = Shape::Sphere { radius };
    let placed = Pose::from_translation(centre);
    scene
        .system
        .geoms()
        .iter()
        .map(|g| signed_distance(&g.shape, &g.X_BG, &ball, &placed).phi)
        .fold(f64::INFINITY, f64::min)
}

fn n_shapes(scene: &Scene) -> usize {
    scene.system.geoms().len()
}

/// An L-shaped body is cut along one of its faces, exactly.
#[test]
fn an_angle_is_two_parts_exactly() {
    let folder = Folder::new("angle");
    let body = "density: 1000\n    shape: {mesh: {file: part.obj, parts: split, tolerance: 1e-6}}";
    let scene = folder.scene(&bracket(), body).unwrap();
    assert_eq!(n_shapes(&scene), 2);
    assert!(scene.notes[0].contains("2 convex parts"), "{:?}", scene.notes);
    // in the inner corner that a hull would fill
    assert!((ball_distance(&scene, Vec3::new(0.2, 0.0, 0.2), 0.05) - 0.05).abs() < 1e-12);
    // the mass is that of two boxes
    let boxes = "density: 1000\n    shapes:\n      \
        - {box: {size: [0.3, 0.1, 0.1]}, pose: {xyz: [0.15, 0, 0.05]}}\n      \
        - {box: {size: [0.1, 0.1, 0.3]}, pose: {xyz: [0.05, 0, 0.25]}}";
    let twin = folder.scene("", boxes).unwrap();
    let inertia = |s: &Scene| s.system.model().body(1).inertia;
    let (mine, theirs) = (inertia(&scene), inertia(&twin));
    assert!((mine.mass - theirs.mass).abs() < 1e-12, "{mine:?} {theirs:?}");
    assert!((mine.com - theirs.com).norm() < 1e-14);
    for k in 0..3 {
        let off = mine.inertia.rows[k] - theirs.inertia.rows[k];
        assert!(off.norm() < 1e-13, "{mine:?} {theirs:?}");
    }
}

/// Objects and groups of the file, each taken as one convex part.
#[test]
fn groups_are_parts() {
    let folder = Folder::new("groups");
    let mut obj = Obj::default();
    let square = |x: f64, z: f64, a: f64| [[x, z], [x + a, z], [x + a, z + a], [x, z + a]];
    obj.0.push_str("o left\n");
    obj.prism(&square(0.0, 0.0, 0.1), &[&[0, 1, 2, 3]], [0.0, 0.1]);
    obj.0.push_str("g right side\n");
    obj.prism(&square(0.3, 0.0, 0.2), &[&[0, 1, 2, 3]], [0.0, 0.1]);
    let body = "density: 1000\n    shape: {mesh: {file: part.obj, parts: groups}}";
    let scene = folder.scene(&obj.0, body).unwrap();
    assert_eq!(n_shapes(&scene), 2);
    assert!((scene.system.model().body(1).inertia.mass - 5.0).abs() < 1e-12);
    assert!((ball_distance(&scene, Vec3::new(0.2, 0.05, 0.05), 0.02) - 0.08).abs() < 1e-12);
    // as one hull there is no gap
    let hull = folder.scene(&obj.0, "mass: 1\n    shape: {mesh: {file: part.obj}}").unwrap();
    assert_eq!(n_shapes(&hull), 1);
    assert!(ball_distance(&hull, Vec3::new(0.2, 0.05, 0.05), 0.02) < 0.0);
}

/// The default tolerance is a share of the mesh's size.
#[test]
fn parts_have_a_tolerance_of_a_fiftieth() {
    let folder = Folder::new("fiftieth");
    let split = |keys: &str| {
        let body = format!("mass: 1\n    shape: {{mesh: {{file: part.obj, parts: split{keys}}}}}");
        folder.scene(&pipe(), &body).unwrap()
    };
    let (without, with) = (split(""), split(", tolerance: 0.0024"));
    let shapes = |scene: &Scene| -> Vec<Shape> {
        scene.system.geoms().iter().map(|geom| geom.shape.clone()).collect()
    };
    assert_eq!(shapes(&without), shapes(&with));
}

/// A wall around a hole is cut until its parts stand out by less than the tolerance.
#[test]
fn a_pipe_keeps_its_hole() {
    let folder = Folder::new("pipe");
    let mut before = 0;
    for tolerance in [0.02, 0.005, 0.001] {
        let body = format!(
            "density: 1000\n    shape: {{mesh: {{file: part.obj, parts: split, tolerance: {tolerance}}}}}"
        );
        let scene = folder.scene(&pipe(), &body).unwrap();
        let n = n_shapes(&scene);
        assert!(n >= before.max(4) && n <= 48, "{n} parts at {tolerance}");
        before = n;
        // a ball in the middle is clear of the wall, up to the distance by which hulls stand out
        let wall = 0.05 * (TAU / 48.0).cos() - 0.01;
        let gap = ball_distance(&scene, Vec3::new(0.0, 0.0, 0.05), 0.01);
        assert!(
            gap > wall - tolerance - 1e-9 && gap <= wall + 1e-9,
            "{gap} of {wall} at {tolerance}"
        );
        // on top and outside, the hulls end where the mesh ends
        let on_top = ball_distance(&scene, Vec3::new(0.055, 0.0, 0.12), 0.01);
        assert!((on_top - 0.01).abs() < 1e-9, "{on_top}");
        // the cross-section is between two 24-gons
        let area = 12.0 * (TAU / 24.0).sin() * (0.06f64.powi(2) - 0.05f64.powi(2));
        let mass = scene.system.model().body(1).inertia.mass;
        assert!((mass - 1000.0 * area * 0.1).abs() < 1e-12, "{mass}");
    }
}

/// A round ring: halves have no smaller hulls than the ring, but cutting must go on.
#[test]
fn a_round_ring_keeps_its_hole() {
    let folder = Folder::new("ring");
    let n = 12;
    let section: Vec<[f64; 2]> = (0..n)
        .map(|k| (k as f64 / n as f64 * TAU).sin_cos())
        .map(|(sin, cos)| [0.05 + 0.015 * cos, 0.015 * sin])
        .collect();
    let mut ring = Obj::default();
    ring.lathe(&section, n);
    let body = "mass: 1\n    shape: {mesh: {file: part.obj, parts: split, tolerance: 0.006}}";
    let scene = folder.scene(&ring.0, body).unwrap();
    assert!((4..=24).contains(&n_shapes(&scene)), "{:?}", scene.notes);
    // the hole has radius 0.035, less the sagitta of a twelfth of the circle
    let gap = ball_distance(&scene, Vec3::ZERO, 0.01);
    assert!(gap > 0.035 * (TAU / 24.0).cos() - 0.01 - 0.006 && gap < 0.0251, "{gap}");
}

/// A hull that closes a hole is told by its volume, with what keeps the hole; so is that of a
/// robot's link.
#[test]
fn hulls_that_close_a_hole_are_told() {
    let folder = Folder::new("closed");
    // a plate of 100 mm with a square hole of 20.2 mm: its hull has 1.043 times its volume
    let mut plate = Obj::default();
    plate.lathe(&[[0.05, 0.0], [0.05, 0.05], [0.0101, 0.05], [0.0101, 0.0]], 4);
    let told = |scene: &Scene| -> Vec<String> {
        scene.notes.iter().filter(|note| note.contains("volume")).cloned().collect()
    };
    let scene = folder.scene(&plate.0, "mass: 1\n    shape: {mesh: {file: part.obj}}").unwrap();
    let [note] = &told(&scene)[..] else { panic!("{:?}", scene.notes) };
    assert!(note.contains("1.04 times its volume") && note.contains("`parts: split`"), "{note}");
    let split = "mass: 1\n    shape: {mesh: {file: part.obj, parts: split}}";
    assert!(told(&folder.scene(&plate.0, split).unwrap()).is_empty());
    let urdf = "<robot name='r'><link name='plate'><collision><geometry><mesh filename='part.obj'/></geometry></collision></link></robot>";
    std::fs::write(folder.0.join("r.urdf"), urdf).unwrap();
    let read = |more: &str| {
        let text = format!("models: {{r: {{urdf: r.urdf{more}}}}}\n");
        Scene::parse(&text, "scene.yml", "scene", &folder.0, &[]).unwrap()
    };
    let scene = read("");
    let [note] = &told(&scene)[..] else { panic!("{:?}", scene.notes) };
    assert!(
        note.contains("r/plate (1.04 times)") && note.contains("`collision_mesh: split`"),
        "{note}"
    );
    assert!(scene.contents().to_string().contains(note.as_str()));
    assert!(told(&read(", collision_mesh: split")).is_empty());
}

/// Simplified hulls omit corners within a tolerance, and lie inside the full hulls.
#[test]
fn hulls_are_simplified_to_a_tolerance_and_the_loss_is_told() {
    let folder = Folder::new("simplify");
    let n = 60;
    let rings: Vec<[f64; 2]> = (1..n)
        .map(|k| (f64::from(k) / f64::from(n) * TAU / 2.0).sin_cos())
        .map(|(sin, cos)| [0.05 * sin, -0.05 * cos])
        .collect();
    let mut ball = Obj::default();
    ball.lathe(&rings, 60);
    let corners = |scene: &Scene| match &scene.system.geoms()[0].shape {
        Shape::Polytope(hull) => hull.vertices().len(),
        other => panic!("{other:?}"),
    };
    let of = |keys: &str| {
        let body = format!("mass: 1\n    shape: {{mesh: {{file: part.obj{keys}}}}}");
        folder.scene(&ball.0, &body).unwrap()
    };
    let full = of("");
    assert_eq!(corners(&full), 59 * 60);
    assert!(full.notes.is_empty(), "{:?}", full.notes);
    assert_eq!(of(", simplify: 0").system.geoms()[0].shape, full.system.geoms()[0].shape);
    let simple = of(", simplify: 1e-4");
    // at the equator every corner stands out by 2.7e-4 m; towards the poles fewer do
    assert!((500..2000).contains(&corners(&simple)), "{}", corners(&simple));
    let (_, rest) = simple.notes[0].split_once("are at most ").unwrap();
    let told: f64 = rest.split_once(" m away").unwrap().0.parse().unwrap();
    assert!(told > 1e-5 && told <= 1.0001e-4, "{told}");
    for direction in [Vec3::X, Vec3::new(0.36, 0.48, 0.8), Vec3::new(-0.6, 0.0, -0.8)] {
        let from = |scene: &Scene| ball_distance(scene, direction * 0.1, 0.01);
        let off = from(&simple) - from(&full);
        assert!(off > -1e-12 && off <= 1e-4, "{off}");
    }
}

/// The mesh is drawn; its parts are shown only as collision shapes.
#[test]
fn the_mesh_is_drawn_not_its_parts() {
    let folder = Folder::new("drawn");
    let body =
        "mass: 1\n    shape: {mesh: {file: part.obj, parts: split, tolerance: 1e-4}, name: angle}";
    let scene = folder.scene(&bracket(), body).unwrap();
    let roles: Vec<String> =
        scene.drawing.iter().map(|s| format!("{} {:?}", s.name, s.role)).collect();
    assert_eq!(
        roles,
        ["part/part/angle Visual", "part/part/angle/0 Collision", "part/part/angle/1 Collision"]
    );
}

#[test]
fn mistakes_say_what_is_valid() {
    let folder = Folder::new("part-mistakes");
    let open = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n";
    let pipe = pipe();
    let mut many = Obj::default();
    for k in 0..257 {
        writeln!(many.0, "o box{k}").unwrap();
        let (x, y) = (f64::from(k), [0.0, 0.5]);
        let square = [[x, 0.0], [x + 0.5, 0.0], [x + 0.5, 0.5], [x, 0.5]];
        many.prism(&square, &[&[0, 1, 2, 3]], y);
    }
    let many = many.0;
    for (mesh, keys, place, words) in [
        (open, "parts: split, tolerance: 0.01", "mesh.file", &["not closed", "edge"][..]),
        (&pipe, "parts: split, tolerance: 0", "mesh.tolerance", &["> 0"]),
        (&many, "parts: groups", "mesh.parts", &["257", "256"]),
        (&pipe, "tolerance: 0.01", "mesh.tolerance", &["parts: split"]),
        (&pipe, "simplify: -1e-4", "mesh.simplify", &["-0.0001", "≥ 0"]),
        (&pipe, "simplify: 1 mm", "mesh.simplify", &["1 mm", "without a unit"]),
        (&pipe, "parts: boxes", "mesh.parts", &["boxes", "hull", "groups", "split"]),
    ] {
        let body = format!("mass: 1\n    shape: {{mesh: {{file: part.obj, {keys}}}}}");
        let text = match folder.scene(mesh, &body) {
            Err(error) => error.to_string(),
            Ok(scene) => panic!("{keys}: {} shapes", n_shapes(&scene)),
        };
        let start = format!("scene.yml:4: models.part.shape.{place}:");
        assert!(text.starts_with(&start), "{text}");
        for word in words {
            assert!(text.contains(word), "`{word}` in: {text}");
        }
    }
}
