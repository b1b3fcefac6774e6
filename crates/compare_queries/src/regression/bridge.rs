//! Tables that PostgreSQL has and Raid has not are made there from PostgreSQL's catalog and filled: what the suite's own preparation makes in ways
//! that Raid does not have.

use super::class::failure;
use super::play::{column, text};
use crate::wire::{Connection, Endpoint};

/// Carries over what can be; the names of what cannot.
///
/// # Errors
/// One of the systems cannot be reached.
pub fn carry(raid: &Endpoint, postgres: &Endpoint) -> Result<Vec<String>, String> {
    let (mut raid, mut postgres) = (Connection::open(raid)?, Connection::open(postgres)?);
    let names =
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1";
    let mut left = Vec::new();
    for name in column(&postgres.script(names, "")) {
        if !carry_table(&mut raid, &mut postgres, &name) {
            left.push(name);
        }
    }
    Ok(left)
}

fn carry_table(raid: &mut Connection, postgres: &mut Connection, name: &str) -> bool {
    let columns = format!(
        "SELECT string_agg(quote_ident(attname) || ' ' || CASE WHEN atttypid = 'name'::regtype THEN 'text' ELSE format_type(atttypid, atttypmod) END \
         || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END, ', ' ORDER BY attnum) \
         FROM pg_attribute WHERE attrelid = 'public.{name}'::regclass AND attnum > 0 AND NOT attisdropped"
    );
    let columns = text(&postgres.script(&columns, ""));
    raid.script(&format!("DROP TABLE IF EXISTS \"{name}\""), "");
    if failure(&raid.script(&format!("CREATE TABLE \"{name}\" ({columns})"), "")).is_some() {
        return false;
    }
    let data: String = column(&postgres.script(&format!("COPY (SELECT * FROM \"{name}\") TO STDOUT"), "")).concat();
    failure(&raid.script(&format!("COPY \"{name}\" FROM STDIN"), &data)).is_none()
}
