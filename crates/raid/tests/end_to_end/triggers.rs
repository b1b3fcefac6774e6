//! Triggers at all sites: what they keep of each change, beside changes of the same rows at other sites, and what a killed site leaves.

use crate::harness::{World, eventually};
use laboratory::debit_credit::explain;
use local_cluster::process::ProcessName;
use postgres::{Client, Error};

/// Each change of an account is an entry of the journal, and its total is kept beside.
const MADE: &str = "
    CREATE TABLE accounts (k int PRIMARY KEY, balance int NOT NULL, changes int NOT NULL DEFAULT 0);
    CREATE TABLE journal (n serial PRIMARY KEY, account int NOT NULL, difference int NOT NULL);
    CREATE TABLE totals (k int PRIMARY KEY, total int NOT NULL);
    CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN NEW.changes := OLD.changes + 1; RETURN NEW; END $$;
    CREATE FUNCTION journaled() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO journal (account, difference) VALUES (NEW.k, NEW.balance - OLD.balance);
            UPDATE totals SET total = total + NEW.balance - OLD.balance WHERE k = 1;
            RETURN NULL;
        END $$;
    INSERT INTO accounts SELECT n, 0, 0 FROM generate_series(1, 6) AS n;
    INSERT INTO totals VALUES (1, 0);
    CREATE TRIGGER counted BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION counted();
    CREATE TRIGGER journaled AFTER UPDATE OF balance ON accounts FOR EACH ROW
        WHEN (OLD.balance IS DISTINCT FROM NEW.balance) EXECUTE FUNCTION journaled();
";

fn made() -> World {
    let world = World::start();
    world.connect(1).batch_execute(MADE).expect("tables and triggers");
    for site in 1..=3 {
        let mut client = world.connect(site);
        let there = "SELECT count(*) FROM pg_trigger WHERE tgname IN ('counted', 'journaled')";
        eventually("the triggers to be known", || {
            client.query_one(there, &[]).is_ok_and(|row| row.get::<_, i64>(0) == 2)
        });
    }
    world
}

fn code(error: &Error) -> Option<&str> {
    error.code().map(|code| code.code())
}

/// Sums of the accounts, of the journal and of the total, and how many changes there were by the accounts and by the journal.
fn books(client: &mut Client) -> (i64, i64, i64, i64, i64) {
    let row = client
        .query_one(
            "SELECT (SELECT sum(balance) FROM accounts), (SELECT coalesce(sum(difference), 0) FROM journal),
                (SELECT total::bigint FROM totals), (SELECT sum(changes) FROM accounts), (SELECT count(*) FROM journal)",
            &[],
        )
        .expect("the books");
    (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4))
}

