//! Seeded friction programs, and checks of their solutions that share no code with the solvers.

use super::Samples;
use quasistep_friction::{
    CoulombSolution, Friction, FrictionProgram, Lcp, LcpSolution, PairSide, Proof, Refutation,
};

/// Distribution of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Largest number of blocks; the next field is the largest number of variables of one.
    pub bodies: usize,
    pub dim: usize,
    pub contacts: usize,
    /// Number of tangential rows, 1 or 2; the next field is the number of directions.
    pub tangents: usize,
    pub directions: usize,
    /// Probability of a block without curvature.
    pub massless: f64,
    /// Forces and lengths are scaled by powers of ten up to this exponent, up or down.
    pub decades: f64,
    pub round: bool,
}

impl Recipe {
    pub const PLANAR: Self = Self {
        bodies: 2,
        dim: 3,
        contacts: 4,
        tangents: 1,
        directions: 2,
        massless: 0.5,
        decades: 0.0,
        round: false,
    };
    pub const SPATIAL: Self =
        Self { bodies: 3, dim: 6, contacts: 6, tangents: 2, directions: 4, ..Self::PLANAR };
}

/// Data of one contact.
#[derive(Clone, Debug)]
pub struct Written {
    pub blocks: Vec<usize>,
    /// Jacobian: rows over the columns of the contact's blocks.
    pub J: Vec<Vec<f64>>,
    pub b: Vec<f64>,
    /// Edges of the pyramid; empty if round.
    pub edges: Vec<Vec<f64>>,
    pub mu: f64,
}

/// A program together with its data.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub program: FrictionProgram,
    pub n: usize,
    pub P: Vec<f64>,
    pub c: Vec<f64>,
    pub contacts: Vec<Written>,
    /// Units of force and of rates.
    pub force: f64,
    pub length: f64,
}

/// Draws a sample. Contacts are of few kinds; many are active, duplicated, or opposite walls of a
/// slot.
pub fn friction_problem(s: &mut Samples, r: &Recipe) -> Sample {
    let force = 10f64.powf(r.decades * s.signed());
    let length = 10f64.powf(r.decades * s.signed());
    let bodies = 1 + s.below(r.bodies);
    let dims: Vec<usize> = (0..bodies).map(|_| 1 + s.below(r.dim)).collect();
    let n = dims.iter().sum();
    let firsts: Vec<usize> =
        dims.iter().scan(0, |at, d| Some(std::mem::replace(at, *at + d))).collect();
    let mut sample =
        Sample { n, P: vec![0.0; n * n], c: vec![0.0; n], force, length, ..Sample::default() };
    sample.program.reset(dims.iter().copied());
    for k in 0..bodies {
        sample.draw_block(s, r, k, (dims[k], firsts[k]));
    }
    let count = 1 + s.below(r.contacts);
    for _ in 0..count {
        sample.draw_contact(s, r, &dims);
    }
    sample.widen(&dims, &firsts);
    sample
}

impl Sample {
    /// Draws the cost of a block with `dim` variables from index `first` on, zero or of random
    /// rank.
    fn draw_block(&mut self, s: &mut Samples, r: &Recipe, k: usize, (dim, first): (usize, usize)) {
        let (n, force, length) = (self.n, self.force, self.length);
        let massless = s.uniform() < r.massless;
        let mut M = vec![0.0; dim * dim];
        if !massless {
            for _ in 0..=s.below(dim) {
                let g: Vec<f64> = (0..dim).map(|_| s.signed()).collect();
                for i in 0..dim {
                    for j in 0..dim {
                        M[i * dim + j] += g[i] * g[j] * force / length;
                    }
                }
            }
        }
        for i in 0..dim {
            self.program.P(k, i).copy_from_slice(&M[i * dim..(i + 1) * dim]);
            for j in 0..dim {
                self.P[(first + i) * n + first + j] = M[i * dim + j];
            }
            let c = if s.uniform() < 0.7 { force * s.signed() } else { 0.0 };
            self.program.c(k)[i] = c;
            self.c[first + i] = c;
        }
    }

