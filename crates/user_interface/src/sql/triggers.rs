//! CREATE, ALTER and DROP TRIGGER, and what of ALTER TABLE is about triggers.
//!
//! Invariants: a trigger's function is there as long as the trigger; its condition has a meaning when it is made.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::denials::denied_for;
use crate::sql::foreign_keys::check_triggers;
use crate::sql::names;
use crate::sql::search_trigger::built_in;
use crate::sql::trigger_conditions;
use crate::sql::trigger_syntax;
use messages::namespace;
use messages::privilege::Privileges;
use messages::schema::{
    CatalogEntry, ProcedureSchema, RoutineResult, TableSchema, TableSchemaKind, TransitionNames, TriggerEvents,
    TriggerSchema, TriggerTiming,
};
use sqlparser::ast;
use std::sync::Arc;

fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(SqlError::new(sqlstate::INVALID_OBJECT_DEFINITION, message))
}

impl Planner<'_> {
    /// CREATE TRIGGER. Errors: 42710 for a name that is taken, 42P17 for what is no function of triggers, 0A000.
    pub(super) fn create_trigger(&mut self, create: &ast::CreateTrigger) -> Result<()> {
        let name = names::own_relation(&create.table_name)?;
        let view = self.catalog.tables.get(&name).map(|known| Arc::clone(&known.table));
        let table = match view.filter(|known| known.kind() == TableSchemaKind::View) {
            Some(view) => view,
            None => self.table(&name)?,
        };
        self.check_has_triggers(create, &table)?;
        refuse_unbuilt(create)?;
        let made = self.trigger(create, &table)?;
        let mut changed = TableSchema::clone(&table);
        match changed.triggers.iter().position(|known| known.name == made.name) {
            Some(_) if !create.or_replace => {
                let message = format!("trigger \"{}\" for relation \"{}\" already exists", made.name, table.name);
                return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
            }
            Some(place) => {
                let oid = changed.triggers[place].oid;
                changed.triggers[place] = TriggerSchema { oid, ..made };
            }
            None => {
                let oid = self.next_number();
                changed.triggers.push(TriggerSchema { oid, ..made });
            }
        }
        // They fire in the order of their names.
        changed.triggers.sort_by(|left, right| left.name.cmp(&right.name));
        check_triggers(&changed)?;
        self.write_table(changed);
        Ok(())
    }

    /// Errors: 42809 for a relation that cannot have such triggers, 42501.
    fn check_has_triggers(&self, create: &ast::CreateTrigger, table: &TableSchema) -> Result<()> {
        let kind = table.kind();
        let refused = match kind {
            TableSchemaKind::Table if timing(create) == TriggerTiming::InsteadOf => {
                Some("Tables cannot have INSTEAD OF triggers.")
            }
            TableSchemaKind::View if timing(create) != TriggerTiming::InsteadOf && is_for_rows(create) => {
                Some("Views cannot have row-level BEFORE or AFTER triggers.")
            }
            TableSchemaKind::View if create.events.contains(&ast::TriggerEvent::Truncate) => {
                Some("Views cannot have TRUNCATE triggers.")
            }
            TableSchemaKind::Table | TableSchemaKind::View => None,
            _ => {
                let message = format!("relation \"{}\" cannot have triggers", table.name);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
            }
        };
        match refused {
            Some(detail) => Err(is_a(table, detail)),
            None if self.standing.on_table(table).contain(Privileges::TRIGGER) => Ok(()),
            None => Err(denied_for(kind.word(), &table.name)),
        }
    }

    fn trigger(&mut self, create: &ast::CreateTrigger, table: &TableSchema) -> Result<TriggerSchema> {
        let (events, columns) = events(create, table)?;
        let is_for_rows = is_for_rows(create);
        if is_for_rows && events.truncate {
            return Err(SqlError::unsupported("TRUNCATE FOR EACH ROW triggers"));
        }
        check_instead(create, &columns)?;
        let transitions = transition_names(create, table, events, &columns)?;
        if events.truncate {
            return Err(SqlError::unsupported("a trigger for TRUNCATE"));
        }
        let Some(body) = &create.exec_body else { return Err(SqlError::unsupported("a trigger without a function")) };
        let arguments = body.func_desc.args.as_deref().unwrap_or(&[]).iter().map(trigger_syntax::argument);
        let made = TriggerSchema {
            name: names::own_relation(&create.name)?,
            oid: 0,
            function: self.trigger_function(&body.func_desc.name)?,
            timing: timing(create),
            is_for_rows,
            events,
            columns,
            condition: create.condition.as_ref().map(trigger_conditions::kept),
            arguments: arguments.collect::<Result<_>>()?,
            is_enabled: true,
            transitions,
        };
        if let Some(condition) = &create.condition {
            self.rely_on_types(condition);
            trigger_conditions::check(condition, &made, table, &self.catalog)?;
        }
        Ok(made)
    }

    /// The function of a trigger. Errors: 42883 if there is none, 42P17 for one of another kind.
    fn trigger_function(&mut self, name: &ast::ObjectName) -> Result<(String, u32)> {
        let name = names::own_relation(name)?;
        let Some((known, _)) = self.catalog.procedures.get(&name).cloned() else {
            if let Some(known) = built_in(&name) {
                return Ok(known);
            }
            return Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("function {name}() does not exist")));
        };
        let is_trigger = known
            .function
            .as_ref()
            .is_some_and(|function| matches!(function.result, RoutineResult::Trigger) && known.parameters.is_empty());
        if !is_trigger {
            return invalid(format!("function {name} must return type trigger"));
        }
        if self.standing.on_procedure(&known).is_empty() {
            return Err(denied_for("function", &name));
        }
        self.relied.insert(CatalogEntry::procedure_key(&name));
        Ok((name, known.oid))
    }

    /// DROP TRIGGER. Errors: 42704 for one that does not exist.
    pub(super) fn drop_trigger(&mut self, dropped: &ast::DropTrigger) -> Result<()> {
        let name = names::own_relation(&dropped.trigger_name)?;
        let Some(on) = &dropped.table_name else { return Err(SqlError::unsupported("DROP TRIGGER without a table")) };
        let on = names::own_relation(on)?;
        let known = self.catalog.tables.get(&on).map(|known| known.table.clone());
        let place = known.as_ref().and_then(|table| table.triggers.iter().position(|known| known.name == name));
        let (Some(table), Some(place)) = (known.as_ref(), place) else {
            let message = match known {
                Some(_) => format!("trigger \"{name}\" for relation \"{on}\" does not exist"),
                None => format!("relation \"{on}\" does not exist"),
            };
            if dropped.if_exists {
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                return Ok(());
            }
            let code = if known.is_some() { sqlstate::UNDEFINED_OBJECT } else { sqlstate::UNDEFINED_TABLE };
            return Err(SqlError::new(code, message));
        };
        self.check_owns_table(table)?;
        let mut changed = TableSchema::clone(table);
        changed.triggers.remove(place);
        self.write_table(changed);
        Ok(())
    }

    /// ALTER TABLE ... ENABLE or DISABLE TRIGGER. Errors: 42704 for one that does not exist.
    pub(super) fn enable_trigger(&mut self, table: &Arc<TableSchema>, name: &ast::Ident, enable: bool) -> Result<()> {
        let word = names::identifier(name);
        let is_all = name.quote_style.is_none() && matches!(word.as_str(), "all" | "user");
        let mut changed = TableSchema::clone(table);
        let mut found = is_all;
        for trigger in changed.triggers.iter_mut().filter(|known| is_all || known.name == word) {
            found = true;
            trigger.is_enabled = enable;
        }
        if !found {
            let message = format!("trigger \"{word}\" for table \"{}\" does not exist", table.name);
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
        }
        self.write_table(changed);
        Ok(())
    }

    /// Drops the triggers of a table that depend on a column, or refuses to (2BP01).
    pub(super) fn drop_triggers_on(&mut self, table: &mut TableSchema, column: usize, cascade: bool) -> Result<()> {
        let (shown, name) = (namespace::bare(&table.name).to_owned(), table.columns[column].name.clone());
        let what = format!("column {name} of table {shown}");
        let depending = depending_on(table, column)?;
        if depending.is_empty() {
            return Ok(());
        }
        let named: Vec<String> = depending.iter().map(|one| format!("trigger {one} on table {shown}")).collect();
        if !cascade {
            let lines: Vec<String> = named.iter().map(|one| format!("{one} depends on {what}")).collect();
            return Err(SqlError::needed(what, lines.join("\n")));
        }
        let told: Vec<String> = named.iter().map(|one| format!("drop cascades to {one}")).collect();
        self.tell_cascades(&told);
        table.triggers.retain(|known| !depending.contains(&known.name));
        Ok(())
    }

    /// Drops the triggers that call a function, or refuses to (2BP01).
    pub(super) fn drop_triggers_calling(&mut self, known: &ProcedureSchema, cascade: bool) -> Result<()> {
        let calling = self.triggers_calling(known.oid);
        if calling.is_empty() {
            return Ok(());
        }
        let what = format!("function {}()", known.name);
        let named = |(table, trigger): &(Arc<TableSchema>, String)| {
            format!("trigger {trigger} on {} {}", table.kind().word(), table.name)
        };
        if !cascade {
            let lines: Vec<String> = calling.iter().map(|one| format!("{} depends on {what}", named(one))).collect();
            return Err(SqlError::needed(what, lines.join("\n")));
        }
        let told: Vec<String> = calling.iter().map(|one| format!("drop cascades to {}", named(one))).collect();
        self.tell_cascades(&told);
        for (table, trigger) in calling {
            let known = self.catalog.tables.get(&table.name).map(|known| Arc::clone(&known.table));
            let mut changed = TableSchema::clone(&known.unwrap_or(table));
            changed.triggers.retain(|other| other.name != trigger);
            self.write_table(changed);
        }
        Ok(())
    }

    /// The triggers that call a function, each with its table.
    fn triggers_calling(&self, function: u32) -> Vec<(Arc<TableSchema>, String)> {
        let tables = self.catalog.tables.values().map(|known| &known.table);
        let of_table = |table: &Arc<TableSchema>| {
            let calling = table.triggers.iter().filter(|known| known.function.1 == function);
            calling.map(|known| (Arc::clone(table), known.name.clone())).collect::<Vec<_>>()
        };
        tables.flat_map(of_table).collect()
    }
}

