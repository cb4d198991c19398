#![allow(non_snake_case)]
mod active;
mod norm;
mod rows;
use active::{ActiveSet, Outcome, dot};
pub use rows::Rows;

#[derive(Clone, Copy, Debug)]
pub struct Qp<'a> {
    pub n: usize,
    pub P: &'a [f64],
    pub c: &'a [f64],
    pub A: &'a Rows,
    pub b: &'a [f64],
    pub saturations: &'a [Saturation],
}
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    pub index: u32,
    pub stiffness: f64,
    pub target: f64,
    pub limit: f64,
}
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    Solved,
    Unbounded,
    Infeasible,
    #[default]
    GaveUp,
}
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residuals {
    pub stationarity: f64,
    pub primal: f64,
    pub dual: f64,
    pub complementarity: f64,
}
#[derive(Clone, Debug, Default)]
pub struct Solution {
    pub status: Status,
    pub x: Vec<f64>,
    pub z: Vec<f64>,
    pub ray: Vec<f64>,
    pub certificate: Vec<f64>,
    pub residuals: Residuals,
    pub iterations: u32,
    pub saturated: Vec<i8>,
    pub dual_is_smallest_norm: bool,
}

#[derive(Debug, Default)]
pub struct QpSolver {
    set: ActiveSet,
    P: Vec<f64>,
    H: Vec<f64>,
    c: Vec<f64>,
    A: Rows,
    b: Vec<f64>,
    scale: Vec<f64>,
    row_scale: Vec<f64>,
    flagged: Vec<i8>,
    norm: norm::SmallestNorm,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Settings;

impl QpSolver {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn solve(&mut self, qp: &Qp<'_>, warm: &[u32], _s: &Settings, out: &mut Solution) {
        let m = qp.b.len();
        out.x.clear();
        out.x.resize(qp.n, 0.0);
        out.z.clear();
        out.z.resize(m, 0.0);
        out.ray.clear();
        out.certificate.clear();
        out.saturated.clear();
        out.saturated.resize(qp.saturations.len(), 0);
        out.iterations = 0;
        out.dual_is_smallest_norm = false;
        self.flagged.clear();
        self.flagged.resize(qp.saturations.len(), 0);
        let finite = qp.P.iter().chain(qp.c).chain(qp.b).all(|v| v.is_finite())
            && (0..m).all(|i| qp.A.row(i).1.iter().all(|v| v.is_finite()));
        if !finite {
            out.status = Status::GaveUp;
            return;
        }
        loop {
            self.build(qp);
            out.status = self.solve_scaled(warm, qp, out);
            if out.status != Status::Solved {
                return;
            }
            let mut more = false;
            for (k, s) in qp.saturations.iter().enumerate() {
                let f = s.stiffness * (out.x[s.index as usize] - s.target);
                if self.flagged[k] == 0 && f.abs() > s.limit * (1.0 + 1e-12) {
                    self.flagged[k] = 1;
                    more = true;
                }
            }
            if !more {
                break;
            }
        }
        for (k, s) in qp.saturations.iter().enumerate() {
            let f = s.stiffness * (out.x[s.index as usize] - s.target);
            if f.abs() >= s.limit {
                out.saturated[k] = if f > 0.0 { 1 } else { -1 };
            }
        }
        self.finish(qp, out);
    }

    fn build(&mut self, qp: &Qp<'_>) {
        let extra = 2 * self.flagged.iter().filter(|f| **f != 0).count();
        let (n, N, m) = (qp.n, qp.n + extra, qp.b.len());
        self.P.clear();
        self.P.resize(N * N, 0.0);
        self.c.clear();
        self.c.resize(N, 0.0);
        for i in 0..n {
            for j in 0..n {
                self.P[i * N + j] = qp.P[i * n + j];
            }
            self.c[i] = qp.c[i];
        }
        let mut at = n;
        for (k, s) in qp.saturations.iter().enumerate() {
            let i = s.index as usize;
            if self.flagged[k] == 0 {
                self.P[i * N + i] += s.stiffness;
                self.c[i] -= s.stiffness * s.target;
            } else {
                let a = [(i, 1.0), (at, -1.0), (at + 1, 1.0)];
                for (r, l) in a {
                    for (cc, rr) in a {
                        self.P[r * N + cc] += s.stiffness * l * rr;
                    }
                    self.c[r] -= s.stiffness * s.target * l;
                }
                self.c[at] += s.limit;
                self.c[at + 1] += s.limit;
                at += 2;
            }
        }
        self.scale.clear();
        for i in 0..N {
            let p = self.P[i * N + i];
            let s = if p > 0.0 {
                1.0 / p.sqrt()
            } else {
                let mut worst = 0.0_f64;
                for r in 0..m {
                    let (cs, vs) = qp.A.row(r);
                    for (c, v) in cs.iter().zip(vs) {
                        if *c as usize == i {
                            worst = worst.max(v.abs());
                        }
                    }
                }
                if worst > 0.0 { 1.0 / worst } else { 1.0 }
            };
            self.scale.push(s);
        }
        for i in 0..N {
            self.c[i] *= self.scale[i];
            for j in 0..N {
                self.P[i * N + j] *= self.scale[i] * self.scale[j];
            }
        }
        self.A.clear();
        self.b.clear();
        self.row_scale.clear();
        let mut values = Vec::new();
        for r in 0..m {
            let (cs, vs) = qp.A.row(r);
            values.clear();
            values.extend(cs.iter().zip(vs).map(|(c, v)| v * self.scale[*c as usize]));
            let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
            let s = if norm > 0.0 { 1.0 / norm } else { 1.0 };
            values.iter_mut().for_each(|v| *v *= s);
            self.A.push(cs, &values);
            self.b.push(qp.b[r] * s);
            self.row_scale.push(s);
        }
        for k in 0..extra {
            self.A.push(&[(n + k) as u32], &[1.0]);
            self.b.push(0.0);
            self.row_scale.push(1.0);
        }
    }

