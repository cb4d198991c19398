//! Friction of surfaces, and its combination for pairs of surfaces.

use crate::error::SystemError;

/// Friction of one surface. Pairs combine two surfaces, see [`Friction`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surface {
    /// Coefficient of sliding friction, ≥ 0; the largest one if it depends on the direction.
    pub mu: f64,
    /// Coefficients along x, y and z of the body that carries the surface, relative to `mu`, > 0 and
    /// ≤ 1; `None` if friction is alike in all directions. See [`FrictionAxes`].
    pub shares: Option<[f64; 3]>,
    /// Torque about the normal per normal force, in m, ≥ 0: Tracy's `μ_ω`.
    pub mu_spin: f64,
    /// Torque across the normal per normal force, in m, ≥ 0.
    pub mu_roll: f64,
    /// Radius of the contact patch that this surface forms at a contact point, in m, ≥ 0. It gives
    /// a pair the `mu_spin` of [`Friction::spin_of_patch`].
    pub patch_radius: f64,
    /// Friction law of flat contacts.
    pub patch: Patch,
    /// Coefficient of restitution, from 0 to 1. Read by
    /// [`Motion::Dynamic`](crate::Motion::Dynamic).
    pub restitution: f64,
    /// Compliance at a contact point, in m/N, ≥ 0; 0 is rigid. The compliances of a pair add up.
    pub compliance: f64,
    /// Modulus of the elastic foundation, pressure per indentation, in N/m³, ≥ 0; 0 for none. The
    /// moduli of a pair act in series.
    pub foundation: f64,
}

/// Friction law of a flat contact with several points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Patch {
    /// One friction law for the area between the points, under uniform pressure: tangential force
    /// and spin torque about the centre of pressure share one ellipsoid (Goyal, Ruina and
    /// Papadopoulos 1991). See [`Friction::mu_spin`] for the spin radius. If the load is off the
    /// centroid, the pressure is uniform on the part of the area that is symmetric about the load
    /// (Meyerhof 1953). Used with [`Cone::Round`](crate::Cone::Round); pyramids have friction at
    /// each corner.
    #[default]
    Area,
    /// An independent friction cone at each point, under any distribution of loads among the
    /// points: the model of the papers.
    Corners,
}

impl Surface {
    /// A surface with sliding friction alone.
    pub fn sliding(mu: f64) -> Self {
        Self { mu, ..Self::default() }
    }

    fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("friction", self.mu),
            ("mu_spin", self.mu_spin),
            ("mu_roll", self.mu_roll),
            ("patch_radius", self.patch_radius),
            ("compliance", self.compliance),
            ("foundation", self.foundation),
        ] {
            valid(name, value)?;
        }
        valid_shares(self.shares)?;
        valid_share("restitution", self.restitution)
    }
}

/// Friction that depends on the direction of sliding.
///
/// With coefficients `m` along the axes of a body and the projection `P` on the plane of contact,
/// the friction forces are those of an ellipse,
///
/// ```text
/// f = P diag(m) P g,   ‖g‖ ≤ lambda_n
/// ```
///
/// A contact that slides has the force of the ellipse that takes most power: it is opposite to the
/// velocity only along the ellipse's axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrictionAxes {
    /// Coefficients along x, y and z of the body, relative to [`Friction::mu`].
    pub shares: [f64; 3],
    /// True if the axes are those of the body of the pair's second shape, false for the first. The
    /// pair of a [`Friction`] is in the order of the indices.
    pub of_second: bool,
}

