//! Units that equilibrate the cones of an island, computed from the Jacobians alone.
//!
//! With variables in the units `u` and rows in the units `1/r`, the largest entry of every cone's
//! `r E J u` is near 1, and so is the largest entry in every variable's column. The caller's units
//! of variables and rows may differ by a factor of a million. In the units found here, a violation
//! of one row is comparable with the speed of another. They are unique up to a common factor. If
//! the caller's rows are equilibrated already, they keep their unit.

use crate::program::{ConeData, ConeProgram};
use crate::structure::{Group, Island, Panel, Structure};
use crate::tolerances::units::{ALIKE, BY_CHANCE};
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Lane, lanes, lanes_mut};
use std::ops::Range;

/// Largest number of passes over the cones of an island. Two mostly suffice.
const PASSES: usize = 64;
const EVENING: usize = 2;

/// Units of variables and rows, and scratch memory.
#[derive(Debug, Default)]
pub(crate) struct Units {
    /// Unit `u` of every variable, padded; zero where no cone touches it.
    pub variable: Vec<f64>,
    /// Factor `r` of every cone's slacks; zero for a cone of zeros.
    pub row: Vec<f64>,
    /// Largest entry of `r E J` in every variable's column.
    largest: Vec<f64>,
    /// Upper bounds of the largest entry in every column of a cone's `E J`, computed row by row
    /// from entries of `E` and `J`. Also the index of each cone's first bound.
    entries: Vec<f64>,
    entries_at: Vec<u32>,
    /// Scratch: sizes of one cone in those of its variables that have a unit.
    sizes: Vec<f64>,
}

/// The larger entry in each lane; `a` where `b` is NaN.
#[inline]
fn larger(a: Lane, b: Lane) -> Lane {
    std::array::from_fn(|l| if b[l] > a[l] { b[l] } else { a[l] })
}

#[inline]
fn product(a: &Lane, b: &Lane) -> Lane {
    std::array::from_fn(|l| a[l] * b[l])
}

/// Largest magnitude of the entries of `E` that multiply row `r` of a cone's Jacobian.
pub(crate) fn edge(p: &ConeProgram, cone: &ConeData, r: usize, stride: usize) -> f64 {
    let E = &p.E[cone.E_at as usize + r * stride..][..stride];
    E.iter().fold(0.0, |m: f64, e| m.max(e.abs()))
}

impl Units {
    /// Allocates memory for a program.
    pub fn reserve(&mut self, p: &ConeProgram) {
        self.variable.resize(p.n_padded.max(self.variable.len()), 0.0);
        self.largest.resize(p.n_padded.max(self.largest.len()), 0.0);
        self.row.resize(p.cones.len().max(self.row.len()), 0.0);
        self.entries_at.resize(p.cones.len().max(self.entries_at.len()), 0);
        // one row per cone, of 1 to `MAX_ROWS` entries
        self.entries.reserve(p.J.len().saturating_sub(self.entries.len()));
        self.sizes.reserve(p.n_padded.saturating_sub(self.sizes.len()));
    }

    /// Finds the units of an island.
    pub fn fill(&mut self, p: &ConeProgram, s: &Structure, island: &Island) {
        self.reserve(p);
        let groups = &s.groups[island.first_group as usize..island.last_group as usize];
        let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
        for panel in panels {
            self.variable[padded(p, panel)].fill(0.0);
        }
        self.find_entries(p, groups);
        if self.are_alike(p, groups, panels) {
            return;
        }
        let mut started = false;
        for pass in 0.. {
            let (mut left, mut reached) = (0, 0);
            for at in 0..groups.len() {
                // alternate directions, so that a chain of blocks takes few passes
                let group = &groups[if pass % 2 == 0 { at } else { groups.len() - 1 - at }];
                for k in group.first_cone as usize..group.last_cone as usize {
                    if self.row[k] != 0.0 {
                        continue;
                    }
                    // a chain too long for `PASSES` gets another starting cone
                    started &= pass < PASSES;
                    if self.reach(p, k, &mut started) {
                        reached += i32::from(self.row[k] != 0.0);
                    } else {
                        left += 1;
                    }
                }
            }
            if left == 0 {
                break;
            }
            // blocks may be connected by their cost alone: start from another cone
            started &= reached > 0;
        }
        for _ in 0..EVENING {
            self.even_out(p, groups, panels);
        }
    }

    fn find_entries(&mut self, p: &ConeProgram, groups: &[Group]) {
        self.entries.clear();
        for k in cones_of(groups) {
            let cone = &p.cones[k];
            self.row[k] = 0.0;
            self.entries_at[k] = self.entries.len() as u32;
            let width = cone.width as usize;
            self.entries.resize(self.entries.len() + width, 0.0);
            let entries = lanes_mut(&mut self.entries[self.entries_at[k] as usize..]);
            for r in 0..cone.k as usize {
                let edge = [edge(p, cone, r, cone.stride_z as usize); LANES];
                let J = lanes(&p.J[cone.J_at as usize + r * width..][..width]);
                for (most, J) in entries.iter_mut().zip(J) {
                    *most = larger(*most, product(&J.map(f64::abs), &edge));
                }
            }
        }
    }

