//! Columns, keys and options as CREATE TABLE and ALTER TABLE define them.
//!
//! Invariant: what the catalog cannot keep is refused with the feature's name, never dropped silently; options that only tune storage are
//! the exception, if PostgreSQL has them.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{COLUMNS_MAX, INDEXES_MAX, KEY_COLUMNS_MAX};
use crate::sql::checks::CheckDefinition;
use crate::sql::ddl::Planner;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::foreign_keys::ForeignKeyDefinition;
use crate::sql::like_syntax::{CopiedColumns, LikeClause};
use crate::sql::names;
use crate::sql::sequences;
use crate::sql::set_clauses::no_column;
use crate::sql::settings::{Facts, Settings};
use crate::sql::types::{WrittenType, named_type_in};
use messages::namespace;
use messages::program::Expression;
use messages::schema::{Catalog, Column, TableSchema};
use sqlparser::ast;
use values::{Type, Value};

/// A primary key or unique constraint.
pub(super) struct KeyDefinition {
    pub(super) name: Option<String>,
    pub(super) columns: Vec<usize>,
    pub(super) primary: bool,
}

/// What the columns of CREATE TABLE say beside themselves.
#[derive(Default)]
pub(super) struct TableParts<'c> {
    pub keys: Vec<KeyDefinition>,
    pub checks: Vec<CheckDefinition>,
    pub foreign_keys: Vec<ForeignKeyDefinition>,
    /// Columns that are computed, and by what.
    pub generated: Vec<(usize, &'c ast::Expr)>,
    /// Those of LIKE.
    pub copied: Vec<CopiedColumns>,
}

/// A column's definition, its keys left out. Errors: 0A000 for constraints that are not kept.
pub(super) fn column(definition: &ast::ColumnDef, catalog: &Catalog) -> Result<Column> {
    let name = names::identifier(&definition.name);
    let spelled = definition.data_type.to_string().to_ascii_lowercase();
    let serial = sequences::serial(&spelled);
    let identity = sequences::identity(definition)?;
    let named = match serial {
        Some(column_type) => WrittenType::Plain(column_type),
        None => named_type_in(&definition.data_type, catalog)?,
    };
    if identity.is_some() && matches!(named, WrittenType::Domain(_)) {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    let mut column = Column {
        name,
        column_type: named.data_type()?,
        not_null: serial.is_some() || identity.is_some(),
        default: None,
        dropped: false,
        identity,
        missing: Value::Null,
        grants: None,
        domain: named.rules(),
    };
    for option in &definition.options {
        match &option.option {
            ast::ColumnOption::NotNull => column.not_null = true,
            ast::ColumnOption::Default(default) => {
                check_restricted(default)?;
                if serial.is_some() || identity.is_some() {
                    return Err(double_default(&column.name, serial.is_some()));
                }
                check_default(default, &column, catalog)?;
                column.default = Some(sequences::drawing(default.clone(), None).to_string());
            }
            ast::ColumnOption::Null if serial.is_some() || identity.is_some() => {
                let message = format!("conflicting NULL/NOT NULL declarations for column \"{}\"", column.name);
                return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
            }
            ast::ColumnOption::Null => {}
            ast::ColumnOption::PrimaryKey(key) => check_characteristics(key.characteristics.as_ref())?,
            ast::ColumnOption::Unique(key) => check_unique(key)?,
            ast::ColumnOption::ForeignKey(_) | ast::ColumnOption::Check(_) => {}
            ast::ColumnOption::Collation(_) if !column.column_type.is_string() => {
                let message = format!("collations are not supported by type {}", column.column_type.base_name());
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, message));
            }
            ast::ColumnOption::Collation(name) if names::function(name).is_some_and(|name| is_c(&name)) => {}
            ast::ColumnOption::Collation(name) => return Err(SqlError::unsupported(format!("collation {name}"))),
            ast::ColumnOption::Generated { .. } => {}
            ast::ColumnOption::Identity(_) => {
                return Err(SqlError::unsupported("a generated column"));
            }
            other => return Err(SqlError::unsupported(format!("the column option {other}"))),
        }
    }
    Ok(column)
}

