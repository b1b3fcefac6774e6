//! What `raid status` shows: one JSON document, given to whoever asks at a site's console address.

use crate::config::SiteConfig;
use crate::core::Core;
use crate::layout::{ProcessPlace, name_of};
use crate::process_use;
use crate::site_log::SiteLog;
use crate::snapshot::desk::{ScheduleStatus, SnapshotCounts, SnapshotProgress};
use commit_log::{LogReceipt, LogStatus};
use domain::WorkCounts;
use messages::{Epoch, MemberState, ServerKind};
use raidcomm::streams::ConnectionChannel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use user_interface::counters::InterfaceCounts;

/// Every state of a site.
pub const STATES: [&str; 8] = ["starting", "joining", "changing", "up", RECOVERING, "sealed", "disk stalled", "halted"];
/// That of a member whose copy lacks something.
pub const RECOVERING: &str = "recovering";

/// How long a console waits for a site.
const PATIENCE: Duration = Duration::from_secs(2);

/// The state of a site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Which site.
    pub site: u16,
    /// In which life; 0 before it has one.
    pub incarnation: u32,
    /// One of [`STATES`]; `lost` while a server is.
    pub state: String,
    /// Why it serves nothing now, if so.
    pub refusal: Option<String>,
    /// The number of the highest epoch that it knows.
    pub epoch: u64,
    /// Members of that epoch.
    pub members: Vec<MemberShown>,
    /// The session vector: how often each site has come back.
    pub sessions: BTreeMap<u16, u64>,
    /// Fail-locked items of every other site.
    pub fail_locks: BTreeMap<u16, u64>,
    /// Stale items of its own copy.
    pub stale: u64,
    /// Its data were put back from an older copy, and everything is brought anew.
    #[serde(default)]
    pub set_back: bool,
    /// Bytes of keys and rows that copiers brought in this life.
    pub copied_bytes: u64,
    /// What commits and aborts have come to in this life.
    pub commits: Commits,
    /// Commits with fewer caught-up copies than this wait for the disk.
    pub required_copies: u16,
    /// What makes a commit durable now.
    pub durability: String,
    /// Commits that some member has not synced: the window at risk if all sites lose power at once.
    pub unsynced_commits: u64,
    /// How long the leases last that it asks for, in milliseconds; its death is felt for at most that long, and a little.
    #[serde(default)]
    pub lease_ms: u64,
    /// By what right the thread that keeps leases runs: `real-time`, before all ordinary threads of its host, or `ordinary`.
    #[serde(default)]
    pub lease_right: String,
    /// How late that thread was at most in 999 of 1,000 times that it was to run since the process began, in microseconds,
    #[serde(default)]
    pub lease_late_us: u64,
    /// and the longest.
    #[serde(default)]
    pub lease_late_us_max: u64,
    /// The concurrency-control method in force.
    #[serde(default)]
    pub method: String,
    /// How long the lease still lasts that each other member has granted, in microseconds.
    #[serde(default)]
    pub leases_left_us: BTreeMap<u16, u64>,
    /// Its log.
    pub log: LogReport,
    /// Its memory.
    #[serde(default)]
    pub memory: MemoryReport,
    /// Its connections with other sites and the oracle (site 0).
    pub peers: Vec<PeerReport>,
    /// How many connections of strangers were closed for each reason, in this life.
    pub strangers: BTreeMap<String, u64>,
    /// Clients connected.
    pub clients: usize,
    /// Which of its servers share a process, as configured.
    #[serde(default)]
    pub layout: String,
    /// Its servers, where they are now.
    #[serde(default)]
    pub servers: Vec<ServerStatus>,
    /// The snapshot that it takes now.
    #[serde(default)]
    pub snapshot: Option<SnapshotProgress>,
    /// Its schedule of snapshots, if it has one.
    #[serde(default)]
    pub schedule: Option<ScheduleStatus>,
    /// What its snapshots have come to.
    #[serde(default)]
    pub snapshots: SnapshotCounts,
}

