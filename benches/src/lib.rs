//! Benchmarks of quasistep on its shipped scenes: `cargo bench -p benches`, and `step_time`, the CPU
//! time of stepping one scene.
