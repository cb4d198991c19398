//! Shapes, signed distance, contact patches and broad phase, for quasistep.
