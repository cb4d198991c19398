//! What is wrong with a file, and where.

/// Where in a file something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere in particular.
    Whole,
    /// A line, from 1.
    Line(usize),
    /// A byte, from 0.
    Byte(usize),
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What was seen, and what would be valid.
    pub message: String,
}

impl Fault {
    /// Somewhere.
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }

    /// In the file as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self::new(Place::Whole, message)
    }

    /// In a line, from 1.
    pub fn line(line: usize, message: impl Into<String>) -> Self {
        Self::new(Place::Line(line), message)
    }

    /// At a byte, from 0.
    pub fn byte(byte: usize, message: impl Into<String>) -> Self {
        Self::new(Place::Byte(byte), message)
    }
}
