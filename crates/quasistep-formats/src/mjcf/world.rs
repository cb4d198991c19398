//! `<worldbody>`: bodies with their joints, geoms and sites, as flat lists in MuJoCo's order.

use super::geom::{Geom, Weight};
use super::inertia;
use super::joint::{Joint, Kind};
use super::orientation::{euler, pose, turn_z_to};
use super::read::Read;
use super::spec::{Class, FromGeom, Spec};
use super::told::{BODY_PLUGINS, MOCAP, Told};
use super::tree::{Element, Place};
use crate::error::{SceneError, unknown};
use quasistep_math::{Pose, Vec3};
use quasistep_model::BodyInertia;
use std::collections::BTreeMap;

/// Most bodies, geoms and sites together; public scenes have some thousand.
const MOST_PARTS: usize = 100_000;
/// Most copies of one `<replicate>`.
const MOST_COPIES: usize = 10_000;
/// Most dofs of one body.
const MOST_DOFS: usize = 6;

/// Origin file of elements, and the prefix and suffix of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    pub spec: usize,
    pub prefix: String,
    pub suffix: String,
}

impl Scope {
    pub fn name(&self, own: &str) -> String {
        format!("{}{own}{}", self.prefix, self.suffix)
    }
}

/// A body.
#[derive(Clone, Debug)]
pub(super) struct Body {
    /// Name, unique among the bodies.
    pub name: String,
    pub place: Place,
    /// Index of the parent body; 0 for the world itself.
    pub parent: usize,
    pub X_PB: Pose,
    pub joints: Vec<Joint>,
    pub geoms: Vec<Geom>,
    pub inertia: BodyInertia,
    /// `gravcomp`: the share of its weight that is carried for it.
    pub compensated: f64,
    /// True for a mocap body, whose pose is set from outside.
    pub mocap: bool,
    /// Index of the body nearest to the world to which this body is welded.
    pub weld: usize,
}

/// A site: a named frame on a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub body: usize,
    pub X_BS: Pose,
}

/// All bodies with their parts.
pub(super) struct World<'a> {
    pub specs: &'a [Spec],
    /// The world first, parents before children.
    pub bodies: Vec<Body>,
    pub body_of: BTreeMap<String, usize>,
    pub sites: BTreeMap<String, Site>,
    /// By name: body index, and index among its geoms.
    pub geom_of: BTreeMap<String, [usize; 2]>,
    /// By name: body index, and index among its joints.
    pub joint_of: BTreeMap<String, [usize; 2]>,
    /// Scope of each instantiated file.
    pub scopes: Vec<Scope>,
    pub told: Told,
    n_parts: usize,
}

/// Context of the elements being read.
#[derive(Clone, Copy)]
struct Around<'a> {
    body: usize,
    /// Pose of the enclosing frame in the body.
    X_BS: Pose,
    class: &'a Class,
    scope: &'a Scope,
    /// True if the body's inertia comes from its geoms.
    weigh: bool,
}

impl<'a> World<'a> {
    /// Reads the bodies of the last spec and of the models that it attaches.
    pub fn read(specs: &'a [Spec]) -> Result<Self, SceneError> {
        let main = specs.len() - 1;
        let root = &specs[main].root;
        let mut world = Self {
            specs,
            bodies: Vec::new(),
            body_of: BTreeMap::new(),
            sites: BTreeMap::new(),
            geom_of: BTreeMap::new(),
            joint_of: BTreeMap::new(),
            scopes: Vec::new(),
            told: Told::default(),
            n_parts: 0,
        };
        world.bodies.push(Body {
            name: String::from("world"),
            place: root.place.clone(),
            parent: 0,
            X_PB: Pose::IDENTITY,
            joints: Vec::new(),
            geoms: Vec::new(),
            inertia: BodyInertia::default(),
            compensated: 0.0,
            mocap: false,
            weld: 0,
        });
        world.body_of.insert(String::from("world"), 0);
        let scope = Scope { spec: main, ..Scope::default() };
        world.scopes.push(scope.clone());
        let around = Around {
            body: 0,
            X_BS: Pose::IDENTITY,
            class: specs[main].main(),
            scope: &scope,
            weigh: false,
        };
        for section in root.children("worldbody") {
            world.section(section, around)?;
        }
        for index in 1..world.bodies.len() {
            let Body { parent, mocap, ref joints, .. } = world.bodies[index];
            let is_root = mocap || !joints.is_empty();
            world.bodies[index].weld = if is_root { index } else { world.bodies[parent].weld };
        }
        if let Some(total) = specs[main].compiler.total_mass {
            world.scale_to(total);
        }
        Ok(world)
    }

