//! What a datagram says: a header in clear, then, sealed, acknowledgements and pieces of frames.
//!
//! ```text
//! header           kind and side: u8, association or group: u64, number: u64
//! frames           acknowledgements, chunks
//! group            chunks
//! acknowledgement  acknowledgements
//! probe            bytes of the datagram: u16, zeros up to there
//! group probe      nothing
//! ```
//!
//! Numbers are little-endian. Each kind counts its datagrams by itself, and the kind is part of what seals a datagram, so that no number
//! is used twice for different bytes. Invariant: whatever the bytes, reading ends with lengths that are checked or with nothing.

use super::Stray;
use crate::fields::FieldReader;
use crate::limits::DATAGRAMS_AHEAD_MAX;

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 17;
/// Words of the bits of a [`SeenDatagrams`].
pub(super) const WORDS: usize = DATAGRAMS_AHEAD_MAX / 64;

/// What a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatagramKind {
    /// Frames for one site. Sent again until it is acknowledged.
    Frames,
    /// Tells what has come. Lost: a later one tells more.
    Acknowledgement,
    /// Whether datagrams of this size arrive.
    Probe,
    /// Frames for all sites of a group. Sent again, to each that has not acknowledged it.
    Group,
    /// Whether what is sent to the group's address arrives.
    GroupProbe,
}

/// Marks the first byte of every datagram; a version of the format that can be told apart.
const MARK: u8 = 0xA0;
const MARK_MASK: u8 = 0xF0;
const MAKER: u8 = 0x08;

/// What stands before the sealed part, and is sealed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DatagramHeader {
    pub kind: DatagramKind,
    /// It comes from the side that made the connection on which the association rests; of a group: from its owner.
    pub from_maker: bool,
    /// The association, or the group.
    pub id: u64,
    /// Which datagram of this kind, counted from 0.
    pub number: u64,
}

impl DatagramHeader {
    pub(super) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = MARK | if self.from_maker { MAKER } else { 0 } | self.kind as u8;
        bytes[1..9].copy_from_slice(&self.id.to_le_bytes());
        bytes[9..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// Reads it from the begin of a datagram; `None`: it is not one of ours.
    pub(super) fn decode(datagram: &[u8]) -> Option<DatagramHeader> {
        let mut fields = FieldReader(datagram);
        let first = fields.byte()?;
        let kind = match first & !(MARK_MASK | MAKER) {
            0 => DatagramKind::Frames,
            1 => DatagramKind::Acknowledgement,
            2 => DatagramKind::Probe,
            3 => DatagramKind::Group,
            4 => DatagramKind::GroupProbe,
            _ => return None,
        };
        let header = DatagramHeader { kind, from_maker: first & MAKER != 0, id: fields.u64()?, number: fields.u64()? };
        (first & MARK_MASK == MARK).then_some(header)
    }
}

/// Which datagrams have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeenDatagrams {
    /// All before this number.
    pub below: u64,
    /// Of those from it on, each whose bit is set.
    pub ahead: [u64; WORDS],
    /// Microseconds since the one with the highest number came.
    pub delay_us: u32,
}

impl SeenDatagrams {
    pub(super) fn has(&self, number: u64) -> bool {
        match number.checked_sub(self.below) {
            None => true,
            Some(ahead) if ahead < DATAGRAMS_AHEAD_MAX as u64 => {
                self.ahead[ahead as usize / 64] >> (ahead % 64) & 1 == 1
            }
            Some(_) => false,
        }
    }

    /// Words up to the last that is not zero.
    fn words(&self) -> usize {
        self.ahead.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.below.to_le_bytes());
        out.extend_from_slice(&self.delay_us.to_le_bytes());
        let words = self.words();
        out.push(words as u8);
        self.ahead[..words].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }

    fn decode(fields: &mut FieldReader<'_>) -> Option<SeenDatagrams> {
        let mut seen = SeenDatagrams { below: fields.u64()?, delay_us: fields.u32()?, ahead: [0; WORDS] };
        let words = usize::from(fields.byte()?);
        for word in seen.ahead.get_mut(..words)? {
            *word = fields.u64()?;
        }
        Some(seen)
    }
}

/// What one side tells the other about what has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledgements {
    /// Of frames for this site.
    pub frames: Option<SeenDatagrams>,
    /// Of the other side's group.
    pub group: Option<SeenDatagrams>,
    /// What is sent to the address of the other side's group arrives.
    pub hears_group: bool,
    /// Datagrams of so many bytes arrive.
    pub probed: Option<u16>,
}

const HAS_FRAMES: u8 = 1;
const HAS_GROUP: u8 = 2;
const HEARS_GROUP: u8 = 4;
const HAS_PROBED: u8 = 8;

