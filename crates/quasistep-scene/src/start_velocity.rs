//! `start_velocity`: joint velocity at the start of a dynamic run.

use crate::document::{At, Map};
use quasistep_formats::SceneError;
use quasistep_math::Vec3;
use quasistep_model::JointKind;

/// A start velocity as given, before the joint's kind is known.
#[derive(Clone, Debug)]
pub(crate) enum StartVelocity {
    /// One number per dof, in m/s or rad/s.
    Rates(Vec<f64>),
    /// Velocity `{linear, angular}` of a free body, in m/s and rad/s, in the parent's axes.
    Twist { linear: Option<Vec3>, angular: Vec3 },
}

impl StartVelocity {
    pub fn read(at: &At<'_>) -> Result<Self, SceneError> {
        if at.is_map() {
            let map = at.map(&["linear", "angular"])?;
            let vector = |key: &str, unit: &str| -> Result<Option<Vec3>, SceneError> {
                Ok(map.get(key).map(|at| at.array::<3>(unit)).transpose()?.map(Vec3::from))
            };
            let angular = vector("angular", "rad/s")?.unwrap_or(Vec3::ZERO);
            return Ok(Self::Twist { linear: vector("linear", "m/s")?, angular });
        }
        let unit = "m/s or rad/s";
        Ok(Self::Rates(if at.is_list() { at.numbers(unit)? } else { vec![at.number(unit)?] }))
    }

    /// Start velocities of a body with `n` joints: that of its one joint, or one number for each.
    pub fn read_each(map: &Map<'_>, n: usize) -> Result<Vec<Option<Self>>, SceneError> {
        let Some(at) = map.get("start_velocity") else { return Ok(vec![None; n]) };
        if n == 1 {
            return Ok(vec![Some(Self::read(at)?)]);
        }
        let rates = at.numbers("m/s or rad/s")?;
        if rates.len() != n {
            return Err(at.error(format!(
                "{} velocities were seen for {n} slides and hinges; give one for each",
                rates.len()
            )));
        }
        Ok(rates.into_iter().map(|rate| Some(Self::Rates(vec![rate]))).collect())
    }

    /// Rates of the dofs of this kind of joint; `n_v` is 0 for a mimic joint.
    pub fn fit(&self, kind: &JointKind, n_v: usize, at: &At<'_>) -> Result<Vec<f64>, SceneError> {
        let rates = match (self, kind) {
            (Self::Rates(rates), _) => rates.clone(),
            (Self::Twist { linear, angular }, JointKind::Free) => {
                let linear = linear.unwrap_or(Vec3::ZERO);
                angular.to_array().into_iter().chain(linear.to_array()).collect()
            }
            (Self::Twist { linear: None, angular }, JointKind::Ball) => angular.to_array().to_vec(),
            (Self::Twist { .. }, _) => {
                return Err(at.error(format!(
                    "`linear` or `angular` was seen as the start velocity of a {} joint; give one number \
                     per dof",
                    kind.word()
                )));
            }
        };
        if rates.len() != n_v {
            return Err(at.error(format!(
                "{} start velocities were seen; this {} joint has {n_v} dofs of its own{}",
                rates.len(),
                kind.word(),
                if n_v > 3 { ", given as {linear, angular}" } else { "" }
            )));
        }
        Ok(rates)
    }
}
