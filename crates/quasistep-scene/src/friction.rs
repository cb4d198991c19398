//! Friction of surfaces and of pairs in a scene file.

use crate::collisions::matching_pairs;
use crate::document::{At, Map};
use quasistep::{FrictionAxes, FrictionException, PairFriction, Patch, Surface};
use quasistep_formats::{SceneError, description};

/// Default coefficient of sliding friction.
const DEFAULT_MU: f64 = 0.5;
/// Valid keys of the friction of a surface or pair.
const COEFFICIENTS: [&str; 9] = [
    "mu",
    "mu_spin",
    "mu_roll",
    "patch_radius",
    "spin_radius",
    "patch",
    "restitution",
    "compliance",
    "foundation",
];
/// Ratio of a disc's radius to the mean distance of its points from the centre.
const DISC: f64 = 1.5;

/// Friction values given for a surface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Given {
    mu: Option<f64>,
    /// Coefficients along the axes of a body, relative to `mu`.
    shares: Option<[f64; 3]>,
    mu_spin: Option<f64>,
    mu_roll: Option<f64>,
    patch_radius: Option<f64>,
    patch: Option<Patch>,
    restitution: Option<f64>,
    compliance: Option<f64>,
    foundation: Option<f64>,
}

impl Given {
    /// Friction values given by a robot's file.
    pub fn of_file(file: &description::Friction) -> Self {
        let (mu, shares) = match file.along {
            Some(along) => along_axes(along),
            None => (file.slide, None),
        };
        Self { mu, shares, mu_spin: file.spin, mu_roll: file.roll, ..Self::default() }
    }

    /// Reads `friction: 0.4`, `friction: [0.1, 0.6, 0.6]` or `friction: {mu: 0.4, patch_radius: 0.01}`.
    pub fn read(at: &At<'_>) -> Result<Self, SceneError> {
        if at.is_map() {
            Self::coefficients(&at.map(&COEFFICIENTS)?)
        } else {
            let (mu, shares) = sliding(at)?;
            Ok(Self { mu, shares, ..Self::default() })
        }
    }