impl Acknowledgements {
    /// Bytes that they take at most.
    pub(super) const BYTES_MAX: usize = 1 + 2 * (8 + 4 + 1 + 8 * WORDS) + 2;

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(
            flag(self.frames.is_some(), HAS_FRAMES)
                | flag(self.group.is_some(), HAS_GROUP)
                | flag(self.hears_group, HEARS_GROUP)
                | flag(self.probed.is_some(), HAS_PROBED),
        );
        self.frames.iter().chain(&self.group).for_each(|seen| seen.encode(out));
        self.probed.iter().for_each(|bytes| out.extend_from_slice(&bytes.to_le_bytes()));
    }

    pub(super) fn decode(fields: &mut FieldReader<'_>) -> Option<Acknowledgements> {
        let flags = fields.byte()?;
        if flags & !(HAS_FRAMES | HAS_GROUP | HEARS_GROUP | HAS_PROBED) != 0 {
            return None;
        }
        let mut told = Acknowledgements { hears_group: flags & HEARS_GROUP != 0, ..Acknowledgements::default() };
        if flags & HAS_FRAMES != 0 {
            told.frames = Some(SeenDatagrams::decode(fields)?);
        }
        if flags & HAS_GROUP != 0 {
            told.group = Some(SeenDatagrams::decode(fields)?);
        }
        if flags & HAS_PROBED != 0 {
            told.probed = Some(fields.u16()?);
        }
        Some(told)
    }
}

/// Bytes of the material from which a seal is made.
pub(super) const MATERIAL_BYTES: usize = 32 + 12;

/// A part of a datagram with frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk<'a> {
    /// A frame.
    Whole(&'a [u8]),
    /// A part of a frame that is longer than what was left of the datagram.
    Piece {
        /// Bytes of the frame.
        total: u32,
        /// Where the part begins.
        offset: u32,
        /// The part.
        bytes: &'a [u8],
    },
    /// What the sender has for several sites goes, from this number on, by datagrams of a group.
    Invitation {
        /// The group.
        id: u64,
        /// The first number.
        from: u64,
        /// What its seal is made from; `None`: in clear.
        material: Option<&'a [u8; MATERIAL_BYTES]>,
    },
}

/// Zeros up to the end of the datagram.
const FILLING: u8 = 0;
const WHOLE: u8 = 1;
const PIECE: u8 = 2;
const INVITATION: u8 = 3;
const SECRET_INVITATION: u8 = 4;

/// No sequence begins behind this number, so that none of them ends.
pub(super) const NUMBER_MAX: u64 = u64::MAX / 2;

/// Bytes that a whole frame takes beside its own.
pub(super) const WHOLE_BYTES: usize = 1 + 2;
/// Bytes that a piece takes beside its own.
pub(super) const PIECE_BYTES: usize = 1 + 4 + 4 + 2;

