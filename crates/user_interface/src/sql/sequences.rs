//! Sequences: CREATE, ALTER and DROP SEQUENCE, `serial` and identity columns, `nextval` and its like.
//!
//! Invariants: a sequence is a table of one row with [`SequenceSchema`] in its definition; whatever sets it counts its generation up, so that values which a
//! site has taken before are not given out after. A sequence that a column owns is dropped with it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::denials::denied_for;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::parse;
use crate::sql::select::relies_on;
use crate::sql::settings::Facts;
use crate::sql::types::{Compiled, Stop, Typed, beyond};
use crate::sql::words::Words;
use messages::Key;
use messages::privilege::Privileges;
use messages::program::{Action, Expression, Program, ResultColumn, SequenceValue};
use messages::schema::{Catalog, CatalogEntry, Column, Identity, SequenceSchema, TableSchema};
use sqlparser::ast::{self, Expr};
use sqlparser::tokenizer::Token;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use values::{Type, Value};

/// A statement about a sequence.
#[derive(Clone, Debug)]
pub enum SequenceStatement {
    /// CREATE SEQUENCE; true: IF NOT EXISTS.
    Create(String, bool, Options),
    /// ALTER SEQUENCE; true: IF EXISTS.
    Alter(String, bool, Options),
    /// ALTER SEQUENCE ... RENAME TO; true: IF EXISTS.
    Rename(String, bool, String),
}

/// What is said of a sequence; `None`: nothing; within, `None`: NO, or without a value.
#[derive(Clone, Debug, Default)]
pub struct Options {
    data_type: Option<Type>,
    increment: Option<i64>,
    minimum: Option<Option<i64>>,
    maximum: Option<Option<i64>>,
    start: Option<i64>,
    restart: Option<Option<i64>>,
    cache: Option<i64>,
    cycle: Option<bool>,
    owned_by: Option<Option<(String, String)>>,
}

/// `SELECT setval(...)`, planned when it is executed.
#[derive(Clone, Debug)]
pub struct SetValue {
    /// The sequence.
    pub name: String,
    /// The value and whether it has been given out, over the columns of the source's rows if there is one.
    pub values: (Expression, Expression),
    /// The query that computes them.
    pub source: Option<Arc<str>>,
}

impl SequenceStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            SequenceStatement::Create(..) => "CREATE SEQUENCE",
            SequenceStatement::Alter(..) | SequenceStatement::Rename(..) => "ALTER SEQUENCE",
        }
    }

    /// Catalog rows that decide what becomes of it.
    pub fn mentioned(&self) -> Vec<Key> {
        match self {
            SequenceStatement::Create(name, ..) | SequenceStatement::Alter(name, ..) => vec![CatalogEntry::key(name)],
            SequenceStatement::Rename(name, _, to) => vec![CatalogEntry::key(name), CatalogEntry::key(to)],
        }
    }
}

/// Whether what stands behind CREATE or ALTER is a sequence.
pub(super) fn begins(words: &Words) -> bool {
    let mut ahead = Words { text: words.text, rest: words.rest };
    ahead.skip(&["temp", "temporary", "unlogged"]);
    ahead.peek_is("sequence")
}

/// Parses what stands behind CREATE or ALTER.
pub(super) fn parse(verb: &str, words: &mut Words) -> Result<SequenceStatement> {
    if words.skip(&["temp", "temporary"]) {
        return Err(SqlError::unsupported("a temporary sequence"));
    }
    words.skip(&["unlogged"]);
    words.expect("sequence")?;
    let conditional = words.skip(&["if"]);
    if conditional && verb == "create" {
        words.expect("not")?;
    }
    if conditional {
        words.expect("exists")?;
    }
    let name = relation(words)?;
    if verb == "create" {
        return Ok(SequenceStatement::Create(name, conditional, options(words)?));
    }
    if words.skip(&["rename"]) {
        words.expect("to")?;
        return Ok(SequenceStatement::Rename(name, conditional, words.name()?));
    }
    if words.peek_is("owner") {
        return Err(SqlError::unsupported("ALTER SEQUENCE ... OWNER TO"));
    }
    if words.peek_is("set") {
        return Err(SqlError::unsupported("ALTER SEQUENCE ... SET"));
    }
    if words.peek().is_none() {
        return Err(words.error());
    }
    Ok(SequenceStatement::Alter(name, conditional, options(words)?))
}

