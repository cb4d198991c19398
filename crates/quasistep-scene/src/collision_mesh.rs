//! Collision geometry of a mesh: its convex hull, convex parts, or the sheet of its triangles.

use crate::convex_parts::{Parts, by_planes, of_groups};
use crate::document::{At, Map};
use crate::names::fits;
use crate::openings::Openings;
use crate::solid::Solid;
use quasistep_formats::mesh::{self, Mesh, Recipe, Textures, Want};
use quasistep_formats::{SceneError, list, list_some};
use quasistep_geometry::{Face, FaceParts, HullError, MassProperties, Polytope, Shape, Sheet};
use quasistep_math::{Mat3, Vec3};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Default distance by which parts may stand out of a mesh, as a share of its longest extent. For a
/// gripper of 0.2 m it is 4 mm, less than the width of its gaps.
const TOLERANCE: f64 = 0.02;

/// A hull that has this many times the volume of its mesh fills something of it: a hole of a fifth of
/// the width of a plate is 4 % of it.
const FILLED: f64 = 1.02;

/// A mesh whose openings are a larger share of its surface is a sheet: scans and CAD files that are
/// solid have smaller holes, a cup without a lid lacks a tenth.
const OPEN: f64 = 0.05;
/// Openings that are a larger share are told.
const TOLD: f64 = 1e-3;

/// Keys of [`Shaping`].
pub(crate) const KEYS: [&str; 3] = ["parts", "tolerance", "simplify"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The hull of a solid, the sheet of a flat mesh.
    Auto,
    Hull,
    Groups,
    Split,
    Surface,
}

/// Options for making a mesh convex.
#[derive(Clone, Debug)]
pub(crate) struct Shaping<'a> {
    kind: Kind,
    /// True if an open mesh is a sheet where nothing says how it is shaped.
    open: bool,
    /// Largest distance by which parts may stand out of the mesh, in m.
    tolerance: Option<f64>,
    /// Largest distance of omitted hull corners from the simplified hull, in m.
    simplify: f64,
    /// Place in the scene that says how parts are made; `None` for one hull.
    parts: Option<At<'a>>,
    tolerance_at: Option<At<'a>>,
}

impl<'a> Shaping<'a> {
    const AUTO: Self = Self {
        kind: Kind::Auto,
        open: false,
        tolerance: None,
        simplify: 0.0,
        parts: None,
        tolerance_at: None,
    };

    /// Reads the keys [`KEYS`] of a mapping.
    pub fn read(map: &Map<'a>) -> Result<Self, SceneError> {
        let parts = map.get("parts");
        let kind = parts.map_or(Ok(Kind::Auto), kind)?;
        let tolerance = map.get("tolerance");
        if let Some(at) = tolerance
            && kind != Kind::Split
        {
            return Err(
                at.error("a tolerance was seen without `parts: split`, which it belongs to")
            );
        }
        let simplify = map.get("simplify");
        if let Some(at) = simplify.filter(|_| kind == Kind::Surface) {
            return Err(
                at.error("it was seen with `parts: surface`; corners of hulls are left out")
            );
        }
        Ok(Self {
            kind,
            open: false,
            tolerance: tolerance.map(|at| at.positive("m")).transpose()?,
            simplify: simplify.map_or(Ok(0.0), |at| at.non_negative("m"))?,
            parts: parts.cloned(),
            tolerance_at: tolerance.cloned(),
        })
    }

    /// Reads a word, or a mapping with the keys [`KEYS`].
    fn word_or_map(at: &At<'a>) -> Result<Self, SceneError> {
        if at.is_map() {
            return Self::read(&at.map(&KEYS)?);
        }
        Ok(Self { kind: kind(at)?, parts: Some(at.clone()), ..Self::AUTO })
    }

    /// Makes a sheet of an open mesh where nothing says how it is shaped.
    pub fn or_sheet(self) -> Self {
        Self { open: true, ..self }
    }

