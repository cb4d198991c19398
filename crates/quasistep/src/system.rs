//! The immutable description of a simulated system, shared between threads.

use crate::adhesion::{self, AdhesionPad};
use crate::cartesian::{CartesianSpring, SpringOfFrame};
use crate::error::SystemError;
use crate::friction::{Friction, FrictionException, FrictionTable, PairFriction, Surface};
use crate::held::{self, Constraint, Group, Held};
use crate::report::ConstraintReport;
use quasistep_geometry::{Aabb, BroadPhase, NarrowPhase, Shape};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{JointKind, Model, WORLD};
use std::collections::BTreeSet;
use std::ops::Range;

/// One collision shape on a body.
#[derive(Clone, Debug)]
pub struct Geom {
    /// Name in messages, `model/link/shape`.
    pub name: String,
    /// Index of the body that carries the shape; 0 is the world.
    pub body: usize,
    /// Pose of the shape's frame in the body's frame.
    pub X_BG: Pose,
    /// The shape.
    pub shape: Shape,
    /// Friction of its surface.
    pub surface: Surface,
}

/// How a joint is driven.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Role {
    /// Passive: the joint moves under forces only.
    #[default]
    Passive,
    /// The joint follows its command exactly. The required force is reported.
    Prescribed,
    /// A spring pulls the joint to its command: an impedance-controlled robot joint, Pang21 (3)–(5).
    Actuated(Actuator),
}

/// The spring and damper between a joint and its command. One entry per dof of the joint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actuator {
    /// Stiffness `K_a`, in N/m or N·m/rad, > 0. It is 0 for a joint on the path to the frame of a
    /// [`CartesianSpring`].
    pub stiffness: Vec<f64>,
    /// Damping `D_a`, in N·s/m or N·m·s/rad, ≥ 0.
    pub damping: Vec<f64>,
    /// Velocity that the damper resists.
    pub damping_on: DampingOn,
    /// Limit of the spring force, in N or N·m, > 0; `f64::INFINITY` for none.
    pub effort_limit: Vec<f64>,
}

/// Velocity that an actuator's damper resists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DampingOn {
    /// The joint's velocity: force `−D v`.
    #[default]
    Velocity,
    /// The error of the joint's velocity to the command's rate: force `D (v_cmd − v)`.
    CommandError,
}

/// Definition of a [`System`].
#[derive(Clone, Debug)]
pub struct SystemDef {
    /// Joints and bodies.
    pub model: Model,
    /// Collision shapes.
    pub geoms: Vec<Geom>,
    /// Drive of each body's joint, one per body; the world and fixed joints are [`Role::Passive`].
    pub roles: Vec<Role>,
    /// Model instance (robot or object) of each body, one per body: see [`System::may_touch`].
    pub instances: Vec<u32>,
    /// Rule that combines the friction of two surfaces.
    pub friction: PairFriction,
    /// Pairs of geoms with friction values of their own. If a pair is listed several times, the
    /// last entry counts.
    pub friction_exceptions: Vec<FrictionException>,
    /// Pairs of geoms that never touch.
    pub excluded: Vec<(usize, usize)>,
    /// Springs between frames and their commanded poses.
    pub springs: Vec<CartesianSpring>,
    /// Closed loops and couplings: constraints beside the joints of the model.
    pub constraints: Vec<Constraint>,
    /// Shapes that pull what touches them.
    pub pads: Vec<AdhesionPad>,
}

/// Permitted overlap as a share of thickness: of a body's own thickness, and of the sum of both for
/// two shapes. Two shapes that pass through one another overlap by at least half of that sum.
const THIN: f64 = 0.05;
/// Share of the thinnest body's thickness that bodies may overlap by default: a millimetre of a
/// metre. In worlds of thinner bodies the default is a millimetre.
const THICK: f64 = 1e-3;

/// Size of a geom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeomSize {
    /// Largest distance of a point of the geom from its body's origin, in m; 0 for a half-space,
    /// which is unbounded.
    pub reach: f64,
    /// [`Shape::reach`] of the geom, in m; 0 for a half-space.
    pub extent: f64,
    /// [`Shape::thickness`] of the geom, in m.
    pub thickness: f64,
    /// Thickness of the thickest geom of the same body, in m.
    body_thickness: f64,
}

