//! Solutions to a given accuracy: the interior point's last iterate, island by island.

use quasistep_cone::{Cone, ConeProgram, ConeSolver, Method, Reason, Settings, Solution, Status};

const HALF: f64 = 0.05;
const H: f64 = 0.05;
const MU: f64 = 0.6;
const ACCURACY: f64 = 1e-8;

/// Stacks of boxes on the ground, each an island. The variables of a box are its angular velocity
/// and its velocity.
struct Towers {
    program: ConeProgram,
    /// For each box its stack, mass and moment of inertia.
    boxes: Vec<(usize, f64, f64)>,
    /// For each contact its boxes, its Jacobian row by row, and its offset.
    contacts: Vec<(Vec<usize>, [Vec<f64>; 3], f64)>,
    /// Whether contacts are round cones.
    round: bool,
}

/// Edges of a pyramid with four edges.
fn edges() -> Vec<[f64; 3]> {
    [[MU, 0.0], [-MU, 0.0], [0.0, MU], [0.0, -MU]].map(|[a, b]| [1.0, a, b]).to_vec()
}

impl Towers {
    /// Stacks of these heights; the top of the first is pushed. Masses within a stack are 1 : 3 : 9
    /// and so on.
    fn new(heights: &[usize], round: bool) -> Self {
        let mut boxes = Vec::new();
        for (tower, height) in heights.iter().enumerate() {
            for k in 0..*height {
                let mass = 0.2 * 3.0_f64.powi(k as i32 % 3);
                boxes.push((tower, mass, mass * HALF * HALF * 2.0 / 3.0));
            }
        }
        let mut program = ConeProgram::new();
        program.reset(boxes.iter().map(|_| 6));
        for (k, (_, mass, inertia)) in boxes.iter().enumerate() {
            for i in 0..6 {
                program.P(k, i)[i] = if i < 3 { *inertia } else { *mass };
            }
            program.c(k)[5] = mass * 9.81 * H;
        }
        let mut towers = Self { program, boxes, contacts: Vec::new(), round };
        let mut first = 0;
        for (tower, height) in heights.iter().enumerate() {
            for k in first..first + height {
                for corner in 0..4 {
                    let sign = |side: usize| if corner >> side & 1 == 0 { 1.0 } else { -1.0 };
                    let at = [sign(0) * HALF, sign(1) * HALF, -HALF];
                    let on = if k == first { vec![k] } else { vec![k, k - 1] };
                    towers.push(on, [at, [at[0], at[1], HALF]], 2, 0.0);
                }
            }
            if tower == 0 {
                // a plate moves in at 0.1 m/s
                let top = first + height - 1;
                for y in [-HALF, HALF] {
                    towers.push(vec![top], [[-HALF, y, 0.0], [0.0; 3]], 0, 0.1);
                }
            }
            first += height;
        }
        towers
    }

    /// Adds a contact with its normal along `axis` at a given place of each of its boxes.
    fn push(&mut self, on: Vec<usize>, places: [[f64; 3]; 2], axis: usize, b: f64) {
        let mut rows: [Vec<f64>; 3] = [const { Vec::new() }; 3];
        for (r, row) in rows.iter_mut().enumerate() {
            let d = (axis + r) % 3;
            for (side, place) in places.iter().take(on.len()).enumerate() {
                let sign = if side == 0 { 1.0 } else { -1.0 };
                let mut unit = [0.0; 3];
                unit[d] = 1.0;
                for i in 0..3 {
                    let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                    row.push(sign * (place[j] * unit[k] - place[k] * unit[j]));
                }
                row.extend(unit.map(|u| sign * u));
            }
        }
        let list: Vec<u32> = on.iter().map(|k| *k as u32).collect();
        let E = edges().concat();
        let cone = if self.round { Cone::Round(&[1.0, MU, MU]) } else { Cone::Edges(&E) };
        let mut contact = self.program.push_cone(cone, 3, &list);
        contact.b()[0] = b;
        for side in 0..on.len() {
            for (r, row) in rows.iter().enumerate() {
                contact.J(side, r).copy_from_slice(&row[6 * side..6 * side + 6]);
            }
        }
        self.contacts.push((on, rows, b));
    }

