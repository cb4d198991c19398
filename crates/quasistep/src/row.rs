//! Names of the rows of a step problem.

/// Identity of one row of the step problem, the same from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// Edge of a friction cone.
    Contact {
        /// Index of geom A.
        geom_a: u32,
        /// Index of geom B.
        geom_b: u32,
        /// Pair of features in contact, as named by the geometry.
        feature: u32,
        /// Edge of the cone.
        edge: u32,
    },
    /// Lower position limit of a dof.
    LowerLimit {
        /// Index of the limit in the model.
        limit: u32,
    },
    /// Upper position limit of a dof.
    UpperLimit {
        /// Index of the limit in the model.
        limit: u32,
    },
    /// Dry friction of a joint.
    JointFriction {
        /// Dof that it resists.
        dof: u32,
        /// Edge of its cone.
        edge: u32,
    },
}

/// Mark on the edge of a contact's row of the first of two solves, whose loads place the friction of areas: beyond any edge.
const FIRST_SOLVE: u32 = 1 << 30;

impl RowKey {
    /// The key of a contact's row of a first solve, to be kept beside that of the second; `None` for other rows, which the
    /// second has as well.
    pub(crate) fn of_first_solve(self) -> Option<Self> {
        match self {
            Self::Contact { geom_a, geom_b, feature, edge } => {
                Some(Self::Contact { geom_a, geom_b, feature, edge: edge | FIRST_SOLVE })
            }
            _ => None,
        }
    }

    pub(crate) fn is_of_first_solve(self) -> bool {
        matches!(self, Self::Contact { edge, .. } if edge & FIRST_SOLVE != 0)
    }

    /// The key that a kept row has in a first solve; `None` for rows of contacts of the second.
    pub(crate) fn in_first_solve(self) -> Option<Self> {
        match self {
            Self::Contact { geom_a, geom_b, feature, edge } => (edge & FIRST_SOLVE != 0)
                .then_some(Self::Contact { geom_a, geom_b, feature, edge: edge & !FIRST_SOLVE }),
            other => Some(other),
        }
    }
}
