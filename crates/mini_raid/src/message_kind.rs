//! Kinds of messages between sites: where traps are set.

use messages::Message;
use messages::commit::{CommitMessage, Outcome};
use messages::oracle::{OracleReply, OracleRequest};
use messages::replication::ReplicationMessage;

/// All kinds that a trap may wait for.
pub const KINDS: [&str; 24] = [
    "prepare",
    "vote",
    "decide commit",
    "decide abort",
    "decide ack",
    "inquire",
    "lease request",
    "lease grant",
    "seal",
    "sealed",
    "epoch is",
    "report",
    "logged",
    "join",
    "synced through",
    "refreshed",
    "copy request",
    "copy reply",
    "current",
    "incarnate",
    "swap epoch",
    "epoch swapped",
    "epoch read",
    "other",
];

/// Those of an epoch change: rarer than the others, and worth more traps.
pub const CHANGE_KINDS: [&str; 11] = [
    "seal",
    "sealed",
    "epoch is",
    "report",
    "logged",
    "swap epoch",
    "epoch swapped",
    "join",
    "copy reply",
    "current",
    "refreshed",
];

/// The kind of a message between sites.
pub fn kind_of(message: &Message) -> &'static str {
    match message {
        Message::Commit(message) => match message {
            CommitMessage::Prepare { .. } => "prepare",
            CommitMessage::Waiting { .. } => "waiting",
            CommitMessage::Vote { .. } => "vote",
            CommitMessage::Decide { outcome: Outcome::Commit(_), .. } => "decide commit",
            CommitMessage::Decide { outcome: Outcome::Abort, .. } => "decide abort",
            CommitMessage::DecideAck { .. } => "decide ack",
            CommitMessage::Inquire { .. } => "inquire",
        },
        Message::Replication(message) => match message {
            ReplicationMessage::LeaseRequest { .. } => "lease request",
            ReplicationMessage::LeaseGrant { .. } => "lease grant",
            ReplicationMessage::LeaseDoor { .. } => "lease door",
            ReplicationMessage::Seal { .. } => "seal",
            ReplicationMessage::Sealed { .. } => "sealed",
            ReplicationMessage::EpochIs { .. } => "epoch is",
            ReplicationMessage::Report { .. } => "report",
            ReplicationMessage::Logged { .. } => "logged",
            ReplicationMessage::Join { .. } => "join",
            ReplicationMessage::SyncedThrough { .. } => "synced through",
            ReplicationMessage::Refreshed { .. } => "refreshed",
            ReplicationMessage::CopyRequest { .. } => "copy request",
            ReplicationMessage::CopyReply { .. } => "copy reply",
            ReplicationMessage::Current => "current",
        },
        Message::Oracle(OracleRequest::Incarnate { .. }) => "incarnate",
        Message::Oracle(OracleRequest::SwapEpoch { .. }) => "swap epoch",
        Message::OracleReply(OracleReply::EpochSwapped { .. }) => "epoch swapped",
        Message::OracleReply(OracleReply::EpochRead { .. }) => "epoch read",
        _ => "other",
    }
}
