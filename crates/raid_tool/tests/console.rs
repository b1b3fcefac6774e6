//! A console over real sockets, before a site that a test plays: who is let in, what is refused, and what comes of strange answers.

use raid_tool::cluster_file::ClusterFile;
use raid_tool::{ToolAddress, ToolError, ToolOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No test waits longer for one thing.
const PATIENCE: Duration = Duration::from_secs(60);

const STATUS: &str =
    r#"{"site":1,"state":"up <script>alert(1)</script>","epoch":3,"method":"locking","commits":{"committed":5}}"#;
const METRICS: &str = "raid_process_start_time_seconds 5\nraid_transactions_committed_total 7\n";

/// A site's console that says these two things to whoever asks, until it is dropped.
struct PlayedSite {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PlayedSite {
    fn start(status: &'static str, metrics: &'static str) -> PlayedSite {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = Arc::<AtomicBool>::default();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while let Ok((mut socket, _)) = listener.accept() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let mut head = [0; 1024];
                let length = socket.read(&mut head).unwrap_or_default();
                let body = if head[..length].starts_with(b"GET /status ") { status } else { metrics };
                // The console may have gone.
                let _ = socket.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{body}").as_bytes());
            }
        });
        PlayedSite { address, stop, thread: Some(thread) }
    }
}

impl Drop for PlayedSite {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the played site ends");
        }
    }
}

/// A console, until it is dropped.
struct RunningConsole {
    folder: tempfile::TempDir,
    address: ToolAddress,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ToolError>>>,
}

impl RunningConsole {
    fn start(sites: &[SocketAddr], read_only: bool, program: PathBuf) -> RunningConsole {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sites: String =
            sites.iter().enumerate().map(|(at, site)| format!("[sites.{}]\nconsole = \"{site}\"\n", at + 1)).collect();
        std::fs::write(folder.path().join("raid.toml"), sites).expect("the folder can be written");
        let options = ToolOptions {
            cluster: ClusterFile::of_folder(folder.path()).expect("it names sites"),
            listen: "127.0.0.1:0".parse().expect("an address"),
            read_only,
            program,
            user: "postgres".to_owned(),
        };
        let stop = Arc::<AtomicBool>::default();
        let (stopped, (told, ready)) = (stop.clone(), mpsc::channel());
        let thread = std::thread::spawn(move || {
            raid_tool::run(options, &stopped, |address| told.send(address.clone()).expect("the test waits"))
        });
        let address = ready.recv_timeout(PATIENCE).expect("the console starts");
        RunningConsole { folder, address, stop, thread: Some(thread) }
    }

    /// The whole answer to a request with these lines, `Host` and `Connection` being added unless they are among them.
    fn say(&self, first: &str, lines: &[&str], body: &str) -> String {
        let mut socket = TcpStream::connect(self.address.listen).expect("it listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let mut head = format!("{first} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !lines.iter().any(|line| line.starts_with("Host:")) {
            head += &format!("Host: {}\r\n", self.address.listen);
        }
        lines.iter().for_each(|line| head += &format!("{line}\r\n"));
        // It may refuse before it has all.
        let _ = socket.write_all(format!("{head}\r\n{body}").as_bytes());
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn token(&self) -> &str {
        self.address.link.rsplit_once('=').expect("the address has the token").1
    }

    /// The line with the cookie of a browser that has opened the address.
    fn cookie(&self) -> String {
        let answer = self.say(&format!("GET /?token={}", self.token()), &[], "");
        assert!(answer.starts_with("HTTP/1.1 303 ") && answer.contains("location: /\r\n"), "{answer}");
        let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        assert!(line.contains("HttpOnly") && line.contains("SameSite=Strict"), "{line}");
        assert!(!line.contains(self.token()), "the cookie tells the token");
        format!("Cookie: {}", line.split(';').next().unwrap_or_default())
    }

    fn post(&self, path: &str, body: &str) -> String {
        let origin = format!("Origin: http://{}", self.address.listen);
        self.say(&format!("POST {path}"), &[&self.cookie(), &origin], body)
    }

    /// The first sample that pleases, of the stream of events.
    fn sample(&self, wanted: impl Fn(&str) -> bool) -> String {
        let mut socket = TcpStream::connect(self.address.listen).expect("it listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", self.address.listen, self.cookie());
        socket.write_all(request.as_bytes()).expect("it takes it");
        let (begun, mut text, mut piece) = (Instant::now(), String::new(), [0; 4096]);
        while !wanted(&text) {
            assert!(begun.elapsed() < PATIENCE, "no such sample: {text}");
            let length = socket.read(&mut piece).expect("samples come");
            assert!(length > 0, "the events have ended: {text}");
            text += &String::from_utf8_lossy(&piece[..length]);
        }
        text
    }
}

impl Drop for RunningConsole {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok_and(|ended| ended.is_ok()), "the console ends well");
        }
    }
}

