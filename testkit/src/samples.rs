//! Seeded random numbers: the same samples on every machine.

/// A small linear congruential generator.
#[derive(Clone, Debug)]
pub struct Samples(u64);

impl Samples {
    /// The sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    /// The next number, uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next number, uniform in [lower, upper).
    pub fn between(&mut self, lower: f64, upper: f64) -> f64 {
        lower + (upper - lower) * self.uniform()
    }
}
