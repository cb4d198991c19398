//! Every format gives the same points, and errors name their place in the file.

use super::file::parse;
use super::gather::{FilePoints, Options};
use quasistep_math::Vec3;
use quasistep_mesh::{Fault, Place, Scalar};

const PLAIN: Options = Options { normals: true, drop_invalid: false };
const NO_NORMALS: Options = Options { normals: false, drop_invalid: false };
const DROP: Options = Options { normals: true, drop_invalid: true };

/// Coordinates and unit normals that single precision represents exactly.
fn sample() -> Vec<[f64; 6]> {
    let axes = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.6_f32.into(), 0.8_f32.into()]];
    (0..7)
        .map(|k| {
            let [nx, ny, nz]: [f64; 3] = axes[k % 3];
            [0.25 * k as f64, -1.5 + k as f64, 0.125 * (k * k) as f64, nx, ny, nz]
        })
        .collect()
}

fn bytes(x: f64, kind: Scalar, big_endian: bool) -> Vec<u8> {
    let little = match kind {
        Scalar::U8 | Scalar::I8 => vec![x as u8],
        Scalar::I16 | Scalar::U16 => (x as i16).to_le_bytes().to_vec(),
        Scalar::I32 | Scalar::U32 => (x as i32).to_le_bytes().to_vec(),
        Scalar::I64 | Scalar::U64 => (x as i64).to_le_bytes().to_vec(),
        Scalar::F32 => (x as f32).to_le_bytes().to_vec(),
        Scalar::F64 => x.to_le_bytes().to_vec(),
    };
    if big_endian { little.into_iter().rev().collect() } else { little }
}

/// A PLY file with an element before the vertices, lists among and after them, and a colour.
fn ply(format: &str) -> Vec<u8> {
    let points = sample();
    let mut out = format!(
        "ply\r\nformat {format} 1.0\ncomment by hand \u{e9}\nobj_info none\nelement camera 2\n\
         property double focal\nproperty list uchar short tags\nelement vertex {n}\n\
         property list int float weights\nproperty double x\nproperty float y\nproperty float32 z\n\
         property uchar red\nproperty float nx\nproperty float64 ny\nproperty float nz\n\
         element face 2\nproperty list uint8 int32 vertex_indices\nelement end 3\n\
         property ushort a\nend_header\n",
        n = points.len()
    )
    .into_bytes();
    let mut row: Vec<(f64, Scalar)> = Vec::new();
    let mut write = |row: &mut Vec<(f64, Scalar)>| {
        if format == "ascii" {
            let words: Vec<String> = row.iter().map(|(x, _)| x.to_string()).collect();
            out.extend(format!("{}\n", words.join(" ")).bytes());
        } else {
            let big = format == "binary_big_endian";
            out.extend(row.iter().flat_map(|(x, kind)| bytes(*x, *kind, big)));
        }
        row.clear();
    };
    for k in 0..2 {
        row.extend([(1.5, Scalar::F64), (f64::from(k), Scalar::U8)]);
        row.extend((0..k).map(|i| (f64::from(-i), Scalar::I16)));
        write(&mut row);
    }
    for (k, p) in points.iter().enumerate() {
        row.push(((k % 3) as f64, Scalar::I32));
        row.extend((0..k % 3).map(|i| (i as f64, Scalar::F32)));
        row.extend([(p[0], Scalar::F64), (p[1], Scalar::F32), (p[2], Scalar::F32)]);
        row.push((200.0, Scalar::U8));
        row.extend([(p[3], Scalar::F32), (p[4], Scalar::F64), (p[5], Scalar::F32)]);
        write(&mut row);
    }
    for _ in 0..2 {
        row.push((3.0, Scalar::U8));
        row.extend((0..3).map(|i| (f64::from(i), Scalar::I32)));
        write(&mut row);
    }
    for _ in 0..3 {
        row.push((7.0, Scalar::U16));
        write(&mut row);
    }
    out
}

