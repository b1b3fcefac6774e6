//! The functions of triggers that PostgreSQL has built in: they keep a `tsvector` column like the texts of its row.
//!
//! Invariant: such a function asks for nothing. It is over when it begins.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::names::parts;
use messages::namespace;
use plpgsql::StatementAnswer;
use plpgsql::triggers::TriggerCall;
use text_search::{SearchConfiguration, TextSearchError, names};
use values::{Type, Value};

/// The number of the schema `pg_catalog`.
const SYSTEM: u32 = 11;
/// Their names and object identifiers.
const BUILT_IN: [(&str, u32); 2] = [("tsvector_update_trigger", 3752), ("tsvector_update_trigger_column", 3753)];

/// The function of this name, as triggers hold it, if it is built in.
pub(crate) fn built_in(name: &str) -> Option<(String, u32)> {
    let (schema, name) = parts(name);
    let bare = namespace::bare(name);
    let bare = bare.strip_prefix("pg_catalog.").unwrap_or(bare);
    let known = BUILT_IN.into_iter().find(|(known, _)| *known == bare)?;
    (schema.unwrap_or("pg_catalog") == "pg_catalog").then(|| (namespace::within(known.0, SYSTEM), known.1))
}

/// What it gives back: the row as it is to be. `None`: it is a function of a user's.
pub(crate) fn answer(function: &str, call: &TriggerCall) -> Option<Result<StatementAnswer>> {
    if namespace::of(function) != SYSTEM {
        return None;
    }
    let is_by_column = namespace::bare(function) == BUILT_IN[1].0;
    let row = changed_row(call, is_by_column);
    Some(row.map(|row| StatementAnswer { rows: vec![row], ..StatementAnswer::default() }))
}

fn internal(message: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::INTERNAL_ERROR, format!("tsvector_update_trigger: {message}"))
}

fn of_search(error: TextSearchError) -> Box<SqlError> {
    SqlError::new(error.sqlstate, error.message)
}

/// Errors: XX000 for a trigger of another kind; 42703, 42804, 22023, 42704 for what its arguments name.
fn changed_row(call: &TriggerCall, is_by_column: bool) -> Result<Vec<Value>> {
    match () {
        () if !call.is_for_row => return Err(internal("must be fired for row")),
        () if call.when != "BEFORE" => return Err(internal("must be fired BEFORE event")),
        () if !matches!(call.operation, "INSERT" | "UPDATE") => {
            return Err(internal("must be fired for INSERT or UPDATE"));
        }
        () => {}
    }
    let [target, configuration, texts @ ..] = call.arguments.as_slice() else {
        return Err(internal("arguments must be tsvector_field, ts_config, text_field1, ...)"));
    };
    if texts.is_empty() {
        return Err(internal("arguments must be tsvector_field, ts_config, text_field1, ...)"));
    }
    let mut row = call.new.clone().unwrap_or_default();
    let (place, of) = field(call, target, "tsvector column")?;
    if of != Type::TsVector {
        return Err(mistyped(target, "tsvector"));
    }
    if is_by_column {
        // No column has that type here.
        field(call, configuration, "configuration column")?;
        return Err(mistyped(configuration, "regconfig"));
    }
    if !names::has_schema(configuration).map_err(of_search)? {
        let message = format!("text search configuration name \"{configuration}\" must be schema-qualified");
        return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    let configuration = SearchConfiguration::named(configuration).map_err(of_search)?;
    let mut found = Vec::with_capacity(texts.len());
    let mut is_needed = call.operation == "INSERT";
    for name in texts {
        let (place, of) = field(call, name, "column")?;
        if !matches!(of, Type::Text | Type::Varchar(_)) {
            return Err(mistyped(name, "a character"));
        }
        is_needed |= call.named.contains(name);
        found.extend(row.get(place).and_then(Value::as_text).map(str::to_owned));
    }
    if is_needed {
        let vector = configuration.vector_of_columns(found.iter().map(String::as_str)).map_err(of_search)?;
        row[place] = Value::ts_vector(vector);
    }
    Ok(row)
}

/// The place and type of a column. Errors: 42703.
fn field(call: &TriggerCall, name: &str, what: &str) -> Result<(usize, Type)> {
    let place = call.fields.iter().position(|(known, _)| known == name);
    let place =
        place.ok_or_else(|| SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("{what} \"{name}\" does not exist")))?;
    Ok((place, call.fields[place].1))
}

/// 42804.
fn mistyped(name: &str, wanted: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::DATATYPE_MISMATCH, format!("column \"{name}\" is not of {wanted} type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &[&str], new: [Value; 2], named: &[&str]) -> TriggerCall {
        TriggerCall {
            fields: vec![("body".into(), Type::Varchar(Some(9))), ("v".into(), Type::TsVector)],
            is_for_row: true,
            new: Some(new.into()),
            old: None,
            name: "t".into(),
            when: "BEFORE",
            operation: if named.is_empty() { "INSERT" } else { "UPDATE" },
            named: named.iter().map(|name| (*name).to_owned()).collect(),
            relation: 1,
            table: "papers".into(),
            schema: "public".into(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        }
    }

    /// A dump of PostgreSQL's could not be restored, or a user's function would not be called.
    #[test]
    fn the_functions_are_those_of_the_system() {
        let known = |name: &str| built_in(name).map(|(_, oid)| oid);
        assert_eq!(known("tsvector_update_trigger"), Some(3752));
        assert_eq!(known("tsvector_update_trigger_column\u{1f}0"), Some(3753));
        assert_eq!(known(&crate::sql::names::written("pg_catalog", "tsvector_update_trigger")), Some(3752));
        assert_eq!(known(&crate::sql::names::written("mine", "tsvector_update_trigger")), None);
        assert_eq!(known("tsvector_update"), None);
        let own = call(&[], [Value::Null, Value::Null], &[]);
        assert!(answer("tsvector_update_trigger", &own).is_none(), "a user's function of this name");
    }

    /// The vector would not be that of the texts, or one that the client has written would be lost.
    #[test]
    fn the_vector_follows_the_texts() {
        let arguments = ["v", "pg_catalog.english", "body"];
        let vector = |call: &TriggerCall| changed_row(call, false).map(|row| values::text::to_string(&row[1]));
        let fresh = [Value::text("fat cats"), Value::Null];
        assert_eq!(vector(&call(&arguments, fresh.clone(), &[])).unwrap().as_deref(), Some("'cat':2 'fat':1"));
        assert_eq!(vector(&call(&arguments, fresh.clone(), &["body"])).unwrap().as_deref(), Some("'cat':2 'fat':1"));
        assert_eq!(vector(&call(&arguments, fresh.clone(), &["v"])).unwrap(), None);
        assert_eq!(vector(&call(&arguments, [Value::Null, Value::Null], &[])).unwrap().as_deref(), Some(""));
        let refused = [
            (["v", "english", "body"], "22023"),
            (["v", "pg_catalog.nosuch", "body"], "42704"),
            (["w", "pg_catalog.english", "body"], "42703"),
            (["body", "pg_catalog.english", "body"], "42804"),
            (["v", "pg_catalog.english", "v"], "42804"),
        ];
        for (arguments, code) in refused {
            assert_eq!(vector(&call(&arguments, fresh.clone(), &[])).unwrap_err().sqlstate, code, "{arguments:?}");
        }
    }
}