/// Everything that is counted, at one moment.
#[derive(Debug, Default)]
pub(crate) struct SiteCounts {
    /// The status.
    pub(crate) status: Status,
    /// What user interfaces have counted.
    pub(crate) interface: InterfaceCounts,
    /// What the action driver has.
    pub(crate) work: WorkCounts,
    /// Messages that servers have taken, by server and protocol, as far as there were any.
    pub(crate) messages: Vec<(ServerKind, &'static str, u64)>,
}

/// A server of the site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// Which.
    pub server: String,
    /// In which process: `site`, or the server that it is named after, or the address of the host where it is.
    pub process: String,
    /// The number of that; 0 while it does not run, and on another host.
    pub pid: u32,
    /// Messages that it has taken in this life.
    pub messages: u64,
    /// Calls made for it since it is in another process than the site's.
    pub calls: u64,
}

/// A member of the epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberShown {
    /// Which site.
    pub site: u16,
    /// In which life.
    pub incarnation: u32,
    /// `up` or `recovering`.
    pub state: String,
}

/// Transactions of this home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {
    /// Committed.
    pub committed: u64,
    /// Of them, answered from memory, without a disk sync.
    pub committed_in_memory: u64,
    /// Of them, programs that went on in the transaction of another, and committed with it.
    #[serde(default)]
    pub committed_together: u64,
    /// Aborted after their prepare.
    pub aborted: u64,
    /// Prepares sent to other sites.
    pub prepares: u64,
    /// Prepares sent again.
    pub prepares_resent: u64,
    /// Rounds of messages between sites before the answers, added up.
    pub rounds: u64,
    /// Disk syncs waited for before an answer.
    pub syncs_before_answer: u64,
    /// Decided by a change of the epoch.
    pub resolved: u64,
}

/// What a site keeps in memory, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Of the site's process, as the kernel counts it.
    pub resident_bytes: u64,
    /// Rows in memory, every version and key.
    pub row_bytes: u64,
    /// Of them, at most: those read longest ago go, except for what is not in the store yet.
    pub row_bytes_max: u64,
    /// Of the rows, those that are not in the store yet.
    pub unposted_bytes: u64,
    /// Of them, at most, before transactions of this site wait.
    pub unposted_bytes_max: u64,
    /// Of the rows, versions that only snapshots read.
    pub old_version_bytes: u64,
    /// Of them, at most, before the oldest snapshot is given up.
    pub old_version_bytes_max: u64,
}

/// The log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogReport {
    /// Bytes appended.
    pub bytes_appended: u64,
    /// Bytes that a start would read if the site ended now.
    pub bytes_to_replay: u64,
    /// Syncs.
    pub syncs: u64,
    /// Durations of all of them together, microseconds.
    #[serde(default)]
    pub sync_latency_us_total: u64,
    /// Duration of the last sync, microseconds.
    pub sync_latency_us_last: u64,
    /// Duration of the longest, microseconds.
    pub sync_latency_us_max: u64,
    /// Memory servers that keep it.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Bytes that they hold and the disk does not yet: lost if they and this host's power go at once.
    #[serde(default)]
    pub window_bytes: u64,
}

/// A connection with another site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerReport {
    /// Which; 0 is the oracle.
    pub site: u16,
    /// Whether both directions work.
    pub connected: bool,
    /// By what messages go to it: `stream`, `datagrams` or `shared memory`; empty: by nothing now.
    pub channel: String,
    /// Microseconds of a round trip on the channel, as far as it measures that.
    #[serde(default)]
    pub round_trip_us: Option<u64>,
    /// Microseconds from the request for a lease until it is granted: the channel and what both sites are busy with.
    #[serde(default)]
    pub lease_round_trip_us: Option<u64>,
    /// Datagrams, or segments of the connection, sent again because they were lost or seemed so.
    #[serde(default)]
    pub sent_again: u64,
    /// How many percent of the datagrams with messages that is; `None`: there were none.
    #[serde(default)]
    pub loss_percent: Option<f64>,
    /// Datagrams that came more than once.
    #[serde(default)]
    pub received_twice: u64,
    /// What goes to several sites reaches it by multicast.
    #[serde(default)]
    pub multicast: bool,
    /// Whether what is sent to it is encrypted.
    pub encrypted: bool,
    /// If it is not connected, what ended the last connection or attempt.
    pub failure: Option<String>,
    /// Messages sent.
    pub frames_out: u64,
    /// Messages received.
    pub frames_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// System calls that sent them.
    pub writes: u64,
}

