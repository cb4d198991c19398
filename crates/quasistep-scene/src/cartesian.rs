//! `cartesian_stiffness` of a model: springs between its frames and commanded poses.

use crate::document::{At, pose};
use crate::names::check_name;
use quasistep::{CartesianSpring, Matrix6, SpringAxes, damping_of_ratio, positive_semidefinite};
use quasistep_formats::{SceneError, unknown};
use quasistep_model::Frame;

const KEYS: [&str; 7] = ["frame", "name", "at", "stiffness", "damping", "damping_ratio", "axes"];

/// Reads the springs of `model` from one mapping or a list. `links` are names of its links and
/// their body indices.
pub(crate) fn read(
    at: &At<'_>,
    model: &str,
    links: &[(&str, usize)],
) -> Result<Vec<CartesianSpring>, SceneError> {
    let items = if at.is_list() { at.list()? } else { vec![at.clone()] };
    let mut springs: Vec<CartesianSpring> = Vec::new();
    for item in items {
        let spring = one(&item, model, links)?;
        if springs.iter().any(|s| s.name == spring.name) {
            return Err(item.error(format!(
                "a second spring is called `{}`; give it another `name`",
                spring.name
            )));
        }
        springs.push(spring);
    }
    Ok(springs)
}

fn one(at: &At<'_>, model: &str, links: &[(&str, usize)]) -> Result<CartesianSpring, SceneError> {
    let map = at.map(&KEYS)?;
    let (link, body) = match (map.get("frame"), links) {
        (None, [only]) => *only,
        (None, _) => *map.need("frame").map(|_| &links[0])?,
        (Some(frame), _) => {
            let name = frame.text()?;
            let own = name.strip_prefix(model).and_then(|n| n.strip_prefix('/')).unwrap_or(name);
            *links.iter().find(|(link, _)| *link == own).ok_or_else(|| {
                let names: Vec<&str> = links.iter().map(|(link, _)| *link).collect();
                frame.error(unknown("body", name, &names))
            })?
        }
    };
    let name = map.get("name").map_or(Ok(link), |at| {
        check_name("spring", at.text()?, at)?;
        at.text()
    })?;
    let stiffness = matrix(map.need("stiffness")?, "N/m and N·m/rad")?;
    let damping = match (map.get("damping"), map.get("damping_ratio")) {
        (Some(_), Some(ratio)) => {
            return Err(ratio.error("`damping` and `damping_ratio` were seen; give one of them"));
        }
        (Some(damping), None) => matrix(damping, "N·s/m and N·m·s/rad")?,
        (None, Some(ratio)) => damping_of_ratio(&stiffness, ratio.non_negative("")?),
        (None, None) => [[0.0; 6]; 6],
    };
    let axes = [("frame", SpringAxes::Command), ("world", SpringAxes::World)];
    Ok(CartesianSpring {
        name: format!("{model}/{name}"),
        frame: Frame { body, X_BF: map.get("at").map(pose).transpose()?.unwrap_or_default() },
        stiffness,
        damping,
        axes: map.get("axes").map_or(Ok(SpringAxes::default()), |at| at.word(&axes))?,
    })
}

/// A 6 × 6 matrix: the diagonal as six numbers ≥ 0, or six rows of six numbers.
fn matrix(at: &At<'_>, unit: &str) -> Result<Matrix6, SceneError> {
    let rows = at.list()?;
    let valid = "give 6 numbers, x y z and about x y z, or 6 rows of 6";
    if rows.len() != 6 {
        return Err(at.error(format!("{} entries were seen; {valid}", rows.len())));
    }
    let mut matrix = [[0.0; 6]; 6];
    for (i, row) in rows.iter().enumerate() {
        if row.is_list() {
            matrix[i] = row.array(unit)?;
        } else {
            matrix[i][i] = row.non_negative(unit)?;
        }
    }
    if rows.iter().any(At::is_list) != rows.iter().all(At::is_list) {
        return Err(at.error(format!("numbers and rows were seen; {valid}")));
    }
    positive_semidefinite(&matrix).map_err(|why| at.error(why))
}
