//! `quasistep reproduce`.

use crate::ReproduceArgs;
use crate::clock::thread_cpu_ns;
use crate::failure::Failure;
use crate::wait::Wait;
use quasistep_reproduce::{FIGURES, Figure};

pub fn reproduce(arguments: &ReproduceArgs, quiet: bool) -> Result<(), Failure> {
    if arguments.list {
        for figure in &FIGURES {
            say!("{:<18} {}", figure.name, figure.title);
        }
        return Ok(());
    }
    let wanted = select(&arguments.figures)?;
    for figure in wanted {
        if !quiet {
            say!("{}: {}", figure.name, figure.title);
        }
        let simulating = Wait::new("simulating", quiet);
        let result = figure
            .regenerate(&arguments.out, thread_cpu_ns)
            .map_err(|e| Failure::world(format!("{}: {e}", figure.name)))?;
        drop(simulating);
        if !quiet {
            crate::say::out(format_args!("{}", result.table()), "");
            for file in &result.files {
                say!("  {}", file.display());
            }
        }
    }
    Ok(())
}

fn select(names: &[String]) -> Result<Vec<&'static Figure>, Failure> {
    if names.is_empty() {
        return Ok(FIGURES.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            FIGURES.iter().find(|f| f.name == *name).ok_or_else(|| {
                let valid: Vec<&str> = FIGURES.iter().map(|f| f.name).collect();
                Failure::usage(format!("no figure `{name}`; valid: {}", valid.join(", ")))
            })
        })
        .collect()
}
