//! Drake's model directives: model files, welds between them, frames, collision filters, start
//! positions.
//!
//! Every model becomes an instance with a name. The names of enclosing namespaces precede it:
//! `left::arm::link_7`.

mod transform;

use crate::description::Description;
use crate::error::{SceneError, unknown};
use crate::filters::Group;
use crate::mechanism::{Connection, Mechanism};
use crate::packages::Places;
use crate::sdf::{self, Library};
use crate::spot::Spot;
use crate::yaml::{At, Map, Node};
use crate::{Format, Options, description, files};
use quasistep_math::{Pose, Quat};
use quasistep_model::JointKind;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use transform::Transform;

/// Separator of scoped names.
const SCOPE: &str = "::";
/// Name of the world in every namespace.
const WORLD: &str = "world";
/// Most levels of directives files that include one another; real files have about three.
const MOST_DEEP: usize = 32;
/// Most directives, counting included files each time they are included. Each name is searched
/// among all before it, so the cost is quadratic.
const MOST_DIRECTIVES: usize = 10_000;

const DIRECTIVES: [&str; 6] = [
    "add_model",
    "add_model_instance",
    "add_frame",
    "add_weld",
    "add_collision_filter_group",
    "add_directives",
];

/// Reads a directives file.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Description, SceneError> {
    let mut stage = Stage::new(path, options);
    stage.file(path, "", None)?;
    stage.into_description()
}

/// A model named by a file.
pub(crate) struct Instance<'n> {
    pub name: &'n str,
    pub path: PathBuf,
    /// Place in the file that names the model.
    pub spot: Spot,
}

/// Reads the directives in file `path`, which file `asker` names. `models` are further models named
/// by `asker`; they come before the directives.
pub(crate) fn read_after<'n>(
    asker: &Path,
    options: &Options,
    models: impl Iterator<Item = &'n Instance<'n>>,
    (path, at): (&Path, &At<'_>),
) -> Result<Description, SceneError> {
    let mut stage = Stage::new(asker, options);
    for Instance { name, path, spot } in models {
        sdf::add_instance(&mut stage.mechanism, &mut stage.library, path, name, spot)?;
    }
    stage.file(path, "", Some(at))?;
    stage.into_description()
}

/// State of reading directives.
struct Stage<'o> {
    options: &'o Options,
    mechanism: Mechanism,
    library: Library<'o>,
    /// Directives files being read, outermost first.
    open: Vec<PathBuf>,
    directives: usize,
}

/// File, folder and namespace of the current directives.
struct Scope<'s> {
    dir: &'s Path,
    namespace: &'s str,
}

impl Scope<'_> {
    /// Full name of `name` in this scope.
    fn name(&self, name: &str) -> String {
        if name == WORLD { name.to_owned() } else { join(self.namespace, name) }
    }
}

fn join(namespace: &str, name: &str) -> String {
    match (namespace, name) {
        ("", _) => name.to_owned(),
        (_, "") => namespace.to_owned(),
        _ => format!("{namespace}{SCOPE}{name}"),
    }
}

/// Splits a scoped name into its namespace and its last part.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once(SCOPE).unwrap_or(("", name))
}

impl<'o> Stage<'o> {
    fn new(file: &Path, options: &'o Options) -> Self {
        Self {
            options,
            mechanism: Mechanism::new(file),
            library: Library::new(options),
            open: Vec::new(),
            directives: 0,
        }
    }

    fn into_description(mut self) -> Result<Description, SceneError> {
        self.mechanism.warnings.append(&mut self.library.warnings);
        self.mechanism.into_description()
    }

    /// Executes the directives of a file; `at` is the directive that includes it, if any.
    fn file(
        &mut self,
        path: &Path,
        namespace: &str,
        at: Option<&At<'_>>,
    ) -> Result<(), SceneError> {
        let name = path.display().to_string();
        let fail = |why: String| match at {
            Some(at) => at.error(why),
            None => SceneError::new(&name, None, "", why),
        };
        if self.open.iter().any(|open| open == path) {
            let names: Vec<String> = self.open.iter().map(|p| p.display().to_string()).collect();
            let names = names.join(", ");
            return Err(fail(format!("{name} includes itself, by way of {names}")));
        }
        if self.open.len() >= MOST_DEEP {
            return Err(fail(format!("{name}: files are nested deeper than {MOST_DEEP}")));
        }
        let text = files::read_to_string(path)
            .map_err(|e| fail(format!("{name} is not readable: {e}")))?;
        let root = Node::parse(&text, &name)?;
        let root = root.at(&name);
        let map = root.map(&["directives"])?;
        self.open.push(path.to_owned());
        let scope = Scope { dir: path.parent().unwrap_or(Path::new(".")), namespace };
        for at in map.need("directives")?.list()? {
            self.directives += 1;
            if self.directives > MOST_DIRECTIVES {
                return Err(at.error(format!("there are more than {MOST_DIRECTIVES} directives")));
            }
            self.directive(&at, &scope)?;
        }
        self.open.pop();
        Ok(())
    }

