//! Commands that serve a page until Ctrl-C.
#![cfg(unix)]

use crate::common::{Folder, ends, messages, quasistep, root};
use quasistep_record::{Finish, Recording};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A command that serves, and its address.
fn serve(arguments: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quasistep"))
        .args(arguments)
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.as_mut().unwrap());
    let is_address = |line: &String| line.starts_with("http://127.0.0.1:");
    let address = out.lines().map_while(Result::ok).find(is_address).expect("an address is told");
    (child, address)
}

/// The answer to a request for the address.
fn get(address: &str) -> String {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Ctrl-C ends the command with success.
fn interrupt(child: Child) {
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let output = child.wait_with_output().unwrap();
    ends(&output, 0);
}

#[test]
fn a_live_run_leaves_the_files_of_a_run() {
    let out = Folder::new("live");
    let arguments = ["run", "scenes/gripper_2d.yml", "--live", "--csv", "-o", out.text()];
    let (child, address) = serve(&arguments);
    let page = get(&address);
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("gripper.x_l"));
    assert!(get(&address[..address.len() - 1]).starts_with("HTTP/1.1 403"));
    interrupt(child);
    let recording = Recording::read(&out.0.join("recording.qsr")).unwrap();
    assert_eq!((recording.frames.len(), &recording.finish), (1, &Finish::Done));
    assert!(out.0.join("view.html").is_file() && out.0.join("states.csv").is_file());
}

#[test]
fn poses_are_served_and_leave_no_files() {
    let (child, address) = serve(&["view", "scenes/gripper_2d.yml", "--live", "--quiet"]);
    assert!(get(&address).contains("\"kind\":\"poses\""));
    interrupt(child);
}

#[test]
fn what_cannot_be_live_is_refused() {
    let out = Folder::new("live-refused");
    std::fs::create_dir_all(&out.0).unwrap();
    let (_, errors) = ends(&quasistep(&["view", out.text(), "--live"]), 2);
    let said = messages(&errors);
    assert!(
        said[0].ends_with(
            "is the folder of a run, which is over; give a scene file or a robot's file"
        ),
        "{errors}"
    );
    ends(&quasistep(&["view", "scenes/pinch.yml", "--live", "--csv"]), 2);
    ends(&quasistep(&["run", "scenes/pinch.yml", "--live", "--strict"]), 2);
}
