//! One attempt: damped least squares within limits and distances, then posture optimisation.
//!
//! ```text
//! min_d  1/2 |J d − e|² + 1/2 damping |d|² + PRICE s        d: joints that may move, in rad or chain lengths
//! s.t.   q_lower ≤ q + d ≤ q_upper,   |d_k| ≤ radius,   (phi_i − avoid)/length + J_n,i d + s ≥ 0,   s ≥ 0
//! ```
//!
//! The damping is proportional to the squared error, so that the method converges as Newton's does.
//! A step is accepted if it reduces `|e|²/2 + PRICE · (the largest shortfall of a distance)`. The
//! posture then minimises `|q − q0|²/2` in the null space of the linearised task, and the task is
//! restored after each step.

use super::answer::{IkError, IkSettings, TooNear, argument};
use super::target::FrameTarget;
use crate::contact::ContactRows;
use crate::formulation::Cone;
use crate::params::TangentAxes;
use crate::scan::{NearPoint, Scan};
use crate::system::{Role, System};
use crate::timer::Timer;
use quasistep_math::{Pose, Vec3};
use quasistep_model::{Frame, JointKind, Model, WORLD};
use quasistep_qp::{Qp, QpSolver, Rows, Settings, Solution, Status};

/// Largest number of steps of one attempt. An attempt that starts near a solution takes 5 to 20.
const MOST_STEPS: u32 = 80;
/// Largest number of steps of the posture optimisation.
const MOST_POSTURE_STEPS: u32 = 30;
/// Largest motion of a joint in one step, in rad (slides: chain lengths).
const RADIUS: f64 = 0.6;
/// Errors below this, in rad and chain lengths, are rounding.
const ROUNDING: f64 = 1e-13;
/// Penalty per chain length of distance shortfall. Errors are at most π and 1, squared, so no step
/// trades a shortfall for an error.
const PRICE: f64 = 100.0;
/// Distances are kept larger than required by this share of the chain's length, because the result
/// is checked exactly.
const MARGIN: f64 = 1e-7;
/// Pairs nearer than `avoid` plus this share of the chain's length have a row in a step.
const LOOKAHEAD: f64 = 0.1;
/// An error counts as singular if the joints reduce it at less than this rate; about 1 is usual for
/// an arm.
const SINGULAR: f64 = 0.01;
/// Weight of the task relative to the posture. A posture step disturbs the task by the inverse of
/// it; the task is restored afterwards.
const TASK_WEIGHT: f64 = 1e7;

/// The search for configurations of one system and frame.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    pub system: &'a System,
    pub frame: Frame,
    pub settings: &'a IkSettings,
    /// Start configuration and posture, within limits.
    pub q0: Vec<f64>,
    /// Bodies whose joints may move.
    pub joints: Vec<usize>,
    /// Length of the moving chain, in m: the unit of position errors.
    pub length: f64,
    chain: f64,
    dofs: Vec<Dof>,
    /// Scaled variable of each dof, if it may move.
    variable: Vec<Option<u32>>,
    /// True for pairs of geoms that the joints move relative to one another.
    moves: Vec<bool>,
    scan: Scan,
    contacts: ContactRows,
    jacobian: Vec<f64>,
    program: Program,
}

/// A dof that may move.
#[derive(Debug)]
struct Dof {
    index: usize,
    /// Index of its coordinate in `q`, for all but rotations in space.
    q_index: Option<usize>,
    lower: f64,
    upper: f64,
    slides: bool,
}

/// A quadratic program and its memory.
#[derive(Debug, Default)]
struct Program {
    P: Vec<f64>,
    c: Vec<f64>,
    A: Rows,
    b: Vec<f64>,
    solver: QpSolver,
    solution: Solution,
}

/// Errors and merit of a configuration.
struct Value {
    /// Rotation error in rad, then position error in chain lengths.
    e: [f64; 6],
    merit: f64,
}

