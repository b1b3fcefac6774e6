//! Several databases in one instance: as PostgreSQL has them, and what the other sites know of them.

use crate::answers::{Answer, Wire};
use crate::harness::{World, eventually};
use crate::throwaway_postgres::Postgres;
use laboratory::debit_credit::explain;
use local_cluster::process::ProcessName;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Each line is a statement, behind the session that says it: `database` or `database/role`. A session begins with its first statement, and ends with `\q`.
const SCRIPT: &str = r"
postgres      CREATE DATABASE shop
postgres      CREATE DATABASE shop
postgres      BEGIN
postgres      CREATE DATABASE inside
postgres      ROLLBACK
postgres      CREATE DATABASE other TEMPLATE nothing
postgres      CREATE DATABASE other ENCODING 'nothing of the kind'
postgres      CREATE DATABASE other CONNECTION LIMIT -7
postgres      CREATE DATABASE other TABLESPACE nowhere
postgres      CREATE DATABASE other COLOUR blue
postgres      CREATE DATABASE other OWNER nobody
postgres      CREATE DATABASE other TEMPLATE template0 TEMPLATE template0
postgres      CREATE DATABASE other WITH TEMPLATE = template0 ENCODING = 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' CONNECTION LIMIT 3 IS_TEMPLATE false
postgres      SELECT datname, datistemplate, datallowconn, datconnlimit FROM pg_database WHERE datname IN ('shop', 'other', 'template0') ORDER BY 1
shop          CREATE TABLE t (a int PRIMARY KEY, b text)
other         CREATE TABLE t (a serial PRIMARY KEY, c int UNIQUE)
shop          INSERT INTO t VALUES (1, 'in shop')
other         INSERT INTO t (c) VALUES (7), (8)
shop          SELECT * FROM t
other         SELECT * FROM t ORDER BY a
shop          SELECT current_database(), current_catalog
other         SELECT current_database(), current_catalog
postgres      SELECT * FROM t
shop          SELECT * FROM other.public.t
shop          CREATE SCHEMA s
shop          CREATE TABLE s.u AS SELECT a + 1 AS a FROM t
other         SELECT * FROM s.u
shop          SELECT u.a, t.b FROM s.u JOIN t ON t.a = u.a - 1
shop          CREATE TYPE mood AS ENUM ('good', 'bad')
other         SELECT 'good'::mood
shop          CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT 2 * n'
shop          SELECT twice(4)
other         SELECT twice(4)
shop          CREATE VIEW v AS SELECT b FROM t
other         CREATE VIEW v AS SELECT c FROM t
shop          SELECT * FROM v
other         SELECT * FROM v ORDER BY 1
shop          CREATE TEMP TABLE mine (a int)
shop          INSERT INTO mine VALUES (3)
shop          SELECT * FROM mine
other         SELECT * FROM mine
shop          UPDATE t SET b = 'changed' WHERE a = 1
other         DELETE FROM t WHERE c = 8
shop          SELECT count(*) FROM t
other         SELECT count(*) FROM t
other         ALTER TABLE t ADD COLUMN d text DEFAULT 'd'
shop          SELECT * FROM t
other         SELECT * FROM t
shop          SELECT pg_try_advisory_lock(7)
other         SELECT pg_try_advisory_lock(7)
shop          SELECT count(*) FROM pg_class WHERE relname = 't'
shop          SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1
other         SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1
other         SELECT table_catalog, table_schema, table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 3
postgres      DROP DATABASE shop
postgres      ALTER DATABASE shop RENAME TO store
shop          DROP DATABASE shop
shop          ALTER DATABASE shop RENAME TO store
shop          \q
postgres      ALTER DATABASE shop RENAME TO other
postgres      ALTER DATABASE shop RENAME TO store
postgres      ALTER DATABASE shop RENAME TO store
shop          SELECT 1
store         SELECT * FROM t
store         SELECT current_database()
store         \q
postgres      CREATE ROLE alice LOGIN
postgres      CREATE ROLE bob LOGIN CREATEDB
other/alice   SELECT current_user
other/alice   CREATE DATABASE hers
other/alice   SELECT * FROM t
other/alice   \q
postgres      REVOKE CONNECT ON DATABASE store FROM PUBLIC
postgres      GRANT CONNECT, CREATE ON DATABASE store TO bob
postgres      GRANT CONNECT ON DATABASE nothing TO bob
postgres      SELECT has_database_privilege('alice', 'store', 'CONNECT'), has_database_privilege('bob', 'store', 'CONNECT'), has_database_privilege('bob', 'other', 'CREATE')
postgres      SELECT datacl::text FROM pg_database WHERE datname = 'store'
store/alice   SELECT 1
store/bob     SELECT current_database()
store/bob     CREATE SCHEMA bobs
store/bob     DROP DATABASE store
store/bob     ALTER DATABASE store CONNECTION LIMIT 4
store/bob     CREATE DATABASE bobs OWNER alice
store/bob     CREATE DATABASE bobs
store/bob     CREATE DATABASE copied TEMPLATE store
postgres      CREATE DATABASE copied TEMPLATE store
postgres      SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'bobs'
bobs/bob      CREATE TABLE owned (a int)
bobs/bob      COMMENT ON DATABASE bobs IS 'of bob'
bobs/bob      COMMENT ON DATABASE store IS 'not of bob'
bobs/bob      SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'bobs'
bobs/bob      \q
store/bob     \q
postgres      DROP ROLE bob
postgres      ALTER DATABASE bobs OWNER TO alice
postgres      ALTER DATABASE nothing OWNER TO alice
postgres      SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'bobs'
bobs/alice    CREATE TABLE hers (a int)
bobs/alice    \q
postgres      ALTER DATABASE bobs CONNECTION LIMIT 0
bobs/alice    SELECT 1
postgres      ALTER DATABASE bobs ALLOW_CONNECTIONS false
bobs          SELECT 1
template0     SELECT 1
nothing       SELECT 1
nothing/alice SELECT 1
postgres      ALTER DATABASE bobs ALLOW_CONNECTIONS true CONNECTION LIMIT 5
postgres      ALTER DATABASE nothing CONNECTION LIMIT 5
postgres      ALTER DATABASE bobs COLOUR blue
postgres      ALTER DATABASE bobs SET work_mem = '77MB'
postgres      ALTER DATABASE other SET work_mem = '66MB'
bobs          SHOW work_mem
other/alice   SHOW work_mem
postgres      SELECT datname, setconfig FROM pg_db_role_setting JOIN pg_database ON setdatabase = pg_database.oid ORDER BY 1
postgres      ALTER DATABASE bobs RESET ALL
postgres      ALTER DATABASE bobs IS_TEMPLATE true
bobs          \q
postgres      DROP DATABASE bobs
postgres      ALTER DATABASE bobs IS_TEMPLATE false
postgres      DROP DATABASE bobs
postgres      DROP DATABASE bobs
postgres      DROP DATABASE IF EXISTS bobs
postgres      DROP DATABASE template1
postgres      DROP DATABASE postgres
postgres      DROP DATABASE store WITH (GENTLY)
postgres      DROP DATABASE other (FORCE)
postgres      SELECT datname FROM pg_database WHERE datname <> 'raid' ORDER BY 1
postgres      CREATE DATABASE other
other         SELECT * FROM t
postgres      DROP DATABASE store WITH (FORCE)
postgres      DROP ROLE bob
postgres      DROP ROLE alice
";

