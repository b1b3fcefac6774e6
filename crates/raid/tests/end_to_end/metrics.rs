//! What programs read of a running cluster: metrics, whether it lives, whether it serves; and that nobody who asks is in anybody's way.

use crate::harness::{World, eventually, postgres_program, raid};
use laboratory::debit_credit::explain;
use local_cluster::process::ProcessName;
use rustix::process::{Pid, Signal, kill_process};
use site::OracleConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long one answer may take, on a machine that is busy.
const ANSWER: Duration = Duration::from_secs(30);
/// Sites, as Prometheus names them.
const SITES: [u16; 3] = [1, 2, 3];
/// Families that are left out while there is nothing to tell: what a channel does not measure, and what nobody has said yet.
const SOMETIMES: [&str; 2] = ["raid_peer_round_trip_seconds", "raid_peer_lease_round_trip_seconds"];

/// What a console says by HTTP: the status and the body; `None`: it does not answer.
fn http(console: SocketAddr, method: &str, path: &str) -> Option<(u16, String)> {
    let mut socket = TcpStream::connect(console).ok()?;
    socket.set_read_timeout(Some(ANSWER)).ok()?;
    socket
        .write_all(format!("{method} {path} HTTP/1.1\r\nHost: {console}\r\nConnection: close\r\n\r\n").as_bytes())
        .ok()?;
    let mut said = String::new();
    socket.read_to_string(&mut said).ok()?;
    let (head, body) = said.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn get(console: SocketAddr, path: &str) -> (u16, String) {
    http(console, "GET", path).unwrap_or_else(|| panic!("{console} does not answer for {path}"))
}

impl World {
    fn console(&self, site: u16) -> SocketAddr {
        self.running.cluster().sites()[&site].console
    }

    fn metrics(&self, site: u16) -> Metrics {
        let (status, text) = get(self.console(site), "/metrics");
        assert_eq!(status, 200, "{text}");
        Metrics(text)
    }
}

/// Metrics as text.
struct Metrics(String);

impl Metrics {
    /// Families: name, kind and help.
    fn families(&self) -> BTreeMap<String, (String, String)> {
        let mut families = BTreeMap::<String, (String, String)>::new();
        for line in self.0.lines() {
            if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|line| line.split_once(' ')) {
                families.entry(name.to_owned()).or_default().1 = help.to_owned();
            }
            if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
                families.entry(name.to_owned()).or_default().0 = kind.to_owned();
            }
        }
        families
    }

    /// A sample, by its name with its labels.
    fn value(&self, sample: &str) -> f64 {
        let found = self.0.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        let found = found.unwrap_or_else(|| panic!("there is no {sample} in\n{}", self.0));
        found.parse().unwrap_or_else(|_| panic!("{sample} {found}"))
    }
}

/// How much each of these samples has grown.
fn grown<'a>(before: &Metrics, after: &Metrics, samples: &[(&'a str, f64)]) -> Vec<(&'a str, f64)> {
    samples.iter().map(|(sample, _)| (*sample, after.value(sample) - before.value(sample))).collect()
}

