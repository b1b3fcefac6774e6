//! A client of the PostgreSQL protocol (PostgreSQL 15, chapter 55) that shows what came as it came: rows as bytes, columns with their
//! types, errors with their SQLSTATE, by each of three ways to ask.
//!
//! Invariant: after each request the connection has read up to `ReadyForQuery`, or is broken and says so.

mod frames;

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use self::frames::{Message, Reader, read_message};
use crate::limits::{ANSWER_TIME_MAX, CONNECT_TIME_MAX, STATEMENT_TIMEOUT};

/// Where a system takes clients.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its address.
    pub address: SocketAddr,
    /// The database to connect to.
    pub database: String,
    /// The user to connect as.
    pub user: String,
}

/// How a statement reaches the server, and its rows us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// One message; values are text.
    Simple,
    /// Parsed, bound, described, executed; values are text.
    ExtendedText,
    /// The same; values are binary.
    ExtendedBinary,
}

impl Path {
    /// All of them.
    pub const ALL: [Path; 3] = [Path::Simple, Path::ExtendedText, Path::ExtendedBinary];

    /// For reports.
    pub fn name(self) -> &'static str {
        match self {
            Path::Simple => "simple",
            Path::ExtendedText => "extended, text",
            Path::ExtendedBinary => "extended, binary",
        }
    }
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The number of its type (`pg_type.oid`).
    pub oid: u32,
}

/// A value as it came: nothing for NULL.
pub type Cell = Option<Vec<u8>>;

/// What a server refused, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// SQLSTATE.
    pub code: String,
    /// The message.
    pub message: String,
}

/// What a server said to one statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was done.
    Done {
        /// What the rows consist of; empty if the statement has none.
        columns: Vec<Column>,
        /// The rows, in the order in which they came.
        rows: Vec<Vec<Cell>>,
        /// What was done, as `INSERT 0 3`.
        tag: String,
        /// Types of the parameters as the server described them; empty where they were not asked for.
        parameters: Vec<u32>,
    },
    /// It was refused.
    Refused(Refusal),
    /// The connection broke, or nothing came in time.
    Broken(String),
}

impl Answer {
    /// SQLSTATE, if it was refused.
    pub fn code(&self) -> Option<&str> {
        match self {
            Answer::Refused(refusal) => Some(&refusal.code),
            _ => None,
        }
    }

    /// Whether the statement was done.
    pub fn is_done(&self) -> bool {
        matches!(self, Answer::Done { .. })
    }
}

/// A value of a parameter, in text form: nothing for NULL.
pub type Parameter = Option<String>;

/// What `ReadyForQuery` says outside of a transaction.
pub const IDLE: u8 = b'I';
/// In a transaction that failed.
pub const FAILED: u8 = b'E';

/// A connection.
pub struct Connection {
    endpoint: Endpoint,
    stream: Option<BufReader<TcpStream>>,
    status: u8,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Nobody answers there, or the server refuses us.
    pub fn open(endpoint: &Endpoint) -> Result<Connection, String> {
        let mut connection = Connection { endpoint: endpoint.clone(), stream: None, status: IDLE };
        connection.reconnect()?;
        Ok(connection)
    }

