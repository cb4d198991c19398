//! Every case of contacts with round friction cones: a search for an answer, or for the proof that there is none.
//!
//! What a contact may do in a case lies in two cones, of rates and of forces (`jam.rs`). With polyhedra around
//! those that are not polyhedra, a case is a linear program. Its point nearest to the origin either obeys
//! Coulomb's law, or shows a contact that does not: then the search tells apart what that contact does, and
//! halves sectors of slip (`case_program.rs` has the program). A branch ends with an answer, or with the multipliers of a program without points.

use crate::Status;
use crate::coulomb::case_program::CaseProgram;
use crate::coulomb::jam::{DEEPEST, ModeProof, PULLS, Part, Pull, halves, is_limited, parts};
use crate::coulomb::program::FrictionProgram;

/// Rubbing contacts, and variables and rows of all contacts, up to which the search is worth its time.
const FEW_CONTACTS: usize = 8;
const FEW_ROWS: usize = 80;
/// Violation of the law, in scaled forces times rates, from which on a contact is told apart, and of a spring's,
/// in scaled forces.
const APART: f64 = 1e-12;
const STRAINED: f64 = 1e-9;
/// Cosine between directions of a sector that is not halved any more.
const NARROW: f64 = 1.0 - 1e-13;
/// Points that are handed to Newton's method.
const TRIES: u32 = 24;

/// How the search ended.
#[derive(Debug)]
pub(crate) enum Found {
    /// The caller took a point for an answer.
    Point,
    /// No answer is anywhere.
    Nothing(ModeProof),
    /// The budget ended, or numbers were too close to call.
    Open,
}

/// The search through the cases of one program.
pub(crate) struct Search<'a> {
    at: CaseProgram<'a>,
    tries: u32,
}

impl<'a> Search<'a> {
    /// A search with at most `budget` linear programs; `None` for programs that it does not know or that are too
    /// large for it.
    pub fn new(p: &'a FrictionProgram, budget: u32) -> Option<Self> {
        let at = CaseProgram::new(p, budget)?;
        let few = at.rubbing.iter().filter(|rub| !rub.is_empty()).count() <= FEW_CONTACTS;
        (few && p.n() + p.rows <= FEW_ROWS).then_some(Self { at, tries: 0 })
    }

    /// Searches; `take` is shown forces and rates in the rows of the program, and says whether they led to an answer.
    pub fn run(&mut self, take: &mut dyn FnMut(&[f64], &[f64]) -> bool) -> Found {
        self.branch(0, take)
    }

    fn branch(&mut self, depth: usize, take: &mut dyn FnMut(&[f64], &[f64]) -> bool) -> Found {
        if depth > DEEPEST || !self.at.solve() {
            return Found::Open;
        }
        let mut split = None;
        if self.at.answer.status == Status::Infeasible {
            if let Some(leaf) = self.at.contradiction() {
                return Found::Nothing(ModeProof::Contradiction(Box::new(leaf)));
            }
            // too close to call as it is; a deeper case may be clearer
            self.at.forget();
        } else {
            split = self.worst();
            let untold = |split: Split| matches!(split, Split::Contact(i) if self.at.contacts[i] == Part::Any);
            // where all that matters is told apart but for directions, Newton's method may know the rest
            if !split.is_some_and(untold) && self.tries < TRIES {
                self.tries += 1;
                let (lambda, u) = self.at.publish();
                if take(&lambda, &u) {
                    return Found::Point;
                }
            }
        }
        let Some(split) = split.or_else(|| self.any_split()) else { return Found::Open };
        // what is told apart, and the two directions between which a sector is halved
        let mut between = None;
        let ways: Vec<Way> = match split {
            Split::Spring(l) => PULLS.map(|pull| Way::Spring(l, pull)).into(),
            Split::Contact(i) => {
                let t = self.at.rubbing[i].len();
                let of = |part| Way::Contact(i, part);
                if let Part::Slip(sector) = &self.at.contacts[i] {
                    let Some(pair) = widest(sector, t) else { return Found::Open };
                    between = Some(pair);
                    halves(sector, t, pair).map(|half| of(Part::Slip(half))).into()
                } else {
                    parts(t).into_iter().map(of).collect()
                }
            }
        };
        let (mut open, mut done) = (false, Vec::new());
        for way in ways {
            let before = self.put(way);
            let found = self.branch(depth + 1, take);
            self.put(before);
            match found {
                Found::Point => return Found::Point,
                Found::Open => open = true,
                Found::Nothing(proof) => done.push(proof),
            }
            if open && self.at.solved >= self.at.budget {
                break;
            }
        }
        if open { Found::Open } else { Found::Nothing(together(split, between, done)) }
    }

