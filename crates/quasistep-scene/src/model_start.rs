//! `start` of a whole model: a posture that its files name, and the pose of one of its frames.

use crate::document::{At, Map, pose, pose_in_words};
use crate::frame_commands::{driven_joints, target};
use crate::names::body_of;
use quasistep::{IkError, IkSettings, System};
use quasistep_formats::description::Description;
use quasistep_formats::files::is_file;
use quasistep_formats::{SceneError, Srdf, unknown};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::Frame;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Keys of `start` where it is that of a whole model.
const KEYS: [&str; 5] = ["posture", "frame", "at", "pose", "orientation"];

/// `start` of the joint on which a model stands, if the model has one.
pub(crate) fn of_joint<'m, 'a>(map: &'m Map<'a>) -> Option<&'m At<'a>> {
    map.get("start").filter(|at| !is_of_model(at))
}

fn is_of_model(at: &At<'_>) -> bool {
    at.is_map() && ["posture", "frame"].iter().any(|key| at.entry(key).is_some())
}

/// Place of the postures in which a model starts: a name or a list of names.
pub(crate) fn postures<'a>(map: &Map<'a>) -> Option<At<'a>> {
    map.get("start").filter(|at| at.is_map())?.entry("posture")
}

/// Places of the names in a list of postures, or of the only one.
pub(crate) fn names<'a>(at: &At<'a>) -> Result<Vec<At<'a>>, SceneError> {
    if at.is_list() { at.list() } else { Ok(vec![at.clone()]) }
}

/// The SRDF file of a robot's file by its name, if there is one: `arm.srdf` beside `arm.urdf`, or in
/// a folder `srdf` here or beside this folder.
pub(crate) fn srdf_of(file: &Path) -> Option<PathBuf> {
    let (dir, name) = (file.parent().unwrap_or(Path::new("")), srdf_name(file));
    let mut paths = ["", "srdf", "../srdf"].iter().map(|folder| dir.join(folder).join(&name));
    paths.find(|path| is_file(path))
}

/// `arm.srdf` for `arm.urdf` and `arm.urdf.xacro`.
fn srdf_name(file: &Path) -> String {
    let whole = file.file_name().unwrap_or_default().to_string_lossy();
    format!("{}.srdf", whole.split('.').next().unwrap_or_default())
}

/// Reads the SRDF file that [`srdf_of`] finds.
pub(crate) fn srdf_beside(
    file: &Path,
    at: &At<'_>,
    robot: &Description,
) -> Result<Srdf, SceneError> {
    let Some(path) = srdf_of(file) else {
        let (file, name) = (file.display(), srdf_name(file));
        return Err(at.error(format!(
            "no file with postures was seen: there is no `{name}` beside {file}; name an SRDF file by `srdf`"
        )));
    };
    Srdf::read(&path, robot)
}

/// Pose in the world at which a frame starts.
#[derive(Clone, Debug)]
pub(crate) struct FrameStart {
    model: String,
    body: String,
    X_BF: Pose,
    /// Parts that the scene leaves out are those of the frame before.
    xyz: Option<Vec3>,
    rotation: Option<Quat>,
    free: bool,
    /// Errors of the frame's name and of its pose, without their messages.
    blame: [SceneError; 2],
}

impl FrameStart {
    /// Reads the `start` of a model; `None` if it has no frame.
    pub fn read(at: &At<'_>, model: &str) -> Result<Option<Self>, SceneError> {
        if !is_of_model(at) {
            return Ok(None);
        }
        let map = at.map(&KEYS)?;
        let Some(frame) = map.get("frame") else {
            let mut others = ["at", "pose", "orientation"].iter().filter_map(|key| map.get(key));
            let alone = others.next();
            return alone.map_or(Ok(None), |at| Err(at.error("it was seen without a `frame`")));
        };
        let place = map.need("pose")?;
        let X = pose(place)?;
        let turned = place.entry("rpy").is_some() || place.entry("quat").is_some();
        let words = [("keep", false), ("free", true)];
        Ok(Some(Self {
            model: model.to_owned(),
            body: frame.text()?.to_owned(),
            X_BF: map.get("at").map_or(Ok(Pose::IDENTITY), pose)?,
            xyz: place.entry("xyz").map(|_| X.translation),
            rotation: turned.then_some(X.rotation),
            free: map.get("orientation").map_or(Ok(false), |at| at.word(&words))?,
            blame: [frame, place].map(|at| at.error("")),
        }))
    }
}

/// Start coordinates, by joint name, that bring the frames to their poses, one after the other from
/// the configuration `q`.
pub(crate) fn joints_of(
    starts: &[FrameStart],
    system: &System,
    q: &[f64],
) -> Result<BTreeMap<String, Vec<f64>>, SceneError> {
    let model = system.model();
    let (mut q, mut kin) = (q.to_vec(), model.create_kinematics());
    let mut found = BTreeMap::new();
    for start in starts {
        let [at_frame, at_pose] = &start.blame;
        let own = model.body_by_name(&format!("{}/{}", start.model, start.body));
        let body = own.or_else(|| body_of(&start.body, model)).ok_or_else(|| {
            let names: Vec<&str> = model.bodies().iter().map(|b| b.name.as_str()).collect();
            SceneError { message: unknown("body", &start.body, &names), ..at_frame.clone() }
        })?;
        let movers = driven_joints(system, body);
        let settings = IkSettings { joints: Some(movers.clone()), ..IkSettings::default() };
        model.kinematics(&q, &mut kin);
        let X = kin.X_WB[body] * start.X_BF;
        let goal =
            Pose::new(start.rotation.unwrap_or(X.rotation), start.xyz.unwrap_or(X.translation));
        let frame = Frame { body, X_BF: start.X_BF };
        let answer = system.inverse_kinematics(&frame, &target(&goal, start.free), &q, &settings);
        q = match answer {
            Ok(answer) => answer.q,
            Err(IkError::NotReached(not)) => {
                model.kinematics(&not.q, &mut kin);
                let nearest = pose_in_words(&(kin.X_WB[body] * start.X_BF));
                let message = format!("{not}; the nearest pose reached is {nearest}");
                return Err(SceneError { message, ..at_pose.clone() });
            }
            Err(other) => {
                return Err(SceneError { message: other.to_string(), ..at_frame.clone() });
            }
        };
        for body in movers.iter().map(|&body| model.body(body)) {
            found.insert(body.joint_name.clone(), q[body.q.clone()].to_vec());
        }
    }
    Ok(found)
}
