//! What a client sends: framing, the startup packets, and the messages of the simple and extended protocol.
//!
//! Invariant: every count and length is checked against the bytes at hand before it is used, so arbitrary bytes yield an
//! error and never a panic or an allocation.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{LONG_MESSAGE_BYTES, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX_UNKNOWN, STARTUP_BYTES_MAX};

/// Request code of a CancelRequest packet.
const CANCEL_REQUEST: u32 = 80_877_102;
/// Request code of an SSLRequest packet.
pub const SSL_REQUEST: u32 = 80_877_103;
/// Request code of a GSSENCRequest packet.
pub const GSS_ENCRYPTION_REQUEST: u32 = 80_877_104;
/// Major number of the protocol that is spoken here.
const PROTOCOL_MAJOR: u32 = 3;

/// A packet before the session is up.
#[derive(Debug, PartialEq, Eq)]
pub enum Startup<'a> {
    /// The client wants a session: minor protocol version and parameters in order.
    Session {
        /// Minor version asked for; only 0 is spoken.
        minor: u16,
        /// Names and values.
        parameters: Vec<(&'a str, &'a str)>,
    },
    /// The client wants another session's statement cancelled.
    Cancel {
        /// From that session's BackendKeyData.
        process: i32,
        /// From that session's BackendKeyData.
        secret: i32,
    },
    /// The client asks for encryption, which is answered by `N`.
    Encryption {
        /// By TLS; else by GSSAPI.
        tls: bool,
    },
}

