//! Symbolic analysis of a program: islands of blocks, elimination order, fill.
//!
//! It depends on the graph of blocks and cones only. Consecutive programs mostly have the same
//! graph, so the analysis is kept until the graph changes.

use crate::program::{ConeData, ConeProgram};
use quasistep_linalg::aligned::LINE;
pub(crate) use quasistep_linalg::blocks::layout::{Column, Panel, Target};
use quasistep_linalg::blocks::layout::{Layout, Updates};
use quasistep_linalg::blocks::order::Order;

/// Groups of consecutive cones of one shape over the same blocks, islands, and the layout of the
/// factor.
#[derive(Debug, Default)]
pub struct Structure {
    /// Key of the graph: block sizes, then the blocks of every group.
    key: Vec<u32>,
    next_key: Vec<u32>,
    /// Groups, sorted by island.
    pub groups: Vec<Group>,
    /// Places in the factor where the products of the groups go.
    pub targets: Vec<Target>,
    /// Connected components.
    pub islands: Vec<Island>,
    /// Ranges of the islands in a padded `z`, sorted by island.
    pub(crate) spans: Vec<(u32, u32)>,
    /// Panels in elimination order, sorted by island.
    pub panels: Vec<Panel>,
    /// Panel of each block.
    pub panel_of_block: Vec<u32>,
    /// Blocks of the factor right of the diagonal.
    pub columns: Vec<Column>,
    updates: Updates,
    /// Number of entries of the factor.
    pub H_len: usize,
    /// Number of entries of the inverses of the diagonal blocks.
    pub W_len: usize,
    order: Order,
    /// Groups in the order of the program.
    found: Vec<Group>,
}

/// Consecutive cones over the same blocks, with equal numbers of Jacobian rows and of padded edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Group {
    /// Range of its cones.
    pub first_cone: u32,
    /// End of that range.
    pub last_cone: u32,
    /// Index of the group's first target in [`Structure::targets`].
    pub first_target: u32,
    /// End of the range of its targets.
    pub last_target: u32,
}

/// Connected component of the graph of blocks and cones.
#[derive(Clone, Copy, Debug)]
pub struct Island {
    /// Range of its panels.
    pub first_panel: u32,
    /// End of that range.
    pub last_panel: u32,
    /// Range of its groups.
    pub first_group: u32,
    /// End of that range.
    pub last_group: u32,
    /// Number of its cones, and whether one of them is round.
    pub(crate) cones: u32,
    pub(crate) round: bool,
    /// Index of its first range in [`Structure::spans`].
    pub(crate) first_span: u32,
    pub(crate) last_span: u32,
    /// Multiply-adds of one iteration.
    pub work: Counts,
}

/// Multiply-adds of a factorisation that take as long as one of a row's product with a vector and
/// what goes with it: cones, barriers, line searches.
const ROWS: u64 = 4;
/// The same for a product without rows.
const PRODUCT: u64 = 4000;

/// Multiply-adds of the parts of one iteration on an island.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Products of the cones' Jacobians, and the factorisation of their sum.
    pub factor: u64,
    /// One solve with the factor.
    pub solve: u64,
    /// One product of all rows with a vector, with what a step does for each row.
    pub rows: u64,
    /// The factorisation alone.
    own: u64,
}

/// Whether two cones belong to one group.
fn alike(program: &ConeProgram, a: &ConeData, b: &ConeData) -> bool {
    let (one, other) = (program.sides_of(a), program.sides_of(b));
    a.k == b.k
        && a.stride_z == b.stride_z
        && a.round == b.round
        && one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| a.block == b.block)
}

impl Structure {
    /// Updates `self` to the structure of `program`.
    pub fn update(&mut self, program: &ConeProgram) {
        self.update_within(program, u64::MAX);
    }

