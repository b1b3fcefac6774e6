//! Full text search (PostgreSQL's documentation, section 9.13). What is computed stands in the crate `text_search`.

use crate::call::{CallArguments, FunctionResult, Implementation, SetBody, SetRows};
use std::sync::Arc;
use text_search::{
    HeadlineOptions, LexemeWeight, SearchConfiguration, SearchDictionary, SearchOperator, SearchQuery, SearchTokens,
    SearchVector, TextSearchError, compare_queries, headline, names, phrase_query, plain_query, rank, to_query, token,
    web_query,
};
use values::error::sqlstate;
use values::{Type, Value, ValueError};

/// The setting that says which configuration is used where none is named.
const SETTING: &str = "default_text_search_config";
/// The object identifier of the only parser.
const PARSER: u32 = 3722;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("get_current_ts_config", |call| Ok(Value::text(usual(call)?.name()))),
    ("to_tsvector", |call| vector(usual(call)?.vector(call.text(0)))),
    ("to_tsvector_byid", |call| vector(named(call)?.vector(call.text(1)))),
    ("to_tsquery", |call| query(to_query(usual(call)?, call.text(0)))),
    ("to_tsquery_byid", |call| query(to_query(named(call)?, call.text(1)))),
    ("plainto_tsquery", |call| query(plain_query(usual(call)?, call.text(0)))),
    ("plainto_tsquery_byid", |call| query(plain_query(named(call)?, call.text(1)))),
    ("phraseto_tsquery", |call| query(phrase_query(usual(call)?, call.text(0)))),
    ("phraseto_tsquery_byid", |call| query(phrase_query(named(call)?, call.text(1)))),
    ("websearch_to_tsquery", |call| query(web_query(usual(call)?, call.text(0)))),
    ("websearch_to_tsquery_byid", |call| query(web_query(named(call)?, call.text(1)))),
    ("ts_match_vq", |call| Ok(call.ts_vector(0).matches(call.ts_query(1)).into())),
    ("ts_match_qv", |call| Ok(call.ts_vector(1).matches(call.ts_query(0)).into())),
    ("ts_match_tq", |call| Ok(document(usual(call)?, call.text(0))?.matches(call.ts_query(1)).into())),
    ("ts_match_tt", |call| {
        let configuration = usual(call)?;
        let wanted = plain_query(configuration, call.text(1)).map_err(ValueError::of_search)?;
        Ok(document(configuration, call.text(0))?.matches(&wanted).into())
    }),
    ("tsvector_concat", |call| vector(call.ts_vector(0).joined(call.ts_vector(1)))),
    ("tsvector_length", |call| Ok(Value::Integer(call.ts_vector(0).lexemes().len() as i32))),
    ("tsvector_strip", |call| Ok(Value::ts_vector(call.ts_vector(0).stripped()))),
    ("tsvector_setweight", |call| Ok(Value::ts_vector(call.ts_vector(0).with_weight(weight(call)?, None)))),
    ("tsvector_setweight_by_filter", |call| {
        let words: Vec<&str> = call.elements(2).iter().filter_map(Value::as_text).collect();
        Ok(Value::ts_vector(call.ts_vector(0).with_weight(weight(call)?, Some(&words))))
    }),
    ("tsvector_delete_str", |call| Ok(Value::ts_vector(call.ts_vector(0).without(&[call.text(1)])))),
    ("tsvector_delete_arr", |call| {
        let words: Vec<&str> = call.elements(1).iter().filter_map(Value::as_text).collect();
        Ok(Value::ts_vector(call.ts_vector(0).without(&words)))
    }),
    ("tsvector_filter", filtered),
    ("tsvector_to_array", |call| {
        let words = call.ts_vector(0).lexemes().iter().map(|lexeme| Value::Text(Arc::clone(&lexeme.word)));
        Ok(Value::array(Type::Text, words.collect()))
    }),
    ("array_to_tsvector", vector_of_array),
    ("tsquery_and", |call| query(call.ts_query(0).joined(SearchOperator::And, call.ts_query(1)))),
    ("tsquery_or", |call| query(call.ts_query(0).joined(SearchOperator::Or, call.ts_query(1)))),
    ("tsquery_not", |call| query(call.ts_query(0).negated())),
    ("tsquery_phrase", |call| query(call.ts_query(0).phrase(call.ts_query(1), 1))),
    ("tsquery_phrase_distance", |call| query(call.ts_query(0).phrase(call.ts_query(1), call.integer(2)))),
    ("tsquery_numnode", |call| Ok(Value::Integer(call.ts_query(0).items().len() as i32))),
    ("tsquerytree", |call| Ok(Value::text(call.ts_query(0).tree_for_index()))),
    ("tsvector_cmp", |call| Ok(Value::Integer(call.ts_vector(0).cmp(call.ts_vector(1)) as i32))),
    ("tsquery_cmp", |call| Ok(Value::Integer(compare_queries(call.ts_query(0), call.ts_query(1)) as i32))),
    ("tsq_mcontains", |call| Ok(call.ts_query(0).contains(call.ts_query(1)).into())),
    ("tsq_mcontained", |call| Ok(call.ts_query(1).contains(call.ts_query(0)).into())),
    ("tsquery_rewrite", |call| query(call.ts_query(0).rewritten(call.ts_query(1), call.ts_query(2)))),
    ("ts_rank_tt", |call| Ok(ranked(call, rank::rank, rank::USUAL_WEIGHTS, 0, None))),
    ("ts_rank_ttf", |call| Ok(ranked(call, rank::rank, rank::USUAL_WEIGHTS, 0, Some(2)))),
    ("ts_rank_wtt", |call| Ok(ranked(call, rank::rank, weights(call)?, 1, None))),
    ("ts_rank_wttf", |call| Ok(ranked(call, rank::rank, weights(call)?, 1, Some(3)))),
    ("ts_rankcd_tt", |call| Ok(ranked(call, rank::rank_by_covers, rank::USUAL_WEIGHTS, 0, None))),
    ("ts_rankcd_ttf", |call| Ok(ranked(call, rank::rank_by_covers, rank::USUAL_WEIGHTS, 0, Some(2)))),
    ("ts_rankcd_wtt", |call| Ok(ranked(call, rank::rank_by_covers, weights(call)?, 1, None))),
    ("ts_rankcd_wttf", |call| Ok(ranked(call, rank::rank_by_covers, weights(call)?, 1, Some(3)))),
    ("ts_headline", |call| head(call, usual(call)?, 0)),
    ("ts_headline_opt", |call| head(call, usual(call)?, 0)),
    ("ts_headline_byid", |call| head(call, named(call)?, 1)),
    ("ts_headline_byid_opt", |call| head(call, named(call)?, 1)),
    ("ts_lexize", |call| {
        let lexeme = dictionary(call.text(0))?.lexeme(call.text(1));
        Ok(Value::array(Type::Text, lexeme.into_iter().map(Value::text).collect()))
    }),
];