impl GeomSize {
    fn of_all(geoms: &[Geom], n_bodies: usize) -> Vec<Self> {
        let mut thickest = vec![0.0_f64; n_bodies];
        for geom in geoms {
            thickest[geom.body] = thickest[geom.body].max(geom.shape.thickness());
        }
        let of = |geom: &Geom| {
            let [reach, extent] = match geom.shape {
                Shape::HalfSpace => [0.0; 2],
                _ => [geom.X_BG.translation.norm(), 0.0].map(|way| way + geom.shape.reach()),
            };
            let (thickness, body_thickness) = (geom.shape.thickness(), thickest[geom.body]);
            Self { reach, extent, thickness, body_thickness }
        };
        geoms.iter().map(of).collect()
    }
}

/// Constraints of a copy of a system whose switches are set.
#[derive(Clone, Debug)]
pub(crate) struct SetSwitches {
    /// Index in the original of each constraint of the copy, ascending.
    pub at: Vec<usize>,
    /// Number of constraints of the original.
    pub n: usize,
}

impl SetSwitches {
    /// A copy with all of `n` constraints.
    pub fn all(n: usize) -> Self {
        Self { at: (0..n).collect(), n }
    }

    /// Puts reports of the copy's constraints in their places among those of the original. The others
    /// are off.
    pub fn spread(&self, reports: &mut Vec<ConstraintReport>) {
        reports.resize(self.n, ConstraintReport::default());
        for (k, at) in self.at.iter().enumerate().rev() {
            reports.swap(k, *at);
        }
    }
}

/// A system that can be stepped: immutable, shared between threads.
#[derive(Clone, Debug)]
pub struct System {
    pub(crate) model: Model,
    pub(crate) geoms: Vec<Geom>,
    /// Sizes, one per geom.
    pub(crate) sizes: Vec<GeomSize>,
    pub(crate) roles: Vec<Role>,
    pub(crate) instances: Vec<u32>,
    pub(crate) friction: FrictionTable,
    /// Upper triangle over geoms: true if the pair may touch.
    pub(crate) may_touch: Vec<bool>,
    /// Group of geoms that move together, one entry per geom: the outermost body of those welded by
    /// fixed joints. `None` for point clouds, and if no other geom moves with this one.
    pub(crate) moves_with: Vec<Option<u32>>,
    pub(crate) commanded: Vec<usize>,
    pub(crate) springs: Vec<SpringOfFrame>,
    pub(crate) constraints: Vec<Held>,
    /// Groups of constraints that share variables.
    pub(crate) constraint_groups: Vec<Group>,
    pub(crate) pads: Vec<AdhesionPad>,
    /// Constraints with a switch, ascending, in the order of their commands. In a copy with set
    /// switches these are constraints of the original.
    pub(crate) switches: Vec<usize>,
    /// For a copy whose switches are set: see `switch.rs`.
    pub(crate) set: Option<SetSwitches>,
    pub(crate) n_cmd: usize,
    pub(crate) n_cmd_v: usize,
    /// Column of the step's program for each dof; `None` for prescribed dofs.
    pub(crate) variable_of_dof: Vec<Option<u32>>,
    /// Body whose joint owns a dof.
    pub(crate) body_of_dof: Vec<usize>,
    /// Sizes of the blocks of variables. There is one block per kinematic tree; trees joined by
    /// constraints share one. A block's variables are consecutive.
    pub(crate) block_dims: Vec<usize>,
    /// Block of each variable, and its position in the block.
    pub(crate) block_of_variable: Vec<(u32, u32)>,
    /// Bound on each entry of `q_cmd`, see [`System::farthest_commands`].
    pub(crate) farthest: Vec<f64>,
    /// Points of each body whose displacement is measured, see [`System::displacement`].
    pub(crate) corners: Vec<Vec<Vec3>>,
    /// Dofs with a variable and dry friction, of the joint or of a slide's support, ascending. Each
    /// has one more variable, in a block of its own after the blocks of the trees.
    pub(crate) friction_dofs: Vec<usize>,
    /// Bodies whose planar joint has a support with friction, ascending. Each has one more
    /// variable, after those of `friction_dofs`.
    pub(crate) planes: Vec<usize>,
}

