//! Search for paths: two random trees, from the start and from the goal, grow towards one another
//! (RRT-Connect, Kuffner and LaValle 2000). Every straight piece keeps the distances of
//! `clearance.rs`. Where bodies touch at an end, the distances' own gradient leads away first.

use crate::approach::Approach;
use crate::clearance::Clearance;
use crate::random::Random;
use quasistep::StepError;
use std::ops::ControlFlow;

/// Longest piece of a tree, as a share of the length of the space of joints.
const PIECE: f64 = 0.1;
/// Number of halvings of a piece that is blocked.
const HALVINGS: usize = 3;
/// Number of shortcuts that are tried.
const SHORTCUTS: usize = 200;
/// Number of steps of Newton's method that lead away from contacts.
const RETREATS: usize = 100;

/// A random tree of values of the joints.
#[derive(Default)]
struct Tree {
    nodes: Vec<Vec<f64>>,
    parents: Vec<usize>,
}

impl Tree {
    fn push(&mut self, x: Vec<f64>, parent: usize) -> usize {
        self.nodes.push(x);
        self.parents.push(parent);
        self.nodes.len() - 1
    }

    /// Nodes from the root to one of them.
    fn branch(&self, node: usize) -> Vec<Vec<f64>> {
        let up = |node: &usize| (*node > 0).then(|| self.parents[*node]);
        let mut way: Vec<usize> = std::iter::successors(Some(node), up).collect();
        way.reverse();
        way.into_iter().map(|node| self.nodes[node].clone()).collect()
    }
}

/// What a search ended with.
pub enum Found {
    /// Corners of a path.
    Path(Vec<Vec<f64>>),
    /// No path, and what is known of the reason.
    None(String),
    /// The caller stopped it.
    Stopped,
}

/// How far a tree grew.
#[derive(Clone, Copy, PartialEq)]
enum Growth {
    /// To the target.
    Reached,
    /// By a whole piece.
    Piece,
    /// By a part of a piece; the rest is blocked.
    Part,
}

pub struct Search<'a> {
    clearance: &'a Clearance<'a>,
    space: &'a [[f64; 2]],
    random: Random,
    /// Largest motion of a point per unit of each joint, in m: what the lengths of pieces weigh.
    levers: Vec<f64>,
    /// Longest piece of a tree.
    piece: f64,
}

impl<'a> Search<'a> {
    pub fn new(clearance: &'a Clearance<'a>, space: &'a [[f64; 2]], seed: u64) -> Self {
        let (random, levers) = (Random::new(seed), clearance.levers());
        let mut own = Self { clearance, space, random, levers, piece: 0.0 };
        let [low, high] = [0, 1].map(|k| space.iter().map(|of| of[k]).collect::<Vec<_>>());
        own.piece = PIECE * own.length(&low, &high);
        own
    }

    fn length(&self, a: &[f64], b: &[f64]) -> f64 {
        let parts = self.levers.iter().zip(a.iter().zip(b));
        parts.map(|(lever, (a, b))| (lever * (a - b)).powi(2)).sum::<f64>().sqrt()
    }

