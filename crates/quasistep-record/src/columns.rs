//! Columns of numbers as bytes that compress well.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};

/// How the numbers of contacts are kept; states and commands keep all digits in either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// In double precision.
    All,
    /// In single precision: a third of the size, and more digits than a page or a plot shows.
    Single,
}

/// Bytes compressed with zlib.
///
/// # Errors
///
/// None that is known: the bytes stay in memory.
pub fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Columns of numbers: little endian, the lowest byte of each number first, then the next of each: bytes that are alike
/// stand together, which halves what compression leaves.
#[derive(Default)]
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// Where text behind the columns is written to.
    pub fn text(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// All columns so far.
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

/// The nearest single precision number that is finite.
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

    /// What stands behind the columns read so far.
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
