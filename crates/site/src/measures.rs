//! What a site tells as metrics: names, units and meanings.
//!
//! Names follow Prometheus' conventions: `raid_`, what is measured, its base unit, `_total` for what only grows. Invariant: a family that is told once is told
//! always, with the same labels, whatever state the site is in; only what nobody has (a schedule, peers) is left out. `docs/metrics.md` lists them, and a
//! test holds it against what is served. What grows counts from the begin of the process, or of the site's present life, whichever is later.

mod families;

use crate::config::SiteConfig;
use crate::disk_room::DiskRoom;
use crate::process_use::ProcessUse;
use crate::status::SiteCounts;
use console::Exposition;
use std::collections::BTreeMap;

/// All metrics of a site. `began_us`: when the process began, in microseconds since 1970.
pub(crate) fn exposition(config: &SiteConfig, counts: &SiteCounts, ready: bool, began_us: u64) -> Exposition {
    let mut exposition = Exposition::default();
    let status = &counts.status;
    families::of_site(&mut exposition, config, status, ready);
    families::of_clients(&mut exposition, counts);
    families::of_commits(&mut exposition, counts);
    families::of_replication(&mut exposition, config, status);
    families::of_leases(&mut exposition, config, status);
    families::of_log(&mut exposition, status);
    families::of_memory(&mut exposition, status);
    families::of_servers(&mut exposition, counts);
    families::of_peers(&mut exposition, status);
    families::of_snapshots(&mut exposition, status);
    let others = status.servers.iter().filter(|server| server.pid > 0);
    let mut processes = BTreeMap::from([("site", std::process::id())]);
    processes.extend(others.map(|server| (server.process.as_str(), server.pid)));
    let uses = processes.into_iter().filter_map(|(name, pid)| Some((name, ProcessUse::of(pid)?))).collect::<Vec<_>>();
    families::of_processes(&mut exposition, &uses, began_us);
    families::of_disk(&mut exposition, DiskRoom::of(&config.data).unwrap_or_default());
    exposition
}
