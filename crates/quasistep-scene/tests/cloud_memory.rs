//! Reading a point file takes memory in proportion to its size, not to the counts in its header.
//!
//! This test is a binary of its own: it measures the memory of the whole process, in which no other
//! test may run.
#![allow(missing_docs)]
// counting memory needs a global allocator, and `GlobalAlloc` is an unsafe trait
#![allow(unsafe_code)]

use quasistep_scene::Scene;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Watching;

/// Bytes in use, and their maximum since the last reset.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn grow(size: usize) {
    let now = NOW.fetch_add(size, Ordering::Relaxed) + size;
    MOST.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator unchanged
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        grow(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Headers that promise `n` points, and the bytes of one point.
fn promises(n: u64) -> Vec<(&'static str, Vec<u8>)> {
    let ply = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\nelement vertex {n}\nproperty float x\nproperty float y\n\
             property float z\nend_header\n"
        )
        .into_bytes()
    };
    let pcd = |data: &str| {
        format!("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {n}\nHEIGHT 1\nDATA {data}\n")
            .into_bytes()
    };
    let mut packed = pcd("binary_compressed");
    packed.extend(u32::MAX.to_le_bytes());
    packed.extend((12_u64.wrapping_mul(n) as u32).to_le_bytes());
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, 3)}}");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((head.len() as u16).to_le_bytes());
    npy.extend(head.bytes());
    vec![
        ("ply", ply("ascii")),
        ("ply", ply("binary_little_endian")),
        ("ply", ply("binary_big_endian")),
        ("pcd", pcd("ascii")),
        ("pcd", pcd("binary")),
        ("pcd", packed),
        ("pts", format!("{n}\n").into_bytes()),
        ("npy", npy),
    ]
}

// the only test in this binary: others would allocate at the same time
#[test]
fn memory_is_a_small_multiple_of_the_file() {
    let folder = std::env::temp_dir().join(format!("quasistep-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let used = |ending: &str, bytes: &[u8]| {
        std::fs::write(folder.join(format!("scan.{ending}")), bytes).unwrap();
        let text = format!("models: {{a: {{cloud: scan.{ending}}}}}\n");
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let scene = Scene::parse(&text, "scene.yml", "scene", &folder, &[]);
        (scene.is_ok(), MOST.load(Ordering::Relaxed) - before)
    };
    // headers promise a billion points, the files have at most three: memory for file, message and
    // scene text
    for n in [1_000_000_000, u64::MAX] {
        for (ending, head) in promises(n) {
            for body in [&b""[..], b"0 0 0\n1 1 1\n2 2 2\n"] {
                let (read, bytes) = used(ending, &[&head, body].concat());
                assert!(!read && bytes < 100_000, "{ending}: {bytes} bytes");
            }
        }
    }
    // 20 000 points in as few bytes as possible: 6 per point
    let n = 20_000;
    let text = "0 1 2\n".repeat(n);
    for (ending, head) in [("xyz", ""), ("obj", ""), ("ply", "text")] {
        let file = match (ending, head) {
            ("obj", _) => "v 0 1 2\n".repeat(n),
            ("ply", _) => String::from_utf8(promises(n as u64)[0].1.clone()).unwrap() + &text,
            _ => text.clone(),
        };
        let (read, bytes) = used(ending, file.as_bytes());
        // memory for points, indices and a growing list; then for the cloud, its tree and its dots
        assert!(read && bytes < 60 * file.len(), "{ending}: {bytes} for {}", file.len());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
