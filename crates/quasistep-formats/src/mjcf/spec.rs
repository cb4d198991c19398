//! Parts of a file outside its bodies: compiler options, default classes, assets.

use super::height_field;
use super::mesh::MeshAsset;
use super::read::Read;
use super::tree::{Element, Reader};
use crate::error::{SceneError, unknown};
use crate::files;
use quasistep_geometry::HeightField;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Most models that a file may attach, including nested ones.
const MOST_MODELS: usize = 100;
/// Tags that share one set of actuator defaults.
pub(super) const ACTUATORS: [&str; 12] = [
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "orientation",
    "pid",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
];

const ACTUATOR: &str = "actuator";

/// Source of body inertias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromGeom {
    /// `<inertial>` only.
    Never,
    /// Geoms, even if there is an `<inertial>`.
    Always,
    /// Geoms if there is no `<inertial>`.
    Auto,
}

/// Options of `<compiler>`.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // switches of MuJoCo's compiler
pub(super) struct Compiler {
    pub automatic_limits: bool,
    pub degrees: bool,
    /// Axes of Euler angles, `x` to `z`; capital letters for fixed axes.
    pub euler_axes: [u8; 3],
    pub mesh_folder: String,
    pub strip_paths: bool,
    pub inertia_from_geom: FromGeom,
    pub inertia_groups: [i64; 2],
    /// Lower bounds of a body's mass (kg) and principal moments (kg·m²).
    pub least: [f64; 2],
    pub balance: bool,
    /// Prescribed total mass of all bodies, in kg.
    pub total_mass: Option<f64>,
    pub fit_boxes: bool,
}

impl Compiler {
    fn read(root: &Element) -> Result<Self, SceneError> {
        let mut c = Self {
            automatic_limits: true,
            degrees: true,
            euler_axes: *b"xyz",
            mesh_folder: String::new(),
            strip_paths: false,
            inertia_from_geom: FromGeom::Auto,
            inertia_groups: [0, 5],
            least: [0.0; 2],
            balance: false,
            total_mass: None,
            fit_boxes: false,
        };
        for section in root.children("compiler") {
            let at = Read::plain(section);
            c.automatic_limits = at.truth("autolimits")?.unwrap_or(c.automatic_limits);
            c.degrees =
                at.word("angle", &[("degree", true), ("radian", false)])?.unwrap_or(c.degrees);
            if at.word("coordinate", &[("local", false), ("global", true)])? == Some(true) {
                return Err(at.error("coordinate=\"global\" was seen; `local` is read (MuJoCo 2.3.3 and older convert)"));
            }
            if let Some(axes) = at.attribute("eulerseq") {
                c.euler_axes = match axes.as_bytes() {
                    &[a, b, d] if [a, b, d].iter().all(|x| b"xyzXYZ".contains(x)) => [a, b, d],
                    _ => {
                        return Err(at.error(format!(
                            "eulerseq=\"{axes}\" was seen; it must be three of x, y, z, X, Y, Z"
                        )));
                    }
                };
            }
            for name in ["assetdir", "meshdir"] {
                if let Some(folder) = at.attribute(name) {
                    folder.clone_into(&mut c.mesh_folder);
                }
            }
            c.strip_paths = at.truth("strippath")?.unwrap_or(c.strip_paths);
            let words =
                [("false", FromGeom::Never), ("true", FromGeom::Always), ("auto", FromGeom::Auto)];
            c.inertia_from_geom =
                at.word("inertiafromgeom", &words)?.unwrap_or(c.inertia_from_geom);
            if let Some([low, high]) = at.numbers::<2>("inertiagrouprange")? {
                c.inertia_groups = [low as i64, high as i64];
            }
            for (k, name) in ["boundmass", "boundinertia"].into_iter().enumerate() {
                c.least[k] = at.number(name)?.unwrap_or(c.least[k]);
            }
            c.balance = at.truth("balanceinertia")?.unwrap_or(c.balance);
            c.total_mass = at.number("settotalmass")?.or(c.total_mass).filter(|mass| *mass > 0.0);
            c.fit_boxes = at.truth("fitaabb")?.unwrap_or(c.fit_boxes);
        }
        Ok(c)
    }

    /// Converts an angle of the file to rad.
    pub fn angle(&self, value: f64) -> f64 {
        if self.degrees { value.to_radians() } else { value }
    }
}

