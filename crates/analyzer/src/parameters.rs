//! Types of a statement's parameters. Where they are not declared, the first use that wants a type decides, and every other must want the same.

use crate::catalog::Catalog;
use crate::error::{AMBIGUOUS_PARAMETER, AnalysisError, INDETERMINATE_DATATYPE, UNDEFINED_PARAMETER};
use crate::limits;
use crate::names::type_name;
use crate::types::{NONE, TypeId, UNKNOWN};

/// The parameters of one statement.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    types: Vec<TypeId>,
    declared_only: bool,
}

impl Parameters {
    /// Parameters of which some may be declared; zero or unknown leaves one open. Others may be used as well.
    pub fn open(declared: &[TypeId]) -> Parameters {
        Parameters { types: declared.to_vec(), declared_only: false }
    }

    /// Just these parameters, all with a type, as those of a function's body.
    pub fn fixed(types: &[TypeId]) -> Parameters {
        Parameters { types: types.to_vec(), declared_only: true }
    }

    /// The type of `$number` as far as it is known; 42P02 if there is no such parameter.
    pub fn use_of(&mut self, number: u32) -> Result<TypeId, AnalysisError> {
        let missing = || AnalysisError::new(UNDEFINED_PARAMETER, format!("there is no parameter ${number}"));
        let index = (number as usize).checked_sub(1).ok_or_else(missing)?;
        if index >= self.types.len() {
            if self.declared_only || number > limits::PARAMETERS_MAX {
                return Err(missing());
            }
            self.types.resize(index + 1, NONE);
        }
        let slot = &mut self.types[index];
        if *slot == NONE {
            *slot = UNKNOWN;
        }
        Ok(*slot)
    }

    /// A use of `$number`, whose type was unknown when it was read, wants a type. 42P08 if another use has wanted another one since.
    pub fn decide(&mut self, catalog: &dyn Catalog, number: u32, wanted: TypeId) -> Result<(), AnalysisError> {
        self.use_of(number)?;
        let slot = &mut self.types[number as usize - 1];
        if *slot == UNKNOWN {
            *slot = wanted;
        } else if *slot != wanted {
            let (first, other) = (type_name(catalog, *slot), type_name(catalog, wanted));
            let message = format!("inconsistent types deduced for parameter ${number}");
            return Err(AnalysisError::new(AMBIGUOUS_PARAMETER, message).with_detail(format!("{first} versus {other}")));
        }
        Ok(())
    }

    /// The types at the end. 42P18 for a number that nothing has given a type, also one that is not used at all.
    pub fn settled(&self) -> Result<&[TypeId], AnalysisError> {
        match self.types.iter().position(|id| matches!(*id, NONE | UNKNOWN)) {
            None => Ok(&self.types),
            Some(index) => {
                let message = format!("could not determine data type of parameter ${}", index + 1);
                Err(AnalysisError::new(INDETERMINATE_DATATYPE, message))
            }
        }
    }
}
