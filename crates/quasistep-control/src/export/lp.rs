//! LP format, as read by CPLEX, Gurobi and SCIP.

use super::{Program, Row, Sense};
use std::fmt::Write as _;

/// Largest number of terms per line: readers of the format stop at 255 characters.
const TERMS: usize = 6;

struct Text {
    lp: String,
    /// Number of terms on the current line.
    terms: usize,
    /// True if the expression has no term yet.
    first: bool,
}

impl Text {
    fn put(&mut self, words: std::fmt::Arguments<'_>) {
        // writing to a String cannot fail
        let _ = self.lp.write_fmt(words);
    }

    /// Writes a term such as ` + 2.5 name`, with line breaks where needed.
    fn term(&mut self, value: f64, name: std::fmt::Arguments<'_>) {
        if self.terms == TERMS {
            self.lp.push_str("\n ");
            self.terms = 0;
        }
        self.terms += 1;
        // no plus sign before the first term: some readers reject it
        let sign = match (value < 0.0, std::mem::take(&mut self.first)) {
            (true, _) => " -",
            (false, true) => "",
            (false, false) => " +",
        };
        self.put(format_args!("{sign} {} {name}", value.abs()));
    }

    fn start(&mut self) {
        self.terms = 0;
        self.first = true;
    }
}

impl Program {
    pub(super) fn to_lp(&self) -> String {
        let mut out = Text { lp: String::new(), terms: 0, first: true };
        let name = |column: usize| &self.columns[column].name;
        out.put(format_args!("\\ {}\nMinimize\n cost:", self.title()));
        for &(column, value) in &self.linear {
            out.term(value, format_args!("{}", name(column)));
        }
        out.lp.push_str(" + [");
        out.first = true;
        for &(i, j, value) in &self.quadratic {
            // the format halves the expression in brackets
            if i == j {
                out.term(2.0 * value, format_args!("{}^2", name(i)));
            } else {
                out.term(2.0 * value, format_args!("{} * {}", name(i), name(j)));
            }
        }
        out.lp.push_str(" ] / 2\nSubject To\n");
        for row in &self.rows {
            self.write_row(row, &mut out);
        }
        self.write_bounds(&mut out);
        let binaries: Vec<&str> =
            self.columns.iter().filter(|c| c.binary).map(|c| c.name.as_str()).collect();
        if !binaries.is_empty() {
            out.lp.push_str("Binaries\n");
        }
        for binary in binaries {
            out.put(format_args!(" {binary}\n"));
        }
        if !self.sets.is_empty() {
            out.lp.push_str("SOS\n");
        }
        for (set, [a, b]) in &self.sets {
            out.put(format_args!(" {set}: S1:: {}:1 {}:2\n", name(*a), name(*b)));
        }
        out.lp.push_str("End\n");
        out.lp
    }

    fn write_row(&self, row: &Row, out: &mut Text) {
        out.start();
        out.put(format_args!(" {}:", row.name));
        if let Some((binary, value)) = row.only_if {
            let name = &self.columns[binary].name;
            out.put(format_args!(" {name} = {} ->", u8::from(value)));
        }
        for &(column, value) in &row.terms {
            out.term(value, format_args!("{}", self.columns[column].name));
        }
        let sense = match row.sense {
            Sense::AtLeast => ">=",
            Sense::AtMost => "<=",
            Sense::Equal => "=",
        };
        out.put(format_args!(" {sense} {}\n", row.level));
    }

    fn write_bounds(&self, out: &mut Text) {
        out.lp.push_str("Bounds\n");
        for c in self.columns.iter().filter(|c| !c.binary) {
            if c.lower == c.upper {
                out.put(format_args!(" {} = {}\n", c.name, c.lower));
                continue;
            }
            if c.lower.is_finite() {
                out.put(format_args!(" {} >= {}\n", c.name, c.lower));
            } else {
                out.put(format_args!(" {} >= -inf\n", c.name));
            }
            if c.upper.is_finite() {
                out.put(format_args!(" {} <= {}\n", c.name, c.upper));
            }
        }
    }
}
