//! Friction of surfaces, and what two surfaces make of theirs.

use crate::error::SystemError;

/// Friction of one surface; pairs combine theirs, see [`Friction`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surface {
    /// Coefficient of sliding friction, ≥ 0.
    pub mu: f64,
    /// Torque about the normal per normal force, in m, ≥ 0: Tracy's `μ_ω`.
    pub mu_spin: f64,
    /// Torque across the normal per normal force, in m, ≥ 0.
    pub mu_roll: f64,
    /// Radius of the patch that this surface makes of a point contact, in m, ≥ 0: gives a pair the
    /// `mu_spin` of [`Friction::spin_of_patch`].
    pub patch_radius: f64,
    /// How its flat contacts rub.
    pub patch: Patch,
    /// Share of the normal speed of an impact that it gives back, from 0 to 1; read by
    /// [`Motion::Dynamic`](crate::Motion::Dynamic).
    pub restitution: f64,
    /// How far it gives way under a contact point per normal force, in m/N, ≥ 0; 0 is rigid. Of a pair the sum of both.
    pub compliance: f64,
    /// Pressure per depth with which it carries flat contacts, in N/m³, ≥ 0; 0 for none. Of a pair both in series.
    pub foundation: f64,
}

/// How a flat contact of several points rubs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Patch {
    /// As the area between its points does under uniform pressure: one law for tangential force and spin about the centre
    /// of pressure, Goyal, Ruina and Papadopoulos 1991; see [`Friction::mu_spin`] for the spin radius. Where the load is off the
    /// area's centroid, the pressure is uniform on the part of the area that is symmetric about the load (Meyerhof 1953).
    /// With [`Cone::Round`](crate::Cone::Round); pyramids have no such law and rub on its corners.
    #[default]
    Area,
    /// As its points do, each on its own, under whatever loads they share: the model of the papers.
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
        valid_share("restitution", self.restitution)
    }
}

/// Friction of a pair of surfaces: how large a force and which torques a normal force can hold.
///
/// ```text
/// ‖(lambda_t/mu, lambda_spin/mu_spin, lambda_roll/mu_roll)‖ ≤ lambda_n
/// ```
///
/// with round cones; a pyramid has edges along each direction and sums the shares. A coefficient
/// of 0 leaves its force or torque out. Of a flat contact that rubs as an area `lambda_spin` is about its centre of pressure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Friction {
    /// Of sliding, ≥ 0.
    pub mu: f64,
    /// Of spinning about the normal, in m, ≥ 0: Tracy (7). Of a contact in an area that says nothing itself `mu` times the mean
    /// distance of the area from its centre: 2/3 R of a disc, 0.3826 a of a square.
    pub mu_spin: f64,
    /// Of rolling: turning about an axis across the normal, in m, ≥ 0.
    pub mu_roll: f64,
    /// How a flat contact rubs.
    pub patch: Patch,
    /// Share of the normal speed of an impact that is given back.
    pub restitution: f64,
    /// How far both give way under a contact point per normal force, in m/N; of a point of a foundation by its share of the area.
    pub compliance: f64,
    /// Modulus of the foundation that carries flat contacts, in N/m³; 0 for none. Their points rub each on its own.
    pub foundation: f64,
    /// True if `mu_spin` is the pair's own, and not that of its area.
    pub spin_is_given: bool,
}

impl Friction {
    /// `2/3 mu R`, in m: the torque per normal force that a disc of radius `R` under even pressure
    /// resists spinning with.
    pub fn spin_of_patch(mu: f64, radius: f64) -> f64 {
        2.0 / 3.0 * mu * radius
    }

    /// True if a single point of the pair resists turning.
    pub(crate) fn resists_turning(&self) -> bool {
        self.mu_spin > 0.0 || self.mu_roll > 0.0
    }

    /// True if several points of the pair in one plane rub as one area.
    pub(crate) fn is_of_area(&self) -> bool {
        self.mu > 0.0 && self.patch == Patch::Area && self.foundation == 0.0
    }
}

