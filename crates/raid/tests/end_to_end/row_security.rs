//! Row-level security between sites.

use crate::answers::Wire;
use crate::harness::World;

fn done(session: &mut Wire, sql: &str) {
    let answer = session.simple(sql, None);
    assert_eq!(answer.error(), None, "{sql}: {answer:?}");
}

/// The rows of a query.
fn rows(session: &mut Wire, sql: &str) -> Vec<String> {
    let answer = session.simple(sql, None);
    assert_eq!(answer.error(), None, "{sql}: {answer:?}");
    answer.lines.iter().filter_map(|line| line.strip_prefix("row ")).map(str::to_owned).collect()
}

/// A role would go on reading and writing at another site, by a statement that it prepared before, what a policy hides from it.
#[test]
fn a_policy_holds_at_every_site() {
    let world = World::start();
    let mut admin = Wire::connect(world.sql(1), "raid", "raid");
    done(&mut admin, "CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    done(&mut admin, "CREATE ROLE alice LOGIN; CREATE ROLE team; GRANT SELECT, INSERT, UPDATE, DELETE ON t TO alice");
    let mut sessions: Vec<Wire> = (1..=3).map(|site| Wire::connect(world.sql(site), "alice", "raid")).collect();
    for session in &mut sessions {
        done(session, "PREPARE point AS SELECT b FROM t WHERE a = 2");
        done(session, "PREPARE whole AS SELECT count(*) FROM t x GROUP BY b > 0");
        done(session, "PREPARE change AS UPDATE t SET b = b WHERE a = 2 RETURNING b");
        done(session, "PREPARE add (int) AS INSERT INTO t VALUES ($1, 9)");
    }
    // What each statement that comes to pass shows of rows: those below, and whether a row may be added.
    let mut check = |change: &str, below: usize, adds: bool| {
        done(&mut admin, change);
        for (place, session) in sessions.iter_mut().enumerate() {
            let shown = usize::from(below > 2);
            assert_eq!(rows(session, "EXECUTE point").len(), shown, "{change}: site {}", place + 1);
            assert_eq!(rows(session, "EXECUTE change").len(), shown, "{change}: site {}", place + 1);
            let counted = rows(session, "EXECUTE whole");
            assert_eq!(counted.is_empty(), below == 1, "{change}: {counted:?}");
            done(session, "BEGIN");
            let added = session.simple("EXECUTE add (9)", None);
            assert_eq!(added.error(), (!adds).then_some("42501"), "{change}: {added:?}");
            done(session, "ROLLBACK");
        }
    };
    check("ALTER TABLE t DISABLE ROW LEVEL SECURITY", 4, true);
    for _ in 0..3 {
        check("ALTER TABLE t ENABLE ROW LEVEL SECURITY", 1, false);
        check("CREATE POLICY p ON t USING (a < 2)", 2, false);
        check("ALTER POLICY p ON t USING (true)", 4, true);
        check("ALTER POLICY p ON t TO team", 1, false);
        check("GRANT team TO alice", 4, true);
        check("REVOKE team FROM alice", 1, false);
        check("ALTER ROLE alice BYPASSRLS", 4, true);
        check("ALTER ROLE alice NOBYPASSRLS", 1, false);
        check("DROP POLICY p ON t", 1, false);
        check("ALTER TABLE t DISABLE ROW LEVEL SECURITY", 4, true);
    }
}
