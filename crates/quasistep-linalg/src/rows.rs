//! Sparse matrix in compressed row storage.

use crate::kernels;

/// Sparse matrix in compressed row storage, built row by row.
///
/// It holds the `A` of the constraints `A x ≥ b`. Clearing keeps the memory, so a matrix that is
/// rebuilt at every step allocates only while it still grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Row `i` has the entries `starts[i]..starts[i + 1]`. Empty while there is no row.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Rows {
    /// A matrix without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.columns.clear();
        self.values.clear();
    }

    /// Appends a row with `values[k]` in column `columns[k]`, in any order.
    ///
    /// Values of a repeated column are added.
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn push(&mut self, columns: &[u32], values: &[f64]) {
        assert_eq!(columns.len(), values.len(), "columns and values of a row");
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.columns.extend_from_slice(columns);
        self.values.extend_from_slice(values);
        self.starts.push(self.columns.len());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Number of stored entries.
    pub fn entries(&self) -> u64 {
        self.values.len() as u64
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Columns and values of row `i`, in the order of insertion.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Inner product of row `i` with `x`, which is as long as the matrix has columns.
    #[inline]
    pub fn dot(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(i);
        kernels::sparse_dot(columns, values, x)
    }

    /// `y += s · row i`.
    #[inline]
    pub fn add_to(&self, i: usize, s: f64, y: &mut [f64]) {
        let (columns, values) = self.row(i);
        for (&c, v) in columns.iter().zip(values) {
            y[c as usize] += s * v;
        }
    }

    /// Reserves memory for as many rows and entries as `other` holds.
    pub fn reserve_like(&mut self, other: &Rows) {
        self.starts.reserve(other.starts.len());
        self.columns.reserve(other.columns.len());
        self.values.reserve(other.values.len());
    }

    /// Appends a row, each value multiplied by the factor of its column. Entries with factor 0 are
    /// omitted.
    pub fn push_scaled(&mut self, columns: &[u32], values: &[f64], factor: impl Fn(u32) -> f64) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        for (&c, v) in columns.iter().zip(values) {
            let f = factor(c);
            if f != 0.0 {
                self.columns.push(c);
                self.values.push(v * f);
            }
        }
        self.starts.push(self.columns.len());
    }

    /// True if every column is below `n`.
    pub fn fits(&self, n: usize) -> bool {
        self.columns.iter().all(|&c| (c as usize) < n)
    }

    /// True if every value is finite.
    pub fn is_finite(&self) -> bool {
        self.values.iter().all(|v| v.is_finite())
    }
}