    /// Puts a part in place of another, which is given back.
    fn put(&mut self, way: Way) -> Way {
        match way {
            Way::Contact(i, part) => {
                Way::Contact(i, std::mem::replace(&mut self.at.contacts[i], part))
            }
            Way::Spring(l, pull) => {
                Way::Spring(l, std::mem::replace(&mut self.at.springs[l], pull))
            }
        }
    }

    /// What is furthest from the law at the last point.
    fn worst(&self) -> Option<Split> {
        let CaseProgram { p, rubbing, springs, .. } = &self.at;
        let (mut split, mut most) = (None, APART);
        for i in 0..rubbing.len() {
            let (force, u) = (self.at.force_of(i), self.at.rates(i));
            let slip = u[1..].iter().map(|u| u * u).sum::<f64>().sqrt();
            let along = force[1..].iter().zip(&u[1..]).map(|(f, u)| f * u).sum::<f64>();
            let violation = force[0] * (u[0] + slip) + along;
            if violation > most {
                (split, most) = (Some(Split::Contact(i)), violation);
            }
        }
        for (l, spring) in p.cones.saturations.iter().enumerate() {
            if springs[l] == Pull::Any && is_limited(spring) {
                let strain = self.at.strain(l);
                if strain > most.max(STRAINED) {
                    (split, most) = (Some(Split::Spring(l)), strain);
                }
            }
        }
        split
    }

    /// Something that is not told apart yet.
    fn any_split(&self) -> Option<Split> {
        let open = self.at.contacts.iter().position(|part| *part == Part::Any).map(Split::Contact);
        let spring = || {
            let limited = |l: &usize| is_limited(&self.at.p.cones.saturations[*l]);
            (0..self.at.springs.len()).filter(limited).find(|l| self.at.springs[*l] == Pull::Any)
        };
        open.or_else(|| spring().map(Split::Spring)).or_else(|| {
            let wide = |i: &usize| match &self.at.contacts[*i] {
                Part::Slip(sector) => widest(sector, self.at.rubbing[*i].len()).is_some(),
                _ => false,
            };
            (0..self.at.contacts.len()).find(wide).map(Split::Contact)
        })
    }
}

/// Where a case is told apart.
#[derive(Clone, Copy, Debug)]
enum Split {
    Contact(usize),
    Spring(usize),
}

/// One of the ways that a split tells apart.
#[derive(Debug)]
enum Way {
    Contact(usize, Part),
    Spring(usize, Pull),
}

/// The proof of a case from those of all its parts.
fn together(split: Split, between: Option<[usize; 2]>, parts: Vec<ModeProof>) -> ModeProof {
    match (split, between) {
        (Split::Contact(i), Some(pair)) => {
            ModeProof::Sector { contact: i as u32, between: pair.map(|k| k as u32), halves: parts }
        }
        (Split::Contact(i), None) => ModeProof::Contact { contact: i as u32, parts },
        (Split::Spring(l), _) => ModeProof::Spring { spring: l as u32, parts },
    }
}

/// The two directions of a sector that are furthest apart; `None` if it is not to be halved.
fn widest(sector: &[f64], t: usize) -> Option<[usize; 2]> {
    let of = |k: usize| &sector[k * t..(k + 1) * t];
    let cosine = |[a, b]: [usize; 2]| of(a).iter().zip(of(b)).map(|(a, b)| a * b).sum::<f64>();
    let pairs = (0..t).flat_map(|a| (0..a).map(move |b| [b, a]));
    pairs.min_by(|x, y| cosine(*x).total_cmp(&cosine(*y))).filter(|pair| cosine(*pair) < NARROW)
}
