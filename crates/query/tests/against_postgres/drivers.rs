//! What drivers and tools ask of the system catalogs when they connect or inspect a table.

use crate::memory::World;
use values::Value;

fn rows(sql: &str) -> Vec<String> {
    let answer = World::new().answer(sql);
    assert!(!answer[0].starts_with("ERROR"), "{sql}\n{}", answer[0]);
    answer.into_iter().skip(2).collect()
}

/// SQLAlchemy's test whether a table exists.
#[test]
fn a_table_is_looked_for() {
    let world = World::new();
    let sql = "SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace \
               ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace \
               WHERE pg_catalog.pg_class.relname = $1::VARCHAR \
               AND pg_catalog.pg_class.relkind = ANY (ARRAY[$2::VARCHAR, $3::VARCHAR, $4::VARCHAR]) \
               AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) \
               AND pg_catalog.pg_namespace.nspname != $5::VARCHAR";
    let planned = world.plan(sql, &[]).unwrap_or_else(|error| panic!("{error}"));
    let parameters = ["item", "r", "p", "v", "pg_catalog"].map(Value::text);
    assert_eq!(world.run(&planned, &parameters).expect("rows").len(), 1);
}

/// The columns of a table as the standard's views tell them.
#[test]
fn columns_are_listed_by_the_standard() {
    let sql = "SELECT column_name, data_type, is_nullable, numeric_precision, numeric_scale, character_maximum_length \
               FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'item' \
               ORDER BY ordinal_position LIMIT 3";
    assert_eq!(
        rows(sql),
        ["id|integer|NO|32|0|NULL", "name|character varying|NO|NULL|NULL|20", "price|numeric|YES|10|2|NULL"]
    );
    let sql = "SELECT tc.constraint_name, kcu.column_name FROM information_schema.table_constraints tc \
               JOIN information_schema.key_column_usage kcu ON tc.constraint_name = kcu.constraint_name \
               WHERE tc.table_name = 'sale' AND tc.constraint_type = 'PRIMARY KEY' ORDER BY kcu.ordinal_position";
    assert_eq!(rows(sql), ["sale_pkey|item_id", "sale_pkey|day"]);
    assert_eq!(rows("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"), ["8"]);
}

/// JDBC's lists of tables and columns.
#[test]
fn tables_and_columns_are_listed_for_jdbc() {
    let sql = "SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, \
               CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema' WHEN true THEN 'SYSTEM TABLE' \
               WHEN false THEN CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'i' THEN 'INDEX' ELSE NULL END ELSE NULL END \
               AS TABLE_TYPE, d.description AS REMARKS FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c \
               LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 \
               AND d.classoid = 'pg_class'::regclass) \
               WHERE c.relnamespace = n.oid AND c.relname LIKE 'item' ORDER BY TABLE_TYPE, TABLE_SCHEM, TABLE_NAME";
    assert_eq!(rows(sql), ["NULL|public|item|TABLE|NULL"]);
    let sql = "SELECT * FROM (SELECT n.nspname, c.relname, a.attname, a.atttypid, \
               a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull, a.atttypmod, a.attlen, t.typtypmod, \
               row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, \
               nullif(a.attidentity, '') AS attidentity, pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc, \
               dsc.description, t.typbasetype, t.typtype FROM pg_catalog.pg_namespace n \
               JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid) \
               JOIN pg_catalog.pg_attribute a ON (a.attrelid = c.oid) \
               JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) \
               LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid = def.adrelid AND a.attnum = def.adnum) \
               LEFT JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) \
               WHERE c.relkind IN ('r', 'p', 'v', 'f', 'm') AND a.attnum > 0 AND NOT a.attisdropped \
               AND n.nspname LIKE 'public' AND c.relname LIKE 'nothing') c WHERE true \
               ORDER BY nspname, c.relname, attnum";
    assert_eq!(
        rows(sql),
        [
            "public|nothing|id|20|t|-1|8|-1|1|NULL|NULL|NULL|0|b",
            "public|nothing|label|25|f|-1|-1|-1|2|NULL|NULL|NULL|0|b"
        ]
    );
}

