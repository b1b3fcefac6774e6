//! `raid status`: what every site of a cluster says about itself.

use crate::cluster_folder::ClusterFolder;
use crate::limits;
use crate::snapshot::progress_line;
use clap::Args;
use local_cluster::ClusterDirectory;
use local_cluster::screen::{bytes, grouped};
use local_cluster::stop;
use site::layout::names;
use site::snapshot::desk::{ArchiveStatus, ScheduleStatus};
use site::status::{PeerReport, Status, ask};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;

const EXPLANATION: &str = "\
What the rows mean:
  state            up: serves everything; recovering: serves what has no fail-lock; joining, changing, sealed, starting: serves nothing now;
                   disk stalled: serves nothing until its disk answers again; halted: must not go on, see its log
  session vector   how often each site has come back, as this site knows it
  fail-locks       rows that changed while another site was away, and are not copied to it yet
  stale rows       rows of the site's own copy that a copier has yet to refresh
  durability       what makes a commit durable now: enough current copies in memory, memory servers, or the disk
  lease            how long the leases last that the site asks for: when it dies, others wait for the rest of one. They get longer while its
                   host is late. real-time: the thread that keeps them runs before others of its host; ordinary: it may not (CAP_SYS_NICE);
                   below it by how much that thread was late in 999 of 1,000 times, and at most
  window at risk   commits that not every site has on disk: lost only if all sites lose power at once
  memory servers   where the site's log is, and bytes of it that they hold and its disk does not yet
  rounds/commit    message rounds between sites before a commit is answered
  syncs/commit     syncs of the log, by the disk or by memory servers, before a commit is answered
  memory           of the site's process; below it rows that it keeps there, of them those that its store has yet to get (beyond the limit its
                   transactions wait), and versions that only snapshots read (beyond it the oldest snapshot is given up)
  connected with   sites and the oracle; below it those with whom it encrypts: between hosts it should be the same ones
  channels         shared memory on one host, datagrams in one network, streams elsewhere
  round trips      how long a message to each site and its acknowledgement take, as the channel measures it (shared memory does not)
  lease answers    how long a request for a lease takes until it is granted: the same, and what both sites are busy with
  sent again       datagrams, or segments of a stream, that were lost or seemed so, and how many in a hundred that is
  multicast to     sites that one send reaches together
  strangers        connections to it that were closed before they were a peer's; below the table, why

Exit status: 0 when every site answers, 1 otherwise.

Examples:
  raid status
  raid status --watch
  raid status --json | jq '.[].epoch'";

/// Show the state of every site.
#[derive(Args)]
#[command(after_help = EXPLANATION)]
pub struct StatusArguments {
    #[command(flatten)]
    folder: ClusterFolder,
    /// Show it again every second, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// As JSON, by site: everything that the sites say.
    #[arg(long)]
    json: bool,
}

type SiteAnswers = BTreeMap<u16, Result<Status, String>>;

/// Shows it. Exit status 1 when a site does not answer.
pub fn run(options: &StatusArguments) -> Result<ExitCode, String> {
    let cluster = ClusterDirectory::open(&options.folder.data).map_err(|error| error.to_string())?;
    let stop = stop::on_signal()?;
    loop {
        let asked_at = Instant::now();
        let answers: SiteAnswers =
            cluster.sites().iter().map(|(site, addresses)| (*site, ask(addresses.console))).collect();
        let text = if options.json { json(&answers) } else { table(&answers) };
        let erase = if options.watch && !options.json { "\x1b[H\x1b[2J" } else { "" };
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{erase}{}", text.trim_end()).and_then(|()| out.flush()).is_err() || !options.watch {
            let all = answers.values().all(Result::is_ok);
            return Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        while asked_at.elapsed() < limits::WATCH_INTERVAL {
            if stop.load(Ordering::SeqCst) {
                return Ok(ExitCode::SUCCESS);
            }
            std::thread::sleep(limits::LOOK_INTERVAL);
        }
    }
}

