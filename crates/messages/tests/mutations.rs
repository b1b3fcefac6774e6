//! Bytes that a broken peer, a broken disk or an attacker may bring: an error or another message, never a panic, and never more memory than
//! the bytes account for.

use bytes::Bytes;
use messages::access::{Copies, StaleSet};
use messages::commit::{CommitMessage, Outcome, TransactionReport, TransactionState, TransactionsReport, Vote};
use messages::epoch::{EpochId, Placement, ProposalId};
use messages::last_words::{HomesKnown, OutcomeTable};
use messages::log_record::LogRecord;
use messages::oracle::{OracleReply, OracleRequest};
use messages::program::{Expression, UnaryOperator};
use messages::replication::{FailLockTable, MemberReport, ReplicationMessage};
use messages::timestamp::Age;
use messages::{
    Envelope, Epoch, EpochNumber, History, Incarnation, Item, Key, KnownMarks, LogPoint, Member, MemberState, Message,
    OracleLife, Row, ServerKind, SiteId, TableId, Timestamp, TransactionId, Write,
};
use proptest::prelude::*;
use std::sync::Arc;

fn transaction() -> TransactionId {
    TransactionId { home: SiteId(1), incarnation: Incarnation(2), sequence: 300 }
}

fn timestamp() -> Timestamp {
    Timestamp { epoch: EpochNumber(7), clock: 1 << 50, transaction: transaction() }
}

fn item(number: u8) -> Item {
    Item { table: TableId(20_000), key: Key::new(&[number, 0, 255]) }
}

fn history() -> Arc<History> {
    let write =
        |number| Write { table: TableId(20_000), key: item(number).key, row: Some(Row::from(vec![number; 40])) };
    Arc::new(History { writes: vec![write(1), write(2)], drops: vec![TableId(3)], ..History::default() })
}

fn proposal() -> ProposalId {
    ProposalId { site: SiteId(3), incarnation: Incarnation(1), sequence: 9 }
}

fn epoch() -> Arc<Epoch> {
    let member = |state| Member::beginning(Incarnation(4), state);
    Arc::new(Epoch {
        number: EpochNumber(8),
        proposal: proposal(),
        parent: proposal(),
        oracle: OracleLife(7),
        members: [(SiteId(1), member(MemberState::Up)), (SiteId(2), member(MemberState::Recovering))].into(),
        sessions: [(SiteId(1), 1), (SiteId(2), 5)].into(),
        required_copies: 2,
        placement: Placement::Everywhere,
        restart: false,
    })
}

fn stale() -> StaleSet {
    StaleSet { items: [item(1), item(9)].into(), storages: [TableId(4)].into(), everything: false }
}

fn report() -> TransactionsReport {
    let state = TransactionState::Decided(Outcome::Commit(timestamp()), EpochNumber(7));
    let known = TransactionReport {
        epoch: EpochNumber(7),
        order: 12,
        participants: vec![SiteId(1), SiteId(2)],
        changes: stale(),
        state,
    };
    TransactionsReport { joined: EpochNumber(1), clock: 1 << 51, transactions: [(transaction(), known)].into() }
}

fn mark() -> LogPoint {
    LogPoint { life: Incarnation(3), number: 1 << 40 }
}

fn known_marks() -> KnownMarks {
    let mut known = KnownMarks { told: [(SiteId(1), mark())].into(), ..KnownMarks::default() };
    known.lineage.note(mark());
    known
}

fn copies() -> Arc<Copies> {
    let rows = vec![(item(1), timestamp(), Some(Row::from(vec![7; 100]))), (item(2), timestamp(), None)];
    Arc::new(Copies::Items(rows))
}

fn tables() -> std::collections::BTreeMap<SiteId, FailLockTable> {
    [(SiteId(2), FailLockTable { base: (EpochNumber(7), 77), stale: Arc::new(stale()) })].into()
}

