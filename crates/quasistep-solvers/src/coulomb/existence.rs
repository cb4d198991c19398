//! Why there is no answer, from the program's own data.

use crate::coulomb::law::row_terms;
use crate::coulomb::program::FrictionProgram;
use crate::coulomb::solution::Refutation;

/// What may be left where a proof says zero, as a share of the terms.
const CANCELS: f64 = 1e-9;
/// What a proof says is larger than zero must be this share of its terms.
const CLEAR: f64 = 1e-6;

impl Refutation {
    /// Whether the proof holds for `program`, by its own numbers.
    pub fn holds(&self, program: &FrictionProgram) -> bool {
        match self {
            Self::Crushed { weights } => crushed(program, weights),
            Self::Unsupported { direction } => unsupported(program, direction),
            Self::Jammed { proof, .. } => {
                let mut lcp = crate::Lcp::new();
                program.lcp(&mut lcp) && proof.holds(&lcp)
            }
        }
    }
}

fn crushed(p: &FrictionProgram, y: &[f64]) -> bool {
    if y.len() != p.contacts.len() || !y.iter().all(|y| *y >= 0.0 && y.is_finite()) {
        return false;
    }
    let n = p.n();
    let (mut sum, mut terms) = (vec![0.0; n], vec![0.0; n]);
    let (mut value, mut size) = (0.0, 0.0);
    for (i, y) in y.iter().enumerate() {
        value += y * p.b(i, 0);
        size += (y * p.b(i, 0)).abs();
        for (first, J) in p.row(i, 0) {
            for (k, J) in J.iter().enumerate() {
                sum[first + k] += y * J;
                terms[first + k] += (y * J).abs();
            }
        }
    }
    let cancels = sum.iter().zip(&terms).all(|(s, t): (&f64, &f64)| s.abs() <= CANCELS * t);
    cancels && value > CLEAR * size
}

fn unsupported(p: &FrictionProgram, d: &[f64]) -> bool {
    if d.len() != p.n() || !d.iter().all(|d| d.is_finite()) {
        return false;
    }
    let (mut slope, mut terms) = (0.0, 0.0);
    for (k, block) in p.cones.blocks.iter().enumerate() {
        let (first, at) = (block.first as usize, block.at as usize);
        let d = &d[first..first + block.dim as usize];
        for i in 0..block.dim as usize {
            slope += p.cones.c[at + i] * d[i];
            terms += (p.cones.c[at + i] * d[i]).abs();
            let row = p.cones.P_row(k, i);
            let value: f64 = row.iter().zip(d).map(|(a, b)| a * b).sum();
            let largest = row.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            if value.abs() > CANCELS * largest {
                return false;
            }
        }
    }
    for spring in &p.cones.saturations {
        let d = d[spring.index as usize].abs();
        if spring.stiffness > 0.0 && d > 0.0 {
            if spring.limit.is_infinite() {
                if d > CANCELS {
                    return false;
                }
                continue;
            }
            slope += spring.limit * d;
            terms += spring.limit * d;
        }
    }
    if !(slope < -CLEAR * terms) {
        return false;
    }
    // no force within a cone pushes against d: the rates along d lie in the dual cone
    let mut u = vec![0.0; p.rows];
    p.rates(d, &mut u);
    let mut scratch = vec![0.0; 8];
    p.contacts.iter().enumerate().all(|(i, contact)| {
        let at = contact.first as usize;
        // rates without the offset
        scratch.clear();
        scratch.extend((0..contact.k as usize).map(|r| u[at + r] + p.b(i, r)));
        let h = crate::coulomb::law::support(p, contact, &scratch[1..]);
        let along = |r: usize| row_terms(p, i, r, d) - p.b(i, r).abs();
        let units = p.units_of(contact);
        let size = (1..contact.k as usize).map(|r| units[r - 1] * along(r)).sum::<f64>() + along(0);
        scratch[0] - h.max(0.0) >= -CANCELS * size
    })
}
