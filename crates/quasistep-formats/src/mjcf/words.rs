//! Elements and attributes defined by MJCF, to detect unknown ones.

use super::tree::Element;
use crate::error::unknown;
use std::collections::BTreeMap;

/// Grammar from MuJoCo's XML reference, one kind of element a line:
/// `kind: attributes | child kinds`. A kind is a tag. If a tag has several meanings, `@` and a word
/// follow it. `*` allows everything. `%` refers to a named list of attributes.
const TABLE: &str = "\
%pose: pos quat axisangle xyaxes zaxis euler
%solver: solref solimp margin gap
%actuator: name class group nsample interp delay ctrllimited forcelimited actlimited ctrlrange forcerange actrange lengthrange gear damping armature cranklength joint jointinparent tendon slidersite cranksite site refsite body user actdim actearly dyntype gaintype biastype dynprm gainprm biasprm input velrange ffrange
%tendon: name class group limited actuatorfrclimited range actuatorfrcrange solreflimit solimplimit solreffriction solimpfriction frictionloss springlength width material margin stiffness damping armature rgba user
%equality: name class active solref solimp
mujoco: model | compiler option size statistic visual default extension asset worldbody deformable contact tendon equality actuator sensor custom keyframe
compiler: autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate angle fitaabb eulerseq meshdir texturedir assetdir discardvisual usethread fusestatic inertiafromgeom inertiagrouprange saveinertial alignfree conflict convexhull exactmeshinertia | lengthrange
lengthrange: *
option: timestep apirate impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance sleep_tolerance gravity wind magnetic density viscosity o_margin o_solref o_solimp o_friction integrator cone jacobian solver iterations ls_iterations noslip_iterations mpr_iterations mpr_tolerance ccd_iterations sdf_iterations sdf_initpoints collision actuatorgroupdisable | flag
flag: *
size: *
statistic: *
visual: * | *
extension: * | *
custom: * | *
sensor: * | *
default: class | default mesh material joint geom site camera light pair equality@default tendon@default general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor
asset: | mesh hfield skin texture material model
mesh: name class content_type file vertex normal texcoord face refpos refquat scale smoothnormal maxhullvert inertia builtin params material octree_maxdepth | plugin
hfield: name content_type file nrow ncol size elevation
skin: * | *
texture: *
material: name class texture texrepeat texuniform emission specular shininess reflectance metallic roughness rgba | layer
layer: *
model: name file content_type
worldbody: | body frame replicate geom attach site camera light composite flexcomp plugin
body: name childclass %pose mocap gravcomp sleep simple user | body frame replicate inertial joint freejoint geom attach site camera light plugin composite flexcomp
frame: name childclass class %pose | body frame replicate inertial joint freejoint geom attach site camera light plugin composite flexcomp
replicate: count sep offset euler childclass | body frame replicate inertial joint freejoint geom attach site camera light plugin composite flexcomp
inertial: %pose mass diaginertia fullinertia
joint: name class type group pos axis springdamper limited actuatorfrclimited solreflimit solimplimit solreffriction solimpfriction stiffness range actuatorfrcrange actuatorgravcomp margin ref springref armature damping frictionloss user
freejoint: name group align
geom: name class type contype conaffinity condim group priority size material friction mass density shellinertia solmix %solver surfacevel adhesion fromto %pose hfield mesh fitscale rgba fluidshape fluidcoef user | plugin
attach: model body frame prefix
site: name class type group %pose material size fromto rgba user
camera: *
light: *
plugin: * | *
composite: * | *
flexcomp: * | *
deformable: * | *
contact: | pair exclude
pair: name class geom1 geom2 condim friction solref solreffriction solimp gap margin adhesion
exclude: name body1 body2
tendon: | spatial fixed
tendon@default: %tendon
spatial: %tendon | site@tendon geom@tendon pulley
fixed: %tendon | joint@tendon
site@tendon: site
geom@tendon: geom sidesite
pulley: divisor
joint@tendon: joint coef
equality: | connect weld joint@equality tendon@equality flex flexvert flexstrain
equality@default: %equality
connect: %equality body1 body2 anchor site1 site2
weld: %equality body1 body2 relpose anchor site1 site2 torquescale
joint@equality: %equality joint1 joint2 polycoef
tendon@equality: %equality tendon1 tendon2 polycoef
flex: * | *
flexvert: * | *
flexstrain: * | *
actuator: | general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor plugin
general: %actuator
motor: %actuator
position: %actuator kp kv dampratio timeconst inheritrange
velocity: %actuator kv
intvelocity: %actuator kp kv dampratio timeconst inheritrange
orientation: *
pid: *
damper: %actuator kv
cylinder: *
muscle: *
adhesion: *
dcmotor: *
keyframe: | key
key: name time qpos qvel act mpos mquat ctrl
";