    fn draw_contact(&mut self, s: &mut Samples, r: &Recipe, dims: &[usize]) {
        let kind = s.uniform();
        let (a, b) = (s.below(dims.len()), s.below(dims.len() + 1));
        let mut blocks = vec![a];
        if b < dims.len() && b != a {
            blocks.push(b);
        }
        let width: usize = blocks.iter().map(|b| dims[*b]).sum();
        let k = 1 + r.tangents;
        let few = s.uniform() < 0.5;
        // few distinct values, so that rows are exactly dependent
        let mut entry = || if few { (s.below(3) as f64) - 1.0 } else { s.signed() };
        let mut J: Vec<Vec<f64>> = (0..k).map(|_| (0..width).map(|_| entry()).collect()).collect();
        let offset = self.draw_offset(s, k);
        if kind < 0.3
            && let Some(last) = self.contacts.last()
        {
            // the opposite wall of a slot, or a duplicate contact
            blocks.clone_from(&last.blocks);
            J.clone_from(&last.J);
            if kind < 0.15 {
                J[0].iter_mut().for_each(|v| *v = -*v);
            }
        }
        let mu = if s.uniform() < 0.15 { 0.0 } else { 1.5 * s.uniform() };
        self.push_contact(r, dims, (blocks, J, offset, mu));
    }

    /// Draws the offsets of `k` rows: open, closed or overlapping; some with prescribed slip.
    fn draw_offset(&self, s: &mut Samples, k: usize) -> Vec<f64> {
        let mut offset = vec![0.0; k];
        let gap = s.uniform();
        if gap > 0.6 {
            offset[0] = -self.length * s.uniform();
        } else if gap > 0.5 {
            offset[0] = self.length * 0.3 * s.uniform();
        }
        if s.uniform() < 0.3 {
            for b in &mut offset[1..] {
                *b = self.length * s.signed();
            }
        }
        offset
    }

    fn push_contact(
        &mut self,
        r: &Recipe,
        dims: &[usize],
        (blocks, J, offset, mu): (Vec<usize>, Vec<Vec<f64>>, Vec<f64>, f64),
    ) {
        let mut edges = Vec::new();
        let list: Vec<u32> = blocks.iter().map(|b| *b as u32).collect();
        let directions: Vec<f64> = if r.tangents == 1 {
            vec![1.0, -1.0]
        } else {
            (0..r.directions)
                .flat_map(|j| {
                    let angle = std::f64::consts::TAU * j as f64 / r.directions as f64;
                    let (sin, cos) = angle.sin_cos();
                    [cos, sin]
                })
                .collect()
        };
        let radii = vec![mu; r.tangents];
        let friction = if r.round {
            Friction::Round(&radii)
        } else {
            for d in directions.chunks_exact(r.tangents) {
                edges.push(d.iter().map(|d| mu * d).collect());
            }
            Friction::Diamond { mu, directions: &directions, tangents: r.tangents }
        };
        let mut contact = self.program.push_contact(friction, &list);
        contact.b().copy_from_slice(&offset);
        let mut from = 0;
        for (side, block) in blocks.iter().enumerate() {
            for (row, J) in J.iter().enumerate() {
                contact.J(side, row).copy_from_slice(&J[from..from + dims[*block]]);
            }
            from += dims[*block];
        }
        self.contacts.push(Written { blocks, J, b: offset, edges, mu });
    }

    /// Converts this sample to other units of force and length.
    pub fn in_units(&self, force: f64, length: f64) -> Self {
        let n = self.n;
        let mut other = self.clone();
        other.force *= force;
        other.length *= length;
        other.P.iter_mut().for_each(|v| *v *= force / length);
        other.c.iter_mut().for_each(|v| *v *= force);
        let p = &mut other.program;
        // a single block: the block structure must not affect the solution
        p.reset([n]);
        for i in 0..n {
            p.P(0, i).copy_from_slice(&other.P[i * n..(i + 1) * n]);
        }
        p.c(0).copy_from_slice(&other.c);
        for contact in &mut other.contacts {
            contact.b.iter_mut().for_each(|v| *v *= length);
            let tangents = contact.J.len() - 1;
            let directions = contact.edges.concat();
            let radii = vec![contact.mu; tangents];
            let friction = if contact.edges.is_empty() {
                Friction::Round(&radii)
            } else {
                Friction::Diamond { mu: 1.0, directions: &directions, tangents }
            };
            let mut to = p.push_contact(friction, &[0]);
            to.b().copy_from_slice(&contact.b);
            for (r, row) in contact.J.iter().enumerate() {
                to.J(0, r).copy_from_slice(row);
            }
        }
        other
    }

    /// Extends Jacobians to all variables.
    fn widen(&mut self, dims: &[usize], firsts: &[usize]) {
        for contact in &mut self.contacts {
            for row in &mut contact.J {
                let mut wide = vec![0.0; self.n];
                let mut from = 0;
                for block in &contact.blocks {
                    for k in 0..dims[*block] {
                        wide[firsts[*block] + k] += row[from + k];
                    }
                    from += dims[*block];
                }
                *row = wide;
            }
        }
    }

