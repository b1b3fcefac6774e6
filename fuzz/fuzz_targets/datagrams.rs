//! Datagrams of a hostile site: whatever an association in clear is told, it goes on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use identifiers::SiteId;
use raidcomm::datagrams::{Datagrams, Seeds, DatagramTerms};

const PEER: SiteId = SiteId(2);
const ASSOCIATION: u64 = 9;
/// A hostile site names its group so, if it names it at all.
const GROUP: u64 = 7;
const MARK: u8 = 0xA0;
const MAKER: u8 = 0x08;

/// A datagram that passes for its sender's: only what it says is arbitrary.
fn sealed(kind: u8, is_of_group: bool, number: u64, payload: &[u8]) -> Vec<u8> {
    let (side, id) = if is_of_group { (MAKER, GROUP) } else { (0, ASSOCIATION) };
    let mut datagram = vec![MARK | side | kind % 6];
    datagram.extend_from_slice(&id.to_le_bytes());
    datagram.extend_from_slice(&number.to_le_bytes());
    datagram.extend_from_slice(payload);
    let checksum = crc32fast::hash(&datagram);
    datagram.extend_from_slice(&checksum.to_le_bytes());
    datagram
}

fuzz_target!(|steps: Vec<(u8, bool, u16, bool, u32, Vec<u8>)>| {
    let mut machine = Datagrams::new(Seeds { group: 3, group_material: None }, true, None);
    machine.associate(0, PEER, DatagramTerms { id: ASSOCIATION, is_maker: true, keys: None, datagram_bytes: 0 });
    let (mut now, mut arrived) = (1, Vec::new());
    for (kind, is_of_group, number, by_group, microseconds, payload) in steps {
        now += u64::from(microseconds) * 1_000;
        let mut datagram = sealed(kind, is_of_group, u64::from(number), &payload);
        let _ = machine.receive(now, &mut datagram, by_group, &mut arrived);
        let _ = machine.send_with(PEER, |buffer| buffer.extend_from_slice(&payload));
        machine.multicast(&[PEER], &payload);
        machine.flush(now);
        assert!(machine.transmits().count() < 5_000, "what leaves is bounded");
        assert!(machine.next_deadline().is_none_or(|deadline| deadline > 0));
    }
});
