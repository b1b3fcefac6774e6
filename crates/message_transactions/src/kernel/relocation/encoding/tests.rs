//! A process comes back from bytes as it was; nothing else is taken for one.

use super::*;
use crate::kernel::{Kernel, OutgoingMessage};
use proptest::prelude::*;

const NOW: u64 = 50_000_000_000;
const GROUP: ProcessGroupId = ProcessGroupId::well_known(4);

/// Kernels that have their identifiers.
fn kernels() -> [Kernel<u32, OwnedMemory>; 2] {
    [1, 2].map(|seed| {
        let mut kernel = Kernel::new(0, seed);
        while kernel.host().is_none() {
            let due = kernel.next_deadline().expect("it claims one");
            kernel.tick(due);
        }
        kernel
    })
}

/// A process with something of everything, and what is to be expected of it at its new place.
fn travelled(from: &mut Kernel<u32, OwnedMemory>, to: LogicalHostId) -> Relocated<u32, OwnedMemory> {
    let process = from.create().expect("room");
    from.join_group(NOW, process, GROUP, process).expect("room");
    let client = || from.create().expect("room");
    let clients: Vec<ProcessId> = std::iter::repeat_with(client).take(5).collect();
    for (number, &client) in clients.iter().enumerate() {
        let message = OutgoingMessage::exactly_once(vec![number as u8; 3])
            .with_segment(OwnedMemory::Both(vec![number as u8; 2_000]));
        from.send(NOW, client, process, message).expect("it may send");
    }
    let mut take = || from.receive(NOW, process).expect("it is free").expect("a message").exchange;
    let [replied, forwarded, _kept] = [take(), take(), take()];
    from.reply(NOW, process, &replied, b"reply", 7, b"data").expect("it waits");
    from.forward(NOW, process, &forwarded, clients[4]).expect("it waits");
    let notified = OutgoingMessage::exactly_once(b"to all".to_vec()).with_replies(WantedReplies::None);
    let bystander = from.create().expect("room");
    from.send(NOW, bystander, GROUP, notified).expect("it may send");
    let own = OutgoingMessage::exactly_once(b"own".to_vec()).with_segment(OwnedMemory::Writable(vec![1; 100]));
    from.send(NOW, process, clients[0], own).expect("it may send");
    from.release(process, to).expect("it may move")
}

/// If something were left behind, a message would be lost, or executed again.
#[test]
fn a_process_is_there_what_it_was_here() {
    let [mut here, mut there] = kernels();
    let host = there.host().expect("it has one");
    let relocated = travelled(&mut here, host);
    let id = relocated.id();
    let bytes = relocated.encode(NOW).expect("all memory is owned");
    // Another clock.
    let later = 7 * NOW;
    let decoded: Relocated<u32, OwnedMemory> = Relocated::decode(later, &bytes).expect("it was encoded");
    assert_eq!(decoded.encode(later).expect("all memory is owned"), bytes, "nothing is lost on the way");
    assert_eq!(decoded.aliens.len(), 5);
    there.adopt(later, decoded).map_err(|(error, _)| error).expect("it left for here");
    assert_eq!(there.unanswered(id).len(), 1);
    there.cancel(id);
    let mut messages = Vec::new();
    while let Some(delivery) = there.receive(later, id).expect("it is free") {
        messages.push(delivery.message);
    }
    assert_eq!(messages, [vec![3; 3], vec![4; 3], b"to all".to_vec()]);
}

