//! Matrices of derivatives: many directions at once where they do not meet.
//!
//! Trees that no contact couples are islands: directions of different islands go into one product, and each row
//! of the answer belongs to the one of its own island.

use super::{DerivativeError, Derivatives, InputChange, OutputChange};
use crate::system::System;

/// Island of what is told and does not answer: alone in its product.
const ALONE: usize = usize::MAX;

impl Derivatives {
    /// `∂q_next/∂q`, `n_v × n_v`, and `∂q_next/∂q_cmd`, `n_v × n_cmd_v`, row-major, both on the tangent spaces.
    ///
    /// # Errors
    ///
    /// A slice of the wrong length, or nothing was differentiated.
    pub fn jacobian(
        &mut self,
        system: &System,
        by_q: &mut [f64],
        by_q_cmd: &mut [f64],
    ) -> Result<(), DerivativeError> {
        let (n_v, n_cmd) = (system.model.n_v(), system.n_cmd_v());
        for (what, got, want) in
            [("by_q", by_q.len(), n_v * n_v), ("by_q_cmd", by_q_cmd.len(), n_v * n_cmd)]
        {
            if got != want {
                return Err(DerivativeError::Length { what, got, want });
            }
        }
        by_q.fill(0.0);
        by_q_cmd.fill(0.0);
        let island = self.islands(system);
        let dof_of_cmd: Vec<usize> =
            system.commanded().iter().flat_map(|&body| system.model.body(body).v.clone()).collect();
        let mut change = InputChange { q: vec![0.0; n_v], ..InputChange::default() };
        let mut out = OutputChange::default();
        for group in groups(&island, (0..n_v).collect()) {
            for &dof in &group {
                change.q[dof] = 1.0;
            }
            self.jvp(system, &change, false, &mut out)?;
            scatter(&island, &group, |dof| dof, &out.q_next, n_v, by_q);
            for &dof in &group {
                change.q[dof] = 0.0;
            }
        }
        change = InputChange { q_cmd: vec![0.0; n_cmd], ..InputChange::default() };
        let island_of_cmd: Vec<usize> = dof_of_cmd.iter().map(|&dof| island[dof]).collect();
        for group in groups(&island_of_cmd, (0..n_cmd).collect()) {
            for &cmd in &group {
                change.q_cmd[cmd] = 1.0;
            }
            self.jvp(system, &change, false, &mut out)?;
            scatter(&island, &group, |cmd| dof_of_cmd[cmd], &out.q_next, n_cmd, by_q_cmd);
            for &cmd in &group {
                change.q_cmd[cmd] = 0.0;
            }
        }
        Ok(())
    }

    /// Island of each dof: trees with variables, joined by contacts.
    fn islands(&self, system: &System) -> Vec<usize> {
        let mut of_block: Vec<usize> = (0..system.block_dims.len()).collect();
        let program = &self.work.problem.program;
        for cone in 0..program.n_cones() {
            let mut blocks = program.blocks_of(cone);
            if let (Some(a), Some(b)) = (blocks.next(), blocks.next()) {
                let (a, b) = (of_block[a].min(of_block[b]), of_block[a].max(of_block[b]));
                of_block.iter_mut().filter(|i| **i == b).for_each(|i| *i = a);
            }
        }
        let block = |variable: u32| system.block_of_variable[variable as usize].0 as usize;
        system.variable_of_dof.iter().map(|v| v.map_or(ALONE, |v| of_block[block(v)])).collect()
    }
}

/// Directions by turns, one of each island; those alone one by one.
fn groups(island: &[usize], directions: Vec<usize>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let n_islands = island.iter().filter(|i| **i != ALONE).max().map_or(0, |i| i + 1);
    let mut next = vec![0; n_islands];
    let mut alone = Vec::new();
    for k in directions {
        if island[k] == ALONE {
            alone.push(vec![k]);
            continue;
        }
        let turn = next[island[k]];
        next[island[k]] += 1;
        if turn == groups.len() {
            groups.push(Vec::new());
        }
        groups[turn].push(k);
    }
    groups.extend(alone);
    groups
}

/// Writes the rows of a product to the columns of their directions.
fn scatter(
    island: &[usize],
    group: &[usize],
    dof_of: impl Fn(usize) -> usize,
    rows: &[f64],
    n_columns: usize,
    to: &mut [f64],
) {
    for &column in group {
        let own = island[dof_of(column)];
        for (row, value) in rows.iter().enumerate() {
            if own == ALONE || island[row] == own {
                to[row * n_columns + column] = *value;
            }
        }
    }
}
