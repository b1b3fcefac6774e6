//! Sequences: CREATE, ALTER and DROP SEQUENCE, `serial` and identity columns, `nextval` and its like.
//!
//! Invariants: a sequence is a table of one row with [`SequenceSchema`] in its definition; whatever sets it counts its generation up, so that values which a
//! site has taken before are not given out after. A sequence that a column owns is dropped with it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::denials::{OwnerReach, denied_for};
use crate::sql::identity_syntax::IdentityStatement;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::parse;
use crate::sql::sequence_calls::SetValue;
use crate::sql::sequence_names::named;
use crate::sql::sequence_options::{Options, identity_options, limits, options, relation, wrong};
use crate::sql::settings::Facts;
use crate::sql::temporary_syntax::{in_own_temporary, skip_temporary};
use crate::sql::visits::visit_expressions_mut;
use crate::sql::words::Words;
use messages::Key;
use messages::namespace;
use messages::privilege::Privileges;
use messages::program::{Action, ResultColumn, SequenceValue};
use messages::schema::{Catalog, Column, Identity, SequenceSchema, TableSchema, TableSchemaKind};
use privileges::Kind;
use sqlparser::ast::{self, Expr};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use values::Type;

/// A statement about a sequence.
#[derive(Clone, Debug)]
pub enum SequenceStatement {
    /// CREATE SEQUENCE; true: IF NOT EXISTS.
    Create(String, bool, Options),
    /// ALTER SEQUENCE; true: IF EXISTS.
    Alter(String, bool, Options),
    /// ALTER SEQUENCE ... RENAME TO; true: IF EXISTS.
    Rename(String, bool, String),
    /// ALTER TABLE about an identity column.
    Identity(IdentityStatement),
}

impl SequenceStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            SequenceStatement::Create(..) => "CREATE SEQUENCE",
            SequenceStatement::Alter(..) | SequenceStatement::Rename(..) => "ALTER SEQUENCE",
            SequenceStatement::Identity(_) => "ALTER TABLE",
        }
    }

    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub fn qualified(&self, lookup: &NameLookup) -> Result<SequenceStatement> {
        let known = |name: &String| lookup.existing(NameKind::Relation, name);
        let with_owner = |options: &Options| {
            let mut options = options.clone();
            if let Some(Some((table, _))) = &mut options.owned_by {
                *table = known(table)?;
            }
            Ok::<_, Box<SqlError>>(options)
        };
        Ok(match self {
            SequenceStatement::Create(name, if_not_exists, options) => {
                SequenceStatement::Create(lookup.new_name(name)?, *if_not_exists, with_owner(options)?)
            }
            SequenceStatement::Alter(name, if_exists, options) => {
                SequenceStatement::Alter(known(name)?, *if_exists, with_owner(options)?)
            }
            SequenceStatement::Rename(name, if_exists, to) => {
                let name = known(name)?;
                let to = namespace::beside(&name, to);
                SequenceStatement::Rename(name, *if_exists, to)
            }
            SequenceStatement::Identity(statement) => SequenceStatement::Identity(statement.qualified(lookup)?),
        })
    }

    /// Catalog rows that decide what becomes of it.
    pub fn mentioned(&self, lookup: &NameLookup) -> Vec<Key> {
        let (name, to) = match self {
            SequenceStatement::Create(name, ..) | SequenceStatement::Alter(name, ..) => (name, None),
            SequenceStatement::Rename(name, _, to) => (name, Some(to)),
            SequenceStatement::Identity(statement) => {
                return statement.names().flat_map(|name| lookup.keys(NameKind::Relation, name)).collect();
            }
        };
        let names = [name].into_iter().chain(to);
        names.flat_map(|name| lookup.keys(NameKind::Relation, name)).collect()
    }
}

/// Whether what stands behind CREATE or ALTER is a sequence.
pub(super) fn begins(words: &Words) -> bool {
    let mut ahead = Words { text: words.text, rest: words.rest };
    ahead.skip(&["global", "local"]);
    ahead.skip(&["temp", "temporary", "unlogged"]);
    ahead.peek_is("sequence")
}

