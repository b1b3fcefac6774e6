//! psql 15's own queries, as `psql -E` shows them, must run and give the rows that its commands print.
//!
//! `tests/psql/*.sql` are the texts, one file per command, with `:oid` where psql puts the identifier of the relation that it
//! found first.

use crate::memory::World;

/// The queries of one file, separated by lines of dashes.
fn run(world: &World, text: &str, oid: u32) -> Vec<Vec<String>> {
    text.split("\n----\n")
        .map(|sql| {
            let sql = sql.trim().trim_end_matches(';').replace(":oid", &oid.to_string());
            let answer = world.answer(&sql);
            assert!(!answer[0].starts_with("ERROR"), "{sql}\n{}", answer[0]);
            // The second line holds types.
            answer.into_iter().skip(2).collect()
        })
        .collect()
}

macro_rules! command {
    ($world:expr, $name:literal, $oid:expr) => {
        run(&$world, include_str!(concat!("../psql/", $name, ".sql")), $oid)
    };
}

const TABLES: [&str; 8] =
    ["item", "link", "measure", "nothing", "pair", "pgbench_accounts", "pgbench_branches", "sale"];

#[test]
fn tables_are_listed() {
    let world = World::new();
    let expected: Vec<String> = TABLES.iter().map(|name| format!("public|{name}|table|postgres")).collect();
    assert_eq!(command!(world, "d", 0), std::slice::from_ref(&expected));
    assert_eq!(command!(world, "dt", 0), [expected]);
    let sized: Vec<String> =
        TABLES.iter().map(|name| format!("public|{name}|table|postgres|permanent|heap|0 bytes|NULL")).collect();
    assert_eq!(command!(world, "dt+", 0), [sized]);
    assert_eq!(command!(world, "dt_item", 0), [["public|item|table|postgres"]]);
}

#[test]
fn indexes_are_listed() {
    let expected = [
        ("item_name", "item"),
        ("item_pkey", "item"),
        ("item_price", "item"),
        ("link_pkey", "link"),
        ("nothing_pkey", "nothing"),
        ("pair_pkey", "pair"),
        ("pgbench_accounts_pkey", "pgbench_accounts"),
        ("pgbench_branches_pkey", "pgbench_branches"),
        ("sale_pkey", "sale"),
    ];
    let expected: Vec<String> =
        expected.iter().map(|(index, table)| format!("public|{index}|index|postgres|{table}")).collect();
    assert_eq!(command!(World::new(), "di", 0), [expected]);
}

#[test]
fn a_table_is_described() {
    let world = World::new();
    let oid = world.memory.catalog.tables["pgbench_accounts"].table.oid;
    let answers = command!(world, "d_table", oid);
    assert_eq!(answers[0], ["0|r|t|f|f|f|f|f|f||0||p|d|heap"]);
    assert_eq!(
        answers[1],
        [
            "aid|integer|NULL|t|NULL||",
            "bid|integer|NULL|f|NULL||",
            "abalance|integer|NULL|f|NULL||",
            "filler|character(84)|NULL|f|NULL||"
        ]
    );
    let index = "CREATE UNIQUE INDEX pgbench_accounts_pkey ON pgbench_accounts USING btree (aid)";
    assert_eq!(answers[2], [format!("pgbench_accounts_pkey|t|t|f|t|{index}|PRIMARY KEY (aid)|p|f|f|f|0")]);
    assert!(answers[3..].iter().all(Vec::is_empty), "policies, statistics, publications and parents: {answers:?}");

    let oid = world.memory.catalog.tables["item"].table.oid;
    let answers = command!(world, "d_table", oid);
    assert_eq!(answers[1][1], "name|character varying(20)|'x'|t|NULL||");
    assert_eq!(answers[2].len(), 3);
    assert!(answers[2][1].starts_with("item_name|f|f|f|t|CREATE INDEX item_name ON item USING btree (name)|NULL"));
    let answers = command!(world, "d+_table", oid);
    assert_eq!(answers[1][2], "price|numeric(10,2)|NULL|f|NULL|||m||NULL|NULL");
}

#[test]
fn a_relation_is_found_by_name() {
    let world = World::new();
    let oid = world.memory.catalog.tables["pgbench_accounts"].table.oid;
    assert_eq!(command!(world, "d_find", 0), [[format!("{oid}|public|pgbench_accounts")]]);
}

#[test]
fn an_index_is_described() {
    let world = World::new();
    let oid = world.memory.catalog.tables["item"].table.indexes[1].oid;
    let answers = command!(world, "d_index", oid);
    assert_eq!(answers[1], ["price|numeric(10,2)|yes|price", "id|integer|yes|id"]);
    assert_eq!(answers[2], ["t|f|f|t|f|f|f|f|btree|item|NULL"]);
}

#[test]
fn databases_schemas_and_roles_are_listed() {
    let world = World::new();
    let databases = ["postgres", "raid", "template0", "template1"];
    let databases = databases.map(|name| format!("{name}|postgres|UTF8|C|C|NULL|libc|NULL"));
    assert_eq!(command!(world, "l", 0)[0], databases);
    assert_eq!(command!(world, "l+", 0)[0], databases.map(|row| format!("{row}|0 bytes|pg_default|NULL")));
    assert_eq!(command!(world, "dn", 0), [["public|pg_database_owner"]]);
    assert_eq!(
        command!(world, "dn+", 0),
        [[
            "public|pg_database_owner|pg_database_owner=UC/pg_database_owner\n=U/pg_database_owner|standard public schema"
        ]]
    );
    assert_eq!(command!(world, "db", 0), [["pg_default|postgres|", "pg_global|postgres|"]]);
    let roles = [
        "postgres|t|t|t|t|t|-1|NULL|{}|t|t",
        "raid_monitor|f|t|f|f|f|-1|NULL|{}|f|f",
        "raid_operator|f|t|f|f|f|-1|NULL|{raid_monitor}|f|f",
    ];
    assert_eq!(command!(world, "du", 0), [roles]);
}

#[test]
fn what_there_is_not_is_empty() {
    let world = World::new();
    let nothing: [[&str; 0]; 1] = [[]];
    assert_eq!(command!(world, "df", 0), nothing);
    assert_eq!(command!(world, "dv", 0), nothing);
    assert_eq!(command!(world, "ds", 0), nothing);
    assert_eq!(command!(world, "d_types", 0), nothing);
    assert_eq!(command!(world, "dx", 0), nothing);
    assert_eq!(command!(world, "dp", 0)[0].len(), TABLES.len());
}