    /// For each island the errors of a solution over what the accuracy allows: stationarity, rows,
    /// signs, products.
    fn errors(&self, s: &Solution) -> Vec<[f64; 4]> {
        let towers = self.boxes.last().expect("boxes").0 + 1;
        let mut imbalance: Vec<f64> = Vec::new();
        let (mut force, mut mass) = (vec![0.0_f64; towers], vec![0.0_f64; towers]);
        for (k, (tower, m, inertia)) in self.boxes.iter().enumerate() {
            imbalance.extend((0..6).map(|i| {
                let weight = if i == 5 { m * 9.81 * H } else { 0.0 };
                weight + if i < 3 { *inertia } else { *m } * s.x[6 * k + i]
            }));
            force[*tower] = force[*tower].max(m * 9.81 * H);
            mass[*tower] = mass[*tower].max(*m);
        }
        let mut speed: Vec<f64> = force.iter().zip(&mass).map(|(f, m)| f / m).collect();
        let mut off = vec![[0.0_f64; 4]; towers];
        let mut z = s.z.iter();
        for (on, rows, b) in &self.contacts {
            let tower = self.boxes[on[0]].0;
            let rate = |r: usize| {
                let terms = on.iter().enumerate().flat_map(|(side, k)| {
                    let at = move |i: usize| (6 * side + i, 6 * *k + i);
                    (0..6).map(move |i| rows[r][at(i).0] * s.x[at(i).1])
                });
                terms.sum::<f64>() - if r == 0 { *b } else { 0.0 }
            };
            let rates = [rate(0), rate(1), rate(2)];
            speed[tower] = speed[tower].max(b.abs());
            let rows_of_E = if self.round {
                vec![[1.0, 0.0, 0.0], [0.0, MU, 0.0], [0.0, 0.0, MU]]
            } else {
                edges()
            };
            let z: Vec<f64> = rows_of_E.iter().map(|_| *z.next().expect("a multiplier")).collect();
            let u: Vec<f64> =
                rows_of_E.iter().map(|e| e.iter().zip(rates).map(|(e, v)| e * v).sum()).collect();
            let own = &mut off[tower];
            if self.round {
                own[1] = own[1].max(u[1].hypot(u[2]) - u[0]);
                own[2] = own[2].max(z[1].hypot(z[2]) - z[0]);
                own[3] = own[3].max(z.iter().zip(&u).map(|(z, u)| z * u).sum::<f64>().abs());
            } else {
                for (z, u) in z.iter().zip(&u) {
                    own[1] = own[1].max(-u);
                    own[2] = own[2].max(-z);
                    own[3] = own[3].max((z * u).abs());
                }
            }
            for (edge, z) in rows_of_E.iter().zip(z) {
                for (side, k) in on.iter().enumerate() {
                    for i in 0..6 {
                        let arm: f64 = (0..3).map(|r| edge[r] * rows[r][6 * side + i]).sum();
                        imbalance[6 * k + i] -= z * arm;
                    }
                }
            }
        }
        for (k, (tower, ..)) in self.boxes.iter().enumerate() {
            for v in &imbalance[6 * k..6 * k + 6] {
                off[*tower][0] = off[*tower][0].max(v.abs());
            }
        }
        for (t, off) in off.iter_mut().enumerate() {
            let units = [force[t], speed[t], force[t], force[t] * speed[t]];
            for (off, unit) in off.iter_mut().zip(units) {
                *off /= ACCURACY * unit;
            }
        }
        off
    }
}

/// One stack is pushed, one is at rest and its rows give no reference speed, and one has another
/// mass. The reference speed of one island must not be used for another.
#[test]
fn islands_at_rest_are_near_enough_too() {
    let settings = Settings { accuracy: ACCURACY, ..Settings::default() };
    for heights in [&[8][..], &[6, 1, 2], &[1, 7], &[3, 3, 3]] {
        near_enough(&Towers::new(heights, false), heights, &settings);
        near_enough(&Towers::new(heights, true), heights, &settings);
    }
}

/// Solves to the given accuracy and exactly, and compares both.
fn near_enough(towers: &Towers, heights: &[usize], settings: &Settings) {
    let (mut near, mut exact) = (Solution::default(), Solution::default());
    let mut solver = ConeSolver::new();
    solver.solve(&towers.program, None, settings, &mut near);
    assert_eq!((near.status, near.reason), (Status::Solved, None::<Reason>), "{heights:?}");
    assert_eq!(near.method, Method::InteriorPoint, "{heights:?}");
    for (t, off) in towers.errors(&near).into_iter().enumerate() {
        // tolerance for rounding: both sides sum in different orders
        assert!(off.iter().all(|v| *v <= 1.0 + 1e-3), "{heights:?}, tower {t}: {off:?}");
    }
    solver.solve(&towers.program, None, &Settings::default(), &mut exact);
    assert_eq!(exact.status, Status::Solved, "{heights:?}");
    // the excess cost is bounded by products, violations, negative multipliers and the stationarity
    // residual: 1/2 m d² ≤ their sum
    let rows = near.z.len() as f64;
    for (k, (tower, m, inertia)) in towers.boxes.iter().enumerate() {
        let natural = 9.81 * H;
        let most = towers.boxes.iter().filter(|b| b.0 == *tower).map(|b| b.1).fold(0.0, f64::max);
        let open = 4.0 * rows * ACCURACY * most * natural.max(0.1) * natural;
        for i in 0..6 {
            let weight = if i < 3 { *inertia } else { *m };
            let d = near.x[6 * k + i] - exact.x[6 * k + i];
            assert!(0.5 * weight * d * d <= open, "{heights:?} box {k}: {d}");
        }
    }
}