    fn coefficients(map: &Map<'_>) -> Result<Self, SceneError> {
        let value = |key, unit| map.get(key).map(|at: &At<'_>| at.non_negative(unit)).transpose();
        let patch_radius = match (value("patch_radius", "m")?, value("spin_radius", "m")?) {
            (Some(_), Some(_)) => {
                let at = map.need("spin_radius")?;
                return Err(at.error(
                    "`patch_radius` and `spin_radius` were both seen; give one of the two",
                ));
            }
            (given, spin) => given.or(spin.map(|spin| DISC * spin)),
        };
        let (mu, shares) = map.get("mu").map(sliding).transpose()?.unwrap_or_default();
        Ok(Self {
            mu,
            shares,
            mu_spin: value("mu_spin", "m")?,
            mu_roll: value("mu_roll", "m")?,
            patch_radius,
            patch: map
                .get("patch")
                .map(|at| at.word(&[("area", Patch::Area), ("corners", Patch::Corners)]))
                .transpose()?,
            restitution: map.get("restitution").map(restitution).transpose()?,
            compliance: value("compliance", "m/N")?,
            foundation: value("foundation", "N/m³")?,
        })
    }

    /// These values as the exception of a pair of shapes. Axes are those of the body of the pair's
    /// second shape if `of_second`, else of the first.
    fn exception(&self, pair: (usize, usize), of_second: bool) -> FrictionException {
        let Self {
            mu,
            shares,
            mu_spin,
            mu_roll,
            patch_radius,
            patch,
            restitution,
            compliance,
            foundation,
        } = *self;
        FrictionException {
            pair,
            mu,
            axes: shares.map(|shares| FrictionAxes { shares, of_second }),
            mu_spin,
            mu_roll,
            patch_radius,
            patch,
            restitution,
            compliance,
            foundation,
        }
    }

    /// The surface, with missing values from `defaults`.
    pub fn over(&self, defaults: Surface) -> Surface {
        Surface {
            mu: self.mu.unwrap_or(defaults.mu),
            shares: if self.mu.is_some() { self.shares } else { defaults.shares },
            mu_spin: self.mu_spin.unwrap_or(defaults.mu_spin),
            mu_roll: self.mu_roll.unwrap_or(defaults.mu_roll),
            patch_radius: self.patch_radius.unwrap_or(defaults.patch_radius),
            patch: self.patch.unwrap_or(defaults.patch),
            restitution: self.restitution.unwrap_or(defaults.restitution),
            compliance: self.compliance.unwrap_or(defaults.compliance),
            foundation: self.foundation.unwrap_or(defaults.foundation),
        }
    }
}

/// Exception of a pair of shapes given by a robot's file.
pub(crate) fn of_pair(pair: (usize, usize), file: &description::Pair) -> FrictionException {
    Given::of_file(&file.friction).exception(pair, file.of_second)
}

/// Reads a coefficient of sliding friction, or three along the axes of a body: the largest one, and
/// all relative to it.
fn sliding(at: &At<'_>) -> Result<(Option<f64>, Option<[f64; 3]>), SceneError> {
    if !at.is_list() {
        return Ok((Some(at.non_negative("")?), None));
    }
    let along = at.numbers("")?;
    let valid = |mu: &f64| *mu > 0.0 && mu.is_finite();
    match <[f64; 3]>::try_from(along.as_slice()) {
        Ok(along) if along.iter().all(valid) => Ok(along_axes(along)),
        _ => Err(at.error(format!(
            "{along:?} was seen; friction is a number ≥ 0, or three numbers > 0: the coefficients along x, \
             y and z of the body"
        ))),
    }
}

/// The largest of three coefficients, and all relative to it.
fn along_axes(along: [f64; 3]) -> (Option<f64>, Option<[f64; 3]>) {
    let mu = along.iter().copied().fold(0.0, f64::max);
    (Some(mu), along.iter().any(|x| *x != mu).then(|| along.map(|x| x / mu)))
}

/// A number from 0 to 1.
fn restitution(at: &At<'_>) -> Result<f64, SceneError> {
    let value = at.non_negative("")?;
    if value <= 1.0 {
        return Ok(value);
    }
    Err(at.error(format!("{value} was seen; it must be a number from 0 to 1")))
}

/// Surface from the `friction` key of a mapping, with missing values from `defaults`.
pub(crate) fn surface(map: &Map<'_>, defaults: Surface) -> Result<Surface, SceneError> {
    Ok(map.get("friction").map(Given::read).transpose()?.unwrap_or_default().over(defaults))
}

/// The `friction:` section of a scene.
pub(crate) struct SceneFriction<'a> {
    pub rule: PairFriction,
    pub default: Surface,
    /// Pairs, each with its friction, and whether the axes are those of `b`.
    pairs: Vec<(Map<'a>, Given, bool)>,
}

impl<'a> SceneFriction<'a> {
    pub fn read(at: Option<&At<'a>>) -> Result<Self, SceneError> {
        let mut friction = Self {
            rule: PairFriction::default(),
            default: Surface::sliding(DEFAULT_MU),
            pairs: Vec::new(),
        };
        let Some(at) = at else { return Ok(friction) };
        let map = at.map(&["rule", "default", "pairs"])?;
        if let Some(rule) = map.get("rule") {
            friction.rule = rule.word(&[
                ("harmonic_mean", PairFriction::HarmonicMean),
                ("geometric_mean", PairFriction::GeometricMean),
                ("arithmetic_mean", PairFriction::ArithmeticMean),
                ("minimum", PairFriction::Minimum),
                ("maximum", PairFriction::Maximum),
            ])?;
        }
        if let Some(default) = map.get("default") {
            friction.default = Given::read(default)?.over(friction.default);
        }
        for pair in map.get("pairs").map(At::list).transpose()?.unwrap_or_default() {
            let mut keys = vec!["a", "b", "axes"];
            keys.extend(COEFFICIENTS);
            let map = pair.map(&keys)?;
            let given = Given::coefficients(&map)?;
            let axes =
                map.get("axes").map(|at| at.word(&[("a", false), ("b", true)])).transpose()?;
            if axes.is_some() && given.shares.is_none() {
                let what =
                    "`axes` was seen; give it with `mu` along x, y and z: three different numbers";
                return Err(map.need("axes")?.error(what));
            }
            if given == Given::default() {
                let valid = quasistep_formats::list(&COEFFICIENTS);
                return Err(pair.error(format!(
                    "a pair without friction of its own was seen; give at least one of {valid}"
                )));
            }
            friction.pairs.push((map, given, axes.unwrap_or(false)));
        }
        Ok(friction)
    }

    /// Exceptions of pairs of shapes; later ones override earlier ones.
    pub fn exceptions(&self, geom_bodies: &[&str]) -> Result<Vec<FrictionException>, SceneError> {
        let mut all = Vec::new();
        for (map, given, of_b) in &self.pairs {
            let pairs = matching_pairs(map.need("a")?, map.need("b")?, geom_bodies)?;
            all.extend(pairs.into_iter().map(|pair| given.exception(pair, *of_b)));
        }
        Ok(all)
    }
}