impl System {
    /// Builds the system. Every index, length and number of the definition is checked first.
    ///
    /// # Errors
    ///
    /// The first invalid part of the definition, by name.
    pub fn new(def: SystemDef) -> Result<Self, SystemError> {
        let SystemDef {
            model,
            geoms,
            roles,
            instances,
            friction,
            friction_exceptions,
            excluded,
            springs,
            constraints,
            pads,
        } = def;
        let n_bodies = model.n_bodies();
        let springs: Vec<SpringOfFrame> = springs
            .into_iter()
            .map(|spring| SpringOfFrame::new(spring, &model))
            .collect::<Result<_, _>>()?;
        let constraints = held::check(constraints, &model)?;
        let held = |body: usize| {
            let of_body = model.columns_of(body);
            springs.iter().any(|s| {
                model.path(s.given.frame.body).iter().any(|c| of_body.contains(&(*c as usize)))
            })
        };
        check_roles(&model, &roles, held)?;
        check_bodies(&geoms, &instances, &model)?;
        let n = geoms.len();
        let mut may_touch = touchable(&model, &geoms, &roles, &instances, &constraints);
        for (a, b) in excluded {
            check_pair("excluded pair", (a, b), n)?;
            may_touch[a.min(b) * n + a.max(b)] = false;
        }
        let friction = table(friction, &geoms, &friction_exceptions, &may_touch)?;

        let commanded: Vec<usize> = (1..n_bodies).filter(|&i| roles[i] != Role::Passive).collect();
        let joints = || commanded.iter().map(|&i| model.body(i));
        let is_switched = |k: &usize| constraints[*k].given.switch.is_some();
        let switches: Vec<usize> = (0..constraints.len()).filter(is_switched).collect();
        let behind = pads.len() + switches.len();
        let n_cmd = joints().map(|b| b.q.len()).sum::<usize>() + 7 * springs.len() + behind;
        let n_cmd_v = joints().map(|b| b.v.len()).sum::<usize>() + 6 * springs.len() + behind;
        let body_of_dof = owners(&model);
        let sizes = GeomSize::of_all(&geoms, n_bodies);
        let moves_with = groups(&model, &geoms);
        let mut system = Self {
            pads: adhesion::check(pads, geoms.len())?,
            model,
            geoms,
            sizes,
            roles,
            instances,
            friction,
            may_touch,
            moves_with,
            commanded,
            springs,
            constraints,
            constraint_groups: Vec::new(),
            switches,
            set: None,
            n_cmd,
            n_cmd_v,
            variable_of_dof: Vec::new(),
            body_of_dof,
            block_dims: Vec::new(),
            block_of_variable: Vec::new(),
            farthest: Vec::new(),
            corners: Vec::new(),
            friction_dofs: Vec::new(),
            planes: Vec::new(),
        };
        system.farthest = system.find_farthest();
        system.corners = system.find_corners();
        system.lay_out();
        Ok(system)
    }

    /// Assigns the variables of the step to blocks, tree by tree. Mass and springs never couple two
    /// trees; trees joined by a constraint form one block.
    pub(crate) fn lay_out(&mut self) {
        let Self {
            model, roles, constraints, variable_of_dof, block_dims, block_of_variable, ..
        } = self;
        variable_of_dof.clear();
        variable_of_dof.resize(model.n_v(), None);
        block_dims.clear();
        block_of_variable.clear();
        let trees = trees(model, constraints);
        let mut roots = trees.clone();
        roots.sort_unstable();
        roots.dedup();
        for root in roots {
            let mut dim = 0;
            let own = |b: &usize| trees[*b] == root && roles[*b] != Role::Prescribed;
            for body in (1..model.n_bodies()).filter(own) {
                for dof in model.body(body).v.clone() {
                    variable_of_dof[dof] = Some(block_of_variable.len() as u32);
                    block_of_variable.push((block_dims.len() as u32, dim));
                    dim += 1;
                }
            }
            if dim > 0 {
                block_dims.push(dim as usize);
            }
        }
        self.constraint_groups =
            held::groups(constraints, model, |dof| variable_of_dof[dof].is_some());
        let planar = |body: usize| matches!(self.model.body(body).joint, JointKind::Planar);
        let rubs = |dof: &usize| {
            let body = self.body_of_dof[*dof];
            let support = self.mu_of_support(body) > 0.0 && !planar(body);
            self.variable_of_dof[*dof].is_some() && (self.model.friction()[*dof] > 0.0 || support)
        };
        self.friction_dofs = (0..self.model.n_v()).filter(rubs).collect();
        let planes = (1..self.model.n_bodies()).filter(|b| planar(*b));
        self.planes = planes.filter(|b| self.mu_of_support(*b) > 0.0).collect();
    }

    /// Number of extra variables for joint friction.
    pub(crate) fn n_rubbing(&self) -> usize {
        self.friction_dofs.len() + self.planes.len()
    }

    /// Friction coefficient of the support of a body's joint; 0 without a support.
    pub(crate) fn mu_of_support(&self, body: usize) -> f64 {
        self.model.body(body).resistance.support.map_or(0.0, |support| support.friction)
    }

    /// Ratio of spin torque to friction force of a planar joint's support, in m.
    pub(crate) fn spin_radius(&self, body: usize) -> f64 {
        self.model.body(body).resistance.support.map_or(0.0, |support| support.spin_radius)
    }

