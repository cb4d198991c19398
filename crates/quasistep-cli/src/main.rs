//! The quasistep command line.

fn main() {}
