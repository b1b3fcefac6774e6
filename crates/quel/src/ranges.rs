//! The variables that a session has declared. Invariant: at most [`RANGES_MAX`].

use crate::error::{QuelError, QuelResult};
use crate::limits::RANGES_MAX;
use crate::syntax::QuelName;
use std::collections::BTreeMap;

/// A relation as `range of` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangedRelation {
    /// Its schema, if that was said.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
    /// Where it was named.
    pub at: usize,
}

/// `variable is relation`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeDeclaration {
    /// The variable.
    pub variable: QuelName,
    /// What it ranges over.
    pub relation: RangedRelation,
}

/// Variables and what they range over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    known: BTreeMap<String, RangedRelation>,
}

impl Ranges {
    /// Declares variables, those of the same names being declared anew. Errors: 54000 for too many.
    pub fn declare(&mut self, declarations: &[RangeDeclaration]) -> QuelResult<()> {
        for declaration in declarations {
            let is_new = !self.known.contains_key(&declaration.variable.text);
            if is_new && self.known.len() >= RANGES_MAX {
                let message = format!("a session has at most {RANGES_MAX} range variables");
                return Err(QuelError::too_many(message, declaration.variable.at));
            }
            self.known.insert(declaration.variable.text.clone(), declaration.relation.clone());
        }
        Ok(())
    }

    /// What a variable ranges over, if it was declared.
    pub fn of(&self, variable: &str) -> Option<&RangedRelation> {
        self.known.get(variable)
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.known.clear();
    }
}