    /// Updates `self` to the structure of `program`. Returns false, with undefined contents, if a
    /// factorisation takes more than `most` multiply-adds.
    pub fn update_within(&mut self, program: &ConeProgram, most: u64) -> bool {
        let key = &mut self.next_key;
        key.clear();
        key.push(program.blocks.len() as u32);
        key.extend(program.blocks.iter().map(|b| b.dim));
        let mut previous = None;
        for (i, cone) in program.cones.iter().enumerate() {
            if !previous.is_some_and(|p| alike(program, p, cone)) {
                let sides = program.sides_of(cone);
                let round = u32::from(cone.round);
                key.extend([i as u32, cone.k, cone.stride_z, round, sides.len() as u32]);
                key.extend(sides.iter().map(|s| s.block));
            }
            previous = Some(cone);
        }
        key.push(program.cones.len() as u32);
        if self.key != self.next_key {
            std::mem::swap(&mut self.key, &mut self.next_key);
            if !self.build(program, most) {
                self.key.clear();
                return false;
            }
        }
        self.find_spans(program);
        true
    }

    /// Finds the ranges of each island in a padded `z`. The number of edges may change while the
    /// graph does not.
    fn find_spans(&mut self, program: &ConeProgram) {
        let Self { spans, islands, groups, .. } = self;
        spans.clear();
        for island in islands {
            island.first_span = spans.len() as u32;
            island.round = false;
            let (mut rows, mut products) = (0, 0);
            for group in &groups[island.first_group as usize..island.last_group as usize] {
                let first = &program.cones[group.first_cone as usize];
                let last = &program.cones[group.last_cone as usize - 1];
                island.round |= first.round;
                let [k, m, width] = [first.k, first.stride_z, first.width].map(u64::from);
                let count = u64::from(group.last_cone - group.first_cone);
                rows += count * k * (width + m);
                products += count * k * (k * (m + width) + width * width / 2);
                let end = last.at + last.stride_z;
                let own = spans.len() as u32 > island.first_span;
                match spans.last_mut() {
                    Some(span) if own && span.1 == first.at => span.1 = end,
                    _ => spans.push((first.at, end)),
                }
            }
            island.last_span = spans.len() as u32;
            island.work.rows = ROWS * rows + PRODUCT;
            island.work.factor = island.work.own + products;
        }
    }

