//! Heads of HTTP requests, and who may ask.

use std::io::{self, Read};

/// Largest head of a request, in bytes.
const MOST_BYTES: usize = 16_000;
/// Largest number of header lines.
const MOST_LINES: usize = 100;

/// What a request asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub method: String,
    /// Path without what follows `?`.
    pub path: String,
    /// Token in the address; empty if there is none.
    pub token: String,
    pub host: String,
    pub origin: Option<String>,
    /// Key of a request that wants a socket.
    pub socket_key: Option<String>,
    /// Bytes that were read behind the head.
    pub rest: Vec<u8>,
}

impl Request {
    /// Reads the head of a request.
    ///
    /// # Errors
    ///
    /// If it is no head, or too long.
    pub fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let mut part = [0; 2048];
        loop {
            let n = stream.read(&mut part)?;
            bytes.extend_from_slice(&part[..n]);
            if let Some(request) = Self::parse(&bytes)? {
                return Ok(request);
            }
            if n == 0 || bytes.len() > MOST_BYTES {
                return Err(io::Error::from(io::ErrorKind::InvalidData));
            }
        }
    }

    /// The request in these bytes; `None` if its end is missing.
    fn parse(bytes: &[u8]) -> io::Result<Option<Self>> {
        let mut lines = [httparse::EMPTY_HEADER; MOST_LINES];
        let mut head = httparse::Request::new(&mut lines);
        let httparse::Status::Complete(end) = head.parse(bytes).map_err(io::Error::other)? else {
            return Ok(None);
        };
        let whole = head.path.unwrap_or_default();
        let (path, query) = whole.split_once('?').unwrap_or((whole, ""));
        let token = query.split('&').find_map(|part| part.strip_prefix("token="));
        let mut request = Self {
            method: head.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            token: token.unwrap_or_default().to_owned(),
            rest: bytes[end..].to_vec(),
            ..Self::default()
        };
        for line in head.headers.iter() {
            let value = String::from_utf8_lossy(line.value).trim().to_owned();
            match line.name.to_ascii_lowercase().as_str() {
                "host" => request.host = value,
                "origin" => request.origin = Some(value),
                "sec-websocket-key" => request.socket_key = Some(value),
                _ => {}
            }
        }
        Ok(Some(request))
    }

    /// Whether this may be answered: it has the token, and it names this address as its host. A page of
    /// another site, whose name may lead here, names its own.
    pub fn is_allowed(&self, token: &str, port: u16) -> bool {
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let is_own = |host: &str| hosts.iter().any(|own| own == host);
        let from_here = match (&self.origin, &self.socket_key) {
            (Some(origin), _) => origin.strip_prefix("http://").is_some_and(is_own),
            (None, socket) => socket.is_none(),
        };
        is_own(&self.host) && from_here && is_same(&self.token, token)
    }
}

/// Compares in a time that does not tell where two texts differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}