/// Friction of a pair of surfaces: bounds on the tangential force and torques per normal force.
///
/// ```text
/// ‖(lambda_t/mu, lambda_spin/mu_spin, lambda_roll/mu_roll)‖ ≤ lambda_n
/// ```
///
/// This is the law of round cones. A pyramid has edges along each direction and adds the terms. A
/// coefficient of 0 removes its force or torque. For a flat contact with the law of an area,
/// `lambda_spin` is about the centre of pressure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Friction {
    /// Coefficient of sliding friction, ≥ 0; the largest one if it depends on the direction.
    pub mu: f64,
    /// How sliding friction depends on the direction, if it does.
    pub axes: Option<FrictionAxes>,
    /// Spin torque about the normal per normal force, in m, ≥ 0: Tracy (7). For an area without a
    /// value of its own it is `mu` times the mean distance of the area from its centre: 2/3 R for a
    /// disc, 0.3826 a for a square.
    pub mu_spin: f64,
    /// Torque of rolling friction, about axes across the normal, per normal force, in m, ≥ 0.
    pub mu_roll: f64,
    /// Friction law of flat contacts.
    pub patch: Patch,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// Compliance of both surfaces together, in m/N. For a point of a foundation it follows from
    /// the point's area.
    pub compliance: f64,
    /// Modulus of the elastic foundation under flat contacts, in N/m³; 0 for none. Each point of a
    /// foundation has its own friction cone.
    pub foundation: f64,
    /// True if `mu_spin` is given for the pair, false if it is computed from the area.
    pub spin_is_given: bool,
}

impl Friction {
    /// `2/3 mu R`, in m: spin torque per normal force of a disc of radius `R` under uniform
    /// pressure.
    pub fn spin_of_patch(mu: f64, radius: f64) -> f64 {
        2.0 / 3.0 * mu * radius
    }

    /// True if a single contact point of the pair resists turning.
    pub(crate) fn resists_turning(&self) -> bool {
        self.mu_spin > 0.0 || self.mu_roll > 0.0
    }

    /// True if several coplanar points of the pair have the friction law of an area.
    pub(crate) fn is_of_area(&self) -> bool {
        self.mu > 0.0 && self.patch == Patch::Area && self.foundation == 0.0
    }
}

/// Rule that combines the sliding friction coefficients of two surfaces.
///
/// For `mu_spin`, `mu_roll`, `patch_radius` and `restitution` a pair takes the larger value, since
/// one soft pad is enough to form a patch. [`Patch::Corners`] of either surface takes precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairFriction {
    /// `2 a b / (a + b)`, as Drake does; 0 if both are 0.
    #[default]
    HarmonicMean,
    /// `√(a b)`.
    GeometricMean,
    /// `(a + b)/2`.
    ArithmeticMean,
    /// The smaller one.
    Minimum,
    /// The larger one.
    Maximum,
}

impl PairFriction {
    /// Coefficient of a pair whose surfaces have the coefficients `a` and `b`.
    pub fn combine(self, a: f64, b: f64) -> f64 {
        match self {
            Self::HarmonicMean if a + b > 0.0 => 2.0 * a * b / (a + b),
            Self::HarmonicMean => 0.0,
            Self::GeometricMean => (a * b).sqrt(),
            Self::ArithmeticMean => 0.5 * (a + b),
            Self::Minimum => a.min(b),
            Self::Maximum => a.max(b),
        }
    }

    /// Friction of a pair, of which `a` has the smaller index.
    fn pair(self, a: &Surface, b: &Surface, own: &FrictionException) -> Friction {
        let (mu, axes) = self.sliding(a, b, own);
        let radius = own.patch_radius.unwrap_or(a.patch_radius.max(b.patch_radius));
        let of_radius = Friction::spin_of_patch(mu, radius);
        let mu_spin = match (own.mu_spin, own.patch_radius) {
            (Some(spin), _) => spin,
            (None, Some(_)) => of_radius,
            (None, None) => a.mu_spin.max(b.mu_spin).max(of_radius),
        };
        let corners = a.patch == Patch::Corners || b.patch == Patch::Corners;
        let patch = own.patch.unwrap_or(if corners { Patch::Corners } else { Patch::Area });
        let mu_roll = own.mu_roll.unwrap_or(a.mu_roll.max(b.mu_roll));
        // 0 means no value: a point without torsional friction, or the spin radius of the area
        let spin_is_given = mu_spin > 0.0;
        let restitution = own.restitution.unwrap_or(a.restitution.max(b.restitution));
        let compliance = own.compliance.unwrap_or(a.compliance + b.compliance);
        let foundation = own.foundation.unwrap_or(match (a.foundation, b.foundation) {
            (0.0, k) | (k, 0.0) => k,
            (a, b) => a * b / (a + b),
        });
        Friction {
            mu,
            axes,
            mu_spin,
            mu_roll,
            patch,
            restitution,
            compliance,
            foundation,
            spin_is_given,
        }
    }