/// Whoever plans or is woken by these numbers would go by what was not done.
#[test]
fn counters_move_by_exactly_what_was_done() {
    let world = World::start();
    let mut client = world.connect(1);
    let before = world.metrics(1);
    let mut run = |text: &str| client.batch_execute(text).unwrap_or_else(|error| panic!("{text}: {}", explain(&error)));
    run("CREATE TABLE counted (k int PRIMARY KEY)");
    (1..=7).for_each(|key| run(&format!("INSERT INTO counted VALUES ({key})")));
    for key in 11..=13 {
        ["BEGIN", &format!("INSERT INTO counted VALUES ({key})"), "COMMIT"].into_iter().for_each(&mut run);
    }
    for key in 21..=24 {
        ["BEGIN", &format!("INSERT INTO counted VALUES ({key})"), "ROLLBACK"].into_iter().for_each(&mut run);
    }
    ["LISTEN news", "NOTIFY news, 'one'", "SELECT count(*) FROM counted"].into_iter().for_each(&mut run);
    for key in 1..=2 {
        let twice = client.batch_execute(&format!("INSERT INTO counted VALUES ({key})"));
        assert_eq!(twice.expect_err("it is there").code().map(|code| code.code()), Some("23505"));
    }
    let expected = [
        ("raid_transactions_committed_total", 14.0),
        ("raid_transactions_aborted_total{cause=\"rollback\"}", 4.0),
        ("raid_transactions_aborted_total{cause=\"error\"}", 2.0),
        ("raid_transactions_aborted_total{cause=\"deadlock\"}", 0.0),
        ("raid_transactions_unknown_total", 0.0),
        ("raid_errors_total{class=\"23\"}", 2.0),
        ("raid_statement_duration_seconds_count{kind=\"insert\"}", 16.0),
        ("raid_statement_duration_seconds_count{kind=\"select\"}", 1.0),
        ("raid_statement_duration_seconds_count{kind=\"schema\"}", 1.0),
        ("raid_statement_duration_seconds_count{kind=\"transaction\"}", 14.0),
        ("raid_statement_duration_seconds_count{kind=\"other\"}", 2.0),
        ("raid_notifications_sent_total", 1.0),
    ];
    // In other layouts the process that serves clients tells a moment later.
    let mut seen = Vec::new();
    eventually("what was counted to be told", || {
        seen = grown(&before, &world.metrics(1), &expected);
        seen[0] == expected[0]
    });
    assert_eq!(seen, expected);
    let after = world.metrics(1);
    assert!(after.value("raid_statement_duration_seconds_sum{kind=\"insert\"}") > 0.0);
    let commits = grown(&before, &after, &[("raid_commit_duration_seconds_count", 0.0), ("raid_commits_total", 0.0)]);
    assert!(commits.iter().all(|(_, more)| *more >= 11.0), "eleven of them have changed something: {commits:?}");
    assert!(after.value("raid_log_appended_bytes_total") > 0.0);
    let seconds =
        |mode: &str| after.value(&format!("raid_process_cpu_seconds_total{{process=\"site\",mode=\"{mode}\"}}"));
    assert!(seconds("user") + seconds("system") > 0.0);
    assert_eq!(after.value("raid_state{state=\"up\"}"), 1.0);
    assert_eq!(after.value("raid_epoch_members{state=\"up\"}"), 3.0);
    assert_eq!(after.value("raid_concurrency_control{method=\"locking\"}"), 1.0);
    eventually("a session to be counted as idle", || world.metrics(1).value("raid_sessions{state=\"idle\"}") == 1.0);
    client.batch_execute("BEGIN").expect("a block");
    eventually("a session to be counted in its block", || {
        world.metrics(1).value("raid_sessions{state=\"idle in transaction\"}") == 1.0
    });
}

/// A dashboard would lose its lines, or a scraper refuse all of it.
#[test]
fn families_are_well_formed_documented_and_outlive_a_restart() {
    let mut world = World::start();
    world.wait("leases and round trips to be known", |statuses| {
        let measured =
            |status: &site::status::Status| status.leases_left_us.values().filter(|left| **left > 0).count() == 2;
        statuses.len() == 3 && statuses.values().all(measured)
    });
    world.connect(1).batch_execute("CREATE TABLE there (k int PRIMARY KEY)").expect("a table");
    let before = world.metrics(1);
    checked(&before.0);
    documented(&before);
    let steady = |metrics: &Metrics| -> BTreeSet<String> {
        metrics.families().into_keys().filter(|name| !SOMETIMES.contains(&name.as_str())).collect()
    };
    world.kill(1);
    world.wait_until_without(&[1]);
    world.start_again(ProcessName::Site(1));
    let console = world.console(1);
    let mut first = None;
    eventually("its console to answer", || {
        first = http(console, "GET", "/metrics");
        first.is_some()
    });
    let (_, first) = first.expect("it has answered");
    let missing: Vec<_> = steady(&before).difference(&steady(&Metrics(first))).cloned().collect();
    // Nobody has said anything to it yet.
    assert!(missing.iter().all(|name| name == "raid_messages_taken_total"), "while it starts: {missing:?}");
    world.wait_until_repaired();
    assert_eq!(steady(&world.metrics(1)), steady(&before));
    for path in ["/", "/metric", "/health"] {
        assert_eq!(get(console, path).0, 404, "{path}");
    }
    assert_eq!(http(console, "POST", "/metrics").map(|(status, _)| status), Some(405));
    assert!(get(console, "/status").1.starts_with("{\"site\":1,"));
}

