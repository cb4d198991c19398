//! SDFormat: frames, joints, shapes and includes as specified, on small models with known answers.

use crate::common::{assert_same, complaint, link, model, pose, poses, read_files};
use quasistep_formats::description::{self, Constraint, Geometry};
use quasistep_math::Vec3;
use quasistep_model::JointKind;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// A pose is relative to the model, or to what `relative_to` names: a link, a frame, a joint, a
/// nested model, or one of its frames.
#[test]
fn poses_are_given_in_the_frames_that_they_name() {
    let read = model(
        "<pose>10 0 0 0 0 0</pose>
         <link name='a'><pose>1 0 0 0 0 1.5707963267948966</pose></link>
         <frame name='tool' attached_to='a'><pose>0 0 2 0 0 0</pose></frame>
         <link name='b'><pose relative_to='tool'>1 0 0 0 0 0</pose></link>
         <link name='c'><pose relative_to='inner::tip'>0 0 1 0 0 0</pose></link>
         <link name='d'><pose relative_to='j'>0 0 0 0 0 0</pose></link>
         <joint name='j' type='fixed'><pose relative_to='a'>5 0 0 0 0 0</pose><parent>a</parent><child>d</child></joint>
         <model name='inner'><pose relative_to='b'>0 0 3 0 0 0</pose>
           <link name='e'/><frame name='tip' attached_to='e'><pose>0 7 0 0 0 0</pose></frame></model>",
    )
    .unwrap();
    assert_same(pose(&read, "a", &[]), [11.0, 0.0, 0.0], [0.0, 0.0, FRAC_PI_2]);
    assert_same(pose(&read, "b", &[]), [11.0, 1.0, 2.0], [0.0, 0.0, FRAC_PI_2]);
    assert_same(pose(&read, "inner::e", &[]), [11.0, 1.0, 5.0], [0.0, 0.0, FRAC_PI_2]);
    assert_same(pose(&read, "c", &[]), [4.0, 1.0, 6.0], [0.0, 0.0, FRAC_PI_2]);
    assert_same(pose(&read, "d", &[]), [11.0, 5.0, 0.0], [0.0, 0.0, FRAC_PI_2]);
}

/// With `placement_frame`, the model's pose is that of the named frame, which may belong to a
/// nested model.
#[test]
fn a_placement_frame_stands_where_the_model_is_put() {
    let read = model(
        "<link name='base'/>
         <model name='hand' placement_frame='grip'><pose>1 2 3 0 0 1.5707963267948966</pose>
           <link name='palm'/>
           <frame name='grip' attached_to='palm'><pose relative_to='deep::l'>0 0 0.5 0 0 0</pose></frame>
           <model name='deep' placement_frame='f'><pose>0 0 0.25 0 0 0</pose>
             <link name='l'/><frame name='f'><pose>1 0 0 0 0 0</pose></frame></model></model>",
    )
    .unwrap();
    // `deep` is at (-1, 0, 0.25) in the hand, `grip` 0.5 m above it; the hand is rotated by 90°
    assert_same(pose(&read, "hand::palm", &[]), [1.0, 3.0, 2.25], [0.0, 0.0, FRAC_PI_2]);
    assert_same(pose(&read, "hand::deep::l", &[]), [1.0, 2.0, 2.5], [0.0, 0.0, FRAC_PI_2]);
}

/// Angles are in radians unless the pose says degrees; quaternions are in the order x, y, z, w.
#[test]
fn rotations_have_three_ways_to_be_written() {
    let read = model(
        "<link name='a'><pose degrees='true'>1 0 0 0 0 90</pose></link>
         <link name='b'><pose rotation_format='quat_xyzw'>1 0 0 0 0 2 2</pose></link>
         <link name='c'><pose>1 0 0 0 0 1.5707963267948966</pose></link>",
    )
    .unwrap();
    for name in ["a", "b", "c"] {
        assert_same(pose(&read, name, &[]), [1.0, 0.0, 0.0], [0.0, 0.0, FRAC_PI_2]);
    }
}

/// Cyclic frame references are refused, for all kinds of cycles.
#[test]
fn frames_given_in_one_another_are_refused() {
    let loops = [
        "<link name='a'><pose relative_to='b'/></link><link name='b'><pose relative_to='a'/></link>",
        "<link name='a'/><frame name='f' attached_to='g'/><frame name='g' attached_to='f'/>",
        "<link name='a'/><frame name='f' attached_to='f'/>",
        "<link name='a'><pose relative_to='j'/></link><link name='b'/>
         <joint name='j' type='fixed'><parent>b</parent><child>a</child></joint>",
        "<link name='a'/><model name='n' placement_frame='f'><link name='l'><pose relative_to='f'/></link>
         <frame name='f'><pose relative_to='l'/></frame></model>",
    ];
    for text in loops {
        let said = complaint(text);
        assert!(
            said.contains("one another") || said.contains("is to place"),
            "{said} is said of {text}"
        );
    }
}

