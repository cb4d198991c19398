//! The linear program of one case of contacts with round friction: polyhedra around what each may do.
//!
//! A case is a choice of [`Part`]s (`jam.rs`): cones of rates and forces. Those that are no polyhedra get one around
//! them: friction cones the planes of a polygon and of forces that stuck out of it, sectors of slip their chord and
//! the tangents at their ends. The program asks for the point nearest to the origin; where there is none its
//! multipliers are a direction and weights that contradict.

use crate::coulomb::jam::{Contradiction, Part, Pull, contradicts, is_limited, rubs};
use crate::coulomb::program::FrictionProgram;
use crate::{Qp, QpSolver, Rows, Settings, Solution, Status};

/// Sides of the polygon around a disc to begin with.
const SIDES: u32 = 16;
/// Share of a friction cone, and force in units of the program, by which a force may stick out before it is cut off.
const OUTSIDE: f64 = 1e-7;
const ROUNDING: f64 = 1e-12;
/// Cuts of one program in a row.
const CUTS: u32 = 8;
/// Multipliers that are rounding, as shares of the largest, tried in this order.
const CLEANED: [f64; 4] = [0.0, 1e-13, 1e-11, 1e-9];

/// What a row of the linear program speaks of, for the multipliers.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// Balance of a variable, and the sign with which it was written.
    Balance(usize, f64),
    /// Rates of a contact: a sum with these shares.
    Rates(usize, [f64; 8]),
    /// The stretch of a spring, with this share.
    Spring(usize, f64),
    /// Forces alone.
    Forces,
}

/// Writes a row: its entries, its least value, and what it speaks of.
type Push<'a> = dyn FnMut(&mut dyn Iterator<Item = (usize, f64)>, f64, Of) + 'a;

/// A program, one of its cases, and the point nearest to the origin in it.
pub(crate) struct CaseProgram<'a> {
    pub p: &'a FrictionProgram,
    /// Rows that rub, and their units, of every contact.
    pub rubbing: Vec<Vec<(usize, f64)>>,
    pub contacts: Vec<Part>,
    pub springs: Vec<Pull>,
    /// Directions along which friction is bounded, per contact.
    cuts: Vec<Vec<f64>>,
    /// The program in units of its own: `x = L a x'`, `lambda_i = F e_i lambda_i'`, rates and forces of rubbing rows
    /// in those of the friction cone.
    P: Vec<f64>,
    c: Vec<f64>,
    J: Vec<Vec<f64>>,
    b: Vec<f64>,
    a: Vec<f64>,
    e: Vec<f64>,
    force: f64,
    length: f64,
    /// First column of every contact's force, and of the springs'.
    columns: Vec<usize>,
    n_columns: usize,
    solver: QpSolver,
    pub answer: Solution,
    rows: Rows,
    least: Vec<f64>,
    of: Vec<Of>,
    /// Linear programs solved, and how many may be.
    pub solved: u32,
    pub budget: u32,
}

impl<'a> CaseProgram<'a> {
    /// The case in which anything may be; `None` for a program with a friction set that is no ball.
    pub fn new(p: &'a FrictionProgram, budget: u32) -> Option<Self> {
        let rubbing: Vec<_> = p.contacts.iter().map(|c| rubs(p, c)).collect::<Option<_>>()?;
        let mut columns = Vec::new();
        let mut at = p.n();
        for rub in &rubbing {
            columns.push(at);
            at += 1 + rub.len();
        }
        let springs = p.cones.saturations.len();
        columns.push(at);
        let mut cuts: Vec<Vec<f64>> = Vec::new();
        for rub in &rubbing {
            let mut of = Vec::new();
            if rub.len() == 2 {
                for j in 0..SIDES {
                    let angle = std::f64::consts::TAU * f64::from(j) / f64::from(SIDES);
                    of.extend([angle.cos(), angle.sin()]);
                }
            } else {
                for r in 0..rub.len() {
                    for sign in [1.0, -1.0] {
                        of.extend((0..rub.len()).map(|t| if t == r { sign } else { 0.0 }));
                    }
                }
            }
            cuts.push(of);
        }
        let mut program = Self {
            p,
            contacts: vec![Part::Any; p.contacts.len()],
            springs: vec![Pull::Any; springs],
            rubbing,
            cuts,
            P: Vec::new(),
            c: Vec::new(),
            J: Vec::new(),
            b: Vec::new(),
            a: Vec::new(),
            e: Vec::new(),
            force: 1.0,
            length: 1.0,
            columns,
            n_columns: at + springs,
            solver: QpSolver::new(),
            answer: Solution::default(),
            rows: Rows::new(),
            least: Vec::new(),
            of: Vec::new(),
            solved: 0,
            budget,
        };
        program.scale();
        Some(program)
    }