    /// True if only a plain hull is wanted.
    pub fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Auto | Kind::Hull) && self.simplify == 0.0
    }

    /// True if the mesh is to be divided into parts.
    pub fn has_parts(&self) -> bool {
        matches!(self.kind, Kind::Groups | Kind::Split)
    }

    /// The mesh of a file, scaled by `scale`, as convex shapes. If `weighed`, a mesh in parts must
    /// have a mass.
    ///
    /// # Errors
    ///
    /// Mistakes in the file or the mesh, reported at `file`; too many parts, reported at the key
    /// that asks for them.
    pub fn convex(
        &self,
        path: &Path,
        scale: [f64; 3],
        weighed: bool,
        file: &dyn Fn(SceneError) -> SceneError,
    ) -> Result<Convex, SceneError> {
        let numbers = [self.tolerance.unwrap_or(-1.0), self.simplify, scale[0], scale[1], scale[2]];
        let mut options = numbers.map(f64::to_le_bytes).concat();
        options.extend([self.kind as u8, u8::from(self.open)]);
        let costly = self.kind == Kind::Split;
        let recipe = Recipe { what: "convex", options: &options, want: Want::Shape, costly };
        let make = |mut mesh: Mesh| {
            for vertex in &mut mesh.vertices {
                *vertex = vertex.component_mul(scale.into());
            }
            self.make(&mesh, weighed)
        };
        mesh::made(path, &recipe, &mut Textures::default(), make).map_err(|fault| match fault {
            Fault::Mesh(error) => file(error),
            Fault::Parts(why) => {
                let at = self.tolerance_at.as_ref().or(self.parts.as_ref());
                match at {
                    Some(at) => at.error(why),
                    None => file(bare(why)),
                }
            }
        })
    }

    fn make(&self, mesh: &Mesh, weighed: bool) -> Result<Convex, Fault> {
        let of_mesh = |why: String| Fault::Mesh(bare(why));
        let mass = Err("a hull has the mass of its shape".to_owned());
        let mut convex = Convex {
            hulls: Vec::new(),
            sheet: None,
            openings: 0.0,
            mass,
            excess: None,
            filled: None,
            lost: 0.0,
            n_open: 0,
        };
        if !self.has_parts() {
            let of_surface = self.kind == Kind::Surface;
            if self.open || of_surface {
                let openings = Openings::of(mesh);
                (convex.openings, convex.n_open) = (openings.share, openings.edges);
            }
            let is_open = self.kind == Kind::Auto && self.open && convex.openings > OPEN;
            if of_surface || is_open {
                convex.sheet = Some(SheetData::new(mesh).map_err(of_mesh)?);
                return Ok(convex);
            }
            // an open surface encloses no volume
            let solid = Solid::new(mesh).and_then(|solid| solid.mass_properties()).ok();
            let hull = match self.hull(&mesh.vertices, &mut convex.lost) {
                Err(HullError::Flat { .. } | HullError::TooFew(_)) if self.kind == Kind::Auto => {
                    convex.sheet = Some(SheetData::new(mesh).map_err(of_mesh)?);
                    return Ok(convex);
                }
                hull => hull.map_err(|e| of_mesh(e.to_string()))?,
            };
            convex.filled = solid.map(|solid| hull.mass_properties(1.0).mass / solid.mass);
            convex.hulls.push(Hull(Arc::new(hull)));
            return Ok(convex);
        }
        let solid = Solid::new(mesh).map_err(of_mesh)?;
        if weighed {
            // check this before the expensive computation
            solid.mass_properties().map_err(of_mesh)?;
        }
        let parts = match self.kind {
            Kind::Groups => of_groups(mesh, &solid),
            _ => by_planes(&solid, self.tolerance.unwrap_or(TOLERANCE * longest(mesh))),
        };
        let Parts { hulls, excess } = parts.map_err(Fault::Parts)?;
        for hull in hulls {
            convex.hulls.push(Hull(if self.simplify == 0.0 {
                hull
            } else {
                let simpler = self.hull(hull.vertices(), &mut convex.lost);
                Arc::new(simpler.map_err(|e| of_mesh(e.to_string()))?)
            }));
        }
        convex.excess = Some(excess);
        convex.n_open = solid.n_open();
        convex.mass = solid.mass_properties().map(Into::into);
        Ok(convex)
    }

    /// Convex hull of points, simplified if asked. `lost` is raised to the simplification error, in
    /// m.
    fn hull(&self, points: &[Vec3], lost: &mut f64) -> Result<Polytope, HullError> {
        if self.simplify == 0.0 {
            return Polytope::from_points(points);
        }
        let (hull, distance) = Polytope::simplified(points, self.simplify)?;
        *lost = lost.max(distance);
        Ok(hull)
    }
}

/// Error of making a mesh convex.
enum Fault {
    Mesh(SceneError),
    /// The options for parts cannot be met.
    Parts(String),
}

impl From<SceneError> for Fault {
    fn from(error: SceneError) -> Self {
        Self::Mesh(error)
    }
}

/// An error whose place is added by the caller.
fn bare(why: String) -> SceneError {
    SceneError::new("", None, "", why)
}

fn kind(at: &At<'_>) -> Result<Kind, SceneError> {
    match at.text()? {
        "hull" => Ok(Kind::Hull),
        "groups" => Ok(Kind::Groups),
        "split" => Ok(Kind::Split),
        "surface" => Ok(Kind::Surface),
        other => Err(at.error(format!(
            "`{other}` was seen; valid are hull, groups (of an .obj, each one convex part), split, and surface (a \
             sheet without thickness)"
        ))),
    }
}

