//! The directory: where addresses live, and who is in a group. It changes while servers run.
//!
//! The address decides the channel: servers name a destination and never a channel. A new kind of channel is a new
//! [`ServerEndpoint`] and a new list in [`MessageRoute`].
//!
//! Invariant: all addresses of one site that are reached by streams have the same endpoint, because a site takes streams
//! at one place.

use crate::limits::{GROUPS_MAX, PLACES_MAX};
use identifiers::{Address, Pattern, SiteId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use thiserror::Error;

/// A set of servers that is written to as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupId(pub u64);

impl fmt::Display for GroupId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "group {}", self.0)
    }
}

/// Whom a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Destination {
    /// One server.
    One(Address),
    /// Every member of a group, the sender too if it is one.
    Group(GroupId),
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::One(address) => address.fmt(formatter),
            Destination::Group(group) => group.fmt(formatter),
        }
    }
}

impl From<Address> for Destination {
    fn from(address: Address) -> Destination {
        Destination::One(address)
    }
}

impl From<GroupId> for Destination {
    fn from(group: GroupId) -> Destination {
        Destination::Group(group)
    }
}

/// How a server is reached from this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEndpoint {
    /// It is in this process: values are handed over as they are.
    Memory,
    /// It is in another process, whose streams listen there.
    Stream(SocketAddr),
}

/// Why the directory refuses a change or does not know a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DirectoryError {
    /// More than [`PLACES_MAX`] addresses, or [`PLACES_MAX`] members of a group, or [`GROUPS_MAX`] groups.
    #[error("the directory is full")]
    Full,
    /// Move the site first: [`Directory::move_site`].
    #[error("{site} takes streams at {endpoint}, not at two places")]
    Elsewhere {
        /// The site.
        site: SiteId,
        /// Where it takes streams.
        endpoint: SocketAddr,
    },
    /// Nobody has been placed there, or the group has no members. Ask the oracle.
    #[error("nothing is known of {0}")]
    Unknown(Destination),
}

/// By which channels a message goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageRoute {
    /// Servers in this process.
    pub memory: Vec<Address>,
    /// Sites that get it once by streams, however many of their servers it is for.
    pub streams: Vec<SiteId>,
    /// Members of a group whose place is not known.
    pub unplaced: Vec<Address>,
}

/// What one process knows of the places of servers.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    places: BTreeMap<Address, ServerEndpoint>,
    groups: BTreeMap<GroupId, BTreeSet<Address>>,
}

impl Directory {
    /// Notes where a server is reached; what was known before is replaced.
    ///
    /// # Errors
    /// The directory is full, or the server's site takes streams at another place.
    pub fn place(&mut self, address: Address, endpoint: ServerEndpoint) -> Result<(), DirectoryError> {
        if let ServerEndpoint::Stream(wanted) = endpoint {
            let others = self.places.iter().filter(|&(other, _)| other.site == address.site && *other != address);
            for (_, place) in others {
                if let ServerEndpoint::Stream(endpoint) = *place
                    && endpoint != wanted
                {
                    return Err(DirectoryError::Elsewhere { site: address.site, endpoint });
                }
            }
        }
        if self.places.len() >= PLACES_MAX && !self.places.contains_key(&address) {
            return Err(DirectoryError::Full);
        }
        self.places.insert(address, endpoint);
        Ok(())
    }

    /// Forgets where a server is; it stays a member of its groups.
    pub fn remove(&mut self, address: Address) -> Option<ServerEndpoint> {
        self.places.remove(&address)
    }

    /// Notes that a site takes streams at another place: all its servers that are reached by streams move.
    pub fn move_site(&mut self, site: SiteId, endpoint: SocketAddr) {
        for (_, place) in self.places.iter_mut().filter(|(address, _)| address.site == site) {
            if let ServerEndpoint::Stream(old) = place {
                *old = endpoint;
            }
        }
    }

    /// How a server is reached.
    pub fn endpoint(&self, address: Address) -> Option<ServerEndpoint> {
        self.places.get(&address).copied()
    }

    /// The known addresses that match, in order.
    pub fn find(&self, pattern: Pattern) -> impl Iterator<Item = (Address, ServerEndpoint)> {
        self.places
            .iter()
            .filter(move |(address, _)| pattern.matches(**address))
            .map(|(&address, &place)| (address, place))
    }

    /// The sites that are reached by streams, and where: the peers that this process's streams should have.
    pub fn stream_peers(&self) -> BTreeMap<SiteId, SocketAddr> {
        let stream = |(address, place): (&Address, &ServerEndpoint)| match *place {
            ServerEndpoint::Stream(endpoint) => Some((address.site, endpoint)),
            ServerEndpoint::Memory => None,
        };
        self.places.iter().filter_map(stream).collect()
    }

    /// Makes a server a member of a group.
    ///
    /// # Errors
    /// There are too many members or groups.
    pub fn join(&mut self, group: GroupId, address: Address) -> Result<(), DirectoryError> {
        if self.groups.len() >= GROUPS_MAX && !self.groups.contains_key(&group) {
            return Err(DirectoryError::Full);
        }
        let members = self.groups.entry(group).or_default();
        if members.len() >= PLACES_MAX && !members.contains(&address) {
            return Err(DirectoryError::Full);
        }
        members.insert(address);
        Ok(())
    }

    /// Takes a server out of a group; a group without members is forgotten.
    pub fn leave(&mut self, group: GroupId, address: Address) {
        if let Some(members) = self.groups.get_mut(&group) {
            members.remove(&address);
            if members.is_empty() {
                self.groups.remove(&group);
            }
        }
    }

