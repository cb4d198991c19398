//! Identities of the rows of a step's program.

/// Identity of one row of the step's program; stable from step to step.
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
        /// Index of the dof.
        dof: u32,
        /// Edge of the friction cone.
        edge: u32,
    },
    /// Friction of the support surface of a planar joint.
    Support {
        /// Body carried by the joint.
        body: u32,
        /// Edge of the friction cone.
        edge: u32,
    },
}
