//! Builds the viewer page.

fn main() {}
