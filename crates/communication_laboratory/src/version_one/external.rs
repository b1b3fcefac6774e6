//! The external data representation: every item in a multiple of four bytes, the most significant first (RFC 4506).
//!
//! Invariant: what is read was checked to be there.

/// Bytes of the smallest item.
const UNIT: usize = 4;

/// Writes items one behind the other.
#[derive(Debug, Default)]
pub struct Encoder {
    /// What was written.
    pub bytes: Vec<u8>,
}

impl Encoder {
    /// An unsigned integer (section 4.2).
    pub fn unsigned(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// A hyper integer (section 4.5).
    pub fn hyper(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Opaque data or a string of any length (sections 4.10 and 4.11): its length, its bytes, and zeros up to the next unit.
    pub fn opaque(&mut self, value: &[u8]) {
        self.unsigned(value.len() as u32);
        self.bytes.extend_from_slice(value);
        let filled = self.bytes.len() + padding(value.len());
        self.bytes.resize(filled, 0);
    }
}

/// Reads items in the order in which they were written; `None` where the bytes are too few.
#[derive(Debug)]
pub struct Decoder<'a>(pub &'a [u8]);

impl<'a> Decoder<'a> {
    fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// An unsigned integer.
    pub fn unsigned(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// A hyper integer.
    pub fn hyper(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    /// Opaque data or a string.
    pub fn opaque(&mut self) -> Option<&'a [u8]> {
        let length = self.unsigned()? as usize;
        let (value, rest) = self.0.split_at_checked(length)?;
        self.0 = rest.get(padding(length)..)?;
        Some(value)
    }
}

fn padding(length: usize) -> usize {
    length.next_multiple_of(UNIT) - length
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, what is measured is not the representation that the papers measured.
    #[test]
    fn items_are_as_the_standard_has_them() {
        let mut encoder = Encoder::default();
        encoder.unsigned(1);
        encoder.opaque(b"sillyprog");
        encoder.hyper(2);
        let expected = [&[0, 0, 0, 1, 0, 0, 0, 9][..], b"sillyprog\0\0\0", &[0, 0, 0, 0, 0, 0, 0, 2]].concat();
        assert_eq!(encoder.bytes, expected);
        let mut decoder = Decoder(&encoder.bytes);
        assert_eq!(
            (decoder.unsigned(), decoder.opaque(), decoder.hyper()),
            (Some(1), Some(&b"sillyprog"[..]), Some(2))
        );
        assert_eq!(decoder.unsigned(), None);
    }

    /// If this fails, a datagram from anywhere ends the program.
    #[test]
    fn what_is_cut_off_is_nothing() {
        for bytes in [&[][..], &[0, 0, 0], &[0, 0, 0, 9, 1], &[255; 4], &[0, 0, 0, 1, 7, 0, 0]] {
            assert_eq!(Decoder(bytes).opaque(), None);
        }
    }
}
