//! Closed loops and couplings: what holds bodies and joints together beside the joints of the tree.
//!
//! ```text
//! G v = −max_share g(q)/h            one row for each number that stays zero
//! v_D = base + C v_I                 the same, solved for as many dofs D as there are independent rows
//! P v + c = Jᵀ z + Gᵀ μ              μ: impulse of each row, in N·s or N·m·s
//! ```
//!
//! The dofs `D` are put in terms of the others before a solver sees the program ([`reduce`]), so that every formulation has
//! constraints, and no solver knows of them. `μ` follows from the balance of `D`. A relative velocity is that of B seen from
//! A, at B's point: bodies that carry both A and B do not enter, and force and reaction act along one line.
//!
//! | number | error `g` | row `G v` | impulse |
//! |---|---|---|---|
//! | connect: 3 | `p_B − p_A` | `V_B(p_B) − V_A(p_B)` | force on B at `p_B`, in W |
//! | weld: 6 | that, and `log(R_WB R_WAᵀ)` | that, and `ω_B − ω_A` | that, and a torque on B |
//! | coupling: 1 | `Σ c_i q_i − offset` | `Σ c_i v_i` | `c_i` times it on joint i |

mod close;
mod eliminate;
mod reduce;
mod rows;

pub use close::{Closing, NotClosed};
pub(crate) use reduce::Reduction;

use crate::error::{StepError, SystemError, quoted};
use crate::system::{Role, System};
use quasistep_math::Vec3;
use quasistep_model::{Frame, JointKind, Kinematics, Model, WORLD};
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
    shared: usize,
    /// Of a coupling: dof, index in `q` and factor of each joint, those that follow another one in terms of that.
    terms: Vec<(usize, usize, f64)>,
    offset: f64,
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

impl System {
    /// The constraint that a row belongs to.
    fn constraint_of(&self, row: usize) -> &Held {
        &self.constraints[self.constraints.partition_point(|held| held.rows.end <= row)]
    }

    /// True if a row holds two points together.
    fn is_shift(&self, row: usize) -> bool {
        let held = self.constraint_of(row);
        held.frames().is_some() && row < held.rows.start + 3
    }

    /// True for a dof in rad.
    pub(crate) fn is_turn(&self, dof: usize) -> bool {
        let body = self.model.body(self.body_of_dof[dof]);
        let first = dof - body.v.start;
        match body.joint {
            JointKind::Prismatic { .. } | JointKind::Fixed => false,
            JointKind::Planar => first == 2,
            JointKind::Free => first < 3,
            JointKind::Revolute { .. } | JointKind::Continuous { .. } | JointKind::Ball => true,
        }
    }

    /// True for a dof whose drive has a force that saturates.
    pub(crate) fn saturates(&self, dof: usize) -> bool {
        let body = self.body_of_dof[dof];
        let Role::Actuated(actuator) = &self.roles[body] else { return false };
        let k = dof - self.model.body(body).v.start;
        actuator.effort_limit[k].is_finite() && actuator.stiffness[k] > 0.0
    }

    /// Rows exclude one another by `off`, in m or rad.
    fn contradiction(&self, rows: impl Iterator<Item = usize>, off: f64) -> StepError {
        let mut names: Vec<String> = Vec::new();
        for row in rows {
            let name = &self.constraint_of(row).given.name;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let why = format!(
            "no motion satisfies {} and what is prescribed: off by {off:.1e} (m or rad)",
            if names.len() > 1 { "all of them" } else { "it" }
        );
        StepError::Constraints { names, why }
    }

    /// A row has a drive with an effort limit follow several others.
    fn over_driven(&self, row: usize) -> StepError {
        let held = self.constraint_of(row);
        let mut kin = self.model.create_kinematics();
        self.model.kinematics(&self.model.neutral_q(), &mut kin);
        let mut joints: Vec<String> = Vec::new();
        for dof in held.dofs(&self.model, &kin) {
            let body = self.body_of_dof[dof];
            let name = &self.model.body(body).joint_name;
            if self.saturates(dof) && !joints.contains(name) {
                joints.push(name.clone());
            }
        }
        let why = format!(
            "drives with an effort limit, {}, follow several others by it; leave one of them without a limit, or passive",
            quoted(&joints)
        );
        StepError::Constraints { names: vec![held.given.name.clone()], why }
    }
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
