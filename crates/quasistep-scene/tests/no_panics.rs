//! Whatever stands in a file, the answer is a scene or one line, never a panic.
#![allow(missing_docs)]

use quasistep_scene::Scene;
use std::path::{Path, PathBuf};

/// The generator of Knuth's MMIX: seeded, so that a failure comes back.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Words that people type where they do not belong.
const WORDS: [&str; 22] = [
    "nan",
    ".inf",
    "-1",
    "0",
    "1e308",
    "-1e-320",
    "{}",
    "[]",
    "[0, 0, 0]",
    "\"",
    "'",
    "*",
    "&a",
    "5 cm",
    "none",
    "free",
    "é",
    "~",
    "|",
    "<",
    ">",
    "/",
];

/// A few changes of a text: words and lines left out, doubled, swapped and replaced.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        if lines.is_empty() {
            break;
        }
        let k = random.below(lines.len());
        let mut words: Vec<String> =
            lines[k].split_inclusive([' ', ',', ':', '"']).map(str::to_owned).collect();
        let w = random.below(words.len());
        match random.below(8) {
            0 => drop(lines.remove(k)),
            1 => lines.insert(k, lines[k].clone()),
            2 => {
                let other = random.below(lines.len());
                lines.swap(k, other);
            }
            3 if !words.is_empty() => drop(words.remove(w)),
            4 if !words.is_empty() => words.insert(w, words[w].clone()),
            5 if !words.is_empty() => {
                // cut within a word, at a character's edge
                let cut = words[w].char_indices().nth(1).map_or(0, |(i, _)| i);
                words[w].truncate(cut);
            }
            _ if !words.is_empty() => WORDS[random.below(WORDS.len())].clone_into(&mut words[w]),
            _ => {}
        }
        if let Some(line) = lines.get_mut(k)
            && !words.is_empty()
        {
            *line = words.concat();
        }
    }
    lines.join("\n")
}

fn one_line(text: &str, dir: &Path) {
    if let Err(error) = Scene::parse(text, "scene.yml", "scene", dir, &[]) {
        let text = error.to_string();
        assert_eq!(text.lines().count(), 1 + error.others.len(), "{text}");
        assert!(!error.message.is_empty());
    }
}

#[test]
fn changed_scenes_are_read_or_refused() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "yml"));
    // its cloud takes seconds to sample; its keys are those of `bunny_grasp.yml`
    files.retain(|path| path.file_stem().is_some_and(|stem| stem != "million_points"));
    files.sort();
    let page = std::fs::read_to_string(folder.join("../docs/scene-format.md")).unwrap();
    let mut texts: Vec<String> = page
        .split("```")
        .skip(1)
        .step_by(2)
        .map(|t| t.trim_start_matches("yaml").to_owned())
        .collect();
    texts.extend(files.iter().map(|path| std::fs::read_to_string(path).unwrap()));
    assert!(texts.len() >= 10);
    let mut random = Random(1);
    for text in &texts {
        for _ in 0..200 {
            one_line(&mutate(text, &mut random), &folder);
        }
    }
}

#[test]
fn changed_clouds_are_read_or_refused() {
    let folder = std::env::temp_dir().join(format!("quasistep-clouds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let points: Vec<String> = (0..60)
        .map(|k| format!("{} {} {}\n", k % 4, 0.5 * f64::from(k / 4 % 4), k / 16 + k * k % 3))
        .collect();
    std::fs::write(folder.join("scan.xyz"), points.concat()).unwrap();
    std::fs::write(folder.join("one.xyz"), "1 2 3\n").unwrap();
    std::fs::write(folder.join("flat.csv"), "0,0,0\n1,0,0\n0,1,0\n1,1,0\n").unwrap();
    let text = "\
models:
  a:
    mass: 1
    pose: {xyz: [0, 0, 1]}
    cloud:
      file: scan.xyz
      scale: 0.01
      pose: {xyz: [0, 0, 1], rpy: [0, 1, 0]}
      normals: file
      radius: 0.001
      points: 5
      choice: spread
      outliers: {neighbours: 5, deviations: 2}
      voxel: 0.002
      drop_invalid: true
      inertia_from: hull
      visual: points
  b: {density: 3, cloud: {file: scan.xyz, fit: {size: 0.1, up: y, on: 0, center: true}, voxel: 0.01}}
  c: {mass: 2, cloud: {file: one.xyz, inertia_from: points, outliers: {}, fit: {up: -z, on: a.max_z}}}
  d: {joint: [{slide: x, axis: [1, 0, 0], start: b.max_x - a.min_x}], cloud: flat.csv}
commands: []
";
    assert!(Scene::parse(text, "scene.yml", "scene", &folder, &[]).is_ok());
    let mut random = Random(5);
    for _ in 0..3000 {
        one_line(&mutate(text, &mut random), &folder);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn changed_robots_are_read_or_refused() {
    let folder = std::env::temp_dir().join(format!("quasistep-changed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let models = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes/models");
    let mut random = Random(2);
    for name in ["iiwa7/iiwa7.urdf", "wsg50/wsg50.urdf"] {
        let text = std::fs::read_to_string(models.join(name)).unwrap();
        for _ in 0..500 {
            std::fs::write(folder.join("r.urdf"), mutate(&text, &mut random)).unwrap();
            one_line("models: {r: {urdf: r.urdf, joints: {\"*\": {stiffness: 1}}}}\n", &folder);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn changed_meshes_are_read_or_refused() {
    let folder = std::env::temp_dir().join(format!("quasistep-meshes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nvt 0 1\nf 1//1 3//1 2//1\nf 1/1 2/1 4/1\nf 2 3 4\nf 1 4 3\n";
    let facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 1\nendloop\nendfacet\n";
    let stl = format!("solid a\n{facet}{facet}endsolid a\n");
    let mut random = Random(3);
    for (name, text) in [("m.obj", obj), ("m.stl", stl.as_str())] {
        for _ in 0..500 {
            std::fs::write(folder.join(name), mutate(text, &mut random)).unwrap();
            one_line(
                &format!("models: {{m: {{mass: 1, shape: {{mesh: {{file: {name}}}}}}}}}\n"),
                &folder,
            );
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