pub(crate) const SETS: &[(&str, SetBody)] = &[
    ("tsvector_unnest", lexemes),
    ("ts_parse_byname", tokens),
    ("ts_parse_byid", tokens),
    ("ts_token_type_byname", kinds),
    ("ts_token_type_byid", kinds),
];

/// `ts_debug`, whose bodies are in SQL, by their object identifiers.
pub(crate) const DEBUGS: [(u32, SetBody); 2] =
    [(6184, |call| debugged(usual(call)?, call.text(0))), (6183, |call| debugged(named(call)?, call.text(1)))];

fn vector(found: Result<SearchVector, TextSearchError>) -> FunctionResult {
    found.map(Value::ts_vector).map_err(ValueError::of_search)
}

fn query(found: Result<SearchQuery, TextSearchError>) -> FunctionResult {
    found.map(Value::ts_query).map_err(ValueError::of_search)
}

fn document(configuration: SearchConfiguration, text: &str) -> Result<SearchVector, ValueError> {
    configuration.vector(text).map_err(ValueError::of_search)
}

/// The configuration of a name. Errors: 42704, 3F000, 42602; 0A000 for a language that is not here.
fn configuration(name: &str) -> Result<SearchConfiguration, ValueError> {
    SearchConfiguration::named(name).map_err(ValueError::of_search)
}

