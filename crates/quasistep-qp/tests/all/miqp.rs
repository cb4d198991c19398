//! Branch and bound compared with an enumeration of all combinations of modes.

use crate::common::{Problem, Samples};
use quasistep_qp::{
    Choices, Hooks, Miqp, MiqpLimit, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Reason,
    Rows, Side, Status,
};

#[derive(Default)]
struct Sample {
    n: usize,
    P: Vec<f64>,
    c: Vec<f64>,
    rows: Vec<Vec<f64>>,
    A: Rows,
    b: Vec<f64>,
    sides: Vec<Side>,
    modes: Vec<Vec<Vec<(u32, Side)>>>,
    choices: Choices,
}

impl Sample {
    fn row(&mut self, row: Vec<f64>, b: f64, side: Side) -> u32 {
        let columns: Vec<u32> = (0..self.n as u32).collect();
        self.A.push(&columns, &row);
        self.rows.push(row);
        self.b.push(b);
        self.sides.push(side);
        self.b.len() as u32 - 1
    }

    fn choice(&mut self, modes: Vec<Vec<(u32, Side)>>, splits: &[u32]) {
        let slices: Vec<&[(u32, Side)]> = modes.iter().map(Vec::as_slice).collect();
        self.choices.push(&slices, splits);
        self.modes.push(modes);
    }

    fn miqp(&self) -> Miqp<'_> {
        Miqp {
            n: self.n,
            P: &self.P,
            c: &self.c,
            A: &self.A,
            b: &self.b,
            sides: &self.sides,
            choices: &self.choices,
        }
    }

    /// Constraints on the rows for one mode per choice.
    fn sides_of(&self, modes: &[usize]) -> Vec<Side> {
        let mut sides = self.sides.clone();
        for (choice, &mode) in modes.iter().enumerate() {
            for &(row, side) in &self.modes[choice][mode] {
                sides[row as usize] = sides[row as usize].and(side);
            }
        }
        sides
    }

    /// Least cost over all combinations of modes, by the QP solver of this crate; infinite if all
    /// are infeasible.
    fn brute_force(&self) -> f64 {
        let mut modes = vec![0; self.modes.len()];
        let mut best = f64::INFINITY;
        loop {
            let mut p =
                Problem { n: self.n, P: self.P.clone(), c: self.c.clone(), ..Problem::default() };
            for (i, side) in self.sides_of(&modes).into_iter().enumerate() {
                if matches!(side, Side::AtLeast | Side::Equal) {
                    p.push(&self.rows[i], self.b[i]);
                }
                if matches!(side, Side::AtMost | Side::Equal) {
                    let minus: Vec<f64> = self.rows[i].iter().map(|v| -v).collect();
                    p.push(&minus, -self.b[i]);
                }
            }
            let answer = p.solve();
            match answer.status {
                Status::Solved => best = best.min(p.cost(&answer.x)),
                Status::Infeasible => {}
                other => panic!("reference: {other:?} {:?}", answer.reason),
            }
            // the next combination
            let Some(place) = (0..modes.len()).find(|&k| modes[k] + 1 < self.modes[k].len()) else {
                return best;
            };
            modes[place] += 1;
            modes[..place].fill(0);
        }
    }
}

/// Planar friction contact with rows gap, normal, speed, force and two cone edges. Modes 0 and 1
/// are open, 2 and 3 stick, 4 and 5 slip; even modes have speed ≥ 0 and force ≤ 0.
fn push_contact(p: &mut Sample, gap: u32, normal: u32, speed: u32, force: u32, cone: [u32; 2]) {
    use Side::{AtLeast, AtMost, Equal};
    let open = |side| vec![(normal, Equal), (force, Equal), (speed, side)];
    let stick = |side| vec![(gap, Equal), (speed, Equal), (force, side)];
    p.choice(
        vec![
            open(AtLeast),
            open(AtMost),
            stick(AtMost),
            stick(AtLeast),
            vec![(gap, Equal), (speed, AtLeast), (cone[0], Equal), (force, AtMost)],
            vec![(gap, Equal), (speed, AtMost), (cone[1], Equal), (force, AtLeast)],
        ],
        &[0b01_0101, 0b00_0011, 0b00_1100],
    );
}

