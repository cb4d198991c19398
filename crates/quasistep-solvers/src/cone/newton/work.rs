//! What an island's iteration reads.

use crate::cone::kernels::Isa;
use crate::cone::program::ConeProgram;
use crate::cone::structure::{Group, Island, Panel, Structure};

/// The program, its structure, and which parts of both are the island's.
pub(super) struct Work<'a> {
    pub isa: Isa,
    pub p: &'a ConeProgram,
    pub s: &'a Structure,
    pub panels: &'a [Panel],
    pub groups: &'a [Group],
    pub spans: &'a [(u32, u32)],
    pub round: bool,
    pub range: (usize, usize),
}

impl<'a> Work<'a> {
    pub fn new(isa: Isa, p: &'a ConeProgram, s: &'a Structure, island: &Island) -> Self {
        Self {
            isa,
            p,
            s,
            panels: &s.panels[island.first_panel as usize..island.last_panel as usize],
            groups: &s.groups[island.first_group as usize..island.last_group as usize],
            spans: &s.spans[island.first_span as usize..island.last_span as usize],
            round: island.round,
            range: (island.first_panel as usize, island.last_panel as usize),
        }
    }

    /// Ranges of the island's entries in a padded `z`.
    pub fn spans(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<'a> {
        self.spans.iter().map(|(first, end)| *first as usize..*end as usize)
    }

    pub fn cones(&self) -> impl Iterator<Item = &'a crate::cone::program::ConeData> {
        let p = self.p;
        self.groups.iter().flat_map(move |g| &p.cones[g.first_cone as usize..g.last_cone as usize])
    }

    /// Largest magnitude among the island's entries of a padded vector.
    pub fn largest(&self, x: &[f64]) -> f64 {
        let entries =
            self.panels.iter().flat_map(|p| &x[p.x_at as usize..(p.x_at + p.dim) as usize]);
        entries.fold(0.0, |m, v| m.max(v.abs()))
    }

    /// Sum of products over the island's entries of two padded vectors.
    pub fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let entries = self.panels.iter().flat_map(|p| p.x_at as usize..(p.x_at + p.dim) as usize);
        entries.map(|i| a[i] * b[i]).sum()
    }

    /// Largest offset of a row: the speeds that the data speak of.
    pub fn speed(&self) -> f64 {
        let offsets =
            self.cones().flat_map(|c| &self.p.b[c.b_at as usize..(c.b_at + c.k) as usize]);
        offsets.fold(0.0, |m, b| m.max(b.abs()))
    }

    /// Largest entry of the linear cost, springs included. Not of the multipliers: those grow without
    /// end where rows contradict one another.
    pub fn force(&self) -> f64 {
        let mut force = 0.0_f64;
        for panel in self.panels {
            for c in &self.p.c[panel.x_at as usize..(panel.x_at + panel.dim) as usize] {
                force = force.max(c.abs());
            }
        }
        self.p.saturations.iter().fold(force, |f, s| f.max(s.gradient(0.0).abs()))
    }

    pub fn has(&self, panel: u32) -> bool {
        (self.range.0..self.range.1).contains(&(panel as usize))
    }
}
