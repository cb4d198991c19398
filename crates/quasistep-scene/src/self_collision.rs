//! Tests which links of a model collide with each other in random configurations.

use crate::replica::mix;
use crate::scene::Scene;
use quasistep_model::JointKind;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

/// Sampling range to either side of a slide without limits, in m.
const SLIDE: f64 = 1.0;

/// Overlaps in random configurations of body pairs of one model that may collide.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfCollisions {
    /// Number of configurations tested.
    pub configurations: usize,
    /// Names of pairs that overlap in all of them.
    pub always: Vec<[String; 2]>,
    /// Names of pairs that overlap in none of them.
    pub never: Vec<[String; 2]>,
    /// Names of pairs that overlap in some, and in how many.
    pub sometimes: Vec<([String; 2], usize)>,
}

impl Scene {
    /// The `k`-th random configuration. Hinges and slides are uniform within their limits, or
    /// within a full turn (1 m) to either side without limits. Other joints stay at their start.
    /// The result depends on `k` only.
    pub fn random_configuration(&self, k: usize) -> Vec<f64> {
        let model = self.system.model();
        let mut ranges: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
        for body in model.bodies().iter().filter(|body| !body.q.is_empty()) {
            let range = match body.joint {
                JointKind::Revolute { .. } | JointKind::Continuous { .. } => PI,
                JointKind::Prismatic { .. } => SLIDE,
                _ => continue,
            };
            ranges.insert(body.q.start, [-range, range]);
        }
        for limit in model.limits() {
            if let Some([lower, upper]) = ranges.get_mut(&(limit.q_index as usize)) {
                if limit.lower.is_finite() {
                    *upper += limit.lower - *lower;
                    *lower = limit.lower;
                }
                if limit.upper.is_finite() {
                    *upper = limit.upper;
                    *lower = lower.min(limit.upper);
                }
            }
        }
        let mut q = self.start.q.clone();
        for (i, [lower, upper]) in ranges {
            // the upper 53 bits fill the significand of a double
            let part = (mix(mix(k as u64) ^ i as u64) >> 11) as f64 / (1_u64 << 53) as f64;
            q[i] = lower + part * (upper - lower);
        }
        q
    }

    /// Tests the first `configurations` random configurations.
    pub fn self_collisions(&self, configurations: usize) -> SelfCollisions {
        let system = &self.system;
        let model = system.model();
        let mut counts: BTreeMap<[usize; 2], usize> = BTreeMap::new();
        for [a, b] in system.own_pairs() {
            counts.insert([a, b], 0);
        }
        for k in 0..configurations {
            let q = self.random_configuration(k);
            let touching: BTreeSet<[usize; 2]> = system
                .self_overlaps(&q, 0.0)
                .into_iter()
                .map(|(a, b, _)| {
                    let [a, b] = [a, b].map(|geom| system.geoms()[geom].body);
                    [a.min(b), a.max(b)]
                })
                .collect();
            for pair in touching {
                *counts.entry(pair).or_default() += 1;
            }
        }
        let mut found = SelfCollisions { configurations, ..SelfCollisions::default() };
        for (pair, count) in counts {
            let names = pair.map(|body| model.body(body).name.clone());
            match count {
                0 => found.never.push(names),
                n if n == configurations => found.always.push(names),
                n => found.sometimes.push((names, n)),
            }
        }
        found
    }
}
