//! Types of expressions: what literals become, which casts are silent, which type several branches share.
//!
//! Invariant: an expression whose type is not known yet ([`Typed::data_type`] is `None`) is a quoted literal, NULL or a
//! parameter, and takes the type of what it meets (PostgreSQL 15, chapter 10).

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::PARAMETERS_MAX;
use crate::sql::names;
use crate::sql::visits::visit_expressions;
use messages::namespace;
use messages::program::Expression;
use messages::schema::{Catalog, DomainRules, TypeSchema};
use sqlparser::ast;
use std::sync::Arc;
use values::cast::{self, Context};
use values::{RangeKind, Type, Value, Zone};

/// Why a statement did not become a program.
#[derive(Debug)]
pub enum Stop {
    /// No action expresses it: the query processor may. If that is not asked, this is the error.
    Beyond(Box<SqlError>),
    /// It is wrong.
    Error(Box<SqlError>),
}

impl From<Box<SqlError>> for Stop {
    fn from(error: Box<SqlError>) -> Stop {
        Stop::Error(error)
    }
}

impl From<values::ValueError> for Stop {
    fn from(error: values::ValueError) -> Stop {
        Stop::Error(error.into())
    }
}

impl Stop {
    /// For statements that only a program can do.
    pub fn into_error(self) -> Box<SqlError> {
        match self {
            Stop::Beyond(error) | Stop::Error(error) => error,
        }
    }
}

/// A feature that no action expresses.
pub fn beyond(feature: &str) -> Stop {
    Stop::Beyond(SqlError::unsupported(feature))
}

/// What compiling a part of a statement returns.
pub type Compiled<T> = std::result::Result<T, Stop>;

/// An expression and its type; no type yet: it takes that of what it meets.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The expression.
    pub expression: Expression,
    /// Its type.
    pub data_type: Option<Type>,
}

impl Typed {
    /// An expression of a known type.
    pub fn known(expression: Expression, data_type: Type) -> Typed {
        Typed { expression, data_type: Some(data_type) }
    }

    /// A boolean expression.
    pub fn boolean(expression: Expression) -> Typed {
        Typed::known(expression, Type::Boolean)
    }

    /// A constant of its own type.
    pub fn constant(value: Value) -> Typed {
        Typed { data_type: value.data_type(), expression: Expression::Constant(value) }
    }

    /// The type as errors name it.
    pub fn type_name(&self) -> &'static str {
        self.data_type.map_or("unknown", |data_type| data_type.base_name())
    }
}

/// The types of a statement's parameters, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    known: Vec<Option<Type>>,
    /// Where constants are read that name no zone.
    zone: Zone,
}

/// Whether a cast depends on the time zone: it then waits for the zone that the session has when the statement is executed, as in PostgreSQL.
pub fn depends_on_zone(from: Type, to: Type) -> bool {
    let instants =
        [Type::TimestampTz(None), Type::Range(RangeKind::TimestampTz), Type::Multirange(RangeKind::TimestampTz)];
    let is_instant = |data_type: Type| instants.contains(&data_type.element().unwrap_or(data_type).unmodified());
    let is_zoned = |data_type: Type| matches!(data_type.element().unwrap_or(data_type), Type::TimeTz(_));
    is_instant(from) != is_instant(to) || (is_zoned(to) && !is_zoned(from))
}

impl Parameters {
    /// As the client declared them, in a session of this time zone.
    pub fn new(declared: Vec<Option<Type>>, zone: Zone) -> Parameters {
        Parameters { known: declared, zone }
    }

    /// Reads a literal in the time zone. Errors: those of its type's input.
    pub fn read(&self, text: &str, target: Type) -> Result<Value> {
        Ok(values::text::parse_in(text, target, &self.zone)?)
    }

    /// Has literals read in another time zone; returns the one before.
    pub fn read_in(&mut self, zone: Zone) -> Zone {
        std::mem::replace(&mut self.zone, zone)
    }

    /// `$n`, counted from 1. Errors: 42P02 for a number that cannot be.
    pub fn parameter(&mut self, placeholder: &str) -> Result<Typed> {
        let number = placeholder
            .strip_prefix('$')
            .and_then(|digits| digits.parse::<usize>().ok())
            .filter(|number| (1..=PARAMETERS_MAX).contains(number))
            .ok_or_else(|| {
                SqlError::new(sqlstate::UNDEFINED_PARAMETER, format!("there is no parameter {placeholder}"))
            })?;
        if self.known.len() < number {
            self.known.resize(number, None);
        }
        Ok(Typed { expression: Expression::Parameter((number - 1) as u16), data_type: self.known[number - 1] })
    }

    /// All types at the end. Errors: 42P18 for one that nothing determined.
    pub fn finish(self) -> Result<Vec<Type>> {
        self.known
            .into_iter()
            .enumerate()
            .map(|(index, data_type)| {
                data_type.ok_or_else(|| {
                    SqlError::new(
                        sqlstate::INDETERMINATE_TYPE,
                        format!("could not determine data type of parameter ${}", index + 1),
                    )
                })
            })
            .collect()
    }

