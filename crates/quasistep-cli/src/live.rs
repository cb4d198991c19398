//! `quasistep run --live` and `quasistep view --live`: the page of a run that goes on, until Ctrl-C.

use crate::clock::thread_cpu_ns;
use crate::course::Course;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Output, open_page};
use crate::say;
use crate::spans::Spans;
use crate::stream::Stream;
use crate::summary::Seconds;
use crate::wait::Wait;
use quasistep::Tally;
use quasistep_live::{Server, Session, Watched, follow};
use quasistep_record::{Finish, RunFolder};
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// Serves a run, and writes its frames since its start or its last reset. Returns the scene with the
/// changes that were made.
pub fn run(
    scene: Scene,
    folder: &RunFolder,
    output: &Output,
    quiet: bool,
) -> Result<(Scene, Course), Failure> {
    let mut session = Session::new(scene);
    let server = serve(&session, output.opens(), quiet)?;
    let (start, cpu_start) = (Instant::now(), thread_cpu_ns());
    let (mut tally, mut spans) = (Tally::default(), Spans::default());
    let mut stream: Option<Stream> = None;
    let mut failed = None;
    let mut write = |seen: &Watched<'_>| match seen {
        Watched::Begun(session) => {
            (tally, spans) = (Tally::default(), Spans::default());
            let mut begun = output.stream(&folder.place(), session.scene(), &session.head())?;
            begun.push(session.frame().clone())?;
            stream = Some(begun);
            Ok(())
        }
        Watched::Step(session) => {
            if let Some(report) = session.report() {
                tally.push(report);
                if session.params().uniqueness {
                    spans.push(session.state().time, report.uniqueness.as_ref());
                }
            }
            stream.as_mut().map_or(Ok(()), |stream| stream.push(session.frame().clone()))
        }
        Watched::Idle => Ok(()),
    };
    let mut watch = |seen: Watched<'_>| match write(&seen) {
        Ok(()) if interrupt::is_asked() => ControlFlow::Break(()),
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => {
            failed = Some(failure);
            ControlFlow::Break(())
        }
    };
    follow(&mut session, &server, help, &mut watch).map_err(Failure::usage)?;
    drop(server);
    let seconds = Seconds {
        wall: start.elapsed().as_secs_f64(),
        cpu: (thread_cpu_ns() - cpu_start) as f64 * 1e-9,
    };
    let finished = stream.map_or(Ok(()), |stream| stream.finish(&Finish::Done));
    failed.map_or(finished, Err)?;
    let state = session.state().clone();
    let course = Course {
        state,
        tally,
        spans,
        seconds,
        facts: Vec::new(),
        stopped: None,
        interrupted: false,
    };
    Ok((session.scene().clone(), course))
}

/// Serves the poses of a scene or a robot.
pub fn view(what: &Path, opens: bool, quiet: bool) -> Result<(), Failure> {
    if what.is_dir() {
        return Err(Failure::usage(format!(
            "--live: {} is the folder of a run, which is over; give a scene file or a robot's file",
            what.display()
        )));
    }
    let reading = Wait::new("reading the scene", quiet);
    let scene = Scene::load(what).map_err(Failure::usage)?;
    drop(reading);
    say::warnings(&scene.warnings);
    let mut session = Session::of_poses(scene);
    let server = serve(&session, opens, quiet)?;
    let mut watch = |_: Watched<'_>| {
        if interrupt::is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    follow(&mut session, &server, help, &mut watch).map_err(Failure::usage)
}

/// Opens the server, and tells its address.
fn serve(session: &Session, opens: bool, quiet: bool) -> Result<Server, Failure> {
    session.page(&[]).map_err(Failure::usage)?;
    let server = Server::open(session)
        .map_err(|e| Failure::usage(format!("--live: no address on this machine is free: {e}")))?;
    interrupt::listen();
    let address = server.address();
    // the address is the result: without it there is nothing to see
    if !quiet {
        say!("  live until Ctrl-C; open the page:");
    }
    say!("{address}");
    say::flush();
    if opens {
        open_page(&address);
    }
    Ok(server)
}

fn help(message: &str) -> Option<String> {
    crate::explain::help(std::iter::once(message), None)
}
