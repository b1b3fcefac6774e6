//! What a role may do: every kind of statement with every privilege, beside a PostgreSQL of our own.
//!
//! Each line of [`STATES`] is what a role called `actor` has; each of [`STATEMENTS`] is tried by it, and taken back. Verdict, SQLSTATE and message have to be
//! PostgreSQL's. What is refused with 0A000 stands in [`UNSUPPORTED`].

use crate::answers::{Answer, Wire};
use crate::harness::{World, eventually};
use crate::throwaway_postgres::Postgres;
use std::fmt::Write as _;

/// What there is, made by a superuser.
const OBJECTS: &str = "
    CREATE TABLE t (a int PRIMARY KEY, b int, c text);
    CREATE TABLE u (a int PRIMARY KEY, d text);
    CREATE INDEX t_b ON t (b);
    INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y');
    INSERT INTO u VALUES (1, 'z');
    CREATE MATERIALIZED VIEW z AS SELECT a FROM u;
    CREATE PROCEDURE p(n int) LANGUAGE SQL AS 'UPDATE t SET b = n WHERE a = 1';
    CREATE FUNCTION f(n int) RETURNS int LANGUAGE SQL AS 'SELECT b FROM t WHERE a = n';
    GRANT SELECT ON u TO PUBLIC;
    GRANT CREATE ON SCHEMA public TO maker";

const ROLES: &str =
    "CREATE ROLE actor; CREATE ROLE other; CREATE ROLE team; CREATE ROLE lone NOINHERIT; CREATE ROLE maker";

/// What the role has: a name, and what a superuser says before.
const STATES: &[(&str, &str)] = &[
    ("nothing", ""),
    ("SELECT", "GRANT SELECT ON t TO actor"),
    ("INSERT", "GRANT INSERT ON t TO actor"),
    ("UPDATE", "GRANT UPDATE ON t TO actor"),
    ("DELETE", "GRANT DELETE ON t TO actor"),
    ("TRUNCATE", "GRANT TRUNCATE ON t TO actor"),
    ("REFERENCES, TRIGGER", "GRANT REFERENCES, TRIGGER ON t TO actor"),
    ("SELECT, INSERT", "GRANT SELECT, INSERT ON TABLE t TO actor"),
    ("SELECT, UPDATE", "GRANT SELECT, UPDATE ON t TO actor"),
    ("SELECT, DELETE", "GRANT SELECT, DELETE ON t TO actor"),
    ("SELECT, INSERT, UPDATE", "GRANT SELECT, INSERT, UPDATE ON t TO actor"),
    ("ALL", "GRANT ALL ON t TO actor"),
    ("SELECT (a)", "GRANT SELECT (a) ON t TO actor"),
    ("SELECT (b, c)", "GRANT SELECT (b, c) ON t TO actor"),
    ("INSERT (a, b)", "GRANT INSERT (a, b) ON t TO actor"),
    ("UPDATE (b)", "GRANT UPDATE (b) ON t TO actor"),
    ("UPDATE (b), SELECT (a, b)", "GRANT UPDATE (b), SELECT (a, b) ON t TO actor"),
    ("grant option", "GRANT SELECT, INSERT (a) ON t TO actor WITH GRANT OPTION"),
    ("PUBLIC", "GRANT SELECT, DELETE ON t TO PUBLIC"),
    ("all tables", "GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA public TO actor"),
    ("through a role", "GRANT ALL ON t TO team; GRANT team TO actor"),
    ("through two", "GRANT SELECT ON t TO team; GRANT team TO maker; GRANT maker TO actor WITH ADMIN OPTION"),
    ("not through NOINHERIT", "GRANT SELECT ON t TO team; GRANT team TO lone; GRANT lone TO actor"),
    (
        "owner",
        "GRANT CREATE ON SCHEMA public TO actor; ALTER TABLE t OWNER TO actor; ALTER PROCEDURE p(int) OWNER TO actor; ALTER FUNCTION f(int) OWNER TO actor",
    ),
    ("owner without CREATE", "ALTER TABLE t OWNER TO actor; ALTER PROCEDURE p(int) OWNER TO actor"),
    ("owner that took SELECT from itself", "ALTER TABLE t OWNER TO actor; REVOKE SELECT ON t FROM actor"),
    ("owner's member", "ALTER TABLE t OWNER TO team; GRANT team TO actor"),
    ("CREATE", "GRANT CREATE ON SCHEMA public TO actor"),
    ("no USAGE", "GRANT ALL ON t TO actor; REVOKE USAGE ON SCHEMA public FROM PUBLIC"),
    (
        "no EXECUTE",
        "GRANT ALL ON t TO actor; REVOKE EXECUTE ON PROCEDURE p(int) FROM PUBLIC; REVOKE EXECUTE ON FUNCTION f(int) FROM PUBLIC",
    ),
    ("pg_read_all_data", "GRANT pg_read_all_data TO actor"),
    ("pg_write_all_data", "GRANT pg_write_all_data TO actor"),
    ("both", "GRANT pg_read_all_data, pg_write_all_data TO actor"),
    ("CREATEROLE", "ALTER ROLE actor CREATEROLE"),
    ("SUPERUSER", "ALTER ROLE actor SUPERUSER"),
    ("revoked", "GRANT ALL ON t TO actor; GRANT SELECT (a) ON t TO actor; REVOKE SELECT, UPDATE ON t FROM actor"),
];