/// Draws a problem with small integers, so that most samples are degenerate. Some costs are
/// singular.
fn sample(s: &mut Samples) -> Sample {
    let n = 3 + s.below(5);
    let mut p = Sample { n, P: vec![0.0; n * n], ..Sample::default() };
    let rank = if s.uniform() < 0.4 { n - 1 } else { n + 2 };
    for _ in 0..rank {
        let g: Vec<f64> = (0..n).map(|_| s.signed()).collect();
        for i in 0..n {
            for j in 0..n {
                p.P[i * n + j] += g[i] * g[j];
            }
        }
    }
    p.c = (0..n).map(|_| 4.0 * s.signed()).collect();
    for k in 0..n {
        // bounds on all variables, so that singular costs are bounded
        let unit: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == k))).collect();
        p.row(unit.clone(), -3.0, Side::AtLeast);
        p.row(unit, 3.0, Side::AtMost);
    }
    let some_row = |s: &mut Samples| (0..n).map(|_| s.below(5) as f64 - 2.0).collect::<Vec<_>>();
    let pairs = s.below(5);
    for _ in 0..pairs {
        let k = s.below(n);
        let unit = (0..n).map(|i| f64::from(u8::from(i == k))).collect();
        let (row, b) = (some_row(s), -(s.below(3) as f64));
        let a = p.row(unit, 0.0, Side::AtLeast);
        let b = p.row(row, b, Side::AtLeast);
        p.choice(vec![vec![(a, Side::Equal)], vec![(b, Side::Equal)]], &[1]);
    }
    for _ in 0..s.below(3) {
        let (i, j) = (s.below(n), s.below(n));
        let unit = |k: usize, v: f64| -> Vec<f64> {
            (0..n).map(|i| if i == k { v } else { 0.0 }).collect()
        };
        let mut edge = unit(i, 1.0);
        edge[j] += 1.0;
        let mut other = unit(i, 1.0);
        other[j] -= 1.0;
        let (gap_row, speed_row) = (some_row(s), some_row(s));
        let gap = p.row(gap_row, -(s.below(2) as f64), Side::AtLeast);
        let normal = p.row(unit(i, 1.0), 0.0, Side::AtLeast);
        let speed = p.row(speed_row, 0.0, Side::Free);
        let force = p.row(unit(j, 1.0), 0.0, Side::Free);
        // normal ± force ≥ 0; in forward slip the force is at its lower limit
        let cone = [p.row(edge, 0.0, Side::AtLeast), p.row(other, 0.0, Side::AtLeast)];
        push_contact(&mut p, gap, normal, speed, force, cone);
    }
    if s.uniform() < 0.4 {
        // make 0 infeasible
        let row = some_row(s);
        p.row(row, 2.0 + 6.0 * s.uniform(), Side::AtLeast);
    }
    p
}

fn solve(p: &Sample, settings: &MiqpSettings) -> MiqpSolution {
    let mut out = MiqpSolution::default();
    MiqpSolver::new().solve(&p.miqp(), settings, &mut Hooks::default(), &mut out);
    out
}