    /// What the block factorisations need.
    pub fn layout(&self) -> Layout<'_> {
        let Self { panels, columns, updates: Updates { all: updates, terms, .. }, .. } = self;
        Layout { panels, columns, updates, terms }
    }

    fn build(&mut self, program: &ConeProgram, most: u64) -> bool {
        self.find_groups(program);
        if !self.find_order(program, most) {
            return false;
        }
        self.lay_out(program);
        self.sort_groups(program);
        true
    }

    fn find_groups(&mut self, program: &ConeProgram) {
        let groups = &mut self.found;
        groups.clear();
        for (i, cone) in program.cones.iter().enumerate() {
            let i = i as u32;
            if let Some(last) = groups.last_mut()
                && alike(program, &program.cones[last.first_cone as usize], cone)
            {
                last.last_cone = i + 1;
                continue;
            }
            groups.push(Group { first_cone: i, last_cone: i + 1, ..Group::default() });
        }
    }

    fn find_order(&mut self, program: &ConeProgram, most: u64) -> bool {
        let Self { order, found: groups, .. } = self;
        let block = |b: u32| &program.blocks[b as usize];
        order.start(program.blocks.len());
        for group in groups {
            let sides = program.sides_of(&program.cones[group.first_cone as usize]);
            for (i, a) in sides.iter().enumerate() {
                for b in &sides[i + 1..] {
                    order.connect(a.block, b.block);
                }
            }
        }
        order.find(|b| block(b).dim, most)
    }

    fn lay_out(&mut self, program: &ConeProgram) {
        let s = &mut self.order;
        self.panels.clear();
        self.columns.clear();
        self.islands.clear();
        let (mut at, mut first_row, mut W_at) = (0, 0, 0);
        for (p, &block) in s.blocks.iter().enumerate() {
            let data = &program.blocks[block as usize];
            let around = &mut s.neighbours[block as usize];
            around.sort_unstable_by_key(|&b| s.position[b as usize]);
            let first_column = self.columns.len() as u32;
            let mut width = data.stride;
            for &other in around.iter() {
                let o = &program.blocks[other as usize];
                self.columns.push(Column {
                    panel: s.position[other as usize],
                    x_at: o.at,
                    stride: o.stride,
                    at: at + data.dim * width,
                });
                width += o.stride;
            }
            self.panels.push(Panel {
                block,
                dim: data.dim,
                width,
                at,
                first_row,
                W_at,
                x_at: data.at,
                first_column,
                last_column: self.columns.len() as u32,
                first_update: 0,
                last_update: 0,
            });
            at = (at + width * data.dim).next_multiple_of(LINE as u32);
            first_row += data.dim;
            W_at += data.dim * data.stride;
            let island = s.island_of[block as usize];
            if p == 0 || island != s.island_of[s.blocks[p - 1] as usize] {
                self.islands.push(Island {
                    first_panel: p as u32,
                    last_panel: p as u32,
                    first_group: 0,
                    last_group: 0,
                    cones: 0,
                    round: false,
                    first_span: 0,
                    last_span: 0,
                    work: Counts::default(),
                });
            }
            self.islands.last_mut().expect("pushed above").last_panel = p as u32 + 1;
        }
        self.H_len = at as usize;
        self.W_len = W_at as usize;
        self.panel_of_block.clear();
        self.panel_of_block.extend_from_slice(&s.position);

        self.updates.find(&mut self.panels, &self.columns);
        self.count_work();
    }

    /// Counts the multiply-adds of every island's factorisation and of a solve with it.
    fn count_work(&mut self) {
        let Self { islands, panels, updates: Updates { all: updates, terms, .. }, .. } = self;
        for island in islands {
            let panels = &panels[island.first_panel as usize..island.last_panel as usize];
            let (mut own, mut solve) = (0, 0);
            for panel in panels {
                own += u64::from(panel.dim) * u64::from(panel.len());
                solve += 2 * u64::from(panel.len());
                for update in &updates[panel.first_update as usize..panel.last_update as usize] {
                    let terms = &terms[update.first_term as usize..update.last_term as usize];
                    let deep: u64 = terms.iter().map(|term| u64::from(term.dim)).sum();
                    own += u64::from(update.dim) * u64::from(update.stride) * deep;
                }
            }
            (island.work.own, island.work.solve) = (own, solve);
        }
    }

    /// Sorts groups by island, and finds the targets of their products.
    fn sort_groups(&mut self, program: &ConeProgram) {
        self.groups.clear();
        self.groups.extend_from_slice(&self.found);
        let island_of = &self.order.island_of;
        let key = |g: &Group| {
            let sides = program.sides_of(&program.cones[g.first_cone as usize]);
            (sides.first().map_or(u32::MAX, |s| island_of[s.block as usize]), g.first_cone)
        };
        self.groups.sort_unstable_by_key(key);
        self.targets.clear();
        for g in 0..self.groups.len() {
            let first_target = self.targets.len() as u32;
            let cone = &program.cones[self.groups[g].first_cone as usize];
            let sides = program.sides_of(cone);
            for a in sides {
                for b in sides {
                    let (pa, pb) = (
                        self.panel_of_block[a.block as usize],
                        self.panel_of_block[b.block as usize],
                    );
                    if pa > pb {
                        continue;
                    }
                    let panel = self.panels[pa as usize];
                    let at =
                        if pa == pb { panel.at } else { self.layout().column_of(&panel, pb).at };
                    self.targets.push(Target {
                        row: a.column,
                        dim: program.blocks[a.block as usize].dim,
                        column: b.column,
                        width: program.blocks[b.block as usize].stride,
                        at,
                    });
                }
            }
            self.groups[g].first_target = first_target;
            self.groups[g].last_target = self.targets.len() as u32;
        }
        let mut g = 0;
        for island in &mut self.islands {
            let block = self.panels[island.first_panel as usize].block;
            let root = island_of[block as usize];
            island.first_group = g as u32;
            while g < self.groups.len() && key(&self.groups[g]).0 == root {
                island.cones += self.groups[g].last_cone - self.groups[g].first_cone;
                g += 1;
            }
            island.last_group = g as u32;
        }
    }
}