/// A default class.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    /// For each kind of element, layers of defaults from the outermost class to this one.
    layers: BTreeMap<&'static str, Vec<Rc<Element>>>,
    /// Index of the first actuator layer of each class, from the outermost class to this one.
    pub actuators_from: Vec<usize>,
}

/// Kinds of elements whose defaults are read.
const WITH_DEFAULTS: [&str; 7] = ["mesh", "material", "joint", "geom", "site", "pair", "equality"];

/// Kind of element under which defaults of a tag are stored.
pub(super) fn kind_of(tag: &str) -> &'static str {
    if ACTUATORS.contains(&tag) {
        return ACTUATOR;
    }
    match tag {
        "fixed" | "spatial" | "tendon" => "tendon",
        "connect" | "weld" => "equality",
        _ => WITH_DEFAULTS.into_iter().find(|kind| *kind == tag).unwrap_or(""),
    }
}

/// One file with its includes.
pub(super) struct Spec {
    pub root: Element,
    /// Folder of the file.
    folder: PathBuf,
    pub compiler: Compiler,
    classes: BTreeMap<String, Class>,
    pub meshes: BTreeMap<String, MeshAsset>,
    pub fields: BTreeMap<String, Arc<HeightField>>,
    /// Colours of materials by name: red, green, blue, opacity.
    pub materials: BTreeMap<String, [f32; 4]>,
    /// Index among all specs of each model that can be attached.
    pub models: BTreeMap<String, usize>,
}