    /// Largest coefficient of sliding friction, and how it depends on the direction.
    fn sliding(
        self,
        a: &Surface,
        b: &Surface,
        own: &FrictionException,
    ) -> (f64, Option<FrictionAxes>) {
        if let Some(mu) = own.mu {
            return (mu, own.axes);
        }
        // of two surfaces at most one depends on the direction: `FrictionTable::new`
        let (shares, of_second) = match (a.shares, b.shares) {
            (None, None) => return (self.combine(a.mu, b.mu), None),
            (Some(shares), _) => (shares, false),
            (None, Some(shares)) => (shares, true),
        };
        let (rough, other) = if of_second { (b, a) } else { (a, b) };
        let along = shares.map(|share| self.combine(share * rough.mu, other.mu));
        let mu = along.iter().copied().fold(0.0, f64::max);
        let axes = FrictionAxes { shares: along.map(|x| x / mu), of_second };
        (mu, (mu > 0.0).then_some(axes))
    }
}

/// Friction values set for one pair of shapes. Fields that are `None` follow from the surfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrictionException {
    /// The pair, as indices of shapes.
    pub pair: (usize, usize),
    /// See [`Surface::mu`].
    pub mu: Option<f64>,
    /// How `mu` depends on the direction; read only with `mu`.
    pub axes: Option<FrictionAxes>,
    /// See [`Surface::mu_spin`]; takes precedence over `patch_radius`.
    pub mu_spin: Option<f64>,
    /// See [`Surface::mu_roll`].
    pub mu_roll: Option<f64>,
    /// See [`Surface::patch_radius`].
    pub patch_radius: Option<f64>,
    /// See [`Surface::patch`].
    pub patch: Option<Patch>,
    /// See [`Surface::restitution`].
    pub restitution: Option<f64>,
    /// See [`Surface::compliance`].
    pub compliance: Option<f64>,
    /// See [`Surface::foundation`].
    pub foundation: Option<f64>,
}

impl FrictionException {
    fn check(&self) -> Result<(), String> {
        let given = [
            ("mu", self.mu),
            ("mu_spin", self.mu_spin),
            ("mu_roll", self.mu_roll),
            ("patch_radius", self.patch_radius),
            ("compliance", self.compliance),
            ("foundation", self.foundation),
        ];
        given.iter().try_for_each(|(name, value)| value.map_or(Ok(()), |v| valid(name, v)))?;
        valid_shares(self.axes.map(|axes| axes.shares))?;
        self.restitution.map_or(Ok(()), |v| valid_share("restitution", v))
    }

    /// The exception with the smaller index first.
    fn in_order(&self) -> Self {
        let (a, b) = self.pair;
        let swapped = |axes: FrictionAxes| FrictionAxes { of_second: !axes.of_second, ..axes };
        if a < b { *self } else { Self { pair: (b, a), axes: self.axes.map(swapped), ..*self } }
    }

    /// Values of `later`, where set, and values of `self` elsewhere.
    fn overridden_by(&self, later: &Self) -> Self {
        // a later patch radius replaces an earlier spin coefficient
        let spin = later.mu_spin.or(self.mu_spin.filter(|_| later.patch_radius.is_none()));
        Self {
            pair: later.pair,
            mu: later.mu.or(self.mu),
            axes: if later.mu.is_some() { later.axes } else { self.axes },
            mu_spin: spin,
            mu_roll: later.mu_roll.or(self.mu_roll),
            patch_radius: later.patch_radius.or(self.patch_radius),
            patch: later.patch.or(self.patch),
            restitution: later.restitution.or(self.restitution),
            compliance: later.compliance.or(self.compliance),
            foundation: later.foundation.or(self.foundation),
        }
    }
}

fn valid(name: &str, value: f64) -> Result<(), String> {
    if value >= 0.0 && value.is_finite() { Ok(()) } else { Err(format!("{name} {value}")) }
}

fn valid_shares(shares: Option<[f64; 3]>) -> Result<(), String> {
    let valid = |share: &f64| *share > 0.0 && *share <= 1.0;
    match shares.filter(|shares| !shares.iter().all(valid)) {
        None => Ok(()),
        Some(shares) => Err(format!("shares of mu {shares:?}")),
    }
}

