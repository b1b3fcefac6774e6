//! The smallest client of PostgreSQL's protocol that hides nothing: what a server sends is shown as lines, to be compared.
//!
//! Invariant: after [`Wire::simple`] and [`Wire::extended`] the session is ready for the next request. Messages as in PostgreSQL 15's manual, 55.7.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::harness::PATIENCE;

/// A session.
pub struct Wire {
    stream: BufReader<TcpStream>,
    /// What ReadyForQuery said last: `I`, `T` or `E`.
    pub block: char,
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Columns, rows, tags, SQLSTATEs: what must be as PostgreSQL's.
    pub lines: Vec<String>,
    /// Messages of errors and notices: what should be.
    pub messages: Vec<String>,
}

impl Answer {
    /// The SQLSTATE of its error.
    pub fn error(&self) -> Option<&str> {
        self.lines.iter().find_map(|line| line.strip_prefix("error "))
    }

    /// Puts the rows in an order of their own, for queries that have none.
    pub fn sort_rows(&mut self) {
        self.lines.sort_by_key(|line| line.starts_with("row ").then(|| line.clone()));
    }
}

impl Wire {
    /// Opens a session.
    pub fn connect(address: SocketAddr, user: &str, database: &str) -> Wire {
        let refused = |answer| panic!("the session does not begin: {answer:?}");
        Wire::try_connect(address, user, database).unwrap_or_else(refused)
    }

    /// Opens a session, or says why it is refused.
    pub fn try_connect(address: SocketAddr, user: &str, database: &str) -> Result<Wire, Answer> {
        let stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        stream.set_read_timeout(Some(PATIENCE)).expect("a bound on waiting");
        stream.set_nodelay(true).expect("small messages leave at once");
        let mut wire = Wire { stream: BufReader::new(stream), block: ' ' };
        let mut start = 0x3_0000u32.to_be_bytes().to_vec();
        for text in ["user", user, "database", database, "application_name", "wire", ""] {
            start.extend_from_slice(text.as_bytes());
            start.push(0);
        }
        let length = (start.len() as u32 + 4).to_be_bytes();
        wire.send(&[&length[..], &start].concat());
        let answer = wire.answer(None, false);
        if answer.error().is_some() { Err(answer) } else { Ok(wire) }
    }

    /// Runs a text in the simple protocol; `copy` is sent when COPY asks for data.
    pub fn simple(&mut self, sql: &str, copy: Option<&[u8]>) -> Answer {
        self.send(&message(b'Q', &[sql.as_bytes(), &[0]]));
        self.answer(copy, false)
    }

    /// Describes a statement, and with parameters (as texts) also runs it with binary results.
    pub fn extended(&mut self, sql: &str, parameters: Option<&[Option<&str>]>) -> Answer {
        let mut request = message(b'P', &[&[0], sql.as_bytes(), &[0, 0, 0]]);
        request.extend(message(b'D', &[b"S\0"]));
        if let Some(parameters) = parameters {
            let mut bind = vec![0, 0, 0, 0];
            bind.extend((parameters.len() as u16).to_be_bytes());
            for parameter in parameters {
                bind.extend(parameter.map_or(-1, |text| text.len() as i32).to_be_bytes());
                bind.extend(parameter.unwrap_or_default().as_bytes());
            }
            bind.extend([0, 1, 0, 1]);
            request.extend(message(b'B', &[&bind]));
            request.extend(message(b'E', &[&[0, 0, 0, 0, 0]]));
        }
        request.extend(message(b'S', &[]));
        self.send(&request);
        self.answer(None, true)
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server reads");
    }

