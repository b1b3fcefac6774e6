//! Golden scripts: a client's messages and the other servers' answers in, what the user interface sends to either out.
//!
//! A script is a file of commands (`> ...`), each followed by what it brings. With `GOLDEN_UPDATE` set, files are rewritten instead
//! of compared. Nothing in it is a server: answers come from the script.

mod backend_text;
mod catalog;
mod lock_table;

use bytes::{BufMut, BytesMut};
use lock_table::LockTable;
use messages::access::AccessReply;
use messages::advisory;
use messages::database::DatabaseId;
use messages::program::{Action, Program, ResultColumn};
use messages::query::{QueryReply, QueryRequest};
use messages::replication::SiteNotice;
use messages::session::{CommitReceipt, Failure, SessionReply, SessionRequest, StatementFailure};
use messages::{
    ChangedRows, Conflict, ConflictKind, Envelope, EpochNumber, Incarnation, Item, Key, Message, Notification, Now,
    Outbox, Row, Server, ServerKind, SessionId, SiteId, Timestamp, TransactionId,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use user_interface::counters::InterfaceCounters;
use user_interface::{CancelKey, Config, UserInterface};
use values::{Type, Value};

const SESSION: SessionId = SessionId(1);

/// A user interface with one client.
pub struct Script {
    interface: UserInterface,
    counters: Arc<InterfaceCounters>,
    input: BytesMut,
    now: Now,
    output: String,
    /// Queries to stop that the query processor has not said to have stopped.
    stops: u32,
    /// Errors to be confirmed: the catalog stands, unless the script says that it answers itself.
    doubts: u32,
    answers_doubts: bool,
    /// Catalog rows written and not yet committed.
    written: Vec<(Key, Option<Row>)>,
    /// Catalog rows as committed.
    committed: BTreeMap<Key, Row>,
    commits: u64,
    has_tables: bool,
    life: u32,
    held: BytesMut,
    key: Option<CancelKey>,
    locks: LockTable,
}

/// Runs a script file and compares, or rewrites it.
pub fn run(name: &str) {
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let expected = std::fs::read_to_string(&path).expect("the script is there");
    let mut script = Script::new();
    let mut actual = String::new();
    for line in expected.lines() {
        if let Some(command) = line.strip_prefix("> ") {
            actual.push_str(line);
            actual.push('\n');
            script.command(command);
            actual.push_str(&std::mem::take(&mut script.output));
        } else if line.starts_with('#') || line.is_empty() {
            actual.push_str(line);
            actual.push('\n');
        }
    }
    if std::env::var_os("GOLDEN_UPDATE").is_some() {
        std::fs::write(&path, actual).expect("the script can be written");
    } else {
        for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
            assert_eq!(actual, expected, "{name}.txt, line {}", number + 1);
        }
        assert_eq!(actual.lines().count(), expected.lines().count(), "{name}.txt");
    }
}

impl Script {
    fn new() -> Script {
        let config = Config::new(SiteId(1), "test", "0.1.0", 100, 7);
        let counters = config.counters.clone();
        let mut interface = UserInterface::new(config);
        interface.open(SESSION);
        Script {
            interface,
            counters,
            input: BytesMut::new(),
            now: Now { boot: 1, wall_micros: 1_700_000_000_000_000 },
            output: String::new(),
            stops: 0,
            doubts: 0,
            answers_doubts: false,
            written: Vec::new(),
            committed: BTreeMap::new(),
            commits: 0,
            has_tables: false,
            life: 0,
            held: BytesMut::new(),
            key: None,
            locks: LockTable::default(),
        }
    }

