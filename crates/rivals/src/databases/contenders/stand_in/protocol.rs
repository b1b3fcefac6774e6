//! One session of the stand-in: bytes of the PostgreSQL protocol (version 3, PostgreSQL's documentation, chapter 55) in, answers out.
//!
//! Invariant: every request gets the answer that a server would give by form, and SELECTs one row, so that clients send and receive as
//! many bytes as with a database. A session takes no memory beyond its prepared statements and one unfinished message.

use std::collections::BTreeMap;

/// A message may have so many bytes: pgbench's have some hundred.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

const PROTOCOL_3: u32 = 196_608;
const CANCEL: u32 = 80_877_102;
const ENCRYPT_TLS: u32 = 80_877_103;
const ENCRYPT_GSS: u32 = 80_877_104;

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It goes on.
    Listen,
    /// It ends: the client said so, or said what is not in the protocol.
    Close,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Session {
    input: Vec<u8>,
    /// Answers that have not been sent yet; the caller takes them.
    pub output: Vec<u8>,
    started: bool,
    /// What a count of branches answers: the number behind `scale_` in the database's name.
    scale: String,
    /// Prepared statements by name: whether they give rows.
    statements: BTreeMap<Vec<u8>, bool>,
    /// Whether the portal gives rows.
    portal: bool,
}

impl Session {
    /// Takes bytes from the client and answers all messages that are complete.
    pub fn take(&mut self, bytes: &[u8]) -> Next {
        self.input.extend_from_slice(bytes);
        let input = std::mem::take(&mut self.input);
        let mut rest = input.as_slice();
        loop {
            // Behind the first messages each begins with its type.
            let header = usize::from(self.started);
            let Some(length) = rest.get(header..header + 4) else { break };
            let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
            if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
                return Next::Close;
            }
            let Some(body) = rest.get(header + 4..header + length) else { break };
            let known = if self.started { self.answer(rest[0], body) } else { self.start(body) };
            if known.is_none() {
                return Next::Close;
            }
            rest = &rest[header + length..];
        }
        self.input = rest.to_vec();
        Next::Listen
    }

    /// None ends the session.
    fn start(&mut self, body: &[u8]) -> Option<()> {
        let (code, parameters) = body.split_at_checked(4)?;
        match u32::from_be_bytes(code.try_into().ok()?) {
            ENCRYPT_TLS | ENCRYPT_GSS => self.output.push(b'N'),
            PROTOCOL_3 => {
                let mut words = parameters.split(|&byte| byte == 0);
                let database = words.find(|&word| word == b"database").and_then(|_| words.next()).unwrap_or_default();
                let scale = database.strip_prefix(b"scale_").unwrap_or(b"1");
                self.scale = String::from_utf8_lossy(scale).into_owned();
                self.started = true;
                self.say(b'R', &0_u32.to_be_bytes());
                for parameter in
                    ["server_version\x0015.0\0", "client_encoding\0UTF8\0", "standard_conforming_strings\0on\0"]
                {
                    self.say(b'S', parameter.as_bytes());
                }
                self.ready();
            }
            CANCEL => return None,
            _ => return None,
        }
        Some(())
    }

    /// None ends the session.
    fn answer(&mut self, kind: u8, body: &[u8]) -> Option<()> {
        match kind {
            b'P' => {
                let (name, rest) = word(body)?;
                let (text, _) = word(rest)?;
                self.statements.insert(name.to_vec(), is_select(text));
                self.say(b'1', &[]);
            }
            b'B' => {
                let (_, rest) = word(body)?;
                let (name, _) = word(rest)?;
                self.portal = *self.statements.get(name)?;
                self.say(b'2', &[]);
            }
            b'D' => {
                let (&what, name) = body.split_first()?;
                let rows = match what {
                    b'S' => {
                        self.say(b't', &0_u16.to_be_bytes());
                        *self.statements.get(word(name)?.0)?
                    }
                    _ => self.portal,
                };
                if rows { self.describe_row() } else { self.say(b'n', &[]) }
            }
            b'E' if self.portal => self.row("0"),
            b'E' => self.say(b'C', b"UPDATE 1\0"),
            b'C' => self.say(b'3', &[]),
            b'S' => self.ready(),
            b'H' => {}
            b'Q' => {
                let (text, _) = word(body)?;
                if text.get(..COUNT.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(COUNT)) {
                    self.describe_row();
                    self.row(&self.scale.clone());
                } else {
                    self.say(b'C', b"UPDATE 1\0");
                }
                self.ready();
            }
            _ => return None,
        }
        Some(())
    }

    fn ready(&mut self) {
        self.say(b'Z', b"I");
    }

    /// One column, an int4.
    fn describe_row(&mut self) {
        let mut body = b"\0\x01abalance\0".to_vec();
        body.extend(0_u32.to_be_bytes());
        body.extend(0_u16.to_be_bytes());
        body.extend(23_u32.to_be_bytes());
        body.extend(4_u16.to_be_bytes());
        body.extend(u32::MAX.to_be_bytes());
        body.extend(0_u16.to_be_bytes());
        self.say(b'T', &body);
    }

    /// One row and the end of the answer.
    fn row(&mut self, value: &str) {
        let mut body = b"\0\x01".to_vec();
        body.extend((value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
        self.say(b'D', &body);
        self.say(b'C', b"SELECT 1\0");
    }

    fn say(&mut self, kind: u8, body: &[u8]) {
        self.output.push(kind);
        self.output.extend((body.len() as u32 + 4).to_be_bytes());
        self.output.extend_from_slice(body);
    }
}

/// How pgbench asks for the scale.
const COUNT: &[u8] = b"select count(*) from pgbench_branches";

fn is_select(text: &[u8]) -> bool {
    text.trim_ascii_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"select"))
}

