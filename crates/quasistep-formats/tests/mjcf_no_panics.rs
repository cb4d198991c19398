//! Whatever stands in an MJCF file, the answer is a description or one line, never a panic, and soon.
#![allow(missing_docs)]

use quasistep_formats::{Format, Options, read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The generator of Knuth's MMIX: seeded, so that a failure comes back.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Words that do harm where they do not belong.
const WORDS: [&str; 30] = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "-1e-320",
    "1000000000",
    "true",
    "auto",
    "world",
    "world_0",
    "main",
    "a",
    "é",
    "<",
    ">",
    "/>",
    "&amp;",
    "&x;",
    "body",
    "geom",
    "joint",
    "free",
    "ball",
    "mesh",
    "plane",
    "fromto",
    "replicate",
    "include",
    "default",
];

/// A model with all that is read.
const MODEL: &str = "<mujoco model='all'>
<compiler angle='degree' autolimits='true' eulerseq='xyz' meshdir='.' inertiafromgeom='auto' boundmass='0' balanceinertia='true' settotalmass='-1'/>
<include file='part.xml'/>
<option timestep='0.01' gravity='0 0 -9.81'><flag contact='enable' gravity='enable'/></option>
<default>
<geom friction='1 0.1 0.1' condim='3' rgba='1 1 1 1'/>
<default class='a'><joint damping='1' range='-90 90'/><position kp='10'/>
<default class='b'><geom size='0.1' contype='1' conaffinity='3'/></default></default>
</default>
<asset>
<texture name='t' builtin='checker' rgb1='1 0 0'/>
<material name='m' texture='t' rgba='1 1 1 1'/>
<mesh name='cube' file='cube.obj' scale='0.1 0.1 0.1' refpos='0 0 1' inertia='legacy'/>
<mesh name='tip' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 2 1 0 1 3 0 3 2 1 2 3' inertia='exact'/>
<model name='other' file='other.xml'/>
</asset>
<worldbody>
<geom name='floor' type='plane' size='1 1 1' material='m'/>
<site name='s' pos='0 0 1'/>
<body name='base' pos='0 0 1' euler='10 20 30' childclass='a'>
<joint name='j' type='slide' axis='0 0 1' ref='0.1' springref='0.2' stiffness='3' armature='0.1'/>
<joint name='k' axis='0 1 0' pos='0 0 0.1' springdamper='0.1 1' frictionloss='0.1'/>
<geom name='g' type='capsule' size='0.1' fromto='0 0 0 0 0 1' mass='1'/>
<geom type='mesh' mesh='cube' class='b'/>
<geom type='box' mesh='tip' fitscale='1.1' group='3'/>
<geom type='ellipsoid' size='0.1 0.2 0.3' zaxis='0 1 1' shellinertia='true'/>
<body name='tip' pos='0 0 1' gravcomp='1'><joint type='ball' name='n'/><inertial pos='0 0 0' mass='1' fullinertia='1 1 1 0 0 0'/>
<site name='r' xyaxes='1 0 0 0 1 0'/></body>
<frame pos='1 0 0' axisangle='0 0 1 90'><attach model='other' body='x' prefix='o_'/></frame>
</body>
<replicate count='4' offset='0 0 1' euler='0 0 90' sep='-'><body name='c' pos='3 0 0'><freejoint/><geom class='b'/></body></replicate>
<body name='moved' mocap='true'><geom size='0.1' contype='0' conaffinity='0'/></body>
</worldbody>
<contact><exclude body1='base' body2='tip'/><pair geom1='floor' geom2='g' friction='1 1 0.1' condim='4'/></contact>
<tendon><fixed name='f' range='-1 1' stiffness='2' springlength='0.1'><joint joint='j' coef='1'/><joint joint='k' coef='-2'/></fixed>
<spatial name='p'><site site='s'/><site site='r'/></spatial></tendon>
<equality><joint joint1='j' joint2='k' polycoef='0 1'/><connect body1='base' body2='c-1' anchor='0 0 0'/>
<weld site1='s' site2='r'/><weld body1='tip' relpose='0 0 0 1 0 0 0' torquescale='1'/><tendon tendon1='f' polycoef='0.1'/></equality>
<actuator><position joint='j' kp='3' dampratio='1' ctrlrange='-1 1' class='a'/><general tendon='f' biastype='affine' gainprm='2' biasprm='0 -2 -1' forcerange='-3 3'/>
<velocity joint='k' kv='2' gear='3'/><motor site='s'/></actuator>
<keyframe><key name='home' qpos='0 0 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 1 0 0 0 0 0 0 1 0 0 0 0 0 0 1 0 0 0' ctrl='1 2 3'/></keyframe>
<visual><map/></visual><sensor><jointpos joint='j'/></sensor>
</mujoco>
";
const PART: &str = "<mujocoinclude><option viscosity='0'/><custom><numeric name='n' data='1'/></custom></mujocoinclude>";
const OTHER: &str = "<mujoco model='o'><worldbody><body name='x'><joint name='y'/><geom size='0.1'/><body name='z'><geom size='0.1'/></body></body></worldbody>
<actuator><position joint='y'/></actuator></mujoco>";
const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";

/// A few changes of a text: words and lines left out, doubled, swapped and replaced.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let k = random.below(lines.len());
        let mut words: Vec<String> =
            lines[k].split_inclusive([' ', '\'', '=', '<', '>']).map(str::to_owned).collect();
        let w = random.below(words.len());
        match random.below(8) {
            0 => lines[k].clear(),
            1 => lines.insert(k, lines[k].clone()),
            2 => {
                let other = random.below(lines.len());
                lines.swap(k, other);
            }
            3 if !words.is_empty() => drop(words.remove(w)),
            4 if !words.is_empty() => words.insert(w, words[w].clone()),
            _ if !words.is_empty() => {
                let end = words[w].pop().unwrap_or(' ');
                WORDS[random.below(WORDS.len())].clone_into(&mut words[w]);
                words[w].push(end);
            }
            _ => {}
        }
        if !words.is_empty() && !lines[k].is_empty() {
            lines[k] = words.concat();
        }
    }
    lines.join("\n")
}

/// So many changed models; `QUASISTEP_MUTATIONS` says another number.
const MUTATIONS: usize = 1000;
/// Most that one of them may take: a thousand times what it takes.
const PATIENCE: Duration = Duration::from_secs(2);

#[test]
fn changed_models_are_read_or_refused() {
    let folder =
        std::env::temp_dir().join(format!("quasistep-changed-mjcf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in [("part.xml", PART), ("other.xml", OTHER), ("cube.obj", CUBE)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let path: PathBuf = folder.join("m.xml");
    let check = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let start = Instant::now();
        let result = read(Format::Mjcf, &path, &Options::default());
        assert!(start.elapsed() < PATIENCE, "{:?} for\n{text}", start.elapsed());
        match result {
            Ok(d) => {
                assert_eq!(d.tree.order.len(), d.links.len());
                assert!(d.warnings.iter().all(|w| w.lines().count() == 1), "{:?}", d.warnings);
                true
            }
            Err(error) => {
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
                false
            }
        }
    };
    assert!(check(MODEL), "{:?}", read(Format::Mjcf, &path, &Options::default()).map(|_| ()));
    let n =
        std::env::var("QUASISTEP_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(MUTATIONS);
    let mut random = Random(7);
    let read = (0..n).filter(|_| check(&mutate(MODEL, &mut random))).count();
    // most changes are mistakes, but not all
    assert!(n / 20 < read && read < n - n / 20, "{read} of {n} are read");
    std::fs::remove_dir_all(&folder).unwrap();
}