    fn receive(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).expect("the server answers");
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).expect("a whole message");
        (head[0], body)
    }

    fn answer(&mut self, copy: Option<&[u8]>, binary: bool) -> Answer {
        let mut answer = Answer::default();
        let mut copied = Vec::new();
        loop {
            let (kind, body) = self.receive();
            let mut body = Body(&body);
            let line = match kind {
                b'R' | b'S' | b'K' | b'1' | b'2' => continue,
                b'T' => format!("columns {}", columns(&mut body).join(", ")),
                b'D' => format!("row {}", row(&mut body, binary)),
                b'C' => {
                    if !copied.is_empty() {
                        answer.lines.push(format!("copied {}", readable(&std::mem::take(&mut copied))));
                    }
                    format!("tag {}", body.text())
                }
                b't' => {
                    let types: Vec<String> = (0..body.short()).map(|_| shown_type(body.long())).collect();
                    format!("parameters {}", types.join(" "))
                }
                b'E' | b'N' => {
                    let (state, severity, message) = problem(&mut body);
                    answer.messages.push(message);
                    if severity == "fatal" {
                        answer.lines.push(format!("error {state}"));
                        return answer;
                    }
                    if kind == b'E' { format!("error {state}") } else { format!("{severity} {state}") }
                }
                b'G' => {
                    self.send(&message(b'd', &[copy.unwrap_or_default()]));
                    self.send(&message(b'c', &[]));
                    format!("copy in {:?}", body.0)
                }
                b'H' => format!("copy out {:?}", body.0),
                b'd' => {
                    copied.extend_from_slice(body.0);
                    continue;
                }
                b'c' => continue,
                b'I' => "empty".to_string(),
                b'n' => "no data".to_string(),
                b's' => "suspended".to_string(),
                b'Z' => {
                    self.block = char::from(body.0[0]);
                    answer.lines.push(format!("ready {}", self.block));
                    return answer;
                }
                other => panic!("a message of kind {:?} that no server sends here", char::from(other)),
            };
            answer.lines.push(line);
        }
    }
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length = parts.iter().map(|part| part.len()).sum::<usize>() as u32 + 4;
    [&[kind][..], &length.to_be_bytes(), &parts.concat()].concat()
}

/// Name, type, size and modifier of each column. Whose column it is differs from server to server.
/// The first number of what users make (PostgreSQL's `FirstNormalObjectId`), whose numbers depend on what was made before.
const FIRST_OWN: u32 = 16_384;
/// Above the numbers that a test's types get.
const LAST_OWN: u32 = 1_000_000;

fn shown_type(number: u32) -> String {
    if number < FIRST_OWN { number.to_string() } else { "own".to_owned() }
}

/// A binary array of a user's type, without the number of that type.
fn without_own_type(bytes: &[u8]) -> Vec<u8> {
    let word = |place: usize| {
        let word = bytes.get(place..place + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(word))
    };
    let mut shown = bytes.to_vec();
    let is_array = word(0).is_some_and(|dimensions| dimensions <= 6) && word(4).is_some_and(|nulls| nulls <= 1);
    if is_array && word(8).is_some_and(|element| (FIRST_OWN..LAST_OWN).contains(&element)) {
        shown[8..12].fill(0);
    }
    shown
}

fn columns(body: &mut Body) -> Vec<String> {
    let column = |body: &mut Body| {
        let name = body.text();
        let (_table, _position) = (body.long(), body.short());
        let (data_type, size, modifier) = (body.long(), body.short() as i16, body.long() as i32);
        let _format = body.short();
        format!("{name}:{}:{size}:{modifier}", shown_type(data_type))
    };
    (0..body.short()).map(|_| column(body)).collect()
}

fn row(body: &mut Body, binary: bool) -> String {
    let mut cells = Vec::new();
    for _ in 0..body.short() {
        cells.push(match body.long() as i32 {
            -1 => "NULL".to_string(),
            length => {
                let bytes = body.take(length as usize);
                if binary { hexadecimal(&without_own_type(bytes)) } else { readable(bytes) }
            }
        });
    }
    cells.join("|")
}

fn problem(body: &mut Body) -> (String, String, String) {
    let (mut state, mut severity, mut message) = (String::new(), String::new(), String::new());
    loop {
        match body.take(1)[0] {
            0 => return (state, severity.to_lowercase(), message),
            b'C' => state = body.text(),
            b'V' => severity = body.text(),
            b'M' => message = body.text(),
            _ => drop(body.text()),
        }
    }
}

fn readable(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| hexadecimal(bytes), |text| text.escape_debug().to_string())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is left of a message.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().expect("two bytes"))
    }

    fn long(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().expect("four bytes"))
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).expect("a text ends");
        let text = String::from_utf8_lossy(self.take(end)).into_owned();
        self.take(1);
        text
    }
}
