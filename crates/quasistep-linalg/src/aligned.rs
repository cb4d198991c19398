//! Vectors aligned to cache lines: eight numbers from an index that is a multiple of eight share
//! one line.

use std::ops::{Deref, DerefMut};

/// Number of `f64` in a cache line.
pub const LINE: usize = 8;

/// Growable vector whose first entry is at the start of a cache line.
#[derive(Debug, Default)]
pub struct Aligned {
    all: Vec<f64>,
    at: usize,
    len: usize,
}

impl Aligned {
    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Resizes to `len` entries; new entries are zero.
    pub fn resize(&mut self, len: usize) {
        if self.at + len > self.all.len() {
            let mut all = vec![0.0; len.max(2 * self.all.len()) + LINE];
            // `align_offset` may fail, with a value above `LINE`: unaligned memory is then used,
            // which is correct but slower
            let at = all.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE);
            all[at..at + self.len].copy_from_slice(self);
            (self.all, self.at) = (all, at);
        }
        let end = self.at + self.len;
        if len > self.len {
            self.all[end..self.at + len].fill(0.0);
        }
        self.len = len;
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut new = Self::default();
        new.clone_from(self);
        new
    }

    fn clone_from(&mut self, from: &Self) {
        self.resize(from.len);
        self.copy_from_slice(from);
    }
}

impl Deref for Aligned {
    type Target = [f64];

    #[inline]
    fn deref(&self) -> &[f64] {
        &self.all[self.at..self.at + self.len]
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.all[self.at..self.at + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_and_begin_a_line() {
        let mut v = Aligned::default();
        for len in [1, 5, 5, 90, 1000, 3, 70] {
            let before = v.to_vec();
            v.resize(len);
            let same = before.len().min(len);
            assert_eq!(v[..same], before[..same]);
            assert!(v[same..].iter().all(|x| *x == 0.0));
            assert_eq!(v.as_ptr().align_offset(64), 0);
            v.iter_mut().enumerate().for_each(|(i, x)| *x = i as f64 + 0.5);
            let copy = v.clone();
            assert_eq!((copy.to_vec(), copy.as_ptr().align_offset(64)), (v.to_vec(), 0));
        }
    }
}
