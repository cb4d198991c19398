//! Whatever stands in a file, the answer is a description or a sentence: no panic, no hang, no flood of memory.
//!
//! `QUASISTEP_MUTATIONS=20000 cargo test -p quasistep-formats --test mutations` tries more of each format.

mod common;

use common::read_files;
use std::time::{Duration, Instant};

/// The generator of Knuth's MMIX: seeded, so that a failure comes back.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Mutations of each format in CI.
const MUTATIONS: usize = 1500;
/// A text of some kB takes some 0.1 ms; a machine under load is a hundred times slower, a loop without end is none of both.
const LONGEST: Duration = Duration::from_secs(5);

/// Pieces of files that belong elsewhere.
const WORDS: [&str; 30] = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1e-320",
    "é",
    "world",
    "__model__",
    "a::b::c",
    "::",
    "<",
    ">",
    "/>",
    "'",
    "\"",
    "<link name='x'/>",
    "<model name='x'>",
    "</model>",
    "<pose/>",
    "<static>true</static>",
    "<include><uri>part.sdf</uri></include>",
    "relative_to='j1'",
    "!Rpy",
    "[",
    "{",
    "}",
    "&a",
    "- ",
    ": ",
];

const SDF: &str = "<?xml version='1.0'?>
<sdf version='1.9'>
<model name='m' canonical_link='a' placement_frame='f'>
<pose relative_to='world'>1 2 3 0.1 0.2 0.3</pose>
<link name='a'><inertial><pose>0 0 0.1 0 0 0</pose><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
<collision name='c'><pose relative_to='f'>0 0 1 0 0 0</pose><geometry><box><size>1 1 1</size></box></geometry>
<surface><friction><ode><mu>0.5</mu><mu2>0.6</mu2></ode></friction></surface></collision></link>
<link name='b'><pose relative_to='j1'>0 0 1 0 0 0</pose><self_collide>false</self_collide></link>
<link name='c'/>
<frame name='f' attached_to='b'><pose>1 0 0 0 0 0</pose></frame>
<joint name='j1' type='revolute'><pose relative_to='a'>0 0 1 0 0 0</pose><parent>a</parent><child>b</child>
<axis><xyz expressed_in='__model__'>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper><effort>3</effort></limit>
<dynamics><damping>0.1</damping></dynamics></axis></joint>
<joint name='j2' type='universal'><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
<joint name='j3' type='prismatic'><parent>c</parent><child>part::l</child><axis><xyz>1 0 0</xyz></axis>
<drake:mimic joint='j1' multiplier='2' offset='0'/></joint>
<link name='d'/><joint name='j5' type='revolute'><parent>a</parent><child>d</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name='j4' type='gearbox'><parent>b</parent><child>d</child><gearbox_ratio>2</gearbox_ratio>
<gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>
<include merge='false'><uri>part.sdf</uri><name>part</name><pose>0 0 1 0 0 0</pose><placement_frame>tip</placement_frame></include>
<include merge='true'><uri>robot.urdf</uri></include>
<model name='n'><link name='l'/><frame name='g'/></model>
<drake:joint name='p' type='planar'><drake:parent>f</drake:parent><drake:child>n::g</drake:child></drake:joint>
<drake:collision_filter_group name='g'><drake:member>a</drake:member><drake:member_group>h</drake:member_group>
<drake:ignored_collision_filter_group>g</drake:ignored_collision_filter_group></drake:collision_filter_group>
<drake:collision_filter_group name='h'><drake:member>part::l</drake:member></drake:collision_filter_group>
<drake:ball_constraint><drake:ball_constraint_body_A>a</drake:ball_constraint_body_A><drake:ball_constraint_p_AP>0 0 1</drake:ball_constraint_p_AP>
<drake:ball_constraint_body_B>c</drake:ball_constraint_body_B><drake:ball_constraint_p_BQ>0 0 1</drake:ball_constraint_p_BQ></drake:ball_constraint>
</model></sdf>";
const PART: &str = "<sdf version='1.7'><model name='part'><link name='l'><pose>0 0 1 0 0 0</pose></link>
<link name='k'/><frame name='tip' attached_to='l'/><joint name='w' type='ball'><parent>l</parent><child>k</child></joint></model></sdf>";
const ROBOT: &str = "<robot name='r'><link name='u'/><link name='v'/><joint name='uv' type='continuous'><origin xyz='0 0 1'/>
<parent link='u'/><child link='v'/><axis xyz='0 1 0'/></joint></robot>";
const DIRECTIVES: &str = "directives:
- add_model_instance: {name: left}
- add_model:
    name: part
    file: package://pkg/part.sdf
    default_joint_positions: {w: [0.1, 0.2, 0.3]}