/// Longest edge of the bounding box of a mesh, in m.
fn longest(mesh: &Mesh) -> f64 {
    let first = mesh.vertices.first().copied().unwrap_or(Vec3::ZERO);
    let (low, high) = mesh.vertices.iter().fold((first, first), |(l, h), p| (l.min(*p), h.max(*p)));
    (high - low).max_abs()
}

/// A mesh as convex shapes, or as a sheet.
#[derive(Serialize, Deserialize)]
pub(crate) struct Convex {
    hulls: Vec<Hull>,
    sheet: Option<SheetData>,
    /// Area of its openings, as a share of its closed surface; 0 for parts.
    openings: f64,
    mass: Result<Mass, String>,
    /// Largest measured distance of points of the parts outside the mesh, in m; `None` for one
    /// hull.
    excess: Option<f64>,
    /// Volume of the hull as a multiple of that of the mesh; `None` for parts, and for a mesh that is
    /// not closed.
    filled: Option<f64>,
    /// Largest distance of original hull corners outside the simplified hulls, in m.
    lost: f64,
    /// Number of open edges of the surface.
    n_open: usize,
}

impl Convex {
    pub fn shapes(&self) -> impl Iterator<Item = Shape> + '_ {
        let sheet = self.sheet.iter().map(|sheet| Shape::Sheet(sheet.0.clone()));
        self.hulls.iter().map(|hull| Shape::Polytope(hull.0.clone())).chain(sheet)
    }

    /// Mass properties of the mesh at 1 kg/m³, if it is in parts.
    ///
    /// # Errors
    ///
    /// The reason why it has none.
    pub fn mass_properties(&self) -> Result<MassProperties, String> {
        let Mass(mass, com, rows) = self.mass.clone()?;
        let inertia = Mat3 { rows: rows.map(Vec3::from) };
        Ok(MassProperties { mass, com: com.into(), inertia })
    }

    /// How many times the volume of the mesh the hull has, if that is more than the mesh's rounding:
    /// then the hull fills holes or hollows.
    pub fn filled(&self) -> Option<f64> {
        self.filled.filter(|times| *times > FILLED)
    }

    /// Notes about a mesh file that a shape at `place` names.
    pub fn notes(&self, shaping: &Shaping<'_>, place: &str, file: &str) -> Vec<String> {
        let filled = self.filled().map(|times| {
            format!(
                "{place}: the hull of {file} has {times:.2} times its volume: it fills holes or hollows; \
                 `parts: split` keeps them open"
            )
        });
        let made =
            self.is_told(shaping).then(|| format!("{place}: {file} is {}", self.words(shaping)));
        filled.into_iter().chain(made).collect()
    }

    /// True if a person is told what became of the mesh.
    pub fn is_told(&self, shaping: &Shaping<'_>) -> bool {
        let is_asked = shaping.kind == Kind::Auto && shaping.open;
        !shaping.is_plain() || self.sheet.is_some() || is_asked && self.openings > TOLD
    }

    fn of_sheet(&self, sheet: &Sheet, shaping: &Shaping<'_>) -> String {
        let n = sheet.triangles().len();
        let is_closed = shaping.kind == Kind::Surface && self.n_open == 0;
        let open = if is_closed { "a closed" } else { "an open" };
        let other = if shaping.kind == Kind::Auto && self.openings > 0.0 {
            "; `parts: hull` or `split` makes it solid"
        } else {
            ""
        };
        let triangles = if n == 1 { "triangle" } else { "triangles" };
        format!("{open} sheet of {n} {triangles} without thickness, solid from both sides{other}")
    }

    /// Description of the result, for notes.
    pub fn words(&self, shaping: &Shaping<'_>) -> String {
        if let Some(sheet) = &self.sheet {
            return self.of_sheet(&sheet.0, shaping);
        }
        let n = self.hulls.len();
        let mut text = match self.excess {
            Some(excess) => {
                let parts = if n == 1 {
                    "1 convex part, which stands"
                } else {
                    &format!("{n} convex parts, which stand")
                };
                format!("{parts} out of the mesh by at most {excess:.1e} m")
            }
            None => "its convex hull".to_owned(),
        };
        if shaping.simplify > 0.0 {
            let corners: usize = self.hulls.iter().map(|h| h.0.vertices().len()).sum();
            let _ = write!(
                text,
                "; simplified to {corners} corners, from which those left out are at most {:.1e} m away",
                self.lost
            );
        }
        if self.excess.is_none() && self.openings > TOLD {
            let _ = write!(
                text,
                "; its surface is open over {:.1} % of its area: `parts: surface` makes it a sheet, hollow",
                100.0 * self.openings
            );
        } else if self.excess.is_some() && self.n_open > 0 {
            let _ = write!(
                text,
                "; its surface is open at {} edges: inside is what sees it more than half around",
                self.n_open
            );
        }
        text
    }
}

/// A sheet stored by its vertices, in m, and triangles.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "TriangleData", try_from = "TriangleData")]
struct SheetData(Arc<Sheet>);

