//! `cloud:` in a scene file: a path, or a mapping with a path and processing options.

use super::gather::{FilePoints, Options};
use super::mass::Spread;
use super::place::{Move, Up, extent};
use super::report::CloudReport;
use super::{file, look, sieve};
use crate::document::{At, pose};
use quasistep_formats::SceneError;
use quasistep_formats::mesh;
use quasistep_geometry::{Choice, PointCloud};
use quasistep_math::Vec3;
use quasistep_record::DrawnGeometry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const KEYS: [&str; 15] = [
    "file",
    "sample",
    "unit",
    "scale",
    "pose",
    "normals",
    "radius",
    "points",
    "choice",
    "outliers",
    "voxel",
    "drop_invalid",
    "fit",
    "inertia_from",
    "visual",
];
/// Valid length units, and their length in m.
const UNITS: [(&str, f64); 4] = [("m", 1.0), ("cm", 0.01), ("mm", 0.001), ("inch", 0.0254)];
/// Most contact points per pair of shapes, far above what is useful.
const MOST_CHOSEN: u64 = 1000;

/// A cloud processed as the scene file asks.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub cloud: Arc<PointCloud>,
    pub drawn: DrawnGeometry,
    /// Domain over which its mass is spread.
    pub spread: Spread,
    /// Report of the processing; the body's name is filled in later.
    pub report: CloudReport,
}

/// Reader of `sample:`, points that do not come from a file.
type Sample = fn(&At<'_>, &Path) -> Result<FilePoints, SceneError>;

/// Reads `cloud: path` or `cloud: {file: path, …}`. Paths are relative to `dir`, or to the current
/// folder if they come from the command line.
pub(crate) fn read(at: &At<'_>, dir: &Path, sample: Sample) -> Result<Loaded, SceneError> {
    if at.is_map() {
        return read_map(at, dir, sample);
    }
    at.text().map_err(|_| {
        at.error(format!("{} was seen; give a path, or a mapping with `file`", at.seen()))
    })?;
    let options = Options { normals: true, drop_invalid: false };
    let (path, found) = open(at, dir, options)?;
    Moving::new(found).finish(at, &path, &Wanted::default())
}

/// Options for making the final cloud.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    radius: f64,
    choice: Choice,
    spread: Spread,
}

fn read_map(at: &At<'_>, dir: &Path, sample: Sample) -> Result<Loaded, SceneError> {
    let map = at.map(&KEYS)?;
    let normals =
        map.get("normals").map_or(Ok(true), |at| at.word(&[("file", true), ("none", false)]))?;
    let drop_invalid = map.get("drop_invalid").map_or(Ok(false), At::boolean)?;
    let wanted = Wanted {
        radius: map.get("radius").map_or(Ok(0.0), |at| at.non_negative("m"))?,
        choice: choice(map.get("points"), map.get("choice"))?,
        spread: map
            .get("inertia_from")
            .map_or(Ok(Spread::default()), |at| at.word(&Spread::WORDS))?,
    };
    let scale = match (map.get("unit"), map.get("scale")) {
        (Some(_), Some(at)) => {
            return Err(at.error("`unit` and `scale` were seen; give one of them"));
        }
        (Some(at), None) => at.word(&UNITS)?,
        (None, Some(at)) => at.positive("m per unit of the file")?,
        (None, None) => 1.0,
    };
    let pose = map.get("pose").map(pose).transpose()?;
    // `none` on the command line disables an option of the file
    let option = |key: &str| map.get(key).filter(|at| !matches!(at.text(), Ok("none")));
    let outliers = option("outliers").map(outliers).transpose()?;
    let fit = option("fit").map(Fit::read).transpose()?;
    if let (Some(at), Some(Fit { size: Some(_), .. })) =
        (map.get("unit").or(map.get("scale")), &fit)
    {
        return Err(
            at.error("given beside a size in `fit`, which sets the scale; give one of them")
        );
    }
    let voxel = option("voxel").map(|at| at.positive("m")).transpose()?;

    let options = Options { normals, drop_invalid };
    let (path, found) = match (map.get("file"), map.get("sample")) {
        (Some(file), None) => open(file, dir, options)?,
        (None, Some(at)) => (PathBuf::from("its sample"), sample(at, dir)?),
        (None, None) => return Err(at.error("`file` is missing; give it, or `sample`")),
        (Some(_), Some(at)) => {
            return Err(at.error("`file` and `sample` were seen; give one of them"));
        }
    };
    let mut points = Moving::new(found);
    points.apply(Move::Scale(scale));
    points.scale = scale;
    if let Some(pose) = pose {
        points.apply(Move::Pose(pose));
    }
    if let Some((neighbours, deviations)) = outliers {
        let kept = sieve::without_outliers(&points.points, neighbours, deviations);
        points.n_outliers = points.keep(&kept);
    }
    if let (Some(fit), Some(at)) = (&fit, map.get("fit")) {
        fit.apply(&mut points, wanted.radius).map_err(|why| at.error(why))?;
    }
    if let (Some(edge), Some(at)) = (voxel, map.get("voxel")) {
        let kept = sieve::one_per_voxel(&points.points, edge).map_err(|longest| {
            at.error(format!("{edge} m was seen, far too small for a cloud of {longest} m"))
        })?;
        points.n_thinned = points.keep(&kept);
    }
    let moves = points.moves.clone();
    let mut loaded = points.finish(at, &path, &wanted)?;
    if let Some(visual) = map.get("visual")
        && let Some(drawn) = read_visual(visual, dir, &moves)?
    {
        loaded.drawn = drawn;
        loaded.report.n_drawn = 0;
    }
    Ok(loaded)
}

