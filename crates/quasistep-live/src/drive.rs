//! Takes steps of a session in real time, and tells its pages.

use crate::message::Message;
use crate::server::{Event, Server};
use crate::session::Session;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tungstenite::Message as Sent;

/// Longest time for which nothing is looked at.
const REST: Duration = Duration::from_millis(50);
/// Delay behind real time that is not made up for.
const LATE: Duration = Duration::from_millis(100);
/// Time over which the pace is measured.
const MEASURED: Duration = Duration::from_millis(500);

/// What a watcher of [`follow`] sees.
pub enum Watched<'a> {
    /// The first frame, at the start and after each reset.
    Begun(&'a Session),
    /// A step was taken.
    Step(&'a Session),
    /// Nothing new.
    Idle,
}

/// A page, as the loop knows it.
struct Client {
    id: usize,
    out: Sender<Sent>,
    /// Whether it waits for a frame.
    waits: bool,
    /// Versions of the frame and the page that it has.
    has: [u64; 2],
    /// Texts that it has: state and settings.
    knows: [String; 2],
}

/// Words about a message that `quasistep explain` knows.
type Help = fn(&str) -> Option<String>;

struct Drive<'a> {
    session: &'a mut Session,
    server: &'a Server,
    help: Help,
    clients: Vec<Client>,
    /// Real time and simulated time from which steps are paced.
    anchor: (Instant, f64),
    /// Real time and simulated time from which the pace is measured.
    measured: (Instant, f64),
    ratio: Option<f64>,
    settings: String,
    page: u64,
}

