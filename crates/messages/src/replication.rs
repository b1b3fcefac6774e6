//! Between replication controllers: leases, seals, epochs, joining, fail-locks, copiers; and with the servers of their site.
//!
//! Messages between sites may be lost, repeated, late or out of order; each says what then happens.

use crate::access::{Copies, CopyRequest, StaleSet};
use crate::commit::TransactionsReport;
use crate::epoch::{Epoch, EpochId, ProposalId};
use crate::item::{Item, KeyRange};
use crate::last_words::{HomesKnown, OutcomeTable};
use crate::lease::LeaseLength;
use crate::lineage::{KnownMarks, LogPoint};
use crate::timestamp::Timestamp;
use identifiers::{EpochNumber, Incarnation, SiteId, TableId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Between the replication controllers of two sites.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ReplicationMessage {
    /// Keeper of leases to that of another member, at every renewal: let me read until you have not heard of me for so long. Lost: the next one
    /// serves.
    LeaseRequest {
        /// The asker's boot clock when it sent this, in nanoseconds.
        sent_at: u64,
        /// How long the lease is to last; each request may ask for another length.
        length: LeaseLength,
    },
    /// Answers `LeaseRequest`, only in the same epoch and unless sealed: the lease runs for `length` **from `sent_at`**.
    LeaseGrant {
        /// Echoed.
        sent_at: u64,
        /// For how long the grantor has promised not to let others pass: echoed.
        length: LeaseLength,
    },
    /// Site to site, once they are connected and until notes come: where my keeper of leases hears notes (UDP, at the host where I listen). Lost: it
    /// is said again, and leases go by the connection meanwhile.
    LeaseDoor {
        /// The port.
        port: u16,
        /// It answers another site's door, and is not answered.
        answers: bool,
    },
    /// Proposer to the members of the sealed and the new epoch: vote and grant no more in `epoch`. Resent until answered.
    Seal {
        /// The epoch to seal.
        epoch: EpochNumber,
        /// For this proposal.
        proposal: ProposalId,
    },
    /// Answers `Seal`: sealed and logged.
    Sealed {
        /// The sealed epoch.
        epoch: EpochNumber,
        /// For this proposal.
        proposal: ProposalId,
        /// The member's copy is current: it may be up in the next epoch. An up member's is not while it lacks, after a total
        /// failure, what its own log had lost.
        current: bool,
        /// A mark in the member's log that was on disk when it had sealed: the new epoch names it.
        mark: LogPoint,
    },
    /// To whoever is behind, and from the proposer to all members once the oracle has taken a proposal: this is the epoch. Lost: the
    /// receiver's next message of an older epoch is answered with it again; anyone can read it at the oracle too.
    EpochIs {
        /// The epoch.
        epoch: Arc<Epoch>,
    },
    /// Member to member of a new epoch: what I know. Resent until `EpochLogged` comes back.
    Report {
        /// The new epoch.
        epoch: EpochNumber,
        /// The proposal that made it.
        proposal: ProposalId,
        /// What the member knows.
        report: Arc<MemberReport>,
    },
    /// Member to member: I have all reports, have logged all outcomes and fail-locks, and every lease that I granted to a non-member
    /// is over. Resent until the receiver serves: repeated in answer to `Report`.
    Logged {
        /// The new epoch.
        epoch: EpochNumber,
        /// The proposal that made it.
        proposal: ProposalId,
        /// Whether the sender has everybody's `Logged` itself; then it need not be told again.
        complete: bool,
    },
    /// A site that belongs to no epoch to every site: take me in. Resent until an epoch has it as a member.
    Join {
        /// The last epoch that it logged, if any.
        last: Option<EpochId>,
        /// Whether its copy was current there: after a total failure only such sites may restart the instance.
        was_up: bool,
        /// Sites that it has heard from lately: a member is taken in only when it has contact with all members.
        reachable: Vec<SiteId>,
        /// What it knows of marks, that of this life's beginning included, which is on disk.
        marks: Box<KnownMarks>,
    },
    /// Member to member, now and then: everything that commits in this epoch at or below this clock is synced here.
    SyncedThrough {
        /// The clock.
        clock: u64,
        /// Stands in the sender's log behind all that, and is on disk.
        mark: LogPoint,
    },
    /// Recovering member to all: these items are refreshed **and synced** here, so the fail-locks may go. Lost: they stay and
    /// are copied once more after the next break.
    Refreshed {
        /// Items.
        items: Vec<Item>,
        /// Storages that are wholly current again.
        storages: Vec<TableId>,
        /// Nothing at all is stale any more.
        everything: bool,
        /// Stands in the sender's log behind all that, and is on disk.
        mark: LogPoint,
    },
    /// Recovering member to an up one: a copier. Resent, possibly to another member, until answered.
    CopyRequest {
        /// Names the request.
        tag: u64,
        /// What is wanted.
        wanted: CopyRequest,
    },
    /// Answers `CopyRequest`.
    CopyReply {
        /// Names the request.
        tag: u64,
        /// The copies.
        copies: Arc<Copies>,
    },
    /// Recovering member to the up ones: my copy is current and synced, let the next epoch have me up. Resent until it does.
    Current,
}

/// What a member brings into a new epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberReport {
    /// The last epoch whose outcomes and fail-locks it has logged.
    pub basis: Option<EpochId>,
    /// The chain of epochs it knows, oldest first (bounded).
    pub chain: Vec<EpochId>,
    /// Whether it was recovering and nothing is stale in its copy any more, which is synced: fail-locks of it are void, whether or not
    /// everybody has heard so before.
    pub current: bool,
    /// The last mark in its log that is on disk. If it has become current, it stands behind that.
    pub mark: LogPoint,
    /// The last mark that each other site has told, itself or through others: the log of that site has it, unless it was put back from an older copy.
    pub told: BTreeMap<SiteId, LogPoint>,
    /// Its transactions.
    pub transactions: Arc<TransactionsReport>,
    /// Its fail-lock tables, one for every other site; those of members that are current name nothing but what these have synced.
    pub fail_locks: BTreeMap<SiteId, FailLockTable>,
    /// What has committed here and may not be synced at every member: by commit, what is stale in a copy without it.
    pub recent: Vec<(Timestamp, StaleSet)>,
    /// What it knows of the homes whose transactions it names.
    pub homes: Option<HomesKnown>,
    /// What became of transactions of lives that epochs have lost before.
    pub outcomes: Vec<OutcomeTable>,
}

