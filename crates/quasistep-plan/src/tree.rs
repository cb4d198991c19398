//! Tree of the states that a search reached.

use crate::goal::GoalError;
use crate::planner::{Plan, PlanEnd};
use crate::random::Random;
use crate::rollout::From;
use std::cmp::Ordering;
use std::ops::{Index, IndexMut};

/// Share by which each try in vain makes a state count as farther from the goal.
const TRIED: f64 = 0.25;

/// Number of steps to go back for each try, at most.
const BACK: f64 = 3.0;

/// A try is in vain if more than this share of the way to the goal is left after it.
const GAIN: f64 = 0.9;

/// A state.
pub struct Node {
    /// The state, and the command that led to it.
    pub from: From,
    /// Index of the node before; the root is its own.
    parent: usize,
    /// Number of steps from the root.
    pub steps: usize,
    /// Number of goals that were reached on the way.
    pub reached: usize,
    /// Error of the last goal reached or tried.
    pub error: GoalError,
    /// How far it is from it: how far points of bodies have to move, in m, where new grasps may be taken;
    /// else the error as a share of its tolerance.
    pub far: f64,
}

/// Nodes, parents first.
pub struct Tree {
    nodes: Vec<Node>,
    /// Where attempts were nearest to their goals, and how often a new grasp was tried there.
    ends: Vec<(usize, f64)>,
}

impl Index<usize> for Tree {
    type Output = Node;

    fn index(&self, node: usize) -> &Node {
        &self.nodes[node]
    }
}

impl IndexMut<usize> for Tree {
    fn index_mut(&mut self, node: usize) -> &mut Node {
        &mut self.nodes[node]
    }
}

impl Tree {
    pub fn new(from: From) -> Self {
        let root =
            Node { from, parent: 0, steps: 0, reached: 0, error: GoalError::default(), far: 0.0 };
        Self { nodes: vec![root], ends: Vec::new() }
    }

    /// Adds a state one step after another. Returns its index.
    pub fn push(&mut self, parent: usize, from: From) -> usize {
        let Node { steps, reached, error, far, .. } = self.nodes[parent];
        self.nodes.push(Node { from, parent, steps: steps + 1, reached, error, far });
        self.nodes.len() - 1
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Nodes that are nearer to the goals than the node before and all nodes behind: the nearest first, at
    /// most so many.
    pub fn nearest_of_ways(&self, most: usize) -> Vec<usize> {
        let mut is_nearest = vec![true; self.len()];
        for node in 1..self.len() {
            let parent = self.nodes[node].parent;
            let farther = if self.is_nearer(node, parent) { parent } else { node };
            is_nearest[farther] = false;
        }
        let mut all: Vec<usize> = (0..self.len()).filter(|node| is_nearest[*node]).collect();
        all.sort_by(|a, b| self.by_distance(*a, *b));
        all.truncate(most);
        all
    }

    /// Ends of attempts behind the first `n`.
    pub fn ends_after(&self, n: usize) -> Vec<usize> {
        self.ends.iter().skip(n).map(|(end, _)| *end).collect()
    }

    /// Nodes from the root to one of them, both included.
    pub fn way_to(&self, node: usize) -> Vec<usize> {
        let up = |node: &usize| (*node > 0).then(|| self.nodes[*node].parent);
        let mut way: Vec<usize> = std::iter::successors(Some(node), up).collect();
        way.reverse();
        way
    }

    /// A node from which to try again: in half of all cases the root, else any on the way to one.
    pub fn anywhere_on_the_way_to(&self, node: usize, random: &mut Random) -> usize {
        if random.unit() < 0.5 {
            return 0;
        }
        let way = self.way_to(node);
        way[(random.unit() * way.len() as f64) as usize]
    }

    /// Notes where an attempt was nearest to its goal. `origin` is the end from which it came, if any;
    /// where little was gained its tries count on.
    pub fn note_end(&mut self, node: usize, origin: Option<usize>) {
        let tries = match origin.map(|origin| self.ends[origin]) {
            Some((from, tries)) if self.nodes[node].far > GAIN * self.nodes[from].far => tries,
            _ => 0.0,
        };
        if self.ends.iter().all(|(end, _)| *end != node) {
            self.ends.push((node, tries));
        }
    }

    /// The end of an attempt from which a new grasp promises most: the nearest to the goals, unless it
    /// was tried often. Counts the try.
    pub fn most_promising(&mut self, most: usize, random: &mut Random) -> (usize, Option<usize>) {
        let rank = |&(node, tries): &(usize, f64)| {
            let node = &self.nodes[node];
            (-(node.reached as f64), node.far * (1.0 + TRIED * tries))
        };
        let order = |a: &(usize, f64), b: &(usize, f64)| {
            let ((a, far_a), (b, far_b)) = (rank(a), rank(b));
            a.total_cmp(&b).then(far_a.total_cmp(&far_b))
        };
        let open = (0..self.ends.len()).filter(|end| self.nodes[self.ends[*end].0].steps < most);
        let nearest = open.min_by(|a, b| order(&self.ends[*a], &self.ends[*b]));
        let Some(nearest) = nearest else { return (0, None) };
        let (node, tries) = self.ends[nearest];
        self.ends[nearest].1 += 1.0;
        // where nothing leads away, go back
        let way = self.way_to(node);
        let back = (random.unit() * BACK * tries) as usize;
        (way[(way.len() - 1).saturating_sub(back)], Some(nearest))
    }

    /// True if a node is nearer to the goals than another.
    pub fn is_nearer(&self, node: usize, other: usize) -> bool {
        self.by_distance(node, other).is_lt()
    }

    /// Orders two nodes: the one that is nearer to the goals is less.
    fn by_distance(&self, node: usize, other: usize) -> Ordering {
        let [node, other] = [node, other].map(|node| &self.nodes[node]);
        other.reached.cmp(&node.reached).then(node.far.total_cmp(&other.far))
    }

    /// The commands that lead to a node.
    pub fn plan(&self, node: usize, status: PlanEnd, time_step: f64) -> Plan {
        let way: Vec<&Node> = self.way_to(node).into_iter().map(|node| &self.nodes[node]).collect();
        let mut reached = Vec::new();
        for (step, node) in way.iter().enumerate() {
            reached.resize(node.reached, step);
        }
        Plan {
            status,
            time_step,
            commands: way[1..].iter().flat_map(|node| node.from.before.iter().copied()).collect(),
            q: way.iter().flat_map(|node| node.from.state.q.iter().copied()).collect(),
            reached,
            errors: way.iter().map(|node| node.error).collect(),
        }
    }
}
