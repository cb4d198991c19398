//! Bodies from point clouds have the properties that the scene gives.

use quasistep_geometry::{Choice, PointCloud, Shape};
use quasistep_math::Vec3;
use quasistep_record::DrawnGeometry;
use quasistep_scene::{Scene, SceneError};
use std::path::{Path, PathBuf};

/// A separate folder for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("quasistep-clouds-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.0.join(name), text).unwrap();
        self
    }

    fn parse(&self, text: &str, changes: &[(&str, &str)]) -> Result<Scene, SceneError> {
        let changes: Vec<(String, String)> =
            changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Scene::parse(text, "scene.yml", "scene", &self.0, &changes)
    }

    #[track_caller]
    fn read(&self, text: &str) -> Scene {
        self.parse(text, &[]).unwrap_or_else(|e| panic!("{e}"))
    }

    #[track_caller]
    fn complaint(&self, text: &str, place: &str, words: &[&str]) {
        let error = self.parse(text, &[]).expect_err("a mistake").to_string();
        assert!(error.starts_with(place), "`{error}` does not start with `{place}`");
        for word in words {
            assert!(error.contains(word), "`{error}` does not say `{word}`");
        }
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Points on the surface of a box of 4 × 3 × 2 about (10, 20, 30), with spacing 0.5.
fn brick() -> Vec<[f64; 3]> {
    let mut points = Vec::new();
    for i in 0..9 {
        for j in 0..7 {
            for k in 0..5 {
                if i % 8 == 0 || j % 6 == 0 || k % 4 == 0 {
                    let at = |n: i32, half: f64| 0.5 * f64::from(n) - half;
                    points.push([10.0 + at(i, 2.0), 20.0 + at(j, 1.5), 30.0 + at(k, 1.0)]);
                }
            }
        }
    }
    points
}

fn lines(points: &[[f64; 3]]) -> String {
    let lines: Vec<String> = points.iter().map(|[x, y, z]| format!("{x} {y} {z}\n")).collect();
    lines.concat()
}

fn cloud(scene: &Scene) -> &PointCloud {
    match &scene.system.geoms()[0].shape {
        Shape::Cloud(cloud) => cloud,
        other => panic!("no cloud: {other:?}"),
    }
}

/// A body with this cloud, and its mass settings.
fn body(cloud: &str) -> String {
    format!("models:\n  a:\n    cloud: {cloud}\n")
}

#[track_caller]
fn close(got: [f64; 3], want: [f64; 3]) {
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() < 1e-12, "{got:?}, expected {want:?}");
    }
}

#[test]
fn a_path_is_enough() {
    let folder = Folder::new("path");
    folder.file("brick.xyz", lines(&brick()));
    for text in [
        body("brick.xyz"),
        body("{file: brick.xyz}"),
        "models:\n  a: {shape: {cloud: brick.xyz}}\n".into(),
        "models:\n  a: {bodies: {a: {cloud: brick.xyz}}}\n".into(),
        "models:\n  a: {shapes: [{cloud: {file: brick.xyz}, name: scan}]}\n".into(),
    ] {
        let scene = folder.read(&text);
        let cloud = cloud(&scene);
        let points: Vec<[f64; 3]> = cloud.points().iter().map(|p| p.to_array()).collect();
        assert_eq!(points, brick(), "in the order of the file");
        assert_eq!((cloud.radius(), cloud.choice()), (0.0, Choice::Spread { k: 5 }));
        let [report] = scene.clouds.as_slice() else { panic!("{text}") };
        assert_eq!((report.body.as_str(), report.n_read), ("a/a", brick().len()));
        assert_eq!(report.rows, (0..brick().len() as u32).collect::<Vec<_>>());
        close(report.low, [8.0, 18.5, 29.0]);
        close(report.high, [12.0, 21.5, 31.0]);
        assert!(report.to_string().contains("without normals, 4.0000 x 3.0000 x 2.0000 m"));
    }
}

#[test]
fn numbers_of_the_file_become_metres() {
    let folder = Folder::new("units");
    folder.file("brick.xyz", lines(&brick()));
    for (key, scale) in [
        ("unit: m", 1.0),
        ("unit: cm", 0.01),
        ("unit: mm", 0.001),
        ("unit: inch", 0.0254),
        ("scale: 0.25", 0.25),
    ] {
        let scene = folder.read(&body(&format!("{{file: brick.xyz, {key}}}")));
        close(scene.clouds[0].high, [12.0, 21.5, 31.0].map(|x| x * scale));
        assert_eq!(scene.clouds[0].scale, scale);
    }
    // rotated by 90° about z in the file's frame, then translated, in m
    let text = body(
        "{file: brick.xyz, unit: cm, pose: {xyz: [0, 0, 1], rpy: [0, 0, 1.5707963267948966]}}",
    );
    close(folder.read(&text).clouds[0].low, [-0.215, 0.08, 1.29]);
}