/// Variable of each dof, if it has one, and the dofs with variables, without limits.
fn dofs_of(model: &Model, joints: &[usize]) -> (Vec<Option<u32>>, Vec<Dof>) {
    let mut variable = vec![None; model.n_v()];
    let mut dofs = Vec::new();
    for &body in joints {
        let joint = model.body(body);
        for (k, dof) in joint.v.clone().enumerate() {
            variable[dof] = Some(dofs.len() as u32);
            dofs.push(Dof {
                index: dof,
                q_index: coordinate(&joint.joint, k).map(|i| joint.q.start + i),
                lower: f64::NEG_INFINITY,
                upper: f64::INFINITY,
                slides: match joint.joint {
                    JointKind::Prismatic { .. } => true,
                    JointKind::Planar => k < 2,
                    JointKind::Free => k >= 3,
                    _ => false,
                },
            });
        }
    }
    (variable, dofs)
}

impl<'a> Search<'a> {
    pub fn new(
        system: &'a System,
        frame: &Frame,
        q0: &[f64],
        settings: &'a IkSettings,
    ) -> Result<Self, IkError> {
        settings.check(system, frame, q0)?;
        let model = system.model();
        let mut on_path = vec![false; model.n_v()];
        let mut kin = model.create_kinematics();
        model.kinematics(q0, &mut kin);
        for &column in model.path(frame.body) {
            on_path[kin.columns[column as usize].dof as usize] = true;
        }
        let may_move = |body: usize| match &settings.joints {
            Some(joints) => joints.contains(&body),
            None => system.roles()[body] != Role::Passive,
        };
        let joints: Vec<usize> = (system.commanded().iter().copied())
            .filter(|&b| may_move(b) && model.body(b).v.clone().any(|dof| on_path[dof]))
            .collect();
        if joints.is_empty() {
            let name = &model.body(frame.body).name;
            return Err(argument("frame", format!("no driven joint that may move moves `{name}`")));
        }
        // joints inboard of a loop carry it as a whole; joints in a loop would open it
        for held in &system.constraints {
            let own = held.dofs(model, &kin);
            let moves = |body: &&usize| model.body(**body).v.clone().any(|dof| own.contains(&dof));
            if let Some(body) = joints.iter().find(moves) {
                let (joint, name) = (&model.body(*body).joint_name, &held.given.name);
                let why = format!(
                    "`{joint}` is part of the closed loop or coupling `{name}`, which inverse kinematics does not know; leave it out of the joints that may move"
                );
                return Err(argument("joints", why));
            }
        }
        let (variable, mut dofs) = dofs_of(model, &joints);
        let own = model.limits().iter().map(|l| (l.dof as usize, [l.lower, l.upper]));
        for (dof, [lower, upper]) in own.chain(settings.limits.iter().copied()) {
            let Some(k) = variable[dof] else { continue };
            let bound = &mut dofs[k as usize];
            (bound.lower, bound.upper) = (bound.lower.max(lower), bound.upper.min(upper));
            if bound.lower > bound.upper {
                let name = model.dof_names().swap_remove(dof);
                let why = format!("none of [{lower}, {upper}] is within the limits of `{name}`");
                return Err(argument("limits", why));
            }
        }
        let mut search = Self {
            chain: chain_length(system, frame, &joints),
            length: 1.0,
            moves: moved_pairs(system, &variable, &kin),
            scan: Scan::new(system),
            contacts: ContactRows::default(),
            jacobian: vec![0.0; 6 * model.n_v()],
            program: Program::default(),
            q0: q0.to_vec(),
            frame: *frame,
            system,
            settings,
            joints,
            dofs,
            variable,
        };
        if search.chain > 0.0 {
            search.length = search.chain;
        }
        let mut start = search.q0.clone();
        search.clamp(&mut start);
        search.q0 = start;
        Ok(search)
    }

    /// Sets the chain's length to the distance of the target if that is larger, since slides may
    /// reach far.
    pub fn measure(&mut self, target: &FrameTarget) {
        let X_WF = self.pose(&self.q0.clone());
        let far = target.position_error(X_WF.translation).norm();
        let length = self.chain.max(far);
        self.length = if length > 0.0 { length } else { 1.0 };
    }

    pub fn pose(&mut self, q: &[f64]) -> Pose {
        self.system.model().kinematics(q, &mut self.scan.kin);
        self.scan.forget();
        self.system.model().frame_pose(&self.scan.kin, &self.frame)
    }

    /// Distance (m) and angle (rad) of the frame from the target at `q`.
    pub fn errors(&mut self, target: &FrameTarget, q: &[f64]) -> [f64; 2] {
        let X = self.pose(q);
        [target.position_error(X.translation).norm(), target.rotation_error(X.rotation).norm()]
    }

