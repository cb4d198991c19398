//! Errors in files, with their position.

/// Position of an error in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A line, counted from 1.
    Line(usize),
    /// A byte offset, counted from 0.
    Byte(usize),
}

/// An error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Position of the error.
    pub place: Place,
    /// What was seen, and what would be valid.
    pub message: String,
}

impl Fault {
    /// An error at the given position.
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }

    /// An error of the file as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self::new(Place::Whole, message)
    }

    /// An error in a line, counted from 1.
    pub fn line(line: usize, message: impl Into<String>) -> Self {
        Self::new(Place::Line(line), message)
    }

    /// An error at a byte offset, counted from 0.
    pub fn byte(byte: usize, message: impl Into<String>) -> Self {
        Self::new(Place::Byte(byte), message)
    }
}