/// Takes steps of a session in real time and serves its page until `watch` breaks. `help` adds to the
/// message of an error.
///
/// # Errors
///
/// If this build has no page.
pub fn follow(
    session: &mut Session,
    server: &Server,
    help: Help,
    watch: &mut dyn FnMut(Watched<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let now = Instant::now();
    let t = session.state().time;
    let mut drive = Drive {
        settings: session.settings().to_string(),
        page: session.page_version(),
        session,
        server,
        help,
        clients: Vec::new(),
        anchor: (now, t),
        measured: (now, t),
        ratio: None,
    };
    let mut going = watch(Watched::Begun(drive.session)).is_continue();
    while going {
        let wait = drive.wait();
        let first = match server.events.recv_timeout(wait) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        going = watch(Watched::Idle).is_continue();
        for event in first.into_iter().chain(server.events.try_iter()) {
            going &= drive.hear(event, watch)?.is_continue();
        }
        if drive.session.is_playing() && drive.wait().is_zero() {
            going &= drive.step(watch).is_continue();
        }
        drive.tell();
    }
    Ok(())
}

impl Drive<'_> {
    /// Time until the next step is due.
    fn wait(&self) -> Duration {
        if !self.session.is_playing() {
            return REST;
        }
        let ahead = (self.session.state().time - self.anchor.1) / self.session.pace();
        let due = self.anchor.0 + Duration::from_secs_f64(ahead.max(0.0));
        due.saturating_duration_since(Instant::now()).min(REST)
    }

    /// Paces steps from now on.
    fn anchor(&mut self) {
        let t = self.session.state().time;
        self.anchor = (Instant::now(), t);
        self.measured = self.anchor;
    }

    fn step(&mut self, watch: &mut dyn FnMut(Watched<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let taken = self.session.advance();
        let (now, t) = (Instant::now(), self.session.state().time);
        let ahead = (t - self.anchor.1) / self.session.pace();
        if now.saturating_duration_since(self.anchor.0).as_secs_f64() > ahead + LATE.as_secs_f64() {
            self.anchor = (now, t);
        }
        let since = now.saturating_duration_since(self.measured.0);
        if since > MEASURED {
            self.ratio = Some((t - self.measured.1) / since.as_secs_f64());
            self.measured = (now, t);
        }
        if taken { watch(Watched::Step(self.session)) } else { ControlFlow::Continue(()) }
    }

    /// Does what a page asks.
    fn hear(
        &mut self,
        event: Event,
        watch: &mut dyn FnMut(Watched<'_>) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let (id, text) = match event {
            Event::Joined(id, out) => {
                let knows = [String::new(), String::new()];
                self.clients.push(Client { id, out, waits: false, has: [0, self.page], knows });
                return Ok(ControlFlow::Continue(()));
            }
            Event::Left(id) => {
                self.clients.retain(|client| client.id != id);
                // what nobody holds any more is let go
                if self.clients.is_empty() {
                    let _ = self.session.apply(&Message::Release);
                }
                return Ok(ControlFlow::Continue(()));
            }
            Event::Said(id, text) => (id, text),
        };
        if text == "next" {
            self.clients.iter_mut().filter(|c| c.id == id).for_each(|c| c.waits = true);
            return Ok(ControlFlow::Continue(()));
        }
        let message = Message::read(&text);
        let before = self.session.state().time;
        let done = message.clone().and_then(|message| self.session.apply(&message));
        if let Err(why) = done {
            let help = (self.help)(&why).map(|help| format!("\n{help}")).unwrap_or_default();
            let refused = serde_json::json!({ "refused": why + &help }).to_string();
            self.send(id, &Sent::text(refused));
            return Ok(ControlFlow::Continue(()));
        }
        let now = self.session.state().time;
        let flow = match message {
            Ok(Message::Reset) => {
                self.anchor();
                watch(Watched::Begun(self.session))
            }
            Ok(Message::Set { .. }) => {
                self.settings = self.session.settings().to_string();
                self.anchor();
                if self.session.page_version() != self.page {
                    self.page = self.session.page_version();
                    self.show_page()?;
                }
                // other bodies start anew
                if self.session.report().is_none() {
                    watch(Watched::Begun(self.session))
                } else {
                    ControlFlow::Continue(())
                }
            }
            Ok(Message::Play | Message::Pace(_)) => {
                self.anchor();
                self.ratio = None;
                ControlFlow::Continue(())
            }
            Ok(Message::Step) if now > before => watch(Watched::Step(self.session)),
            _ => ControlFlow::Continue(()),
        };
        Ok(flow)
    }

    fn show_page(&self) -> io::Result<()> {
        self.server.show(self.session.page(&self.server.sockets()).map_err(io::Error::other)?);
        Ok(())
    }

    fn send(&self, id: usize, message: &Sent) {
        for client in self.clients.iter().filter(|client| client.id == id) {
            let _ = client.out.send(message.clone());
        }
    }

    /// Sends what is new to the pages.
    fn tell(&mut self) {
        if self.clients.is_empty() {
            return;
        }
        let ratio = self.ratio.filter(|_| self.session.is_playing());
        // two digits are read; more would change all the time
        let ratio = ratio.map(|ratio| format!("{ratio:.1e}").parse().unwrap_or(ratio));
        let help = self.session.error().and_then(self.help);
        let state = self.session.told(ratio, help.as_deref()).to_string();
        let version = self.session.version();
        let mut bytes = None;
        for client in &mut self.clients {
            if client.knows[1] != self.settings {
                let _ = client.out.send(Sent::text(format!("{{\"settings\":{}}}", self.settings)));
                client.knows[1].clone_from(&self.settings);
            }
            if client.knows[0] != state {
                let _ = client.out.send(Sent::text(state.clone()));
                client.knows[0].clone_from(&state);
            }
            if client.waits && client.has != [version, self.page] {
                let frame = bytes.get_or_insert_with(|| self.session.bytes());
                let _ = client.out.send(Sent::binary(frame.clone()));
                (client.waits, client.has) = (false, [version, self.page]);
            }
        }
    }
}

/// A session in a thread of its own.
pub struct Live {
    address: String,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Serves the page of a session, and takes its steps.
    ///
    /// # Errors
    ///
    /// If no port can be opened, or this build has no page.
    pub fn open(session: Session) -> io::Result<Self> {
        Self::open_with(session, |_| None)
    }

    /// As [`open`](Self::open); `help` adds to the message of an error.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_with(mut session: Session, help: Help) -> io::Result<Self> {
        let server = Server::open(&session)?;
        let address = server.address();
        let stops = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&stops);
        let run = move || {
            let mut watch = |_: Watched<'_>| {
                if own.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let _ = follow(&mut session, &server, help, &mut watch);
        };
        let thread = thread::Builder::new().name("quasistep-session".into()).spawn(run)?;
        Ok(Self { address, stops, thread: Some(thread) })
    }

    /// The page's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// True until [`close`](Self::close).
    pub fn is_open(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the run and the server.
    pub fn close(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.close();
    }
}
