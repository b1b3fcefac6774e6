//! What a site or an oracle is told: TOML files, every key explained by [`EXPLAINED`].

pub use crate::config_names::MethodName;
use crate::layout::Layout;
use crate::protection::{self, ProtectionError, WantedProtection};
use domain::RuleBook;
use messages::server::{ORACLE_SITE, SEVERAL_SITES};
use messages::{InstanceId, LeaseLength, SiteId};
use raidcomm::datagrams::faults::{FaultRates, FaultsError};
use raidcomm::keys::Keys;
use raidcomm::limits::{DATAGRAM_BYTES_MAX, DATAGRAM_BYTES_MIN};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use user_interface::sql::isolation::TransactionLevel;

/// A configuration file that cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Its text is not what it should be.
    #[error("{path}: {message}; `raid config` explains every key")]
    Text {
        /// Which file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
}

/// One site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteConfig {
    /// The instance's identity, the same for all its sites and its oracle.
    pub instance: u64,
    /// The site's number, 1 to 65534.
    pub id: u16,
    /// The folder for its log and its store.
    pub data: PathBuf,
    /// Where it listens for other sites.
    pub listen: SocketAddr,
    /// Where it listens for PostgreSQL clients.
    pub sql: SocketAddr,
    /// Where it tells its status.
    pub console: SocketAddr,
    /// Where the oracle listens.
    pub oracle: SocketAddr,
    /// The folder of its keys: with them it encrypts, without them it talks with nobody outside its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<PathBuf>,
    /// It talks in clear with other hosts.
    #[serde(default, skip_serializing_if = "is_false")]
    pub clear: bool,
    /// Where the other sites listen, by number.
    pub peers: BTreeMap<String, SocketAddr>,
    /// The concurrency-control method as long as no other is set in SQL.
    #[serde(default)]
    pub method: MethodName,
    /// The isolation level of transactions for which nobody asks for one.
    #[serde(default)]
    pub default_transaction_isolation: TransactionLevel,
    /// A file with the rules by which it judges methods of concurrency control, instead of those of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expert_rules: Option<PathBuf>,
    /// What is in that file.
    #[serde(skip)]
    pub rules: Arc<RuleBook>,
    /// Threads that serve clients.
    #[serde(default = "one")]
    pub workers: usize,
    /// Megabytes of row versions kept in memory.
    #[serde(default = "default_memory")]
    pub memory_mb: usize,
    /// How long the leases last that it asks for, in milliseconds.
    #[serde(default = "default_lease")]
    pub lease_ms: u64,
    /// Memory servers that keep its log, so that commits which would wait for the disk do not; none: its log is on its disk alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<SocketAddr>,
    /// So many of them must hold a commit; 0: two, or all of them if there are fewer.
    #[serde(default, skip_serializing_if = "is_none")]
    pub memory_copies: u8,
    /// For tests that play a loss of power: which run of the kernel this is; 0: the present one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub boot: u16,
    /// "fastest", "datagrams" or "streams".
    #[serde(default)]
    pub channels: Channels,
    /// Bytes of a datagram at most, 512 or more; 0: as many as the network carries.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub datagram_bytes: u16,
    /// For tests of what rests on datagrams: what becomes of those that it sends, as `loss=5,double=2,reorder=5`, in percent.
    #[serde(default, skip_serializing_if = "DatagramFaults::is_none")]
    pub datagram_faults: DatagramFaults,
    /// Which of its servers share a process: "merged", "two-process" or "separate".
    #[serde(default)]
    pub layout: Layout,
    /// How often a snapshot is taken by schedule; none: by hand only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_every: Option<Every>,
    /// So many snapshots of the schedule are kept.
    #[serde(default = "default_keep", skip_serializing_if = "is_default_keep")]
    pub snapshots_keep: u16,
    /// The folder for snapshots by schedule and by SQL; none: `snapshots` beside `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_dir: Option<PathBuf>,
    /// Megabytes that they write in a second at most.
    #[serde(default = "default_rate", skip_serializing_if = "is_default_rate")]
    pub snapshot_rate: u64,
    /// The folder for an archive of its log; none: there is no archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_archive: Option<PathBuf>,
    /// The folder for the audit log; none: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_log: Option<PathBuf>,
    /// Statements that take so many milliseconds or more are told in a log line; none: no statement is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_min_duration_statement: Option<u64>,
    /// How clients come in.
    #[serde(default, skip_serializing_if = "Clients::is_default")]
    pub clients: Clients,
    /// From the command line only: after a total failure it restarts the instance without the other sites.
    #[serde(skip)]
    pub alone: bool,
    /// From the command line only: what memory servers have lost of its log is given up.
    #[serde(skip)]
    pub accept_lost_memory: bool,
}