fn nobody() -> PathBuf {
    "/nonexistent/raid".into()
}

/// Whoever reaches the port could read everything, and a page of somebody else could change it.
#[test]
fn strangers_and_foreign_pages_are_refused() {
    let site = PlayedSite::start(STATUS, METRICS);
    let console = RunningConsole::start(&[site.address], false, nobody());
    let cookie = console.cookie();
    for path in
        ["/api/console", "/api/history", "/api/view?name=locks", "/api/actions", "/events", "/main.js", "/nothing"]
    {
        let answer = console.say(&format!("GET {path}"), &[], "");
        assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains("raid console"), "{path}: {answer}");
        let answer = console.say(&format!("GET {path}"), &["Cookie: raid_console_1=x; raid_console=y"], "");
        assert!(answer.starts_with("HTTP/1.1 401 "), "{path}: {answer}");
        for line in ["Host: evil", "Origin: http://evil", "Origin: null"] {
            let answer = console.say(&format!("GET {path}"), &[&cookie, line], "");
            assert!(answer.starts_with("HTTP/1.1 403 "), "{path}, {line}: {answer}");
        }
    }
    let page = console.say("GET /", &[], "");
    assert!(page.starts_with("HTTP/1.1 401 ") && page.contains("console.token") && !page.contains("main.js"), "{page}");
    let body = r#"{"action":"kill","name":"1"}"#;
    let silent = console.say("POST /api/actions", &[&cookie], body);
    assert!(silent.starts_with("HTTP/1.1 403 "), "without an origin nothing is changed: {silent}");
    let own = console.say("GET /api/console", &[&cookie], "");
    assert!(own.starts_with("HTTP/1.1 200 "), "{own}");
    for header in
        ["content-security-policy: default-src 'self';", "x-content-type-options: nosniff", "cache-control: no-store"]
    {
        assert!(own.contains(header) && silent.contains(header) && page.contains(header), "{header}");
    }
    let mode =
        std::fs::metadata(console.folder.path().join("console.token")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Whoever guesses would have as many tries as he likes.
#[test]
fn a_wrong_token_lets_nobody_in() {
    let console = RunningConsole::start(&["127.0.0.1:9".parse().expect("an address")], false, nobody());
    let cookie = console.cookie();
    let origin = format!("Origin: http://{}", console.address.listen);
    for _ in 0..raid_tool::limits::LOGINS_MAX {
        assert!(console.say("POST /login", &[&origin], "token=0123").starts_with("HTTP/1.1 401 "));
    }
    let refused = console.say(&format!("GET /?token={}", console.token()), &[], "");
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("try again in"), "{refused}");
    assert!(console.say("GET /", &[&cookie], "").starts_with("HTTP/1.1 200 "), "who is in stays in");
}