#[test]
fn a_cloud_is_fitted() {
    let folder = Folder::new("fit");
    folder.file("brick.xyz", lines(&brick()));
    let extent = |options: &str| {
        let scene = folder.read(&body(&format!("{{file: brick.xyz, {options}}}")));
        let report = &scene.clouds[0];
        let points = cloud(&scene).points();
        let r = cloud(&scene).radius();
        let least = |i: usize| points.iter().map(|p| p.to_array()[i]).fold(f64::INFINITY, f64::min);
        close(report.low, [0, 1, 2].map(|i| least(i) - r));
        (report.low, report.high)
    };
    let (low, high) = extent("fit: {size: 0.2, center: true}");
    close(low, [-0.1, -0.075, -0.05]);
    close(high, [0.1, 0.075, 0.05]);
    let (low, high) = extent("fit: {height: 0.2, on: 0.01, center: true}");
    close(low, [-0.2, -0.15, 0.01]);
    close(high, [0.2, 0.15, 0.21]);
    // y is up: 3 high; the horizontal position is kept
    let (low, high) = extent("fit: {up: y, on: 0}");
    close(low, [8.0, -31.0, 0.0]);
    close(high, [12.0, -29.0, 3.0]);
    let (low, _) = extent("fit: {up: -x, on: -1}");
    close(low, [29.0, 18.5, -1.0]);
    // the radius counts: the lowest point including it is at 0, and the total length is 0.2
    let (low, high) = extent("radius: 0.02, fit: {size: 0.2, on: 0, center: true}");
    close([high[0] - low[0], low[2], low[0]], [0.2, 0.0, -0.1]);
}

#[test]
fn points_are_left_out_and_counted() {
    let folder = Folder::new("sieve");
    let mut text = lines(&brick());
    text.insert_str(0, "nan nan nan\n");
    text.push_str("10 20 60\n");
    folder.file("noisy.xyz", &text);
    let n = brick().len();
    let options = "drop_invalid: true, outliers: {neighbours: 8, deviations: 4}";
    let scene = folder.read(&body(&format!("{{file: noisy.xyz, {options}}}")));
    let report = &scene.clouds[0];
    assert_eq!((report.n_read, report.n_invalid, report.n_outliers), (n + 2, 1, 1));
    assert_eq!(report.rows, (1..=n as u32).collect::<Vec<_>>());
    close(report.high, [12.0, 21.5, 31.0]);
    assert!(report.to_string().contains(&format!(
        "{n} of {} points of {}",
        n + 2,
        folder.0.join("noisy.xyz").display()
    )));
    assert!(report.to_string().ends_with(", 1 not finite, 1 outliers"), "{report}");
    // thinning keeps points of the file, each within one voxel of the points removed
    let scene = folder.read(&body(&format!("{{file: noisy.xyz, {options}, voxel: 1.01}}")));
    let report = &scene.clouds[0];
    assert_eq!(report.n_points + report.n_thinned, n);
    assert!(report.n_points < n / 3, "{}", report.n_points);
    for (p, row) in cloud(&scene).points().iter().zip(&report.rows) {
        assert_eq!(p.to_array(), brick()[*row as usize - 1]);
    }
    for p in brick() {
        let near = cloud(&scene).points().iter().map(|q| (*q - Vec3::from(p)).max_abs());
        assert!(near.fold(f64::INFINITY, f64::min) <= 1.01);
    }
    // `none` disables an option
    let text =
        body("{file: noisy.xyz, drop_invalid: true, outliers: {}, voxel: 1, fit: {size: 1}}");
    let changes = ["outliers", "voxel", "fit"].map(|key| format!("models.a.cloud.{key}"));
    let changes = changes.each_ref().map(|key| (key.as_str(), "none"));
    let scene = folder.parse(&text, &changes).unwrap();
    assert_eq!((scene.clouds[0].n_points, scene.clouds[0].scale), (n + 1, 1.0));
}

