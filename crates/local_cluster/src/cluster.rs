//! A cluster on one machine: an oracle and some sites, each a process of its own, below one folder.
//!
//! ```text
//! DIR/raid.toml            what the cluster is: written at its first start, read at every later one
//! DIR/keys                 keys of its processes, if it encrypts
//! DIR/lock                 held by whoever runs the cluster
//! DIR/oracle/oracle.toml   the oracle's configuration; its state lies beside it
//! DIR/site-N/site.toml     a site's configuration; its log and store lie beside it
//! DIR/*/pid                the number of the running process
//! DIR/*/log.txt            what it logged
//! DIR/*/order              what `raid kill` and `raid restart` ask of whoever runs the cluster
//! ```
//!
//! Invariant: the instance's identity and every address are chosen once, when `raid.toml` is written; a file that exists is never
//! overwritten, so what an operator changed in a site's configuration stays.

use crate::limits;
use crate::ports;
use crate::process::ProcessName;
use crate::restoring::{self, RestoringFolder};
use messages::concurrency::Method;
use messages::{InstanceId, LeaseLength, SiteId};
use serde::{Deserialize, Serialize};
use site::config::{
    Channels, Clients, ConfigError, DatagramFaults, MethodName, default_keep, default_lease, default_rate,
};
use site::layout::Layout;
use site::protection::make_keys;
use site::{OracleConfig, SiteConfig};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The file that says what a cluster is.
pub const DESCRIPTION_FILE: &str = "raid.toml";

/// The folder of the keys of a cluster that encrypts.
pub const KEYS_FOLDER: &str = "keys";

/// Why a cluster cannot be used.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// Somebody restores to this folder.
    #[error("another `raid restore` to {} is under way", .0.display())]
    Locked(PathBuf),
    /// A file or folder.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A configuration file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its keys.
    #[error("the keys of the cluster: {0}")]
    Keys(#[from] site::protection::KeysError),
    /// The folder holds no cluster.
    #[error("{0} holds no cluster: name its folder with --data, or start one with `raid start --data {0}`")]
    NoCluster(PathBuf),
    /// The folder holds a cluster, whose tables an experiment would replace.
    #[error("{0} holds a cluster: name another folder with --data, or none")]
    Occupied(PathBuf),
    /// The folder holds something that a restore would replace.
    #[error("{0} is not empty: name a new folder with --data")]
    NotEmpty(PathBuf),
    /// The folder holds a part of what is restored.
    #[error("{0} was not restored to the end: give the same `raid restore` again")]
    Restoring(PathBuf),
    /// The description cannot be read.
    #[error("{path}: {message}")]
    Description {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The folder holds a cluster that is not the one that is asked for.
    #[error(
        "{folder} holds a cluster with {what} {stored}, not {wished}: leave the option out, or take another folder with --data"
    )]
    Differs {
        /// The folder.
        folder: PathBuf,
        /// Which option.
        what: &'static str,
        /// What the cluster has.
        stored: String,
        /// What is asked for.
        wished: String,
    },
    /// A number out of range.
    #[error("{0}")]
    Range(String),
    /// The folder was moved.
    #[error(
        "{path} keeps its data in {stored}, not beside it: was the folder moved? Move it back, or correct `data` in that file"
    )]
    Moved {
        /// The configuration file.
        path: PathBuf,
        /// What it says.
        stored: PathBuf,
    },
    /// A snapshot.
    #[error(transparent)]
    Snapshot(#[from] site::snapshot::files::SnapshotError),
    /// The cluster cannot be rolled back.
    #[error("{0}")]
    Rollback(String),
    /// Not enough free ports.
    #[error("no free ports found on loopback: {0}")]
    Ports(std::io::Error),
}

/// Puts the path beside what the operating system says.
pub fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> ClusterError {
    let path = path.to_owned();
    move |source| ClusterError::File { path, source }
}

/// What has come from a snapshot in part would pass for all of it.
fn refuse_restoring(folder: &Path) -> Result<(), ClusterError> {
    match restoring::is_marked(folder) {
        true => Err(ClusterError::Restoring(folder.to_owned())),
        false => Ok(()),
    }
}