/// The names of the triggers that depend on a column.
fn depending_on(table: &TableSchema, column: usize) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for trigger in &table.triggers {
        if trigger_conditions::columns(trigger, table)?.contains(&column) {
            found.push(trigger.name.clone());
        }
    }
    Ok(found)
}

/// Errors: 0A000 for a column that a trigger depends on, whose type is to change.
pub(super) fn check_type_is_free(table: &TableSchema, column: usize) -> Result<()> {
    match depending_on(table, column)?.first() {
        None => Ok(()),
        Some(trigger) => {
            let message = "cannot alter type of a column used in a trigger definition";
            let (table, column) = (namespace::bare(&table.name), &table.columns[column].name);
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_detail(format!("trigger {trigger} on table {table} depends on column \"{column}\"")))
        }
    }
}

fn timing(create: &ast::CreateTrigger) -> TriggerTiming {
    match create.period {
        Some(ast::TriggerPeriod::Before) => TriggerTiming::Before,
        Some(ast::TriggerPeriod::InsteadOf) => TriggerTiming::InsteadOf,
        _ => TriggerTiming::After,
    }
}

fn is_for_rows(create: &ast::CreateTrigger) -> bool {
    matches!(
        create.trigger_object,
        Some(
            ast::TriggerObjectKind::For(ast::TriggerObject::Row)
                | ast::TriggerObjectKind::ForEach(ast::TriggerObject::Row)
        )
    )
}