    /// True if `q` is within the tolerances and limits, and all distances are kept.
    pub fn is_there(&mut self, target: &FrameTarget, q: &[f64]) -> bool {
        let tolerance = self.settings.position_tolerance.unwrap_or(1e-6 * self.length.min(1.0));
        let [position, rotation] = self.errors(target, q);
        let within = |d: &Dof| d.q_index.is_none_or(|i| d.lower <= q[i] && q[i] <= d.upper);
        position <= tolerance
            && rotation <= self.settings.rotation_tolerance
            && self.dofs.iter().all(within)
            && self.nearest(q, 0.0).is_none()
    }

    /// Start number `attempt`: `q0`, then points spread evenly within limits by multiples of the
    /// powers of one irrational number. Unlimited joints are spread over a turn or a chain length.
    pub fn seed(&self, attempt: u32) -> Vec<f64> {
        let mut q = self.q0.clone();
        if attempt == 0 {
            return q;
        }
        let n = self.dofs.len();
        // root of x^(n+1) = x + 1; the golden ratio for n = 1
        let mut root = 1.5_f64;
        for _ in 0..60 {
            root = (1.0 + root).powf(1.0 / (n as f64 + 1.0));
        }
        let mut rates = vec![0.0; self.system.model().n_v()];
        for (k, d) in self.dofs.iter().enumerate() {
            let share = (0.5 + f64::from(attempt) * root.powi(-(k as i32 + 1))).fract();
            let reach = if d.slides { self.length } else { std::f64::consts::PI };
            let now = d.q_index.map_or(0.0, |i| q[i]);
            let lower = if d.lower.is_finite() { d.lower } else { now.min(d.upper) - reach };
            let upper = if d.upper.is_finite() { d.upper } else { now.max(lower) + reach };
            rates[d.index] = lower + share * (upper - lower) - now;
        }
        self.system.model().integrate(&self.q0, &rates, 1.0, &mut q);
        self.clamp(&mut q);
        q
    }

    /// Moves `q` as near to the target as possible from its start, and returns its merit.
    pub fn approach(&mut self, target: &FrameTarget, q: &mut Vec<f64>) -> f64 {
        self.clamp(q);
        let mut value = self.value(target, q);
        let mut damping = 0.1;
        let mut trial = q.clone();
        // true if the last value was computed at `q`
        let mut fresh = true;
        for _ in 0..MOST_STEPS {
            let size = value.e.iter().map(|x| x * x).sum::<f64>();
            let clear = value.merit <= 0.5 * size;
            if clear && size <= ROUNDING * ROUNDING {
                break;
            }
            if !fresh {
                self.value(target, q);
            }
            let J = self.task_jacobian(target);
            self.task_cost(&J, &value.e, 1.0, damping * size + 1e-15);
            self.rows(q, RADIUS);
            let Some(d) = self.program.solve() else {
                damping = 10.0 * damping + 1e-3;
                continue;
            };
            let predicted = value.merit - self.promised(&J, &value.e, &d);
            self.moved(q, &d, &mut trial);
            let next = self.value(target, &trial);
            let gained = value.merit - next.merit;
            fresh = gained > 0.0 && gained >= 1e-3 * predicted;
            if fresh {
                std::mem::swap(q, &mut trial);
                value = next;
                damping = if gained > 0.5 * predicted { damping * 0.2 } else { damping * 2.0 };
            } else {
                damping = 5.0 * damping + 1e-6;
            }
            // no further progress: a stationary point, or rounding
            if predicted <= 1e-10 * value.merit || damping > 1e12 {
                break;
            }
        }
        value.merit
    }

    /// Moves `q`, which is at the target, to the nearest configuration to `q0` that is also at the
    /// target.
    pub fn optimise_posture(&mut self, target: &FrameTarget, q: &mut Vec<f64>) {
        let mut radius = RADIUS;
        let mut away = self.away(q);
        let mut trial = q.clone();
        for _ in 0..MOST_POSTURE_STEPS {
            let cost = 0.5 * away.iter().map(|x| x * x).sum::<f64>();
            let value = self.value(target, q);
            let J = self.task_jacobian(target);
            self.task_cost(&J, &value.e, TASK_WEIGHT, 1.0);
            for (c, x) in self.program.c.iter_mut().zip(&away) {
                *c += x;
            }
            self.rows(q, radius);
            let Some(d) = self.program.solve() else { return };
            let step = d.iter().take(self.dofs.len()).fold(0.0_f64, |m, x| m.max(x.abs()));
            if step < 1e-9 {
                return;
            }
            self.moved(q, &d, &mut trial);
            self.approach(target, &mut trial);
            let next = self.away(&trial);
            let gained = cost - 0.5 * next.iter().map(|x| x * x).sum::<f64>();
            if gained > 1e-12 * cost && self.is_there(target, &trial) {
                std::mem::swap(q, &mut trial);
                away = next;
                if gained < 1e-9 * cost {
                    return;
                }
            } else {
                radius = 0.25 * step;
                if radius < 1e-6 {
                    return;
                }
            }
        }
    }

