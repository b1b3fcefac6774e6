//! One connection's encryption: TLS 1.3 with certificates on both sides, between the socket and the frames.
//!
//! Invariant: plaintext comes out only of records that whoever holds the peer's private key has sent, unchanged and in
//! order; what waits here encrypted is hardly more than [`ENCRYPTED_BYTES_MAX`]: the headers of its records come on top.

use super::status::DisconnectReason;
use crate::frame::FrameDecoder;
use crate::keys::{Keys, bears, instance_name, site_name};
use crate::limits::ENCRYPTED_BYTES_MAX;
use identifiers::{InstanceId, SiteId};
use rustls::{AlertDescription, CertificateError, ClientConnection, Connection, ServerConnection};
use std::fmt;
use std::io::{self, BufRead, ErrorKind, Write};
use thiserror::Error;

/// The first byte of TLS: a record with a handshake message, or with an alert (RFC 8446, section 5.1). A greeting in clear
/// begins with its length, which is another.
const FIRST_BYTES: [u8; 2] = [22, 21];

/// Why a connection with keys did not come about, or was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Distrust {
    /// Another authority signed it: another instance's, or an older one's.
    #[error("its certificate was not signed by this instance's authority")]
    Authority,
    /// Both hosts' clocks may be right: then it needs new keys.
    #[error("its certificate has expired: make new keys (`raid keys`), or set the clock")]
    Expired,
    /// One of the two hosts' clocks is wrong.
    #[error("its certificate is not valid yet: compare the clocks of both hosts")]
    NotYetValid,
    /// The authority serves two instances, and the address leads to the other.
    #[error("its certificate belongs to another instance")]
    Instance,
    /// It connected without one.
    #[error("it showed no certificate")]
    Absent,
    /// It is damaged, or not made for this.
    #[error("its certificate cannot be used")]
    Certificate,
    /// The peer has judged our certificate, and told the number of its reason (RFC 8446, section 6).
    #[error("it did not accept our certificate: {}", alert(*.0))]
    Ours(u8),
    /// Damaged or forged on the way, or from somebody who does not know the protocol.
    #[error("what it sent was damaged or forged, or is not TLS 1.3")]
    Garbled,
}

/// What the numbers of alerts mean that speak of certificates.
fn alert(number: u8) -> &'static str {
    match AlertDescription::from(number) {
        AlertDescription::UnknownCA | AlertDescription::DecryptError => "it was not signed by its instance's authority",
        AlertDescription::CertificateExpired => "it has expired or is not valid yet",
        AlertDescription::CertificateRequired => "it wants one",
        _ => "it cannot be used",
    }
}

impl Distrust {
    /// Whether the other side spoke the protocol, and its certificate was why the connection was given up.
    pub(super) fn is_of_certificate(self) -> bool {
        !matches!(self, Distrust::Garbled | Distrust::Ours(_))
    }
}

impl From<rustls::Error> for Distrust {
    fn from(error: rustls::Error) -> Distrust {
        use CertificateError as Bad;
        match error {
            rustls::Error::NoCertificatesPresented => Distrust::Absent,
            rustls::Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => Distrust::Expired,
            rustls::Error::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
                Distrust::NotYetValid
            }
            rustls::Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => Distrust::Authority,
            rustls::Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
                Distrust::Instance
            }
            rustls::Error::InvalidCertificate(_) => Distrust::Certificate,
            rustls::Error::AlertReceived(
                alert @ (AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::CertificateRequired
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied
                | AlertDescription::DecryptError),
            ) => Distrust::Ours(alert.into()),
            _ => Distrust::Garbled,
        }
    }
}

/// Whether a connection that begins with this byte is to be TLS.
pub(super) fn is_encrypted(first: u8) -> bool {
    FIRST_BYTES.contains(&first)
}

/// Whether a frame that claims this length is TLS that was taken for frames: its first bytes are a record's type and the
/// first byte of its version.
pub(crate) fn is_record(length: u32) -> bool {
    let [first, version, _, _] = length.to_le_bytes();
    is_encrypted(first) && version == 3
}

/// The encryption of one connection.
pub(crate) struct Secure {
    connection: Connection,
}

impl fmt::Debug for Secure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secure")
    }
}

impl Secure {
    /// For a connection that we make.
    pub(crate) fn connecting(keys: &Keys) -> Result<Secure, Distrust> {
        let connection = ClientConnection::new(keys.client.clone(), instance_name(keys.instance()))?;
        Ok(Secure::new(connection.into()))
    }

    /// For a connection that we accept.
    pub(crate) fn accepting(keys: &Keys) -> Result<Secure, Distrust> {
        Ok(Secure::new(ServerConnection::new(keys.server.clone())?.into()))
    }

    fn new(mut connection: Connection) -> Secure {
        connection.set_buffer_limit(Some(ENCRYPTED_BYTES_MAX));
        Secure { connection }
    }