/// A message of a session that is up.
#[derive(Debug)]
pub enum Frontend<'a> {
    /// `Q`: statements to run.
    Query(&'a str),
    /// `P`: a statement to prepare.
    Parse {
        /// Under which name; empty: the unnamed one.
        name: &'a str,
        /// Its text.
        sql: &'a str,
        /// Object identifiers of parameter types, 0 where the server is to find out.
        types: Vec<u32>,
    },
    /// `B`: a prepared statement with values for its parameters.
    Bind(Bind<'a>),
    /// `D`: asks for the shape of a statement or portal.
    Describe(Target<'a>),
    /// `E`: runs a portal, for at most so many rows (0: all).
    Execute {
        /// Which.
        portal: &'a str,
        /// How many rows.
        rows_max: usize,
    },
    /// `C`: forgets a statement or portal.
    Close(Target<'a>),
    /// `S`: the end of a cycle.
    Sync,
    /// `H`: send what there is.
    Flush,
    /// `d`: COPY data.
    CopyData(&'a [u8]),
    /// `c`: the end of COPY data.
    CopyDone,
    /// `f`: the client gives the COPY up, and why.
    CopyFail(&'a str),
    /// `X`: the end of the session.
    Terminate,
}

/// Whether the message that begins here says that it is long.
pub fn announces_long(input: &[u8]) -> bool {
    let Some((_, Some(length))) = input.split_first().map(|(_, rest)| ((), rest.first_chunk())) else { return false };
    u32::from_be_bytes(*length) as usize > LONG_MESSAGE_BYTES
}

/// What of the client's stands behind a message, so far as it matters to the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows<'a> {
    /// Nothing yet.
    Nothing,
    /// Sync.
    Sync,
    /// Describe.
    Describe,
    /// Execute of this portal.
    Execute(&'a str),
    /// COPY data, or its end: all of the message.
    Copied,
    /// Anything else, or only a part of it.
    Other,
}

impl<'a> Follows<'a> {
    /// What these bytes begin with.
    pub fn of(input: &'a [u8]) -> Follows<'a> {
        match input.first() {
            None => Follows::Nothing,
            Some(b'S') => Follows::Sync,
            Some(b'D') => Follows::Describe,
            Some(b'E') => match frame(input).map(|found| found.map(|found| decode(&found))) {
                Ok(Some(Ok(Frontend::Execute { portal, .. }))) => Follows::Execute(portal),
                _ => Follows::Other,
            },
            Some(b'd' | b'c') if matches!(frame(input), Ok(Some(_))) => Follows::Copied,
            Some(_) => Follows::Other,
        }
    }
}

/// A statement or a portal, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A prepared statement.
    Statement(&'a str),
    /// A portal.
    Portal(&'a str),
}

/// The parts of a Bind message.
#[derive(Debug)]
pub struct Bind<'a> {
    /// The portal to make.
    pub portal: &'a str,
    /// The statement to bind.
    pub statement: &'a str,
    /// Formats of the parameters.
    pub parameter_formats: FormatCodes<'a>,
    /// How many parameters there are.
    pub parameter_count: usize,
    parameters: Reader<'a>,
    /// Formats of the result's columns.
    pub result_formats: FormatCodes<'a>,
}

impl<'a> Bind<'a> {
    /// The parameters in order, `None` for NULL.
    pub fn parameters(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut reader = self.parameters;
        (0..self.parameter_count).map_while(move |_| reader.field().ok())
    }
}

/// Format codes as the protocol gives them: none (all text), one for all, or one each.
#[derive(Clone, Copy, Debug)]
pub struct FormatCodes<'a>(&'a [u8]);

impl FormatCodes<'_> {
    /// How many codes there are.
    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// Whether there is no code at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether field `index` is binary. Errors: 22023 for a code other than 0 and 1.
    pub fn is_binary(&self, index: usize) -> Result<bool> {
        let at = match self.len() {
            0 => return Ok(false),
            1 => 0,
            _ => index,
        };
        match self.0.get(2 * at..2 * at + 2) {
            Some([0, 0]) => Ok(false),
            Some([0, 1]) => Ok(true),
            Some(code) => Err(SqlError::new(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("unsupported format code: {}", i16::from_be_bytes([code[0], code[1]])),
            )),
            None => Ok(false),
        }
    }
}

/// A frame at the head of the input: its type, its body, and how many bytes it takes.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The message's type byte.
    pub kind: u8,
    /// What is behind the length word.
    pub body: &'a [u8],
    /// Bytes of the whole message.
    pub length: usize,
}

/// The first whole message of the input; `None` while it is not complete. Errors (the session cannot go on): 08P01 for a type
/// that does not exist or an impossible length, 54000 for a message longer than [`MESSAGE_BYTES_MAX`].
pub fn frame(input: &[u8]) -> Result<Option<Frame<'_>>> {
    let Some((&kind, rest)) = input.split_first() else {
        return Ok(None);
    };
    if !b"QPBDECSHdcfXFp".contains(&kind) {
        return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, format!("invalid frontend message type {kind}")));
    }
    let Some(word) = rest.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*word) as usize;
    if length < 4 {
        return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, "invalid message length"));
    }
    if length > MESSAGE_BYTES_MAX {
        return Err(SqlError::new(
            sqlstate::PROGRAM_LIMIT_EXCEEDED,
            format!("a message of {length} bytes exceeds the limit of {MESSAGE_BYTES_MAX}"),
        ));
    }
    Ok(rest.get(4..length).map(|body| Frame { kind, body, length: length + 1 }))
}

/// The first packet of the input and its length; `None` while it is not complete. Errors (the session cannot go on): 08P01 for a
/// packet of impossible length or shape, 0A000 for another protocol.
pub fn startup(input: &[u8]) -> Result<Option<(Startup<'_>, usize)>> {
    let Some(word) = input.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*word) as usize;
    if !(8..=STARTUP_BYTES_MAX).contains(&length) {
        return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, "invalid length of startup packet"));
    }
    let Some(body) = input.get(4..length) else {
        return Ok(None);
    };
    let mut reader = Reader(body);
    let code = u32::from_be_bytes(reader.array()?);
    let packet = match code {
        SSL_REQUEST => Startup::Encryption { tls: true },
        GSS_ENCRYPTION_REQUEST => Startup::Encryption { tls: false },
        CANCEL_REQUEST => Startup::Cancel {
            process: i32::from_be_bytes(reader.array()?),
            secret: i32::from_be_bytes(reader.array()?),
        },
        _ if code >> 16 == PROTOCOL_MAJOR => {
            Startup::Session { minor: (code & 0xffff) as u16, parameters: startup_parameters(&mut reader)? }
        }
        _ => {
            return Err(unsupported_version(code));
        }
    };
    Ok(Some((packet, length)))
}