/// How clients come in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// The file with the certificate that clients are shown, and those that sign it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// The file with its private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// The file with the certificates that sign those of clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<PathBuf>,
    /// Rules as in `pg_hba.conf`, one a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hba: Option<Vec<String>>,
    /// A file with rules instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hba_file: Option<PathBuf>,
    /// Clients of other hosts come in clear, or as they say they are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub insecure: bool,
}

impl Clients {
    fn is_default(&self) -> bool {
        *self == Clients::default()
    }
}

/// The oracle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OracleConfig {
    /// The instance's identity.
    pub instance: u64,
    /// The folder for its state.
    pub data: PathBuf,
    /// Where it listens for sites.
    pub listen: SocketAddr,
    /// Where it tells its metrics and its health; none: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<SocketAddr>,
    /// The folder of its keys: with them it encrypts, without them it talks with nobody outside its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<PathBuf>,
    /// It talks in clear with other hosts.
    #[serde(default, skip_serializing_if = "is_false")]
    pub clear: bool,
    /// Where all sites listen, by number.
    pub sites: BTreeMap<String, SocketAddr>,
    /// What files of earlier versions say; passed over, as sites have methods and epochs have none.
    #[serde(default, skip_serializing)]
    pub method: Option<MethodName>,
    /// Commits with fewer caught-up copies in memory than this wait for the disk.
    #[serde(default = "two")]
    pub required_copies: u16,
    /// From the command line only: sites that it does not wait for.
    #[serde(skip)]
    pub lost: Vec<u16>,
}

/// By what messages go to other processes of the instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channels {
    /// By the fastest that both ends have: shared memory on one host, datagrams in one network, streams elsewhere.
    #[default]
    Fastest,
    /// By datagrams, also on one host; streams elsewhere.
    Datagrams,
    /// Over TCP only, also on one host.
    Streams,
}

/// Faults of the network, for tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DatagramFaults(pub FaultRates);

impl DatagramFaults {
    fn is_none(&self) -> bool {
        self.0 == FaultRates::default()
    }
}

impl TryFrom<String> for DatagramFaults {
    type Error = FaultsError;

    fn try_from(text: String) -> Result<DatagramFaults, FaultsError> {
        text.parse().map(DatagramFaults)
    }
}

impl From<DatagramFaults> for String {
    fn from(DatagramFaults(faults): DatagramFaults) -> String {
        faults.to_string()
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Channels::Fastest => "fastest",
            Channels::Datagrams => "datagrams",
            Channels::Streams => "streams",
        })
    }
}

/// A length of time, as `90s`, `15min`, `12h` or `7d`: 10 seconds to 366 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Every {
    seconds: u64,
}

/// Units of [`Every`], the largest first, in seconds.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
/// The shortest length of [`Every`], in seconds,
const EVERY_MIN: u64 = 10;
/// and the longest.
const EVERY_MAX: u64 = 366 * 86_400;

impl Every {
    /// In seconds.
    pub fn seconds(self) -> u64 {
        self.seconds
    }
}

impl TryFrom<String> for Every {
    type Error = String;

    fn try_from(text: String) -> Result<Every, String> {
        let wrong = || format!("{text:?} is no length of time: 90s, 15min, 12h or 7d, from 10 s to 366 d");
        let number = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
        let unit = UNITS.iter().find(|(unit, _)| *unit == &text[number.len()..]).ok_or_else(wrong)?;
        let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit.1)).ok_or_else(wrong)?;
        match (EVERY_MIN..=EVERY_MAX).contains(&seconds) {
            true => Ok(Every { seconds }),
            false => Err(wrong()),
        }
    }
}

impl From<Every> for String {
    fn from(every: Every) -> String {
        let fits = UNITS.iter().find(|(_, seconds)| every.seconds.is_multiple_of(*seconds));
        let (unit, seconds) = fits.copied().unwrap_or(("s", 1));
        format!("{}{unit}", every.seconds / seconds)
    }
}

