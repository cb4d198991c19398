//! Benchmarks of quasistep on its shipped scenes.
