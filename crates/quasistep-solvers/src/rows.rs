/// Sparse rows, one after another: compressed row storage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Rows {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.columns.clear();
        self.values.clear();
    }

    /// Appends a row with `values[k]` in column `columns[k]`; columns must be distinct.
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

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Columns and values of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Inner product of row `i` with `x`.
    #[inline]
    pub fn dot(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(i);
        columns.iter().zip(values).map(|(&c, v)| v * x[c as usize]).sum()
    }

    /// `y += s · row i`.
    #[inline]
    pub fn add_to(&self, i: usize, s: f64, y: &mut [f64]) {
        let (columns, values) = self.row(i);
        for (&c, v) in columns.iter().zip(values) {
            y[c as usize] += s * v;
        }
    }
}