- add_model:
    name: r
    file: package://pkg/robot.urdf
    default_free_body_pose:
      u: {base_frame: part::tip, translation: [0, 0, 1], rotation: !Rpy {deg: [0, 0, 90]}}
- add_frame:
    name: table
    X_PF: {base_frame: world, translation: [0, 2, 0]}
- add_weld: {parent: table, child: part::k, X_PC: {translation: [0, 0, 1]}}
- add_directives: {file: package://pkg/sub.dmd.yaml, model_namespace: left}
- add_collision_filter_group:
    name: g
    members: [part::l, left::r::v]
    ignored_collision_filter_groups: [g]
";
const SUB: &str = "directives:
- add_model: {name: r, file: package://pkg/robot.urdf}
- add_weld: {parent: world, child: r::u}
";

const SYSTEM: &str = "model_directive: package://pkg/robots.dmd.yaml
robots:
  - {name: arm, Kp: [100]}
objects:
  - name: part
    file: package://pkg/thing.sdf
quasistatic_sim_params:
  h: 0.1
  gravity: [0, 0, -10.]
  nd_per_contact: 4
  contact_detection_tolerance: .inf
  is_quasi_dynamic: True
  unactuated_mass_scale: .NAN
  log_barrier_weight: 100
";
const ROBOTS: &str = "directives:
- add_model: {name: arm, file: package://pkg/robot.urdf}
- add_weld: {parent: world, child: arm::u}
";
const THING: &str = "<sdf version='1.7'><model name='any'><link name='l'/></model></sdf>";

/// A few changes of a text: ranges left out, doubled, moved, words put in.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let (n, most) = (text.len(), [2, 12, 200][random.below(3)]);
        let start = random.below(n);
        let end = (start + random.below(most)).min(n);
        let piece: Vec<char> = text[start..end].to_vec();
        let to = random.below(n);
        match random.below(5) {
            0 => drop(text.drain(start..end)),
            1 => drop(text.splice(to..to, piece)),
            2 => {
                text.drain(start..end);
                let to = to.min(text.len());
                text.splice(to..to, piece);
            }
            _ => drop(text.splice(start..end, WORDS[random.below(WORDS.len())].chars())),
        }
        if text.is_empty() {
            break;
        }
    }
    text.into_iter().collect()
}

/// Mutates one of the files at a time, of which the first one names the others.
fn every_answer_is_told(files: &[(&str, &str)]) {
    let n = std::env::var("QUASISTEP_MUTATIONS").ok().and_then(|n| n.parse().ok());
    let mut random = Random(26);
    read_files(files).expect("the files are right before they are changed");
    let mut read = 0;
    let n = n.unwrap_or(MUTATIONS);
    for _ in 0..n {
        let mut changed: Vec<(&str, String)> =
            files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        let which = if random.below(3) > 0 { 0 } else { random.below(files.len()) };
        changed[which].1 = mutate(&changed[which].1, &mut random);
        let all: Vec<(&str, &str)> =
            changed.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let start = Instant::now();
        match read_files(&all) {
            Ok(description) => {
                read += 1;
                assert!(description.links.len() < 100, "{}", changed[which].1);
            }
            Err(error) => {
                let said = error.to_string();
                assert!(!said.is_empty() && !said.contains('\n'), "{said}: {}", changed[which].1);
            }
        }
        assert!(start.elapsed() < LONGEST, "{}", changed[which].1);
    }
    // changes that say nothing and changes that break something are both among them
    assert!(read > n / 50 && read < n - n / 10, "{read} of {n} were read");
}

#[test]
fn changed_sdf_files_are_read_or_refused() {
    every_answer_is_told(&[("m.sdf", SDF), ("part.sdf", PART), ("robot.urdf", ROBOT)]);
}

#[test]
fn changed_directives_are_read_or_refused() {
    every_answer_is_told(&[
        ("m.dmd.yaml", DIRECTIVES),
        ("sub.dmd.yaml", SUB),
        ("part.sdf", PART),
        ("robot.urdf", ROBOT),
    ]);
}

#[test]
fn changed_systems_are_read_or_refused() {
    every_answer_is_told(&[
        ("system.yml", SYSTEM),
        ("robots.dmd.yaml", ROBOTS),
        ("thing.sdf", THING),
        ("robot.urdf", ROBOT),
    ]);
}
