//! Tables of numbers from CSV files.

use crate::document::At;
use quasistep_formats::files;
use quasistep_formats::{SceneError, unknown};
use std::path::Path;

/// Named columns of finite numbers.
pub(crate) struct Csv {
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
}

impl Csv {
    /// Reads a file whose first line has the column names, among them `needed`. Errors quote nothing
    /// of a file without it, which may be any file.
    pub fn read(path: &Path, needed: &str) -> Result<Self, SceneError> {
        let file = path.display().to_string();
        let text = files::read_to_string(path).map_err(|e| {
            SceneError::new(&file, None, "", format!("the file {file} is not readable: {e}"))
        })?;
        let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
        let names: Vec<String> = lines
            .next()
            .map(|(_, l)| l.split(',').map(|c| c.trim().to_owned()).collect())
            .unwrap_or_default();
        if !names.iter().any(|name| name == needed) {
            let message = format!("unknown column `{needed}`: the first line of {file} names none");
            return Err(SceneError::new(&file, None, "", message));
        }
        let mut rows = Vec::new();
        for (k, line) in lines {
            let fail = |message: String| Err(SceneError::new(&file, Some(k + 1), "", message));
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != names.len() {
                return fail(format!(
                    "{} cells were seen under {} names",
                    cells.len(),
                    names.len()
                ));
            }
            let mut row = Vec::with_capacity(cells.len());
            for (cell, name) in cells.iter().zip(&names) {
                match cell.parse::<f64>() {
                    Ok(x) if x.is_finite() => row.push(x),
                    _ => {
                        return fail(format!(
                            "`{cell}` was seen in column `{name}`; it must be a finite number"
                        ));
                    }
                }
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(SceneError::new(&file, Some(1), "", "no row of numbers was seen"));
        }
        Ok(Self { names, rows })
    }

    /// The column with this name; `at` is the place to report if there is none.
    pub fn column(&self, name: &str, at: &At<'_>) -> Result<Vec<f64>, SceneError> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let index = names.iter().position(|n| *n == name);
        let index = index.ok_or_else(|| at.error(unknown("column", name, &names)))?;
        Ok(self.rows.iter().map(|row| row[index]).collect())
    }
}
