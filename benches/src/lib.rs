//! Benchmarks of quasistep on its shipped scenes and on recorded problems: `cargo bench -p benches`,
//! and `step_time`, the CPU time of stepping one scene.

pub mod recorded;
