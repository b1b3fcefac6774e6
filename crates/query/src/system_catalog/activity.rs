//! `pg_stat_activity`.

use super::SystemCatalog;
use super::rows::{Cell, Row, row};
use messages::query::SessionActivity;
use messages::role::READ_ALL_STATS_OID;

/// Characters of a statement that are shown (PostgreSQL's `track_activity_query_size`, in bytes).
const STATEMENT_CHARACTERS_MAX: usize = 1_023;

/// The sessions of this site. What others say is for their own role, and for who may read all statistics.
pub(super) fn rows(catalog: &SystemCatalog) -> Vec<Row> {
    let standing = catalog.standing();
    let of = |known: &SessionActivity| {
        let is_seen = standing.has(known.role) || standing.is_member(READ_ALL_STATS_OID);
        let seen = |cell: Cell| if is_seen { cell } else { Cell::Null };
        let waits = known.state.starts_with("idle");
        let statement: String = known.statement.chars().take(STATEMENT_CHARACTERS_MAX).collect();
        let datid = catalog.catalog().database_named(&known.database).map(|database| database.id.0);
        row! {
            datid: datid, datname: known.database.as_str(), pid: i64::from(known.process), usesysid: known.role,
            usename: known.user.as_str(), application_name: known.application.as_str(),
            client_addr: seen(known.address.map(|address| address.to_string()).into()),
            backend_start: seen(known.began_micros.into()),
            xact_start: seen(known.transaction_micros.into()),
            query_start: seen(known.statement_micros.into()), state_change: seen(known.changed_micros.into()),
            wait_event_type: seen(waits.then_some("Client").into()), wait_event: seen(waits.then_some("ClientRead").into()),
            state: seen(known.state.as_str().into()),
            query: if is_seen { statement } else { "<insufficient privilege>".to_owned() },
            backend_type: seen("client backend".into()),
        }
    };
    catalog.session().activity.iter().map(of).collect()
}
