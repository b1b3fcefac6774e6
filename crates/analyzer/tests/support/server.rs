//! A connection to PostgreSQL, as far as the comparisons need one: COPY to the client, and Parse with Describe. Nothing of what is parsed is executed.
#![expect(clippy::disallowed_types, reason = "only the crate is pure; its tests talk to a server")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

/// What the server says to a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// Types of the parameters.
    pub parameters: Vec<u32>,
    /// Types of the columns.
    pub columns: Vec<u32>,
    /// Names of the columns, and the modifiers of their types.
    pub named: Vec<(String, i32)>,
    /// The rows, if it was executed.
    pub rows: Vec<Vec<Option<String>>>,
    /// The analyzed tree, if the session has it told.
    pub tree: String,
    /// Fields of the error, if it was refused.
    pub error: Option<BTreeMap<char, String>>,
}

/// A connection.
pub struct Server {
    stream: BufReader<TcpStream>,
    status: u8,
}

impl Server {
    /// Connects as a user who needs no password to the database `postgres`.
    pub fn connect(address: &str, user: &str) -> Result<Server, Box<dyn Error>> {
        Server::connect_to(address, user, "postgres")
    }

    /// The same to another database.
    pub fn connect_to(address: &str, user: &str, database: &str) -> Result<Server, Box<dyn Error>> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for word in ["user", user, "database", database, "client_encoding", "UTF8", ""] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
        stream.write_all(&body)?;
        let mut server = Server { stream: BufReader::new(stream), status: b'I' };
        match server.answer("")?.0.error {
            None => Ok(server),
            Some(fields) => Err(format!("the server refuses us: {fields:?}").into()),
        }
    }

    /// Runs one statement; what COPY sends.
    pub fn copy(&mut self, sql: &str) -> Result<String, Box<dyn Error>> {
        self.send_query(sql)?;
        let (described, copied) = self.answer("")?;
        match described.error {
            None => Ok(String::from_utf8(copied)?),
            Some(fields) => Err(format!("{sql}: {fields:?}").into()),
        }
    }

    fn send_query(&mut self, sql: &str) -> Result<(), Box<dyn Error>> {
        let bytes = message(b'Q', &[sql.as_bytes(), &[0]].concat());
        Ok(self.stream.get_mut().write_all(&bytes)?)
    }

    /// Runs statements by the simple protocol; what COPY asks for is `data`.
    pub fn run(&mut self, sql: &str, data: &str) -> Result<Described, Box<dyn Error>> {
        self.send_query(sql)?;
        Ok(self.answer(data)?.0)
    }

    /// The rows of one query that must not fail.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Box<dyn Error>> {
        let described = self.run(sql, "")?;
        match described.error {
            None => Ok(described.rows),
            Some(fields) => Err(format!("{sql}: {fields:?}").into()),
        }
    }

    /// Whether the session is in a transaction that failed.
    pub fn has_failed(&self) -> bool {
        self.status == b'E'
    }

    /// Asks to have statements parsed and described, each by itself: at most some hundred, so that neither side waits for the other to read.
    pub fn ask(&mut self, statements: &[String]) -> Result<(), Box<dyn Error>> {
        let mut bytes = Vec::new();
        for sql in statements {
            bytes.extend(message(b'P', &[&[0], sql.as_bytes(), &[0, 0, 0]].concat()));
            bytes.extend(message(b'D', b"S\0"));
            bytes.extend(message(b'S', b""));
        }
        Ok(self.stream.get_mut().write_all(&bytes)?)
    }

    /// The next of the answers.
    pub fn described(&mut self) -> Result<Described, Box<dyn Error>> {
        Ok(self.answer("")?.0)
    }

    /// Reads up to ReadyForQuery; what COPY asks for is `data`.
    fn answer(&mut self, data: &str) -> Result<(Described, Vec<u8>), Box<dyn Error>> {
        let mut described = Described::default();
        let mut copied = Vec::new();
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length.saturating_sub(4)];
            self.stream.read_exact(&mut body)?;
            match head[0] {
                b'Z' => {
                    self.status = body.first().copied().unwrap_or(b'I');
                    return Ok((described, copied));
                }
                b'E' => described.error = Some(fields(&body)),
                b'N' => {
                    let mut fields = fields(&body);
                    if fields.get(&'M').is_some_and(|message| message.starts_with("parse tree")) {
                        described.tree = fields.remove(&'D').unwrap_or_default();
                    }
                }
                b'd' => copied.extend_from_slice(&body),
                b'D' => described.rows.push(row(&body)),
                b'G' => {
                    let mut bytes = message(b'd', data.as_bytes());
                    bytes.extend(message(b'c', b""));
                    self.stream.get_mut().write_all(&bytes)?;
                }
                b't' => described.parameters = body[2..].chunks(4).map(word).collect(),
                b'T' => (described.columns, described.named, described.rows) = columns(&body),
                b'R' if body != [0, 0, 0, 0] => return Err("the server asks for a password".into()),
                _ => {}
            }
        }
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Fields of an error or a notice by their letter.
fn fields(body: &[u8]) -> BTreeMap<char, String> {
    let fields = body.split(|byte| *byte == 0).filter_map(|field| field.split_first());
    fields.map(|(kind, field)| (*kind as char, String::from_utf8_lossy(field).into_owned())).collect()
}

/// Values of a row; none for NULL.
fn row(body: &[u8]) -> Vec<Option<String>> {
    let mut values = Vec::new();
    let mut rest = &body[2..];
    while rest.len() >= 4 {
        let length = word(rest) as i32;
        rest = &rest[4..];
        values.push((length >= 0).then(|| {
            let (value, behind) = rest.split_at(length as usize);
            rest = behind;
            String::from_utf8_lossy(value).into_owned()
        }));
    }
    values
}

/// What a RowDescription says of the columns: types, names with modifiers, and no rows yet.
type Columns = (Vec<u32>, Vec<(String, i32)>, Vec<Vec<Option<String>>>);

fn columns(body: &[u8]) -> Columns {
    let (mut types, mut named) = (Vec::new(), Vec::new());
    let mut rest = &body[2..];
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        types.push(word(&rest[end + 7..]));
        named.push((String::from_utf8_lossy(&rest[..end]).into_owned(), word(&rest[end + 13..]) as i32));
        rest = &rest[end + 19..];
    }
    (types, named, Vec::new())
}
