//! Reader of COLLADA 1.4 and 1.5: `.dae`.
//!
//! There is no maintained library for it. `roxmltree` refuses document types, and thereby entities
//! of every kind.

mod effect;
mod geometry;

use crate::frame::Affine;
use crate::open::Opener;
use crate::{Fault, MAX_DEPTH, MAX_NODES, Mesh, Want};
use effect::Look;
use geometry::{Geometry, Source};
use quasistep_math::{Mat3, Quat, Vec3};
use roxmltree::Node;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The document, and its elements by id.
struct Dae<'a> {
    by_id: BTreeMap<&'a str, Node<'a, 'a>>,
    root: Node<'a, 'a>,
    /// Sources read so far.
    sources: RefCell<BTreeMap<Node<'a, 'a>, Rc<Source>>>,
}

pub(crate) fn read(bytes: &[u8], want: Want, open: &mut Opener<'_>) -> Result<Mesh, Fault> {
    let text = String::from_utf8_lossy(bytes);
    let document = crate::xml::parse(&text).map_err(|(line, message)| {
        Fault::new(crate::Place::Line(line), format!("not a .dae file: {message}"))
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "COLLADA" {
        let seen = root.tag_name().name();
        return Err(at(root, format!("<{seen}> was seen; the root of a .dae file is <COLLADA>")));
    }
    let named = root.descendants().filter_map(|node| Some((node.attribute("id")?, node)));
    let dae = Dae { by_id: named.collect(), root, sources: RefCell::default() };
    let mut reader = Reader {
        dae: &dae,
        want,
        geometries: BTreeMap::new(),
        looks: BTreeMap::new(),
        mesh: Mesh::default(),
        n_nodes: 0,
    };
    let unit = Affine::linear(Mat3::diagonal([dae.unit()?; 3]));
    let scenes = || root.children().filter(|n| n.has_tag_name_of("library_visual_scenes"));
    let shown = root
        .child("scene")
        .and_then(|scene| scene.child("instance_visual_scene"))
        .and_then(|instance| dae.target(instance, "url"));
    match shown.or_else(|| scenes().find_map(|library| library.child("visual_scene"))) {
        Some(scene) => {
            for node in scene.elements("node") {
                reader.node(node, &unit, 0, open)?;
            }
        }
        // a file with geometries but without a scene
        None => {
            for library in root.elements("library_geometries") {
                for geometry in library.elements("geometry") {
                    reader.instance(geometry, None, &unit, open)?;
                }
            }
        }
    }
    Ok(reader.mesh)
}

struct Reader<'d, 'a> {
    dae: &'d Dae<'a>,
    want: Want,
    geometries: BTreeMap<Node<'a, 'a>, Geometry<'a>>,
    looks: BTreeMap<Node<'a, 'a>, Look>,
    mesh: Mesh,
    n_nodes: usize,
}

impl<'a> Reader<'_, 'a> {
    fn node(
        &mut self,
        node: Node<'a, 'a>,
        parent: &Affine,
        depth: usize,
        open: &mut Opener<'_>,
    ) -> Result<(), Fault> {
        self.n_nodes += 1;
        if depth > MAX_DEPTH || self.n_nodes > MAX_NODES {
            return Err(at(
                node,
                format!(
                    "nodes are nested more than {MAX_DEPTH} deep or more than {MAX_NODES} in number, or hold themselves"
                ),
            ));
        }
        let mut own = *parent;
        for child in node.children().filter(Node::is_element) {
            if let Some(map) = transform(child)? {
                own = own.after(&map);
            }
        }
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "instance_geometry" => {
                    let geometry = self.dae.need(child, "url")?;
                    self.instance(geometry, Some(child), &own, open)?;
                }
                // a skin in its bind pose, without bones
                "instance_controller" => {
                    let skin = self.dae.need(child, "url")?.child("skin");
                    if let Some(skin) = skin {
                        let rows = skin.child("bind_shape_matrix").map(matrix).transpose()?;
                        let bound = own.after(&rows.unwrap_or(Affine::IDENTITY));
                        let geometry = self.dae.need(skin, "source")?;
                        self.instance(geometry, Some(child), &bound, open)?;
                    }
                }
                "instance_node" => {
                    self.node(self.dae.need(child, "url")?, &own, depth + 1, open)?;
                }
                "node" => self.node(child, &own, depth + 1, open)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a geometry with the transform of its node.
    fn instance(
        &mut self,
        node: Node<'a, 'a>,
        instance: Option<Node<'a, 'a>>,
        X: &Affine,
        open: &mut Opener<'_>,
    ) -> Result<(), Fault> {
        if !self.geometries.contains_key(&node) {
            self.geometries.insert(node, Geometry::read(node, self.dae, self.want)?);
        }
        let geometry = &self.geometries[&node];
        let start = self.mesh.triangles.len();
        for primitives in &geometry.primitives {
            primitives.add(&geometry.positions, X, &mut self.mesh)?;
            if self.want == Want::Looks {
                let material = self.dae.material(instance, primitives.material);
                let look = match material {
                    None => Look::default(),
                    Some(material) => {
                        let dae = self.dae;
                        self.looks.entry(material).or_insert_with(|| dae.look(material)).clone()
                    }
                };
                let image =
                    look.texture.filter(|_| primitives.has_places()).and_then(|path: String| {
                        open.texture(&mut self.mesh, &path, |open| open.uri(&path))
                    });
                self.mesh.end_part(look.color, image);
            }
        }
        let name = node.attribute("name").or(node.attribute("id")).unwrap_or_default();
        self.mesh.end_group(start, name);
        Ok(())
    }
}

impl<'a> Dae<'a> {
    /// Length of the file's unit, in m.
    fn unit(&self) -> Result<f64, Fault> {
        let unit = self.root.child("asset").and_then(|asset| asset.child("unit"));
        let Some((unit, word)) = unit.and_then(|unit| Some((unit, unit.attribute("meter")?)))
        else {
            return Ok(1.0);
        };
        let metre: f64 = word.trim().parse().unwrap_or(f64::NAN);
        if metre > 0.0 && metre.is_finite() {
            Ok(metre)
        } else {
            Err(at(unit, format!("meter=\"{word}\" was seen; it must be > 0")))
        }
    }

    /// Element to which an attribute `#id` of a node refers.
    fn target(&self, node: Node<'a, 'a>, attribute: &str) -> Option<Node<'a, 'a>> {
        self.by_id.get(node.attribute(attribute)?.strip_prefix('#')?).copied()
    }

    fn need(&self, node: Node<'a, 'a>, attribute: &str) -> Result<Node<'a, 'a>, Fault> {
        self.target(node, attribute).ok_or_else(|| {
            let (tag, value) = (node.tag_name().name(), node.attribute(attribute).unwrap_or(""));
            at(node, format!("{attribute}=\"{value}\" was seen in <{tag}>; it must be # and the id of something in this file"))
        })
    }
}

/// Transform given by an element; `None` if it is not a transform.
fn transform(node: Node<'_, '_>) -> Result<Option<Affine>, Fault> {
    Ok(Some(match node.tag_name().name() {
        "matrix" => matrix(node)?,
        "translate" => Affine::shift(floats::<3>(node)?.into()),
        "scale" => Affine::linear(Mat3::diagonal(floats(node)?)),
        "rotate" => {
            let [x, y, z, degrees] = floats(node)?;
            let axis = Vec3::new(x, y, z).try_normalize();
            let turn = axis.map(|axis| Quat::from_axis_angle(axis, degrees.to_radians()));
            Affine::linear(turn.unwrap_or_default().to_matrix())
        }
        tag @ ("lookat" | "skew") => {
            return Err(at(
                node,
                format!("<{tag}> was seen; matrix, translate, rotate and scale are read"),
            ));
        }
        _ => return Ok(None),
    }))
}

fn matrix(node: Node<'_, '_>) -> Result<Affine, Fault> {
    let m: [f64; 16] = floats(node)?;
    Ok(Affine::from_rows([0, 4, 8].map(|i| [m[i], m[i + 1], m[i + 2], m[i + 3]])))
}

/// Exactly `N` numbers in an element.
fn floats<const N: usize>(node: Node<'_, '_>) -> Result<[f64; N], Fault> {
    let values: Option<Vec<f64>> = node
        .text()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    values.and_then(|values| values.try_into().ok()).ok_or_else(|| {
        at(
            node,
            format!("<{}> holds `{}`; {N} numbers are needed", node.tag_name().name(), short(node)),
        )
    })
}

/// Beginning of an element's text, for messages.
fn short(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().chars().take(40).collect()
}

fn at(node: Node<'_, '_>, message: impl Into<String>) -> Fault {
    Fault::line(node.document().text_pos_at(node.range().start).row as usize, message)
}

/// Access to child elements by tag, ignoring namespaces.
trait Elements<'a>: Sized {
    fn has_tag_name_of(&self, tag: &str) -> bool;
    fn elements(&self, tag: &'static str) -> impl Iterator<Item = Self>;
    fn child(&self, tag: &'static str) -> Option<Self>;
}

impl<'a> Elements<'a> for Node<'a, 'a> {
    fn has_tag_name_of(&self, tag: &str) -> bool {
        self.is_element() && self.tag_name().name() == tag
    }

    fn elements(&self, tag: &'static str) -> impl Iterator<Item = Self> {
        self.children().filter(move |node| node.has_tag_name_of(tag))
    }

    fn child(&self, tag: &'static str) -> Option<Self> {
        self.elements(tag).next()
    }
}
