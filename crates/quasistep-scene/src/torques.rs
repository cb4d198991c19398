//! Torque commands of a scene: joint forces in addition to the springs towards commanded positions.
//! The generalised impulse of a step is
//!
//! ```text
//! p = h (K_a Δq_cmd + tau)
//! ```

use crate::curve::{Curve, Grid};
use crate::curves::{curves, kind_of};
use crate::document::At;
use quasistep::{Inertia, Role, StepParams, System};
use quasistep_formats::{SceneError, list, unknown};
use quasistep_model::{JointKind, WORLD};
use std::path::Path;

/// Torque on one coordinate over time.
#[derive(Clone, Debug)]
pub(crate) struct Torque {
    /// Index of the coordinate in `q`.
    pub coordinate: usize,
    /// Index of the dof in `v`.
    pub dof: usize,
    /// Force or torque over time, in N or N·m.
    pub curve: Curve,
}

/// Torques of a scene while they are read, each with its place.
pub(crate) struct Reader<'s, 'a> {
    system: &'s System,
    names: Vec<String>,
    told: Vec<(Torque, At<'a>)>,
}

impl<'s, 'a> Reader<'s, 'a> {
    pub fn new(system: &'s System) -> Self {
        Self { system, names: system.model().coordinate_names(), told: Vec::new() }
    }

    /// Reads an entry with a `torque`: a number, an expression, a list of these, or a mapping with
    /// one kind of curve.
    pub fn read(&mut self, entry: &At<'a>, dir: &Path, grid: &Grid) -> Result<(), SceneError> {
        let map = entry.map(&["joint", "joints", "torque"])?;
        let joints = match (map.get("joint"), map.get("joints")) {
            (Some(one), None) => vec![one.clone()],
            (None, Some(all)) => all.list()?,
            _ => {
                return Err(map.error("give one of `joint` (a name) or `joints` (a list of names)"));
            }
        };
        let at = map.need("torque")?;
        let unit = "N or N·m";
        let own = if at.is_map() {
            let kinds = ["constant", "linear", "cubic", "csv", "expr"];
            let map = at.map(&kinds)?;
            let (kind, value) = kind_of(&map, &kinds)?;
            curves(kind, value, joints.len(), dir, grid, unit)?
        } else {
            curves("expr", at, joints.len(), dir, grid, unit)?
        };
        for (joint, curve) in joints.iter().zip(own) {
            let (coordinate, dof) = self.find(joint)?;
            if self.told.iter().any(|(torque, _)| torque.dof == dof) {
                let name = &self.names[coordinate];
                return Err(entry.error(format!("`{name}` has two torques; keep one command")));
            }
            self.told.push((Torque { coordinate, dof, curve }, entry.clone()));
        }
        Ok(())
    }

    /// Coordinate and dof index of a name.
    fn find(&self, at: &At<'_>) -> Result<(usize, usize), SceneError> {
        let name = at.text()?;
        let model = self.system.model();
        let mut valid = Vec::new();
        for (index, body) in model.bodies().iter().enumerate().filter(|(index, _)| *index != WORLD)
        {
            // positions follow the orientation, in `q` as in `v`
            let skip = match body.joint {
                JointKind::Free => (4, 3),
                JointKind::Ball => (4, 4),
                _ => (0, 0),
            };
            let own = body.q.clone().find(|&k| self.names[k] == name);
            if let Some(k) = own.map(|k| k - body.q.start) {
                if k < skip.0 {
                    return Err(at.error(format!(
                        "`{name}` is part of an orientation; a torque on its body is one of `wrenches`"
                    )));
                }
                if self.system.roles()[index] == Role::Prescribed {
                    return Err(at.error(format!(
                        "`{name}` is prescribed and moves as told whatever the torque; torques are for passive and actuated joints"
                    )));
                }
                return Ok((body.q.start + k, body.v.start + k + skip.1 - skip.0));
            }
            if body.mimic.is_some() && body.joint_name == name {
                let leader = body.mimic.as_ref().map_or(WORLD, |mimic| mimic.body);
                return Err(at.error(format!(
                    "`{name}` follows `{}`; give that one the torque",
                    model.body(leader).joint_name
                )));
            }
            if self.system.roles()[index] != Role::Prescribed {
                valid.extend(body.q.clone().skip(skip.0).map(|k| self.names[k].as_str()));
            }
        }
        Err(at.error(format!("{} (passive and actuated joints)", unknown("joint", name, &valid))))
    }