fn valid_share(name: &str, value: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(format!("{name} {value}")) }
}

/// Friction of every pair of surfaces.
#[derive(Clone, Debug)]
pub(crate) struct FrictionTable {
    rule: PairFriction,
    surfaces: Vec<Surface>,
    /// Friction of pairs with values of their own, smaller index first, in ascending order.
    exceptions: Vec<((u32, u32), Friction)>,
}

impl FrictionTable {
    /// Builds the table of `surfaces`; `name` names a surface, `touch` says whether two may touch. If
    /// a pair has several exceptions, the last takes precedence.
    pub fn new(
        rule: PairFriction,
        surfaces: Vec<Surface>,
        exceptions: &[FrictionException],
        name: impl Fn(usize) -> String,
        touch: impl Fn(usize, usize) -> bool,
    ) -> Result<Self, SystemError> {
        let bad = |what, seen| SystemError::Definition {
            what,
            seen,
            rule: "it must be ≥ 0, restitution at most 1, shares of mu from 0 to 1 and not 0"
                .into(),
        };
        for (i, surface) in surfaces.iter().enumerate() {
            surface.check().map_err(|seen| bad(format!("shape `{}`", name(i)), seen))?;
        }
        let mut merged: Vec<((u32, u32), FrictionException)> = Vec::new();
        for exception in exceptions {
            let (a, b) = exception.pair;
            exception.check().map_err(|seen| {
                bad(format!("friction of `{}` and `{}`", name(a), name(b)), seen)
            })?;
            let key = (a.min(b) as u32, a.max(b) as u32);
            let exception = &exception.in_order();
            match merged.binary_search_by_key(&key, |(key, _)| *key) {
                Ok(at) => merged[at].1 = merged[at].1.overridden_by(exception),
                Err(at) => merged.insert(at, (key, *exception)),
            }
        }
        let own_mu = |pair: (usize, usize)| {
            let key = (pair.0 as u32, pair.1 as u32);
            let at = merged.binary_search_by_key(&key, |(key, _)| *key);
            at.is_ok_and(|at| merged[at].1.mu.is_some())
        };
        let directed: Vec<usize> =
            (0..surfaces.len()).filter(|k| surfaces[*k].shares.is_some()).collect();
        let pairs = directed.iter().flat_map(|a| directed.iter().map(move |b| (*a, *b)));
        if let Some((a, b)) = pairs.filter(|(a, b)| a < b && touch(*a, *b)).find(|p| !own_mu(*p)) {
            return Err(SystemError::Definition {
                what: format!("friction of `{}` and `{}`", name(a), name(b)),
                seen: "two surfaces whose friction depends on the direction".into(),
                rule: "the pair must have a coefficient, or coefficients, of its own".into(),
            });
        }
        let exceptions = merged
            .into_iter()
            .map(|(key, own)| {
                let (a, b) = (&surfaces[key.0 as usize], &surfaces[key.1 as usize]);
                (key, rule.pair(a, b, &own))
            })
            .collect();
        Ok(Self { rule, surfaces, exceptions })
    }

    /// The table of some surfaces, given by their indices in ascending order.
    pub fn part(&self, geoms: &[usize]) -> Self {
        let place = |geom: u32| geoms.binary_search(&(geom as usize)).ok().map(|at| at as u32);
        let own = |((a, b), friction): &((u32, u32), Friction)| {
            Some(((place(*a)?, place(*b)?), *friction))
        };
        Self {
            rule: self.rule,
            surfaces: geoms.iter().map(|geom| self.surfaces[*geom]).collect(),
            exceptions: self.exceptions.iter().filter_map(own).collect(),
        }
    }

    /// Friction of a pair of shapes.
    pub fn pair(&self, a: usize, b: usize) -> Friction {
        let key = (a.min(b) as u32, a.max(b) as u32);
        if let Ok(at) = self.exceptions.binary_search_by_key(&key, |(key, _)| *key) {
            return self.exceptions[at].1;
        }
        self.rule.pair(&self.surfaces[a], &self.surfaces[b], &FrictionException::default())
    }
}
