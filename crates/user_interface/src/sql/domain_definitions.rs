//! What stands behind a domain's name, read and understood.
//!
//! A domain is written as a column is: PostgreSQL's grammar has the same list for both. So its definition is read as that of the column `value` of a table, which is
//! also what its conditions call it. Invariant: no table is made of it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::checks::CheckDefinition;
use crate::sql::definitions::is_c;
use crate::sql::domain_syntax::{DomainText, not_possible};
use crate::sql::lookup::NameLookup;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::qualify;
use sqlparser::ast::{self, ColumnDef};
use values::Type;

impl DomainText {
    /// The definition of the column, with the catalog's names in it. Errors: 42601, 3F000, 42501.
    pub(super) fn read(&self, lookup: &NameLookup) -> Result<ColumnDef> {
        let text = format!("CREATE TABLE {} (value {})", self.name, self.definition);
        // Places are in another text than the client's.
        let parsed = parse::statement(&text).map_err(|mut error| {
            error.position = None;
            error
        })?;
        let statement = match parsed.map(|parsed| parsed.statement) {
            Some(parse::Statement::Sql(tree)) if tree.is_shallow() => tree.into_inner(),
            _ => return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "syntax error in the definition of a domain")),
        };
        let known = qualify::qualified(&statement, lookup)?.map_or(statement, Box::new);
        match *known {
            ast::Statement::CreateTable(create) if create.constraints.is_empty() && create.query.is_none() => {
                match <[ColumnDef; 1]>::try_from(create.columns) {
                    Ok([column]) => Ok(column),
                    Err(_) => Err(SqlError::syntax(",")),
                }
            }
            _ => Err(SqlError::syntax(",")),
        }
    }
}

/// What a definition says of a domain.
#[derive(Default)]
pub(super) struct DomainParts<'d> {
    pub(super) not_null: Option<bool>,
    pub(super) default: Option<&'d ast::Expr>,
    pub(super) checks: Vec<CheckDefinition>,
}

/// Reads the constraints of a domain. Errors: 42601 for what no domain has, 42804 and 0A000 for collations.
pub(super) fn parts(definition: &ast::ColumnDef, base: Type) -> Result<DomainParts<'_>> {
    let wrong = |message: &str| Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
    let mut parts = DomainParts::default();
    for option in &definition.options {
        match &option.option {
            ast::ColumnOption::Default(_) if parts.default.is_some() => return wrong("multiple default expressions"),
            ast::ColumnOption::Default(default) => parts.default = Some(default),
            ast::ColumnOption::NotNull | ast::ColumnOption::Null => {
                let not_null = matches!(option.option, ast::ColumnOption::NotNull);
                if parts.not_null.is_some_and(|other| other != not_null) {
                    return wrong("conflicting NULL/NOT NULL constraints");
                }
                parts.not_null = Some(not_null);
            }
            ast::ColumnOption::Check(check) if check.enforced == Some(false) => {
                return Err(SqlError::unsupported("NOT ENFORCED"));
            }
            ast::ColumnOption::Check(_) => {}
            ast::ColumnOption::PrimaryKey(_) => return Err(not_possible("primary key")),
            ast::ColumnOption::Unique(_) => return Err(not_possible("unique")),
            ast::ColumnOption::ForeignKey(_) => return Err(not_possible("foreign key")),
            ast::ColumnOption::Collation(_) if !base.is_string() => {
                let message = format!("collations are not supported by type {}", base.base_name());
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, message));
            }
            ast::ColumnOption::Collation(name) if names::function(name).is_some_and(|name| is_c(&name)) => {}
            other => return Err(SqlError::unsupported(format!("{other} of a domain"))),
        }
    }
    parts.checks = CheckDefinition::of_column(definition);
    Ok(parts)
}
