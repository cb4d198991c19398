//! Derivatives of a solution with respect to all data of a cone program.
//!
//! ```text
//! P x + c + ∇huber(x) = Aᵀ z,     s = A x − E b,     A = E J,     s_k, z_k ∈ K_k, s_kᵀ z_k = 0      (exact)
//!                                                    z_k = −∇barrier_k(s_k), s_kᵀ z_k = kappa       (smooth)
//! ```
//!
//! Both systems are differentiated by the implicit function theorem. Let `δs = δE (J x − b) + E (δJ
//! x − δb)` and `δf = −δP x − δc − δ∇huber + δAᵀ z` be the effect of the change of the data at the
//! fixed solution. Then
//!
//! ```text
//! P dx − Aᵀ dz = δf,      dz = zeta + e − C ds,      ds = A dx + δs,      Pi ds = 0
//! ```
//!
//! | code   | shape of one cone | meaning                                                                  |
//! |--------|-------------------|--------------------------------------------------------------------------|
//! | `Pi`   | `m_k × m_k`       | projects onto the components of slacks that stay 0: active edges; all of a round cone that sticks; the normal `n = (1, −u)/√2` of one that slides along `u`; 0 for `smooth` |
//! | `C`    | `m_k × m_k`       | `β/α (I − u uᵀ)` of a round cone with slip `α` and force `β`; for `smooth` the barrier's Hessian: `z/s` of an edge |
//! | `zeta` | `m_k`             | `Pi zeta = zeta`, a combination `Pi A w` of rows                          |
//! | `e`    | `m_k`             | part of `dz` outside the range of the rows: the smallest-norm multipliers change with the rows |
//!
//! `x` is unique, and so is its derivative. The `z` of `exact` is the one of smallest Euclidean
//! norm, which the solvers report: `z = Pi A w`. Therefore `dz` has the part `e`, the part of `δ(Pi
//! A) w` that is not in the range of the rows. The derivative of `Jᵀ Eᵀ z`, and of everything else
//! that is unique, follows from it. If [`Solution::dual_is_smallest_norm`] is false, the
//! derivatives of `x` and `Aᵀ z` are still right, and `dz` is the smallest consistent change.
//!
//! Derivatives with exact friction solve these equations with another `Pi`; see
//! [`Sensitivity::oblique`].
//!
//! **Dependent rows.** If a change keeps dependent rows consistent, for example because they belong
//! to one rigid block, the derivative is exact. Other changes make one row of a dependent set
//! inactive, and the solution has a kink. The derivative is then the least-squares one, as if all
//! rows had equal compliance, and its residual is returned.
//!
//! **Ties.** [`Kinks`] counts rows without strict complementarity, and documents which one-sided
//! derivative is taken.
//!
//! Units are those of the data: `∂x/∂c` in units of `x` per unit of `c`, and so on.

mod active;
mod data;
mod linear;
mod oblique;
mod prepared;
mod relaxed;
mod respond;
mod responses;
mod smooth;
mod unsymmetric;
mod widen;

pub use active::{Active, Kinks, Sliding, slack_terms};
pub use linear::{Faces, Linear, largest};
pub use prepared::Prepared;
pub use relaxed::{Barrier, Relaxed, RelaxedStart};
pub use responses::Responses;
pub use unsymmetric::Way;

use crate::kernels;
use crate::program::ConeProgram;
use quasistep_linalg::{Solution, Status};

/// Reason why there is no derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SensitivityError {
    /// Lengths of a vector, or the cones of a change, are not those of the program; or the `kappa`
    /// of a relaxed program is not finite and positive.
    Dimensions,
    /// The solution's status is not [`Status::Solved`].
    NotSolved,
    /// `x` is not unique: a direction without cost is not restricted by a row with a positive
    /// multiplier.
    NotUnique,
    /// With exact friction, edges of a friction set do not sum to zero.
    Unbalanced,
    /// The relaxed program was not solved. There may be no `x` inside all cones.
    NotInside,
    /// No solution was prepared, or the last one had no derivative.
    NotPrepared,
}

impl std::fmt::Display for SensitivityError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Dimensions => "sizes do not fit the program, or kappa is not > 0",
            Self::NotSolved => "the program is not solved",
            Self::NotUnique => {
                "the answer is not unique: a direction has no cost and no row stops it"
            }
            Self::Unbalanced => "the edges of a friction set do not sum to zero",
            Self::NotInside => "no point inside all cones was found",
            Self::NotPrepared => "no answer to differentiate",
        })
    }
}