/// A joint's frame is its child's by default; its axis rotates with the frame in which it is
/// expressed.
#[test]
fn joints_stand_on_their_children_and_axes_in_their_frames() {
    let read = model(
        "<link name='a'/><link name='b'><pose>1 0 0 0 0 1.5707963267948966</pose></link>
         <link name='c'><pose>3 0 0 0 0 0</pose></link>
         <joint name='fix' type='fixed'><parent>world</parent><child>a</child></joint>
         <joint name='j' type='revolute'><pose>0 -1 0 0 0 0</pose><parent>a</parent><child>b</child>
           <axis><xyz>0 0 2</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort></limit>
           <dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>3</spring_stiffness>
           <spring_reference>0.5</spring_reference></dynamics></axis></joint>
         <joint name='s' type='prismatic'><parent>b</parent><child>c</child>
           <axis><xyz expressed_in='b'>1 0 0</xyz></axis></joint>",
    )
    .unwrap();
    assert_same(pose(&read, "b", &[0.0, 0.0]), [1.0, 0.0, 0.0], [0.0, 0.0, FRAC_PI_2]);
    // the hinge is 1 m along −y of b, at (2, 0, 0)
    assert_same(pose(&read, "b", &[FRAC_PI_2, 0.0]), [2.0, -1.0, 0.0], [0.0, 0.0, PI]);
    // the slide moves along x of b, which is y of the world
    assert_same(pose(&read, "c", &[0.0, 0.25]), [3.0, 0.25, 0.0], [0.0; 3]);
    let joint = read.joints.iter().find(|joint| joint.name == "j").unwrap();
    assert_eq!(joint.limits, Some([-1.0, f64::INFINITY]), "1e16 is the format's word for no end");
    assert_eq!((joint.effort, joint.damping, joint.friction), (Some(5.0), 0.1, 0.2));
    let spring = joint.drive.unwrap();
    assert_eq!((spring.stiffness, spring.target), (3.0, Some(0.5)));
}

/// A joint whose named parent is carried by its child is reversed, with the same coordinate.
#[test]
fn a_joint_may_name_its_ends_either_way_round() {
    let ends = |parent: &str, child: &str, angle: f64| {
        let read = model(&format!(
            "<link name='hand'><pose>1 0 0 0 0 0</pose></link><link name='arm'/>
             <joint name='fix' type='fixed'><parent>world</parent><child>arm</child></joint>
             <joint name='j' type='revolute'><pose relative_to='hand'>-0.5 0 0 0 0 0</pose>
             <parent>{parent}</parent><child>{child}</child><axis><xyz>0 1 0</xyz></axis></joint>",
        ))
        .unwrap();
        pose(&read, "hand", &[angle])
    };
    let forward = ends("arm", "hand", 0.4);
    assert_same(forward, [0.5 + 0.5 * 0.4f64.cos(), 0.0, -0.5 * 0.4f64.sin()], [0.0, 0.4, 0.0]);
    let backward = ends("hand", "arm", -0.4);
    assert!((backward.translation - forward.translation).norm() < 1e-12);
}

/// A universal joint rotates about its first axis, then about its second.
#[test]
fn a_universal_joint_is_two_hinges() {
    let read = model(
        "<link name='a'/><link name='b'/>
         <joint name='fix' type='fixed'><parent>world</parent><child>a</child></joint>
         <joint name='u' type='universal'><parent>a</parent><child>b</child>
         <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>",
    )
    .unwrap();
    let names: Vec<&str> = read.joints.iter().map(|joint| joint.name.as_str()).collect();
    assert_eq!(names, ["fix", "u_axis", "u_axis2"]);
    // x first: z of b goes to −y, for any second angle
    let turned = pose(&read, "b", &[FRAC_PI_2, 0.3]).rotation;
    assert!((turned.rotate(Vec3::Y) - Vec3::Z).norm() < 1e-12);
    assert_eq!(read.never_touch, [[link(&read, "a"), link(&read, "b")]], "a joint is between them");
}