impl Spec {
    /// Reads a file and appends it to the list, after the models that it references.
    pub fn load(
        path: &Path,
        may_open: &dyn Fn(&Path) -> Result<(), String>,
        all: &mut Vec<Self>,
        open: &mut BTreeSet<PathBuf>,
    ) -> Result<usize, SceneError> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let root = Reader::new(&folder, may_open).read(path)?;
        if root.tag != "mujoco" {
            return Err(root
                .error(format!("<{}> was seen; an MJCF file has <mujoco> at its root", root.tag)));
        }
        let compiler = Compiler::read(&root)?;
        let mut spec = Self {
            root,
            folder,
            compiler,
            classes: BTreeMap::from([(String::from("main"), Class::default())]),
            meshes: BTreeMap::new(),
            fields: BTreeMap::new(),
            materials: BTreeMap::new(),
            models: BTreeMap::new(),
        };
        let sections: Vec<Element> = spec.root.children("default").cloned().collect();
        for section in &sections {
            spec.class(section, None)?;
        }
        spec.assets(may_open)?;
        open.insert(path.to_owned());
        let named: Vec<Element> =
            spec.root.in_sections("asset").filter(|e| e.tag == "model").cloned().collect();
        for element in &named {
            let file = spec.folder.join(element.text("file")?);
            may_open(&file).map_err(|why| element.error(why))?;
            if open.contains(&file) || all.len() >= MOST_MODELS {
                return Err(element.error(format!(
                    "{} is attached within itself, or is one of more than {MOST_MODELS} models",
                    file.display()
                )));
            }
            let index = Self::load(&file, may_open, all, open)?;
            let own = all[index].root.attribute("model").unwrap_or("MuJoCo Model");
            let name = element.attribute("name").unwrap_or(own).to_owned();
            spec.models.insert(name, index);
        }
        open.remove(path);
        all.push(spec);
        Ok(all.len() - 1)
    }

    /// Reads a `<default>` and its nested classes.
    fn class(&mut self, section: &Element, parent: Option<&str>) -> Result<(), SceneError> {
        let name = section.attribute("class").unwrap_or("");
        let (name, mut class) = match parent {
            None if name.is_empty() || name == "main" => ("main", self.classes["main"].clone()),
            None => {
                return Err(section
                    .error(format!("class `{name}` was seen; the outermost class is `main`")));
            }
            Some(_) if name.is_empty() => {
                return Err(section.error("the attribute `class` is missing"));
            }
            Some(_) if self.classes.contains_key(name) => {
                return Err(
                    section.error(format!("a second class `{name}` was seen; names must differ"))
                );
            }
            Some(parent) => (name, self.classes[parent].clone()),
        };
        class.actuators_from.push(class.layers.get(ACTUATOR).map_or(0, Vec::len));
        for element in &section.children {
            let kind = kind_of(&element.tag);
            if !kind.is_empty() {
                class.layers.entry(kind).or_default().push(Rc::new(element.clone()));
            }
        }
        self.classes.insert(name.to_owned(), class);
        section.children("default").try_for_each(|inner| self.class(inner, Some(name)))
    }

    /// Finds a class by name.
    pub fn find_class(&self, name: &str, at: &Element) -> Result<&Class, SceneError> {
        self.classes.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.classes.keys().map(String::as_str).collect();
            at.error(unknown("class", name, &names))
        })
    }

    /// The class of elements that name none.
    pub fn main(&self) -> &Class {
        &self.classes["main"]
    }

    /// An element with the defaults of its own class, or of the enclosing class.
    pub fn behind<'a>(
        &'a self,
        own: &'a Element,
        around: &'a Class,
    ) -> Result<Read<'a>, SceneError> {
        let class = self.class_of(own, around)?;
        Ok(Read { defaults: class.layers.get(kind_of(&own.tag)).map_or(&[], Vec::as_slice), own })
    }

    /// The class of an element, or else the enclosing class.
    pub fn class_of<'a>(
        &'a self,
        own: &Element,
        around: &'a Class,
    ) -> Result<&'a Class, SceneError> {
        own.attribute("class").map_or(Ok(around), |name| self.find_class(name, own))
    }

    /// Path of the file that an asset names.
    pub fn asset_file(&self, at: &Element, name: &str) -> PathBuf {
        let name = if self.compiler.strip_paths {
            name.rsplit(['/', '\\']).next().unwrap_or(name)
        } else {
            name
        };
        let path = self.folder.join(&self.compiler.mesh_folder).join(name);
        if files::is_file(&path) {
            return path;
        }
        // first relative to the including file's folder
        let beside = Path::new(&*at.place.file).parent().unwrap_or(Path::new(""));
        let near = beside.join(&self.compiler.mesh_folder).join(name);
        if files::is_file(&near) { near } else { path }
    }

    fn assets(&mut self, may_open: &dyn Fn(&Path) -> Result<(), String>) -> Result<(), SceneError> {
        let textures = self.textures()?;
        let (mut meshes, mut fields, mut materials) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for own in self.root.in_sections("asset") {
            let at = self.behind(own, self.main())?;
            let find = |file: &str| {
                let path = self.asset_file(own, file);
                may_open(&path).map_err(|why| at.error(why))?;
                Ok(path)
            };
            match own.tag.as_str() {
                "mesh" => {
                    let (name, mesh) = MeshAsset::read(&at, find)?;
                    if meshes.insert(name.clone(), mesh).is_some() {
                        return Err(own
                            .error(format!("a second mesh `{name}` was seen; names must differ")));
                    }
                }
                "hfield" => {
                    let (name, field) = height_field::read(&at, find)?;
                    if fields.insert(name.clone(), field).is_some() {
                        let why = format!("a second hfield `{name}` was seen; names must differ");
                        return Err(own.error(why));
                    }
                }
                "material" => {
                    let rgba = at.partly("rgba", [1.0; 4])?;
                    let picture = at.attribute("texture").and_then(|name| textures.get(name));
                    let tint = picture.copied().unwrap_or([1.0; 3]);
                    let color = [rgba[0] * tint[0], rgba[1] * tint[1], rgba[2] * tint[2], rgba[3]];
                    materials.insert(
                        own.text("name")?.to_owned(),
                        color.map(|c| c.clamp(0.0, 1.0) as f32),
                    );
                }
                _ => {}
            }
        }
        (self.meshes, self.fields, self.materials) = (meshes, fields, materials);
        Ok(())
    }

    /// Colours of generated textures by name: the mean colour of a checker or gradient.
    fn textures(&self) -> Result<BTreeMap<String, [f64; 3]>, SceneError> {
        let mut textures = BTreeMap::new();
        for own in self.root.in_sections("asset").filter(|own| own.tag == "texture") {
            let at = Read::plain(own);
            let (Some(name), Some(kind)) = (at.attribute("name"), at.attribute("builtin")) else {
                continue;
            };
            let one = at.numbers::<3>("rgb1")?.unwrap_or([0.8; 3]);
            let two = at.numbers::<3>("rgb2")?.unwrap_or([0.5; 3]);
            let mean = [0, 1, 2].map(|k| 0.5 * (one[k] + two[k]));
            textures.insert(name.to_owned(), if kind == "flat" { one } else { mean });
        }
        Ok(textures)
    }
}