fn pcd(data: &str) -> Vec<u8> {
    let points = sample();
    let n = points.len();
    let mut out = format!(
        "# .PCD v0.7\nVERSION 0.7\nFIELDS rgb x y z pair normal_x normal_y normal_z\n\
         SIZE 4 4 8 4 2 4 4 8\nTYPE U F F F I F F F\nCOUNT 1 1 1 1 2 1 1 1\nWIDTH {n}\nHEIGHT 1\n\
         VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n}\nDATA {data}\n"
    )
    .into_bytes();
    // for each field, its numbers for every point
    let column = |i: usize| -> Vec<Vec<f64>> { points.iter().map(|p| vec![p[i]]).collect() };
    let fields: Vec<(Scalar, Vec<Vec<f64>>)> = vec![
        (Scalar::U32, vec![vec![255.0]; n]),
        (Scalar::F32, column(0)),
        (Scalar::F64, column(1)),
        (Scalar::F32, column(2)),
        (Scalar::I16, vec![vec![1.0, -2.0]; n]),
        (Scalar::F32, column(3)),
        (Scalar::F32, column(4)),
        (Scalar::F64, column(5)),
    ];
    let of = |kind: Scalar, xs: &[f64]| -> Vec<u8> {
        xs.iter().flat_map(|x| bytes(*x, kind, false)).collect()
    };
    match data {
        "ascii" => {
            for k in 0..n {
                let words: Vec<String> =
                    fields.iter().flat_map(|(_, f)| f[k].iter().map(f64::to_string)).collect();
                out.extend(format!("{}\n", words.join(" ")).bytes());
            }
        }
        "binary" => {
            for k in 0..n {
                out.extend(fields.iter().flat_map(|(kind, f)| of(*kind, &f[k])));
            }
        }
        _ => {
            let plain: Vec<u8> =
                fields.iter().flat_map(|(kind, f)| of(*kind, &f.concat())).collect();
            // literal runs only
            let packed: Vec<u8> = plain
                .chunks(32)
                .flat_map(|run| std::iter::once(run.len() as u8 - 1).chain(run.iter().copied()))
                .collect();
            out.extend((packed.len() as u32).to_le_bytes());
            out.extend((plain.len() as u32).to_le_bytes());
            out.extend(packed);
        }
    }
    out
}

fn table(separator: &str, head: &str) -> Vec<u8> {
    let mut out = head.to_owned();
    for p in sample() {
        let words: Vec<String> = p.iter().map(f64::to_string).collect();
        out.push_str(&words.join(separator));
        out.push_str("\r\n");
    }
    out.into_bytes()
}

fn obj() -> Vec<u8> {
    let line = |p: &[f64; 6]| {
        let [x, y, z, nx, ny, nz] = p;
        format!("v {x} {y} {z} 1.0\nvn {nx} {ny} {nz}\n")
    };
    let lines: Vec<String> = sample().iter().map(line).collect();
    format!("# an object\no thing\n{}f 1//1 2//2 3//3\n", lines.concat()).into_bytes()
}

fn npy(version: u8, descr: &str, fortran: bool) -> Vec<u8> {
    let points = sample();
    let order = if fortran { "True" } else { "False" };
    let head = format!(
        "{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({}, 6), }}     \n",
        points.len()
    );
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    if version == 1 {
        out.extend((head.len() as u16).to_le_bytes());
    } else {
        out.extend((head.len() as u32).to_le_bytes());
    }
    out.extend(head.bytes());
    let kind = if descr.ends_with('4') { Scalar::F32 } else { Scalar::F64 };
    let numbers: Vec<f64> = if fortran {
        (0..6).flat_map(|i| points.iter().map(move |p| p[i]).collect::<Vec<_>>()).collect()
    } else {
        points.concat()
    };
    out.extend(numbers.iter().flat_map(|x| bytes(*x, kind, descr.starts_with('>'))));
    out
}

