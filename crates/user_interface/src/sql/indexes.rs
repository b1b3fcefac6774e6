//! CREATE INDEX: keys, predicates, and what is said of them (PostgreSQL's `indexcmds.c`).
//!
//! Invariant: the catalog's expressions are immutable, so that an entry is computed from its row at any time as it was at first.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::KEY_COLUMNS_MAX;
use crate::sql::ddl::Planner;
use crate::sql::definitions::check_index_count;
use crate::sql::names;
use crate::sql::operator_classes::chosen_class;
use crate::sql::parse;
use crate::sql::row_expressions::{RowExpressionUse, is_call, row_expression};
use messages::expression_sql::SqlStyle;
use messages::namespace;
use messages::program::Action;
use messages::schema::{IndexKey, IndexKeyPart, IndexMethod, IndexSchema, RowExpression, TableSchema};
use sqlparser::ast::{self, Expr};
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn create_index(&mut self, create: &ast::CreateIndex) -> Result<()> {
        let table_name = names::own_relation(&create.table_name)?;
        let from = self.indexed_table(&table_name)?;
        self.check_owns_table(&from)?;
        self.check_create(&from.name)?;
        if create.nulls_distinct == Some(false) {
            return Err(SqlError::unsupported("NULLS NOT DISTINCT"));
        }
        if create.columns.len() + create.include.len() > KEY_COLUMNS_MAX {
            let message = format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index");
            return Err(SqlError::new(sqlstate::TOO_MANY_COLUMNS, message));
        }
        let method = method(create)?;
        let predicate = match &create.predicate {
            Some(condition) => {
                Some(Arc::new(row_expression(condition, &from, &self.catalog, RowExpressionUse::IndexPredicate)?))
            }
            None => None,
        };
        let keys = create.columns.iter().map(|column| self.index_key(column, &from, method)).collect::<Result<_>>()?;
        let mut index = IndexSchema {
            keys,
            included: included(create, &from)?,
            predicate,
            method,
            options: options(create, method)?,
            ..IndexSchema::new(String::new(), 0, from.storage, &[], create.unique)
        };
        check_index_count(&from)?;
        index.name = match &create.name {
            Some(name) => {
                let name = namespace::beside(&from.name, namespace::bare(&names::own_relation(name)?));
                if create.if_not_exists && self.is_taken(&name) {
                    self.notice(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
                    return Ok(());
                }
                self.check_free(&name)?;
                name
            }
            None => {
                let names = index.column_names(&from);
                self.free_name(&from.name, &names.iter().map(String::as_str).collect::<Vec<_>>(), "idx")
            }
        };
        let mut to = TableSchema::clone(&from);
        self.write_index_name(&index.name, &from.name);
        index.oid = self.next_number();
        index.storage = self.make_storage();
        let has_entries = index.has_entries();
        to.indexes.push(index);
        self.write_table(to.clone());
        if has_entries {
            let index = Some(to.indexes.len() - 1);
            self.rebuilds.push(Action::Rebuild { index, from, to: Arc::new(to), fill: Vec::new() });
        }
        Ok(())
    }

    /// Errors: 42P01, 42809.
    fn indexed_table(&self, name: &str) -> Result<Arc<TableSchema>> {
        let kind = match self.catalog.tables.get(name) {
            Some(found) if found.table.view.is_some() => "views",
            Some(found) if found.table.sequence.is_some() => "sequences",
            None if self.catalog.index_names.contains_key(name) => "indexes",
            _ => return self.stored(name),
        };
        let message = format!("cannot create index on relation \"{name}\"");
        let detail = format!("This operation is not supported for {kind}.");
        Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message).with_detail(detail))
    }

    fn index_key(&self, column: &ast::IndexColumn, table: &TableSchema, method: IndexMethod) -> Result<IndexKey> {
        let (expression, collation) = match &column.column.expr {
            Expr::Collate { expr, collation } => (expr.as_ref(), names::function(collation)),
            expression => (expression, None),
        };
        let part = self.key_part(expression, table, method)?;
        let own = match &part {
            IndexKeyPart::Column(position) => table.columns[*position].column_type,
            IndexKeyPart::Expression(expression) => expression.result,
        };
        let collation = match collation {
            Some(_) if !own.is_string() => {
                let message = format!("collations are not supported by type {}", own.base_name());
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, message));
            }
            Some(name) if matches!(name.as_str(), "C" | "POSIX") => Some(name),
            Some(name) if name == "default" => None,
            Some(name) => return Err(SqlError::unsupported(format!("collation {name}"))),
            None => None,
        };
        let asked = match &column.operator_class {
            Some(name) => Some(names::function(name).ok_or_else(|| SqlError::unsupported("this operator class"))?),
            None => None,
        };
        let operator_class = chosen_class(asked, own, method)?;
        if matches!(method, IndexMethod::Btree | IndexMethod::Hash) && own.element().is_some() {
            let feature = match &part {
                IndexKeyPart::Column(position) => {
                    format!("a key over the array column \"{}\"", table.columns[*position].name)
                }
                IndexKeyPart::Expression(_) => "a key over an array".to_owned(),
            };
            return Err(SqlError::unsupported(feature));
        }
        let asked = &column.column.options;
        if method != IndexMethod::Btree {
            let what = match (asked.asc, asked.nulls_first) {
                (Some(_), _) => "ASC/DESC",
                (None, Some(_)) => "NULLS FIRST/LAST",
                (None, None) => "",
            };
            if !what.is_empty() {
                return Err(not_by_method(method, &format!("{what} options")));
            }
        }
        let descending = asked.asc == Some(false);
        let nulls_first = asked.nulls_first.unwrap_or(descending);
        Ok(IndexKey { part, descending, nulls_first, operator_class, collation })
    }

    /// What stands in the place of a column. Errors: 42703, 42601 for an expression without parentheses, and those of expressions.
    fn key_part(&self, expression: &Expr, table: &TableSchema, method: IndexMethod) -> Result<IndexKeyPart> {
        let column = |name: &ast::Ident| {
            let name = names::identifier(name);
            match table.column(&name) {
                Some(position) => Ok(IndexKeyPart::Column(position)),
                None if is_system_column(&name) => {
                    let message = "index creation on system columns is not supported";
                    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message))
                }
                None => Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"))),
            }
        };
        let mut inner = expression;
        while let Expr::Nested(nested) = inner {
            inner = nested;
        }
        match inner {
            Expr::Identifier(name) => return column(name),
            Expr::CompoundIdentifier(names) if matches!(names.as_slice(), [_, _]) => {
                let of_table = names::identifier(&names[0]) == namespace::bare(&table.name);
                if let (true, Some(position)) = (of_table, table.column(&names::identifier(&names[1]))) {
                    return Ok(IndexKeyPart::Column(position));
                }
            }
            _ => {}
        }
        if !matches!(expression, Expr::Nested(_)) && !is_call(expression) {
            return Err(SqlError::syntax(expression.to_string().split_whitespace().nth(1).unwrap_or("(")));
        }
        let own = row_expression(inner, table, &self.catalog, RowExpressionUse::IndexExpression(method))?;
        Ok(IndexKeyPart::Expression(Arc::new(own)))
    }

    /// Columns have other types: expressions and predicates over them are read anew from their texts, as PostgreSQL does it. Errors: those of
    /// expressions that do not fit any more.
    pub(super) fn compile_indexes(&self, from: &TableSchema, to: &mut TableSchema) -> Result<()> {
        let changed = |column: &usize| from.columns[*column].column_type != to.columns[*column].column_type;
        let again = |own: &Arc<RowExpression>, usage| {
            if !own.columns.iter().any(changed) {
                return Ok(Arc::clone(own));
            }
            let text = parse::expression(&own.sql(from, SqlStyle::Source))?;
            row_expression(&text, to, &self.catalog, usage).map(Arc::new)
        };
        let mut indexes = to.indexes.clone();
        for index in &mut indexes {
            let method = index.method;
            for key in &mut index.keys {
                let own = match &mut key.part {
                    IndexKeyPart::Column(position) => to.columns[*position].column_type,
                    IndexKeyPart::Expression(own) => {
                        *own = again(own, RowExpressionUse::IndexExpression(method))?;
                        own.result
                    }
                };
                key.operator_class = chosen_class(key.operator_class.take(), own, method)?;
            }
            if let Some(predicate) = &mut index.predicate {
                *predicate = again(predicate, RowExpressionUse::IndexPredicate)?;
            }
        }
        to.indexes = indexes;
        Ok(())
    }
}

