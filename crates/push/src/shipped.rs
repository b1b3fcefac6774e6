//! The programs that are there.
//!
//! Invariant: each of them is found safe, and its name here is the one in its text, with hyphens for low lines.

/// A program that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedProgram {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Sends one datagram as one for each member.
pub const MULTICAST: ShippedProgram = ShippedProgram {
    name: "multicast",
    about: "one datagram to a group's port leaves as one for each member",
    text: include_str!("../programs/multicast.push"),
};

/// Sends one request to several servers, and wakes with as many replies as are wanted.
pub const MULTI_CALL: ShippedProgram = ShippedProgram {
    name: "multi_call",
    about: "one request leaves for several servers; the caller is woken once, with as many replies as it wants",
    text: include_str!("../programs/multi_call.push"),
};

/// Collects datagrams, and wakes when all expected peers have spoken.
pub const COLLECT: ShippedProgram = ShippedProgram {
    name: "collect",
    about: "datagrams of known peers go to a ring; its reader is woken when all expected peers have spoken",
    text: include_str!("../programs/collect.push"),
};

/// All.
pub const ALL: [ShippedProgram; 3] = [MULTICAST, MULTI_CALL, COLLECT];

/// A program by its name.
pub fn find(name: &str) -> Option<&'static ShippedProgram> {
    ALL.iter().find(|program| program.name == name)
}
