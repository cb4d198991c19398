//! One triangle in every format, and damaged or hostile files.
#![allow(missing_docs)]

use quasistep_math::Vec3;
use quasistep_mesh::{Fault, Mesh, Textures, Want, read};
use std::fmt::Write as _;
use std::io;

fn nothing(_: &str) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::NotFound.into())
}

fn looks(ending: &str, bytes: &[u8]) -> Result<Mesh, Fault> {
    read(ending, bytes, Want::Looks, &mut nothing, &mut Textures::default())
}

/// A triangle with corners 0, (1, 0, 0) and (0, 2, 0) as binary STL, with `promised` triangles in
/// the header.
fn stl(promised: u32) -> Vec<u8> {
    let mut bytes = vec![b's'; 80];
    bytes.extend(promised.to_le_bytes());
    let numbers: [f32; 12] = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0];
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    bytes.extend([0, 0]);
    bytes
}

/// The triangle in MuJoCo's format, with `promised` vertices in the header.
fn msh(promised: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = [promised, 0, 0, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
    let numbers: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0];
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    bytes.extend([0_u32, 1, 2].iter().flat_map(|n| n.to_le_bytes()));
    bytes
}

const OBJ: &str = "mtllib looks.mtl\nv 0 0 0\nv 1 0 0\nv 0 2 0\nusemtl red\nf 1 2 3\n";

fn dae(more: &str) -> String {
    format!(
        r##"<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.001"/><up_axis>Y_UP</up_axis></asset>{more}
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="9">0 0 0 1000 0 0 0 2000 0</float_array>
<technique_common><accessor source="#a" count="3" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><matrix>1 0 0 0 0 1 0 0 0 0 1 500 0 0 0 1</matrix>
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"##
    )
}

fn gltf(uri: &str) -> String {
    format!(
        r#"{{"asset": {{"version": "2.0"}}, "scene": 0, "scenes": [{{"nodes": [0]}}], "nodes": [{{"mesh": 0, "translation": [0, 0, 1]}}],
"meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}}}]}}],
"buffers": [{{"byteLength": 36, "uri": "{uri}"}}], "bufferViews": [{{"buffer": 0, "byteLength": 36}}],
"accessors": [{{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 2, 0]}}]}}"#
    )
}

const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
                   property uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\n\
                   property list uchar int vertex_indices\nend_header\n0 0 0 255 0 0\n1 0 0 0 255 0\n0 2 0 0 0 255\n3 0 1 2\n";