/// What it tries.
const STATEMENTS: &[&str] = &[
    "SELECT * FROM t ORDER BY a",
    "SELECT a FROM t WHERE a = 1",
    "SELECT b FROM t WHERE a = 1",
    "SELECT b FROM t WHERE b = 10",
    "SELECT count(*) FROM t",
    "SELECT 1 FROM t LIMIT 1",
    "SELECT a FROM public.t ORDER BY a",
    "SELECT sum(b) FROM t GROUP BY c ORDER BY 1",
    "SELECT x.a FROM t x JOIN u y ON x.a = y.a",
    "SELECT d FROM u WHERE a IN (SELECT a FROM t WHERE b > 1)",
    "SELECT d FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.a = u.a)",
    "WITH w AS (SELECT b FROM t) SELECT count(*) FROM w",
    "SELECT a FROM (SELECT a, b FROM t) s ORDER BY a",
    "SELECT a FROM t UNION SELECT a FROM u ORDER BY 1",
    "SELECT a FROM u ORDER BY a",
    "SELECT a FROM t WHERE a = 1 FOR UPDATE",
    "UPDATE t SET b = 1 WHERE a = (SELECT a FROM t ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED)",
    "LOCK TABLE t IN ACCESS SHARE MODE",
    "LOCK TABLE t IN ROW EXCLUSIVE MODE",
    "LOCK TABLE t IN SHARE MODE",
    "LOCK TABLE t",
    "INSERT INTO t VALUES (3, 30, 'z')",
    "INSERT INTO t (a) VALUES (3)",
    "INSERT INTO t (a, b) VALUES (3, 4)",
    "INSERT INTO t (a, c) VALUES (3, 'q')",
    "INSERT INTO t (a) VALUES (3) RETURNING a",
    "INSERT INTO t (a, b) VALUES (3, 4) RETURNING b",
    "INSERT INTO t (a, b) SELECT a + 5, 1 FROM u",
    "INSERT INTO u (a) SELECT a + 5 FROM t",
    "INSERT INTO t (a, b) VALUES (1, 4) ON CONFLICT DO NOTHING",
    "INSERT INTO t (a, b) VALUES (1, 4) ON CONFLICT (a) DO NOTHING",
    "INSERT INTO t (a, b) VALUES (1, 4) ON CONFLICT (a) DO UPDATE SET b = excluded.b",
    "UPDATE t SET b = 1",
    "UPDATE t SET b = 1 WHERE a = 1",
    "UPDATE t SET b = b + 1 WHERE a = 1",
    "UPDATE t SET c = 'n' WHERE a = 1",
    "UPDATE t SET b = 1 WHERE a = 1 RETURNING c",
    "UPDATE t SET b = u.a FROM u WHERE u.a = t.a",
    "UPDATE u SET d = 'n' WHERE a = 1",
    "DELETE FROM t",
    "DELETE FROM t WHERE a = 1",
    "DELETE FROM t WHERE b = 10 RETURNING a",
    "DELETE FROM t USING u WHERE t.a = u.a",
    "DELETE FROM u",
    "SELECT a FROM z",
    "REFRESH MATERIALIZED VIEW z",
    "ALTER MATERIALIZED VIEW z RENAME TO n",
    "DROP MATERIALIZED VIEW z",
    "TRUNCATE t",
    "TRUNCATE TABLE u",
    "CALL p(5)",
    "SELECT f(1)",
    "SELECT * FROM f(2)",
    "SELECT (SELECT max(f(x)) FROM generate_series(1, 2) AS x)",
    "COPY (SELECT f(1)) TO STDOUT",
    "SELECT d FROM u WHERE f(a) > 1",
    "UPDATE u SET d = f(a)::text",
    "PREPARE q AS SELECT f(1); EXECUTE q",
    "PREPARE q AS SELECT b FROM t WHERE a = 1; EXECUTE q",
    "SET LOCAL SESSION AUTHORIZATION actor; SET LOCAL ROLE team; SELECT current_user, session_user",
    "COPY t TO STDOUT",
    "COPY t (a) TO STDOUT",
    "COPY (SELECT b FROM t ORDER BY b) TO STDOUT",
    "COPY t FROM STDIN",
    "COPY t (a, b) FROM STDIN",
    "CREATE TABLE v (a int PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS t (a int PRIMARY KEY)",
    "CREATE INDEX t_c ON t (c)",
    "CREATE UNIQUE INDEX u_d ON u (d)",
    "CREATE PROCEDURE r() LANGUAGE SQL AS 'DELETE FROM u'",
    "CREATE OR REPLACE PROCEDURE p(n int) LANGUAGE SQL AS 'DELETE FROM u'",
    "CREATE FUNCTION r() RETURNS int LANGUAGE SQL AS 'SELECT 1'",
    "CREATE OR REPLACE FUNCTION f(n int) RETURNS int LANGUAGE SQL AS 'SELECT n'",
    "ALTER TABLE t ADD COLUMN e int",
    "ALTER TABLE t DROP COLUMN c",
    "ALTER TABLE t RENAME COLUMN c TO e",
    "ALTER TABLE t RENAME TO v",
    "ALTER TABLE t ALTER COLUMN b SET NOT NULL",
    "ALTER INDEX t_b RENAME TO t_bb",
    "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY one ON t USING (true)",
    "ALTER TABLE t OWNER TO actor",
    "ALTER TABLE t OWNER TO other",
    "ALTER TABLE t OWNER TO team",
    "ALTER PROCEDURE p(int) OWNER TO other",
    "ALTER FUNCTION f(int) OWNER TO other",
    "DROP TABLE t",
    "DROP TABLE u",
    "DROP INDEX t_b",
    "DROP PROCEDURE p(int)",
    "DROP FUNCTION f(int)",
    "GRANT SELECT ON t TO other",
    "GRANT SELECT, INSERT ON t TO other",
    "GRANT ALL ON t TO other",
    "GRANT INSERT (a) ON t TO other",
    "GRANT UPDATE (b) ON t TO other",
    "GRANT SELECT ON t TO other WITH GRANT OPTION",
    "REVOKE SELECT ON t FROM PUBLIC",
    "REVOKE ALL ON t FROM actor CASCADE",
    "GRANT EXECUTE ON PROCEDURE p(int) TO other",
    "GRANT EXECUTE ON FUNCTION f(int) TO other",
    "GRANT USAGE ON SCHEMA public TO other",
    "GRANT CONNECT ON DATABASE raid TO other",
    "GRANT team TO other",
    "GRANT maker TO other",
    "REVOKE team FROM actor",
    "GRANT pg_read_all_data TO other",
    "CREATE ROLE newcomer",
    "CREATE ROLE newcomer IN ROLE team",
    "ALTER ROLE other CREATEDB",
    "DROP ROLE other",
    "DROP ROLE team",
    "DROP ROLE actor",
    "REASSIGN OWNED BY actor TO other",
    "REASSIGN OWNED BY other TO actor",
    "DROP OWNED BY actor",
    "DROP OWNED BY team",
    "SELECT rolpassword FROM pg_authid LIMIT 0",
    "SELECT count(*) > 0 FROM pg_roles",
    "SELECT has_table_privilege('t', 'SELECT'), has_table_privilege('t', 'INSERT, DELETE')",
    "SELECT has_table_privilege('actor', 't', 'UPDATE'), has_table_privilege('actor', 't', 'SELECT WITH GRANT OPTION')",
    "SELECT has_column_privilege('t', 'a', 'SELECT'), has_column_privilege('t', 'b', 'UPDATE')",
    "SELECT has_any_column_privilege('t', 'INSERT'), has_any_column_privilege('t', 'SELECT')",
    "SELECT has_schema_privilege('public', 'CREATE'), has_schema_privilege('public', 'USAGE')",
    "SELECT has_function_privilege('p(int)', 'EXECUTE')",
    "SELECT has_function_privilege('f(int)', 'EXECUTE')",
    "SELECT has_database_privilege('raid', 'CONNECT'), has_database_privilege('raid', 'CREATE')",
    "SELECT pg_has_role('team', 'MEMBER'), pg_has_role('team', 'USAGE'), pg_has_role('actor', 'other', 'MEMBER')",
    "SELECT relowner = 10, relacl::text FROM pg_class WHERE relname = 't' AND relowner <> 10",
    "SELECT attname, attacl::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid AND relname = 't' WHERE attacl IS NOT NULL ORDER BY attname",
    "SELECT pg_get_userbyid(relowner) = current_user FROM pg_class WHERE relname = 't'",
    "SELECT grantee, privilege_type, is_grantable FROM information_schema.table_privileges WHERE table_name = 't' AND grantee NOT IN ('raid', 'postgres') ORDER BY 1, 2",
    "SELECT current_user, session_user",
    "SET ROLE team",
    "SET ROLE nobody",
    "SET SESSION AUTHORIZATION other",
    "VACUUM",
    "CHECKPOINT",
];

