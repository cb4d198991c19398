//! Random calls of the Python package, with valid and invalid arguments.
//!
//! Cases are drawn here and judged by `fuzz/python_calls.py`, whose process replaces the worker of
//! the other targets.

use serde_json::{Value, json};
use testkit::hard_problems::Random;
use testkit::worlds;

/// Arguments of any kind, as expressions.
const ANYTHING: [&str; 34] = [
    "None",
    "0",
    "1",
    "-1",
    "2**70",
    "1e-3",
    "-0.5",
    "1e300",
    "float('nan')",
    "float('inf')",
    "True",
    "''",
    "'b00'",
    "'*'",
    "'nobody'",
    "b'x'",
    "[]",
    "()",
    "{}",
    "{'step.size': 0.01}",
    "[1, 2, 3]",
    "np.zeros(0)",
    "np.zeros(3)",
    "np.zeros((2, 3))",
    "np.full(7, np.nan)",
    "np.zeros(7, complex)",
    "np.array(['a'])",
    "q",
    "u",
    "q[:-1]",
    "np.stack([q, q])",
    "q.astype(np.float32)",
    "object()",
    "system.params",
];
/// Calls with a placeholder for arguments.
const CALLS: [&str; 30] = [
    "system.step(q, {})",
    "system.step({})",
    "system.step(q, u, h={})",
    "system.step(q, u, v={})",
    "system.step(q, u, wrenches={})",
    "system.step(q, u, tau={})",
    "system.step(q, u, velocity={})",
    "system.step(q, u, params={})",
    "system.step(q, u, warm={})",
    "system.step(q, u, t={})",
    "system.simulate({}, h=1e-3)",
    "system.simulate(duration={})",
    "system.simulate(q0={}, duration=0.0)",
    "system.with_({})",
    "system.pose({}, q)",
    "system.pose(system.bodies[-1], {})",
    "system.jacobian(system.bodies[-1], {})",
    "system.jacobian(system.bodies[-1], q, point={})",
    "system.mass_matrix({})",
    "system.gravity_force({})",
    "system.q_vector({})",
    "system.u_vector({})",
    "system.q_dict({})",
    "system.coordinates.index({})",
    "system.coordinates.indices({})",
    "system.params.replace(cone={})",
    "system.params.replace(size={})",
    "qs.Frame({})",
    "qs.Wrench(system.bodies[-1], force={})",
    "qs.from_dict({})",
];

/// Draws a small world and some calls, most of which have at most one invalid argument.
pub fn draw(seed: u64) -> Value {
    let mut random = Random::new(seed);
    // few bodies, because the interface is tested and not the step
    let mut world = worlds::world(random.below(10_000) as u64);
    while world["models"].as_object().is_some_and(|m| m.len() > 5) {
        world = worlds::world(random.below(10_000) as u64);
    }
    let calls: Vec<String> = (0..random.count(1, 6))
        .map(|_| random.pick(&CALLS).replacen("{}", random.pick(&ANYTHING), 1))
        .collect();
    json!({"scene": world, "calls": calls})
}
