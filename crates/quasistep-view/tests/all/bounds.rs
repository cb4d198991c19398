//! Default bounds of a camera.

use crate::common::push;
use quasistep_math::Vec3;
use quasistep_view::bounds;

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
