//! Derivatives of a step of a scene against differences.

use quasistep::{Derivatives, InputChange, Mode, OutputChange, State, StepInput};
use quasistep_scene::Scene;

/// Random numbers from a seed.
pub struct Random(pub u64);
impl Random {
    /// Numbers from −1 to 1.
    pub fn vector(&mut self, n: usize) -> Vec<f64> {
        let mut signed = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..n).map(|_| signed()).collect()
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// A step of a scene, and its derivatives.
pub struct Step {
    scene: Scene,
    state: State,
    input: StepInput,
    mode: Mode,
    pub own: Derivatives,
}

impl Step {
    /// The fifth step of a scene, from a state that is displaced at random if the configuration
    /// `moves`.
    pub fn new(scene: Scene, mode: Mode, moves: bool, random: &mut Random) -> Self {
        let (system, h) = (&*scene.system, scene.params.time_step);
        let (mut state, mut input) = (scene.start.clone(), StepInput::default());
        let mut work = system.create_workspace();
        for k in 1..=4 {
            scene.sample(f64::from(k) * h, &mut input);
            system.step_with(&mut state, &input, &scene.params, &mut work).unwrap();
        }
        scene.sample(5.0 * h, &mut input);
        if moves {
            let (q, dq) = (state.q.clone(), random.vector(system.model().n_v()));
            system.model().integrate(&q, &dq, 1e-4, &mut state.q);
        }
        let mut own = system.create_derivatives();
        own.set_warm_start(false);
        system.differentiate(&state, &input, &scene.params, mode, &mut own).unwrap();
        Self { scene, state, input, mode, own }
    }

    fn changes(&self, with_q: bool, random: &mut Random) -> Vec<(&'static str, InputChange)> {
        let system = &self.scene.system;
        let (n_v, n_cmd) = (system.model().n_v(), system.n_cmd_v());
        let zero = InputChange::default;
        let mut changes = vec![
            ("q_cmd", InputChange { q_cmd: random.vector(n_cmd), ..zero() }),
            ("tau", InputChange { tau: random.vector(n_v), ..zero() }),
            ("h", InputChange { time_step: self.scene.params.time_step, ..zero() }),
        ];
        if !system.pads().is_empty() {
            let pad = [vec![0.0; n_cmd - 1], vec![1.0]].concat();
            changes.push(("pad", InputChange { q_cmd: pad, ..zero() }));
        }
        if with_q {
            changes.push(("q", InputChange { q: random.vector(n_v), ..zero() }));
        }
        if self.scene.params.formulation.carries_velocity() {
            changes.push(("v", InputChange { v: random.vector(n_v), ..zero() }));
        }
        changes
    }

    /// Next configuration relative to `base`, velocity, and net contact impulses, with the inputs
    /// changed by `eps`.
    fn outputs(&self, change: &InputChange, eps: f64, probe: &mut Derivatives) -> [Vec<f64>; 3] {
        let (system, mut params) = (&*self.scene.system, self.scene.params.clone());
        let moved = |x: &mut Vec<f64>, dx: &[f64]| {
            x.resize(x.len().max(dx.len()), 0.0);
            x.iter_mut().zip(dx).for_each(|(x, dx)| *x += eps * dx);
        };
        let (mut state, mut input) = (self.state.clone(), self.input.clone());
        if !change.q.is_empty() {
            system.model().integrate(&self.state.q, &change.q, eps, &mut state.q);
        }
        moved(&mut state.v, &change.v);
        moved(&mut input.q_cmd, &change.q_cmd);
        moved(&mut input.tau, &change.tau);
        params.time_step += eps * change.time_step;
        system.differentiate(&state, &input, &params, self.mode, probe).unwrap();
        let mut dq = vec![0.0; system.model().n_v()];
        system.model().difference(self.own.q_next(), probe.q_next(), &mut dq);
        let contacts = probe.report().contacts.iter();
        let impulses = contacts.flat_map(|c| (c.net_force_W() * params.time_step).to_array());
        [dq, probe.report().v.clone(), impulses.collect()]
    }