    fn directive(&mut self, at: &At<'_>, scope: &Scope<'_>) -> Result<(), SceneError> {
        let map = at.map(&DIRECTIVES)?;
        let (Some(word), None) = (map.keys().next(), map.keys().nth(1)) else {
            return Err(at.error("an entry of `directives` has one key, such as `add_model`"));
        };
        let at = map.need(word)?;
        match word {
            "add_model" => self.add_model(at, scope),
            "add_model_instance" => {
                let name = scope.name(at.map(&["name"])?.need("name")?.text()?);
                self.add_group(name, at)
            }
            "add_frame" => self.add_frame(at, scope),
            "add_weld" => self.add_weld(at, scope),
            "add_collision_filter_group" => self.add_filter(at, scope),
            _ => self.add_directives(at, scope),
        }
    }

    /// Path of the file that a directive names.
    fn find(&self, at: &At<'_>, scope: &Scope<'_>) -> Result<PathBuf, SceneError> {
        let places = Places { dir: scope.dir, packages: &self.options.packages };
        places.find(at.text()?).map_err(|why| at.error(why))
    }

    fn add_group(&mut self, name: String, at: &At<'_>) -> Result<(), SceneError> {
        if self.mechanism.groups.contains(&name) {
            return Err(
                at.error(format!("a second model instance `{name}` was seen; names must differ"))
            );
        }
        self.mechanism.groups.push(name);
        Ok(())
    }

    fn add_directives(&mut self, at: &At<'_>, scope: &Scope<'_>) -> Result<(), SceneError> {
        let map = at.map(&["file", "model_namespace"])?;
        let file = map.need("file")?;
        let namespace = match map.get("model_namespace") {
            None => scope.namespace.to_owned(),
            Some(at) => {
                let name = join(scope.namespace, at.text()?);
                self.need_group(&name, at)?;
                name
            }
        };
        let path = self.find(file, scope)?;
        self.file(&path, &namespace, Some(file))
    }

    /// Error unless the namespace is that of a model instance.
    fn need_group(&self, name: &str, at: &At<'_>) -> Result<(), SceneError> {
        let groups = &self.mechanism.groups;
        if groups.iter().any(|group| group == name) {
            return Ok(());
        }
        let names: Vec<&str> = groups.iter().map(String::as_str).collect();
        let hint = "make it with `add_model_instance`";
        Err(at.error(format!("{}; {hint}", unknown("model instance", name, &names))))
    }

    fn add_model(&mut self, at: &At<'_>, scope: &Scope<'_>) -> Result<(), SceneError> {
        let map = at.map(&["file", "name", "default_joint_positions", "default_free_body_pose"])?;
        let name_at = map.need("name")?;
        let name = scope.name(name_at.text()?);
        if self.mechanism.groups.contains(&name) {
            return Err(name_at
                .error(format!("a second model instance `{name}` was seen; names must differ")));
        }
        let file = map.need("file")?;
        let path = self.find(file, scope)?;
        if Format::of(&path) == Some(Format::Directives) {
            return Err(file.error("a file of directives was seen; give it to `add_directives`"));
        }
        let (bodies, connections) = (self.mechanism.bodies.len(), self.mechanism.connections.len());
        sdf::add_instance(&mut self.mechanism, &mut self.library, &path, &name, &file.spot())?;
        if let Some(at) = map.get("default_joint_positions") {
            for (joint, at) in at.entries()? {
                self.start(&join(&name, joint), connections, &at)?;
            }
        }
        if let Some(at) = map.get("default_free_body_pose") {
            for (frame, at) in at.entries()? {
                self.pose(&name, frame, bodies, &at, scope)?;
            }
        }
        Ok(())
    }

