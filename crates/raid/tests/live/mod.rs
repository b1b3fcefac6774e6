//! What an operator sees and does in a real browser, with a real cluster.
//!
//! The `raid` program starts the cluster; the console is given by whoever includes this: the crate's own tests run it in their process, those of `raid` as
//! `raid console`.

pub mod browser;

use browser::{Browser, PATIENCE};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

const TAB: char = '\u{e004}';
const PAGES: [&str; 9] =
    ["overview", "picture", "charts", "statements", "contention", "sessions", "network", "reconfigure", "sql"];
/// A name that would run, if it ever were read as markup.
const HOSTILE: &str = r#""<img src=x onerror=document.title=1>""#;

static TURN: Mutex<()> = Mutex::new(());

/// Three sites and an oracle, until it is dropped. There is one at a time.
pub struct LiveCluster {
    raid: Child,
    pub folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl LiveCluster {
    pub fn start(program: &Path) -> LiveCluster {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new(program);
        command.args(["start", "--sites", "3", "--port", "0", "--data"]).arg(folder.path());
        let mut raid = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("raid starts");
        let mut lines = BufReader::new(raid.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        let serves = lines.any(|line| line.starts_with("All sites serve"));
        let cluster = LiveCluster { raid, folder, _turn: turn };
        assert!(serves, "the cluster does not start");
        // Nobody reads further; what it says then must not stop it.
        std::thread::spawn(move || lines.count());
        cluster
    }
}

impl Drop for LiveCluster {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.raid.id().to_string()).status();
        let _ = self.raid.wait();
    }
}

/// Runs a text in the page's SQL box and waits for its end.
fn sql(browser: &Browser, text: &str) {
    browser.show("sql");
    browser.run(&format!("document.querySelector('textarea').value = {}", json!(text)));
    browser.click("Run");
    browser.wait(text, "document.querySelector('.results').children.length > 0");
    let failure = browser.run("return document.querySelector('.results .failure')?.innerText ?? ''");
    assert_eq!(failure, json!(""), "{text}");
}

/// Has done what the page has said the costs of.
fn confirm(browser: &Browser) {
    let button = "document.querySelector('dialog[open] button[value=go]')";
    browser.wait("the question", button);
    browser.run(&format!("{button}.click()"));
}

