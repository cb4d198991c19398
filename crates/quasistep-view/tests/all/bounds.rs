//! Default bounds of a camera.

use crate::common::push;
use quasistep_math::{Pose, Vec3};
use quasistep_record::{BodyRole, Recording};
use quasistep_view::{bounds, first_view};

/// If nothing moves, bodies that could move are still inside the bounds.
#[test]
fn bodies_that_rest_are_seen() {
    let mut run = push();
    let first = run.frames[0].clone();
    run.frames.iter_mut().for_each(|f| f.X_WB.clone_from(&first.X_WB));
    let seen = bounds(&run);
    for shape in run.shapes.iter().filter(|s| ["box", "finger"].contains(&s.name.as_str())) {
        let off: Vec3 = first.X_WB[shape.body].translation - seen.center;
        let inside = |k: usize| off.to_array()[k].abs() < seen.half.to_array()[k];
        assert!((0..3).all(inside), "{}: {off:?} from the middle, {seen:?}", shape.name);
    }
}

/// Where driven bodies touch one another alone, the first view holds all of them. Where they push a free body it keeps to
/// these, and leaves out what is far away.
#[test]
fn the_view_of_a_robot_alone_is_the_whole_robot() {
    let mut run = push();
    run.coordinates.push("ball.y".into());
    let far = Pose::from_translation(Vec3::new(0.0, -9.0, 0.0));
    run.frames.iter_mut().for_each(|frame| frame.X_WB[3] = far);
    let of = |ball: BodyRole, others: BodyRole| Recording {
        roles: vec![BodyRole::Fixed, others, BodyRole::Driven, ball],
        ..run.clone()
    };
    let robot = of(BodyRole::Driven, BodyRole::Driven);
    assert_eq!(first_view(&robot).bounds, bounds(&robot));
    let pushes = of(BodyRole::Driven, BodyRole::Free);
    assert!(first_view(&pushes).bounds.radius < 0.5 * bounds(&pushes).radius);
}

/// A live page begins with a start alone. A finger that the usual view would hide behind a box is in sight.
#[test]
fn the_view_of_a_start_shows_what_is_driven() {
    let mut recording = push();
    recording.frames.truncate(1);
    let hidden = |direction: Vec3, finger: Vec3| {
        // a ray from the finger to the eye, through the slabs of the box of 0.3 m at the origin
        let (p, d) = (finger.to_array(), direction.to_array());
        let (mut enter, mut leave) = (0.0_f64, f64::INFINITY);
        for k in 0..3 {
            let ends = [(-0.15 - p[k]) / d[k], (0.15 - p[k]) / d[k]];
            enter = enter.max(ends[0].min(ends[1]));
            leave = leave.min(ends[0].max(ends[1]));
        }
        enter < leave
    };
    let usual = Vec3::new(0.55, -0.75, 0.42);
    for finger in [Vec3::new(-0.25, 0.34, 0.0), Vec3::new(-0.3, 0.0, 0.0)] {
        let poses = &mut recording.frames[0].X_WB;
        poses[1] = Pose::IDENTITY;
        poses[2] = Pose::from_translation(finger);
        poses[3] = Pose::from_translation(Vec3::new(0.0, -2.0, 0.0));
        let view = first_view(&recording);
        assert!(!hidden(view.direction, finger), "{finger:?}: {view:?}");
    }
    assert!(hidden(usual, Vec3::new(-0.25, 0.34, 0.0)), "the usual view does not show it");
}