/// 42809: what a relation is, and what it cannot have for that.
fn is_a(table: &TableSchema, detail: &str) -> Box<SqlError> {
    let message = format!("\"{}\" is a {}", namespace::bare(&table.name), table.kind().word());
    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message).with_detail(detail)
}

/// Errors: 0A000 for what an INSTEAD OF trigger cannot be.
fn check_instead(create: &ast::CreateTrigger, columns: &[usize]) -> Result<()> {
    let refused = match () {
        () if timing(create) != TriggerTiming::InsteadOf => return Ok(()),
        () if !is_for_rows(create) => "INSTEAD OF triggers must be FOR EACH ROW",
        () if create.condition.is_some() => "INSTEAD OF triggers cannot have WHEN conditions",
        () if !columns.is_empty() => "INSTEAD OF triggers cannot have column lists",
        () => return Ok(()),
    };
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, refused))
}

/// Names of transition tables. Errors: 42809 on a view, 42P17 and 0A000 for triggers that cannot have any.
fn transition_names(
    create: &ast::CreateTrigger,
    table: &TableSchema,
    events: TriggerEvents,
    columns: &[usize],
) -> Result<TransitionNames> {
    let mut found = TransitionNames::default();
    if create.referencing.is_empty() {
        return Ok(found);
    }
    if table.kind() == TableSchemaKind::View {
        return Err(is_a(table, "Triggers on views cannot have transition tables."));
    }
    if timing(create) != TriggerTiming::After {
        return invalid("transition table name can only be specified for an AFTER trigger");
    }
    if events.truncate {
        let message = "TRUNCATE triggers with transition tables are not supported";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let several = [events.insert, events.update, events.delete].into_iter().filter(|is| *is).count() > 1;
    let refused = match () {
        () if several => Some("transition tables cannot be specified for triggers with more than one event"),
        () if !columns.is_empty() => Some("transition tables cannot be specified for triggers with column lists"),
        () => None,
    };
    if let Some(message) = refused {
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    for referencing in &create.referencing {
        let name = names::own_relation(&referencing.transition_relation_name)?;
        let (slot, wrong, twice) = match referencing.refer_type {
            ast::TriggerReferencingType::NewTable => (
                &mut found.new,
                events.delete.then_some("NEW TABLE can only be specified for an INSERT or UPDATE trigger"),
                "NEW TABLE cannot be specified multiple times",
            ),
            ast::TriggerReferencingType::OldTable => (
                &mut found.old,
                events.insert.then_some("OLD TABLE can only be specified for a DELETE or UPDATE trigger"),
                "OLD TABLE cannot be specified multiple times",
            ),
        };
        if let Some(wrong) = wrong {
            return invalid(wrong);
        }
        if slot.replace(name).is_some() {
            return invalid(twice);
        }
    }
    if found.old.is_some() && found.old == found.new {
        return invalid("OLD TABLE name and NEW TABLE name cannot be the same");
    }
    Ok(found)
}

/// What is not kept, by its name.
fn refuse_unbuilt(create: &ast::CreateTrigger) -> Result<()> {
    let refused = if create.is_constraint {
        "CREATE CONSTRAINT TRIGGER"
    } else if create.temporary || create.or_alter || create.statements.is_some() {
        "this form of CREATE TRIGGER"
    } else if create.characteristics.is_some() || create.referenced_table_name.is_some() {
        "a trigger that is put off"
    } else {
        return Ok(());
    };
    Err(SqlError::unsupported(refused))
}

/// What a trigger fires for, and the columns of UPDATE OF. Errors: 42703, 42701.
fn events(create: &ast::CreateTrigger, table: &TableSchema) -> Result<(TriggerEvents, Vec<usize>)> {
    let (mut events, mut columns) = (TriggerEvents::default(), Vec::new());
    for event in &create.events {
        let seen = match event {
            ast::TriggerEvent::Insert => std::mem::replace(&mut events.insert, true),
            ast::TriggerEvent::Delete => std::mem::replace(&mut events.delete, true),
            ast::TriggerEvent::Truncate => std::mem::replace(&mut events.truncate, true),
            ast::TriggerEvent::Update(of) => {
                for name in of {
                    let name = names::identifier(name);
                    let place = table.columns.iter().position(|column| !column.dropped && column.name == name);
                    let Some(place) = place else {
                        let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
                        return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, message));
                    };
                    if columns.contains(&place) {
                        let message = format!("column \"{name}\" specified more than once");
                        return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, message));
                    }
                    columns.push(place);
                }
                std::mem::replace(&mut events.update, true)
            }
        };
        if seen {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "duplicate trigger events specified"));
        }
    }
    Ok((events, columns))
}

/// Whether the type of a result is that of functions of triggers.
pub(super) fn is_trigger(written: &str) -> bool {
    written.eq_ignore_ascii_case("trigger") || written.eq_ignore_ascii_case("pg_catalog.trigger")
}
