//! The families, by what they are about.

use crate::config::SiteConfig;
use crate::disk_room::DiskRoom;
use crate::layout::name_of;
use crate::process_use::ProcessUse;
use crate::status::{PeerReport, STATES, SiteCounts, Status};
use console::{Exposition, LabelValues};
use messages::method::Method;

const MICROSECONDS: f64 = 1e6;
const MILLISECONDS: f64 = 1e3;

/// One label.
fn label(name: &'static str, value: impl ToString) -> LabelValues {
    vec![(name, value.to_string())]
}

fn yes(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// The names of the other sites, and the oracle, as labels.
fn peer_name(site: u16) -> String {
    if site == 0 { "oracle".to_owned() } else { site.to_string() }
}

pub(super) fn of_site(to: &mut Exposition, config: &SiteConfig, status: &Status, ready: bool) {
    let info = vec![
        ("site", config.id.to_string()),
        ("instance", format!("{:016x}", config.instance)),
        ("layout", config.layout.name().to_owned()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    to.gauges("raid_site_info", "The site, as it is configured; always 1.", [(info, 1.0)]);
    to.gauge("raid_ready", "1 while clients are to be sent to this site: what /health/ready says.", yes(ready));
    let states = STATES.into_iter().map(|state| (label("state", state), yes(status.state == state)));
    to.gauges("raid_state", "1 for the state that the site is in.", states);
    to.gauge("raid_incarnation", "The number of the site's life; 0 before it has one.", status.incarnation.into());
    let methods =
        Method::ALL.into_iter().map(|method| (label("method", method.name()), yes(status.method == method.name())));
    to.gauges("raid_concurrency_control", "1 for the concurrency-control method in force.", methods);
}

pub(super) fn of_clients(to: &mut Exposition, counts: &SiteCounts) {
    let interface = &counts.interface;
    to.gauge("raid_clients", "Clients connected.", counts.status.clients as f64);
    let sessions = interface.sessions().map(|(state, count)| (label("state", state.name()), count as f64));
    to.gauges("raid_sessions", "Sessions by state, at most a second ago.", sessions);
    to.counter("raid_sessions_opened_total", "Sessions that have begun.", interface.opened as f64);
    let statements = interface.statements().map(|(kind, latencies)| (label("kind", kind.name()), latencies));
    to.latencies(
        "raid_statement_duration_seconds",
        "From the moment that a statement was read until its client was told of its end.",
        statements,
    );
    let errors = interface.errors().map(|(class, count)| (label("class", class), count as f64));
    to.counters("raid_errors_total", "Errors told to clients, by the class of their SQLSTATEs.", errors);
    to.counter(
        "raid_transactions_committed_total",
        "Transactions of clients that have committed, also those that only read.",
        interface.committed as f64,
    );
    let aborted = interface.aborted().map(|(cause, count)| (label("cause", cause.name()), count as f64));
    to.counters(
        "raid_transactions_aborted_total",
        "Transactions of clients that have not committed, by cause; conflicts are named as in raid.contention.",
        aborted,
    );
    to.counter(
        "raid_transactions_unknown_total",
        "Transactions of which nobody knows whether they have committed.",
        interface.unknown as f64,
    );
    to.counter(
        "raid_notifications_sent_total",
        "Notifications sent to clients that listen.",
        interface.notifications as f64,
    );
}

pub(super) fn of_commits(to: &mut Exposition, counts: &SiteCounts) {
    let commits = &counts.status.commits;
    to.latencies(
        "raid_commit_duration_seconds",
        "From the moment that a transaction was sent to be committed until its commit was known.",
        [(LabelValues::new(), &counts.work.commits)],
    );
    let lost = counts.work.conflicts().map(|(kind, count)| (label("cause", kind.name()), count as f64));
    to.counters(
        "raid_conflicts_lost_total",
        "Conflicts that transactions of this site have lost, whether they were tried again or not.",
        lost,
    );
    let mut counter = |name: &str, help: &str, value: u64| to.counter(name, help, value as f64);
    counter("raid_commits_total", "Programs that were committed at this home site.", commits.committed);
    counter(
        "raid_commits_in_memory_total",
        "Of raid_commits_total, those answered without a disk sync.",
        commits.committed_in_memory,
    );
    counter(
        "raid_commits_together_total",
        "Of raid_commits_total, those in the transaction of another.",
        commits.committed_together,
    );
    counter("raid_commit_aborts_total", "Transactions aborted after their prepare.", commits.aborted);
    counter("raid_prepares_total", "Prepares sent to other sites.", commits.prepares);
    counter("raid_prepares_resent_total", "Prepares sent again.", commits.prepares_resent);
    counter(
        "raid_commit_rounds_total",
        "Rounds of messages between sites before commits were answered.",
        commits.rounds,
    );
    counter("raid_commit_syncs_total", "Syncs waited for before commits were answered.", commits.syncs_before_answer);
    counter("raid_commits_resolved_total", "Transactions decided by a change of the epoch.", commits.resolved);
}

pub(super) fn of_replication(to: &mut Exposition, config: &SiteConfig, status: &Status) {
    to.gauge("raid_epoch", "The number of the highest epoch that the site knows.", status.epoch as f64);
    let members = ["up", "recovering"].map(|state| {
        let count = status.members.iter().filter(|member| member.state == state).count();
        (label("state", state), count as f64)
    });
    to.gauges("raid_epoch_members", "Members of that epoch, by state.", members);
    to.gauge(
        "raid_required_copies",
        "Commits with fewer caught-up copies than this wait for the disk.",
        status.required_copies.into(),
    );
    let fail_locks = config.peer_sites().into_keys().map(|site| {
        let count = status.fail_locks.get(&site.0).copied().unwrap_or(0);
        (label("peer", site.0), count as f64)
    });
    to.gauges(
        "raid_fail_locked_rows",
        "Rows that changed while another site was away, and are not copied to it yet.",
        fail_locks,
    );
    to.gauge("raid_stale_rows", "Rows of the site's own copy that a copier has yet to refresh.", status.stale as f64);
    to.gauge("raid_set_back", "1 while its data are of an older copy, and brought anew.", yes(status.set_back));
    to.counter(
        "raid_copied_bytes_total",
        "Bytes of keys and rows that copiers have brought.",
        status.copied_bytes as f64,
    );
    to.gauge(
        "raid_unsynced_commits",
        "Commits that some member has not synced: lost if all sites lose power at once.",
        status.unsynced_commits as f64,
    );
}

pub(super) fn of_leases(to: &mut Exposition, config: &SiteConfig, status: &Status) {
    to.gauge(
        "raid_lease_seconds",
        "How long the leases last that the site asks for.",
        status.lease_ms as f64 / MILLISECONDS,
    );
    let left = config.peer_sites().into_keys().map(|site| {
        let left = status.leases_left_us.get(&site.0).copied().unwrap_or(0);
        (label("peer", site.0), left as f64 / MICROSECONDS)
    });
    to.gauges(
        "raid_lease_left_seconds",
        "How long the lease still lasts that a site has granted; 0: there is none.",
        left,
    );
    to.gauge(
        "raid_lease_thread_late_max_seconds",
        "How late the thread that keeps leases was at most since the process began.",
        status.lease_late_us_max as f64 / MICROSECONDS,
    );
}

pub(super) fn of_log(to: &mut Exposition, status: &Status) {
    let log = &status.log;
    to.counter("raid_log_appended_bytes_total", "Bytes appended to the log.", log.bytes_appended as f64);
    to.gauge(
        "raid_log_replay_bytes",
        "Bytes of log that a start would read if the site ended now.",
        log.bytes_to_replay as f64,
    );
    to.counter("raid_log_syncs_total", "Syncs of the log.", log.syncs as f64);
    to.counter(
        "raid_log_sync_seconds_total",
        "How long they took together.",
        log.sync_latency_us_total as f64 / MICROSECONDS,
    );
    to.gauge(
        "raid_log_sync_last_seconds",
        "How long the last one took.",
        log.sync_latency_us_last as f64 / MICROSECONDS,
    );
    to.gauge(
        "raid_log_sync_max_seconds",
        "How long the longest one took.",
        log.sync_latency_us_max as f64 / MICROSECONDS,
    );
    to.gauge("raid_log_memory_servers", "Memory servers that keep the log.", log.servers.len() as f64);
    to.gauge(
        "raid_log_window_bytes",
        "Bytes of log that they hold and the disk does not yet.",
        log.window_bytes as f64,
    );
}

pub(super) fn of_memory(to: &mut Exposition, status: &Status) {
    let memory = &status.memory;
    let parts = |parts: [(&str, u64); 3]| parts.map(|(part, bytes)| (label("part", part), bytes as f64));
    let used =
        [("all", memory.row_bytes), ("unposted", memory.unposted_bytes), ("old_versions", memory.old_version_bytes)];
    to.gauges(
        "raid_row_memory_bytes",
        "Rows in memory: all, those that are not in the store yet, and versions that only snapshots read.",
        parts(used),
    );
    let most = [
        ("all", memory.row_bytes_max),
        ("unposted", memory.unposted_bytes_max),
        ("old_versions", memory.old_version_bytes_max),
    ];
    to.gauges("raid_row_memory_limit_bytes", "The bound of each of them.", parts(most));
}

pub(super) fn of_servers(to: &mut Exposition, counts: &SiteCounts) {
    let messages = counts.messages.iter().map(|(server, protocol, count)| {
        (vec![("server", name_of(*server)), ("kind", (*protocol).to_owned())], *count as f64)
    });
    to.counters("raid_messages_taken_total", "Messages that servers have taken, by server and protocol.", messages);
    let servers = &counts.status.servers;
    let calls = servers.iter().map(|server| (label("server", &server.server), server.calls as f64));
    to.counters("raid_server_calls_total", "Calls made for servers in other processes.", calls);
}

pub(super) fn of_peers(to: &mut Exposition, status: &Status) {
    type PeerCount = fn(&PeerReport) -> u64;
    let of = |value: &dyn Fn(&PeerReport) -> Option<f64>| {
        let sample = |peer: &PeerReport| Some((label("peer", peer_name(peer.site)), value(peer)?));
        status.peers.iter().filter_map(sample).collect::<Vec<_>>()
    };
    to.gauges(
        "raid_peer_connected",
        "1 while both directions of the connection with a site, or the oracle, work.",
        of(&|peer| Some(yes(peer.connected))),
    );
    to.gauges("raid_peer_encrypted", "1 while what is sent to it is encrypted.", of(&|peer| Some(yes(peer.encrypted))));
    to.gauges(
        "raid_peer_round_trip_seconds",
        "A round trip, as far as the channel measures it.",
        of(&|peer| Some(peer.round_trip_us? as f64 / MICROSECONDS)),
    );
    to.gauges(
        "raid_peer_lease_round_trip_seconds",
        "From the request for a lease until it was granted.",
        of(&|peer| Some(peer.lease_round_trip_us? as f64 / MICROSECONDS)),
    );
    to.counters(
        "raid_peer_sent_again_total",
        "Datagrams or segments sent again.",
        of(&|peer| Some(peer.sent_again as f64)),
    );
    let directions = |sent: PeerCount, received: PeerCount| {
        let sample = |peer: &PeerReport, direction: &str, value: u64| {
            (vec![("peer", peer_name(peer.site)), ("direction", direction.to_owned())], value as f64)
        };
        let both = |peer: &PeerReport| [sample(peer, "sent", sent(peer)), sample(peer, "received", received(peer))];
        status.peers.iter().flat_map(both).collect::<Vec<_>>()
    };
    to.counters(
        "raid_peer_messages_total",
        "Messages by direction.",
        directions(|peer| peer.frames_out, |peer| peer.frames_in),
    );
    to.counters(
        "raid_peer_bytes_total",
        "Bytes by direction.",
        directions(|peer| peer.bytes_out, |peer| peer.bytes_in),
    );
    let strangers: u64 = status.strangers.values().sum();
    to.counter("raid_strangers_total", "Connections closed before they were a peer's.", strangers as f64);
}

pub(super) fn of_snapshots(to: &mut Exposition, status: &Status) {
    let snapshots = &status.snapshots;
    to.counter("raid_snapshots_taken_total", "Snapshots that this site has taken.", snapshots.taken as f64);
    to.counter("raid_snapshots_failed_total", "Snapshots that could not be taken.", snapshots.failed as f64);
    to.gauge(
        "raid_snapshot_last_success_timestamp_seconds",
        "When the last one was begun that is whole, in seconds since 1970; 0: this site knows of none.",
        snapshots.last_success_us as f64 / MICROSECONDS,
    );
    to.gauge(
        "raid_snapshot_last_duration_seconds",
        "How long the last one took that this site has taken.",
        snapshots.last_duration_ms as f64 / MILLISECONDS,
    );
    to.gauge("raid_snapshot_last_bytes", "Bytes of it.", snapshots.last_bytes as f64);
    to.gauge(
        "raid_snapshot_interval_seconds",
        "How often one is taken by schedule; 0: there is no schedule.",
        status.schedule.as_ref().map_or(0.0, |schedule| schedule.every_s as f64),
    );
}

pub(super) fn of_processes(to: &mut Exposition, uses: &[(&str, ProcessUse)], began_us: u64) {
    let times = uses.iter().flat_map(|(process, used)| {
        let sample =
            |mode: &str, seconds| (vec![("process", (*process).to_owned()), ("mode", mode.to_owned())], seconds);
        [sample("user", used.user_s), sample("system", used.system_s)]
    });
    to.counters("raid_process_cpu_seconds_total", "Processor time of the site's processes on this host.", times);
    let resident = uses.iter().map(|(process, used)| (label("process", process), used.resident_bytes as f64));
    to.gauges("raid_process_resident_memory_bytes", "Their memory, as the kernel counts it.", resident);
    to.gauge(
        "raid_process_start_time_seconds",
        "When the site's process began, in seconds since 1970.",
        began_us as f64 / MICROSECONDS,
    );
}

pub(super) fn of_disk(to: &mut Exposition, room: DiskRoom) {
    to.gauge("raid_disk_size_bytes", "Size of the disk with the site's data.", room.size as f64);
    to.gauge("raid_disk_available_bytes", "What of it may still be used.", room.available as f64);
}
