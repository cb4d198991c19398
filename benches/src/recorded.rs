//! Recorded sequences of step problems, `benches/recorded/*.npz`; its README describes the format.

#[cfg(test)]
mod tests;

use quasistep::StepInput;
use quasistep_cone::{Cone, ConeMut, ConeProgram};
use quasistep_friction::{Friction, FrictionProgram};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Tangential parts of the edges of a pyramid, over their coefficients: two directions of slip, and
/// spin.
const EDGES: [[f64; 3]; 6] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [-1.0, 0.0, 0.0],
    [0.0, -1.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, -1.0],
];

/// Edges of a contact with `k` rows.
fn edges_of(k: usize) -> &'static [[f64; 3]] {
    if k == 4 { &EDGES } else { &EDGES[..4] }
}

/// A sequence of problems over the same blocks.
pub struct Sequence {
    blocks: Vec<usize>,
    largest: usize,
    contacts: Vec<usize>,
    cost: Vec<f64>,
    linear: Vec<f64>,
    pairs: Vec<i64>,
    parameters: Vec<f64>,
    jacobians: Vec<f64>,
    /// Stored solutions, accurate to about 1e-7.
    pub v: Vec<f64>,
}

type Archive = zip::ZipArchive<BufReader<File>>;

fn floats(archive: &mut Archive, name: &str) -> Vec<f64> {
    let member = archive.by_name(&format!("{name}.npy")).expect(name);
    npyz::NpyFile::new(member).expect(name).into_vec().expect(name)
}

fn integers(archive: &mut Archive, name: &str) -> Vec<i64> {
    let member = archive.by_name(&format!("{name}.npy")).expect(name);
    npyz::NpyFile::new(member).expect(name).into_vec().expect(name)
}

/// Identity of a contact: its pair of blocks and its index within the pair.
pub type Key = (i64, i64, u32);

impl Sequence {
    /// Reads a file.
    ///
    /// # Panics
    ///
    /// If the file does not exist or has another format.
    pub fn read(path: &Path) -> Self {
        let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut archive = Archive::new(BufReader::new(file)).expect("a zip archive");
        let a = &mut archive;
        let blocks: Vec<usize> = integers(a, "blocks").iter().map(|b| *b as usize).collect();
        Self {
            largest: *blocks.iter().max().expect("blocks"),
            blocks,
            contacts: integers(a, "nc").iter().map(|n| *n as usize).collect(),
            cost: floats(a, "Q"),
            linear: floats(a, "b"),
            pairs: integers(a, "blk"),
            parameters: floats(a, "par"),
            jacobians: floats(a, "J"),
            v: floats(a, "v"),
        }
    }

    /// Number of problems.
    pub fn len(&self) -> usize {
        self.contacts.len()
    }

    /// Whether there is no problem.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    /// Number of variables.
    pub fn n(&self) -> usize {
        self.blocks.iter().sum()
    }

    /// Builds problem `t`. Without `mass`, all blocks but the last have zero cost.
    pub fn build(&self, t: usize, mass: bool, round: bool, program: &mut ConeProgram) {
        program.reset(self.blocks.iter().copied());
        self.costs(t, mass, |block, row, values| match row {
            Some(row) => program.P(block, row).copy_from_slice(values),
            None => program.c(block).iter_mut().zip(values).for_each(|(c, b)| *c = -b),
        });
        for contact in self.contacts_of(t) {
            let (k, [mu, mu_spin]) = self.friction(contact);
            let mut edges = Vec::new();
            for edge in edges_of(k) {
                let scale = [mu, mu, mu_spin];
                edges.push(1.0);
                edges.extend(edge.iter().zip(scale).take(k - 1).map(|(e, mu)| e * mu));
            }
            let ellipsoid = [1.0, mu, mu, mu_spin];
            let cone = if round { Cone::Round(&ellipsoid[..k]) } else { Cone::Edges(&edges) };
            let sides = self.sides(contact);
            self.fill(contact, k, program.push_cone(cone, k, &sides));
        }
    }

