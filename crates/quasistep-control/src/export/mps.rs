//! Free MPS format with quadratic objective, ordered sets and indicators, in the extension
//! introduced by CPLEX.

use super::{Program, Sense};
use std::fmt::Write as _;

impl Program {
    pub(super) fn to_mps(&self) -> String {
        let mut text = String::new();
        // writing to a String cannot fail
        let mut put = |words: std::fmt::Arguments<'_>| {
            let _ = text.write_fmt(words);
        };
        let name = |column: usize| &self.columns[column].name;
        put(format_args!("* {}\nNAME mpc\nROWS\n N cost\n", self.title()));
        for row in &self.rows {
            let sense = match row.sense {
                Sense::AtLeast => 'G',
                Sense::AtMost => 'L',
                Sense::Equal => 'E',
            };
            put(format_args!(" {sense} {}\n", row.name));
        }
        let mut entries: Vec<Vec<(&str, f64)>> = vec![Vec::new(); self.columns.len()];
        for &(column, value) in &self.linear {
            entries[column].push(("cost", value));
        }
        for row in &self.rows {
            for &(column, value) in &row.terms {
                entries[column].push((&row.name, value));
            }
        }
        put(format_args!("COLUMNS\n"));
        let mut whole = false;
        let mut marks = 0;
        for (column, entries) in self.columns.iter().zip(&entries) {
            if column.binary != whole {
                whole = column.binary;
                let mark = if whole { "INTORG" } else { "INTEND" };
                put(format_args!(" M{marks} 'MARKER' '{mark}'\n"));
                marks += 1;
            }
            // a column must be listed even if only a bound, a quadratic term or a set uses it
            if entries.is_empty() {
                put(format_args!(" {} cost 0\n", column.name));
            }
            for (row, value) in entries {
                put(format_args!(" {} {row} {value}\n", column.name));
            }
        }
        if whole {
            put(format_args!(" M{marks} 'MARKER' 'INTEND'\n"));
        }
        put(format_args!("RHS\n"));
        for row in self.rows.iter().filter(|row| row.level != 0.0) {
            put(format_args!(" RHS {} {}\n", row.name, row.level));
        }
        self.put_bounds(&mut put);
        // readers expect the sets before the quadratic terms
        if !self.sets.is_empty() {
            put(format_args!("SOS\n"));
        }
        for (set, members) in &self.sets {
            put(format_args!(" S1 {set}\n"));
            for (rank, member) in members.iter().enumerate() {
                put(format_args!("  {} {}\n", name(*member), rank + 1));
            }
        }
        put(format_args!("QUADOBJ\n"));
        for &(i, j, value) in &self.quadratic {
            // the lower triangle of a symmetric Q in 1/2 xᵀ Q x
            let entry = if i == j { 2.0 * value } else { value };
            put(format_args!(" {} {} {entry}\n", name(i), name(j)));
        }
        let indicators = self.rows.iter().filter_map(|row| row.only_if.map(|only| (row, only)));
        let mut headed = false;
        for (row, (binary, value)) in indicators {
            if !std::mem::replace(&mut headed, true) {
                put(format_args!("INDICATORS\n"));
            }
            put(format_args!(" IF {} {} {}\n", row.name, name(binary), u8::from(value)));
        }
        put(format_args!("ENDATA\n"));
        text
    }

    fn put_bounds(&self, put: &mut dyn FnMut(std::fmt::Arguments<'_>)) {
        put(format_args!("BOUNDS\n"));
        for c in &self.columns {
            let name = &c.name;
            if c.binary {
                put(format_args!(" BV BND {name}\n"));
            } else if c.lower == c.upper {
                put(format_args!(" FX BND {name} {}\n", c.lower));
            } else {
                match (c.lower.is_finite(), c.upper.is_finite()) {
                    (false, false) => put(format_args!(" FR BND {name}\n")),
                    (false, true) => put(format_args!(" MI BND {name}\n")),
                    (true, _) => put(format_args!(" LO BND {name} {}\n", c.lower)),
                }
                if c.upper.is_finite() {
                    put(format_args!(" UP BND {name} {}\n", c.upper));
                }
            }
        }
    }
}