/// Lines that Raid refuses with 0A000 where PostgreSQL does something, or says that a session is in the way.
const REFUSED: &[&str] = &["postgres      CREATE DATABASE copied TEMPLATE store"];

/// Sessions of one server by database and role.
struct Sessions {
    address: SocketAddr,
    known: BTreeMap<String, Wire>,
}

impl Sessions {
    fn at(address: SocketAddr) -> Sessions {
        Sessions { address, known: BTreeMap::new() }
    }

    fn say(&mut self, session: &str, statement: &str) -> Answer {
        if statement == r"\q" {
            self.known.remove(session);
            return Answer::default();
        }
        if !self.known.contains_key(session) {
            let (database, role) = session.split_once('/').unwrap_or((session, "raid"));
            match Wire::try_connect(self.address, role, database) {
                Ok(wire) => drop(self.known.insert(session.to_owned(), wire)),
                Err(refused) => return refused,
            }
        }
        self.known.get_mut(session).expect("it has begun").simple(statement, None)
    }

    /// Waits until a session that has ended counts no more.
    fn settle(&mut self, session: &str) {
        let database = session.split('/').next().unwrap_or(session);
        let others = self.known.keys().filter(|known| known.split('/').next() == Some(database)).count();
        let count = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'");
        eventually("a session to be gone", || self.say("postgres", &count).lines.contains(&format!("row {others}")));
    }
}

