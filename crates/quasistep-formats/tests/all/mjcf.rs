//! Hand-written MJCF files, with expected values from MuJoCo's XML reference.

use quasistep_formats::description::{Constraint, Description, Drives, Geometry, Joint, Link, Pad};
use quasistep_formats::{Format, Options, SceneError, read};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::JointKind;
use std::f64::consts::FRAC_1_SQRT_2;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A temporary folder with these files, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let k = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("quasistep-mjcf-{}-{k}", std::process::id()));
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn read(&self, options: &Options) -> Result<Description, SceneError> {
        read(Format::Mjcf, &self.0.join("m.xml"), options)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn try_model(inside: &str) -> Result<Description, SceneError> {
    Folder::new(&[("m.xml", &format!("<mujoco>{inside}</mujoco>"))]).read(&Options::default())
}

fn model(inside: &str) -> Description {
    try_model(inside).unwrap_or_else(|e| panic!("{e}"))
}

fn link<'d>(d: &'d Description, name: &str) -> &'d Link {
    d.links.iter().find(|l| l.name == name).unwrap_or_else(|| panic!("no link {name}"))
}

fn joint<'d>(d: &'d Description, name: &str) -> &'d Joint {
    d.joints.iter().find(|j| j.name == name).unwrap_or_else(|| panic!("no joint {name}"))
}

fn close(a: Vec3, b: Vec3) {
    assert!((a - b).norm() < 1e-12, "{a:?} is not {b:?}");
}

fn close_number(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} is not {b}");
}

/// Compares two rotations by their action on vectors.
fn same_turn(a: Quat, b: Quat) {
    close(a.rotate(Vec3::X), b.rotate(Vec3::X));
    close(a.rotate(Vec3::Y), b.rotate(Vec3::Y));
}

/// World poses of the links with all joints at their start; one-dof and free joints only.
fn poses(d: &Description) -> Vec<Pose> {
    let mut out = vec![Pose::IDENTITY; d.links.len()];
    for &k in &d.tree.order {
        let joint = &d.joints[d.tree.joint_of[k].unwrap()];
        let parent = joint.parent.map_or(Pose::IDENTITY, |p| out[p]);
        let q = joint.start.as_deref().unwrap_or_default();
        let moved = match (joint.kind, q) {
            (JointKind::Revolute { axis } | JointKind::Continuous { axis }, &[angle]) => {
                Pose::new(Quat::from_axis_angle(axis, angle), Vec3::ZERO)
            }
            (JointKind::Prismatic { axis }, &[x]) => Pose::from_translation(axis * x),
            (JointKind::Free, &[w, a, b, c, x, y, z]) => {
                Pose::new(Quat::new(w, a, b, c), Vec3::new(x, y, z))
            }
            _ => Pose::IDENTITY,
        };
        out[k] = parent * joint.origin * moved;
    }
    out
}

fn pose_of(d: &Description, name: &str) -> Pose {
    poses(d)[d.links.iter().position(|l| l.name == name).unwrap()]
}

const BALL: &str = "<geom size='0.1'/>";

/// XML reference, "Default settings": a class inherits from the enclosing class; attributes of the
/// element override both.
#[test]
fn defaults_nest_by_class() {
    let d = model(
        "<default>
           <geom size='0.5' friction='0.9 0.1 0.01' condim='6'/>
           <default class='small'>
             <geom size='0.2'/>
             <default class='slick'><geom friction='0.3'/></default>
           </default>
         </default>
         <worldbody>
           <body name='a' childclass='small'>
             <geom name='plain'/>
             <geom name='own' class='slick' size='0.1'/>
             <body name='b'><geom name='inherits'/></body>
             <frame childclass='slick'><body name='c'><geom name='framed'/></body></frame>
           </body>
         </worldbody>",
    );
    let seen = |body: &str, k: usize| {
        let part = &link(&d, body).collisions[k];
        let Geometry::Sphere { radius } = part.geometry else { panic!("{part:?}") };
        (radius, part.friction.slide.unwrap(), part.friction.spin, part.friction.roll)
    };
    let (spin, roll) = (Some(0.1), Some(0.01));
    assert_eq!(seen("a", 0), (0.2, 0.9, spin, roll));
    // fewer numbers leave the others at the enclosing class's values
    assert_eq!(seen("a", 1), (0.1, 0.3, spin, roll));
    assert_eq!(seen("b", 0), (0.2, 0.9, spin, roll));
    assert_eq!(seen("c", 0), (0.2, 0.3, spin, roll));
}

/// XML reference, "Frame orientations": a quarter turn about y after one about x, in five forms.
#[test]
fn orientations_agree() {
    let ways = [
        ("", "quat='0.5 0.5 0.5 0.5'"),
        ("", "axisangle='1 1 1 120'"),
        ("angle='radian'", "axisangle='2 2 2 2.0943951023931953'"),
        // x goes to y, y to z
        ("", "xyaxes='0 1 0  0 0 2'"),
        ("eulerseq='zxy'", "euler='90 90 0'"),
        ("eulerseq='XYZ'", "euler='90 0 90'"),
    ];
    for (compiler, orientation) in ways {
        let d = model(&format!(
            "<compiler {compiler}/><worldbody><body name='a' {orientation}>{BALL}</body></worldbody>"
        ));
        let turn = pose_of(&d, "a").rotation;
        close(turn.rotate(Vec3::X), Vec3::Y);
        close(turn.rotate(Vec3::Y), Vec3::Z);
    }
    let d = model(&format!("<worldbody><body name='a' zaxis='0 3 0'>{BALL}</body></worldbody>"));
    same_turn(
        pose_of(&d, "a").rotation,
        Quat::from_axis_angle(Vec3::X, -std::f64::consts::FRAC_PI_2),
    );
}