fn relation(words: &mut Words) -> Result<String> {
    let name = words.name()?;
    if !words.skip_token(&Token::Period) {
        return Ok(name);
    }
    names::check_schema(&name)?;
    words.name()
}

fn options(words: &mut Words) -> Result<Options> {
    let mut options = Options::default();
    while words.peek().is_some() {
        let word = words.keyword().ok_or_else(|| words.error())?;
        match word.as_str() {
            "as" => {
                let spelled = words.keyword().ok_or_else(|| words.error())?;
                once(&mut options.data_type, spelled.parse::<Type>()?)?;
            }
            "increment" => {
                words.skip(&["by"]);
                once(&mut options.increment, number(words)?)?;
            }
            "minvalue" => once(&mut options.minimum, Some(number(words)?))?,
            "maxvalue" => once(&mut options.maximum, Some(number(words)?))?,
            "no" => match words.keyword().as_deref() {
                Some("minvalue") => once(&mut options.minimum, None)?,
                Some("maxvalue") => once(&mut options.maximum, None)?,
                Some("cycle") => once(&mut options.cycle, false)?,
                _ => return Err(words.error()),
            },
            "start" => {
                words.skip(&["with"]);
                once(&mut options.start, number(words)?)?;
            }
            "restart" => {
                let says = words.skip(&["with"])
                    || matches!(words.peek(), Some(Token::Number(..) | Token::Minus | Token::Plus));
                let value = if says { Some(number(words)?) } else { None };
                once(&mut options.restart, value)?;
            }
            "cache" => once(&mut options.cache, number(words)?)?,
            "cycle" => once(&mut options.cycle, true)?,
            "owned" => {
                words.expect("by")?;
                once(&mut options.owned_by, owner(words)?)?;
            }
            _ => return Err(SqlError::syntax(&word)),
        }
    }
    Ok(options)
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options")),
    }
}

fn number(words: &mut Words) -> Result<i64> {
    let minus = words.skip_token(&Token::Minus);
    if !minus {
        words.skip_token(&Token::Plus);
    }
    let Some(Token::Number(digits, _)) = words.peek() else { return Err(words.error()) };
    let text = if minus { format!("-{digits}") } else { digits.clone() };
    let value = text
        .parse()
        .map_err(|_| SqlError::new("22003", format!("value \"{text}\" is out of range for type bigint")))?;
    words.advance();
    Ok(value)
}

/// `NONE`, or a table's column.
fn owner(words: &mut Words) -> Result<Option<(String, String)>> {
    let unquoted = words.peek_is("none");
    let mut parts = vec![words.name()?];
    while words.skip_token(&Token::Period) {
        parts.push(words.name()?);
    }
    match parts.as_slice() {
        [_] if unquoted => Ok(None),
        [table, column] => Ok(Some((table.clone(), column.clone()))),
        [schema, table, column] => {
            names::check_schema(schema)?;
            Ok(Some((table.clone(), column.clone())))
        }
        _ => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "invalid OWNED BY option")
            .with_hint("Specify OWNED BY table.column or OWNED BY NONE.")),
    }
}

/// Options of an identity column as the parser gives them.
fn identity_options(given: &[ast::SequenceOptions]) -> Result<Options> {
    use ast::SequenceOptions as O;
    let mut options = Options::default();
    let value = |expression: &Expr| -> Result<i64> {
        let text = expression.to_string();
        text.parse().map_err(|_| SqlError::syntax(&text))
    };
    for option in given {
        match option {
            O::IncrementBy(by, _) => once(&mut options.increment, value(by)?)?,
            O::MinValue(minimum) => once(&mut options.minimum, minimum.as_ref().map(value).transpose()?)?,
            O::MaxValue(maximum) => once(&mut options.maximum, maximum.as_ref().map(value).transpose()?)?,
            O::StartWith(start, _) => once(&mut options.start, value(start)?)?,
            O::Cache(cache) => once(&mut options.cache, value(cache)?)?,
            // The parser says whether NO was there.
            O::Cycle(no) => once(&mut options.cycle, !no)?,
        }
    }
    Ok(options)
}

fn limits(data_type: Type) -> Result<(i64, i64)> {
    match data_type {
        Type::SmallInt => Ok((i64::from(i16::MIN), i64::from(i16::MAX))),
        Type::Integer => Ok((i64::from(i32::MIN), i64::from(i32::MAX))),
        Type::BigInt => Ok((i64::MIN, i64::MAX)),
        _ => Err(wrong("sequence type must be smallint, integer, or bigint")),
    }
}