    /// What was counted, but for what never was.
    fn counts(&mut self) {
        let counts = self.counters.read();
        let mut parts = vec![format!("committed {}", counts.committed)];
        parts.extend(counts.aborted().map(|(cause, count)| format!("{} {count}", cause.name())));
        parts.push(format!("unknown {}", counts.unknown));
        parts.extend(counts.errors().map(|(class, count)| format!("{class} {count}")));
        let statements = counts.statements().map(|(kind, latencies)| {
            let milliseconds = latencies.nanoseconds() / 1_000_000;
            format!("{} {} in {milliseconds} ms", kind.name(), latencies.count())
        });
        parts.extend(statements);
        parts.extend(counts.sessions().map(|(state, count)| format!("[{}] {count}", state.name())));
        parts.retain(|part| !part.ends_with(" 0") && !part.contains(" 0 in "));
        writeln!(self.output, "  # {}", parts.join(", ")).expect("a string takes any text");
    }

    fn command(&mut self, command: &str) {
        let (held, command) = match command.strip_prefix('+') {
            Some(command) => (true, command),
            None => (false, command),
        };
        let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
        let mut message = BytesMut::new();
        if client_message(verb, rest, &mut message) {
            self.held.extend_from_slice(&message);
            if !held {
                let bytes = std::mem::take(&mut self.held);
                self.receive(&bytes);
            }
            return;
        }
        match verb {
            "doubts" => self.answers_doubts = true,
            "counts" => self.counts(),
            "login" => {
                self.command("connect user=alice database=raid");
                self.output.clear();
            }
            "explain" => self.explain(rest),
            "tables" => {
                self.has_tables = true;
                self.interface.load_catalog(catalog::tables());
            }
            "catalog" => self.commit_catalog(),
            "moved" => {
                let key = messages::schema::CatalogEntry::key(rest);
                let row = self.committed.get(&key).cloned();
                self.written.push((key, row));
                self.commit_catalog();
            }
            "tick" => {
                self.now.boot += rest.parse::<u64>().expect("milliseconds") * 1_000_000;
                let mut outbox = Outbox::default();
                self.interface.tick(self.now, &mut outbox);
                self.settle(outbox);
            }
            "new" => {
                assert_eq!(rest, "life");
                self.life += 1;
                self.locks.reply = None;
                let mut rows = if self.has_tables { catalog::tables() } else { Vec::new() };
                let version = Timestamp { clock: 100 + self.commits, ..Timestamp::ZERO };
                rows.extend(self.committed.iter().map(|(key, row)| (key.clone(), version, Some(row.clone()))));
                let mut outbox = Outbox::default();
                self.interface.new_life(Incarnation(self.life), rows, &mut outbox);
                self.settle(outbox);
            }
            "notified" => {
                // channel=payload ...: what one commit brings.
                let of = |text: &str| {
                    let (channel, payload) = text.split_once('=').expect("channel=payload");
                    Notification {
                        channel: channel.into(),
                        payload: payload.into(),
                        process: 7,
                        database: DatabaseId::FIRST,
                    }
                };
                self.deliver(Message::Notified(Arc::new(rest.split(' ').map(of).collect())));
            }
            "cancel" => self.cancel(rest),
            "other" => {
                if self.locks.other(rest) {
                    self.tell_given();
                }
            }
            "lost" => {
                assert!(!self.locks.other(rest) || rest.contains("leave"), "the notification is lost on its way");
            }
            "locks" => match rest {
                "pause" => self.locks.is_paused = true,
                "answer" => {
                    self.locks.is_paused = false;
                    self.settle(Outbox::default());
                }
                failure => self.locks.fails = Some(self::failure(failure)),
            },
            "serving" => {
                let epoch = lock_table::epoch(rest);
                self.deliver(Message::Site(SiteNotice::Serving { epoch }));
            }
            "gone" => {
                let mut outbox = Outbox::default();
                self.interface.close(SESSION, &mut outbox);
                self.settle(outbox);
            }
            "left" => {
                writeln!(self.output, "  {} bytes, finished: {}", self.input.len(), self.interface.finished(SESSION))
                    .expect("a string grows");
            }
            _ => {
                let message = answer(verb, rest);
                self.deliver(message);
            }
        }
    }

    /// The session has been given a lock.
    fn tell_given(&mut self) {
        let payload = format!("2.1.9 1.{}.{}", self.life, SESSION.0).into();
        let told = Notification {
            channel: advisory::CHANNEL.into(),
            payload,
            process: advisory::PROCESS,
            database: DatabaseId::FIRST,
        };
        self.deliver(Message::Notified(Arc::new(vec![told])));
    }

