//! One copy of a repeated model, and the names in its expressions.

use crate::expr::{Expr, Names};
use crate::extents::Extents;

/// One copy of a repeated model, with the values of names in its expressions.
#[derive(Debug)]
pub(crate) struct Replica {
    /// Name of the copy: the model's name and the copy index.
    pub name: String,
    /// Index of the copy, from 0.
    pub index: usize,
    pub seed: u64,
    /// Values of names defined in `let`.
    pub values: Vec<(String, f64)>,
}

/// An expression in a copy, with its place in the file.
pub(crate) struct Place<'a> {
    pub replica: &'a Replica,
    pub key: &'a str,
    /// Bounding boxes of the bodies defined above.
    pub extents: Option<&'a Extents>,
}

impl Names for Place<'_> {
    fn valid(&self) -> Vec<&str> {
        let own = self.replica.values.iter().map(|(name, _)| name.as_str());
        own.chain(self.extents.into_iter().flat_map(Extents::names)).collect()
    }

    fn value(&self, name: &str) -> Option<Expr> {
        let found = self.replica.values.iter().find(|(n, _)| n == name);
        let value = found.map(|(_, value)| *value);
        value.or_else(|| self.extents?.get(name)).map(Expr::Number)
    }

    /// A random number in [0, 1) that depends on the seed, the place and the copy only. Other lines
    /// of the file and the number of copies do not change it.
    fn draw(&self, k: usize) -> Option<f64> {
        let mut bits = mix(self.replica.seed);
        for byte in self.key.bytes() {
            bits = mix(bits ^ u64::from(byte));
        }
        bits = mix(mix(bits ^ self.replica.index as u64) ^ k as u64);
        // the upper 53 bits fill the significand of a double
        Some((bits >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// Mixes the bits of a number: one step of the generator SplitMix64.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