#[test]
fn contact_options_reach_the_cloud() {
    let folder = Folder::new("options");
    folder.file("n.xyz", "0 0 0 0 0 1\n1 0 0 0 1 0\n0 1 0 1 0 0\n0 0 1 0 0 1\n");
    let scene = folder.read(&body("{file: n.xyz, radius: 0.01, points: 7, choice: nearest}"));
    let with = cloud(&scene);
    assert_eq!((with.radius(), with.choice()), (0.01, Choice::Nearest { k: 7 }));
    assert_eq!(with.normals().unwrap()[1], Vec3::Y);
    assert!(scene.clouds[0].has_normals);
    let scene = folder.read(&body("{file: n.xyz, normals: none, points: 3}"));
    assert_eq!((cloud(&scene).normals(), cloud(&scene).choice()), (None, Choice::Spread { k: 3 }));
    // normals rotate with their points
    let turned = "{file: n.xyz, fit: {up: y}, pose: {rpy: [0, 0, 3.141592653589793]}}";
    let scene = folder.read(&body(turned));
    let normals = cloud(&scene).normals().unwrap();
    assert!((normals[1] + Vec3::Z).max_abs() < 1e-15, "{:?}", normals[1]);
    assert!((normals[2] + Vec3::X).max_abs() < 1e-15, "{:?}", normals[2]);
}

/// Moments m (b² + c²)/12 for the solid brick; for points, the sum of equal shares.
#[test]
fn mass_is_spread_over_hull_or_points() {
    let folder = Folder::new("mass");
    folder.file("brick.xyz", lines(&brick()));
    let read = |text: &str| folder.read(text).system.model().body(1).inertia;
    let solid = read(&(body("brick.xyz") + "    mass: 12\n"));
    close(solid.com.to_array(), [10.0, 20.0, 30.0]);
    let moments = [0, 1, 2].map(|i| solid.inertia.rows[i].to_array()[i]);
    for (got, want) in moments.iter().zip([13.0, 20.0, 25.0]) {
        assert!((got - want).abs() < 1e-9, "{moments:?}");
    }
    let dense = read(&(body("brick.xyz") + "    density: 0.5\n"));
    assert!((dense.mass - 12.0).abs() < 1e-9, "{}", dense.mass);
    let shell = read(&(body("{file: brick.xyz, inertia_from: points}") + "    mass: 12\n"));
    let about_x: f64 = brick().iter().map(|p| (p[1] - 20.0).powi(2) + (p[2] - 30.0).powi(2)).sum();
    let want = 12.0 / brick().len() as f64 * about_x;
    assert!((shell.inertia.rows[0].x - want).abs() < 1e-9 && want > 13.0);
    let given =
        read(&(body("brick.xyz") + "    mass: 2\n    com: [1, 2, 3]\n    inertia: [1, 1, 1]\n"));
    assert_eq!((given.mass, given.com.x, given.inertia.rows[0].x), (2.0, 1.0, 1.0));
}

/// A scan's mesh is in the frame of its points and is transformed with them.
#[test]
fn a_mesh_may_be_drawn_in_place_of_points() {
    let folder = Folder::new("visual");
    folder.file(
        "scan.obj",
        "v 0 0 0\nv 100 0 0\nv 0 200 0\nv 0 0 50\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n",
    );
    let options = "fit: {up: y, size: 0.4, on: 0}, pose: {xyz: [0.5, 0, 0]}";
    let text = |visual: &str| body(&format!("{{file: scan.obj, {options}, visual: {visual}}}"));
    let scene = folder.read(&text("{mesh: scan.obj}"));
    let DrawnGeometry::Mesh { vertices, triangles } = &scene.drawing[0].geometry else {
        panic!("{:?}", scene.drawing[0])
    };
    assert_eq!(triangles.len(), 4);
    assert_eq!(vertices.len(), 4);
    for p in cloud(&scene).points() {
        assert!(vertices.contains(&p.to_array()), "{p:?} is no corner of {vertices:?}");
    }
    let scene = folder.read(&text("points"));
    let DrawnGeometry::Points { points, normals, width } = &scene.drawing[0].geometry else {
        panic!("{:?}", scene.drawing[0])
    };
    assert_eq!((points.len(), normals.len(), scene.clouds[0].n_drawn), (4, 4, 4));
    assert!(*width > 0.0 && *width < 1.0);
}

