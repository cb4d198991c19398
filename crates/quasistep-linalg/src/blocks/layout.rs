//! Layout of a block factor: panels in elimination order, and the updates between them.

use crate::simd::padded;

/// Panels of a factor, and the updates between them.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    /// Panels, in elimination order.
    pub panels: &'a [Panel],
    /// Blocks right of the diagonal, panel by panel.
    pub columns: &'a [Column],
    /// Updates, in the order of the panels that they change.
    pub updates: &'a [Update],
    /// Terms of the updates.
    pub terms: &'a [Term],
}

/// Row block of the upper factor `U`, `H = Uᵀ U`: the diagonal block, then the blocks to its right,
/// each row-major and padded.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    /// Index of its block of variables.
    pub block: u32,
    /// Number of rows.
    pub dim: u32,
    /// Number of columns, padding included.
    pub width: u32,
    /// Index of its first entry in the factor.
    pub at: u32,
    /// Index of its first row among the rows of all panels.
    pub first_row: u32,
    /// Index of the first entry of its diagonal block's inverse, which has `dim` padded rows.
    pub W_at: u32,
    /// Index of its first variable in a padded vector.
    pub x_at: u32,
    /// Range of its blocks right of the diagonal.
    pub first_column: u32,
    /// End of that range.
    pub last_column: u32,
    /// Index in [`Updates::all`] of the first update subtracted from it.
    pub first_update: u32,
    /// End of the range of its updates.
    pub last_update: u32,
}

impl Panel {
    /// Number of columns of the diagonal block, padding included.
    #[inline]
    pub fn stride(&self) -> u32 {
        padded(self.dim as usize) as u32
    }

    /// Number of entries of the panel.
    #[inline]
    pub fn len(&self) -> u32 {
        self.dim * self.width
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Block to the right of the diagonal block.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Panel whose variables are its columns.
    pub panel: u32,
    /// Index of its first variable in a padded vector.
    pub x_at: u32,
    /// Number of columns, padding included.
    pub stride: u32,
    /// Index of its first entry in the factor.
    pub at: u32,
}

/// Schur complement update `H[at ..] −= Σ_terms U[row ..]ᵀ U[column ..]` of a block of `dim` rows
/// and `stride` columns.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// Index of the first entry that it changes.
    pub at: u32,
    /// Number of rows.
    pub dim: u32,
    /// Number of columns, padding included.
    pub stride: u32,
    /// Range of its terms.
    pub first_term: u32,
    /// End of that range.
    pub last_term: u32,
}

/// Two blocks of one panel, and the panel's number of rows.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// Index of the block that is transposed.
    pub row: u32,
    /// Index of the other block.
    pub column: u32,
    /// Number of rows of both.
    pub dim: u32,
}

/// Destination of the product of two sides of a group: `H[at + i width ..] += J_rowᵀ G J_column`.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// First column of the side that gives the rows, and its number of columns.
    pub row: u32,
    /// Number of columns of the side that gives the rows.
    pub dim: u32,
    /// First column of the side that gives the columns, and its padded number of columns.
    pub column: u32,
    /// Padded number of columns of the side that gives the columns.
    pub width: u32,
    /// Index of the first entry that it changes.
    pub at: u32,
}

/// All updates of a factor.
#[derive(Debug, Default)]
pub struct Updates {
    /// The updates.
    pub all: Vec<Update>,
    /// Their terms.
    pub terms: Vec<Term>,
    /// Updates sorted by target panel: the first source of each target, and for each source the
    /// target's column in it.
    source_starts: Vec<u32>,
    sources: Vec<(u32, u32)>,
}

/// Largest number of source panels in one update. Their blocks fit the first-level cache together.
const SOURCES: usize = 8;

impl Updates {
    /// Finds the updates of each panel from earlier panels.
    pub fn find(&mut self, panels: &mut [Panel], columns: &[Column]) {
        let Self { all: updates, terms, source_starts: starts, sources } = self;
        starts.clear();
        starts.resize(panels.len() + 2, 0);
        for column in columns {
            starts[column.panel as usize + 2] += 1;
        }
        for p in 2..starts.len() {
            starts[p] += starts[p - 1];
        }
        sources.clear();
        sources.resize(columns.len(), (0, 0));
        for (p, panel) in panels.iter().enumerate() {
            for c in panel.first_column..panel.last_column {
                let next = &mut starts[columns[c as usize].panel as usize + 1];
                sources[*next as usize] = (p as u32, c);
                *next += 1;
            }
        }
        updates.clear();
        terms.clear();
        // reserve no more than the list of updates needs: it is the longest list
        let columns_of = |panel: &Panel| (panel.last_column - panel.first_column) as usize;
        terms.reserve_exact(panels.iter().map(columns_of).map(|k| k * (k + 1) / 2).sum());
        for target in 0..panels.len() {
            let to = panels[target];
            panels[target].first_update = updates.len() as u32;
            let own = &mut sources[starts[target] as usize..starts[target + 1] as usize];
            for sources in own.chunks_mut(SOURCES) {
                let diagonal = (target as u32, to.at, to.stride());
                let right = &columns[to.first_column as usize..to.last_column as usize];
                let right = right.iter().map(|c| (c.panel, c.at, c.stride));
                let rows: [u32; SOURCES] = std::array::from_fn(|i| {
                    sources.get(i).map_or(0, |(_, c)| columns[*c as usize].at)
                });
                for (panel, at, stride) in std::iter::once(diagonal).chain(right) {
                    let first_term = terms.len() as u32;
                    for ((source, next), row) in sources.iter_mut().zip(rows) {
                        let source = &panels[*source as usize];
                        let column = columns.get(*next as usize);
                        if let Some(column) = column
                            && *next < source.last_column
                            && column.panel == panel
                        {
                            terms.push(Term { row, column: column.at, dim: source.dim });
                            *next += 1;
                        }
                    }
                    let last_term = terms.len() as u32;
                    if last_term > first_term {
                        updates.push(Update { at, dim: to.dim, stride, first_term, last_term });
                    }
                }
            }
            panels[target].last_update = updates.len() as u32;
        }
    }
}

impl Layout<'_> {
    /// Index of the first entry of the block of `of` in the columns of `panel`, with its column
    /// data.
    pub fn column_of(self, of: &Panel, panel: u32) -> Column {
        let columns = &self.columns[of.first_column as usize..of.last_column as usize];
        let k = columns.binary_search_by_key(&panel, |c| c.panel).expect("fill is closed");
        columns[k]
    }
}