/// Opens and reads the file named by a key.
fn open(at: &At<'_>, dir: &Path, options: Options) -> Result<(PathBuf, FilePoints), SceneError> {
    let path = at.path(dir)?;
    let found = file::read(&path, options).map_err(|e| at.error(e.to_string()))?;
    Ok((path, found))
}

fn choice(points: Option<&At<'_>>, choice: Option<&At<'_>>) -> Result<Choice, SceneError> {
    let k = points.map_or(Ok(u64::from(Choice::default().k())), |at| at.whole(1, MOST_CHOSEN))?;
    let k = k as u32;
    let nearest = choice.map(|at| at.word(&[("nearest", true), ("spread", false)])).transpose()?;
    Ok(if nearest == Some(true) { Choice::Nearest { k } } else { Choice::Spread { k } })
}

/// Number of neighbours, and threshold in standard deviations above the mean.
fn outliers(at: &At<'_>) -> Result<(usize, f64), SceneError> {
    let map = at.map(&["neighbours", "deviations"])?;
    let neighbours = map.get("neighbours").map_or(Ok(20), |at| at.whole(1, 1000))?;
    let deviations = map.get("deviations").map_or(Ok(2.0), |at| at.positive(""))?;
    Ok((neighbours as usize, deviations))
}

/// Reads the mesh that is drawn instead of the points, in the frame and unit of the cloud's file.
fn read_visual(
    at: &At<'_>,
    dir: &Path,
    moves: &[Move],
) -> Result<Option<DrawnGeometry>, SceneError> {
    if !at.is_map() {
        at.word(&[("points", ())])?;
        return Ok(None);
    }
    let map = at.map(&["mesh"])?;
    let file = map.need("mesh")?;
    let mesh = mesh::read(&file.path(dir)?).map_err(|e| file.error(e.to_string()))?;
    let moved = |v: &Vec3| moves.iter().fold(*v, |p, m| m.point(p)).to_array();
    Ok(Some(DrawnGeometry::Mesh {
        vertices: mesh.vertices.iter().map(moved).collect(),
        triangles: mesh.triangles,
    }))
}

/// Points being transformed from the file's frame to the body's frame.
#[derive(Debug)]
struct Moving {
    points: Vec<Vec3>,
    normals: Option<Vec<Vec3>>,
    rows: Vec<u32>,
    n_read: usize,
    n_invalid: usize,
    n_outliers: usize,
    n_thinned: usize,
    scale: f64,
    moves: Vec<Move>,
}

impl Moving {
    fn new(found: FilePoints) -> Self {
        let FilePoints { points, normals, rows, n_read, n_invalid } = found;
        let (n_outliers, n_thinned, scale, moves) = (0, 0, 1.0, Vec::new());
        Self { points, normals, rows, n_read, n_invalid, n_outliers, n_thinned, scale, moves }
    }