/// What PostgreSQL has and Raid refuses with 0A000, whoever asks.
const UNSUPPORTED: &[&str] = &["GRANT USAGE ON LANGUAGE sql TO other"];

fn done(session: &mut Wire, sql: &str) {
    let answer = session.simple(sql, None);
    assert_eq!(answer.error(), None, "{sql}: {answer:?}");
}

/// Data for COPY FROM STDIN, whichever columns it names.
fn data(statement: &str) -> Option<&'static [u8]> {
    match statement {
        "COPY t FROM STDIN" => Some(b"8\t9\tw\n"),
        "COPY t (a, b) FROM STDIN" => Some(b"8\t9\n"),
        _ => None,
    }
}

/// What comes of a statement as the role, taken back at once.
fn tried(session: &mut Wire, statement: &str) -> Answer {
    done(session, "BEGIN; SET LOCAL ROLE actor");
    let answer = session.simple(statement, data(statement));
    done(session, "ROLLBACK");
    done(session, "DEALLOCATE ALL");
    answer
}

/// Whether two answers are alike: rows, tags, SQLSTATEs, and what is said. Warnings that an error follows Raid does not tell.
fn alike(wanted: &Answer, got: &Answer) -> bool {
    if wanted.error().is_some() {
        return wanted.error() == got.error() && wanted.messages.last() == got.messages.last();
    }
    // System catalogs have texts where PostgreSQL has names. Who made everything is another bootstrap superuser.
    let counted = |answer: &Answer| -> Vec<String> {
        let lines = answer.lines.iter().filter(|line| !line.starts_with("columns "));
        lines.map(|line| line.replace("/postgres", "/raid")).collect()
    };
    counted(wanted) == counted(got) && wanted.messages == got.messages
}