    /// Copies the program into units in which Jacobians, stiffness and loads are of size one.
    fn scale(&mut self) {
        let (p, n) = (self.p, self.p.n());
        self.P = vec![0.0; n * n];
        self.c = vec![0.0; n];
        for (k, block) in p.cones.blocks.iter().enumerate() {
            let (first, at) = (block.first as usize, block.at as usize);
            for i in 0..block.dim as usize {
                self.P[(first + i) * n + first..][..block.dim as usize]
                    .copy_from_slice(p.cones.P_row(k, i));
                self.c[first + i] = p.cones.c[at + i];
            }
        }
        for spring in p.cones.saturations.iter().filter(|s| s.stiffness > 0.0 && !is_limited(s)) {
            let j = spring.index as usize;
            self.P[j * n + j] += spring.stiffness;
            self.c[j] -= spring.stiffness * spring.target;
        }
        for (i, rub) in self.rubbing.iter().enumerate() {
            for (r, unit) in std::iter::once(&(0, 1.0)).chain(rub) {
                let mut row = vec![0.0; n];
                for (first, J) in p.row(i, *r) {
                    row[first..first + J.len()]
                        .iter_mut()
                        .zip(J)
                        .for_each(|(to, J)| *to = unit * J);
                }
                self.J.push(row);
                self.b.push(unit * p.b(i, *r));
            }
        }
        self.a = vec![1.0; n];
        self.e = vec![1.0; self.rubbing.len()];
        let two = |v: f64| if v > 0.0 { v.log2().round().clamp(-500.0, 500.0).exp2() } else { 1.0 };
        for _ in 0..4 {
            for i in 0..self.e.len() {
                let largest = self.rows_of(i).flat_map(|r| self.J[r].iter().zip(&self.a));
                let largest = largest.fold(0.0_f64, |m, (J, a)| m.max((J * a).abs()));
                self.e[i] = two(largest).recip();
            }
            for j in 0..n {
                let mut largest = 0.0_f64;
                for i in 0..self.e.len() {
                    largest = self
                        .rows_of(i)
                        .fold(largest, |m, r| m.max((self.J[r][j] * self.e[i]).abs()));
                }
                if largest == 0.0 {
                    largest = self.P[j * n + j].abs().sqrt();
                }
                self.a[j] = two(largest).recip();
            }
        }
        let mut stiff = 0.0_f64;
        for i in 0..n {
            for j in 0..n {
                self.P[i * n + j] *= self.a[i] * self.a[j];
                stiff = stiff.max(self.P[i * n + j].abs());
            }
            self.c[i] *= self.a[i];
        }
        let mut load = self.c.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        for i in 0..self.e.len() {
            for r in self.rows_of(i) {
                self.b[r] *= self.e[i];
                self.J[r].iter_mut().zip(&self.a).for_each(|(J, a)| *J *= self.e[i] * a);
            }
        }
        let mut gap = self.b.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
        for spring in p.cones.saturations.iter().filter(|s| is_limited(s)) {
            let a = self.a[spring.index as usize];
            stiff = stiff.max(spring.stiffness * a * a);
            gap = gap.max(spring.target.abs() / a);
            load = load.max(spring.limit * a);
        }
        if stiff > 0.0 {
            self.length = two(gap.max(load / stiff));
            self.force = two(self.length * stiff);
        } else {
            (self.length, self.force) = (two(gap), two(load));
        }
        self.P.iter_mut().for_each(|P| *P *= self.length / self.force);
        self.c.iter_mut().for_each(|c| *c /= self.force);
        self.b.iter_mut().for_each(|b| *b /= self.length);
    }

