//! Cone program: block-diagonal cost, and cones over small Jacobians of a few blocks.

use quasistep_linalg::aligned::{Aligned, LINE};
pub(crate) use quasistep_linalg::simd::padded;
use quasistep_linalg::{Reason, Residuals, Saturation};

/// Largest number of rows of a cone's Jacobian.
pub const MAX_ROWS: usize = 8;

/// A convex program over blocks of variables, rebuilt for every solve in the memory of the last
/// one.
///
/// ```text
/// min  1/2 xᵀ P x + cᵀ x + Σ_l huber_l(x)     P = blkdiag(P_1, …), each positive semidefinite
/// s.t. s_k = E_k (Σ_side J_k,side x_side − b_k) ∈ K_k        for every cone k
/// ```
///
/// `K_k` is the nonnegative orthant ([`Cone::Edges`]: a pyramid, or plain rows) or the second-order
/// cone `s_0 ≥ ‖(s_1, …)‖` ([`Cone::Round`]). Both are self-dual, and the multiplier of `s_k` is
/// `z_k ∈ K_k`. The solvers rely on `J_k` having few rows (1 to 4 for a contact) and few blocks (1
/// or 2). `x` is the concatenation of the blocks, `z` that of the cones.
///
/// Its fields are the padded arrays, for crates that build on cone programs. Write a program by
/// [`reset`](Self::reset) and [`push_cone`](Self::push_cone).
#[derive(Clone, Debug, Default)]
pub struct ConeProgram {
    /// Blocks of variables, in the order of `x`.
    pub blocks: Vec<Block>,
    /// Cost of all blocks, each `dim × stride` row-major with zero padding.
    pub P: Vec<f64>,
    /// Linear cost of all blocks, padded.
    pub c: Vec<f64>,
    /// Cones, in the order of `z`.
    pub cones: Vec<ConeData>,
    /// Sides of all cones, one cone after another.
    pub sides: Vec<Side>,
    /// Jacobian of every cone: `k` rows, each with the padded columns of all its blocks.
    pub J: Aligned,
    /// Offsets of all cones, padded.
    pub b: Vec<f64>,
    /// `Eᵀ` of every cone, `k × stride_z` row-major with zero padding.
    pub E: Vec<f64>,
    /// Huber terms.
    pub saturations: Vec<Saturation>,
    /// Number of variables.
    pub n: usize,
    /// Length of a padded `x`.
    pub n_padded: usize,
    /// Length of `z`.
    pub m: usize,
    /// Length of a padded `z`.
    pub m_padded: usize,
}

/// Shape of a cone and its matrix `E`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cone<'a> {
    /// Pyramid or plain rows: `E (J x − b) ≥ 0`, entry by entry. `E` is row-major with as many
    /// columns as `J` has rows. A row of a friction pyramid is `(1, mu d_j)`.
    Edges(&'a [f64]),
    /// Second-order cone `s_0 ≥ ‖(s_1, …)‖` with `s = diag(E) (J x − b)`. A round friction cone has
    /// `E = (1, mu, mu)`; with torsional friction it has `E = (1, mu, mu, mu_spin)`.
    Round(&'a [f64]),
}

/// Place of a block of variables in the arrays of a [`ConeProgram`].
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Number of variables.
    pub dim: u32,
    /// `dim`, padded to whole SIMD vectors: distance of two rows of its `P`.
    pub stride: u32,
    /// Index of the first variable in `x`.
    pub first: u32,
    /// Index of the first variable in a padded `x`.
    pub at: u32,
    /// Index of the first entry in `P`.
    pub P_at: u32,
}

/// Place of a cone in the arrays of a [`ConeProgram`].
#[derive(Clone, Copy, Debug)]
pub struct ConeData {
    /// Whether it is a second-order cone.
    pub round: bool,
    /// Number of rows of `J`.
    pub k: u32,
    /// Number of rows of `E`, and so of entries of `s` and `z`.
    pub m: u32,
    /// `m`, padded to whole SIMD vectors.
    pub stride_z: u32,
    /// Number of columns of `J`: the sum of the strides of all blocks.
    pub width: u32,
    /// Index of the first entry in `J`.
    pub J_at: u32,
    /// Index of the first entry in `b`.
    pub b_at: u32,
    /// Index of the first entry in `E`.
    pub E_at: u32,
    /// Index of the first entry in `z`.
    pub first: u32,
    /// Index of the first entry in a padded `z`.
    pub at: u32,
    /// Range of its sides in `sides`.
    pub first_side: u32,
    /// End of that range.
    pub last_side: u32,
}

