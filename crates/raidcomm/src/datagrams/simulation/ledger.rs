//! What was sent and what has arrived, and what must hold of it.

use crate::limits::{DATAGRAM_SILENCE, MILLISECOND};
use identifiers::SiteId;
use seeded_random::SplitMix64;
use std::collections::BTreeMap;

/// How late an event loop may notice that datagrams no longer arrive.
const NOTICE: u64 = 100 * MILLISECOND;

/// How a frame goes, and the number of the connection that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameWay {
    /// Alone.
    Datagrams(u64),
    /// Together with others.
    Group(u64),
    Connection(u64),
}

impl FrameWay {
    pub(super) fn connection(self) -> u64 {
        let (FrameWay::Datagrams(connection) | FrameWay::Group(connection) | FrameWay::Connection(connection)) = self;
        connection
    }
}

#[derive(Debug)]
struct LedgerFrame {
    sent_at: u64,
    way: FrameWay,
    arrived: u32,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct DatagramLedger {
    next: u64,
    /// What came last from a site to a site alone, or together with others.
    last: BTreeMap<(SiteId, SiteId, bool), (FrameWay, u64)>,
    /// By sender, receiver and number.
    frames: BTreeMap<(SiteId, SiteId, u64), LedgerFrame>,
    /// The connections that two sites have now.
    present: BTreeMap<(SiteId, SiteId), u64>,
    /// What was sealed under each header.
    sealed: BTreeMap<Vec<u8>, u32>,
}

impl DatagramLedger {
    /// A new frame of a site: its number, and bytes that follow from that.
    pub(super) fn frame(&mut self, from: SiteId, length: usize) -> Vec<u8> {
        self.next += 1;
        frame_of(from, self.next, length)
    }

    pub(super) fn frames(&self) -> u64 {
        self.next
    }

    /// It has been given to a channel.
    pub(super) fn sent(&mut self, now: u64, from: SiteId, to: SiteId, frame: &[u8], way: FrameWay) {
        self.frames.insert((from, to, number_of(frame)), LedgerFrame { sent_at: now, way, arrived: 0 });
    }

    /// It has come out of one.
    /// `by_datagrams`, or over the connection.
    pub(super) fn delivered(
        &mut self,
        from: SiteId,
        to: SiteId,
        frame: &[u8],
        by_datagrams: bool,
        connection: u64,
    ) -> Result<(), String> {
        if frame.len() < 8 || frame_of(from, number_of(frame), frame.len() - 8) != frame {
            return Err(format!("{to} was given bytes that {from} has not sent"));
        }
        let number = number_of(frame);
        let known = self.frames.get_mut(&(from, to, number));
        let known = known.ok_or(format!("frame {number} of {from} was not for {to}"))?;
        known.arrived += 1;
        if known.arrived > 1 {
            return Err(format!("frame {number} of {from} came to {to} twice"));
        }
        let way = known.way;
        if by_datagrams == matches!(way, FrameWay::Connection(_)) || way.connection() != connection {
            return Err(format!(
                "frame {number} of {from} to {to} was sent as {way:?} and came in connection {connection}"
            ));
        }
        let last = self.last.insert((from, to, matches!(way, FrameWay::Group(_))), (way, number));
        match last {
            Some((same, before)) if by_datagrams && same == way && before > number => {
                Err(format!("frame {number} of {from} came to {to} after frame {before}"))
            }
            _ => Ok(()),
        }
    }

    /// The connection between two sites is another one now.
    pub(super) fn ended(&mut self, one: SiteId, other: SiteId, connection: u64) {
        self.present.insert((one.min(other), one.max(other)), connection);
    }

    /// No header stands before different bytes: a seal would betray both.
    pub(super) fn sealed(&mut self, header: &[u8], datagram: &[u8]) -> Result<(), String> {
        // Without its end: in clear that is a checksum, and a checksum over both is always the same.
        let sum = crc32fast::hash(&datagram[..datagram.len() - 4]);
        match self.sealed.insert(header.to_vec(), sum) {
            Some(before) if before != sum => Err(format!("header {header:02x?} was used for different datagrams")),
            _ => Ok(()),
        }
    }

    /// At the end everything has arrived that could. `cut_at`: since when no datagram and no acknowledgement arrives between two sites.
    pub(super) fn complete(&self, cut_at: impl Fn(SiteId, SiteId) -> Option<u64>) -> Result<(), String> {
        // For each two sites: when the first frame was sent that did not arrive.
        let mut first_lost = BTreeMap::new();
        let mut frames: Vec<_> = self.frames.iter().filter(|(_, frame)| frame.arrived == 0).collect();
        frames.sort_by_key(|(_, frame)| frame.sent_at);
        for ((from, to, number), frame) in frames {
            if self.present[&(*from.min(to), *from.max(to))] != frame.way.connection() {
                continue;
            }
            let first = *first_lost.entry((from, to)).or_insert(frame.sent_at);
            // A site goes on with datagrams until it has noticed that they do not arrive.
            let noticed = cut_at(*from, *to).map(|cut_at| first.max(cut_at) + DATAGRAM_SILENCE + NOTICE);
            let is_excused =
                !matches!(frame.way, FrameWay::Connection(_)) && noticed.is_some_and(|at| frame.sent_at <= at);
            if !is_excused {
                return Err(format!("frame {number} of {from} has not come to {to}: {frame:?}"));
            }
        }
        Ok(())
    }
}

fn frame_of(from: SiteId, number: u64, length: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(number ^ u64::from(from.0) << 48);
    let mut frame = number.to_le_bytes().to_vec();
    frame.extend((0..length).map(|_| random.draw() as u8));
    frame
}

fn number_of(frame: &[u8]) -> u64 {
    frame.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
