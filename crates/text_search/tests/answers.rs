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

/// A word would be found by other forms than in PostgreSQL.
#[test]
fn stems_are_postgresqls() {
    for (word, stem) in [("running", "run"), ("generously", "generous"), ("skies", "sky"), ("news", "news")] {
        assert_eq!(SearchDictionary::EnglishStem.lexeme(word).as_deref(), Some(stem));
    }
    assert_eq!(SearchDictionary::EnglishStem.lexeme("The"), None);
}

/// An index would find other rows than a scan.
#[test]
fn keys_have_the_order_of_the_values() {
    let lines = include_str!("answers.txt").lines().map(|line| line.split('\t').map(unescaped).collect::<Vec<_>>());
    let fields = |name: &'static str| lines.clone().filter(move |fields| fields[0] == name);
    let vectors: Vec<SearchVector> =
        fields("rank").chain(fields("match")).flatten().filter_map(|text| text.parse().ok()).collect();
    let queries: Vec<SearchQuery> =
        fields("rewrite").chain(fields("contains")).flatten().filter_map(|text| text.parse().ok()).collect();
    let key = |append: &dyn Fn(&mut Vec<u8>)| {
        let mut key = Vec::new();
        append(&mut key);
        key
    };
    assert!(vectors.len() > 20 && queries.len() > 20);
    for left in &vectors {
        let left_key = key(&|out| left.append_key(out));
        assert_eq!(SearchVector::of_key(&mut &left_key[..]).as_ref(), Some(left));
        for right in &vectors {
            assert_eq!(left_key.cmp(&key(&|out| right.append_key(out))), left.cmp(right), "{left} and {right}");
        }
    }
    for left in &queries {
        let left_key = key(&|out| left.append_key(out));
        let read = SearchQuery::of_key(&mut &left_key[..]).expect("it is a key");
        assert!(compare_queries(&read, left).is_eq());
        for right in &queries {
            let of_keys = left_key.cmp(&key(&|out| right.append_key(out)));
            assert_eq!(of_keys, compare_queries(left, right), "{left} and {right}");
        }
    }
}

/// The deepest query must fit a thread's stack, and a deeper one must be refused.
#[test]
fn deep_queries_are_bounded() {
    let chain = |operator: &str, count: usize| vec!["a"; count].join(operator);
    for operator in [" & ", " | ", " <-> "] {
        let deepest: SearchQuery = chain(operator, limits::QUERY_DEPTH_MAX).parse().unwrap();
        let vector: SearchVector = "a:1,2,3".parse().unwrap();
        let mut key = Vec::new();
        deepest.append_key(&mut key);
        assert!(SearchQuery::of_key(&mut &key[..]).is_some());
        assert_eq!(deepest.to_string().parse::<SearchQuery>().as_ref(), Ok(&deepest));
        assert_eq!(vector.matches(&deepest), operator != " <-> ");
        assert!(deepest.rewritten(&deepest, &deepest).is_ok() && !deepest.tree_for_index().is_empty());
        assert!(rank::rank_by_covers(&rank::USUAL_WEIGHTS, &vector, &deepest, 0) >= 0.0);
        assert_eq!(compare_queries(&deepest, &deepest), std::cmp::Ordering::Equal);
        let error = chain(operator, limits::QUERY_DEPTH_MAX + 2).parse::<SearchQuery>().unwrap_err();
        assert_eq!(error.sqlstate, "54001");
    }
}

/// Texts and bytes of a client must not stop a site.
#[test]
fn arbitrary_input_does_not_panic() {
    let pieces = [
        "a",
        "é",
        "\u{1f980}",
        "<",
        ">",
        "'",
        "\\",
        "-",
        ".",
        "/",
        "~",
        "@",
        ":",
        "1",
        "e",
        "&",
        "#",
        ";",
        "!",
        "<script ",
        "--",
        " ",
        "_",
        "?",
        "|",
        "(",
        ")",
        "*",
        "=",
        "\"",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            // Knuth's numbers for a linear congruential generator.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        let known = SearchTokens::new(&text).filter(|token| !matches!(token.kind.number(), 5 | 15..=17));
        assert_eq!(known.map(|token| token.text).collect::<String>(), text);
        let _ = (text.parse::<SearchVector>(), text.parse::<SearchQuery>(), HeadlineOptions::read(&text));
        let asked = web_query(SearchConfiguration::English, &text).unwrap();
        let _ = headline(SearchConfiguration::English, &text, &asked, &HeadlineOptions::default()).unwrap();
        let _ = (SearchVector::of_binary(text.as_bytes()), SearchQuery::of_binary(text.as_bytes()));
        let _ = (SearchVector::of_key(&mut text.as_bytes()), SearchQuery::of_key(&mut text.as_bytes()));
    }
}
