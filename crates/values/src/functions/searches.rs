//! Functions of full text search that depend on their arguments alone: what generated columns and keys of indexes are
//! computed by. A configuration is a text here, its name.

use super::{FunctionEntry, entry, text_of};
use crate::error::ValueError;
use crate::types::Type;
use crate::value::Value;
use text_search::{LexemeWeight, SearchConfiguration, SearchQuery, SearchVector, TextSearchError};
use text_search::{phrase_query, plain_query, to_query, web_query};

pub(super) const TABLE: &[FunctionEntry] = &[
    entry("to_tsvector", &[Type::Text, Type::Text], Type::TsVector, |arguments, _| {
        vector(configuration(arguments)?.vector(text_of(&arguments[1])))
    }),
    entry("to_tsquery", &[Type::Text, Type::Text], Type::TsQuery, |arguments, _| {
        query(to_query(configuration(arguments)?, text_of(&arguments[1])))
    }),
    entry("plainto_tsquery", &[Type::Text, Type::Text], Type::TsQuery, |arguments, _| {
        query(plain_query(configuration(arguments)?, text_of(&arguments[1])))
    }),
    entry("phraseto_tsquery", &[Type::Text, Type::Text], Type::TsQuery, |arguments, _| {
        query(phrase_query(configuration(arguments)?, text_of(&arguments[1])))
    }),
    entry("websearch_to_tsquery", &[Type::Text, Type::Text], Type::TsQuery, |arguments, _| {
        query(web_query(configuration(arguments)?, text_of(&arguments[1])))
    }),
    entry("setweight", &[Type::TsVector, Type::Text], Type::TsVector, |arguments, _| {
        let weight = LexemeWeight::of_char(text_of(&arguments[1])).map_err(ValueError::of_search)?;
        Ok(Value::ts_vector(vector_of(&arguments[0]).with_weight(weight, None)))
    }),
    entry("strip", &[Type::TsVector], Type::TsVector, |arguments, _| {
        Ok(Value::ts_vector(vector_of(&arguments[0]).stripped()))
    }),
    entry("length", &[Type::TsVector], Type::Integer, |arguments, _| {
        Ok(Value::Integer(vector_of(&arguments[0]).lexemes().len() as i32))
    }),
];

/// That of the first argument. Errors: 42704, 0A000.
fn configuration(arguments: &[Value]) -> Result<SearchConfiguration, ValueError> {
    SearchConfiguration::named(text_of(&arguments[0])).map_err(ValueError::of_search)
}

fn vector(found: Result<SearchVector, TextSearchError>) -> Result<Value, ValueError> {
    found.map(Value::ts_vector).map_err(ValueError::of_search)
}

fn query(found: Result<SearchQuery, TextSearchError>) -> Result<Value, ValueError> {
    found.map(Value::ts_query).map_err(ValueError::of_search)
}

fn vector_of(value: &Value) -> &SearchVector {
    match value {
        Value::TsVector(vector) => vector,
        other => panic!("{other:?} was cast to tsvector"),
    }
}