/// How many snapshots of the schedule are kept unless a site is told otherwise.
pub const fn default_keep() -> u16 {
    7
}

fn is_default_keep(keep: &u16) -> bool {
    *keep == default_keep()
}

/// Megabytes that a snapshot writes in a second at most, unless a site is told otherwise.
pub const fn default_rate() -> u64 {
    50
}

fn is_default_rate(rate: &u64) -> bool {
    *rate == default_rate()
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u16) -> bool {
    *value == 0
}

fn is_none(count: &u8) -> bool {
    *count == 0
}

fn one() -> usize {
    1
}

fn two() -> u16 {
    2
}

fn default_memory() -> usize {
    crate::limits::MEMORY_BYTES_DEFAULT >> 20
}

/// How long leases last unless a site is told otherwise, in milliseconds.
pub const fn default_lease() -> u64 {
    LeaseLength::DEFAULT.milliseconds()
}

const CONTRADICTION: &str = "keys encrypt everything, and clear = true wants nothing encrypted: leave one of them out";

/// What `raid config` prints.
pub const EXPLAINED: &str = "\
# A site: `raid site --config FILE`
instance = 81985529216486895       # the instance's identity: the same number at all its sites and its oracle
id = 1                             # the site's number, 1 to 65534, its own
data = \"/var/lib/raid/site-1\"      # folder for its log and its store
listen = \"10.0.0.1:7401\"           # where other sites and the oracle reach it
sql = \"10.0.0.1:5433\"              # where PostgreSQL clients reach it
console = \"127.0.0.1:7501\"         # where `raid status` asks it, and HTTP for /metrics, /health/live and /health/ready: docs/metrics.md
oracle = \"10.0.0.9:7400\"           # where the oracle listens
keys = \"/var/lib/raid/keys\"        # folder with its keys (`raid keys`); without them it speaks with no site or server outside its host, unless
# clear = true                     # they reach it in clear, and nobody else can reach this network
method = \"locking\"                 # of concurrency control, until one is set (`raid method`): or \"optimistic\", \"serial\", \"simple-locking\",
                                   # \"timestamp\"
default_transaction_isolation = \"serializable\"   # for whom asks for none: or \"repeatable read\", \"read committed\"; see docs/isolation.md
# expert_rules = \"/etc/raid/rules.toml\"   # rules by which it judges methods (`raid method advice`) and, where `auto` is set, chooses one
workers = 1                        # threads that serve clients
memory_mb = 512                    # megabytes of rows kept in memory; more rows come from the store. The process takes half as
                                   # much again, twice as much while all rows are scanned, and up to 300 MB beside
lease_ms = 400                     # milliseconds, 200 to 1000, that a lease of this site lasts: after its death the others serve nothing for about so
                                   # long, and a pause of five sixths of it takes the site for dead; sites may differ, see docs/failures.md
# memory = [\"10.0.0.7:7901\", \"10.0.0.8:7901\"]   # memory servers (`raid memory`) that keep its log: a commit that would wait for the disk,
                                   # because this site is alone or the last copy, waits for their memory instead
# memory_copies = 2                # so many of them must hold a commit; without it two, or all if there are fewer
channels = \"fastest\"               # shared memory on one host, datagrams (UDP) in one network, streams (TCP) elsewhere; \"datagrams\":
                                   # no shared memory; \"streams\": only TCP
# datagram_bytes = 1452            # bytes of a datagram at most, 512 to 65000; without it as many as the network carries
# datagram_faults = \"loss=5,double=2,reorder=5\"   # for tests only: what becomes of datagrams that it sends, in percent
layout = \"merged\"                  # or \"two-process\": the clients' part in a process of its own; or \"separate\": every server

# snapshot_every = \"24h\"           # a snapshot by schedule (docs/backup.md), by the first site that is up; the same in all sites. 90s, 15min, 12h, 7d
# snapshots_keep = 7               # so many of them are kept; older ones go after a new one was written and read again
# snapshot_dir = \"/backup\"         # where snapshots by schedule and by SQL go; without it `snapshots` beside `data`
# log_archive = \"/archive\"        # its log goes there, so that the instance can be restored as it was at any moment (docs/backup.md)
# snapshot_rate = 50               # megabytes that they write in a second, at most

