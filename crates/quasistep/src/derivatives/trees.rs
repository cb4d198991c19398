//! Layout of a system's dofs tree by tree, so that data of one tree are contiguous.

use crate::system::{System, trees};
use quasistep_model::WORLD;
use std::ops::Range;

/// Position of each dof when dofs are sorted by tree, and the columns that move each body. Fixed by
/// the system.
#[derive(Debug, Default)]
pub(super) struct Trees {
    pub of_body: Vec<usize>,
    /// Range of dof positions of each tree.
    pub places: Vec<Range<usize>>,
    pub place_of_dof: Vec<usize>,
    pub dof_at: Vec<usize>,
    /// Index and size of each tree's block of variables; `None` without one.
    pub blocks: Vec<Option<(usize, usize)>>,
    pub dof_of_variable: Vec<usize>,
    pub cmd_of_dof: Vec<Option<usize>>,
    /// Joint columns that move each body, from the root outwards.
    columns: Vec<u32>,
    of_path: Vec<Range<usize>>,
}

impl Trees {
    pub fn new(system: &System) -> Self {
        let model = &system.model;
        let roots = trees(model, &system.constraints);
        let mut names = roots.clone();
        names.sort_unstable();
        names.dedup();
        let of_body: Vec<usize> =
            roots.iter().map(|root| names.partition_point(|name| name < root)).collect();
        let mut out = Self {
            place_of_dof: vec![0; model.n_v()],
            blocks: vec![None; names.len()],
            dof_of_variable: vec![0; system.block_of_variable.len()],
            cmd_of_dof: vec![None; model.n_v()],
            ..Self::default()
        };
        for tree in 0..names.len() {
            let first = out.dof_at.len();
            for dof in 0..model.n_v() {
                if of_body[system.body_of_dof[dof]] != tree {
                    continue;
                }
                out.place_of_dof[dof] = out.dof_at.len();
                out.dof_at.push(dof);
                if let Some(variable) = system.variable_of_dof[dof] {
                    let block = system.block_of_variable[variable as usize].0 as usize;
                    out.blocks[tree] = Some((block, system.block_dims[block]));
                    out.dof_of_variable[variable as usize] = dof;
                }
            }
            out.places.push(first..out.dof_at.len());
        }
        let commanded = system.commanded().iter().flat_map(|&body| model.body(body).v.clone());
        for (cmd, dof) in commanded.enumerate() {
            out.cmd_of_dof[dof] = Some(cmd);
        }
        for body in 0..model.n_bodies() {
            let first = out.columns.len();
            if body != WORLD {
                let of_parent = out.of_path[model.body(body).parent].clone();
                out.columns.extend_from_within(of_parent);
                out.columns.extend(model.columns_of(body).map(|c| c as u32));
            }
            out.of_path.push(first..out.columns.len());
        }
        out.of_body = of_body;
        out
    }

    /// Indices in `Kinematics::columns` of the columns that move a body.
    pub fn path(&self, body: usize) -> &[u32] {
        &self.columns[self.of_path[body].clone()]
    }

    /// Dofs of a block's variables.
    pub fn variables_of_block(&self, system: &System, block: usize) -> &[usize] {
        let first = system.block_of_variable.partition_point(|v| (v.0 as usize) < block);
        &self.dof_of_variable[first..][..system.block_dims[block]]
    }

    /// Range of dof positions of a body's tree.
    pub fn places_of(&self, body: usize) -> Range<usize> {
        self.places[self.of_body[body]].clone()
    }
}