/// JDBC's keys and indexes of a table, which its editors and updatable results need, too.
#[test]
fn keys_and_indexes_are_listed_for_jdbc() {
    let of_table = "FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid) \
                    JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) \
                    JOIN pg_catalog.pg_index i ON (a.attrelid = i.indrelid) JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)";
    let sql = format!(
        "SELECT result.TABLE_NAME, result.COLUMN_NAME, result.KEY_SEQ, result.PK_NAME FROM (SELECT ct.relname AS TABLE_NAME, \
         a.attname AS COLUMN_NAME, (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME, \
         information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM {of_table} WHERE true AND ct.relname = 'sale' \
         AND i.indisprimary) result WHERE result.A_ATTNUM = (result.KEYS).x \
         ORDER BY result.table_name, result.pk_name, result.key_seq"
    );
    assert_eq!(rows(&sql), ["sale|item_id|1|sale_pkey", "sale|day|2|sale_pkey"]);
    let sql = "SELECT tmp.NON_UNIQUE, tmp.INDEX_NAME, tmp.TYPE, tmp.ORDINAL_POSITION, \
               trim(both '\"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, tmp.ORDINAL_POSITION, false)) AS COLUMN_NAME, \
               CASE tmp.AM_NAME WHEN 'btree' THEN CASE tmp.I_INDOPTION[tmp.ORDINAL_POSITION - 1] & 1::smallint \
               WHEN 1 THEN 'D' ELSE 'A' END ELSE NULL END AS ASC_OR_DESC FROM (SELECT NOT i.indisunique AS NON_UNIQUE, \
               ci.relname AS INDEX_NAME, CASE i.indisclustered WHEN true THEN 1 ELSE CASE am.amname WHEN 'hash' THEN 2 ELSE 3 END END \
               AS TYPE, (information_schema._pg_expandarray(i.indkey)).n AS ORDINAL_POSITION, ci.oid AS CI_OID, \
               i.indoption AS I_INDOPTION, am.amname AS AM_NAME FROM pg_catalog.pg_class ct \
               JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid) \
               JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) JOIN pg_catalog.pg_am am ON (ci.relam = am.oid) \
               WHERE true AND n.nspname = 'public' AND ct.relname = 'item') AS tmp ORDER BY NON_UNIQUE, TYPE, INDEX_NAME, ORDINAL_POSITION";
    assert_eq!(
        rows(sql),
        ["f|item_pkey|3|1|id|A", "f|item_price|3|1|price|A", "f|item_price|3|2|id|A", "t|item_name|3|1|name|A"]
    );
    let sql = "SELECT a.attname, a.atttypid FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid) \
               JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN (SELECT i.indexrelid, i.indrelid, i.indisprimary, \
               information_schema._pg_expandarray(i.indkey) AS keys FROM pg_catalog.pg_index i) i \
               ON (a.attnum = (i.keys).x AND a.attrelid = i.indrelid) WHERE true AND ct.relname = 'item' AND i.indisprimary";
    assert_eq!(rows(sql), ["id|23"]);
}

/// What pgbench and psql ask before anything else, and what psycopg asks of types that it does not know.
#[test]
fn sessions_begin() {
    let sql = "select o.n, p.partstrat, pg_catalog.count(i.inhparent) from pg_catalog.pg_class as c \
               join pg_catalog.pg_namespace as n on (n.oid = c.relnamespace) cross join lateral \
               (select pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname)) as o(n) \
               left join pg_catalog.pg_partitioned_table as p on (p.partrelid = c.oid) \
               left join pg_catalog.pg_inherits as i on (c.oid = i.inhparent) \
               where c.relname = 'pgbench_accounts' and o.n is not null group by 1, 2 order by 1 asc limit 1";
    assert_eq!(rows(sql), ["2|NULL|0"]);
    let sql = "SELECT typname AS name, oid, typarray AS array_oid, oid::regtype::text AS regtype, typdelim AS delimiter \
               FROM pg_type t WHERE t.oid = 'int4'::regtype ORDER BY t.oid";
    assert_eq!(rows(sql), ["int4|23|1007|integer|,"]);
    assert_eq!(rows("SELECT current_setting('server_version_num')::int / 10000, pg_backend_pid()"), ["15|42"]);
    assert_eq!(rows("select pg_catalog.version()")[0].get(..13), Some("PostgreSQL 15"));
    // It would be taken for having set something.
    let refused = World::new().answer("SELECT set_config('search_path', 'public', false), current_schemas(true)");
    assert!(refused[0].starts_with("ERROR 0A000"), "{refused:?}");
    assert_eq!(rows("SELECT current_schemas(true)"), ["{pg_catalog,public}"]);
}