/// Block that a cone depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Index of the block.
    pub block: u32,
    /// Index of the first column in the cone's `J`.
    pub column: u32,
}

/// Mutable view of a new cone. Its Jacobian and offset are zero and must be filled in.
#[derive(Debug)]
pub struct ConeMut<'a> {
    pub(crate) J: &'a mut [f64],
    pub(crate) b: &'a mut [f64],
    pub(crate) sides: &'a [Side],
    pub(crate) blocks: &'a [Block],
    pub(crate) width: usize,
}

impl ConeMut<'_> {
    /// Row `row` of the Jacobian with respect to block `blocks[side]`, one entry per variable of
    /// the block.
    pub fn J(&mut self, side: usize, row: usize) -> &mut [f64] {
        let dim = self.blocks[self.sides[side].block as usize].dim as usize;
        let at = self.sides[side].column as usize + row * self.width;
        &mut self.J[at..at + dim]
    }

    /// Jacobian with respect to block `blocks[side]`, from its first entry, and the stride of its
    /// rows.
    pub fn J_rows(&mut self, side: usize) -> (&mut [f64], usize) {
        (&mut self.J[self.sides[side].column as usize..], self.width)
    }

    /// Offset `b`, one entry per row of the Jacobian.
    pub fn b(&mut self) -> &mut [f64] {
        self.b
    }
}

impl ConeProgram {
    /// A program without variables and cones.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all cones and Huber terms, and starts with blocks of these sizes and zero cost.
    ///
    /// Every block that a cone acts on needs at least one variable; otherwise the solve ends with
    /// [`Reason::Dimensions`].
    pub fn reset(&mut self, dims: impl IntoIterator<Item = usize>) {
        self.blocks.clear();
        self.cones.clear();
        self.sides.clear();
        self.saturations.clear();
        for data in [&mut self.P, &mut self.c, &mut self.b, &mut self.E] {
            data.clear();
        }
        self.J.clear();
        (self.n, self.n_padded, self.m, self.m_padded) = (0, 0, 0, 0);
        let mut P_at = 0;
        for dim in dims {
            let stride = padded(dim);
            self.blocks.push(Block {
                dim: dim as u32,
                stride: stride as u32,
                first: self.n as u32,
                at: self.n_padded as u32,
                P_at: P_at as u32,
            });
            self.n += dim;
            self.n_padded += stride;
            P_at += dim * stride;
        }
        self.P.resize(P_at, 0.0);
        self.c.resize(self.n_padded, 0.0);
    }

    /// Copies `other` and keeps the memory of `self`.
    pub fn copy(&mut self, other: &Self) {
        self.blocks.clone_from(&other.blocks);
        self.P.clone_from(&other.P);
        self.c.clone_from(&other.c);
        self.cones.clone_from(&other.cones);
        self.sides.clone_from(&other.sides);
        self.J.clone_from(&other.J);
        self.b.clone_from(&other.b);
        self.E.clone_from(&other.E);
        self.saturations.clone_from(&other.saturations);
        (self.n, self.n_padded) = (other.n, other.n_padded);
        (self.m, self.m_padded) = (other.m, other.m_padded);
    }

    /// Row `row` of the cost of a block, one entry per variable of the block. Both triangles must
    /// be written.
    pub fn P(&mut self, block: usize, row: usize) -> &mut [f64] {
        let block = &self.blocks[block];
        let at = block.P_at as usize + row * block.stride as usize;
        &mut self.P[at..at + block.dim as usize]
    }

    /// Linear cost of a block, one entry per variable of the block.
    pub fn c(&mut self, block: usize) -> &mut [f64] {
        let block = &self.blocks[block];
        &mut self.c[block.at as usize..(block.at + block.dim) as usize]
    }