# audit_log = \"/var/log/raid\"      # logins and changes of schema, roles and privileges go there as JSON lines (docs/security.md)
# log_min_duration_statement = 250 # milliseconds: statements that take so long or longer are told in a log line; 0 tells all of them

[peers]                            # where the other sites listen, by their number
2 = \"10.0.0.2:7401\"
3 = \"10.0.0.3:7401\"

[clients]                          # how PostgreSQL clients come in: docs/security.md. Read again at SIGHUP
certificate = \"/var/lib/raid/keys/sql.pem\"   # what they are shown, and its key (`raid keys --sql`); without them they come in clear,
key = \"/var/lib/raid/keys/sql.key\"           # which `sql` allows on loopback only
# authority = \"/var/lib/raid/keys/sql-authority.pem\"   # signs certificates of clients, for `cert` and `clientcert`
hba = [                            # rules as in pg_hba.conf; these are the ones without this key. Or hba_file = \"FILE\"
    \"host    all all 127.0.0.0/8 trust\",
    \"host    all all ::1/128     trust\",
    \"hostssl all all all         scram-sha-256\",
]
# insecure = true                  # clients of other hosts may come in clear, or be trusted, if nobody else can reach this network

# The oracle: `raid oracle --config FILE`
# instance = 81985529216486895
# data = \"/var/lib/raid/oracle\"      # folder for its state
# listen = \"10.0.0.9:7400\"
# console = \"127.0.0.1:7500\"         # where HTTP is told /metrics, /health/live and /health/ready; without it, nowhere
# keys = \"/var/lib/raid/keys\"        # folder with its keys; or `clear = true`, as above
# required_copies = 2                # commits with fewer current copies in memory wait for the disk
# [sites]                            # where all sites listen, by their number
# 1 = \"10.0.0.1:7401\"
# 2 = \"10.0.0.2:7401\"
# 3 = \"10.0.0.3:7401\"
";

impl SiteConfig {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<SiteConfig, ConfigError> {
        let mut config: SiteConfig = read(path)?;
        let wrong = |message: &str| ConfigError::Text { path: path.to_owned(), message: message.to_owned() };
        if let Some(rules) = &config.expert_rules {
            config.rules = Arc::new(read_rules(rules).map_err(|message| wrong(&message))?);
        }
        if config.id == 0 {
            return Err(wrong("id = 0 is the oracle's number; sites count from 1"));
        }
        if config.id == SEVERAL_SITES.0 {
            return Err(wrong("id = 65535 stands for several sites; sites count to 65534"));
        }
        if config.workers == 0 || config.workers > 64 {
            return Err(wrong("workers must be 1 to 64"));
        }
        if config.peers.contains_key(&config.id.to_string()) {
            return Err(wrong("peers must not name the site itself"));
        }
        if config.keys.is_some() && config.clear {
            return Err(wrong(CONTRADICTION));
        }
        if config.datagram_bytes > 0 && !(DATAGRAM_BYTES_MIN..=DATAGRAM_BYTES_MAX).contains(&config.datagram_bytes) {
            return Err(wrong("datagram_bytes must be 512 to 65000, or 0 for as many as the network carries"));
        }
        if let Err(range) = LeaseLength::from_milliseconds(config.lease_ms) {
            return Err(wrong(&format!("lease_ms = {}: {range}", config.lease_ms)));
        }
        if config.memory.len() > network_memory::limits::SERVERS_MAX {
            return Err(wrong("memory must name 16 servers at most"));
        }
        if usize::from(config.memory_copies) > config.memory.len() {
            return Err(wrong("memory_copies must not be more than there are servers in memory"));
        }
        if config.snapshot_every.is_some() && !config.memory.is_empty() {
            return Err(wrong("snapshot_every needs a log on the disk: a site with memory servers takes no snapshots"));
        }
        if config.log_archive.is_some() && !config.memory.is_empty() {
            return Err(wrong("log_archive needs a log on the disk: a site with memory servers has none to archive"));
        }
        if config.snapshots_keep == 0 {
            return Err(wrong("snapshots_keep must be 1 or more"));
        }
        if !(1..=100_000).contains(&config.snapshot_rate) {
            return Err(wrong("snapshot_rate must be 1 to 100000 megabytes in a second"));
        }
        let servers: BTreeSet<SocketAddr> = config.memory.iter().copied().collect();
        if servers.len() < config.memory.len() {
            return Err(wrong("memory names a server twice, which has one memory"));
        }
        sites(&config.peers).map_err(|message| wrong(&message))?;
        Ok(config)
    }

