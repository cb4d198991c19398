//! Who may ask the server, and what it answers.

use crate::session::{box_on_floor, scene};
use quasistep_live::{Live, Session};
use std::io::{Read, Write};
use std::net::TcpStream;

/// Port and token of an address.
fn parts(address: &str) -> (u16, String) {
    let rest = address.strip_prefix("http://127.0.0.1:").unwrap();
    let (port, token) = rest.split_once("/?token=").unwrap();
    (port.parse().unwrap(), token.to_owned())
}

/// The answer to a request with these lines.
fn ask(port: u16, lines: &[&str]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "{}\r\n\r\n", lines.join("\r\n")).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn requests_without_token_or_of_other_sites_are_forbidden() {
    let mut live = Live::open(Session::new(scene(&box_on_floor(1.0, "size: 0.01")))).unwrap();
    let (port, token) = parts(live.address());
    assert_eq!(token.len(), 32);
    let (host, get) = (format!("Host: 127.0.0.1:{port}"), format!("GET /?token={token} HTTP/1.1"));
    let socket = format!("GET /socket?token={token} HTTP/1.1");
    let status = |lines: &[&str]| ask(port, lines).split(' ').nth(1).map(str::to_owned);
    let local = format!("Host: localhost:{port}");
    for allowed in [&host, &local] {
        assert_eq!(status(&[&get, allowed]).as_deref(), Some("200"), "{allowed}");
    }
    let wrong =
        format!("GET /?token={} HTTP/1.1", token.replace(|c: char| c.is_ascii_digit(), "f"));
    let short = format!("GET /?token={} HTTP/1.1", &token[1..]);
    let key = [
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    let rebound = format!("Host: attacker.example:{port}");
    let foreign = format!("Origin: http://attacker.example:{port}");
    let own = format!("Origin: http://127.0.0.1:{port}");
    let upgrade =
        |more: &[&str]| -> Option<String> { status(&[&[socket.as_str()], more, &key].concat()) };
    for forbidden in [
        status(&["GET / HTTP/1.1", &host]),
        status(&[&wrong, &host]),
        status(&[&short, &host]),
        status(&[&get, &rebound]),
        status(&[&get]),
        status(&[&get, &host, &foreign]),
        upgrade(&[&host]),
        upgrade(&[&host, &foreign]),
        upgrade(&[&host, "Origin: null"]),
        upgrade(&[&rebound, &own]),
    ] {
        assert_eq!(forbidden.as_deref(), Some("403"));
    }
    assert!(
        ask(port, &["GET / HTTP/1.1", &host])
            .ends_with("use the whole address that quasistep printed\n")
    );
    assert_eq!(status(&[&get.replace("GET", "POST"), &host]).as_deref(), Some("405"));
    assert_eq!(status(&[&get.replace("/?", "/etc/passwd?"), &host]).as_deref(), Some("404"));
    assert_eq!(status(&["no request"]).as_deref(), Some("400"));
    let page = ask(port, &[&get, &host]);
    assert!(
        page.contains("Cache-Control: no-store") && page.contains("Referrer-Policy: no-referrer")
    );
    assert!(page.contains(&format!("connect-src ws://127.0.0.1:{port} ws://localhost:{port};")));
    live.close();
    assert!(!live.is_open());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the port is closed");
}
