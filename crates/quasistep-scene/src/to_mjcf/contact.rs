//! Contact settings for MuJoCo: friction of pairs, and excluded pairs.
//!
//! MuJoCo uses the larger coefficient of two shapes. Shapes that never move get the coefficients of
//! most of their pairs; all others get those of most pairs that move. Pairs with other coefficients
//! are listed explicitly.

use super::element::Element;
use super::writer::Writer;
use quasistep::{Patch, System};
use quasistep_geometry::Shape;
use std::collections::BTreeMap;

/// Coefficients of sliding (–), torsional (m) and rolling (m) friction.
type Coefficients = [f64; 3];

/// Contact settings to write.
pub(super) struct Contacts {
    /// Coefficients of each shape.
    of_geom: Vec<Coefficients>,
    section: Element,
}

impl Contacts {
    pub fn new(writer: &mut Writer<'_>) -> Self {
        let system = writer.system;
        let n = system.geoms().len();
        let fixed: Vec<bool> = system.geoms().iter().map(|geom| !writer.moves(geom.body)).collect();
        // clouds are not written, so they collide with nothing in MuJoCo
        let written =
            |k: &usize| !matches!(system.geoms()[*k].shape, Shape::Cloud(_) | Shape::Sheet(_));
        let all = (0..n).filter(written).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        let all = all.filter(|(_, b)| written(b));
        let pairs: Vec<(usize, usize, Coefficients)> = all
            .filter(|&(a, b)| system.may_touch(a, b))
            .map(|(a, b)| (a, b, coefficients(system, a, b)))
            .collect();
        let moving = usual(pairs.iter().filter(|(a, b, _)| !fixed[*a] && !fixed[*b]));
        let of_geom: Vec<Coefficients> = (0..n)
            .map(|k| {
                let own = pairs.iter().filter(|(a, b, _)| *a == k || *b == k);
                if fixed[k] { usual(own) } else { moving }
            })
            .collect();
        let mut section = Element::new("contact");
        for &(a, b, own) in &pairs {
            let greater = std::array::from_fn(|k| of_geom[a][k].max(of_geom[b][k]));
            if own != greater {
                let [slide, spin, roll] = own;
                let pair = Element::new("pair")
                    .with("geom1", &system.geoms()[a].name)
                    .with("geom2", &system.geoms()[b].name)
                    .with("condim", dimensions(&own))
                    .numbers("friction", [slide, slide, spin, roll, roll]);
                section.children.push(pair);
            }
        }
        exclude(writer, &pairs, &mut section);
        told(writer, &pairs);
        Self { of_geom, section }
    }

    /// Adds friction to the element of a shape.
    pub fn on(&self, index: usize, geom: Element) -> Element {
        let own = self.of_geom[index];
        geom.with("condim", dimensions(&own)).numbers("friction", own)
    }

    /// The `<contact>` section: pairs with their own friction, and excluded pairs.
    pub fn section(self) -> Element {
        self.section
    }
}

fn coefficients(system: &System, a: usize, b: usize) -> Coefficients {
    let friction = system.friction(a, b);
    let spin = if friction.spin_is_given { friction.mu_spin } else { 0.0 };
    [friction.mu, spin, friction.mu_roll]
}

/// Contact dimension (`condim`) for these coefficients.
fn dimensions([slide, spin, roll]: &Coefficients) -> usize {
    match () {
        () if *roll > 0.0 => 6,
        () if *spin > 0.0 => 4,
        () if *slide > 0.0 => 3,
        () => 1,
    }
}

/// The most frequent coefficients of some pairs; at a tie the smallest in their order.
fn usual<'p>(pairs: impl Iterator<Item = &'p (usize, usize, Coefficients)>) -> Coefficients {
    let mut seen: BTreeMap<[u64; 3], usize> = BTreeMap::new();
    for (_, _, own) in pairs {
        *seen.entry(own.map(f64::to_bits)).or_default() += 1;
    }
    let most = seen.iter().max_by_key(|(own, n)| (**n, std::cmp::Reverse(**own)));
    most.map_or([0.0; 3], |(own, _)| own.map(f64::from_bits))
}

/// Adds excluded body pairs, except a body and its parent, which MuJoCo excludes by itself.
fn exclude(writer: &mut Writer<'_>, pairs: &[(usize, usize, Coefficients)], section: &mut Element) {
    let system = writer.system;
    let model = system.model();
    let mut shapes: BTreeMap<usize, usize> = BTreeMap::new();
    for geom in system.geoms() {
        *shapes.entry(geom.body).or_default() += 1;
    }
    let mut touching: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for &(a, b, _) in pairs {
        let (a, b) = (system.geoms()[a].body, system.geoms()[b].body);
        *touching.entry((a.min(b), a.max(b))).or_default() += 1;
    }
    for (k, (&a, n_a)) in shapes.iter().enumerate() {
        for (&b, n_b) in shapes.iter().skip(k + 1) {
            let n = touching.get(&(a, b)).copied().unwrap_or(0);
            if n == 0 && a > 0 && (writer.moves(a) || writer.moves(b)) {
                let exclude = Element::new("exclude")
                    .with("body1", &model.body(a).name)
                    .with("body2", &model.body(b).name);
                section.children.push(exclude);
            } else if n > 0 && n < n_a * n_b {
                let names = format!("{} and {}", model.body(a).name, model.body(b).name);
                writer.lose("some of their shapes never touch each other here; all may", &names);
            }
        }
    }
}

/// Records contact properties that MuJoCo does not support.
fn told(writer: &mut Writer<'_>, pairs: &[(usize, usize, Coefficients)]) {
    let system = writer.system;
    let count = |has: &dyn Fn(&quasistep::Friction) -> bool| {
        pairs.iter().filter(|(a, b, _)| has(&system.friction(*a, *b))).count()
    };
    let round = writer.scene.params.formulation.cone == quasistep::Cone::Round;
    let areas = count(&|f| round && f.patch == Patch::Area && !f.spin_is_given);
    let bounces = count(&|f| f.restitution > 0.0);
    let gives = count(&|f| f.compliance > 0.0);
    let directed = count(&|f| f.axes.is_some());
    for (n, what) in [
        (areas, "flat contacts rub as areas here and on their corners in MuJoCo"),
        (bounces, "restitution: not written"),
        (
            directed,
            "friction by direction: not written; the largest coefficient stands in all directions",
        ),
        (gives, "compliance: not written; MuJoCo's contacts give way by `solref` and `solimp`"),
    ] {
        if n > 0 {
            writer.lose(what, &format!("{n} pairs of shapes"));
        }
    }
}
