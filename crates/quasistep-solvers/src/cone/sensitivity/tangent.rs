//! Changes and gradients of a program's data, in the layout of the program itself.

use crate::cone::program::{ConeMut, ConeProgram};
use crate::qp::Saturation;

impl ConeProgram {
    /// Becomes a change of `program`: its blocks, cones and springs, every number zero. Allocates nothing
    /// where the memory at hand is large enough.
    ///
    /// Fill in what changes by [`P`](Self::P), [`c`](Self::c), [`cone_mut`](Self::cone_mut),
    /// [`E_mut`](Self::E_mut) and [`saturation_mut`](Self::saturation_mut).
    pub fn set_zero_like(&mut self, program: &Self) {
        self.copy(program);
        self.set_zero();
    }

    pub(crate) fn set_zero(&mut self) {
        for data in [&mut self.P[..], &mut self.c, &mut self.J, &mut self.b, &mut self.E] {
            data.fill(0.0);
        }
        for s in &mut self.saturations {
            *s = Saturation { index: s.index, stiffness: 0.0, target: 0.0, limit: 0.0 };
        }
    }

    /// Whether the two have the same blocks, cones and springs, whatever their numbers.
    pub fn is_like(&self, other: &Self) -> bool {
        let cones = self.cones.iter().zip(&other.cones);
        self.blocks.len() == other.blocks.len()
            && self.cones.len() == other.cones.len()
            && self.sides == other.sides
            && self.saturations.len() == other.saturations.len()
            && self.blocks.iter().zip(&other.blocks).all(|(a, b)| a.dim == b.dim)
            && self.saturations.iter().zip(&other.saturations).all(|(a, b)| a.index == b.index)
            && cones
                .into_iter()
                .all(|(a, b)| (a.round, a.k, a.m, a.last_side) == (b.round, b.k, b.m, b.last_side))
    }

    /// Jacobian and offset of a cone, to write.
    pub fn cone_mut(&mut self, cone: usize) -> ConeMut<'_> {
        let c = &self.cones[cone];
        let J = c.J_at as usize..(c.J_at + c.k * c.width) as usize;
        let b = c.b_at as usize..(c.b_at + c.k) as usize;
        let sides = c.first_side as usize..c.last_side as usize;
        ConeMut {
            J: &mut self.J[J],
            b: &mut self.b[b],
            sides: &self.sides[sides],
            blocks: &self.blocks,
            width: c.width as usize,
        }
    }

    /// Entry of `E` of a cone: `edge` of its `z`, `row` of its Jacobian. Of a round cone only those with
    /// `edge == row` are data.
    pub fn E_mut(&mut self, cone: usize, edge: usize, row: usize) -> &mut f64 {
        let c = &self.cones[cone];
        &mut self.E[c.E_at as usize + row * c.stride_z as usize..][..c.m as usize][edge]
    }

    /// Entry of `E` of a cone, to read.
    pub fn E_entry(&self, cone: usize, edge: usize, row: usize) -> f64 {
        let c = &self.cones[cone];
        self.E[c.E_at as usize + row * c.stride_z as usize..][..c.m as usize][edge]
    }

    /// Row `row` of the Jacobian of a cone with respect to the block of side `side`, to read.
    pub fn J_row(&self, cone: usize, side: usize, row: usize) -> &[f64] {
        let c = &self.cones[cone];
        let side = self.sides_of(c)[side];
        let at = (c.J_at + side.column) as usize + row * c.width as usize;
        &self.J[at..at + self.blocks[side.block as usize].dim as usize]
    }

    /// Blocks that a cone touches, side by side.
    pub fn blocks_of(&self, cone: usize) -> impl Iterator<Item = usize> {
        self.sides_of(&self.cones[cone]).iter().map(|side| side.block as usize)
    }

    /// Offset of a cone, to read.
    pub fn b_of(&self, cone: usize) -> &[f64] {
        let c = &self.cones[cone];
        &self.b[c.b_at as usize..(c.b_at + c.k) as usize]
    }

    /// Linear cost of a block, to read.
    pub fn c_of(&self, block: usize) -> &[f64] {
        let b = &self.blocks[block];
        &self.c[b.at as usize..(b.at + b.dim) as usize]
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// A limited spring, to write; a tangent's index is that of its program.
    pub fn saturation_mut(&mut self, k: usize) -> &mut Saturation {
        &mut self.saturations[k]
    }

    /// The limited springs.
    pub fn saturations(&self) -> &[Saturation] {
        &self.saturations
    }

    /// Copies `x` without padding to a padded one.
    pub(crate) fn pad_x(&self, from: &[f64], to: &mut [f64]) {
        for b in &self.blocks {
            let dim = b.dim as usize;
            to[b.at as usize..][..dim].copy_from_slice(&from[b.first as usize..][..dim]);
        }
    }

    /// Copies a padded `x` to one without padding.
    pub(crate) fn unpad_x(&self, from: &[f64], to: &mut [f64]) {
        for b in &self.blocks {
            let dim = b.dim as usize;
            to[b.first as usize..][..dim].copy_from_slice(&from[b.at as usize..][..dim]);
        }
    }

    /// Copies `z` without padding to a padded one.
    pub(crate) fn pad_z(&self, from: &[f64], to: &mut [f64]) {
        for c in &self.cones {
            let m = c.m as usize;
            to[c.at as usize..][..m].copy_from_slice(&from[c.first as usize..][..m]);
        }
    }
}
