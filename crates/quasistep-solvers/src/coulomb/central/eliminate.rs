//! Everything of a step but the motion, contact by contact.

use super::{Central, Contact, FrictionProgram, MOST, Shape, directions, dot_short, rubs};

impl Central {
    pub(super) fn eliminate_all(&mut self, p: &FrictionProgram, kappa: f64) {
        for (i, contact) in p.contacts.iter().enumerate() {
            self.eliminate(p, i, contact, kappa);
        }
    }

    /// `d zeta = rest − matrix d u` of a contact.
    pub(super) fn eliminate(
        &mut self,
        p: &FrictionProgram,
        i: usize,
        contact: &Contact,
        kappa: f64,
    ) {
        let (k, d, at) = (contact.k as usize, contact.tangents(), contact.first as usize);
        let M = &mut self.matrix[self.matrix_at[i]..][..k * k];
        M.fill(0.0);
        let (n, s) = (self.zeta[at], self.s[i]);
        // s dn + n (du_n + u_n − s) = kappa − n s
        let stiffness = n / s;
        let dn = kappa / s - n - stiffness * (self.u[at] - s);
        M[0] = stiffness;
        self.rest[at] = dn;
        self.rest[at + 1..at + k].fill(0.0);
        if !rubs(p, contact) {
            return;
        }
        let gamma = self.gamma[i];
        let w = &self.u[at + 1..at + k];
        if contact.shape == Shape::Round {
            let f = &self.zeta[at + 1..at + k];
            let wf = dot_short(w, f);
            let ww = dot_short(w, w);
            let open = -(n * ww + gamma * wf) / gamma;
            let pivot = n - wf / gamma;
            // d gamma = c0 − cn dn − ct·dw
            let c0 = (kappa - n * gamma - wf - open) / pivot;
            let cn = (gamma - ww / gamma) / pivot;
            let mut ct = [0.0; MOST];
            for t in 0..d {
                ct[t] = (f[t] - n * w[t] / gamma) / pivot;
            }
            for t in 0..d {
                // dzeta_t = (rho − f dgamma − w dn − n dw)/gamma,   dn = rest − stiffness du_n
                let rho = -(n * w[t] + gamma * f[t]);
                let by_n = (f[t] * cn - w[t]) / gamma;
                self.rest[at + 1 + t] = (rho - f[t] * c0) / gamma + by_n * dn;
                M[(t + 1) * k] = by_n * stiffness;
                for r in 0..d {
                    let same = if r == t { n } else { 0.0 };
                    M[(t + 1) * k + r + 1] = (same - f[t] * ct[r]) / gamma;
                }
            }
            return;
        }
        let beta = &self.beta[self.beta_at[i]..self.beta_at[i + 1]];
        let kappa = kappa / beta.len() as f64;
        let spare = n - beta.iter().sum::<f64>();
        let (mut G, mut c0) = (0.0, kappa - gamma * spare);
        let mut gv = [0.0; MOST];
        for (v, beta) in directions(p, contact).zip(beta) {
            let t = dot_short(v, w) + gamma;
            let g = beta / t;
            G += g;
            c0 += gamma * (kappa / t - beta);
            for r in 0..d {
                gv[r] += g * v[r];
                self.rest[at + 1 + r] += v[r] * (kappa / t - beta);
                for c in 0..d {
                    M[(r + 1) * k + c + 1] += g * v[r] * v[c];
                }
            }
        }
        let pivot = spare + gamma * G;
        // d gamma = (c0 − gamma dn − gamma gv·dw)/pivot,   dzeta_t = … − gv d gamma
        for r in 0..d {
            self.rest[at + 1 + r] -= gv[r] * (c0 - gamma * dn) / pivot;
            M[(r + 1) * k] = gv[r] * gamma * stiffness / pivot;
            for c in 0..d {
                M[(r + 1) * k + c + 1] -= gv[r] * gamma * gv[c] / pivot;
            }
        }
    }

    /// Everything but `dx`.
    pub(super) fn substitute(
        &mut self,
        p: &FrictionProgram,
        i: usize,
        contact: &Contact,
        kappa: f64,
    ) {
        let (k, d, at) = (contact.k as usize, contact.tangents(), contact.first as usize);
        let units = p.units_of(contact);
        for r in 0..k {
            let unit = if r == 0 { 1.0 } else { units[r - 1] };
            let along: f64 = p.row(i, r).map(|(first, J)| dot_short(J, &self.dx[first..])).sum();
            self.du[at + r] = unit * along;
        }
        let M = &self.matrix[self.matrix_at[i]..][..k * k];
        for r in 0..k {
            self.dzeta[at + r] =
                self.rest[at + r] - dot_short(&M[r * k..(r + 1) * k], &self.du[at..]);
        }
        self.ds[i] = self.du[at] + self.u[at] - self.s[i];
        if !rubs(p, contact) {
            return;
        }
        let (n, gamma, dn) = (self.zeta[at], self.gamma[i], self.dzeta[at]);
        let (w, dw) = (&self.u[at + 1..at + k], &self.du[at + 1..at + k]);
        if contact.shape == Shape::Round {
            let (f, df) = (&self.zeta[at + 1..at + k], &self.dzeta[at + 1..at + k]);
            let short = kappa - n * gamma - dot_short(w, f);
            self.dgamma[i] = (short - gamma * dn - dot_short(f, dw) - dot_short(w, df)) / n;
            return;
        }
        let range = self.beta_at[i]..self.beta_at[i + 1];
        let kappa = kappa / range.len() as f64;
        let beta = &self.beta[range.clone()];
        let spare = n - beta.iter().sum::<f64>();
        let (mut G, mut c0) = (0.0, kappa - gamma * spare - gamma * dn);
        for (v, beta) in directions(p, contact).zip(beta) {
            let t = dot_short(v, w) + gamma;
            G += beta / t;
            c0 += gamma * (kappa / t - beta) - gamma * beta / t * dot_short(v, dw);
        }
        let dgamma = c0 / (spare + gamma * G);
        self.dgamma[i] = dgamma;
        for (j, v) in directions(p, contact).enumerate() {
            let beta = self.beta[range.start + j];
            let t = dot_short(v, w) + gamma;
            self.dbeta[range.start + j] =
                kappa / t - beta - beta / t * (dot_short(v, &dw[..d]) + dgamma);
        }
    }
}