    /// What a statement compiles to, without the frame around it.
    fn explain(&mut self, sql: &str) {
        self.command(&format!("query explain {sql}"));
        if self.output.contains("? Explain") {
            self.command("rows last");
        }
        let lines = std::mem::take(&mut self.output);
        for line in lines.lines() {
            if let Some(step) = line.strip_prefix("  < DataRow ") {
                self.output.push_str(&format!("  {step}\n"));
            } else if line.starts_with("  < ERROR") || line.starts_with("  ?") {
                self.output.push_str(&format!("{line}\n"));
            }
        }
    }

    /// A CancelRequest on another connection, with the right secret or a wrong one.
    fn cancel(&mut self, which: &str) {
        let key = self.key.expect("the session is up");
        let other = SessionId(2);
        self.interface.open(other);
        let mut input = BytesMut::new();
        input.put_u32(16);
        input.put_u32(80_877_102);
        input.put_i32(key.process);
        input.put_i32(if which == "wrong" { key.secret ^ 1 } else { key.secret });
        let mut outbox = Outbox::default();
        self.interface.receive(self.now, other, &mut input, &mut outbox);
        assert!(self.interface.finished(other), "a cancel connection is closed at once");
        let unrouted = self.interface.unrouted_cancel();
        self.interface.close(other, &mut Outbox::default());
        if unrouted.is_some() {
            self.output.push_str("  unrouted\n");
        }
        self.settle(outbox);
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        let mut outbox = Outbox::default();
        self.interface.receive(self.now, SESSION, &mut self.input, &mut outbox);
        self.settle(outbox);
    }

    fn deliver(&mut self, message: Message) {
        let mut outbox = Outbox::default();
        let envelope = Envelope {
            from_site: SiteId(1),
            from: ServerKind::ActionDriver,
            to_site: SiteId(1),
            to: ServerKind::UserInterface,
            epoch: EpochNumber(0),
            incarnation: Incarnation(0),
            message,
        };
        self.interface.handle(self.now, envelope, &mut outbox);
        self.settle(outbox);
    }

    /// Commits the catalog rows written so far.
    fn commit_catalog(&mut self) {
        self.commits += 1;
        let version = Timestamp { clock: 100 + self.commits, ..Timestamp::ZERO };
        let rows = std::mem::take(&mut self.written);
        for (key, row) in &rows {
            match row {
                Some(row) => drop(self.committed.insert(key.clone(), row.clone())),
                None => drop(self.committed.remove(key)),
            }
        }
        let rows = rows.into_iter().map(|(key, row)| (key, version, row)).collect();
        self.deliver(Message::AccessReply(AccessReply::CatalogRows { rows }));
    }

    /// Prints what came out, and lets the session go on with input that it left, as its caller does.
    fn settle(&mut self, outbox: Outbox) {
        let mut outbox = outbox;
        loop {
            self.show(&outbox);
            if self.stops > 0 {
                // The query processor obeys at once.
                self.stops -= 1;
                self.deliver(Message::QueryReply(SESSION, QueryReply::Stopped));
            }
            if !self.locks.is_paused
                && let Some(reply) = self.locks.reply.take()
            {
                self.deliver(Message::SessionReply(SESSION.of_locks(), reply));
            }
            if self.doubts > 0 {
                self.doubts -= 1;
                let confirmed = SessionReply::Executed { rows: Vec::new(), affected: 0 };
                self.deliver(Message::SessionReply(SESSION, confirmed));
            }
            if !self.interface.pending().any(|session| session == SESSION) {
                return;
            }
            outbox = Outbox::default();
            self.interface.receive(self.now, SESSION, &mut self.input, &mut outbox);
        }
    }