/// Parses what stands behind CREATE or ALTER.
pub(super) fn parse(verb: &str, words: &mut Words) -> Result<SequenceStatement> {
    let is_temporary = skip_temporary(words)?;
    if !is_temporary {
        words.skip(&["unlogged"]);
    }
    words.expect("sequence")?;
    let conditional = words.skip(&["if"]);
    if conditional && verb == "create" {
        words.expect("not")?;
    }
    if conditional {
        words.expect("exists")?;
    }
    let name = relation(words)?;
    let name = if is_temporary { in_own_temporary(&name)? } else { name };
    if verb == "create" {
        return Ok(SequenceStatement::Create(name, conditional, options(words)?));
    }
    if words.skip(&["rename"]) {
        words.expect("to")?;
        return Ok(SequenceStatement::Rename(name, conditional, words.name()?));
    }
    if words.peek_is("set") {
        return Err(SqlError::unsupported("ALTER SEQUENCE ... SET"));
    }
    if words.peek().is_none() {
        return Err(words.error());
    }
    Ok(SequenceStatement::Alter(name, conditional, options(words)?))
}

/// Plans a statement about a sequence.
pub fn plan(
    statement: &SequenceStatement,
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &Facts,
) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    match statement {
        SequenceStatement::Create(name, if_not_exists, options) => {
            let name = &planner.made_name(name)?;
            planner.check_create(name)?;
            if let Err(error) = planner.check_free(name) {
                if !if_not_exists {
                    return Err(error);
                }
                planner.notice(sqlstate::DUPLICATE_TABLE, format!("{}, skipping", error.message));
                return Ok(planner.finish());
            }
            let (mut schema, _) = options.apply(None)?;
            planner.own(name, &mut schema, options, planner.standing.role.oid)?;
            planner.make_sequence(name, schema);
        }
        SequenceStatement::Alter(name, if_exists, options) => {
            let Some(sequence) = planner.sequence_if(name, *if_exists)? else { return Ok(planner.finish()) };
            planner.check_owns(&sequence.rights, "sequence", name, OwnerReach::Object)?;
            let (mut schema, restart) = options.apply(sequence.sequence.as_deref())?;
            planner.own(name, &mut schema, options, sequence.rights.owner)?;
            let value = restart.map_or(SequenceValue::Kept, SequenceValue::Next);
            planner.set_sequence(&sequence, schema, value);
        }
        SequenceStatement::Rename(name, if_exists, to) => {
            if let Some(sequence) = planner.sequence_if(name, *if_exists)? {
                planner.check_owns(&sequence.rights, "sequence", name, OwnerReach::Object)?;
                planner.check_create(name)?;
                planner.rename_sequence(&sequence, to)?;
            }
        }
        SequenceStatement::Identity(statement) => planner.change_identity(statement)?,
    }
    Ok(planner.finish())
}

/// Plans `setval`.
pub fn plan_set(
    set: &SetValue,
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &Facts,
    parameters: &[Type],
) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    let sequence = planner.sequence(&set.name)?;
    if !planner.standing.on_table(&sequence).contain(Privileges::UPDATE) {
        return Err(denied_for("sequence", &set.name));
    }
    let (schema, _) = Options::default().apply(sequence.sequence.as_deref())?;
    let (value, is_called) = set.values.clone();
    let supplied = set.source.is_some();
    planner.set_sequence(&sequence, schema, SequenceValue::Set { value, is_called, supplied });
    let mut change = planner.finish();
    if let Some(program) = &mut change.program {
        program.parameters = parameters.to_vec();
        program.columns = vec![column_of("setval")];
    }
    Ok(change)
}

pub(super) fn column_of(name: &str) -> ResultColumn {
    ResultColumn { name: name.to_string(), column_type: Type::BigInt, origin: (0, 0) }
}

/// The default of a column that takes its values from a sequence.
pub(super) fn default_text(sequence: &str) -> String {
    format!("nextval('{}'::regclass)", names::quote(sequence).replace('\'', "''"))
}

/// Whether a default takes values of this sequence.
fn draws_from(default: &str, sequence: &str) -> bool {
    // Most defaults are plain values.
    if !default.contains("nextval") {
        return false;
    }
    let Ok(mut tree) = parse::expression(default) else { return false };
    let mut draws = false;
    each_drawn(&mut tree, |name| draws |= parse::relation_of(name).is_ok_and(|name| name == sequence));
    draws
}

/// A default whose sequences are named as PostgreSQL prints them; one of them by another name.
pub(super) fn drawing(mut default: Expr, renamed: Option<(&str, &str)>) -> Expr {
    each_drawn(&mut default, |name| {
        let Ok(found) = parse::relation_of(name) else { return };
        let to = renamed.filter(|(old, _)| *old == found).map_or(found.as_str(), |(_, new)| new);
        *name = names::quote(to);
    });
    default
}