fn json(answers: &SiteAnswers) -> String {
    let one = |(site, answer): (&u16, &Result<Status, String>)| {
        let value = match answer {
            Ok(status) => serde_json::to_value(status).expect("a status always encodes"),
            Err(error) => serde_json::json!({ "site": site, "error": error }),
        };
        (site.to_string(), value)
    };
    let sites: serde_json::Map<String, serde_json::Value> = answers.iter().map(one).collect();
    serde_json::to_string_pretty(&sites).expect("JSON values always encode")
}

/// The snapshot that is being taken, or what is known of the schedule.
fn snapshot_line(status: &Status) -> String {
    let failed = status.schedule.as_ref().is_some_and(|schedule| schedule.failure.is_some());
    match (&status.snapshot, &status.schedule) {
        (Some(progress), _) if !failed => progress_line(progress),
        (_, Some(schedule)) => schedule_line(schedule),
        _ => "-".to_owned(),
    }
}

/// What of the schedule of snapshots a person looks for.
fn schedule_line(schedule: &ScheduleStatus) -> String {
    let by = match schedule.taken_by {
        Some(site) => format!("by site {site}"),
        None => "by nobody now".to_owned(),
    };
    let last = schedule.last.as_deref().unwrap_or("none yet");
    match &schedule.failure {
        Some(failure) => format!("{by}, FAILED: {failure}"),
        None => format!("{by}, {last}"),
    }
}

/// What of the archive of the log a person looks for.
fn archive_line(archive: &ArchiveStatus) -> String {
    let behind = match archive.seconds_behind() {
        Some(seconds) => format!("{seconds} s behind"),
        None => "nothing yet".to_owned(),
    };
    match &archive.failure {
        Some(failure) => format!("{behind}, FAILED: {failure}"),
        None if archive.left > 0 => format!("{behind}, {} to go", bytes(archive.left)),
        None => behind,
    }
}

/// What is told of snapshots and archives, where there are any.
fn backups(answers: &SiteAnswers, row: &mut RowMaker<'_>) {
    let any = |is_there: fn(&Status) -> bool| answers.values().flatten().any(is_there);
    if any(|status| status.snapshot.is_some() || status.schedule.is_some()) {
        row("snapshots", &snapshot_line);
    }
    if any(|status| status.archive.is_some()) {
        row("log archive", &|status| status.archive.as_ref().map_or_else(|| "-".to_owned(), archive_line));
    }
}