    /// Builds problem `t` with exact friction. Without `mass`, all blocks but the last have zero
    /// cost.
    pub fn build_friction(&self, t: usize, mass: bool, round: bool, program: &mut FrictionProgram) {
        program.reset(self.blocks.iter().copied());
        self.costs(t, mass, |block, row, values| match row {
            Some(row) => program.P(block, row).copy_from_slice(values),
            None => program.c(block).iter_mut().zip(values).for_each(|(c, b)| *c = -b),
        });
        for contact in self.contacts_of(t) {
            let (k, [mu, mu_spin]) = self.friction(contact);
            let radii = [mu, mu, mu_spin];
            let mut directions = Vec::new();
            for edge in edges_of(k) {
                let scale = [1.0, 1.0, mu_spin / mu];
                directions.extend(edge.iter().zip(scale).take(k - 1).map(|(e, unit)| e * unit));
            }
            let friction = if round {
                Friction::Round(&radii[..k - 1])
            } else {
                Friction::Diamond { mu, directions: &directions, tangents: k - 1 }
            };
            let sides = self.sides(contact);
            self.fill(contact, k, program.push_contact(friction, &sides));
        }
    }

    /// Calls `write` with the linear cost of each block, then with each row of its matrix.
    fn costs(&self, t: usize, mass: bool, mut write: impl FnMut(usize, Option<usize>, &[f64])) {
        let (n_blocks, d) = (self.blocks.len(), self.largest);
        let mut first = t * self.n();
        for (b, &dim) in self.blocks.iter().enumerate() {
            write(b, None, &self.linear[first..first + dim]);
            first += dim;
            if mass || b + 1 == n_blocks {
                for i in 0..dim {
                    let at = ((t * n_blocks + b) * d + i) * d;
                    write(b, Some(i), &self.cost[at..at + dim]);
                }
            }
        }
    }

    /// Range of the contacts of problem `t` among those of all problems.
    fn contacts_of(&self, t: usize) -> std::ops::Range<usize> {
        let start: usize = self.contacts[..t].iter().sum();
        start..start + self.contacts[t]
    }

    /// Blocks of a contact.
    fn sides(&self, contact: usize) -> Vec<u32> {
        let pair = &self.pairs[2 * contact..2 * contact + 2];
        pair.iter().filter(|b| **b >= 0).map(|b| *b as u32).collect()
    }

    /// Number of rows of a contact, and its coefficients of friction.
    fn friction(&self, contact: usize) -> (usize, [f64; 2]) {
        let [k, mu, mu_spin] = [0, 1, 2].map(|i| self.parameters[4 * contact + i]);
        (k as usize, [mu, mu_spin])
    }

    /// Writes the Jacobian and offset of a contact.
    fn fill(&self, contact: usize, k: usize, mut rows: ConeMut<'_>) {
        rows.b()[0] = self.parameters[4 * contact + 3];
        let mut side = 0;
        for (j, &block) in self.pairs[2 * contact..2 * contact + 2].iter().enumerate() {
            if block < 0 {
                continue;
            }
            let dim = self.blocks[block as usize];
            for r in 0..k {
                let at = ((contact * 2 + j) * 4 + r) * self.largest;
                rows.J(side, r).copy_from_slice(&self.jacobians[at..at + dim]);
            }
            side += 1;
        }
    }

    /// Writes the identities of the contacts of problem `t`, in order.
    pub fn keys(&self, t: usize, keys: &mut Vec<Key>) {
        keys.clear();
        for contact in self.contacts_of(t) {
            let (a, b) = (self.pairs[2 * contact], self.pairs[2 * contact + 1]);
            let same = keys.iter().filter(|k| (k.0, k.1) == (a, b)).count();
            keys.push((a, b, same as u32));
        }
    }
}

/// The problems of every `nth` step of a shipped scene with convex friction, of those steps in which
/// no Huber term is at its limit.
pub fn scene_problems(name: &str, nth: usize) -> Vec<ConeProgram> {
    // a step with exact friction has no convex program of its own
    let scene = testkit::scene(name, &[("step.friction", "convex")]);
    let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
    let (mut input, mut out) = (StepInput::default(), Vec::new());
    for k in 1..=scene.n_steps() {
        scene.sample(k as f64 * scene.params.time_step, &mut input);
        if scene.system.step_with(&mut state, &input, &scene.params, &mut work).is_err() {
            break;
        }
        if k % nth == 0 && work.last_solution().saturated.iter().all(|s| *s == 0) {
            out.push(work.last_problem().clone());
        }
    }
    out
}