    /// True if the dof has dry friction, of the joint or of a support.
    pub(crate) fn rubs(&self, dof: usize) -> bool {
        self.model.friction()[dof] > 0.0 || self.mu_of_support(self.body_of_dof[dof]) > 0.0
    }

    /// Block and position of the three variables of a planar joint that is not prescribed.
    pub(crate) fn places_of(&self, body: usize) -> [(u32, u32); 3] {
        let first = self.model.body(body).v.start;
        [0, 1, 2].map(|k| {
            let variable = self.variable_of_dof[first + k].expect("it is not prescribed");
            self.block_of_variable[variable as usize]
        })
    }

    /// This system with springs of the given stiffness, in N/m or N·m/rad, in place of prescribed
    /// motion. `None` if nothing is prescribed. The pairs that may touch are unchanged.
    pub(crate) fn compliant(&self, stiffness: f64) -> Option<Self> {
        let prescribed = |role: &&mut Role| **role == Role::Prescribed;
        let mut system = self.clone();
        let mut any = false;
        for (body, role) in system.roles.iter_mut().enumerate().filter(|(_, r)| prescribed(r)) {
            let n = self.model.body(body).v.len();
            *role = Role::Actuated(Actuator {
                stiffness: vec![stiffness; n],
                damping: vec![0.0; n],
                damping_on: DampingOn::Velocity,
                effort_limit: vec![f64::INFINITY; n],
            });
            any = true;
        }
        system.lay_out();
        any.then_some(system)
    }

    /// This system with one more spring between a frame and its commanded pose, the last of
    /// [`springs`](Self::springs). Everything else is unchanged, so states and warm starts of one fit
    /// the other.
    ///
    /// # Errors
    ///
    /// If the frame is on no body that moves, or a matrix is not symmetric positive semidefinite.
    pub fn with_spring(&self, spring: CartesianSpring) -> Result<Self, SystemError> {
        let mut system = self.clone();
        system.springs.push(SpringOfFrame::new(spring, &system.model)?);
        system.n_cmd += 7;
        system.n_cmd_v += 6;
        system.farthest = system.find_farthest();
        Ok(system)
    }

    /// True for a dof of a passive joint. Only these have inertia in quasi-static steps.
    pub(crate) fn is_passive(&self, dof: usize) -> bool {
        matches!(self.roles[self.body_of_dof[dof]], Role::Passive)
    }

    pub(crate) fn is_prescribed(&self, dof: usize) -> bool {
        self.roles[self.body_of_dof[dof]] == Role::Prescribed
    }

    /// Joints and bodies.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Collision shapes.
    pub fn geoms(&self) -> &[Geom] {
        &self.geoms
    }

    /// Drive of each body's joint.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Springs between frames and their commanded poses. Their commands follow those of the joints
    /// in `q_cmd`, in this order.
    pub fn springs(&self) -> impl ExactSizeIterator<Item = &CartesianSpring> {
        self.springs.iter().map(|spring| &spring.given)
    }

    /// Command under which the configuration `q` has no command error: coordinates of commanded
    /// joints, then poses of frames with a spring, 1 for each pad, which then pulls, and 0 for each switch,
    /// which is then off.
    ///
    /// # Panics
    ///
    /// If `q` is shorter than the model's configuration.
    pub fn command_at(&self, q: &[f64]) -> Vec<f64> {
        let own = |&body: &usize| &q[self.model.body(body).q.clone()];
        let mut command: Vec<f64> = self.commanded.iter().flat_map(own).copied().collect();
        if !self.springs.is_empty() {
            let mut kin = self.model.create_kinematics();
            self.model.kinematics(q, &mut kin);
            for spring in self.springs() {
                let X = self.model.frame_pose(&kin, &spring.frame);
                command.extend(X.rotation.to_array());
                command.extend(X.translation.to_array());
            }
        }
        command.extend(self.pads.iter().map(|_| 1.0));
        command.extend(self.switches.iter().map(|_| 0.0));
        command
    }

    /// Pads, in the order of their commands in `q_cmd`, which stand before those of switches.
    pub fn pads(&self) -> &[AdhesionPad] {
        &self.pads
    }

    /// Constraints with a [`Switch`](crate::Switch), in the order of their commands at the end of
    /// `q_cmd`.
    pub fn switched(&self) -> impl ExactSizeIterator<Item = &Constraint> {
        self.switches.iter().map(|k| &self.constraints[*k].given)
    }

    /// Number of pads and switches, whose commands stand last.
    pub(crate) fn n_behind(&self) -> usize {
        self.pads.len() + self.switches.len()
    }