/// Dots on the faces of the brick have the faces' normals.
#[test]
fn dots_know_the_plane_around_them() {
    let folder = Folder::new("planes");
    folder.file("brick.xyz", lines(&brick()));
    let scene = folder.read(&body("brick.xyz"));
    let DrawnGeometry::Points { points, normals, width } = &scene.drawing[0].geometry else {
        panic!("{:?}", scene.drawing[0])
    };
    // the spacing is 0.5 m
    assert!((0.4..1.0).contains(width), "{width}");
    let inner: Vec<usize> = (0..points.len())
        .filter(|&i| points[i][2] == 31.0 && (points[i][0] - 10.0).abs() < 1.1)
        .filter(|&i| (points[i][1] - 20.0).abs() < 0.6)
        .collect();
    assert!(inner.len() > 10);
    for i in inner {
        assert_eq!(normals[i][2].abs(), 1.0, "{:?}", normals[i]);
    }
}

/// A million points load; at most a hundred thousand are drawn, and the report says how many.
#[test]
fn large_clouds_are_drawn_in_part() {
    let folder = Folder::new("large");
    let n = 250_000;
    let mut bytes = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {n}\nproperty float x\n\
         property float y\nproperty float z\nend_header\n"
    )
    .into_bytes();
    for k in 0..n {
        for x in [(k % 500) as f32, (k / 500) as f32, (k % 7) as f32] {
            bytes.extend(x.to_le_bytes());
        }
    }
    folder.file("large.ply", bytes);
    let scene = folder.read(&body("{file: large.ply, unit: mm}"));
    let report = &scene.clouds[0];
    assert_eq!((report.n_points, report.n_drawn), (n, 100_000));
    assert!(report.to_string().ends_with(", 100000 drawn"), "{report}");
    let DrawnGeometry::Points { points, .. } = &scene.drawing[0].geometry else { panic!() };
    assert_eq!(points.len(), 100_000);
    // evenly: each quarter of the plane has its share
    let quarter = points.iter().filter(|p| p[0] < 0.25 && p[1] < 0.25).count();
    assert!((24_000..26_000).contains(&quarter), "{quarter}");
}

/// Another file from the command line keeps the cloud's other settings.
#[test]
fn another_file_from_the_command_line() {
    let folder = Folder::new("set");
    folder.file("brick.xyz", lines(&brick())).file("other.xyz", "0 0 0\n2 0 0\n0 1 0\n0 0 4\n");
    let text = body("{file: brick.xyz, fit: {size: 0.2, on: 0}, points: 9}");
    for key in ["models.a.cloud", "models.a.cloud.file", "models.*.cloud"] {
        let scene = folder.parse(&text, &[(key, "other.xyz")]).unwrap();
        assert_eq!(cloud(&scene).points().len(), 4, "{key}");
        assert_eq!(cloud(&scene).choice(), Choice::Spread { k: 9 }, "{key}");
        assert!((scene.clouds[0].high[2] - 0.2).abs() < 1e-15, "{key}");
    }
    let scene = folder.parse(&text, &[("models.a.cloud", "{file: other.xyz}")]).unwrap();
    assert_eq!(cloud(&scene).choice(), Choice::Spread { k: 5 }, "a mapping replaces all");
    let scene = folder.parse(&body("brick.xyz"), &[("models.a.cloud", "other.xyz")]).unwrap();
    assert_eq!(cloud(&scene).points().len(), 4);
    // command-line paths are relative to the current folder; tests run in the crate's folder
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/command_samples.csv");
    assert!(here.is_file());
    let changes = [("models.a.cloud", "tests/data/command_samples.csv")];
    let error = folder.parse(&text, &changes).unwrap_err().to_string();
    assert!(error.starts_with("--set models.a.cloud: tests/data/command_samples.csv"), "{error}");
}

/// A sampled cloud needs no file: points on the outer surface of shapes or on a mesh, with normals.
#[test]
fn a_cloud_is_sampled_from_shapes_or_a_mesh() {
    let folder = Folder::new("sampled");
    folder.file(
        "corner.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n",
    );
    let shapes =
        "{sample: {points: 500, shapes: [{sphere: {radius: 0.1}, pose: {xyz: [0, 0, 1]}}]}}";
    let scene = folder.parse(&body(shapes), &[]).unwrap();
    assert_eq!(cloud(&scene).points().len(), 500);
    for (p, n) in cloud(&scene).points().iter().zip(cloud(&scene).normals().unwrap()) {
        let from_centre = *p - quasistep_math::Vec3::Z;
        assert!((from_centre - *n * 0.1).norm() < 1e-12);
    }
    let mesh = "{sample: {points: 300, mesh: {file: corner.obj, scale: 0.2}}, voxel: 0.01}";
    let scene = folder.parse(&body(mesh), &[]).unwrap();
    let report = &scene.clouds[0];
    assert_eq!((report.n_read, report.file.as_str()), (300, "its sample"));
    assert!(report.n_points < 300 && report.high.iter().all(|x| *x <= 0.2 + 1e-12), "{report}");
}

