//! Triggers, as `pg_trigger`, `information_schema.triggers` and `pg_get_triggerdef` show them.

use super::SystemCatalog;
use super::rows::{Row, row};
use messages::expression_sql::quoted;
use messages::namespace;
use messages::schema::{TableSchema, TriggerEvent, TriggerSchema};

/// What they may fire for, in the order of `pg_get_triggerdef`.
const EVENTS: [TriggerEvent; 4] =
    [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Truncate];

/// All triggers with their tables.
fn all<'a>(catalog: &'a SystemCatalog) -> impl Iterator<Item = (&'a TableSchema, &'a TriggerSchema)> {
    catalog.plain_tables().flat_map(|table| table.triggers.iter().map(move |trigger| (table, trigger)))
}

/// The call of its function, as it is written.
fn call(catalog: &SystemCatalog, trigger: &TriggerSchema) -> String {
    let arguments: Vec<String> = trigger.arguments.iter().map(|one| format!("'{}'", one.replace('\'', "''"))).collect();
    let found = catalog.path().iter().find(|schema| {
        catalog.catalog.procedures.contains_key(&namespace::within(namespace::bare(&trigger.function.0), **schema))
    });
    let name = match found == Some(&namespace::of(&trigger.function.0)) {
        true => quoted(namespace::bare(&trigger.function.0)),
        false => catalog.qualified_name(&trigger.function.0),
    };
    format!("{name}({})", arguments.join(", "))
}

/// The rows of `pg_trigger`.
pub(super) fn rows(catalog: &SystemCatalog) -> Vec<Row> {
    let of_one = |(table, trigger): (&TableSchema, &TriggerSchema)| {
        let columns: Vec<i64> = trigger.columns.iter().map(|column| *column as i64 + 1).collect();
        let arguments: Vec<u8> = trigger.arguments.iter().flat_map(|one| one.bytes().chain([0])).collect();
        row! {
            oid: trigger.oid, tgrelid: table.oid, tgparentid: 0, tgname: trigger.name.as_str(), tgfoid: trigger.function.1,
            tgtype: i64::from(trigger.bits()), tgenabled: if trigger.is_enabled { "O" } else { "D" }, tgisinternal: false,
            tgconstrrelid: 0, tgconstrindid: 0, tgconstraint: 0, tgdeferrable: false, tginitdeferred: false,
            tgnargs: trigger.arguments.len() as i64,
            tgargs: arguments, tgattr: columns, tgqual: trigger.condition.clone(),
        }
    };
    all(catalog).map(of_one).collect()
}

/// The rows of `information_schema.triggers`: one for each event.
pub(super) fn information(catalog: &SystemCatalog) -> Vec<Row> {
    let database = catalog.session().database.as_str();
    let mut rows = Vec::new();
    for (table, trigger) in all(catalog) {
        let schema = catalog.schema_of(&table.name);
        for event in EVENTS.into_iter().filter(|event| trigger.events.has(*event)) {
            rows.push(row! {
                trigger_catalog: database, trigger_schema: schema.as_str(), trigger_name: trigger.name.as_str(),
                event_manipulation: event.word(), event_object_catalog: database, event_object_schema: schema.as_str(),
                event_object_table: namespace::bare(&table.name), action_order: 1,
                action_condition: trigger.condition.as_ref().map(|condition| format!("({condition})")),
                action_statement: format!("EXECUTE FUNCTION {}", call(catalog, trigger)),
                action_orientation: if trigger.is_for_rows { "ROW" } else { "STATEMENT" },
                action_timing: if trigger.is_before { "BEFORE" } else { "AFTER" },
            });
        }
    }
    rows
}

/// `pg_get_triggerdef(oid)`: what makes it again. `None` when there is no such trigger.
pub fn trigger_definition(catalog: &SystemCatalog, oid: u32) -> Option<String> {
    let (table, trigger) = all(catalog).find(|(_, trigger)| trigger.oid == oid)?;
    let events = EVENTS.into_iter().filter(|event| trigger.events.has(*event)).map(|event| {
        let columns: Vec<String> = trigger.columns.iter().map(|column| quoted(&table.columns[*column].name)).collect();
        match event {
            TriggerEvent::Update if !columns.is_empty() => format!("UPDATE OF {}", columns.join(", ")),
            event => event.word().to_owned(),
        }
    });
    let events = events.collect::<Vec<_>>().join(" OR ");
    let when = if trigger.is_before { "BEFORE" } else { "AFTER" };
    let each = if trigger.is_for_rows { "ROW" } else { "STATEMENT" };
    let condition = trigger.condition.as_ref().map_or_else(String::new, |condition| format!(" WHEN (({condition}))"));
    let (name, on) = (quoted(&trigger.name), catalog.qualified_name(&table.name));
    let call = call(catalog, trigger);
    Some(format!("CREATE TRIGGER {name} {when} {events} ON {on} FOR EACH {each}{condition} EXECUTE FUNCTION {call}"))
}
