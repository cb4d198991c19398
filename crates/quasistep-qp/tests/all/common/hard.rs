//! Seeded hard problems, and checks of their solutions.

use super::{Problem, Samples};
use quasistep_qp::{Saturation, Solution, Status};

/// Distribution of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Largest number of variables.
    pub n: usize,
    /// Variables and rows are scaled by powers of ten up to this exponent, up or down.
    pub decades: f64,
    /// Fraction of the variables without curvature.
    pub flat: f64,
    /// Whether rows and cost are constructed around a known optimum `x0` with many active rows.
    pub planted: bool,
    /// Probability of a Huber term on a variable.
    pub springs: f64,
}

/// A problem with known properties.
pub struct Sample {
    pub problem: Problem,
    /// Known optimum, if constructed around one.
    pub planted: Option<Vec<f64>>,
    /// Natural size of each variable.
    pub unit: Vec<f64>,
}

/// Draws a sample.
pub fn hard_problem(s: &mut Samples, r: &Recipe) -> Sample {
    let n = 1 + s.below(r.n);
    let m = s.below(4 * n + 2);
    let unit: Vec<f64> = (0..n).map(|_| 10f64.powf(r.decades * s.signed())).collect();
    let P = draw_curvature(s, r, &unit);
    let mut p = Problem { n, P, c: vec![0.0; n], ..Problem::default() };
    let x0: Vec<f64> =
        unit.iter().map(|v| if s.uniform() < 0.3 { 0.0 } else { v * s.signed() }).collect();
    let rows = draw_rows(s, m, &unit);
    let force = bound_rows(s, r, &rows, &x0, &mut p);
    draw_springs(s, r, &unit, &mut p);
    for i in 0..n {
        let Px: f64 = (0..n).map(|j| p.P[i * n + j] * x0[j]).sum();
        p.c[i] = if r.planted { force[i] - Px } else { s.signed() / unit[i] };
    }
    if r.planted {
        for k in 0..p.saturations.len() {
            let spring = p.saturations[k];
            p.c[spring.index as usize] -= spring.gradient(x0[spring.index as usize]);
        }
    }
    let planted = r.planted.then_some(x0);
    Sample { problem: p, planted, unit }
}

/// Draws a matrix of random rank on the curved variables.
fn draw_curvature(s: &mut Samples, r: &Recipe, unit: &[f64]) -> Vec<f64> {
    let n = unit.len();
    let mut P = vec![0.0; n * n];
    let curved: Vec<bool> = (0..n).map(|_| s.uniform() >= r.flat).collect();
    for _ in 0..=s.below(2 * n) {
        let g: Vec<f64> = (0..n)
            .map(|i| if curved[i] && s.uniform() < 0.4 { s.signed() / unit[i] } else { 0.0 })
            .collect();
        for i in 0..n {
            for j in 0..n {
                P[i * n + j] += g[i] * g[j];
            }
        }
    }
    P
}

/// Draws `m` rows, many of which depend on one another.
fn draw_rows(s: &mut Samples, m: usize, unit: &[f64]) -> Vec<Vec<f64>> {
    let n = unit.len();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for _ in 0..m {
        let kind = s.uniform();
        let mut row = vec![0.0; n];
        if kind < 0.55 || rows.len() < 2 {
            for (v, size) in row.iter_mut().zip(unit) {
                if s.uniform() < 0.5 {
                    // few distinct values, so that rows are exactly dependent
                    *v = if s.uniform() < 0.5 { s.signed().signum() } else { s.signed() } / size;
                }
            }
        } else if kind < 0.75 {
            // a positive combination of two rows: redundant
            let (a, b) = (s.below(rows.len()), s.below(rows.len()));
            for k in 0..n {
                row[k] = rows[a][k] + 0.5 * rows[b][k];
            }
        } else if kind < 0.85 {
            row.clone_from(&rows[s.below(rows.len())]);
        } else {
            // the opposite wall of a slot or of a wedge
            let a = s.below(rows.len());
            let lean = if s.uniform() < 0.5 { 0.0 } else { 0.1 };
            for k in 0..n {
                row[k] = -rows[a][k] + lean * s.signed() / unit[k];
            }
        }
        rows.push(row);
    }
    rows
}

/// Draws bounds of the rows and adds these to the problem, each row in its own unit. Returns the
/// force of the rows that push at `x0`.
fn bound_rows(
    s: &mut Samples,
    r: &Recipe,
    rows: &[Vec<f64>],
    x0: &[f64],
    p: &mut Problem,
) -> Vec<f64> {
    let mut force = vec![0.0; x0.len()];
    for row in rows {
        let at: f64 = row.iter().zip(x0).map(|(a, x)| a * x).sum();
        // a bound that is rounding would make the rows truly inconsistent, by a tiny amount
        let size: f64 = row.iter().zip(x0).map(|(a, x)| (a * x).abs()).sum();
        let at = if at.abs() < 1e-14 * size { 0.0 } else { at };
        let touches = s.uniform() < 0.6;
        let b = if !r.planted {
            s.signed()
        } else if touches {
            if s.uniform() < 0.5 {
                let z = s.uniform();
                for (f, a) in force.iter_mut().zip(row) {
                    *f += a * z;
                }
            }
            at
        } else {
            at - s.uniform()
        };
        let weight = 10f64.powf(r.decades * s.signed());
        let scaled: Vec<f64> = row.iter().map(|v| v * weight).collect();
        p.push(&scaled, b * weight);
    }
    force
}