/// One set of points in every cloud format: name, extension, and bytes of each file.
fn files() -> Vec<(String, &'static str, Vec<u8>)> {
    let mut all = Vec::new();
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        all.push((format!("ply {format}"), "ply", ply(format)));
    }
    for data in ["ascii", "binary", "binary_compressed"] {
        all.push((format!("pcd {data}"), "pcd", pcd(data)));
    }
    all.push(("xyz".into(), "xyz", table(" ", "")));
    all.push(("xyz with remarks".into(), "txt", table("\t ", "# one\n\n// two\n")));
    all.push(("csv".into(), "csv", table(", ", "x,y,z,nx,ny,nz\n")));
    all.push(("semicolons".into(), "asc", table(";", "here; they; come\n")));
    all.push(("pts".into(), "pts", table(" ", "7\n")));
    all.push(("obj".into(), "obj", obj()));
    for (version, descr, fortran) in
        [(1, "<f8", false), (2, "<f4", true), (3, ">f8", true), (1, ">f4", false)]
    {
        all.push((format!("npy {version} {descr}"), "npy", npy(version, descr, fortran)));
    }
    all
}

fn check(name: &str, found: &FilePoints, normals: bool) {
    let want = sample();
    let points: Vec<Vec3> = want.iter().map(|p| Vec3::new(p[0], p[1], p[2])).collect();
    assert_eq!(found.points, points, "{name}");
    assert_eq!(found.rows, (0..want.len() as u32).collect::<Vec<_>>(), "{name}");
    assert_eq!((found.n_read, found.n_invalid), (want.len(), 0), "{name}");
    assert_eq!(found.normals.is_some(), normals, "{name}");
    for (n, p) in found.normals.iter().flatten().zip(&want) {
        // 0.6 and 0.8 in single precision have errors of 3e-8
        assert!((*n - Vec3::new(p[3], p[4], p[5])).max_abs() < 1e-7, "{name}");
        assert!((n.norm() - 1.0).abs() < 1e-15, "{name}");
    }
}

#[test]
fn every_format_gives_the_same_points() {
    let files = files();
    assert_eq!(files.len(), 16);
    for (name, ending, bytes) in &files {
        check(name, &parse(bytes, ending, PLAIN).unwrap_or_else(|e| panic!("{name}: {e:?}")), true);
        check(name, &parse(bytes, ending, NO_NORMALS).unwrap(), false);
    }
}

/// A truncated file is refused, at whatever byte it ends. Truncation cannot be detected in `.xyz`
/// and `.obj` files, nor in the last digits of text.
#[test]
fn files_cut_short_are_refused() {
    for (name, ending, bytes) in files() {
        let text = !name.contains("binary") && ending != "npy";
        for length in 0..bytes.len() {
            let found = parse(&bytes[..length], ending, PLAIN);
            if matches!(ending, "ply" | "pcd" | "npy" | "pts") {
                let last_line = text && !bytes[length..].trim_ascii_end().contains(&b'\n');
                assert!(found.is_err() || last_line, "{name} cut at {length}");
            }
        }
        let mut longer = bytes.clone();
        longer.extend(b"1 2 3 4 5 6\n");
        if matches!(ending, "ply" | "pcd" | "npy" | "pts") {
            assert!(parse(&longer, ending, PLAIN).is_err(), "{name} with more at its end");
        }
    }
}

#[track_caller]
fn refused(ending: &str, bytes: impl AsRef<[u8]>, place: Place, words: &[&str]) {
    let fault: Fault = parse(bytes.as_ref(), ending, PLAIN).expect_err("a mistake");
    assert_eq!(fault.place, place, "{}", fault.message);
    for word in words {
        assert!(fault.message.contains(word), "`{}` does not say `{word}`", fault.message);
    }
}

