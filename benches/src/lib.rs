//! Benchmarks of quasistep on its shipped scenes and on recorded problems: `cargo bench -p benches`.

pub mod recorded;
