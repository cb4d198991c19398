//! Interior point and crossover on every island, sequentially or on several threads.

use crate::interior::{Goal, Interior, Outcome};
use crate::kernels::Isa;
use crate::newton::{Newton, Start};
use crate::program::ConeProgram;
use crate::structure::{Island, Structure};
use crate::tolerances::interior::{COMPLIANCE, LOST, PRODUCT, PRODUCT_LEAST};
use quasistep_linalg::budget::Budget;

/// Largest number of active sets that a crossover tries, after the first and after the second end
/// of the interior point.
const SETS: [u32; 2] = [3, 10];
/// Number of cones of the second largest island from which on starting threads pays.
const WORTH_A_THREAD: u32 = 100;

/// Interior point and Newton's method with the memory of one thread.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    interior: Interior,
    newton: Newton,
}

/// Workers of the additional threads, and the assignment of islands to threads.
#[derive(Debug, Default)]
pub(crate) struct Islands {
    workers: Vec<Worker>,
    thread_of: Vec<u32>,
    load: Vec<u32>,
    pub budget: Budget,
}

/// Program data and parameters that all islands share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem<'a> {
    pub isa: Isa,
    pub p: &'a ConeProgram,
    pub s: &'a Structure,
    /// Whether to skip the crossover on an island whose interior point stalled with an error above
    /// [`LOST`].
    pub may_end: bool,
}

impl Problem<'_> {
    /// Runs the interior point on an island, then the crossover to an active set. Returns false if
    /// the crossover fails; the interior point's last iterate is in `interior` in either case.
    fn solve(self, island: &Island, interior: &mut Interior, newton: &mut Newton) -> bool {
        let Self { isa, p, s, may_end } = self;
        let compliance = if island.cones > 0 { COMPLIANCE } else { 0.0 };
        let end = interior.solve(isa, p, s, island, Goal::mean(PRODUCT), compliance);
        if may_end && matches!(end, Outcome::Stuck(error) if error > LOST) {
            return false;
        }
        if !newton.can_cross(isa, p, s, island) {
            return false;
        }
        let mut crossover = |interior: &Interior, sets| {
            let Interior { x, active, .. } = interior;
            newton.crossover(isa, p, s, island, Start::Predicted { x, active }, sets)
        };
        crossover(interior, SETS[0]) || {
            interior.go_on(isa, p, s, island, Goal::mean(PRODUCT_LEAST), compliance);
            crossover(interior, SETS[1])
        }
    }
}

impl Islands {
    /// Solves every island of a problem on up to `threads` threads; returns false if a crossover
    /// failed. Iterates and solutions are in `interior` and `newton`. They do not depend on the
    /// number of threads.
    pub fn solve(
        &mut self,
        problem: Problem<'_>,
        threads: u32,
        interior: &mut Interior,
        newton: &mut Newton,
    ) -> bool {
        let Problem { p, s, .. } = problem;
        interior.prepare(p, s);
        newton.prepare(p, s);
        let large = s.islands.iter().filter(|island| island.cones >= WORTH_A_THREAD).count();
        let threads = large.min(threads as usize);
        if threads <= 1 {
            let mut solved = true;
            for island in &s.islands {
                solved &= problem.solve(island, interior, newton);
            }
            return solved;
        }
        self.share(s, threads);
        let Self { workers, thread_of, .. } = self;
        let workers = &mut workers[..threads - 1];
        let own = |thread: usize| {
            let islands = s.islands.iter().zip(&*thread_of);
            islands.filter(move |(_, t)| **t as usize == thread).map(|(island, _)| island)
        };
        let work = |thread: usize, interior: &mut Interior, newton: &mut Newton| {
            let mut solved = true;
            for island in own(thread) {
                solved &= problem.solve(island, interior, newton);
            }
            solved
        };
        let work = &work;
        let solved = std::thread::scope(|scope| {
            let others: Vec<_> = workers
                .iter_mut()
                .enumerate()
                .map(|(k, worker)| {
                    scope.spawn(move || {
                        let Worker { interior, newton } = worker;
                        interior.prepare(p, s);
                        newton.prepare(p, s);
                        work(k + 1, interior, newton)
                    })
                })
                .collect();
            let mut solved = work(0, interior, newton);
            for other in others {
                solved &= other.join().unwrap_or(false);
            }
            solved
        });
        for (k, worker) in workers.iter().enumerate() {
            for island in own(k + 1) {
                interior.take_island(&worker.interior, p, s, island);
                newton.take_island(&worker.newton, p, s, island);
            }
            interior.off = interior.off.max(worker.interior.off);
            interior.iterations += worker.interior.iterations;
            newton.iterations += worker.newton.iterations;
        }
        solved
    }

    /// Assigns islands to threads: the largest first, each to the thread with the least work.
    fn share(&mut self, s: &Structure, threads: usize) {
        let Self { workers, thread_of, load, budget } = self;
        while workers.len() < threads - 1 {
            let mut worker = Worker::default();
            worker.interior.budget = budget.clone();
            worker.newton.budget = budget.clone();
            workers.push(worker);
        }
        load.clear();
        load.resize(threads, 0);
        thread_of.clear();
        thread_of.resize(s.islands.len(), 0);
        let mut order: Vec<usize> = (0..s.islands.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(s.islands[*i].cones));
        for i in order {
            let thread = (0..threads).min_by_key(|t| load[*t]).unwrap_or(0);
            thread_of[i] = thread as u32;
            load[thread] += s.islands[i].cones + 1;
        }
    }
}