/// A text that ends with a zero byte, and what follows it.
fn word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &[u8], body: &[u8]) -> Vec<u8> {
        [kind, &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    fn started() -> Session {
        let mut session = Session::default();
        let startup = [&PROTOCOL_3.to_be_bytes()[..], b"user\0x\0database\0scale_10\0\0"].concat();
        assert_eq!(session.take(&message(b"", &startup)), Next::Listen);
        assert_eq!(session.output.first(), Some(&b'R'));
        assert!(session.output.ends_with(b"Z\0\0\0\x05I"));
        session.output.clear();
        session
    }

    /// The kinds of the messages in some output.
    fn kinds(mut output: &[u8]) -> String {
        let mut kinds = String::new();
        while let Some((&kind, rest)) = output.split_first() {
            kinds.push(kind.into());
            let length = u32::from_be_bytes(rest[..4].try_into().expect("a length")) as usize;
            output = &rest[length..];
        }
        kinds
    }

    /// A client that waits for an answer of another form would hang or give up, and the ceiling would be too low.
    #[test]
    fn prepared_statements_are_answered_in_form() {
        let mut session = started();
        let round = |name: &[u8]| {
            let bind = [b"\0", name, b"\0\0\0\0\0\0\0"].concat();
            [message(b"B", &bind), message(b"D", b"P\0"), message(b"E", b"\0\0\0\0\0"), message(b"S", b"")].concat()
        };
        session.take(&message(b"P", b"a\0 SELECT abalance\0\0\0"));
        session.take(&message(b"P", b"b\0UPDATE x\0\0\0"));
        assert_eq!(kinds(&session.output), "11");
        session.output.clear();
        session.take(&round(b"a"));
        assert_eq!(kinds(&session.output), "2TDCZ");
        session.output.clear();
        session.take(&round(b"b"));
        assert_eq!(kinds(&session.output), "2nCZ");
        assert_eq!(session.take(&round(b"unknown")), Next::Close);
    }

    /// pgbench takes its scale from this answer.
    #[test]
    fn the_scale_is_that_of_the_database() {
        let mut session = started();
        session.take(&message(b"Q", b"select count(*) from pgbench_branches\0"));
        assert_eq!(kinds(&session.output), "TDCZ");
        assert!(session.output.windows(2).any(|bytes| bytes == b"10"));
        session.output.clear();
        session.take(&message(b"Q", b"vacuum pgbench_branches\0"));
        assert_eq!(kinds(&session.output), "CZ");
    }

    /// Messages come in pieces of any size.
    #[test]
    fn a_message_may_come_byte_by_byte() {
        let mut session = started();
        for byte in message(b"Q", b"begin\0") {
            assert_eq!(session.take(&[byte]), Next::Listen);
        }
        assert_eq!(kinds(&session.output), "CZ");
    }

    /// libpq asks for encryption first, and goes on in clear when it hears N.
    #[test]
    fn encryption_is_refused_and_nonsense_ends_the_session() {
        let mut session = Session::default();
        assert_eq!(session.take(&message(b"", &ENCRYPT_TLS.to_be_bytes())), Next::Listen);
        assert_eq!(session.output, b"N");
        assert_eq!(session.take(&[0xff; 8]), Next::Close);
        assert_eq!(started().take(&message(b"X", b"")), Next::Close);
    }
}