    fn apply(&mut self, change: Move) {
        self.points.iter_mut().for_each(|p| *p = change.point(*p));
        self.normals.iter_mut().flatten().for_each(|n| *n = change.direction(*n));
        self.moves.push(change);
    }

    /// Keeps the points marked `true`; returns the number of removed points.
    fn keep(&mut self, kept: &[bool]) -> usize {
        fn sift<T>(list: &mut Vec<T>, kept: &[bool]) {
            let mut marks = kept.iter();
            list.retain(|_| marks.next().copied().unwrap_or(true));
        }
        let before = self.points.len();
        sift(&mut self.points, kept);
        sift(&mut self.rows, kept);
        if let Some(normals) = &mut self.normals {
            sift(normals, kept);
        }
        before - self.points.len()
    }

    fn finish(self, at: &At<'_>, path: &Path, wanted: &Wanted) -> Result<Loaded, SceneError> {
        let cloud =
            PointCloud::new(&self.points, self.normals.as_deref(), wanted.radius, wanted.choice)
                .map_err(|e| at.error(e.to_string()))?;
        let drawn = look::dots(&self.points, cloud.normals(), wanted.radius);
        let n_drawn = match &drawn {
            DrawnGeometry::Points { points, .. } => points.len(),
            _ => 0,
        };
        let [low, high] = extent(&self.points, wanted.radius).map(Vec3::to_array);
        let report = CloudReport {
            body: String::new(),
            file: path.display().to_string(),
            n_read: self.n_read,
            n_invalid: self.n_invalid,
            n_outliers: self.n_outliers,
            n_thinned: self.n_thinned,
            n_points: self.points.len(),
            n_drawn,
            has_normals: self.normals.is_some(),
            scale: self.scale,
            low,
            high,
            rows: self.rows,
        };
        Ok(Loaded { cloud: Arc::new(cloud), drawn, spread: wanted.spread, report })
    }
}

/// `fit:` sets size and position of a cloud whose unit and origin are unknown.
#[derive(Clone, Copy, Debug)]
struct Fit {
    up: Up,
    size: Option<Size>,
    /// Height of the lowest point, in m.
    on: Option<f64>,
    center: bool,
}

#[derive(Clone, Copy, Debug)]
enum Size {
    /// Longest edge of the cloud's bounding box, in m.
    Longest(f64),
    /// Edge of the bounding box along z, in m.
    Height(f64),
}

impl Fit {
    fn read(at: &At<'_>) -> Result<Self, SceneError> {
        let map = at.map(&["size", "height", "up", "on", "center"])?;
        let size = match (map.get("size"), map.get("height")) {
            (Some(_), Some(at)) => {
                return Err(at.error("`size` and `height` were seen; give one of them"));
            }
            (Some(at), None) => Some(Size::Longest(at.positive("m")?)),
            (None, Some(at)) => Some(Size::Height(at.positive("m")?)),
            (None, None) => None,
        };
        Ok(Self {
            up: map.get("up").map_or(Ok(Up::Z), |at| at.word(&Up::WORDS))?,
            size,
            on: map.get("on").map(|at| at.number("m")).transpose()?,
            center: map.get("center").map_or(Ok(false), At::boolean)?,
        })
    }

    fn apply(&self, points: &mut Moving, radius: f64) -> Result<(), String> {
        points.apply(Move::Up(self.up));
        if let Some(size) = self.size {
            let [low, high] = extent(&points.points, 0.0);
            let (now, wanted) = match size {
                Size::Longest(size) => ((high - low).max_abs(), size),
                Size::Height(height) => (high.z - low.z, height),
            };
            if !(now > 0.0 && now.is_finite()) {
                return Err(format!(
                    "the cloud is {now} m long where it is to become {wanted} m; it has no size to fit"
                ));
            }
            // the point radius, in m, adds to the size but is not scaled
            let core = wanted - 2.0 * radius;
            if core <= 0.0 {
                return Err(format!(
                    "a size of {wanted} m was seen, no more than points of radius {radius} m have alone"
                ));
            }
            points.apply(Move::Scale(core / now));
            points.scale *= core / now;
        }
        let [low, high] = extent(&points.points, radius);
        let mut shift = if self.center { (low + high) * -0.5 } else { Vec3::ZERO };
        if let Some(on) = self.on {
            shift.z = on - low.z;
        }
        points.apply(Move::Shift(shift));
        Ok(())
    }
}
