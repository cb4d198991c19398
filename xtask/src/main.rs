//! Project tasks: cargo xtask ci.

fn main() {}