    /// All torques, including motors of the model files (body index and torque) that the scene does
    /// not command. `models` is the place of the models.
    ///
    /// # Errors
    ///
    /// A torque on a dof without resistance.
    pub fn finish(
        mut self,
        motors: &[(usize, f64)],
        (params, q): (&StepParams, &[f64]),
        models: &At<'a>,
    ) -> Result<Vec<Torque>, SceneError> {
        for &(body, torque) in motors {
            let body = self.system.model().body(body);
            let (coordinate, dof) = (body.q.start, body.v.start);
            if torque != 0.0 && !self.told.iter().any(|(told, _)| told.dof == dof) {
                let curve = Curve::Constant(torque);
                self.told.push((Torque { coordinate, dof, curve }, models.clone()));
            }
        }
        let free = self.unresisted(params, q);
        for (torque, at) in &self.told {
            let is_none = matches!(torque.curve, Curve::Constant(x) if x == 0.0);
            if free[torque.dof] && !is_none {
                let words = [
                    "`damping`, a `stiffness`, or mass that counts: `motion: dynamic` of `step`",
                    "or `inertia: mass`",
                ];
                return Err(at.error(format!(
                    "nothing resists the torque on `{}`, which would move it without end in one step: it has no damping, no \
                     stiffness and no mass that counts; give it {}",
                    self.names[torque.coordinate],
                    words.join(" ")
                )));
            }
        }
        Ok(self.told.into_iter().map(|(torque, _)| torque).collect())
    }

    /// For each dof, true if no spring, damper, inertia or drag resists it, and no constraint
    /// couples it to a joint that has resistance.
    fn unresisted(&self, params: &StepParams, q: &[f64]) -> Vec<bool> {
        let system = self.system;
        let model = system.model();
        let carried = params.formulation.carries_velocity();
        let mut mass = vec![0.0; model.n_v()];
        let mut kin = model.create_kinematics();
        model.kinematics(q, &mut kin);
        model.mass_entries(&kin, |i, j, entry| {
            if i == j {
                mass[i] += entry;
            }
        });
        let mut tied = vec![false; model.n_bodies()];
        let held = system.constraints().flat_map(quasistep::Constraint::bodies);
        for mut body in held.chain(system.springs().map(|spring| spring.frame.body)) {
            while body != WORLD && !tied[body] {
                tied[body] = true;
                body = model.body(body).parent;
            }
        }
        let mut free = vec![false; model.n_v()];
        for (index, body) in model.bodies().iter().enumerate() {
            for (k, dof) in body.v.clone().enumerate() {
                let (driven, counts) = match &system.roles()[index] {
                    Role::Passive => (false, carried || params.inertia == Inertia::Mass),
                    Role::Prescribed => (true, false),
                    Role::Actuated(a) => (a.stiffness[k] > 0.0 || a.damping[k] > 0.0, carried),
                };
                let resists = driven || tied[index] || model.damping()[dof] > 0.0;
                free[dof] = !(resists || counts && mass[dof] > 0.0);
            }
        }
        free
    }
}

/// Note that a passive joint can have a torque command instead of a position command.
pub(crate) fn passive_note(name: &str, driven: &[&str]) -> String {
    format!(
        "`{name}` is passive; it can be told a `torque`, and positions are for actuated and prescribed joints: {}",
        list(driven)
    )
}
