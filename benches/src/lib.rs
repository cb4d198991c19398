//! Benchmarks of quasistep on its shipped scenes: `cargo bench -p benches`.