#[test]
fn mistakes_have_a_place() {
    let folder = Folder::new("mistakes");
    folder.file("brick.xyz", lines(&brick())).file("short.xyz", "0 0 0\n1 1\n");
    folder.file("flat.xyz", "0 0 0\n1 0 0\n0 1 0\n1 1 0\n").file("one.xyz", "0 0 0\n");
    let wrong = |cloud: &str, key: &str, words: &[&str]| {
        folder.complaint(&body(cloud), &format!("scene.yml:3: models.a.cloud{key}: "), words);
    };
    wrong("gone.ply", "", &["gone.ply", "does not exist"]);
    wrong("{file: scan.stl}", ".file", &["'.stl' is no point format", ".ply"]);
    wrong("short.xyz", "", &["short.xyz:2: ", "2 columns"]);
    wrong("[1, 2]", "", &["a list of 2", "a path, or a mapping"]);
    wrong("{unit: mm}", "", &["`file` is missing", "`sample`"]);
    wrong("{file: brick.xyz, sample: {points: 9}}", ".sample", &["`file` and `sample`"]);
    wrong("{sample: {points: 9}}", ".sample", &["one of `shapes` and `mesh`"]);
    wrong("{sample: {points: 0, shapes: []}}", ".sample.points", &["1 to 10000000"]);
    wrong("{sample: {points: 9, shapes: [{half_space: {}}]}}", ".sample.shapes", &["no surface"]);
    let of = |option: &str| format!("{{file: brick.xyz, {option}}}");
    wrong(&of("zzz: 1"), ".zzz", &["unknown key `zzz`"]);
    wrong(&of("unit: km"), ".unit", &["`km`", "`inch`"]);
    wrong(&of("unit: mm, scale: 2"), ".scale", &["`unit` and `scale`"]);
    wrong(&of("scale: -1"), ".scale", &["> 0"]);
    wrong(&of("unit: mm, fit: {size: 1}"), ".unit", &["`fit`", "one of them"]);
    wrong(&of("normals: 3"), ".normals", &["`file` or `none`"]);
    wrong(&of("radius: -0.1"), ".radius", &["≥ 0"]);
    wrong(&of("points: 0"), ".points", &["1 to 1000"]);
    wrong(&of("choice: best"), ".choice", &["`nearest` or `spread`"]);
    wrong(&of("outliers: 3"), ".outliers", &["`neighbours` or `deviations`"]);
    wrong(&of("outliers: {neighbours: 0}"), ".outliers.neighbours", &["1 to 1000"]);
    wrong(&of("outliers: {deviations: 0}"), ".outliers.deviations", &["> 0"]);
    wrong(&of("voxel: 0"), ".voxel", &["> 0 m"]);
    wrong(&of("voxel: 1e-300"), ".voxel", &["far too small"]);
    wrong(&of("drop_invalid: yes"), ".drop_invalid", &["true or false"]);
    wrong(&of("fit: {up: w}"), ".fit.up", &["`-z`"]);
    wrong(&of("fit: {size: 1, height: 1}"), ".fit.height", &["`size` and `height`"]);
    wrong(&of("radius: 1, fit: {size: 1}"), ".fit", &["radius 1 m"]);
    wrong("{file: one.xyz, fit: {size: 1}}", ".fit", &["no size to fit"]);
    wrong("{file: flat.xyz, fit: {height: 1}}", ".fit", &["no size to fit"]);
    wrong(&of("inertia_from: skin"), ".inertia_from", &["`hull` or `points`"]);
    wrong(&of("visual: mesh"), ".visual", &["`points`"]);
    wrong(&of("visual: {mesh: gone.obj}"), ".visual.mesh", &["gone.obj", "does not exist"]);
    wrong(&of("scale: 1e308"), "", &["must be finite"]);
    folder.complaint(
        &(body("brick.xyz") + "    shape: {sphere: {radius: 1}}\n"),
        "scene.yml:4: models.a.shape: ",
        &["`cloud` and other shapes", "`shapes`"],
    );
    folder.complaint(
        &(body("flat.xyz") + "    mass: 1\n"),
        "scene.yml:4: models.a.mass: ",
        &["flat", "`inertia_from: points`"],
    );
    folder.complaint(
        &(body("{file: brick.xyz, inertia_from: points}") + "    density: 1\n"),
        "scene.yml:4: models.a.density: ",
        &["give `mass`"],
    );
    folder.complaint(
        "models:\n  a:\n    mass: 1\n    shapes: [{sphere: {radius: 1}}, {cloud: {file: flat.xyz, inertia_from: points}}]\n",
        "scene.yml:3: models.a.mass: ",
        &["`inertia_from: hull`"],
    );
}

