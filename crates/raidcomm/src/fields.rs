//! Fields of fixed width, read one after the other from bytes that nobody vouches for.

/// The bytes that are still to be read. Numbers are little-endian.
pub struct FieldReader<'a>(
    /// What is left.
    pub &'a [u8],
);

impl<'a> FieldReader<'a> {
    /// The next bytes, as many as the array holds; `None`: there are fewer.
    pub fn take<const BYTES: usize>(&mut self) -> Option<[u8; BYTES]> {
        let (&field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(field)
    }

    /// The next so many bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take().map(u8::from_le_bytes)
    }

    /// The next number of 16 bits.
    pub fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    /// Of 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// Of 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}
