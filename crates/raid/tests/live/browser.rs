//! A browser without a window, driven by WebDriver (<https://www.w3.org/TR/webdriver2>): a document of JSON to a request, and one back.
//!
//! Each browser has a profile of its own, and ends with what drives it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// No test waits longer for one thing: generous, because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How often is looked whether what is waited for has come.
const LOOK: Duration = Duration::from_millis(50);
/// Browsers of tests ask nobody but the console.
const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
];

/// See the module's description.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// `None`, said aloud, where no driver is installed.
    pub fn start() -> Option<Browser> {
        let spawned = Command::new("chromedriver").arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let Ok(mut driver) = spawned else {
            println!("There is no chromedriver: nothing is tested (apt-get install chromium chromium-driver).");
            return None;
        };
        let mut lines = BufReader::new(driver.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        let port_in =
            |line: String| line.split("started successfully on port ").nth(1)?.trim_end_matches('.').parse().ok();
        let port = lines.find_map(port_in).expect("the driver tells its port");
        // Nobody reads further; what it says then must not stop it.
        std::thread::spawn(move || lines.count());
        let mut browser = Browser { driver, port, session: String::new() };
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": { "args": ARGUMENTS },
        } } });
        let session = browser.call("POST", "/session", Some(wanted));
        browser.session = format!("/session/{}", session["sessionId"].as_str().expect("a session"));
        Some(browser)
    }

    fn call(&self, method: &str, path: &str, document: Option<Value>) -> Value {
        let body = document.map(|document| document.to_string()).unwrap_or_default();
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).expect("the driver listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        socket.write_all(request.as_bytes()).expect("it takes it");
        // The driver leaves connections open, so that its answer ends where its head says.
        let mut answer = BufReader::new(socket);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let begin = head.len();
            assert!(answer.read_line(&mut head).expect("it answers") > 0, "{method} {path}: {head}");
            let line = head[begin..].to_ascii_lowercase();
            length = line.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().expect("a length"));
        }
        let mut bytes = vec![0; length];
        answer.read_exact(&mut bytes).expect("it answers");
        let said = String::from_utf8_lossy(&bytes);
        assert!(head.starts_with("HTTP/1.1 200 "), "{method} {path}: {said}");
        let mut document: Value = serde_json::from_str(&said).expect("JSON");
        document["value"].take()
    }

    fn post(&self, path: &str, document: Value) -> Value {
        self.call("POST", &format!("{}{path}", self.session), Some(document))
    }

    /// Opens an address.
    pub fn open(&self, link: &str) {
        self.post("/url", json!({ "url": link }));
    }

    /// What this script returns.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] }))
    }

    /// Waits until this expression is true.
    pub fn wait(&self, what: &str, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.run(&format!("return Boolean({expression})")) != json!(true) {
            assert!(Instant::now() < deadline, "still waiting for {what}; the page says:\n{}", self.text());
            std::thread::sleep(LOOK);
        }
    }

    /// The page's text.
    pub fn text(&self) -> String {
        self.run("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Shows a page of the console.
    pub fn show(&self, page: &str) {
        self.run(&format!("location.hash = '{page}'"));
        self.wait(
            page,
            &format!("document.querySelector('main').dataset.page === '{page}' && document.querySelector('h1')"),
        );
    }

    /// Presses and releases a key.
    pub fn press(&self, key: char) {
        let steps = ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }));
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keys", "actions": steps }] }));
    }

    /// Clicks the button with this name.
    pub fn click(&self, name: &str) {
        let button = format!(
            "[...document.querySelectorAll('button')].find((one) => (one.ariaLabel ?? one.textContent) === {} && one.checkVisibility() && !one.disabled)",
            json!(name)
        );
        self.wait(name, &button);
        self.run(&format!("{button}.click()"));
    }

    /// How wide the window is.
    pub fn resize(&self, width: u32) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.post("/goog/cdp/execute", json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": size }));
    }

    /// What the browser complains of since the last time: errors of scripts, files that did not come.
    pub fn complaints(&self) -> Vec<String> {
        let entries = self.post("/se/log", json!({ "type": "browser" }));
        let entries = entries.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A driver that is ended leaves its browser behind: it has to end that first, also after a failure.
        if !self.session.is_empty()
            && let Ok(mut socket) = TcpStream::connect(("127.0.0.1", self.port))
        {
            let request = format!("DELETE {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.session, self.port);
            let _ = socket.set_read_timeout(Some(PATIENCE));
            let _ = socket.write_all(request.as_bytes());
            let _ = socket.read(&mut [0; 64]);
        }
        let _ = Command::new("kill").arg(self.driver.id().to_string()).status();
        let _ = self.driver.wait();
    }
}
