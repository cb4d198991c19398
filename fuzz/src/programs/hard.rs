//! Target `ConeSolver`: the hard contact problems of the testkit as plain data, judged by its
//! examiner.

use super::numbers;
use crate::target::Verdict;
use quasistep_cone::{Saturation, Status};
use serde_json::{Value, json};
use testkit::hard_problems::{Contact, Examiner, Family, HardProblem, Random};

/// Draws a problem of any family.
pub fn draw(random: &mut Random) -> Value {
    let p = HardProblem::from_seed(random.below(usize::MAX) as u64);
    let contacts: Vec<Value> = p
        .contacts
        .iter()
        .map(|c| json!({"round": c.round, "blocks": c.blocks, "J": c.J, "b": c.b, "E": c.E, "unit": c.unit}))
        .collect();
    // JSON has no infinity: a Huber term without a limit omits it
    let springs: Vec<Value> = p
        .springs
        .iter()
        .map(|s| {
            let limit = s.limit.is_finite().then_some(s.limit);
            json!({"index": s.index, "stiffness": s.stiffness, "target": s.target, "limit": limit})
        })
        .collect();
    json!({"family": p.family.name(), "seed": p.seed, "dims": p.dims, "P": p.P, "c": p.c,
        "contacts": contacts, "springs": springs, "unit": p.unit, "cost_unit": p.cost_unit})
}

/// The problem of a case; `None` if its parts do not match.
fn problem(case: &Value) -> Option<HardProblem> {
    let list = |value: &Value| -> Vec<Vec<f64>> {
        value.as_array().into_iter().flatten().map(numbers).collect()
    };
    let whole =
        |value: &Value| -> Vec<usize> { numbers(value).into_iter().map(|x| x as usize).collect() };
    let dims = whole(&case["dims"]);
    let contacts = case["contacts"].as_array()?.iter().map(|c| {
        let blocks: Vec<u32> = whole(&c["blocks"]).into_iter().map(|b| b as u32).collect();
        let contact = Contact {
            round: c["round"].as_bool()?,
            blocks,
            J: list(&c["J"]),
            b: numbers(&c["b"]),
            E: numbers(&c["E"]),
            unit: c["unit"].as_f64()?,
        };
        let k = contact.b.len();
        let sides = contact.blocks.iter().zip(&contact.J);
        let fit = contact.blocks.len() == contact.J.len()
            && sides.fold(true, |fit, (b, J)| {
                fit && dims.get(*b as usize).is_some_and(|d| J.len() == k * d)
            })
            && (1..=8).contains(&k)
            && if contact.round { contact.E.len() == k } else { contact.E.len().is_multiple_of(k) };
        let mut blocks = contact.blocks.clone();
        blocks.sort_unstable();
        blocks.dedup();
        (fit && blocks.len() == contact.blocks.len()).then_some(contact)
    });
    let n: usize = dims.iter().sum();
    let springs = case["springs"].as_array()?.iter().map(|s| {
        Some(Saturation {
            index: s["index"].as_u64().filter(|i| *i < n as u64)? as u32,
            stiffness: s["stiffness"].as_f64()?,
            target: s["target"].as_f64()?,
            limit: s["limit"].as_f64().unwrap_or(f64::INFINITY),
        })
    });
    let problem = HardProblem {
        family: Family::ALL.into_iter().find(|f| case["family"] == f.name())?,
        seed: case["seed"].as_u64()?,
        P: list(&case["P"]),
        c: numbers(&case["c"]),
        contacts: contacts.collect::<Option<_>>()?,
        springs: springs.collect::<Option<_>>()?,
        unit: numbers(&case["unit"]),
        cost_unit: case["cost_unit"].as_f64()?,
        dims,
    };
    let costs = problem.P.iter().zip(&problem.dims).all(|(P, d)| P.len() == d * d);
    let fit = costs && problem.P.len() == problem.dims.len();
    (fit && problem.c.len() == n && problem.unit.len() == n).then_some(problem)
}

/// Examines a problem.
pub fn judge(case: &Value, verdict: &mut Verdict) {
    let Some(problem) = problem(case) else { return };
    let outcome = Examiner::new().examine(&problem);
    let end = match outcome.status[0] {
        Status::Solved => "solved",
        Status::Unbounded => "unbounded",
        Status::Infeasible => "infeasible",
        Status::GaveUp => "given up",
    };
    verdict.count(format!("cone: {end}"));
    if outcome.status[0] == Status::GaveUp {
        verdict.count(format!("cone: given up, {}", problem.family.name()));
    }
    if let Some(wrong) = outcome.wrong {
        let kind: String = wrong.chars().take_while(|c| !c.is_ascii_digit()).collect();
        verdict.blame(format!("cone: {}", kind.trim()), wrong);
    }
}
