//! The program `quasistep`.

use std::process::ExitCode;

fn main() -> ExitCode {
    quasistep_cli::execute(std::env::args_os()).into()
}
