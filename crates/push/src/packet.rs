//! A packet as the interpreter sees it, and what the kernel does to one: headers, checksums, replies.
//!
//! Invariant: the bytes behind each change are those that the kernel's helpers would leave.

use crate::limits::{ETHERNET_BYTES, HEADERS_BYTES};
use crate::program::PushHeader;

/// A packet that a program runs on.
pub trait PushPacket {
    /// The frame, from Ethernet's header on.
    fn frame(&self) -> &[u8];

    /// The same, to be changed. It keeps its length.
    fn frame_mut(&mut self) -> &mut [u8];

    /// Sends a copy of the frame as it now is. What cannot be sent is lost.
    fn send_copy(&mut self);

    /// Puts the first so many bytes behind Ethernet's header into the ring, and wakes who reads it if told so. Says whether there was room.
    fn deliver(&mut self, bytes: usize, wakes: bool) -> bool;

    /// Nanoseconds since the machine started.
    fn now_ns(&self) -> u64;
}

/// A packet in memory, which keeps what a program does with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketInMemory {
    /// The frame.
    pub frame: Vec<u8>,
    /// Copies that were sent.
    pub copies: Vec<Vec<u8>>,
    /// What was delivered, and whether it wakes.
    pub delivered: Vec<(Vec<u8>, bool)>,
    /// Whether there is no room in the ring.
    pub ring_is_full: bool,
    /// The time, in nanoseconds.
    pub now_ns: u64,
}

impl PacketInMemory {
    /// A frame, and a ring with room.
    pub fn new(frame: &[u8]) -> PacketInMemory {
        PacketInMemory { frame: frame.to_vec(), ..PacketInMemory::default() }
    }
}

impl PushPacket for PacketInMemory {
    fn frame(&self) -> &[u8] {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut [u8] {
        &mut self.frame
    }

    fn send_copy(&mut self) {
        self.copies.push(self.frame.clone());
    }

    fn deliver(&mut self, bytes: usize, wakes: bool) -> bool {
        if !self.ring_is_full {
            let packet = self.frame.get(ETHERNET_BYTES..).unwrap_or_default();
            self.delivered.push((packet[..bytes.min(packet.len())].to_vec(), wakes));
        }
        !self.ring_is_full
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}

const IP_LENGTH: usize = 16;
const IP_FRAGMENT: usize = 20;
const IP_CHECKSUM: usize = 24;
const UDP_CHECKSUM: usize = 40;
/// `More fragments`, and the place of a fragment (RFC 791).
const FRAGMENT_BITS: u16 = 0x3fff;

/// A number at a place of the frame, the highest byte first; 0 if the frame ends before.
pub(crate) fn number_at(frame: &[u8], offset: usize, bytes: usize) -> u64 {
    let part = frame.get(offset..offset + bytes).unwrap_or_default();
    part.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Bytes of the IPv4 packet that are there, if a program sees the frame: UDP over IPv4 without options, and no fragment.
///
/// The kernel's programs also let pass what the frame does not tell: packets of a virtual network, and those that the device has yet to cut.
pub fn seen_bytes(frame: &[u8]) -> Option<u64> {
    let is_seen = frame.len() as u64 >= ETHERNET_BYTES as u64 + HEADERS_BYTES
        && number_at(frame, 12, 2) == 0x0800
        && number_at(frame, 14, 1) == 0x45
        && number_at(frame, IP_FRAGMENT, 2) as u16 & FRAGMENT_BITS == 0
        && number_at(frame, 23, 1) == 17;
    let bytes =
        number_at(frame, IP_LENGTH, 2).min(frame.len() as u64 - if is_seen { ETHERNET_BYTES as u64 } else { 0 });
    (is_seen && bytes >= HEADERS_BYTES).then_some(bytes)
}

/// The value of a field of a frame that a program sees.
pub fn header(frame: &[u8], header: PushHeader) -> u64 {
    match header.place() {
        Some(place) => number_at(frame, place.offset, place.bytes),
        None => seen_bytes(frame).unwrap_or_default(),
    }
}

/// Changes a field of a frame that a program sees, and the checksums over it (RFC 1624). Higher bits of the value are left out.
pub fn set_header(frame: &mut [u8], header: PushHeader, value: u64) {
    let Some(place) = header.place() else { return };
    let bytes = value.to_be_bytes();
    let new = &bytes[8 - place.bytes..];
    let Some(field) = frame.get_mut(place.offset..place.offset + place.bytes) else { return };
    let (from, to) = (one_number(field), one_number(new));
    field.copy_from_slice(new);
    match header {
        PushHeader::SourceAddress | PushHeader::DestinationAddress => {
            mend_udp(frame, from, to);
            mend(frame, IP_CHECKSUM, from, to);
        }
        PushHeader::SourcePort | PushHeader::DestinationPort => mend_udp(frame, from, to),
        _ => {}
    }
}

/// 2 or 4 bytes as the machine reads them: sums of ones' complements do not mind the order, if it is one.
fn one_number(bytes: &[u8]) -> u32 {
    match *bytes {
        [one, two] => u32::from(u16::from_ne_bytes([one, two])),
        [one, two, three, four] => u32::from_ne_bytes([one, two, three, four]),
        _ => 0,
    }
}

/// 0 means that there is no checksum (RFC 768), so a sum of 0 is written as its complement.
fn mend_udp(frame: &mut [u8], from: u32, to: u32) {
    let sum = frame.get(UDP_CHECKSUM..UDP_CHECKSUM + 2).unwrap_or_default();
    if sum.iter().all(|&byte| byte == 0) {
        return;
    }
    mend(frame, UDP_CHECKSUM, from, to);
    if let Some(sum) = frame.get_mut(UDP_CHECKSUM..UDP_CHECKSUM + 2).filter(|sum| **sum == [0, 0]) {
        sum.fill(0xff);
    }
}

fn mend(frame: &mut [u8], offset: usize, from: u32, to: u32) {
    let Some(sum) = frame.get_mut(offset..offset + 2) else { return };
    let before = !one_number(sum);
    // The complement of 16 bits, as a sum of 32.
    let mended = add(add(before, !from), to);
    let folded = (mended & 0xffff) + (mended >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    sum.copy_from_slice(&(!folded as u16).to_ne_bytes());
}

/// A sum of ones' complements.
fn add(one: u32, other: u32) -> u32 {
    let (sum, carries) = one.overflowing_add(other);
    sum.wrapping_add(u32::from(carries))
}

/// Makes a reply of a packet: both ends change places. Checksums stay, as the sums do. Says no for what came to a group.
pub(crate) fn turn_around(frame: &mut [u8]) -> bool {
    if frame.first().is_none_or(|first| first & 1 != 0) || seen_bytes(frame).is_none() {
        return false;
    }
    for (one, other, bytes) in [(0, 6, 6), (26, 30, 4), (34, 36, 2)] {
        for byte in 0..bytes {
            frame.swap(one + byte, other + byte);
        }
    }
    true
}
