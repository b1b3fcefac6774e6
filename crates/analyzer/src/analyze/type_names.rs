//! Names of types in a statement.

use grammar::ast::TypeName;

use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, SYNTAX_ERROR, UNDEFINED_OBJECT, UNDEFINED_SCHEMA};
use crate::types::Typed;

impl Analyzer<'_> {
    /// The type that a name means, with its modifier.
    pub fn named_type(&mut self, name: &TypeName) -> Result<Typed> {
        let texts: Vec<&str> = name.names.iter().map(|name| name.text.as_str()).collect();
        let (schema, text) = match texts.as_slice() {
            [text] => (None, *text),
            [schema, text] => (Some(*schema), *text),
            [database, schema, text] => {
                self.own_database(&name.names, database, name.at)?;
                (Some(*schema), *text)
            }
            _ => {
                let shown = super::missing::written(&name.names);
                let message = format!("improper qualified name (too many dotted names): {shown}");
                return error_at(SYNTAX_ERROR, message, name.at);
            }
        };
        if let Some(schema) = schema
            && !self.catalog.has_schema(schema)
        {
            return error_at(UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"), name.at);
        }
        let dimensions = if name.bounds.is_empty() { "" } else { "[]" };
        let shown = || {
            let error = |what: &str| {
                let message = format!("type \"{}{dimensions}\" {what}", super::missing::written(&name.names));
                AnalysisError::new(UNDEFINED_OBJECT, message).at(name.at)
            };
            error("does not exist")
        };
        let catalog = self.catalog;
        let row = catalog.type_named(schema, text).ok_or_else(shown)?;
        if row.kind == crate::types::TypeKind::Pseudo && row.input == "shell_in" {
            let message = format!("type \"{}\" is only a shell", super::missing::written(&name.names));
            return error_at(UNDEFINED_OBJECT, message, name.at);
        }
        let modifier = self.modifier(row, name)?;
        if name.bounds.is_empty() {
            return Ok(self.typed(row.id, modifier));
        }
        let array = row.array.known().ok_or_else(shown)?;
        Ok(self.typed(array, modifier))
    }
}