/// A screw of 2 mm a revolution is a hinge and a slide along its axis, coupled. `thread_pitch` is the
/// same in rad/m of a left-handed thread.
#[test]
fn a_screw_advances_as_it_turns() {
    for (pitch, lead) in [
        ("<screw_thread_pitch>0.002</screw_thread_pitch>", 0.002 / TAU),
        ("<thread_pitch>20</thread_pitch>", -0.05),
        ("", 1.0 / TAU),
    ] {
        let read = model(&format!(
            "<link name='a'/><link name='b'><pose>0 0 1 0 0 0</pose></link>
             <joint name='fix' type='fixed'><parent>world</parent><child>a</child></joint>
             <joint name='s' type='screw'><parent>a</parent><child>b</child>{pitch}
               <axis><xyz>0 0 1</xyz><limit><lower>-9</lower><upper>9</upper></limit>
                 <dynamics><damping>0.3</damping></dynamics></axis></joint>"
        ))
        .unwrap();
        let of = |name: &str| read.joints.iter().find(|joint| joint.name == name).unwrap();
        assert_eq!((of("s").limits, of("s").damping), (Some([-9.0, 9.0]), 0.3));
        assert_eq!((of("s_slide").limits, of("s_slide").damping), (None, 0.0));
        let [Constraint::Coupling { terms, offset, .. }] = read.constraints.as_slice() else {
            panic!("{:?}", read.constraints)
        };
        let names = terms.iter().map(|(joint, c)| (read.joints[*joint].name.as_str(), *c));
        assert_eq!(names.collect::<Vec<_>>(), [("s_slide", 1.0), ("s", -lead)]);
        assert_eq!(*offset, 0.0);
        assert_same(pose(&read, "b", &[FRAC_PI_2, 0.4]), [0.0, 0.0, 1.4], [0.0, 0.0, FRAC_PI_2]);
    }
}

/// A slide or a screw that closes a loop keeps its coordinate: a link without mass that is welded to
/// its child.
#[test]
fn slides_and_screws_close_loops() {
    for (kind, joints) in [("prismatic", ["bc"].as_slice()), ("screw", &["bc", "bc_slide"])] {
        let read = model(&format!(
            "<link name='a'/><link name='b'/><link name='c'><pose>0 1 0 0 0 0</pose></link>
             <joint name='ab' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
             <joint name='ac' type='revolute'><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>
             <joint name='bc' type='{kind}'><parent>b</parent><child>c</child><axis><xyz>0 1 0</xyz></axis></joint>"
        ))
        .unwrap();
        for name in joints {
            assert!(read.joints.iter().any(|joint| joint.name == *name), "{kind}: {name}");
        }
        let welds = read.constraints.iter().filter_map(|constraint| match constraint {
            Constraint::Weld { links, poses, .. } => Some((*links, *poses)),
            _ => None,
        });
        let [([one, two], ends)] = welds.collect::<Vec<_>>()[..] else { panic!("{kind}") };
        let X_W = poses(&read, &[]);
        // both frames are at one place where all coordinates are 0
        let at = |end: Option<usize>, k: usize| X_W[end.expect("a link")] * ends[k];
        let off = at(one, 0).inverse() * at(two, 1);
        assert!(off.translation.norm() < 1e-12, "{kind}: {off:?}");
    }
}

/// An outline that is convex is one prism; a ring is cut into trapezoids between its outlines.
#[test]
fn polylines_are_prisms() {
    let square = |a: f64| {
        format!(
            "<polyline><height>0.5</height><point>-{a} -{a}</point><point>{a} -{a}</point><point>{a} {a}</point>
             <point>-{a} {a}</point><point>-{a} -{a}</point></polyline>"
        )
    };
    let prisms = |outlines: &str| -> Vec<Vec<Vec3>> {
        let read = model(&format!(
            "<link name='a'><collision name='c'><geometry>{outlines}</geometry></collision></link>"
        ));
        let parts = read.unwrap().links[0].collisions.clone();
        let of = |part: description::Part| match part.geometry {
            Geometry::Points(points) => points,
            other => panic!("{other:?}"),
        };
        parts.into_iter().map(of).collect()
    };
    let area = |prism: &[Vec3]| {
        let face: Vec<&Vec3> = prism.iter().filter(|p| p.z == 0.0).collect();
        assert_eq!(face.len() * 2, prism.len());
        assert!(prism.iter().all(|p| p.z == 0.0 || p.z == 0.5));
        let next = face.iter().cycle().skip(1);
        (0.5 * face.iter().zip(next).map(|(a, b)| a.x * b.y - a.y * b.x).sum::<f64>()).abs()
    };
    let [only] = &prisms(&square(1.0))[..] else { panic!("one prism") };
    assert_eq!((only.len(), area(only)), (8, 4.0));
    let ring = prisms(&(square(1.0) + &square(0.5)));
    assert_eq!((ring.len(), ring.iter().map(|p| area(p)).sum::<f64>()), (4, 3.0));
    assert!(ring.iter().flatten().all(|p| p.x.abs() >= 0.5 || p.y.abs() >= 0.5), "a hole");
    // an L of three unit squares
    let l = prisms(
        "<polyline><height>0.5</height><point>0 0</point><point>2 0</point><point>2 1</point><point>1 1</point>
         <point>1 2</point><point>0 2</point></polyline>",
    );
    assert_eq!((l.len(), l.iter().map(|p| area(p)).sum::<f64>()), (2, 3.0));
}