/// The expression that a column's definition gives. Errors: 42601 for one that is not ALWAYS, or that stands beside a default or an identity.
pub(super) fn generation_expression<'d>(definition: &'d ast::ColumnDef, table: &str) -> Result<Option<&'d ast::Expr>> {
    let mut found = None;
    let (mut has_default, mut has_identity) = (false, false);
    let wrong = |message: String| Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
    for option in &definition.options {
        match &option.option {
            ast::ColumnOption::Generated {
                generated_as,
                generation_expr: Some(expression),
                generation_expr_mode,
                ..
            } => {
                if *generated_as == ast::GeneratedAs::ByDefault {
                    return wrong("for a generated column, GENERATED ALWAYS must be specified".to_owned());
                }
                if *generation_expr_mode != Some(ast::GeneratedExpressionMode::Stored) {
                    return wrong("syntax error: a generated column needs STORED".to_owned());
                }
                if found.is_some() {
                    let name = names::identifier(&definition.name);
                    return wrong(format!(
                        "multiple generation clauses specified for column \"{name}\" of table \"{table}\""
                    ));
                }
                found = Some(expression);
            }
            ast::ColumnOption::Generated { .. } => has_identity = true,
            ast::ColumnOption::Default(_) => has_default = true,
            _ => {}
        }
    }
    let name = names::identifier(&definition.name);
    match found {
        Some(_) if has_default => wrong(format!(
            "both default and generation expression specified for column \"{name}\" of table \"{table}\""
        )),
        Some(_) if has_identity => wrong(format!(
            "both identity and generation expression specified for column \"{name}\" of table \"{table}\""
        )),
        found => Ok(found),
    }
}

fn double_default(column: &str, is_serial: bool) -> Box<SqlError> {
    let message = match is_serial {
        true => format!("multiple default values specified for column \"{column}\""),
        false => format!("both default and identity specified for column \"{column}\""),
    };
    SqlError::new(sqlstate::SYNTAX_ERROR, message)
}

pub(super) fn is_c(collation: &str) -> bool {
    matches!(collation, "C" | "default")
}

/// Errors: 42601 for what a default can be in parentheses only (`b_expr` in gram.y).
fn check_restricted(default: &ast::Expr) -> Result<()> {
    use ast::Expr as E;
    let needs_parentheses = match default {
        E::InList { .. } | E::InSubquery { .. } | E::Between { .. } | E::Like { .. } | E::ILike { .. } => true,
        E::SimilarTo { .. } | E::IsNull(_) | E::IsNotNull(_) | E::IsTrue(_) | E::IsFalse(_) => true,
        E::BinaryOp { op, .. } => matches!(op, ast::BinaryOperator::And | ast::BinaryOperator::Or),
        E::UnaryOp { op, .. } => matches!(op, ast::UnaryOperator::Not),
        _ => false,
    };
    match needs_parentheses {
        true => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "syntax error: such a default needs parentheses")),
        false => Ok(()),
    }
}

