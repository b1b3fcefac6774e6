//! Raidcomm V.1, rebuilt in its layers to be measured: a message is marshalled into a form that no machine has (XDR, by `raidcomm`'s codec), put into a Raid datagram, which
//! names its destination by the 4-tuple, cut into fragments (LDG), and sent by UDP.
//!
//! Invariant: it promises what a datagram promises, at most once or not at all, and nothing more: no use but to be compared with.
//!
//! Source: "Evolution of a Communication System for Distributed Transaction Processing in Raid" (1992), section 2.1; "The Raid Distributed
//! Database System" (1989), section II-B and figure 2. In reading order, from the top:
//!
//! * [`messages`]: what Raid's servers say, for the experiment of figure 11;
//! * [`raid_datagrams`]: destinations by name;
//! * [`long_datagrams`]: messages of any length.

pub mod long_datagrams;
pub mod messages;
pub mod raid_datagrams;
