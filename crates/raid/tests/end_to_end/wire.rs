//! A client that speaks PostgreSQL's protocol byte by byte, so that it can also speak it wrongly.

use crate::harness::PATIENCE;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// The request code of a CancelRequest.
const CANCEL_REQUEST: u32 = 80_877_102;

/// A connection.
pub struct Wire {
    socket: TcpStream,
    /// Process and secret, as a CancelRequest must name them.
    pub key: (i32, i32),
}

/// A startup packet with these parameters.
pub fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = (3_u32 << 16).to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    [&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat()
}

impl Wire {
    /// Connects and says nothing.
    pub fn connect(sql: SocketAddr) -> Wire {
        let socket = TcpStream::connect(sql).expect("the site listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket's option");
        socket.set_nodelay(true).expect("a socket's option");
        Wire { socket, key: (0, 0) }
    }

    /// Connects and begins a session.
    pub fn session(sql: SocketAddr) -> Wire {
        let mut wire = Wire::connect(sql);
        wire.send_bytes(&startup(&[("user", "raid"), ("database", "raid")]));
        loop {
            let (kind, body) = wire.message("the greeting");
            match kind {
                b'K' => {
                    let number = |at: usize| i32::from_be_bytes(body[at..at + 4].try_into().expect("four bytes"));
                    wire.key = (number(0), number(4));
                }
                b'Z' => return wire,
                b'E' => panic!("refused: {}", String::from_utf8_lossy(&body)),
                _ => {}
            }
        }
    }

    /// Sends anything at all. That the other side has closed shows in what is read.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    /// Sends a message.
    pub fn send(&mut self, kind: u8, body: &[u8]) {
        self.send_bytes(&[&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat());
    }

    /// Sends a CancelRequest.
    pub fn cancel(&mut self, process: i32, secret: i32) {
        let words = [16_u32.to_be_bytes(), CANCEL_REQUEST.to_be_bytes(), process.to_be_bytes(), secret.to_be_bytes()];
        self.send_bytes(&words.concat());
    }

    /// The next message: its type and its body.
    pub fn message(&mut self, what: &str) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.socket.read_exact(&mut head).unwrap_or_else(|error| panic!("{what}: no message: {error}"));
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length.checked_sub(4).expect("a length counts itself")];
        self.socket.read_exact(&mut body).unwrap_or_else(|error| panic!("{what}: half a message: {error}"));
        (head[0], body)
    }

    /// The SQLSTATE of the next error.
    pub fn error(&mut self) -> String {
        loop {
            let (kind, body) = self.message("an error");
            if kind == b'E' {
                let mut fields = body.split(|byte| *byte == 0);
                let code = fields.find_map(|field| field.strip_prefix(b"C"));
                return String::from_utf8_lossy(code.expect("every error has a code")).into_owned();
            }
        }
    }

    /// Runs a statement that must succeed.
    pub fn done(&mut self, text: &str) {
        self.send(b'Q', format!("{text}\0").as_bytes());
        loop {
            match self.message(text) {
                (b'Z', _) => return,
                (b'E', body) => panic!("{text}: {}", String::from_utf8_lossy(&body)),
                _ => {}
            }
        }
    }

    /// The only value of the only row that a statement brings.
    pub fn scalar(&mut self, text: &str) -> String {
        self.send(b'Q', format!("{text}\0").as_bytes());
        let mut value = None;
        loop {
            match self.message(text) {
                (b'Z', _) => return value.unwrap_or_else(|| panic!("{text} brought no row")),
                (b'E', body) => panic!("{text}: {}", String::from_utf8_lossy(&body)),
                // Two bytes of column count and four of length stand in front.
                (b'D', body) => value = Some(String::from_utf8_lossy(&body[6..]).into_owned()),
                _ => {}
            }
        }
    }

    /// Waits until the other side has closed the connection.
    pub fn ends(&mut self, what: &str) {
        let mut rest = Vec::new();
        match self.socket.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{what}: the connection is not closed: {error}"),
        }
    }

    /// Whether nothing comes for so long.
    pub fn is_quiet(&mut self, how_long: Duration) -> bool {
        self.socket.set_read_timeout(Some(how_long)).expect("a socket's option");
        let peeked = self.socket.peek(&mut [0]);
        self.socket.set_read_timeout(Some(PATIENCE)).expect("a socket's option");
        matches!(peeked, Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    /// Closes it in one or both directions.
    pub fn shutdown(&mut self, how: Shutdown) {
        let _ = self.socket.shutdown(how);
    }

    /// Goes without a farewell: the other side gets a reset.
    pub fn reset(self) {
        let lingering = rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
        lingering.expect("a socket's option");
    }
}