/// 0A000: the version of the protocol that a client asks for.
pub fn unsupported_version(code: u32) -> Box<SqlError> {
    let (major, minor) = (code >> 16, code & 0xffff);
    let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

/// An answer to a request for authentication, and the client's first SASL message in it.
#[derive(Clone, Copy, Debug)]
pub struct SaslInitial<'a> {
    /// The mechanism that the client has chosen.
    pub mechanism: &'a str,
    /// Its first message.
    pub data: &'a [u8],
}

/// The answer to a request for authentication at the head of the input, and how many bytes it takes; `None` while it is not complete. Errors (the connection
/// cannot go on): 08P01 for another message, or one that is too long.
pub fn password_message(input: &[u8]) -> Result<Option<(&[u8], usize)>> {
    let Some(((&kind, word), rest)) =
        input.split_first().and_then(|(kind, rest)| Some(((kind, rest.first_chunk::<4>()?), rest)))
    else {
        return Ok(None);
    };
    let violation = |message: String| SqlError::new(sqlstate::PROTOCOL_VIOLATION, message);
    if kind != b'p' {
        return Err(violation(format!("expected password response, got message type {kind}")));
    }
    let length = u32::from_be_bytes(*word) as usize;
    if !(4..=MESSAGE_BYTES_MAX_UNKNOWN).contains(&length) {
        return Err(violation("invalid password packet size".to_owned()));
    }
    Ok(rest.get(4..length).map(|body| (body, length + 1)))
}

/// A password as it is. Errors: 08P01, 22021.
pub fn password(body: &[u8]) -> Result<&str> {
    let mut reader = Reader(body);
    let password = reader.string()?;
    if reader.0.is_empty() { Ok(password) } else { Err(invalid_format()) }
}

/// The client's choice of a mechanism. Errors: 08P01, 22021.
pub fn sasl_initial(body: &[u8]) -> Result<SaslInitial<'_>> {
    let mut reader = Reader(body);
    let mechanism = reader.string()?;
    let data = reader.field()?.unwrap_or_default();
    if reader.0.is_empty() { Ok(SaslInitial { mechanism, data }) } else { Err(invalid_format()) }
}

fn startup_parameters<'a>(reader: &mut Reader<'a>) -> Result<Vec<(&'a str, &'a str)>> {
    let layout = || {
        SqlError::new(sqlstate::PROTOCOL_VIOLATION, "invalid startup packet layout: expected terminator as last byte")
    };
    let mut parameters = Vec::new();
    loop {
        let name = reader.string().map_err(|_| layout())?;
        if name.is_empty() {
            return Ok(parameters);
        }
        parameters.push((name, reader.string().map_err(|_| layout())?));
    }
}

/// Decodes a frame's body. Errors: 08P01 for a body that is no such message, 22021 for text that is not UTF-8.
pub fn decode<'a>(frame: &Frame<'a>) -> Result<Frontend<'a>> {
    let mut reader = Reader(frame.body);
    let message = match frame.kind {
        b'Q' => Frontend::Query(reader.string()?),
        b'P' => {
            let (name, sql) = (reader.string()?, reader.string()?);
            let count = reader.count()?;
            let types = reader.take(count * 4)?;
            let types = types.chunks_exact(4).map(|oid| u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]));
            Frontend::Parse { name, sql, types: types.collect() }
        }
        b'B' => Frontend::Bind(bind(&mut reader)?),
        b'D' => Frontend::Describe(reader.target()?),
        b'C' => Frontend::Close(reader.target()?),
        b'E' => Frontend::Execute {
            portal: reader.string()?,
            rows_max: usize::try_from(i32::from_be_bytes(reader.array()?)).unwrap_or(0),
        },
        b'S' => Frontend::Sync,
        b'H' => Frontend::Flush,
        b'd' => return Ok(Frontend::CopyData(frame.body)),
        b'c' => Frontend::CopyDone,
        b'f' => Frontend::CopyFail(reader.string()?),
        b'X' => Frontend::Terminate,
        b'F' => return Err(SqlError::unsupported("the function call protocol")),
        kind => {
            return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, format!("unexpected message type 0x{kind:02X}")));
        }
    };
    if reader.0.is_empty() { Ok(message) } else { Err(invalid_format()) }
}

