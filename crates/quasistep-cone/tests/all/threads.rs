//! Islands on threads: results do not depend on the number of threads, bit by bit.

use quasistep_cone::{Cone, ConeProgram, ConeSolver, Method, Reason, Settings, Solution, Status};

const BLOCKS: usize = 25;
const CONTACTS: usize = 5;

/// Pseudorandom numbers in [−1, 1), the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Separate stacks of point masses with several contacts each and random loads. In the first stack,
/// if `massless`, the top block is pulled away.
fn towers(n: usize, massless: impl Fn(usize) -> bool) -> ConeProgram {
    let mut random = Random(7);
    let mut program = ConeProgram::new();
    program.reset((0..n * BLOCKS).map(|_| 3));
    let mu = 0.5;
    let edges = [1.0, mu, 0.0, 1.0, 0.0, mu, 1.0, -mu, 0.0, 1.0, 0.0, -mu];
    for body in 0..n * BLOCKS {
        let mass = 1.0 + 0.2 * random.next();
        let light = massless(body / BLOCKS);
        for i in 0..3 {
            program.P(body, i)[i] = if light { 0.0 } else { mass };
        }
        let mut push = [10.0 * mass, 3.0 * random.next(), 3.0 * random.next()];
        if light {
            push = push.map(|f| 0.1 * f);
        }
        if light && body + 1 == BLOCKS {
            push = [-10.0, 0.0, 0.0];
        }
        program.c(body).copy_from_slice(&push);
        let below = (body % BLOCKS > 0).then(|| body as u32 - 1);
        let sides: Vec<u32> = [Some(body as u32), below].into_iter().flatten().collect();
        for _ in 0..CONTACTS {
            // normals that deviate slightly from the vertical
            let (a, b) = (0.1 * random.next(), 0.1 * random.next());
            let rows = [[1.0, a, b], [-a, 1.0, 0.0], [-b, 0.0, 1.0]];
            let mut contact = program.push_cone(Cone::Edges(&edges), 3, &sides);
            for (r, row) in rows.iter().enumerate() {
                contact.J(0, r).copy_from_slice(row);
                if below.is_some() {
                    contact.J(1, r).copy_from_slice(&row.map(|v| -v));
                }
            }
        }
    }
    program
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let program = towers(5, |_| false);
    let solve = |threads| {
        let mut out = Solution::default();
        let settings = Settings { threads, ..Settings::default() };
        let mut solver = ConeSolver::new();
        // solve twice: memory of the first solve does not affect the second
        solver.solve(&program, None, &settings, &mut out);
        solver.solve(&program, None, &settings, &mut out);
        assert_eq!(out.status, Status::Solved, "{:?}", out.residuals);
        assert_eq!(out.method, Method::InteriorPoint);
        out
    };
    let one = solve(0);
    assert!(one.z.iter().any(|z| *z > 1.0), "the towers stand");
    for threads in [1, 2, 3, 5, 16] {
        let many = solve(threads);
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&many.x), bits(&one.x), "{threads} threads");
        assert_eq!(bits(&many.z), bits(&one.z), "{threads} threads");
        assert_eq!(many.iterations, one.iterations, "{threads} threads");
        assert_eq!(many.work, one.work, "{threads} threads");
    }
}

#[test]
fn any_number_of_threads_ends_at_the_same_limit_of_work() {
    let program = towers(5, |_| false);
    let solve = |threads, work_limit| {
        let mut out = Solution::default();
        let settings = Settings { threads, work_limit, ..Settings::default() };
        ConeSolver::new().solve(&program, None, &settings, &mut out);
        out
    };
    let needed = solve(0, u64::MAX).work;
    assert!(needed > 0);
    for threads in [0, 2, 5] {
        let enough = solve(threads, needed);
        assert_eq!((enough.status, enough.work), (Status::Solved, needed), "{threads} threads");
        for limit in [0, needed / 10, needed - 1] {
            let out = solve(threads, limit);
            assert_eq!((out.status, out.reason), (Status::GaveUp, Some(Reason::Work)));
            assert_eq!(out.work, limit, "{threads} threads");
        }
    }
}

#[test]
fn any_number_of_threads_finds_the_same_ray() {
    let program = towers(4, |tower| tower % 2 == 0);
    let solve = |threads| {
        let mut out = Solution::default();
        let settings = Settings { threads, ..Settings::default() };
        ConeSolver::new().solve(&program, None, &settings, &mut out);
        assert_eq!((out.status, out.method), (Status::Unbounded, Method::Proof));
        out
    };
    let one = solve(0);
    for threads in [1, 2, 3, 5] {
        let many = solve(threads);
        assert_eq!(many.ray, one.ray, "{threads} threads");
        assert_eq!(many.iterations, one.iterations, "{threads} threads");
    }
}
