//! Domains that change while other sites begin to use them.

use crate::harness::{World, eventually};
use laboratory::debit_credit::explain;

/// If this fails, a table has a domain's older conditions for ever, because it was made while they changed.
#[test]
fn a_domain_does_not_change_past_a_table_that_begins_to_use_it() {
    let world = World::start();
    let [mut one, mut two] = [1, 2].map(|site| world.connect(site));
    one.batch_execute("CREATE DOMAIN amount AS int; CREATE TABLE known (a amount)").expect("a domain");
    eventually("the domain to be known", || two.batch_execute("SELECT NULL::amount").is_ok());
    for use_it in [
        "CREATE TABLE made (a amount)",
        "ALTER TABLE known ADD COLUMN b amount",
        "CREATE DOMAIN over AS amount",
        "CREATE TABLE checked (a int CHECK (a::amount < 100))",
    ] {
        two.batch_execute("BEGIN; ALTER DOMAIN amount SET NOT NULL").expect("a change that is not committed yet");
        one.batch_execute(use_it).unwrap_or_else(|error| panic!("{use_it}: {}", explain(&error)));
        let lost = two.batch_execute("COMMIT").expect_err(use_it);
        assert_eq!(lost.code().map(|code| code.code()), Some("40001"), "{use_it}: {}", explain(&lost));
    }
    two.batch_execute("ALTER DOMAIN amount SET NOT NULL").expect("now it knows of all");
    eventually("site 1 to know of it", || {
        let refused = one.batch_execute("INSERT INTO made VALUES (NULL)");
        refused.is_err_and(|error| error.code().is_some_and(|code| code.code() == "23502"))
    });
}