    /// Error of a change of the outputs against central differences of fourth order.
    fn error(&self, change: &InputChange, out: &OutputChange) -> f64 {
        let mut probe = self.scene.system.create_derivatives();
        probe.set_warm_start(false);
        let impulse: Vec<f64> = out.impulse.chunks(6).flat_map(|f| f[3..].to_vec()).collect();
        let all = [&out.q_next, &out.v, &impulse];
        // forces along the line between points may be split in many ways
        let n = if out.normal.len() == 1 { 3 } else { 2 };
        let mut at = |eps: f64| {
            let [a, b, c, d] =
                [1.0, -1.0, 2.0, -2.0].map(|k| self.outputs(change, k * eps, &mut probe));
            // contacts that the change opens or closes have no differences
            if [&a, &b, &c, &d].iter().any(|out| out[2].len() != impulse.len()) {
                return f64::INFINITY;
            }
            let mut worst = 0.0_f64;
            for (k, ours) in all.iter().enumerate().take(n) {
                let least = 1e-3 * self.scene.params.time_step;
                let size = ours.iter().fold(least, |m: f64, x| m.max(x.abs()));
                for (i, x) in ours.iter().enumerate() {
                    let want = 8.0 * (a[k][i] - b[k][i]) - (c[k][i] - d[k][i]);
                    worst = worst.max((x - want / (12.0 * eps)).abs() / size);
                }
            }
            worst
        };
        [1e-2, 1e-3, 1e-4, 1e-5, 1e-6].map(&mut at).into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Compares the derivatives with differences, and their forms with one another: products, their
    /// transposes and matrices. Returns the number of changes that were compared.
    pub fn check(mut self, at: &str, with_q: bool, random: &mut Random) -> usize {
        let system = self.scene.system.clone();
        let mut compared = 0;
        let (n_v, n_contacts) = (system.model().n_v(), self.own.n_contacts());
        let weights = OutputChange {
            q_next: random.vector(n_v),
            v: random.vector(n_v),
            normal: random.vector(n_contacts),
            impulse: random.vector(6 * n_contacts),
            components: random.vector(6 * n_contacts),
        };
        let mut gradient = InputChange::default();
        self.own.vjp(&system, &weights, &mut gradient).unwrap();
        let (mut by_q, mut by_u) = (vec![0.0; n_v * n_v], vec![0.0; n_v * system.n_cmd_v()]);
        self.own.jacobian(&system, &mut by_q, &mut by_u).unwrap();
        for (what, change) in self.changes(with_q, random) {
            let at = format!("{at} {what}");
            let mut out = OutputChange::default();
            let apart = self.own.jvp(&system, &change, true, &mut out).unwrap();
            // rows that depend on one another come apart: a kink, which is told
            if apart > 1e-9 {
                continue;
            }
            compared += 1;
            let error = self.error(&change, &out);
            assert!(error < 2e-6, "{at}: {error}");
            let forward = dot(&weights.q_next, &out.q_next)
                + dot(&weights.v, &out.v)
                + dot(&weights.normal, &out.normal)
                + dot(&weights.impulse, &out.impulse)
                + dot(&weights.components, &out.components);
            let backward = dot(&gradient.q, &change.q)
                + dot(&gradient.v, &change.v)
                + dot(&gradient.q_cmd, &change.q_cmd)
                + dot(&gradient.tau, &change.tau)
                + gradient.time_step * change.time_step;
            let size = forward.abs().max(backward.abs()).max(1e-6);
            assert!((forward - backward).abs() < 1e-7 * size, "{at}: {forward} {backward}");
            for (matrix, dx) in [(&by_q, &change.q), (&by_u, &change.q_cmd)] {
                for (row, x) in matrix.chunks(dx.len().max(1)).zip(&out.q_next) {
                    assert!(dx.is_empty() || (dot(row, dx) - x).abs() < 1e-9, "{at}");
                }
            }
        }
        compared
    }
}