/// One column for each site.
fn table(answers: &SiteAnswers) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut cells = |name: &str, cell: &dyn Fn(u16, &Result<Status, String>) -> String| {
        let each = answers.iter().map(|(site, answer)| cell(*site, answer));
        rows.push(std::iter::once(name.to_owned()).chain(each).collect());
    };
    cells("site", &|site, _| site.to_string());
    cells("state", &|_, answer| answer.as_ref().map_or("no answer".to_owned(), |status| status.state.clone()));
    let mut row = |name: &str, cell: &dyn Fn(&Status) -> String| {
        cells(name, &|_, answer| answer.as_ref().map_or("-".to_owned(), cell));
    };
    row("incarnation", &|status| status.incarnation.to_string());
    row("epoch", &|status| status.epoch.to_string());
    row("members", &|status| {
        let member = |member: &site::status::MemberShown| match member.state.as_str() {
            "up" => member.site.to_string(),
            _ => format!("{}({})", member.site, member.state),
        };
        joined(status.members.iter().map(member), " ")
    });
    row("session vector", &|status| joined(status.sessions.iter().map(|(site, count)| format!("{site}:{count}")), " "));
    row("fail-locks", &|status| {
        let locks = status.fail_locks.iter().filter(|(_, count)| **count > 0);
        joined(locks.map(|(site, count)| format!("{site}:{}", grouped(*count))), " ")
    });
    row("stale rows", &|status| grouped(status.stale));
    row("copied", &|status| bytes(status.copied_bytes));
    row("durability", &|status| status.durability.clone());
    row("required copies", &|status| status.required_copies.to_string());
    row("lease", &|status| format!("{} ms, {}", status.lease_ms, status.lease_right));
    row("  late", &|status| {
        format!("{}, at most {}", microseconds(status.lease_late_us), microseconds(status.lease_late_us_max))
    });
    row("window at risk", &|status| format!("{} commits", grouped(status.unsynced_commits)));
    if answers.values().flatten().any(|status| !status.log.servers.is_empty()) {
        row("memory servers", &|status| match status.log.servers.len() {
            0 => "none".to_owned(),
            servers => format!("{servers}, {} ahead of the disk", bytes(status.log.window_bytes)),
        });
    }
    row("committed", &|status| grouped(status.commits.committed));
    row("  from memory", &|status| grouped(status.commits.committed_in_memory));
    row("  with others", &|status| grouped(status.commits.committed_together));
    row("aborted at commit", &|status| grouped(status.commits.aborted));
    row("resolved", &|status| grouped(status.commits.resolved));
    row("prepares sent again", &|status| grouped(status.commits.prepares_resent));
    row("rounds/commit", &|status| ratio(status.commits.rounds, status.commits.committed));
    row("syncs/commit", &|status| ratio(status.commits.syncs_before_answer, status.commits.committed));
    row("log written", &|status| bytes(status.log.bytes_appended));
    row("log syncs", &|status| grouped(status.log.syncs));
    row("last sync, longest", &|status| {
        let milliseconds = |micros: u64| format!("{:.1}", micros as f64 / 1e3);
        format!(
            "{}, {} ms",
            milliseconds(status.log.sync_latency_us_last),
            milliseconds(status.log.sync_latency_us_max)
        )
    });
    backups(answers, &mut row);
    row("memory", &|status| bytes(status.memory.resident_bytes));
    let of = |part: u64, most: u64| format!("{} of {}", bytes(part), bytes(most));
    row("  rows", &|status| of(status.memory.row_bytes, status.memory.row_bytes_max));
    row("  not in the store", &|status| of(status.memory.unposted_bytes, status.memory.unposted_bytes_max));
    row("  old versions", &|status| of(status.memory.old_version_bytes, status.memory.old_version_bytes_max));
    connections(&mut row);
    places(&mut row);
    laid_out(&rows) + &remarks(answers)
}

/// Rows of cells in columns, each as wide as its widest cell: the first to the left, the others to the right.
fn laid_out(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0).max(COLUMN_MIN)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            }
            .expect("a string takes any text");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Characters of a column at least, so that a table that is watched does not jump.
const COLUMN_MIN: usize = 18;

/// Makes a row of the table.
type RowMaker<'a> = dyn FnMut(&str, &dyn Fn(&Status) -> String) + 'a;

/// With whom the sites talk, and how.
fn connections(row: &mut RowMaker<'_>) {
    row("connected with", &|status| joined(status.peers.iter().filter(|peer| peer.connected).map(peer_name), " "));
    row("  channels", &|status| {
        // Of the other sites: what most messages go by.
        let sites = status.peers.iter().filter(|peer| peer.site != 0 && peer.connected);
        let mut channels: Vec<String> = sites.map(|peer| peer.channel.clone()).collect();
        channels.sort_unstable();
        channels.dedup();
        joined(channels.into_iter(), ", ")
    });
    row("  round trips", &|status| by_site(status, |peer| peer.round_trip_us.map(microseconds)));
    row("  lease answers", &|status| by_site(status, |peer| peer.lease_round_trip_us.map(microseconds)));
    row("  sent again", &|status| by_site(status, sent_again));
    row("  multicast to", &|status| joined(status.peers.iter().filter(|peer| peer.multicast).map(peer_name), " "));
    row("  encrypted", &|status| joined(status.peers.iter().filter(|peer| peer.encrypted).map(peer_name), " "));
    row("strangers", &|status| grouped(status.strangers.values().sum()));
    row("clients", &|status| grouped(status.clients as u64));
}

