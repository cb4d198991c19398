use crate::Qp;
#[derive(Debug, Default)]
pub(crate) struct SmallestNorm;
impl SmallestNorm {
    /// min |z|² s.t. Aᵀz = g, z ≥ 0 on rows with zero slack: z = max(0, A y).
    pub fn smallest(&mut self, qp: &Qp<'_>, x: &[f64], g: &[f64], z: &mut [f64], done: &mut bool) {
        let (n, m) = (qp.n, qp.b.len());
        let active: Vec<usize> = (0..m)
            .filter(|&i| {
                z[i] > 0.0 || {
                    let scale: f64 =
                        qp.A.row(i)
                            .1
                            .iter()
                            .zip(qp.A.row(i).0)
                            .map(|(v, c)| (v * x[*c as usize]).abs())
                            .sum::<f64>()
                            + qp.b[i].abs();
                    qp.A.dot(i, x) - qp.b[i] <= 1e-10 + 1e-10 * scale
                }
            })
            .collect();
        if active.is_empty() {
            *done = true;
            return;
        }
        let gmax = g.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        let mut y = vec![0.0; n];
        let phi = |y: &[f64]| -> f64 {
            active
                .iter()
                .map(|&i| {
                    let a = qp.A.dot(i, y).max(0.0);
                    0.5 * a * a
                })
                .sum::<f64>()
                - g.iter().zip(y).map(|(a, b)| a * b).sum::<f64>()
        };
        // start: least squares over all active rows
        let mut support: Vec<bool> = vec![true; active.len()];
        for iteration in 0..60 {
            let mut M = vec![0.0; n * n];
            let mut F: Vec<f64> = g.to_vec();
            for (k, &i) in active.iter().enumerate() {
                let a = qp.A.dot(i, &y);
                if iteration > 0 {
                    support[k] = a > 0.0;
                }
                if !support[k] {
                    continue;
                }
                qp.A.add_to(i, -a, &mut F);
                let (cs, vs) = qp.A.row(i);
                for (c1, v1) in cs.iter().zip(vs) {
                    for (c2, v2) in cs.iter().zip(vs) {
                        M[*c1 as usize * n + *c2 as usize] += v1 * v2;
                    }
                }
            }
            let worst = F.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
            if iteration > 0 && worst <= 1e-13 * gmax.max(1e-300) {
                break;
            }
            let trace: f64 = (0..n).map(|i| M[i * n + i]).sum();
            for i in 0..n {
                M[i * n + i] += 1e-13 * trace.max(1e-300);
            }
            let L = cholesky(&mut M, n);
            let mut step = F.clone();
            solve(L, n, &mut step);
            let slope: f64 = step.iter().zip(&F).map(|(a, b)| a * b).sum();
            let now = phi(&y);
            let mut t = 1.0;
            let mut trial: Vec<f64>;
            loop {
                trial = y.iter().zip(&step).map(|(a, b)| a + t * b).collect();
                if iteration == 0
                    || phi(&trial) <= now - 1e-4 * t * slope + 1e-15 * now.abs()
                    || t < 1e-6
                {
                    break;
                }
                t *= 0.5;
            }
            y = trial;
        }
        let mut r: Vec<f64> = g.to_vec();
        let new: Vec<f64> = active.iter().map(|&i| qp.A.dot(i, &y).max(0.0)).collect();
        for (k, &i) in active.iter().enumerate() {
            qp.A.add_to(i, -new[k], &mut r);
        }
        let worst = r.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        *done = worst <= 1e-9 * gmax.max(1e-300);
        if *done {
            z.iter_mut().for_each(|z| *z = 0.0);
            for (k, &i) in active.iter().enumerate() {
                z[i] = new[k];
            }
        }
    }
}
fn cholesky(M: &mut [f64], n: usize) -> &[f64] {
    for j in 0..n {
        let mut d = M[j * n + j];
        for k in 0..j {
            d -= M[j * n + k] * M[j * n + k];
        }
        let root = d.max(1e-300).sqrt();
        M[j * n + j] = root;
        for i in j + 1..n {
            let mut s = M[i * n + j];
            for k in 0..j {
                s -= M[i * n + k] * M[j * n + k];
            }
            M[i * n + j] = s / root;
        }
    }
    M
}
fn solve(L: &[f64], n: usize, x: &mut [f64]) {
    for i in 0..n {
        for k in 0..i {
            x[i] -= L[i * n + k] * x[k];
        }
        x[i] /= L[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= L[k * n + i] * x[k];
        }
        x[i] /= L[i * n + i];
    }
}