/// Everything as it was at the beginning.
fn prepare(session: &mut Wire, is_postgres: bool) {
    let tables = if is_postgres {
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
    } else {
        "DROP TABLE IF EXISTS t, u CASCADE"
    };
    done(session, tables);
    if !is_postgres {
        done(session, "DROP PROCEDURE IF EXISTS p; DROP FUNCTION IF EXISTS f");
    }
    for role in ["actor", "other", "team", "lone", "maker"] {
        let owned = format!(
            "DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{role}') THEN DROP OWNED BY {role} CASCADE; END IF; END $$"
        );
        if is_postgres {
            done(session, &owned);
        } else {
            let _ = session.simple(&format!("DROP OWNED BY {role}"), None);
        }
        done(session, &format!("DROP ROLE IF EXISTS {role}"));
    }
    if is_postgres {
        done(session, "ALTER SCHEMA public OWNER TO pg_database_owner");
    }
    done(session, "GRANT USAGE ON SCHEMA public TO PUBLIC");
    done(session, ROLES);
    done(session, OBJECTS);
}

/// A role could read, change or give away what PostgreSQL keeps from it, or would be kept from what is its own.
#[test]
fn every_statement_with_every_privilege() {
    let Some(postgres) = Postgres::start() else { return };
    let world = World::start();
    let mut reference = Wire::connect(postgres.address, "raid", "raid");
    let (mut failures, mut cells) = (String::new(), 0);
    let only = std::env::var("STATE").unwrap_or_default();
    for (number, (state, setup)) in STATES.iter().enumerate().filter(|(_, (state, _))| state.contains(&only)) {
        let (made_at, tried_at) = ((number % 3 + 1) as u16, ((number + 1) % 3 + 1) as u16);
        let mut maker = Wire::connect(world.sql(made_at), "raid", "raid");
        for (session, is_postgres) in [(&mut reference, true), (&mut maker, false)] {
            prepare(session, is_postgres);
            if !setup.is_empty() {
                done(session, setup);
            }
        }
        let mut session = Wire::connect(world.sql(tried_at), "raid", "raid");
        for statement in STATEMENTS {
            cells += 1;
            let (wanted, got) = (tried(&mut reference, statement), tried(&mut session, statement));
            if !alike(&wanted, &got) {
                let _ = writeln!(failures, "{state}: {statement}\n  PostgreSQL: {wanted:?}\n  Raid:       {got:?}");
            }
        }
    }
    let mut session = Wire::connect(world.sql(1), "raid", "raid");
    for statement in UNSUPPORTED {
        let got = session.simple(statement, None);
        if got.error() != Some("0A000") {
            let _ = writeln!(failures, "{statement} should be refused with 0A000: {got:?}");
        }
    }
    println!("{cells} statements were tried, {} answers differ", failures.matches("PostgreSQL:").count());
    assert!(failures.is_empty(), "what differs from PostgreSQL:\n{failures}");
}

