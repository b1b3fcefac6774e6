//! Full text search as PostgreSQL 15 has it. It knows no table, no session and no value.
//!
//! Invariant: what it answers is what PostgreSQL 15 answers in a database of locale C; where that has a bound, this
//! has it.
//!
//! In reading order: [`tokens`] takes a text apart, [`configuration`] makes lexemes of tokens, [`names`]
//! finds it, [`vector`] and [`query`] are the two types, `matching` lets one look for the other, [`rank`] and [`mod@headline`] tell how well and where.

pub mod binary;
pub mod configuration;
pub mod error;
pub mod headline;
pub mod limits;
mod matching;
pub mod names;
mod order_key;
pub mod query;
mod query_stops;
mod query_text;
pub mod rank;
mod rewriting;
pub mod token;
pub mod tokens;
pub mod vector;
mod vector_text;

pub use configuration::{SearchConfiguration, SearchDictionary};
pub use error::TextSearchError;
pub use headline::{HeadlineOptions, headline};
pub use query::{QueryItem, QueryWord, SearchOperator, SearchQuery, compare_queries};
pub use query_text::{phrase_query, plain_query, to_query, web_query};
pub use token::TokenKind;
pub use tokens::{SearchToken, SearchTokens};
pub use vector::{Lexeme, LexemePosition, LexemeWeight, SearchVector};

impl SearchQuery {
    /// One query so many places before another one. Errors: 22023 for a distance that is none, 54001 if it is too deep.
    pub fn phrase(&self, right: &Self, distance: i64) -> Result<Self, TextSearchError> {
        let known = u16::try_from(distance).ok().filter(|distance| *distance <= limits::DISTANCE_MAX);
        self.joined(SearchOperator::Phrase(known.ok_or_else(query_text::wrong_distance)?), right)
    }
}
