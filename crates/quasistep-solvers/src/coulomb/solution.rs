//! The answer, how good it is, and the proof where there is none.

use crate::Reason;
use crate::coulomb::jam::{self, JamCase};
use crate::coulomb::law::{row_terms, support};
use crate::coulomb::program::FrictionProgram;
use crate::lcp::cases::Proof;

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Balance, gaps and Coulomb's law hold to the residuals reported.
    Solved,
    /// There is no answer: [`CoulombSolution::refutation`] proves it.
    Unsolvable,
    /// Neither an answer nor a proof that there is none was found.
    Undecided,
    /// The data cannot be worked on; [`CoulombSolution::reason`] says why.
    #[default]
    GaveUp,
}

/// What a contact does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No force.
    #[default]
    Open,
    /// A force, and no slip.
    Stick,
    /// A force on the boundary of the friction cone, and slip.
    Slip,
}

/// The algorithm behind an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoulombMethod {
    /// Newton's method from the answer of a similar program.
    #[default]
    WarmNewton,
    /// Newton's method from the convex relaxation.
    Newton,
    /// Newton's method with penalties that grow from soft contacts to hard ones, from either of these.
    Continuation,
    /// The convex relaxation has no answer, which proves that the program has none.
    Relaxation,
    /// Lemke's method, from the contacts that are active in the relaxation.
    Lemke,
    /// The search through all that contacts may do, for an answer or a proof.
    Cases,
}

/// Worst errors of a solution by the program's own data, each the largest over its entries, in the
/// caller's units: 0 is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoulombResiduals {
    /// `|P x + c + ∇huber − Jᵀ lambda|`.
    pub balance: f64,
    /// `−u_n`.
    pub overlap: f64,
    /// Distance of `lambda_t` from `lambda_n F`, and `−lambda_n`.
    pub cone: f64,
    /// `|lambda_n u_n|`.
    pub complementarity: f64,
    /// What friction falls short of the largest dissipation, `lambda_tᵀ u_t + lambda_n h(u_t)`.
    pub dissipation: f64,
}

/// Answer of a solve. Reuse one value: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct CoulombSolution {
    /// How it ended.
    pub outcome: Outcome,
    /// Why the data cannot be worked on, if it cannot; [`Reason::Work`] where the limit of work left the
    /// program undecided.
    pub reason: Option<Reason>,
    /// Length `n`. Zero unless solved. Where it is not unique, one near 0; see
    /// [`Uniqueness`](crate::Uniqueness).
    pub x: Vec<f64>,
    /// Contact forces, normal one first, contact by contact. Zero unless solved.
    pub lambda: Vec<f64>,
    /// `J x − b`, in the layout of `lambda`. Zero unless solved.
    pub u: Vec<f64>,
    /// One per contact.
    pub modes: Vec<Mode>,
    /// Per contact `h(u_t) = max { −lᵀ u_t : l ∈ F }`, which is `mu |u_t|` for a disc: how far
    /// the sliding body would float in the convex relaxation; 0 where there is no force.
    pub boundary_layer: Vec<f64>,
    /// How far the answer is off; zero unless solved.
    pub residuals: CoulombResiduals,
    /// Which algorithm gave it.
    pub method: CoulombMethod,
    /// Iterations of Newton's method.
    pub newton: u32,
    /// Convex programs solved.
    pub convex: u32,
    /// Multiply-adds of factorisations, triangular solves, pivots and products with the rows, counted from their
    /// sizes: the same number on every machine. At most [`CoulombSettings::work_limit`](crate::CoulombSettings::work_limit).
    pub work: u64,
    /// Pivots of Lemke's method, all attempts together, and most of one: at most three times the number of
    /// rows of the complementarity problem.
    pub pivots: u32,
    /// See [`pivots`](Self::pivots).
    pub longest: u32,
    /// If unsolvable, why.
    pub refutation: Option<Refutation>,
}

/// Proof that no forces and motion satisfy the program, each checked from its data.
#[derive(Clone, Debug, PartialEq)]
pub enum Refutation {
    /// The gaps alone contradict one another: weights ≥ 0, one per contact, largest entry 1, with
    /// `Σ_i y_i J_n,i = 0` and `Σ_i y_i b_n,i > 0`. Contacts of positive weight crush what is
    /// between them.
    Crushed {
        /// The weights `y`.
        weights: Vec<f64>,
    },
    /// The forces alone contradict one another: a direction `d` of length `n`, largest entry 1, that
    /// meets no spring, along which no contact can push back however hard, `dᵀ J_iᵀ lambda ≥ 0` for all
    /// forces within the friction cone, while the known forces push: `cᵀ d < 0`.
    Unsupported {
        /// The direction `d`.
        direction: Vec<f64>,
    },
    /// Gaps and forces can each be met, but not together: every way in which the contacts of pyramids may be open,
    /// stick or slip is refuted.
    Jammed {
        /// One refutation for each case, by the pairs of the linear complementarity problem that
        /// [`FrictionProgram::lcp`](crate::FrictionProgram::lcp) writes.
        proof: Proof,
        /// Contacts that appear in one of them, ascending.
        contacts: Vec<u32>,
    },
    /// Gaps and forces can each be met, but not together: every way in which contacts, some of them round, may be open,
    /// stick or slip, direction by direction, is refuted.
    JammedRound {
        /// One refutation for each case.
        cases: Vec<JamCase>,
        /// Contacts that the cases tell apart, ascending.
        contacts: Vec<u32>,
    },
}

impl CoulombSolution {
    pub(crate) fn reset(&mut self, n: usize, rows: usize, contacts: usize) {
        self.outcome = Outcome::GaveUp;
        self.reason = None;
        for (v, n) in [
            (&mut self.x, n),
            (&mut self.lambda, rows),
            (&mut self.u, rows),
            (&mut self.boundary_layer, contacts),
        ] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.modes.clear();
        self.modes.resize(contacts, Mode::Open);
        self.residuals = CoulombResiduals::default();
        self.method = CoulombMethod::default();
        (self.newton, self.convex, self.work) = (0, 0, 0);
        (self.pivots, self.longest) = (0, 0);
        self.refutation = None;
    }
}

/// What may be left where a proof says zero, as a share of the terms.
pub(crate) const CANCELS: f64 = 1e-9;
/// What a proof says is larger than zero must be this share of its terms.
pub(crate) const CLEAR: f64 = 1e-6;

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
            Self::JammedRound { cases, .. } => jam::holds(program, cases),
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
        let h = support(p, contact, &scratch[1..]);
        let along = |r: usize| row_terms(p, i, r, d) - p.b(i, r).abs();
        let units = p.units_of(contact);
        let size = (1..contact.k as usize).map(|r| units[r - 1] * along(r)).sum::<f64>() + along(0);
        scratch[0] - h.max(0.0) >= -CANCELS * size
    })
}
