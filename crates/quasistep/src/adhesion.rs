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

use crate::error::{StepError, SystemError};

/// Default of [`AdhesionPad::reach`], in m. It is twice the default of
/// [`StepParams::max_overlap`](crate::StepParams::max_overlap), up to which contacts that push may
/// open in a step.
pub const DEFAULT_REACH: f64 = 0.002;

/// Rounding of expressions and interpolated commands.
const ROUNDING: f64 = 1e-9;

/// Shapes that pull what touches them. The share of the pull is a command: an entry of
/// [`StepInput::q_cmd`](crate::StepInput::q_cmd).
#[derive(Clone, Debug, PartialEq)]
pub struct AdhesionPad {
    /// Name of its command.
    pub name: String,
    /// Indices of its shapes, in any order; those of a system are sorted.
    pub geoms: Vec<usize>,
    /// Largest pull, in N, ≥ 0.
    pub pull: f64,
    /// Largest gap at which a contact point pulls, in m, ≥ 0.
    pub reach: f64,
    /// True for a cup that leaks: a pair of shapes is pulled only while all points of its contact, at
    /// least three, are in reach.
    pub seals: bool,
}

impl AdhesionPad {
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

/// Checks the pads of a definition with `n_geoms` shapes, and sorts the shapes of each.
pub(crate) fn check(
    mut pads: Vec<AdhesionPad>,
    n_geoms: usize,
) -> Result<Vec<AdhesionPad>, SystemError> {
    let bad = |what, seen, rule| Err(SystemError::Definition { what, seen, rule });
    for pad in &mut pads {
        let AdhesionPad { name, geoms: own, pull, reach, .. } = pad;
        let what = || format!("pad `{name}`");
        own.sort_unstable();
        if let Some(geom) = own.last().filter(|geom| **geom >= n_geoms) {
            return bad(what(), format!("shape {geom}"), format!("below {n_geoms}"));
        }
        for (key, value, unit) in [("pull", *pull, "N"), ("reach", *reach, "m")] {
            if !(value >= 0.0 && value.is_finite()) {
                let rule = format!("it must be ≥ 0 {unit}");
                return bad(what(), format!("{key} {value}"), rule);
            }
        }
    }
    Ok(pads)
}

/// Error if the command of a pad is outside its range.
pub(crate) fn check_shares(pads: &[AdhesionPad], shares: &[f64]) -> Result<(), StepError> {
    let mut told = pads.iter().zip(shares);
    let Some((pad, share)) = told.find(|(_, share)| !AdhesionPad::is_share(**share)) else {
        return Ok(());
    };
    let why = format!("{share} was seen; it must be from 0 to 1, a share of {} N", pad.pull);
    Err(StepError::Value { what: format!("command of pad `{}`", pad.name), why })
}
