//! Isolation levels below the strict one, beside PostgreSQL: the schedules that Kleppmann's "Hermitage" plays, and what several sites add to them.
//!
//! Invariant: a step that waits for another session is said to, so that the order of all others is the order in which they are written.

use crate::harness::{World, eventually};
use crate::throwaway_postgres::Postgres;
use postgres::{Client, NoTls, SimpleQueryMessage};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// So long a step may take that waits for nobody.
const PATIENCE: Duration = Duration::from_secs(60);

/// A step: whose it is, and what is done.
type Step = (usize, &'static str);

struct Schedule {
    name: &'static str,
    steps: &'static [Step],
    /// Places of steps that wait, at READ COMMITTED and REPEATABLE READ alike, for one of the session before them.
    waiting: &'static [usize],
}

const SCHEDULES: [Schedule; 13] = [
    Schedule {
        name: "dirty write (G0)",
        steps: &[
            (1, "UPDATE test SET value = 11 WHERE id = 1"),
            (2, "UPDATE test SET value = 12 WHERE id = 1"),
            (1, "UPDATE test SET value = 21 WHERE id = 2"),
            (1, "COMMIT"),
            (1, "SELECT * FROM test ORDER BY id"),
            (2, "UPDATE test SET value = 22 WHERE id = 2"),
            (2, "COMMIT"),
        ],
        waiting: &[1],
    },
    Schedule {
        name: "aborted read (G1a)",
        steps: &[
            (1, "UPDATE test SET value = 101 WHERE id = 1"),
            (2, "SELECT * FROM test ORDER BY id"),
            (1, "ROLLBACK"),
            (2, "SELECT * FROM test ORDER BY id"),
            (2, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "intermediate read (G1b)",
        steps: &[
            (1, "UPDATE test SET value = 101 WHERE id = 1"),
            (2, "SELECT * FROM test ORDER BY id"),
            (1, "UPDATE test SET value = 11 WHERE id = 1"),
            (1, "COMMIT"),
            (2, "SELECT * FROM test ORDER BY id"),
            (2, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "circular information flow (G1c)",
        steps: &[
            (1, "UPDATE test SET value = 11 WHERE id = 1"),
            (2, "UPDATE test SET value = 22 WHERE id = 2"),
            (1, "SELECT * FROM test WHERE id = 2"),
            (2, "SELECT * FROM test WHERE id = 1"),
            (1, "COMMIT"),
            (2, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "observed transaction vanishes (OTV)",
        steps: &[
            (1, "UPDATE test SET value = 11 WHERE id = 1"),
            (1, "UPDATE test SET value = 19 WHERE id = 2"),
            (2, "UPDATE test SET value = 12 WHERE id = 1"),
            (1, "COMMIT"),
            (3, "SELECT * FROM test WHERE id = 1"),
            (2, "UPDATE test SET value = 18 WHERE id = 2"),
            (3, "SELECT * FROM test WHERE id = 2"),
            (2, "COMMIT"),
            (3, "SELECT * FROM test WHERE id = 2"),
            (3, "SELECT * FROM test WHERE id = 1"),
            (3, "COMMIT"),
        ],
        waiting: &[2],
    },
    Schedule {
        name: "predicate-many-preceders (PMP)",
        steps: &[
            (1, "SELECT * FROM test WHERE value = 30"),
            (2, "INSERT INTO test VALUES (3, 30)"),
            (2, "COMMIT"),
            (1, "SELECT * FROM test WHERE value % 3 = 0"),
            (1, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "lost update (P4)",
        steps: &[
            (1, "SELECT * FROM test WHERE id = 1"),
            (2, "SELECT * FROM test WHERE id = 1"),
            (1, "UPDATE test SET value = 11 WHERE id = 1"),
            (2, "UPDATE test SET value = 11 WHERE id = 1"),
            (1, "COMMIT"),
            (2, "COMMIT"),
        ],
        waiting: &[3],
    },
    Schedule {
        name: "read skew (G-single)",
        steps: &[
            (1, "SELECT * FROM test WHERE id = 1"),
            (2, "SELECT * FROM test ORDER BY id"),
            (2, "UPDATE test SET value = 12 WHERE id = 1"),
            (2, "UPDATE test SET value = 18 WHERE id = 2"),
            (2, "COMMIT"),
            (1, "SELECT * FROM test WHERE id = 2"),
            (1, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "read skew, by predicates",
        steps: &[
            (1, "SELECT * FROM test WHERE value % 5 = 0 ORDER BY id"),
            (2, "UPDATE test SET value = 12 WHERE value = 10"),
            (2, "COMMIT"),
            (1, "SELECT * FROM test WHERE value % 3 = 0"),
            (1, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "read skew, by a predicate that is written by",
        steps: &[
            (1, "SELECT * FROM test WHERE id = 1"),
            (2, "SELECT * FROM test ORDER BY id"),
            (2, "UPDATE test SET value = 12 WHERE id = 1"),
            (2, "UPDATE test SET value = 18 WHERE id = 2"),
            (2, "COMMIT"),
            (1, "DELETE FROM test WHERE value = 20"),
            (1, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "write skew (G2-item)",
        steps: &[
            (1, "SELECT * FROM test WHERE id IN (1, 2) ORDER BY id"),
            (2, "SELECT * FROM test WHERE id IN (1, 2) ORDER BY id"),
            (1, "UPDATE test SET value = 11 WHERE id = 1"),
            (2, "UPDATE test SET value = 21 WHERE id = 2"),
            (1, "COMMIT"),
            (2, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "anti-dependency cycle (G2)",
        steps: &[
            (1, "SELECT * FROM test WHERE value % 3 = 0"),
            (2, "SELECT * FROM test WHERE value % 3 = 0"),
            (1, "INSERT INTO test VALUES (3, 30)"),
            (2, "INSERT INTO test VALUES (4, 42)"),
            (1, "COMMIT"),
            (2, "COMMIT"),
        ],
        waiting: &[],
    },
    Schedule {
        name: "a join and an aggregate are read at one moment",
        steps: &[
            (1, "SELECT count(*), sum(a.value + b.value) FROM test a JOIN test b ON a.id < b.id"),
            (2, "UPDATE test SET value = value + 1"),
            (2, "COMMIT"),
            (1, "SELECT count(*), sum(a.value + b.value) FROM test a JOIN test b ON a.id < b.id"),
            (1, "UPDATE test SET value = 0 WHERE id = 9"),
            (1, "COMMIT"),
        ],
        waiting: &[],
    },
];

/// A session that does what it is told, one thing after the other.
struct Player {
    told: Sender<&'static str>,
    answers: Receiver<String>,
    owes: Option<usize>,
}

impl Player {
    fn new(mut client: Client) -> Player {
        let (told, tasks) = channel::<&'static str>();
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for sql in tasks {
                if sender.send(answer(&mut client, sql)).is_err() {
                    return;
                }
            }
        });
        Player { told, answers, owes: None }
    }

    fn ask(&mut self, sql: &'static str) -> String {
        self.told.send(sql).expect("it plays");
        self.take()
    }

    fn take(&mut self) -> String {
        self.answers.recv_timeout(PATIENCE).expect("a step that waits for nobody ends")
    }
}

/// Rows, or what went wrong.
fn answer(client: &mut Client, sql: &str) -> String {
    match client.simple_query(sql) {
        Ok(messages) => messages.iter().filter_map(shown).collect::<Vec<_>>().join(" "),
        Err(error) => error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned()),
    }
}

fn shown(message: &SimpleQueryMessage) -> Option<String> {
    match message {
        SimpleQueryMessage::Row(row) => {
            let values: Vec<&str> = (0..row.len()).map(|column| row.get(column).unwrap_or("-")).collect();
            Some(format!("({})", values.join(" ")))
        }
        SimpleQueryMessage::CommandComplete(rows) => Some(rows.to_string()),
        _ => None,
    }
}

/// What each step comes to, and what is left of the table.
fn play(connect: &dyn Fn() -> Client, level: &str, schedule: &Schedule) -> Vec<String> {
    let mut admin = connect();
    let made = "DROP TABLE IF EXISTS test; CREATE TABLE test (id int PRIMARY KEY, value int); \
                INSERT INTO test VALUES (1, 10), (2, 20)";
    admin.batch_execute(made).expect("a table");
    let mut players: Vec<Player> = (0..3)
        .map(|_| {
            let mut client = connect();
            // Snapshots are taken before any of the steps: a step that waits may reach its server late.
            client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}; SELECT FROM test")).expect("a block");
            Player::new(client)
        })
        .collect();
    let mut found = vec![String::new(); schedule.steps.len()];
    for (place, (session, sql)) in schedule.steps.iter().enumerate() {
        let player = &mut players[session - 1];
        if let Some(waited) = player.owes.take() {
            found[waited] = player.take();
        }
        if schedule.waiting.contains(&place) {
            player.told.send(sql).expect("it plays");
            player.owes = Some(place);
        } else {
            found[place] = player.ask(sql);
        }
    }
    drop(players);
    found.push(answer(&mut admin, "SELECT * FROM test ORDER BY id"));
    found
}

fn connect_to(address: SocketAddr) -> Client {
    let url = format!("host={} port={} user=raid dbname=raid", address.ip(), address.port());
    Client::connect(&url, NoTls).expect("it lets us in")
}

/// If this fails, an application that relies on what a level forbids, or on what it does not abort, works on PostgreSQL and not here.
#[test]
fn levels_forbid_what_those_of_postgresql_forbid() {
    let Some(postgres) = Postgres::start() else { return };
    let world = World::start();
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        for schedule in &SCHEDULES {
            let here = play(&|| world.connect(1), level, schedule);
            let there = play(&|| connect_to(postgres.address), level, schedule);
            assert_eq!(here, there, "{level}, {}: {:?}", schedule.name, schedule.steps);
        }
    }
}

/// If this fails, SHOW says something else than what is done, or a level is taken that no transaction has.
#[test]
fn what_is_asked_for_is_what_is_shown() {
    let world = World::start();
    let mut client = world.connect(1);
    let mut show = |sql: &str| answer(&mut client, sql);
    assert_eq!(show("SHOW transaction_isolation"), "(serializable) 0");
    show("BEGIN ISOLATION LEVEL READ UNCOMMITTED");
    assert_eq!(show("SHOW TRANSACTION ISOLATION LEVEL"), "(read uncommitted) 0");
    show("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(show("SELECT current_setting('transaction_isolation')"), "(repeatable read) 1");
    assert_eq!(show("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"), "25001");
    show("ROLLBACK");
    show("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED");
    assert_eq!(show("SHOW default_transaction_isolation"), "(read committed) 0");
    show("BEGIN");
    assert_eq!(show("SHOW transaction_isolation"), "(read committed) 0");
    show("COMMIT AND CHAIN");
    assert_eq!(show("SHOW transaction_isolation"), "(read committed) 0");
    show("COMMIT");
    assert_eq!(show("SET default_transaction_isolation = 'snapshot'"), "22023");
    assert_eq!(show("BEGIN ISOLATION LEVEL SNAPSHOT"), "42601");
}

/// If this fails, a client of a weaker level misses what was acknowledged at another site before it asked, or what another site has overwritten is lost.
#[test]
fn levels_hold_between_sites() {
    let world = World::start();
    let [mut one, mut two, mut three] = [1, 2, 3].map(|site| world.connect(site));
    one.batch_execute("CREATE TABLE test (id int PRIMARY KEY, value int); INSERT INTO test VALUES (1, 0), (2, 0)")
        .expect("a table");
    eventually("the table to be known", || three.batch_execute("SELECT * FROM test").is_ok());
    two.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").expect("a block");
    three.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY").expect("a block");
    for round in 1..=200 {
        one.batch_execute("UPDATE test SET value = value + 1 WHERE id = 1").expect("an update");
        for reader in [&mut two, &mut three] {
            assert_eq!(answer(reader, "SELECT value FROM test WHERE id = 1"), format!("({round}) 1"));
        }
    }
    // It has read the row a hundred times, and loses nothing by that.
    assert_eq!(answer(&mut two, "UPDATE test SET value = 7 WHERE id = 2"), "1");
    assert_eq!(answer(&mut two, "COMMIT"), "0");
    assert_eq!(answer(&mut three, "UPDATE test SET value = 8 WHERE id = 2"), "25006");
    three.batch_execute("ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ").expect("a block");
    assert_eq!(answer(&mut three, "SELECT value FROM test WHERE id = 2"), "(7) 1");
    one.batch_execute("UPDATE test SET value = 9 WHERE id = 2").expect("an update");
    assert_eq!(answer(&mut three, "SELECT value FROM test WHERE id = 2"), "(7) 1");
    assert_eq!(answer(&mut three, "UPDATE test SET value = 10 WHERE id = 2"), "40001");
    assert_eq!(answer(&mut one, "SELECT value FROM test WHERE id = 2"), "(9) 1");
}

/// If this fails, an operator who gives an application's role a level has given it nothing, or a client cannot choose for itself any more.
#[test]
fn sessions_begin_with_what_their_role_has() {
    let world = World::start();
    let mut admin = world.connect(1);
    for sql in [
        "CREATE ROLE shop LOGIN",
        "ALTER ROLE ALL SET default_transaction_isolation = 'repeatable read'",
        "ALTER ROLE ALL SET application_name = 'everybody'",
        "ALTER DATABASE raid SET application_name = 'of raid'",
        "ALTER ROLE shop SET default_transaction_isolation = 'read committed'",
    ] {
        admin.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let level = |site: u16, more: &str| {
        let address = world.sql(site);
        let url = format!("host={} port={} user=shop dbname=raid {more}", address.ip(), address.port());
        let mut client = Client::connect(&url, NoTls).expect("it lets us in");
        answer(&mut client, "SELECT current_setting('transaction_isolation'), current_setting('application_name')")
    };
    eventually("the role's level to be known at another site", || level(2, "") == "(read committed of raid) 1");
    assert_eq!(level(1, ""), "(read committed of raid) 1");
    let own = "application_name=mine options='-c default_transaction_isolation=serializable'";
    assert_eq!(level(1, own), "(serializable mine) 1");
    admin.batch_execute("ALTER ROLE shop RESET ALL; ALTER DATABASE raid RESET ALL").expect("it is reset");
    eventually("what all roles have to be left", || level(2, "") == "(repeatable read everybody) 1");
}