/// Refuses a default that could not be evaluated at an insert. Returns its value if it is the same for all rows.
pub(super) fn check_default(default: &ast::Expr, column: &Column, catalog: &Catalog) -> Result<Option<Value>> {
    let settings = Settings::default();
    let facts = Facts::nobody(&settings);
    let text = default.to_string();
    let mut compiler = Compiler::new(catalog, &facts, &text, Vec::new());
    let typed = compiler.drawing(|compiler| compiler.expression(default, &Scope::empty()));
    let typed = typed.map_err(|stop| stop.into_error())?;
    let expression = compiler.parameters.assign(typed, &column.name, column.column_type)?;
    match compiler.parameters.known() {
        [] => Ok(match expression {
            Expression::Constant(value) => Some(value),
            _ => None,
        }),
        _ => Err(SqlError::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1")),
    }
}

/// A column's default as an expression, cast for it.
pub(super) fn default_expression(table: &TableSchema, position: usize, catalog: &Catalog) -> Result<Expression> {
    let settings = Settings::default();
    let facts = Facts::nobody(&settings);
    let mut compiler = Compiler::new(catalog, &facts, "", Vec::new());
    let compiled = compiler.drawing(|compiler| Ok(compiler.default_of(table, position)?));
    compiled.map_err(|stop| stop.into_error())
}

/// The keys that a column's definition makes.
pub(super) fn column_keys(definition: &ast::ColumnDef, position: usize) -> Vec<KeyDefinition> {
    let key = |option: &ast::ColumnOptionDef, primary: bool| KeyDefinition {
        name: option.name.as_ref().map(names::identifier),
        columns: vec![position],
        primary,
    };
    definition
        .options
        .iter()
        .filter_map(|option| match &option.option {
            ast::ColumnOption::PrimaryKey(_) => Some(key(option, true)),
            ast::ColumnOption::Unique(_) => Some(key(option, false)),
            _ => None,
        })
        .collect()
}

/// A table's constraint as a key. Errors: 0A000 for other constraints.
pub(super) fn table_key(constraint: &ast::TableConstraint, table: &TableSchema) -> Result<KeyDefinition> {
    let (name, columns, primary) = match constraint {
        ast::TableConstraint::PrimaryKey(key) => {
            check_characteristics(key.characteristics.as_ref())?;
            (&key.name, &key.columns, true)
        }
        ast::TableConstraint::Unique(key) => {
            check_unique(key)?;
            (&key.name, &key.columns, false)
        }
        other => return Err(SqlError::unsupported(format!("the constraint {other}"))),
    };
    Ok(KeyDefinition { name: name.as_ref().map(names::identifier), columns: index_columns(columns, table)?, primary })
}

/// Errors: 0A000 for a key that takes NULLs for equal, or is checked later than its statement.
fn check_unique(key: &ast::UniqueConstraint) -> Result<()> {
    match key.nulls_distinct {
        ast::NullsDistinctOption::NotDistinct => Err(SqlError::unsupported("UNIQUE NULLS NOT DISTINCT")),
        ast::NullsDistinctOption::None | ast::NullsDistinctOption::Distinct => {
            check_characteristics(key.characteristics.as_ref())
        }
    }
}

/// Errors: 0A000 for a key that is checked later than its statement, or never.
fn check_characteristics(characteristics: Option<&ast::ConstraintCharacteristics>) -> Result<()> {
    let Some(asked) = characteristics else { return Ok(()) };
    match asked.deferrable == Some(true)
        || asked.initially == Some(ast::DeferrableInitial::Deferred)
        || asked.enforced == Some(false)
    {
        true => Err(SqlError::unsupported(format!("a key that is {asked}"))),
        false => Ok(()),
    }
}

/// The positions of a key's columns. Errors: 42703; 0A000 for expressions.
pub(super) fn index_columns(columns: &[ast::IndexColumn], table: &TableSchema) -> Result<Vec<usize>> {
    columns
        .iter()
        .map(|column| match &column.column.expr {
            ast::Expr::Identifier(identifier) => {
                let name = names::identifier(identifier);
                table.column(&name).ok_or_else(|| {
                    SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"))
                })
            }
            _ => Err(SqlError::unsupported("a key over an expression")),
        })
        .collect()
}

pub(super) fn check_key_columns(table: &TableSchema, columns: &[usize]) -> Result<()> {
    if columns.len() > KEY_COLUMNS_MAX {
        return Err(SqlError::new(
            sqlstate::TOO_MANY_COLUMNS,
            format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index"),
        ));
    }
    for (place, column) in columns.iter().enumerate() {
        let Some(definition) = table.columns.get(*column) else {
            return Err(no_column(table, "?"));
        };
        if columns[..place].contains(column) {
            return Err(SqlError::new(
                sqlstate::DUPLICATE_COLUMN,
                format!("column \"{}\" appears twice in a key", definition.name),
            ));
        }
        if definition.column_type == Type::Json {
            let message = "data type json has no default operator class for access method \"btree\"";
            let hint = "You must specify an operator class for the index or define a default operator class for the data type.";
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message).with_hint(hint));
        }
        if definition.column_type.element().is_some() {
            let feature = format!("a key over the array column \"{}\"", definition.name);
            return Err(SqlError::unsupported(feature));
        }
    }
    Ok(())
}

/// Errors: 54011.
pub(super) fn check_column_count(count: usize) -> Result<()> {
    if count <= COLUMNS_MAX {
        return Ok(());
    }
    let message = format!("tables can have at most {COLUMNS_MAX} columns");
    Err(SqlError::new(sqlstate::TOO_MANY_COLUMNS, message))
}

/// Errors: 54000.
pub(super) fn check_index_count(table: &TableSchema) -> Result<()> {
    if table.indexes.len() >= INDEXES_MAX {
        return Err(SqlError::new(
            sqlstate::PROGRAM_LIMIT_EXCEEDED,
            format!("a table can have at most {INDEXES_MAX} indexes"),
        ));
    }
    Ok(())
}

pub(super) fn options(options: &ast::CreateTableOptions) -> Result<Vec<String>> {
    let list = match options {
        ast::CreateTableOptions::None => return Ok(Vec::new()),
        ast::CreateTableOptions::With(list) | ast::CreateTableOptions::Plain(list) => list,
        _ => return Err(SqlError::unsupported("this form of table options")),
    };
    list.iter().try_for_each(check_option)?;
    Ok(list
        .iter()
        .filter_map(|option| match option {
            ast::SqlOption::KeyValue { key, value } => Some(format!("{}={value}", names::identifier(key))),
            ast::SqlOption::Ident(key) => Some(names::identifier(key)),
            _ => None,
        })
        .collect())
}

