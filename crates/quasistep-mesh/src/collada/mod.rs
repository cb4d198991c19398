//! Reader of COLLADA 1.4 and 1.5: `.dae`.
//!
//! There is no maintained library for it. `roxmltree` refuses document types, and thereby entities
//! of every kind.

mod document;
mod effect;
mod geometry;

use crate::frame::Affine;
use crate::open::Opener;
use crate::{Fault, MAX_DEPTH, MAX_NODES, Mesh, Want};
use document::{Dae, Elements, at, floats};
use effect::Look;
use geometry::Geometry;
use quasistep_math::{Mat3, Quat, Vec3};
use roxmltree::Node;
use std::collections::BTreeMap;

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
    let dae = Dae::new(root);
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