/// A role would go on reading at another site, by a statement that it prepared before, what was taken from it.
#[test]
fn a_revoke_holds_at_every_site() {
    let world = World::start();
    let mut admin = Wire::connect(world.sql(1), "raid", "raid");
    done(&mut admin, "CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1); CREATE ROLE alice LOGIN");
    done(&mut admin, "CREATE ROLE team; GRANT SELECT ON t TO team");
    let mut sessions: Vec<Wire> = (1..=3).map(|site| Wire::connect(world.sql(site), "alice", "raid")).collect();
    let questions = ["EXECUTE point", "EXECUTE whole"];
    for session in &mut sessions {
        done(session, "PREPARE point AS SELECT b FROM t WHERE a = 1");
        done(session, "PREPARE whole AS SELECT max(b) FROM t x GROUP BY a");
    }
    let ways = [
        ("GRANT SELECT ON t TO alice", "REVOKE SELECT ON t FROM alice"),
        ("GRANT team TO alice", "REVOKE team FROM alice"),
    ];
    for (grant, revoke) in ways {
        for _ in 0..5 {
            done(&mut admin, grant);
            for session in &mut sessions {
                for question in questions {
                    let answer = session.simple(question, None);
                    assert_eq!(answer.error(), None, "{grant}: {answer:?}");
                }
            }
            done(&mut admin, revoke);
            for session in &mut sessions {
                for question in questions {
                    let answer = session.simple(question, None);
                    assert_eq!(answer.error(), Some("42501"), "{revoke}: {answer:?}");
                }
            }
        }
    }
    // A site that comes back knows it, too.
    done(&mut admin, "GRANT SELECT (a) ON t TO alice");
    eventually("alice to read one column", || sessions[2].simple("SELECT a FROM t", None).error().is_none());
    for denied in
        ["SELECT a, b FROM t", "EXPLAIN SELECT b FROM t", "SELECT cause FROM raid.contention", "SET ROLE team"]
    {
        assert_eq!(sessions[1].simple(denied, None).error(), Some("42501"), "{denied}");
    }
    done(&mut admin, "GRANT raid_monitor TO alice; REVOKE CONNECT ON DATABASE raid FROM PUBLIC");
    done(&mut sessions[1], "SELECT cause FROM raid.contention");
    let options = format!("host=127.0.0.1 port={} user=alice dbname=raid", world.sql(2).port());
    let refused = postgres::Client::connect(&options, postgres::NoTls).err();
    let code = refused.as_ref().and_then(|error| error.code()).map(|code| code.code().to_owned());
    assert_eq!(code.as_deref(), Some("42501"), "alice may not connect any more: {refused:?}");
}