    /// The commands of pads among those of a step.
    pub(crate) fn shares<'a>(&self, q_cmd: &'a [f64]) -> &'a [f64] {
        &q_cmd[q_cmd.len() - self.n_behind()..][..self.pads.len()]
    }

    /// Closed loops and couplings, in the order of the report.
    pub fn constraints(&self) -> impl ExactSizeIterator<Item = &Constraint> {
        self.constraints.iter().map(|held| &held.given)
    }

    /// Names in the order of `q_cmd`: coordinates, then for each spring its name with `.qw .qx .qy
    /// .qz .x .y .z`, then pads, then switches.
    pub fn command_names(&self) -> Vec<String> {
        let names = self.model.coordinate_names();
        let own = |&body: &usize| names[self.model.body(body).q.clone()].iter().cloned();
        let suffixes = JointKind::Free.coordinate_suffixes();
        self.commanded.iter().flat_map(own).chain(self.names_behind(suffixes)).collect()
    }

    /// Names in the order of `v_cmd` and of the reported effort: dofs, then for each spring its
    /// name with `.wx .wy .wz .vx .vy .vz`, then pads, then switches.
    pub fn effort_names(&self) -> Vec<String> {
        let names = self.model.dof_names();
        let own = |&body: &usize| names[self.model.body(body).v.clone()].iter().cloned();
        let suffixes = JointKind::Free.dof_suffixes();
        self.commanded.iter().flat_map(own).chain(self.names_behind(suffixes)).collect()
    }

    /// Range of each spring's entries in `v_cmd`, in the effort and in tangent vectors of commands.
    pub(crate) fn rates_of_springs(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (n, end) = (self.springs.len(), self.n_cmd_v - self.n_behind());
        (0..n).map(move |k| end - 6 * (n - k)..end - 6 * (n - k - 1))
    }

    /// Names of the commands behind those of joints.
    fn names_behind(&self, suffixes: &'static [&'static str]) -> impl Iterator<Item = String> {
        let of_one = move |s: &CartesianSpring| {
            suffixes.iter().map(|x| format!("{}{x}", s.name)).collect::<Vec<_>>()
        };
        let pads = self.pads.iter().map(|pad| pad.name.clone());
        let switches = self.switched().map(|switched| switched.name.clone());
        self.springs().flat_map(of_one).chain(pads).chain(switches)
    }

    /// Bodies whose joint is actuated or prescribed, ascending: the order of `q_cmd`.
    pub fn commanded(&self) -> &[usize] {
        &self.commanded
    }

    /// Dofs of commanded bodies, each with its position in `v_cmd`.
    pub(crate) fn commanded_dofs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.commanded.iter().flat_map(|&body| self.model.body(body).v.clone()).zip(0..)
    }

    /// Length of `q_cmd`.
    pub fn n_cmd(&self) -> usize {
        self.n_cmd
    }

    /// Length of `v_cmd` and of the reported effort.
    pub fn n_cmd_v(&self) -> usize {
        self.n_cmd_v
    }

    /// Friction of a pair of geoms.
    pub fn friction(&self, a: usize, b: usize) -> Friction {
        self.friction.pair(a, b)
    }

    /// True if this pair of geoms is tested for contact.
    ///
    /// Three kinds of pairs are never tested: geoms that do not move against each other, geoms of
    /// two bodies connected by a joint, and geoms of bodies of one model instance that a joint
    /// connects through fixed joints of this instance. A [`Constraint`] between frames connects
    /// bodies as a joint does; with a switch it does so while it is on, which is not considered here. A free joint connects nothing, and the world does not count as a
    /// neighbour.
    pub fn may_touch(&self, a: usize, b: usize) -> bool {
        self.may_touch[a.min(b) * self.geoms.len() + a.max(b)]
    }

    /// True if a geom of a pair is a height field or a sheet. Its points with one normal are a contact
    /// of their own, as those of another shape would be.
    pub(crate) fn is_on_ground(&self, (a, b): (u32, u32)) -> bool {
        let is_ground = |geom: u32| self.geoms[geom as usize].shape.has_pieces();
        is_ground(a) || is_ground(b)
    }

    /// The first pair of geoms that may touch and that nothing keeps apart: a sheet, and another one or
    /// a height field.
    pub fn sheets_that_meet(&self) -> Option<(usize, usize)> {
        let ground = |k: &usize| self.geoms[*k].shape.has_pieces();
        let grounds: Vec<usize> = (0..self.geoms.len()).filter(ground).collect();
        grounds.iter().enumerate().find_map(|(k, &a)| {
            let other = grounds[k + 1..].iter().find(|&&b| self.may_touch(a, b));
            other.map(|&b| (a, b))
        })
    }

    /// Permitted overlap of a pair of geoms after a step that began without overlap, in m.
    ///
    /// It is the smallest of three lengths: `most`
    /// ([`StepParams::max_overlap`](crate::StepParams::max_overlap)), a twentieth of the smaller
    /// body's thickness (that of its thickest [geom](Shape::thickness)), and a twentieth of both
    /// geoms' thicknesses together. It is infinite if `most` is.
    ///
    /// # Panics
    ///
    /// If a geom does not exist.
    pub fn allowed_overlap(&self, a: usize, b: usize, most: f64) -> f64 {
        if most == f64::INFINITY {
            return most;
        }
        let (a, b) = (&self.sizes[a], &self.sizes[b]);
        let least = a.body_thickness.min(b.body_thickness).min(a.thickness + b.thickness);
        most.min(THIN * least)
    }

    /// Default of [`StepParams::max_overlap`](crate::StepParams::max_overlap) in scenes, in m: a
    /// millimetre, or a thousandth of the thinnest body's thickness if all are thicker than a metre.
    pub fn usual_overlap(&self) -> f64 {
        let thinnest = self.sizes.iter().fold(f64::INFINITY, |m, size| m.min(size.body_thickness));
        let least = crate::StepParams::default().max_overlap;
        if thinnest.is_finite() { least.max(THICK * thinnest) } else { least }
    }

    /// Pairs of geoms of one model instance that may touch and overlap at `q` by more than
    /// `tolerance` (m), each with its depth (m).
    ///
    /// # Panics
    ///
    /// If `q` is shorter than the model's configuration.
    pub fn self_overlaps(&self, q: &[f64], tolerance: f64) -> Vec<(usize, usize, f64)> {
        let mut kin = self.model.create_kinematics();
        self.model.kinematics(q, &mut kin);
        let poses: Vec<Pose> = self.geoms.iter().map(|g| kin.X_WB[g.body] * g.X_BG).collect();
        let boxes: Vec<Aabb> =
            self.geoms.iter().zip(&poses).map(|(g, X_WG)| g.shape.aabb(X_WG)).collect();
        let mut pairs = Vec::new();
        let instance = |geom: usize| self.instances[self.geoms[geom].body];
        let own = |a: usize, b: usize| instance(a) == instance(b) && self.may_touch(a, b);
        BroadPhase::new().pairs(&boxes, 0.0, own, &mut pairs);
        let mut narrow = NarrowPhase::new();
        let mut overlaps = Vec::new();
        for (a, b) in pairs {
            let (a, b) = (a as usize, b as usize);
            let (A, B) = (&self.geoms[a].shape, &self.geoms[b].shape);
            let depth = -narrow.signed_distance(A, &poses[a], B, &poses[b]).phi;
            if depth > tolerance {
                overlaps.push((a, b, depth));
            }
        }
        overlaps
    }

    /// Pairs of bodies of one model instance whose geoms may touch, ascending.
    pub fn own_pairs(&self) -> BTreeSet<[usize; 2]> {
        let mut pairs = BTreeSet::new();
        for i in 0..self.geoms.len() {
            for j in i + 1..self.geoms.len() {
                let (a, b) = (self.geoms[i].body, self.geoms[j].body);
                if self.instances[a] == self.instances[b] && self.may_touch(i, j) {
                    pairs.insert([a.min(b), a.max(b)]);
                }
            }
        }
        pairs
    }

    /// Removes pairs of geoms from those that may touch.
    ///
    /// # Panics
    ///
    /// If a geom does not exist.
    pub fn exclude(&mut self, pairs: &[(usize, usize)]) {
        let n = self.geoms.len();
        for &(a, b) in pairs {
            self.may_touch[a.min(b) * n + a.max(b)] = false;
        }
    }

    /// Number of pairs of geoms that may touch.
    pub fn n_pairs(&self) -> usize {
        self.may_touch.iter().filter(|&&m| m).count()
    }

    /// Names of the dofs, in the order of `v`.
    pub fn dof_names(&self) -> Vec<String> {
        self.model.dof_names()
    }
}

