//! Datagrams one behind the other in one buffer, all but the last of the same length: so they leave in one system call.

use super::packet::{DatagramHeader, HEADER_BYTES};
use super::seal::Seal;
use bytes::Bytes;

/// See the module's description.
#[derive(Debug)]
pub(super) struct DatagramTrain {
    bytes: Vec<u8>,
    datagram_bytes: usize,
}

impl DatagramTrain {
    /// Of datagrams of at most this length.
    pub(super) fn new(datagram_bytes: usize) -> DatagramTrain {
        DatagramTrain { bytes: Vec::new(), datagram_bytes }
    }

    /// Adds a datagram. `write` appends what it says, up to the length of the buffer that it is told, and returns whether another datagram
    /// is to follow: then this one is filled up with zeros.
    pub(super) fn add(
        &mut self,
        seal: &Seal,
        header: DatagramHeader,
        write: impl FnOnce(&mut Vec<u8>, usize) -> bool,
    ) -> bool {
        let start = self.bytes.len();
        assert!(start.is_multiple_of(self.datagram_bytes), "only the last datagram is shorter");
        if start == 0 {
            self.bytes.reserve(self.datagram_bytes);
        }
        self.bytes.extend_from_slice(&header.encode());
        let end = start + self.datagram_bytes - seal.bytes();
        let goes_on = write(&mut self.bytes, end);
        assert!((start + HEADER_BYTES..=end).contains(&self.bytes.len()), "a datagram's payload keeps to its length");
        if goes_on {
            self.bytes.resize(end, 0);
        }
        seal.seal(header, &mut self.bytes, start);
        goes_on
    }

    /// All of it, and then each datagram.
    pub(super) fn finish(self) -> (Bytes, impl Iterator<Item = Bytes>) {
        let (train, each) = (Bytes::from(self.bytes), self.datagram_bytes);
        let whole = train.clone();
        let starts = (0..train.len()).step_by(each);
        (whole, starts.map(move |start| train.slice(start..train.len().min(start + each))))
    }
}