/// What a new cluster shall be; what is not said is left to the defaults, or in an existing cluster as it is.
#[derive(Clone, Debug, Default)]
pub struct ClusterWish {
    /// How many sites.
    pub sites: Option<u16>,
    /// The first site's SQL port, the others' being the next ones. 0: free ports.
    pub port: Option<u16>,
    /// Concurrency control.
    pub method: Option<MethodName>,
    /// Which servers of a site share a process.
    pub layout: Option<Layout>,
    /// Threads that serve clients, in each site.
    pub workers: Option<usize>,
    /// Commits with fewer current copies in memory wait for the disk.
    pub required_copies: Option<u16>,
    /// Megabytes of rows that each site keeps in memory.
    pub memory_mb: Option<usize>,
    /// How long the sites' leases last, in milliseconds.
    pub lease_ms: Option<u64>,
    /// Memory servers that keep the sites' logs.
    pub memory: Option<Vec<SocketAddr>>,
    /// By what messages go between the processes.
    pub channels: Option<Channels>,
    /// Whether its processes encrypt what they say to each other.
    pub encrypt: Option<bool>,
}

/// Where a site listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteAddresses {
    /// For PostgreSQL clients.
    pub sql: SocketAddr,
    /// For other sites.
    pub listen: SocketAddr,
    /// For status.
    pub console: SocketAddr,
}

/// `raid.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    instance: u64,
    method: MethodName,
    #[serde(default)]
    layout: Layout,
    workers: usize,
    memory_mb: usize,
    required_copies: u16,
    #[serde(default = "default_lease")]
    lease_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    memory: Vec<SocketAddr>,
    #[serde(default)]
    channels: Channels,
    #[serde(default)]
    encrypt: bool,
    oracle: SocketAddr,
    sites: BTreeMap<String, SiteAddresses>,
}

/// A cluster's folder and what it says.
#[derive(Clone, Debug)]
pub struct ClusterDirectory {
    folder: PathBuf,
    description: Description,
    sites: BTreeMap<u16, SiteAddresses>,
}

impl ClusterDirectory {
    /// The cluster in `folder`.
    pub fn open(folder: &Path) -> Result<ClusterDirectory, ClusterError> {
        refuse_restoring(folder)?;
        ClusterDirectory::read(folder)
    }

    /// Takes a new folder for a cluster whose data come from a snapshot.
    pub fn begin_restore(folder: &Path) -> Result<RestoringFolder, ClusterError> {
        RestoringFolder::begin(folder)
    }

