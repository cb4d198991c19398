//! What holds bodies and joints together beside the joints of the tree: constraints as they are given, and checked.
//! How a step has them is told in `constraint/mod.rs`.

use crate::error::SystemError;
use quasistep_math::Vec3;
use quasistep_model::{Frame, Kinematics, Model, WORLD};
use std::ops::Range;

/// Rows that no motion satisfies may be off by this without being a contradiction, in m and rad: digits that files print.
pub(crate) const CLOSED: f64 = 1e-5;

/// What holds bodies or joints together beside the joints of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Name for messages and reports.
    pub name: String,
    /// What it holds.
    pub kind: ConstraintKind,
}

/// What a [`Constraint`] holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// The origins of two frames stay together: three rows. Either body may be the world.
    Connect {
        /// Frame on body A; its axes do not matter.
        a: Frame,
        /// Frame on body B; its axes do not matter.
        b: Frame,
    },
    /// Two frames stay together, with their axes: six rows.
    Weld {
        /// Frame on body A.
        a: Frame,
        /// Frame on body B.
        b: Frame,
    },
    /// `Σ c_i q_i = offset` over joints with one dof: one row.
    Coupling {
        /// Index of the body whose joint it is, and its factor `c_i`, in 1/m or 1/rad times the unit of `offset`.
        terms: Vec<(usize, f64)>,
        /// The sum.
        offset: f64,
    },
}

impl Constraint {
    /// Indices of the bodies that it holds, or whose joints it couples.
    pub fn bodies(&self) -> Vec<usize> {
        match &self.kind {
            ConstraintKind::Connect { a, b } | ConstraintKind::Weld { a, b } => {
                vec![a.body, b.body]
            }
            ConstraintKind::Coupling { terms, .. } => terms.iter().map(|(body, _)| *body).collect(),
        }
    }
}

impl ConstraintKind {
    /// Number of rows: 3, 6 or 1.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Connect { .. } => 3,
            Self::Weld { .. } => 6,
            Self::Coupling { .. } => 1,
        }
    }
}

/// A [`Constraint`] of a system, checked.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub given: Constraint,
    /// Its rows among those of all constraints.
    pub rows: Range<usize>,
    /// Joint columns on the way to both bodies, which carry them together.
    pub shared: usize,
    /// Of a coupling: dof, index in `q` and factor of each joint, those that follow another one in terms of that.
    pub terms: Vec<(usize, usize, f64)>,
    pub offset: f64,
}

/// Constraints that share variables, and these: one elimination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// All three ascending.
    pub constraints: Vec<usize>,
    pub dofs: Vec<usize>,
    pub rows: Vec<usize>,
}

impl Held {
    /// Checks a constraint of `model`, whose first row is `row`.
    pub fn new(given: Constraint, model: &Model, row: usize) -> Result<Self, SystemError> {
        let what = || format!("constraint `{}`", given.name);
        let bad = |seen: String, rule: &str| {
            Err(SystemError::Definition { what: what(), seen, rule: rule.into() })
        };
        let (mut sum, mut shared) = (0.0, 0);
        let mut terms: Vec<(usize, usize, f64)> = Vec::new();
        match &given.kind {
            ConstraintKind::Connect { a, b } | ConstraintKind::Weld { a, b } => {
                for frame in [a, b] {
                    if frame.body >= model.n_bodies() {
                        let rule = format!("< {}", model.n_bodies());
                        return bad(format!("body {}", frame.body), &rule);
                    }
                    if !frame.X_BF.translation.is_finite() {
                        return bad("a point that is not finite".into(), "give finite numbers");
                    }
                }
                let (to_a, to_b) = (model.path(a.body), model.path(b.body));
                shared = to_a.iter().zip(to_b).take_while(|(a, b)| a == b).count();
                if to_a.len() == shared && to_b.len() == shared {
                    let name = |frame: &Frame| &model.body(frame.body).name;
                    let seen = format!("`{}` and `{}`", name(a), name(b));
                    return bad(seen, "no joint moves one against the other");
                }
            }
            ConstraintKind::Coupling { terms: given, offset } => {
                if !(offset.is_finite() && given.iter().all(|(_, c)| c.is_finite())) {
                    return bad("a number that is not finite".into(), "give finite numbers");
                }
                sum = *offset;
                for &(body, c) in given {
                    if body == WORLD || body >= model.n_bodies() {
                        return bad(format!("body {body}"), "bodies with a joint");
                    }
                    let joint = model.body(body);
                    if joint.joint.n_v() != 1 {
                        let seen = format!("joint `{}`", joint.joint_name);
                        return bad(seen, "joints with one dof");
                    }
                    let (leader, c) = match &joint.mimic {
                        Some(mimic) => {
                            sum -= c * mimic.offset;
                            (model.body(mimic.body), c * mimic.multiplier)
                        }
                        None => (joint, c),
                    };
                    let (dof, at) = (leader.v.start, leader.q.start);
                    match terms.iter_mut().find(|(known, ..)| *known == dof) {
                        Some((_, _, sum)) => *sum += c,
                        None => terms.push((dof, at, c)),
                    }
                }
                terms.retain(|(_, _, c)| *c != 0.0);
                if terms.is_empty() {
                    return bad("no joint with a factor".into(), "at least one");
                }
            }
        }
        let n_rows = given.kind.n_rows();
        Ok(Self { given, rows: row..row + n_rows, shared, terms, offset: sum })
    }

