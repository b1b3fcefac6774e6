//! A client that sends anything at all, and servers that answer at any time: no panic, no growth, and what is sent is whole.

use bytes::BytesMut;
use messages::query::QueryReply;
use messages::session::{CommitReceipt, Failure, SessionReply};
use messages::{
    Envelope, EpochNumber, Incarnation, Message, Now, Outbox, Server, ServerKind, SessionId, SiteId, TransactionId,
};
use proptest::prelude::*;
use user_interface::{Config, UserInterface};
use values::{Type, Value};

const SESSION: SessionId = SessionId(1);
/// Output that a few small messages can bring: errors and the greeting.
const OUTPUT_BYTES_MAX: usize = 1 << 16;

fn text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "select",
        "1",
        "from",
        "t",
        "where",
        "a",
        "=",
        "$1",
        ";",
        "begin",
        "commit",
        "set raid.query_language = quel;",
        "retrieve (emp.name)",
        "range of e is emp",
        "rollback",
        "savepoint s",
        "insert into",
        "values",
        "(",
        ")",
        ",",
        "create table t (a int primary key, b text)",
        "drop table t",
        "copy t from stdin",
        "to stdout",
        "update t set b = 'x'",
        "delete from t",
        "set",
        "show all",
        "prepare p as",
        "execute p (1)",
        "explain",
        "'x",
        "''",
        "--",
        "count(*)",
        "order by a",
        "limit 1",
        "alter table t",
        "add column c int",
        "truncate t",
        "rename to u",
        "on conflict",
        "do nothing",
        "returning *",
        "and",
        "or",
        "not",
        "null",
        "::int",
        "release s",
        "rollback to s",
        "discard all",
    ]);
    prop::collection::vec(words, 0..8).prop_map(|words| words.join(" "))
}

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Well-formed messages, malformed ones of known kinds, and noise.
fn message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => text().prop_map(|text| frame(b'Q', format!("{text}\0").as_bytes())),
        4 => text().prop_map(|text| frame(b'P', format!("\0{text}\0\0\0").as_bytes())),
        3 => Just(frame(b'B', b"\0\0\0\0\0\0\0\0")),
        3 => Just(frame(b'B', b"\0\0\0\0\0\x01\0\0\0\x015\0\0")),
        2 => Just(frame(b'D', b"P\0")),
        4 => (0u8..3).prop_map(|rows| frame(b'E', &[0, 0, 0, 0, rows])),
        6 => Just(frame(b'S', b"")),
        1 => Just(frame(b'H', b"")),
        1 => Just(frame(b'C', b"S\0")),
        2 => prop::collection::vec(any::<u8>(), 0..12).prop_map(|data| frame(b'd', &data)),
        2 => Just(frame(b'd', b"1\tx\n")),
        1 => Just(frame(b'c', b"")),
        1 => Just(frame(b'f', b"no\0")),
        2 => (prop::sample::select(b"QPBDECSHdcf".to_vec()), prop::collection::vec(any::<u8>(), 0..16))
            .prop_map(|(kind, body)| frame(kind, &body)),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ]
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        Just(Failure::Cancelled),
        Just(Failure::Unknown { transaction: TransactionId::ZERO, changed: None }),
        Just(Failure::Unavailable { reason: "no lease".to_string() }),
        Just(Failure::SchemaChanged { key: messages::schema::CatalogEntry::key("t") }),
    ]
}

fn answer() -> impl Strategy<Value = Message> {
    let rows = || prop::collection::vec(Just(vec![Value::Integer(1), Value::Null]), 0..4);
    let session = prop_oneof![
        3 => Just(SessionReply::Begun),
        4 => (rows(), 0u64..3).prop_map(|(rows, affected)| SessionReply::Executed { rows, affected }),
        3 => Just(SessionReply::Committed { receipt: CommitReceipt::Nothing }),
        3 => Just(SessionReply::RolledBack),
        2 => Just(SessionReply::Marked),
        2 => Just(SessionReply::Undone),
        1 => failure().prop_map(SessionReply::Failed),
    ];
    let query = prop_oneof![
        2 => Just(QueryReply::Described { columns: Vec::new(), parameters: vec![Type::Integer] }),
        2 => (rows(), any::<bool>()).prop_map(|(rows, last)| QueryReply::Rows { rows, last }),
        1 => failure().prop_map(QueryReply::Failed),
        1 => Just(QueryReply::Call { function: 16_400, arguments: vec![Value::Integer(1)] }),
    ];
    prop_oneof![
        3 => session.prop_map(|reply| Message::SessionReply(SESSION, reply)),
        1 => query.prop_map(|reply| Message::QueryReply(SESSION, reply)),
    ]
}