    /// The types as far as they are known.
    pub fn known(&self) -> &[Option<Type>] {
        &self.known
    }

    fn set(&mut self, index: u16, data_type: Type) -> Type {
        *self.known[usize::from(index)].get_or_insert(data_type.unmodified())
    }

    /// The expression as one of this type, cast silently where `allowed` lets it. Errors: 42804 where it does not, and those of
    /// reading a literal.
    pub fn coerce(&mut self, typed: Typed, target: Type, allowed: Context) -> Result<Expression> {
        let from = match (typed.data_type, &typed.expression) {
            (None, Expression::Constant(Value::Text(text))) => {
                return Ok(Expression::Constant(self.read(text, target)?));
            }
            (None, Expression::Parameter(index)) => self.set(*index, target),
            (None, _) => return Ok(typed.expression),
            (Some(from), _) => from,
        };
        if from == target || (target.unmodified() == target && from.unmodified() == target) {
            return Ok(typed.expression);
        }
        if cast::context(from, target).is_none_or(|needed| needed > allowed) {
            return Err(SqlError::new(
                sqlstate::DATATYPE_MISMATCH,
                format!("expression is of type {} but type {} is needed", from.base_name(), target.base_name()),
            ));
        }
        match typed.expression {
            Expression::Constant(value) if !depends_on_zone(from, target) => {
                Ok(Expression::Constant(cast::assign(&value, target)?))
            }
            expression => Ok(Expression::Cast(Box::new(expression), target, false)),
        }
    }

    /// As [`Parameters::coerce`], for a value stored in a column. Errors: 42804 that names the column.
    pub fn assign(&mut self, typed: Typed, column: &str, target: Type) -> Result<Expression> {
        let from = typed.type_name();
        self.coerce(typed, target, Context::Assignment).map_err(|error| {
            if error.sqlstate != sqlstate::DATATYPE_MISMATCH {
                return error;
            }
            SqlError::new(
                sqlstate::DATATYPE_MISMATCH,
                format!("column \"{column}\" is of type {} but expression is of type {from}", target.base_name()),
            )
            .with_hint("You will need to rewrite or cast the expression.")
        })
    }

    /// The type that all of these can take silently, text when none is known; `what` names the construct. Errors: 42804.
    pub fn common_type(&self, all: &[Typed], what: &str) -> Result<Type> {
        let known: Vec<Type> = all.iter().filter_map(|typed| typed.data_type).collect();
        if known.is_empty() {
            return Ok(Type::Text);
        }
        values::functions::common_type(&known).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|data_type| data_type.base_name()).collect();
            SqlError::new(
                sqlstate::DATATYPE_MISMATCH,
                format!("{what} types {} cannot be matched", names.join(" and ")),
            )
        })
    }
}

/// The type of PostgreSQL's that a syntax tree names. Errors: 42704 for one that does not exist.
pub fn data_type(written: &ast::DataType) -> Result<Type> {
    let text = written.to_string();
    if matches!(text.to_ascii_lowercase().as_str(), "\"char\"" | "pg_catalog.char" | "pg_catalog.\"char\"") {
        return Err(SqlError::unsupported("type \"char\"").with_hint("Use text."));
    }
    let text = text.strip_prefix("pg_catalog.").unwrap_or(&text);
    // In quotes, it is not that of one bit.
    if matches!(text, "\"bit\"" | "\"bit\"[]") {
        return Ok(text.parse::<Type>()?);
    }
    let text = text.replace('"', "");
    Ok(text.parse::<Type>()?)
}

/// What the name of a type means.
#[derive(Clone, Debug)]
pub enum WrittenType {
    /// A type that values have.
    Plain(Type),
    /// A domain, whose values have the type that it is over.
    Domain(Arc<TypeSchema>),
}

impl WrittenType {
    /// The type that its values have. Errors: 54000.
    pub fn data_type(&self) -> Result<Type> {
        match self {
            WrittenType::Plain(known) => Ok(*known),
            WrittenType::Domain(known) => Ok(known.data_type()?),
        }
    }

    /// A value that was cast to the type of its values as one of it.
    pub fn in_domain(&self, typed: Typed) -> Typed {
        match self.rules().filter(|rules| rules.refuses_any()) {
            Some(rules) => Typed { expression: Expression::Domain(Box::new(typed.expression), rules), ..typed },
            None => typed,
        }
    }

    /// What its values have to satisfy, if it is a domain.
    pub fn rules(&self) -> Option<Arc<DomainRules>> {
        match self {
            WrittenType::Plain(_) => None,
            WrittenType::Domain(known) => known.domain().map(|domain| domain.rules.clone()),
        }
    }
}

/// The type that a syntax tree names, a user's among them, where it cannot be a domain. Errors: 42704 for one that does not exist, 0A000 for a domain.
pub fn data_type_in(written: &ast::DataType, catalog: &Catalog) -> Result<Type> {
    match named_type_in(written, catalog)? {
        WrittenType::Plain(known) => Ok(known),
        WrittenType::Domain(known) => Err(SqlError::unsupported(format!("the domain {} here", known.written))),
    }
}