impl Status {
    /// As text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a status always encodes")
    }
}

impl From<raidcomm::streams::PeerStatus> for PeerReport {
    fn from(peer: raidcomm::streams::PeerStatus) -> PeerReport {
        let datagrams = peer.datagrams;
        let counters = datagrams.map(|status| status.counters).unwrap_or_default();
        PeerReport {
            site: peer.site.0,
            connected: peer.connected,
            channel: match peer.channel {
                Some(ConnectionChannel::Stream) => "stream",
                Some(ConnectionChannel::Datagrams) => "datagrams",
                Some(ConnectionChannel::SharedMemory) => "shared memory",
                None => "",
            }
            .to_owned(),
            round_trip_us: match peer.channel {
                Some(ConnectionChannel::Datagrams) => {
                    datagrams.and_then(|status| status.round_trip).map(|time| time / 1_000)
                }
                Some(ConnectionChannel::Stream) => peer.tcp.map(|tcp| tcp.round_trip_us.into()),
                Some(ConnectionChannel::SharedMemory) | None => None,
            },
            lease_round_trip_us: None,
            sent_again: counters.datagrams_again + peer.tcp.map_or(0, |tcp| tcp.segments_again.into()),
            loss_percent: (counters.datagrams_out > 0)
                .then(|| 100.0 * counters.datagrams_again as f64 / counters.datagrams_out as f64),
            received_twice: counters.datagrams_twice,
            multicast: datagrams.is_some_and(|status| status.is_open && status.hears_group),
            encrypted: peer.encrypted,
            failure: peer.last_failure.filter(|_| !peer.connected).map(|reason| reason.to_string()),
            frames_out: peer.counters.frames_out,
            frames_in: peer.counters.frames_in,
            bytes_out: peer.counters.bytes_out,
            bytes_in: peer.counters.bytes_in,
            writes: peer.counters.writes,
        }
    }
}

/// The state of a site, seen from its core.
pub(crate) fn of(config: &SiteConfig, core: &Core, clients: usize) -> Status {
    let mut peers: Vec<PeerReport> = core.peers().into_iter().map(PeerReport::from).collect();
    let strangers = core.strangers();
    let layout = config.layout.name().to_owned();
    let servers = servers(core);
    let lease_right = core.lease_right().name().to_owned();
    let late = core.lease_lateness();
    let Some(domain) = core.domain() else {
        return Status {
            site: config.id,
            state: "starting".to_owned(),
            refusal: Some("it waits for the oracle to give it an incarnation".to_owned()),
            lease_ms: config.lease_ms,
            lease_right,
            peers,
            strangers,
            clients,
            layout,
            servers,
            ..Status::default()
        };
    };
    let replication = domain.replication();
    for peer in &mut peers {
        let time = replication.round_trips.get(&messages::SiteId(peer.site));
        peer.lease_round_trip_us = time.map(|time| time / 1_000);
    }
    let log = commit_log::Log::status(domain.log());
    let mut status = Status {
        site: config.id,
        incarnation: domain.settings().incarnation.0,
        state: replication.state.into_owned(),
        refusal: domain.refusal(crate::clock::now()),
        fail_locks: replication.fail_locks.iter().map(|(site, count)| (site.0, *count)).collect(),
        stale: replication.stale,
        set_back: replication.set_back,
        copied_bytes: replication.copied_bytes,
        commits: counted(domain.commits(), domain.companions()),
        unsynced_commits: replication.unsynced_commits,
        lease_ms: domain.lease().milliseconds(),
        lease_right,
        lease_late_us: late.of_thousand(999),
        lease_late_us_max: late.longest(),
        method: domain.method().map(|(report, _)| report.method.name().to_owned()).unwrap_or_default(),
        leases_left_us: leases_left(domain),
        log: log_of(domain, &log),
        memory: memory_of(domain),
        peers,
        strangers,
        clients,
        layout,
        servers,
        ..Status::default()
    };
    if let Some(epoch) = &replication.epoch {
        tell_epoch(&mut status, epoch, log.receipt);
    }
    status
}