    fn read(folder: &Path) -> Result<ClusterDirectory, ClusterError> {
        let path = folder.join(DESCRIPTION_FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ClusterError::NoCluster(folder.to_owned()));
            }
            Err(error) => return Err(file_error(&path)(error)),
        };
        let wrong = |message: String| ClusterError::Description { path: path.clone(), message };
        let description: Description = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let site = |(name, addresses): (&String, &SiteAddresses)| match name.parse::<u16>() {
            Ok(number) if number > 0 => Ok((number, *addresses)),
            _ => Err(wrong(format!("{name:?} is no site's number: sites count from 1"))),
        };
        let sites: BTreeMap<u16, SiteAddresses> = description.sites.iter().map(site).collect::<Result<_, _>>()?;
        if sites.is_empty() {
            return Err(wrong("it names no site".to_owned()));
        }
        let folder = folder.canonicalize().map_err(file_error(folder))?;
        Ok(ClusterDirectory { folder, description, sites })
    }

    /// A new cluster in `folder`, which must hold none.
    pub fn create(folder: &Path, wish: &ClusterWish) -> Result<ClusterDirectory, ClusterError> {
        if folder.join(DESCRIPTION_FILE).exists() {
            return Err(ClusterError::Occupied(folder.to_owned()));
        }
        ClusterDirectory::open_or_create(folder, wish)
    }

    /// The cluster in `folder`; a new one, as wished, if there is none.
    pub fn open_or_create(folder: &Path, wish: &ClusterWish) -> Result<ClusterDirectory, ClusterError> {
        refuse_restoring(folder)?;
        ClusterDirectory::made(folder, wish)
    }

    /// As [`ClusterDirectory::open_or_create`], whatever the state of its data is.
    pub(crate) fn made(folder: &Path, wish: &ClusterWish) -> Result<ClusterDirectory, ClusterError> {
        if !folder.join(DESCRIPTION_FILE).exists() {
            create(folder, wish)?;
        }
        let cluster = ClusterDirectory::read(folder)?;
        cluster.compare(wish)?;
        cluster.write_missing()?;
        Ok(cluster)
    }

    /// The folder, as an absolute path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The instance's identity.
    pub fn instance(&self) -> u64 {
        self.description.instance
    }

    /// Its sites and where they listen.
    pub fn sites(&self) -> &BTreeMap<u16, SiteAddresses> {
        &self.sites
    }

    /// How long the leases last that its sites were first set to, in milliseconds.
    pub fn lease_ms(&self) -> u64 {
        self.description.lease_ms
    }

    /// All its processes, the oracle first.
    pub fn names(&self) -> Vec<ProcessName> {
        let sites = self.sites.keys().map(|site| ProcessName::Site(*site));
        std::iter::once(ProcessName::Oracle).chain(sites).collect()
    }

    /// Whether it has this process.
    pub fn has(&self, name: ProcessName) -> bool {
        match name {
            ProcessName::Oracle => true,
            ProcessName::Site(site) => self.sites.contains_key(&site),
        }
    }

    /// The folder of a process.
    pub fn folder_of(&self, name: ProcessName) -> PathBuf {
        match name {
            ProcessName::Oracle => self.folder.join("oracle"),
            ProcessName::Site(site) => self.folder.join(format!("site-{site}")),
        }
    }

    /// The configuration file of a process.
    pub fn config_of(&self, name: ProcessName) -> PathBuf {
        let file = match name {
            ProcessName::Oracle => "oracle.toml",
            ProcessName::Site(_) => "site.toml",
        };
        self.folder_of(name).join(file)
    }

    /// How a person connects with a site.
    pub fn psql(&self, site: u16) -> String {
        let address = self.sites[&site].sql;
        format!("psql -h {} -p {} raid", address.ip(), address.port())
    }

    /// A wish that an existing cluster does not fulfil is an error, never passed over.
    fn compare(&self, wish: &ClusterWish) -> Result<(), ClusterError> {
        let stored = &self.description;
        let first_port = self.sites.values().next().map_or(0, |addresses| addresses.sql.port());
        let same = |what, stored: &dyn std::fmt::Display, wished: Option<String>| match wished {
            Some(wished) if wished != stored.to_string() => {
                Err(ClusterError::Differs { folder: self.folder.clone(), what, stored: stored.to_string(), wished })
            }
            _ => Ok(()),
        };
        let text = |number: usize| number.to_string();
        same("--sites", &self.sites.len(), wish.sites.map(|sites| text(sites.into())))?;
        same("--port", &first_port, wish.port.filter(|port| *port != 0).map(|port| text(port.into())))?;
        same("--method", &method_text(stored.method), wish.method.map(|method| method_text(method).to_owned()))?;
        same("--layout", &stored.layout, wish.layout.map(|layout| layout.to_string()))?;
        same("--workers", &stored.workers, wish.workers.map(text))?;
        same("--required-copies", &stored.required_copies, wish.required_copies.map(|copies| text(copies.into())))?;
        same("--memory-mb", &stored.memory_mb, wish.memory_mb.map(text))?;
        same("--lease-ms", &stored.lease_ms, wish.lease_ms.map(|length| length.to_string()))?;
        same("--memory", &addresses(&stored.memory), wish.memory.as_deref().map(addresses))?;
        same("--encrypt", &stored.encrypt, wish.encrypt.map(|encrypt| encrypt.to_string()))?;
        same("--channels", &stored.channels, wish.channels.map(|channels| channels.to_string()))
    }

    /// Writes the configuration of every process that has none yet.
    fn write_missing(&self) -> Result<(), ClusterError> {
        let stored = &self.description;
        let listen = |(site, addresses): (&u16, &SiteAddresses)| (site.to_string(), addresses.listen);
        let keys = stored.encrypt.then(|| self.folder.join(KEYS_FOLDER));
        if let Some(folder) = keys.as_ref().filter(|folder| !folder.exists()) {
            let sites: Vec<SiteId> = self.sites.keys().copied().map(SiteId).collect();
            make_keys(folder, InstanceId(stored.instance), &sites)?;
        }
        for name in self.names() {
            let folder = self.folder_of(name);
            std::fs::create_dir_all(&folder).map_err(file_error(&folder))?;
            let path = self.config_of(name);
            if path.exists() {
                self.check_place(name, &path)?;
                continue;
            }
            match name {
                ProcessName::Oracle => OracleConfig {
                    lost: Vec::new(),
                    instance: stored.instance,
                    data: folder,
                    listen: stored.oracle,
                    console: None,
                    keys: keys.clone(),
                    clear: false,
                    sites: self.sites.iter().map(listen).collect(),
                    method: None,
                    required_copies: stored.required_copies,
                }
                .write(&path)?,
                ProcessName::Site(id) => SiteConfig {
                    instance: stored.instance,
                    id,
                    data: folder,
                    listen: self.sites[&id].listen,
                    sql: self.sites[&id].sql,
                    console: self.sites[&id].console,
                    oracle: stored.oracle,
                    keys: keys.clone(),
                    clear: false,
                    peers: self.sites.iter().filter(|(site, _)| **site != id).map(listen).collect(),
                    default_transaction_isolation: Default::default(),
                    method: stored.method,
                    layout: stored.layout,
                    workers: stored.workers,
                    memory_mb: stored.memory_mb,
                    lease_ms: stored.lease_ms,
                    memory: stored.memory.clone(),
                    memory_copies: 0,
                    boot: 0,
                    channels: stored.channels,
                    datagram_bytes: 0,
                    datagram_faults: DatagramFaults::default(),
                    snapshot_every: None,
                    snapshots_keep: default_keep(),
                    snapshot_dir: None,
                    log_archive: None,
                    audit_log: None,
                    log_min_duration_statement: None,
                    snapshot_rate: default_rate(),
                    clients: Clients::default(),
                    alone: false,
                    accept_lost_memory: false,
                    expert_rules: None,
                    rules: Default::default(),
                }
                .write(&path)?,
            }
        }
        Ok(())
    }

    /// A process that looked for its data where it no longer is would begin with nothing.
    fn check_place(&self, name: ProcessName, path: &Path) -> Result<(), ClusterError> {
        let stored = match name {
            ProcessName::Oracle => OracleConfig::read(path)?.data,
            ProcessName::Site(_) => SiteConfig::read(path)?.data,
        };
        match stored.exists() {
            true => Ok(()),
            false => Err(ClusterError::Moved { path: path.to_owned(), stored }),
        }
    }
}