#[test]
fn answers_agree_with_every_combination_of_modes() {
    let mut s = Samples::new(71);
    let (mut solved, mut infeasible) = (0, 0);
    for k in 0..600 {
        let p = sample(&mut s);
        let best = p.brute_force();
        // with and without probing, which usually decides small problems at the root
        for probing in [true, false] {
            let settings = MiqpSettings { probing, ..MiqpSettings::default() };
            let out = solve(&p, &settings);
            if best == f64::INFINITY {
                assert_eq!(out.status, MiqpStatus::Infeasible, "sample {k}");
                assert!(!out.conflict.is_empty());
                infeasible += 1;
                continue;
            }
            assert_eq!(out.status, MiqpStatus::Optimal, "sample {k}: {out:?} against {best}");
            // tolerance: rounding of costs of size 10, and constraints satisfied to 1e-12
            assert!((out.cost - best).abs() < 2e-9, "sample {k}: {} against {best}", out.cost);
            assert!(out.bound <= best + 1e-9 && out.gap() <= 1e-9, "sample {k}: {}", out.bound);
            assert!((p.miqp().cost(&out.x) - out.cost).abs() < 1e-10);
            let modes: Vec<usize> = out.modes.iter().map(|m| *m as usize).collect();
            for (i, side) in p.sides_of(&modes).into_iter().enumerate() {
                let slack: f64 =
                    p.rows[i].iter().zip(&out.x).map(|(a, x)| a * x).sum::<f64>() - p.b[i];
                let off = match side {
                    Side::Free => 0.0,
                    Side::AtLeast => -slack,
                    Side::AtMost => slack,
                    Side::Equal => slack.abs(),
                };
                assert!(off < 1e-8, "sample {k}: row {i} is off by {off}");
            }
            solved += 1;
        }
    }
    assert!(solved > 900 && infeasible > 20, "{solved} solved, {infeasible} infeasible");
}

/// Any mode can be optimal. A branch that loses a mode makes the search miss an optimum that no
/// incumbent starts from.
#[test]
fn every_mode_can_win() {
    let mut s = Samples::new(72);
    let mut searched = 0;
    for k in 0..300 {
        // modes are grid points; those of one column or row share a constraint
        let (columns, lines) = (1 + s.below(4), 2 + s.below(3));
        let modes = columns * lines;
        let places = |s: &mut Samples, n: usize| -> Vec<f64> {
            (0..n).map(|i| 4.0 * i as f64 + 2.0 * s.signed()).collect()
        };
        let (xs, ys) = (places(&mut s, columns), places(&mut s, lines));
        let splits: Vec<u32> = (0..s.below(5)).map(|_| s.below(1 << modes) as u32).collect();
        for winner in 0..modes {
            // a narrow valley through the optimum, oblique to the axes: the mode nearest to the
            // target is another one
            let slant = if s.uniform() < 0.5 { 0.995 } else { -0.995 };
            let away = 12.0 * s.signed();
            let target = [xs[winner % columns] + away, ys[winner / columns] - slant * away];
            let P = vec![1.0, slant, slant, 1.0];
            let c = (0..2).map(|i| -P[2 * i] * target[0] - P[2 * i + 1] * target[1]).collect();
            let mut p = Sample { n: 2, P, c, ..Sample::default() };
            let xs: Vec<u32> = xs.iter().map(|x| p.row(vec![1.0, 0.0], *x, Side::Free)).collect();
            let ys: Vec<u32> = ys.iter().map(|y| p.row(vec![0.0, 1.0], *y, Side::Free)).collect();
            let demands =
                |m: usize| vec![(xs[m % columns], Side::Equal), (ys[m / columns], Side::Equal)];
            p.choice((0..modes).map(demands).collect(), &splits);
            let best = p.brute_force();
            for probing in [true, false] {
                let out = solve(&p, &MiqpSettings { probing, ..MiqpSettings::default() });
                assert_eq!(out.status, MiqpStatus::Optimal, "sample {k}");
                // costs have size 100
                let off = (out.cost - best).abs();
                assert!(off < 1e-8, "sample {k}, splits {splits:?}: off by {off}, {out:?}");
                searched += usize::from(out.first > best + 1e-6);
            }
        }
    }
    assert!(searched > 1000, "only {searched} searches began with another mode");
}

