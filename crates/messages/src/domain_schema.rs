//! Domains as the catalog keeps them: types whose values are those of another type that satisfy conditions.
//!
//! Invariant: whatever computes with a domain carries all that it says, and what the domains say that it is over. What changes a domain writes the rows of the domains
//! over it, and of all tables that have it or name it, too, so a transaction that uses such a table conflicts with the change.

use crate::expression_sql::SqlStyle;
use crate::program::Expression;
use crate::schema::{CheckSchema, Column, RowExpression, TableSchema};
use identifiers::TableId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use values::Type;

/// What a domain is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainSchema {
    /// The type of its values, which is no domain.
    pub base: Type,
    /// The domain that it is over, by its object identifier, if it is over one.
    pub over: Option<u32>,
    /// Whether it refuses NULL itself.
    pub not_null: bool,
    /// Its own conditions, in the order of their names. Their one column is `VALUE`.
    pub checks: Vec<CheckSchema>,
    /// What its values have to satisfy, with what the domains say that it is over.
    pub rules: Arc<DomainRules>,
}

/// What values of a domain have to satisfy, as columns and casts carry it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainRules {
    /// Its object identifier.
    pub oid: u32,
    /// Its name as statements write it, quoted where it has to be.
    pub name: String,
    /// Whether NULL is refused. That is looked at first.
    pub not_null: bool,
    /// Conditions over the value, which is the only column, in the order in which they are checked.
    pub conditions: Vec<DomainCondition>,
    /// What a column that has none takes as its default, as SQL text.
    pub default: Option<String>,
}

/// A condition over a value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainCondition {
    /// Its name.
    pub name: String,
    /// As SQL text.
    pub text: String,
    /// Satisfied where it is not false.
    pub condition: Expression,
}

impl DomainSchema {
    /// One of its own conditions as PostgreSQL prints it.
    pub fn condition_sql(&self, check: &CheckSchema, style: SqlStyle) -> String {
        let own = RowExpression::new(check.condition.clone(), Type::Boolean);
        own.sql(&domain_scope(self.base), style)
    }
}

impl DomainRules {
    /// Whether there are values of the type below that are none of the domain.
    pub fn refuses_any(&self) -> bool {
        self.not_null || !self.conditions.is_empty()
    }

    /// What is said of NULL.
    pub fn null_message(&self) -> String {
        format!("domain {} does not allow null values", self.name)
    }

    /// What is said of a value that does not satisfy a condition.
    pub fn violation_message(&self, condition: &str) -> String {
        format!("value for domain {} violates check constraint \"{condition}\"", self.name)
    }
}

impl Column {
    /// Its default as SQL text, or that of its domain.
    pub fn default_text(&self) -> Option<&str> {
        let of_domain = || self.domain.as_ref()?.default.as_deref();
        self.default.as_deref().or_else(of_domain)
    }

    /// Whether its domain refuses any value of its type.
    pub fn is_restricted(&self) -> bool {
        self.domain.as_ref().is_some_and(|rules| rules.refuses_any())
    }

    /// A value of its type as one of its domain, if that refuses any.
    pub fn in_domain(&self, value: Expression) -> Expression {
        match &self.domain {
            Some(rules) if rules.refuses_any() => Expression::Domain(Box::new(value), rules.clone()),
            _ => value,
        }
    }
}

/// What conditions of a domain over this type are compiled and printed over: a table without a name, whose column prints as `VALUE`.
pub fn domain_scope(base: Type) -> TableSchema {
    TableSchema::new("", TableId(0), vec![Column::new("value", base, false)])
}
