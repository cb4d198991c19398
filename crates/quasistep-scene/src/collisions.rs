//! Collision pairs: exclusions by the scene, its models and their files.

use crate::document::At;
use crate::names::{find_body, fits_body};
use quasistep::{Geom, System};
use quasistep_formats::description::Masks;
use quasistep_formats::{SceneError, unknown};
use std::collections::{BTreeMap, BTreeSet};

/// Overlap of links that just touch, in m: vertices in mesh files have single precision.
const ROUNDING: f64 = 1e-6;
/// Most pairs listed in a note.
const MOST_NAMED: usize = 100;

/// Rule for collisions between links of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SelfCollision {
    /// All pairs not connected by a joint that do not overlap at the start.
    #[default]
    Auto,
    /// All pairs not connected by a joint.
    All,
    /// No pairs.
    None,
}

impl SelfCollision {
    pub fn read(at: Option<&At<'_>>) -> Result<Self, SceneError> {
        at.map_or(Ok(Self::default()), |at| {
            at.word(&[("auto", Self::Auto), ("all", Self::All), ("none", Self::None)])
        })
    }
}

/// A model of the scene as a collision instance.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub name: String,
    pub self_collision: SelfCollision,
}

/// Data from which the excluded pairs are computed.
pub(crate) struct Collisions<'a> {
    /// Models, by instance index.
    pub models: &'a [Instance],
    /// Instance index of each body, the world first.
    pub instances: &'a [u32],
    /// Pairs of bodies excluded by the model files.
    pub never_touch: &'a [[usize; 2]],
    /// Index and collision masks of shapes that have masks, ascending.
    pub masks: &'a [(usize, Masks)],
    /// Pairs of shapes that may collide whatever their masks are.
    pub named: &'a BTreeSet<(usize, usize)>,
}

