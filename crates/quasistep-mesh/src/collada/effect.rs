//! Materials of a COLLADA file: the diffuse colour or texture of `profile_COMMON`.

use super::document::{Dae, Elements, floats};
use roxmltree::Node;

/// Colour and texture of a material, if given.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    pub color: Option<[f32; 4]>,
    /// URI of the texture image.
    pub texture: Option<String>,
}

impl<'a> Dae<'a> {
    /// The material of primitives in an instance: the one that the instance binds to their symbol,
    /// or else the one with this id.
    pub(super) fn material(
        &self,
        instance: Option<Node<'a, 'a>>,
        symbol: Option<&'a str>,
    ) -> Option<Node<'a, 'a>> {
        let symbol = symbol?;
        let bound = instance
            .and_then(|instance| instance.child("bind_material"))
            .and_then(|bind| bind.child("technique_common"))
            .and_then(|common| {
                common.elements("instance_material").find(|m| m.attribute("symbol") == Some(symbol))
            })
            .and_then(|material| self.target(material, "target"));
        bound.or_else(|| self.by_id.get(symbol).copied()).filter(|m| m.has_tag_name_of("material"))
    }

    pub(super) fn look(&self, material: Node<'a, 'a>) -> Look {
        let effect = material.child("instance_effect").and_then(|e| self.target(e, "url"));
        let Some(profile) = effect.and_then(|effect| effect.child("profile_COMMON")) else {
            return Look::default();
        };
        let shader = profile.child("technique").and_then(|technique| {
            technique
                .children()
                .find(|n| matches!(n.tag_name().name(), "phong" | "blinn" | "lambert" | "constant"))
        });
        let Some(shader) = shader else { return Look::default() };
        let color_of = |node: Node<'a, 'a>| -> Option<[f32; 4]> {
            let color = node.child("color")?;
            let rgba = floats::<4>(color)
                .ok()
                .or_else(|| floats::<3>(color).ok().map(|[r, g, b]| [r, g, b, 1.0]))?;
            let rgba = rgba.map(|c| c.clamp(0.0, 1.0) as f32);
            rgba.iter().all(|c| c.is_finite()).then_some(rgba)
        };
        // an unlit shader has no diffuse colour
        let paint = shader
            .child("diffuse")
            .or_else(|| shader.child("emission").filter(|_| shader.has_tag_name_of("constant")));
        let Some(paint) = paint else { return Look::default() };
        let alpha = opacity(shader, color_of);
        let color = color_of(paint).map(|[r, g, b, _]| [r, g, b, alpha]);
        let texture = paint.child("texture").and_then(|t| t.attribute("texture"));
        let texture = texture.and_then(|name| self.picture(profile, name));
        let color = color.or(texture.is_some().then_some([1.0, 1.0, 1.0, alpha]));
        Look { color, texture }
    }

    /// URI of the image that belongs to a sampler or image of this name.
    fn picture(&self, profile: Node<'a, 'a>, name: &str) -> Option<String> {
        let parameter =
            |sid: &str| profile.elements("newparam").find(|p| p.attribute("sid") == Some(sid));
        let text = |node: Node<'a, 'a>| node.text().map(str::trim);
        let sampler = parameter(name).and_then(|p| p.child("sampler2D"));
        let image = match sampler {
            None => Some(name),
            Some(sampler) => match sampler.child("instance_image") {
                Some(instance) => instance.attribute("url").and_then(|url| url.strip_prefix('#')),
                None => sampler
                    .child("source")
                    .and_then(text)
                    .and_then(parameter)
                    .and_then(|p| p.child("surface"))
                    .and_then(|surface| surface.child("init_from"))
                    .and_then(text),
            },
        };
        let address = self.by_id.get(image?)?.child("init_from")?;
        let address = address.child("ref").and_then(text).or_else(|| text(address))?;
        Some(address.strip_prefix("./").unwrap_or(address).replace('\\', "/"))
    }
}

/// Opacity from 0 to 1 by COLLADA 1.4.1, "Determining Transparency". 0 is taken as opaque, because
/// some programs write it so.
fn opacity<'a>(shader: Node<'a, 'a>, color_of: impl Fn(Node<'a, 'a>) -> Option<[f32; 4]>) -> f32 {
    let amount = shader.child("transparency").and_then(|t| t.child("float"));
    let amount = amount.and_then(|f| floats::<1>(f).ok()).map(|[x]| x as f32);
    let transparent = shader.child("transparent");
    if amount.is_none() && transparent.is_none() {
        return 1.0;
    }
    let amount = amount.unwrap_or(1.0);
    let mode = transparent.and_then(|t| t.attribute("opaque")).unwrap_or("A_ONE");
    let color = transparent.and_then(color_of);
    let [r, g, b, a] = color.unwrap_or(if mode.ends_with("ZERO") { [0.0; 4] } else { [1.0; 4] });
    let luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    let alpha = match mode {
        "RGB_ZERO" => 1.0 - amount * luminance,
        "RGB_ONE" => amount * luminance,
        "A_ZERO" => 1.0 - amount * a,
        _ => amount * a,
    };
    if alpha > 0.0 { alpha.min(1.0) } else { 1.0 }
}
