//! Packets survive the way to bytes and back; nothing else is taken for a packet.

use super::*;
use proptest::prelude::*;

fn header() -> PacketHeader {
    PacketHeader {
        kernel: LogicalHostId(7),
        identity: RequestIdentity { sequence: 9, hop: 1 },
        source: ProcessId::new(LogicalHostId(7), 3),
        destination: MessageDestination::Process(ProcessId::new(LogicalHostId(8), 4)),
    }
}

/// One packet of each kind.
fn samples<'a>(message: &'a [u8], data: &'a [u8]) -> Vec<PacketBody<'a>> {
    let transfer = Transfer { number: 3, offset: 5, total: 2 * CHUNK_BYTES as u64 + data.len() as u64 };
    let process = ProcessId::new(LogicalHostId(1), 2);
    let mut wanted = WantedChunks::from(1);
    wanted.set(2);
    let request = RequestPacket {
        once: true,
        replies: WantedReplies::Many,
        sought: false,
        read: true,
        write: false,
        segment_bytes: 5_000,
        forwarder: process,
        message,
        data,
    };
    let mut samples = vec![
        PacketBody::HostRequest { proposed: LogicalHostId(1), life: 2 },
        PacketBody::HostComplaint { proposed: LogicalHostId(1), life: 2 },
        PacketBody::Send(request),
        PacketBody::Send(RequestPacket { replies: WantedReplies::None, once: false, sought: true, ..request }),
        PacketBody::Reply { offset: 6, message, data },
        PacketBody::Forward { to: process },
        PacketBody::NoProcess { certain: true },
        PacketBody::Moved { to: LogicalHostId(4) },
        PacketBody::Pending { ran: 8 },
        PacketBody::GetPid { logical: 1 },
        PacketBody::GetPidReply { logical: 1, process },
        PacketBody::Here,
        PacketBody::Pull { to_owner: true, transfer, wanted },
        PacketBody::Done { number: 1 },
        PacketBody::Refused { number: 1, reason: BulkRefusal::OutOfBounds },
    ];
    if !data.is_empty() {
        samples.push(PacketBody::Data { to_owner: true, ask: true, transfer, index: 2, data });
    }
    samples
}

fn encoded(body: &PacketBody<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&header(), body, &mut bytes);
    bytes
}

/// If a packet changed on its way, kernels would misunderstand each other; if its length were wrong, so would all behind it be.
#[test]
fn packets_come_back_as_they_were_one_behind_the_other() {
    let data = [3; 100];
    let samples = samples(b"a message", &data);
    let all: Vec<u8> = samples.iter().flat_map(encoded).collect();
    let mut rest = all.as_slice();
    for body in &samples {
        let (decoded, found, bytes) = decode(rest).expect("a packet");
        assert_eq!((decoded, &found), (header(), body));
        rest = &rest[bytes..];
    }
    assert!(rest.is_empty());
}

/// An error that does not name the field would leave whoever looks for a foreign sender with nothing.
#[test]
fn errors_name_what_is_wrong() {
    let good = encoded(&PacketBody::NoProcess { certain: false });
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        decode(&bytes).expect_err("it is broken")
    };
    assert_eq!(decode(&good[..20]).expect_err("short"), PacketError::Short { has: 20, needs: HEADER_BYTES });
    assert_eq!(with(0, 9), PacketError::Version(9));
    assert_eq!(with(1, 99), PacketError::Kind(99));
    assert_eq!(with(2, 2), PacketError::Flags { kind: kind::NO_PROCESS, flags: 2 });
    assert!(matches!(with(4, 39), PacketError::Length { what: "the length of the packet", value: 39, .. }));
    assert!(matches!(with(11, 0x80), PacketError::Value { what: "a host", .. }));
    assert!(matches!(with(31, 0x80), PacketError::Value { what: "a process", .. }));
}

proptest! {
    /// A packet from a broken or hostile host must not end the process that receives it.
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = decode(&bytes);
    }

    /// Bytes that begin like a packet get further into the decoder than arbitrary ones; and what is taken for a packet must be one.
    #[test]
    fn changed_packets_are_packets_or_errors(
        message in proptest::collection::vec(any::<u8>(), 0..200),
        data in proptest::collection::vec(any::<u8>(), 0..300),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        kind in any::<prop::sample::Index>(),
    ) {
        let samples = samples(&message, &data);
        let mut bytes = encoded(kind.get(&samples));
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            if let Ok((header, body, length)) = decode(bytes) {
                let mut again = Vec::new();
                encode(&header, &body, &mut again);
                prop_assert!(length <= bytes.len() && again.len() <= length);
                prop_assert_eq!(decode(&again).map(|(header, body, _)| (header, body)), Ok((header, body)));
            }
        }
    }
}