fn addresses(servers: &[SocketAddr]) -> String {
    servers.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",")
}

fn method_text(method: MethodName) -> &'static str {
    Method::from(method).name()
}

/// Chooses identity and addresses, and writes them down.
fn create(folder: &Path, wish: &ClusterWish) -> Result<(), ClusterError> {
    let count = wish.sites.unwrap_or(3);
    if count == 0 || count > limits::SITES_MAX {
        return Err(ClusterError::Range(format!("--sites must be 1 to {}, not {count}", limits::SITES_MAX)));
    }
    let required_copies = wish.required_copies.unwrap_or(2);
    if required_copies == 0 || required_copies > limits::SITES_MAX {
        let max = limits::SITES_MAX;
        return Err(ClusterError::Range(format!("--required-copies must be 1 to {max}, not {required_copies}")));
    }
    let lease_ms = wish.lease_ms.unwrap_or_else(default_lease);
    if let Err(range) = LeaseLength::from_milliseconds(lease_ms) {
        return Err(ClusterError::Range(format!("--lease-ms {lease_ms}: {range}")));
    }
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = wish.port.unwrap_or(5433);
    if port.checked_add(count - 1).is_none() {
        return Err(ClusterError::Range(format!("--port {port} leaves no room for {count} ports below 65536")));
    }
    let wanted = usize::from(count) * 3 + 1;
    let mut free =
        ports::free(wanted).map_err(ClusterError::Ports)?.into_iter().map(|port| SocketAddr::new(loopback, port));
    let mut next = || free.next().expect("as many as wanted");
    let oracle = next();
    let mut sites = BTreeMap::new();
    for site in 1..=count {
        let chosen = next();
        let sql = if port == 0 { chosen } else { SocketAddr::new(loopback, port + site - 1) };
        sites.insert(site.to_string(), SiteAddresses { sql, listen: next(), console: next() });
    }
    let encrypt = wish.encrypt.unwrap_or_default();
    let description = Description {
        instance: new_instance().map_err(file_error(Path::new(RANDOM_SOURCE)))?,
        method: wish.method.unwrap_or_default(),
        layout: wish.layout.unwrap_or_default(),
        workers: wish.workers.unwrap_or(1),
        memory_mb: wish.memory_mb.unwrap_or(site::limits::MEMORY_BYTES_DEFAULT >> 20),
        required_copies,
        lease_ms,
        memory: wish.memory.clone().unwrap_or_default(),
        // Who wants to see encryption does not want memory that is shared instead.
        channels: wish.channels.unwrap_or(if encrypt { Channels::Datagrams } else { Channels::Fastest }),
        encrypt,
        oracle,
        sites,
    };
    std::fs::create_dir_all(folder).map_err(file_error(folder))?;
    let path = folder.join(DESCRIPTION_FILE);
    let text = toml::to_string(&description).expect("a description is a TOML table");
    let header = "# A cluster on one machine, written at its first start by `raid start`.\n";
    std::fs::write(&path, format!("{header}{text}")).map_err(file_error(&path))
}