/// Has Prometheus' own program look at metrics.
fn checked(text: &str) {
    let Some(promtool) = postgres_program("promtool") else { return };
    let mut command = Command::new(promtool);
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool runs");
    let written = child.stdin.take().expect("it is piped").write_all(text.as_bytes());
    let output = child.wait_with_output().expect("promtool ends");
    let said = crate::harness::said(&output);
    assert!(written.is_ok() && output.status.success() && said.trim().is_empty(), "{said}");
}

/// Holds the page of metrics against what is served; with `BLESS=1` writes its table.
fn documented(metrics: &Metrics) {
    const BEGIN: &str = "| metric | kind | meaning |\n|---|---|---|\n";
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let text = std::fs::read_to_string(&page).expect("the page");
    let (head, rest) = text.split_once(BEGIN).expect("the page has its table");
    let (table, tail) = rest.split_once("\n\n").expect("the table ends");
    let row = |line: &str| -> Option<(String, (String, String))> {
        let mut cells = line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned());
        Some((cells.next()?, (cells.next()?, cells.next()?)))
    };
    let mut known: BTreeMap<_, _> = table.lines().filter_map(row).collect();
    let served = metrics.families();
    if std::env::var_os("BLESS").is_some() {
        known.retain(|name, _| SOMETIMES.contains(&name.as_str()));
        known.extend(served);
        let rows = known.iter().map(|(name, (kind, help))| format!("| `{name}` | {kind} | {help} |"));
        let table = rows.collect::<Vec<_>>().join("\n");
        std::fs::write(&page, format!("{head}{BEGIN}{table}\n\n{tail}")).expect("the page can be written");
        return;
    }
    for (name, family) in &served {
        assert_eq!(known.get(name), Some(family), "docs/metrics.md of {name}; BLESS=1 writes its table anew");
    }
    let unserved: Vec<_> =
        known.keys().filter(|name| !served.contains_key(*name) && !SOMETIMES.contains(&name.as_str())).collect();
    assert!(unserved.is_empty(), "docs/metrics.md lists what is not served: {unserved:?}");
}

/// Clients would be sent to a site that refuses them, or a process be ended that only waits for others.
#[test]
fn a_site_is_ready_while_it_serves_and_lives_meanwhile() {
    let mut world = World::start();
    let console = world.console(1);
    eventually("site 1 to be ready", || get(console, "/health/ready").0 == 200);
    // Without the oracle there is no epoch without the others, and without leases of all its members nobody serves.
    world.running.kill(ProcessName::Oracle);
    world.kill(2);
    let mut said = String::new();
    eventually("site 1 not to be ready", || {
        let (status, reason) = get(console, "/health/ready");
        said = reason;
        status == 503
    });
    assert!(said.starts_with("site 1 is ") && said.trim().len() > "site 1 is up: ".len(), "{said}");
    assert_eq!(get(console, "/health/live"), (200, "site 1 lives\n".to_owned()));
    assert_eq!(world.metrics(1).value("raid_ready"), 0.0);
    // One that starts meanwhile has no life yet, and says so.
    world.start_again(ProcessName::Site(2));
    let second = world.console(2);
    eventually("site 2 to answer", || http(second, "GET", "/health/live").is_some_and(|(status, _)| status == 200));
    let (status, reason) = get(second, "/health/ready");
    assert!(status == 503 && reason.contains("oracle"), "{status} {reason}");
    world.start_again(ProcessName::Oracle);
    for site in SITES {
        let console = world.console(site);
        eventually("all to be ready", || {
            http(console, "GET", "/health/ready").is_some_and(|(status, _)| status == 200)
        });
    }
    world.kill(3);
    assert_eq!(http(world.console(3), "GET", "/health/live"), None, "nobody is there");
}