/// If this fails, a trigger was passed over or ran twice for a change, or what it did is no part of it.
#[test]
fn each_change_is_journaled_once_whichever_site_makes_it() {
    const CHANGES: usize = 25;
    let world = made();
    let changed: i64 = std::thread::scope(|scope| {
        let each = [1, 2, 3].map(|site| {
            let mut client = world.connect(site);
            scope.spawn(move || {
                let mut changed = 0;
                for change in 0..CHANGES {
                    // Two rows each, of which one is another site's as well.
                    let (first, second) = (i32::from(site), i32::from(site) % 3 + 1);
                    let amount = i32::try_from(change).expect("few") + 1;
                    let sql = "UPDATE accounts SET balance = balance + $3 WHERE k IN ($1, $2)";
                    match client.execute(sql, &[&first, &second, &amount]) {
                        Ok(rows) => {
                            assert_eq!(rows, 2);
                            changed += 2;
                        }
                        Err(error) => assert_eq!(code(&error), Some("40001"), "{}", explain(&error)),
                    }
                }
                changed
            })
        });
        each.into_iter().map(|one| one.join().expect("it changes rows")).sum()
    });
    assert!(changed > 0, "nothing was changed");
    for site in 1..=3 {
        let (balance, journal, total, changes, entries) = books(&mut world.connect(site));
        assert_eq!((balance, balance), (journal, total), "site {site}");
        assert_eq!((changes, changes), (changed, entries), "site {site}");
    }
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// If this fails, a statement with triggers has found its rows on a snapshot, and written over what others have committed since.
#[test]
fn no_change_is_lost_below_the_strict_level() {
    const CHANGES: usize = 60;
    let world = made();
    let changed: i64 = std::thread::scope(|scope| {
        let each = [1, 1, 1, 2].map(|site| {
            let mut client = world.connect(site);
            scope.spawn(move || {
                let change = "BEGIN ISOLATION LEVEL READ COMMITTED;
                    UPDATE accounts SET balance = balance + 1 WHERE k = 1; COMMIT";
                let mut changed = 0;
                for _ in 0..CHANGES {
                    match client.batch_execute(change) {
                        Ok(()) => changed += 1,
                        Err(error) => {
                            assert!(matches!(code(&error), Some("40001" | "40P01")), "{}", explain(&error));
                            client.batch_execute("ROLLBACK").expect("a block ends");
                        }
                    }
                }
                changed
            })
        });
        each.into_iter().map(|one| one.join().expect("it changes rows")).sum()
    });
    assert!(changed > 0, "nothing was changed");
    assert_eq!(books(&mut world.connect(3)), (changed, changed, changed, changed, changed));
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// If this fails, a statement that ended with its site has left some of its rows, or a site that is back knows no triggers.
#[test]
fn a_statement_ends_with_its_site_and_the_triggers_are_there_again() {
    let mut world = made();
    let mut client = world.connect(1);
    client
        .batch_execute(
            "CREATE FUNCTION endless() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN LOOP PERFORM 1; END LOOP; END $$;
            CREATE TRIGGER endless AFTER UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION endless();",
        )
        .expect("a trigger without end");
    let mut killed = world.connect(3);
    eventually("the trigger to be known", || {
        killed
            .query_one("SELECT count(*) FROM pg_trigger WHERE tgname = 'endless'", &[])
            .is_ok_and(|row| row.get::<_, i64>(0) == 1)
    });
    let running = std::thread::spawn(move || killed.execute("UPDATE accounts SET balance = balance + 1", &[]));
    let mut beside = world.connect(3);
    eventually("the statement to be under way", || {
        let locked = beside.query("SELECT k FROM accounts WHERE k = 1 FOR UPDATE NOWAIT", &[]);
        locked.is_err_and(|error| code(&error) == Some("55P03"))
    });
    world.kill(3);
    world.wait_until_without(&[3]);
    assert!(running.join().expect("a client").is_err(), "a statement without end has ended");
    client.batch_execute("DROP TRIGGER endless ON totals").expect("the others go on");
    let changed = client.execute("UPDATE accounts SET balance = balance + 2 WHERE k < 3", &[]).expect("a change");
    assert_eq!(changed, 2);
    world.start_again(ProcessName::Site(3));
    world.wait_until_repaired();
    let mut back = world.connect(3);
    back.execute("UPDATE accounts SET balance = balance + 3 WHERE k = 3", &[])
        .expect("a change at the site that is back");
    assert_eq!(books(&mut back), (7, 7, 7, 3, 3));
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// If this fails, somebody makes triggers who may not, or who fires one needs rights that the statement itself does not need.
#[test]
fn triggers_have_rights_of_their_own() {
    let world = World::start();
    let mut client = world.connect(1);
    let made = "
        CREATE TABLE kept (k int PRIMARY KEY, v text);
        CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := upper(NEW.v); RETURN NEW; END $$;
        CREATE TRIGGER loud BEFORE INSERT OR UPDATE ON kept FOR EACH ROW EXECUTE FUNCTION loud();
        CREATE ROLE writer; CREATE ROLE maker;
        GRANT INSERT ON kept TO writer; GRANT TRIGGER ON kept TO maker;
    ";
    client.batch_execute(made).expect("a table with a trigger");
    let makes = "CREATE TRIGGER other BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION loud()";
    let mut acting = |role: &str, sql: &str| {
        client.batch_execute(&format!("SET ROLE {role}")).expect("a role");
        let done = client.batch_execute(sql);
        client.batch_execute("RESET ROLE").expect("the role before");
        done
    };
    let refused = |done: Result<(), Error>| {
        let error = done.expect_err("it may not");
        assert_eq!(code(&error), Some("42501"), "{}", explain(&error));
    };
    for denied in ["SELECT * FROM kept", "UPDATE kept SET v = 'b'", makes, "DROP TRIGGER loud ON kept"] {
        refused(acting("writer", denied));
    }
    for denied in ["INSERT INTO kept VALUES (2, 'a')", "DROP TRIGGER loud ON kept"] {
        refused(acting("maker", denied));
    }
    acting("raid", "REVOKE EXECUTE ON FUNCTION loud FROM PUBLIC").expect("a right less");
    refused(acting("maker", makes));
    acting("raid", "GRANT EXECUTE ON FUNCTION loud TO maker").expect("a right more");
    acting("maker", makes).expect("who may make triggers does");
    // PostgreSQL asks for the right to execute when a trigger is made, not when it fires.
    acting("writer", "INSERT INTO kept VALUES (1, 'a')").expect("who may insert does");
    let kept: String = client.query_one("SELECT v FROM kept", &[]).expect("the row").get(0);
    assert_eq!(kept, "A");
    assert_eq!(world.stop(), Vec::<String>::new());
}