type TriangleData = (Vec<[f64; 3]>, Vec<[u32; 3]>);

impl SheetData {
    fn new(mesh: &Mesh) -> Result<Self, String> {
        let sheet = Sheet::new(mesh.vertices.clone(), &mesh.triangles);
        Ok(Self(Arc::new(sheet.map_err(|e| e.to_string())?)))
    }
}

impl From<SheetData> for TriangleData {
    fn from(SheetData(sheet): SheetData) -> Self {
        (sheet.vertices().iter().map(|p| p.to_array()).collect(), sheet.triangles().to_vec())
    }
}

impl TryFrom<TriangleData> for SheetData {
    type Error = String;

    fn try_from((vertices, triangles): TriangleData) -> Result<Self, String> {
        let vertices = vertices.into_iter().map(Vec3::from).collect();
        let sheet = Sheet::new(vertices, &triangles).map_err(|e| e.to_string())?;
        Ok(Self(Arc::new(sheet)))
    }
}

/// A polytope stored by its parts, so that it can be restored bit by bit.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "HullData", try_from = "HullData")]
struct Hull(Arc<Polytope>);

/// Corners; then normal, offset and corner indices of each face.
#[derive(Serialize, Deserialize)]
struct HullData(Vec<[f64; 3]>, Vec<([f64; 3], f64, Vec<u32>)>);

impl From<Hull> for HullData {
    fn from(Hull(hull): Hull) -> Self {
        let face = |f: &Face| (f.normal().to_array(), f.offset(), f.vertices().to_vec());
        Self(
            hull.vertices().iter().map(|p| p.to_array()).collect(),
            hull.faces().iter().map(face).collect(),
        )
    }
}

impl TryFrom<HullData> for Hull {
    type Error = String;

    fn try_from(HullData(corners, faces): HullData) -> Result<Self, String> {
        let face = |(normal, offset, corners): ([f64; 3], f64, Vec<u32>)| -> FaceParts {
            (normal.into(), offset, corners)
        };
        let corners = corners.into_iter().map(Vec3::from).collect();
        let hull = Polytope::from_parts(corners, faces.into_iter().map(face).collect())?;
        Ok(Self(Arc::new(hull)))
    }
}

/// Mass, centre of mass, and rows of the inertia.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Mass(f64, [f64; 3], [[f64; 3]; 3]);

impl From<MassProperties> for Mass {
    fn from(of: MassProperties) -> Self {
        Self(of.mass, of.com.to_array(), of.inertia.rows.map(Vec3::to_array))
    }
}

/// `collision_mesh:` of a robot: options for all links, or by name pattern. The last pattern that
/// matches a link applies.
pub(crate) struct Shapings<'a> {
    by_pattern: Vec<(&'a str, Shaping<'a>, At<'a>)>,
}

impl<'a> Shapings<'a> {
    pub fn read(at: Option<&At<'a>>) -> Result<Self, SceneError> {
        let Some(at) = at else { return Ok(Self { by_pattern: Vec::new() }) };
        let entries = if at.is_map() { at.entries()? } else { Vec::new() };
        // option keys directly in the mapping apply to all links
        if entries.iter().all(|(key, _)| KEYS.contains(key)) {
            if at.is_map() && entries.is_empty() {
                return Err(at.error(format!(
                    "an empty mapping was seen; give hull, groups, split, surface, a mapping with {}, or one of these for each \
                     pattern of links",
                    list(&KEYS)
                )));
            }
            let shaping = Shaping::word_or_map(at)?;
            return Ok(Self { by_pattern: vec![("*", shaping, at.clone())] });
        }
        let read = |(pattern, at): (&'a str, At<'a>)| Ok((pattern, Shaping::word_or_map(&at)?, at));
        let by_pattern = entries.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { by_pattern })
    }

    /// Options for the meshes of a link.
    pub fn of(&self, link: &str) -> Shaping<'a> {
        let fitting = self.by_pattern.iter().rev().find(|(pattern, ..)| fits(pattern, link));
        fitting.map_or(Shaping::AUTO, |(_, shaping, _)| shaping.clone())
    }

    /// A warning for each pattern that matches no link with a collision mesh.
    pub fn unused(&self, links: &[&str]) -> Vec<String> {
        let fits_none = |pattern: &str| !links.iter().any(|link| fits(pattern, link));
        self.by_pattern
            .iter()
            .filter(|(pattern, ..)| fits_none(pattern))
            .map(|(pattern, _, at)| {
                let links = if links.is_empty() {
                    "this robot has none".to_owned()
                } else {
                    format!("they are {}", list_some(links))
                };
                format!(
                    "{}: collision_mesh: `{pattern}` fits no link with a collision mesh; {links}",
                    at.place()
                )
            })
            .collect()
    }
}
