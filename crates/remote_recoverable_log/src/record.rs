//! Records of the remote log ([`network_memory::stream`]): where in the row of bytes, and for bytes the bytes themselves.

use network_memory::stream::StreamRecord;
use recoverable_memory::LogOffset;

const BYTES: u8 = 1;
const TRUNCATE: u8 = 2;
const RESET: u8 = 3;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceRecord<'a> {
    /// These bytes stand at the position, which was the end.
    Bytes(LogOffset, &'a [u8]),
    /// All below is given up.
    Truncate(LogOffset),
    /// Everything is given up; the row goes on there.
    Reset(LogOffset),
}

impl<'a> DeviceRecord<'a> {
    pub(crate) fn encode(self) -> Vec<u8> {
        let (kind, position, bytes) = match self {
            DeviceRecord::Bytes(position, bytes) => (BYTES, position, bytes),
            DeviceRecord::Truncate(position) => (TRUNCATE, position, &[][..]),
            DeviceRecord::Reset(position) => (RESET, position, &[][..]),
        };
        let mut record = Vec::new();
        StreamRecord { kind, position: position.0, bytes }.encode_into(&mut record);
        record
    }

    /// None if it is no record of this program.
    pub(crate) fn decode(record: &'a [u8]) -> Option<DeviceRecord<'a>> {
        let StreamRecord { kind, position, bytes } = StreamRecord::decode(record)?;
        let position = LogOffset(position);
        match kind {
            BYTES if position.0.checked_add(bytes.len() as u64).is_some() => Some(DeviceRecord::Bytes(position, bytes)),
            TRUNCATE if bytes.is_empty() => Some(DeviceRecord::Truncate(position)),
            RESET if bytes.is_empty() => Some(DeviceRecord::Reset(position)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, a log would be read as another one than was written.
    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        for record in [
            DeviceRecord::Bytes(LogOffset(7), b"abc"),
            DeviceRecord::Truncate(LogOffset(9)),
            DeviceRecord::Reset(LogOffset(0)),
        ] {
            assert_eq!(DeviceRecord::decode(&record.encode()), Some(record));
        }
        for wrong in [&[][..], &[1, 0, 0], &[4, 0, 0, 0, 0, 0, 0, 0, 0], &[2, 0, 0, 0, 0, 0, 0, 0, 0, 1]] {
            assert_eq!(DeviceRecord::decode(wrong), None);
        }
        assert_eq!(DeviceRecord::decode(&DeviceRecord::Bytes(LogOffset(u64::MAX), b"x").encode()), None);
    }
}
