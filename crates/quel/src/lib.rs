//! QUEL, INGRES's relational calculus, to the SQL that means the same.
//!
//! A text in, statements of SQL out, each with the places of the QUEL that its parts come from. Invariant: what a statement of QUEL means is a
//! loop over its range variables; its SQL has the same rows, each as often. This crate knows no value and no plan: of the catalog it asks
//! only for names of columns and whether they are texts. In reading order:
//!
//! * [`syntax`]: the tree; `lexer`, `keywords`, [`parser`], `expressions`: text to tree; `patterns`: strings with wildcards;
//! * [`ranges`]: the variables that `range of` declares;
//! * `sql_text`: SQL with places; `functions`: those of QUEL; `scopes`, `aggregates`: what variables range over, and what is computed over them;
//!   `lower`, `definitions`: statements to SQL; [`translate`]: all of a text;
//! * [`error`]: what the client is told; [`limits`].
//!
//! Sources: Stonebraker, Wong, Kreps, Held: The Design and Implementation of INGRES (1976); INGRES's reference manual; for NULL and `only`, that of Actian.

mod aggregates;
mod definitions;
pub mod error;
mod expressions;
mod functions;
mod keywords;
mod lexer;
pub mod limits;
mod lower;
pub mod parser;
mod patterns;
pub mod ranges;
mod scopes;
mod sql_text;
pub mod syntax;
pub mod translate;

pub use error::QuelError;
pub use ranges::{RangeDeclaration, RangedRelation, Ranges};
pub use sql_text::QuelPlaces;
pub use translate::{QuelRelations, StatementMeaning, TranslatedStatement, Verb, statements};
