//! Reader of glTF 2.0: `.gltf` and `.glb`.
//!
//! Of the library only the JSON types are used, because its buffer readers panic on invalid
//! offsets.

use crate::frame::Affine;
use crate::open::Opener;
use crate::{Fault, MAX_DEPTH, MAX_NODES, MAX_TRIANGLES, Mesh, Scalar, Want};
use gltf_json::accessor::ComponentType;
use gltf_json::material::AlphaMode;
use gltf_json::mesh::{Mode, Primitive, Semantic};
use gltf_json::validation::Checked;
use gltf_json::{Accessor, Index, Material, Node, Root, buffer};
use quasistep_math::{Mat3, Quat, Vec3};
use std::collections::BTreeMap;

/// Compression extensions. A file that requires one of these cannot be read.
const COMPRESSIONS: [&str; 2] = ["KHR_draco_mesh_compression", "EXT_meshopt_compression"];

/// Rotation from y up to z up: (x, y, z) → (x, −z, y), as in Drake.
const Z_UP: Mat3 = Mat3 { rows: [Vec3::X, Vec3::new(0.0, 0.0, -1.0), Vec3::Y] };

struct Reader<'a, 'b> {
    root: &'a Root,
    /// Binary chunk of a `.glb` file.
    chunk: &'a [u8],
    /// Buffers opened so far, by URI.
    buffers: BTreeMap<&'a str, Vec<u8>>,
    open: &'a mut Opener<'b>,
    want: Want,
    mesh: Mesh,
    n_nodes: usize,
}

pub(crate) fn read(bytes: &[u8], want: Want, open: &mut Opener<'_>) -> Result<Mesh, Fault> {
    let (json, chunk) = if bytes.starts_with(b"glTF") { chunks(bytes)? } else { (bytes, &[][..]) };
    let root = Root::from_slice(json).map_err(|e| {
        Fault::new(crate::Place::Line(e.line()), format!("not a glTF 2.0 file: {e}"))
    })?;
    if let Some(name) = root.extensions_required.iter().find(|e| COMPRESSIONS.contains(&e.as_str()))
    {
        return Err(Fault::whole(format!(
            "needs the extension {name}, which is not read; store the mesh without compression"
        )));
    }
    let mut reader = Reader {
        root: &root,
        chunk,
        buffers: BTreeMap::new(),
        open,
        want,
        mesh: Mesh::default(),
        n_nodes: 0,
    };
    // without a scene, the roots are all nodes that are not children
    let scene = root.scene.and_then(|k| root.get(k)).or(root.scenes.first());
    let roots = scene.map_or_else(
        || {
            let children =
                |n: &Node| n.children.iter().flatten().map(Index::value).collect::<Vec<_>>();
            let all: Vec<usize> = root.nodes.iter().flat_map(children).collect();
            let all: std::collections::BTreeSet<usize> = all.into_iter().collect();
            (0..root.nodes.len())
                .filter(|k| !all.contains(k))
                .map(|k| Index::new(k as u32))
                .collect()
        },
        |scene| scene.nodes.clone(),
    );
    for node in roots {
        reader.node(node, &Affine::linear(Z_UP), 0)?;
    }
    Ok(reader.mesh)
}

/// Splits a `.glb` file into its JSON and binary chunks (glTF 2.0, 4.4).
fn chunks(bytes: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let (mut json, mut binary) = (None, &[][..]);
    let word = |at: usize| {
        bytes.get(at..at + 4).and_then(|b| b.first_chunk()).map(|b| u32::from_le_bytes(*b))
    };
    if word(4) != Some(2) {
        return Err(Fault::byte(
            4,
            format!("version {} of .glb was seen; 2 is read", word(4).unwrap_or(0)),
        ));
    }
    let mut at = 12;
    while let (Some(length), Some(kind)) = (word(at), word(at + 4)) {
        let start = at + 8;
        let Some(data) = bytes.get(start..start.saturating_add(length as usize)) else {
            return Err(Fault::byte(
                at,
                format!("a chunk of {length} bytes was seen; {} are left", bytes.len() - start),
            ));
        };
        match &kind.to_le_bytes() {
            b"JSON" if json.is_none() => json = Some(data),
            b"BIN\0" if binary.is_empty() => binary = data,
            _ => {}
        }
        at = start + data.len();
    }
    Ok((json.ok_or_else(|| Fault::whole("has no JSON chunk"))?, binary))
}