/// Friction below 0 is unbounded in Gazebo: the other direction holds, or a large number.
#[test]
fn negative_friction_is_unbounded() {
    for (given, mu) in [
        ("<mu>-1</mu><mu2>-1</mu2>", Some(100.0)),
        ("<mu>-1</mu>", Some(100.0)),
        ("<mu>-1</mu><mu2>0.3</mu2>", Some(0.3)),
        ("<mu>0.2</mu><mu2>0.3</mu2>", Some(0.2)),
    ] {
        let read = model(&format!(
            "<link name='a'><collision name='c'><geometry><box/></geometry>
             <surface><friction><ode>{given}</ode></friction></surface></collision></link>"
        ))
        .unwrap();
        assert_eq!(read.links[0].collisions[0].friction.slide, mu, "{given}");
        let told = read.warnings.iter().any(|text| text.contains("unbounded friction"));
        assert_eq!(told, given.contains("-1"), "{given}: {:?}", read.warnings);
    }
}

/// Models within a model are one group with it, so that one rule says which of them touch; those of
/// a world are groups of their own.
#[test]
fn nested_models_are_one_group() {
    let model = "<model name='m'><link name='l'/><model name='n'><link name='l'/></model></model>";
    let read = read_files(&[("m.sdf", &format!("<sdf version='1.9'>{model}</sdf>"))]).unwrap();
    assert_eq!((read.groups.len(), read.links[0].group, read.links[1].group), (1, 0, 0));
    let other = model.replace("'m'", "'o'");
    let text = format!("<sdf version='1.9'><world name='w'>{model}{other}</world></sdf>");
    let read = read_files(&[("w.world", &text)]).unwrap();
    let group = |name: &str| read.groups[read.links[link(&read, name)].group].as_str();
    let names = ["m::l", "m::n::l", "o::l", "o::n::l"].map(group);
    assert_eq!(names, ["m", "m", "o", "o"]);
}

/// A world may include files of lights alone, as those of Gazebo do.
#[test]
fn lights_are_no_models() {
    let sun = "<sdf version='1.5'><light type='directional' name='sun'/></sdf>";
    let world = "<sdf version='1.5'><world name='w'><include><uri>sun.sdf</uri></include>
        <model name='m'><link name='l'/></model></world></sdf>";
    let read = read_files(&[("w.world", world), ("sun.sdf", sun)]).unwrap();
    assert_eq!(read.links.len(), 1);
    let read = read_files(&[("sun.sdf", sun)]).unwrap();
    assert!(read.links.is_empty() && read.warnings[0].contains("not read: <light> (1)"));
}

/// Gazebo's parser takes what strict XML refuses; files up to version 1.2 have <gazebo> as root.
#[test]
fn files_are_read_as_gazebo_reads_them() {
    let text = "\n<!-- by & of -->\n<?xml version='1.0'?>\n<gazebo version='1.2'><model name=m>
        <link name='a'><visual name=v1><geometry><box><size>1 1 1</size></box></geometry></visual></link>
        <plugin name=p filename=lib.so>x & y</plugin></model></gazebo>";
    let read = read_files(&[("m.sdf", text)]).unwrap();
    assert_eq!((read.links.len(), read.links[0].visuals.len()), (1, 1));
    // lines are those of the file
    let said = read_files(&[("m.sdf", &text.replace("1 1 1", "1 x 1"))]).unwrap_err().to_string();
    assert!(said.starts_with("pkg/m.sdf:5:"), "{said}");
}

/// Joints that close a loop become constraints: two points of a hinge's axis, or a weld.
#[test]
fn loops_are_closed_by_constraints() {
    let read = model(
        "<link name='a'/><link name='b'/><link name='c'><pose>0 1 0 0 0 0</pose></link>
         <joint name='ab' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
         <joint name='ac' type='revolute'><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>
         <joint name='bc' type='revolute'><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>",
    )
    .unwrap();
    let points: Vec<_> = read
        .constraints
        .iter()
        .map(|constraint| match constraint {
            Constraint::Connect { links, points, .. } => (*links, *points),
            other => panic!("{other:?}"),
        })
        .collect();
    let ends = [Some(link(&read, "b")), Some(link(&read, "c"))];
    assert_eq!(points.len(), 2);
    assert_eq!(points[0], (ends, [Vec3::new(0.0, 1.0, 0.0), Vec3::ZERO]));
    assert_eq!(points[1].1[0] - points[0].1[0], points[1].1[1], "both points are on the axis");
}