    /// Adds a Huber term. Its index counts the variables of all blocks.
    pub fn push_saturation(&mut self, saturation: Saturation) {
        self.saturations.push(saturation);
    }

    /// Adds a cone over distinct `blocks`, with a Jacobian of `k` rows.
    ///
    /// More than 8 rows end the solve with [`Reason::Dimensions`].
    ///
    /// # Panics
    ///
    /// If the size of `E` does not fit `k`, or a block does not exist.
    pub fn push_cone(&mut self, cone: Cone<'_>, k: usize, blocks: &[u32]) -> ConeMut<'_> {
        let (round, m) = match cone {
            Cone::Edges(E) => {
                assert!(k > 0 && E.len().is_multiple_of(k), "E must have k columns");
                (false, E.len() / k)
            }
            Cone::Round(E) => {
                assert!(k > 0 && E.len() == k, "the diagonal of E must have k entries");
                (true, k)
            }
        };
        self.push_empty(round, [k, m], blocks.iter().copied());
        let &ConeData { E_at, stride_z, .. } = self.last_cone();
        let (E_at, stride_z) = (E_at as usize, stride_z as usize);
        match cone {
            Cone::Edges(E) => {
                for (j, edge) in E.chunks_exact(k).enumerate() {
                    for (i, e) in edge.iter().enumerate() {
                        self.E[E_at + i * stride_z + j] = *e;
                    }
                }
            }
            Cone::Round(E) => {
                for (i, e) in E.iter().enumerate() {
                    self.E[E_at + i * stride_z + i] = *e;
                }
            }
        }
        self.cone_mut(self.cones.len() - 1)
    }

    /// Adds a copy of a cone of another program, over other blocks of the same sizes.
    ///
    /// # Panics
    ///
    /// If a block does not exist.
    pub fn push_copy(&mut self, other: &Self, cone: usize, blocks: impl Iterator<Item = u32>) {
        let from = &other.cones[cone];
        self.push_empty(from.round, [from.k as usize, from.m as usize], blocks);
        let to = *self.last_cone();
        let part = |at: u32, len: u32| at as usize..(at + len) as usize;
        let (E, J) = (from.k * from.stride_z, from.k * from.width);
        self.E[part(to.E_at, E)].copy_from_slice(&other.E[part(from.E_at, E)]);
        self.J[part(to.J_at, J)].copy_from_slice(&other.J[part(from.J_at, J)]);
        self.b[part(to.b_at, to.k)].copy_from_slice(&other.b[part(from.b_at, to.k)]);
    }

    fn last_cone(&self) -> &ConeData {
        self.cones.last().expect("a cone was pushed")
    }

    /// Adds a cone with zero Jacobian, offset and `E`, of `k` rows of `J` and `m` rows of `E`.
    fn push_empty(&mut self, round: bool, [k, m]: [usize; 2], blocks: impl Iterator<Item = u32>) {
        let stride_z = padded(m);
        let (b_at, E_at) = (self.b.len(), self.E.len());
        self.b.resize(b_at + padded(k), 0.0);
        self.E.resize(E_at + k * stride_z, 0.0);
        let first_side = self.sides.len();
        let mut width = 0;
        for block in blocks {
            self.sides.push(Side { block, column: width });
            width += self.blocks[block as usize].stride;
        }
        // align rows of whole cache lines; the rows of a group stay contiguous
        let J_at = if width.is_multiple_of(LINE as u32) {
            self.J.len().next_multiple_of(LINE)
        } else {
            self.J.len()
        };
        self.J.resize(J_at + k * width as usize);
        self.cones.push(ConeData {
            round,
            k: k as u32,
            m: m as u32,
            stride_z: stride_z as u32,
            width,
            J_at: J_at as u32,
            b_at: b_at as u32,
            E_at: E_at as u32,
            first: self.m as u32,
            at: self.m_padded as u32,
            first_side: first_side as u32,
            last_side: self.sides.len() as u32,
        });
        self.m += m;
        self.m_padded += stride_z;
    }

    /// Row `row` of the cost of a block, one entry per variable of the block.
    pub fn P_row(&self, block: usize, row: usize) -> &[f64] {
        let block = &self.blocks[block];
        let at = block.P_at as usize + row * block.stride as usize;
        &self.P[at..at + block.dim as usize]
    }

    /// Number of variables.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Length of `z`: the edges of all pyramids and the dimensions of all round cones.
    pub fn m(&self) -> usize {
        self.m
    }

    /// Number of cones.
    pub fn n_cones(&self) -> usize {
        self.cones.len()
    }

    /// Range of a cone's entries in `z`.
    pub fn rows_of(&self, cone: usize) -> std::ops::Range<usize> {
        let cone = &self.cones[cone];
        cone.first as usize..(cone.first + cone.m) as usize
    }

    /// Index of variable `index` in a padded `x`.
    pub(crate) fn padded_index(&self, index: u32) -> usize {
        let b = &self.blocks[self.block_of(index)];
        (b.at + index - b.first) as usize
    }

    /// Block of variable `index`.
    pub fn block_of(&self, index: u32) -> usize {
        self.blocks.partition_point(|b| b.first <= index) - 1
    }

    /// Whether every variable has a positive diagonal cost, without Huber terms.
    pub(crate) fn has_all_costs(&self) -> bool {
        self.blocks
            .iter()
            .all(|b| (0..b.dim).all(|i| self.P[(b.P_at + i * (b.stride + 1)) as usize] > 0.0))
    }

    /// Blocks that a cone depends on.
    pub fn sides_of(&self, cone: &ConeData) -> &[Side] {
        &self.sides[cone.first_side as usize..cone.last_side as usize]
    }
}

impl ConeProgram {
    /// Checks sizes and Huber terms.
    pub fn check_sizes(&self) -> Result<(), Reason> {
        let too_many = self.cones.iter().any(|c| c.k as usize > MAX_ROWS);
        let nothing = self.sides.iter().any(|side| self.blocks[side.block as usize].dim == 0);
        if too_many || nothing || self.saturations.iter().any(|s| s.index as usize >= self.n) {
            return Err(Reason::Dimensions);
        }
        if self.saturations.iter().any(|s| s.stiffness < 0.0 || s.limit < 0.0) {
            return Err(Reason::NotConvex);
        }
        Ok(())
    }

