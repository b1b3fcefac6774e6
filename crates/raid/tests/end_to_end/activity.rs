//! `pg_stat_activity`: who is there, and what they do.

use crate::harness::{World, eventually};

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