/// SDFormat's gearbox: theta_2 = −ratio × theta_1, both angles relative to the reference body.
#[test]
fn a_gearbox_couples_two_hinges() {
    let read = model(
        "<link name='base'/><link name='in'/><link name='out'/>
         <joint name='first' type='revolute'><parent>base</parent><child>in</child><axis><xyz>0 0 1</xyz></axis></joint>
         <joint name='second' type='revolute'><parent>out</parent><child>base</child><axis><xyz>0 0 1</xyz></axis></joint>
         <joint name='gears' type='gearbox'><parent>in</parent><child>out</child>
           <gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>
           <axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>",
    )
    .unwrap();
    let [Constraint::Coupling { terms, offset, .. }] = read.constraints.as_slice() else {
        panic!("{:?}", read.constraints)
    };
    // the second hinge counts from `out` to the base, so its sign is reversed
    let terms: Vec<(&str, f64)> =
        terms.iter().map(|(joint, factor)| (read.joints[*joint].name.as_str(), *factor)).collect();
    assert_eq!((terms.as_slice(), *offset), ([("first", 3.0), ("second", -1.0)].as_slice(), 0.0));
}

/// Without `<inertial>` a link has the format's default mass and moments; otherwise the moments
/// rotate with its pose.
#[test]
fn inertias_are_those_of_the_format() {
    let read = model(
        "<link name='usual'/>
         <link name='turned'><inertial><pose>0 0 1 0 0 1.5707963267948966</pose><mass>2</mass>
         <inertia><ixx>1</ixx><iyy>2</iyy><izz>2.5</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial></link>
         <link name='frame'><inertial><mass>0</mass></inertial></link>",
    )
    .unwrap();
    let usual = read.links[0].inertial.unwrap();
    assert_eq!((usual.mass, usual.inertia.rows[0]), (1.0, Vec3::X));
    assert!(read.warnings.iter().any(|w| w.contains("no <inertial>: 1 kg")), "{:?}", read.warnings);
    let turned = read.links[1].inertial.unwrap();
    assert!((turned.inertia.rows[0] - Vec3::X * 2.0).norm() < 1e-12);
    assert!((turned.inertia.rows[1] - Vec3::Y).norm() < 1e-12);
    assert_eq!(turned.com, Vec3::Z);
    assert!(read.links[2].inertial.is_none());
}

/// Shapes: lengths become half lengths, a plane is rotated to its normal, friction is Drake's or
/// else the smaller of two.
#[test]
fn shapes_have_their_sizes_poses_and_friction() {
    let read = model(
        "<link name='a'>
         <collision name='box'><geometry><box><size>2 4 6</size></box></geometry>
           <surface><friction><ode><mu>0.7</mu><mu2>0.5</mu2></ode></friction></surface></collision>
         <collision name='plane'><pose>0 0 1 0 0 0</pose><geometry><plane><normal>1 0 0</normal></plane></geometry></collision>
         <collision name='pill'><geometry><drake:capsule><radius>1</radius><length>3</length></drake:capsule></geometry>
           <drake:proximity_properties><drake:mu_dynamic>0.3</drake:mu_dynamic><drake:mu_static>0.9</drake:mu_static>
           </drake:proximity_properties></collision>
         <collision name='egg'><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></collision>
         <collision name='none'><geometry><empty/></geometry></collision>
         <visual name='look'><geometry><sphere><radius>0.5</radius></sphere></geometry>
           <material><diffuse>1 0.5 0 1</diffuse></material><transparency>0.25</transparency></visual>
         <drake:visual name='hidden'><drake:geometry><drake:sphere><drake:radius>2</drake:radius></drake:sphere></drake:geometry></drake:visual>
         </link>",
    )
    .unwrap();
    let [cube, plane, pill, egg] = read.links[0].collisions.as_slice() else { panic!() };
    assert!(matches!(cube.geometry, Geometry::Box { half: [1.0, 2.0, 3.0] }));
    assert_eq!((cube.friction.slide, pill.friction.slide), (Some(0.5), Some(0.3)));
    assert!(matches!(plane.geometry, Geometry::HalfSpace));
    assert!((plane.origin.rotation.rotate(Vec3::Z) - Vec3::X).norm() < 1e-12);
    assert_eq!(plane.origin.translation, Vec3::Z);
    assert!(matches!(pill.geometry, Geometry::Capsule { radius: 1.0, half_length: 1.5 }));
    assert!(matches!(egg.geometry, Geometry::Ellipsoid { radii: [1.0, 2.0, 3.0] }));
    let [look, hidden] = read.links[0].visuals.as_slice() else { panic!() };
    assert_eq!(look.color, Some([1.0, 0.5, 0.0, 0.75]));
    assert!(matches!(hidden.geometry, Geometry::Sphere { radius: 2.0 }));
}

