//! Distances between bodies, without contact points.

use crate::error::StepError;
use crate::system::System;
use quasistep_geometry::{Aabb, BroadPhase, NarrowPhase};
use quasistep_math::Pose;

/// Scratch memory for the distances of a system; its contents do not affect results.
#[derive(Debug)]
pub struct Distances {
    X_WB: Vec<Pose>,
    X_WG: Vec<Pose>,
    boxes: Vec<Aabb>,
    broad: BroadPhase,
    pairs: Vec<(u32, u32)>,
    narrow: NarrowPhase,
    near: Vec<([usize; 2], f64)>,
}

impl System {
    /// Scratch memory for [`near_pairs_within`](Self::near_pairs_within).
    pub fn create_distances(&self) -> Distances {
        Distances {
            X_WB: vec![Pose::IDENTITY; self.model.n_bodies()],
            X_WG: Vec::new(),
            boxes: Vec::new(),
            broad: BroadPhase::new(),
            pairs: Vec::new(),
            narrow: NarrowPhase::new(),
            near: Vec::new(),
        }
    }

    /// Pairs of bodies nearer than `margin` (m) at `q`: their indices, the smaller one first, and
    /// smallest signed distance (m), in ascending order.
    ///
    /// # Errors
    ///
    /// A vector has the wrong length, or its numbers are not a valid configuration.
    pub fn near_pairs(&self, q: &[f64], margin: f64) -> Result<Vec<([usize; 2], f64)>, StepError> {
        let mut memory = self.create_distances();
        self.near_pairs_within(q, margin, &|_| margin, &mut memory)?;
        Ok(memory.near)
    }

    /// As [`near_pairs`](Self::near_pairs), with a margin of its own for each pair of bodies, at most `most` (m);
    /// −∞ leaves a pair out.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn near_pairs_within<'a>(
        &self,
        q: &[f64],
        most: f64,
        margin: &dyn Fn([usize; 2]) -> f64,
        memory: &'a mut Distances,
    ) -> Result<&'a [([usize; 2], f64)], StepError> {
        self.check_query(q, most)?;
        let Distances { X_WB, X_WG, boxes, broad, pairs, narrow, near } = memory;
        self.model.poses(q, X_WB);
        X_WG.clear();
        boxes.clear();
        pairs.clear();
        near.clear();
        for geom in &self.geoms {
            let X = X_WB[geom.body] * geom.X_BG;
            boxes.push(geom.shape.aabb(&X));
            X_WG.push(X);
        }
        let bodies = |a: usize, b: usize| {
            let [a, b] = [a, b].map(|geom| self.geoms[geom].body);
            [a.min(b), a.max(b)]
        };
        let offers = |a, b| self.may_touch(a, b) && boxes[a].near(&boxes[b], margin(bodies(a, b)));
        broad.pairs(boxes, most, offers, pairs);
        for &(a, b) in &*pairs {
            let (a, b) = (a as usize, b as usize);
            let (bodies, [A, B]) = (bodies(a, b), [a, b].map(|geom| &self.geoms[geom].shape));
            let enough = margin(bodies);
            let phi = narrow.distance_within(A, &X_WG[a], B, &X_WG[b], enough).phi;
            if phi < enough {
                near.push((bodies, phi));
            }
        }
        near.sort_unstable_by(|x, y| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)));
        near.dedup_by_key(|pair| pair.0);
        Ok(near)
    }

    /// Checks a configuration and a margin (m).
    pub(crate) fn check_query(&self, q: &[f64], margin: f64) -> Result<(), StepError> {
        let (got, want) = (q.len(), self.model.n_q());
        if got != want {
            return Err(StepError::Length { what: "q", got, want });
        }
        self.model
            .check_q(q)
            .map_err(|e| StepError::Value { what: "q".into(), why: e.to_string() })?;
        if !(margin >= 0.0) {
            let why = format!("it is {margin}; it must be ≥ 0 m");
            return Err(StepError::Value { what: "margin".into(), why });
        }
        Ok(())
    }
}