/// Force of a friction contact that is open. A branch on the sign of the force that omits the open
/// mode would give a feasible but wrong result.
#[test]
fn an_open_contact_moves_either_way() {
    for speed_wanted in [-1.0, 1.0] {
        // x = (gap, normal impulse, speed, force); opening and sliding away has cost zero
        let mut p = Sample { n: 4, P: vec![0.0; 16], ..Sample::default() };
        (0..4).for_each(|i| p.P[5 * i] = 1.0);
        p.c = vec![-1.0, 0.0, -speed_wanted, 0.5 * speed_wanted];
        let unit = |k: usize| (0..4).map(|i| f64::from(u8::from(i == k))).collect::<Vec<_>>();
        let gap = p.row(unit(0), 0.0, Side::AtLeast);
        let normal = p.row(unit(1), 0.0, Side::AtLeast);
        let speed = p.row(unit(2), 0.0, Side::Free);
        let force = p.row(unit(3), 0.0, Side::Free);
        let cone = [
            p.row(vec![0.0, 1.0, 0.0, 1.0], 0.0, Side::AtLeast),
            p.row(vec![0.0, 1.0, 0.0, -1.0], 0.0, Side::AtLeast),
        ];
        push_contact(&mut p, gap, normal, speed, force, cone);
        let settings = MiqpSettings { probing: false, ..MiqpSettings::default() };
        let out = solve(&p, &settings);
        assert_eq!(out.status, MiqpStatus::Optimal);
        assert!((out.cost + 1.0).abs() < 1e-12, "{}", out.cost);
        assert!((out.x[2] - speed_wanted).abs() < 1e-12);
    }
}

/// Many similar pairs, so that the search takes long.
fn hard(n: usize) -> Sample {
    let mut s = Samples::new(73);
    let mut p = Sample { n, P: vec![0.0; n * n], ..Sample::default() };
    for i in 0..n {
        for j in 0..n {
            p.P[i * n + j] = if i == j { 1.5 } else { 0.3 };
        }
        p.c.push(-1.0 - 0.1 * s.uniform());
    }
    for k in 0..n / 2 {
        let unit = |k: usize| (0..n).map(|i| f64::from(u8::from(i == k))).collect::<Vec<_>>();
        let a = p.row(unit(2 * k), 0.0, Side::AtLeast);
        let b = p.row(unit(2 * k + 1), 0.0, Side::AtLeast);
        p.choice(vec![vec![(a, Side::Equal)], vec![(b, Side::Equal)]], &[1]);
    }
    p
}