/// A body with several joints and anchors off its origin becomes a chain that ends in the body's
/// frame. Coordinates are those of the file; its reference configuration has joints at `ref`.
#[test]
fn joints_of_a_body_are_a_chain() {
    let d = model(
        "<worldbody><body name='base' pos='0 0 1'><geom size='0.1'/>
           <body name='arm' pos='1 0 0'>
             <joint name='slide' type='slide' axis='2 0 0' ref='0.5' range='-1 2' damping='3'/>
             <joint name='hinge' pos='0 0.2 0' axis='0 0 1' ref='90' springref='45' stiffness='7' range='-90 180' armature='0.1' frictionloss='0.2'/>
             <geom size='0.1'/>
           </body></body></worldbody>",
    );
    close(pose_of(&d, "arm").translation, Vec3::new(1.0, 0.0, 1.0));
    same_turn(pose_of(&d, "arm").rotation, Quat::IDENTITY);
    let (slide, hinge) = (joint(&d, "slide"), joint(&d, "hinge"));
    assert_eq!(slide.limits, Some([-1.0, 2.0]));
    assert_eq!((slide.damping, slide.start.as_deref()), (3.0, Some([0.5].as_slice())));
    assert!(matches!(slide.kind, JointKind::Prismatic { axis } if axis == Vec3::X));
    let quarter = std::f64::consts::FRAC_PI_2;
    assert_eq!(hinge.limits, Some([-quarter, 2.0 * quarter]));
    let spring = hinge.drive.unwrap();
    assert_eq!((spring.stiffness, spring.target, spring.effort), (7.0, Some(0.5 * quarter), None));
    assert_eq!((hinge.armature, hinge.friction), (0.1, 0.2));
    // rotate by a quarter turn from the reference configuration, about the anchor
    let mut moved = d.clone();
    for joint in &mut moved.joints {
        if joint.name == "hinge" {
            joint.start = Some(vec![2.0 * quarter]);
        }
    }
    // the origin, 0.2 m below the anchor, swings to the right
    close(pose_of(&moved, "arm").translation, Vec3::new(1.2, 0.2, 1.0));
    assert_eq!(d.joints.iter().filter(|j| matches!(j.kind, JointKind::Fixed)).count(), 2);
}

/// Masses and moments of solids with density 1000 kg/m³, with given mass, and of both together.
#[test]
fn inertia_follows_from_geoms() {
    let d = model(
        "<worldbody>
           <body name='box'><freejoint/><geom type='box' size='0.1 0.2 0.3' pos='0 0 1'/></body>
           <body name='rod'><freejoint/><geom type='cylinder' size='0.1' fromto='0 0 0 2 0 0' mass='6'/></body>
           <body name='two'><freejoint/>
             <geom size='0.1' mass='1' pos='1 0 0'/><geom size='0.1' mass='3' pos='-1 0 0'/>
             <geom size='0.1' mass='5' group='4'/></body>
           <body name='told'><freejoint/><inertial pos='1 2 3' mass='2' diaginertia='1 2 3' euler='90 0 0'/><geom size='1'/></body>
         </worldbody><compiler inertiagrouprange='0 3' boundinertia='0.001'/>",
    );
    let of = |name: &str| link(&d, name).inertial.unwrap();
    let cuboid = of("box");
    close_number(cuboid.mass, 48.0);
    close(cuboid.com, Vec3::Z);
    close_number(cuboid.inertia.rows[0].x, 48.0 / 3.0 * (0.04 + 0.09));
    let rod = of("rod");
    close_number(rod.inertia.rows[0].x, 6.0 * 0.01 / 2.0);
    close_number(rod.inertia.rows[1].y, 6.0 * (0.01 / 4.0 + 4.0 / 12.0));
    let two = of("two");
    close_number(two.mass, 4.0);
    close(two.com, Vec3::X * -0.5);
    close_number(two.inertia.rows[1].y, 4.0 * 0.4 * 0.01 + 2.25 + 3.0 * 0.25);
    let told = of("told");
    // a quarter turn about x moves the second moment to z
    close_number(told.inertia.rows[1].y, 3.0);
    close_number(told.inertia.rows[2].z, 2.0);
    let light = model(
        "<compiler boundmass='0.5' boundinertia='0.25' settotalmass='3'/>
        <worldbody><body name='a'><freejoint/><geom size='0.01'/></body></worldbody>",
    );
    let light = link(&light, "a").inertial.unwrap();
    close_number(light.mass, 3.0);
    close_number(light.inertia.rows[0].x, 0.25 * 3.0 / 0.5);
}

