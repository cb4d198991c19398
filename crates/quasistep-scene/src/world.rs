//! Builds the system and its start from the models of a scene.

use crate::adhesion;
use crate::assembly::Assembly;
use crate::cloud::CloudReport;
use crate::collisions::Collisions;
use crate::commands::Behind;
use crate::constraints;
use crate::document::{Map, with_extents};
use crate::extents::Extents;
use crate::friction::SceneFriction;
use crate::model_start::{self, FrameStart};
use quasistep::{Constraint, Sensor, System, SystemDef};
use quasistep_formats::SceneError;
use quasistep_model::{Model, WORLD};
use quasistep_record::{DrawnShape, NamedFrame};
use std::collections::BTreeMap;
use std::path::Path;

/// Most dofs of bodies that are connected by joints or constraints. A step stores several matrices
/// of this size, 32 MB each, and factors one in about a second.
const MAX_TREE_DOFS: usize = 2000;

/// System data assembled from the models of a scene.
pub(crate) struct World {
    pub system: System,
    /// Start configuration, with loops closed.
    pub q: Vec<f64>,
    /// Start velocity; empty if the scene gives none.
    pub v: Vec<f64>,
    /// Target configuration of drives without commands.
    pub told: Vec<f64>,
    /// Motors given by the model files: body index and torque, in N or N·m.
    pub motors: Vec<(usize, f64)>,
    /// Commands of pads and switches without commands.
    pub behind: Behind,
    /// Poses of frames at which models start.
    frame_starts: Vec<FrameStart>,
    /// Sensors given by the model files.
    pub sensors: Vec<Sensor>,
    /// Named frames given by the model files.
    pub named_frames: Vec<NamedFrame>,
    /// Bounding boxes of bodies, which expressions of the scene may use.
    pub extents: Extents,
    pub drawing: Vec<DrawnShape>,
    pub clouds: Vec<CloudReport>,
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
}

impl World {
    /// Reads models, friction, constraints and collisions, with visuals of robots if `looks`.
    pub fn read(map: &Map<'_>, dir: &Path, looks: bool) -> Result<Self, SceneError> {
        let world = Self::read_from(map, dir, looks, BTreeMap::new())?;
        if world.frame_starts.is_empty() {
            return Ok(world);
        }
        // where the bodies stand decides more than their coordinates: read all of it again
        let found = model_start::joints_of(&world.frame_starts, &world.system, &world.q)?;
        Self::read_from(map, dir, looks, found)
    }

    /// Reads a world whose joints start at `found` where it has their names.
    fn read_from(
        map: &Map<'_>,
        dir: &Path,
        looks: bool,
        found: BTreeMap<String, Vec<f64>>,
    ) -> Result<Self, SceneError> {
        let friction = SceneFriction::read(map.get("friction"))?;
        let mut assembly = Assembly::new(looks);
        assembly.found = found;
        // expressions may use the boxes of earlier bodies
        let mut extents = Extents::default();
        for (model, at) in map.need("models")?.entries()? {
            assembly.add_models(model, &with_extents(&at, &extents), dir, friction.default)?;
            extents.extend(std::mem::take(&mut assembly.extents));
        }
        Self::build(map, &friction, assembly, extents)
    }

