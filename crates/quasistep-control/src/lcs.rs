//! Linear complementarity systems, and the Coulomb contacts in them.
//!
//! ```text
//! x⁺ = A x + B u + C gamma + f        0 ≤ gamma ⊥ D x⁺ + E gamma + a ≥ 0        MpcNote (7), (9)
//! ```
//!
//! A Coulomb contact in the plane has four entries of `gamma`: the normal impulse `c`, two
//! tangential impulses `beta±` and the slip `lambda`. Only `c` and `t = beta₊ − beta₋` affect the
//! state, and `lambda = |v_t|`. The reduced system therefore has two variables and six modes
//! instead of four pairs.

#![allow(non_snake_case)] // letters of MpcNote

use crate::error::ProblemError;

/// Linear complementarity system `x⁺ = A x + B u + C gamma + f`, `0 ≤ gamma ⊥ D x⁺ + E gamma + a ≥
/// 0`: MpcNote (7) and (9).
///
/// All matrices are row-major. The caller chooses units; with states in m and m/s, impulses are in
/// N·s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lcs {
    /// Number of states.
    pub n_x: usize,
    /// Number of inputs.
    pub n_u: usize,
    /// Number of complementarity pairs.
    pub n_gamma: usize,
    /// State matrix, `n_x × n_x`.
    pub A: Vec<f64>,
    /// Input matrix, `n_x × n_u`.
    pub B: Vec<f64>,
    /// Effect of `gamma` on the state, `n_x × n_gamma`.
    pub C: Vec<f64>,
    /// Rows of the pairs, `n_gamma × n_x`, applied to the state at the end of the step.
    pub D: Vec<f64>,
    /// Effect of `gamma` on the rows, `n_gamma × n_gamma`.
    pub E: Vec<f64>,
    /// Constant of the state, `n_x`.
    pub f: Vec<f64>,
    /// Constant of the rows, `n_gamma`.
    pub a: Vec<f64>,
}

/// Entries of `gamma` that form a Coulomb contact in the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoulombContact {
    /// Index of the normal impulse `c`; its row is the gap.
    pub normal: usize,
    /// Indices of the tangential impulses; their rows are `lambda ± v_t`.
    pub tangents: [usize; 2],
    /// Index of the slip `lambda`; its row is `mu c − beta₊ − beta₋`.
    pub slip: usize,
    /// Friction coefficient.
    pub mu: f64,
}

impl Lcs {
    /// A system of the given sizes with all entries zero.
    pub fn zeros(n_x: usize, n_u: usize, n_gamma: usize) -> Self {
        let zeros = |rows: usize, columns: usize| vec![0.0; rows * columns];
        Self {
            n_x,
            n_u,
            n_gamma,
            A: zeros(n_x, n_x),
            B: zeros(n_x, n_u),
            C: zeros(n_x, n_gamma),
            D: zeros(n_gamma, n_x),
            E: zeros(n_gamma, n_gamma),
            f: zeros(n_x, 1),
            a: zeros(n_gamma, 1),
        }
    }