const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\nv 1 1 1\n\
    f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";

/// A mesh has the mass of its enclosed volume, wherever its origin is. `refpos`, `refquat` and
/// `scale` place and scale it.
#[test]
fn meshes_weigh_and_stand_where_their_assets_say() {
    let text = "<mujoco><compiler meshdir='meshes'/>
        <asset><mesh name='cube' file='cube.obj' scale='0.1 0.2 0.3' refpos='1 0 0'/>
          <mesh file='cube.obj' refquat='0.70710678118654757 0 0 0.70710678118654757' inertia='exact'/>
          <mesh name='tip' vertex='0 0 0  1 0 0  0 1 0  0 0 1'/></asset>
        <worldbody>
          <body name='a'><freejoint/><geom type='mesh' mesh='cube' pos='0 0 1'/></body>
          <body name='b'><freejoint/><geom type='mesh' mesh='cube' mass='1' class='main'/><geom type='mesh' mesh='tip' density='0'/></body>
          <body name='c'><freejoint/><geom type='box' mesh='cube' mass='2'/></body>
        </worldbody></mujoco>"
        .replace("<mesh file='cube.obj'", "<mesh name='turned' file='cube.obj'")
        .replace("mesh='cube' mass='1'", "mesh='turned' mass='1'");
    let folder = Folder::new(&[("m.xml", &text), ("meshes/cube.obj", CUBE)]);
    let d = folder.read(&Options::default()).unwrap();
    let a = link(&d, "a");
    let inertial = a.inertial.unwrap();
    close_number(inertial.mass, 6.0);
    close(inertial.com, Vec3::new(-0.05, 0.1, 1.15));
    close_number(inertial.inertia.rows[0].x, 6.0 / 12.0 * (0.04 + 0.09));
    let part = &a.collisions[0];
    let Geometry::Mesh { scale, .. } = part.geometry else { panic!("{part:?}") };
    assert_eq!(scale, [0.1, 0.2, 0.3]);
    close(part.origin.translation, Vec3::new(-0.1, 0.0, 1.0));
    // the asset's x axis is the file's y axis
    let b = link(&d, "b");
    close(b.inertial.unwrap().com, Vec3::new(0.5, -0.5, 0.5));
    close(b.collisions[0].origin.rotation.rotate(Vec3::Y), Vec3::X);
    assert!(matches!(&b.collisions[1].geometry, Geometry::Points(points) if points.len() == 4));
    // the box with the same moments is the cuboid itself
    let c = &link(&d, "c").collisions[0];
    let Geometry::Box { half } = c.geometry else { panic!("{c:?}") };
    let mut sizes = half;
    sizes.sort_by(f64::total_cmp);
    for (size, wanted) in sizes.iter().zip([0.05, 0.1, 0.15]) {
        assert!((size - wanted).abs() < 1e-7, "{sizes:?}");
    }
}

/// XML reference, "actuator": the force of a servo is `gear (kp u − kp gear q − kv gear q̇)`.
#[test]
fn position_servos_are_drives() {
    let d = model(
        "<default><position kp='10'/><default class='hand'><motor gear='1'/></default></default>
         <worldbody>
           <body name='a'><joint name='a' axis='0 1 0' type='slide' damping='2' range='-1 1' actuatorfrcrange='-5 5'/><geom size='0.1' mass='3'/></body>
           <body name='b'><joint name='b' axis='0 0 1' armature='0.5'/><geom type='box' size='1 1 1' mass='3'/></body>
           <body name='c'><joint name='c'/><geom size='0.1'/></body>
           <body name='d'><joint name='d' damping='1'/><geom size='0.1'/></body>
           <body name='e'><joint name='e'/><geom size='0.1'/></body>
         </worldbody>
         <actuator>
           <position joint='a' kp='100' kv='4' gear='2' ctrlrange='1 3' forcerange='-10 20'/>
           <position class='hand' joint='b' dampratio='1'/>
           <general joint='c' gainprm='8' biastype='affine' biasprm='1 -4 -2'/>
           <velocity joint='d' kv='6'/>
           <motor joint='e'/>
         </actuator>",
    );
    let a = joint(&d, "a").drive.unwrap();
    assert_eq!((a.stiffness, a.damping, a.effort), (400.0, 16.0, Some(5.0)));
    // a control of 0 is clamped to the end of its range, 1
    assert_eq!(a.target, Some(0.5));
    assert_eq!(joint(&d, "a").damping, 2.0);
    let b = joint(&d, "b").drive.unwrap();
    // damping ratio 1 with k = 10 and inertia 3 · (1 + 1)/3 + 0.5
    close_number(b.damping, 2.0 * (10.0_f64 * 2.5).sqrt());
    assert_eq!(b.stiffness, 10.0);
    let c = joint(&d, "c").drive.unwrap();
    assert_eq!((c.stiffness, c.damping, c.target), (4.0, 2.0, Some(0.25)));
    assert_eq!((joint(&d, "d").drive, joint(&d, "d").damping), (None, 7.0));
    assert_eq!(joint(&d, "e").drive, None);
    let all = d.warnings.join("\n");
    for word in ["commands a speed", "not even about 0", "something else times"] {
        assert!(all.contains(word), "`{word}` is not told:\n{all}");
    }
}

