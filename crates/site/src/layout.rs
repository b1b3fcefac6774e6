//! Layouts: which servers of a site share a process ("The Raid distributed database system", 1989, section III-C).
//!
//! Whatever the layout, the site's own process has log, clocks and the connections with other sites, and the domain, which calls a server that is
//! elsewhere over a line: of shared memory on this host, over a connection to another one. Invariants: the site serves only while all its
//! servers' processes run and answer; when one of them does not, the site begins a new life from its log and starts what is missing; when the
//! site's process ends, the others do, and a process on another host has none of its servers any more.
//!
//! * `processes`: the site's part: calling, moving, ending; `starting`: how they begin, or are reached; [`server_process`]: their own part;
//! * [`other_host`]: the part of a process on another host;
//! * `line`: requests and replies of any length over a line;
//! * [`front`]: the user interface in a process of its own; `door`: where that reaches the site's process;
//! * [`orders`]: what `raid move` asks of a site; [`stores`]: the store changes hands.

pub(crate) mod door;
pub mod front;
pub(crate) mod line;
pub mod orders;
pub mod other_host;
pub(crate) mod processes;
pub mod server_process;
pub(crate) mod starting;
pub mod stores;

use domain::SERVERS;
pub use messages::ServerKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Folder beside log and store in which the processes of a site meet.
pub const FOLDER: &str = "lines";

/// The servers of a site, in the order in which a person is shown them: the clients' side first.
const KINDS: [ServerKind; 1 + SERVERS.len()] = [
    ServerKind::UserInterface,
    ServerKind::ActionDriver,
    ServerKind::AtomicityController,
    ServerKind::ConcurrencyController,
    ServerKind::ReplicationController,
    ServerKind::AccessManager,
];

/// Which servers share a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// All in one.
    #[default]
    Merged,
    /// User interface, query processor and action driver in one, all others in another.
    TwoProcess,
    /// Every server a process of its own.
    Separate,
}

impl Layout {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::Merged => "merged",
            Layout::TwoProcess => "two-process",
            Layout::Separate => "separate",
        }
    }

    /// Where each server begins.
    pub(crate) fn places(self) -> BTreeMap<ServerKind, ProcessPlace> {
        let place = |kind| {
            let place = match (self, kind) {
                (Layout::TwoProcess, ServerKind::ActionDriver | ServerKind::UserInterface) => {
                    ProcessPlace::Process(ServerKind::UserInterface)
                }
                (Layout::Merged | Layout::TwoProcess, _) => ProcessPlace::Site,
                (Layout::Separate, kind) => ProcessPlace::Process(kind),
            };
            (kind, place)
        };
        KINDS.into_iter().map(place).collect()
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A process of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessPlace {
    /// The site's own.
    Site,
    /// The one that is named after this server, which it was started for.
    Process(ServerKind),
    /// One on another host, which waits for servers there.
    Host(SocketAddr),
}

impl ProcessPlace {
    /// A process of this host beside the site's own.
    pub(crate) fn process(self) -> Option<ServerKind> {
        match self {
            ProcessPlace::Process(kind) => Some(kind),
            ProcessPlace::Site | ProcessPlace::Host(_) => None,
        }
    }

    /// Another host.
    pub(crate) fn host(self) -> Option<SocketAddr> {
        match self {
            ProcessPlace::Host(address) => Some(address),
            ProcessPlace::Site | ProcessPlace::Process(_) => None,
        }
    }
}

impl fmt::Display for ProcessPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessPlace::Site => formatter.write_str("site"),
            ProcessPlace::Process(kind) => formatter.write_str(&name_of(*kind)),
            ProcessPlace::Host(address) => write!(formatter, "{address}"),
        }
    }
}

impl FromStr for ProcessPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<ProcessPlace, String> {
        match text {
            "site" => Ok(ProcessPlace::Site),
            _ if text.contains(':') => host(text).map(ProcessPlace::Host),
            _ => server(text).map(ProcessPlace::Process).map_err(|error| format!("{error}; or `site`, or HOST:PORT")),
        }
    }
}

/// The first address of HOST:PORT.
fn host(text: &str) -> Result<SocketAddr, String> {
    let found =
        text.to_socket_addrs().map_err(|error| format!("{text:?} is no HOST:PORT that is known here: {error}"))?;
    found.into_iter().next().ok_or_else(|| format!("{text:?} has no address"))
}

/// How a server is called on command lines, and its process after it.
pub fn name_of(kind: ServerKind) -> String {
    kind.name().replace(' ', "-")
}

/// How the servers of a site are called, the user interface first.
pub fn names() -> [String; KINDS.len()] {
    KINDS.map(name_of)
}

/// The server of this name.
///
/// # Errors
/// There is none; the text says which there are.
pub fn server(name: &str) -> Result<ServerKind, String> {
    let found = KINDS.into_iter().find(|kind| name_of(*kind) == name);
    found.ok_or_else(|| format!("{name:?} is none of {}", names().join(", ")))
}

/// A folder whose sockets have short names, however long its own is: the system takes about 100 bytes.
#[derive(Debug)]
pub(crate) struct Meeting {
    folder: std::fs::File,
}

impl Meeting {
    /// In the data folder of a site.
    pub(crate) fn open(data: &Path) -> std::io::Result<Meeting> {
        Ok(Meeting { folder: std::fs::File::open(data.join(FOLDER))? })
    }

    /// The path of a socket, for this process only.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        use std::os::fd::AsRawFd;
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, `raid move` cannot name a server, or a layout has none for it.
    #[test]
    fn names_are_read_as_they_are_written() {
        for layout in [Layout::Merged, Layout::TwoProcess, Layout::Separate] {
            for (kind, place) in layout.places() {
                assert_eq!(server(&name_of(kind)), Ok(kind));
                assert_eq!(place.to_string().parse(), Ok(place));
            }
        }
        for host in ["10.0.0.2:7600", "[fe80::1]:7600"] {
            assert_eq!(host.parse::<ProcessPlace>().map(|place| place.to_string()).as_deref(), Ok(host));
        }
        assert!("10.0.0.2:no-port".parse::<ProcessPlace>().is_err());
        let error = "oracle".parse::<ProcessPlace>().expect_err("the oracle is no server of a site");
        assert!(error.contains("access-manager") && error.contains("`site`"), "{error}");
    }
}