/// Whoever connects and says nothing, or little at a time, would hide how the cluster is from its operator.
#[test]
fn slow_clients_hold_up_nobody() {
    let world = World::start();
    let console = world.console(1);
    let idle: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(console).expect("it listens")).collect();
    let mut slow = TcpStream::connect(console).expect("it listens");
    let mut client = world.connect(1);
    for byte in b"GET /metrics HTTP/1.1\r\n" {
        // The console may have left it by then.
        drop(slow.write_all(&[*byte]));
        let status = site::status::ask(console).unwrap_or_else(|error| panic!("{error}\n{}", world.logs()));
        assert_eq!((status.site, status.state.as_str()), (1, "up"));
        assert_eq!(client.query_one("SELECT 1", &[]).expect("the site serves").get::<_, i32>(0), 1);
    }
    drop(idle);
    let table = world.shown_status();
    assert!(table.contains("session vector"), "{table}");
}

fn free_port() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a free port")
}

/// An oracle or a memory server would be the one process of an instance that nobody looks at.
#[test]
fn oracle_and_memory_server_tell_theirs() {
    let console = free_port();
    let world = World::start_changed(|cluster| {
        let path = cluster.config_of(ProcessName::Oracle);
        let config = OracleConfig::read(&path).expect("it was written");
        OracleConfig { console: Some(console), ..config }.write(&path).expect("the folder can be written");
    });
    let (_, text) = get(console, "/metrics");
    checked(&text);
    let metrics = Metrics(text);
    assert_eq!(metrics.value("raid_oracle_epoch_members{state=\"up\"}"), 3.0);
    assert!(metrics.value("raid_oracle_epoch") >= 1.0 && metrics.value("raid_oracle_requests_total") >= 3.0);
    assert_eq!(get(console, "/health/ready").0, 200);
    drop(world);
    let console = free_port();
    let mut command = Command::new(raid());
    command.args(["memory", "--capacity", "16MiB", "--listen", "127.0.0.1:0", "--console", &console.to_string()]);
    let mut memory = Ended(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("raid runs"));
    let said = memory.0.stdout.take().expect("it is piped");
    BufReader::new(said).read_line(&mut String::new()).expect("it speaks");
    let (status, text) = get(console, "/metrics");
    checked(&text);
    assert_eq!((status, Metrics(text).value("raid_memory_capacity_bytes")), (200, f64::from(16 << 20)));
    assert_eq!(get(console, "/health/live").0, 200);
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::KILL);
        drop(self.0.wait());
    }
}

/// What Prometheus itself would not take, no other test of ours would show.
#[test]
fn prometheus_scrapes_three_sites() {
    let Some(prometheus) = postgres_program("prometheus") else { return };
    let world = World::start();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let targets = SITES.map(|site| format!("\"{}\"", world.console(site))).join(", ");
    let rules: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/prometheus/raid.rules.yml");
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\nscrape_configs:\n  - job_name: raid\n    \
         static_configs: [{{targets: [{targets}]}}]\n",
        rules.display()
    );
    let file = folder.path().join("prometheus.yml");
    std::fs::write(&file, config).expect("the folder can be written");
    let address = free_port();
    let mut command = Command::new(prometheus);
    command.arg(format!("--config.file={}", file.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
    command.arg(format!("--web.listen-address={address}"));
    let _running = Ended(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("prometheus runs"));
    let encoded = |query: &str| query.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let asked =
        |query: &str| http(address, "GET", &format!("/api/v1/query?query={}", encoded(query))).unwrap_or_default().1;
    let found = |query: &str, value: &str| asked(query).contains(&format!(",\"{value}\"]}}"));
    eventually("three sites to be scraped", || found("count(up==1)", "3"));
    eventually("what they tell to be there", || {
        found("sum(raid_ready)", "3") && found("count(raid_epoch_members)", "6")
    });
    // Histograms are understood as such.
    world.connect(2).batch_execute("CREATE TABLE seen (k int PRIMARY KEY)").expect("a table");
    let statements = "count(histogram_quantile(0.5,raid_statement_duration_seconds_bucket{kind=\"schema\"})>0)";
    eventually("a quantile to be computed", || found(statements, "1"));
    assert!(
        http(address, "GET", "/api/v1/rules").unwrap_or_default().1.contains("RaidSiteDown"),
        "the rules are loaded"
    );
}