/// XML reference, "actuator": the force of a motor is `gear · clamp(gain · clamp(ctrl))`. Forces on
/// one joint add up, limited by `actuatorfrcrange`. Without a keyframe controls are 0, clamped to
/// their range.
#[test]
fn motors_are_torques() {
    let bodies = "<worldbody>
           <body name='a'><joint name='a'/><geom size='0.1'/><body name='b'><joint name='b'/><geom size='0.1'/></body></body>
           <body name='c'><joint name='c' type='slide' actuatorfrcrange='-3 2'/><geom size='0.1'/></body>
           <body name='d'><joint name='d' damping='1'/><geom size='0.1'/></body>
           <body name='e'><joint name='e'/><geom size='0.1'/></body>
           <body name='f'><joint name='f'/><geom size='0.1'/></body>
         </worldbody>
         <tendon><fixed name='t'><joint joint='a' coef='1'/><joint joint='b' coef='-2'/></fixed></tendon>
         <actuator>
           <motor joint='a' gear='10' ctrlrange='-1 1'/>
           <motor jointinparent='b' gear='-2' forcerange='-0.5 0.25'/>
           <general joint='c' gainprm='4'/>
           <general joint='c' gainprm='1'/>
           <velocity joint='d' kv='6'/>
           <damper joint='e' kv='3' ctrlrange='0 2'/>
           <motor tendon='t' gear='3'/>
           <muscle joint='f'/>
           <adhesion body='c' ctrlrange='0 1'/>
         </actuator>";
    let key = "<keyframe><key ctrl='1.5 -2 3 -20 0.5 4 0.5 1 1'/></keyframe>";
    let d = model(&format!("{bodies}{key}"));
    let torque = |name: &str| joint(&d, name).torque;
    assert_eq!((torque("a"), torque("b"), torque("c")), (10.0, 1.0, -3.0));
    // forces 6 (u − q̇), and 3 u q̇
    assert_eq!((torque("d"), joint(&d, "d").damping), (3.0, 7.0));
    assert_eq!((torque("e"), joint(&d, "e").damping), (0.0, 6.0));
    assert_eq!((torque("t"), torque("f")), (1.5, 0.0));
    let Constraint::Coupling { terms, .. } = &d.constraints[0] else { panic!() };
    assert_eq!(terms.iter().map(|(_, c)| *c).collect::<Vec<_>>(), [1.0, -2.0, -1.0]);
    assert_eq!(d.drives, Some(Drives { positions: 2, forces: 5 }));
    let all = d.warnings.join("\n");
    assert!(all.contains("`f`: its force is no spring, damper or motor"), "{all}");
    // a pad with a gain of 1
    let link = d.links.iter().position(|link| link.name == "c").unwrap();
    let name = String::from("c");
    assert_eq!(d.pads, [Pad { name, link, pull: 1.0, share: 1.0 }]);
    let still = model(bodies);
    assert!(still.joints.iter().all(|joint| joint.torque == 0.0));
}

/// A fixed tendon becomes a massless slide coupled to its joints. A joint equality becomes a
/// coupling too.
#[test]
fn tendons_and_equalities_are_constraints() {
    let d = model(
        "<worldbody>
           <body name='a' pos='1 0 0'><joint name='a' ref='30'/><geom size='0.1'/></body>
           <body name='b' pos='0 1 0'><joint name='b'/><geom size='0.1'/><site name='s' pos='0 0 1'/></body>
           <body name='c' pos='0 0 1'><freejoint name='f'/><geom size='0.1'/><site name='t' pos='0 0.5 0'/></body>
         </worldbody>
         <tendon><fixed name='sum' range='-0.1 0.2' limited='true'><joint joint='a' coef='0.5'/><joint joint='b' coef='-1'/></fixed>
           <fixed name='idle'><joint joint='a' coef='1'/></fixed>
           <fixed name='alone' range='-1 0.5' damping='3'><joint joint='b' coef='-2'/></fixed></tendon>
         <equality>
           <joint joint1='a' joint2='b' polycoef='0.1 2'/>
           <connect body1='a' body2='c' anchor='0 0.5 0'/>
           <connect site1='s' site2='t'/>
           <weld name='w' body1='c' relpose='1 2 3 0 0 0 1'/>
           <weld body1='b' body2='c' active='false'/>
           <tendon tendon1='idle'/>
         </equality>
         <actuator><position tendon='sum' kp='5'/></actuator>",
    );
    let at = |name: &str| d.joints.iter().position(|j| j.name == name).unwrap();
    let tendon = joint(&d, "sum");
    assert_eq!((tendon.limits, tendon.drive.unwrap().stiffness), (Some([-0.1, 0.2]), 5.0));
    close_number(tendon.start.as_ref().unwrap()[0], 0.5 * 30_f64.to_radians());
    // a tendon with one joint becomes part of that joint: −1 ≤ −2 q ≤ 0.5
    assert_eq!((joint(&d, "b").limits, joint(&d, "b").damping), (Some([-0.25, 0.5]), 12.0));
    assert_eq!(d.constraints.len(), 7);
    // the weld that is not active is there, and off
    assert_eq!(d.inactive, [5]);
    let Constraint::Coupling { terms, offset, .. } = &d.constraints[0] else { panic!() };
    assert_eq!(
        (terms.as_slice(), *offset),
        ([(at("a"), 0.5), (at("b"), -1.0), (at("sum"), -1.0)].as_slice(), 0.0)
    );
    let Constraint::Coupling { terms, offset, .. } = &d.constraints[1] else { panic!() };
    assert_eq!(terms.as_slice(), [(at("a"), 1.0), (at("b"), -2.0)]);
    close_number(*offset, 0.1 + 30_f64.to_radians());
    let Constraint::Connect { links, points, .. } = &d.constraints[2] else { panic!() };
    assert_eq!(links.map(|l| d.links[l.unwrap()].name.as_str()), ["a", "c"]);
    close(points[1], Vec3::new(1.0, 0.5, -1.0));
    let Constraint::Connect { points, .. } = &d.constraints[3] else { panic!() };
    assert_eq!(*points, [Vec3::Z, Vec3::Y * 0.5]);
    let Constraint::Weld { name, links, poses } = &d.constraints[4] else { panic!() };
    assert_eq!((name.as_str(), links[1]), ("w", None));
    close(poses[0].translation, Vec3::new(1.0, 2.0, 3.0));
    let Constraint::Weld { links, .. } = &d.constraints[5] else { panic!() };
    assert_eq!(links.map(|l| d.links[l.unwrap()].name.as_str()), ["b", "c"]);
    let Constraint::Coupling { terms, offset, .. } = &d.constraints[6] else { panic!() };
    assert_eq!(terms.as_slice(), [(at("a"), 1.0)]);
    close_number(*offset, 30_f64.to_radians());
}