/// Whether an expression takes values of a sequence that it names.
pub(super) fn draws(expression: &Expr) -> bool {
    let mut draws = false;
    each_drawn(&mut expression.clone(), |_| draws = true);
    draws
}

/// Calls `with` with the name of each sequence whose values an expression takes, and has it written as a regclass.
fn each_drawn(expression: &mut Expr, mut with: impl FnMut(&mut String)) {
    let _ = visit_expressions_mut(expression, |part| {
        if let Expr::Function(function) = part
            && names::function(&function.name).as_deref() == Some("nextval")
            && let ast::FunctionArguments::List(list) = &mut function.args
            && let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument))] = list.args.as_mut_slice()
            && let Some(mut name) = named(argument).map(str::to_string)
        {
            with(&mut name);
            *argument = Expr::Cast {
                kind: ast::CastKind::DoubleColon,
                expr: Box::new(Expr::value(ast::Value::SingleQuotedString(name))),
                data_type: ast::DataType::Custom(vec![ast::Ident::new("regclass")].into(), Vec::new()),
                array: false,
                format: None,
            };
        }
        ControlFlow::<()>::Continue(())
    });
}

/// What a column's type says about a sequence: `serial` and its like.
pub(super) fn serial(spelled: &str) -> Option<Type> {
    Some(match spelled {
        "serial" | "serial4" => Type::Integer,
        "bigserial" | "serial8" => Type::BigInt,
        "smallserial" | "serial2" => Type::SmallInt,
        _ => return None,
    })
}