/// A console that was to be looked at only would change something.
#[test]
fn a_read_only_console_changes_nothing() {
    let console = RunningConsole::start(&["127.0.0.1:9".parse().expect("an address")], true, nobody());
    for (path, body) in
        [("/api/actions", r#"{"action":"kill","name":"1"}"#), ("/api/sql", r#"{"site":1,"text":"SELECT 1"}"#)]
    {
        let answer = console.post(path, body);
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("--read-only"), "{path}: {answer}");
    }
    assert!(!console.folder.path().join("console.log").exists());
}

/// What a site says of itself would be read as markup, or an odd document end the console.
#[test]
fn what_sites_say_is_told_as_it_is() {
    let odd =
        [("", ""), ("[]", "raid_sessions{state=\""), (r#"{"site":9,"state":"up"}"#, "x"), ("\u{0}", "raid_x 1e999")];
    let odd: Vec<PlayedSite> = odd.map(|(status, metrics)| PlayedSite::start(status, metrics)).into();
    let good = PlayedSite::start(STATUS, METRICS);
    let sites: Vec<SocketAddr> = std::iter::once(&good).chain(&odd).map(|site| site.address).collect();
    let console = RunningConsole::start(&sites, false, nobody());
    let sample = console.sample(|text| text.contains("\"transactions\":0,"));
    assert!(sample.contains(r#""state":"up <script>alert(1)</script>""#), "{sample}");
    assert!(sample.contains("the status cannot be read") && sample.contains("is the console of site 9"), "{sample}");
    let history = console.say("GET /api/history?seconds=99999999999", &[&console.cookie()], "");
    assert!(history.contains("application/json") && history.contains("\"commits\":["), "{history}");
}

/// A document could crash the console or have something else done; a second action could cross the first.
#[test]
fn actions_are_checked_and_come_one_at_a_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, sign) = (folder.path().join("raid"), folder.path().join("go"));
    // It begins, and ends once the test says so.
    std::fs::write(
        &program,
        format!("#!/bin/sh\necho \"$@\"\nwhile [ ! -e {} ]; do sleep 0.02; done\n", sign.display()),
    )
    .expect("the folder can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let console = RunningConsole::start(&["127.0.0.1:9".parse().expect("an address")], false, program);
    for body in ["", "{}", "[", r#"{"action":"kill","name":"--help"}"#, r#"{"action":"kill","name":7}"#, "\u{fffd}"] {
        assert!(console.post("/api/actions", body).starts_with("HTTP/1.1 400 "), "{body}");
    }
    let long = console.post("/api/actions", &"x".repeat(raid_tool::limits::BODY_BYTES_MAX + 1));
    assert!(long.starts_with("HTTP/1.1 413 "), "{long}");
    let kill = r#"{"action":"kill","name":"1"}"#;
    std::thread::scope(|scope| {
        let answers: Vec<_> = (0..2).map(|_| scope.spawn(|| console.post("/api/actions", kill))).collect();
        let begun = Instant::now();
        // The one that found the other under way is over first.
        while !answers.iter().any(|answer| answer.is_finished()) {
            assert!(begun.elapsed() < PATIENCE, "both actions run");
            std::thread::yield_now();
        }
        std::fs::write(&sign, "").expect("the folder can be written");
        let mut answers: Vec<String> = answers.into_iter().map(|answer| answer.join().expect("no panic")).collect();
        answers.sort();
        assert!(answers[0].starts_with("HTTP/1.1 200 ") && answers[0].contains("kill 1 --data "), "{}", answers[0]);
        assert!(answers[1].starts_with("HTTP/1.1 409 ") && answers[1].contains("under way"), "{}", answers[1]);
    });
    let log = std::fs::read_to_string(console.folder.path().join("console.log")).expect("it was written");
    assert!(log.lines().count() == 1 && log.contains("raid kill 1 --data "), "{log}");
}

/// Everybody on the network could read what passes, the token too.
#[test]
fn it_listens_on_loopback_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("raid.toml"), "[sites.1]\nconsole = \"127.0.0.1:9\"\n").expect("a file");
    let options = ToolOptions {
        cluster: ClusterFile::of_folder(folder.path()).expect("it names a site"),
        listen: "0.0.0.0:0".parse().expect("an address"),
        read_only: false,
        program: nobody(),
        user: "postgres".to_owned(),
    };
    let error = raid_tool::run(options, &AtomicBool::new(true), |_| ()).expect_err("it refuses");
    assert!(error.to_string().contains("not on loopback"), "{error}");
}
