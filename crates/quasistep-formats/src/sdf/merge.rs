//! `<include merge="true">`: the parts of the included model become parts of the including one.

use super::frames::Frames;
use super::model::{Frame, Model};
use super::value::{MODEL_FRAME, SCOPE, WORLD};
use crate::error::SceneError;
use crate::xml::Xml;

/// Merges the parts of `from` into `into`. A new frame replaces the model frame of `from`.
pub(super) fn merge(into: &mut Model, mut from: Model, at: &Xml<'_, '_>) -> Result<(), SceneError> {
    if into.is_world && !from.links.is_empty() {
        return Err(at.error(format!(
            "the model `{}` has links; a world has none of its own: leave out `merge`",
            from.name
        )));
    }
    let proxy = format!("_merged__{}{MODEL_FRAME}", from.name);
    let mut placed = from.placed.clone();
    let carrier = {
        let mut alone = from.clone();
        alone.placed.relative_to = None;
        let frames = Frames::new(&alone)?;
        let own = frames.scopes[0].frame;
        if let Some(name) = &from.placement_frame {
            let frame = frames.find(0, name, &from.spot)?;
            placed.pose = placed.pose * frames.pose(own, frame).inverse();
        }
        from.canonical_link.clone().or_else(|| first_link(&from))
    };
    let attached_to = carrier.filter(|_| !into.is_world);
    // an attached frame is given in the frame to which it is attached, unless it says otherwise
    placed
        .relative_to
        .get_or_insert_with(|| (if into.is_world { WORLD } else { MODEL_FRAME }).to_owned());
    let own_frame = Frame { name: proxy.clone(), spot: at.spot(), placed, attached_to };
    let rename = |name: &mut Option<String>| {
        if name.as_deref().is_none_or(|name| name == MODEL_FRAME) {
            *name = Some(proxy.clone());
        }
    };
    let rename_where_named = |name: &mut String| {
        if name == MODEL_FRAME {
            name.clone_from(&proxy);
        }
    };
    for link in &mut from.links {
        rename(&mut link.placed.relative_to);
        for shape in link.visuals.iter_mut().chain(&mut link.collisions) {
            shape.relative_to.iter_mut().for_each(rename_where_named);
        }
    }
    for model in &mut from.models {
        rename(&mut model.placed.relative_to);
    }
    for frame in &mut from.frames {
        rename(&mut frame.attached_to);
        frame.placed.relative_to.iter_mut().for_each(rename_where_named);
    }
    for joint in &mut from.joints {
        [&mut joint.parent, &mut joint.child].into_iter().for_each(rename_where_named);
        joint.placed.relative_to.iter_mut().for_each(rename_where_named);
        for axis in &mut joint.axes {
            axis.expressed_in.iter_mut().for_each(rename_where_named);
        }
    }
    into.frames.push(own_frame);
    into.links.append(&mut from.links);
    into.models.append(&mut from.models);
    into.joints.append(&mut from.joints);
    into.frames.append(&mut from.frames);
    into.filters.append(&mut from.filters);
    into.closures.append(&mut from.closures);
    into.apart.append(&mut from.apart);
    Ok(())
}

/// The link that carries the frame of a model without a canonical link.
fn first_link(model: &Model) -> Option<String> {
    let nested = || {
        let first = model.models.first()?;
        let link = first.canonical_link.clone().or_else(|| first_link(first))?;
        Some(format!("{}{}{link}", first.name, SCOPE))
    };
    model.links.first().map(|link| link.name.clone()).or_else(nested)
}
