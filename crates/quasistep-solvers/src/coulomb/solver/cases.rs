//! Pyramids around round cones, Lemke's method, and the search through all cases.

use super::{CoulombSettings, CoulombSolver, CoulombWarm, refute};
use crate::coulomb::program::FrictionProgram;
use crate::coulomb::pyramid;
use crate::coulomb::sectors::{Found, Search};
use crate::coulomb::solution::{CoulombMethod, CoulombSolution, JamProof, Outcome, Refutation};
use crate::lcp::problem::LcpOutcome;
use crate::lcp::proof::Proof;

impl CoulombSolver {
    /// Round cones by circumscribed pyramids: known forces that these cannot meet the cones cannot, and where
    /// these have an answer, Newton's method may find that of the cones from there. True if either decided.
    pub(super) fn circumscribe(&mut self, p: &FrictionProgram, out: &mut CoulombSolution) -> bool {
        let mut memory = self.around.take().unwrap_or_default();
        let (outer, inner, answer) = &mut *memory;
        outer.circumscribe(p);
        inner.solve(outer, None, &CoulombSettings { newton: true, cases: 1 }, answer);
        out.convex += answer.convex;
        out.pivots += answer.pivots;
        out.longest = out.longest.max(answer.longest);
        let decided = match (answer.outcome, &answer.refutation) {
            (Outcome::Solved, _) => {
                let start = CoulombWarm { lambda: &answer.lambda, u: &answer.u, relaxed: None };
                self.newton(p, Some(start), out)
            }
            (Outcome::Unsolvable, Some(refutation)) => {
                let refutation = refutation.clone();
                refute(p, refutation, out)
            }
            _ => false,
        };
        if decided && out.outcome == Outcome::Solved {
            out.method = CoulombMethod::Pyramid;
        }
        self.around = Some(memory);
        decided
    }

    /// The cases of few round contacts, with so many linear programs; true if that decided.
    pub(super) fn sectors(
        &mut self,
        p: &FrictionProgram,
        cases: u32,
        out: &mut CoulombSolution,
    ) -> bool {
        let Some(mut search) = Search::new(p, cases) else { return false };
        let found = search.run(&mut |lambda, u| {
            self.newton(p, Some(CoulombWarm { lambda, u, relaxed: None }), out)
        });
        let decided = match found {
            Found::Point => true,
            Found::Nothing(proof) => {
                let mut marks = vec![false; p.contacts.len()];
                proof.mark(p, &mut marks);
                let contacts = (0..).zip(marks).filter_map(|(i, mark)| mark.then_some(i)).collect();
                let proof = JamProof::Modes(proof);
                refute(p, Refutation::Jammed { proof, contacts }, out)
            }
            Found::Open => false,
        };
        if decided {
            out.method = CoulombMethod::Cases;
        }
        decided
    }

    /// Lemke's method, with a search through so many cases; true if it decided.
    pub(super) fn lemke(
        &mut self,
        p: &FrictionProgram,
        related: bool,
        cases: u32,
        out: &mut CoulombSolution,
    ) -> bool {
        let Self { lemke, lcp, firsts, active, shift, answer, .. } = self;
        active.clear();
        if related {
            let (x, lambda, u) = (&shift.answer.x, &shift.lambda, &shift.u);
            pyramid::active_pairs(p, firsts, x, lambda, u, active);
        }
        lemke.budget = Some(cases);
        lemke.solve(lcp, active, answer);
        out.pivots += answer.pivots;
        out.longest = out.longest.max(answer.longest);
        let method = if answer.cases > 1 { CoulombMethod::Cases } else { CoulombMethod::Lemke };
        match answer.outcome {
            LcpOutcome::Solved => {
                out.x.copy_from_slice(&answer.x);
                pyramid::forces(p, firsts, &answer.z, &mut out.lambda);
                let holds = self.law.judge(p, false, out);
                if holds {
                    out.outcome = Outcome::Solved;
                    out.method = method;
                }
                holds
            }
            LcpOutcome::Unsolvable => {
                let proof = answer.proof.take().unwrap_or_default();
                let contacts = self.blamed(&proof);
                let proof = JamProof::Pairs(proof);
                let refuted = refute(p, Refutation::Jammed { proof, contacts }, out);
                out.method = if refuted { CoulombMethod::Cases } else { out.method };
                refuted
            }
            LcpOutcome::Undecided | LcpOutcome::GaveUp => false,
        }
    }

    /// Contacts that appear in a proof.
    fn blamed(&self, proof: &Proof) -> Vec<u32> {
        let free = self.lcp.n_free();
        let mut contacts: Vec<u32> = proof
            .cases
            .iter()
            .flat_map(|case| case.y.iter().enumerate().skip(free))
            .filter(|(_, y)| **y != 0.0)
            .filter_map(|(i, _)| pyramid::contact_of(&self.firsts, (i - free) as u32))
            .collect();
        contacts.sort_unstable();
        contacts.dedup();
        contacts
    }
}
