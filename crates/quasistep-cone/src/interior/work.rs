//! Inputs of the iteration on an island.

use crate::batches::{Batch, Batches};
use crate::kernels::{Isa, Rows};
use crate::program::{ConeData, ConeProgram};
use crate::structure::{Counts, Group, Island, Panel, Structure};

/// The program, its structure, and the parts of both that belong to the island.
pub(super) struct Work<'a> {
    pub isa: Isa,
    pub p: &'a ConeProgram,
    pub s: &'a Structure,
    pub panels: &'a [Panel],
    pub groups: &'a [Group],
    pub batches: &'a [Batch],
    pub rows: Rows<'a>,
    pub round: bool,
    pub range: (usize, usize),
    pub counts: Counts,
}

impl<'a> Work<'a> {
    pub fn new(
        isa: Isa,
        p: &'a ConeProgram,
        s: &'a Structure,
        island: &Island,
        batches: &'a Batches,
    ) -> Self {
        let own = batches.of(island);
        Self {
            isa,
            p,
            s,
            panels: &s.panels[island.first_panel as usize..island.last_panel as usize],
            groups: &s.groups[island.first_group as usize..island.last_group as usize],
            batches: own,
            rows: Rows { p, batches: own, E: &batches.E, b: &batches.b },
            round: island.round,
            range: (island.first_panel as usize, island.last_panel as usize),
            counts: island.work,
        }
    }

    pub fn cones(&self) -> impl Iterator<Item = &'a ConeData> {
        let p = self.p;
        self.groups.iter().flat_map(move |g| &p.cones[g.first_cone as usize..g.last_cone as usize])
    }

    pub fn has(&self, panel: u32) -> bool {
        (self.range.0..self.range.1).contains(&(panel as usize))
    }
}