/// For each dof, the body whose joint owns it.
fn owners(model: &Model) -> Vec<usize> {
    let mut owners = vec![WORLD; model.n_v()];
    for (index, body) in model.bodies().iter().enumerate() {
        owners[body.v.clone()].fill(index);
    }
    owners
}

/// For each body, the outermost body of its tree. A mimic joint merges the trees of its two joints,
/// a constraint those of the bodies that it holds.
pub(crate) fn trees(model: &Model, constraints: &[Held]) -> Vec<usize> {
    let n = model.n_bodies();
    let mut root: Vec<usize> = (0..n).collect();
    for i in 1..n {
        let parent = model.body(i).parent;
        if parent != WORLD {
            root[i] = root[parent];
        }
    }
    let mut join = |a: usize, b: usize| {
        let (a, b) = (root[a].min(root[b]), root[a].max(root[b]));
        root.iter_mut().filter(|r| **r == b).for_each(|r| *r = a);
    };
    for i in 1..n {
        if let Some(mimic) = &model.body(i).mimic {
            join(i, mimic.body);
        }
    }
    for held in constraints {
        let bodies = held.bodies();
        bodies.windows(2).for_each(|pair| join(pair[0], pair[1]));
    }
    root
}

fn bad(what: String, seen: String, rule: String) -> SystemError {
    SystemError::Definition { what, seen, rule }
}