/// A transaction that is taken back would leave a session with a role that it has not taken.
#[test]
fn a_role_that_is_taken_in_a_transaction_ends_with_it() {
    let world = World::start();
    let mut session = Wire::connect(world.sql(1), "raid", "raid");
    done(&mut session, "CREATE ROLE alice; CREATE ROLE bob");
    let mut is = |sql: &str, wanted: &str| {
        let answer = session.simple(sql, None);
        let row = format!("row {wanted}");
        assert!(answer.lines.contains(&row), "{sql}: {answer:?}");
    };
    is("BEGIN; SET ROLE alice; SELECT current_user || '|' || session_user", "alice|raid");
    is("ROLLBACK; SELECT current_user", "raid");
    is("BEGIN; SET LOCAL ROLE alice; COMMIT; SELECT current_user", "raid");
    is("BEGIN; SET ROLE alice; SAVEPOINT s; SET ROLE bob; ROLLBACK TO s; SELECT current_user", "alice");
    is("COMMIT; SELECT current_user", "alice");
    is("RESET ROLE; SELECT current_user", "raid");
    is("SET SESSION AUTHORIZATION alice; SELECT session_user || '|' || current_user", "alice|alice");
    is("RESET SESSION AUTHORIZATION; SELECT session_user", "raid");
    is("SET ROLE bob; SHOW role", "bob");
    is("SET ROLE none; SELECT current_user", "raid");
}

