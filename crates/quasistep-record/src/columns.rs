//! Stores columns of numbers as bytes that compress well.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};

/// Precision of contact numbers in a file. States and commands always keep double precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// Double precision.
    All,
    /// Single precision: a third of the size, and still more digits than a page or a plot shows.
    Single,
}

/// Level of compression: a quarter of the time of zlib's default, for 3 % more bytes.
const LEVEL: u32 = 3;

/// Compresses bytes with zlib.
///
/// # Errors
///
/// None in practice, because the bytes stay in memory.
pub fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(LEVEL));
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Packs columns of little-endian numbers: first the lowest byte of every number in the column,
/// then the next byte of every number. Similar bytes are thus adjacent, which halves the compressed
/// size.
#[derive(Default)]
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// The buffer, to append text after the columns.
    pub fn text(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The bytes of all columns.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn column<const N: usize>(&mut self, numbers: &[[u8; N]]) {
        for k in 0..N {
            self.bytes.extend(numbers.iter().map(|number| number[k]));
        }
    }

    /// Appends a column of f64.
    pub fn doubles(&mut self, numbers: impl Iterator<Item = f64>) {
        self.column(&numbers.map(f64::to_le_bytes).collect::<Vec<_>>());
    }

    /// Appends a column of f64 or f32.
    pub fn reals(&mut self, digits: Digits, numbers: impl Iterator<Item = f64>) {
        match digits {
            Digits::All => self.doubles(numbers),
            Digits::Single => {
                self.column(&numbers.map(|v| single(v).to_le_bytes()).collect::<Vec<_>>());
            }
        }
    }

    /// Appends a column of u32.
    pub fn words(&mut self, numbers: impl Iterator<Item = usize>) {
        self.column(&numbers.map(|v| (v as u32).to_le_bytes()).collect::<Vec<_>>());
    }
}

/// Converts to single precision, clamped to the finite range.
fn single(v: f64) -> f32 {
    v.clamp(f32::MIN.into(), f32::MAX.into()) as f32
}

pub struct Unpacker<'a> {
    rest: &'a [u8],
}

impl<'a> Unpacker<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes after the columns read so far.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn column<const N: usize>(&mut self, count: usize) -> Result<Vec<[u8; N]>, String> {
        let planes = count.checked_mul(N).and_then(|n| self.rest.split_at_checked(n));
        let (planes, rest) = planes.ok_or("its columns end too early")?;
        self.rest = rest;
        Ok((0..count).map(|i| std::array::from_fn(|k| planes[k * count + i])).collect())
    }

    pub fn doubles(&mut self, count: usize) -> Result<Vec<f64>, String> {
        Ok(self.column(count)?.into_iter().map(f64::from_le_bytes).collect())
    }

    pub fn reals(&mut self, digits: Digits, count: usize) -> Result<Vec<f64>, String> {
        match digits {
            Digits::All => self.doubles(count),
            Digits::Single => {
                Ok(self.column(count)?.into_iter().map(|b| f32::from_le_bytes(b).into()).collect())
            }
        }
    }

    pub fn words(&mut self, count: usize) -> Result<Vec<usize>, String> {
        Ok(self.column(count)?.into_iter().map(|b| u32::from_le_bytes(b) as usize).collect())
    }
}