impl std::error::Error for SensitivityError {}

/// Change of the data, given by its effect on slacks and stationarity at the fixed solution.
#[derive(Clone, Copy, Debug)]
pub struct ChangeAt<'a> {
    /// Change of the slacks `δs = δE (J x − b) + E (δJ x − δb)`, length `m`.
    pub rows: &'a [f64],
    /// Change of stationarity `δf = −δP x − δc − δ∇huber + δ(Jᵀ Eᵀ) z`, length `n`.
    pub forces: &'a [f64],
    /// `δ(E J) w` with the `w` of [`Sensitivity::least_norm_rates`], length `m`. Empty if the rows
    /// `E J` do not change, or if only `dx` is wanted, which does not depend on it.
    pub turn: &'a [f64],
}

/// Derivatives of one solution, and their memory: one factorisation, many right-hand sides.
///
/// [`exact`](Self::exact) or [`smooth`](Self::smooth) prepares a solution.
/// [`forward`](Self::forward) and [`adjoint`](Self::adjoint) differentiate it. Memory is kept
/// between calls.
///
/// ```
/// use quasistep_cone::{Cone, ConeProgram, ConeSolver, Sensitivity, Settings, Solution};
///
/// // a mass of 2 kg, pushed by 3 N·s against a wall at x ≥ 0: min x² + 3 x
/// let mut program = ConeProgram::new();
/// program.reset([1]);
/// program.P(0, 0)[0] = 2.0;
/// program.c(0)[0] = 3.0;
/// program.push_cone(Cone::Edges(&[1.0]), 1, &[0]).J(0, 0)[0] = 1.0;
/// let mut solution = Solution::default();
/// ConeSolver::new().solve(&program, None, &Settings::default(), &mut solution);
///
/// let mut sensitivity = Sensitivity::new();
/// assert!(!sensitivity.exact(&program, &solution).unwrap().any());
/// // the wall moves by 1: so does the mass, and it takes 2 N·s more
/// let mut change = ConeProgram::new();
/// change.set_zero_like(&program);
/// change.cone_mut(0).b()[0] = 1.0;
/// let (mut dx, mut dz) = (vec![0.0], vec![0.0]);
/// sensitivity.forward(&change, &mut dx, &mut dz).unwrap();
/// assert!((dx[0] - 1.0).abs() < 1e-14 && (dz[0] - 2.0).abs() < 1e-14);
/// ```
#[derive(Debug, Default)]
pub struct Sensitivity {
    p: ConeProgram,
    linear: Linear,
    active: Active,
    ready: bool,
    /// Whether `w` belongs to the current solution.
    has_w: bool,
    // vectors over padded `x`
    x: Vec<f64>,
    /// Least-norm rates: `z = Pi A w`, up to the part of `z` that is not in the range of the rows.
    w: Vec<f64>,
    f: Vec<f64>,
    dx: Vec<f64>,
    // vectors over padded `z`
    z: Vec<f64>,
    s: Vec<f64>,
    ds: Vec<f64>,
    g: Vec<f64>,
    zeta: Vec<f64>,
    e: Vec<f64>,
    relaxed: relaxed::Memory,
}

impl Sensitivity {
    /// Without allocated memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies a program, and allocates memory for it.
    fn take(&mut self, program: &ConeProgram) {
        self.ready = false;
        self.has_w = false;
        self.p.copy(program);
        self.linear.prepare(&self.p);
        for v in [&mut self.x, &mut self.w, &mut self.f, &mut self.dx] {
            v.clear();
            v.resize(program.n_padded, 0.0);
        }
        for v in [&mut self.z, &mut self.s, &mut self.ds, &mut self.g, &mut self.zeta, &mut self.e]
        {
            v.clear();
            v.resize(program.m_padded, 0.0);
        }
    }