/// Bytes that could be used twice would make two of one process.
#[test]
fn what_left_is_taken_in_once_and_by_whom_it_left_for() {
    let [mut here, mut there] = kernels();
    let (own, host) = (here.host().expect("it has one"), there.host().expect("it has one"));
    let relocated = travelled(&mut here, host);
    let (id, bytes) = (relocated.id(), relocated.encode(NOW).expect("all memory is owned"));
    let decode = |bytes: &[u8]| Relocated::<u32, OwnedMemory>::decode(NOW, bytes).expect("it was encoded");
    let outcome = |adopted: Result<(), (RelocationError, _)>| adopted.map_err(|(error, _)| error);
    assert_eq!(outcome(here.adopt(NOW, decode(&bytes))), Err(RelocationError::Elsewhere(host)));
    assert_eq!(outcome(there.adopt(NOW, decode(&bytes))), Ok(()));
    assert_eq!(outcome(there.adopt(NOW, decode(&bytes))), Err(RelocationError::Again), "it is here");
    there.cancel(id);
    let back = there.release(id, own).expect("it may go back").encode(NOW).expect("all memory is owned");
    assert_eq!(outcome(there.adopt(NOW, decode(&bytes))), Err(RelocationError::Again), "it has gone on");
    assert_eq!(outcome(here.adopt(NOW, decode(&back))), Ok(()));
    here.end(NOW, id);
    assert_eq!(outcome(here.adopt(NOW, decode(&back))), Err(RelocationError::Again), "it has ended");
}

#[test]
fn errors_say_what_is_wrong() {
    let [mut here, there] = kernels();
    let relocated = travelled(&mut here, there.host().expect("it has one"));
    let bytes = relocated.encode(NOW).expect("all memory is owned");
    let error =
        |bytes: &[u8]| Relocated::<u32, OwnedMemory>::decode(NOW, bytes).map(|_| ()).expect_err("it is damaged");
    let (has, needs) = (bytes.len() as u64 - 1, bytes.len() as u64);
    assert_eq!(error(&bytes[..bytes.len() - 1]), DecodeError::Length { has, needs });
    assert_eq!(error(b"MOV"), DecodeError::Length { has: 3, needs: HEAD_BYTES as u64 });
    assert_eq!(error(b"a process, honestly"), DecodeError::Foreign);
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes
    };
    assert_eq!(error(&changed(4)), DecodeError::Version(0));
    assert!(matches!(error(&changed(bytes.len() - 1)), DecodeError::Checksum { .. }));
}

/// Bytes with a head that fits them.
fn sealed(contents: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&((HEAD_BYTES + contents.len()) as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(contents).to_le_bytes());
    bytes.extend_from_slice(contents);
    bytes
}

/// Lets a kernel have what was decoded, and do everything with it.
fn use_it(mut relocated: Relocated<u32, OwnedMemory>) {
    let [_, mut kernel] = kernels();
    relocated.departure.to = kernel.host().expect("it has one");
    let id = relocated.id();
    if kernel.adopt(NOW, relocated).is_err() {
        return;
    }
    kernel.cancel(id);
    while let Ok(Some(delivery)) = kernel.receive(NOW, id) {
        let _ = kernel.reply(NOW, id, &delivery.exchange, b"", 0, b"");
    }
    kernel.stop_receiving(id);
    for delivery in kernel.unanswered(id) {
        let _ = kernel.move_from(NOW, id, &delivery.exchange, 0, OwnedMemory::Writable(vec![0; 10]));
        kernel.cancel(id);
    }
    for step in 1..50 {
        kernel.tick(NOW + step * 100_000_000);
    }
    kernel.end(NOW, id);
}

proptest! {
    /// Bytes come from another process, by a file or the network: they must never end this one.
    #[test]
    fn arbitrary_bytes_never_panic(contents in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Relocated::<u32, OwnedMemory>::decode(NOW, &contents).is_err());
        if let Ok(relocated) = Relocated::decode(NOW, &sealed(&contents)) {
            use_it(relocated);
        }
    }

    /// As above, with bytes that are nearly right.
    #[test]
    fn changed_bytes_are_processes_or_errors(at: prop::sample::Index, to: u8, more in any::<Option<(prop::sample::Index, u8)>>()) {
        let [mut here, there] = kernels();
        let relocated = travelled(&mut here, there.host().expect("it has one"));
        let mut contents = relocated.encode(NOW).expect("all memory is owned").split_off(HEAD_BYTES);
        let length = contents.len();
        contents[at.index(length)] = to;
        if let Some((at, to)) = more {
            contents[at.index(length.min(120))] = to;
        }
        if let Ok(relocated) = Relocated::decode(NOW, &sealed(&contents)) {
            use_it(relocated);
        }
    }
}