    fn show(&mut self, outbox: &Outbox) {
        let is_held = self.locks.reply.is_some() && self.interface.holds_output(SESSION);
        if !is_held && let Some(output) = self.interface.output(SESSION) {
            let bytes = output.split();
            if let Some(key) = backend_text::show(&bytes, &mut self.output) {
                self.key = Some(key);
            }
        }
        assert!(outbox.records.is_empty() && outbox.syncs.is_empty(), "a user interface writes no log");
        for outgoing in &outbox.messages {
            match &outgoing.message {
                Message::SessionRequest(session, request) if session.is_of_locks() => {
                    self.locks.ask(request, &mut self.output);
                }
                Message::SessionRequest(_, request) => self.show_request(request),
                Message::Query(_, _, request) => {
                    show_query(request, &mut self.output);
                    self.stops += u32::from(matches!(request, QueryRequest::Stop));
                }
                other => panic!("not for the user interface to say: {other:?}"),
            }
        }
    }

    fn show_request(&mut self, request: &SessionRequest) {
        let text = match request {
            SessionRequest::Execute { program, .. } if is_doubt(program) => {
                if !self.answers_doubts {
                    self.doubts += 1;
                    return;
                }
                let names = program
                    .relies_on
                    .iter()
                    .map(|(key, version)| format!("{} at {}", String::from_utf8_lossy(key.as_bytes()), version.clock));
                format!("Confirm {}", names.collect::<Vec<_>>().join(", "))
            }
            SessionRequest::Begin { mode, .. } => format!("Begin {mode:?}"),
            SessionRequest::Execute { program, parameters, rows, .. } => {
                self.take_writes(program);
                show_execute(program, parameters, rows)
            }
            other => format!("{other:?}"),
        };
        writeln!(self.output, "  = {text}").expect("a string grows");
    }

    fn take_writes(&mut self, program: &Program) {
        for action in &program.actions {
            if let Action::Catalog { writes, .. } = action {
                for (key, _, row) in writes {
                    self.written.retain(|(other, _)| other != key);
                    self.written.push((key.clone(), row.clone()));
                }
            }
        }
    }
}

/// Whether it does nothing but look whether the catalog is what it is taken for.
fn is_doubt(program: &Program) -> bool {
    program.actions.is_empty() && !program.relies_on.is_empty()
}

fn show_execute(program: &Program, parameters: &[Value], rows: &[Vec<Value>]) -> String {
    let mut text = String::from(if program.read_only { "Execute, read-only" } else { "Execute" });
    if !parameters.is_empty() {
        write!(text, ", parameters {}", show_row(parameters)).expect("a string grows");
    }
    for row in rows {
        write!(text, ", row {}", show_row(row)).expect("a string grows");
    }
    for line in program.to_string().lines() {
        write!(text, "\n    {line}").expect("a string grows");
    }
    for action in &program.actions {
        if let Action::Catalog { writes, drops, makes } = action {
            for (key, seen, row) in writes {
                // What a comment is about is told by numbers.
                let (space, numbers) = key.as_bytes().split_first().expect("a key of the catalog has a space");
                let name = match space {
                    b'c' => format!("c{numbers:?}"),
                    _ => String::from_utf8_lossy(key.as_bytes()).into_owned(),
                };
                let seen = seen.map_or("own".to_string(), |seen| seen.clock.to_string());
                let what = if row.is_some() { "write" } else { "delete" };
                write!(text, "\n    {what} {name}, seen {seen}").expect("a string grows");
            }
            write!(text, "\n    drops {drops:?}, makes {makes:?}").expect("a string grows");
        }
    }
    text
}