    /// Prepares the derivative of a solution of [`ConeSolver`](crate::ConeSolver) on its active
    /// set. Returns the places where strict complementarity fails.
    ///
    /// # Errors
    ///
    /// [`NotSolved`](SensitivityError::NotSolved), [`NotUnique`](SensitivityError::NotUnique), or
    /// [`Dimensions`](SensitivityError::Dimensions) if the solution belongs to another program.
    pub fn exact(
        &mut self,
        program: &ConeProgram,
        answer: &Solution,
    ) -> Result<Kinks, SensitivityError> {
        self.ready = false;
        if answer.status != Status::Solved {
            return Err(SensitivityError::NotSolved);
        }
        let fits = answer.x.len() == program.n
            && [&answer.z, &answer.s].iter().all(|v| v.len() == program.m)
            && answer.saturated.len() == program.saturations.len();
        if !fits || program.check_sizes().is_err() {
            return Err(SensitivityError::Dimensions);
        }
        self.take(program);
        let Self { p, linear, active, x, z, s, f, g, .. } = self;
        p.pad_x(&answer.x, x);
        p.pad_z(&answer.z, z);
        p.pad_z(&answer.s, s);
        active.classify(p, linear, answer, x, z, s);
        // multipliers of inactive rows are rounding
        active.faces.project(p, Way::Forward, z);
        if !linear.factor(p, &active.faces) {
            return Err(SensitivityError::NotUnique);
        }
        active.find_held(p, linear, f, g);
        self.ready = true;
        Ok(self.active.kinks)
    }

    /// Computes `w`, once for each solution.
    fn find_w(&mut self) {
        if !self.has_w {
            let Self { p, linear, active, w, g, z, .. } = self;
            g.copy_from_slice(z);
            linear.nearest(p, &active.faces, Way::Forward, g, w);
            self.has_w = true;
        }
    }

    /// Checks that vectors and changes have the sizes of the current solution.
    fn check(
        &self,
        n: usize,
        m: usize,
        change: Option<&ConeProgram>,
    ) -> Result<(), SensitivityError> {
        if !self.ready {
            return Err(SensitivityError::NotPrepared);
        }
        if n != self.p.n || m != self.p.m || change.is_some_and(|change| !self.p.is_like(change)) {
            return Err(SensitivityError::Dimensions);
        }
        Ok(())
    }