/// XML reference, "Contact": masks, excluded bodies, explicit pairs, and no collisions of parent
/// and child.
#[test]
fn filters_are_those_of_mujoco() {
    let d = model(
        "<worldbody>
           <geom name='floor' type='plane' size='1 1 1'/>
           <body name='base'><geom size='0.1'/>
             <body name='one'><joint/><geom size='0.1' contype='2' conaffinity='4'/>
               <body name='welded'><geom name='w' size='0.1'/>
                 <body name='two'><joint/><geom size='0.1' contype='0' conaffinity='0'/><geom name='p' size='0.2' contype='0' conaffinity='0'/>
                   <body name='three'><joint/><geom size='0.1'/></body></body></body></body></body>
         </worldbody>
         <contact><exclude body1='base' body2='three'/><pair geom1='p' geom2='floor' condim='4' friction='0.4 0.6 0.1'/></contact>",
    );
    let name = |k: usize| d.links[k].name.as_str();
    let mut never: Vec<[&str; 2]> = d.never_touch.iter().map(|p| p.map(name)).collect();
    never.sort_unstable();
    // the base is fixed, so its child may collide with it; a body and what is welded to it count as
    // one
    assert_eq!(never, [["base", "three"], ["one", "two"], ["two", "three"], ["welded", "two"]]);
    let masks = link(&d, "one").collisions[0].masks.unwrap();
    assert_eq!((masks.own, masks.others), (2, 4));
    // a shape excluded by all masks is kept for its explicit pair
    assert_eq!(link(&d, "two").collisions.len(), 1);
    let pair = &d.pairs[0];
    assert_eq!(pair.parts.map(|(link, part)| (name(link), part)), [("two", 0), ("world", 0)]);
    assert_eq!(
        (pair.friction.slide, pair.friction.spin, pair.friction.roll),
        (Some(0.5), Some(0.1), None)
    );
    assert!(matches!(link(&d, "world").collisions[0].geometry, Geometry::HalfSpace));
}

/// Sites are named frames on their bodies; nameless ones are not.
#[test]
fn sites_are_named_frames() {
    let d = model(
        "<worldbody><site name='home' pos='1 2 3'/><site/><body name='a'><freejoint/><geom size='1'/>
         <frame pos='0 0 1'><site name='tip' pos='0 0 1' euler='0 0 90'/></frame></body></worldbody>",
    );
    let [home, tip] = &d.frames[..] else { panic!("{:?}", d.frames) };
    assert_eq!((home.name.as_str(), home.link), ("home", None));
    close(home.pose.translation, Vec3::new(1.0, 2.0, 3.0));
    assert_eq!((tip.name.as_str(), tip.link), ("tip", Some(0)));
    close(tip.pose.translation, Vec3::new(0.0, 0.0, 2.0));
    close(tip.pose.rotation.rotate(Vec3::X), Vec3::Y);
}

