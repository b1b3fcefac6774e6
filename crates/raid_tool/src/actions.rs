//! What pages have done to the cluster, and the log of it.
//!
//! A process is killed, started or moved by the command of the `raid` program that a person would type, never by its number; a method is set in SQL.
//! Invariants: one action at a time; one that has begun goes on when its page leaves; each is written to `console.log` when it is over.

use crate::ToolOptions;
use crate::answers::ToolRefusal;
use crate::limits::{
    ACTIONS_SHOWN, COMMAND_BYTES_MAX, COMMAND_TIME_MAX, LOG_BYTES_MAX, METHOD_TIME_MAX, SQL_TIME_MAX, VIEW_TIME_MAX,
};
use crate::poller::ShownCluster;
use crate::sql::{SqlPlace, ask};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::io::AsyncReadExt;

/// The log, in the console's folder: a line of JSON for each action.
const LOG: &str = "console.log";
/// Where the log is kept that has become too long.
const OLD_LOG: &str = "console.log.old";

/// Servers that can be moved.
pub(crate) const SERVERS: [&str; 5] =
    ["action-driver", "atomicity-controller", "concurrency-controller", "replication-controller", "access-manager"];
/// Methods of concurrency control, and the one that has each site choose by itself.
pub(crate) const METHODS: [&str; 6] = ["locking", "optimistic", "serial", "simple-locking", "timestamp", "auto"];
/// Ways from one method to another.
pub(crate) const WAYS: [&str; 3] = ["generic", "converting", "suffix-sufficient"];

/// What a page asks for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum ToolAction {
    /// SIGKILL for a process: a site's number, or `oracle`.
    Kill { name: String },
    /// Start it again.
    Restart { name: String },
    /// Start a site with a new copy.
    Repair { name: String },
    /// Move a server of a site to another process, or to another host.
    Move { site: u16, server: String, to: String },
    /// Go over to another method, at one site or at all.
    Method { method: String, way: Option<String>, site: Option<u16> },
    /// Take back what was set.
    ResetMethod { site: Option<u16> },
}

/// An action that is over.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DoneAction {
    /// When it began.
    pub(crate) time: String,
    /// The page's address.
    pub(crate) who: String,
    /// What was done, as a person would type it.
    pub(crate) what: String,
    /// Whether it was.
    pub(crate) ok: bool,
    /// What came of it.
    pub(crate) said: String,
    /// How long it took, in milliseconds.
    pub(crate) took_ms: f64,
}

/// How an action is done.
#[derive(Debug, PartialEq, Eq)]
enum ActionPlan {
    /// By the program, with these arguments.
    Command(Vec<String>),
    /// By these statements, at any site; then this method is waited for at these sites, or at all.
    Statements { texts: Vec<String>, method: Option<String>, site: Option<u16> },
}