/// Drake's joint tags: mimic, reflected rotor inertia (n² I), controller gains. An effort limit of
/// 0 means no actuator.
#[test]
fn tags_of_drake_are_read() {
    let joint = |tags: &str, effort: &str| {
        model(&format!(
            "<link name='a'/><link name='b'/><link name='c'/>
             <joint name='lead' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
             <joint name='own' type='revolute'><parent>a</parent><child>c</child>
             <axis><xyz>0 0 1</xyz><limit><effort>{effort}</effort></limit></axis>{tags}</joint>",
        ))
        .unwrap()
        .joints
        .into_iter()
        .find(|joint| joint.name == "own")
        .unwrap()
    };
    let led = joint("<drake:mimic joint='lead' multiplier='2' offset='0.5'/>", "-1").mimic.unwrap();
    assert_eq!((led.joint.as_str(), led.multiplier, led.offset), ("lead", 2.0, 0.5));
    let motor =
        "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>10</drake:gear_ratio>
                 <drake:controller_gains p='100' d='3'/>";
    let driven = joint(motor, "7");
    assert_eq!(driven.armature, 1.0);
    let drive = driven.drive.unwrap();
    assert_eq!((drive.stiffness, drive.damping, drive.effort), (100.0, 3.0, Some(7.0)));
    assert_eq!(joint(motor, "0").armature, 0.0);
    // SDFormat 1.11: q = multiplier (leader − reference) + offset
    let axis =
        "<axis><xyz>0 0 1</xyz><mimic joint='lead'><multiplier>2</multiplier><offset>1</offset>
                <reference>0.25</reference></mimic></axis>";
    let read = model(&format!(
        "<link name='a'/><link name='b'/><link name='c'/>
         <joint name='lead' type='continuous'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
         <joint name='own' type='continuous'><parent>a</parent><child>c</child>{axis}</joint>",
    ))
    .unwrap();
    let led = read.joints.iter().find_map(|joint| joint.mimic.clone()).unwrap();
    assert_eq!((led.multiplier, led.offset), (2.0, 0.5));
}

/// Members of a group do not collide with those of ignored groups; groups may be nested;
/// `self_collide` applies to links.
#[test]
fn filters_keep_links_apart() {
    let links = "<link name='a'/><link name='b'/><model name='n'><link name='c'/></model>";
    let read = model(&format!(
        "{links}<drake:collision_filter_group name='all'><drake:member>a</drake:member>
         <drake:member_group>rest</drake:member_group>
         <drake:ignored_collision_filter_group>all</drake:ignored_collision_filter_group></drake:collision_filter_group>
         <drake:collision_filter_group name='rest'><drake:member>n::c</drake:member></drake:collision_filter_group>",
    ))
    .unwrap();
    let (a, c) = (link(&read, "a"), link(&read, "n::c"));
    assert_eq!(read.never_touch, [[a.min(c), a.max(c)]]);
    let read = model(&format!("<self_collide>false</self_collide>{links}")).unwrap();
    assert_eq!(read.never_touch, [[link(&read, "a"), link(&read, "b")]]);
    let read = model(&format!("{links}<self_collide>true</self_collide>")).unwrap();
    assert!(read.never_touch.is_empty());
    let said = complaint(&format!(
        "{links}<drake:collision_filter_group name='g'><drake:member>a</drake:member>
         <drake:ignored_collision_filter_group>h</drake:ignored_collision_filter_group></drake:collision_filter_group>",
    ));
    assert!(said.contains("unknown collision filter group `h`; did you mean `g`?"), "{said}");
}