    /// The joint that moves most from `a` to `b`, its motion in m or rad, and this motion in rad or
    /// chain lengths.
    pub fn largest_move(&self, a: &[f64], b: &[f64]) -> (String, f64, f64) {
        let model = self.system.model();
        let mut rates = vec![0.0; model.n_v()];
        model.difference(a, b, &mut rates);
        let moved = |d: &Dof| rates[d.index].abs() / self.unit(d);
        let most = self.dofs.iter().max_by(|x, y| moved(x).total_cmp(&moved(y)));
        most.map_or_else(Default::default, |d| {
            (model.dof_names().swap_remove(d.index), rates[d.index], moved(d))
        })
    }

    /// Number of dofs that may move.
    pub fn n_dofs(&self) -> usize {
        self.dofs.len()
    }

    /// Names of dofs at a bound.
    pub fn at_limit(&self, q: &[f64]) -> Vec<String> {
        let names = self.system.model().dof_names();
        let near = |d: &&Dof| {
            let slack = 1e-6 * self.unit(d);
            d.q_index.is_some_and(|i| q[i] - d.lower <= slack || d.upper - q[i] <= slack)
        };
        self.dofs.iter().filter(near).map(|d| names[d.index].clone()).collect()
    }

    /// True if no joint motion reduces the error at `q`, even without limits.
    pub fn is_singular(&mut self, target: &FrameTarget, q: &[f64]) -> bool {
        let e = self.value(target, q).e;
        let J = self.task_jacobian(target);
        let n = self.dofs.len();
        let norm = |x: &[f64]| x.iter().map(|a| a * a).sum::<f64>().sqrt();
        let felt: Vec<f64> =
            (0..n).map(|k| (0..6).map(|row| J[row * n + k] * e[row]).sum()).collect();
        norm(&felt) <= SINGULAR * norm(&e)
    }

    /// The nearest pair, if its distance is less than `avoid` plus `and` (m).
    pub fn nearest(&mut self, q: &[f64], and: f64) -> Option<TooNear> {
        let avoid = self.settings.avoid?;
        let crowded = self.scan.update(self.system, q, avoid + and, &mut Timer::default()).is_err();
        let points = self.scan.points.iter().filter(|p| crowded || self.concerns(p));
        let least = points.min_by(|x, y| x.point.phi.total_cmp(&y.point.phi))?;
        let name = |geom: u32| {
            let body = self.system.geoms[geom as usize].body;
            self.system.model().body(body).name.clone()
        };
        (least.point.phi < avoid + and).then(|| TooNear {
            a: name(least.geom_a),
            b: name(least.geom_b),
            distance: least.point.phi,
            avoid,
        })
    }

    fn concerns(&self, near: &NearPoint) -> bool {
        self.moves[near.geom_a as usize * self.system.geoms.len() + near.geom_b as usize]
    }

    fn unit(&self, d: &Dof) -> f64 {
        if d.slides { self.length } else { 1.0 }
    }

    fn clamp(&self, q: &mut [f64]) {
        for d in &self.dofs {
            if let Some(i) = d.q_index {
                q[i] = q[i].max(d.lower).min(d.upper);
            }
        }
    }

    /// `q` moved by the scaled step `d`, clamped to the limits.
    fn moved(&self, q: &[f64], d: &[f64], out: &mut Vec<f64>) {
        let mut rates = vec![0.0; self.system.model().n_v()];
        for (dof, x) in self.dofs.iter().zip(d) {
            rates[dof.index] = x * self.unit(dof);
        }
        out.resize(q.len(), 0.0);
        out.copy_from_slice(q);
        self.system.model().integrate(q, &rates, 1.0, out);
        self.clamp(out);
    }