impl<'a> Reader<'a, '_> {
    fn node(&mut self, index: Index<Node>, parent: &Affine, depth: usize) -> Result<(), Fault> {
        self.n_nodes += 1;
        if depth > MAX_DEPTH || self.n_nodes > MAX_NODES {
            return Err(Fault::whole(format!(
                "its nodes are nested more than {MAX_DEPTH} deep or more than {MAX_NODES} in number, or hold themselves"
            )));
        }
        let root = self.root;
        let node = root.get(index).ok_or_else(|| missing("node", index.value()))?;
        let own = parent.after(&transform(node));
        if let Some(index) = node.mesh {
            let mesh = root.get(index).ok_or_else(|| missing("mesh", index.value()))?;
            let start = self.mesh.triangles.len();
            for primitive in &mesh.primitives {
                self.primitive(primitive, &own)?;
            }
            let name = format!("mesh {}", index.value());
            self.mesh.end_group(start, &name);
        }
        for child in node.children.iter().flatten() {
            self.node(*child, &own, depth + 1)?;
        }
        Ok(())
    }

    fn primitive(&mut self, primitive: &Primitive, X: &Affine) -> Result<(), Fault> {
        let Checked::Valid(mode @ (Mode::Triangles | Mode::TriangleStrip | Mode::TriangleFan)) =
            primitive.mode
        else {
            return Ok(());
        };
        let attribute = |semantic| primitive.attributes.get(&Checked::Valid(semantic)).copied();
        let Some(positions) = attribute(Semantic::Positions) else { return Ok(()) };
        let first = self.mesh.vertices.len();
        let positions = self.values::<3>(positions)?;
        let count = positions.len();
        if first + count > 3 * MAX_TRIANGLES {
            return Err(Fault::whole(format!(
                "has more than {} vertices; that many are read",
                3 * MAX_TRIANGLES
            )));
        }
        self.mesh.vertices.extend(positions.into_iter().map(|p| X.apply(p.into())));
        let corners = match primitive.indices {
            Some(index) => self.values::<1>(index)?.into_iter().map(|[k]| k as usize).collect(),
            None => (0..count).collect::<Vec<usize>>(),
        };
        if let Some(corner) = corners.iter().find(|k| **k >= count) {
            return Err(Fault::whole(format!("a triangle names vertex {corner} of {count}")));
        }
        let corner = |k: usize| (first + corners[k]) as u32;
        let n = corners.len();
        let triangles: Vec<[usize; 3]> = match mode {
            Mode::TriangleStrip => (2..n)
                .map(|k| if k % 2 == 0 { [k - 2, k - 1, k] } else { [k - 1, k - 2, k] })
                .collect(),
            Mode::TriangleFan => (2..n).map(|k| [0, k - 1, k]).collect(),
            _ => (0..n / 3).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect(),
        };
        for t in triangles {
            let [a, b, c] = t.map(corner);
            self.mesh.push(if X.mirrors() { [a, c, b] } else { [a, b, c] })?;
        }
        if self.want == Want::Shape {
            return Ok(());
        }
        let material = primitive.material.and_then(|k| self.root.get(k));
        let texture = material.and_then(|m| m.pbr_metallic_roughness.base_color_texture.as_ref());
        let as_many = |index: &Index<Accessor>| {
            self.root.get(*index).is_some_and(|a| a.count.0 == count as u64)
        };
        let places =
            texture.and_then(|t| attribute(Semantic::TexCoords(t.tex_coord))).filter(as_many);
        let places = places.map(|index| self.values::<2>(index)).transpose()?.unwrap_or_default();
        self.mesh.uv.resize(first, [0.0; 2]);
        self.mesh.uv.extend(places.iter().map(|p| p.map(|x| x as f32)));
        self.mesh.uv.resize(first + count, [0.0; 2]);
        let image =
            texture.filter(|_| !places.is_empty()).and_then(|t| self.texture(t.index.value()));
        self.mesh.end_part(material.and_then(color), image);
        Ok(())
    }

    fn texture(&mut self, index: usize) -> Option<usize> {
        let root = self.root;
        let source = root.textures.get(index)?.source;
        let image = root.get(source)?;
        let file = image.uri.as_deref().filter(|uri| !uri.starts_with("data:"));
        let name = format!("image {} {}", source.value(), file.unwrap_or("")).trim_end().to_owned();
        if let Some(known) = self.open.known(&name) {
            return known;
        }
        let view = image
            .buffer_view
            .map(|view| self.view(view).map(<[u8]>::to_vec).map_err(|e| e.message));
        let uri = image.uri.as_deref();
        self.open.texture(&mut self.mesh, &name, |open| match (view, uri) {
            (Some(bytes), _) => bytes,
            (None, Some(uri)) => open.uri(uri),
            (None, None) => Err(format!("{name} has no data")),
        })
    }

    /// The bytes of a buffer view.
    fn view(&mut self, index: Index<buffer::View>) -> Result<&[u8], Fault> {
        let root = self.root;
        let view = root.get(index).ok_or_else(|| missing("buffer view", index.value()))?;
        let buffer = root.get(view.buffer).ok_or_else(|| missing("buffer", view.buffer.value()))?;
        let bytes = match &buffer.uri {
            None => self.chunk,
            Some(uri) => {
                if !self.buffers.contains_key(uri.as_str()) {
                    let bytes =
                        self.open.uri(uri).map_err(|e| Fault::whole(format!("a buffer: {e}")))?;
                    self.buffers.insert(uri, bytes);
                }
                self.buffers[uri.as_str()].as_slice()
            }
        };
        let (start, length) = (view.byte_offset.map_or(0, |o| o.0), view.byte_length.0);
        let end = usize::try_from(start.saturating_add(length)).unwrap_or(usize::MAX);
        bytes.get(start as usize..end).ok_or_else(|| {
            let n = bytes.len();
            Fault::whole(format!(
                "buffer view {} covers bytes {start} to {end} of {n}",
                index.value()
            ))
        })
    }

    /// The values of an accessor, each with `N` numbers.
    fn values<const N: usize>(&mut self, index: Index<Accessor>) -> Result<Vec<[f64; N]>, Fault> {
        let root: &'a Root = self.root;
        let accessor = root.get(index).ok_or_else(|| missing("accessor", index.value()))?;
        let wrong = |what: &str| Fault::whole(format!("accessor {} {what}", index.value()));
        let (Checked::Valid(component), Checked::Valid(kind)) =
            (&accessor.component_type, &accessor.type_)
        else {
            return Err(wrong("has an unknown type"));
        };
        if kind.multiplicity() != N {
            return Err(wrong(&format!(
                "has {} numbers per item; {N} are needed",
                kind.multiplicity()
            )));
        }
        if accessor.sparse.is_some() {
            return Err(wrong("is sparse, which is not read"));
        }
        let view_index = accessor.buffer_view.ok_or_else(|| wrong("has no buffer view"))?;
        let stride = root.get(view_index).and_then(|v| v.byte_stride).map_or(0, |s| s.0);
        let (scalar, scale) = match component.0 {
            ComponentType::I8 => (Scalar::I8, 127.0),
            ComponentType::U8 => (Scalar::U8, 255.0),
            ComponentType::I16 => (Scalar::I16, 32767.0),
            ComponentType::U16 => (Scalar::U16, 65535.0),
            ComponentType::U32 => (Scalar::U32, 4294967295.0),
            ComponentType::F32 => (Scalar::F32, 1.0),
        };
        let scale = if accessor.normalized { scale } else { 1.0 };
        let size = N * scalar.size();
        let stride = if stride == 0 { size } else { stride };
        let count = accessor.count.0;
        let offset = accessor.byte_offset.map_or(0, |o| o.0);
        let bytes = self.view(view_index)?;
        let last = count.saturating_sub(1).saturating_mul(stride as u64);
        let end = offset.saturating_add(last).saturating_add(size as u64);
        if count > 0 && end > bytes.len() as u64 {
            return Err(wrong(&format!(
                "holds {count} items, {end} bytes; its view has {}",
                bytes.len()
            )));
        }
        let value = |at: usize, i: usize| scalar.read(bytes, at + i * scalar.size(), false) / scale;
        let items = (0..count as usize).map(|k| offset as usize + k * stride);
        Ok(items.map(|at| std::array::from_fn(|i| value(at, i))).collect())
    }
}

