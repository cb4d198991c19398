//! Rule by which points of a cloud are selected as contact points.

/// Rule by which points of a cloud are selected as contact points with another shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The `k` points with the smallest signed distance, as in Tracy III-B. Ties are broken
    /// arbitrarily.
    ///
    /// On a dense scan these points are neighbours and act as one point: a body that lies flat on
    /// them rocks.
    Nearest {
        /// Largest number of contact points per pair of shapes, ≥ 1.
        k: u32,
    },
    /// The deepest point, then points that span the contact patch. Each further point is the one
    /// that would touch first if the body tilted over an edge of the points selected so far. There
    /// may be fewer than `k` points if further ones would not widen the patch.
    ///
    /// This is the default, because it keeps a resting body at rest. A scanned cube on its face
    /// turns by 0.4° to 0.7° in every step with its five nearest points. With five points that span
    /// the face it turns by less than 1e-6 rad (`docs/clouds.md`).
    Spread {
        /// Largest number of contact points per pair of shapes, ≥ 1.
        k: u32,
    },
}

impl Default for Choice {
    fn default() -> Self {
        Self::Spread { k: 5 }
    }
}

impl Choice {
    /// Largest number of contact points per pair of shapes.
    pub fn k(self) -> u32 {
        match self {
            Self::Nearest { k } | Self::Spread { k } => k,
        }
    }

    /// Rule for a pair of clouds: the larger `k`, and `Spread` if either cloud uses it.
    pub(super) fn joined(self, other: Self) -> Self {
        let k = self.k().max(other.k());
        match (self, other) {
            (Self::Nearest { .. }, Self::Nearest { .. }) => Self::Nearest { k },
            _ => Self::Spread { k },
        }
    }
}