    fn build(
        map: &Map<'_>,
        friction: &SceneFriction<'_>,
        assembly: Assembly,
        extents: Extents,
    ) -> Result<Self, SceneError> {
        let filled = assembly.filled_in_words();
        let millimetres = assembly.millimetres_in_words();
        let Assembly { bodies, geoms, mut warnings, mut notes, mut constraints, mut pads, .. } =
            assembly;
        notes.extend(filled);
        warnings.extend(millimetres);
        let models = map.need("models")?;
        adhesion::read(map.get("adhesion"), &bodies, &geoms, &mut pads)?;
        let (pads, shares) = pads.into_iter().unzip();
        let model = assembly.builder.build().map_err(|e| models.error(e.to_string()))?;
        let mut q = start_of(&model, &assembly.start).map_err(|why| models.error(why))?;
        constraints::read(map.get("constraints"), &model, &q, &geoms, &mut constraints)?;
        let (constraints, switches) = constraints;
        check_trees(&model, &constraints).map_err(|why| models.error(why))?;
        let pair = |a: usize, b: usize| (a.min(b), a.max(b));
        let collisions = Collisions {
            models: &assembly.instances,
            instances: &assembly.instance_of,
            never_touch: &assembly.never_touch,
            masks: &assembly.masks,
            named: &assembly.pairs.iter().map(|p| pair(p.pair.0, p.pair.1)).collect(),
        };
        let excluded =
            collisions.excluded(map.get("collisions"), &geoms, &bodies, &mut warnings)?;
        // exceptions of the scene override those of files
        let geom_bodies: Vec<&str> = geoms.iter().map(|g| bodies[g.body].as_str()).collect();
        let mut friction_exceptions = assembly.pairs.clone();
        friction_exceptions.extend(friction.exceptions(&geom_bodies)?);
        let mut system = System::new(SystemDef {
            model,
            geoms,
            roles: assembly.roles,
            instances: assembly.instance_of.clone(),
            friction: friction.rule,
            friction_exceptions,
            excluded,
            springs: assembly.springs,
            constraints,
            pads,
        })
        .map_err(|e| models.error(e.to_string()))?;

        let at = map.get("constraints").unwrap_or(models);
        let at_start =
            (!switches.is_empty()).then(|| constraints::at_start(&system, &q, &switches));
        let closing = at_start.as_ref().unwrap_or(&system);
        constraints::close(closing, &mut q, (&mut notes, &mut warnings))
            .map_err(|why| at.error(why))?;
        collisions.exclude_overlaps(&mut system, &q, &mut notes);
        check_sheets(&system).map_err(|why| models.error(why))?;
        let mut told = q.clone();
        for (body, target) in assembly.targets {
            told[system.model().body(body).q.clone()].fill(target);
        }
        let n_v = if assembly.start_velocity.is_empty() { 0 } else { system.model().n_v() };
        let mut v = vec![0.0; n_v];
        for (body, rates) in assembly.start_velocity {
            v[system.model().body(body).v.clone()].copy_from_slice(&rates);
        }
        let (drawing, clouds) = (assembly.drawing, assembly.clouds);
        Ok(Self {
            system,
            q,
            v,
            told,
            motors: assembly.motors,
            behind: Behind { shares, switches },
            frame_starts: assembly.frame_starts,
            sensors: assembly.sensors,
            named_frames: assembly.named_frames,
            extents,
            drawing,
            clouds,
            warnings,
            notes,
        })
    }
}

/// The neutral configuration with start values of joints inserted.
fn start_of(model: &Model, start: &[(usize, Vec<f64>)]) -> Result<Vec<f64>, String> {
    let mut q = model.neutral_q();
    for (body, values) in start {
        q[model.body(*body).q.clone()].copy_from_slice(values);
    }
    model.check_q(&q).map_err(|e| format!("start configuration: {e}"))?;
    Ok(q)
}

/// Error if connected bodies have more dofs than a step supports.
fn check_trees(model: &Model, constraints: &[Constraint]) -> Result<(), String> {
    let n = model.n_bodies();
    let (mut root, mut dofs) = (vec![WORLD; n], vec![0; n]);
    for i in 1..n {
        let body = model.body(i);
        root[i] = if body.parent == WORLD { i } else { root[body.parent] };
    }
    for constraint in constraints {
        let moving: Vec<usize> = constraint.bodies().into_iter().filter(|b| *b != WORLD).collect();
        for pair in moving.windows(2) {
            let (a, b) = (root[pair[0]], root[pair[1]]);
            root.iter_mut().filter(|r| **r == b).for_each(|r| *r = a);
        }
    }
    for i in 1..n {
        dofs[root[i]] += model.body(i).v.len();
    }
    let Some(large) = dofs.iter().position(|d| *d > MAX_TREE_DOFS) else { return Ok(()) };
    Err(format!(
        "{} dofs were seen in the bodies that hang on `{}`; a step takes {MAX_TREE_DOFS} that hang together, its time grows \
         with their third power",
        dofs[large],
        model.body(large).name
    ))
}

/// Refuses sheets that may touch one another: neither has an inside that the other could be kept out
/// of.
fn check_sheets(system: &System) -> Result<(), String> {
    let Some((a, b)) = system.sheets_that_meet() else { return Ok(()) };
    let [a, b] = [a, b].map(|k| &system.model().body(system.geoms()[k].body).name);
    Err(format!(
        "`{a}` and `{b}`, of which one is a surface without thickness and the other one too, or a height field, may \
         touch; make one of them solid (`parts: hull` or `split`), or name both in `collisions: exclude`"
    ))
}
