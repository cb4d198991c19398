//! Table `mpc.csv`: one row per step, with the names of MpcNote.

use super::results::{LoopRun, keyed};
use quasistep_control::LoopContact;
use std::collections::BTreeMap;
use std::fmt::Write as _;

impl LoopRun {
    /// Columns of `mpc.csv`: name and description, with the letters of MpcNote.
    pub fn columns(&self) -> Vec<(String, String)> {
        let mut columns = vec![("k".to_owned(), "step".to_owned())];
        let mut push = |name: String, what: String| columns.push((name, what));
        for (i, dof) in self.dofs.iter().enumerate() {
            push(format!("q{}", i + 1), format!("{dof}, m or rad, at the start of the step"));
        }
        for (i, dof) in self.dofs.iter().enumerate() {
            push(format!("v{}", i + 1), format!("rate of {dof}, m/s or rad/s"));
        }
        for (i, dof) in self.inputs.iter().enumerate() {
            push(format!("u{}", i + 1), format!("input on {dof} over the step"));
        }
        let pair = |i: usize| format!("{} on {}", self.contacts[i][0], self.contacts[i][1]);
        for i in 0..self.contacts.len() {
            push(format!("c{}", i + 1), format!("normal impulse of {}, N·s", pair(i)));
        }
        let mut beta = 0;
        for (i, &n) in self.slots.tangents.values().enumerate() {
            for j in 0..n {
                beta += 1;
                let what = format!("tangential impulse {} of {}, N·s", j + 1, pair(i));
                push(format!("beta{beta}"), what);
            }
        }
        for i in 0..self.contacts.len() {
            push(format!("lam{}", i + 1), format!("slip speed of {}, m/s", pair(i)));
        }
        push("J".into(), "cost of the plan".into());
        push("bound".into(), "no plan costs less".into());
        push("nodes".into(), "nodes of the search".into());
        columns
    }

    /// Text of `mpc.csv`.
    pub fn csv(&self) -> String {
        let names: Vec<String> = self.columns().into_iter().map(|(name, _)| name).collect();
        let mut text = names.join(",");
        text.push('\n');
        for (k, step) in self.steps.iter().enumerate() {
            let mut cells = vec![k as f64];
            cells.extend(&step.x);
            cells.extend(&step.plan.inputs[0]);
            let there: BTreeMap<_, _> = keyed(&step.contacts).collect();
            let read =
                |read: &dyn Fn(&LoopContact) -> f64, key| there.get(key).map_or(0.0, |c| read(c));
            let slots = &self.slots.tangents;
            cells.extend(slots.keys().map(|key| read(&|c| c.normal, key)));
            for (key, &n) in slots {
                let beta =
                    |j: usize| move |c: &LoopContact| c.tangents.get(j).copied().unwrap_or(0.0);
                cells.extend((0..n).map(|j| read(&beta(j), key)));
            }
            cells.extend(slots.keys().map(|key| read(&|c| c.slip, key)));
            cells.extend([step.plan.cost, step.plan.bound, step.plan.nodes as f64]);
            let cells: Vec<String> = cells.iter().map(f64::to_string).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
        text
    }
}