const RANDOM_SOURCE: &str = "/dev/urandom";

/// An identity that no other instance has. TOML's integers have 63 bits.
fn new_instance() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    File::open(RANDOM_SOURCE)?.read_exact(&mut bytes)?;
    Ok((u64::from_le_bytes(bytes) >> 1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(sites: u16) -> ClusterWish {
        ClusterWish { sites: Some(sites), port: Some(0), ..ClusterWish::default() }
    }

    /// A cluster that chose its identity or addresses anew would be another instance over the old data.
    #[test]
    fn a_second_start_finds_the_same_cluster() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path().join("cluster");
        let first = ClusterDirectory::open_or_create(&folder, &wish(12)).expect("a new cluster");
        let again = ClusterDirectory::open_or_create(&folder, &ClusterWish::default()).expect("the same cluster");
        assert_eq!(first.description, again.description);
        assert_eq!(again.sites().keys().copied().collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
        let mut ports: Vec<SocketAddr> = again.sites().values().flat_map(|a| [a.sql, a.listen, a.console]).collect();
        ports.push(again.description.oracle);
        ports.sort();
        ports.dedup();
        assert_eq!(ports.len(), 12 * 3 + 1, "every listener needs a port of its own");
        let config = SiteConfig::read(&again.config_of(ProcessName::Site(12))).expect("a site's configuration");
        assert_eq!((config.id, config.peers.len(), config.instance), (12, 11, again.instance()));
        let config = OracleConfig::read(&again.config_of(ProcessName::Oracle)).expect("the oracle's configuration");
        assert_eq!(config.sites.len(), 12);
    }

    /// An option that an existing cluster does not fulfil must not be dropped silently, and what an operator changed must
    /// survive the next start.
    #[test]
    fn what_is_written_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cluster = ClusterDirectory::open_or_create(folder.path(), &wish(3)).expect("a new cluster");
        let error = ClusterDirectory::create(folder.path(), &wish(3)).expect_err("a cluster is there").to_string();
        assert!(error.contains("name another folder"), "{error}");
        let error = ClusterDirectory::open_or_create(folder.path(), &wish(5))
            .expect_err("three sites are not five")
            .to_string();
        assert!(error.contains("--sites 3, not 5"), "{error}");
        let path = cluster.config_of(ProcessName::Site(2));
        let changed = SiteConfig { memory_mb: 77, ..SiteConfig::read(&path).expect("it was just written") };
        changed.write(&path).expect("the folder can be written");
        ClusterDirectory::open_or_create(folder.path(), &wish(3)).expect("the same cluster");
        assert_eq!(SiteConfig::read(&path).expect("it is still there"), changed);
    }

    /// A moved cluster must be refused: its processes would begin with nothing in the old place.
    #[test]
    fn a_moved_cluster_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        ClusterDirectory::open_or_create(&before, &wish(1)).expect("a new cluster");
        std::fs::rename(&before, &after).expect("the folder can be moved");
        let error = ClusterDirectory::open_or_create(&after, &ClusterWish::default()).expect_err("it was moved");
        assert!(matches!(error, ClusterError::Moved { .. }), "{error}");
        assert!(matches!(ClusterDirectory::open(&before), Err(ClusterError::NoCluster(_))));
    }

    /// Numbers that no cluster can have must be named, not wrapped around.
    #[test]
    fn impossible_wishes_are_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (wish, part) in [
            (wish(0), "--sites"),
            (wish(17), "--sites"),
            (ClusterWish { port: Some(65_534), ..ClusterWish::default() }, "--port"),
            (ClusterWish { required_copies: Some(0), ..ClusterWish::default() }, "--required-copies"),
            (
                ClusterWish { lease_ms: Some(100), ..ClusterWish::default() },
                "--lease-ms 100: a lease must last 200 to 1000 ms",
            ),
        ] {
            let error = ClusterDirectory::open_or_create(folder.path(), &wish).expect_err("impossible").to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