/// What crosses sites, one of each shape.
fn messages() -> Vec<Message> {
    let participants = vec![SiteId(1), SiteId(2), SiteId(3)];
    let commit = [
        CommitMessage::Prepare {
            transaction: transaction(),
            age: Age { clock: 5, first: transaction() },
            order: 10,
            finished_below: 9,
            participants,
            history: history(),
        },
        CommitMessage::Vote { transaction: transaction(), vote: Vote::Yes { clock: 99 } },
        CommitMessage::Decide { transaction: transaction(), order: 10, outcome: Outcome::Commit(timestamp()) },
        CommitMessage::DecideAck { transactions: vec![transaction(); 5] },
    ];
    let member_report = MemberReport {
        basis: Some(EpochId { number: EpochNumber(7), proposal: proposal() }),
        current: true,
        mark: mark(),
        told: [(SiteId(2), mark())].into(),
        chain: vec![EpochId { number: EpochNumber(6), proposal: proposal() }; 3],
        transactions: Arc::new(report()),
        fail_locks: tables(),
        recent: vec![(timestamp(), stale())],
        homes: Some(HomesKnown { epoch: EpochNumber(7), homes: [(SiteId(2), (Incarnation(3), 9))].into() }),
        outcomes: vec![OutcomeTable {
            home: SiteId(3),
            life: Incarnation(2),
            epoch: EpochNumber(6),
            finished_below: 4,
            commits: [4, 6].into(),
        }],
    };
    let replication = [
        ReplicationMessage::LeaseRequest { sent_at: 1 << 60, length: messages::LeaseLength::DEFAULT },
        ReplicationMessage::EpochIs { epoch: epoch() },
        ReplicationMessage::Report { epoch: EpochNumber(8), proposal: proposal(), report: Arc::new(member_report) },
        ReplicationMessage::Join {
            last: None,
            was_up: true,
            reachable: vec![SiteId(2)],
            marks: Box::new(known_marks()),
        },
        ReplicationMessage::Refreshed {
            items: vec![item(1)],
            storages: vec![TableId(4)],
            everything: false,
            mark: mark(),
        },
        ReplicationMessage::CopyReply { tag: 3, copies: copies() },
    ];
    let to_oracle = OracleRequest::SwapEpoch {
        tag: 4,
        expected: EpochId { number: EpochNumber(7), proposal: proposal() },
        epoch: epoch(),
    };
    let from_oracle =
        OracleReply::EpochSwapped { tag: 4, won: true, epoch: epoch(), unconfirmed: vec![SiteId(1), SiteId(2)] };
    let commit = commit.into_iter().map(Message::Commit);
    let replication = replication.into_iter().map(Message::Replication);
    commit.chain(replication).chain([Message::Oracle(to_oracle), Message::OracleReply(from_oracle)]).collect()
}

fn envelope(message: Message) -> Envelope {
    Envelope {
        from_site: SiteId(1),
        from: ServerKind::AtomicityController,
        to_site: SiteId(2),
        to: ServerKind::AtomicityController,
        epoch: EpochNumber(8),
        incarnation: Incarnation(4),
        message,
    }
}

fn encoded(message: Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    envelope(message).encode_into(&mut bytes);
    bytes
}

fn records() -> Vec<Vec<u8>> {
    let records = [
        LogRecord::Prepared {
            transaction: transaction(),
            age: Age { clock: 5, first: transaction() },
            epoch: EpochNumber(8),
            order: 10,
            finished_below: 9,
            clock: 1 << 50,
            participants: vec![SiteId(1), SiteId(2)],
            history: history(),
        },
        LogRecord::Decided { transaction: transaction(), outcome: Outcome::Abort, by: EpochNumber(8) },
        LogRecord::Transactions { report: report() },
        LogRecord::Copied { copies: copies() },
        LogRecord::EpochLogged {
            epoch: epoch(),
            incarnation: Incarnation(4),
            joined: EpochNumber(2),
            chain: vec![EpochId { number: EpochNumber(6), proposal: proposal() }; 3],
            fail_locks: tables(),
            stale: Arc::new(stale()),
        },
        LogRecord::Marked { mark: mark() },
        LogRecord::Marks { known: known_marks() },
        LogRecord::Recent { complete_through: (EpochNumber(8), 5), commits: vec![(timestamp(), stale())] },
        LogRecord::Oracle { state: Bytes::from_static(b"the oracle's own words") },
    ];
    let encode = |record: &LogRecord| {
        let mut bytes = Vec::new();
        record.encode_into(&mut bytes);
        bytes
    };
    records.iter().map(encode).collect()
}

