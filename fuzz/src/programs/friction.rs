//! Target `CoulombSolver`: point masses in space and contacts between them, judged by Coulomb's
//! law.

use super::{numbers, times};
use crate::target::Verdict;
use quasistep_friction::{
    CoulombSettings, CoulombSolution, CoulombSolver, Friction, FrictionProgram, Outcome, Reason,
    Refutation,
};
use serde_json::{Value, json};
use testkit::hard_problems::Random;

/// Acceptable error of a solution, as a share of the largest force, of the largest speed, or of
/// their product.
const SHARE: f64 = 1e-6;
/// Acceptable error of a certificate, as a share of its own terms. Only rounding is allowed.
const PROOF: f64 = 1e-8;
/// Edges of the pyramid, along its rows.
const EDGES: [f64; 8] = [1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, -1.0];

/// Draws point masses in three dimensions, with contacts with the world and with one another.
pub fn draw(random: &mut Random) -> Value {
    let bodies = random.count(1, 5);
    let massless = random.chance(0.2);
    let spread = if random.chance(0.3) { 3.0 } else { 0.5 };
    let masses: Vec<f64> = (0..bodies)
        .map(|_| if massless && random.chance(0.5) { 0.0 } else { random.decade(-spread, spread) })
        .collect();
    let c: Vec<f64> = masses
        .iter()
        .flat_map(|m| {
            let side = [random.signed(), random.signed()];
            [3.0 * side[0], 3.0 * side[1], 9.81 * (m + 0.1)]
        })
        .collect();
    let contacts: Vec<Value> = (0..random.count(1, 3 * bodies))
        .map(|_| {
            let a = random.below(bodies);
            let other = random.below(bodies + 1);
            // mostly a floor below; the contact's axes are orthonormal
            let n = if random.chance(0.6) { [0.0, 0.0, 1.0] } else { random.direction() };
            let axis = if n[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
            let mut t1 = cross(axis, n);
            let length = t1.iter().map(|t| t * t).sum::<f64>().sqrt();
            t1 = t1.map(|t| t / length);
            let frame = [n, t1, cross(n, t1)].concat();
            let mut blocks = vec![a];
            let mut J = vec![frame.clone()];
            if other < bodies && other != a {
                blocks.push(other);
                J.push(frame.iter().map(|x| -x).collect());
            }
            let gap = if random.chance(0.6) { 0.0 } else { 0.1 * random.signed() };
            let mu = if random.chance(0.1) { 0.0 } else { random.decade(-2.0, 0.5) };
            json!({"blocks": blocks, "J": J, "b": [gap, 0.0, 0.0], "mu": mu,
                "round": random.chance(0.5)})
        })
        .collect();
    json!({"masses": masses, "c": c, "contacts": contacts})
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A contact as plain numbers: rows of its Jacobian over all variables.
struct Contact {
    blocks: Vec<u32>,
    J: Vec<Vec<f64>>,
    rows: [Vec<f64>; 3],
    b: Vec<f64>,
    mu: f64,
    round: bool,
}

fn contacts(case: &Value, n: usize) -> Option<Vec<Contact>> {
    case["contacts"]
        .as_array()?
        .iter()
        .map(|c| {
            let blocks: Vec<u32> = numbers(&c["blocks"]).into_iter().map(|b| b as u32).collect();
            let J: Vec<Vec<f64>> = c["J"].as_array()?.iter().map(numbers).collect();
            let b = numbers(&c["b"]);
            let same = blocks.len() == 2 && blocks[0] == blocks[1];
            let fit = !same && !blocks.is_empty() && blocks.len() == J.len() && b.len() == 3;
            if !fit
                || J.iter().any(|J| J.len() != 9)
                || blocks.iter().any(|b| 3 * *b as usize + 3 > n)
            {
                return None;
            }
            let mut rows = std::array::from_fn(|_| vec![0.0; n]);
            for (block, J) in blocks.iter().zip(&J) {
                for (r, row) in rows.iter_mut().enumerate() {
                    (0..3).for_each(|k| row[3 * *block as usize + k] += J[3 * r + k]);
                }
            }
            let (mu, round) = (c["mu"].as_f64()?, c["round"].as_bool().unwrap_or(false));
            Some(Contact { blocks, J, rows, b, mu, round })
        })
        .collect()
}

/// Solves a program.
pub fn judge(case: &Value, verdict: &mut Verdict) {
    let (masses, c) = (numbers(&case["masses"]), numbers(&case["c"]));
    let n = 3 * masses.len();
    let Some(contacts) = contacts(case, n).filter(|_| c.len() == n && n > 0) else { return };
    let mut program = FrictionProgram::new();
    program.reset(masses.iter().map(|_| 3));
    for (block, mass) in masses.iter().enumerate() {
        (0..3).for_each(|k| program.P(block, k)[k] = *mass);
        program.c(block).copy_from_slice(&c[3 * block..3 * block + 3]);
    }
    for contact in &contacts {
        let round = [contact.mu; 2];
        let friction = if contact.round {
            Friction::Round(&round)
        } else {
            Friction::Diamond { mu: contact.mu, directions: &EDGES, tangents: 2 }
        };
        let mut to = program.push_contact(friction, &contact.blocks);
        for (side, J) in contact.J.iter().enumerate() {
            (0..3).for_each(|r| to.J(side, r).copy_from_slice(&J[3 * r..3 * r + 3]));
        }
        to.b().copy_from_slice(&contact.b);
    }
    let mut out = CoulombSolution::default();
    CoulombSolver::new().solve(&program, None, &CoulombSettings::default(), &mut out);
    verdict.count(format!("coulomb: {:?}", out.outcome).to_lowercase());
    match (out.outcome, &out.refutation) {
        (Outcome::Solved, _) => {
            if let Some(why) = wrong(&masses, &c, &contacts, &out) {
                verdict.blame("coulomb: a wrong answer", why);
            }
        }
        (Outcome::Unsolvable, Some(refutation)) => {
            if let Some(why) = unproven(&masses, &c, &contacts, refutation) {
                verdict.blame("coulomb: a wrong refutation", why);
            }
        }
        (Outcome::Unsolvable, None) => verdict.blame("coulomb: unsolvable without proof", ""),
        (Outcome::GaveUp, _) if out.reason != Some(Reason::NegativeFriction) => {
            verdict.blame("coulomb: given up", format!("{:?}", out.reason));
        }
        _ => {}
    }
}

/// Describes a violation of Coulomb's law by a solution; `None` if there is none.
fn wrong(masses: &[f64], c: &[f64], contacts: &[Contact], out: &CoulombSolution) -> Option<String> {
    let (x, lambda) = (&out.x, &out.lambda);
    let mut force = c.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
    // rate that the loads would cause on the heaviest mass, so that rounding does not count where
    // nothing moves
    let heaviest = masses.iter().fold(0.0_f64, |m, mass| m.max(*mass));
    let free = if heaviest > 0.0 { force / heaviest } else { 1.0 };
    let mut speed = x.iter().fold(free, |m, x| m.max(x.abs()));
    for (k, contact) in contacts.iter().enumerate() {
        force = force.max(lambda[3 * k].abs());
        speed = speed.max(contact.b[0].abs());
    }
    for i in 0..c.len() {
        let pushes = contacts.iter().enumerate();
        let pushed: f64 = pushes
            .map(|(k, con)| (0..3).map(|r| con.rows[r][i] * lambda[3 * k + r]).sum::<f64>())
            .sum();
        let off = masses[i / 3] * x[i] + c[i] - pushed;
        if !(off.abs() <= SHARE * force) {
            return Some(format!("balance of variable {i} is off by {off:.2e} of {force:.2e}"));
        }
    }
    for (k, con) in contacts.iter().enumerate() {
        let u: [f64; 3] = std::array::from_fn(|r| times(&con.rows[r], x) - con.b[r]);
        let l = &lambda[3 * k..3 * k + 3];
        let slip = [u[1], u[2]];
        let (size, most) = if con.round {
            (l[1].hypot(l[2]), con.mu * slip[0].hypot(slip[1]))
        } else {
            (l[1].abs() + l[2].abs(), con.mu * slip[0].abs().max(slip[1].abs()))
        };
        let errors = [
            ("overlap", -u[0], speed),
            ("pull", -l[0], force),
            ("force over a gap", (l[0] * u[0]).abs(), force * speed),
            ("friction beyond its cone", size - con.mu * l[0], force),
            ("dissipation missing", l[1] * slip[0] + l[2] * slip[1] + l[0] * most, force * speed),
        ];
        for (what, error, scale) in errors {
            if !(error <= SHARE * scale) {
                return Some(format!("contact {k}: {what}, {error:.2e} of {scale:.2e}"));
            }
        }
    }
    None
}

/// Describes an error in a certificate; `None` if it holds. Certificates of jams consist of cases
/// and are not checked here.
fn unproven(
    masses: &[f64],
    c: &[f64],
    contacts: &[Contact],
    refutation: &Refutation,
) -> Option<String> {
    match refutation {
        Refutation::Crushed { weights } => {
            let gain: f64 = contacts.iter().zip(weights).map(|(con, y)| y * con.b[0]).sum();
            let off = (0..c.len())
                .map(|i| {
                    contacts.iter().zip(weights).map(|(con, y)| y * con.rows[0][i]).sum::<f64>()
                })
                .fold(0.0_f64, |m, e: f64| m.max(e.abs()));
            let fits = weights.len() == contacts.len() && weights.iter().all(|y| *y >= -PROOF);
            (!(fits && off <= PROOF && gain > 0.0))
                .then(|| format!("weights off by {off:.2e}, gain {gain:.2e}"))
        }
        Refutation::Unsupported { direction: d } => {
            let fall = times(c, d);
            let spring = (0..d.len()).map(|i| masses[i / 3] * d[i].abs()).fold(0.0, f64::max);
            let back = contacts.iter().map(|con| {
                let u: [f64; 3] = std::array::from_fn(|r| times(&con.rows[r], d));
                let slip = if con.round { u[1].hypot(u[2]) } else { u[1].abs().max(u[2].abs()) };
                // the least power of any force of the cone along it
                u[0] - con.mu * slip
            });
            let back = back.fold(0.0_f64, f64::min);
            (!(fall < 0.0 && spring <= PROOF && back >= -PROOF))
                .then(|| format!("fall {fall:.2e}, spring {spring:.2e}, contacts {back:.2e}"))
        }
        Refutation::Jammed { .. } | Refutation::JammedRound { .. } => None,
    }
}