fn wrong(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

impl Options {
    /// What a sequence is with these options, new or as it was before; and the value that it is to go on with, if they say. Errors: 22023.
    fn apply(&self, before: Option<&SequenceSchema>) -> Result<(SequenceSchema, Option<i64>)> {
        let data_type = self.data_type.or(before.map(|before| before.data_type)).unwrap_or(Type::BigInt);
        let (lowest, highest) = limits(data_type)?;
        let increment = self.increment.or(before.map(|before| before.increment)).unwrap_or(1);
        if increment == 0 {
            return Err(wrong("INCREMENT must not be zero"));
        }
        // A bound that was the type's goes with the type.
        let old = before.filter(|before| before.data_type != data_type);
        let old_limits = old.map(|old| limits(old.data_type)).transpose()?;
        let kept_maximum =
            before.map(|before| before.maximum).filter(|max| old_limits.is_none_or(|(_, high)| high != *max));
        let kept_minimum =
            before.map(|before| before.minimum).filter(|min| old_limits.is_none_or(|(low, _)| low != *min));
        let maximum = match self.maximum {
            Some(Some(maximum)) => maximum,
            None if kept_maximum.is_some() => kept_maximum.unwrap_or_default(),
            _ => {
                if increment > 0 {
                    highest
                } else {
                    -1
                }
            }
        };
        let minimum = match self.minimum {
            Some(Some(minimum)) => minimum,
            None if kept_minimum.is_some() => kept_minimum.unwrap_or_default(),
            _ => {
                if increment > 0 {
                    1
                } else {
                    lowest
                }
            }
        };
        for (word, bound) in [("MAXVALUE", maximum), ("MINVALUE", minimum)] {
            if !(lowest..=highest).contains(&bound) {
                let message = format!("{word} ({bound}) is out of range for sequence data type {data_type}");
                return Err(wrong(message));
            }
        }
        if minimum >= maximum {
            return Err(wrong(format!("MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})")));
        }
        let first = if increment > 0 { minimum } else { maximum };
        let start = self.start.or(before.map(|before| before.start)).unwrap_or(first);
        let restart = self.restart.map(|value| value.unwrap_or(start));
        for (word, value) in [("START", Some(start)), ("RESTART", restart)] {
            let limit = match value {
                Some(value) if value < minimum => {
                    format!("{word} value ({value}) cannot be less than MINVALUE ({minimum})")
                }
                Some(value) if value > maximum => {
                    format!("{word} value ({value}) cannot be greater than MAXVALUE ({maximum})")
                }
                _ => continue,
            };
            return Err(wrong(limit));
        }
        let cache = self.cache.or(before.map(|before| before.cache)).unwrap_or(1);
        if cache <= 0 {
            return Err(wrong(format!("CACHE ({cache}) must be greater than zero")));
        }
        let cycle = self.cycle.or(before.map(|before| before.cycle)).unwrap_or(false);
        let owned_by = before.and_then(|before| before.owned_by);
        let generation = before.map_or(0, |before| before.generation.wrapping_add(1));
        let schema =
            SequenceSchema { data_type, start, increment, minimum, maximum, cache, cycle, owned_by, generation };
        Ok((schema, restart))
    }
}

/// Plans a statement about a sequence.
pub fn plan(
    statement: &SequenceStatement,
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &Facts,
) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts.role);
    match statement {
        SequenceStatement::Create(name, if_not_exists, options) => {
            planner.check_create()?;
            if let Err(error) = planner.check_free(name) {
                if !if_not_exists {
                    return Err(error);
                }
                planner.notice(sqlstate::DUPLICATE_TABLE, format!("{}, skipping", error.message));
                return Ok(planner.finish());
            }
            let (mut schema, _) = options.apply(None)?;
            planner.own(&mut schema, options)?;
            planner.make_sequence(name, schema);
        }
        SequenceStatement::Alter(name, if_exists, options) => {
            let Some(sequence) = planner.sequence_if(name, *if_exists)? else { return Ok(planner.finish()) };
            planner.check_owns(&sequence.rights, "sequence", name, false)?;
            let (mut schema, restart) = options.apply(sequence.sequence.as_deref())?;
            planner.own(&mut schema, options)?;
            let value = restart.map_or(SequenceValue::Kept, SequenceValue::Next);
            planner.set_sequence(&sequence, schema, value);
        }
        SequenceStatement::Rename(name, if_exists, to) => {
            if let Some(sequence) = planner.sequence_if(name, *if_exists)? {
                planner.check_owns(&sequence.rights, "sequence", name, false)?;
                planner.rename_sequence(&sequence, to)?;
            }
        }
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
    let mut planner = Planner::new(catalog, own, facts.role);
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

fn column_of(name: &str) -> ResultColumn {
    ResultColumn { name: name.to_string(), column_type: Type::BigInt, origin: (0, 0) }
}

/// The default of a column that takes its values from a sequence.
fn default_text(sequence: &str) -> String {
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
    each_drawn(&mut tree, |name| draws |= relation_of(name).is_ok_and(|name| name == sequence));
    draws
}

/// A default whose sequences are named as PostgreSQL prints them; one of them by another name.
pub(super) fn drawing(mut default: Expr, renamed: Option<(&str, &str)>) -> Expr {
    each_drawn(&mut default, |name| {
        let Ok(found) = relation_of(name) else { return };
        let to = renamed.filter(|(old, _)| *old == found).map_or(found.as_str(), |(_, new)| new);
        *name = names::quote(to);
    });
    default
}

/// Calls `with` with the name of each sequence whose values an expression takes, and has it written as a regclass.
fn each_drawn(expression: &mut Expr, mut with: impl FnMut(&mut String)) {
    let _ = ast::visit_expressions_mut(expression, |part| {
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
                data_type: ast::DataType::Regclass,
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
                self.notice("00000", format!("{}, skipping", error.message));
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// OWNED BY. Errors: 42P01, 42703, 42809.
    fn own(&self, schema: &mut SequenceSchema, options: &Options) -> Result<()> {
        match &options.owned_by {
            None => {}
            Some(None) => schema.owned_by = None,
            Some(Some((table, column))) => {
                let table = self.table(table)?;
                let position = table.column(column).ok_or_else(|| {
                    let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                    SqlError::new(sqlstate::UNDEFINED_COLUMN, message)
                })?;
                schema.owned_by = Some((table.oid, position));
            }
        }
        Ok(())
    }

    fn make_sequence(&mut self, name: &str, schema: SequenceSchema) {
        let column = |name: &str, column_type| Column {
            name: name.to_string(),
            column_type,
            not_null: true,
            default: None,
            identity: None,
            dropped: false,
            missing: Value::Null,
            grants: None,
        };
        let columns = [("last_value", Type::BigInt), ("log_cnt", Type::BigInt), ("is_called", Type::Boolean)];
        let table = TableSchema {
            name: name.to_string(),
            oid: self.next_number(),
            storage: self.make_storage(),
            columns: columns.map(|(name, column_type)| column(name, column_type)).into(),
            primary_key: vec![1],
            primary_key_name: None,
            primary_key_oid: 0,
            indexes: Vec::new(),
            options: Vec::new(),
            sequence: Some(Box::new(schema)),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            rights: self.new_rights(),
        };
        self.write_table(table.clone());
        self.rebuilds.push(Action::SetSequence { sequence: Arc::new(table), value: SequenceValue::First });
    }

    fn set_sequence(&mut self, sequence: &TableSchema, schema: SequenceSchema, value: SequenceValue) {
        let table = TableSchema { sequence: Some(Box::new(schema)), ..sequence.clone() };
        self.write_table(table.clone());
        self.rebuilds.push(Action::SetSequence { sequence: Arc::new(table), value });
    }

    /// Defaults go on naming it.
    fn rename_sequence(&mut self, sequence: &TableSchema, to: &str) -> Result<()> {
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
    fn owned(&self, table: u32, column: Option<usize>) -> Vec<Arc<TableSchema>> {
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

    /// TRUNCATE ... RESTART IDENTITY.
    pub(super) fn restart_owned_sequences(&mut self, table: u32) -> Result<()> {
        for sequence in self.owned(table, None) {
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
                    return Err(SqlError::new("2BP01", message).with_hint(hint));
                }
                let dependent = format!("default value for column {of} of table {owner}");
                if !cascade {
                    let message = format!("cannot drop sequence {name} because other objects depend on it");
                    return Err(SqlError::new("2BP01", message)
                        .with_detail(format!("{dependent} depends on sequence {name}"))
                        .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
                }
                self.notices.push(*SqlError::new("00000", format!("drop cascades to {dependent}")));
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

/// What a column's definition says of its identity. Errors: 42601 for a default beside it, 0A000 for an expression.
pub(super) fn identity(definition: &ast::ColumnDef) -> Result<Option<Identity>> {
    let mut found = None;
    for option in &definition.options {
        if let ast::ColumnOption::Generated { generated_as, generation_expr, .. } = &option.option {
            if generation_expr.is_some() {
                return Err(SqlError::unsupported("a generated column"));
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
fn find(catalog: &Catalog, name: &str) -> Result<Arc<TableSchema>> {
    match catalog.tables.get(name) {
        Some(found) if found.table.sequence.is_some() => Ok(found.table.clone()),
        None if !catalog.index_names.contains_key(name) => {
            Err(SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")))
        }
        _ => Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence"))),
    }
}

/// The sequence that an argument of `nextval` names: a text, or one cast to regclass. `None`: it is computed.
pub(super) fn named(argument: &Expr) -> Option<&str> {
    match argument {
        Expr::Value(value) => crate::sql::literals::text_of(&value.value),
        Expr::Nested(inner) => named(inner),
        Expr::Cast { expr, .. } => named(expr),
        _ => None,
    }
}

/// The relation that a text names. Errors: 42602, 3F000.
pub(super) fn relation_of(text: &str) -> Result<String> {
    let parts = parse::expression(text).ok().and_then(|tree| match tree {
        Expr::Identifier(name) => Some(vec![name]),
        Expr::CompoundIdentifier(names) => Some(names),
        _ => None,
    });
    match parts.as_deref() {
        Some([name]) => Ok(names::identifier(name)),
        Some([schema, name]) => {
            names::check_schema(&names::identifier(schema))?;
            Ok(names::identifier(name))
        }
        _ => Err(SqlError::new("42602", "invalid name syntax")),
    }
}

pub(super) fn arguments(function: &ast::Function) -> Option<Vec<&Expr>> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let argument = |argument| match argument {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref expression)) => Some(expression),
        _ => None,
    };
    list.args.iter().map(argument).collect()
}

impl Compiler<'_> {
    /// `nextval`, `currval` and `lastval`; `None`: another function.
    pub(super) fn of_sequence(&mut self, name: &str, function: &ast::Function) -> Compiled<Option<Typed>> {
        let Some(arguments) = arguments(function).filter(|_| function.over.is_none()) else { return Ok(None) };
        let expression = match (name, arguments.as_slice()) {
            ("nextval", [argument]) => {
                let sequence = self.sequence(argument)?;
                if !self.may_draw {
                    return Err(SqlError::unsupported("nextval() where rows are read").into());
                }
                self.draws = true;
                Expression::NextValue(sequence)
            }
            ("currval", [argument]) => {
                let sequence = self.sequence(argument)?;
                Expression::CurrentValue(sequence.oid, sequence.name.as_str().into())
            }
            ("lastval", []) => Expression::LastValue,
            ("setval", [_, _] | [_, _, _]) => {
                return Err(SqlError::unsupported("setval() with anything beside it").into());
            }
            _ => return Ok(None),
        };
        Ok(Some(Typed::known(expression, Type::BigInt)))
    }

    /// The sequence that an argument names; the statement relies on it.
    fn sequence(&mut self, argument: &Expr) -> Compiled<Arc<TableSchema>> {
        let sequence = match (named(argument), argument) {
            (Some(text), _) => find(self.catalog, &relation_of(text)?)?,
            (None, Expr::Function(function)) => self.serial_sequence(function)?,
            _ => return Err(SqlError::unsupported("a sequence whose name is computed").into()),
        };
        let relied = self.catalog.tables.get(&sequence.name).and_then(relies_on);
        self.relies_on.extend(relied.filter(|relied| !self.relies_on.contains(relied)));
        Ok(sequence)
    }

    /// The sequence that `pg_get_serial_sequence` of two texts names. Errors: 0A000 for another function, or a column without one.
    fn serial_sequence(&self, function: &ast::Function) -> Result<Arc<TableSchema>> {
        let computed = || SqlError::unsupported("a sequence whose name is computed");
        let arguments = arguments(function)
            .filter(|_| names::function(&function.name).is_some_and(|name| name == "pg_get_serial_sequence"));
        let Some([Some(table), Some(column)]) = arguments.as_deref().and_then(|both| match both {
            [table, column] => Some([named(table), named(column)]),
            _ => None,
        }) else {
            return Err(computed());
        };
        let name = relation_of(table)?;
        let table =
            self.catalog.tables.get(&name).ok_or_else(|| {
                SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
            })?;
        let position = table.table.column(column).ok_or_else(|| {
            let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
            SqlError::new(sqlstate::UNDEFINED_COLUMN, message)
        })?;
        let owner = Some((table.table.oid, position));
        let all = self.catalog.tables.values().map(|versioned| &versioned.table);
        let mut owned =
            all.filter(|table| table.sequence.as_deref().is_some_and(|sequence| sequence.owned_by == owner));
        owned.next().cloned().ok_or_else(computed)
    }

    /// Compiles with values of sequences allowed: nothing is read row by row.
    pub(super) fn drawing<T>(&mut self, compile: impl FnOnce(&mut Self) -> Compiled<T>) -> Compiled<T> {
        let before = std::mem::replace(&mut self.may_draw, true);
        let compiled = compile(self);
        self.may_draw = before;
        compiled
    }

    /// Has a program rely on the sequences that the statement names, and on the tables whose foreign keys it concerns.
    pub(super) fn rely(&mut self, program: &mut Program) {
        self.refer(program);
        let new = self.relies_on.iter().filter(|relied| !program.relies_on.contains(relied));
        let all: Vec<_> = program.relies_on.iter().chain(new).cloned().collect();
        program.relies_on = all.into();
        program.read_only &= !self.draws;
    }

    /// `SELECT setval(...)` and nothing else; `None`: another query. Errors: those of its arguments.
    pub(super) fn set_value(&mut self, query: &ast::Query) -> Compiled<Option<(SetValue, ResultColumn)>> {
        let ast::SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
        let (expression, alias) = match select.projection.as_slice() {
            [ast::SelectItem::UnnamedExpr(expression)] => (expression, None),
            [ast::SelectItem::ExprWithAlias { expr, alias }] => (expr, Some(names::identifier(alias))),
            _ => return Ok(None),
        };
        let Expr::Function(function) = expression else { return Ok(None) };
        if names::function(&function.name).as_deref() != Some("setval") || function.over.is_some() {
            return Ok(None);
        }
        let Some(arguments) = arguments(function).filter(|arguments| matches!(arguments.len(), 2 | 3)) else {
            return Ok(None);
        };
        let name = self.sequence(arguments[0])?.name.clone();
        let column = column_of(alias.as_deref().unwrap_or("setval"));
        let called = match arguments.get(2) {
            Some(called) => (*called).clone(),
            None => Expr::value(ast::Value::Boolean(true)),
        };
        let plain = select.from.is_empty()
            && select.selection.is_none()
            && query.with.is_none()
            && query.limit_clause.is_none();
        if plain {
            let before = self.parameters.clone();
            let value = self.typed_as(arguments[1], Type::BigInt, &Scope::empty());
            match value.and_then(|value| Ok((value, self.typed_as(&called, Type::Boolean, &Scope::empty())?))) {
                Ok(values) => return Ok(Some((SetValue { name, values, source: None }, column))),
                Err(Stop::Beyond(_)) => self.parameters = before,
                Err(error) => return Err(error),
            }
        }
        let mut source = query.clone();
        let ast::SetExpr::Select(select) = source.body.as_mut() else { return Err(beyond("a query of this form")) };
        select.projection = [(arguments[1], ast::DataType::BigInt(None)), (&called, ast::DataType::Boolean)]
            .map(|(argument, data_type)| {
                ast::SelectItem::UnnamedExpr(Expr::Cast {
                    kind: ast::CastKind::Cast,
                    expr: Box::new(Expr::Nested(Box::new(argument.clone()))),
                    data_type,
                    array: false,
                    format: None,
                })
            })
            .into();
        let values = (Expression::Column(0), Expression::Column(1));
        Ok(Some((SetValue { name, values, source: Some(source.to_string().into()) }, column)))
    }
}

/// Refuses to change a sequence as if it were a table. Errors: 42809.
pub(super) fn check_is_table(table: &TableSchema) -> Result<()> {
    match table.sequence {
        None => Ok(()),
        Some(_) => {
            Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("cannot change sequence \"{}\"", table.name)))
        }
    }
}