    /// Whether both sides have proved who they are.
    pub(crate) fn is_proved(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// Whether the peer's certificate is of this instance.
    pub(crate) fn is_of_instance(&self, instance: InstanceId) -> bool {
        self.peer_bears(&instance_name(instance))
    }

    /// Whether the peer's certificate is that of this site.
    pub(crate) fn is_of_site(&self, instance: InstanceId, site: SiteId) -> bool {
        self.peer_bears(&site_name(instance, site))
    }

    fn peer_bears(&self, name: &rustls::pki_types::ServerName<'_>) -> bool {
        let own = self.connection.peer_certificates().and_then(<[_]>::first);
        self.is_proved() && own.is_some_and(|certificate| bears(certificate, name))
    }

    /// Takes bytes of the socket and gives what they say to the decoder.
    ///
    /// # Errors
    /// The connection must be closed; the decoder has what came before. The alert to the peer waits to be written.
    pub(crate) fn receive(&mut self, mut bytes: &[u8], decoder: &mut FrameDecoder) -> Result<(), DisconnectReason> {
        while !bytes.is_empty() {
            // It takes no more at once than a record, and says that it has no room only for what is no record.
            match self.connection.read_tls(&mut bytes) {
                Ok(0) => return Err(DisconnectReason::Closed),
                Ok(_) => {}
                Err(_) => return Err(DisconnectReason::Insecure(Distrust::Garbled)),
            }
            let processed = self.connection.process_new_packets();
            let mut reader = self.connection.reader();
            // At its end the reader has an error or nothing: the next bytes of the socket say which.
            while let Ok(plaintext) = reader.fill_buf()
                && !plaintext.is_empty()
            {
                decoder.feed(plaintext);
                let count = plaintext.len();
                reader.consume(count);
            }
            processed.map_err(|error| DisconnectReason::Insecure(error.into()))?;
        }
        Ok(())
    }

    /// Encrypts as many of these bytes as there is room for and says how many.
    pub(crate) fn encrypt(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.connection.writer().write(bytes)
    }

    /// Whether encrypted bytes wait.
    pub(crate) fn is_waiting(&self) -> bool {
        self.connection.wants_write()
    }

    /// Writes once, and says how many bytes left; none if the socket is full.
    pub(crate) fn write(&mut self, stream: &mut impl Write) -> io::Result<Option<usize>> {
        loop {
            match self.connection.write_tls(stream) {
                Ok(count) => return Ok(Some(count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Secret bytes that only the two ends of this connection know (RFC 8446, section 7.5).
    pub(super) fn export(&self, label: &[u8], context: &[u8], output: &mut [u8]) -> Result<(), Distrust> {
        self.connection.export_keying_material(output, label, Some(context)).map(drop).map_err(Distrust::from)
    }

    /// Has both sides go on with new keys.
    #[cfg(test)]
    pub(super) fn refresh(&mut self) {
        self.connection.refresh_traffic_keys().expect("the handshake is over");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Authority;
    use crate::keys::tests::Said;
    use crate::limits::GREETING_BYTES_MAX;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    const INSTANCE: InstanceId = InstanceId(0xdb);
    const SITE: SiteId = SiteId(1);
    static KEYS: LazyLock<Keys> = LazyLock::new(|| {
        let authority = Authority::new(INSTANCE).expect("an authority");
        authority.keys(INSTANCE, SITE, Said::of(INSTANCE, SITE))
    });

    /// What a client says first.
    fn first_flight() -> Vec<u8> {
        let mut bytes = Vec::new();
        Secure::connecting(&KEYS).expect("good keys").connection.write_tls(&mut bytes).expect("a vector takes all");
        bytes
    }

    #[test]
    fn greetings_and_encryption_begin_with_other_bytes() {
        // If they did not, a side with keys would take a greeting in clear for encryption.
        assert!(is_encrypted(first_flight()[0]));
        for first in 0..=GREETING_BYTES_MAX as u8 {
            assert!(!is_record(u32::from(first)), "a greeting's frame is no record");
        }
        let length = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        assert!(is_record(length(&first_flight())));
    }

    proptest! {
        /// If this failed, whoever reaches the port could stop a site.
        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            kept in 0usize..300,
            header in any::<bool>(),
        ) {
            let mut sent = first_flight();
            sent.truncate(kept);
            if header {
                sent.extend_from_slice(&[22, 3, 3]);
                sent.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
            }
            sent.extend_from_slice(&bytes);
            for mut secure in [Secure::accepting(&KEYS), Secure::connecting(&KEYS)].map(|secure| secure.expect("good keys")) {
                let mut decoder = FrameDecoder::new(GREETING_BYTES_MAX);
                for piece in sent.chunks(kept.max(1)) {
                    if secure.receive(piece, &mut decoder).is_err() {
                        break;
                    }
                }
                prop_assert!(!secure.is_proved(), "nobody has proved anything");
                prop_assert!(!decoder.has_rest(), "plaintext of nobody");
            }
        }
    }
}