    /// Connects anew, with nothing prepared.
    ///
    /// # Errors
    /// As of [`Connection::open`].
    pub fn reconnect(&mut self) -> Result<(), String> {
        self.stream = None;
        let stream = TcpStream::connect_timeout(&self.endpoint.address, CONNECT_TIME_MAX)
            .map_err(|error| format!("cannot connect to {}: {error}", self.endpoint.address))?;
        let prepared = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(ANSWER_TIME_MAX)));
        prepared.map_err(|error| format!("cannot use the connection: {error}"))?;
        self.stream = Some(BufReader::new(stream));
        let words = ["user", &self.endpoint.user.clone(), "database", &self.endpoint.database.clone()]
            .map(|word| format!("{word}\0"))
            .concat();
        let mut startup = 196_608_u32.to_be_bytes().to_vec();
        startup.extend_from_slice(words.as_bytes());
        startup.push(0);
        let mut frame = (startup.len() as u32 + 4).to_be_bytes().to_vec();
        frame.append(&mut startup);
        match self.ask(&frame) {
            Answer::Done { .. } => {}
            Answer::Refused(refusal) => return Err(format!("{} {}", refusal.code, refusal.message)),
            Answer::Broken(why) => return Err(why),
        }
        let timeout = format!("SET statement_timeout = {}", STATEMENT_TIMEOUT.as_millis());
        match self.simple(&timeout) {
            Answer::Done { .. } => Ok(()),
            other => Err(format!("`{timeout}`: {other:?}")),
        }
    }

    /// Whether the session is in a transaction, as it last said ([`IDLE`], [`FAILED`], or neither).
    pub fn status(&self) -> u8 {
        self.status
    }

    /// Connects as somebody else from now on.
    pub fn set_user(&mut self, user: &str) {
        self.endpoint.user = user.to_string();
    }

    /// Statements in one message, with an answer for each, up to the first that is refused. What COPY asks for is taken from `data`; what
    /// COPY gives is rows of one column.
    pub fn script(&mut self, sql: &str, data: &str) -> Vec<Answer> {
        let frame = frames::frame(b'Q', |body| frames::text(body, sql));
        let mut answers = Vec::new();
        if let Err(why) = self.converse(&frame, data, &mut answers) {
            self.stream = None;
            answers.push(Answer::Broken(why));
        }
        answers
    }

    fn converse(&mut self, frame: &[u8], data: &str, answers: &mut Vec<Answer>) -> Result<(), String> {
        let stream = self.stream.as_mut().ok_or("the connection is closed")?;
        stream.get_mut().write_all(frame).map_err(|error| format!("cannot send: {error}"))?;
        let (mut columns, mut rows) = (Vec::new(), Vec::new());
        loop {
            let Message { kind, body } = read_message(stream)?;
            let mut reader = Reader::new(&body);
            match kind {
                b'Z' => {
                    self.status = body.first().copied().unwrap_or(IDLE);
                    return Ok(());
                }
                b'T' => columns = reader.columns()?,
                b'D' => rows.push(reader.row()?),
                b'd' => rows.push(vec![Some(body)]),
                b'G' => {
                    let mut copied = frames::frame(b'd', |body| body.extend_from_slice(data.as_bytes()));
                    copied.extend(frames::frame(b'c', |_| {}));
                    stream.get_mut().write_all(&copied).map_err(|error| format!("cannot send: {error}"))?;
                }
                b'C' | b'I' => {
                    let tag = if kind == b'C' { reader.text()? } else { String::new() };
                    let (columns, rows) = (std::mem::take(&mut columns), std::mem::take(&mut rows));
                    answers.push(Answer::Done { columns, rows, tag, parameters: Vec::new() });
                }
                b'E' => answers.push(Answer::Refused(reader.refusal()?)),
                _ => {}
            }
        }
    }

    /// Whether statements can be sent.
    pub fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// One statement by the simple protocol.
    pub fn simple(&mut self, sql: &str) -> Answer {
        self.ask(&frames::frame(b'Q', |body| frames::text(body, sql)))
    }

    /// One statement by any way, with parameters unless the way is the simple one.
    pub fn run(&mut self, path: Path, sql: &str, parameters: &[Parameter]) -> Answer {
        match path {
            Path::Simple => self.simple(sql),
            Path::ExtendedText | Path::ExtendedBinary => {
                let mut frames = frames::parse("", sql);
                frames.extend(frames::describe_statement(""));
                frames.extend(frames::execute("", parameters, path == Path::ExtendedBinary));
                frames.extend(frames::sync());
                self.ask(&frames)
            }
        }
    }

    /// Prepares a statement under a name, and describes it: the answer has its parameters and columns, and no rows.
    pub fn prepare(&mut self, name: &str, sql: &str) -> Answer {
        let mut frames = frames::parse(name, sql);
        frames.extend(frames::describe_statement(name));
        frames.extend(frames::sync());
        self.ask(&frames)
    }

    /// Executes what was prepared. The answer's columns are those of the portal.
    pub fn execute(&mut self, name: &str, parameters: &[Parameter], binary: bool) -> Answer {
        let mut frames = frames::execute(name, parameters, binary);
        frames.extend(frames::sync());
        self.ask(&frames)
    }

    /// Forgets what was prepared under a name.
    pub fn close(&mut self, name: &str) -> Answer {
        let mut frames = frames::close(name);
        frames.extend(frames::sync());
        self.ask(&frames)
    }

    fn ask(&mut self, frames: &[u8]) -> Answer {
        let answer = self.exchange(frames);
        answer.unwrap_or_else(|why| {
            self.stream = None;
            Answer::Broken(why)
        })
    }

    fn exchange(&mut self, frames: &[u8]) -> Result<Answer, String> {
        let stream = self.stream.as_mut().ok_or("the connection is closed")?;
        stream.get_mut().write_all(frames).map_err(|error| format!("cannot send: {error}"))?;
        let (mut columns, mut rows, mut tag, mut parameters) = (Vec::new(), Vec::new(), String::new(), Vec::new());
        let mut refusal = None;
        loop {
            let Message { kind, body } = read_message(stream)?;
            let mut reader = Reader::new(&body);
            match kind {
                b'Z' => {
                    self.status = body.first().copied().unwrap_or(IDLE);
                    break;
                }
                b'T' => columns = reader.columns()?,
                b'D' => rows.push(reader.row()?),
                b'C' => tag = reader.text()?,
                b't' => parameters = reader.parameters()?,
                b'E' if refusal.is_none() => refusal = Some(reader.refusal()?),
                b'R' => reader.authentication()?,
                _ => {}
            }
        }
        // A server that ends the session says why, and then nothing.
        Ok(match refusal {
            Some(refusal) => Answer::Refused(refusal),
            None => Answer::Done { columns, rows, tag, parameters },
        })
    }
}