    /// Scales masses and inertias so that the total mass is `total` (kg).
    fn scale_to(&mut self, total: f64) {
        let mass: f64 = self.bodies.iter().map(|body| body.inertia.mass).sum();
        if mass > 0.0 {
            for body in &mut self.bodies {
                body.inertia.mass *= total / mass;
                body.inertia.inertia = body.inertia.inertia * (total / mass);
            }
        }
    }

    fn spec(&self, around: Around<'_>) -> &'a Spec {
        &self.specs[around.scope.spec]
    }

    fn count(&mut self, at: &Element) -> Result<(), SceneError> {
        self.n_parts += 1;
        if self.n_parts > MOST_PARTS {
            return Err(at.error(format!(
                "more than {MOST_PARTS} bodies, geoms and sites; that many are read"
            )));
        }
        Ok(())
    }

    /// Reads the contents of a body, frame or world.
    fn section(&mut self, section: &'a Element, around: Around<'_>) -> Result<(), SceneError> {
        for element in &section.children {
            match element.tag.as_str() {
                "body" => self.body(element, around)?,
                "frame" => {
                    let inner = self.inner(element, around)?;
                    self.section(element, inner)?;
                }
                "replicate" => self.replicate(element, around)?,
                "attach" => self.attach(element, around)?,
                "joint" | "freejoint" => self.joint(element, around)?,
                "geom" => self.geom(element, around)?,
                "site" => self.site(element, around)?,
                "inertial" if around.body == 0 => {
                    return Err(element.error("the world has no inertia; it stands in a body"));
                }
                "composite" | "flexcomp" => {
                    return Err(element.error(format!(
                        "<{}> makes bodies that bend, which are not read",
                        element.tag
                    )));
                }
                "plugin" => {
                    let name = self.bodies[around.body].name.clone();
                    self.told.group(BODY_PLUGINS, &element.place, &name);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Context for the children of a frame or replica.
    fn inner<'s>(&self, element: &'a Element, around: Around<'s>) -> Result<Around<'s>, SceneError>
    where
        'a: 's,
    {
        let spec = self.spec(around);
        let class = match element.attribute("childclass") {
            Some(name) => spec.find_class(name, element)?,
            None => around.class,
        };
        let X_SF = if element.tag == "replicate" {
            Pose::IDENTITY
        } else {
            pose(&Read::plain(element), &spec.compiler)?
        };
        Ok(Around { X_BS: around.X_BS * X_SF, class, ..around })
    }

    fn body(&mut self, element: &'a Element, around: Around<'_>) -> Result<(), SceneError> {
        self.count(element)?;
        let spec = self.spec(around);
        let at = Read::plain(element);
        let parent = around.body;
        let index = self.bodies.len();
        let class = match element.attribute("childclass") {
            Some(name) => spec.find_class(name, element)?,
            None => around.class,
        };
        let name = unique(element, around.scope, &self.body_of, || format!("body_{index}"))?;
        let mocap = at.truth("mocap")?.unwrap_or(false);
        if mocap {
            self.told.group(MOCAP, &element.place, &name);
        }
        self.body_of.insert(name.clone(), index);
        self.bodies.push(Body {
            name,
            place: element.place.clone(),
            parent,
            X_PB: around.X_BS * pose(&at, &spec.compiler)?,
            joints: Vec::new(),
            geoms: Vec::new(),
            inertia: BodyInertia::default(),
            compensated: at.number("gravcomp")?.unwrap_or(0.0),
            mocap,
            weld: 0,
        });
        let mut inertials = Vec::new();
        find_inertials(element, &mut inertials);
        let inertial = inertials.last().copied();
        let weigh = match spec.compiler.inertia_from_geom {
            FromGeom::Never => false,
            FromGeom::Always => true,
            FromGeom::Auto => inertial.is_none(),
        };
        let within =
            Around { body: index, X_BS: Pose::IDENTITY, class, scope: around.scope, weigh };
        self.section(element, within)?;
        let Body { geoms, X_PB, .. } = &self.bodies[index];
        let weights: Vec<Weight> = geoms.iter().filter_map(|g| g.weight).collect();
        self.bodies[index].inertia = inertia::of_body(element, inertial, &weights, *X_PB, spec)?;
        Ok(())
    }

    fn joint(&mut self, element: &'a Element, around: Around<'_>) -> Result<(), SceneError> {
        let spec = self.spec(around);
        let at = spec.behind(element, around.class)?;
        let body = around.body;
        if body == 0 {
            return Err(element.error("the world has no joints; they stand in a body"));
        }
        let name =
            unique(element, around.scope, &self.joint_of, || self.bodies[body].name.clone())?;
        let joint = Joint::read(&at, name, spec, around.X_BS, &mut self.told)?;
        let before = &self.bodies[body].joints;
        if joint.kind == Kind::Free && (self.bodies[body].parent != 0 || !before.is_empty())
            || before.iter().any(|j| j.kind == Kind::Free)
        {
            return Err(element
                .error("a free joint must be the only one of a body that stands in the world"));
        }
        let turned = before.iter().any(|j| j.kind == Kind::Ball);
        if turned && joint.kind != Kind::Slide || before.len() >= MOST_DOFS {
            return Err(element
                .error("a body has at most 6 dofs, and none that turns it behind a ball joint"));
        }
        self.joint_of.insert(joint.name.clone(), [body, before.len()]);
        self.bodies[body].joints.push(joint);
        Ok(())
    }

    fn geom(&mut self, element: &'a Element, around: Around<'_>) -> Result<(), SceneError> {
        self.count(element)?;
        let spec = self.spec(around);
        let at = spec.behind(element, around.class)?;
        let body = around.body;
        let named = element.attribute("name").is_some_and(|name| !name.is_empty());
        let name =
            named.then(|| unique(element, around.scope, &self.geom_of, String::new)).transpose()?;
        let geom = Geom::read(&at, name.clone(), spec, around.X_BS, around.weigh, &mut self.told)?;
        if let Some(name) = name {
            self.geom_of.insert(name, [body, self.bodies[body].geoms.len()]);
        }
        self.bodies[body].geoms.push(geom);
        Ok(())
    }

    fn site(&mut self, element: &'a Element, around: Around<'_>) -> Result<(), SceneError> {
        self.count(element)?;
        let Some(own) = element.attribute("name").filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let spec = self.spec(around);
        let at = spec.behind(element, around.class)?;
        let X_SS = match at.numbers::<6>("fromto")? {
            Some([a, b, c, d, e, f]) => {
                let (from, to) = (Vec3::new(a, b, c), Vec3::new(d, e, f));
                let along = (from - to)
                    .try_normalize()
                    .ok_or_else(|| at.error("fromto: its points are one"))?;
                Pose::new(turn_z_to(along), (from + to) * 0.5)
            }
            None => pose(&at, &spec.compiler)?,
        };
        let site = Site { body: around.body, X_BS: around.X_BS * X_SS };
        if self.sites.insert(around.scope.name(own), site).is_some() {
            return Err(element.error("a second site of this name was seen; names must differ"));
        }
        Ok(())
    }

    /// Adds the copies of a `<replicate>`, each offset from the one before.
    fn replicate(&mut self, element: &'a Element, around: Around<'_>) -> Result<(), SceneError> {
        let at = Read::plain(element);
        let spec = self.spec(around);
        let count =
            at.whole("count")?.ok_or_else(|| at.error("the attribute `count` is missing"))?;
        let count = usize::try_from(count).ok().filter(|n| *n <= MOST_COPIES).ok_or_else(|| {
            at.error(format!("count {count} was seen; valid are 0 to {MOST_COPIES}"))
        })?;
        let offset = Vec3::from(at.partly("offset", [0.0; 3])?);
        let angles = at.partly("euler", [0.0; 3])?.map(|a| spec.compiler.angle(a));
        let separator = element.attribute("sep").unwrap_or("");
        let digits = count.to_string().len();
        let inner = self.inner(element, around)?;
        let mut place = Vec3::ZERO;
        for k in 0..count {
            self.count(element)?;
            let turn = euler(angles.map(|a| a * k as f64), &spec.compiler);
            let suffix = format!("{separator}{k:0digits$}{}", around.scope.suffix);
            let scope = Scope { suffix, ..around.scope.clone() };
            self.enter(&scope);
            let X_BS = inner.X_BS * Pose::new(turn, place);
            self.section(element, Around { X_BS, scope: &scope, ..inner })?;
            place += turn.rotate(offset);
        }
        Ok(())
    }

    /// Records a scope in which elements of a file are instantiated.
    fn enter(&mut self, scope: &Scope) {
        if self.scopes.last() != Some(scope) {
            self.scopes.push(scope.clone());
        }
    }

    /// Attaches a body, a frame, or all of another model.
    fn attach(&mut self, element: &'a Element, around: Around<'_>) -> Result<(), SceneError> {
        let name = element.attribute("model").ok_or_else(|| {
            element.error("`model` is missing: a part of the model itself is not attached here")
        })?;
        let models = &self.spec(around).models;
        let child = *models.get(name).ok_or_else(|| {
            let names: Vec<&str> = models.keys().map(String::as_str).collect();
            element.error(unknown("model", name, &names))
        })?;
        let prefix = element.attribute("prefix").unwrap_or("");
        let scope = Scope {
            spec: child,
            prefix: format!("{}{prefix}", around.scope.prefix),
            suffix: around.scope.suffix.clone(),
        };
        self.enter(&scope);
        let spec = &self.specs[child];
        let within = Around { class: spec.main(), scope: &scope, ..around };
        let (tag, wanted) = match (element.attribute("body"), element.attribute("frame")) {
            (Some(name), _) => ("body", name),
            (None, Some(name)) => ("frame", name),
            (None, None) => {
                let mut sections = spec.root.children("worldbody");
                return sections.try_for_each(|section| self.section(section, within));
            }
        };
        let mut sections = spec.root.children("worldbody");
        let found = sections.find_map(|section| find(section, tag, wanted, spec, spec.main()));
        let (part, class) = found
            .ok_or_else(|| element.error(format!("the model `{name}` has no {tag} `{wanted}`")))?;
        let within = Around { class, ..within };
        if tag == "body" {
            return self.body(part, within);
        }
        let inner = self.inner(part, within)?;
        self.section(part, inner)
    }
}

/// The name of an element in its scope, or a generated one. An error if it is already in use.
fn unique<T>(
    element: &Element,
    scope: &Scope,
    taken: &BTreeMap<String, T>,
    make: impl Fn() -> String,
) -> Result<String, SceneError> {
    if let Some(name) = element.attribute("name").filter(|name| !name.is_empty()) {
        let name = scope.name(name);
        if taken.contains_key(&name) {
            return Err(element.error("a second one of this name was seen; names must differ"));
        }
        return Ok(name);
    }
    let first = make();
    let mut name = first.clone();
    let mut k = 1;
    while taken.contains_key(&name) {
        k += 1;
        name = format!("{first}_{k}");
    }
    Ok(name)
}

/// Finds an element by tag and name, and its enclosing class.
fn find<'a>(
    section: &'a Element,
    tag: &str,
    name: &str,
    spec: &'a Spec,
    class: &'a Class,
) -> Option<(&'a Element, &'a Class)> {
    for element in &section.children {
        if element.tag == tag && element.attribute("name") == Some(name) {
            return Some((element, class));
        }
        if matches!(element.tag.as_str(), "body" | "frame") {
            let inner =
                element.attribute("childclass").and_then(|c| spec.find_class(c, element).ok());
            if let Some(found) = find(element, tag, name, spec, inner.unwrap_or(class)) {
                return Some(found);
            }
        }
    }
    None
}

/// Collects the `<inertial>` elements of a body, including those in its frames.
fn find_inertials<'e>(element: &'e Element, found: &mut Vec<&'e Element>) {
    for child in &element.children {
        match child.tag.as_str() {
            "inertial" => found.push(child),
            "frame" => find_inertials(child, found),
            _ => {}
        }
    }
}