/// Where the sites' servers are.
fn places(row: &mut RowMaker<'_>) {
    row("layout", &|status| if status.layout.is_empty() { "-".to_owned() } else { status.layout.clone() });
    for kind in names() {
        row(&format!("  {kind}"), &|status| place(status, &kind));
    }
}

/// What a table has no room for.
fn remarks(answers: &SiteAnswers) -> String {
    let mut text = String::new();
    for (site, answer) in answers {
        let remark = match answer {
            Ok(Status { refusal: Some(refusal), .. }) => format!("serves nothing now: {refusal}"),
            Ok(Status { set_back: true, .. }) => {
                "its data were put back from an older copy: all of them are brought anew from the other sites"
                    .to_owned()
            }
            Ok(_) => continue,
            Err(error) => error.clone(),
        };
        writeln!(text, "site {site}: {remark}").expect("a string takes any text");
    }
    for (site, status) in answers.iter().filter_map(|(site, answer)| Some((site, answer.as_ref().ok()?))) {
        for peer in &status.peers {
            if let Some(failure) = &peer.failure {
                let name = peer_name(peer);
                writeln!(text, "site {site}: not connected with {name}: {failure}").expect("a string takes any text");
            }
        }
        for (reason, count) in &status.strangers {
            let count = grouped(*count);
            writeln!(text, "site {site}: strangers: {reason}: {count}").expect("a string takes any text");
        }
    }
    text
}

fn peer_name(peer: &PeerReport) -> String {
    if peer.site == 0 { "oracle".to_owned() } else { peer.site.to_string() }
}

/// What there is of each other site, behind its number.
fn by_site(status: &Status, of: impl Fn(&PeerReport) -> Option<String>) -> String {
    let sites = status.peers.iter().filter(|peer| peer.site != 0 && peer.connected);
    joined(sites.filter_map(|peer| Some(format!("{}:{}", peer.site, of(peer)?))), " ")
}

fn microseconds(time: u64) -> String {
    match time {
        0..10_000 => format!("{time}us"),
        _ => format!("{}ms", time / 1_000),
    }
}

/// Datagrams or segments sent again, with their share of all.
fn sent_again(peer: &PeerReport) -> Option<String> {
    match peer.loss_percent {
        Some(percent) => Some(format!("{} ({percent:.1}%)", grouped(peer.sent_again))),
        None => (peer.channel == "stream").then(|| grouped(peer.sent_again)),
    }
}

/// In which process a server is, and the number of that.
fn place(status: &Status, kind: &str) -> String {
    let found = status.servers.iter().find(|server| server.server == kind);
    found.map_or("-".to_owned(), |server| match server.pid {
        0 => format!("at {}", server.process),
        pid if server.process == kind => format!("pid {pid}"),
        pid => format!("in {}, pid {pid}", server.process),
    })
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(separator) }
}

fn ratio(of: u64, to: u64) -> String {
    if to == 0 { "-".to_owned() } else { format!("{:.2}", of as f64 / to as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use site::status::{Commits, MemberShown};

    /// An operator must see a site that does not answer, and the proof of one round and no sync.
    #[test]
    fn the_table_shows_what_matters() {
        let member = |site, state: &str| MemberShown { site, incarnation: 1, state: state.to_owned() };
        let status = Status {
            site: 1,
            state: "up".to_owned(),
            members: vec![member(1, "up"), member(3, "recovering")],
            fail_locks: [(2, 1_234), (3, 0)].into(),
            commits: Commits { committed: 200, rounds: 200, ..Commits::default() },
            durability: "memory, 2 copies".to_owned(),
            ..Status::default()
        };
        let answers: SiteAnswers = [(1, Ok(status)), (2, Err("no answer".to_owned()))].into();
        let text = table(&answers);
        for part in ["1 3(recovering)", "2:1,234", "memory, 2 copies", "1.00", "0.00", "site 2: no answer"] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
        let parsed: serde_json::Value = serde_json::from_str(&json(&answers)).expect("machines read it");
        assert_eq!(parsed["1"]["fail_locks"]["2"], 1_234);
        assert_eq!(parsed["2"]["error"], "no answer");
    }
}