    /// Checks sizes and numbers.
    ///
    /// # Errors
    ///
    /// The first matrix with a wrong size or a number that is not finite.
    pub fn check(&self) -> Result<(), ProblemError> {
        let (n, m, g) = (self.n_x, self.n_u, self.n_gamma);
        let parts: [(&'static str, &[f64], usize); 7] = [
            ("A", &self.A, n * n),
            ("B", &self.B, n * m),
            ("C", &self.C, n * g),
            ("D", &self.D, g * n),
            ("E", &self.E, g * g),
            ("f", &self.f, n),
            ("a", &self.a, g),
        ];
        for (what, values, want) in parts {
            ProblemError::check_numbers(what, values, want)?;
        }
        Ok(())
    }

    /// Coulomb contacts of this system, detected from its matrices.
    ///
    /// Entries of `gamma` form a contact if they match MpcNote (9): the rows of the two tangential
    /// impulses are negatives of each other except for `lambda`, so are their columns, and `lambda`
    /// acts on nothing else. All other entries remain plain complementarity pairs.
    pub fn contacts(&self) -> Vec<CoulombContact> {
        let g = self.n_gamma;
        let mut found: Vec<CoulombContact> = Vec::new();
        let mut used = vec![false; g];
        for slip in 0..g {
            let row = &self.E[slip * g..(slip + 1) * g];
            let tangents: Vec<usize> = (0..g).filter(|&j| row[j] == -1.0).collect();
            let others: Vec<usize> = (0..g).filter(|&j| row[j] != 0.0 && row[j] != -1.0).collect();
            let ([plus, minus], [normal]) = (&tangents[..], &others[..]) else { continue };
            let contact = CoulombContact {
                normal: *normal,
                tangents: [*plus, *minus],
                slip,
                mu: row[*normal],
            };
            let members = [contact.normal, *plus, *minus, slip];
            if contact.mu > 0.0 && self.fits(&contact) && members.iter().all(|&i| !used[i]) {
                for i in members {
                    used[i] = true;
                }
                found.push(contact);
            }
        }
        found
    }

    fn fits(&self, contact: &CoulombContact) -> bool {
        let (n, g) = (self.n_x, self.n_gamma);
        let ([p, m], l) = (contact.tangents, contact.slip);
        let slip_alone = self.a[l] == 0.0
            && self.D[l * n..(l + 1) * n].iter().all(|v| *v == 0.0)
            && (0..n).all(|i| self.C[i * g + l] == 0.0)
            && (0..g).all(|i| self.E[i * g + l] == f64::from(u8::from(i == p || i == m)));
        let rows_opposed = self.a[p] == -self.a[m]
            && (0..n).all(|j| self.D[p * n + j] == -self.D[m * n + j])
            && (0..g).all(|j| j == l || self.E[p * g + j] == -self.E[m * g + j]);
        let columns_opposed = (0..n).all(|i| self.C[i * g + p] == -self.C[i * g + m])
            && (0..g).all(|i| i == l || self.E[i * g + p] == -self.E[i * g + m]);
        slip_alone && rows_opposed && columns_opposed
    }
}

/// A contact or pair: a group of reduced variables with one choice of mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    /// Variables `c`, `t` at `variable`, `variable + 1`; rows gap and `v_t` at `row`, `row + 1`.
    Contact { variable: usize, row: usize, contact: CoulombContact },
    /// One entry of `gamma` and its row.
    Pair { variable: usize, row: usize, gamma: usize },
}

impl Unit {
    pub fn variable(&self) -> usize {
        match *self {
            Self::Contact { variable, .. } | Self::Pair { variable, .. } => variable,
        }
    }

    pub fn row(&self) -> usize {
        match *self {
            Self::Contact { row, .. } | Self::Pair { row, .. } => row,
        }
    }

    /// Number of reduced variables.
    pub fn len(&self) -> usize {
        match self {
            Self::Contact { .. } => 2,
            Self::Pair { .. } => 1,
        }
    }
}

/// A linear complementarity system in the reduced variables `r`: `(c, t)` per contact and `gamma_i`
/// per pair. `x⁺ = A x + B u + C r + f`, with the rows `w = D x⁺ + E r + a`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reduced {
    pub n_r: usize,
    /// `n_x × n_r`.
    pub C: Vec<f64>,
    /// `n_r × n_x`; there are as many rows as variables.
    pub D: Vec<f64>,
    /// `n_r × n_r`.
    pub E: Vec<f64>,
    pub a: Vec<f64>,
    /// `D C + E`: effect of impulses on rows within the step.
    pub F: Vec<f64>,
    pub units: Vec<Unit>,
}

impl Reduced {
    pub fn of(lcs: &Lcs) -> Self {
        let (n, g) = (lcs.n_x, lcs.n_gamma);
        let contacts = lcs.contacts();
        let mut units = Vec::new();
        // entries of gamma for each reduced variable and row
        let mut sources = Vec::new();
        for i in 0..g {
            let variable = sources.len();
            if let Some(contact) = contacts.iter().find(|c| c.normal == i) {
                sources.extend([i, contact.tangents[0]]);
                units.push(Unit::Contact { variable, row: variable, contact: *contact });
            } else if !contacts.iter().any(|c| c.slip == i || c.tangents.contains(&i)) {
                sources.push(i);
                units.push(Unit::Pair { variable, row: variable, gamma: i });
            }
        }
        let n_r = sources.len();
        let mut reduced = Self { n_r, units, ..Self::default() };
        for i in 0..n {
            reduced.C.extend(sources.iter().map(|&j| lcs.C[i * g + j]));
        }
        for &i in &sources {
            reduced.D.extend_from_slice(&lcs.D[i * n..(i + 1) * n]);
            reduced.E.extend(sources.iter().map(|&j| lcs.E[i * g + j]));
            reduced.a.push(lcs.a[i]);
        }
        reduced.F = reduced.E.clone();
        for i in 0..n_r {
            for j in 0..n_r {
                let through = (0..n).map(|k| reduced.D[i * n + k] * reduced.C[k * n_r + j]);
                reduced.F[i * n_r + j] += through.sum::<f64>();
            }
        }
        reduced
    }
}