impl Collisions<'_> {
    /// Pairs of shapes excluded by the scene and the model files. Patterns without effect give
    /// warnings.
    pub fn excluded(
        &self,
        at: Option<&At<'_>>,
        geoms: &[Geom],
        bodies: &[String],
        warnings: &mut Vec<String>,
    ) -> Result<Vec<(usize, usize)>, SceneError> {
        let mut of_body: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (k, geom) in geoms.iter().enumerate() {
            of_body.entry(geom.body).or_default().push(k);
        }
        let mut all = Vec::new();
        for [a, b] in self.never_touch {
            let (Some(first), Some(second)) = (of_body.get(a), of_body.get(b)) else { continue };
            all.extend(product(first, second));
        }
        for (k, &(a, of_a)) in self.masks.iter().enumerate() {
            for &(b, of_b) in &self.masks[k + 1..] {
                if !of_a.allow(of_b) && !self.named.contains(&(a, b)) {
                    all.push((a, b));
                }
            }
        }
        // all shapes of models without self-collision
        let mut of_model: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (k, geom) in geoms.iter().enumerate() {
            of_model.entry(self.instances[geom.body]).or_default().push(k);
        }
        for (instance, own) in &of_model {
            if self.models[*instance as usize].self_collision == SelfCollision::None {
                all.extend(product(own, own));
            }
        }
        let Some(at) = at else { return Ok(all) };
        let map = at.map(&["exclude"])?;
        let geom_bodies: Vec<&str> = geoms.iter().map(|g| bodies[g.body].as_str()).collect();
        for pair in map.get("exclude").map(At::list).transpose()?.unwrap_or_default() {
            let names = pair.list()?;
            let [a, b] = names.as_slice() else {
                return Err(pair.error(format!(
                    "{} names were seen; give two bodies or patterns",
                    names.len()
                )));
            };
            let mut idle = false;
            for name in [a, b] {
                let pattern = name.text()?;
                let pattern =
                    find_body(pattern, bodies.iter().map(String::as_str)).unwrap_or(pattern);
                let has_shapes = geom_bodies.iter().any(|body| fits_body(pattern, body));
                // a pattern, or a body without shapes, may be meant for another scene or robot
                let is_known =
                    pattern.contains('*') || bodies.iter().any(|b| fits_body(pattern, b));
                if !has_shapes && is_known {
                    warnings
                        .push(format!("{}: `{pattern}` fits no body with shapes", name.place()));
                    idle = true;
                }
            }
            if !idle {
                all.extend(matching_pairs(a, b, &geom_bodies)?);
            }
        }
        Ok(all)
    }

    /// Excludes pairs of bodies that overlap at configuration `q`, in models with automatic
    /// self-collision. A note for each model lists them, the deepest first.
    pub fn exclude_overlaps(&self, system: &mut System, q: &[f64], notes: &mut Vec<String>) {
        let is_auto = |body: usize| {
            let instance = self.instances[body] as usize;
            self.models[instance].self_collision == SelfCollision::Auto
        };
        if !(0..self.instances.len()).any(|body| body > 0 && is_auto(body)) {
            return;
        }
        let mut overlaps = system.self_overlaps(q, ROUNDING);
        overlaps.retain(|(a, _, _)| is_auto(system.geoms()[*a].body));
        overlaps.sort_by(|x, y| y.2.total_cmp(&x.2).then((x.0, x.1).cmp(&(y.0, y.1))));
        // exclude all shapes of the two bodies: excluding only some would leave an inconsistent
        // contact
        let mut depth_of: BTreeMap<u32, Vec<([usize; 2], f64)>> = BTreeMap::new();
        for (a, b, depth) in overlaps {
            let [a, b] = [a, b].map(|geom| system.geoms()[geom].body);
            let pairs = depth_of.entry(self.instances[a]).or_default();
            if pairs.iter().all(|(pair, _)| *pair != [a, b] && *pair != [b, a]) {
                pairs.push(([a, b], depth));
            }
        }
        for (instance, pairs) in depth_of {
            let excluded: Vec<(usize, usize)> = pairs
                .iter()
                .flat_map(|([a, b], _)| {
                    let of = |body: usize| -> Vec<usize> {
                        let geoms = system.geoms().iter().enumerate();
                        geoms.filter(|(_, g)| g.body == body).map(|(k, _)| k).collect()
                    };
                    product(&of(*a), &of(*b))
                })
                .collect();
            system.exclude(&excluded);
            notes.push(self.note(instance, &pairs, system));
        }
    }

    fn note(&self, instance: u32, pairs: &[([usize; 2], f64)], system: &System) -> String {
        let model = &self.models[instance as usize].name;
        let short = |body: usize| {
            let name = &system.model().body(body).name;
            name.strip_prefix(&format!("{model}/")).unwrap_or(name).to_owned()
        };
        let named: Vec<String> = pairs
            .iter()
            .take(MOST_NAMED)
            .map(|([a, b], depth)| format!("{}–{} ({depth:.1e} m)", short(*a), short(*b)))
            .collect();
        let more = match pairs.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let n = pairs.len();
        let which = if n == 1 {
            "1 pair of bodies overlaps"
        } else {
            &format!("{n} pairs of bodies overlap")
        };
        format!("{model}: {which} at the start and never touch: {}{more}", named.join(", "))
    }
}

/// All pairs of different shapes from two lists, without duplicates.
fn product(first: &[usize], second: &[usize]) -> Vec<(usize, usize)> {
    let pairs = first.iter().flat_map(|&a| second.iter().map(move |&b| (a, b)));
    let is_same = std::ptr::eq(first, second);
    pairs.filter(|(a, b)| if is_same { a < b } else { a != b }).collect()
}

/// Pairs of shapes whose bodies match two patterns; an error if a pattern matches none.
pub(crate) fn matching_pairs(
    a: &At<'_>,
    b: &At<'_>,
    geom_bodies: &[&str],
) -> Result<Vec<(usize, usize)>, SceneError> {
    let find = |at: &At<'_>| -> Result<Vec<usize>, SceneError> {
        let pattern = at.text()?;
        let pattern = find_body(pattern, geom_bodies.iter().copied()).unwrap_or(pattern);
        let found: Vec<usize> =
            (0..geom_bodies.len()).filter(|&i| fits_body(pattern, geom_bodies[i])).collect();
        if found.is_empty() {
            let mut names = geom_bodies.to_vec();
            names.dedup();
            return Err(at.error(unknown("body with shapes", pattern, &names)));
        }
        Ok(found)
    };
    Ok(product(&find(a)?, &find(b)?))
}