/// Three scans of unknown size, unit and axes in one scene: the fingers close on each and lift it
/// by 0.05 m.
#[test]
fn a_gripper_lifts_whatever_cloud_is_there() {
    let folder = Folder::new("grasp");
    let egg: Vec<[f64; 3]> = (0..2000)
        .map(|k| {
            let z = 1.0 - f64::from(2 * k + 1) / 2000.0;
            let (s, c) = (f64::from(k) * 2.399963229728653).sin_cos();
            [700.0 * z, 400.0 * (1.0 - z * z).sqrt() * c, 400.0 * (1.0 - z * z).sqrt() * s]
        })
        .collect();
    let turned: Vec<[f64; 3]> =
        brick().iter().map(|[x, y, z]| [0.01 * z, 0.01 * x, 0.01 * y]).collect();
    folder.file("brick.xyz", lines(&brick()));
    folder.file("egg.xyz", lines(&egg)).file("turned.csv", lines(&turned));
    let text = "\
step: {size: 0.01, duration: 3, inertia: mass}
models:
  table: {joint: fixed, shape: {half_space: {}}}
  thing:
    mass: 0.4
    friction: 0.8
    cloud: {file: brick.xyz, fit: {size: 0.1, on: 0, center: true}}
  hand:
    gravity: false
    friction: 0.8
    bodies:
      lift: {joint: [{slide: z, axis: [0, 0, 1], role: prescribed}]}
      left:
        parent: lift
        joint: [{slide: left, axis: [0, 1, 0], stiffness: 1000, start: thing.min_y - 0.01}]
        shape: {box: {size: [0.12, 0.02, 0.2]}, pose: {xyz: [0, -0.01, 0.101]}}
      right:
        parent: lift
        joint: [{slide: right, axis: [0, 1, 0], stiffness: 1000, start: thing.max_y + 0.01}]
        shape: {box: {size: [0.12, 0.02, 0.2]}, pose: {xyz: [0, 0.01, 0.101]}}
commands:
  - {joint: hand.left, expr: \"thing.min_y - 0.01 + 0.02*smooth(t)\"}
  - {joint: hand.right, expr: \"thing.max_y + 0.01 - 0.02*smooth(t)\"}
  - {joint: hand.z, expr: \"0.05*smooth(t - 1.5)\"}
";
    let mut widths = Vec::new();
    for file in ["brick.xyz", "egg.xyz", "turned.csv"] {
        let scene = folder.parse(text, &[("models.thing.cloud", file)]).unwrap();
        let report = &scene.clouds[0];
        widths.push(report.high[1] - report.low[1]);
        let outcome = scene.run(None, &mut |_| std::ops::ControlFlow::Continue(()));
        assert!(outcome.stopped.is_none(), "{file}: {:?}", outcome.stopped);
        let names = scene.system.model().coordinate_names();
        let of = |name: &str| {
            let i = names.iter().position(|n| n == name).unwrap();
            (outcome.recording.frames[140].q[i], outcome.state.q[i])
        };
        // it rests until it is lifted, then rises with the hand, up to creep from slip in the steps
        let (before, after) = of("thing.z");
        assert!(before.abs() < 1e-3, "{file}: at {before} m before it is lifted");
        assert!((after - 0.05).abs() < 2e-3, "{file}: at {after} m, not 0.05");
        // with 1000 N/m, fingers stop 10 mm before their command: 10 N each
        let (left, _) = of("hand.left");
        assert!((left - report.low[1]).abs() < 2e-3, "{file}: {left} against {}", report.low[1]);
    }
    assert!(widths.iter().zip(&widths[1..]).all(|(a, b)| (a - b).abs() > 0.01), "{widths:?}");
}