    /// Rows of a contact in `J` and `b`.
    fn rows_of(&self, i: usize) -> std::ops::Range<usize> {
        let n = self.p.n();
        self.columns[i] - n..self.columns[i + 1] - n
    }

    /// The linear program of the case at hand, with friction that sticks out of its cone cut off; false if the budget
    /// or the solver ends.
    pub fn solve(&mut self) -> bool {
        let n = self.n_columns;
        let identity: Vec<f64> =
            (0..n * n).map(|k| f64::from(u8::from(k % (n + 1) == 0))).collect();
        let zero = vec![0.0; n];
        for round in 0..=CUTS {
            if self.solved >= self.budget {
                return false;
            }
            self.solved += 1;
            self.build();
            let qp =
                Qp { n, P: &identity, c: &zero, A: &self.rows, b: &self.least, saturations: &[] };
            self.solver.solve(&qp, &[], &Settings::default(), &mut self.answer);
            match self.answer.status {
                Status::Infeasible => return true,
                Status::Solved => {}
                Status::Unbounded | Status::GaveUp => return false,
            }
            let mut cut = false;
            for (i, rub) in self.rubbing.iter().enumerate() {
                let force = &self.answer.x[self.columns[i]..][..=rub.len()];
                let length = force[1..].iter().map(|f| f * f).sum::<f64>().sqrt();
                let whole = matches!(self.contacts[i], Part::Any | Part::Stick);
                if whole && rub.len() > 1 && length > force[0].abs() * (1.0 + OUTSIDE) + ROUNDING {
                    self.cuts[i].extend(force[1..].iter().map(|f| f / length));
                    cut = true;
                }
            }
            if !cut || round == CUTS {
                return true;
            }
        }
        true
    }