    /// Scaled displacement from `q0` to `q`.
    fn away(&self, q: &[f64]) -> Vec<f64> {
        let mut rates = vec![0.0; self.system.model().n_v()];
        self.system.model().difference(&self.q0, q, &mut rates);
        self.dofs.iter().map(|d| rates[d.index] / self.unit(d)).collect()
    }

    /// Distance that pairs keep in a step, in m; `None` if distances are not computed.
    fn kept(&self) -> Option<f64> {
        self.settings.avoid.map(|avoid| avoid + MARGIN * self.length)
    }

    /// Computes kinematics, distances (if they matter), errors and merit at `q`.
    fn value(&mut self, target: &FrameTarget, q: &[f64]) -> Value {
        let mut shortfall = 0.0_f64;
        if let Some(kept) = self.kept() {
            let margin = kept + LOOKAHEAD * self.length;
            // with more near points than the scan can hold, any point may stand for a missing one
            let crowded = self.scan.update(self.system, q, margin, &mut Timer::default()).is_err();
            for near in self.scan.points.iter().filter(|p| crowded || self.concerns(p)) {
                shortfall = shortfall.max((kept - near.point.phi) / self.length);
            }
        } else {
            self.system.model().kinematics(q, &mut self.scan.kin);
        }
        let X = self.system.model().frame_pose(&self.scan.kin, &self.frame);
        let turn = target.rotation_error(X.rotation);
        let shift = target.position_error(X.translation) * (1.0 / self.length);
        let e = [turn.x, turn.y, turn.z, shift.x, shift.y, shift.z];
        let merit = 0.5 * e.iter().map(|x| x * x).sum::<f64>() + PRICE * shortfall;
        Value { e, merit }
    }

    /// Scaled Jacobian of the task at the last configuration of [`value`](Self::value), 6 rows.
    fn task_jacobian(&mut self, target: &FrameTarget) -> Vec<f64> {
        let (model, n) = (self.system.model(), self.dofs.len());
        model.frame_jacobian(&self.scan.kin, &self.frame, &mut self.jacobian);
        let R_WF = model.frame_pose(&self.scan.kin, &self.frame).rotation;
        let mut J = vec![0.0; 6 * n];
        for (k, d) in self.dofs.iter().enumerate() {
            let [wx, wy, wz, vx, vy, vz] = std::array::from_fn(|row| {
                self.jacobian[row * model.n_v() + d.index] * self.unit(d)
            });
            let turn = target.felt(R_WF, Vec3::new(wx, wy, wz));
            let per_length = if target.position.is_some() { 1.0 / self.length } else { 0.0 };
            let shift = Vec3::new(vx, vy, vz) * per_length;
            let entries = [turn.x, turn.y, turn.z, shift.x, shift.y, shift.z];
            for (row, entry) in entries.into_iter().enumerate() {
                J[row * n + k] = entry;
            }
        }
        J
    }

    /// Writes the cost `weight |J d − e|²/2 + damping |d|²/2`, and the penalty of a shortfall.
    fn task_cost(&mut self, J: &[f64], e: &[f64; 6], weight: f64, damping: f64) {
        let n = self.dofs.len();
        let size = n + usize::from(self.settings.avoid.is_some());
        let Program { P, c, .. } = &mut self.program;
        P.clear();
        P.resize(size * size, 0.0);
        c.clear();
        c.resize(size, 0.0);
        for (row, e) in J.chunks_exact(n).zip(e) {
            for i in 0..n {
                c[i] -= weight * row[i] * e;
                for j in 0..n {
                    P[i * size + j] += weight * row[i] * row[j];
                }
            }
        }
        for i in 0..n {
            P[i * size + i] += damping;
        }
        if size > n {
            c[n] = weight * PRICE;
            P[n * size + n] = weight;
        }
    }

    /// Merit predicted by the quadratic model at the step `d`.
    fn promised(&self, J: &[f64], e: &[f64; 6], d: &[f64]) -> f64 {
        let n = self.dofs.len();
        let left = J.chunks_exact(n).zip(e).map(|(row, e)| {
            let r = row.iter().zip(d).map(|(j, x)| j * x).sum::<f64>() - e;
            r * r
        });
        0.5 * left.sum::<f64>() + d.get(n).map_or(0.0, |s| PRICE * s.max(0.0))
    }

