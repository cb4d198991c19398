//! Inputs of the iteration on an island.

use crate::kernels::{Isa, lanes};
use crate::program::ConeProgram;
use crate::structure::{Counts, Group, Island, Panel, Structure};
use quasistep_linalg::kernels::larger;
use quasistep_linalg::simd::{LANES, padded};

/// The program, its structure, and the parts of both that belong to the island.
pub(super) struct Work<'a> {
    pub isa: Isa,
    pub p: &'a ConeProgram,
    pub s: &'a Structure,
    pub panels: &'a [Panel],
    pub groups: &'a [Group],
    pub spans: &'a [(u32, u32)],
    pub round: bool,
    pub range: (usize, usize),
    pub counts: Counts,
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
            counts: island.work,
        }
    }

    /// Ranges of the island's entries in a padded `z`.
    pub fn spans(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<'a> {
        self.spans.iter().map(|(first, end)| *first as usize..*end as usize)
    }

    pub fn cones(&self) -> impl Iterator<Item = &'a crate::program::ConeData> {
        let p = self.p;
        self.groups.iter().flat_map(move |g| &p.cones[g.first_cone as usize..g.last_cone as usize])
    }

    /// Inner product over the island's entries of two padded vectors over rows.
    pub fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let entries = self.panels.iter().flat_map(|p| p.x_at as usize..(p.x_at + p.dim) as usize);
        entries.map(|i| a[i] * b[i]).sum()
    }

    /// Reference speed: the largest offset of a row.
    pub fn speed(&self) -> f64 {
        // one maximum per lane, so that no operation waits for the last
        let mut most = [0.0; LANES];
        for group in self.groups {
            let (a, b) = (group.first_cone as usize, group.last_cone as usize - 1);
            let (a, b) = (&self.p.cones[a], &self.p.cones[b]);
            let end = b.b_at as usize + padded(b.k as usize);
            for b in lanes(&self.p.b[a.b_at as usize..end]) {
                for (most, b) in most.iter_mut().zip(b) {
                    *most = larger(*most, b.abs());
                }
            }
        }
        most.into_iter().fold(0.0, f64::max)
    }

    /// Largest entry of the linear cost, including Huber terms. Multipliers are not included,
    /// because they diverge where rows are inconsistent.
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
