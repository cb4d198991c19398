//! Reading any file ends soon and in bounded memory, with a scene or an error that names the file.
#![cfg(unix)]

use quasistep_scene::Scene;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A folder for one test, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("quasistep-bounded-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Error of a file that must be refused within seconds, with an allowance for a loaded machine.
#[track_caller]
fn refused(path: &Path) -> String {
    let start = Instant::now();
    let error = Scene::load(path).map(|_| ()).unwrap_err().to_string();
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 20.0, "{}: {seconds} s", path.display());
    error
}

/// Scenes that name a file in each place where a scene may.
fn scenes_with(file: &str, ending: &str) -> Vec<String> {
    match ending {
        "urdf" | "sdf" | "xml" | "yml" => {
            let key = match ending {
                "urdf" => "urdf",
                "sdf" => "sdf",
                "xml" => "mjcf",
                _ => "directives",
            };
            vec![format!("models: {{a: {{{key}: {file}}}}}\n")]
        }
        "csv" => vec![format!(
            "models:\n  f: {{joint: [{{slide: x, axis: [1, 0, 0], stiffness: 1}}]}}\ncommands:\n  - {{joint: f.x, csv: \
             {{file: {file}, columns: [a]}}}}\n"
        )],
        "ply" | "obj" => vec![
            format!("models: {{a: {{mass: 1, shape: {{cloud: {file}}}}}}}\n"),
            format!("models: {{a: {{mass: 1, shape: {{mesh: {{file: {file}}}}}}}}}\n"),
        ],
        "pcd" | "npy" | "xyz" => {
            vec![format!("models: {{a: {{mass: 1, shape: {{cloud: {file}}}}}}}\n")]
        }
        _ => vec![format!("models: {{a: {{mass: 1, shape: {{mesh: {{file: {file}}}}}}}}}\n")],
    }
}

const ENDINGS: [&str; 13] =
    ["urdf", "sdf", "xml", "yml", "csv", "ply", "obj", "stl", "dae", "gltf", "pcd", "npy", "xyz"];