/// Name of a number, its values, a validity test, and the rule as text.
type Rule<'a> = (&'static str, &'a [f64], fn(f64) -> bool, &'static str);

/// Checks that each body has an instance, and that shapes are valid.
fn check_bodies(geoms: &[Geom], instances: &[u32], model: &Model) -> Result<(), SystemError> {
    let n_bodies = model.n_bodies();
    if instances.len() != n_bodies {
        let seen = format!("{} entries", instances.len());
        return Err(bad("instances".into(), seen, format!("one for each of {n_bodies} bodies")));
    }
    for geom in geoms {
        let what = || format!("shape `{}`", geom.name);
        if geom.body >= n_bodies {
            return Err(bad(what(), format!("body {}", geom.body), format!("< {n_bodies}")));
        }
        geom.shape.check().map_err(|e| bad(what(), e.to_string(), "give a valid shape".into()))?;
    }
    check_grounds(model, geoms)
}

/// Checks that height fields are on bodies that cannot move.
fn check_grounds(model: &Model, geoms: &[Geom]) -> Result<(), SystemError> {
    let is_ground = |geom: &&Geom| matches!(geom.shape, Shape::HeightField(_));
    if !geoms.iter().any(|geom| is_ground(&geom)) {
        return Ok(());
    }
    let weld = welds(model);
    match geoms.iter().filter(is_ground).find(|geom| weld[geom.body] != WORLD) {
        None => Ok(()),
        Some(geom) => Err(bad(
            format!("shape `{}`", geom.name),
            format!("a height field on body `{}`, which moves", model.body(geom.body).name),
            "fix the body to the world, or give a mesh".into(),
        )),
    }
}

/// Checks a pair of shapes, of which there are `n`.
/// Friction of the pairs of shapes.
fn table(
    rule: PairFriction,
    geoms: &[Geom],
    exceptions: &[FrictionException],
    may_touch: &[bool],
) -> Result<FrictionTable, SystemError> {
    let n = geoms.len();
    for exception in exceptions {
        check_pair("friction exception", exception.pair, n)?;
    }
    let surfaces = geoms.iter().map(|g| g.surface).collect();
    let name = |k: usize| geoms[k].name.clone();
    FrictionTable::new(rule, surfaces, exceptions, name, |a, b| may_touch[a * n + b])
}

fn check_pair(what: &str, (a, b): (usize, usize), n: usize) -> Result<(), SystemError> {
    if a < n && b < n && a != b {
        return Ok(());
    }
    let rule = format!("two different shapes below {n}");
    Err(bad(what.into(), format!("pair ({a}, {b})"), rule))
}

/// Checks the roles of all joints. `held` marks bodies whose joint may have zero stiffness because
/// a spring acts on a frame that the joint moves.
fn check_roles(
    model: &Model,
    roles: &[Role],
    held: impl Fn(usize) -> bool,
) -> Result<(), SystemError> {
    if roles.len() != model.n_bodies() {
        let rule = format!("this model has {} bodies, the world included", model.n_bodies());
        return Err(bad("roles".into(), format!("{} entries", roles.len()), rule));
    }
    for (index, role) in roles.iter().enumerate() {
        let body = model.body(index);
        let what = || format!("joint `{}`", body.joint_name);
        if *role != Role::Passive && body.v.is_empty() {
            return Err(bad(what(), "a drive on a joint without a dof".into(), "passive".into()));
        }
        let Role::Actuated(actuator) = role else { continue };
        let n = body.v.len();
        let stiffness: Rule<'_> = if held(index) {
            ("stiffness", &actuator.stiffness, |k| k >= 0.0 && k.is_finite(), "≥ 0")
        } else {
            ("stiffness", &actuator.stiffness, |k| k > 0.0 && k.is_finite(), "> 0")
        };
        let rules: [Rule<'_>; 3] = [
            stiffness,
            ("damping", &actuator.damping, |d| d >= 0.0 && d.is_finite(), "≥ 0"),
            ("effort limit", &actuator.effort_limit, |e| e > 0.0, "> 0"),
        ];
        for (name, values, valid, rule) in rules {
            if values.len() != n {
                let seen = format!("{} values of {name}", values.len());
                return Err(bad(what(), seen, format!("it has {n} dofs")));
            }
            if let Some(&value) = values.iter().find(|&&value| !valid(value)) {
                return Err(bad(what(), format!("{name} {value}"), format!("it must be {rule}")));
            }
        }
    }
    Ok(())
}

