//! One attempt with each method.

use super::{COLD_ITERATIONS, Case, ConeSolver, FEW, FIRST_ITERATIONS, WarmStart, reset};
use crate::embedding::{self, End};
use crate::interior::{Goal, Interior};
use crate::islands::Problem;
use crate::newton::{self, Effort, Start};
use crate::program::ConeProgram;
use crate::tolerances::interior::{LOST, PRODUCT_IN_UNITS};
use crate::tolerances::newton_of_cones::{PENALTY, POLISHED};
use crate::tolerances::units::EVEN;
use quasistep_linalg::{Method, Methods, Settings, Solution, Status};

/// Largest number of Newton iterations on an island from a warm start. The next constant applies to
/// islands with round cones and to programs with more than [`FEW`] variables, where the interior
/// point that follows is fast.
const WARM_ITERATIONS: u32 = 60;
const ROUND_WARM_ITERATIONS: u32 = 24;
const MANY_WARM_ITERATIONS: u32 = 15;
/// Largest number of Newton iterations from the end of an interior point in the caller's units,
/// which is near a minimiser.
const EVEN_ITERATIONS: u32 = 15;
/// Largest number of consecutive short steps from a warm start with more than [`FEW`] variables,
/// before the interior point takes over.
const PATIENCE: u32 = 4;

/// Whether to search for a certificate as soon as the interior point stalls: true for programs with
/// a variable without cost.
pub(super) fn may_prove_early(program: &ConeProgram) -> bool {
    !program.has_all_costs()
}

impl ConeSolver {
    /// Newton's method, from the warm start if there is one.
    pub(super) fn first_newton(&mut self, case: &Case<'_>, out: &mut Solution) -> bool {
        let most = (case.brief && case.warm.is_none()).then_some(FIRST_ITERATIONS);
        let effort = if case.warm.is_some() { Effort::Guess } else { Effort::Normal };
        let found = self.newton(case.program, case.warm, most, effort, out)
            && self.accept(case.program, out);
        out.dual_is_smallest_norm |= found;
        found
    }

    /// Newton's method from a cold start, with a search for another active set where multiplier
    /// updates converge slowly.
    pub(super) fn cold_newton(&mut self, case: &Case<'_>, out: &mut Solution) -> bool {
        if !(self.newton(case.program, None, None, Effort::Insist, out)
            && self.accept(case.program, out))
        {
            return false;
        }
        let warm = case.warm.is_some();
        out.method = if warm { Method::RestartedNewton } else { Method::ColdNewton };
        out.dual_is_smallest_norm = true;
        true
    }

    /// Newton's method on every island, with at most `most` iterations each if it is `Some`.
    /// Returns false if it failed on one.
    fn newton(
        &mut self,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        most: Option<u32>,
        effort: Effort,
        out: &mut Solution,
    ) -> bool {
        let Self { isa, structure, newton, .. } = self;
        out.method = if warm.is_some() { Method::WarmNewton } else { Method::ColdNewton };
        let many = program.n > FEW;
        for island in &structure.islands {
            let (start, iterations) = match warm {
                // a warm start says nothing of an island without rows
                Some(_) if island.first_group == island.last_group => {
                    (Start::Cold, most.unwrap_or(COLD_ITERATIONS))
                }
                Some(w) if many => (Start::Warm { z: w.z, s: w.s }, MANY_WARM_ITERATIONS),
                Some(w) => {
                    let few = if island.round { ROUND_WARM_ITERATIONS } else { WARM_ITERATIONS };
                    (Start::Warm { z: w.z, s: w.s }, most.unwrap_or(few))
                }
                // the interior point takes some twenty iterations from any start
                None if many => return false,
                None => (Start::Cold, most.unwrap_or(COLD_ITERATIONS)),
            };
            newton.clear(structure, island);
            newton.patience = if many { PATIENCE } else { u32::MAX };
            newton.effort = effort;
            let end = newton.solve(*isa, program, structure, island, start, PENALTY, iterations);
            newton.patience = u32::MAX;
            newton.effort = Effort::Normal;
            if end != newton::End::Solved {
                return false;
            }
        }
        true
    }

    /// Interior point in units of the cones. Newton's method adds the last digits where it
    /// converges.
    pub(super) fn interior(&mut self, case: &Case<'_>, out: &mut Solution) -> bool {
        let program = case.program;
        out.method = Method::InteriorPoint;
        let Self { isa, structure, newton, interior, scaled, .. } = self;
        scaled.fill(program, structure);
        let (p, before) = (&scaled.program, newton.iterations);
        interior.prepare(p, structure);
        newton.prepare(p, structure);
        for island in &structure.islands {
            interior.solve(*isa, p, structure, island, Goal::mean(PRODUCT_IN_UNITS), 0.0);
        }
        newton.iterations = before + interior.iterations;
        let polished = structure.islands.iter().all(|island| {
            newton.polish(*isa, p, structure, island, &interior.x, &interior.z, POLISHED)
        });
        if polished && self.accept_scaled(program, out) {
            return self.take_smallest_norm(program, out);
        }
        self.newton.adopt(&self.scaled.program, &self.interior.x, &self.interior.z);
        self.accept_scaled(program, out) && self.take_smallest_norm(program, out)
    }