impl ActionPlan {
    fn in_words(&self) -> String {
        match self {
            ActionPlan::Command(arguments) => format!("raid {}", arguments.join(" ")),
            ActionPlan::Statements { texts, .. } => texts.join("; "),
        }
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct ActionDesk {
    options: ToolOptions,
    cluster: Arc<ShownCluster>,
    turn: Arc<tokio::sync::Mutex<()>>,
    done: Mutex<VecDeque<DoneAction>>,
}

impl ActionDesk {
    /// Nothing was done yet.
    pub(crate) fn new(options: ToolOptions, cluster: Arc<ShownCluster>) -> ActionDesk {
        ActionDesk { options, cluster, turn: Arc::default(), done: Mutex::default() }
    }

    /// What was done since the console was started, the newest first.
    pub(crate) fn done(&self) -> Vec<DoneAction> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }

    /// Does it, and returns when it is over.
    pub(crate) async fn carry_out(
        self: Arc<ActionDesk>,
        action: ToolAction,
        who: SocketAddr,
    ) -> Result<DoneAction, ToolRefusal> {
        if self.options.read_only {
            return Err(ToolRefusal::read_only());
        }
        let plan = self.plan(&action)?;
        let busy = || ToolRefusal::busy("Another action is under way: wait until it is over.");
        let turn = self.turn.clone().try_lock_owned().map_err(|_| busy())?;
        let task = tokio::spawn(async move {
            let done = self.run(&plan, who).await;
            drop(turn);
            done
        });
        let done =
            task.await.map_err(|_| ToolRefusal::failed("The console failed while it did this: see its terminal."))?;
        match done.ok {
            true => Ok(done),
            false => Err(ToolRefusal::failed(done.said)),
        }
    }

    async fn run(&self, plan: &ActionPlan, who: SocketAddr) -> DoneAction {
        let (began, clock) = (SystemTime::now(), Instant::now());
        let outcome = match plan {
            ActionPlan::Command(arguments) => command(&self.options.program, arguments).await,
            ActionPlan::Statements { texts, method, site } => self.set(texts, method.as_deref(), *site).await,
        };
        let (ok, said) = outcome.map_or_else(|error| (false, error), |said| (true, said));
        let took_ms = (clock.elapsed().as_secs_f64() * 1e4).round() / 10.0;
        let done = DoneAction { time: moment(began), who: who.to_string(), what: plan.in_words(), ok, said, took_ms };
        let mut all = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == ACTIONS_SHOWN {
            all.pop_front();
        }
        all.push_back(done.clone());
        drop(all);
        if let Err(error) = write_log(&self.options.cluster.folder, &done) {
            eprintln!("raid console: {LOG} cannot be written: {error}");
        }
        done
    }

    /// Every word of a command is one that is known here, so that no page can slip an option in.
    fn plan(&self, action: &ToolAction) -> Result<ActionPlan, ToolRefusal> {
        let known = |name: &str| name == "oracle" || name.parse().is_ok_and(|site| self.is_site(site));
        let process = |command: &str, name: &str| match known(name) {
            true => self.command(&[command, name]),
            false => Err(ToolRefusal::malformed(format!("There is no process {name:?}: name a site, or the oracle."))),
        };
        match action {
            ToolAction::Kill { name } => process("kill", name),
            ToolAction::Restart { name } => process("restart", name),
            ToolAction::Repair { name } if name == "oracle" => {
                Err(ToolRefusal::malformed("The oracle has no copy of the data: name a site."))
            }
            ToolAction::Repair { name } => process("repair", name),
            ToolAction::Move { site, server, to } => {
                self.check_site(Some(*site))?;
                check_word("server", server, &SERVERS)?;
                if to != "site" && !SERVERS.contains(&to.as_str()) && to.parse::<SocketAddr>().is_err() {
                    return Err(ToolRefusal::malformed(format!(
                        "{to:?} is no process: it is `site`, a server's name, or ADDRESS:PORT of a host."
                    )));
                }
                self.command(&["move", server, "--site", &site.to_string(), "--to", to])
            }
            ToolAction::Method { method, way, site } => {
                self.check_site(*site)?;
                check_word("method", method, &METHODS)?;
                way.as_ref().map_or(Ok(()), |way| check_word("way", way, &WAYS))?;
                let set = |name: &str, value: &str| format!("ALTER SYSTEM SET {} = '{value}'", parameter(name, *site));
                let way = way.as_ref().map(|way| set("way", way));
                let texts = way.into_iter().chain([set("method", method)]).collect();
                Ok(ActionPlan::Statements { texts, method: (method != "auto").then(|| method.clone()), site: *site })
            }
            ToolAction::ResetMethod { site } => {
                self.check_site(*site)?;
                let texts = ["method", "way"].map(|name| format!("ALTER SYSTEM RESET {}", parameter(name, *site)));
                Ok(ActionPlan::Statements { texts: texts.to_vec(), method: None, site: *site })
            }
        }
    }

    fn is_site(&self, site: u16) -> bool {
        self.options.cluster.sites.contains_key(&site)
    }

    fn check_site(&self, site: Option<u16>) -> Result<(), ToolRefusal> {
        match site.is_none_or(|site| self.is_site(site)) {
            true => Ok(()),
            false => Err(ToolRefusal::malformed(format!("There is no site {}.", site.unwrap_or_default()))),
        }
    }

    fn command(&self, arguments: &[&str]) -> Result<ActionPlan, ToolRefusal> {
        if !self.options.cluster.is_local {
            return Err(ToolRefusal::malformed(
                "The processes of this cluster are not started from here: give the command on the site's host.",
            ));
        }
        let folder = self.options.cluster.folder.display().to_string();
        let arguments = arguments.iter().copied().chain(["--data", &folder]);
        Ok(ActionPlan::Command(arguments.map(str::to_owned).collect()))
    }

    /// By the first site that takes it. What was set is waited for, so that what is told is not what was before.
    async fn set(&self, texts: &[String], method: Option<&str>, site: Option<u16>) -> Result<String, String> {
        let mut failures = Vec::new();
        for (number, place) in &self.cluster.sites {
            let Some(address) = place.sql else { continue };
            let place = SqlPlace { address, user: &self.options.user };
            match self.statements(place, texts).await {
                Ok(()) => return Ok(self.methods_after(method, site).await),
                // A site that says why is the last one asked: the others would say the same.
                Err((error, true)) => return Err(error),
                Err((error, false)) => failures.push(format!("site {number}: {error}")),
            }
        }
        match failures.is_empty() {
            true => Err("No address for SQL is known of any site.".to_owned()),
            false => Err(failures.join("; ")),
        }
    }

    async fn statements(&self, place: SqlPlace<'_>, texts: &[String]) -> Result<(), (String, bool)> {
        for text in texts {
            ask(place, text, SQL_TIME_MAX.min(2 * VIEW_TIME_MAX))
                .await
                .map_err(|failure| (failure.error, failure.is_answer))?;
        }
        Ok(())
    }

    async fn methods_after(&self, method: Option<&str>, site: Option<u16>) -> String {
        let mut samples = self.cluster.newest.subscribe();
        let concerned = |number: &u16| site.is_none_or(|site| site == *number);
        let now = || {
            let sites = self.cluster.sites.keys().filter(|number| concerned(number));
            sites.filter_map(|number| Some((*number, self.cluster.view(*number)?.method))).collect::<Vec<_>>()
        };
        let all_run = || method.is_some_and(|method| now().iter().all(|(_, runs)| runs == method));
        let looked = async {
            // The sample after the next one was asked for after the change.
            for _ in 0..2 {
                if samples.changed().await.is_err() {
                    return;
                }
            }
            while method.is_some() && !all_run() && samples.changed().await.is_ok() {}
        };
        let in_time = tokio::time::timeout(METHOD_TIME_MAX, looked).await.is_ok();
        let list: Vec<String> = now().iter().map(|(number, runs)| format!("site {number} runs {runs}")).collect();
        match in_time {
            true => format!("It is set: {}.", list.join(", ")),
            false => format!("It is set, but not in force everywhere yet: {}.", list.join(", ")),
        }
    }
}

fn parameter(name: &str, site: Option<u16>) -> String {
    match site {
        Some(site) => format!("raid.site_{site}.concurrency_{name}"),
        None => format!("raid.concurrency_{name}"),
    }
}

fn check_word(what: &str, word: &str, known: &[&str]) -> Result<(), ToolRefusal> {
    match known.contains(&word) {
        true => Ok(()),
        false => Err(ToolRefusal::malformed(format!("{word:?} is no {what}: there are {}.", known.join(", ")))),
    }
}

/// What the program says when it has done this; an error is what it says otherwise.
async fn command(program: &Path, arguments: &[String]) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{} cannot be run: {error}", program.display());
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(failed)?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let both = async {
        let (said, complained) = tokio::join!(all_of(output), all_of(errors));
        (child.wait().await, said, complained)
    };
    let Ok((status, said, complained)) = tokio::time::timeout(COMMAND_TIME_MAX, both).await else {
        return Err(format!("The command had not ended after {} s.", COMMAND_TIME_MAX.as_secs()));
    };
    match status.map_err(failed)?.success() {
        true => Ok(said),
        false if complained.is_empty() => Err(said),
        false => Err(complained),
    }
}