    /// Keeps the caller's unit for all rows if every cone moves all of its blocks about as much as
    /// another cone does. Otherwise it returns false and leaves all units undetermined.
    ///
    /// Without this test, units propagated from cone to cone would treat a small friction
    /// coefficient as a length.
    fn are_alike(&mut self, p: &ConeProgram, groups: &[Group], panels: &[Panel]) -> bool {
        let Self { variable, row, entries, entries_at, .. } = self;
        let entries_of = |k: usize| &entries[entries_at[k] as usize..];
        for k in cones_of(groups) {
            for (columns, variables) in sides(p, &p.cones[k]) {
                let largest = lanes_mut(&mut variable[variables]);
                for (most, entry) in largest.iter_mut().zip(lanes(&entries_of(k)[columns])) {
                    *most = larger(*most, *entry);
                }
            }
        }
        for panel in panels {
            let of_body = &mut variable[padded(p, panel)];
            let rounding = BY_CHANCE * of_body.iter().fold(0.0_f64, |m, v| m.max(*v));
            for v in of_body {
                *v = if *v > rounding { 1.0 / *v } else { 0.0 };
            }
        }
        let alike = cones_of(groups).all(|k| {
            sides(p, &p.cones[k]).all(|(columns, variables)| {
                let mut size = [0.0; LANES];
                for (entry, unit) in
                    lanes(&entries_of(k)[columns]).iter().zip(lanes(&variable[variables]))
                {
                    size = larger(size, product(entry, unit));
                }
                size.iter().any(|size| *size >= ALIKE)
            })
        });
        for k in cones_of(groups) {
            row[k] = f64::from(u8::from(alike));
        }
        if !alike {
            for panel in panels {
                variable[padded(p, panel)].fill(0.0);
            }
        }
        alike
    }

    /// Computes the unit of a cone from its variables that have one, then the units of its other
    /// variables. Returns false if none has a unit.
    fn reach(&mut self, p: &ConeProgram, k: usize, started: &mut bool) -> bool {
        let Self { variable, row, entries, entries_at, sizes, .. } = self;
        let cone = &p.cones[k];
        let entries = &entries[entries_at[k] as usize..][..cone.width as usize];
        sizes.clear();
        let mut all = 0.0_f64;
        for (columns, variables) in sides(p, cone) {
            for (entry, variable) in entries[columns].iter().zip(&variable[variables]) {
                all = all.max(*entry);
                let size = entry * variable;
                if size > 0.0 {
                    sizes.push(size);
                }
            }
        }
        if all == 0.0 {
            return true;
        }
        if sizes.is_empty() && *started {
            return false;
        }
        // the median is robust against a single tiny entry
        let size = if sizes.is_empty() {
            all
        } else {
            sizes.sort_unstable_by(f64::total_cmp);
            sizes[sizes.len() / 2]
        };
        *started = true;
        row[k] = 1.0 / size;
        for (columns, variables) in sides(p, cone) {
            for (entry, variable) in entries[columns].iter().zip(&mut variable[variables]) {
                if *variable == 0.0 && *entry > 0.0 {
                    *variable = size / entry;
                }
            }
        }
        true
    }

    /// Scales the largest entry of every variable to 1, then that of every cone.
    fn even_out(&mut self, p: &ConeProgram, groups: &[Group], panels: &[Panel]) {
        let Self { variable, row, largest, entries, entries_at, .. } = self;
        for panel in panels {
            largest[padded(p, panel)].fill(0.0);
        }
        for k in cones_of(groups) {
            let row = [row[k]; LANES];
            let entries = &entries[entries_at[k] as usize..];
            for (columns, variables) in sides(p, &p.cones[k]) {
                let largest = lanes_mut(&mut largest[variables]);
                for (most, entry) in largest.iter_mut().zip(lanes(&entries[columns])) {
                    *most = larger(*most, product(&row, entry));
                }
            }
        }
        for panel in panels {
            for i in padded(p, panel) {
                if largest[i] > 0.0 {
                    variable[i] = 1.0 / largest[i];
                }
            }
        }
        for k in cones_of(groups) {
            let entries = &entries[entries_at[k] as usize..];
            let mut size = [0.0; LANES];
            for (columns, variables) in sides(p, &p.cones[k]) {
                for (entry, variable) in
                    lanes(&entries[columns]).iter().zip(lanes(&variable[variables]))
                {
                    size = larger(size, product(entry, variable));
                }
            }
            let size = size.iter().fold(0.0_f64, |m, v| m.max(*v));
            row[k] = if size > 0.0 { 1.0 / size } else { 0.0 };
        }
    }
}

/// Range of a block in padded layout, padding included.
fn padded(p: &ConeProgram, panel: &Panel) -> Range<usize> {
    let block = &p.blocks[panel.block as usize];
    block.at as usize..(block.at + block.stride) as usize
}

/// For each block of a cone, its Jacobian columns and the range of its variables, padding included.
pub(crate) fn sides<'a>(
    p: &'a ConeProgram,
    cone: &ConeData,
) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<'a> {
    p.sides_of(cone).iter().map(|side| {
        let block = &p.blocks[side.block as usize];
        let [column, at, stride] = [side.column, block.at, block.stride].map(|v| v as usize);
        (column..column + stride, at..at + stride)
    })
}

/// Indices of the cones of some groups.
fn cones_of(groups: &[Group]) -> impl Iterator<Item = usize> {
    groups.iter().flat_map(|g| g.first_cone as usize..g.last_cone as usize)
}

/// For each column of a cone's Jacobian, the column and its variable in padded layout.
pub(crate) fn columns<'a>(
    p: &'a ConeProgram,
    cone: &ConeData,
) -> impl Iterator<Item = (usize, usize)> + use<'a> {
    p.sides_of(cone).iter().flat_map(|side| {
        let block = &p.blocks[side.block as usize];
        (0..block.dim).map(move |i| ((side.column + i) as usize, (block.at + i) as usize))
    })
}
