//! Datagrams of any length (LDG): cut into fragments that UDP carries, and put together again.
//!
//! Invariants: a message is given out only when all of its fragments are there; a fragment of a newer message ends the one before it, so there is
//! one under way for each sender at most, and a lost fragment loses its message: what must arrive is sent again by the layer above.

use laboratory_harness::Outcome;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Before each fragment: the message's number, the fragment's, how many there are, and the message's length.
const HEADER_BYTES: usize = 16;

/// Sends and receives over one socket.
#[derive(Debug)]
pub struct LongDatagrams {
    socket: UdpSocket,
    fragment_bytes: usize,
    number: u32,
    fragment: Vec<u8>,
    arriving: Option<Arriving>,
}

/// A message some of whose fragments are there.
#[derive(Debug)]
struct Arriving {
    from: SocketAddr,
    number: u32,
    bytes: Vec<u8>,
    missing: Vec<bool>,
    missing_count: usize,
}

impl LongDatagrams {
    /// Over this socket, in fragments of so many bytes of the message.
    pub fn new(socket: UdpSocket, fragment_bytes: usize) -> LongDatagrams {
        assert!(fragment_bytes > 0, "a fragment carries something");
        LongDatagrams { socket, fragment_bytes, number: 0, fragment: Vec::new(), arriving: None }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn send(&mut self, bytes: &[u8], to: SocketAddr) -> Outcome<()> {
        self.number = self.number.wrapping_add(1);
        let count = bytes.len().div_ceil(self.fragment_bytes).max(1) as u32;
        for index in 0..count {
            let start = index as usize * self.fragment_bytes;
            let part = &bytes[start..(start + self.fragment_bytes).min(bytes.len())];
            self.fragment.clear();
            for word in [self.number, index, count, bytes.len() as u32] {
                self.fragment.extend_from_slice(&word.to_be_bytes());
            }
            self.fragment.extend_from_slice(part);
            self.socket.send_to(&self.fragment, to)?;
        }
        Ok(())
    }

    /// Waits for a message of at most `bytes_max`, and puts it into `into`. What is no fragment is passed over.
    ///
    /// # Errors
    /// The socket's: among them that its time is over.
    pub fn receive(&mut self, into: &mut Vec<u8>, bytes_max: usize) -> io::Result<SocketAddr> {
        loop {
            self.fragment.resize(HEADER_BYTES + self.fragment_bytes, 0);
            let (length, from) = self.socket.recv_from(&mut self.fragment)?;
            if self.put(length, from, bytes_max) == Some(0)
                && let Some(arrived) = self.arriving.take()
            {
                *into = arrived.bytes;
                return Ok(from);
            }
        }
    }

    /// Puts a fragment in its place; returns how many are missing. `None`: it is no fragment.
    fn put(&mut self, length: usize, from: SocketAddr, bytes_max: usize) -> Option<usize> {
        let (header, part) = self.fragment[..length].split_at_checked(HEADER_BYTES)?;
        let word = |index: usize| {
            let bytes = header[index * 4..][..4].try_into().unwrap_or_default();
            u32::from_be_bytes(bytes) as usize
        };
        let (number, index, count, bytes) = (word(0) as u32, word(1), word(2), word(3));
        let start = index.checked_mul(self.fragment_bytes)?;
        let fits = bytes <= bytes_max
            && count == bytes.div_ceil(self.fragment_bytes).max(1)
            && index < count
            && part.len() == (bytes - start).min(self.fragment_bytes);
        if !fits {
            return None;
        }
        let current = self.arriving.as_ref().is_some_and(|arriving| {
            arriving.from == from && arriving.number == number && arriving.bytes.len() == bytes
        });
        if !current {
            let missing = vec![true; count];
            self.arriving = Some(Arriving { from, number, bytes: vec![0; bytes], missing, missing_count: count });
        }
        let arriving = self.arriving.as_mut()?;
        if std::mem::take(&mut arriving.missing[index]) {
            arriving.missing_count -= 1;
            arriving.bytes[start..start + part.len()].copy_from_slice(part);
        }
        Some(arriving.missing_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(fragment_bytes: usize) -> (LongDatagrams, LongDatagrams, SocketAddr) {
        let [sender, receiver] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        let to = receiver.local_addr().expect("it is bound");
        (LongDatagrams::new(sender, fragment_bytes), LongDatagrams::new(receiver, fragment_bytes), to)
    }

    /// If this fails, messages of some lengths come wrong or never.
    #[test]
    fn messages_of_every_length_come_whole() {
        let (mut sender, mut receiver, to) = ends(8);
        for length in [0, 1, 7, 8, 9, 16, 100] {
            let message: Vec<u8> = (0..length).collect();
            sender.send(&message, to).expect("it is sent");
            let mut received = Vec::new();
            receiver.receive(&mut received, 100).expect("it comes");
            assert_eq!(received, message);
        }
    }

    /// If this fails, a datagram from anywhere ends the program, or two messages become one.
    #[test]
    fn nonsense_is_passed_over_and_a_newer_message_ends_an_older() {
        let (mut sender, mut receiver, to) = ends(8);
        let header = |words: [u32; 4]| words.map(u32::to_be_bytes).concat();
        let nonsense = [
            vec![1, 2, 3],
            header([1, 0, 1, u32::MAX]),
            header([1, 5, 2, 16]),
            header([1, u32::MAX, u32::MAX, 16]),
            [header([1, 0, 2, 16]), vec![0; 3]].concat(),
            // The first half of a message that is never finished.
            [header([9, 0, 2, 16]), vec![9; 8]].concat(),
        ];
        for bytes in nonsense {
            sender.socket.send_to(&bytes, to).expect("it is sent");
        }
        sender.send(&[4; 16], to).expect("it is sent");
        let mut received = Vec::new();
        receiver.receive(&mut received, 100).expect("it comes");
        assert_eq!(received, [4; 16]);
    }
}