/// Worlds: static models and models nested in them are fixed; gravity is the world's.
#[test]
fn worlds_hold_models() {
    let text = "<sdf version='1.6'><world name='w'><gravity>0 0 -1.6</gravity>
        <model name='floor'><static>true</static><link name='l'><pose>0 0 1 0 0 0</pose></link>
          <model name='n'><link name='l'/></model></model>
        <model name='ball'><pose>0 0 2 0 0 0</pose><link name='l'/></model></world></sdf>";
    let read = read_files(&[("w.world", text)]).unwrap();
    assert_eq!(read.gravity, Some([0.0, 0.0, -1.6]));
    let kind = |name: &str| {
        let joint = read.tree.joint_of[link(&read, name)].unwrap();
        (read.joints[joint].kind, read.joints[joint].parent)
    };
    assert_eq!(kind("floor::l"), (JointKind::Fixed, None));
    assert_eq!(kind("floor::n::l"), (JointKind::Fixed, None));
    assert_eq!(kind("ball::l"), (JointKind::Free, None));
    assert_same(pose(&read, "ball::l", &[]), [0.0, 0.0, 2.0], [0.0; 3]);
    let [floor, ball] = ["floor::l", "ball::l"].map(|name| read.links[link(&read, name)].group);
    assert_ne!(floor, ball, "models are groups");
}

/// An included model has the pose of its include; parts of a merged model belong to the including
/// one.
#[test]
fn models_are_included_and_merged() {
    let hand = "<sdf version='1.9'><model name='hand'><pose>9 9 9 0 0 0</pose><link name='palm'/>
        <link name='tip'><pose relative_to='f'>1 0 0 0 0 0</pose></link>
        <frame name='f'><pose>0 1 0 0 0 0</pose></frame>
        <joint name='j' type='fixed'><parent>palm</parent><child>tip</child></joint></model></sdf>";
    let scene = |attributes: &str, more: &str| {
        let text = format!(
            "<sdf version='1.9'><model name='m'><link name='arm'><pose>1 0 0 0 0 0</pose></link>
             <include{attributes}><uri>hand.sdf</uri><pose relative_to='arm'>0 0 1 0 0 0</pose>{more}</include></model></sdf>"
        );
        read_files(&[("m.sdf", &text), ("hand.sdf", hand)]).unwrap()
    };
    let read = scene("", "<name>left</name><placement_frame>f</placement_frame>");
    assert_same(pose(&read, "left::palm", &[]), [1.0, -1.0, 1.0], [0.0; 3]);
    assert_same(pose(&read, "left::tip", &[]), [2.0, 0.0, 1.0], [0.0; 3]);
    let read = scene(" merge='true'", "");
    assert_same(pose(&read, "palm", &[]), [1.0, 0.0, 1.0], [0.0; 3]);
    assert_same(pose(&read, "tip", &[]), [2.0, 1.0, 1.0], [0.0; 3]);
    let read = scene(" merge='true'", "<placement_frame>f</placement_frame>");
    assert_same(pose(&read, "tip", &[]), [2.0, 0.0, 1.0], [0.0; 3]);
}

/// URDF robots may be included; Gazebo models are folders with a `model.config`.
#[test]
fn other_files_are_included() {
    let urdf = "<robot name='r'><link name='l1'/><link name='l2'/><joint name='j' type='continuous'>
        <origin xyz='0 0 1'/><parent link='l1'/><child link='l2'/><axis xyz='0 1 0'/></joint></robot>";
    let config = "<model><sdf version='1.4'>old.sdf</sdf><sdf version='1.10'>new.sdf</sdf></model>";
    let new = "<sdf version='1.10'><model name='box'><link name='l'/></model></sdf>";
    let text = "<sdf version='1.9'><world name='w'>
        <include><uri>r.urdf</uri><pose>1 0 0 0 0 0</pose></include>
        <include><uri>model://box</uri><name>b</name></include></world></sdf>";
    let files =
        [("w.sdf", text), ("r.urdf", urdf), ("box/model.config", config), ("box/new.sdf", new)];
    let read = read_files(&files).unwrap();
    assert_same(pose(&read, "r::l2", &[0.5]), [1.0, 0.0, 1.0], [0.0, 0.5, 0.0]);
    link(&read, "b::l");
}

/// Files that include themselves, cyclic or excessive includes, and paths that leave a package are
/// refused.
#[test]
fn includes_are_bounded() {
    let including = |uri: &str| {
        format!(
            "<sdf version='1.9'><model name='m'><link name='l'/><include><uri>{uri}</uri></include></model></sdf>"
        )
    };
    let (own, other) = (including("b.sdf"), including("a.sdf"));
    let said = read_files(&[("a.sdf", &own), ("b.sdf", &other)]).unwrap_err().to_string();
    assert!(said.contains("includes itself"), "{said}");
    // 16 files that each include the next one eight times: 8^15 models
    let texts: Vec<(String, String)> = (0..16)
        .map(|k| {
            let many: Vec<String> = (0..8)
                .map(|n| format!("<include><name>n{n}</name><uri>f{}.sdf</uri></include>", k + 1))
                .collect();
            let many = many.concat();
            let text =
                format!("<sdf version='1.9'><model name='m'><link name='l'/>{many}</model></sdf>");
            (format!("f{k}.sdf"), text)
        })
        .chain([(
            "f16.sdf".to_owned(),
            "<sdf version='1.9'><model name='m'><link name='l'/></model></sdf>".to_owned(),
        )])
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let said = read_files(&texts).unwrap_err().to_string();
    assert!(said.contains("more than 10000 files"), "{said}");
    let said = read_files(&[("a.sdf", &including("model://pkg/../../secret.sdf"))]).unwrap_err();
    assert!(said.to_string().contains("leads out of its package"), "{said}");
}

