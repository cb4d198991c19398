//! Loop closures, couplings and mimic joints as `<equality>`.

use super::element::{Element, placed};
use quasistep::{Constraint, ConstraintKind, System};

/// Adds the sites used by frame constraints to the elements of their bodies.
pub(super) fn add_sites(system: &System, bodies: &mut [Element]) {
    for constraint in system.constraints() {
        let (ConstraintKind::Connect { a, b } | ConstraintKind::Weld { a, b }) = &constraint.kind
        else {
            continue;
        };
        for (name, frame) in site_names(constraint).iter().zip([a, b]) {
            let site = placed(Element::new("site").with("name", name), &frame.X_BF);
            bodies[frame.body].children.push(site);
        }
    }
}

fn site_names(constraint: &Constraint) -> [String; 2] {
    ["a", "b"].map(|end| format!("{}.{end}", constraint.name))
}

/// The sections `<tendon>`, with one tendon per coupling, and `<equality>`.
pub(super) fn sections(system: &System) -> [Element; 2] {
    let model = system.model();
    let (mut tendons, mut equality) = (Element::new("tendon"), Element::new("equality"));
    for body in model.bodies() {
        let Some(mimic) = &body.mimic else { continue };
        let own = Element::new("joint")
            .with("joint1", &body.joint_name)
            .with("joint2", &model.body(mimic.body).joint_name)
            .numbers("polycoef", [mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0]);
        equality.children.push(own);
    }
    for constraint in system.constraints() {
        let name = &constraint.name;
        let between = |tag: &'static str| {
            let [a, b] = site_names(constraint);
            Element::new(tag).with("name", name).with("site1", a).with("site2", b)
        };
        let own = match &constraint.kind {
            ConstraintKind::Connect { .. } => between("connect"),
            ConstraintKind::Weld { .. } => between("weld"),
            ConstraintKind::Coupling { terms, offset } => {
                let mut tendon = Element::new("fixed").with("name", name);
                for (body, factor) in terms {
                    let joint = &model.body(*body).joint_name;
                    let term = Element::new("joint").with("joint", joint).with("coef", factor);
                    tendon.children.push(term);
                }
                tendons.children.push(tendon);
                let own = Element::new("tendon").with("name", name).with("tendon1", name);
                own.numbers("polycoef", [*offset, 0.0, 0.0, 0.0, 0.0])
            }
        };
        let own = if constraint.switch.is_some() { own.with("active", "false") } else { own };
        equality.children.push(own);
    }
    [tendons, equality]
}
