//! Constraints beside the joints of the kinematic tree: their definition and its validation.
//! `constraint/mod.rs` describes their treatment in a step.

use crate::error::SystemError;
use crate::state::Attached;
use quasistep_math::Vec3;
use quasistep_model::{Frame, Kinematics, Model, WORLD};
use std::ops::Range;

/// Tolerance on inconsistent constraint rows that no motion can satisfy, in m and rad. It allows
/// for digits lost when files are printed.
pub(crate) const CLOSED: f64 = 1e-5;

/// A constraint between bodies or joints, beside the joints of the kinematic tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Name for messages and reports.
    pub name: String,
    /// Kind of the constraint, with its frames or joints.
    pub kind: ConstraintKind,
    /// How the constraint is switched on and off. `None`: it always holds.
    pub switch: Option<Switch>,
}

/// Switch of a [`Constraint`]. Its command is an entry of
/// [`StepInput::q_cmd`](crate::StepInput::q_cmd): a step holds the constraint if that is above 0.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch {
    /// What it holds.
    pub holds: Holds,
    /// Largest distance between the shapes of both bodies at which it attaches, in m, ≥ 0. With
    /// `f64::INFINITY` it attaches at any distance.
    pub within: f64,
}

/// What a switched constraint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// What it finds at the start of the first step with it: the frame of A on body B, or the sum of
    /// a coupling. The frame of B and the offset are not read.
    Found,
    /// Its frames or its offset. Steps recover their error, at most at
    /// [`StepParams::max_recovery_speed`](crate::StepParams::max_recovery_speed).
    Given,
}

/// Kinds of a [`Constraint`].
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// Holds the origins of two frames together: three rows. Either body may be the world.
    Connect {
        /// Frame on body A; its axes do not matter.
        a: Frame,
        /// Frame on body B; its axes do not matter.
        b: Frame,
    },
    /// Holds two frames together with their axes: six rows.
    Weld {
        /// Frame on body A.
        a: Frame,
        /// Frame on body B.
        b: Frame,
    },
    /// `Σ c_i q_i = offset` over joints with one dof: one row.
    Coupling {
        /// Index of the body whose joint is meant, and its factor `c_i`, in 1/m or 1/rad times the
        /// unit of `offset`.
        terms: Vec<(usize, f64)>,
        /// Right-hand side of the coupling.
        offset: f64,
    },
}

impl Constraint {
    /// Indices of the bodies that the constraint holds, or whose joints it couples.
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
    /// The constraint that holds what was found.
    pub(crate) fn holding(&self, what: &Attached) -> Self {
        match (self, what) {
            (Self::Connect { a, b }, Attached::Frame(X_BF)) => {
                Self::Connect { a: *a, b: Frame { X_BF: *X_BF, ..*b } }
            }
            (Self::Weld { a, b }, Attached::Frame(X_BF)) => {
                Self::Weld { a: *a, b: Frame { X_BF: *X_BF, ..*b } }
            }
            (Self::Coupling { terms, .. }, Attached::Sum(offset)) => {
                Self::Coupling { terms: terms.clone(), offset: *offset }
            }
            _ => self.clone(),
        }
    }

    /// Number of rows: 3, 6 or 1.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Connect { .. } => 3,
            Self::Weld { .. } => 6,
            Self::Coupling { .. } => 1,
        }
    }
}

/// A validated [`Constraint`] of a system.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub given: Constraint,
    /// Range of its rows among the rows of all constraints.
    pub rows: Range<usize>,
    /// Number of leading joint columns shared by the paths to both bodies. They move both together.
    pub shared: usize,
    /// Terms of a coupling: dof, index in `q` and factor. A mimic joint is expressed by the joint
    /// that it follows.
    pub terms: Vec<(usize, usize, f64)>,
    pub offset: f64,
}

/// Constraints that share variables. Each group is eliminated separately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// The lists of this group; all three are ascending.
    pub constraints: Vec<usize>,
    pub dofs: Vec<usize>,
    pub rows: Vec<usize>,
}

impl Held {
    /// Validates a constraint of `model`, whose first row is `row`.
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
        if let Some(Switch { within, .. }) = given.switch {
            // written so that NaN fails
            if !(within >= 0.0) {
                return bad(format!("within {within}"), "it must be ≥ 0 m");
            }
            if within.is_finite() && matches!(given.kind, ConstraintKind::Coupling { .. }) {
                return bad(format!("within {within}"), "a coupling has no distance");
            }
        }
        let n_rows = given.kind.n_rows();
        Ok(Self { given, rows: row..row + n_rows, shared, terms, offset: sum })
    }

    /// The two frames of the constraint; `None` for a coupling.
    pub fn frames(&self) -> Option<[&Frame; 2]> {
        match &self.given.kind {
            ConstraintKind::Connect { a, b } | ConstraintKind::Weld { a, b } => Some([a, b]),
            ConstraintKind::Coupling { .. } => None,
        }
    }

    /// True if the constraint also holds axes together.
    pub fn turns(&self) -> bool {
        matches!(self.given.kind, ConstraintKind::Weld { .. })
    }

    /// Bodies that the constraint connects, without the world.
    pub fn bodies(&self) -> Vec<usize> {
        self.given.bodies().into_iter().filter(|body| *body != WORLD).collect()
    }

    /// Dofs and factors of a coupling.
    pub fn terms(&self) -> impl Iterator<Item = (usize, f64)> {
        self.terms.iter().map(|(dof, _, c)| (*dof, *c))
    }

    /// Joint columns that move A and B relative to one another, with the sign of their contribution
    /// to the velocity of B relative to A.
    pub fn columns<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = (usize, f64)> + 'a {
        let bodies = self.frames().map(|[a, b]| [(b.body, 1.0), (a.body, -1.0)]);
        bodies.into_iter().flatten().flat_map(move |(body, sign)| {
            model.path(body)[self.shared..].iter().map(move |c| (*c as usize, sign))
        })
    }

    /// Dofs on which the constraint depends, possibly with repetitions.
    pub fn dofs(&self, model: &Model, kin: &Kinematics) -> Vec<usize> {
        let of_columns = self.columns(model).map(|(column, _)| kin.columns[column].dof as usize);
        of_columns.chain(self.terms().map(|(dof, _)| dof)).collect()
    }

    /// Point at which force and torque of the constraint act, in W: the origin of B's frame.
    pub fn place(&self, model: &Model, kin: &Kinematics) -> Vec3 {
        self.frames().map_or(Vec3::ZERO, |[_, b]| model.frame_pose(kin, b).translation)
    }
}

/// Validates all constraints of `model`.
pub(crate) fn check(given: Vec<Constraint>, model: &Model) -> Result<Vec<Held>, SystemError> {
    let mut held: Vec<Held> = Vec::with_capacity(given.len());
    for constraint in given {
        let row = held.last().map_or(0, |last| last.rows.end);
        held.push(Held::new(constraint, model, row)?);
    }
    Ok(held)
}

/// Groups of constraints that share variables. Constraints of prescribed dofs alone form groups of
/// their own.
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