/// Attributes and children allowed for a kind of element.
struct Kind<'t> {
    attributes: Vec<&'t str>,
    within: Vec<&'t str>,
}

/// Warnings about unknown elements and attributes, each reported once with its first line.
pub(super) fn strangers(root: &Element) -> Vec<(super::tree::Place, String)> {
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, Kind<'_>> = BTreeMap::new();
    for line in TABLE.lines() {
        let (name, rest) = line.split_once(':').unwrap_or((line, ""));
        let (attributes, within) = rest.split_once('|').unwrap_or((rest, ""));
        let expand = |word: &'static str| lists.get(word).cloned().unwrap_or_else(|| vec![word]);
        let attributes: Vec<&str> = attributes.split_whitespace().flat_map(expand).collect();
        if name.starts_with('%') {
            lists.insert(name, attributes);
        } else {
            kinds.insert(name, Kind { attributes, within: within.split_whitespace().collect() });
        }
    }
    let mut found: BTreeMap<(&str, String), (super::tree::Place, String, usize)> = BTreeMap::new();
    look(root, "mujoco", &kinds, &mut found);
    found
        .into_values()
        .map(|(place, text, n)| {
            let more = if n > 1 { format!(" ({n} times)") } else { String::new() };
            (place, format!("{text}: left out{more}"))
        })
        .collect()
}

type Found<'k> = BTreeMap<(&'k str, String), (super::tree::Place, String, usize)>;

fn look<'k>(
    element: &Element,
    name: &'k str,
    kinds: &BTreeMap<&'k str, Kind<'k>>,
    found: &mut Found<'k>,
) {
    let Some(kind) = kinds.get(name) else { return };
    let mut tell = |key: String, what: &str, seen: &str, valid: &[&str]| {
        let entry = found.entry((name, key)).or_insert_with(|| {
            let text = format!("<{}>: {}", element.tag, unknown(what, seen, valid));
            (element.place.clone(), text, 0)
        });
        entry.2 += 1;
    };
    if kind.attributes != ["*"] {
        for (attribute, _) in &element.attributes {
            if !kind.attributes.contains(&attribute.as_str()) {
                tell(attribute.clone(), "attribute", attribute, &kind.attributes);
            }
        }
    }
    if kind.within == ["*"] {
        return;
    }
    for child in &element.children {
        if let Some(kind) = kind.within.iter().find(|kind| tag_of(kind) == child.tag) {
            look(child, kind, kinds, found);
            continue;
        }
        let tags: Vec<&str> = kind.within.iter().map(tag_of).collect();
        let entry = found.entry((name, format!("<{}>", child.tag))).or_insert_with(|| {
            let text = format!("<{}>: {}", element.tag, unknown("element", &child.tag, &tags));
            (child.place.clone(), text, 0)
        });
        entry.2 += 1;
    }
}

/// The tag of a kind.
fn tag_of<'k>(kind: &&'k str) -> &'k str {
    kind.split('@').next().unwrap_or_default()
}
