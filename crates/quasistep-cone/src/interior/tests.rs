use super::*;
use crate::program::Cone;

/// Blocks with small cost and blocks with large cost in one program. Where the iteration ends, the
/// multiplier of an active row of a block with small cost is smaller than the remaining slacks.
#[test]
fn rows_that_carry_little_force_are_told_from_those_that_carry_none() {
    let masses = [1.0, 1e-6];
    let mut p = ConeProgram::new();
    p.reset([2]);
    for (i, mass) in masses.into_iter().enumerate() {
        p.P(0, i)[i] = mass;
        p.c(0)[i] = -mass;
        // each of them alone would reach 1
        for most in [0.5, 2.0] {
            let mut cone = p.push_cone(Cone::Edges(&[1.0]), 1, &[0]);
            cone.J(0, 0)[i] = -1.0;
            cone.b()[0] = -most;
        }
    }
    let mut s = Structure::default();
    s.update(&p);
    let mut interior = Interior::default();
    interior.prepare(&p, &s);
    let goal = Goal::mean(1e-10);
    interior.solve(Isa::PORTABLE, &p, &s, &s.islands[0], goal, 0.0);
    let rows = |v: &[f64]| -> Vec<f64> { p.cones.iter().map(|c| v[c.at as usize]).collect() };
    let (z, slacks) = (rows(&interior.z), rows(&interior.s));
    assert!(z[2] < slacks[2], "their sizes say nothing: {} and {}", z[2], slacks[2]);
    assert_eq!(rows(&interior.active), [1.0, 0.0, 1.0, 0.0]);
}
