//! Layouts: which servers of a site share a process ("The Raid distributed database system", 1989, section III-C).
//!
//! Whatever the layout, the site's own process has log, clocks and the connections with other sites, and the domain, which calls a server that is
//! elsewhere over a line of shared memory. Invariants: the site serves only while all its servers' processes run; when one of them ends, the
//! site begins a new life from its log and starts what is missing; when the site's process ends, the others do.
//!
//! * `processes`: the site's part: calling, moving, ending; `starting`: how they begin; [`server_process`]: their own part;
//! * `line`: requests and replies of any length over a line;
//! * [`front`]: the user interface in a process of its own; `door`: where that reaches the site's process;
//! * [`orders`]: what `raid move` asks of a site; [`stores`]: the store changes hands.

pub(crate) mod door;
pub mod front;
pub(crate) mod line;
pub mod orders;
pub(crate) mod processes;
pub mod server_process;
pub(crate) mod starting;
pub mod stores;

use domain::SERVERS;
pub use messages::ServerKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Folder beside log and store in which the processes of a site meet.
pub const FOLDER: &str = "lines";

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
    pub(crate) fn places(self) -> BTreeMap<ServerKind, Place> {
        let all = SERVERS.into_iter().chain([ServerKind::UserInterface]);
        all.map(|kind| {
            let place = match (self, kind) {
                (Layout::TwoProcess, ServerKind::ActionDriver | ServerKind::UserInterface) => {
                    Place::Process(ServerKind::UserInterface)
                }
                (Layout::Merged | Layout::TwoProcess, _) => Place::Site,
                (Layout::Separate, kind) => Place::Process(kind),
            };
            (kind, place)
        })
        .collect()
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A process of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The site's own.
    Site,
    /// The one that is named after this server, which it was started for.
    Process(ServerKind),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Site => formatter.write_str("site"),
            Place::Process(kind) => formatter.write_str(&name_of(*kind)),
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        match text {
            "site" => Ok(Place::Site),
            _ => server(text).map(Place::Process).map_err(|error| format!("{error}; or `site`")),
        }
    }
}

/// How a server is called on command lines, and its process after it.
pub fn name_of(kind: ServerKind) -> String {
    kind.name().replace(' ', "-")
}

/// The server of this name.
///
/// # Errors
/// There is none; the text says which there are.
pub fn server(name: &str) -> Result<ServerKind, String> {
    let all = SERVERS.into_iter().chain([ServerKind::UserInterface]);
    let mut names = Vec::new();
    for kind in all {
        if name_of(kind) == name {
            return Ok(kind);
        }
        names.push(name_of(kind));
    }
    Err(format!("{name:?} is none of {}", names.join(", ")))
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
        let error = "oracle".parse::<Place>().expect_err("the oracle is no server of a site");
        assert!(error.contains("access-manager") && error.contains("`site`"), "{error}");
    }
}