fn is_system_column(name: &str) -> bool {
    matches!(name, "ctid" | "xmin" | "xmax" | "cmin" | "cmax" | "tableoid")
}

/// 0A000.
fn not_by_method(method: IndexMethod, what: &str) -> Box<SqlError> {
    let message = format!("access method \"{}\" does not support {what}", method.name());
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

/// Errors: 42704 for a method that there is not, 0A000 for what it cannot do.
fn method(create: &ast::CreateIndex) -> Result<IndexMethod> {
    let method = match &create.using {
        None => IndexMethod::Btree,
        Some(using) => {
            let name = match using {
                ast::IndexType::Custom(name) => names::identifier(name),
                other => other.to_string().to_ascii_lowercase(),
            };
            match IndexMethod::ALL.into_iter().find(|known| known.name() == name) {
                Some(method) => method,
                None if name == "spgist" => return Err(SqlError::unsupported("the access method spgist")),
                None => {
                    let message = format!("access method \"{name}\" does not exist");
                    return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
                }
            }
        }
    };
    if create.unique && method != IndexMethod::Btree {
        return Err(not_by_method(method, "unique indexes"));
    }
    if !create.include.is_empty() && !matches!(method, IndexMethod::Btree | IndexMethod::Gist) {
        return Err(not_by_method(method, "included columns"));
    }
    if create.columns.len() > 1 && method == IndexMethod::Hash {
        return Err(not_by_method(method, "multicolumn indexes"));
    }
    Ok(method)
}

fn included(create: &ast::CreateIndex, table: &TableSchema) -> Result<Vec<usize>> {
    let column = |name: &ast::Ident| {
        let name = names::identifier(name);
        table
            .column(&name)
            .ok_or_else(|| SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")))
    };
    create.include.iter().map(column).collect()
}

/// Storage parameters, which change nothing here. Errors: 22023 for one that the method has not, or a value that it cannot have.
fn options(create: &ast::CreateIndex, method: IndexMethod) -> Result<Vec<String>> {
    let option = |given: &Expr| {
        let (name, value) = match given {
            Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } => (left.as_ref(), right.to_string()),
            name => (name, "true".to_owned()),
        };
        let Expr::Identifier(name) = name else { return Err(SqlError::syntax(name.to_string())) };
        let (name, value) = (names::identifier(name), value.trim_matches('\'').to_ascii_lowercase());
        let number = value.parse::<f64>().ok();
        let within = |least: f64, most: f64| match number.filter(|number| (least..=most).contains(number)) {
            Some(_) => Ok(()),
            None => Err(format!("Valid values are between \"{least}\" and \"{most}\".")),
        };
        let checked = match (name.as_str(), method) {
            ("fillfactor", IndexMethod::Btree | IndexMethod::Hash | IndexMethod::Gist) => within(10.0, 100.0),
            ("pages_per_range", IndexMethod::Brin) => within(1.0, 131_072.0),
            ("gin_pending_list_limit", IndexMethod::Gin) => within(64.0, 2_147_483_647.0),
            ("deduplicate_items", IndexMethod::Btree)
            | ("fastupdate", IndexMethod::Gin)
            | ("autosummarize", IndexMethod::Brin) => {
                match matches!(value.as_str(), "true" | "false" | "on" | "off" | "yes" | "no" | "1" | "0") {
                    true => Ok(()),
                    false => {
                        let message = format!("invalid value for boolean option \"{name}\": {value}");
                        return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
                    }
                }
            }
            ("buffering", IndexMethod::Gist) if matches!(value.as_str(), "on" | "off" | "auto") => Ok(()),
            _ => {
                let message = format!("unrecognized parameter \"{name}\"");
                return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
            }
        };
        match checked {
            Ok(()) => Ok(format!("{name}={value}")),
            Err(detail) => {
                let message = format!("value {value} out of bounds for option \"{name}\"");
                Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message).with_detail(detail))
            }
        }
    };
    create.with.iter().map(option).collect()
}