#[test]
fn mistakes_have_a_place() {
    use Place::{Byte, Line, Whole};
    refused("xyz", " \n\n", Whole, &["empty"]);
    refused("xyz", "# nothing\n", Whole, &["no point"]);
    refused("xyz", "0 0 0\n1 2\n", Line(2), &["2 columns", "have 3"]);
    refused("xyz", "0 0 0\n1 two 3\n", Line(2), &["`two`"]);
    refused("xyz", "0 0 0 255\n", Line(1), &["4 columns", "3 (x y z)"]);
    refused("csv", "1,2,,4\n", Line(1), &["4 columns"]);
    refused("csv", "x,y,z\n1,,3\n", Line(2), &["`` is no number"]);
    refused("xyz", "0 0 0 200 100 50\n", Line(1), &["no unit normal", "normals: none"]);
    refused("pts", "3\n0 0 0\n1 1 1\n", Line(1), &["3 points", "2 follow"]);
    refused("obj", "v 0 0 0\nv 1 1\n", Line(2), &["fewer than 3"]);
    refused("obj", "f 1 2 3\n", Whole, &["no point"]);
    refused("xyz", "0 0 0 0 0 1\n1 1 1 0 0 0\n", Line(2), &["normal of point 1", "zero"]);

    let head = |n: &str, rest: &str| {
        format!("ply\nformat ascii 1.0\nelement vertex {n}\nproperty float x\n{rest}end_header\n")
    };
    let xyz = "property float y\nproperty float z\n";
    refused("ply", "plx\n", Line(1), &["`ply`"]);
    refused("ply", "ply\nformat ascii 1.0\n", Line(2), &["end_header"]);
    refused("ply", "ply\nformat ascii 2.0\nend_header\n", Line(2), &["`2.0`"]);
    refused("ply", "ply\nformat ascii 1.0\nend_header\n", Whole, &["no element `vertex`"]);
    refused("ply", "ply\nproperty float x\n", Line(2), &["before any element"]);
    refused("ply", head("-1", xyz), Line(3), &["`-1`"]);
    refused("ply", head("0", xyz), Whole, &["no point"]);
    refused("ply", head("1", ""), Line(3), &["no property `y`"]);
    refused("ply", head("1", xyz) + "1.5 2.5\n", Line(8), &["ends before `z`"]);
    refused("ply", head("1", xyz) + "1 2 3 4\n", Line(8), &["`4`", "whole `vertex`"]);
    refused("ply", head("2", xyz) + "1.125 2.125 3.125\n", Line(8), &["after 1 of 2"]);
    refused("ply", head("1", xyz) + "1 2 3\n4 5 6\n", Line(9), &["`4 5 6`"]);
    refused("ply", head("1", "property list float int a\n"), Line(5), &["whole number"]);
    refused("ply", head("1", "property float128 y\n"), Line(5), &["property float128 y"]);

    let pcd_head = |n: &str| {
        format!("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {n}\nHEIGHT 1\nDATA ascii\n")
    };
    refused("pcd", pcd_head("1") + "1.5 2.5\n", Line(7), &["2 numbers", "has 3"]);
    refused("pcd", pcd_head("2") + "1.125 2.125 3.125\n", Line(7), &["after 1 of 2"]);
    refused("pcd", pcd_head("x"), Line(4), &["`x`"]);
    refused("pcd", "FIELDS x y\nSIZE 4 4\nTYPE F F\nWIDTH 1\nDATA ascii\n1 2\n", Line(1), &["`z`"]);
    refused(
        "pcd",
        "FIELDS x y z\nSIZE 4 4\nTYPE F F F\nWIDTH 1\nDATA ascii\n",
        Line(5),
        &["2 sizes"],
    );
    refused("pcd", "WIDTH 2\nPOINTS 3\nFIELDS x\nSIZE 4\nTYPE F\nDATA ascii\n", Line(6), &["is 2"]);
    refused("pcd", "FIELDS x\nSIZE 3\nTYPE F\nWIDTH 1\nDATA ascii\n", Line(5), &["`F` of 3 bytes"]);

    refused("npy", "NUMPY", Byte(0), &["no .npy file"]);
    let array = |text: &str| {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((text.len() as u16).to_le_bytes());
        out.extend(text.bytes());
        out
    };
    let whole = |shape: &str, descr: &str| {
        array(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"))
    };
    refused("npy", whole("(4,)", "'<f8'"), Byte(10), &["(n, 3)"]);
    refused("npy", whole("(4, 4)", "'<f8'"), Byte(10), &["(n, 3)"]);
    refused("npy", whole("(4, 3)", "'<i8'"), Byte(10), &["`'<i8'", "f4 and f8"]);
    refused("npy", whole("(4, 3)", "[('x', '<f4')]"), Byte(10), &["f4 and f8"]);
    refused("npy", array("{'descr': '<f8'}"), Byte(10), &["no `fortran_order`"]);
}

/// Counts in a header are checked against the length of the file before memory is allocated.
#[test]
fn promises_that_a_file_cannot_hold_are_refused() {
    for n in ["1000000000", "4000000000000000000", "18446744073709551615"] {
        let ply = |format: &str, extra: &str| {
            format!(
                "ply\nformat {format} 1.0\n{extra}element vertex {n}\nproperty float x\n\
                 property float y\nproperty float z\nend_header\n0 0 0\n"
            )
        };
        for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
            let fault = parse(ply(format, "").as_bytes(), "ply", PLAIN).unwrap_err();
            assert!(fault.message.contains(n), "{}", fault.message);
            // an element that is skipped
            let lists = format!("element face {n}\nproperty list uchar int v\n");
            assert!(parse(ply(format, &lists).as_bytes(), "ply", PLAIN).is_err());
            // elements of zero bytes could be counted without end
            let none = format!("element none {n}\n");
            let fault = parse(ply(format, &none).as_bytes(), "ply", PLAIN).unwrap_err();
            assert!(fault.message.contains("no property"), "{}", fault.message);
        }
        for data in ["ascii", "binary", "binary_compressed"] {
            let text = format!(
                "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {n}\nHEIGHT 2\nDATA {data}\n0 0 0 0 0 0\n"
            );
            assert!(parse(text.as_bytes(), "pcd", PLAIN).is_err(), "{data}");
            // fields with COUNT 0: points of zero bytes
            let text = text.replace("TYPE", "COUNT 0 0 0\nTYPE");
            assert!(parse(text.as_bytes(), "pcd", PLAIN).is_err(), "{data}");
        }
        assert!(parse(format!("{n}\n0 0 0\n").as_bytes(), "pts", PLAIN).is_err());
        let head = format!("{{'descr': '<f8', 'fortran_order': True, 'shape': ({n}, 3)}}");
        let mut array = b"\x93NUMPY\x01\x00".to_vec();
        array.extend((head.len() as u16).to_le_bytes());
        array.extend(head.bytes());
        assert!(parse(&array, "npy", PLAIN).is_err());
    }
}

