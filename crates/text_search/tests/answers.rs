//! What PostgreSQL 15 answers, in a database of locale C.
//!
//! `answers.txt` has one call a line: its name, its arguments and the answer, with tabs between; an answer that starts
//! with `!` is a SQLSTATE and a message. Escapes are
//! those of `COPY`. Whoever uses another implementation of search beside PostgreSQL would see each difference.

use text_search::*;

fn unescaped(field: &str) -> String {
    let mut out = String::new();
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('v') => out.push('\u{b}'),
                Some('f') => out.push('\u{c}'),
                Some('b') => out.push('\u{8}'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

fn configuration(name: &str) -> SearchConfiguration {
    if name == "english" { SearchConfiguration::English } else { SearchConfiguration::Simple }
}

fn query(text: &str) -> Result<SearchQuery, TextSearchError> {
    text.parse()
}

fn vector(text: &str) -> Result<SearchVector, TextSearchError> {
    text.parse()
}

fn weights(text: &str) -> Result<[f32; 4], TextSearchError> {
    let given: Vec<f32> = text.trim_matches(['{', '}']).split(',').map(|weight| weight.parse().unwrap()).collect();
    rank::weights(&given)
}

fn order(order: std::cmp::Ordering) -> String {
    (order as i32).to_string()
}

fn answer(name: &str, arguments: &[String]) -> Result<String, TextSearchError> {
    let argument = |index: usize| arguments[index].as_str();
    Ok(match name {
        "ts_parse" => {
            let tokens = SearchTokens::new(argument(0)).map(|token| format!("{}|{}", token.kind.number(), token.text));
            tokens.collect::<Vec<_>>().join("¦")
        }
        "tsvector" => vector(argument(0))?.to_string(),
        "tsquery" => query(argument(0))?.to_string(),
        "to_tsvector" => configuration(argument(0)).vector(argument(1))?.to_string(),
        "to_tsquery" => to_query(configuration(argument(0)), argument(1))?.to_string(),
        "plainto_tsquery" => plain_query(configuration(argument(0)), argument(1))?.to_string(),
        "phraseto_tsquery" => phrase_query(configuration(argument(0)), argument(1))?.to_string(),
        "websearch_to_tsquery" => web_query(configuration(argument(0)), argument(1))?.to_string(),
        "match" => vector(argument(0))?.matches(&query(argument(1))?).to_string(),
        "compare_vectors" => order(vector(argument(0))?.cmp(&vector(argument(1))?)),
        "compare_queries" => order(compare_queries(&query(argument(0))?, &query(argument(1))?)),
        "concat" => vector(argument(0))?.joined(&vector(argument(1))?)?.to_string(),
        "and" => query(argument(0))?.joined(SearchOperator::And, &query(argument(1))?)?.to_string(),
        "or" => query(argument(0))?.joined(SearchOperator::Or, &query(argument(1))?)?.to_string(),
        "not" => query(argument(0))?.negated()?.to_string(),
        "phrase" => query(argument(0))?.phrase(&query(argument(1))?, argument(2).parse().unwrap())?.to_string(),
        "contains" => query(argument(0))?.contains(&query(argument(1))?).to_string(),
        "querytree" => query(argument(0))?.tree_for_index(),
        "numnode" => query(argument(0))?.items().len().to_string(),
        "rewrite" => query(argument(0))?.rewritten(&query(argument(1))?, &query(argument(2))?)?.to_string(),
        "rank" => {
            let (vector, query) = (vector(argument(1))?, query(argument(2))?);
            rank::rank(&weights(argument(0))?, &vector, &query, argument(3).parse().unwrap()).to_bits().to_string()
        }
        "rank_cd" => {
            let (vector, query) = (vector(argument(1))?, query(argument(2))?);
            let method = argument(3).parse().unwrap();
            rank::rank_by_covers(&weights(argument(0))?, &vector, &query, method).to_bits().to_string()
        }
        "headline" => {
            let options = HeadlineOptions::read(argument(3))?;
            headline(configuration(argument(0)), argument(1), &query(argument(2))?, &options)?
        }
        "vector_send" => {
            let mut bytes = Vec::new();
            let vector = vector(argument(0))?;
            vector.write_binary(&mut bytes);
            assert_eq!(SearchVector::of_binary(&bytes), Ok(vector));
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        "query_send" => {
            let mut bytes = Vec::new();
            let query = query(argument(0))?;
            query.write_binary(&mut bytes);
            assert_eq!(SearchQuery::of_binary(&bytes), Ok(query));
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        _ => panic!("no call is named {name}"),
    })
}

#[test]
fn answers_are_postgresqls() {
    let path = std::env::var("TEXT_SEARCH_ANSWERS");
    let path = path.unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/answers.txt").to_owned());
    let lines = std::fs::read_to_string(path).expect("the file is part of the tests");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<String> = line.split('\t').map(unescaped).collect();
        let (name, arguments, expected) = (&fields[0], &fields[1..fields.len() - 1], &fields[fields.len() - 1]);
        let found = answer(name, arguments).unwrap_or_else(|error| format!("!{} {}", error.sqlstate, error.message));
        if found != *expected {
            wrong.push(format!("{line}\n    found {found}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// Texts of a client must not stop a site.
#[test]
fn stems_are_postgresqls() {
    for (word, stem) in [("running", "run"), ("generously", "generous"), ("skies", "sky"), ("news", "news")] {
        assert_eq!(SearchDictionary::EnglishStem.lexeme(word).as_deref(), Some(stem));
    }
    assert_eq!(SearchDictionary::EnglishStem.lexeme("The"), None);
}