    /// Writes a file.
    pub fn write(&self, path: &Path) -> Result<(), ConfigError> {
        write(self, path)
    }

    /// The instance.
    pub fn instance(&self) -> InstanceId {
        InstanceId(self.instance)
    }

    /// The site.
    pub fn site(&self) -> SiteId {
        SiteId(self.id)
    }

    /// How long the leases last that it asks for.
    pub fn lease(&self) -> LeaseLength {
        LeaseLength::from_milliseconds(self.lease_ms).expect("checked when it was read")
    }

    /// How its messages to other sites are protected.
    ///
    /// # Errors
    /// There are no keys, or none that can be used, and it would talk in clear with other hosts.
    pub fn protection(&self) -> Result<Option<Keys>, ProtectionError> {
        let peers = self.peer_sites().into_iter().map(|(site, address)| (site.to_string(), address));
        let own = [("listen".to_owned(), self.listen), ("oracle".to_owned(), self.oracle)];
        let memory = self.memory.iter().map(|address| ("memory server".to_owned(), *address));
        let wanted = WantedProtection { keys: self.keys.as_ref(), clear: self.clear };
        protection::keys(wanted, self.instance(), self.site(), own.into_iter().chain(peers).chain(memory))
    }

    /// Where snapshots by schedule and by SQL go.
    pub fn snapshot_folder(&self) -> PathBuf {
        let beside =
            || self.data.parent().map_or_else(|| self.data.join("snapshots"), |folder| folder.join("snapshots"));
        self.snapshot_dir.clone().unwrap_or_else(beside)
    }

    /// The other sites and where they listen.
    pub fn peer_sites(&self) -> BTreeMap<SiteId, SocketAddr> {
        sites(&self.peers).expect("checked when it was read")
    }
}

impl OracleConfig {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<OracleConfig, ConfigError> {
        let config: OracleConfig = read(path)?;
        let wrong = |message: String| ConfigError::Text { path: path.to_owned(), message };
        if config.keys.is_some() && config.clear {
            return Err(wrong(CONTRADICTION.to_owned()));
        }
        let sites = sites(&config.sites).map_err(wrong)?;
        if sites.is_empty() {
            return Err(ConfigError::Text { path: path.to_owned(), message: "sites must name a site".to_owned() });
        }
        Ok(config)
    }

    /// Writes a file.
    pub fn write(&self, path: &Path) -> Result<(), ConfigError> {
        write(self, path)
    }

    /// How its messages to sites are protected.
    ///
    /// # Errors
    /// There are no keys, or none that can be used, and it would talk in clear with other hosts.
    pub fn protection(&self) -> Result<Option<Keys>, ProtectionError> {
        let sites = self.all_sites().into_iter().map(|(site, address)| (site.to_string(), address));
        let own = [("listen".to_owned(), self.listen)];
        let wanted = WantedProtection { keys: self.keys.as_ref(), clear: self.clear };
        protection::keys(wanted, InstanceId(self.instance), ORACLE_SITE, own.into_iter().chain(sites))
    }

    /// The sites and where they listen.
    pub fn all_sites(&self) -> BTreeMap<SiteId, SocketAddr> {
        sites(&self.sites).expect("checked when it was read")
    }
}

fn sites(named: &BTreeMap<String, SocketAddr>) -> Result<BTreeMap<SiteId, SocketAddr>, String> {
    let site = |name: &String| match name.parse::<u16>() {
        Ok(number) if number > 0 && number < SEVERAL_SITES.0 => Ok(SiteId(number)),
        _ => Err(format!("{name:?} is no site's number: sites count from 1 to 65534")),
    };
    named.iter().map(|(name, address)| Ok((site(name)?, *address))).collect()
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::File { path: path.to_owned(), source })?;
    toml::from_str(&text).map_err(|error| ConfigError::Text { path: path.to_owned(), message: error.to_string() })
}

