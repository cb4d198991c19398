//! Contact points that pads pull, and their pulls: see `adhesion.rs`.

use crate::adhesion::Pulled;
use crate::contact::{ContactRow, ContactRows};
use crate::report::ContactReport;
use crate::system::System;

/// Points of a closed rim. Two points are those of an edge.
const LEAST_SEALED: usize = 3;

impl ContactRows {
    /// Finds the contact points that pads pull.
    pub fn find_pulls(&mut self, system: &System) {
        self.pulls.clear();
        for (index, pad) in system.pads.iter().enumerate() {
            let first = self.pulls.len();
            let (mut end, mut n) = (0, 0);
            let pair = |row: &ContactRow| (row.near.geom_a, row.near.geom_b);
            for rows in self.rows.chunk_by(|x, y| pair(x) == pair(y)) {
                let start = end;
                end += rows.len();
                let (a, b) = pair(&rows[0]);
                if !(pad.has(a) || pad.has(b)) {
                    continue;
                }
                let before = self.pulls.len();
                let in_reach = (start..).zip(rows).filter(|(_, r)| r.near.point.phi <= pad.reach);
                self.pulls.extend(in_reach.map(|(row, _)| Pulled {
                    row: row as u32,
                    pad: index as u32,
                    share: 1.0,
                }));
                let found = self.pulls.len() - before;
                if pad.seals && (found < LEAST_SEALED || found < rows.len()) {
                    self.pulls.truncate(before);
                } else if found > 0 {
                    n += rows.len();
                }
            }
            self.pulls[first..].iter_mut().for_each(|pulled| pulled.share = 1.0 / n as f64);
        }
        self.pulls.sort_unstable_by_key(|pulled| (pulled.row, pulled.pad));
    }

    /// Pulls at one contact point.
    pub fn pulls_of(&self, row: usize) -> &[Pulled] {
        let first = self.pulls.partition_point(|pulled| (pulled.row as usize) < row);
        let own = self.pulls[first..].iter().take_while(|pulled| pulled.row as usize == row);
        &self.pulls[first..first + own.count()]
    }

    /// Subtracts `J_nᵀ p` from the generalised force `tau`. `pulls` is the pull of each pad, in N.
    pub fn add_pulls(&self, pulls: &[f64], tau: &mut [f64]) {
        for pulled in &self.pulls {
            let pull = pulled.share * pulls[pulled.pad as usize];
            for (dof, column) in self.columns_of(&self.rows[pulled.row as usize]) {
                tau[dof] -= column[0] * pull;
            }
        }
    }

    /// Writes the pull at each contact, in N.
    pub fn report_pulls(&self, pulls: &[f64], contacts: &mut [ContactReport]) {
        for pulled in &self.pulls {
            contacts[pulled.row as usize].pull += pulled.share * pulls[pulled.pad as usize];
        }
    }

    /// The pull of each pad that acts, in N.
    pub fn acting(&self, pulls: &[f64]) -> impl Iterator<Item = f64> {
        pulls.iter().enumerate().map(|(pad, pull)| {
            let own = self.pulls.iter().filter(|pulled| pulled.pad as usize == pad);
            pull * own.map(|pulled| pulled.share).sum::<f64>()
        })
    }
}
