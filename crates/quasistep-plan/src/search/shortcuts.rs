//! Shortcuts of plans that reached their goals.

use super::{Attempt, GLANCE, Search};
use crate::planner::{PlanEnd, Planner};
use crate::random::Random;
use crate::tree::Tree;

/// One try in so many goes straight to the goals, the others lead commands on straight lines.
const DIRECT: usize = 4;

impl Search<'_> {
    /// Tries to lead to the goals in fewer steps than the way to the node `best` does: a stretch of it with
    /// commands on straight lines, or an attempt from a state on the way. Returns the last node of the shortest
    /// way.
    pub(super) fn shorten(
        &mut self,
        tree: &mut Tree,
        mut best: usize,
        planner: &Planner,
        random: &mut Random,
    ) -> usize {
        for index in 0..self.limits.shortcuts {
            let way = tree.way_to(best);
            let most = way.len() - 1;
            if most < 2 || self.is_late() {
                break;
            }
            let first = (random.unit() * (most - 1) as f64) as usize;
            let is_direct = index % DIRECT == DIRECT - 1;
            let attempt = Attempt {
                index: self.limits.attempts - 1,
                planner: planner.varied(random),
                share: 1.0,
                patience: if is_direct { self.limits.patience } else { GLANCE },
                steps: most - 1,
            };
            let last = first + 2 + (random.unit() * (most - first - 1) as f64) as usize;
            let from = if is_direct {
                Some(way[first])
            } else {
                self.straight(tree, &way, (first, last.min(most)))
            };
            let Some(from) = from else { continue };
            // what is left to the goals
            if let (end, PlanEnd::Reached) = self.attempt(&attempt, tree, from) {
                best = end;
            }
        }
        best
    }

    /// Leads commands on straight lines from one state of a way to another, in as few steps as their rates and
    /// their largest changes on the way allow, then on as the way does. Returns the last node, at the latest the
    /// one that reaches all goals; none if the stretch has as few steps, or a step has no answer.
    fn straight(
        &mut self,
        tree: &mut Tree,
        way: &[usize],
        (first, last): (usize, usize),
    ) -> Option<usize> {
        let command = |k: usize| tree[way[k]].from.before.clone();
        let (from, to) = (command(first), command(last));
        let mut least: f64 = 1.0;
        for (k, (a, b)) in from.iter().zip(&to).enumerate() {
            let change = |pair: &[usize]| {
                (tree[pair[1]].from.before[k] - tree[pair[0]].from.before[k]).abs()
            };
            let largest = way.windows(2).map(change).fold(0.0, f64::max);
            if a != b {
                // as many steps as the largest change asks for, up to rounding
                least = least.max(((b - a).abs() / largest - 1e-9).ceil());
            }
        }
        if !(least < (last - first) as f64) {
            return None;
        }
        let on_line = |step: usize| {
            let share = step as f64 / least;
            from.iter().zip(&to).map(move |(a, b)| a + share * (b - a))
        };
        let mut commands: Vec<f64> = (1..=least as usize).flat_map(on_line).collect();
        commands.extend((last + 1..way.len()).flat_map(command));
        let steps = commands.len() / from.len();
        let end = self.lead(tree, way[first], &commands);
        let is_whole = tree[end].steps == tree[way[first]].steps + steps;
        (is_whole || tree[end].reached == self.world.task.goals.len()).then_some(end)
    }
}