fn bind<'a>(reader: &mut Reader<'a>) -> Result<Bind<'a>> {
    let (portal, statement) = (reader.string()?, reader.string()?);
    let format_count = reader.count()?;
    let parameter_formats = FormatCodes(reader.take(2 * format_count)?);
    let parameter_count = reader.count()?;
    let parameters = *reader;
    for _ in 0..parameter_count {
        reader.field()?;
    }
    if format_count > 1 && format_count != parameter_count {
        return Err(SqlError::new(
            sqlstate::PROTOCOL_VIOLATION,
            format!("bind message has {format_count} parameter formats but {parameter_count} parameters"),
        ));
    }
    let result_count = reader.count()?;
    Ok(Bind {
        portal,
        statement,
        parameter_formats,
        parameter_count,
        parameters,
        result_formats: FormatCodes(reader.take(2 * result_count)?),
    })
}

#[cold]
fn invalid_format() -> Box<SqlError> {
    SqlError::new(sqlstate::PROTOCOL_VIOLATION, "invalid message format")
}

/// Reads a body from the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(invalid_format)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(invalid_format)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn count(&mut self) -> Result<usize> {
        Ok(usize::from(u16::from_be_bytes(self.array()?)))
    }

    /// A length and so many bytes; `None` for the length -1.
    pub(crate) fn field(&mut self) -> Result<Option<&'a [u8]>> {
        match i32::from_be_bytes(self.array()?) {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| invalid_format())?;
                self.take(length).map(Some)
            }
        }
    }

    /// Text up to a zero byte.
    fn string(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(invalid_format)?;
        let (text, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        std::str::from_utf8(text).map_err(|_| {
            SqlError::new(sqlstate::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
        })
    }

    fn target(&mut self) -> Result<Target<'a>> {
        let [kind] = self.array()?;
        let name = self.string()?;
        match kind {
            b'S' => Ok(Target::Statement(name)),
            b'P' => Ok(Target::Portal(name)),
            _ => Err(invalid_format()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A client that sends garbage must get an error, not bring the site down.
        #[test]
        fn arbitrary_bytes_do_not_panic(mut bytes: Vec<u8>, kind in prop::sample::select(b"QPBDECSHdcfXFp".to_vec())) {
            let _ = startup(&bytes);
            let _ = frame(&bytes);
            let body = bytes.split_off(bytes.len().min(5));
            if let Ok(Frontend::Bind(bind)) = decode(&Frame { kind, body: &body, length: body.len() + 5 }) {
                prop_assert_eq!(bind.parameters().count(), bind.parameter_count);
            }
        }
    }

    /// A length word of a GiB must be refused from the word alone: waiting for the bytes would buffer them.
    #[test]
    fn huge_lengths_are_refused_at_once() {
        let error = frame(b"d\x40\x00\x00\x00").expect_err("too long");
        assert_eq!(error.sqlstate, "54000");
        let error = startup(b"\x40\x00\x00\x00").expect_err("too long");
        assert_eq!(error.sqlstate, "08P01");
        assert!(frame(b"Q\x00\x00\x00\x03").is_err());
        assert!(frame(b"GET / HTTP").is_err());
    }

    /// A half message must stay where it is.
    #[test]
    fn half_messages_wait() {
        let whole = b"Q\x00\x00\x00\x0dSELECT 1\x00S\x00\x00\x00\x04";
        for cut in 0..14 {
            assert!(frame(&whole[..cut]).expect("no error").is_none(), "{cut}");
        }
        let first = frame(whole).expect("no error").expect("whole");
        assert_eq!(first.length, 14);
        assert!(matches!(decode(&first), Ok(Frontend::Query("SELECT 1"))));
    }
}