/// What may happen to bytes.
#[derive(Clone, Debug)]
enum Mutation {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Cut(prop::sample::Index),
    /// The largest number that a length can be.
    Huge(prop::sample::Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        4 => (place(), 1..=255_u8).prop_map(|(place, flip)| Mutation::Flip(place, flip)),
        2 => (place(), prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(place, bytes)| Mutation::Insert(place, bytes)),
        2 => (place(), 1..6_usize).prop_map(|(place, count)| Mutation::Remove(place, count)),
        1 => place().prop_map(Mutation::Cut),
        2 => place().prop_map(Mutation::Huge),
    ]
}

fn mutate(mut bytes: Vec<u8>, mutations: &[Mutation]) -> Vec<u8> {
    for mutation in mutations {
        if bytes.is_empty() {
            break;
        }
        match mutation {
            Mutation::Flip(place, flip) => {
                let at = place.index(bytes.len());
                bytes[at] ^= flip;
            }
            Mutation::Insert(place, new) => {
                let at = place.index(bytes.len());
                bytes.splice(at..at, new.iter().copied());
            }
            Mutation::Remove(place, count) => {
                let at = place.index(bytes.len());
                bytes.drain(at..(at + count).min(bytes.len()));
            }
            Mutation::Cut(place) => bytes.truncate(place.index(bytes.len())),
            Mutation::Huge(place) => {
                let at = place.index(bytes.len());
                bytes.splice(at..at + 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
            }
        }
    }
    bytes
}

/// If this fails, the mutations below start from nothing, or what crosses sites is refused.
#[test]
fn what_crosses_sites_is_decoded() {
    for message in messages() {
        let bytes = encoded(message);
        let decoded = Envelope::decode(&bytes).expect("it crosses sites");
        let mut again = Vec::new();
        decoded.encode_into(&mut again);
        assert_eq!(bytes, again);
    }
}

/// A peer that sends what servers of one site say to each other must be refused before it is decoded: a deep program would overflow the stack.
#[test]
fn what_stays_within_a_site_is_not_even_decoded() {
    assert!(Envelope::decode(&encoded(Message::Synced(1))).is_err());
    assert!(Envelope::decode(&encoded(Message::Checkpoint)).is_err());
    let one = |inner| Expression::Unary(UnaryOperator::Not, Box::new(inner));
    let mut nested = Vec::new();
    let innermost = Expression::Parameter(0);
    let bytes = |expression: &Expression| postcard::to_allocvec(expression).expect("it encodes");
    let (inner, outer) = (bytes(&innermost), bytes(&one(innermost.clone())));
    let layer = &outer[..outer.len() - inner.len()];
    // Every kind of message, followed by a million layers of the deepest thing that there is.
    for variant in 0..64 {
        nested.clear();
        let header = encoded(Message::Checkpoint);
        nested.extend_from_slice(&header[..header.len() - 1]);
        nested.push(variant);
        (0..1_000_000).for_each(|_| nested.extend_from_slice(layer));
        // Whatever it is, the stack stands.
        let _ = Envelope::decode(&nested);
    }
}

proptest! {
    /// A peer, or what sits between, must not be able to bring a site down with bytes.
    #[test]
    fn mutated_messages_are_errors_or_messages(
        which in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..8),
    ) {
        let all = messages();
        let bytes = mutate(encoded(which.get(&all).clone()), &mutations);
        if let Ok(decoded) = Envelope::decode(&bytes) {
            let mut again = Vec::new();
            decoded.encode_into(&mut again);
            prop_assert!(Envelope::decode(&again).is_ok());
        }
    }

    /// A log is checksummed; still, a record of another version or of a broken disk must be told, not crash the start.
    #[test]
    fn mutated_log_records_are_errors_or_records(
        which in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..8),
    ) {
        let all = records();
        let bytes = mutate(which.get(&all).clone(), &mutations);
        if let Ok(decoded) = LogRecord::decode(&bytes) {
            let mut again = Vec::new();
            decoded.encode_into(&mut again);
            prop_assert!(LogRecord::decode(&again).is_ok());
        }
    }
}