/// How the coefficient of sliding friction of a pair follows from its two surfaces.
///
/// `mu_spin`, `mu_roll`, `patch_radius` and `restitution` of a pair are the larger of its two: one soft pad makes
/// the patch. It rubs on its corners if one of the two does.
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
    /// The coefficient of a pair whose surfaces have `a` and `b`.
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

    fn pair(self, a: &Surface, b: &Surface, own: &FrictionException) -> Friction {
        let mu = own.mu.unwrap_or_else(|| self.combine(a.mu, b.mu));
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
        // 0 says nothing: a point without torsional friction, or that of the area
        let spin_is_given = mu_spin > 0.0;
        let restitution = own.restitution.unwrap_or(a.restitution.max(b.restitution));
        let compliance = own.compliance.unwrap_or(a.compliance + b.compliance);
        let foundation = own.foundation.unwrap_or(match (a.foundation, b.foundation) {
            (0.0, k) | (k, 0.0) => k,
            (a, b) => a * b / (a + b),
        });
        Friction { mu, mu_spin, mu_roll, patch, restitution, compliance, foundation, spin_is_given }
    }
}

/// What a pair of shapes has of its own; what is `None` follows from the surfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrictionException {
    /// The pair, as indices of shapes.
    pub pair: (usize, usize),
    /// See [`Surface`].
    pub mu: Option<f64>,
    /// See [`Surface`]; wins over a patch.
    pub mu_spin: Option<f64>,
    /// See [`Surface`].
    pub mu_roll: Option<f64>,
    /// See [`Surface`].
    pub patch_radius: Option<f64>,
    /// See [`Surface`].
    pub patch: Option<Patch>,
    /// See [`Surface`].
    pub restitution: Option<f64>,
    /// See [`Surface`].
    pub compliance: Option<f64>,
    /// See [`Surface`].
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
        self.restitution.map_or(Ok(()), |v| valid_share("restitution", v))
    }

    /// What `later` says, and where it says nothing, this.
    fn overridden_by(&self, later: &Self) -> Self {
        // a patch that comes after a number replaces it
        let spin = later.mu_spin.or(self.mu_spin.filter(|_| later.patch_radius.is_none()));
        Self {
            pair: later.pair,
            mu: later.mu.or(self.mu),
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

fn valid_share(name: &str, value: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(format!("{name} {value}")) }
}

/// Friction of every pair of surfaces.
#[derive(Clone, Debug)]
pub(crate) struct FrictionTable {
    rule: PairFriction,
    surfaces: Vec<Surface>,
    /// Pairs with something of their own, the smaller index first, ascending.
    exceptions: Vec<((u32, u32), Friction)>,
}

impl FrictionTable {
    /// The table of `surfaces`, named by `name`; of several exceptions for a pair the later wins.
    pub fn new(
        rule: PairFriction,
        surfaces: Vec<Surface>,
        exceptions: &[FrictionException],
        name: impl Fn(usize) -> String,
    ) -> Result<Self, SystemError> {
        let bad = |what, seen| SystemError::Definition {
            what,
            seen,
            rule: "it must be ≥ 0, restitution at most 1".into(),
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
            match merged.binary_search_by_key(&key, |(key, _)| *key) {
                Ok(at) => merged[at].1 = merged[at].1.overridden_by(exception),
                Err(at) => merged.insert(at, (key, *exception)),
            }
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

    /// Friction of a pair of shapes.
    pub fn pair(&self, a: usize, b: usize) -> Friction {
        let key = (a.min(b) as u32, a.max(b) as u32);
        if let Ok(at) = self.exceptions.binary_search_by_key(&key, |(key, _)| *key) {
            return self.exceptions[at].1;
        }
        self.rule.pair(&self.surfaces[a], &self.surfaces[b], &FrictionException::default())
    }
}