    /// Writes rows of limits, step radius and distances at `q`, the last configuration of
    /// [`value`](Self::value).
    fn rows(&mut self, q: &[f64], radius: f64) {
        let kept = self.kept();
        let Program { A, b, .. } = &mut self.program;
        A.clear();
        b.clear();
        for (k, d) in self.dofs.iter().enumerate() {
            let unit = if d.slides { self.length } else { 1.0 };
            let [low, high] = match d.q_index {
                Some(i) => [(d.lower - q[i]) / unit, (d.upper - q[i]) / unit],
                None => [f64::NEG_INFINITY, f64::INFINITY],
            };
            A.push(&[k as u32], &[1.0]);
            b.push(low.max(-radius).min(0.0));
            A.push(&[k as u32], &[-1.0]);
            b.push(-high.min(radius).max(0.0));
        }
        let Some(kept) = kept else { return };
        let slack = self.dofs.len() as u32;
        A.push(&[slack], &[1.0]);
        b.push(0.0);
        self.contacts.update(self.system, &self.scan, Cone::Pyramid(4), TangentAxes::Motion);
        for row in &self.contacts.rows {
            let n_geoms = self.system.geoms.len();
            if !self.moves[row.near.geom_a as usize * n_geoms + row.near.geom_b as usize] {
                continue;
            }
            let (mut columns, mut values) = (Vec::new(), Vec::new());
            for (dof, column) in self.contacts.columns_of(row) {
                if let Some(k) = self.variable[dof] {
                    let d = &self.dofs[k as usize];
                    columns.push(k);
                    values.push(column[0] * if d.slides { 1.0 } else { 1.0 / self.length });
                }
            }
            let short = (kept - row.near.point.phi) / self.length;
            // only rows that the start violates need the slack: d = 0 satisfies the others
            if short > 0.0 {
                columns.push(slack);
                values.push(1.0);
            }
            self.program.A.push(&columns, &values);
            self.program.b.push(short);
        }
    }
}

impl Program {
    fn solve(&mut self) -> Option<Vec<f64>> {
        let Self { P, c, A, b, solver, solution } = self;
        let qp = Qp { n: c.len(), P, c, A, b, saturations: &[] };
        solver.solve(&qp, &[], &Settings::default(), solution);
        (solution.status == Status::Solved).then(|| solution.x.clone())
    }
}

/// Index of the coordinate whose rate is dof `k` of the joint; `None` for rotations in space.
fn coordinate(joint: &JointKind, k: usize) -> Option<usize> {
    match joint {
        JointKind::Ball => None,
        // a quaternion has one more coordinate than rates
        JointKind::Free => (k >= 3).then_some(k + 1),
        _ => Some(k),
    }
}

/// Sum of the link lengths from the first moving joint to the frame, with the strokes of slides, in
/// m.
fn chain_length(system: &System, frame: &Frame, joints: &[usize]) -> f64 {
    let model = system.model();
    let mut length = frame.X_BF.translation.norm();
    let mut total = length;
    let mut body = frame.body;
    while body != WORLD {
        let joint = model.body(body);
        let leader = joint.mimic.map_or(body, |m| m.body);
        if joints.contains(&leader) {
            let stroke = match (joint.joint, joint.limits) {
                (JointKind::Prismatic { .. }, Some([a, b])) if (b - a).is_finite() => b - a,
                _ => 0.0,
            };
            length += stroke;
            total = length;
        }
        length += joint.X_PF.translation.norm();
        body = joint.parent;
    }
    total
}

/// For each pair of geoms, row by row: true if the joints move them relative to one another.
fn moved_pairs(
    system: &System,
    variable: &[Option<u32>],
    kin: &quasistep_model::Kinematics,
) -> Vec<bool> {
    let (model, n) = (system.model(), system.geoms.len());
    let movers: Vec<Vec<u32>> = (0..model.n_bodies())
        .map(|body| {
            let moving = |c: &&u32| variable[kin.columns[**c as usize].dof as usize].is_some();
            model.path(body).iter().filter(moving).copied().collect()
        })
        .collect();
    let mut moves = vec![false; n * n];
    for a in 0..n {
        for b in 0..n {
            moves[a * n + b] = movers[system.geoms[a].body] != movers[system.geoms[b].body];
        }
    }
    moves
}