/// The page must tell of each figure that a site has, and follow what becomes of it.
pub fn shows_a_death_and_a_return(link: &str) {
    let Some(browser) = Browser::start() else { return };
    browser.open(link);
    browser.wait("the first sample", "document.querySelector('#summary').textContent.startsWith('3 of 3 sites serve')");
    assert!(
        !browser.run("return location.href").as_str().unwrap_or_default().contains("token"),
        "the token stays in the address"
    );
    sql(
        &browser,
        "CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t SELECT g, 0 FROM generate_series(1, 3000) g;",
    );
    browser.show("charts");
    let commits = "document.querySelector('canvas').getAttribute('aria-label')";
    browser.wait("the chart to have a sample", &format!("/Commits a second: site 1 [0-9]/.test({commits})"));
    browser.show("reconfigure");
    browser.click("Kill site 3");
    browser.wait("the costs", "document.querySelector('dialog').innerText.includes('nobody is told')");
    confirm(&browser);
    browser.wait("the command's words", "document.querySelector('.outcome').innerText.includes('site 3 is killed')");
    browser.show("picture");
    browser.wait("a grey box", "document.querySelector('article[aria-label=\"Site 3\"]').classList.contains('dead')");
    browser.show("overview");
    browser.wait("what to do", "document.querySelector('.hands').innerText.includes('raid restart 3')");
    sql(&browser, "UPDATE t SET v = v + 1;");
    browser.show("overview");
    browser.wait("fail-locks", "/3,000 of 3/.test(document.querySelector('table').innerText)");
    browser.show("reconfigure");
    browser.click("Restart site 3");
    confirm(&browser);
    browser.wait("its return", "document.querySelector('.outcome').innerText.includes('site 3 serves after')");
    browser.show("overview");
    browser.wait("nothing to do", "document.querySelector('.hands').innerText.startsWith('Nothing')");
    sql(&browser, "SELECT count(*) AS whole FROM t WHERE v = 1;");
    browser.wait("all rows", "document.querySelector('.results').innerText.includes('3000')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A method must be in force when the page says so, and a server where the page shows it.
pub fn reconfigures(link: &str) {
    let Some(browser) = Browser::start() else { return };
    browser.open(link);
    browser.wait("the first sample", "document.querySelector('#summary').textContent.startsWith('3 of 3')");
    browser.show("reconfigure");
    browser.run("const [method] = document.querySelectorAll('select'); method.value = 'optimistic'");
    browser.click("Set…");
    confirm(&browser);
    browser.wait("the method", "/It is set: site 1 runs optimistic, site 2 runs optimistic, site 3 runs optimistic/.test(document.querySelector('.outcome').innerText)");
    browser.run("const all = [...document.querySelectorAll('select')]; all[3].value = 'concurrency-controller'; all[5].value = 'concurrency-controller'");
    browser.click("Move…");
    confirm(&browser);
    browser.wait("the move", "document.querySelector('.outcome').innerText.includes('the site stood still for')");
    browser.show("picture");
    browser.wait("two processes", "document.querySelectorAll('article[aria-label=\"Site 1\"] .process').length === 2");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// What clients name their tables would run in an operator's browser, or what they fight for not be seen.
pub fn shows_who_fights_as_text(link: &str) {
    let Some(browser) = Browser::start() else { return };
    browser.open(link);
    browser.wait("the first sample", "document.querySelector('#summary').textContent.startsWith('3 of 3')");
    sql(&browser, &format!("CREATE TABLE {HOSTILE} (k int PRIMARY KEY, v int); INSERT INTO {HOSTILE} VALUES (1, 0);"));
    let fight = format!("BEGIN; UPDATE {HOSTILE} SET v = 7 WHERE k = 1; SELECT pg_sleep(0.3); COMMIT;");
    browser.show("contention");
    let deadline = std::time::Instant::now() + PATIENCE;
    let row = "document.querySelector('tbody')?.innerText.includes('<img src=x')";
    while browser.run(&format!("return Boolean({row})")) != json!(true) {
        assert!(std::time::Instant::now() < deadline, "nobody has fought:\n{}", browser.text());
        let ask = "fetch('/api/sql', { method: 'POST', headers: { 'content-type': 'application/json' }, body })";
        let body = json!({ "site": 1, "text": fight }).to_string();
        browser.run(&format!("const body = {}; return Promise.allSettled([{ask}, {ask}]).then(() => 1)", json!(body)));
    }
    assert_eq!(browser.run("return document.title"), json!("RaidTool: Contention"));
    assert_eq!(browser.run("return document.querySelectorAll('main img').length"), json!(0));
    browser.show("sql");
    browser.run("document.querySelector('textarea').value = 'SELECT\\n  nonsense FROM t'");
    browser.click("Run");
    browser.wait("the site's words", "/SQLSTATE 42/.test(document.querySelector('.results').innerText)");
}

/// Who has no pointer could not reach something, or would not hear what it is; who has a telephone would see a part.
pub fn every_control_is_reached_by_tab(link: &str) {
    let Some(browser) = Browser::start() else { return };
    browser.open(link);
    browser.wait("the first sample", "document.querySelector('#summary').textContent.startsWith('3 of 3')");
    for page in PAGES {
        browser.show(page);
        let controls = "a[href], button, select, textarea, input, canvas, [tabindex=\"0\"]";
        let count = browser.run(&format!(
            "window.met = new Set(); document.addEventListener('focusin', (event) => met.add(event.target)); document.activeElement.blur();
             window.controls = [...document.querySelectorAll('{controls}')].filter((one) => one.checkVisibility() && !one.disabled);
             return controls.length"
        ));
        for _ in 0..count.as_u64().unwrap_or_default() + 6 {
            browser.press(TAB);
        }
        let missed = browser.run("return controls.filter((one) => one.isConnected && one.checkVisibility() && !one.disabled && !met.has(one)).map((one) => one.outerHTML.slice(0, 90))");
        assert_eq!(missed, json!([]), "{page}: Tab does not reach these");
        let nameless = browser.run(
            "return controls.filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length)).map((one) => one.outerHTML.slice(0, 90))",
        );
        assert_eq!(nameless, json!([]), "{page}: these have no name");
        for width in [390, 1280] {
            browser.resize(width);
            let fits = format!("document.documentElement.scrollWidth <= {width} && innerWidth === {width}");
            browser.wait(&format!("{page} to fit into {width} points"), &fits);
        }
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
