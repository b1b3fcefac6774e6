//! Variables by their names, as blocks within each other show them.
//!
//! Invariant: the innermost block that has a name gives its meaning.

use crate::place::VariablePlace;

/// A block's names.
#[derive(Debug, Default)]
pub(crate) struct BlockNames {
    /// Its label.
    pub label: Option<String>,
    /// Its variables: name, number, whether it is a record.
    pub names: Vec<(String, usize, bool)>,
}

/// Blocks around a place, the innermost last.
#[derive(Debug, Default)]
pub(crate) struct BlockScopes(pub Vec<BlockNames>);

impl BlockScopes {
    /// What a name of one, two or three parts stands for.
    pub fn find(&self, names: &[String]) -> Option<VariablePlace> {
        for scope in self.0.iter().rev() {
            if let [first, rest @ ..] = names
                && let Some((_, number, is_record)) = scope.names.iter().rev().find(|(name, ..)| name == first)
            {
                match rest {
                    [] => return Some(VariablePlace::Whole(*number)),
                    [field] if *is_record => return Some(VariablePlace::Field(*number, field.clone())),
                    _ => {}
                }
            }
            if let [label, name, rest @ ..] = names
                && scope.label.as_ref() == Some(label)
                && let Some((_, number, is_record)) = scope.names.iter().rev().find(|(known, ..)| known == name)
            {
                match rest {
                    [] => return Some(VariablePlace::Whole(*number)),
                    [field] if *is_record => return Some(VariablePlace::Field(*number, field.clone())),
                    _ => {}
                }
            }
        }
        None
    }

    /// The innermost block.
    pub fn innermost(&mut self) -> &mut BlockNames {
        self.0.last_mut().expect("a body is in a block")
    }
}