/// A keyframe sets the start; in `qpos` of a free joint the position precedes the quaternion.
#[test]
fn keyframes_are_starts() {
    let text = "<mujoco><worldbody>
          <body name='a' pos='5 5 5'><freejoint name='f'/><geom size='0.1'/></body>
          <body name='b'><joint name='h'/><geom size='0.1'/></body></worldbody>
        <actuator><position joint='h' kp='3'/></actuator>
        <keyframe><key name='home' qpos='1 2 3 0 0 0 1 0.7' ctrl='0.9'/><key name='other' qpos='0 0 0 1 0 0 0 0.2'/></keyframe></mujoco>";
    let folder = Folder::new(&[("m.xml", text)]);
    let d = folder.read(&Options::default()).unwrap();
    assert_eq!(
        joint(&d, "f").start.as_deref(),
        Some([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0].as_slice())
    );
    close(pose_of(&d, "a").translation, Vec3::new(1.0, 2.0, 3.0));
    assert_eq!(joint(&d, "h").start.as_deref(), Some([0.7].as_slice()));
    assert_eq!(joint(&d, "h").drive.unwrap().target, Some(0.9));
    let other = Options { keyframe: Some("other".into()), ..Options::default() };
    let d = folder.read(&other).unwrap();
    assert_eq!(joint(&d, "h").start.as_deref(), Some([0.2].as_slice()));
    // without a control the drive holds the start position
    assert_eq!(joint(&d, "h").drive.unwrap().target, None);
    let none = Options { keyframe: Some("hme".into()), ..Options::default() };
    assert!(folder.read(&none).unwrap_err().to_string().contains("did you mean `home`"));
}

/// Quaternions of few digits in keyframes are normalised, as MuJoCo 4.0 does: from 1e-4 off unit
/// length on with a warning, from 1e-2 on they are mistakes.
#[test]
fn rounded_quaternions_are_normalised() {
    let with = |q: &str| {
        let text = format!(
            "<mujoco><worldbody><body name='b' pos='0 0 0.1'><freejoint name='f'/><geom size='0.1'/></body>
             <body name='c'><joint name='t' type='ball'/><geom size='0.1'/></body></worldbody>
             <keyframe><key name='k' qpos='0 0 0.1 {q} {q}'/></keyframe></mujoco>"
        );
        Folder::new(&[("m.xml", &text)]).read(&Options::default())
    };
    for (q, unit, told) in [
        ("0.9999 0.001 0 0", [0.9999995, 0.0010001, 0.0, 0.0], false),
        ("0.7071 0 0.7071 0", [FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2, 0.0], false),
        ("0.70711 0 0.70711 0", [FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2, 0.0], false),
        ("0.707 0 0.707 0", [FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2, 0.0], true),
        ("0.5 0.5 0.5 0.5", [0.5; 4], false),
        ("-0.6 0.8 0 0", [-0.6, 0.8, 0.0, 0.0], false),
    ] {
        let d = with(q).unwrap();
        for name in ["f", "t"] {
            let start = joint(&d, name).start.clone().unwrap();
            let off = start.iter().zip(unit).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-7, "{q}: {start:?}");
            let length = start[..4].iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((length - 1.0).abs() < 1e-15, "{q}: {length}");
        }
        let said = d.warnings.iter().any(|text| text.contains("normalised"));
        assert_eq!(said, told, "{q}: {:?}", d.warnings);
    }
    for q in ["0.7 0 0.7 0", "0 0 0 0", "1 0 0 1"] {
        let said = with(q).unwrap_err().to_string();
        assert!(said.contains("m.xml:3") && said.contains("it must be 1"), "{said}");
    }
}

/// XML reference, "include", "replicate" and "attach": names, poses, and elements that refer to the
/// copies.
#[test]
fn files_put_together_are_one_model() {
    let main = "<mujoco><include file='parts/common.xml'/>
        <asset><model name='hand' file='hand.xml'/></asset>
        <worldbody>
          <replicate count='3' offset='0 0 1' euler='0 0 90' sep='_'>
            <body name='leaf' pos='1 0 0'><joint name='turn'/><geom size='0.1'/></body>
          </replicate>
          <body name='arm' pos='0 0 2'><frame pos='0 1 0'><attach model='hand' body='palm' prefix='left-'/></frame><geom size='0.1'/></body>
        </worldbody>
        <actuator><position joint='turn' kp='2'/></actuator></mujoco>";
    let common = "<mujocoinclude><include file='more.xml'/><option gravity='0 0 -1' timestep='0.004'/></mujocoinclude>";
    let more = "<mujocoinclude><default><geom condim='1'/></default></mujocoinclude>";
    let hand = "<mujoco model='h'><compiler angle='radian'/><default><joint damping='4'/></default><worldbody>
        <body name='palm' pos='0 0 1'><joint name='wrist' range='-1 1'/><geom size='0.1' condim='3'/></body>
        <body name='left_behind'><joint name='lost'/></body></worldbody>
        <actuator><position name='w' joint='wrist' kp='9'/><position joint='lost'/></actuator></mujoco>";
    let folder = Folder::new(&[
        ("m.xml", main),
        ("parts/common.xml", common),
        ("parts/more.xml", more),
        ("hand.xml", hand),
    ]);
    let d = folder.read(&Options::default()).unwrap();
    assert_eq!((d.gravity, d.time_step), (Some([0.0, 0.0, -1.0]), Some(0.004)));
    close(pose_of(&d, "leaf_0").translation, Vec3::X);
    close(pose_of(&d, "leaf_2").translation, Vec3::new(-1.0, 0.0, 2.0));
    for k in 0..3 {
        assert_eq!(joint(&d, &format!("turn_{k}")).drive.unwrap().stiffness, 2.0);
    }
    close(pose_of(&d, "left-palm").translation, Vec3::new(0.0, 1.0, 3.0));
    let wrist = joint(&d, "left-wrist");
    // the hand has its own classes and angle units
    assert_eq!(
        (wrist.damping, wrist.limits, wrist.drive.unwrap().stiffness),
        (4.0, Some([-1.0, 1.0]), 9.0)
    );
    assert_eq!(link(&d, "arm").collisions[0].friction.slide, Some(0.0));
    assert!(d.links.iter().all(|l| !l.name.contains("left_behind")));
}

