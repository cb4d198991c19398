//! Adhesion: pads that pull what touches them, such as suction cups, magnets and tape.
//!
//! ```text
//! tau −= Σ_i J_n,iᵀ p_i,     p_i = share · pull / n     every point i of the pad with phi_i ≤ reach
//! ```
//!
//! | here    | meaning                                                                  | unit |
//! |---------|--------------------------------------------------------------------------|------|
//! | `share` | command of the pad at the end of the step, 0 to 1                        | –    |
//! | `pull`  | largest pull of the pad                                                  | N    |
//! | `n`     | points of all pairs of shapes of which at least one point is in reach    | –    |
//!
//! The pull is a known load on both bodies, and the contact remains an ordinary one: a contact force
//! `N` net of the pull presses the surfaces with `lambda_n = N + p ≥ 0`, so the pad holds up to `p`
//! and rubs with `mu (N + p)`. MuJoCo spreads the force of its `adhesion` actuators in the same way.
//! Points of a contact that have opened beyond the reach do not pull: a pad that peels off loses
//! their part of the pull, or all of it if it has to seal.

use crate::contact::{ContactRow, ContactRows};
use crate::error::{StepError, SystemError};
use crate::report::ContactReport;
use crate::system::{Geom, System, bad};

/// Default of [`Pad::reach`], in m. It is twice the default of
/// [`StepParams::max_overlap`](crate::StepParams::max_overlap), up to which contacts that push may
/// open in a step.
pub const DEFAULT_REACH: f64 = 0.002;

/// Points of a closed rim. Two points are those of an edge.
const LEAST_SEALED: usize = 3;
/// Rounding of expressions and interpolated commands.
const ROUNDING: f64 = 1e-9;

/// Shapes that pull what touches them. The share of the pull is a command: an entry of
/// [`StepInput::q_cmd`](crate::StepInput::q_cmd).
#[derive(Clone, Debug, PartialEq)]
pub struct Pad {
    /// Name of its command.
    pub name: String,
    /// Indices of its shapes, in any order; [`System`] sorts them.
    pub geoms: Vec<usize>,
    /// Largest pull, in N, ≥ 0.
    pub pull: f64,
    /// Largest gap at which a contact point pulls, in m, ≥ 0.
    pub reach: f64,
    /// True for a cup that leaks: a pair of shapes is pulled only while all points of its contact, at
    /// least three, are in reach.
    pub seals: bool,
}

impl Pad {
    /// True for a command from 0 to 1, up to rounding.
    pub fn is_share(command: f64) -> bool {
        (-ROUNDING..=1.0 + ROUNDING).contains(&command)
    }

    pub(crate) fn has(&self, geom: u32) -> bool {
        self.geoms.binary_search(&(geom as usize)).is_ok()
    }
}

/// A contact point that a pad pulls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pulled {
    /// Row of the contact point.
    pub row: u32,
    pub pad: u32,
    /// `1/n`.
    pub share: f64,
}

/// Checks the pads of a definition, and sorts their shapes.
pub(crate) fn check(mut pads: Vec<Pad>, geoms: &[Geom]) -> Result<Vec<Pad>, SystemError> {
    for pad in &mut pads {
        let Pad { name, geoms: own, pull, reach, .. } = pad;
        let what = || format!("pad `{name}`");
        own.sort_unstable();
        if let Some(geom) = own.last().filter(|geom| **geom >= geoms.len()) {
            let rule = format!("below {}", geoms.len());
            return Err(bad(what(), format!("shape {geom}"), rule));
        }
        for (key, value, unit) in [("pull", *pull, "N"), ("reach", *reach, "m")] {
            if !(value >= 0.0 && value.is_finite()) {
                let rule = format!("it must be ≥ 0 {unit}");
                return Err(bad(what(), format!("{key} {value}"), rule));
            }
        }
    }
    Ok(pads)
}

impl System {
    /// Pads, in the order of their commands at the end of `q_cmd`.
    pub fn pads(&self) -> &[Pad] {
        &self.pads
    }

    /// The commands of pads among those of a step.
    pub(crate) fn shares<'a>(&self, q_cmd: &'a [f64]) -> &'a [f64] {
        &q_cmd[q_cmd.len() - self.pads.len()..]
    }

    pub(crate) fn check_shares(&self, q_cmd: &[f64]) -> Result<(), StepError> {
        let mut pads = self.pads.iter().zip(self.shares(q_cmd));
        let Some((pad, share)) = pads.find(|(_, share)| !Pad::is_share(**share)) else {
            return Ok(());
        };
        let why = format!("{share} was seen; it must be from 0 to 1, a share of {} N", pad.pull);
        Err(StepError::Value { what: format!("command of pad `{}`", pad.name), why })
    }
}

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
