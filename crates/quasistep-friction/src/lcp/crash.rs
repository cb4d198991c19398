//! Crash basis: all free variables are basic, and the pairs expected to be active are exchanged.
//!
//! Only principal pivots are used, of one pair or of two, so that every basis is complementary. A
//! variable without curvature needs a pivot of two: it enters together with a row that constrains
//! it.

use crate::lcp::tableau::Tableau;
use crate::tolerances::lcp::{CONSTANT, PIVOT, WEAK};

/// Reason why there is no crash basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoBasis {
    /// An equation without variables is inconsistent.
    Contradiction,
    /// A free variable has no row to pivot on.
    Unpaired,
}

/// Scratch memory of the search.
#[derive(Debug, Default)]
pub(crate) struct Crash {
    pending: Vec<usize>,
    left: Vec<usize>,
}

impl Crash {
    /// Pivots `t`, given at its initial basis, to one with all free variables basic, and with the
    /// pairs of `hints` exchanged as far as pivots allow.
    pub fn run(&mut self, t: &mut Tableau, hints: &[u32]) -> Result<(), NoBasis> {
        let (n, free) = (t.n, t.free);
        self.pending.clear();
        self.pending.extend(0..free);
        self.pending.extend(hints.iter().map(|h| free + *h as usize).filter(|h| *h < n));
        self.pending.sort_unstable();
        self.pending.dedup();
        self.exchange_all(t);
        // remaining free variables look for any partner
        let left = &mut self.left;
        left.clear();
        left.extend((0..free).filter(|i| t.is_basic(*i)));
        while !left.is_empty() {
            let mut best = (PIVOT, 0, 0);
            for (k, &i) in left.iter().enumerate() {
                for j in free..n {
                    if t.is_basic(j) {
                        let size = measure(t, i, j);
                        if size > best.0 {
                            best = (size, k, j);
                        }
                    }
                }
            }
            let (size, k, j) = best;
            if size == PIVOT {
                break;
            }
            exchange_two(t, left[k], j);
            left.swap_remove(k);
            // a variable may now enter alone
            left.retain(|&i| {
                let alone = t.at(t.place(i), t.place(i + n)).abs() > PIVOT;
                if alone {
                    t.exchange(i);
                }
                !alone
            });
        }
        for &i in left.iter() {
            let r = t.place(i);
            let held = (0..t.width()).any(|c| {
                // skip the residuals of equations, which are zero, and z_0
                let v = t.other[c] as usize;
                v >= free && v < 2 * n && t.at(r, c).abs() > PIVOT
            });
            if held {
                return Err(NoBasis::Unpaired);
            }
            if t.q[r].abs() > CONSTANT {
                return Err(NoBasis::Contradiction);
            }
        }
        Ok(())
    }

    /// Exchanges pending pairs, one or two at a time, the largest pivots first.
    fn exchange_all(&mut self, t: &mut Tableau) {
        let n = t.n;
        loop {
            let (mut size, mut at) = (PIVOT, None);
            for (k, &i) in self.pending.iter().enumerate() {
                let own = t.at(t.place(i), t.place(i + n)).abs();
                if own > size {
                    (size, at) = (own, Some((k, k)));
                }
            }
            // pivots of two pairs only where no single pivot is large enough
            if size < WEAK {
                let pending = self.pending.len() as u64;
                if !t.work.spend(pending * pending) {
                    return;
                }
                for (k, &i) in self.pending.iter().enumerate() {
                    for (l, &j) in self.pending[..k].iter().enumerate() {
                        let both = measure(t, i, j);
                        if both > size {
                            (size, at) = (both, Some((k, l)));
                        }
                    }
                }
            }
            let Some((k, l)) = at else { return };
            let i = self.pending[k];
            if k == l {
                t.exchange(i);
                self.pending.swap_remove(k);
            } else {
                exchange_two(t, i, self.pending[l]);
                // remove the later one first
                self.pending.swap_remove(k);
                self.pending.swap_remove(l);
            }
        }
    }
}

/// Geometric mean of the two pivots that exchange the pairs `i` and `j`.
fn measure(t: &Tableau, i: usize, j: usize) -> f64 {
    let (ri, rj, ci, cj) = (t.place(i), t.place(j), t.place(i + t.n), t.place(j + t.n));
    let (a, b) = (t.at(ri, cj), t.at(rj, ci));
    if a.abs() <= PIVOT {
        return 0.0;
    }
    (a * b - t.at(ri, ci) * t.at(rj, cj)).abs().sqrt()
}

fn exchange_two(t: &mut Tableau, i: usize, j: usize) {
    t.pivot(t.place(i), t.place(j + t.n));
    t.pivot(t.place(j), t.place(i + t.n));
}
