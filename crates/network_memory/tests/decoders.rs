//! Bytes that anybody may have sent or written: a message, an image or an error, never a panic.

use network_memory::limits::NUMBER_MAX;
use network_memory::message::{
    CheckedRecord, HeldLog, MessageError, ServerRefusal, ServerReply, ToServer, ToWriter, WriterRequest,
};
use network_memory::names::{
    Configuration, CountedServer, Fallback, Incarnation, LogId, LogMark, RecordNumber, ServerId, WriterEpoch,
};
use network_memory::server::image::{load, save};
use network_memory::server::{LogServer, Room};
use proptest::prelude::*;
use raidcomm::codec::{Codec, Compact};
use std::net::SocketAddr;

const LOG: LogId = LogId(5);
const EPOCH: WriterEpoch = WriterEpoch { number: 1, writer: 9 };
const ROOM: Room = Room { capacity_bytes: 1 << 20, quota_bytes: 1 << 20 };

fn configuration() -> Configuration {
    let member = CountedServer {
        server: ServerId(SocketAddr::from(([10, 0, 0, 1], 1))),
        incarnation: Incarnation(3),
        established: Incarnation(3),
    };
    Configuration {
        epoch: EPOCH,
        copies: 1,
        members: vec![member],
        fallback: Fallback::UnderLease,
        continues: EPOCH,
        generation: 0,
        doubt: None,
    }
}

/// A server that holds these records.
fn server(records: &[Vec<u8>]) -> LogServer {
    let mut server = LogServer::new(Incarnation(3), ROOM);
    let mark = LogMark::default();
    let activate = WriterRequest::Activate {
        configuration: configuration(),
        basis: EPOCH,
        from: RecordNumber(0),
        base: mark,
        end: mark,
    };
    assert!(matches!(server.handle(1, LOG, activate), ServerReply::Activated { .. }));
    let records: Vec<CheckedRecord> = records
        .iter()
        .enumerate()
        .map(|(index, bytes)| CheckedRecord::new(LOG, RecordNumber(index as u64), EPOCH, bytes.clone().into()))
        .collect();
    let count = records.len();
    let append =
        WriterRequest::Append { epoch: EPOCH, is_established: true, from: mark, position: RecordNumber(0), records };
    assert_eq!(server.handle(1, LOG, append), ServerReply::Appended { epoch: EPOCH, end: RecordNumber(count as u64) });
    server
}

fn held(server: &mut LogServer) -> Vec<Vec<u8>> {
    let read = WriterRequest::Read { epoch: EPOCH, position: RecordNumber(0) };
    match server.handle(1, LOG, read) {
        ServerReply::Records { records, .. } => records.into_iter().map(|record| record.bytes.to_vec()).collect(),
        // All of it was given up.
        ServerReply::Refused { reason: ServerRefusal::Absent, .. } => Vec::new(),
        other => panic!("{other:?}"),
    }
}

/// If this failed, one damaged number could lock a log for ever, or make writers begin again at the lowest epoch.
#[test]
fn numbers_that_nobody_counts_to_are_refused() {
    let epoch = |number| WriterEpoch { number, writer: 9 };
    let request = |number| {
        let mut encoded = Vec::new();
        Compact::append(&ToServer::new(LOG, WriterRequest::Seal { epoch: epoch(number) }), &mut encoded)
            .expect("it has a form");
        ToServer::decode(&encoded).err()
    };
    let answer = |reply: ServerReply| {
        let mut encoded = Vec::new();
        Compact::append(&ToWriter::new(LOG, Incarnation(3), reply), &mut encoded).expect("it has a form");
        ToWriter::decode(&encoded).err()
    };
    let sealed =
        |number| answer(ServerReply::Refused { epoch: EPOCH, reason: ServerRefusal::Sealed { by: epoch(number) } });
    let continues = |number| {
        let configuration = Some(Configuration { continues: epoch(number), ..configuration() });
        answer(ServerReply::Held { epoch: EPOCH, held: HeldLog { configuration, ..HeldLog::default() } })
    };
    for number in [NUMBER_MAX + 1, u64::MAX] {
        let error = Some(MessageError::Number(number));
        assert_eq!((request(number), sealed(number)), (error.clone(), error.clone()));
        assert_eq!(continues(number), error);
    }
    assert_eq!((request(NUMBER_MAX), sealed(NUMBER_MAX), continues(NUMBER_MAX)), (None, None, None));
    // Whoever does without the wire is told likewise, and the log stays open to others.
    let mut server = server(&[]);
    let refused = server.handle(1, LOG, WriterRequest::Seal { epoch: epoch(u64::MAX) });
    assert_eq!(refused, ServerReply::Refused { epoch: epoch(u64::MAX), reason: ServerRefusal::OutOfRange });
    assert!(matches!(server.handle(1, LOG, WriterRequest::Seal { epoch: epoch(2) }), ServerReply::Sealed { .. }));
}

proptest! {
    /// If this failed, whoever reaches a memory server could stop it.
    #[test]
    fn arbitrary_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = ToServer::decode(&bytes);
        let _ = ToWriter::decode(&bytes);
        prop_assert!(load(1, ROOM, &mut bytes.as_slice()).is_err());
    }

    /// If this failed, what is sent would not be what comes, or a damaged record would be held.
    #[test]
    fn records_come_through_whole_or_not_at_all(
        bytes in prop::collection::vec(any::<u8>(), 1..200),
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let record = CheckedRecord::new(LOG, RecordNumber(0), EPOCH, bytes.into());
        let append = WriterRequest::Append { epoch: EPOCH, is_established: true, from: LogMark::default(), position: RecordNumber(0), records: vec![record] };
        let mut encoded = Vec::new();
        Compact::append(&ToServer::new(LOG, append), &mut encoded).expect("it has a form");
        let message = ToServer::decode(&encoded).expect("a message");
        let reply = server(&[]).handle(1, message.log, message.request);
        prop_assert_eq!(reply, ServerReply::Appended { epoch: EPOCH, end: RecordNumber(1) });
        let at = at.index(encoded.len());
        encoded[at] ^= 1 << bit;
        if let Ok(message) = ToServer::decode(&encoded) {
            let mut server = server(&[]);
            let reply = server.handle(1, message.log, message.request);
            let is_held = matches!(reply, ServerReply::Appended { end: RecordNumber(1), .. });
            // A flipped bit in what is given up below, or in a number of equal meaning, harms no record.
            prop_assert!(!is_held || held(&mut server).len() <= 1, "{reply:?}");
            if let ServerReply::Refused { reason: ServerRefusal::Full { .. }, .. } = reply {
                prop_assert!(false, "one record fits");
            }
        }
    }

    /// If this failed, a server would reload another memory than it has saved, or believe a damaged file.
    #[test]
    fn an_image_is_whole_or_an_error(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..10),
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
        kept in any::<prop::sample::Index>(),
    ) {
        let mut image = Vec::new();
        save(&server(&records), &mut image).expect("memory takes it");
        let mut loaded = load(1, ROOM, &mut image.as_slice()).expect("an image");
        prop_assert_eq!(loaded.incarnation(), Incarnation(3));
        prop_assert_eq!(held(&mut loaded), records);
        prop_assert!(load(1, ROOM, &mut &image[..kept.index(image.len())]).is_err(), "a part passes for the whole");
        let at = at.index(image.len());
        image[at] ^= 1 << bit;
        prop_assert!(load(1, ROOM, &mut image.as_slice()).is_err(), "a flipped bit at {} is not noticed", at);
    }
}