#[derive(Clone, Debug)]
enum Event {
    Input(Vec<u8>),
    Answer(Message),
    Tick,
    NewLife,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        10 => message().prop_map(Event::Input),
        10 => answer().prop_map(Event::Answer),
        2 => Just(Event::Tick),
        1 => Just(Event::NewLife),
    ]
}

/// Whether the bytes are whole messages.
fn is_whole(mut bytes: &[u8]) -> bool {
    while let Some(word) = bytes.get(1..5) {
        let length = u32::from_be_bytes([word[0], word[1], word[2], word[3]]) as usize;
        match bytes.get(1 + length..) {
            Some(rest) => bytes = rest,
            None => return false,
        }
    }
    bytes.is_empty()
}

proptest! {
    /// Neither a broken client nor an answer that comes out of turn may take the site's event loop down with it.
    #[test]
    fn nothing_panics(events in prop::collection::vec(event(), 0..60)) {
        let mut interface = UserInterface::new(Config::new(SiteId(1), "test", "0.1.0", 100, 7));
        interface.open(SESSION);
        let mut now = Now { boot: 1, wall_micros: 1 };
        let mut life = 0;
        let mut input = BytesMut::from(&b"\0\0\0\x20\0\x03\0\0user\0eve\0database\0raid\0\0"[..]);
        let mut outbox = Outbox::default();
        for event in events {
            match event {
                Event::Input(bytes) => input.extend_from_slice(&bytes),
                Event::Answer(message) => {
                    let envelope = Envelope {
                        from_site: SiteId(1),
                        from: ServerKind::ActionDriver,
                        to_site: SiteId(1),
                        to: ServerKind::UserInterface,
                        epoch: EpochNumber(0),
                        incarnation: Incarnation(0),
                        message,
                    };
                    interface.handle(now, envelope, &mut outbox);
                }
                Event::Tick => {
                    now.boot += 2_000_000_000;
                    interface.tick(now, &mut outbox);
                }
                Event::NewLife => {
                    life += 1;
                    interface.new_life(Incarnation(life), Vec::new(), &mut outbox);
                }
            }
            interface.receive(now, SESSION, &mut input, &mut outbox);
            let output = interface.output(SESSION).expect("the session is open").split();
            prop_assert!(is_whole(&output), "{output:?}");
            prop_assert!(output.len() < OUTPUT_BYTES_MAX);
            prop_assert!(interface.pending().count() <= 1);
        }
        interface.close(SESSION, &mut outbox);
        prop_assert!(interface.output(SESSION).is_none());
    }
}

/// What a text brings in a fresh session.
fn answer_to(text: &str) -> (Vec<u8>, Outbox) {
    let mut interface = UserInterface::new(Config::new(SiteId(1), "test", "0.1.0", 100, 7));
    interface.open(SESSION);
    let now = Now { boot: 1, wall_micros: 1 };
    let mut input = BytesMut::from(&b"\0\0\0\x20\0\x03\0\0user\0eve\0database\0raid\0\0"[..]);
    interface.receive(now, SESSION, &mut input, &mut Outbox::default());
    let _ = interface.output(SESSION).expect("the session is open").split();
    let mut outbox = Outbox::default();
    let mut input = BytesMut::from(&frame(b'Q', format!("{text}\0").as_bytes())[..]);
    interface.receive(now, SESSION, &mut input, &mut outbox);
    let output = interface.output(SESSION).expect("the session is open").split();
    (output.to_vec(), outbox)
}

