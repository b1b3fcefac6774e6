//! Addresses: the papers' 4-tuple (instance, site, server kind, server number), and patterns over it.
//!
//! Invariant: an address says *who*, never *where*. Where a server lives is the directory's business, so a server that
//! moves to another process or host keeps its address.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One Raid database: its sites, its oracle, its secret. Servers of different instances never talk to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceId(pub u64);

impl fmt::Display for InstanceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "instance {:016x}", self.0)
    }
}

/// One logical node of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId(pub u16);

impl fmt::Display for SiteId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "site {}", self.0)
    }
}

/// What a server does. The order of the variants is part of the encoding between sites: new kinds go last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ServerKind {
    /// Speaks with the users (UI in the papers).
    UserInterface,
    /// Computes relational queries over a snapshot.
    Query,
    /// Executes action programs (AD).
    ActionDriver,
    /// Commits across sites (AC).
    AtomicityController,
    /// Orders concurrent transactions (CC).
    ConcurrencyController,
    /// Keeps the copies alike (RC).
    ReplicationController,
    /// Keeps the local copy (AM).
    AccessManager,
    /// Name service and keeper of the epoch.
    Oracle,
    /// The site itself: what starts, places and watches its servers.
    Site,
    /// The operators' console.
    Console,
}

impl ServerKind {
    /// Every kind, in the order of the encoding.
    pub const ALL: [ServerKind; 10] = [
        ServerKind::UserInterface,
        ServerKind::Query,
        ServerKind::ActionDriver,
        ServerKind::AtomicityController,
        ServerKind::ConcurrencyController,
        ServerKind::ReplicationController,
        ServerKind::AccessManager,
        ServerKind::Oracle,
        ServerKind::Site,
        ServerKind::Console,
    ];

    /// The kind in words, as people read it in log lines and on the console.
    pub const fn name(self) -> &'static str {
        match self {
            ServerKind::UserInterface => "user interface",
            ServerKind::Query => "query",
            ServerKind::ActionDriver => "action driver",
            ServerKind::AtomicityController => "atomicity controller",
            ServerKind::ConcurrencyController => "concurrency controller",
            ServerKind::ReplicationController => "replication controller",
            ServerKind::AccessManager => "access manager",
            ServerKind::Oracle => "oracle",
            ServerKind::Site => "site",
            ServerKind::Console => "console",
        }
    }
}

impl fmt::Display for ServerKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Who a server is. Ordered by instance, site, kind and number.
///
/// Source: "The Raid distributed database system" (1989), section II-B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The database it belongs to.
    pub instance: InstanceId,
    /// The site it is a part of.
    pub site: SiteId,
    /// What it does.
    pub kind: ServerKind,
    /// Which of the servers of that kind at that site, counted from 0.
    pub number: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}, {} {}", self.instance, self.site, self.kind, self.number)
    }
}

/// A set of addresses: each field is fixed, or `None` for any.
///
/// The papers' notifier sets are lists of these: a server registers the patterns of the servers it must hear of, and the
/// oracle tells it of each change of a server that one of them matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pattern {
    /// The database, or any.
    pub instance: Option<InstanceId>,
    /// The site, or any.
    pub site: Option<SiteId>,
    /// What the servers do, or any.
    pub kind: Option<ServerKind>,
    /// Which of the servers of a kind, or any.
    pub number: Option<u16>,
}

impl Pattern {
    /// Matches every address.
    pub const ANY: Pattern = Pattern { instance: None, site: None, kind: None, number: None };

    /// Whether the address is in the set.
    pub fn matches(&self, address: Address) -> bool {
        fn field<T: PartialEq>(fixed: Option<T>, value: T) -> bool {
            fixed.is_none_or(|fixed| fixed == value)
        }
        field(self.instance, address.instance)
            && field(self.site, address.site)
            && field(self.kind, address.kind)
            && field(self.number, address.number)
    }

    /// This set, less what is not of `instance`.
    pub const fn of_instance(self, instance: InstanceId) -> Pattern {
        Pattern { instance: Some(instance), ..self }
    }

    /// This set, less what is not at `site`.
    pub const fn at_site(self, site: SiteId) -> Pattern {
        Pattern { site: Some(site), ..self }
    }

    /// This set, less what is not of `kind`.
    pub const fn of_kind(self, kind: ServerKind) -> Pattern {
        Pattern { kind: Some(kind), ..self }
    }
}

/// The set of this one address.
impl From<Address> for Pattern {
    fn from(address: Address) -> Pattern {
        Pattern {
            instance: Some(address.instance),
            site: Some(address.site),
            kind: Some(address.kind),
            number: Some(address.number),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn field(value: Option<impl fmt::Display>, any: &str) -> String {
            value.map_or_else(|| any.to_string(), |value| value.to_string())
        }
        write!(
            formatter,
            "{}, {}, {} {}",
            field(self.instance, "any instance"),
            field(self.site, "any site"),
            field(self.kind, "any server"),
            field(self.number, "*"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(site: u16, kind: ServerKind, number: u16) -> Address {
        Address { instance: InstanceId(7), site: SiteId(site), kind, number }
    }

    #[test]
    fn a_pattern_tells_each_field_apart() {
        let server = address(2, ServerKind::AtomicityController, 1);
        let others = [
            Address { instance: InstanceId(8), ..server },
            Address { site: SiteId(3), ..server },
            Address { kind: ServerKind::Oracle, ..server },
            Address { number: 0, ..server },
        ];
        assert!(Pattern::ANY.matches(server));
        assert!(Pattern::from(server).matches(server));
        for other in others {
            assert!(Pattern::ANY.matches(other));
            assert!(!Pattern::from(server).matches(other), "{other} is not {server}");
        }
    }

    #[test]
    fn a_pattern_narrows_field_by_field() {
        let pattern = Pattern::ANY.of_instance(InstanceId(7)).at_site(SiteId(2)).of_kind(ServerKind::Query);
        assert!(pattern.matches(address(2, ServerKind::Query, 0)));
        assert!(pattern.matches(address(2, ServerKind::Query, 9)));
        assert!(!pattern.matches(address(2, ServerKind::Oracle, 0)));
        assert!(!pattern.matches(address(1, ServerKind::Query, 0)));
    }

    #[test]
    fn addresses_read_as_people_say_them() {
        assert_eq!(SiteId(2).to_string(), "site 2");
        assert_eq!(
            address(2, ServerKind::AccessManager, 0).to_string(),
            "instance 0000000000000007, site 2, access manager 0"
        );
        assert_eq!(Pattern::ANY.at_site(SiteId(4)).to_string(), "any instance, site 4, any server *");
    }

    #[test]
    fn kinds_keep_their_place_in_the_encoding() {
        // Sites of different versions meet during an upgrade: a kind that changed its number would be another server.
        for (place, kind) in ServerKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place, "{kind}");
            let encoded = postcard::to_allocvec(&kind).expect("a kind encodes");
            assert_eq!(encoded, [place as u8], "{kind}");
        }
    }
}