    /// Rows `A v ≥ least` of the case at hand, in columns `x`, forces of contacts, forces of springs.
    fn build(&mut self) {
        let n = self.p.n();
        self.rows.clear();
        self.least.clear();
        self.of.clear();
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let Self { rows, least, of, .. } = self;
        let mut push = |entries: &mut dyn Iterator<Item = (usize, f64)>, value: f64, what: Of| {
            columns.clear();
            values.clear();
            for (j, v) in entries.filter(|(_, v)| *v != 0.0) {
                columns.push(j as u32);
                values.push(v);
            }
            rows.push(&columns, &values);
            least.push(value);
            of.push(what);
        };
        let at_springs = self.columns[self.rubbing.len()];
        for j in 0..n {
            for sign in [1.0, -1.0] {
                let cost = (0..n).map(|k| (k, sign * self.P[j * n + k]));
                let forces = (0..self.J.len()).map(|r| (n + r, -sign * self.J[r][j]));
                let springs = self.p.cones.saturations.iter().enumerate();
                let springs = springs
                    .filter(|(_, s)| is_limited(s) && s.index as usize == j)
                    .map(|(l, _)| (at_springs + l, sign));
                push(
                    &mut cost.chain(forces).chain(springs),
                    -sign * self.c[j],
                    Of::Balance(j, sign),
                );
            }
        }
        for (i, rub) in self.rubbing.iter().enumerate() {
            let (t, first) = (rub.len(), self.columns[i]);
            let own = first - n;
            // a row on a sum of rates
            let rates = |shares: [f64; 8], push: &mut Push<'_>| {
                let sum = |of: &dyn Fn(usize) -> f64| {
                    (0..=t).map(|r| shares[r] * of(own + r)).sum::<f64>()
                };
                let value = sum(&|r| self.b[r]);
                let mut entries = (0..n).map(|j| (j, sum(&|r| self.J[r][j])));
                push(&mut entries, value, Of::Rates(i, shares));
            };
            let one = |r: usize, sign: f64| {
                let mut shares = [0.0; 8];
                shares[r] = sign;
                shares
            };
            let part = &self.contacts[i];
            rates(one(0, 1.0), &mut push);
            if *part == Part::Open {
                for r in 0..=t {
                    for sign in [1.0, -1.0] {
                        push(&mut std::iter::once((first + r, sign)), 0.0, Of::Forces);
                    }
                }
                continue;
            }
            push(&mut std::iter::once((first, 1.0)), 0.0, Of::Forces);
            if *part != Part::Any {
                rates(one(0, -1.0), &mut push);
            }
            let Part::Slip(sector) = part else {
                if *part == Part::Stick {
                    for r in 1..=t {
                        rates(one(r, 1.0), &mut push);
                        rates(one(r, -1.0), &mut push);
                    }
                }
                for e in self.cuts[i].chunks_exact(t.max(1)) {
                    let friction = e.iter().enumerate().map(|(r, e)| (first + 1 + r, -e));
                    push(&mut std::iter::once((first, 1.0)).chain(friction), 0.0, Of::Forces);
                }
                continue;
            };
            // rates are sums of the sector's directions; friction is minus such a sum, outside of the chord and
            // within the tangents
            let inverse = inverse(sector, t);
            for row in inverse.chunks_exact(t) {
                let mut shares = [0.0; 8];
                shares[1..=t].copy_from_slice(row);
                rates(shares, &mut push);
                let friction = row.iter().enumerate().map(|(r, v)| (first + 1 + r, -v));
                push(&mut friction.into_iter(), 0.0, Of::Forces);
            }
            let chord = (0..t).map(|r| {
                let sum: f64 = (0..t).map(|k| inverse[k * t + r]).sum();
                (first + 1 + r, -sum)
            });
            push(&mut std::iter::once((first, -1.0)).chain(chord), 0.0, Of::Forces);
            for e in sector.chunks_exact(t) {
                let friction = e.iter().enumerate().map(|(r, e)| (first + 1 + r, *e));
                push(&mut std::iter::once((first, 1.0)).chain(friction), 0.0, Of::Forces);
            }
        }
        for (l, spring) in self.p.cones.saturations.iter().enumerate() {
            let column = at_springs + l;
            if !is_limited(spring) {
                push(&mut std::iter::once((column, 1.0)), 0.0, Of::Forces);
                push(&mut std::iter::once((column, -1.0)), 0.0, Of::Forces);
                continue;
            }
            let j = spring.index as usize;
            let k = spring.stiffness * self.a[j] * self.a[j] * self.length / self.force;
            let limit = spring.limit * self.a[j] / self.force;
            let target = spring.target / self.a[j] / self.length;
            for sign in [1.0, -1.0] {
                push(&mut std::iter::once((column, sign)), -limit, Of::Forces);
            }
            let pull = self.springs[l];
            match pull {
                Pull::Any => {}
                Pull::Within => {
                    for sign in [1.0, -1.0] {
                        let mut entries = [(column, sign), (j, -sign * k)].into_iter();
                        push(&mut entries, -sign * k * target, Of::Spring(l, -sign));
                    }
                }
                Pull::Beyond | Pull::Below => {
                    let sign = if pull == Pull::Beyond { 1.0 } else { -1.0 };
                    push(&mut std::iter::once((column, sign)), limit, Of::Forces);
                    let entries = (j, sign * k);
                    push(
                        &mut std::iter::once(entries),
                        limit + sign * k * target,
                        Of::Spring(l, sign),
                    );
                }
            }
        }
    }

    /// The multipliers of a program without points as a contradiction, if they are one by the caller's own numbers.
    pub fn contradiction(&self) -> Option<Contradiction> {
        let (p, n) = (self.p, self.p.n());
        // in scaled units: where all is of size one, what is small is rounding
        let mut direction = vec![0.0; n];
        let mut weights = vec![0.0; self.J.len()];
        let mut springs = vec![0.0; self.springs.len()];
        for (of, m) in self.of.iter().zip(&self.answer.certificate).filter(|(_, m)| **m != 0.0) {
            match of {
                Of::Balance(j, sign) => direction[*j] += sign * m,
                Of::Rates(i, shares) => {
                    for (r, share) in self.rows_of(*i).zip(shares) {
                        weights[r] += m * share;
                    }
                }
                Of::Spring(l, sign) => springs[*l] += sign * m,
                Of::Forces => {}
            }
        }
        let all = direction.iter().chain(&weights).chain(&springs);
        let largest = all.fold(0.0_f64, |m, v| m.max(v.abs()));
        CLEANED.iter().find_map(|share| {
            let clean = |v: f64| if v.abs() <= share * largest { 0.0 } else { v / largest };
            let mut leaf = Contradiction {
                direction: (0..n).map(|j| clean(direction[j]) * self.a[j] / self.force).collect(),
                weights: vec![0.0; p.rows],
                springs: vec![0.0; springs.len()],
            };
            for (i, rub) in self.rubbing.iter().enumerate() {
                let (first, unit) = (p.contacts[i].rows().start, self.e[i] / self.length);
                let rows = std::iter::once(&(0, 1.0)).chain(rub);
                for (at, (r, mu)) in self.rows_of(i).zip(rows) {
                    leaf.weights[first + r] = clean(weights[at]) * unit * mu;
                }
            }
            for (l, spring) in p.cones.saturations.iter().enumerate() {
                let unit = self.a[spring.index as usize] / self.force;
                leaf.springs[l] = clean(springs[l]) * spring.stiffness * unit;
            }
            contradicts(p, &self.rubbing, &self.contacts, &self.springs, &leaf).then_some(leaf)
        })
    }

    /// Rates of a contact at the last point, normal one first, in scaled units.
    pub fn rates(&self, i: usize) -> Vec<f64> {
        let x = &self.answer.x;
        let rate = |r: usize| self.J[r].iter().zip(x).map(|(J, x)| J * x).sum::<f64>() - self.b[r];
        self.rows_of(i).map(rate).collect()
    }

    /// Force of a contact at the last point, likewise.
    pub fn force_of(&self, i: usize) -> &[f64] {
        &self.answer.x[self.columns[i]..][..=self.rubbing[i].len()]
    }

    /// By how much a spring's force at the last point is not what its stretch asks for, in scaled units.
    pub fn strain(&self, l: usize) -> f64 {
        let spring = &self.p.cones.saturations[l];
        let j = spring.index as usize;
        let x = self.answer.x[j] * self.a[j] * self.length;
        let force = self.answer.x[self.columns[self.rubbing.len()] + l];
        (force - spring.gradient(x) * self.a[j] / self.force).abs()
    }

    /// Nothing is known of the point: the origin.
    pub fn forget(&mut self) {
        self.answer.x.clear();
        self.answer.x.resize(self.n_columns, 0.0);
    }

    /// Forces and rates of the last point in the rows of the program.
    pub fn publish(&self) -> (Vec<f64>, Vec<f64>) {
        let p = self.p;
        let (mut lambda, mut u) = (vec![0.0; p.rows], vec![0.0; p.rows]);
        for (i, rub) in self.rubbing.iter().enumerate() {
            let first = p.contacts[i].rows().start;
            let force = self.force_of(i);
            let rates = self.rates(i);
            let rows = std::iter::once(&(0, 1.0)).chain(rub);
            for (k, (r, unit)) in rows.enumerate() {
                lambda[first + r] = force[k] * self.force * self.e[i] * unit;
                u[first + r] = rates[k] * self.length / self.e[i] / unit;
            }
        }
        (lambda, u)
    }
}

/// Coefficients of a sector's directions in a vector: the inverse of the matrix with these as columns.
fn inverse(sector: &[f64], t: usize) -> Vec<f64> {
    // [D | 1] by elimination with row exchanges; D has the directions as columns
    let w = 2 * t;
    let mut A = vec![0.0; t * w];
    for r in 0..t {
        for k in 0..t {
            A[r * w + k] = sector[k * t + r];
        }
        A[r * w + t + r] = 1.0;
    }
    for k in 0..t {
        let best =
            (k..t).max_by(|a, b| A[a * w + k].abs().total_cmp(&A[b * w + k].abs())).unwrap_or(k);
        for j in 0..w {
            A.swap(k * w + j, best * w + j);
        }
        let f = A[k * w + k].recip();
        A[k * w..(k + 1) * w].iter_mut().for_each(|v| *v *= f);
        for i in (0..t).filter(|i| *i != k) {
            let f = A[i * w + k];
            for j in 0..w {
                A[i * w + j] -= f * A[k * w + j];
            }
        }
    }
    (0..t).flat_map(|r| A[r * w + t..(r + 1) * w].to_vec()).collect()
}