/// Long and deep statements must neither overflow the stack nor take time out of proportion: refused, or done.
#[test]
fn hostile_statements_are_refused_or_done() {
    let nested = |open: &str, close: &str, times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
    let refused = [
        format!("select {}1", "1+".repeat(1_900)),
        format!("select {}", nested("case ", " when 1 then 1 when 2 then 1 when 3 then 1 end", 60)),
        format!("select {}", nested("(", " between 1 and 2)", 60).replacen("1 between", "true between", 1)),
    ];
    for text in refused {
        let (output, outbox) = answer_to(&text);
        assert!(output.starts_with(b"E") && outbox.is_empty(), "{}", &text[..40]);
    }
    // What is nested as deeply as applications nest it is done.
    for text in
        [nested("nullif(", ", 2)", 100), nested("(", ")", 500), nested("(1 + ", ")", 100), nested("abs(", ")", 100)]
    {
        let (output, outbox) = answer_to(&format!("select {text}"));
        assert!(!output.starts_with(b"E") && !outbox.is_empty(), "{}", &text[..20]);
    }
    // Repeated, each of these makes a parser that goes back and tries again do so at every level.
    for piece in [
        "case ",
        "case (",
        "(",
        "f(",
        "x in (",
        "interval ",
        "interval not ",
        "interval case ",
        "interval - ",
        "interval interval 'x' ",
        "date ",
        "select ",
        "with x as (",
        "collate ",
        "any(",
        "row(",
        "union select ",
        "join t ",
        "natural join ",
        "extract(",
        "position(",
        "substring(",
        "trim(",
        "[",
        "lower(",
        "coalesce(",
        "count(",
        "convert(",
        "overlay(",
        "ceil(",
        "struct(",
        "map ",
        "try_cast(",
        "grouping(",
        "match(",
        "cube (",
        "with ",
        "on (",
        "values (",
        "as (",
        "order by (",
        "group by (",
        "unnest(",
        "lateral (",
        "t join (",
        "over (",
        "filter (where ",
        "{ ",
        "$1 ",
        "@ ",
        "any (",
        "= all (",
        "like (",
        "between (",
        "is not ",
        "current_date(",
        "cast(",
        "array[",
        "exists (",
        "not (",
        "a.",
        "x::",
        "-",
        "left(",
    ] {
        for times in [5, 6, 7, 8, 9, 10, 20, 60, 1_000] {
            for context in ["select ", "select * from ", "select 1 where ", "insert into t values "] {
                let (output, outbox) = answer_to(&format!("{context}{}", piece.repeat(times)));
                assert!(output.starts_with(b"E") || !outbox.is_empty(), "{context}{piece}");
            }
        }
    }
    let done = [
        format!("select {}1", "1+".repeat(150)),
        format!("select 1 where {} true", "1 = 1 and ".repeat(900)),
        format!("select 1 where {} true", "1 = 1 or ".repeat(900)),
        format!("select {}", nested("nullif(", ", 2)", 12)),
        format!("select 1 where 1 in (1{})", ", 2".repeat(100_000)),
        format!("{} select 1", "set work_mem = '1MB';".repeat(10_000)),
    ];
    for text in done {
        let (output, outbox) = answer_to(&text);
        assert_eq!(
            outbox.messages.len(),
            1,
            "{} {}",
            &text[..40],
            String::from_utf8_lossy(&output[..output.len().min(200)])
        );
    }
}

/// Connections that say nothing, or come when all places are taken, must not take a place for ever, and must be told why they are refused.
#[test]
fn silent_and_surplus_connections_do_not_stay() {
    let hello = &b"\0\0\0\x20\0\x03\0\0user\0eve\0database\0raid\0\0"[..];
    let mut interface = UserInterface::new(Config::new(SiteId(1), "test", "0.1.0", 100, 7));
    let mut outbox = Outbox::default();
    let at = |boot| Now { boot, wall_micros: 1 };
    let (silent, surplus, quiet) = (SessionId(1), SessionId(2), SessionId(3));
    interface.open(silent);
    interface.open(quiet);
    interface.open_refused(surplus);
    interface.receive(at(5), silent, &mut BytesMut::from(&hello[..6]), &mut outbox);
    interface.receive(at(5), quiet, &mut BytesMut::from(hello), &mut outbox);
    interface.receive(at(5), surplus, &mut BytesMut::from(hello), &mut outbox);
    let told = interface.output(surplus).expect("the session is open").split();
    assert!(told.starts_with(b"E") && told.windows(5).any(|window| window == b"53300"), "{told:?}");
    assert!(interface.finished(surplus));
    let begun = 10_000_000_000_000;
    interface.tick(at(begun), &mut outbox);
    interface.tick(at(begun + user_interface::limits::STARTUP_PATIENCE - 1), &mut outbox);
    assert!(!interface.finished(silent), "a slow connection has its time");
    interface.tick(at(begun + user_interface::limits::STARTUP_PATIENCE), &mut outbox);
    assert!(interface.finished(silent), "a silent connection keeps its place");
    assert!(interface.pending().any(|session| session == silent), "nobody would close its socket");
    assert!(!interface.finished(quiet), "a session that has said who it is may be idle");
}