/// The fail-locks of one site, as another one keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailLockTable {
    /// What the site is known to have synced: everything that committed at or below (epoch, clock).
    pub base: (EpochNumber, u64),
    /// Written since.
    pub stale: Arc<StaleSet>,
}

/// Action driver to the replication controller of its site.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ServiceRequest {
    /// May the site serve now? Answered `ServiceReply`: when it may; or after the asker's `deadline` (boot clock) with the reason why not.
    Check {
        /// Names the question.
        tag: u64,
        /// When to give up.
        deadline: u64,
    },
    /// After a read: is the epoch still the one of the first check, and all leases unexpired? Answered at once.
    CheckAfter {
        /// Names the question.
        tag: u64,
        /// The epoch of the first check.
        epoch: EpochNumber,
    },
    /// Where only `Increments::ToWhatIsThere` can be made: to which of these not? Answered `Lacking` at once.
    Increments {
        /// Names the question.
        tag: u64,
        /// What is added to.
        items: Vec<Item>,
    },
    /// Something stale is wanted: fetch it first. Answered `RefreshReply`.
    Refresh {
        /// Names the question.
        tag: u64,
        /// What.
        range: Box<KeyRange>,
        /// When to give up.
        deadline: u64,
    },
}

/// Where a site may serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// The epoch.
    pub epoch: EpochNumber,
    /// What can be added to without being read.
    pub increments: Increments,
}

/// Which items can be added to unread. To one that is stale in some copy nothing can: that copy would refuse when it votes. So this spares a
/// transaction that it is refused; nothing else depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Increments {
    /// To all: every member is up.
    ToAll,
    /// To those that no member lacks, among which one is being repaired. `ServiceRequest::Increments` asks for some.
    ToWhatIsThere,
    /// To none: this copy is being repaired.
    ToNothing,
}

/// Replication controller to the action driver of its site.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ServiceReply {
    /// Answers `Check` and `CheckAfter`.
    ServiceReply {
        /// Names the question.
        tag: u64,
        /// Where the site may serve; else why not.
        verdict: Result<Service, String>,
    },
    /// Answers `Increments`.
    Lacking {
        /// Names the question.
        tag: u64,
        /// What a member that is being repaired may lack; or why the site may not serve.
        lacking: Result<Vec<Item>, String>,
    },
    /// Unasked, when an epoch begins, at the first of its up members: drop what lives that are not in it have left behind. If it is lost, so is the
    /// driver, and with it the site's life; twice is once.
    DropLeftovers {
        /// The epoch.
        epoch: Arc<Epoch>,
    },
    /// Unasked, when an epoch begins: what the others know of earlier lives of this site. Of a life without a table nobody knows anything any more.
    Outcomes {
        /// A table for each that is known of.
        tables: Vec<OutcomeTable>,
    },
    /// Answers `Refresh`: read again, or why it cannot be had.
    RefreshReply {
        /// Names the question.
        tag: u64,
        /// Why not.
        failure: Option<String>,
    },
}

/// Replication controller to its site: what only the real (or simulated) world can do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SiteNotice {
    /// The site serves in this epoch.
    Serving {
        /// The epoch.
        epoch: Arc<Epoch>,
    },
    /// The site was evicted, or its epoch is not in the oracle's chain: throw all servers away, take a new incarnation, start again
    /// from the log.
    StartAgain {
        /// Why, for the log.
        reason: String,
        /// The life that ends has the number of an earlier one, and has done nothing: what that one left stands.
        repeated: bool,
    },
    /// The site must not go on at all (an oracle that is older than our log, another instance): stop and tell the operator.
    Halt {
        /// Why and what to do.
        reason: String,
    },
    /// To the replication controller from the domain: the disk has not finished a sync for `limits::SYNC_STALL`, or has now.
    DiskStalled {
        /// Whether it still has not.
        stalled: bool,
    },
    /// To the replication controller from the site, once after the start: the operator gives up what only other sites have. After a total
    /// failure this site may restart the instance without them.
    RestartAlone,
    /// To the replication controller from the site: a connection to a peer broke (its process is probably dead).
    PeerLost {
        /// Who.
        site: SiteId,
    },
    /// To the replication controller from the site: a peer is connected, in this life.
    PeerFound {
        /// Who.
        site: SiteId,
        /// In which life.
        incarnation: Incarnation,
    },
}