/// Errors: what is wrong, with the file and the line.
fn read_rules(path: &Path) -> Result<RuleBook, String> {
    let bad = |error: &dyn fmt::Display| format!("expert_rules: {}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| bad(&error))?;
    RuleBook::parse(&text).map_err(|error| bad(&error))
}

fn write<T: Serialize>(config: &T, path: &Path) -> Result<(), ConfigError> {
    let text = toml::to_string(config).expect("a configuration is a TOML table");
    std::fs::write(path, text).map_err(|source| ConfigError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explained_keys_are_the_keys() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("site.toml");
        let (site, oracle) = EXPLAINED.split_once("# The oracle").expect("both are explained");
        std::fs::write(&path, site).expect("the folder can be written");
        SiteConfig::read(&path).expect("what `raid config` prints must be a site's configuration");
        let oracle: String =
            oracle.lines().skip(1).map(|line| format!("{}\n", line.trim_start_matches("# "))).collect();
        std::fs::write(&path, oracle).expect("the folder can be written");
        OracleConfig::read(&path).expect("what `raid config` prints must be an oracle's configuration");
    }

    #[test]
    fn keys_and_a_wish_for_none_contradict_each_other() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("site.toml");
        let (site, _) = EXPLAINED.split_once("# The oracle").expect("both are explained");
        std::fs::write(&path, site.replace("# clear", "clear")).expect("the folder can be written");
        let error = SiteConfig::read(&path).expect_err("one of them would not be what its writer wanted").to_string();
        assert!(error.contains("leave one of them out"), "{error}");
    }

    /// A lease that is too short costs memberships, one that is too long would not be waited out after a total failure.
    #[test]
    fn a_lease_out_of_range_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("site.toml");
        let (site, _) = EXPLAINED.split_once("# The oracle").expect("both are explained");
        for (length, allowed) in [(199, false), (200, true), (1_000, true), (1_001, false)] {
            std::fs::write(&path, site.replace("lease_ms = 400", &format!("lease_ms = {length}"))).expect("a file");
            match SiteConfig::read(&path) {
                Ok(config) => assert!(allowed && config.lease().milliseconds() == length),
                Err(error) => {
                    let text = error.to_string();
                    assert!(
                        !allowed && text.contains(&format!("lease_ms = {length}: a lease must last 200")),
                        "{text}"
                    );
                }
            }
        }
    }

    /// A schedule that is read as another one takes backups too seldom, or fills the disk.
    #[test]
    fn lengths_of_time_are_read_as_they_are_meant() {
        for (text, seconds) in [("10s", 10), ("90s", 90), ("15min", 900), ("12h", 43_200), ("7d", 604_800)] {
            let every = Every::try_from(text.to_owned()).expect("it is one");
            assert_eq!(every.seconds(), seconds);
            assert_eq!(Every::try_from(String::from(every)), Ok(every));
        }
        for text in ["", "h", "7", "7 d", "9s", "-1h", "1m", "367d", "99999999999999999999d", "1\u{e9}"] {
            assert!(Every::try_from(text.to_owned()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_unknown_key_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("site.toml");
        std::fs::write(&path, "memory = 3\n").expect("the folder can be written");
        let error = SiteConfig::read(&path).expect_err("a mistyped key must not be ignored").to_string();
        assert!(error.contains("memory"), "{error}");
    }

    /// A configuration with a slip of the pen must be refused with the file's name, or be another configuration; never a panic.
    #[test]
    fn damaged_files_are_errors_that_name_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("damaged.toml");
        let (site, _) = EXPLAINED.split_once("# The oracle").expect("both are explained");
        let mut refused = 0;
        for place in (0..site.len()).step_by(3) {
            for slip in ["", "\"", "99999"] {
                let text = format!("{}{slip}{}", &site[..place], &site[place + 1..]);
                std::fs::write(&path, text).expect("the folder can be written");
                for error in [SiteConfig::read(&path).err(), OracleConfig::read(&path).err()].into_iter().flatten() {
                    assert!(error.to_string().contains("damaged.toml"), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > site.len() / 3, "most slips matter");
        std::fs::write(&path, [0xff, 0xfe, 0]).expect("the folder can be written");
        assert!(SiteConfig::read(&path).is_err_and(|error| error.to_string().contains("damaged.toml")));
    }
}
