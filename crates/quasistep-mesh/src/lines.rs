//! Iterates over lines of a file with line numbers.

/// Reads bytes line by line; a line ends with `\n`, `\r\n` or `\r`.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    /// Offset of the next line, in bytes.
    at: usize,
    /// Number of the last line read, from 1.
    number: usize,
}

impl<'a> Lines<'a> {
    /// Starts before the first line.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, number: 0 }
    }

    /// Offset of the next line, in bytes.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Number of the last line read, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Number of bytes not read yet.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next line that is not blank.
    pub fn next_filled(&mut self) -> Option<&'a [u8]> {
        loop {
            let line = self.next()?.trim_ascii();
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len());
        let mark = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        self.at += (end + mark).min(rest.len());
        Some(&rest[..end])
    }
}

/// The words of a line.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}
