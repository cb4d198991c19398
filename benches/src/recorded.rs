//! Recorded sequences of step problems, `benches/recorded/*.npz`; its README describes the format.

use quasistep::StepInput;
use quasistep_solvers::{Cone, ConeProgram};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

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
    /// Stored answers, good to about 1e-7.
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

/// Identity of a contact: its pair of blocks and its number within the pair.
pub type Key = (i64, i64, u32);

impl Sequence {
    /// Reads a file.
    ///
    /// # Panics
    ///
    /// If it is not there or not of this format.
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

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    /// Number of variables.
    pub fn n(&self) -> usize {
        self.blocks.iter().sum()
    }

    /// Builds problem `t`; without mass all blocks but the last are free of cost.
    pub fn build(&self, t: usize, mass: bool, round: bool, program: &mut ConeProgram) {
        program.reset(self.blocks.iter().copied());
        let (n_blocks, d) = (self.blocks.len(), self.largest);
        let mut first = t * self.n();
        for (b, &dim) in self.blocks.iter().enumerate() {
            program.c(b).iter_mut().zip(&self.linear[first..]).for_each(|(c, b)| *c = -b);
            first += dim;
            if mass || b + 1 == n_blocks {
                for i in 0..dim {
                    let at = ((t * n_blocks + b) * d + i) * d;
                    program.P(b, i).copy_from_slice(&self.cost[at..at + dim]);
                }
            }
        }
        let start: usize = self.contacts[..t].iter().sum();
        for contact in start..start + self.contacts[t] {
            let pair = &self.pairs[2 * contact..2 * contact + 2];
            let [k, mu, mu_spin, c] = [0, 1, 2, 3].map(|i| self.parameters[4 * contact + i]);
            let k = k as usize;
            let sides: Vec<u32> = pair.iter().filter(|b| **b >= 0).map(|b| *b as u32).collect();
            let edges = [
                [1.0, mu, 0.0, 0.0],
                [1.0, 0.0, mu, 0.0],
                [1.0, -mu, 0.0, 0.0],
                [1.0, 0.0, -mu, 0.0],
                [1.0, 0.0, 0.0, mu_spin],
                [1.0, 0.0, 0.0, -mu_spin],
            ];
            let mut flat = Vec::new();
            for edge in &edges[..if k == 4 { 6 } else { 4 }] {
                flat.extend_from_slice(&edge[..k]);
            }
            let ellipsoid = [1.0, mu, mu, mu_spin];
            let cone = if round { Cone::Round(&ellipsoid[..k]) } else { Cone::Edges(&flat) };
            let mut cone = program.push_cone(cone, k, &sides);
            cone.b()[0] = c;
            let mut side = 0;
            for (j, &block) in pair.iter().enumerate() {
                if block < 0 {
                    continue;
                }
                let dim = self.blocks[block as usize];
                for r in 0..k {
                    let at = ((contact * 2 + j) * 4 + r) * d;
                    cone.J(side, r).copy_from_slice(&self.jacobians[at..at + dim]);
                }
                side += 1;
            }
        }
    }

    /// Identities of the contacts of problem `t`, in order.
    pub fn keys(&self, t: usize, keys: &mut Vec<Key>) {
        let start: usize = self.contacts[..t].iter().sum();
        keys.clear();
        for contact in start..start + self.contacts[t] {
            let (a, b) = (self.pairs[2 * contact], self.pairs[2 * contact + 1]);
            let same = keys.iter().filter(|k| (k.0, k.1) == (a, b)).count();
            keys.push((a, b, same as u32));
        }
    }
}

/// The problems of every `nth` step of a shipped scene at which no spring carries its limit.
pub fn scene_problems(name: &str, nth: usize) -> Vec<ConeProgram> {
    let scene = testkit::scene(name, &[]);
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
