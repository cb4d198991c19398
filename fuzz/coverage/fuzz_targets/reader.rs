//! Fuzzes one file of the format `QUASISTEP_FORMAT`; other files of the case are those of its seed.
//! Seeds are added to the folder `QUASISTEP_CORPUS`.
#![no_main]

use fuzz::files::{self, Files};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::LazyLock;

static SEED: LazyLock<(String, Files, String)> = LazyLock::new(|| {
    let format = std::env::var("QUASISTEP_FORMAT").unwrap_or_default();
    let seeds = files::seeds_of(&format);
    assert!(!seeds.is_empty(), "QUASISTEP_FORMAT is {format:?}; valid are {:?}", files::formats());
    let own = files::own_file(&format, &seeds[0]);
    (format, seeds[0].clone(), own)
});

/// Writes the unmodified seeds.
fn write_seeds() {
    let Some(corpus) = std::env::var_os("QUASISTEP_CORPUS").map(PathBuf::from) else { return };
    let format = &SEED.0;
    for (k, seed) in files::seeds_of(format).iter().enumerate() {
        let own = &seed[&files::own_file(format, seed)];
        std::fs::write(corpus.join(format!("seed-{k}")), own).expect("the corpus is a folder");
    }
}

fuzz_target!(init: write_seeds(), |bytes: &[u8]| {
    let (format, seed, own) = &*SEED;
    let mut files = seed.clone();
    files.insert(own.clone(), bytes.to_vec());
    if let Err(complaint) = files::read::read(format, &files) {
        panic!("{complaint}");
    }
});