async fn all_of(stream: Option<impl tokio::io::AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let mut first = (&mut stream).take(COMMAND_BYTES_MAX);
        // What was read until an error is what there is.
        let _ = first.read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// As RFC 3339 has it, in UTC.
fn moment(time: SystemTime) -> String {
    let milliseconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let instant = i64::try_from(milliseconds).ok().and_then(chrono::DateTime::from_timestamp_millis);
    instant.map(|time| time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)).unwrap_or_default()
}

fn write_log(folder: &Path, done: &DoneAction) -> std::io::Result<()> {
    let path = folder.join(LOG);
    if std::fs::metadata(&path).is_ok_and(|file| file.len() > LOG_BYTES_MAX) {
        std::fs::rename(&path, folder.join(OLD_LOG))?;
    }
    let line = serde_json::to_string(done).map_err(std::io::Error::other)?;
    std::fs::OpenOptions::new().create(true).append(true).open(&path)?.write_all(format!("{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_file::{ClusterFile, ShownSite};
    use std::collections::BTreeMap;

    fn desk(is_local: bool) -> ActionDesk {
        let site = ShownSite { console: "127.0.0.1:1".parse().expect("an address"), sql: None };
        let sites = BTreeMap::from([(1, site), (2, site)]);
        let cluster = ClusterFile { folder: "/data".into(), sites: sites.clone(), is_local };
        let listen = "127.0.0.1:0".parse().expect("an address");
        let options =
            ToolOptions { cluster, listen, read_only: false, program: "raid".into(), user: "postgres".to_owned() };
        ActionDesk::new(options, Arc::new(ShownCluster::new(sites)))
    }

    fn planned(is_local: bool, document: &str) -> Result<String, String> {
        let action: ToolAction = serde_json::from_str(document).map_err(|error| error.to_string())?;
        desk(is_local).plan(&action).map(|plan| plan.in_words()).map_err(|refusal| refusal.words().to_owned())
    }

    /// A button would do something else than it says.
    #[test]
    fn actions_are_what_a_person_would_type() {
        for (document, words) in [
            (r#"{"action":"kill","name":"2"}"#, "raid kill 2 --data /data"),
            (r#"{"action":"restart","name":"oracle"}"#, "raid restart oracle --data /data"),
            (r#"{"action":"repair","name":"1"}"#, "raid repair 1 --data /data"),
            (
                r#"{"action":"move","site":1,"server":"action-driver","to":"access-manager"}"#,
                "raid move action-driver --site 1 --to access-manager --data /data",
            ),
            (
                r#"{"action":"method","method":"serial","way":"generic","site":2}"#,
                "ALTER SYSTEM SET raid.site_2.concurrency_way = 'generic'; ALTER SYSTEM SET raid.site_2.concurrency_method = 'serial'",
            ),
            (r#"{"action":"method","method":"auto"}"#, "ALTER SYSTEM SET raid.concurrency_method = 'auto'"),
            (
                r#"{"action":"reset-method"}"#,
                "ALTER SYSTEM RESET raid.concurrency_method; ALTER SYSTEM RESET raid.concurrency_way",
            ),
        ] {
            assert_eq!(planned(true, document).as_deref(), Ok(words), "{document}");
        }
    }

    /// A document could have the program run with options of its own, or SQL of its own be asked.
    #[test]
    fn other_words_are_refused() {
        for document in [
            r#"{"action":"kill","name":"3"}"#,
            r#"{"action":"kill","name":"--data"}"#,
            r#"{"action":"kill","name":"1 --data /x"}"#,
            r#"{"action":"kill","name":"+1x"}"#,
            r#"{"action":"kill","name":"1","data":"/x"}"#,
            r#"{"action":"kill"}"#,
            r#"{"action":"repair","name":"oracle"}"#,
            r#"{"action":"move","site":3,"server":"action-driver","to":"site"}"#,
            r#"{"action":"move","site":1,"server":"user-interface","to":"site"}"#,
            r#"{"action":"move","site":1,"server":"action-driver","to":"--config=/x"}"#,
            r#"{"action":"method","method":"x'; DROP TABLE t; --"}"#,
            r#"{"action":"method","method":"serial","way":"'"}"#,
            r#"{"action":"method","method":"serial","site":9}"#,
            r#"{"action":"reset-method","site":0}"#,
            r#"{"action":"rollback"}"#,
            "[]",
            "null",
        ] {
            assert!(planned(true, document).is_err(), "{document}");
        }
        assert!(
            planned(false, r#"{"action":"kill","name":"1"}"#).expect_err("it is elsewhere").contains("site's host")
        );
    }

    /// The log would have no time, or a line that is no line.
    #[test]
    fn the_log_has_a_line_for_each_action() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let time = moment(UNIX_EPOCH + std::time::Duration::from_millis(1_500));
        assert_eq!(time, "1970-01-01T00:00:01.500Z");
        let done = DoneAction {
            time,
            who: "a".to_owned(),
            what: "b".to_owned(),
            ok: true,
            said: "two\nlines".to_owned(),
            took_ms: 1.5,
        };
        for _ in 0..2 {
            write_log(folder.path(), &done).expect("the folder can be written");
        }
        let text = std::fs::read_to_string(folder.path().join(LOG)).expect("it was written");
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| line.contains(r#""said":"two\nlines""#)), "{text}");
    }
}