/// What a role has no right to, it gets by no other name and in no other clause.
#[test]
fn no_detour_leads_to_what_is_denied() {
    let world = World::start();
    let mut admin = Wire::connect(world.sql(1), "raid", "raid");
    done(&mut admin, "CREATE ROLE actor LOGIN; GRANT CREATE ON SCHEMA public TO actor");
    done(&mut admin, "CREATE TABLE secret (id serial PRIMARY KEY, n int); INSERT INTO secret (n) VALUES (42)");
    done(&mut admin, "CREATE SEQUENCE victim; CREATE PROCEDURE p(k bigint) LANGUAGE SQL AS 'SELECT k'");
    done(&mut admin, "SET ROLE actor; CREATE SEQUENCE own; CREATE TABLE mine (a bigint, b bigint)");
    for (sql, code) in [
        ("SELECT DISTINCT n FROM raid.public.secret", "0A000"),
        ("INSERT INTO mine SELECT n, n FROM raid.public.secret", "0A000"),
        ("COPY (SELECT DISTINCT n FROM raid.public.secret) TO STDOUT", "0A000"),
        ("SELECT setval('own', (SELECT n FROM secret LIMIT 1))", "42501"),
        ("SELECT setval('victim', (SELECT n FROM secret LIMIT 1)::bigint)", "42501"),
        ("SELECT setval('victim', 5)", "42501"),
        ("SELECT nextval('victim')", "42501"),
        ("SELECT nextval(pg_get_serial_sequence('secret', 'id'))", "42501"),
        ("CALL p(nextval('victim'))", "42501"),
        ("CREATE TABLE other (a bigint DEFAULT nextval('victim'))", "42501"),
        ("ALTER TABLE mine ALTER COLUMN a SET DEFAULT nextval('victim')", "42501"),
        ("CREATE SEQUENCE aaa OWNED BY secret.id", "55000"),
        ("CREATE TABLE child (s int REFERENCES secret)", "42501"),
        ("ALTER SEQUENCE victim RESTART", "42501"),
        ("DROP SEQUENCE victim", "42501"),
    ] {
        assert_eq!(admin.simple(sql, None).error(), Some(code), "{sql}");
    }
    done(
        &mut admin,
        "RESET ROLE; GRANT TRUNCATE ON secret TO actor; GRANT REFERENCES (id) ON secret TO actor; SET ROLE actor",
    );
    assert_eq!(admin.simple("TRUNCATE secret RESTART IDENTITY", None).error(), Some("42501"));
    done(&mut admin, "CREATE TABLE child (s int REFERENCES secret (id))");
    done(
        &mut admin,
        "RESET ROLE; ALTER TABLE secret OWNER TO actor; SET ROLE actor; SELECT setval('secret_id_seq', 9)",
    );
}

/// What a function reads would be read by who may not, where the call is not seen as one.
#[test]
fn no_call_of_a_function_goes_unseen() {
    let world = World::start();
    let mut admin = Wire::connect(world.sql(1), "raid", "raid");
    done(
        &mut admin,
        "CREATE ROLE actor LOGIN; CREATE TABLE secret (n int PRIMARY KEY); INSERT INTO secret VALUES (42)",
    );
    done(&mut admin, "CREATE FUNCTION told(x int) RETURNS int LANGUAGE sql AS 'SELECT n + x FROM secret'");
    done(&mut admin, "CREATE FUNCTION twice(x int) RETURNS int LANGUAGE sql AS 'SELECT told(x) * 2'");
    done(&mut admin, "CREATE FUNCTION filled(x int DEFAULT told(1)) RETURNS int LANGUAGE sql AS 'SELECT x'");
    done(
        &mut admin,
        "CREATE TABLE mine (a int PRIMARY KEY); INSERT INTO mine VALUES (1); GRANT ALL ON mine TO actor; GRANT CREATE ON SCHEMA public TO actor; SET ROLE actor",
    );
    for (sql, code) in [
        ("SELECT told(0)", "42501"),
        ("SELECT public.told(0)", "42501"),
        ("SELECT twice(0)", "42501"),
        ("SELECT filled()", "42501"),
        ("SELECT * FROM told(0)", "42501"),
        ("SELECT * FROM mine, LATERAL told(a)", "42501"),
        ("SELECT g.told FROM generate_series(1, 1) AS g", "0A000"),
        ("SELECT count(*) FILTER (WHERE told(a) > 1) FROM mine", "42501"),
        ("SELECT a FROM mine ORDER BY told(a)", "42501"),
        ("WITH w AS (SELECT told(0)) SELECT * FROM w", "42501"),
        ("INSERT INTO mine VALUES (told(0))", "42501"),
        ("UPDATE mine SET a = told(a)", "42501"),
        ("DELETE FROM mine WHERE a = told(0) - 41", "42501"),
        ("CREATE TABLE taken AS SELECT told(0)", "42501"),
        ("COPY (SELECT told(0)) TO STDOUT", "42501"),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT told(0)", "42501"),
        ("PREPARE q AS SELECT told(0); EXECUTE q", "42501"),
        ("EXPLAIN SELECT told(0)", "42501"),
    ] {
        let answer = admin.simple(sql, None);
        assert_eq!(answer.error(), Some(code), "{sql}: {answer:?}");
        let _ = admin.simple("DEALLOCATE ALL", None);
    }
}