/// The type that a syntax tree names, a user's among them, which have the catalog's names here. Errors: 42704 for one that does not exist, 0A000 for arrays of a
/// domain.
pub fn named_type_in(written: &ast::DataType, catalog: &Catalog) -> Result<WrittenType> {
    let Some(name) = user_type_name(written) else { return data_type(written).map(WrittenType::Plain) };
    let name = names::own_relation(name)?;
    let array = || namespace::bare(&name).strip_prefix('_').map(|element| namespace::beside(&name, element));
    let of_domain = |known: &TypeSchema| match known.domain() {
        Some(_) => Err(SqlError::unsupported(format!("an array of the domain {}", known.written))),
        None => Ok(()),
    };
    let found = match catalog.types.get(&name) {
        Some((known, _)) if known.domain().is_some() && !is_array(written) => {
            return Ok(WrittenType::Domain(known.clone()));
        }
        Some((known, _)) => {
            of_domain(known)?;
            Some(known.data_type()?)
        }
        None => match array().and_then(|element| catalog.types.get(&element)) {
            Some((known, _)) => {
                of_domain(known)?;
                Some(known.data_type()?.array())
            }
            None => None,
        },
    };
    match found {
        Some(found) if is_array(written) => Ok(WrittenType::Plain(found.array())),
        Some(found) => Ok(WrittenType::Plain(found)),
        None if is_lower(written) => data_type(written).map(WrittenType::Plain),
        None => Err(no_type(&name)),
    }
}

/// 42704.
fn no_type(name: &str) -> Box<SqlError> {
    let (schema, name) = names::parts(name);
    let shown = schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"));
    SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("type \"{shown}\" does not exist"))
}

/// Whether a name is that of a user's type, or of its arrays.
pub fn is_user_type(found: &str, name: &str) -> bool {
    let element = namespace::bare(found).strip_prefix('_').map(|element| namespace::beside(found, element));
    found == name || element.is_some_and(|element| element == name)
}

fn is_array(written: &ast::DataType) -> bool {
    matches!(written, ast::DataType::Array(_))
}

fn custom(written: &ast::DataType) -> Option<&ast::ObjectName> {
    match written {
        ast::DataType::Custom(name, modifiers) if modifiers.is_empty() => Some(name),
        ast::DataType::Array(
            ast::ArrayElemTypeDef::SquareBracket(element, _)
            | ast::ArrayElemTypeDef::AngleBracket(element)
            | ast::ArrayElemTypeDef::Parenthesis(element),
        ) => custom(element),
        _ => None,
    }
}

/// Whether a name has no letter that only a user's type can have.
fn is_lower(written: &ast::DataType) -> bool {
    custom(written).is_none_or(|name| {
        let [ast::ObjectNamePart::Identifier(only)] = name.0.as_slice() else { return false };
        names::identifier(only).bytes().all(|byte| !byte.is_ascii_uppercase())
    })
}

/// The name in a syntax tree of a type that may be a user's: none of PostgreSQL's is called so.
pub fn user_type_name(written: &ast::DataType) -> Option<&ast::ObjectName> {
    let name = custom(written)?;
    let relation = names::relation(name).ok()?;
    let is_own = match &relation.schema {
        Some(schema) => !names::is_system_schema(schema),
        None => !is_lower(written) || relation.name.parse::<Type>().is_err(),
    };
    is_own.then_some(name)
}

/// The same, to be changed.
pub fn user_type_name_mut(written: &mut ast::DataType) -> Option<&mut ast::ObjectName> {
    fn inner(written: &mut ast::DataType) -> Option<&mut ast::ObjectName> {
        match written {
            ast::DataType::Custom(name, _) => Some(name),
            ast::DataType::Array(
                ast::ArrayElemTypeDef::SquareBracket(element, _)
                | ast::ArrayElemTypeDef::AngleBracket(element)
                | ast::ArrayElemTypeDef::Parenthesis(element),
            ) => inner(element),
            _ => None,
        }
    }
    user_type_name(written)?;
    inner(written)
}

/// The type that an expression casts to, or is a literal of.
pub fn type_of(expression: &ast::Expr) -> Option<&ast::DataType> {
    match expression {
        ast::Expr::Cast { data_type, .. } => Some(data_type),
        ast::Expr::TypedString(typed) => Some(&typed.data_type),
        _ => None,
    }
}

/// The same, to be changed.
pub fn type_of_mut(expression: &mut ast::Expr) -> Option<&mut ast::DataType> {
    match expression {
        ast::Expr::Cast { data_type, .. } => Some(data_type),
        ast::Expr::TypedString(typed) => Some(&mut typed.data_type),
        _ => None,
    }
}

/// Names of users' types in the expressions of a statement.
pub fn types_named<T: ast::Visit>(part: &T) -> Vec<String> {
    let mut found = Vec::new();
    let _ = visit_expressions(part, |expression| {
        let name = type_of(expression).and_then(user_type_name);
        found.extend(name.and_then(|name| names::own_relation(name).ok()));
        std::ops::ControlFlow::<()>::Continue(())
    });
    found
}