/// The text that stands for a `regconfig`. Errors: as those of names.
pub fn configuration_text(name: &str) -> Result<Value, ValueError> {
    Ok(Value::text(configuration(name)?.name()))
}

/// The dictionary of a name. Errors: as those of names.
fn dictionary(name: &str) -> Result<SearchDictionary, ValueError> {
    SearchDictionary::named(name).map_err(ValueError::of_search)
}

/// The text that stands for a `regdictionary`. Errors: as those of names.
pub fn dictionary_text(name: &str) -> Result<Value, ValueError> {
    Ok(Value::text(dictionary(name)?.name()))
}

/// The session's configuration.
pub(super) fn usual(call: &CallArguments<'_, '_>) -> Result<SearchConfiguration, ValueError> {
    configuration(&call.environment.session.setting(SETTING).unwrap_or_else(|| "english".to_owned()))
}

/// That of the first argument.
pub(super) fn named(call: &CallArguments<'_, '_>) -> Result<SearchConfiguration, ValueError> {
    configuration(call.text(0))
}

/// Options of a headline in this argument, if there is one. Errors: 22023.
pub(super) fn headline_options(call: &CallArguments<'_, '_>, place: usize) -> Result<HeadlineOptions, ValueError> {
    match call.arguments.get(place) {
        Some(_) => HeadlineOptions::read(call.text(place)).map_err(ValueError::of_search),
        None => Ok(HeadlineOptions::default()),
    }
}

/// The headline of a text.
pub(super) fn excerpt(
    configuration: SearchConfiguration,
    text: &str,
    wanted: &SearchQuery,
    options: &HeadlineOptions,
) -> Result<String, ValueError> {
    headline(configuration, text, wanted, options).map_err(ValueError::of_search)
}

fn head(call: &CallArguments<'_, '_>, configuration: SearchConfiguration, first: usize) -> FunctionResult {
    let options = headline_options(call, first + 2)?;
    excerpt(configuration, call.text(first), call.ts_query(first + 1), &options).map(Value::text)
}

type Rank = fn(&[f32; 4], &SearchVector, &SearchQuery, i32) -> f32;

fn ranked(call: &CallArguments<'_, '_>, rank: Rank, weights: [f32; 4], first: usize, method: Option<usize>) -> Value {
    let method = method.map_or(0, |method| call.integer(method) as i32);
    Value::Real(rank(&weights, call.ts_vector(first), call.ts_query(first + 1), method))
}

/// The weights in the first argument. Errors: 2202E, 22004, 22023.
fn weights(call: &CallArguments<'_, '_>) -> Result<[f32; 4], ValueError> {
    let elements = call.elements(0);
    if elements.is_empty() {
        let message = "array of weight must be one-dimensional";
        return Err(ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    }
    let numbers: Vec<f32> = elements
        .iter()
        .filter_map(|element| match element {
            Value::Real(number) => Some(*number),
            _ => None,
        })
        .collect();
    if elements.len() >= rank::USUAL_WEIGHTS.len() && numbers.len() < elements.len() {
        let message = "array of weight must not contain nulls";
        return Err(ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
    }
    let given = if numbers.len() < elements.len() { &numbers[..0] } else { &numbers[..] };
    rank::weights(given).map_err(ValueError::of_search)
}

/// The weight in the second argument. Errors: XX000.
fn weight(call: &CallArguments<'_, '_>) -> Result<LexemeWeight, ValueError> {
    LexemeWeight::of_char(call.text(1)).map_err(ValueError::of_search)
}

/// The words of an array. Errors: 22004.
fn words<'a>(call: &CallArguments<'a, '_>, index: usize) -> Result<Vec<&'a str>, ValueError> {
    let words = call.elements(index).iter().map(Value::as_text);
    words
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "lexeme array may not contain nulls"))
}

