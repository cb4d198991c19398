//! Shape and place of a contact in a friction program.

/// Shape of a friction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Ball, in tangential rows over their units.
    Round,
    /// Polytope with this number of vertices, in tangential rows over their units.
    Polytope(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Contact {
    pub shape: Shape,
    /// Number of rows: the normal row and the tangential ones.
    pub k: u32,
    /// Index of its first row.
    pub first: u32,
    /// Index of its first unit in `units`.
    pub units_at: u32,
    /// Index of its first vertex entry in `vertices`.
    pub vertices_at: u32,
}

impl Contact {
    /// Range of its entries in `u` and `lambda`.
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.k) as usize
    }

    pub fn tangents(&self) -> usize {
        self.k as usize - 1
    }
}