    /// Checks Coulomb's law by independent code.
    pub fn check(&self, s: &CoulombSolution, tolerance: f64) -> Result<(), String> {
        let size =
            |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum() };
        let mut force = vec![0.0; self.n];
        let mut terms = vec![self.force * 1e-3; self.n];
        for j in 0..self.n {
            let row = &self.P[j * self.n..(j + 1) * self.n];
            force[j] = dot(row, &s.x) + self.c[j];
            terms[j] += size(row, &s.x);
        }
        let rows = self.contacts.iter().flat_map(|c| c.J.iter().zip(&c.b));
        let fastest = rows.map(|(J, b)| size(J, &s.x) + b.abs()).fold(self.length, f64::max);
        let mut at = 0;
        for (i, contact) in self.contacts.iter().enumerate() {
            let k = contact.J.len();
            let lambda = &s.lambda[at..at + k];
            at += k;
            let u: Vec<f64> =
                contact.J.iter().zip(&contact.b).map(|(J, b)| dot(J, &s.x) - b).collect();
            let speed: f64 = contact
                .J
                .iter()
                .zip(&contact.b)
                .map(|(J, b)| size(J, &s.x) + b.abs())
                .fold(fastest * 1e-3, f64::max);
            let n = lambda[0];
            let largest = s.lambda.iter().fold(self.force * 1e-3, |m, l| m.max(l.abs()));
            let idle = n <= tolerance * largest;
            if !(n >= -tolerance * largest) || !(u[0] >= -tolerance * speed) {
                return Err(format!("contact {i} pulls {n:e} or overlaps {:e}", u[0]));
            }
            if !idle && u[0] > tolerance * speed {
                return Err(format!("contact {i} pushes {n:e} at {:e}", u[0]));
            }
            // friction within its set, and opposite to the slip
            let (l, v) = (&lambda[1..], &u[1..]);
            let pull = dot(l, v);
            if contact.edges.is_empty() {
                let (l, v) = (dot(l, l).sqrt(), dot(v, v).sqrt());
                if l > contact.mu * n + tolerance * largest {
                    return Err(format!("contact {i} rubs with {l:e} of {:e}", contact.mu * n));
                }
                if pull + contact.mu * n * v > tolerance * largest * speed {
                    return Err(format!("contact {i} dissipates too little"));
                }
            } else {
                let h = contact.edges.iter().map(|e| -dot(e, v)).fold(0.0, f64::max);
                // test the supporting lines of many directions
                for step in 0..64 {
                    let (sin, cos) = (std::f64::consts::TAU * f64::from(step) / 64.0).sin_cos();
                    let d = [cos, sin];
                    let d = &d[..l.len()];
                    let most = contact.edges.iter().map(|e| dot(e, d)).fold(0.0, f64::max);
                    if dot(l, d) > n * most + tolerance * largest {
                        return Err(format!("contact {i} rubs outside its cone"));
                    }
                }
                if pull + n * h > tolerance * largest * speed {
                    return Err(format!("contact {i} dissipates too little: {pull:e} {:e}", n * h));
                }
            }
            for (J, l) in contact.J.iter().zip(lambda) {
                for j in 0..self.n {
                    force[j] -= J[j] * l;
                    terms[j] += (J[j] * l).abs();
                }
            }
        }
        for j in 0..self.n {
            if !(force[j].abs() <= tolerance * terms[j]) {
                return Err(format!("variable {j} is off balance by {:e}", force[j]));
            }
        }
        Ok(())
    }

    /// Checks a certificate by independent code.
    pub fn check_refutation(&self, r: &Refutation) -> Result<(), String> {
        match r {
            Refutation::Crushed { weights } => self.check_weights(weights),
            Refutation::Unsupported { direction } => self.check_direction(direction),
            Refutation::JammedRound { .. } if r.holds(&self.program) => Ok(()),
            Refutation::JammedRound { .. } => Err("a case is not refuted".into()),
            Refutation::Jammed { proof, .. } => self.check_cases(proof),
        }
    }

    /// Checks that normal rows with these weights contradict one another.
    fn check_weights(&self, weights: &[f64]) -> Result<(), String> {
        let mut sum = vec![0.0; self.n];
        let mut value = 0.0;
        for (y, contact) in weights.iter().zip(&self.contacts) {
            if !(*y >= 0.0) {
                return Err("a weight is negative".into());
            }
            for (s, J) in sum.iter_mut().zip(&contact.J[0]) {
                *s += y * J;
            }
            value += y * contact.b[0];
        }
        let off = sum.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        if off > 1e-9 || value < 1e-9 * self.length {
            return Err(format!("weights leave {off:e}, value {value:e}"));
        }
        Ok(())
    }

    /// Checks that loads push along `d` and that no contact holds.
    fn check_direction(&self, d: &[f64]) -> Result<(), String> {
        let push = -dot(&self.c, d);
        if !(push > 1e-9 * self.force) {
            return Err(format!("{push:e} of {:e} pushes along the direction", self.force));
        }
        for j in 0..self.n {
            let bend = dot(&self.P[j * self.n..(j + 1) * self.n], d).abs();
            if bend > 1e-8 * self.force / self.length {
                return Err(format!("the direction bends by {bend:e}"));
            }
        }
        for contact in &self.contacts {
            let v: Vec<f64> = contact.J.iter().map(|J| dot(J, d)).collect();
            let h = if contact.edges.is_empty() {
                contact.mu * dot(&v[1..], &v[1..]).sqrt()
            } else {
                contact.edges.iter().map(|e| -dot(e, &v[1..])).fold(0.0, f64::max)
            };
            if v[0] < h - 1e-8 {
                return Err(format!("a contact stops the direction: {:e} {h:e}", v[0]));
            }
        }
        Ok(())
    }

    /// Checks that every case of the complementarity problem is refuted, and that cases cover all.
    fn check_cases(&self, proof: &Proof) -> Result<(), String> {
        let mut lcp = Lcp::new();
        assert!(self.program.lcp(&mut lcp));
        let Dense { M, q, free } = dense(&mut lcp);
        let n = q.len();
        for case in &proof.cases {
            let held = |i: usize, side| case.held.contains(&((i - free) as u32, side));
            let mut constant = 0.0;
            for j in 0..n {
                let column: Vec<f64> = (0..n).map(|i| M[i * n + j]).collect();
                let sum = dot(&case.y, &column);
                let terms: f64 = case.y.iter().zip(&column).map(|(a, b)| (a * b).abs()).sum();
                let grows = if j < free {
                    sum.abs() > 1e-8 * terms
                } else {
                    sum > 1e-8 * terms && !held(j, PairSide::Z)
                };
                let sign = j >= free && case.y[j] < 0.0 && !held(j, PairSide::W);
                if grows || sign {
                    return Err(format!("column {j} of a case: {sum:e}"));
                }
                constant += case.y[j] * q[j];
            }
            if !(constant < 0.0) {
                return Err(format!("constant of a case: {constant:e}"));
            }
        }
        // the fractions 2^-held of all cases add up to 1
        let shares: f64 = proof.cases.iter().map(|c| 0.5f64.powi(c.held.len() as i32)).sum();
        if (shares - 1.0).abs() > 1e-9 {
            return Err(format!("the cases cover {shares}"));
        }
        Ok(())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Dense matrix and vector of a complementarity problem.
pub struct Dense {
    pub M: Vec<f64>,
    pub q: Vec<f64>,
    pub free: usize,
}

pub fn dense(lcp: &mut Lcp) -> Dense {
    let n = lcp.n_free() + lcp.n_pairs();
    let M = (0..n).flat_map(|i| lcp.row(i).to_vec()).collect();
    Dense { M, q: lcp.q().to_vec(), free: lcp.n_free() }
}

/// Checks a solution of the complementarity problem of `sample`. Each row is compared with its own
/// terms, or where these nearly vanish with a tenth of the largest force or rate.
pub fn check_lcp(
    sample: &Sample,
    lcp: &mut Lcp,
    s: &LcpSolution,
    tolerance: f64,
) -> Result<(), String> {
    let Dense { M, q, free } = dense(lcp);
    let n = q.len();
    let v: Vec<f64> = s.x.iter().chain(&s.z).copied().collect();
    // slip multipliers have rows in units of force and values in units of rates; other pairs vice
    // versa
    let slips = |i: usize| i >= free && M[i * n..i * n + free].iter().all(|v| *v == 0.0);
    let (mut force, mut speed) = (sample.force, sample.length);
    for i in free..n {
        if slips(i) {
            speed = speed.max(v[i]);
        } else {
            force = force.max(v[i]);
        }
    }
    for i in 0..n {
        let row = &M[i * n..(i + 1) * n];
        let value: f64 = row.iter().zip(&v).map(|(a, b)| a * b).sum::<f64>() + q[i];
        let terms: f64 = row.iter().zip(&v).map(|(a, b)| (a * b).abs()).sum::<f64>() + q[i].abs();
        let unit = if i < free || slips(i) { force } else { speed };
        let rounding = tolerance * (terms + 0.1 * unit);
        let bad = if i < free {
            value.abs() > rounding
        } else {
            value < -rounding || v[i] < 0.0 || (v[i] > 0.0 && value > rounding)
        };
        if bad {
            return Err(format!("row {i}: {value:e} of {terms:e}, z {:e}", v[i]));
        }
    }
    Ok(())
}