fn draw_springs(s: &mut Samples, r: &Recipe, unit: &[f64], p: &mut Problem) {
    for (i, unit) in unit.iter().enumerate() {
        if s.uniform() < r.springs {
            let spring = Saturation {
                index: i as u32,
                stiffness: s.uniform() / (unit * unit),
                target: unit * 3.0 * s.signed(),
                limit: 0.5 * s.uniform() / unit,
            };
            p.saturations.push(spring);
        }
    }
}

/// Verifies a solution or certificate from the problem's own data. `unit` holds the natural sizes
/// of the variables, which make residuals in different units comparable.
pub fn prove(p: &Problem, unit: &[f64], s: &Solution) -> Result<(), String> {
    let measured = Measured { p, unit };
    match s.status {
        Status::Solved => measured.prove_optimum(s),
        Status::Unbounded => measured.prove_ray(&s.ray),
        Status::Infeasible => measured.prove_empty(&s.certificate),
        Status::GaveUp => Err(format!("gave up: {:?}", s.reason)),
    }
}

/// A problem with the natural sizes of its variables.
struct Measured<'a> {
    p: &'a Problem,
    unit: &'a [f64],
}

impl Measured<'_> {
    /// Largest variable in natural units.
    fn largest(&self, x: &[f64]) -> f64 {
        x.iter().zip(self.unit).fold(1e-6_f64, |m, (x, u)| m.max((x / u).abs()))
    }

    /// Largest force in natural units.
    fn strongest(&self, g: &[f64]) -> f64 {
        g.iter().zip(self.unit).fold(0.0_f64, |m, (g, u)| m.max((g * u).abs()))
    }

    /// Sum of the terms of row `i`, where every variable has this size in natural units.
    fn terms(&self, i: usize, size: f64) -> f64 {
        let (columns, values) = self.p.A.row(i);
        columns.iter().zip(values).map(|(&c, v)| (v * self.unit[c as usize]).abs() * size).sum()
    }

    fn prove_optimum(&self, s: &Solution) -> Result<(), String> {
        let Self { p, unit } = *self;
        let (n, m) = (p.n, p.b.len());
        let mut g = Vec::new();
        p.qp().gradient(&s.x, &mut g);
        let size = self.largest(&s.x);
        // costs and variables have size 1 in natural units: smaller residuals are rounding of the
        // sample
        let mut force = 1e-9_f64;
        for i in 0..n {
            let sum: f64 = (0..n).map(|j| (p.P[i * n + j] * s.x[j]).abs()).sum();
            force = force.max((sum + p.c[i].abs()) * unit[i]);
        }
        for i in 0..m {
            let slack = p.A.dot(i, &s.x) - p.b[i];
            let terms = self.terms(i, size) + p.b[i].abs();
            if !(slack >= -1e-10 * terms) {
                return Err(format!("row {i} violated by {slack:e} of {terms:e}"));
            }
            if !(s.z[i] >= 0.0) {
                return Err(format!("multiplier {i} is {:e}", s.z[i]));
            }
            if s.z[i] > 0.0 && slack > 1e-9 * terms {
                return Err(format!("row {i} pushes {:e} at {slack:e} of {terms:e}", s.z[i]));
            }
            p.A.add_to(i, -s.z[i], &mut g);
        }
        let off = self.strongest(&g);
        if !(off <= 1e-10 * force) {
            return Err(format!("off balance by {off:e} of {force:e}"));
        }
        Ok(())
    }

    /// Checks that the cost falls forever along `d`.
    fn prove_ray(&self, d: &[f64]) -> Result<(), String> {
        let Self { p, unit } = *self;
        let (n, m) = (p.n, p.b.len());
        let size = self.largest(d);
        let mut fall = dot(&p.c, d);
        for spring in &p.saturations {
            if spring.stiffness > 0.0 {
                fall += spring.limit * d[spring.index as usize].abs();
            }
        }
        let sum: f64 = p.c.iter().zip(d).map(|(c, d)| (c * d).abs()).sum();
        if !(fall < -1e-10 * sum) {
            return Err(format!("the cost does not fall: {fall:e} of {sum:e}"));
        }
        for i in 0..m {
            let along = p.A.dot(i, d);
            if !(along >= -1e-8 * self.terms(i, size)) {
                return Err(format!("row {i} stops the ray: {along:e}"));
            }
        }
        for i in 0..n {
            let bend = dot(&p.P[i * n..(i + 1) * n], d).abs() * unit[i];
            let stiff = p.P[i * n + i] * unit[i] * unit[i] * size;
            if !(bend <= 1e-8 * stiff) {
                return Err(format!("the ray bends by {bend:e} of {stiff:e}"));
            }
        }
        Ok(())
    }

    /// Checks that the rows with weights `y` contradict one another.
    fn prove_empty(&self, y: &[f64]) -> Result<(), String> {
        let p = self.p;
        let (mut sum, mut force) = (vec![0.0; p.n], 0.0_f64);
        for i in 0..p.b.len() {
            p.A.add_to(i, y[i], &mut sum);
            force = force.max(self.terms(i, y[i]));
        }
        let gap = dot(y, &p.b);
        let terms: f64 = y.iter().zip(&p.b).map(|(y, b)| (y * b).abs()).sum();
        if !(gap > 1e-9 * terms) || !y.iter().all(|y| *y >= 0.0) {
            return Err(format!("no gap: {gap:e} of {terms:e}"));
        }
        let off = self.strongest(&sum);
        if !(off <= 1e-8 * force) {
            return Err(format!("rows do not cancel: {off:e} of {force:e}"));
        }
        Ok(())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