impl Planner<'_> {
    /// A sequence. Errors: 42P01, 42809.
    pub(super) fn sequence(&self, name: &str) -> Result<Arc<TableSchema>> {
        find(&self.catalog, name)
    }

    fn sequence_if(&mut self, name: &str, if_exists: bool) -> Result<Option<Arc<TableSchema>>> {
        match self.sequence(name) {
            Err(error) if if_exists && error.sqlstate == sqlstate::UNDEFINED_TABLE => {
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// OWNED BY, for a sequence of this owner. Errors: 42P01, 42703, 42809; 55000 for a table of another owner or in another schema.
    fn own(&self, sequence: &str, schema: &mut SequenceSchema, options: &Options, owner: u32) -> Result<()> {
        match &options.owned_by {
            None => {}
            Some(None) => schema.owned_by = None,
            Some(Some((table, column))) => {
                let table = self.table(table)?;
                if table.rights.owner != owner {
                    let message = "sequence must have same owner as table it is linked to";
                    return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
                }
                if namespace::of(&table.name) != namespace::of(sequence) {
                    let message = "sequence must be in same schema as table it is linked to";
                    return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
                }
                let position = table.column(column).ok_or_else(|| {
                    let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                    SqlError::new(sqlstate::UNDEFINED_COLUMN, message)
                })?;
                schema.owned_by = Some((table.oid, position));
            }
        }
        Ok(())
    }

    pub(super) fn make_sequence(&mut self, name: &str, schema: SequenceSchema) {
        let column = |name: &str, column_type| Column::new(name, column_type, true);
        let columns = [("last_value", Type::BigInt), ("log_cnt", Type::BigInt), ("is_called", Type::Boolean)];
        let table = TableSchema {
            oid: self.next_number(),
            primary_key: vec![1],
            sequence: Some(Box::new(schema)),
            rights: self.new_rights(Kind::Sequence, name),
            persistence: self.persistence_in_schema(name),
            ..TableSchema::new(
                name,
                self.make_storage(),
                columns.map(|(name, column_type)| column(name, column_type)).into(),
            )
        };
        self.write_table(table.clone());
        self.rebuilds.push(Action::SetSequence { sequence: Arc::new(table), value: SequenceValue::First });
    }

    pub(super) fn set_sequence(&mut self, sequence: &TableSchema, schema: SequenceSchema, value: SequenceValue) {
        let table = TableSchema { sequence: Some(Box::new(schema)), ..sequence.clone() };
        self.write_table(table.clone());
        self.rebuilds.push(Action::SetSequence { sequence: Arc::new(table), value });
    }

    /// A default takes values as whoever sets it. Errors: 42501 for a sequence that the role may not change, 0A000 for a temporary one if the table lasts.
    pub(super) fn check_draws(&self, table: &TableSchema, default: Option<&str>) -> Result<()> {
        let Some(default) = default.filter(|default| default.contains("nextval")) else { return Ok(()) };
        let mut denied = Ok(());
        each_drawn(&mut parse::expression(default)?, |name| {
            let Ok(sequence) = parse::relation_of(name).and_then(|name| self.sequence(&name)) else { return };
            if !self.standing.on_table(&sequence).meet(Privileges::USAGE | Privileges::UPDATE) {
                denied = Err(denied_for("sequence", &sequence.name));
            } else if sequence.persistence.is_temporary() && !table.persistence.is_temporary() {
                denied = Err(SqlError::unsupported("a default of a table that lasts from a temporary sequence"));
            }
        });
        denied
    }

    /// Defaults go on naming it.
    pub(super) fn rename_sequence(&mut self, sequence: &TableSchema, to: &str) -> Result<()> {
        self.check_free(to)?;
        for table in self.tables_with_default(&sequence.name) {
            let mut table = TableSchema::clone(&table);
            for default in table.columns.iter_mut().filter_map(|column| column.default.as_mut()) {
                if draws_from(default, &sequence.name) {
                    *default = drawing(parse::expression(default)?, Some((&sequence.name, to))).to_string();
                }
            }
            self.write_table(table);
        }
        self.forget_name(&sequence.name);
        self.write_table(TableSchema { name: to.to_string(), ..sequence.clone() });
        Ok(())
    }

    /// Tables with a default that takes values of this sequence.
    fn tables_with_default(&self, sequence: &str) -> Vec<Arc<TableSchema>> {
        let has = |table: &TableSchema| {
            let mut defaults = table.columns.iter().filter_map(|column| column.default.as_deref());
            defaults.any(|default| draws_from(default, sequence))
        };
        let tables = self.catalog.tables.values().map(|versioned| &versioned.table);
        tables.filter(|table| has(table)).cloned().collect()
    }

    /// Sequences that go with a table, or with one of its columns.
    pub(super) fn owned(&self, table: u32, column: Option<usize>) -> Vec<Arc<TableSchema>> {
        let is_owned = |sequence: &SequenceSchema| {
            sequence.owned_by.is_some_and(|(owner, of)| owner == table && column.is_none_or(|column| column == of))
        };
        let tables = self.catalog.tables.values().map(|versioned| &versioned.table);
        tables.filter(|table| table.sequence.as_deref().is_some_and(is_owned)).cloned().collect()
    }

    /// A table, or a column of it, is dropped: so are its sequences.
    pub(super) fn drop_owned_sequences(&mut self, table: u32, column: Option<usize>) {
        for sequence in self.owned(table, column) {
            self.drops.push(sequence.storage);
            self.forget_name(&sequence.name);
        }
    }

    /// A table is dropped, and its sequences with it, from which the defaults of others may draw. `all`: names that are dropped together. Errors: 2BP01 for such a default, unless
    /// CASCADE takes it along.
    pub(super) fn drop_defaults_of_others(
        &mut self,
        dropped: &TableSchema,
        cascade: bool,
        all: &[String],
    ) -> Result<()> {
        for sequence in self.owned(dropped.oid, None) {
            for table in self.tables_with_default(&sequence.name) {
                if table.oid == dropped.oid || all.contains(&table.name) {
                    continue;
                }
                let mut table = TableSchema::clone(&table);
                for column in &mut table.columns {
                    if !column.default.as_deref().is_some_and(|default| draws_from(default, &sequence.name)) {
                        continue;
                    }
                    let dependent = format!("default value for column {} of table {}", column.name, table.name);
                    if !cascade {
                        let detail = format!("{dependent} depends on sequence {}", sequence.name);
                        return Err(SqlError::needed(format!("table {}", dropped.name), detail));
                    }
                    let notice = format!("drop cascades to {dependent}");
                    self.notices.push(*SqlError::new(sqlstate::SUCCESSFUL_COMPLETION, notice));
                    column.default = None;
                }
                self.write_table(table);
            }
        }
        Ok(())
    }

    /// TRUNCATE ... RESTART IDENTITY.
    pub(super) fn restart_owned_sequences(&mut self, table: u32) -> Result<()> {
        for sequence in self.owned(table, None) {
            self.check_owns(&sequence.rights, "sequence", &sequence.name, OwnerReach::Object)?;
            let (schema, _) = Options::default().apply(sequence.sequence.as_deref())?;
            let start = schema.start;
            self.set_sequence(&sequence, schema, SequenceValue::Next(start));
        }
        Ok(())
    }

    /// DROP SEQUENCE. Errors: 2BP01 while a default needs it, unless CASCADE takes that along.
    pub(super) fn drop_sequence(&mut self, name: &str, cascade: bool) -> Result<()> {
        let sequence = self.sequence(name)?;
        for table in self.tables_with_default(name) {
            let mut table = TableSchema::clone(&table);
            for column in &mut table.columns {
                if !column.default.as_deref().is_some_and(|default| draws_from(default, name)) {
                    continue;
                }
                let (owner, of) = (&table.name, &column.name);
                if column.identity.is_some() {
                    let message =
                        format!("cannot drop sequence {name} because column {of} of table {owner} requires it");
                    let hint = format!("You can drop column {of} of table {owner} instead.");
                    return Err(SqlError::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message).with_hint(hint));
                }
                let dependent = format!("default value for column {of} of table {owner}");
                if !cascade {
                    let detail = format!("{dependent} depends on sequence {name}");
                    return Err(SqlError::needed(format!("sequence {name}"), detail));
                }
                self.notices
                    .push(*SqlError::new(sqlstate::SUCCESSFUL_COMPLETION, format!("drop cascades to {dependent}")));
                column.default = None;
            }
            self.write_table(table);
        }
        self.drops.push(sequence.storage);
        self.forget_name(name);
        Ok(())
    }

    /// The sequence of a new column that is `serial` or an identity, which it becomes the owner of. Errors: 42601, 22023.
    pub(super) fn column_sequence(
        &mut self,
        table: &TableSchema,
        position: usize,
        definition: &ast::ColumnDef,
    ) -> Result<Option<String>> {
        let column = &table.columns[position];
        let serial = serial(&definition.data_type.to_string().to_ascii_lowercase());
        let given = definition.options.iter().find_map(|option| match &option.option {
            ast::ColumnOption::Generated { sequence_options, generation_expr: None, .. } => Some(sequence_options),
            _ => None,
        });
        let mut options = match (serial, given) {
            (None, None) => return Ok(None),
            (_, Some(given)) => identity_options(given.as_deref().unwrap_or(&[]))?,
            (Some(_), None) => Options::default(),
        };
        if given.is_some() && limits(column.column_type).is_err() {
            return Err(wrong("identity column type must be smallint, integer, or bigint"));
        }
        options.data_type = Some(column.column_type);
        let name = self.free_name(&table.name, &[&column.name], "seq");
        let (mut schema, _) = options.apply(None)?;
        schema.owned_by = Some((table.oid, position));
        self.make_sequence(&name, schema);
        Ok(Some(default_text(&name)))
    }
}

/// What a column's definition says of its identity. Errors: 42601 for a default beside it.
pub(super) fn identity(definition: &ast::ColumnDef) -> Result<Option<Identity>> {
    let mut found = None;
    for option in &definition.options {
        if let ast::ColumnOption::Generated { generated_as, generation_expr, .. } = &option.option {
            if generation_expr.is_some() {
                continue;
            }
            found = Some(match generated_as {
                ast::GeneratedAs::Always => Identity::Always,
                ast::GeneratedAs::ByDefault => Identity::ByDefault,
                ast::GeneratedAs::ExpStored => return Err(SqlError::unsupported("a generated column")),
            });
        }
    }
    Ok(found)
}

/// A sequence of the catalog. Errors: 42P01, 42809.
pub(super) fn find(catalog: &Catalog, name: &str) -> Result<Arc<TableSchema>> {
    match catalog.tables.get(name) {
        Some(found) if found.table.sequence.is_some() => Ok(found.table.clone()),
        None if !catalog.index_names.contains_key(name) => {
            Err(SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")))
        }
        _ => Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence"))),
    }
}

/// Refuses to change the rows of what is no table. Errors: 42809.
pub(super) fn check_is_table(table: &TableSchema) -> Result<()> {
    if table.view.is_some() {
        return Err(SqlError::unsupported(format!("changing rows of the view \"{}\"", table.name)));
    }
    match table.kind() {
        TableSchemaKind::Sequence | TableSchemaKind::MaterializedView => {
            let message = format!("cannot change {} \"{}\"", table.kind().word(), table.name);
            Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message))
        }
        _ => Ok(()),
    }
}
