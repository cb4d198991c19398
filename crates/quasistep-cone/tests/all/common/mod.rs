//! Problems of the dense solver's tests as cone programs, and patches of contacts.

pub mod patches;
#[path = "../../../../quasistep-qp/tests/all/common/problem.rs"]
#[allow(dead_code)] // the tests of the dense solver use all of it
mod problem;
#[path = "../../../../quasistep-qp/tests/all/common/samples.rs"]
mod samples;

pub use problem::{Problem, contact_problem};
use quasistep_cone::{Cone, ConeProgram, ConeSolver, Settings, Solution, WarmStart};
pub use samples::Samples;

/// Cone programs of a [`Problem`].
pub trait Cones {
    /// This program as one block, with every row a cone of its own.
    fn cone_program(&self) -> ConeProgram;
    /// Solutions of the dense solver, and of the cone solver from a cold start, from its own
    /// solution and from all rows.
    fn solve_by_all(&self) -> [Solution; 4];
}

impl Cones for Problem {
    fn cone_program(&self) -> ConeProgram {
        let mut program = ConeProgram::new();
        program.reset([self.n]);
        for i in 0..self.n {
            program.P(0, i).copy_from_slice(&self.P[i * self.n..(i + 1) * self.n]);
        }
        program.c(0).copy_from_slice(&self.c);
        for (i, b) in self.b.iter().enumerate() {
            let mut cone = program.push_cone(Cone::Edges(&[1.0]), 1, &[0]);
            let (columns, values) = self.A.row(i);
            for (column, value) in columns.iter().zip(values) {
                cone.J(0, 0)[*column as usize] += value;
            }
            cone.b()[0] = *b;
        }
        for spring in &self.saturations {
            program.push_saturation(*spring);
        }
        program
    }
    fn solve_by_all(&self) -> [Solution; 4] {
        let program = self.cone_program();
        let cones = |warm: Option<&[f64]>| {
            let mut out = Solution::default();
            let warm = warm.map(|z| WarmStart { z, s: z });
            ConeSolver::new().solve(&program, warm, &Settings::default(), &mut out);
            out
        };
        let cold = cones(None);
        let again = cones(Some(&cold.z));
        let poor = cones(Some(&vec![1.0; self.b.len()]));
        [self.solve(), cold, again, poor]
    }
}