fn corners() -> Vec<u8> {
    [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn every_format_reads_the_same_triangle() {
    let flat = [Vec3::ZERO, Vec3::X, Vec3::Y * 2.0];
    for (ending, bytes) in [
        ("stl", stl(1)),
        ("STL", stl(1)),
        ("obj", OBJ.into()),
        ("ply", PLY.into()),
        ("msh", msh(3)),
    ] {
        let mesh = looks(ending, &bytes).unwrap_or_else(|e| panic!("{ending}: {e:?}"));
        assert_eq!(mesh.vertices, flat, "{ending}");
        assert_eq!(mesh.triangles, [[0, 1, 2]], "{ending}");
    }
    // units and scene transforms are applied, up_axis is not
    let mesh = looks("dae", dae("").as_bytes()).unwrap();
    let raised: Vec<Vec3> = flat.iter().map(|p| *p + Vec3::Z * 0.5).collect();
    assert!(mesh.vertices.iter().zip(&raised).all(|(a, b)| (*a - *b).norm() < 1e-12), "{mesh:?}");
    // glTF has y up: y becomes z, z becomes −y
    let mut open = |path: &str| if path == "b.bin" { Ok(corners()) } else { nothing(path) };
    let text = gltf("b.bin");
    let mesh =
        read("gltf", text.as_bytes(), Want::Shape, &mut open, &mut Textures::default()).unwrap();
    assert_eq!(mesh.vertices[2], Vec3::new(0.0, -1.0, 2.0));
}

#[test]
fn looks_that_are_missing_are_notes_and_colours_are_read() {
    let mesh = looks("obj", OBJ.as_bytes()).unwrap();
    assert!(mesh.notes.iter().any(|note| note.contains("looks.mtl")), "{:?}", mesh.notes);
    let mut open = |path: &str| match path {
        "looks.mtl" => Ok(b"newmtl red\nKd 1 0 0\n".to_vec()),
        _ => nothing(path),
    };
    let mesh =
        read("obj", OBJ.as_bytes(), Want::Looks, &mut open, &mut Textures::default()).unwrap();
    assert_eq!(mesh.parts[0].color.map(|c| [c[0], c[1]]), Some([1.0, 0.0]));
    assert_eq!(looks("ply", PLY.as_bytes()).unwrap().colors[1], [0, 255, 0]);
}

#[test]
fn broken_files_say_what_is_wrong() {
    for (ending, bytes, word) in [
        ("step", b"x".to_vec(), ".stl, .obj, .dae"),
        ("stl", Vec::new(), "empty"),
        // a header that promises a billion triangles
        ("stl", stl(1_000_000_000), "promises 1000000000 triangles"),
        ("msh", msh(u32::MAX), "promise 4294967295 vertices"),
        ("msh", vec![1; 15], "15 bytes"),
        ("ply", PLY.replace("vertex 3", "vertex 1000000000").into(), "cannot hold them"),
        ("obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".to_vec(), "finite"),
        ("obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n".to_vec(), "9"),
        ("dae", b"<COLLADA><library_geometries>".to_vec(), "never closed"),
        ("gltf", b"{\"asset\": 1}".to_vec(), "glTF"),
        ("glb", b"glTF\x02\x00\x00\x00\xff\xff\xff\xff".to_vec(), ""),
        ("gltf", gltf("../../../secret.bin").into(), "secret.bin"),
        ("gltf", gltf("data:application/octet-stream;base64,AAAA").into(), ""),
    ] {
        let error = looks(ending, &bytes).expect_err(ending).message;
        assert!(error.contains(word), "{ending}: `{error}` does not say `{word}`");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// Entities and repeated references cost no more than the file's size allows.
#[test]
fn hostile_files_are_bounded() {
    let entities = dae("").replacen(
        "<COLLADA",
        "<!DOCTYPE x [<!ENTITY f SYSTEM \"file:///etc/passwd\">]><COLLADA",
        1,
    );
    let outcome = looks("dae", entities.replacen("0 0 0 1000", "&f; 0 0 1000", 1).as_bytes());
    assert!(outcome.is_err());
    // ten nodes, each with ten references to the next: 10^30 triangles without a limit
    let mut nodes = String::from("<library_nodes>");
    for level in 0..30 {
        let _ = write!(nodes, "<node id=\"n{level}\">");
        for _ in 0..10 {
            let next = level + 1;
            let _ = write!(nodes, "<instance_node url=\"#n{next}\"/>");
        }
        nodes.push_str("</node>");
    }
    nodes.push_str("<node id=\"n30\"><instance_geometry url=\"#g\"/></node></library_nodes>");
    let bomb = dae(&nodes).replacen(
        "<instance_geometry url=\"#g\"/></node></library_visual",
        "<instance_node url=\"#n0\"/></node></library_visual",
        1,
    );
    let bomb = bomb.replacen(
        "<instance_geometry url=\"#g\"/></node></visual",
        "<instance_node url=\"#n0\"/></node></visual",
        1,
    );
    let error = looks("dae", bomb.as_bytes()).expect_err("a bomb").message;
    assert!(error.contains("nodes"), "{error}");
}

/// Random bytes changed, removed and doubled: a mesh or an error, never a panic.
#[test]
fn mutated_files_do_not_panic() {
    let mut state = 7_u64;
    let mut random = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let files: [(&str, Vec<u8>); 5] = [
        ("stl", stl(1)),
        ("obj", OBJ.into()),
        ("dae", dae("").into()),
        ("gltf", gltf("b.bin").into()),
        ("ply", PLY.into()),
    ];
    for (ending, bytes) in &files {
        for _ in 0..2000 {
            let mut mutant = bytes.clone();
            for _ in 0..=random(4) {
                let at = random(mutant.len());
                match random(4) {
                    0 => mutant[at] = random(256) as u8,
                    1 => mutant.truncate(at.max(1)),
                    2 => mutant.insert(at, b"0123456789-. <>\"{}[]"[random(20)]),
                    _ => {
                        mutant.remove(at);
                        if mutant.is_empty() {
                            mutant.push(0);
                        }
                    }
                }
            }
            let mut open = |path: &str| if path == "b.bin" { Ok(corners()) } else { nothing(path) };
            let _ = read(ending, &mutant, Want::Looks, &mut open, &mut Textures::default());
        }
    }
}