    /// A path, found with at most so many random configurations.
    pub fn path(
        &mut self,
        start: Vec<f64>,
        goal: Vec<f64>,
        samples: usize,
        look: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Found, StepError> {
        if self.clearance.is_clear(&start, &goal)? {
            return Ok(Found::Path(vec![start, goal]));
        }
        let mut trees = [self.retreat(start)?, self.retreat(goal)?];
        let mut from_start = true;
        for sample in 0..=samples {
            if look(sample).is_break() {
                return Ok(Found::Stopped);
            }
            // first between where the retreats end
            let target = if sample == 0 {
                trees[1].nodes[trees[1].nodes.len() - 1].clone()
            } else {
                self.sample(&trees)
            };
            let [own, other] = if from_start { [0, 1] } else { [1, 0] };
            if let Some((node, _)) = self.extend(&mut trees[own], &target)? {
                let x = trees[own].nodes[node].clone();
                if let Some(end) = self.connect(&mut trees[other], &x)? {
                    let (mut path, mut rest) = (trees[own].branch(node), trees[other].branch(end));
                    rest.pop();
                    rest.reverse();
                    path.extend(rest);
                    if !from_start {
                        path.reverse();
                    }
                    return Ok(Found::Path(path));
                }
            }
            from_start = !from_start;
        }
        self.obstacle(&trees).map(Found::None)
    }

    /// A random configuration. In half of them some joints are as at the start and some as at the
    /// goal: fingers of a hand have room to move one after another where they have none together.
    fn sample(&mut self, trees: &[Tree; 2]) -> Vec<f64> {
        let random = &mut self.random;
        let mixes = random.unit() < 0.5;
        let of = |(i, [low, high]): (usize, &[f64; 2])| {
            let uniform = low + (high - low) * random.unit();
            let share = if mixes { random.unit() } else { 0.0 };
            if share < 1.0 / 3.0 {
                uniform
            } else {
                trees[usize::from(share > 2.0 / 3.0)].nodes[0][i]
            }
        };
        self.space.iter().enumerate().map(of).collect()
    }

    /// Grows a tree to a target, piece by piece. Returns the node there; none if it does not get
    /// there.
    fn connect(&self, tree: &mut Tree, target: &[f64]) -> Result<Option<usize>, StepError> {
        loop {
            match self.extend(tree, target)? {
                Some((node, Growth::Reached)) => return Ok(Some(node)),
                Some((_, Growth::Piece)) => {}
                Some((_, Growth::Part)) | None => return Ok(None),
            }
        }
    }

    /// Grows a tree from its nearest node towards a target by at most a piece. Returns the new node;
    /// none if nothing is clear.
    fn extend(
        &self,
        tree: &mut Tree,
        target: &[f64],
    ) -> Result<Option<(usize, Growth)>, StepError> {
        let lengths = tree.nodes.iter().map(|node| self.length(node, target)).enumerate();
        let nearest = lengths.min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((nearest, length)) = nearest else { return Ok(None) };
        let (mut share, mut growth) = (1.0, Growth::Reached);
        if length > self.piece {
            (share, growth) = (self.piece / length, Growth::Piece);
        }
        for _ in 0..=HALVINGS {
            let from = &tree.nodes[nearest];
            let to = along(from, target, share);
            if self.clearance.is_clear(from, &to)? {
                return Ok(Some((tree.push(to, nearest), growth)));
            }
            (share, growth) = (0.5 * share, Growth::Part);
        }
        Ok(None)
    }

    /// The tree of an end: a way from there to where all distances are the margin, by the distances'
    /// own gradient, as far as it is clear.
    fn retreat(&self, end: Vec<f64>) -> Result<Tree, StepError> {
        let mut tree = Tree::default();
        let mut last = tree.push(end, 0);
        let (system, margin) = (self.clearance.system(), self.clearance.margin());
        let moves = self.clearance.moves(2.0 * margin);
        let mut approach = Approach::new(moves);
        let mut q = self.clearance.configuration(&tree.nodes[last]);
        let mut next = q.clone();
        for _ in 0..RETREATS {
            if self.clearance.near(&q, margin)?.is_empty() {
                break;
            }
            let at = system.linearise(&q, [0.0; 3], 2.0 * margin)?;
            let Some(dq) = approach.step(&at, &q, &[], &|_| 1.01 * margin) else { break };
            system.model().integrate(&q, &dq, 1.0, &mut next);
            let x = self.clearance.joints(&next);
            if !self.clearance.is_clear(&tree.nodes[last], &x)? {
                break;
            }
            last = tree.push(x, last);
            q.clone_from(&next);
        }
        Ok(tree)
    }

    /// What keeps a tree from growing: bodies that are near one another at an end.
    fn obstacle(&self, trees: &[Tree; 2]) -> Result<String, StepError> {
        for (end, tree) in ["start", "goal"].into_iter().zip(trees) {
            let q = self.clearance.configuration(&tree.nodes[tree.nodes.len() - 1]);
            let near = self.clearance.near(&q, self.clearance.margin())?;
            let nearest = near.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
            if let Some(([a, b], phi)) = nearest.filter(|_| tree.nodes.len() == 1) {
                let name = |body: usize| &self.clearance.system().model().body(body).name;
                return Ok(format!(
                    ": nothing leads away from the {end}, where `{}` and `{}` are {phi} m apart; the margin is {} m",
                    name(a),
                    name(b),
                    self.clearance.margin()
                ));
            }
        }
        Ok(String::new())
    }

    /// Replaces parts of a path by straight motions that are clear: between random places, then
    /// between corners.
    pub fn shorten(&mut self, path: &mut Vec<Vec<f64>>) -> Result<(), StepError> {
        for _ in 0..SHORTCUTS {
            if path.len() < 3 {
                break;
            }
            let lengths: Vec<f64> = path.windows(2).map(|w| self.length(&w[0], &w[1])).collect();
            let whole: f64 = lengths.iter().sum();
            let mut places = [0, 1].map(|_| self.random.unit() * whole);
            places.sort_by(f64::total_cmp);
            let [first, second] = places.map(|mut place| {
                let mut piece = 0;
                while piece + 1 < lengths.len() && place > lengths[piece] {
                    place -= lengths[piece];
                    piece += 1;
                }
                let share = if lengths[piece] > 0.0 { place / lengths[piece] } else { 0.0 };
                (piece, along(&path[piece], &path[piece + 1], share.min(1.0)))
            });
            if first.0 == second.0 || !self.clearance.is_clear(&first.1, &second.1)? {
                continue;
            }
            path.splice(first.0 + 1..=second.0, [first.1, second.1]);
        }
        let mut corner = 0;
        while corner + 2 < path.len() {
            if self.clearance.is_clear(&path[corner], &path[corner + 2])? {
                path.remove(corner + 1);
            } else {
                corner += 1;
            }
        }
        Ok(())
    }
}

/// The place at a share of a straight motion.
pub fn along(from: &[f64], to: &[f64], share: f64) -> Vec<f64> {
    if share == 1.0 {
        return to.to_vec();
    }
    from.iter().zip(to).map(|(from, to)| from + share * (to - from)).collect()
}
