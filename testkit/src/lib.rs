//! Scenes, references and oracles shared by the tests and benches of quasistep.
