//! Chromium as a person at the page: clicks, drags, keys, and what the page shows. It is driven by the
//! DevTools protocol.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// Time in which a page shows what was asked of it.
const PATIENCE: Duration = Duration::from_mins(1);
/// One browser at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A page in a browser of its own.
pub struct Browser {
    child: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    n_calls: u64,
    profile: PathBuf,
    _one: MutexGuard<'static, ()>,
}

impl Browser {
    /// Opens an address, and waits until the page is drawn.
    pub fn open(address: &str) -> Self {
        assert!(quasistep_view::has_page(), "the page was not built: install Node.js with npm");
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = std::env::temp_dir().join(format!("quasistep-live-{}", std::process::id()));
        // without a browser these tests must fail
        let program = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
        let mut child = Command::new(&program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"])
            .args(["--disable-background-networking", "--disable-dev-shm-usage", "--disable-sync"])
            .args(["--no-first-run", "--hide-scrollbars", "--window-size=1000,640"])
            .args(["--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let place = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("the browser says where it listens");
        // what it says later is not read, but must not block it
        std::thread::spawn(move || lines.for_each(drop));
        let (socket, _) = tungstenite::connect(&place).unwrap();
        let session = String::new();
        let mut page = Self { child, socket, session, n_calls: 0, profile, _one: one };
        let target = page.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = page.call("Target.attachToTarget", &attach);
        attached["sessionId"].as_str().unwrap().clone_into(&mut page.session);
        page.call("Page.enable", &json!({}));
        let size = json!({ "width": 1000, "height": 640, "deviceScaleFactor": 1, "mobile": false });
        page.call("Emulation.setDeviceMetricsOverride", &size);
        page.call("Page.navigate", &json!({ "url": address }));
        page.until("window.quasistep?.ready && document.documentElement.dataset.status");
        assert_eq!(page.eval("document.documentElement.dataset.status"), "ready");
        page
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.n_calls += 1;
        let id = self.n_calls;
        let mut call = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_empty() {
            call["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(call.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let mut answer: Value = serde_json::from_str(text.as_str()).unwrap();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
        }
    }

    /// The value of an expression in the page. Expressions may use `$`.
    pub fn eval(&mut self, expression: &str) -> Value {
        let expression =
            format!("(async ($) => ({expression}))((id) => document.getElementById(id))");
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", &params);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].take()
    }

    /// A number.
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.eval(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// Waits until an expression holds.
    pub fn until(&mut self, expression: &str) {
        let start = Instant::now();
        while !self.eval(&format!("Boolean({expression})")).as_bool().unwrap_or(false) {
            if start.elapsed() > PATIENCE {
                let error = self.eval("document.documentElement.dataset.error ?? ''");
                panic!("it never came to this: {expression}; {error}");
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Clicks the element with an id.
    pub fn click(&mut self, id: &str) {
        self.eval(&format!("$('{id}').click()"));
    }

    /// Types a value into an element, which a script finds, and leaves it.
    pub fn enter(&mut self, element: &str, value: &str) {
        let script = format!(
            "(() => {{ const e = {element}; e.value = {value:?}; \
             for (const t of ['input', 'change']) e.dispatchEvent(new Event(t, {{ bubbles: true }})); }})()"
        );
        self.eval(&script);
    }

    /// Moves the mouse; `kind` is mousePressed, mouseMoved or mouseReleased.
    pub fn mouse(&mut self, kind: &str, [x, y]: [f64; 2]) {
        let buttons = i32::from(kind != "mouseReleased");
        let params = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", &params);
    }

    /// Where a point of the world is in the picture, in px.
    pub fn project(&mut self, p: [f64; 3]) -> [f64; 2] {
        let at = self.eval(&format!("window.quasistep.project({p:?})"));
        [at[0].as_f64().unwrap(), at[1].as_f64().unwrap()]
    }

    /// Writes a picture of the page.
    #[allow(dead_code)] // to look at
    pub fn shot(&mut self, path: &Path) {
        let shot = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        std::fs::write(path, STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()).unwrap();
    }

    /// Ends the test: the page had no error.
    pub fn close(mut self) {
        let errors = self.eval("document.documentElement.dataset.errors");
        assert_eq!(errors, "0", "{}", self.eval("document.documentElement.dataset.error"));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