#[test]
fn pipes_devices_and_folders_are_refused_at_once() {
    let folder = Folder::new("pipes");
    for ending in ENDINGS {
        let pipe = folder.0.join(format!("pipe.{ending}"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", folder.0.join(format!("zero.{ending}"))).unwrap();
        std::fs::create_dir(folder.0.join(format!("folder.{ending}"))).unwrap();
        for (kind, what) in [
            ("pipe", "it is a pipe or a device"),
            ("zero", "it is a pipe or a device"),
            ("folder", "it is a folder"),
        ] {
            let name = format!("{kind}.{ending}");
            for text in scenes_with(&name, ending) {
                let scene = folder.write("scene.yml", &text);
                let said = refused(&scene);
                assert!(said.contains(&name) && said.contains(what), "{text}: {said}");
            }
            // the file itself as the scene
            refused(&folder.0.join(&name));
        }
    }
}

/// Sparse files of a terabyte: no byte of them is read.
#[test]
fn huge_files_are_refused_at_once() {
    let folder = Folder::new("huge");
    for ending in ENDINGS {
        let name = format!("huge.{ending}");
        let file = std::fs::File::create(folder.0.join(&name)).unwrap();
        if file.set_len(1 << 40).is_err() {
            continue;
        }
        for text in scenes_with(&name, ending) {
            let start = Instant::now();
            let said = refused(&folder.write("scene.yml", &text));
            assert!(said.contains("more than 536870912 bytes"), "{text}: {said}");
            assert!(start.elapsed() < Duration::from_secs(5));
        }
    }
    let said = refused(&folder.0.join("huge.yml"));
    assert!(said.contains("more than 536870912 bytes"), "{said}");
    // text files have a lower limit
    let long = folder.0.join("long.yml");
    std::fs::File::create(&long).unwrap().set_len((1 << 26) + 1).unwrap();
    let said = refused(&long);
    assert!(said.contains("of a text 67108864 are read"), "{said}");
}

/// A packed cloud of zeros is a hundred times smaller than its contents.
#[test]
fn packed_clouds_that_grow_without_end_are_refused() {
    let folder = Folder::new("packed");
    let zeros = |n: usize| {
        // a zero, then runs of 264 zeros
        let mut packed = vec![0, 0];
        packed.extend([7 << 5, 255, 0].repeat((12 * n - 1) / 264));
        packed.extend([0, 0].repeat((12 * n - 1) % 264));
        let head = format!(
            "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {n}\nHEIGHT 1\nDATA binary_compressed\n"
        );
        [
            head.as_bytes(),
            &(packed.len() as u32).to_le_bytes(),
            &((12 * n) as u32).to_le_bytes(),
            &packed,
        ]
        .concat()
    };
    folder.write("bomb.pcd", zeros(66_000_000));
    let scene = folder.write("bomb.yml", "models: {a: {mass: 1, shape: {cloud: bomb.pcd}}}\n");
    let said = refused(&scene);
    assert!(said.contains("more than 10000000 points were seen"), "{said}");
    // fields that are not read count too
    let wide = String::from_utf8_lossy(&zeros(1)[..0]).into_owned()
        + "FIELDS x y z junk\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 97\nWIDTH 2000000\nHEIGHT 1\nDATA binary_compressed\n";
    let lengths = [9_090_910_u32.to_le_bytes(), 800_000_000_u32.to_le_bytes()].concat();
    folder.write("wide.pcd", [wide.as_bytes(), &lengths, &vec![0; 9_090_910]].concat());
    let scene = folder.write("wide.yml", "models: {a: {mass: 1, shape: {cloud: wide.pcd}}}\n");
    let said = refused(&scene);
    assert!(said.contains("800000000 bytes of unpacked points"), "{said}");
}

#[test]
fn long_lists_of_small_things_are_read_or_refused_soon() {
    let folder = Folder::new("lists");
    let many = |n: usize, of: &dyn Fn(usize) -> String| (0..n).map(of).collect::<String>();
    for (name, text, words) in [
        ("keys.yml", many(400_000, &|i| format!("a{i}: 1\n")), "unknown key"),
        ("list.yml", format!("models: [{}]", "a,".repeat(3_000_000)), "more than 2000000 keys"),
        (
            "bodies.yml",
            "models:\n".to_owned()
                + &many(60_000, &|i| format!("  a{i}: {{mass: 1, shape: {{sphere: {{radius: 1}}}}}}\n")),
            "20001 bodies were seen",
        ),
        (
            "copies.yml",
            "models:\n  a: {mass: 1, repeat: {count: 10000}, shape: {sphere: {radius: 1}}}\n  b: {mass: 1, repeat: \
             {count: 10000}, shape: {sphere: {radius: 1}}}\n  c: {mass: 1, shape: {sphere: {radius: 1}}}\n"
                .to_owned(),
            "20001 bodies were seen",
        ),
        (
            "attributes.urdf",
            format!("<robot {}/>", many(300_000, &|i| format!("a{i}='' "))),
            "more than 1000 attributes",
        ),
        ("elements.urdf", format!("<robot>{}</robot>", "<a/>".repeat(5_000_000)), "nodes"),
        (
            "attributes.dae",
            format!("<COLLADA {}/>", many(300_000, &|i| format!("a{i}='' "))),
            "more than 1000 attributes",
        ),
    ] {
        let path = folder.write(name, text);
        let path = if name.ends_with("dae") {
            folder.write("mesh.yml", &scenes_with(name, "dae")[0])
        } else {
            path
        };
        let said = refused(&path);
        assert!(said.contains(words), "{name}: {said:.300}");
    }
}

/// A chain of three thousand links has more dofs than one tree may have; welded links count as one
/// body.
#[test]
fn a_chain_of_three_thousand_links_is_told_soon() {
    let folder = Folder::new("chain");
    let chain = |kind: &str| {
        let body = "<inertial><mass value='1'/><inertia ixx='1e-2' iyy='1e-2' izz='1e-2' ixy='0' ixz='0' iyz='0'/></inertial>\
             <collision><geometry><sphere radius='0.01'/></geometry></collision>";
        let links: String = (0..3000)
            .map(|i| format!("<link name='l{i}'>{body}</link>\n"))
            .collect::<Vec<_>>()
            .concat();
        let joints: String = (1..3000)
            .map(|i| {
                format!(
                    "<joint name='j{i}' type='{kind}'><parent link='l{}'/><child link='l{i}'/><origin xyz='0.05 0 0'/>\
                     <axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='10' velocity='1'/></joint>\n",
                    i - 1
                )
            })
            .collect::<Vec<_>>()
            .concat();
        format!("<robot name='chain'>{links}{joints}</robot>")
    };
    let said = refused(&folder.write("hinges.urdf", chain("revolute")));
    assert!(said.contains("2999 dofs were seen in the bodies that hang on"), "{said}");
    let start = Instant::now();
    let scene = Scene::load(folder.write("welds.urdf", chain("fixed"))).unwrap();
    assert!(scene.system.model().n_bodies() > 3000);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Many spheres in one place, so that all pairs overlap.
#[test]
fn a_million_overlaps_are_told_with_their_limit() {
    let folder = Folder::new("overlaps");
    let heap = "models: {a: {mass: 1, repeat: {count: 1500}, shape: {sphere: {radius: 0.1}}}}\n";
    let scene = Scene::load(folder.write("heap.yml", heap)).unwrap();
    let said = scene.first_step().map(|_| ()).unwrap_err().to_string();
    assert!(said.starts_with("state q: 1124250 pairs") && said.contains("500000 points"), "{said}");
}