fn missing(what: &str, index: usize) -> Fault {
    Fault::whole(format!("there is no {what} {index}"))
}

fn transform(node: &Node) -> Affine {
    if let Some(m) = node.matrix {
        let m = m.map(f64::from);
        return Affine::from_rows([0, 1, 2].map(|i| [m[i], m[4 + i], m[8 + i], m[12 + i]]));
    }
    let [x, y, z, w] = node.rotation.unwrap_or_default().0.map(f64::from);
    let R = Quat::try_normalize([w, x, y, z]).unwrap_or_default().to_matrix();
    let scale = node.scale.unwrap_or([1.0; 3]).map(f64::from);
    let shift = node.translation.unwrap_or_default().map(f64::from);
    Affine { linear: R * Mat3::diagonal(scale), shift: shift.into() }
}

/// The base colour in sRGB; the file gives linear values.
fn color(material: &Material) -> Option<[f32; 4]> {
    let [red, green, blue, alpha] = material.pbr_metallic_roughness.base_color_factor.0;
    let srgb = |c: f32| {
        let c = c.clamp(0.0, 1.0);
        if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 }
    };
    let blends = matches!(material.alpha_mode, Checked::Valid(AlphaMode::Blend));
    let color =
        [srgb(red), srgb(green), srgb(blue), if blends { alpha.clamp(0.0, 1.0) } else { 1.0 }];
    color.iter().all(|c| c.is_finite()).then_some(color)
}