/// Errors: 22004, 22023.
fn filtered(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut wanted = 0;
    for element in call.elements(1) {
        let Some(text) = element.as_text() else {
            return Err(ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "weight array may not contain nulls"));
        };
        let weight = text.bytes().next().and_then(LexemeWeight::of_letter).ok_or_else(|| {
            ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unrecognized weight: \"{text}\""))
        })?;
        wanted |= weight.bit();
    }
    Ok(Value::ts_vector(call.ts_vector(0).filtered(wanted)))
}

/// Errors: 22004, 2200F.
fn vector_of_array(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let words = words(call, 0)?;
    if words.contains(&"") {
        let message = "lexeme array may not contain empty strings";
        return Err(ValueError::new(sqlstate::ZERO_LENGTH_CHARACTER_STRING, message));
    }
    let lexeme = |word: &str| text_search::Lexeme { word: word.into(), positions: Vec::new() };
    vector(SearchVector::of_lexemes(words.into_iter().map(lexeme).collect()))
}

/// Each lexeme with its places and their weights.
fn lexemes(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    let lexemes = call.ts_vector(0).lexemes().to_vec();
    Ok(Box::new(lexemes.into_iter().map(|lexeme| {
        if lexeme.positions.is_empty() {
            return Ok(vec![Value::Text(lexeme.word), Value::Null, Value::Null]);
        }
        let places = lexeme.positions.iter().map(|position| Value::SmallInt(position.place() as i16)).collect();
        let letters = lexeme.positions.iter().map(|position| Value::text(position.weight().letter().to_string()));
        let letters = letters.collect();
        Ok(vec![Value::Text(lexeme.word), Value::array(Type::SmallInt, places), Value::array(Type::Text, letters)])
    })))
}

/// Errors: 42704 and XX000 for what is not the only parser.
fn check_parser(call: &CallArguments<'_, '_>) -> Result<(), ValueError> {
    match call.value(0) {
        Value::Oid(PARSER) => Ok(()),
        Value::Oid(other) => {
            let message = format!("cache lookup failed for text search parser {other}");
            Err(ValueError::new(sqlstate::INTERNAL_ERROR, message))
        }
        _ => names::check_parser(call.text(0)).map_err(ValueError::of_search),
    }
}

/// Each token, with who looks at it and what that makes of it.
fn debugged(configuration: SearchConfiguration, text: &str) -> Result<SetRows, ValueError> {
    let rows = SearchTokens::new(text).map(|found| {
        let dictionary = configuration.dictionary(found.kind);
        let (_, name, description) = token::KINDS[found.kind as usize - 1];
        let names = dictionary.into_iter().map(|dictionary| Value::text(dictionary.name())).collect();
        let lexemes = dictionary.map(|dictionary| {
            Value::array(Type::Text, dictionary.lexeme(found.text).into_iter().map(Value::text).collect())
        });
        Ok(vec![
            Value::text(name),
            Value::text(description),
            Value::text(found.text),
            Value::array(Type::Text, names),
            dictionary.map_or(Value::Null, |dictionary| Value::text(dictionary.name())),
            lexemes.unwrap_or(Value::Null),
        ])
    });
    Ok(Box::new(rows.collect::<Vec<_>>().into_iter()))
}

fn tokens(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    check_parser(call)?;
    let tokens = SearchTokens::new(call.text(1));
    let rows = tokens.map(|token| vec![Value::Integer(token.kind.number()), Value::text(token.text)]);
    Ok(Box::new(rows.collect::<Vec<_>>().into_iter().map(Ok)))
}

fn kinds(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    check_parser(call)?;
    let row = |(kind, name, description): (token::TokenKind, &'static str, &'static str)| {
        Ok(vec![Value::Integer(kind.number()), Value::text(name), Value::text(description)])
    };
    Ok(Box::new(token::KINDS.into_iter().map(row)))
}