    /// Sets start coordinates of a joint of the model whose connections begin at index `first`.
    fn start(&mut self, name: &str, first: usize, at: &At<'_>) -> Result<(), SceneError> {
        let values = if at.is_list() { at.numbers("")? } else { vec![at.number("")?] };
        let hinges = [format!("{name}_axis"), format!("{name}_axis2")];
        let joints = &mut self.mechanism.connections[first..];
        // a universal joint was split into two hinges
        if values.len() == 2 && joints.iter().any(|c| c.joint.name == hinges[0]) {
            for (hinge, value) in hinges.iter().zip(values) {
                for connection in joints.iter_mut().filter(|c| c.joint.name == *hinge) {
                    connection.joint.start = Some(vec![value]);
                }
            }
            return Ok(());
        }
        let names: Vec<&str> = joints.iter().map(|c| split(&c.joint.name).1).collect();
        let Some(k) = joints.iter().position(|c| c.joint.name == name) else {
            return Err(at.error(unknown("joint", split(name).1, &names)));
        };
        let joint = &mut joints[k].joint;
        let values = match (joint.kind, values.as_slice()) {
            // Drake's ball joint has roll, pitch and yaw as coordinates
            (JointKind::Ball, &[roll, pitch, yaw]) => {
                Quat::from_rpy([roll, pitch, yaw]).to_array().to_vec()
            }
            _ => values,
        };
        if values.len() != joint.kind.n_q() {
            let (seen, wanted) = (values.len(), joint.kind.n_q());
            return Err(at.error(format!("{seen} numbers were seen; this joint has {wanted}")));
        }
        joint.start = Some(values);
        Ok(())
    }

    /// Sets the start pose of a free body of a model. If it is given in a frame other than the
    /// world's, the body gets a free joint to that frame's body.
    fn pose(
        &mut self,
        model: &str,
        frame: &str,
        first: usize,
        at: &At<'_>,
        scope: &Scope<'_>,
    ) -> Result<(), SceneError> {
        let Transform { base_frame, pose } = transform::read(at)?;
        let (body, X_BF) = if frame.is_empty() {
            let n = self.mechanism.bodies.len() - first;
            if n != 1 {
                return Err(at.error(format!(
                    "an empty name was seen, and the model has {n} links; name one"
                )));
            }
            (Some(first), Pose::IDENTITY)
        } else {
            self.frame(&join(model, frame), at)?.1
        };
        let Some(body) = body else {
            return Err(at.error(format!("`{frame}` is on no link of the model")));
        };
        let base = base_frame.map_or_else(|| WORLD.to_owned(), |name| scope.name(&name));
        let (parent, X_PF) = self.frame(&base, at)?.1;
        if parent.is_none() {
            self.mechanism.bodies[body].X_WB = X_PF * pose * X_BF.inverse();
            return Ok(());
        }
        let link = &self.mechanism.bodies[body].link.name;
        let name = self.fresh(link);
        let mut joint = description::Joint::new(name, JointKind::Free, None, 0, Pose::IDENTITY);
        let [w, x, y, z] = pose.rotation.to_array();
        let p = pose.translation;
        joint.start = Some(vec![w, x, y, z, p.x, p.y, p.z]);
        self.connect(at.spot(), (parent, X_PF), (Some(body), X_BF), joint);
        Ok(())
    }

    /// A joint name that is not in use, derived from `name`.
    fn fresh(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.mechanism.connections.iter().any(|c| c.joint.name == name) {
            name.push('_');
        }
        name
    }

    fn connect(
        &mut self,
        spot: Spot,
        (parent, X_PF): (Option<usize>, Pose),
        (child, X_CM): (Option<usize>, Pose),
        mut joint: description::Joint,
    ) {
        joint.line = spot.line;
        self.mechanism.connections.push(Connection { spot, parent, child, X_PF, X_CM, joint });
    }

    /// Full name, body, and pose in the body of a frame. A name without a namespace may be that of
    /// a frame in any one model.
    fn frame(
        &self,
        name: &str,
        at: &At<'_>,
    ) -> Result<(String, (Option<usize>, Pose)), SceneError> {
        if name == WORLD {
            return Ok((String::new(), (None, Pose::IDENTITY)));
        }
        let frames = &self.mechanism.frames;
        if let Some(found) = frames.get(name) {
            return Ok((name.to_owned(), *found));
        }
        let mut alike = frames.iter().filter(|(full, _)| split(full).1 == name);
        match (alike.next(), alike.next()) {
            (Some((full, found)), None) => Ok((full.clone(), *found)),
            (Some((one, _)), Some((other, _))) => {
                Err(at.error(format!("`{name}` may be `{one}` or `{other}`; give the full name")))
            }
            (None, _) => {
                let names: Vec<&str> = frames.keys().map(String::as_str).collect();
                Err(at.error(unknown("frame", name, &names)))
            }
        }
    }

