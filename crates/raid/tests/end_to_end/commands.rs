//! The commands of the `raid` program, as a person types them.

use crate::harness::{PATIENCE, eventually, layout, raid, said, succeeds, turn};
use laboratory::debit_credit::connect;
use local_cluster::ClusterDirectory;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// `raid start`, which is ended when the test ends, however that comes.
pub(crate) struct Foreground {
    child: Child,
    lines: Receiver<String>,
}

impl Foreground {
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Foreground {
        let mut command = Command::new(raid());
        let command = command.args(["start", "--sites", "3", "--port", "0", "--layout", layout().name(), "--data"]);
        Foreground::run(command.arg(folder).args(more))
    }

    fn run(command: &mut Command) -> Foreground {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("raid start runs");
        let output = child.stdout.take().expect("it is a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Foreground { child, lines }
    }

    /// Waits for a line with these words.
    pub(crate) fn says(&self, words: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|error| panic!("raid start has not said {words:?}: {error}"));
            if line.contains(words) {
                return line;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        // Its children end when it is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pid(folder: &Path, process: &str) -> Option<Pid> {
    let text = std::fs::read_to_string(folder.join(process).join("pid")).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

fn all_pids(folder: &Path) -> Vec<Pid> {
    let pids = ["oracle", "site-1", "site-2", "site-3"].map(|process| pid(folder, process));
    pids.into_iter().map(|pid| pid.expect("a running process has a pid file")).collect()
}

fn lives(pid: Pid) -> bool {
    // A process that nobody has waited for yet counts as ended.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).unwrap_or("Z");
    test_kill_process(pid).is_ok() && state != "Z"
}

/// A command on the cluster in a folder.
pub(crate) fn command(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(raid());
    command.args(name.split(' ')).arg("--data").arg(folder);
    command
}

/// What a person tries first must work as the help says: start, status, kill, restart, a death, Ctrl-C, start again.
#[test]
fn a_cluster_in_the_foreground_does_what_it_is_told() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let missing = command("status", folder).output().expect("raid runs");
    assert!(!missing.status.success() && said(&missing).contains("raid start --data"), "{}", said(&missing));

    let mut cluster = Foreground::start(folder, &[]);
    cluster.says("All sites serve");
    let table = succeeds(&mut command("status", folder));
    assert!(table.contains("memory, 3 copies") && table.contains("1 2 3") && table.contains("of 536.9 MB"), "{table}");
    let second = command("start", folder).output().expect("raid runs");
    assert!(!second.status.success() && said(&second).contains("another `raid start`"), "{}", said(&second));
    let wrong = command("start --sites 5", folder).output().expect("raid runs");
    assert!(!wrong.status.success() && said(&wrong).contains("--sites 3, not 5"), "{}", said(&wrong));

    let before = pid(folder, "site-2").expect("a pid file");
    succeeds(&mut command("kill 2", folder));
    cluster.says("site 2 was killed as ordered");
    assert!(!lives(before), "`raid kill` returned before the process was gone");
    let down = command("status --json", folder).output().expect("raid runs");
    let text = String::from_utf8_lossy(&down.stdout);
    assert!(!down.status.success() && text.contains("\"error\""), "site 2 must not answer:\n{text}");
    let back = succeeds(&mut command("restart 2", folder));
    assert!(back.contains("site 2 serves after"), "{back}");

    // A death that nobody ordered: reported, and started again.
    let victim = pid(folder, "site-3").expect("a pid file");
    kill_process(victim, Signal::KILL).expect("it is our own child's child");
    let line = cluster.says("was killed by SIGKILL");
    assert!(line.contains("site 3") && line.contains("started again"), "{line}");
    eventually("site 3 to have another process", || pid(folder, "site-3").is_some_and(|pid| pid != victim));
    let known = ClusterDirectory::open(folder).expect("the folder holds a cluster");
    eventually("site 3 to be up", || {
        site::status::ask(known.sites()[&3].console).is_ok_and(|status| status.state == "up")
    });

    let pids = all_pids(folder);
    cluster.signal(Signal::INT);
    let status = cluster.child.wait().expect("raid start ends");
    assert!(status.success(), "Ctrl-C must end it in order: {status}");
    assert!(pids.iter().all(|pid| !lives(*pid)), "a process outlived its cluster");

    let instance = known.instance();
    let again = Foreground::start(folder, &[]);
    again.says("All sites serve");
    assert_eq!(ClusterDirectory::open(folder).expect("it is still there").instance(), instance);
}

/// Killing `raid start` itself must leave no site behind: the next start would find its ports and log taken.
#[test]
fn sites_do_not_outlive_their_cluster() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut cluster = Foreground::start(folder.path(), &["--no-restart"]);
    cluster.says("All sites serve");
    let pids = all_pids(folder.path());
    kill_process(pids[1], Signal::KILL).expect("it is our own child's child");
    let line = cluster.says("site 1");
    assert!(line.contains("raid restart 1"), "with --no-restart it must say how to start it: {line}");
    cluster.signal(Signal::KILL);
    cluster.child.wait().expect("it ends");
    eventually("all processes to end", || pids.iter().all(|pid| !lives(*pid)));
}

/// An operator who asks what a transaction costs must get an answer: of every commit that a client was told, with its course.
#[test]
fn traces_show_what_was_committed() {
    const COMMITS: usize = 5;
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let mut start = command("start --sites 3 --port 0", folder);
    start.args(["--layout", layout().name()]);
    let mut cluster = Foreground::run(start.env(site::trace_file::VARIABLE, "all"));
    cluster.says("All sites serve");
    let known = ClusterDirectory::open(folder).expect("the folder holds a cluster");
    let mut client = connect(known.sites()[&1].sql).expect("it serves");
    client.batch_execute("CREATE TABLE t (k int PRIMARY KEY)").expect("a table");
    for k in 0..COMMITS {
        client.batch_execute(&format!("INSERT INTO t VALUES ({k})")).expect("a row");
    }
    cluster.signal(Signal::INT);
    assert!(cluster.child.wait().expect("raid start ends").success(), "what is kept is written at an orderly end");

    let summary = succeeds(&mut command("trace", folder));
    let number = |line: &str| line.split(" transactions committed").next()?.rsplit(' ').next()?.parse::<usize>().ok();
    let committed = summary.lines().find(|line| line.contains(" transactions committed")).and_then(number);
    assert!(committed.is_some_and(|committed| committed > COMMITS), "a commit for each row and the table:\n{summary}");
    for part in ["action driver", "atomicity controller", "Commit.Prepare", "between sites"] {
        assert!(summary.contains(part), "{part:?} is missing:\n{summary}");
    }
    let example = summary.split("--transaction ").nth(1).and_then(|rest| rest.split('`').next());
    let example = example.unwrap_or_else(|| panic!("it must name a transaction to look at:\n{summary}"));
    let course = succeeds(command("trace", folder).args(["--transaction", example]));
    assert!(course.contains("Commit.Prepare") && course.contains("Commit.Decide"), "{course}");
}