    /// Computes the changes `dx` (length `n`) and `dz` (length `m`) of the solution for a `change`
    /// of the data (see [`ConeProgram::set_zero_like`]; a change of `P` is symmetric).
    ///
    /// Returns the residual of the active rows, weakly active ones included: its largest entry, in
    /// the unit of `s`. It is 0 up to rounding in two cases only: dependent active rows stay
    /// consistent, and rows are not nearly dependent. Otherwise the derivative is the least-squares
    /// one.
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions),
    /// [`NotPrepared`](SensitivityError::NotPrepared).
    pub fn forward(
        &mut self,
        change: &ConeProgram,
        dx: &mut [f64],
        dz: &mut [f64],
    ) -> Result<f64, SensitivityError> {
        self.check(dx.len(), dz.len(), Some(change))?;
        let turns = change.J.iter().chain(&change.E).any(|v| *v != 0.0);
        let with_e = self.has_e(turns);
        if with_e {
            self.find_w();
        }
        let Self { p, linear, x, w, f, z, ds, e, .. } = self;
        // explicit change of the rows and forces with the data
        data::rows(p, change, x, ds);
        data::forces(p, linear, change, x, z, f);
        if with_e {
            data::turn(p, change, w, e);
        }
        Ok(self.propagate(with_e, dx, dz))
    }

    /// [`forward`](Self::forward) for a change that is given by its effect at the fixed solution.
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions),
    /// [`NotPrepared`](SensitivityError::NotPrepared).
    pub fn forward_at(
        &mut self,
        change: &ChangeAt<'_>,
        dx: &mut [f64],
        dz: &mut [f64],
    ) -> Result<f64, SensitivityError> {
        let ChangeAt { rows, forces, turn } = *change;
        self.check(dx.len(), dz.len(), None)?;
        if rows.len() != self.p.m
            || forces.len() != self.p.n
            || ![0, self.p.m].contains(&turn.len())
        {
            return Err(SensitivityError::Dimensions);
        }
        let with_e = self.has_e(!turn.is_empty());
        if with_e {
            self.find_w();
        }
        let Self { p, f, ds, e, .. } = self;
        ds.fill(0.0);
        p.pad_z(rows, ds);
        f.fill(0.0);
        p.pad_x(forces, f);
        e.fill(0.0);
        if with_e && !turn.is_empty() {
            p.pad_z(turn, e);
        }
        Ok(self.propagate(with_e, dx, dz))
    }

    /// Whether `dz` has a part that is not in the range of the rows. `turns` is true if the change
    /// affects `E J`.
    fn has_e(&self, turns: bool) -> bool {
        let Faces { any, exact, .. } = self.active.faces;
        any && !exact && (turns || !self.active.sliding.is_empty())
    }

    /// Computes the derivative of the solution from the changes at the fixed solution, which are in
    /// `ds`, `f` and `e`.
    fn propagate(&mut self, with_e: bool, dx: &mut [f64], dz: &mut [f64]) -> f64 {
        let Self { p, linear, active, w, f, ds, g, zeta, e, dx: move_x, .. } = self;
        let faces = &active.faces;
        g.copy_from_slice(ds);
        faces.curve(p, Way::Forward, g);
        for g in g.iter_mut() {
            *g = -*g;
        }
        linear.add_forces(p, g, f);
        g.iter_mut().zip(&*ds).for_each(|(g, s)| *g = -s);
        faces.project(p, Way::Forward, g);
        let apart = linear.nearest(p, faces, Way::Forward, g, move_x);
        linear.solve(p, faces, Way::Forward, f, move_x, zeta);
        let mut apart = apart.max(linear.left(p, faces, move_x));
        linear.rows(p, move_x, g);
        ds.iter_mut().zip(&*g).for_each(|(d, a)| *d += a);
        // a weakly active row that depends on others opens for one sign of the change and gets a
        // positive multiplier for the other
        for (cone, edge) in &active.held {
            let opens = active.tied(p, *cone, *edge, ds).abs();
            apart = apart.max(linear::beyond_rounding(p, *cone as usize, opens, move_x));
        }
        if with_e {
            faces.project(p, Way::Forward, e);
            linear.rows(p, w, g);
            for slide in &active.sliding {
                let at = p.cones[slide.cone as usize].at as usize;
                let turned = slide.turn(&g[at..], &ds[at..]);
                e[at..].iter_mut().zip(slide.normal()).for_each(|(e, n)| *e += turned * n);
            }
            linear.nearest(p, faces, Way::Forward, e, f);
            zeta.iter_mut().zip(&*e).for_each(|(z, e)| *z += e);
        }
        faces.curve(p, Way::Forward, ds);
        zeta.iter_mut().zip(&*ds).for_each(|(z, s)| *z -= s);
        p.unpad_x(move_x, dx);
        kernels::unpad(linear.isa, p, zeta, dz);
        apart
    }

    /// Computes the gradient of `xbarᵀ x + zbarᵀ z` with respect to all data, with `xbar` of length
    /// `n` and `zbar` of length `m`: the transpose of [`forward`](Self::forward).
    ///
    /// `gradient` has the layout of the program. The gradient with respect to `P` is symmetric, so
    /// that the change of the objective is `Σ gradient · change` over all entries of a symmetric
    /// change.
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions),
    /// [`NotPrepared`](SensitivityError::NotPrepared).
    pub fn adjoint(
        &mut self,
        xbar: &[f64],
        zbar: &[f64],
        gradient: &mut ConeProgram,
    ) -> Result<(), SensitivityError> {
        if gradient.is_like(&self.p) {
            gradient.set_zero();
        } else {
            gradient.set_zero_like(&self.p);
        }
        self.check(xbar.len(), zbar.len(), Some(gradient))?;
        self.pull_back(xbar, zbar);
        let Self { p, linear, active, x, w, z, ds, e, dx: move_x, .. } = self;
        data::gradient_of_forces(p, linear, x, z, move_x, gradient);
        data::gradient_of_rows(p, x, ds, gradient);
        if active.faces.any {
            data::gradient_of_turn(p, w, e, gradient);
        }
        Ok(())
    }

    /// Transpose of [`forward_at`](Self::forward_at): computes the gradients of `xbarᵀ x + zbarᵀ z`
    /// with respect to `rows` (length `m`), `forces` (length `n`) and `turn` (length `m`, or empty
    /// if `zbar` is zero).
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions),
    /// [`NotPrepared`](SensitivityError::NotPrepared).
    pub fn adjoint_at(
        &mut self,
        xbar: &[f64],
        zbar: &[f64],
        rows: &mut [f64],
        forces: &mut [f64],
        turn: &mut [f64],
    ) -> Result<(), SensitivityError> {
        self.check(xbar.len(), zbar.len(), None)?;
        if rows.len() != self.p.m
            || forces.len() != self.p.n
            || ![0, self.p.m].contains(&turn.len())
        {
            return Err(SensitivityError::Dimensions);
        }
        self.pull_back(xbar, zbar);
        kernels::unpad(self.linear.isa, &self.p, &self.ds, rows);
        self.p.unpad_x(&self.dx, forces);
        turn.fill(0.0);
        if self.active.faces.any && !turn.is_empty() {
            kernels::unpad(self.linear.isa, &self.p, &self.e, turn);
        }
        Ok(())
    }

    /// Computes gradients with respect to the changes at the fixed solution: of the slacks in `ds`,
    /// of stationarity in `dx`, of `δA w` in `e`.
    fn pull_back(&mut self, xbar: &[f64], zbar: &[f64]) {
        let with_e = self.active.faces.any && !self.active.faces.exact;
        if with_e {
            self.find_w();
        }
        let Self { p, linear, active, w, f, ds, g, zeta, e, dx: move_x, .. } = self;
        let faces = &active.faces;
        linear.turn_around(p, faces);
        f.fill(0.0);
        p.pad_x(xbar, f);
        ds.fill(0.0);
        p.pad_z(zbar, ds);
        e.copy_from_slice(ds);
        faces.project(p, Way::Backward, e);
        for e in e.iter_mut() {
            *e = -*e;
        }
        // the part outside the range of the rows, and the point of the least-squares solution
        linear.nearest(p, faces, Way::Backward, e, move_x);
        for e in e.iter_mut() {
            *e = -*e;
        }
        faces.curve(p, Way::Backward, ds);
        for d in ds.iter_mut() {
            *d = -*d;
        }
        if with_e && !active.sliding.is_empty() {
            linear.rows(p, w, g);
            for slide in &active.sliding {
                let at = p.cones[slide.cone as usize].at as usize;
                let along: f64 = e[at..].iter().zip(slide.normal()).map(|(e, n)| e * n).sum();
                slide.add_turn(&g[at..], along, &mut ds[at..]);
            }
        }
        if !with_e {
            e.fill(0.0);
        }
        linear.add_forces(p, ds, f);
        linear.solve(p, faces, Way::Backward, f, move_x, zeta);
        if active.kinks.loads > 0 {
            linear.settle(p, faces, zeta);
        }
        // explicit part of the gradient with respect to the rows
        linear.rows(p, move_x, g);
        faces.curve(p, Way::Backward, g);
        for (d, (z, c)) in ds.iter_mut().zip(zeta.iter().zip(&*g)) {
            *d += z - c;
        }
    }

    /// Writes the `w` (length `n`) of the least-norm condition `z = Pi A w`, for the field `turn`
    /// of a [`ChangeAt`].
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions),
    /// [`NotPrepared`](SensitivityError::NotPrepared).
    pub fn least_norm_rates(&mut self, out: &mut [f64]) -> Result<(), SensitivityError> {
        self.check(out.len(), self.p.m, None)?;
        out.fill(0.0);
        if self.active.faces.any {
            self.find_w();
            self.p.unpad_x(&self.w, out);
        }
        Ok(())
    }

    /// Applies `C` to a change of the slacks (length `m`), in place. For the relaxed program `dz = −C
    /// ds`.
    ///
    /// # Errors
    ///
    /// [`Dimensions`](SensitivityError::Dimensions),
    /// [`NotPrepared`](SensitivityError::NotPrepared).
    pub fn curve(&mut self, rows: &mut [f64]) -> Result<(), SensitivityError> {
        self.check(self.p.n, rows.len(), None)?;
        let Self { p, linear, active, ds, .. } = self;
        ds.fill(0.0);
        p.pad_z(rows, ds);
        active.faces.curve(p, Way::Forward, ds);
        kernels::unpad(linear.isa, p, ds, rows);
        Ok(())
    }

    /// Kinks of the solution that was prepared last.
    pub fn kinks(&self) -> Kinks {
        self.active.kinks
    }
}
