//! Description of a scene and its start in words, for the command line and Python.

use crate::run::{FirstStep, NearestPair};
use crate::scene::Scene;
use crate::words::step_words;
use quasistep::{Role, Sizes, StepParams};
use quasistep_math::shown;
use std::collections::BTreeMap;
use std::fmt;

/// Summary of a scene, as `quasistep check` prints it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Name and title of the scene.
    pub title: String,
    /// Number of bodies, without the world.
    pub bodies: usize,
    /// Number of collision shapes.
    pub shapes: usize,
    /// Number of pairs of shapes that may collide.
    pub pairs: usize,
    /// Numbers of dofs with actuated, prescribed and passive joints.
    pub dofs: [usize; 3],
    /// Number of steps of a run; the least, where a tolerance chooses their sizes.
    pub steps: usize,
    /// Sizes of steps and step settings, in words.
    pub stepping: String,
    /// Notes about how files were processed, one sentence each: convex parts of meshes, point
    /// clouds.
    pub notes: Vec<String>,
}

impl Scene {
    /// Summary of this scene.
    pub fn contents(&self) -> Contents {
        let (system, params) = (&self.system, &self.params);
        let model = system.model();
        let dofs_of = |wanted: fn(&Role) -> bool| -> usize {
            let bodies = (1..model.n_bodies()).filter(|&i| wanted(&system.roles()[i]));
            bodies.map(|i| model.body(i).v.len()).sum()
        };
        Contents {
            title: shown(&format!("{}: {}", self.name, self.title)).into_owned(),
            bodies: model.n_bodies() - 1,
            shapes: system.geoms().len(),
            pairs: system.n_pairs(),
            dofs: [
                dofs_of(|r| matches!(r, Role::Actuated(_))),
                dofs_of(|r| matches!(r, Role::Prescribed)),
                dofs_of(|r| matches!(r, Role::Passive)),
            ],
            steps: self.n_steps(),
            stepping: stepping(params),
            notes: self
                .motion_told
                .iter()
                .chain(&self.notes)
                .cloned()
                .chain(self.clouds.iter().map(|cloud| format!("cloud {cloud}")))
                .collect(),
        }
    }
}

/// A count and its noun: `1 body`, `2 bodies`.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A measured number for people: `0.123`, `1.2e-9`, and `0` for 0.
pub fn figure(x: f64) -> String {
    if x == 0.0 || (1e-3..1e4).contains(&x.abs()) {
        let rounded: f64 = format!("{x:.2e}").parse().unwrap_or(x);
        // adding 0 makes a -0 a 0
        return (rounded + 0.0).to_string();
    }
    format!("{x:.1e}")
}

/// Step settings in the words of the scene grammar.
fn stepping(params: &StepParams) -> String {
    let words: BTreeMap<_, _> = step_words(params).into_iter().collect();
    let sizes = match &params.sizes {
        None => format!("of {} s", params.time_step),
        Some(Sizes { tolerance, min, max }) => {
            format!("or more, of {min} to {max} s, each within {tolerance} m")
        }
    };
    format!(
        "{sizes}, friction {}, cone {}, motion {}, inertia {}, integration {}",
        words["friction"], words["cone"], words["motion"], words["inertia"], words["integration"]
    )
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, bodies, shapes, pairs, dofs, steps, stepping, notes } = self;
        let [actuated, prescribed, passive] = dofs;
        writeln!(f, "{title}")?;
        let bodies = counted(*bodies, "body", "bodies");
        let shapes = counted(*shapes, "shape", "shapes");
        let pairs = counted(*pairs, "pair", "pairs");
        writeln!(f, "  {bodies}, {shapes}, {pairs} of shapes may touch")?;
        let dofs = counted(dofs.iter().sum(), "dof", "dofs");
        writeln!(f, "  {dofs}: {actuated} actuated, {prescribed} prescribed, {passive} passive")?;
        write!(f, "  {} {stepping}", counted(*steps, "step", "steps"))?;
        notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}

/// Most overlapping pairs listed. Only the number of the others is given.
const NAMED: usize = 8;

/// One line for each pair that overlaps at the start. `pairs` must be sorted by distance, smallest
/// first.
pub fn overlaps_in_words(pairs: &[NearestPair]) -> Vec<String> {
    // overlaps below a nanometre are rounding on any robot's scale
    let deep = pairs.iter().filter(|pair| pair.distance < -1e-9);
    let mut lines: Vec<String> = deep
        .map(|NearestPair { a, b, distance }| {
            format!("overlap at the start: {a} and {b}, {:.3e} m deep", -distance)
        })
        .collect();
    if lines.len() > NAMED + 1 {
        let more = lines.len() - NAMED;
        lines.truncate(NAMED);
        lines.push(format!("and {more} more pairs that overlap"));
    }
    lines
}

impl FirstStep {
    /// Summary of the start, as `quasistep check` prints it.
    pub fn in_words(&self, scene: &Scene) -> String {
        let margin = scene.params.contact_margin;
        let n = self.report.contacts.len();
        let mut lines = overlaps_in_words(&self.pairs);
        if lines.is_empty() {
            lines.push(match self.pairs.first() {
                Some(NearestPair { a, b, distance }) if distance.abs() < 1e-9 => {
                    format!("nearest pair: {a} and {b} touch")
                }
                Some(NearestPair { a, b, distance }) => {
                    format!("nearest pair: {a} and {b}, {distance:.3e} m apart")
                }
                None => "nothing is near anything".into(),
            });
        }
        let nearest = lines.join("\n  ");
        let c = &self.report.certificate;
        format!(
            "  at the start: {n} contact points within {margin} m\n  {nearest}\n  \
             the first step is certified: forces balance to {} N and {} N·m",
            figure(c.force_balance),
            figure(c.torque_balance)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_are_short() {
        let all = [0.0, -0.0, 0.123_456, 1500.4, -2.0, 3.46e-9, 2.5e7].map(figure);
        assert_eq!(all, ["0", "0", "0.123", "1500", "-2", "3.5e-9", "2.5e7"]);
    }
}