fn show_row(row: &[Value]) -> String {
    let values: Vec<String> = row
        .iter()
        .map(|value| match value {
            Value::Bytea(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            value => values::text::to_string(value).unwrap_or_else(|| "NULL".to_string()),
        })
        .collect();
    format!("({})", values.join(", "))
}

fn show_query(request: &QueryRequest, output: &mut String) {
    let text = match request {
        QueryRequest::Describe { sql, parameters, .. } => format!("Describe {sql} {parameters:?}"),
        QueryRequest::Run(run) => format!("Run {} {}", run.sql, show_row(&run.parameters)),
        QueryRequest::Explain { sql, .. } => format!("Explain {sql}"),
        QueryRequest::Snapshot { name } => format!("Snapshot {name}"),
        other => format!("{other:?}"),
    };
    writeln!(output, "  ? {text}").expect("a string grows");
}

/// Encodes a client's message; false: the verb is none.
fn client_message(verb: &str, rest: &str, out: &mut BytesMut) -> bool {
    let mut words = rest.splitn(2, ' ');
    let first = words.next().unwrap_or("").trim_start_matches('-');
    let second = words.next().unwrap_or("");
    let unescaped =
        rest.replace("\\n", "\n").replace("\\t", "\t").replace("\\x1e", "\u{1e}").replace("\\x1f", "\u{1f}");
    match verb {
        "connect" => {
            let start = out.len();
            out.put_u32(0);
            out.put_u32(3 << 16);
            for pair in rest.split(' ').filter(|pair| !pair.is_empty()) {
                let (name, value) = pair.split_once('=').expect("name=value");
                put_strings(out, &[name, value]);
            }
            out.put_u8(0);
            let length = (out.len() - start) as u32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
        "ssl" => out.extend_from_slice(&[0, 0, 0, 8, 4, 210, 22, 47]),
        "bytes" => {
            let digits: Vec<u8> = rest.bytes().filter(u8::is_ascii_hexdigit).collect();
            for pair in digits.chunks(2) {
                let pair = std::str::from_utf8(pair).expect("hexadecimal");
                out.put_u8(u8::from_str_radix(pair, 16).expect("hexadecimal"));
            }
        }
        "query" => framed(out, b'Q', |out| put_strings(out, &[&unescaped])),
        "parse" => framed(out, b'P', |out| {
            put_strings(out, &[first, second]);
            out.put_u16(0);
        }),
        "bind" => {
            // portal statement format value|value
            let mut words = second.splitn(3, ' ');
            let statement = words.next().unwrap_or("").trim_start_matches('-');
            let binary = words.next() == Some("binary");
            let values: Vec<&str> = words.next().map(|values| values.split('|').collect()).unwrap_or_default();
            framed(out, b'B', |out| {
                put_strings(out, &[first, statement]);
                out.put_u16(0);
                out.put_u16(values.len() as u16);
                for value in values {
                    if value == "NULL" {
                        out.put_i32(-1);
                    } else {
                        out.put_i32(value.len() as i32);
                        out.extend_from_slice(value.as_bytes());
                    }
                }
                out.put_u16(1);
                out.put_u16(u16::from(binary));
            });
        }
        "describe" | "close" => framed(out, if verb == "close" { b'C' } else { b'D' }, |out| {
            out.put_u8(first.as_bytes()[0]);
            put_strings(out, &[second.trim_start_matches('-')]);
        }),
        "execute" => framed(out, b'E', |out| {
            put_strings(out, &[first]);
            out.put_u32(second.parse().unwrap_or(0));
        }),
        "sync" => framed(out, b'S', |_| {}),
        "flush" => framed(out, b'H', |_| {}),
        "terminate" => framed(out, b'X', |_| {}),
        "copydata" => framed(out, b'd', |out| out.extend_from_slice(unescaped.as_bytes())),
        "copydone" => framed(out, b'c', |_| {}),
        "copyfail" => framed(out, b'f', |out| put_strings(out, &[rest])),
        _ => return false,
    }
    true
}

fn put_strings(out: &mut BytesMut, strings: &[&str]) {
    for string in strings {
        out.extend_from_slice(string.as_bytes());
        out.put_u8(0);
    }
}

fn framed(out: &mut BytesMut, kind: u8, body: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind);
    let start = out.len();
    out.put_u32(0);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Another server's answer.
fn answer(verb: &str, rest: &str) -> Message {
    let reply = match verb {
        "begun" => SessionReply::Begun,
        "executed" => {
            let (affected, rows) = rest.split_once(' ').unwrap_or((rest, ""));
            SessionReply::Executed { rows: parse_rows(rows), affected: affected.parse().expect("a count") }
        }
        "committed" => SessionReply::Committed { receipt: CommitReceipt::Nothing },
        "rolledback" => SessionReply::RolledBack,
        "marked" => SessionReply::Marked,
        "undone" => SessionReply::Undone,
        "failed" => SessionReply::Failed(failure(rest)),
        "described" => {
            // name:type,name:type ; type,type
            let (columns, parameters) = rest.split_once(';').unwrap_or((rest, ""));
            let columns = columns.trim().split(',').filter(|column| !column.is_empty()).map(|column| {
                let (name, data_type) = column.split_once(':').expect("name:type");
                ResultColumn { name: name.to_string(), column_type: parse_type(data_type), origin: (0, 0) }
            });
            let parameters = parameters.trim().split(',').filter(|name| !name.is_empty()).map(parse_type).collect();
            let reply = QueryReply::Described { columns: columns.collect(), parameters };
            return Message::QueryReply(SESSION, reply);
        }
        "rows" => {
            let (last, rows) = rest.split_once(' ').unwrap_or((rest, ""));
            return Message::QueryReply(SESSION, QueryReply::Rows { rows: parse_rows(rows), last: last == "last" });
        }
        "changed" => return Message::QueryReply(SESSION, QueryReply::Changed),
        "queryfailed" => return Message::QueryReply(SESSION, QueryReply::Failed(failure(rest))),
        other => panic!("unknown command: {other}"),
    };
    Message::SessionReply(SESSION, reply)
}

fn failure(kind: &str) -> Failure {
    let transaction = TransactionId { home: SiteId(2), incarnation: Incarnation(1), sequence: 5 };
    let mut key = Vec::new();
    values::key::append(&Value::Integer(7), &mut key);
    let item = Item { table: messages::TableId(20_001), key: Key::new(&key) };
    match kind {
        "conflict" => {
            let conflict = Conflict::on(item, ConflictKind::StaleRead, Some(transaction));
            Failure::Conflict { conflict }
        }
        "deadlock" => {
            let conflict = Conflict::on(item, ConflictKind::Deadlock, Some(transaction));
            Failure::Conflict { conflict }
        }
        "epoch" => Failure::Conflict { conflict: Conflict::of(ConflictKind::EpochChanged) },
        "given up" => Failure::Conflict { conflict: Conflict::of(ConflictKind::SnapshotGivenUp) },
        "duplicate" => Failure::Statement(Box::new(StatementFailure {
            sqlstate: "23505".to_string(),
            message: "duplicate key value violates unique constraint \"accounts_pkey\"".to_string(),
            detail: Some("Key (aid)=(1) already exists.".to_string()),
            hint: None,
            constraint: Some("accounts_pkey".to_string()),
        })),
        "cancelled" => Failure::Cancelled,
        "unknown" => Failure::Unknown { transaction, changed: Some(ChangedRows { first: item, others: 2 }) },
        "nameless" => Failure::Unknown { transaction: TransactionId::ZERO, changed: None },
        "unavailable" => Failure::Unavailable { reason: "no lease".to_string() },
        other => {
            let name = other.strip_prefix("schema ").expect("a failure");
            Failure::SchemaChanged { key: messages::schema::CatalogEntry::key(name) }
        }
    }
}

fn parse_type(name: &str) -> Type {
    name.trim().parse().expect("a type")
}

/// `1,a;2,NULL`: numbers are integers, all else is text.
fn parse_rows(text: &str) -> Vec<Vec<Value>> {
    let value = |text: &str| match text {
        "NULL" => Value::Null,
        text => match (text.parse::<i32>(), text.strip_suffix('L').and_then(|digits| digits.parse::<i64>().ok())) {
            (Ok(number), _) => Value::Integer(number),
            (_, Some(number)) => Value::BigInt(number),
            _ => match text.strip_suffix('d').map(str::parse) {
                Some(Ok(number)) => Value::Double(number),
                _ => Value::Text(Arc::from(text)),
            },
        },
    };
    text.split(';').filter(|row| !row.is_empty()).map(|row| row.split(',').map(value).collect()).collect()
}