/// If this fails, a statement about a database, or in one, is answered as PostgreSQL does not; or what is in one is seen in another.
#[test]
fn databases_are_as_in_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    let world = World::start();
    let (mut raid, mut postgres) = (Sessions::at(world.sql(1)), Sessions::at(postgres.address));
    let mut wrong = String::new();
    for line in SCRIPT.lines().filter(|line| !line.is_empty()) {
        let (session, statement) = line.split_once(' ').expect("a session and a statement");
        let statement = statement.trim();
        let (own, mut wanted) = (raid.say(session, statement), postgres.say(session, statement));
        // Names in the system's relations have the type text in Raid.
        wanted.lines.iter_mut().for_each(|line| *line = line.replace(":19:64:-1", ":25:-1:-1"));
        if statement == r"\q" {
            raid.settle(session);
            postgres.settle(session);
            continue;
        }
        if REFUSED.contains(&line) {
            assert_eq!(own.error(), Some("0A000"), "{line}");
            continue;
        }
        if own != wanted {
            wrong.push_str(&format!("{line}\n  raid: {own:?}\n  postgresql: {wanted:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// If this fails, a database is known late at other sites, sessions go on in one that was dropped elsewhere, or something is left of it.
#[test]
fn databases_are_the_same_at_all_sites() {
    let mut world = World::start();
    let enter = |world: &World, site: u16, database: &str| {
        let address = world.sql(site);
        let mut config = postgres::Config::new();
        config.host(&address.ip().to_string()).port(address.port()).user("raid").dbname(database);
        config.connect(postgres::NoTls)
    };
    let mut one = world.connect(1);
    for round in 0..20 {
        one.batch_execute(&format!("CREATE DATABASE shop{round}")).expect("a database");
        let mut other = enter(&world, 2, &format!("shop{round}")).expect("it is known at once");
        other.batch_execute("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)").expect("a table");
    }
    let mut here = enter(&world, 1, "shop0").expect("shop");
    let mut there = enter(&world, 2, "shop0").expect("shop");
    let mut elsewhere = enter(&world, 2, "shop1").expect("another");

    // A session with long statements is at another thread of its site.
    let rows: Vec<String> = (2..4_000).map(|row| format!("({row})")).collect();
    elsewhere.batch_execute(&format!("INSERT INTO t VALUES {}", rows.join(", "))).expect("the table is known there");
    let count = elsewhere.query_one("SELECT count(*) FROM t", &[]).expect("an answer");
    assert_eq!(count.get::<_, i64>(0), 3_999);

    here.batch_execute("LISTEN news").expect("it listens");
    there.batch_execute("NOTIFY news, 'of shop'").expect("it is said");
    elsewhere.batch_execute("NOTIFY news, 'of another'").expect("it is said");
    there.batch_execute("NOTIFY news, 'the last'").expect("it is said");
    let mut heard = Vec::new();
    eventually("what is said in the database to be heard", || {
        here.batch_execute("SELECT 1").expect("it goes on");
        while let Ok(Some(told)) = next_heard(&mut here) {
            heard.push(told);
        }
        heard.len() >= 2
    });
    assert_eq!(heard, ["of shop", "the last"]);

    there.batch_execute("BEGIN; CREATE TABLE late (a int)").expect("not committed yet");
    drop(here);
    eventually("the database to be dropped", || one.batch_execute("DROP DATABASE shop0").is_ok());
    let lost = there.batch_execute("COMMIT").expect_err("its database is gone");
    // Without a code the connection is closed.
    assert!(lost.code().is_none_or(|code| ["57P04", "40001"].contains(&code.code())), "{}", explain(&lost));
    eventually("the session to be ended", || there.batch_execute("SELECT 1").is_err());
    one.batch_execute("CREATE DATABASE shop0").expect("another of this name");
    let mut again = enter(&world, 2, "shop0").expect("it is new");
    let tables =
        again.query_one("SELECT count(*) FROM pg_class WHERE relname IN ('t', 'late')", &[]).expect("an answer");
    assert_eq!(tables.get::<_, i64>(0), 0);

    drop((one, there, elsewhere, again));
    for site in [1, 2, 3] {
        world.kill(site);
    }
    for site in [1, 2, 3] {
        world.start_again(ProcessName::Site(site));
    }
    world.wait_until_repaired();
    let mut back = enter(&world, 3, "shop7").expect("it is still there");
    assert_eq!(back.query_one("SELECT a FROM t", &[]).expect("its row").get::<_, i32>(0), 1);
}

/// The payload of the next notification that has come.
fn next_heard(client: &mut postgres::Client) -> Result<Option<String>, postgres::Error> {
    use postgres::fallible_iterator::FallibleIterator;
    Ok(client.notifications().iter().next()?.map(|told| told.payload().to_owned()))
}