    /// Checks that all numbers are finite.
    pub fn check_numbers(&self) -> Result<(), Reason> {
        // a product with zero is zero only if the number is finite
        let finite = |v: &[f64]| {
            let mut sums = [0.0; 8];
            let (all, rest) = v.as_chunks::<8>();
            for chunk in all {
                for (sum, v) in sums.iter_mut().zip(chunk) {
                    *sum += v * 0.0;
                }
            }
            sums.iter().all(|sum| *sum == 0.0) && rest.iter().all(|v| v.is_finite())
        };
        let springs = self
            .saturations
            .iter()
            .all(|s| s.stiffness.is_finite() && s.target.is_finite() && !s.limit.is_nan());
        let data: [&[f64]; 5] = [&self.P, &self.c, &self.J, &self.b, &self.E];
        if !(data.into_iter().all(finite) && springs) {
            return Err(Reason::NotFinite);
        }
        Ok(())
    }

    /// Residuals of `z` and `s` with respect to their cones and to complementarity. Stationarity is
    /// left zero.
    pub(crate) fn cone_residuals(&self, z: &[f64], s: &[f64]) -> Residuals {
        let mut r = Residuals::default();
        // violation of a round cone
        let outside = |v: &[f64]| v[1..].iter().map(|x| x * x).sum::<f64>().sqrt() - v[0];
        for cone in &self.cones {
            let rows = cone.first as usize..(cone.first + cone.m) as usize;
            let (z, s) = (&z[rows.clone()], &s[rows]);
            if cone.round {
                r.primal = r.primal.max(outside(s));
                r.dual = r.dual.max(outside(z));
                let product: f64 = z.iter().zip(s).map(|(z, s)| z * s).sum();
                r.complementarity = r.complementarity.max(product.abs());
            } else {
                for (z, s) in z.iter().zip(s) {
                    r.primal = r.primal.max(-s);
                    r.dual = r.dual.max(-z);
                    r.complementarity = r.complementarity.max((z * s).abs());
                }
            }
        }
        r
    }
}
