//! What each method of a solver is worth, as tables for `docs/solvers.md`:
//!
//! `cargo run --release -p benches --bin methods -- coulomb`

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("coulomb") => print!("{}", benches::friction_methods::table()),
        _ => eprintln!("usage: methods coulomb"),
    }
}
