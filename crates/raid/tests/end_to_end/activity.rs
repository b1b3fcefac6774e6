//! `pg_stat_activity`: who is there, and what they do.

use crate::harness::{World, eventually};
use postgres::Client;

/// If this fails, who looks for a statement that runs too long, or for a transaction that was left open, finds nothing, or finds what is not for them to see.
#[test]
fn sessions_show_what_they_do() {
    let world = World::start();
    let mut busy = world.connect(1);
    let mut watcher = world.connect(1);
    let process: i32 = busy.query_one("SELECT pg_backend_pid()", &[]).expect("a number").get(0);
    let asked =
        "SELECT state, query, xact_start IS NOT NULL, wait_event, application_name, usename::text, datname::text
        FROM pg_stat_activity WHERE pid = $1";
    let mut shown = |pid: i32| {
        let row = watcher.query_one(asked, &[&pid]).expect("one session");
        let text = |place: usize| row.get::<_, Option<String>>(place).unwrap_or_default();
        (text(0), text(1), row.get::<_, bool>(2), text(3), text(4), format!("{}@{}", text(5), text(6)))
    };
    busy.batch_execute("SET application_name = 'shop'; CREATE TABLE t (a int)").expect("a table");
    let state = shown(process);
    assert_eq!((state.0.as_str(), state.2, state.3.as_str(), state.4.as_str()), ("idle", false, "ClientRead", "shop"));
    assert_eq!(state.5, "raid@raid");
    busy.batch_execute("BEGIN").expect("a block");
    busy.batch_execute("INSERT INTO t VALUES (1)").expect("a row");
    let state = shown(process);
    assert_eq!(
        (state.0.as_str(), state.1.as_str(), state.2),
        ("idle in transaction", "INSERT INTO t VALUES (1)", true)
    );
    busy.batch_execute("ROLLBACK").expect("the end");

    // A statement that takes long is seen while it runs, from whatever site is asked: the sessions are those of the site.
    let cancel = busy.cancel_token();
    let sleeper = std::thread::spawn(move || busy.batch_execute("SELECT pg_sleep(600)").is_err());
    eventually("the statement to be seen", || {
        let state = shown(process);
        state.0 == "active" && state.1 == "SELECT pg_sleep(600)"
    });
    let elsewhere = world.connect(2).query(asked, &[&process]).expect("an answer");
    assert!(elsewhere.is_empty(), "another site shows its own sessions");
    let own: String = watcher
        .query_one("SELECT state FROM pg_stat_activity WHERE pid = pg_backend_pid()", &[])
        .expect("its own")
        .get(0);
    assert_eq!(own, "active");

    watcher.batch_execute("CREATE ROLE nobody_special; SET ROLE nobody_special").expect("a role");
    let hidden = watcher.query_one(asked, &[&process]).expect("one session");
    assert_eq!(hidden.get::<_, Option<String>>(0), None);
    assert_eq!(hidden.get::<_, &str>(1), "<insufficient privilege>");
    watcher.batch_execute("RESET ROLE").expect("itself again");

    cancel.cancel_query(postgres::NoTls).expect("a request");
    assert!(sleeper.join().expect("it ends"), "it was cancelled");
    eventually("the session to be gone", || {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";
        watcher.query_one(count, &[&process]).is_ok_and(|row| row.get::<_, i64>(0) == 0)
    });
}

/// If this fails, a statement that runs too long cannot be ended from SQL, a role ends what is not its own, or a session is ended that nobody meant.
#[test]
fn sessions_end_what_others_do() {
    let world = World::start();
    let mut operator = world.connect(1);
    operator
        .batch_execute("CREATE ROLE plain LOGIN; CREATE ROLE other LOGIN; CREATE ROLE signaller LOGIN; GRANT pg_signal_backend TO signaller")
        .expect("roles");
    let as_role = |role: &str| {
        let sql = world.sql(1);
        let mut config = postgres::Config::new();
        config.host(&sql.ip().to_string()).port(sql.port()).user(role).dbname("raid");
        config.connect(postgres::NoTls).unwrap_or_else(|error| panic!("{role}: {error}"))
    };
    let pid =
        |client: &mut Client| -> i32 { client.query_one("SELECT pg_backend_pid()", &[]).expect("a number").get(0) };
    let sleeping = |mut client: Client| {
        std::thread::spawn(move || {
            let error = client.batch_execute("SELECT pg_sleep(600)").expect_err("it is ended");
            let code = error.code().map(|code| code.code().to_owned());
            (code, client.batch_execute("SELECT 1").is_ok())
        })
    };
    let mut active = |process: i32| {
        eventually("the statement to be under way", || {
            let state = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active'";
            operator.query(state, &[&process]).is_ok_and(|rows| rows.len() == 1)
        });
    };

    let mut victim = as_role("plain");
    let process = pid(&mut victim);
    let victim = sleeping(victim);
    active(process);
    let mut other = as_role("other");
    let denied = other.query("SELECT pg_cancel_backend($1)", &[&process]).expect_err("it is not its own");
    assert_eq!(denied.code().map(|code| code.code()), Some("42501"));
    let superusers = pid(&mut world.connect(1));
    let mut signaller = as_role("signaller");
    let answer = signaller.query_one("SELECT pg_cancel_backend($1), 7", &[&process]).expect("it may");
    assert_eq!((answer.get::<_, bool>(0), answer.get::<_, i32>(1)), (true, 7));
    assert_eq!(
        victim.join().expect("it ends"),
        (Some("57014".to_owned()), true),
        "the statement ends, the session goes on"
    );
    let nobody: bool =
        signaller.query_one("SELECT pg_terminate_backend($1)", &[&superusers]).expect("an answer").get(0);
    assert!(!nobody, "that session has ended by itself");

    let mut victim = as_role("plain");
    let process = pid(&mut victim);
    let victim = sleeping(victim);
    active(process);
    let own = pid(&mut operator);
    let denied = signaller.query("SELECT pg_terminate_backend($1)", &[&own]).expect_err("it is a superuser's");
    assert_eq!(denied.code().map(|code| code.code()), Some("42501"));
    let ended = operator
        .query(
            "SELECT pid, pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE usename = 'plain' AND pid <> pg_backend_pid()",
            &[],
        )
        .expect("the others");
    let ended: Vec<(i32, bool)> = ended.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert!(ended.contains(&(process, true)), "{ended:?}");
    let (code, goes_on) = victim.join().expect("it ends");
    assert!(matches!(code.as_deref(), Some("57P01" | "08007") | None), "{code:?}");
    assert!(!goes_on, "the session has ended");
    assert_eq!(pid(&mut signaller), pid(&mut signaller), "others go on");
}