/// An entity expansion attack is refused by the XML parser immediately.
#[test]
fn an_entity_bomb_is_refused() {
    let entity = |k: usize| format!("<!ENTITY a{k} '{}'>", format!("&a{};", k - 1).repeat(8));
    let entities: Vec<String> = (1..30).map(entity).collect();
    let text = format!(
        "<!DOCTYPE b [<!ENTITY a0 'lol'>{}]><sdf version='1.9'><model name='m'><link name='&a29;'/></model></sdf>",
        entities.concat()
    );
    assert!(read_files(&[("a.sdf", &text)]).is_err());
}

/// Every error names file, line, and valid values.
#[test]
fn mistakes_name_their_line() {
    let cases = [
        ("<link name='a'/><link name='a'/>", "a second one of this name"),
        ("<link name='a'><pose>1 2 3</pose></link>", "3 numbers were seen; give 6"),
        ("<link name='a'><pose>1 2 3 x 0 0</pose></link>", "`x` was seen; it is no number"),
        ("<link name='a'><pose relative_to='aa'/></link>", "unknown frame `aa`; did you mean `a`?"),
        (
            "<link name='a'/><link name='b'/><joint name='j' type='revolt'><parent>a</parent><child>b</child></joint>",
            "did you mean `revolute`?",
        ),
        (
            "<link name='a'/><joint name='j' type='fixed'><parent>a</parent><child>a</child></joint>",
            "parent and child are one link",
        ),
        (
            "<link name='a'/><link name='b'/><joint name='j' type='screw'><parent>a</parent><child>b</child>
             <thread_pitch>0</thread_pitch><axis/></joint>",
            "<thread_pitch> is 0",
        ),
        (
            "<link name='a'><collision name='c'><geometry><heightmap/></geometry></collision></link>",
            "<heightmap> was seen, which is not supported",
        ),
        (
            "<link name='a'><collision name='c'><geometry><polyline><point>0 0</point><point>1 0</point></polyline></geometry></collision></link>",
            "2 points were seen; an outline has at least 3",
        ),
        ("<link name='a'><inertial auto='true'/></link>", "give <mass> and <inertia>"),
        (
            "<link name='a'/><link name='b'/><joint name='j' type='revolute'><parent>a</parent><child>b</child>
             <axis><xyz>0 0 0</xyz></axis></joint>",
            "it must have a direction",
        ),
        ("<pose relative_to='a'/><link name='a'/>", "is only the world"),
        ("", "no link was seen"),
    ];
    for (text, message) in cases {
        let said = complaint(text);
        assert!(
            said.starts_with("pkg/m.sdf:") && said.contains(message),
            "{said} is said of {text}"
        );
    }
}

/// Unknown elements are reported with the nearest valid name; known elements without effect are
/// counted.
#[test]
fn unknown_elements_are_warnings() {
    let read = model("<link name='a'><inertail/><sensor name='s'/></link><plugin/>").unwrap();
    let all = read.warnings.join("\n");
    assert!(all.contains("unknown element `inertail`; did you mean `inertial`?"), "{all}");
    assert!(all.contains("<plugin> (1)") && all.contains("<sensor> (1)"), "{all}");
}

/// In files up to version 1.4 axes are in the model frame. Text before the first tag and undeclared
/// prefixes are accepted.
#[test]
fn old_files_are_read_as_they_were_meant() {
    let text = |version: &str| {
        format!(
            "# made by a program\n<sdf version='{version}'><model name='m'><link name='a'/>
             <link name='b'><pose>0 0 0 0 0 1.5707963267948966</pose></link>
             <joint name='j' type='prismatic'><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis></joint>
             <gazebo:thing/></model></sdf>"
        )
    };
    for (version, to) in [("1.4", Vec3::X), ("1.6", Vec3::Y), ("1.9", Vec3::Y)] {
        let read = read_files(&[("m.sdf", &text(version))]).unwrap();
        let moved = pose(&read, "b", &[1.0]).translation;
        assert!((moved - to).norm() < 1e-12, "{version}: {moved:?}");
    }
}