/// What an epoch says of the sites.
fn tell_epoch(status: &mut Status, epoch: &Epoch, receipt: LogReceipt) {
    status.epoch = epoch.number.0;
    status.required_copies = epoch.required_copies;
    status.durability = durability(epoch.up().count(), epoch.required_copies, receipt);
    status.sessions = epoch.sessions.iter().map(|(site, count)| (site.0, *count)).collect();
    let member = |(site, member): (&messages::SiteId, &messages::Member)| MemberShown {
        site: site.0,
        incarnation: member.incarnation.0,
        state: match member.state {
            MemberState::Up => "up".to_owned(),
            MemberState::Recovering => RECOVERING.to_owned(),
        },
    };
    status.members = epoch.members.iter().map(member).collect();
}

/// What makes a commit durable while so many members are up.
fn durability(up: usize, required_copies: u16, receipt: LogReceipt) -> String {
    match (up >= usize::from(required_copies), receipt) {
        (true, _) => format!("memory, {up} copies"),
        (false, LogReceipt::Memory { copies }) => format!("memory, {copies} memory servers"),
        (false, LogReceipt::Disk) => "disk".to_owned(),
    }
}

fn log_of(domain: &domain::Domain<SiteLog>, log: &LogStatus) -> LogReport {
    LogReport {
        bytes_appended: log.bytes_appended,
        bytes_to_replay: domain.bytes_to_replay(),
        syncs: log.syncs,
        sync_latency_us_total: log.sync_latency_us_total,
        sync_latency_us_last: log.sync_latency_us_last,
        sync_latency_us_max: log.sync_latency_us_max,
        servers: domain.log().servers().iter().map(ToString::to_string).collect(),
        window_bytes: log.window_bytes,
    }
}

fn memory_of(domain: &domain::Domain<SiteLog>) -> MemoryReport {
    let (kept, settings) = (domain.memory(), domain.settings());
    MemoryReport {
        resident_bytes: resident_bytes(),
        row_bytes: kept.all as u64,
        row_bytes_max: settings.memory_bytes_max as u64,
        unposted_bytes: kept.unposted as u64,
        unposted_bytes_max: settings.unposted_bytes_max as u64,
        old_version_bytes: kept.old as u64,
        old_version_bytes_max: settings.old_version_bytes_max as u64,
    }
}

/// Of this process; 0 if the kernel does not tell.
fn resident_bytes() -> u64 {
    process_use::resident_bytes(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
}

fn leases_left(domain: &domain::Domain<SiteLog>) -> BTreeMap<u16, u64> {
    let left = domain.leases_left(crate::clock::boot()).into_iter();
    left.map(|(site, nanoseconds)| (site.0, nanoseconds / 1_000)).collect()
}

/// Each program is a transaction to its client, whether it has committed alone or with others.
fn counted(commits: domain::CommitCounters, companions: domain::CompanionCounters) -> Commits {
    Commits {
        committed: commits.committed + companions.committed,
        committed_in_memory: commits.committed_in_memory + companions.in_memory,
        committed_together: commits.committed_together + companions.committed,
        aborted: commits.aborted,
        prepares: commits.prepares,
        prepares_resent: commits.prepares_resent,
        rounds: commits.rounds,
        syncs_before_answer: commits.syncs_before_answer,
        resolved: commits.resolved,
    }
}

fn servers(core: &Core) -> Vec<ServerStatus> {
    let calls = core.domain().map(domain::Domain::calls).unwrap_or_default();
    let server = |(kind, place, pid)| {
        let calls = calls.iter().find(|calls| calls.kind == kind);
        ServerStatus {
            server: name_of(kind),
            process: ProcessPlace::to_string(&place),
            pid,
            messages: calls.map_or(0, |calls| calls.messages),
            calls: calls.map_or(0, |calls| calls.calls),
        }
    };
    core.processes().list().into_iter().map(server).collect()
}

/// Asks a site.
pub fn ask(console: SocketAddr) -> Result<Status, String> {
    let text = |error: std::io::Error| format!("no answer from {console}: {error}");
    let mut socket = TcpStream::connect_timeout(&console, PATIENCE).map_err(text)?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(text)?;
    socket.write_all(console::STATUS_LINE).map_err(text)?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).map_err(text)?;
    serde_json::from_str(&answer).map_err(|error| format!("{console} does not answer like a site: {error}"))
}