#[test]
fn a_stopped_search_has_a_valid_bound() {
    let p = hard(16);
    let best = p.brute_force();
    let full = solve(&p, &MiqpSettings::default());
    assert_eq!(full.status, MiqpStatus::Optimal);
    assert!((full.cost - best).abs() < 1e-9);
    let mut asked = 0;
    for limit in 0..60 {
        let mut out = MiqpSolution::default();
        let mut questions = 0;
        let mut stop = || {
            questions += 1;
            questions > limit
        };
        let mut hooks = Hooks { stop: Some(&mut stop), ..Hooks::default() };
        MiqpSolver::new().solve(&p.miqp(), &MiqpSettings::default(), &mut hooks, &mut out);
        assert!(out.bound <= best + 1e-9, "after {limit} questions: {} > {best}", out.bound);
        assert!(out.cost >= best - 1e-9);
        match out.status {
            MiqpStatus::Optimal => assert!(out.gap() <= 1e-9),
            MiqpStatus::Feasible(limit) | MiqpStatus::Unknown(limit) => {
                assert_eq!(limit, MiqpLimit::Stopped);
                asked += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(asked > 10, "only {asked} searches were stopped early");
}

#[test]
fn a_node_limit_leaves_the_root_bound() {
    let p = hard(16);
    let best = p.brute_force();
    let settings = MiqpSettings { max_nodes: 1, probing: false, ..MiqpSettings::default() };
    let out = solve(&p, &settings);
    assert_eq!(out.status, MiqpStatus::Feasible(MiqpLimit::Nodes));
    assert!(out.root <= out.bound && out.bound <= best + 1e-9 && best <= out.cost + 1e-9);
    assert!(out.gap() > 1e-6, "the root alone does not prove it");
}

#[test]
fn a_limit_of_work_leaves_a_bound() {
    let p = hard(16);
    let (best, whole) = (p.brute_force(), solve(&p, &MiqpSettings::default()));
    assert_eq!(whole.status, MiqpStatus::Optimal);
    for work_limit in [0, whole.work / 10, whole.work / 2, whole.work - 1] {
        let out = solve(&p, &MiqpSettings { work_limit, ..MiqpSettings::default() });
        let stopped = matches!(
            out.status,
            MiqpStatus::Feasible(MiqpLimit::Work) | MiqpStatus::Unknown(MiqpLimit::Work)
        );
        assert!(stopped, "{:?}", out.status);
        assert!(out.work == work_limit && out.bound <= best + 1e-9 && best <= out.cost + 1e-9);
    }
    let enough = MiqpSettings { work_limit: whole.work, ..MiqpSettings::default() };
    assert_eq!(solve(&p, &enough).status, MiqpStatus::Optimal);
}

#[test]
fn a_wide_gap_ends_early_and_says_so() {
    let p = hard(16);
    let exact = solve(&p, &MiqpSettings::default());
    let settings = MiqpSettings { absolute_gap: 0.5, ..MiqpSettings::default() };
    let out = solve(&p, &settings);
    assert_eq!(out.status, MiqpStatus::Optimal);
    assert!(out.nodes <= exact.nodes && out.gap() <= 0.5 && out.bound <= exact.cost + 1e-9);
}

#[test]
fn contradicting_rows_are_named() {
    let mut p = Sample { n: 2, P: vec![1.0, 0.0, 0.0, 1.0], c: vec![0.0; 2], ..Sample::default() };
    p.row(vec![0.0, 1.0], 0.0, Side::AtLeast);
    p.row(vec![1.0, 0.0], 2.0, Side::AtLeast);
    p.row(vec![1.0, 0.0], 1.0, Side::AtMost);
    let out = solve(&p, &MiqpSettings::default());
    assert_eq!(out.status, MiqpStatus::Infeasible);
    assert!(out.root_infeasible);
    assert_eq!(out.conflict, [1, 2]);
    assert_eq!(out.bound, f64::INFINITY);
}

/// Levels that are 0 only up to the rounding of the numbers of which they are differences.
#[test]
fn rows_that_contradict_by_rounding_alone_have_a_point() {
    for (off, status) in [
        (0.0, MiqpStatus::Optimal),
        (1e-14, MiqpStatus::Optimal),
        (1e-11, MiqpStatus::Optimal),
        (-1e-11, MiqpStatus::Optimal),
        (1e-6, MiqpStatus::Infeasible),
    ] {
        let P = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let mut p = Sample { n: 3, P, c: vec![-1.0; 3], ..Sample::default() };
        p.row(vec![1.0, -1.0, 0.0], 0.0, Side::Equal);
        p.row(vec![0.0, 1.0, -1.0], 0.0, Side::Equal);
        let last = p.row(vec![1.0, 0.0, -1.0], off, Side::Free);
        p.choice(vec![vec![(last, Side::Equal)]], &[]);
        let out = solve(&p, &MiqpSettings::default());
        assert_eq!(out.status, status, "{off}");
        assert!(status == MiqpStatus::Infeasible || (out.cost + 1.5).abs() < 1e-12, "{}", out.cost);
    }
}

#[test]
fn bad_numbers_have_a_status() {
    let mut p = sample(&mut Samples::new(74));
    p.c[0] = f64::NAN;
    assert_eq!(solve(&p, &MiqpSettings::default()).status, MiqpStatus::Failed(Reason::NotFinite));
    p.c[0] = 0.0;
    p.P[0] = -1e3;
    assert_eq!(solve(&p, &MiqpSettings::default()).status, MiqpStatus::Failed(Reason::NotConvex));
    p.c.pop();
    assert_eq!(solve(&p, &MiqpSettings::default()).status, MiqpStatus::Failed(Reason::Dimensions));
    let empty = Sample::default();
    assert_eq!(solve(&empty, &MiqpSettings::default()).status, MiqpStatus::Optimal);
}

#[test]
fn the_same_problem_gives_the_same_bits() {
    let mut s = Samples::new(75);
    let mut used = MiqpSolver::new();
    for _ in 0..50 {
        let p = sample(&mut s);
        let mut again = MiqpSolution::default();
        used.solve(&p.miqp(), &MiqpSettings::default(), &mut Hooks::default(), &mut again);
        let once = solve(&p, &MiqpSettings::default());
        assert_eq!(
            (once.x, once.bound.to_bits(), once.nodes),
            (again.x, again.bound.to_bits(), again.nodes)
        );
    }
}
