//! To and from the oracle: incarnations, names, notifications, and the register that holds the epoch.
//!
//! Requests are resent until answered; each is harmless when repeated: a swap is settled by its proposal identifier, a registration by its
//! nonce.

use crate::epoch::{Epoch, EpochId};
use identifiers::{Address, Incarnation, OracleLife, Pattern, SiteId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// To the oracle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum OracleRequest {
    /// A starting site takes a new incarnation. Answered `Incarnated`.
    Incarnate {
        /// Random, new at every start: a repetition gets the same incarnation.
        nonce: u64,
        /// Who.
        site: SiteId,
    },
    /// The highest epoch this site knows. Sent at every start and reconnection, and now and then; an oracle that was just started changes
    /// nothing until every member of its epoch has confirmed (it may be an old copy). Answered `EpochRead`.
    Confirm {
        /// Names the request; later ones have higher tags.
        tag: u64,
        /// The highest epoch known, if any.
        epoch: Option<Arc<Epoch>>,
        /// Whether the site is up in that epoch and has logged it. Nobody has served in an epoch that no up member has logged.
        carried: bool,
        /// The oracle's process that the site follows. It is to this one that it confirms, and to no other.
        oracle: Option<OracleLife>,
    },
    /// Linearizable read of the register. Answered `EpochRead`. Nobody sends it yet: the console will.
    ReadEpoch {
        /// Names the request.
        tag: u64,
    },
    /// Replace the epoch `expected` by `epoch`. Answered `EpochSwapped`.
    SwapEpoch {
        /// Names the request.
        tag: u64,
        /// Number and proposal of the epoch to replace.
        expected: EpochId,
        /// The new one.
        epoch: Arc<Epoch>,
    },
    /// Registers the network location of an address; notifies whoever watches it. Answered `Registered`.
    /// Nobody sends it yet: servers that are placed by the console will.
    Register {
        /// Names the request.
        tag: u64,
        /// Which server.
        address: Address,
        /// Where it is, as the channel understands it.
        location: String,
    },
    /// Where is it? Answered `Found`. Nobody sends it yet: who looks for such a server will.
    Lookup {
        /// Names the request.
        tag: u64,
        /// Which servers.
        pattern: Pattern,
    },
    /// Joins the notifier set of every address that fits the pattern. Answered `Watching`; then `Changed` at each change.
    /// Nobody sends it yet: who looks for such a server will.
    Watch {
        /// Names the request.
        tag: u64,
        /// Which servers.
        pattern: Pattern,
    },
}

/// From the oracle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum OracleReply {
    /// A new life.
    Incarnated {
        /// Echoed.
        nonce: u64,
        /// Its number.
        incarnation: Incarnation,
    },
    /// The register.
    EpochRead {
        /// Names the request.
        tag: u64,
        /// The epoch.
        epoch: Arc<Epoch>,
        /// Set while somebody may have served in another epoch that the register has forgotten: until these sites have confirmed, nobody
        /// enters this one.
        unconfirmed: Vec<SiteId>,
        /// The process that answers.
        oracle: OracleLife,
    },
    /// Outcome of a swap.
    EpochSwapped {
        /// Names the request.
        tag: u64,
        /// Whether the register now holds the proposal.
        won: bool,
        /// What the register holds.
        epoch: Arc<Epoch>,
        /// Set when the oracle refuses every change until the members of its epoch have confirmed.
        unconfirmed: Vec<SiteId>,
    },
    /// Registered.
    Registered {
        /// Names the request.
        tag: u64,
    },
    /// Locations that fit.
    Found {
        /// Names the request.
        tag: u64,
        /// Address and location.
        locations: Vec<(Address, String)>,
    },
    /// The watch stands.
    Watching {
        /// Names the request.
        tag: u64,
    },
    /// A watched address moved, appeared or (`None`) went.
    Changed {
        /// Which.
        address: Address,
        /// Where it is now.
        location: Option<String>,
    },
}