    /// The frames that it holds together, but of a coupling.
    pub fn frames(&self) -> Option<[&Frame; 2]> {
        match &self.given.kind {
            ConstraintKind::Connect { a, b } | ConstraintKind::Weld { a, b } => Some([a, b]),
            ConstraintKind::Coupling { .. } => None,
        }
    }

    /// True if it holds axes together too.
    pub fn turns(&self) -> bool {
        matches!(self.given.kind, ConstraintKind::Weld { .. })
    }

    /// Bodies whose trees it joins, the world left out.
    pub fn bodies(&self) -> Vec<usize> {
        self.given.bodies().into_iter().filter(|body| *body != WORLD).collect()
    }

    /// Dofs and factors of a coupling.
    pub fn terms(&self) -> impl Iterator<Item = (usize, f64)> {
        self.terms.iter().map(|(dof, _, c)| (*dof, *c))
    }

    /// Joint columns that move A or B against the other, with the sign of their part in B's velocity against A.
    pub fn columns<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = (usize, f64)> + 'a {
        let bodies = self.frames().map(|[a, b]| [(b.body, 1.0), (a.body, -1.0)]);
        bodies.into_iter().flatten().flat_map(move |(body, sign)| {
            model.path(body)[self.shared..].iter().map(move |c| (*c as usize, sign))
        })
    }

    /// Every dof that takes part, some of them twice.
    pub fn dofs(&self, model: &Model, kin: &Kinematics) -> Vec<usize> {
        let of_columns = self.columns(model).map(|(column, _)| kin.columns[column].dof as usize);
        of_columns.chain(self.terms().map(|(dof, _)| dof)).collect()
    }

    /// Where force and torque of frames act, in W: the origin of B's frame.
    pub fn place(&self, model: &Model, kin: &Kinematics) -> Vec3 {
        self.frames().map_or(Vec3::ZERO, |[_, b]| model.frame_pose(kin, b).translation)
    }
}

/// Checks all constraints of `model`.
pub(crate) fn check(given: Vec<Constraint>, model: &Model) -> Result<Vec<Held>, SystemError> {
    let mut held: Vec<Held> = Vec::with_capacity(given.len());
    for constraint in given {
        let row = held.last().map_or(0, |last| last.rows.end);
        held.push(Held::new(constraint, model, row)?);
    }
    Ok(held)
}

/// Groups of constraints that share variables; those of known motion alone are groups of their own.
pub(crate) fn groups(
    held: &[Held],
    model: &Model,
    is_variable: impl Fn(usize) -> bool,
) -> Vec<Group> {
    let mut kin = model.create_kinematics();
    model.kinematics(&model.neutral_q(), &mut kin);
    let mut groups: Vec<Group> = Vec::new();
    for (k, constraint) in held.iter().enumerate() {
        let mut dofs = constraint.dofs(model, &kin);
        dofs.retain(|dof| is_variable(*dof));
        let mut own = Group { constraints: vec![k], dofs, rows: Vec::new() };
        groups.retain_mut(|group| {
            let shares = group.dofs.iter().any(|dof| own.dofs.contains(dof));
            if shares {
                own.constraints.append(&mut group.constraints);
                own.dofs.append(&mut group.dofs);
            }
            !shares
        });
        groups.push(own);
    }
    for group in &mut groups {
        group.constraints.sort_unstable();
        group.rows = group.constraints.iter().flat_map(|k| held[*k].rows.clone()).collect();
        group.dofs.sort_unstable();
        group.dofs.dedup();
    }
    groups
}
