//! Islands of a program: blocks that contacts join, with these contacts. Each is a program of its own.

use crate::contact::Contact;
use crate::program::FrictionProgram;
use crate::solution::{CoulombResiduals, CoulombSolution, Outcome};

/// The islands of a program, and the program of one of them.
#[derive(Debug, Default)]
pub(crate) struct Islands {
    /// For each block and contact, the index of its island.
    of_block: Vec<u32>,
    of_contact: Vec<u32>,
    /// Blocks and contacts, one island after another, each ascending; and the start of each island.
    blocks: Vec<u32>,
    contacts: Vec<u32>,
    first_block: Vec<u32>,
    first_contact: Vec<u32>,
    /// Index of each block in the program of its island.
    place: Vec<u32>,
    /// The program of an island, its warm start and its solution.
    pub program: FrictionProgram,
    pub lambda: Vec<f64>,
    pub u: Vec<f64>,
    pub answer: CoulombSolution,
}

/// Lists the indices of `of` by their island, ascending, with the start of each island.
fn sort(of: &[u32], count: usize, list: &mut Vec<u32>, first: &mut Vec<u32>) {
    first.clear();
    first.resize(count + 1, 0);
    for island in of {
        first[*island as usize + 1] += 1;
    }
    for k in 0..count {
        first[k + 1] += first[k];
    }
    list.clear();
    list.resize(of.len(), 0);
    for (k, island) in of.iter().enumerate() {
        let at = &mut first[*island as usize];
        list[*at as usize] = k as u32;
        *at += 1;
    }
    // each start has moved to the end of its island
    first.rotate_right(1);
    first[0] = 0;
}

impl Islands {
    /// Finds the islands of a program, and returns their number, at least 1. Contacts without blocks belong to
    /// the first one.
    pub fn find(&mut self, p: &FrictionProgram) -> usize {
        let Self { of_block, of_contact, place, .. } = self;
        // each block points to one with a lower index, or to itself
        of_block.clear();
        of_block.extend(0..p.cones.blocks.len() as u32);
        for cone in &p.cones.cones {
            let mut sides = p.cones.sides_of(cone).iter();
            let Some(first) = sides.next() else { continue };
            for side in sides {
                let [a, b] = [first, side].map(|side| root(of_block, side.block));
                of_block[a.max(b) as usize] = a.min(b);
            }
        }
        let mut count = 0;
        for k in 0..of_block.len() {
            let at = of_block[k] as usize;
            // those with a lower index have their island already
            of_block[k] = if at == k { count } else { of_block[at] };
            count += u32::from(at == k);
        }
        of_contact.clear();
        of_contact.extend(p.cones.cones.iter().map(|cone| {
            let side = p.cones.sides_of(cone).first();
            side.map_or(0, |side| of_block[side.block as usize])
        }));
        let count = count.max(1) as usize;
        sort(of_block, count, &mut self.blocks, &mut self.first_block);
        sort(of_contact, count, &mut self.contacts, &mut self.first_contact);
        place.resize(of_block.len(), 0);
        for island in self.first_block.windows(2) {
            for (k, block) in self.blocks[island[0] as usize..island[1] as usize].iter().enumerate()
            {
                place[*block as usize] = k as u32;
            }
        }
        count
    }