/// Depth cameras write NaN where nothing was seen.
#[test]
fn points_that_are_not_finite_are_refused_or_dropped() {
    for word in ["nan", "NaN", "-nan", "-nan(ind)", "1.#QNAN", "inf", "-inf", "1e999"] {
        let text = format!("0 0 0 0 0 1\n1 {word} 1 0 0 1\n2 2 2 0 0 1\n3 3 3 {word} 0 1\n");
        refused("xyz", &text, Place::Line(2), &["point 1", "drop_invalid"]);
        let found = parse(text.as_bytes(), "xyz", DROP).unwrap();
        assert_eq!((found.n_read, found.n_invalid), (4, 2), "{word}");
        assert_eq!(found.rows, [0, 2]);
        assert_eq!(found.points[1], Vec3::new(2.0, 2.0, 2.0));
    }
    let mut bytes = npy(1, "<f8", false);
    let first = bytes.len() - 7 * 48;
    bytes[first + 48..first + 56].copy_from_slice(&f64::NAN.to_le_bytes());
    refused("npy", &bytes, Place::Byte(first + 48), &["point 1 "]);
    assert_eq!(parse(&bytes, "npy", DROP).unwrap().n_invalid, 1);
    refused("xyz", "nan 0 0\n", Place::Line(1), &["`drop_invalid: true`"]);
    let fault = parse(b"0 nan 0\n", "xyz", DROP).unwrap_err();
    assert!(fault.message.contains("none of its 1 points"), "{}", fault.message);
}

