//! Rest with the multipliers of a warm start, which keeps their bits.

use super::Newton;
use super::hold::exact;
use super::work::Work;
use crate::kernels;
use crate::second_order;
use crate::tolerances::ROUNDING;

impl Newton {
    /// Whether `x = 0` is the solution with the multipliers `z`, in the layout of the caller, up to
    /// rounding. If so, they are the solution. `u` has the slacks at zero. `rho` converts slacks to
    /// multipliers, `speed` is the largest offset, `natural` the natural speed.
    pub(super) fn rests(
        &mut self,
        work: &Work<'_>,
        z: &[f64],
        rho: f64,
        [speed, natural]: [f64; 2],
    ) -> bool {
        let mut force = work.force();
        for cone in work.cones() {
            let (at, from, m) = (cone.at as usize, cone.first as usize, cone.m as usize);
            self.lambda[at..at + m].copy_from_slice(&z[from..from + m]);
            force = z[from..from + m].iter().fold(force, |most, z| most.max(z.abs()));
        }
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                self.smooth[i] = -work.p.c[i];
            }
        }
        for (k, spring) in work.p.saturations.iter().enumerate() {
            if work.has(self.spring_panel[k]) {
                self.smooth[self.spring_at[k] as usize] -= spring.gradient(0.0);
            }
        }
        kernels::add_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.smooth);
        // the condition is false for NaN
        if !(kernels::largest(work.isa, work.panels, &self.smooth) <= ROUNDING * force) {
            return false;
        }
        let most = exact(speed, natural);
        let holds = work.cones().all(|cone| {
            let (at, m) = (cone.at as usize, cone.m as usize);
            let [z, u] = [&self.lambda, &self.u].map(|v| &v[at..at + m]);
            if !cone.round {
                return z
                    .iter()
                    .zip(u)
                    .all(|(z, u)| *z >= 0.0 && *u >= -most && (*z == 0.0 || *u <= most));
            }
            let (mut t, mut own) = ([0.0; kernels::MAX_ROUND], [0.0; kernels::MAX_ROUND]);
            let (t, own) = (&mut t[..m], &mut own[..m]);
            for i in 0..m {
                t[i] = z[i] - rho * u[i];
            }
            second_order::project(t, own);
            own.iter().zip(z).all(|(own, z)| (own - z).abs() <= rho * most)
        });
        if holds {
            self.limits_stay(work);
        }
        holds
    }
}
