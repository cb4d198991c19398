//! Worker process of the fuzzer. It reads one line of JSON, a case or its seed, and writes one
//! line, a verdict.
//!
//! A panic becomes part of the verdict. A case that exceeds the [`STEP_LIMIT`] or the `MEMORY` of
//! the process ends the process, with or without a verdict. The [`Worker`] at the other end of the
//! pipe then starts another process.

use crate::target::{Target, Verdict, target};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Limit of CPU time of a judge between two calls of [`progress`]: for one step, file or program.
pub const STEP_LIMIT: Duration = Duration::from_secs(10);
/// Wall time after which a process that uses no CPU counts as hung. It is long because a loaded
/// machine gives it only a share of a core.
const SILENCE: Duration = Duration::from_mins(5);
/// Address space of a worker, in bytes: 1 GiB, plus a quarter for code and stacks.
const MEMORY: u64 = 5 << 28;

/// CPU time of this process at the last call of [`progress`], in ns.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Message and location of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// CPU time of this process, in ns.
fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Resets the time limit, at the start of a new piece of work.
pub fn progress() {
    LAST.store(cpu_ns(), Ordering::Relaxed);
}

/// CPU time since the last call of [`progress`].
pub fn spent() -> Duration {
    Duration::from_nanos(cpu_ns().saturating_sub(LAST.load(Ordering::Relaxed)))
}

/// Judges a case, with comparisons if `compare`. A panic becomes a finding.
pub fn judge(target: &Target, case: &Value, compare: bool) -> Verdict {
    let Some(judge) = target.judge else { return Verdict::default() };
    progress();
    catch_unwind(AssertUnwindSafe(|| judge(case, compare))).unwrap_or_else(|_| {
        let mut verdict = Verdict::default();
        let text = PANIC.lock().map(|text| text.clone()).unwrap_or_default();
        // a shrunk case may panic at the same location with other numbers in the message
        let place = text.split(": ").next().unwrap_or_default().to_owned();
        verdict.blame(format!("panic at {place}"), text);
        verdict
    })
}

/// Installs a panic hook that stores location and message and prints nothing.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!("{}:{}", l.file(), l.line()));
        let said = info.payload();
        let said = said
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| said.downcast_ref::<String>().cloned());
        if let Ok(mut text) = PANIC.lock() {
            *text = format!("{}: {}", place.unwrap_or_default(), said.unwrap_or_default());
        }
    }));
}

/// Main loop of a worker process, until its input ends.
pub fn serve() {
    keep_panics();
    let limit = rustix::process::Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    // where the limit cannot be set, the peak is still reported
    rustix::process::setrlimit(rustix::process::Resource::As, limit).ok();
    progress();
    std::thread::spawn(watch);
    for line in stdin().lock().lines().map_while(Result::ok) {
        let task: Value = serde_json::from_str(&line).unwrap_or_default();
        let name = task["target"].as_str().unwrap_or_default();
        let verdict = target(name).map_or_else(Verdict::default, |target| {
            progress();
            let case = match task["seed"].as_u64() {
                Some(seed) => (target.draw)(seed),
                None => task["case"].clone(),
            };
            judge(&target, &case, task["compare"] != json!(false))
        });
        let mut answer = verdict.to_json();
        answer["peak"] = json!(peak_bytes());
        say(&answer);
    }
}

/// Ends the process with a verdict when a piece of work takes too long.
fn watch() {
    loop {
        std::thread::sleep(Duration::from_millis(50));
        if spent() > STEP_LIMIT {
            let mut verdict = Verdict::default();
            verdict.blame("hang", format!("more than {} CPU seconds", STEP_LIMIT.as_secs()));
            say(&verdict.to_json());
            std::process::exit(3);
        }
    }
}

fn say(answer: &Value) {
    let mut out = stdout().lock();
    // if the reader is gone, the process ends with its input
    drop(writeln!(out, "{answer}").and_then(|()| out.flush()));
}

/// Peak memory of this process in bytes; 0 where the system does not report it.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    1024 * kib.unwrap_or(0)
}

/// A worker process, started when needed.
pub struct Worker {
    command: Vec<String>,
    running: Option<Running>,
    /// Largest memory of its processes, in bytes.
    pub peak: u64,
}

struct Running {
    child: Child,
    to: ChildStdin,
    lines: Receiver<String>,
}

impl Worker {
    /// A worker with this command line.
    pub fn new(command: Vec<String>) -> Self {
        Self { command, running: None, peak: 0 }
    }

    /// Requests a verdict. `task` contains a `target`, and a `seed` or a `case`.
    ///
    /// # Errors
    ///
    /// If the worker cannot be started.
    pub fn ask(&mut self, task: &Value) -> std::io::Result<Verdict> {
        if self.running.is_none() {
            self.running = Some(self.start()?);
        }
        let Some(running) = &mut self.running else { return Ok(Verdict::default()) };
        let sent = writeln!(running.to, "{task}").and_then(|()| running.to.flush());
        let answer = match sent {
            Ok(()) => running.lines.recv_timeout(SILENCE),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match answer {
            Ok(line) => {
                let value: Value = serde_json::from_str(&line).unwrap_or_default();
                self.peak = self.peak.max(value["peak"].as_u64().unwrap_or(0));
                if value.get("peak").is_none() {
                    // the worker's time limit ended it
                    self.stop();
                }
                Ok(Verdict::from_json(&value))
            }
            Err(why) => {
                let status = self.stop();
                let mut verdict = Verdict::default();
                match why {
                    RecvTimeoutError::Timeout => {
                        verdict.blame("hang", "no answer, and no CPU time");
                    }
                    RecvTimeoutError::Disconnected => {
                        verdict.blame("process died", status);
                    }
                }
                Ok(verdict)
            }
        }
    }

    fn start(&self) -> std::io::Result<Running> {
        let mut child = Command::new(&self.command[0])
            .args(&self.command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let gone = || std::io::Error::other("the worker has no pipe");
        let (to, from) =
            (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Running { child, to, lines })
    }

    /// Ends the process; returns a description of how it ended.
    fn stop(&mut self) -> String {
        let Some(Running { mut child, to, .. }) = self.running.take() else { return String::new() };
        drop(to);
        // a process that has ended by itself keeps its status
        std::thread::sleep(Duration::from_millis(100));
        let ended = child.try_wait().ok().flatten();
        drop(child.kill());
        ended.or_else(|| child.wait().ok()).map_or_else(String::new, |status| status.to_string())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}