/// For each body, the outermost body of those that fixed joints weld together.
pub(crate) fn welds(model: &Model) -> Vec<usize> {
    let mut weld: Vec<usize> = (0..model.n_bodies()).collect();
    for i in 1..model.n_bodies() {
        if matches!(model.body(i).joint, JointKind::Fixed) {
            weld[i] = weld[model.body(i).parent];
        }
    }
    weld
}

/// Computes the group of each geom: see [`System::moves_with`].
fn groups(model: &Model, geoms: &[Geom]) -> Vec<Option<u32>> {
    let weld = welds(model);
    let mut count = vec![0; weld.len()];
    let is_convex = |geom: &Geom| geom.shape.is_convex();
    geoms.iter().filter(|g| is_convex(g)).for_each(|g| count[weld[g.body]] += 1);
    let group = |geom: &Geom| {
        (count[weld[geom.body]] > 1 && is_convex(geom)).then_some(weld[geom.body] as u32)
    };
    geoms.iter().map(group).collect()
}

/// For each body its link: welded bodies of one instance count as one.
pub(crate) fn links(model: &Model, instances: &[u32]) -> Vec<usize> {
    let mut link: Vec<usize> = (0..model.n_bodies()).collect();
    for i in 1..model.n_bodies() {
        let body = model.body(i);
        let is_fixed = matches!(body.joint, JointKind::Fixed);
        if is_fixed && instances[i] == instances[body.parent] && body.parent != WORLD {
            link[i] = link[body.parent];
        }
    }
    link
}

/// Pairs of links that constraints connect as a joint does.
pub(crate) fn closed<'a>(
    constraints: impl Iterator<Item = &'a Held>,
    link: &[usize],
) -> BTreeSet<[usize; 2]> {
    let of_frames = constraints.filter_map(Held::frames);
    let bodies = of_frames.map(|frames| frames.map(|frame| link[frame.body]));
    let bodies = bodies.filter(|bodies| !bodies.contains(&WORLD));
    bodies.map(|[a, b]| [a.min(b), a.max(b)]).collect()
}

/// Upper triangle over geoms: pairs that move against each other and that no joint connects.
fn touchable(
    model: &Model,
    geoms: &[Geom],
    roles: &[Role],
    instances: &[u32],
    constraints: &[Held],
) -> Vec<bool> {
    let n_bodies = model.n_bodies();
    let weld = welds(model);
    let link = links(model, instances);
    let hangs_on = |child: usize, other: usize| {
        let body = model.body(child);
        child != WORLD
            && body.parent != WORLD
            && !matches!(body.joint, JointKind::Free)
            && link[body.parent] == other
    };
    // a body moves freely if a dof on its path has a variable
    let mut free = vec![false; n_bodies];
    for i in 1..n_bodies {
        let body = model.body(i);
        free[i] = free[body.parent] || (!body.v.is_empty() && roles[i] != Role::Prescribed);
        // a mimic joint has no dof of its own: it uses its leader's
        if let Some(mimic) = &body.mimic {
            let leader = mimic.body;
            free[i] |= !model.body(leader).v.is_empty() && roles[leader] != Role::Prescribed;
        }
    }
    let always = constraints.iter().filter(|held| held.given.switch.is_none());
    let closed = closed(always, &link);
    let n = geoms.len();
    let mut may_touch = vec![false; n * n];
    for i in 0..n {
        for j in i + 1..n {
            let (a, b) = (geoms[i].body, geoms[j].body);
            may_touch[i * n + j] = weld[a] != weld[b]
                && link[a] != link[b]
                && (free[a] || free[b])
                && !hangs_on(link[a], link[b])
                && !hangs_on(link[b], link[a])
                && !closed.contains(&[link[a].min(link[b]), link[a].max(link[b])]);
        }
    }
    may_touch
}
