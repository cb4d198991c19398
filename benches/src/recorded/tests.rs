//! Recorded piles without mass are all unbounded.
#![allow(non_snake_case)]

use super::Sequence;
use quasistep_cone::{ConeProgram, ConeSolver, Method, Settings, Solution, Status};
use std::path::Path;
use testkit::dense_program::DenseProgram;

/// Checks `P d = 0`, `A d ≥ 0`, `cᵀ d < 0` to 1e-9 of angular velocities, which are the largest
/// entries of `d` because levers are 0.03 m.
fn assert_falls(program: &ConeProgram, d: &[f64]) {
    let mut dense = DenseProgram::default();
    dense.fill(program);
    let qp = dense.qp();
    let largest = d.iter().fold(0.0, |m: f64, d| m.max(d.abs()));
    assert_eq!((d.len(), largest), (qp.n, 1.0));
    for row in qp.P.chunks(qp.n) {
        let [bend, stiff] = row
            .iter()
            .zip(d)
            .fold([0.0, 0.0_f64], |[sum, most], (P, d)| [sum + P * d, most.max(P.abs())]);
        assert!(bend.abs() <= 1e-9 * stiff, "the cost rises: {bend:e} of {stiff:e}");
    }
    for i in 0..qp.b.len() {
        let along = qp.A.dot(i, d);
        assert!(along >= -1e-9, "row {i} stops it: {along:e}");
    }
    let [fall, terms] =
        qp.c.iter()
            .zip(d)
            .fold([0.0, 0.0], |[fall, terms], (c, d)| [fall + c * d, terms + (c * d).abs()]);
    assert!(fall < -1e-6 * terms && terms > 0.0, "it does not fall: {fall:e} of {terms:e}");
}

#[test]
fn piles_without_mass_fall_and_the_proof_is_quick() {
    for (name, most) in [("pile50", 60), ("pile200", 100)] {
        let file = format!("recorded/{name}.npz");
        let sequence = Sequence::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        let mut program = ConeProgram::new();
        let (mut solver, mut out) = (ConeSolver::new(), Solution::default());
        for t in 0..sequence.len() {
            for (round, accuracy) in [(false, 0.0), (false, 1e-8), (true, 0.0), (true, 1e-8)] {
                sequence.build(t, false, round, &mut program);
                let settings = Settings { accuracy, ..Settings::default() };
                solver.solve(&program, None, &settings, &mut out);
                let at = format!("{name} {t}, round: {round}, accuracy: {accuracy:e}");
                assert_eq!((out.status, out.method), (Status::Unbounded, Method::Proof), "{at}");
                // rules out the embedding, and a search that begins late
                assert!(out.iterations <= most, "{at}: {} iterations", out.iterations);
                if !round {
                    assert_falls(&program, &out.ray);
                }
            }
        }
    }
}

#[test]
fn scenes_give_programs_with_contacts() {
    let programs = super::scene_problems("planar_push", 10);
    assert!(programs.len() > 5, "{} programs", programs.len());
    let with_contacts = programs.iter().filter(|p| p.n > 0 && !p.cones.is_empty()).count();
    assert!(2 * with_contacts > programs.len(), "{with_contacts} of {}", programs.len());
}
