//! Nothing that is certified is untrue: fast motion in random worlds, sampled densely.
#![allow(missing_docs)]

use testkit::random_worlds::{follow, random_world};

/// `cargo run --release -p benches --bin swept_worlds -- --count 10000` looks at more of them.
#[test]
fn no_certified_step_overlaps_along_its_motion() {
    let (mut steps, mut substeps) = (0, 0);
    for seed in 0..120 {
        let course = follow(&random_world(seed));
        assert_eq!(course.wrong, None, "world {seed}");
        steps += course.steps;
        substeps += course.substeps;
    }
    // worlds that end at once, or never leave their rows, would prove nothing
    assert!(steps > 300, "{steps} steps");
    assert!(substeps > steps + 50, "{substeps} substeps in {steps} steps");
}
