//! Preview of the next plan of a loop, and constraints described with names of the scene.

use crate::closed_loop::{ClosedLoop, LoopError};
use crate::constraint::{AtStep, Constraint, Relaxed};
use crate::export::{FileFormat, Integers};
use crate::mpc::Mpc;
use crate::plan::{Plan, PlanStatus};
use crate::prediction::Prediction;
use quasistep::Linearisation;
use quasistep_qp::MiqpLimit;

/// Dimensions and contacts of a loop's next plan, before the search.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// Number of states, of inputs, and of complementarity pairs.
    pub sizes: [usize; 3],
    /// Number of contact points nearer than the margin.
    pub contacts: usize,
    /// For each contact, the names of its two bodies and the steps of the plan, from 1, at which it
    /// can act. The list of steps is empty if it cannot act.
    pub in_reach: Vec<([String; 2], Vec<usize>)>,
    /// Number of variables of the program, without contacts that cannot act.
    pub variables: usize,
    /// Number of choices between modes, without contacts that cannot act.
    pub choices: usize,
    /// Bounds that the start violates, as text.
    pub outside: Vec<String>,
}

impl std::fmt::Display for Outlook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [n_x, n_u, n_gamma] = self.sizes;
        writeln!(
            f,
            "  plans: {n_x} states, {n_u} inputs, {n_gamma} complementarity pairs of {} near contacts",
            self.contacts
        )?;
        write!(f, "  first plan: {} variables, {} choices", self.variables, self.choices)?;
        for ([a, b], steps) in &self.in_reach {
            match (steps.first(), steps.last()) {
                (Some(first), Some(last)) => {
                    write!(f, "\n  {a} on {b}: in reach from step {first} to {last}")?;
                }
                _ => write!(f, "\n  {a} on {b}: out of reach")?,
            }
        }
        self.outside.iter().try_for_each(|why| write!(f, "\n  the start violates {why}"))
    }
}

impl ClosedLoop<'_> {
    /// Preview of the next plan.
    ///
    /// # Errors
    ///
    /// The scene has no prediction model.
    pub fn outlook(&self) -> Result<Outlook, LoopError> {
        let (seen, predictions, mut mpc) = self.next_plan()?;
        let prediction = &predictions[0];
        let lcs = &prediction.lcs;
        let sizes = [lcs.n_x, lcs.n_u, lcs.n_gamma];
        let x = self.x();
        let reachable = mpc.reachable(&x)?;
        let (variables, choices) = mpc.size(&x)?;
        let in_reach = (seen.contacts.iter().zip(&prediction.entries))
            .map(|(contact, entry)| {
                let acts = |at: &&AtStep| at.constraint == Constraint::Contact(entry.normal);
                let steps = reachable.iter().filter(acts).map(|at| at.step).collect();
                ([contact.geom_a, contact.geom_b].map(|geom| self.body(geom)), steps)
            })
            .collect();
        let outside = self.in_words(&mpc.outside(&x)?);
        Ok(Outlook { sizes, contacts: seen.contacts.len(), in_reach, variables, choices, outside })
    }

    /// Writes the next plan's problem as a file for other solvers, see [`Mpc::export_lp`] and
    /// [`Mpc::export_mps`].
    ///
    /// # Errors
    ///
    /// The scene has no prediction model, or big-M is requested and an impulse has no bound.
    pub fn export(&self, format: FileFormat, integers: Integers) -> Result<String, LoopError> {
        let (_, _, mut mpc) = self.next_plan()?;
        let (x, last) = (self.x(), self.last_plan());
        Ok(match format {
            FileFormat::Lp => mpc.export_lp(&x, last, integers)?,
            FileFormat::Mps => mpc.export_mps(&x, last, integers)?,
        })
    }

    fn next_plan(&self) -> Result<(Linearisation, Vec<Prediction>, Mpc), LoopError> {
        let (seen, predictions) = self.look()?;
        let models = predictions.iter().map(|p| p.lcs.clone()).collect();
        let mpc = Mpc::new(self.problem(models), self.settings())?;
        Ok((seen, predictions, mpc))
    }

    fn body(&self, geom: usize) -> String {
        let system = self.system();
        system.model().body(system.geoms()[geom].body).name.clone()
    }

    /// Violated bounds and the sizes of their violations, as text with names of the scene.
    pub(crate) fn in_words(&self, violated: &[Relaxed]) -> Vec<String> {
        // omit digits that are rounding
        let amount = |r: &Relaxed| (r.amount * 1e9).round() / 1e9;
        violated.iter().map(|r| format!("the {} by {}", self.demand(&r.at), amount(r))).collect()
    }

    /// Describes a constraint with names of the scene.
    fn demand(&self, at: &AtStep) -> String {
        let dofs = self.system().dof_names();
        let dof = |i: usize| match i.checked_sub(dofs.len()) {
            None => format!("position `{}`", dofs[i]),
            Some(i) => format!("velocity of `{}`", dofs[i]),
        };
        let input = |i: usize| {
            let driven = self.driven();
            driven.get(i).map_or_else(|| format!("input {i}"), |&i| format!("input `{}`", dofs[i]))
        };
        let pair = |i: usize| match self.near().get(i) {
            // impulses are numbered contact by contact, normal impulses first
            Some(contact) => {
                format!("{} on {}", self.body(contact.geom_a), self.body(contact.geom_b))
            }
            None => format!("entry {i} of gamma"),
        };
        let what = match at.constraint {
            Constraint::StateLower(i) => format!("lower bound of {}", dof(i)),
            Constraint::StateUpper(i) => format!("upper bound of {}", dof(i)),
            Constraint::InputLower(i) => format!("lower bound of {}", input(i)),
            Constraint::InputUpper(i) => format!("upper bound of {}", input(i)),
            Constraint::RateLower(i) => format!("lower bound of the change of {}", input(i)),
            Constraint::RateUpper(i) => format!("upper bound of the change of {}", input(i)),
            Constraint::Impulse(i) => format!("bound of the impulse of {}", pair(i)),
            Constraint::Contact(i) => format!("contact of {}", pair(i)),
            Constraint::Friction(i) => format!("friction of {}", pair(i)),
        };
        match at.step {
            0 => format!("{what} at the start"),
            k => format!("{what} at step {k}"),
        }
    }

    /// Describes why a plan cannot be followed.
    pub(crate) fn why_none(&self, plan: &Plan) -> String {
        if !plan.conflict.is_empty() {
            let demands: Vec<String> = plan.conflict.iter().map(|at| self.demand(at)).collect();
            return format!("these cannot all hold: {}", demands.join("; "));
        }
        match plan.status {
            PlanStatus::Unknown(MiqpLimit::Stopped) => {
                "the search was stopped before it found one; give it more time".into()
            }
            PlanStatus::Unknown(MiqpLimit::Nodes) => {
                "the search ended before it found one; allow more nodes".into()
            }
            PlanStatus::Unknown(MiqpLimit::Work) => {
                "the search ended before it found one; allow more work".into()
            }
            PlanStatus::Unknown(MiqpLimit::Accuracy) => {
                "the search could not be carried out to the last digit".into()
            }
            ref status => format!("{status:?}"),
        }
    }
}
