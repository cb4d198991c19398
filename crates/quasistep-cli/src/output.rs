//! The files of a run: recording, tables, plots and page.

use crate::failure::Failure;
use crate::wait::Wait;
use clap::Args;
use quasistep_record::{Recording, write_contacts_csv, write_states_csv};
use std::path::{Path, PathBuf};

/// What a run leaves behind.
#[derive(Args)]
pub struct Output {
    /// Write the tables states.csv and contacts.csv too
    #[arg(long)]
    csv: bool,
    /// Keep every N-th step and the last one in all files but summary.json
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Write no 3-D page
    #[arg(long)]
    no_page: bool,
    /// Open the page in the browser
    #[arg(long, conflicts_with = "no_page")]
    open: bool,
}

/// Files that an earlier run may have left in the folder, and that this one may not write.
const OPTIONAL: [&str; 4] = ["states.csv", "contacts.csv", "uniqueness.csv", "view.html"];

impl Output {
    /// Makes the folder; files of an earlier run do not stay beside those of this one.
    pub fn prepare(dir: &Path) -> Result<(), Failure> {
        let fail =
            |path: &Path, e: std::io::Error| Failure::usage(format!("{}: {e}", path.display()));
        std::fs::create_dir_all(dir).map_err(|e| fail(dir, e))?;
        // in a folder without a recording such files are somebody else's
        if !dir.join("recording.qsr").is_file() {
            return Ok(());
        }
        for path in OPTIONAL.map(|file| dir.join(file)).iter().filter(|path| path.is_file()) {
            std::fs::remove_file(path).map_err(|e| fail(path, e))?;
        }
        Ok(())
    }

    /// Writes the recording, the tables if they are wanted, the plots and the page; the path of the page.
    pub fn write(
        &self,
        dir: &Path,
        recording: &Recording,
        quiet: bool,
    ) -> Result<Option<PathBuf>, Failure> {
        let thinned = (self.every > 1).then(|| recording.thinned(self.every as usize));
        let recording = thinned.as_ref().unwrap_or(recording);
        {
            let _wait = Wait::new("writing recording.qsr", quiet);
            recording.write(&dir.join("recording.qsr")).map_err(Failure::usage)?;
        }
        if self.csv {
            write_tables(dir, recording, quiet)?;
        }
        write_plots(dir, recording, quiet)?;
        if self.no_page {
            return Ok(None);
        }
        // a build without npm has no page: the run is done all the same
        if !quasistep_view::has_page() {
            eprintln!(
                "warning: no page was written: install npm, build again, then `quasistep view {}`",
                dir.display()
            );
            return Ok(None);
        }
        let page = dir.join("view.html");
        write_page(recording, &page, quiet)?;
        Ok(Some(page))
    }

    /// Says where the files are, and opens the page if that is wanted.
    pub fn tell(&self, dir: &Path, page: Option<&Path>, quiet: bool) {
        if quiet {
        } else if let Some(page) = page {
            println!("files in {}; open the picture:", dir.display());
            println!("{}", page.display());
        } else {
            println!("files in {}", dir.display());
        }
        if let Some(page) = page.filter(|_| self.open) {
            open(page);
        }
    }
}

/// Shows a page in the browser; a machine without one is told the path.
pub fn open(page: &Path) {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    if let Err(e) = open::that_detached(&page) {
        eprintln!("warning: no program that opens {} was found: {e}", page.display());
    }
}

/// Writes `states.csv` and `contacts.csv` into `dir`.
pub fn write_tables(dir: &Path, recording: &Recording, quiet: bool) -> Result<(), Failure> {
    let _wait = Wait::new("writing states.csv and contacts.csv", quiet);
    write_states_csv(recording, &dir.join("states.csv")).map_err(Failure::usage)?;
    write_contacts_csv(recording, &dir.join("contacts.csv")).map_err(Failure::usage)
}

/// Writes `plots/` into `dir`.
pub fn write_plots(dir: &Path, recording: &Recording, quiet: bool) -> Result<(), Failure> {
    let _wait = Wait::new("drawing the plots", quiet);
    quasistep_view::write_plots(recording, &dir.join("plots")).map_err(Failure::usage)?;
    Ok(())
}

/// Writes a page, and says what it had no room for.
pub fn write_page(recording: &Recording, page: &Path, quiet: bool) -> Result<(), Failure> {
    let left_out = {
        let _wait = Wait::new("writing the page", quiet);
        quasistep_view::write_page(recording, page).map_err(Failure::usage)?
    };
    if !left_out.is_empty() && !quiet {
        println!("  {}, to stay within 20 MB; recording.qsr has all", left_out.join("; "));
    }
    Ok(())
}