    /// Interior point in the caller's units, for cones with even units.
    pub(super) fn interior_even(&mut self, case: &Case<'_>, out: &mut Solution) -> bool {
        let Case { program, settings, .. } = *case;
        self.sizes.spread(self.isa, program, &self.structure) <= EVEN
            && self.interior_in_callers_units(program, settings, out)
    }

    /// Interior point in the caller's units. Its rows have the compliance of Newton's penalty, so it
    /// ends near Newton's first minimiser.
    fn interior_in_callers_units(
        &mut self,
        program: &ConeProgram,
        settings: &Settings,
        out: &mut Solution,
    ) -> bool {
        out.method = Method::InteriorPoint;
        let Self { isa, structure, newton, interior, islands, .. } = self;
        let mut before = newton.iterations;
        let may_end = settings.methods.contains(Methods::PROOF) && may_prove_early(program);
        let problem = Problem { isa: *isa, p: program, s: structure, may_end };
        let mut solved = islands.solve(problem, settings.threads, interior, newton);
        if !solved && may_end && interior.off > LOST {
            before += newton.iterations + interior.iterations;
            newton.iterations = before;
            if self.prove_early(program, out) {
                return true;
            }
            out.method = Method::InteriorPoint;
            let Self { isa, structure, newton, interior, islands, .. } = self;
            let problem = Problem { isa: *isa, p: program, s: structure, may_end: false };
            solved = islands.solve(problem, settings.threads, interior, newton);
        }
        let Self { newton, interior, .. } = self;
        newton.iterations += before + interior.iterations;
        if solved && self.accept(program, out) {
            out.dual_is_smallest_norm = true;
            return true;
        }
        let Self { isa, structure, newton, interior, .. } = self;
        newton.prepare(program, structure);
        newton.iterations = before + interior.iterations;
        let finished = structure.islands.iter().all(|island| {
            newton.clear(structure, island);
            let Interior { x, z, s, .. } = &*interior;
            let start = Start::Inside { x, z, s };
            newton.solve(*isa, program, structure, island, start, PENALTY, EVEN_ITERATIONS)
                == newton::End::Solved
        });
        if finished && self.accept(program, out) {
            out.dual_is_smallest_norm = true;
            return true;
        }
        let Self { isa, structure, newton, interior, .. } = self;
        let polished = structure.islands.iter().all(|island| {
            let Interior { x, z, .. } = interior;
            newton.polish(*isa, program, structure, island, x, z, POLISHED)
        });
        polished && self.accept(program, out) && self.take_smallest_norm(program, out)
    }

    /// Searches for a certificate where the interior point stalled; returns false if there is none.
    pub(super) fn prove_early(&mut self, program: &ConeProgram, out: &mut Solution) -> bool {
        let Self { isa, structure, newton, prover, .. } = self;
        reset(program, out);
        out.method = Method::Proof;
        out.iterations = newton.iterations;
        prover.prove(*isa, program, structure, out)
    }

    /// Searches for a certificate that there is no solution.
    pub(super) fn prove(&mut self, case: &Case<'_>, out: &mut Solution) -> bool {
        self.prover.prove(self.isa, case.program, &self.structure, out)
    }

    /// Homogeneous embedding in double-double arithmetic. Returns false if it finds neither a
    /// solution nor a certificate.
    pub(super) fn embedding(&mut self, case: &Case<'_>, out: &mut Solution) -> bool {
        let program = case.program;
        let end =
            embedding::solve(program, &self.structure, &mut self.newton.iterations, &self.budget);
        match end {
            None => return false,
            Some(End::Point { x, z }) => {
                self.newton.adopt(program, &x, &z);
                self.accept(program, out);
                out.method = Method::Embedding;
                // Newton's method may add the digits that the check misses
                return self.take_smallest_norm(program, out);
            }
            Some(End::Ray(x)) => {
                out.status = Status::Unbounded;
                for block in &program.blocks {
                    let at = block.at as usize;
                    out.ray.extend_from_slice(&x[at..at + block.dim as usize]);
                }
            }
            Some(End::Multipliers(y)) => {
                out.status = Status::Infeasible;
                for cone in &program.cones {
                    let at = cone.at as usize;
                    out.certificate.extend_from_slice(&y[at..at + cone.m as usize]);
                }
            }
        }
        out.method = Method::Embedding;
        out.iterations = self.newton.iterations;
        true
    }
}
