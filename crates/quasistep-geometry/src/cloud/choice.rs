//! Which points of a cloud stand for a contact.

/// Which of a cloud's points stand for its contact with another shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The `k` points with the smallest signed distance, as in Tracy III-B; of equals any. On a dense scan
    /// they are neighbours, and act as one point: a body that lies flat on them rocks.
    Nearest {
        /// Most points per pair of shapes, ≥ 1.
        k: u32,
    },
    /// The deepest point, then those that span the contact patch: each time the one that would touch soonest
    /// if the body tilted over the edge of those that are chosen. Fewer than `k` where fewer say it all.
    ///
    /// The default, because a body at rest stays at rest: a scanned cube let down on its face with its
    /// five nearest points turns by 0.4° to 0.7° in every step, for ever; with five that span the face by
    /// less than 1e-6 rad (`docs/clouds.md`).
    Spread {
        /// Most points per pair of shapes, ≥ 1.
        k: u32,
    },
}

impl Default for Choice {
    fn default() -> Self {
        Self::Spread { k: 5 }
    }
}

impl Choice {
    /// Most points per pair of shapes.
    pub fn k(self) -> u32 {
        match self {
            Self::Nearest { k } | Self::Spread { k } => k,
        }
    }

    /// What two clouds agree on: the larger number, spread if one of them is.
    pub(super) fn joined(self, other: Self) -> Self {
        let k = self.k().max(other.k());
        match (self, other) {
            (Self::Nearest { .. }, Self::Nearest { .. }) => Self::Nearest { k },
            _ => Self::Spread { k },
        }
    }
}
