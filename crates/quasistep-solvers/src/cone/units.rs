//! Units in which the contacts of an island are alike, found from the Jacobians alone.
//!
//! With variables in the units `u` and rows in the units `1/r`, the largest entry of every cone's
//! `r E J u` is near one, and so is the largest of every variable. A lever arm, a friction coefficient
//! or an inclined normal is near one beside masses, joints and rows whose units may be a million apart.
//! Where contacts come in units of their own, these are the only ones in which an error at one of them
//! can be compared with the speed of another. They are known up to a common factor.

use crate::cone::program::{ConeData, ConeProgram, MAX_ROWS};
use crate::cone::structure::{Group, Island, Structure};

/// Passes over the contacts that reach all of an island, most often two; then those that even out.
const PASSES: usize = 64;
const EVENING: usize = 2;
/// Most variables of one cone.
const MOST: usize = 256;

/// Units of variables and rows; memory.
#[derive(Debug, Default)]
pub(crate) struct Units {
    /// Size of every variable, in padded layout; zero where no cone touches it.
    pub variable: Vec<f64>,
    /// One over the size of a cone's slacks; zero of a cone of zeros.
    pub row: Vec<f64>,
    /// Largest entry of `r E J` of every variable.
    largest: Vec<f64>,
}

/// Largest entry of `E J` of a cone with respect to every variable of one side: at most, with entries of
/// `E` and `J` taken row by row.
fn entry(p: &ConeProgram, cone: &ConeData, edges: &[f64; MAX_ROWS], column: usize) -> f64 {
    let J = |r: usize| p.J[cone.J_at as usize + r * cone.width as usize + column].abs();
    (0..cone.k as usize).fold(0.0, |most: f64, r| most.max(J(r) * edges[r]))
}

/// [`edge`] of all rows.
fn edges(p: &ConeProgram, cone: &ConeData) -> [f64; MAX_ROWS] {
    let mut edges = [0.0; MAX_ROWS];
    for (r, to) in edges.iter_mut().enumerate().take(cone.k as usize) {
        *to = edge(p, cone, r, cone.stride_z as usize);
    }
    edges
}

/// Largest entry of `E` that multiplies row `r` of a cone's Jacobian.
pub(crate) fn edge(p: &ConeProgram, cone: &ConeData, r: usize, stride: usize) -> f64 {
    let E = &p.E[cone.E_at as usize + r * stride..][..stride];
    E.iter().fold(0.0, |m: f64, e| m.max(e.abs()))
}

impl Units {
    /// Makes room for a program.
    pub fn reserve(&mut self, p: &ConeProgram) {
        self.variable.resize(p.n_padded.max(self.variable.len()), 0.0);
        self.largest.resize(p.n_padded.max(self.largest.len()), 0.0);
        self.row.resize(p.cones.len().max(self.row.len()), 0.0);
    }

    /// Finds the units of an island.
    pub fn fill(&mut self, p: &ConeProgram, s: &Structure, island: &Island) {
        self.reserve(p);
        let groups = &s.groups[island.first_group as usize..island.last_group as usize];
        let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
        for panel in panels {
            self.variable[panel.x_at as usize..][..panel.dim as usize].fill(0.0);
        }
        for k in cones_of(groups) {
            self.row[k] = 0.0;
        }
        let mut started = false;
        for pass in 0.. {
            let (mut left, mut reached) = (0, 0);
            for at in 0..groups.len() {
                // there and back, so that a chain of bodies takes few passes
                let group = &groups[if pass % 2 == 0 { at } else { groups.len() - 1 - at }];
                for k in group.first_cone as usize..group.last_cone as usize {
                    if self.row[k] != 0.0 {
                        continue;
                    }
                    // longer chains than that start anew wherever they are
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
            // joints of one arm hang together by their cost alone: their contacts start anew, like the first
            started &= reached > 0;
        }
        for _ in 0..EVENING {
            self.even_out(p, groups);
        }
    }

    /// Units of a cone by those of its variables, then of variables that have none yet; false if none of
    /// them has one.
    fn reach(&mut self, p: &ConeProgram, k: usize, started: &mut bool) -> bool {
        let cone = &p.cones[k];
        let edges = edges(p, cone);
        let (mut sizes, mut count, mut all) = ([0.0; MOST], 0, 0.0_f64);
        for (column, i) in columns(p, cone) {
            let entry = entry(p, cone, &edges, column);
            all = all.max(entry);
            let size = entry * self.variable[i];
            if size > 0.0 && count < MOST {
                sizes[count] = size;
                count += 1;
            }
        }
        if all == 0.0 {
            return true;
        }
        if count == 0 && *started {
            return false;
        }
        // an entry may be tiny by chance: the median is not
        let size = if count == 0 {
            all
        } else {
            let sizes = &mut sizes[..count];
            sizes.sort_unstable_by(f64::total_cmp);
            sizes[count / 2]
        };
        *started = true;
        self.row[k] = 1.0 / size;
        for (column, i) in columns(p, cone) {
            let entry = entry(p, cone, &edges, column);
            if self.variable[i] == 0.0 && entry > 0.0 {
                self.variable[i] = size / entry;
            }
        }
        true
    }

    /// Makes the largest entry of every variable one, then that of every cone.
    fn even_out(&mut self, p: &ConeProgram, groups: &[Group]) {
        for k in cones_of(groups) {
            for (_, i) in columns(p, &p.cones[k]) {
                self.largest[i] = 0.0;
            }
        }
        for k in cones_of(groups) {
            let cone = &p.cones[k];
            let edges = edges(p, cone);
            for (column, i) in columns(p, cone) {
                let size = self.row[k] * entry(p, cone, &edges, column);
                self.largest[i] = self.largest[i].max(size);
            }
        }
        for k in cones_of(groups) {
            let cone = &p.cones[k];
            let edges = edges(p, cone);
            let mut size = 0.0_f64;
            for (column, i) in columns(p, cone) {
                if self.largest[i] > 0.0 {
                    self.variable[i] = 1.0 / self.largest[i];
                    size = size.max(entry(p, cone, &edges, column) * self.variable[i]);
                }
            }
            self.row[k] = if size > 0.0 { 1.0 / size } else { 0.0 };
        }
    }
}

/// The cones of some groups.
fn cones_of(groups: &[Group]) -> impl Iterator<Item = usize> {
    groups.iter().flat_map(|g| g.first_cone as usize..g.last_cone as usize)
}

/// Columns of a cone's Jacobian and the variables that they belong to, in padded layout.
pub(crate) fn columns<'a>(
    p: &'a ConeProgram,
    cone: &ConeData,
) -> impl Iterator<Item = (usize, usize)> + use<'a> {
    p.sides_of(cone).iter().flat_map(|side| {
        let block = &p.blocks[side.block as usize];
        (0..block.dim).map(move |i| ((side.column + i) as usize, (block.at + i) as usize))
    })
}
