//! Along the path: down while it goes down, then by its length.

use super::{
    CLOSE, Central, DOWN, FLAT, Factor, FrictionProgram, GENTLE, NEAR, PATIENCE, SHORT, STEEPEST,
    STEPS, Shape, WINDING, directions, dot_short, rubs,
};

impl Central {
    /// Follows the path down to a `kappa` of so small a share of the first one; false if it is lost.
    pub fn follow(
        &mut self,
        p: &FrictionProgram,
        D: &[f64],
        factor: &mut Factor,
        kappa: f64,
    ) -> bool {
        let mut failed = false;
        while self.kappa > kappa {
            let target = self.share * self.kappa;
            let before = self.steps;
            if self.centre(p, D, factor, target) {
                if self.saved.is_empty() {
                    self.orientation = factor.sign();
                }
                self.kappa = target;
                self.save();
                self.share = match self.steps - before {
                    // a path that was just too steep is still
                    0..=2 if failed => self.share * self.share,
                    0..=2 => (0.2 * self.share).max(STEEPEST),
                    3..=4 => self.share,
                    _ => self.share.sqrt(),
                };
                failed = false;
            } else {
                self.restore(p);
                self.share = self.share.sqrt().sqrt();
                failed = true;
            }
            if self.steps >= STEPS || self.share > FLAT {
                return false;
            }
        }
        true
    }

    /// Newton's method towards the point of the path at `kappa`: near it, true.
    fn centre(&mut self, p: &FrictionProgram, D: &[f64], factor: &mut Factor, kappa: f64) -> bool {
        // where it is hard to follow it may soon turn: there no other part of it must be taken for this one
        let near = if self.share > GENTLE { CLOSE } else { NEAR };
        let patience = if self.saved.is_empty() { 5 * PATIENCE } else { PATIENCE };
        for _ in 0..patience {
            self.steps += 1;
            if !self.step(p, D, factor, kappa) {
                return false;
            }
            let length = self.length(p);
            self.go(p, length);
            if length < SHORT && !self.saved.is_empty() {
                return false;
            }
            if length == 1.0 && self.off(p, kappa) <= near {
                return true;
            }
        }
        false
    }

    /// Largest difference of a product from what it is on the path, over that.
    fn off(&self, p: &FrictionProgram, kappa: f64) -> f64 {
        let mut off = 0.0_f64;
        for (i, contact) in p.contacts.iter().enumerate() {
            let (k, at) = (contact.k as usize, contact.first as usize);
            let n = self.zeta[at];
            off = off.max((n * self.s[i] / kappa - 1.0).abs());
            if !rubs(p, contact) {
                continue;
            }
            let (gamma, w) = (self.gamma[i], &self.u[at + 1..at + k]);
            if contact.shape == Shape::Round {
                let f = &self.zeta[at + 1..at + k];
                let product = n * gamma + dot_short(w, f);
                let across = f.iter().zip(w).map(|(f, w)| (n * w + gamma * f).powi(2)).sum::<f64>();
                off = off.max((product / kappa - 1.0).abs()).max(across.sqrt() / kappa);
                continue;
            }
            let beta = &self.beta[self.beta_at[i]..self.beta_at[i + 1]];
            let kappa = kappa / beta.len() as f64;
            let spare = n - beta.iter().sum::<f64>();
            off = off.max((gamma * spare / kappa - 1.0).abs());
            for (v, beta) in directions(p, contact).zip(beta) {
                off = off.max((beta * (dot_short(v, w) + gamma) / kappa - 1.0).abs());
            }
        }
        off
    }

    fn save(&mut self) {
        self.saved.clear();
        for v in [&self.x, &self.zeta, &self.s, &self.gamma, &self.beta] {
            self.saved.extend_from_slice(v);
        }
    }

    fn restore(&mut self, p: &FrictionProgram) {
        let mut at = 0;
        for v in [&mut self.x, &mut self.zeta, &mut self.s, &mut self.gamma, &mut self.beta] {
            let n = v.len();
            if let Some(from) = self.saved.get(at..at + n) {
                v.copy_from_slice(from);
            }
            at += n;
        }
        self.rate(p);
    }

    /// Follows the path also where it turns back, by its length in logarithms instead of `kappa`.
    pub fn wind(
        &mut self,
        p: &FrictionProgram,
        D: &[f64],
        factor: &mut Factor,
        kappa: f64,
    ) -> bool {
        let mut reach = 0.5;
        let (lowest, mut down) = (self.kappa, 0);
        while self.kappa > kappa {
            if down >= DOWN && self.kappa < lowest {
                self.save();
                self.orientation = factor.sign();
                self.share = GENTLE;
                return self.follow(p, D, factor, kappa) || self.wind(p, D, factor, kappa);
            }
            let first = self.kappa;
            let before = self.steps;
            self.save();
            let mut there = self.tangent(p, D, factor, first);
            let size = self.t_log.iter().fold(0.0_f64, |m, t| m.max(t.abs()));
            // the path turns where the determinant changes its sign
            let sign = if factor.sign() == self.orientation { -1.0 } else { 1.0 };
            self.heading.clear();
            self.heading.extend(self.t_log.iter().map(|t| sign * t / size));
            self.steps += 1;
            if there {
                self.bend(sign * reach / size);
                let length = self.length(p).min(1.0);
                self.go(p, length);
                self.kappa *= 1.0 + length * sign * reach / size;
                there = length > SHORT;
            }
            let mut near = false;
            while there && !near && self.steps - before < PATIENCE {
                self.steps += 1;
                there = self.tangent(p, D, factor, self.kappa);
                if !there {
                    break;
                }
                let product =
                    |v: &[f64]| -> f64 { self.heading.iter().zip(v).map(|(a, b)| a * b).sum() };
                let share = (-product(&self.d_log) / product(&self.t_log)).clamp(-0.8, 4.0);
                self.bend(share);
                let length = self.length(p);
                self.go(p, length);
                self.kappa *= 1.0 + length * share;
                near = length == 1.0 && self.off(p, self.kappa) <= CLOSE;
                there = length > SHORT;
            }
            down = if near && self.kappa < first { down + 1 } else { 0 };
            if near {
                if self.steps - before <= 3 {
                    reach = (2.0 * reach).min(0.9);
                }
            } else {
                self.kappa = first;
                self.restore(p);
                reach *= 0.3;
            }
            if self.steps >= WINDING || reach < 1e-4 {
                return false;
            }
        }
        true
    }
}