/// Normals that are all zero count as missing.
#[test]
fn normals_that_are_all_zero_are_none() {
    let found = parse(b"0 0 0 0 0 0\n1 1 1 0 0 0\n", "xyz", PLAIN).unwrap();
    assert_eq!(found.normals, None);
    assert_eq!(found.points.len(), 2);
}

#[test]
fn colours_are_no_normals() {
    let colours = "x y z r g b\n0 0 0 200 100 50\n1 2 3 0 0 0\n";
    let found = parse(colours.as_bytes(), "txt", PLAIN).unwrap();
    assert_eq!((found.points.len(), found.normals), (2, None));
    let wide = "intensity,z,y,x\n9,3,2,1\n";
    assert_eq!(parse(wide.as_bytes(), "csv", PLAIN).unwrap().points, [Vec3::new(1.0, 2.0, 3.0)]);
    let bright = b"2\n1 2 3 -900 10 20 30\n4 5 6 100 0 0 0\n";
    let found = parse(bright, "pts", PLAIN).unwrap();
    assert_eq!((found.points[1], found.normals), (Vec3::new(4.0, 5.0, 6.0), None));
    let found = parse(b"0 0 0 200 100 50\n", "xyz", NO_NORMALS).unwrap();
    assert_eq!(found.points.len(), 1);
}

/// Knuth's MMIX generator, seeded, so that failures are reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [&[u8]; 12] = [
        b"nan",
        b"-1",
        b"999999999999",
        b"18446744073709551615",
        b"0",
        b"1e400",
        b"list",
        b"\n",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x00",
        b"element none 4000000000\n",
        b"'",
    ];
    for _ in 0..=random.below(3) {
        let n = bytes.len();
        let at = random.below(n + 1);
        match random.below(6) {
            0 if at < n => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..(at + random.below(20)).min(n))),
            3 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..(at + random.below(2) * word.len()).min(n), word.iter().copied());
            }
            4 if at < n => {
                // replace digits by other digits: changes counts, sizes and versions
                if let Some(k) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    bytes[at + k] = b'0' + random.below(10) as u8;
                }
            }
            _ => {
                let to = (at + random.below(40)).min(n);
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
}

#[test]
fn changed_files_are_read_or_refused() {
    let mut random = Random(3);
    for (name, ending, original) in files() {
        let mut refused = 0;
        for _ in 0..3000 {
            let mut bytes = original.clone();
            mutate(&mut bytes, &mut random);
            for options in [PLAIN, DROP] {
                match parse(&bytes, ending, options) {
                    Ok(found) => {
                        let n = found.points.len();
                        assert!(n > 0 && found.rows.len() == n);
                        assert_eq!(n + found.n_invalid, found.n_read);
                        assert!(found.points.iter().all(|p| p.is_finite()));
                        assert!(found.rows.iter().is_sorted());
                        for n in found.normals.iter().flatten() {
                            assert!((n.norm() - 1.0).abs() < 1e-12);
                        }
                    }
                    Err(fault) => {
                        assert!(!fault.message.is_empty());
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused > 500, "{name}: {refused} of 6000 refused");
    }
}