impl<'a> Chunk<'a> {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let length =
            |bytes: &[u8]| u16::try_from(bytes.len()).expect("what a datagram carries is shorter").to_le_bytes();
        match self {
            Chunk::Whole(bytes) => {
                out.push(WHOLE);
                out.extend_from_slice(&length(bytes));
                out.extend_from_slice(bytes);
            }
            Chunk::Piece { total, offset, bytes } => {
                out.push(PIECE);
                out.extend_from_slice(&total.to_le_bytes());
                out.extend_from_slice(&offset.to_le_bytes());
                out.extend_from_slice(&length(bytes));
                out.extend_from_slice(bytes);
            }
            Chunk::Invitation { id, from, material } => {
                out.push(if material.is_some() { SECRET_INVITATION } else { INVITATION });
                out.extend_from_slice(&id.to_le_bytes());
                out.extend_from_slice(&from.to_le_bytes());
                out.extend_from_slice(material.map_or(&[], |material| material.as_slice()));
            }
        }
    }

    /// The next one; `Ok(None)`: there is none, or only zeros that fill the datagram up.
    ///
    /// # Errors
    /// The bytes are no chunk.
    pub(super) fn next(fields: &mut FieldReader<'a>) -> Result<Option<Chunk<'a>>, Stray> {
        match fields.0.first() {
            None | Some(&FILLING) => Ok(None),
            Some(_) => Chunk::decode(fields).map(Some).ok_or(Stray::Malformed),
        }
    }

    fn decode(fields: &mut FieldReader<'a>) -> Option<Chunk<'a>> {
        match fields.byte()? {
            WHOLE => {
                let length = fields.u16()?;
                Some(Chunk::Whole(fields.bytes(length.into())?))
            }
            PIECE => {
                let (total, offset, length) = (fields.u32()?, fields.u32()?, fields.u16()?);
                let bytes = fields.bytes(length.into())?;
                let fits = u64::from(offset) + u64::from(length) <= u64::from(total) && length > 0;
                fits.then_some(Chunk::Piece { total, offset, bytes })
            }
            kind @ (INVITATION | SECRET_INVITATION) => {
                let (id, from) = (fields.u64()?, fields.u64()?);
                let is_secret = kind == SECRET_INVITATION;
                let material = if is_secret { Some(fields.bytes(MATERIAL_BYTES)?.as_array()?) } else { None };
                // No sender comes near the end of numbers.
                (from <= NUMBER_MAX).then_some(Chunk::Invitation { id, from, material })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All chunks up to the end.
    fn chunks<'a>(fields: &mut FieldReader<'a>) -> Result<Vec<Chunk<'a>>, Stray> {
        std::iter::from_fn(|| Chunk::next(fields).transpose()).collect()
    }

    fn seen() -> impl Strategy<Value = SeenDatagrams> {
        let words = prop::array::uniform16(prop_oneof![Just(0), any::<u64>()]);
        (any::<u64>(), any::<u32>(), words).prop_map(|(below, delay_us, ahead)| SeenDatagrams {
            below,
            ahead,
            delay_us,
        })
    }

    #[test]
    fn the_bits_begin_at_the_first_that_is_missing() {
        let mut seen = SeenDatagrams { below: 100, ahead: [0; WORDS], delay_us: 0 };
        seen.ahead[1] = 0b10;
        let last = 100 + DATAGRAMS_AHEAD_MAX as u64 - 1;
        let has = [0, 99, 100, 164, 165, 166, last, last + 1, u64::MAX].map(|number| seen.has(number));
        assert_eq!(has, [true, true, false, false, true, false, false, false, false]);
    }

    #[test]
    fn an_invitation_to_the_end_of_numbers_is_no_chunk() {
        for (from, is_good) in [(NUMBER_MAX, true), (NUMBER_MAX + 1, false), (u64::MAX, false)] {
            let mut bytes = Vec::new();
            Chunk::Invitation { id: 1, from, material: None }.encode(&mut bytes);
            assert_eq!(Chunk::next(&mut FieldReader(&bytes)).is_ok(), is_good);
        }
    }

    #[test]
    fn a_piece_outside_its_frame_is_no_chunk() {
        for (total, offset, is_good) in [(8, 0, true), (8, 4, true), (8, 5, false), (3, 0, false), (8, u32::MAX, false)]
        {
            let mut bytes = Vec::new();
            Chunk::Piece { total, offset, bytes: b"four" }.encode(&mut bytes);
            assert_eq!(Chunk::next(&mut FieldReader(&bytes)).is_ok(), is_good, "{offset} of {total}");
        }
    }

    proptest! {
        /// If this failed, what one side has got would be sent again for ever, or never.
        #[test]
        fn acknowledgements_are_read_as_they_were_written(
            frames in prop::option::of(seen()),
            group in prop::option::of(seen()),
            hears_group in any::<bool>(),
            probed in prop::option::of(any::<u16>()),
        ) {
            let told = Acknowledgements { frames, group, hears_group, probed };
            let mut bytes = Vec::new();
            told.encode(&mut bytes);
            prop_assert!(bytes.len() <= Acknowledgements::BYTES_MAX);
            prop_assert_eq!(Acknowledgements::decode(&mut FieldReader(&bytes)), Some(told));
        }

        /// If this failed, frames would come out otherwise than they went in.
        #[test]
        fn chunks_are_read_as_they_were_written(
            whole in prop::collection::vec(any::<u8>(), 0..50),
            part in prop::collection::vec(any::<u8>(), 1..50),
            before in 0u32..100,
            after in 0u32..100,
            numbers in (any::<u64>(), 0..=NUMBER_MAX),
            secret in any::<bool>(),
        ) {
            let material = [7; MATERIAL_BYTES];
            let material = secret.then_some(&material);
            let total = before + part.len() as u32 + after;
            let written = [
                Chunk::Whole(&whole),
                Chunk::Piece { total, offset: before, bytes: &part },
                Chunk::Invitation { id: numbers.0, from: numbers.1, material },
            ];
            let mut bytes = Vec::new();
            written.iter().for_each(|chunk| chunk.encode(&mut bytes));
            bytes.extend_from_slice(&[FILLING; 3]);
            let read = chunks(&mut FieldReader(&bytes));
            prop_assert_eq!(read.as_deref(), Ok(written.as_slice()));
        }

        /// If this failed, whoever reaches the port of a site in clear could stop it.
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), first in 0u8..6) {
            if let Some(header) = DatagramHeader::decode(&bytes) {
                prop_assert_eq!(&header.encode()[..], &bytes[..HEADER_BYTES]);
            }
            let mut bytes = bytes;
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            let mut fields = FieldReader(&bytes);
            if Acknowledgements::decode(&mut fields).is_some() {
                chunks(&mut fields).unwrap_or_default();
            }
            chunks(&mut FieldReader(&bytes)).unwrap_or_default();
        }
    }
}