    fn named(
        &self,
        map: &Map<'_>,
        key: &str,
        scope: &Scope<'_>,
    ) -> Result<(String, (Option<usize>, Pose)), SceneError> {
        let at = map.need(key)?;
        self.frame(&scope.name(at.text()?), at)
    }

    fn add_frame(&mut self, at: &At<'_>, scope: &Scope<'_>) -> Result<(), SceneError> {
        let map = at.map(&["name", "X_PF"])?;
        let (name_at, X_at) = (map.need("name")?, map.need("X_PF")?);
        let Transform { base_frame, pose } = transform::read(X_at)?;
        let base = base_frame.ok_or_else(|| {
            X_at.error("`base_frame` is missing; it must be given, `world` for the world")
        })?;
        let (base, (body, X_PB)) = self.frame(&scope.name(&base), X_at)?;
        let name = match split(name_at.text()?) {
            // the model of the base frame, unless the name has a namespace
            ("", element) => join(split(&base).0, element),
            (namespace, element) => {
                let namespace = join(scope.namespace, namespace);
                self.need_group(&namespace, name_at)?;
                join(&namespace, element)
            }
        };
        let frames = &mut self.mechanism.frames;
        if frames.insert(name.clone(), (body, X_PB * pose)).is_some() || name == WORLD {
            return Err(
                name_at.error(format!("a second frame `{name}` was seen; names must differ"))
            );
        }
        Ok(())
    }

    fn add_weld(&mut self, at: &At<'_>, scope: &Scope<'_>) -> Result<(), SceneError> {
        let map = at.map(&["parent", "child", "X_PC"])?;
        let X_PC = map.get("X_PC").map(transform::read).transpose()?;
        if let (Some(Transform { base_frame: Some(_), .. }), Some(at)) = (&X_PC, map.get("X_PC")) {
            return Err(at.error("`base_frame` was seen; the pose of a weld is given in `parent`"));
        }
        let X_PC = X_PC.map_or(Pose::IDENTITY, |X| X.pose);
        let (_, (parent, X_PF)) = self.named(&map, "parent", scope)?;
        let (child_name, child) = self.named(&map, "child", scope)?;
        if parent == child.0 {
            return Err(at.error("`parent` and `child` are on one link; they must differ"));
        }
        let name = self.fresh(&format!("{child_name}_weld"));
        let joint = description::Joint::new(name, JointKind::Fixed, None, 0, Pose::IDENTITY);
        self.connect(at.spot(), (parent, X_PF * X_PC), child, joint);
        Ok(())
    }

    fn add_filter(&mut self, at: &At<'_>, scope: &Scope<'_>) -> Result<(), SceneError> {
        let map = at.map(&[
            "name",
            "model_namespace",
            "members",
            "member_groups",
            "ignored_collision_filter_groups",
        ])?;
        let mut namespace = scope.namespace.to_owned();
        if let (true, Some(at)) = (namespace.is_empty(), map.get("model_namespace")) {
            at.text()?.clone_into(&mut namespace);
            self.need_group(&namespace, at)?;
        }
        let list = |key: &str| map.get(key).map_or(Ok(Vec::new()), At::list);
        let names = |key: &str| -> Result<Vec<(String, Spot)>, SceneError> {
            list(key)?.iter().map(|at| Ok((join(&namespace, at.text()?), at.spot()))).collect()
        };
        let bodies: BTreeMap<&str, usize> = (self.mechanism.bodies.iter().enumerate())
            .map(|(k, body)| (body.link.name.as_str(), k))
            .collect();
        let mut members = Vec::new();
        for at in list("members")? {
            let name = join(&namespace, at.text()?);
            let Some(&body) = bodies.get(name.as_str()) else {
                let names: Vec<&str> = bodies.keys().copied().collect();
                return Err(at.error(unknown("link", &name, &names)));
            };
            members.push(body);
        }
        let name = map.need("name")?;
        self.mechanism.filters.push(Group {
            name: join(&namespace, name.text()?),
            spot: name.spot(),
            members,
            member_groups: names("member_groups")?,
            ignored: names("ignored_collision_filter_groups")?,
        });
        Ok(())
    }
}