    /// Writes the program of an island, with the warm start of its rows if there is one.
    pub fn fill(&mut self, p: &FrictionProgram, island: usize, warm: Option<[&[f64]; 2]>) {
        let Self { of_block, blocks, contacts, first_block, first_contact, place, .. } = self;
        let (program, forces, rates) = (&mut self.program, &mut self.lambda, &mut self.u);
        let blocks = &blocks[first_block[island] as usize..first_block[island + 1] as usize];
        let contacts =
            &contacts[first_contact[island] as usize..first_contact[island + 1] as usize];
        program.reset(blocks.iter().map(|b| p.cones.blocks[*b as usize].dim as usize));
        program.negative = p.negative;
        let cones = &mut program.cones;
        for (k, block) in blocks.iter().enumerate() {
            let (to, from) = (cones.blocks[k], p.cones.blocks[*block as usize]);
            let part = |at: u32, len: u32| at as usize..(at + len) as usize;
            let cost = from.dim * from.stride;
            cones.P[part(to.P_at, cost)].copy_from_slice(&p.cones.P[part(from.P_at, cost)]);
            cones.c[part(to.at, to.dim)].copy_from_slice(&p.cones.c[part(from.at, to.dim)]);
        }
        for spring in &p.cones.saturations {
            let block = p.cones.block_of(spring.index);
            if of_block[block] as usize == island {
                let shift = cones.blocks[place[block] as usize].first;
                let mut own = *spring;
                own.index = spring.index - p.cones.blocks[block].first + shift;
                cones.push_saturation(own);
            }
        }
        forces.clear();
        rates.clear();
        for contact in contacts {
            let from = &p.contacts[*contact as usize];
            let sides = p.cones.sides_of(p.cone_of(*contact as usize)).iter();
            let sides = sides.map(|side| place[side.block as usize]);
            program.cones.push_copy(&p.cones, *contact as usize, sides);
            program.contacts.push(Contact {
                first: program.rows as u32,
                units_at: program.units.len() as u32,
                vertices_at: program.vertices.len() as u32,
                ..*from
            });
            program.rows += from.k as usize;
            program.units.extend_from_slice(p.units_of(from));
            program.vertices.extend_from_slice(p.vertices_of(from));
            if let Some([lambda, u]) = warm {
                forces.extend_from_slice(&lambda[from.rows()]);
                rates.extend_from_slice(&u[from.rows()]);
            }
        }
    }

    /// Copies the solution of the island to that of the program, and returns whether it is solved.
    /// Counts and residuals are those of all islands, and so is the method that is tried last.
    pub fn merge(&self, p: &FrictionProgram, island: usize, out: &mut CoulombSolution) -> bool {
        let Self { blocks, contacts, first_block, first_contact, program, answer, .. } = self;
        let blocks = &blocks[first_block[island] as usize..first_block[island + 1] as usize];
        let contacts =
            &contacts[first_contact[island] as usize..first_contact[island + 1] as usize];
        out.newton += answer.newton;
        out.convex += answer.convex;
        out.pivots += answer.pivots;
        out.longest = out.longest.max(answer.longest);
        out.method = out.method.max(answer.method);
        if answer.outcome != Outcome::Solved {
            return false;
        }
        for (to, from) in
            blocks.iter().map(|b| &p.cones.blocks[*b as usize]).zip(&program.cones.blocks)
        {
            let dim = to.dim as usize;
            out.x[to.first as usize..][..dim]
                .copy_from_slice(&answer.x[from.first as usize..][..dim]);
        }
        for (k, contact) in contacts.iter().enumerate() {
            let [to, from] = [p.contacts[*contact as usize].rows(), program.contacts[k].rows()];
            out.lambda[to.clone()].copy_from_slice(&answer.lambda[from.clone()]);
            out.u[to].copy_from_slice(&answer.u[from]);
            out.modes[*contact as usize] = answer.modes[k];
            out.boundary_layer[*contact as usize] = answer.boundary_layer[k];
        }
        let (all, own) = (&mut out.residuals, &answer.residuals);
        *all = CoulombResiduals {
            balance: all.balance.max(own.balance),
            overlap: all.overlap.max(own.overlap),
            cone: all.cone.max(own.cone),
            complementarity: all.complementarity.max(own.complementarity),
            dissipation: all.dissipation.max(own.dissipation),
        };
        true
    }
}

/// Lowest block that a block is joined to, with shorter ways to it afterwards.
fn root(of: &mut [u32], block: u32) -> u32 {
    let mut at = block as usize;
    while of[at] as usize != at {
        of[at] = of[of[at] as usize];
        at = of[at] as usize;
    }
    at as u32
}
