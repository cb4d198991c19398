//! The page and its socket at a loopback address.

use crate::request::Request;
use crate::session::Session;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};

/// Time in which a request has to arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest number of open connections.
const MOST_CONNECTIONS: usize = 64;
/// Largest message of a page, in bytes.
const MOST_BYTES: usize = 100_000;

/// What pages say and ask.
pub(crate) enum Event {
    /// A page is there; it gets messages through this.
    Joined(usize, Sender<Message>),
    /// It sent a text.
    Said(usize, String),
    /// It is gone.
    Left(usize),
}

/// What connections share.
struct Shared {
    token: String,
    port: u16,
    page: Mutex<String>,
    events: Sender<Event>,
    closed: AtomicBool,
    /// Number of connections, and of pages that have come so far.
    open: AtomicUsize,
    pages: AtomicUsize,
    /// Sockets of pages, to close them.
    sockets: Mutex<Vec<(usize, TcpStream)>>,
}

/// Serves the page of a session on 127.0.0.1, at a free port. Requests without the token of its
/// address, or of other sites, get 403.
pub struct Server {
    shared: Arc<Shared>,
    pub(crate) events: Receiver<Event>,
    /// The thread that has the port.
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens a server, which has the page of this session.
    ///
    /// # Errors
    ///
    /// If no port can be opened, the system gives no random numbers, or this build has no page.
    pub fn open(session: &Session) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let mut token = String::new();
        for byte in random {
            let _ = write!(token, "{byte:02x}");
        }
        let (events, received) = channel();
        let page = session.page(&sockets(port)).map_err(io::Error::other)?;
        let shared = Arc::new(Shared {
            token,
            port,
            page: Mutex::new(page),
            events,
            closed: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            pages: AtomicUsize::new(0),
            sockets: Mutex::default(),
        });
        let own = Arc::clone(&shared);
        let accepting = thread::Builder::new()
            .name("quasistep-live".into())
            .spawn(move || accept(&listener, &own))?;
        Ok(Self { shared, events: received, accepting: Some(accepting) })
    }

    /// The page's address.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.shared.port, self.shared.token)
    }

    /// Addresses of sockets, for the page's policy.
    pub(crate) fn sockets(&self) -> [String; 2] {
        sockets(self.shared.port)
    }

    /// Sets the page.
    pub(crate) fn show(&self, page: String) {
        *self.shared.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        for (_, socket) in
            self.shared.sockets.lock().unwrap_or_else(PoisonError::into_inner).drain(..)
        {
            let _ = socket.shutdown(Shutdown::Both);
        }
        // the listener waits for a connection; then the port is closed
        let woken = TcpStream::connect((Ipv4Addr::LOCALHOST, self.shared.port));
        if let Some(accepting) = self.accepting.take().filter(|_| woken.is_ok()) {
            let _ = accepting.join();
        }
    }
}

fn sockets(port: u16) -> [String; 2] {
    ["127.0.0.1", "localhost"].map(|host| format!("ws://{host}:{port}"))
}

/// Answers connections until the server is closed.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.closed.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            shared.open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let own = Arc::clone(shared);
        let answer = move || {
            // a page that goes away while it is answered is no error of the run
            let _ = answer(stream, &own);
            own.open.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().spawn(answer).is_err() {
            shared.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Answers one request.
fn answer(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let Ok(request) = Request::read(&mut stream) else {
        return reply(&mut stream, "400 Bad Request", "no request of HTTP was seen");
    };
    if !request.is_allowed(&shared.token, shared.port) {
        let why = "the token is missing or wrong: use the whole address that quasistep printed";
        return reply(&mut stream, "403 Forbidden", why);
    }
    if request.method != "GET" {
        return reply(&mut stream, "405 Method Not Allowed", "give GET");
    }
    match (request.path.as_str(), request.socket_key) {
        ("/", None) => {
            let page = shared.page.lock().unwrap_or_else(PoisonError::into_inner).clone();
            send(&mut stream, "200 OK", "text/html", &page)
        }
        ("/socket", Some(key)) => {
            write!(
                stream,
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Accept: {}\r\n\r\n",
                derive_accept_key(key.as_bytes())
            )?;
            stream.set_read_timeout(None)?;
            converse(stream, request.rest, shared)
        }
        _ => reply(&mut stream, "404 Not Found", "the page is at /"),
    }
}

fn reply(stream: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    send(stream, status, "text/plain", &format!("{status}: {why}\n"))
}

fn send(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// Passes messages of a page on until it goes; a thread of its own sends those for the page.
fn converse(stream: TcpStream, rest: Vec<u8>, shared: &Shared) -> io::Result<()> {
    let id = shared.pages.fetch_add(1, Ordering::Relaxed);
    let config = WebSocketConfig::default()
        .max_message_size(Some(MOST_BYTES))
        .max_frame_size(Some(MOST_BYTES));
    let mut out = WebSocket::from_raw_socket(stream.try_clone()?, Role::Server, Some(config));
    let known = stream.try_clone()?;
    let mut read = WebSocket::from_partially_read(stream, rest, Role::Server, Some(config));
    let (sender, messages) = channel();
    let writer = thread::Builder::new().spawn(move || {
        for message in messages {
            if out.send(message).is_err() {
                break;
            }
        }
        let _ = out.get_ref().shutdown(Shutdown::Both);
    })?;
    shared.sockets.lock().unwrap_or_else(PoisonError::into_inner).push((id, known));
    let tell = |event| shared.events.send(event).is_ok();
    if tell(Event::Joined(id, sender)) {
        loop {
            match read.read() {
                Ok(Message::Text(text)) if tell(Event::Said(id, text.as_str().to_owned())) => {}
                Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_)) => {}
                Ok(_) | Err(_) => break,
            }
        }
    }
    let _ = read.get_ref().shutdown(Shutdown::Both);
    shared.sockets.lock().unwrap_or_else(PoisonError::into_inner).retain(|(own, _)| *own != id);
    let _ = shared.events.send(Event::Left(id));
    let _ = writer.join();
    Ok(())
}