    /// The members of a group, in order.
    pub fn members(&self, group: GroupId) -> impl Iterator<Item = Address> {
        self.groups.get(&group).into_iter().flatten().copied()
    }

    /// Picks the channels for a message. `route` is emptied first; its memory is used again.
    ///
    /// # Errors
    /// Nothing is known of the destination.
    pub fn route(&self, destination: Destination, route: &mut MessageRoute) -> Result<(), DirectoryError> {
        route.memory.clear();
        route.streams.clear();
        route.unplaced.clear();
        match destination {
            Destination::One(address) => {
                let endpoint = self.endpoint(address).ok_or(DirectoryError::Unknown(destination))?;
                add(route, address, Some(endpoint));
            }
            Destination::Group(group) => {
                let members = self.groups.get(&group).ok_or(DirectoryError::Unknown(destination))?;
                for &address in members {
                    add(route, address, self.endpoint(address));
                }
            }
        }
        Ok(())
    }
}

/// Adds one server to a route. Members come in the order of their addresses, so that servers of a site stand together.
fn add(route: &mut MessageRoute, address: Address, endpoint: Option<ServerEndpoint>) {
    match endpoint {
        Some(ServerEndpoint::Memory) => route.memory.push(address),
        Some(ServerEndpoint::Stream(_)) if route.streams.last() == Some(&address.site) => {}
        Some(ServerEndpoint::Stream(_)) => route.streams.push(address.site),
        None => route.unplaced.push(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use identifiers::{InstanceId, ServerKind};

    fn server(site: u16, number: u16) -> Address {
        Address { instance: InstanceId(1), site: SiteId(site), kind: ServerKind::ConcurrencyController, number }
    }

    fn port(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn route(directory: &Directory, destination: impl Into<Destination>) -> Result<MessageRoute, DirectoryError> {
        let mut route = MessageRoute::default();
        directory.route(destination.into(), &mut route).map(|()| route)
    }

    #[test]
    fn a_group_reaches_each_site_once_and_each_local_server() {
        let mut directory = Directory::default();
        let group = GroupId(1);
        let members = [server(1, 0), server(1, 1), server(2, 0), server(2, 1), server(3, 0), server(4, 0)];
        for address in members {
            directory.join(group, address).expect("room");
        }
        directory.place(server(1, 0), ServerEndpoint::Memory).expect("room");
        directory.place(server(1, 1), ServerEndpoint::Memory).expect("room");
        directory.place(server(2, 0), ServerEndpoint::Stream(port(2))).expect("room");
        directory.place(server(2, 1), ServerEndpoint::Stream(port(2))).expect("room");
        directory.place(server(3, 0), ServerEndpoint::Stream(port(3))).expect("room");
        let expected = MessageRoute {
            memory: vec![server(1, 0), server(1, 1)],
            streams: vec![SiteId(2), SiteId(3)],
            unplaced: vec![server(4, 0)],
        };
        assert_eq!(route(&directory, group), Ok(expected));
        for address in members {
            directory.leave(group, address);
        }
        assert_eq!(route(&directory, group), Err(DirectoryError::Unknown(group.into())));
    }

    #[test]
    fn a_server_that_moves_keeps_its_address_and_changes_its_channel() {
        let mut directory = Directory::default();
        assert_eq!(route(&directory, server(2, 0)), Err(DirectoryError::Unknown(server(2, 0).into())));
        directory.place(server(2, 0), ServerEndpoint::Memory).expect("room");
        assert_eq!(route(&directory, server(2, 0)).map(|route| route.memory), Ok(vec![server(2, 0)]));
        directory.place(server(2, 0), ServerEndpoint::Stream(port(5))).expect("room");
        assert_eq!(route(&directory, server(2, 0)).map(|route| route.streams), Ok(vec![SiteId(2)]));
        assert_eq!(directory.remove(server(2, 0)), Some(ServerEndpoint::Stream(port(5))));
        assert_eq!(directory.endpoint(server(2, 0)), None);
    }

    #[test]
    fn a_site_takes_streams_at_one_place_and_moves_as_a_whole() {
        let mut directory = Directory::default();
        directory.place(server(2, 0), ServerEndpoint::Stream(port(5))).expect("room");
        let elsewhere = DirectoryError::Elsewhere { site: SiteId(2), endpoint: port(5) };
        assert_eq!(directory.place(server(2, 1), ServerEndpoint::Stream(port(6))), Err(elsewhere));
        directory.place(server(2, 1), ServerEndpoint::Stream(port(5))).expect("the same place");
        directory.place(server(3, 0), ServerEndpoint::Stream(port(7))).expect("another site");
        directory.move_site(SiteId(2), port(6));
        assert_eq!(directory.stream_peers(), BTreeMap::from([(SiteId(2), port(6)), (SiteId(3), port(7))]));
        let found: Vec<Address> = directory.find(Pattern::ANY.at_site(SiteId(2))).map(|(address, _)| address).collect();
        assert_eq!(found, [server(2, 0), server(2, 1)]);
    }

    #[test]
    fn the_directory_is_bounded() {
        let mut directory = Directory::default();
        for number in 0..PLACES_MAX as u16 {
            directory.place(server(1, number), ServerEndpoint::Memory).expect("room");
        }
        assert_eq!(directory.place(server(2, 0), ServerEndpoint::Memory), Err(DirectoryError::Full));
        directory.place(server(1, 0), ServerEndpoint::Memory).expect("it is known already");
        for group in 0..GROUPS_MAX as u64 {
            directory.join(GroupId(group), server(1, 0)).expect("room");
        }
        assert_eq!(directory.join(GroupId(u64::MAX), server(1, 0)), Err(DirectoryError::Full));
    }
}
