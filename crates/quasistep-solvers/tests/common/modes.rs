//! Proofs of jams by modes and sectors of slip, checked without the code that finds them.

use super::friction::Sample;
use quasistep_solvers::{Contradiction, ModeProof};

/// What a contact with one or two tangential rows does in a case.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Anything,
    Open,
    Stick,
    /// Slips from one angle to another.
    Slip(f64, f64),
}

/// Checks a proof by modes, written down once more: angles in place of vectors, and cones by rays in them.
pub fn check(sample: &Sample, proof: &ModeProof) -> Result<(), String> {
    sample.check_modes(proof, &mut vec![Does::Anything; sample.contacts.len()])
}

impl Sample {
    fn check_modes(&self, proof: &ModeProof, does: &mut Vec<Does>) -> Result<(), String> {
        match proof {
            ModeProof::Contradiction(leaf) => self.check_contradiction(leaf, does),
            ModeProof::Contact { contact, parts } => {
                let i = *contact as usize;
                if does[i] != Does::Anything {
                    return Err(format!("contact {i} is told apart twice"));
                }
                let quarter = std::f64::consts::FRAC_PI_2;
                let tangents =
                    if self.contacts[i].mu > 0.0 { self.contacts[i].J.len() - 1 } else { 0 };
                let mut all = vec![Does::Open, Does::Stick];
                match tangents {
                    0 => {}
                    1 => {
                        all.extend([
                            Does::Slip(0.0, 0.0),
                            Does::Slip(2.0 * quarter, 2.0 * quarter),
                        ]);
                    }
                    // signs ++, −+, +−, −−; the first direction is along the first row
                    _ => all.extend([
                        Does::Slip(0.0, quarter),
                        Does::Slip(2.0 * quarter, quarter),
                        Does::Slip(0.0, -quarter),
                        Does::Slip(2.0 * quarter, 3.0 * quarter),
                    ]),
                }
                if parts.len() != all.len() {
                    return Err(format!("{} parts of {}", parts.len(), all.len()));
                }
                for (part, what) in parts.iter().zip(all) {
                    does[i] = what;
                    self.check_modes(part, does)?;
                }
                does[i] = Does::Anything;
                Ok(())
            }
            ModeProof::Sector { contact, between, halves } => {
                let i = *contact as usize;
                let Does::Slip(a, b) = does[i] else { return Err("no sector to halve".into()) };
                let middle = f64::midpoint(a, b);
                let (first, second) = (Does::Slip(middle, b), Does::Slip(a, middle));
                let parts = match between {
                    [0, 1] => [first, second],
                    [1, 0] => [second, first],
                    _ => return Err(format!("no directions {between:?}")),
                };
                if halves.len() != 2 {
                    return Err(format!("{} halves", halves.len()));
                }
                for (half, what) in halves.iter().zip(parts) {
                    does[i] = what;
                    self.check_modes(half, does)?;
                }
                does[i] = Does::Slip(a, b);
                Ok(())
            }
            ModeProof::Spring { .. } => Err("there are no springs with limits".into()),
        }
    }

    fn check_contradiction(&self, leaf: &Contradiction, does: &[Does]) -> Result<(), String> {
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let size =
            |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum() };
        let (d, mut y) = (&leaf.direction, leaf.weights.as_slice());
        let mut left: Vec<f64> = Vec::new();
        let mut terms: Vec<f64> = Vec::new();
        for j in 0..self.n {
            let row = &self.P[j * self.n..(j + 1) * self.n];
            left.push(dot(row, d));
            terms.push(size(row, d));
        }
        let mut value = dot(&self.c, d);
        for (contact, does) in self.contacts.iter().zip(does) {
            let (own, rest) = y.split_at(contact.J.len());
            y = rest;
            let along: Vec<f64> = contact.J.iter().map(|J| dot(J, d)).collect();
            let rounding: f64 =
                1e-9 * contact.J.iter().map(|J| size(J, d)).sum::<f64>() * (1.0 + contact.mu);
            let weight = 1e-9 * own.iter().map(|y| y.abs()).sum::<f64>();
            for (J, y) in contact.J.iter().zip(own) {
                for j in 0..self.n {
                    left[j] += J[j] * y;
                    terms[j] += (J[j] * y).abs();
                }
            }
            value -= dot(&contact.b, own);
            // rays of the rates and forces that the case allows
            let tangents = contact.J.len() - 1;
            let ray = |angle: f64, f: f64| -> Vec<f64> {
                [angle.cos(), angle.sin()][..tangents].iter().map(|v| f * v).collect()
            };
            let with = |n: f64, t: Vec<f64>| -> Vec<f64> { [vec![n], t].concat() };
            let around: Vec<f64> =
                (0..720).map(|k| std::f64::consts::TAU * f64::from(k) / 720.0).collect();
            let whole: Vec<Vec<f64>> =
                around.iter().map(|angle| with(1.0, ray(*angle, contact.mu))).collect();
            let gap: Vec<Vec<f64>> = vec![with(1.0, vec![0.0; tangents])];
            let any = around.iter().map(|angle| with(0.0, ray(*angle, 1.0)));
            let (rates, forces) = match *does {
                Does::Anything => (gap.into_iter().chain(any).collect(), whole),
                Does::Open => (gap.into_iter().chain(any).collect(), vec![]),
                // without friction a closed contact may have any rate along itself
                Does::Stick if contact.mu == 0.0 => (any.collect(), whole),
                Does::Stick => (vec![], whole),
                Does::Slip(a, b) => {
                    let angles = || (0..=100).map(|k| a + (b - a) * f64::from(k) / 100.0);
                    (
                        angles().map(|angle| with(0.0, ray(angle, 1.0))).collect::<Vec<_>>(),
                        angles().map(|angle| with(1.0, ray(angle, -contact.mu))).collect(),
                    )
                }
            };
            for u in rates {
                if dot(&u, own) < -weight {
                    return Err(format!("{does:?}: rates {u:?} pay {:e}", dot(&u, own)));
                }
            }
            for l in forces {
                if dot(&l, &along) < -rounding {
                    return Err(format!("{does:?}: forces {l:?} pay {:e}", dot(&l, &along)));
                }
            }
        }
        for (left, terms) in left.iter().zip(&terms) {
            if left.abs() > 1e-9 * terms {
                return Err(format!("{left:e} of {terms:e} is left"));
            }
        }
        if value < 0.0 { Ok(()) } else { Err(format!("the value is {value:e}")) }
    }
}
