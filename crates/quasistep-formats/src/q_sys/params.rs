//! `quasistatic_sim_params`: step settings.

use crate::description::{Description, Stepping};
use crate::error::SceneError;
use crate::yaml::At;

const KEYS: [&str; 7] = [
    "h",
    "gravity",
    "nd_per_contact",
    "contact_detection_tolerance",
    "is_quasi_dynamic",
    "unactuated_mass_scale",
    "log_barrier_weight",
];
/// Largest number of edges of a friction pyramid.
const MOST_EDGES: u64 = 1024;

/// Reads the settings into the system. Missing ones get that simulator's defaults; an error if it
/// has none.
pub(super) fn read(at: Option<&At<'_>>, system: &mut Description) -> Result<(), SceneError> {
    let mut stepping = Stepping::default();
    system.gravity = Some([0.0; 3]);
    let map = at.map(|at| at.map(&KEYS)).transpose()?;
    let get = |key: &str| map.as_ref().and_then(|map| map.get(key));
    if let Some(at) = get("gravity") {
        system.gravity = Some(at.array::<3>("m/s²")?);
    }
    if let Some(at) = get("h") {
        system.time_step = Some(at.positive("s")?);
    }
    if let Some(at) = get("nd_per_contact") {
        let edges = at.whole(2, MOST_EDGES)?;
        if edges % 2 == 1 {
            return Err(at.error(format!("{edges} was seen; give an even number of edges")));
        }
        stepping.edges = Some(edges as u32);
    }
    if let Some(at) = get("contact_detection_tolerance") {
        stepping.contact_margin = Some(at.up_to_infinity("m")?);
    }
    if let Some(at) = get("is_quasi_dynamic") {
        stepping.has_mass = match at.text()?.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => return Err(at.error(format!("{} was seen; give true or false", at.seen()))),
        };
    }
    if let Some(at) = get("unactuated_mass_scale")
        && !is_nan(at)
    {
        let scale = at.non_negative("")?;
        if scale == 0.0 {
            return Err(at.error(
                "0 was seen, with which objects stay where they are whatever pushes them; give a number > 0, or .nan for the mass as it is",
            ));
        }
        stepping.mass_scale = stepping.has_mass.then_some(scale);
    }
    if let Some(at) = get("log_barrier_weight")
        && !is_nan(at)
    {
        at.positive("")?;
        system.warnings.push(format!(
            "{}: it belongs to the smoothed steps of that simulator; this one is exact",
            at.place()
        ));
    }
    system.stepping = Some(stepping);
    Ok(())
}

/// True for `.nan`, which that simulator uses for "not set".
fn is_nan(at: &At<'_>) -> bool {
    at.text().is_ok_and(|text| text.eq_ignore_ascii_case(".nan"))
}