/// Each unknown element or attribute is reported once, with the nearest valid name.
#[test]
fn strangers_are_told() {
    let d = model("<worldbody><bdy/><body name='a'><joint stifness='3'/><joint stifness='4' axis='1 0 0'/><geom size='1'/></body></worldbody>
        <visual><anything goes='here'/></visual>");
    let strangers: Vec<&String> =
        d.warnings.iter().filter(|w| w.contains("did you mean")).collect();
    assert_eq!(strangers.len(), 2, "{:?}", d.warnings);
    assert!(
        strangers
            .iter()
            .any(|w| w.contains("`stifness`; did you mean `stiffness`") && w.contains("(2 times)"))
    );
    assert!(strangers.iter().any(|w| w.contains("`bdy`; did you mean `body`")));
}

/// A model of 50 bodies with drives is read in less than 0.1 s, without meshes (fastest of ten
/// runs).
#[test]
fn fifty_bodies_take_a_tenth_of_a_second() {
    let (mut bodies, mut drives) = (String::new(), String::new());
    for k in 0..50 {
        let _ = write!(
            bodies,
            "<body name='b{k}' pos='{k} 0 1'><joint name='j{k}' range='-90 90'/><geom type='capsule' size='0.05' \
             fromto='0 0 0 0 0 1'/><geom type='box' size='0.1 0.1 0.1'/><site name='s{k}'/></body>"
        );
        let _ = write!(drives, "<position joint='j{k}' kp='10' dampratio='1'/>");
    }
    let text =
        format!("<mujoco><worldbody>{bodies}</worldbody><actuator>{drives}</actuator></mujoco>");
    let folder = Folder::new(&[("m.xml", &text)]);
    let time = || {
        let start = std::time::Instant::now();
        let description = folder.read(&Options::default()).unwrap();
        assert_eq!(description.links.len(), 50);
        start.elapsed()
    };
    let least = (0..10).map(|_| time()).min().unwrap();
    assert!(least.as_secs_f64() < 0.1, "{least:?}");
}

/// A mistake in bodies of the world, and a word of its message.
fn mistakes_of_bodies() -> Vec<(String, &'static str)> {
    let bodies = |inside: &str| format!("<worldbody><body name='a'>{inside}</body></worldbody>");
    vec![
        (bodies("<geom class='round' size='1'/>"), "unknown class `round`"),
        (format!("<compiler autolimits='false'/>{}", bodies("<joint range='0 1'/>")), "autolimits"),
        (bodies("<geom quat='1 0 0 0' euler='0 0 0' size='1'/>"), "more than one orientation"),
        (bodies("<geom quat='0 0 0 0' size='1'/>"), "0 0 0 0"),
        (bodies("<geom size='0'/>"), "must be > 0 m"),
        (bodies("<geom type='box' size='1 1'/>"), "must be > 0 m"),
        (bodies("<geom size='1 2 3 4'/>"), "more than 3 numbers"),
        (bodies("<geom size='nan'/>"), "finite number"),
        (bodies("<geom type='capsule' size='1' fromto='0 0 0 0 0 0'/>"), "fromto"),
        (bodies("<geom type='mesh' mesh='m'/>"), "unknown mesh `m`"),
        (bodies("<geom type='hfield' hfield='h'/>"), "unknown hfield `h`"),
        (bodies("<geom type='sdf'/>"), "distance field"),
        ("<asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 0'/></asset>".into(), "size 0"),
        ("<asset><hfield name='h' nrow='1' ncol='2' size='1 1 1 1'/></asset>".into(), "nrow is 1"),
        (
            "<asset><hfield name='h' nrow='2' ncol='2' elevation='1 2' size='1 1 1 1'/></asset>"
                .into(),
            "elevation has 2 numbers",
        ),
        ("<asset><hfield name='h' file='h.png' size='1 1 1 1'/></asset>".into(), "does not exist"),
        (bodies("<geom size='1' condim='2'/>"), "condim"),
        (bodies("<joint axis='0 0 0'/>"), "direction"),
        (bodies("<joint range='2 1' limited='true'/>"), "smaller one"),
        (bodies("<joint type='free'/><joint/>"), "free joint"),
        (bodies("<joint type='ball'/><joint/>"), "6 dofs"),
        (bodies("<joint name='j'/><joint name='j'/>"), "names must differ"),
        (bodies("<inertial mass='1'/>"), "`pos` is missing"),
        (bodies("<composite type='cable'/>"), "bend"),
        (
            format!(
                "{}<equality><joint joint1='j' polycoef='0 1 2'/></equality>",
                bodies("<joint name='j'/>")
            ),
            "polycoef",
        ),
        (
            format!(
                "{}<tendon><spatial stiffness='1'><site site='s'/></spatial></tendon>",
                bodies("<site name='s'/>")
            ),
            "spatial",
        ),
        (
            format!("{}<keyframe><key qpos='1 2'/></keyframe>", bodies("<joint/>")),
            "2 numbers; the model has 1",
        ),
    ]
}

/// A mistake in another part of a file, and a word of its message.
fn mistakes_elsewhere() -> Vec<(String, &'static str)> {
    let deep =
        format!("<worldbody>{}{}</worldbody>", "<frame>".repeat(300), "</frame>".repeat(300));
    let many = format!(
        "<worldbody>{}{}{}</worldbody>",
        "<replicate count='1000'>".repeat(9),
        BALL,
        "</replicate>".repeat(9)
    );
    vec![
        ("<include file='m.xml'/>".into(), "included before"),
        ("<include file='none.xml'/>".into(), "does not exist"),
        ("<include file='../../../../../../../../etc/passwd'/>".into(), "passwd"),
        ("<default><default class='a'/><default class='a'/></default>".into(), "second class `a`"),
        ("<default class='top'/>".into(), "outermost class"),
        ("<compiler coordinate='global'/>".into(), "global"),
        ("<compiler eulerseq='xyq'/>".into(), "eulerseq"),
        ("<compiler autolimits='maybe'/>".into(), "`true` or `false`"),
        ("<deformable><flex/></deformable>".into(), "bends"),
        ("<worldbody><joint/></worldbody>".into(), "the world has no joints"),
        ("<actuator><motor joint='k'/></actuator>".into(), "unknown joint `k`"),
        (
            "<worldbody><replicate count='1000000000'><geom size='1'/></replicate></worldbody>"
                .into(),
            "valid are 0 to",
        ),
        ("<worldbody><attach model='m' prefix=''/></worldbody>".into(), "unknown model"),
        ("<asset><model name='m' file='m.xml'/></asset>".into(), "within itself"),
        ("<asset><mesh name='m' vertex='0 0 0'/></asset>".into(), "4 and more"),
        (deep, "nested"),
        (many, "more than"),
    ]
}

/// Every mistake is reported on one line with file, line and element, quickly.
#[test]
fn mistakes_are_told() {
    for (inside, word) in mistakes_of_bodies().into_iter().chain(mistakes_elsewhere()) {
        let error = try_model(&inside).map(|_| ()).expect_err(&inside).to_string();
        assert!(error.contains(word), "`{error}` does not say `{word}`");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains("m.xml") || error.contains("passwd"), "{error}");
    }
}