/// Errors: 42704 for a tablespace that there is not, 22023 for an option that there is not, 0A000 for rows with numbers.
fn check_option(option: &ast::SqlOption) -> Result<()> {
    let key = match option {
        ast::SqlOption::TableSpace(tablespace) if tablespace.name.eq_ignore_ascii_case("pg_default") => return Ok(()),
        ast::SqlOption::TableSpace(tablespace) => {
            let message = format!("tablespace \"{}\" does not exist", tablespace.name);
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
        }
        ast::SqlOption::KeyValue { key, value } if names::identifier(key) == "oids" => {
            let is_off = matches!(value.to_string().to_ascii_lowercase().as_str(), "false" | "off" | "0");
            return if is_off { Ok(()) } else { Err(with_oids()) };
        }
        ast::SqlOption::Ident(key) if names::identifier(key) == "oids" => return Err(with_oids()),
        ast::SqlOption::KeyValue { key, .. } | ast::SqlOption::Ident(key) => names::identifier(key),
        _ => return Ok(()),
    };
    let plain = key.strip_prefix("toast.").unwrap_or(&key);
    let known =
        ["fillfactor", "parallel_workers", "toast_tuple_target", "user_catalog_table", "log_autovacuum_min_duration"];
    if known.contains(&plain) || plain.starts_with("autovacuum_") || plain.starts_with("vacuum_") {
        return match option {
            ast::SqlOption::KeyValue { value, .. } => check_value(plain, value.to_string().trim_matches('\'')),
            _ => Ok(()),
        };
    }
    Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unrecognized parameter \"{key}\"")))
}

/// Errors: 22023 for a value that the option cannot have. None of them changes anything here.
fn check_value(option: &str, value: &str) -> Result<()> {
    let number = value.parse::<f64>().ok();
    let fits = match option {
        "fillfactor" => number.is_some_and(|number| (10.0..=100.0).contains(&number)),
        _ if option.ends_with("_scale_factor") => number.is_some_and(|number| (0.0..=100.0).contains(&number)),
        "vacuum_index_cleanup" => matches!(value, "auto" | "on" | "off" | "true" | "false"),
        "autovacuum_enabled" | "vacuum_truncate" | "user_catalog_table" => {
            matches!(value.to_ascii_lowercase().as_str(), "true" | "false" | "on" | "off" | "yes" | "no" | "0" | "1")
        }
        _ => number.is_some(),
    };
    if fits {
        return Ok(());
    }
    let message = format!("invalid value for option \"{option}\": {value}");
    Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message))
}

fn with_oids() -> Box<SqlError> {
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "tables declared WITH OIDS are not supported")
}

pub(super) fn check_create_table(create: &ast::CreateTable) -> Result<()> {
    let features = [
        (create.query.is_some(), "CREATE TABLE AS"),
        (create.like.is_some(), "CREATE TABLE LIKE"),
        (create.partition_by.is_some(), "PARTITION BY"),
        (create.partition_of.is_some(), "PARTITION OF"),
        (create.inherits.is_some(), "INHERITS"),
        (create.or_replace, "CREATE OR REPLACE TABLE"),
        (create.external, "an external table"),
    ];
    match features.into_iter().find(|(asked, _)| *asked) {
        Some((_, feature)) => Err(SqlError::unsupported(feature)),
        None => Ok(()),
    }
}

impl Planner<'_> {
    /// Gives a table its columns, in the order in which they are written. Errors: 42701.
    pub(super) fn define_columns<'c>(
        &mut self,
        table: &mut TableSchema,
        create: &'c ast::CreateTable,
        likes: &[LikeClause],
    ) -> Result<TableParts<'c>> {
        let mut parts = TableParts::default();
        for (number, definition) in create.columns.iter().enumerate() {
            for like in likes.iter().filter(|like| like.behind == number) {
                parts.copied.push(self.copy_columns(table, like)?);
            }
            let column = column(definition, &self.catalog)?;
            self.use_column_type(&column, definition)?;
            self.check_draws(table, column.default.as_deref())?;
            if table.columns.iter().any(|other| other.name == column.name) {
                return Err(SqlError::new(
                    sqlstate::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", column.name),
                ));
            }
            let position = table.columns.len();
            table.columns.push(column);
            let generation = generation_expression(definition, namespace::bare(&table.name))?;
            parts.generated.extend(generation.map(|expression| (position, expression)));
            if let Some(default) = self.column_sequence(table, position, definition)? {
                table.columns[position].default = Some(default);
            }
            parts.keys.extend(column_keys(definition, position));
            parts.checks.extend(CheckDefinition::of_column(definition));
            parts.foreign_keys.extend(ForeignKeyDefinition::of_column(definition));
        }
        for like in likes.iter().filter(|like| like.behind >= create.columns.len()) {
            parts.copied.push(self.copy_columns(table, like)?);
        }
        Ok(parts)
    }
}
