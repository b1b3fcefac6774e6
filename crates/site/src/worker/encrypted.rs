//! TLS on a client's connection: bytes of the socket to bytes of the session and back.
//!
//! Invariants: nothing that came before the encryption is handed on as if it had come within; a connection whose TLS is broken ends.

use crate::certificates::common_name;
use crate::entrance::{PROTOCOL, Tls};
use bytes::{Buf, BytesMut};
use rustls::ServerConnection;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use user_interface::Encryption;

/// The first byte of a client that begins with TLS at once: a handshake record (RFC 8446, section 5.1).
pub(super) const HANDSHAKE: u8 = 0x16;

/// TLS of one connection.
pub(super) struct Encrypted {
    connection: Box<ServerConnection>,
    tls: Arc<Tls>,
    /// The client began with it at once, and has to say for which protocol.
    is_direct: bool,
    /// Who is there has been told.
    is_told: bool,
}

impl Encrypted {
    /// For a client that is about to begin its handshake.
    pub(super) fn new(tls: Arc<Tls>, is_direct: bool) -> Option<Encrypted> {
        let connection = ServerConnection::new(tls.server.clone());
        let connection = connection.map_err(|error| tracing::warn!(%error, "no TLS for a client")).ok()?;
        Some(Encrypted { connection: Box::new(connection), tls, is_direct, is_told: false })
    }

    /// Takes bytes of the socket; what they say goes to `input`. Whether the client has ended its side. Errors: the connection is to be closed.
    pub(super) fn take(&mut self, mut bytes: &[u8], input: &mut BytesMut) -> Result<bool, String> {
        let mut has_ended = false;
        while !bytes.is_empty() {
            self.connection.read_tls(&mut bytes).map_err(|error| error.to_string())?;
            let state = self.connection.process_new_packets().map_err(|error| error.to_string())?;
            has_ended |= state.peer_has_closed();
            let (begin, plain) = (input.len(), state.plaintext_bytes_to_read());
            if plain > 0 {
                input.resize(begin + plain, 0);
                let read = self.connection.reader().read_exact(&mut input[begin..]);
                read.map_err(|error| error.to_string())?;
            }
            if has_ended {
                break;
            }
        }
        Ok(has_ended)
    }

    /// Who is there, once that is known. Errors: a client that says another protocol.
    pub(super) fn established(&mut self) -> Result<Option<Encryption>, String> {
        if self.is_told || self.connection.is_handshaking() {
            return Ok(None);
        }
        if self.is_direct && self.connection.alpn_protocol() != Some(PROTOCOL) {
            return Err("a client that begins with TLS must name the protocol (ALPN postgresql)".to_owned());
        }
        self.is_told = true;
        let certificate = self.connection.peer_certificates().and_then(|chain| chain.first());
        let name = certificate.map(|certificate| common_name(certificate).unwrap_or_default());
        Ok(Some(Encryption { binding: self.tls.binding.clone(), certificate: name }))
    }

    /// Writes what is to be sent, as far as the socket takes it. Whether it takes more. Errors: the client is gone.
    pub(super) fn write(&mut self, output: &mut BytesMut, socket: &mut impl Write) -> std::io::Result<bool> {
        loop {
            if !output.is_empty() && !self.connection.is_handshaking() {
                let taken = self.connection.writer().write(output)?;
                output.advance(taken);
            }
            while self.connection.wants_write() {
                match self.connection.write_tls(socket) {
                    Ok(0) => return Err(ErrorKind::WriteZero.into()),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            if output.is_empty() || self.connection.is_handshaking() {
                return Ok(true);
            }
        }
    }

    /// Tells the client that nothing more comes, as far as the socket takes it.
    pub(super) fn end(&mut self, socket: &mut impl Write) {
        self.connection.send_close_notify();
        while self.connection.wants_write() && self.connection.write_tls(socket).is_ok_and(|bytes| bytes > 0) {}
    }

    /// Whether something waits for the socket.
    pub(super) fn holds(&self) -> bool {
        self.connection.wants_write()
    }
}