/// Entities of XML, other formats and files outside the package are refused.
#[test]
fn files_that_are_not_allowed_are_refused() {
    let folder = Folder::new(&[(
        "m.xml",
        "<!DOCTYPE x [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]><mujoco>&c;</mujoco>",
    )]);
    assert!(folder.read(&Options::default()).is_err());
    let folder = Folder::new(&[("m.xml", "<robot name='r'/>")]);
    assert!(folder.read(&Options::default()).unwrap_err().to_string().contains("<mujoco>"));
    // absolute paths leave the package and are refused by default
    let asset = "<mujoco><asset><mesh file='/nowhere/m.obj'/></asset></mujoco>";
    let folder = Folder::new(&[("m.xml", asset)]);
    assert!(folder.read(&Options::default()).unwrap_err().to_string().contains("outside"));
    let anywhere = Options { open_anywhere: true, ..Options::default() };
    assert!(folder.read(&anywhere).is_ok());
}

/// The first row of `elevation` is at the largest y; heights are normalised to the third size.
#[test]
fn height_fields_are_those_of_mujoco() {
    let field = |asset: &str, files: &[(&str, &str)]| {
        let model = format!(
            "<mujoco><asset><hfield name='h' {asset} size='1 0.5 0.2 0.1'/></asset>\
             <worldbody><geom type='hfield' hfield='h'/></worldbody></mujoco>"
        );
        let folder = Folder::new(&[&[("m.xml", model.as_str())], files].concat());
        let d = folder.read(&Options::default()).unwrap();
        match &link(&d, "world").collisions[0].geometry {
            Geometry::HeightField(field) => field.clone(),
            other => panic!("{other:?}"),
        }
    };
    let inline = field("nrow='2' ncol='3' elevation='1 1 3  5 1 1'", &[]);
    assert_eq!((inline.n(), inline.size(), inline.base()), ([3, 2], [2.0, 1.0], 0.1));
    assert_eq!(inline.heights(), [0.2, 0.0, 0.0, 0.0, 0.0, 0.1]);
    // MuJoCo's own format: rows, columns, and heights from the smallest y on
    let table = "\u{2}\0\0\0\u{3}\0\0\0\0\0 A\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0 @";
    let table = field("file='h.bin'", &[("h.bin", table)]);
    assert_eq!(table.n(), [3, 2]);
    assert_eq!(table.heights(), [0.2, 0.0, 0.0, 0.0, 0.0, 0.05]);
}