    fn solve_scaled(&mut self, warm: &[u32], qp: &Qp<'_>, out: &mut Solution) -> Status {
        let N = self.c.len();
        let m = self.b.len();
        let mut rho = 0.0;
        self.H.clear();
        self.H.extend_from_slice(&self.P);
        if !self.set.factor(N, &mut self.H, m) {
            rho = 1e-6;
            self.H.clear();
            self.H.extend_from_slice(&self.P);
            for i in 0..N {
                self.H[i * N + i] += rho;
            }
            if !self.set.factor(N, &mut self.H, m) {
                return Status::GaveUp;
            }
        }
        self.set.warm(&self.A, warm);
        let tolerance = 1e-11;
        let mut g = self.c.clone();
        let mut previous = vec![0.0; N];
        let mut last_step = f64::INFINITY;
        for k in 0..100 {
            for i in 0..N {
                g[i] = self.c[i] - rho * previous[i];
            }
            let scale = 1.0 + self.set.x.iter().fold(0.0_f64, |m, x| m.max(x.abs())) * 0.0;
            match self.set.solve(&self.A, &g, &self.b, tolerance * scale) {
                Outcome::Solved => {}
                Outcome::Infeasible { row, r } => {
                    out.certificate.clear();
                    out.certificate.resize(qp.b.len(), 0.0);
                    let mut put = |i: u32, y: f64, rs: &[f64]| {
                        if (i as usize) < qp.b.len() {
                            out.certificate[i as usize] = (y * rs[i as usize]).max(0.0);
                        }
                    };
                    put(row, 1.0, &self.row_scale);
                    for (w, r) in self.set.working.iter().zip(&r) {
                        put(*w, -r, &self.row_scale);
                    }
                    out.iterations = self.set.pivots;
                    return Status::Infeasible;
                }
                Outcome::GaveUp => {
                    out.iterations = self.set.pivots;
                    return Status::GaveUp;
                }
            }
            if rho == 0.0 {
                break;
            }
            let mut step = 0.0_f64;
            let mut size = 0.0_f64;
            for i in 0..N {
                step = step.max((self.set.x[i] - previous[i]).abs());
                size = size.max(self.set.x[i].abs());
            }
            if step <= 1e-13 * (1.0 + size) {
                break;
            }
            if k >= 2 && step >= 0.5 * last_step && step > 1.0 {
                let d: Vec<f64> = (0..N).map(|i| (self.set.x[i] - previous[i]) / step).collect();
                let pd =
                    (0..N).map(|i| dot(&self.P[i * N..(i + 1) * N], &d).abs()).fold(0.0, f64::max);
                let ad = (0..m).map(|i| self.A.dot(i, &d)).fold(f64::INFINITY, f64::min);
                let cd = dot(&self.c, &d);
                if pd < 1e-7 && (m == 0 || ad > -1e-7) && cd < 0.0 {
                    out.ray.clear();
                    out.ray.extend((0..qp.n).map(|i| d[i] * self.scale[i]));
                    out.iterations = self.set.pivots;
                    return Status::Unbounded;
                }
            }
            last_step = step;
            previous.copy_from_slice(&self.set.x);
        }
        // refinement on the final working set
        for _ in 0..3 {
            let mut r_d = vec![0.0; N];
            for i in 0..N {
                r_d[i] = -self.c[i] - dot(&self.P[i * N..(i + 1) * N], &self.set.x);
            }
            for (k, &w) in self.set.working.iter().enumerate() {
                self.A.add_to(w as usize, self.set.u[k], &mut r_d);
            }
            let r_p: Vec<f64> = self
                .set
                .working
                .iter()
                .map(|&w| self.b[w as usize] - self.A.dot(w as usize, &self.set.x))
                .collect();
            self.set.correct(&r_d, &r_p);
        }
        for i in 0..qp.n {
            out.x[i] = self.set.x[i] * self.scale[i];
        }
        out.z.iter_mut().for_each(|z| *z = 0.0);
        for (k, &w) in self.set.working.iter().enumerate() {
            if (w as usize) < qp.b.len() {
                out.z[w as usize] = (self.set.u[k] * self.row_scale[w as usize]).max(0.0);
            }
        }
        out.iterations = self.set.pivots;
        Status::Solved
    }

    fn finish(&mut self, qp: &Qp<'_>, out: &mut Solution) {
        let n = qp.n;
        let mut g = gradient(qp, &out.x);
        self.norm.smallest(qp, &out.x, &g, out.z.as_mut_slice(), &mut out.dual_is_smallest_norm);
        let mut res = Residuals::default();
        for i in 0..qp.b.len() {
            let s = qp.A.dot(i, &out.x) - qp.b[i];
            res.primal = res.primal.max(-s);
            res.dual = res.dual.max(-out.z[i]);
            res.complementarity = res.complementarity.max((s * out.z[i]).abs());
            qp.A.add_to(i, -out.z[i], &mut g);
        }
        res.stationarity = g[..n].iter().fold(0.0, |m, x| m.max(x.abs()));
        out.residuals = res;
    }
}

fn gradient(qp: &Qp<'_>, x: &[f64]) -> Vec<f64> {
    let n = qp.n;
    let mut g: Vec<f64> = (0..n).map(|i| qp.c[i] + dot(&qp.P[i * n..(i + 1) * n], x)).collect();
    for s in qp.saturations {
        let i = s.index as usize;
        g[i] += (s.stiffness * (x[i] - s.target)).clamp(-s.limit, s.limit);
    }
    g
}
