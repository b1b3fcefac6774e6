//! Names of types in statements: what each means, what relies on it, and casts to it.
//!
//! Invariant: a statement that names a user's type relies on the type's row of the catalog.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::literals::is_catalog_type;
use crate::sql::lookup::NameLookup;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::types::{
    Compiled, Typed, WrittenType, beyond, data_type_in, depends_on_zone, named_type_in, type_of_mut, user_type_name_mut,
};
use messages::Timestamp;
use messages::program::Expression;
use messages::schema::CatalogEntry;
use sqlparser::ast::{self, Expr};
use values::cast::{self, Context};
use values::{Type, Value};

/// The type that a text names, as the session's search path has it. Errors: 42704, 3F000.
pub fn spelled_type(text: &str, lookup: &NameLookup) -> Result<Type> {
    if let Ok(known) = text.parse::<Type>() {
        return Ok(known);
    }
    let mut cast = parse::expression(&format!("NULL::{text}"))?;
    let Some(written) = type_of_mut(&mut cast) else { return Err(SqlError::syntax(text)) };
    if let Some(name) = user_type_name_mut(written)
        && let Some(known) = lookup.user_type(&names::own_relation(name)?)?
    {
        *name = ast::ObjectName::from(vec![ast::Ident::with_quote('"', known)]);
    }
    data_type_in(written, lookup.catalog())
}

impl Compiler<'_> {
    /// An expression whose value is handed on as it is: a column may be of any type.
    pub(super) fn handed_on(&mut self, expression: &Expr, scope: &Scope) -> Compiled<Typed> {
        let column = match expression {
            Expr::Identifier(name) => scope.column(None, &names::identifier(name)),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] => scope.column(Some(&names::identifier(table)), &names::identifier(name)),
                _ => None,
            },
            _ => None,
        };
        match column {
            Some((position, data_type)) => Ok(Typed::known(Expression::Column(position as u16), data_type)),
            None => self.expression(expression, scope),
        }
    }

    pub(super) fn cast(&mut self, operand: &Expr, target: &ast::DataType, scope: &Scope) -> Compiled<Typed> {
        // A cast to a type that only the system catalogs know is the query processor's.
        if matches!(target, ast::DataType::Regclass) || is_catalog_type(target) {
            return Err(beyond("a cast to this type"));
        }
        let named = self.named_type(target)?;
        let target = named.data_type()?;
        if target.has_labels() && matches!(named, WrittenType::Domain(_)) {
            return Err(beyond("a domain over an enum"));
        }
        if let (Expr::Array(array), Some(element)) = (operand, target.element())
            && array.elem.is_empty()
        {
            let empty = Expression::Constant(Value::array(element, Vec::new()));
            return Ok(named.in_domain(Typed::known(empty, target)));
        }
        let operand = self.expression(operand, scope)?;
        Ok(named.in_domain(self.cast_to(operand, target)?))
    }

    /// An explicit cast of a compiled operand, to what is no domain.
    pub fn cast_to(&mut self, operand: Typed, target: Type) -> Compiled<Typed> {
        let from = match operand.data_type {
            Some(from) => from,
            None => {
                let expression = match operand.expression {
                    Expression::Constant(value @ Value::Text(_)) => {
                        let zone = self.facts.settings.zone();
                        Expression::Constant(cast::explicit_in(&value, target, zone)?)
                    }
                    expression => {
                        let unknown = Typed { expression, data_type: None };
                        let inner = self.parameters.coerce(unknown, target.unmodified(), Context::Implicit)?;
                        if target == target.unmodified() {
                            inner
                        } else {
                            Expression::Cast(Box::new(inner), target, true)
                        }
                    }
                };
                return Ok(Typed::known(expression, target));
            }
        };
        if cast::context(from, target).is_none() {
            return Err(SqlError::new(
                sqlstate::CANNOT_COERCE,
                format!("cannot cast type {} to {}", from.base_name(), target.base_name()),
            )
            .into());
        }
        let expression = match operand.expression {
            Expression::Constant(value) if !depends_on_zone(from, target) => {
                Expression::Constant(cast::explicit(&value, target)?)
            }
            expression if from == target => expression,
            expression => Expression::Cast(Box::new(expression), target, true),
        };
        Ok(Typed::known(expression, target))
    }

    /// The type that a syntax tree names, on whose row the statement relies if it is a user's. Errors: 42704.
    pub(super) fn named_type(&mut self, written: &ast::DataType) -> Result<WrittenType> {
        let found = named_type_in(written, self.catalog)?;
        let known = match &found {
            WrittenType::Domain(known) => Some(known),
            WrittenType::Plain(plain) => match plain.element().unwrap_or(*plain) {
                Type::Enum(labels) => self.catalog.type_numbered(labels.oid()),
                _ => None,
            },
        };
        if let Some(known) = known {
            let key = CatalogEntry::type_key(&known.name);
            let relied = (key.clone(), self.catalog.version_of(&key));
            // What the transaction has made itself has no version.
            if relied.1 != Timestamp::ZERO && !self.relies_on.contains(&relied) {
                self.relies_on.push(relied);
            }
        }
        Ok(found)
    }
}
