//! The tables as Rust: constants of the symbols, and arrays.

use std::fmt::Write;

use crate::rules::Grammar;
use crate::tables::{ERROR, Tables};

/// Rules that list keywords, by kind.
const KEYWORDS: [&str; 4] = ["unreserved_keyword", "col_name_keyword", "type_func_name_keyword", "reserved_keyword"];

pub fn rust(grammar: &Grammar, tables: &Tables) -> String {
    let mut text = String::new();
    text.push_str("/// Every symbol of the grammar: tokens, then the names of rules.\npub mod symbols {\n");
    for (number, name) in grammar.names.iter().enumerate() {
        writeln!(text, "pub const {}: u16 = {number};", identifier(name)).expect("text grows");
    }
    text.push_str("}\n");
    let names: Vec<String> = grammar.names.iter().map(|name| format!("{name:?}")).collect();
    array(&mut text, "NAMES", "&str", &names);
    writeln!(text, "pub const TERMINALS: u16 = {};\npub const REFUSE: i16 = {ERROR};", grammar.terminals)
        .expect("text grows");
    array(&mut text, "RULE_LEFT", "u16", grammar.rules.iter().map(|rule| rule.left));
    let rights: Vec<Vec<u16>> = grammar.rules.iter().map(|rule| rule.right.clone()).collect();
    ragged(&mut text, "RULE_RIGHT", "u16", &rights);
    array(&mut text, "STATE_ROW", "u16", tables.states.iter().map(|(row, _)| row));
    array(&mut text, "STATE_DEFAULT", "i16", tables.states.iter().map(|(_, action)| action));
    pairs(&mut text, "ROW", "i16", &tables.rows);
    let gotos: Vec<Vec<(u16, u16)>> = tables.gotos.iter().map(|(pairs, _)| pairs.clone()).collect();
    pairs(&mut text, "GOTO", "u16", &gotos);
    array(&mut text, "GOTO_DEFAULT", "u16", tables.gotos.iter().map(|(_, common)| common));
    keywords(&mut text, grammar);
    text
}

/// The words that the four rules name, in order, with token and kind.
fn keywords(text: &mut String, grammar: &Grammar) {
    let mut words = Vec::new();
    for (kind, rule) in KEYWORDS.iter().enumerate() {
        let symbol = grammar.names.iter().position(|name| name == rule).expect("the grammar lists keywords");
        for &rule in &grammar.rules_of[symbol] {
            let token = grammar.rules[rule].right[0];
            let name = &grammar.names[token as usize];
            words.push((name.strip_suffix("_P").unwrap_or(name).to_lowercase(), token, kind));
        }
    }
    words.sort();
    array(text, "KEYWORDS", "(&str, u16, u8)", words.iter().map(|word| format!("{word:?}")));
}

fn identifier(name: &str) -> String {
    let mark = match name {
        "$end" => "END_OF_TEXT",
        "$accept" => "ACCEPT",
        "'<'" => "LESS",
        "'>'" => "GREATER",
        "'='" => "EQUALS",
        "'+'" => "PLUS",
        "'-'" => "MINUS",
        "'*'" => "STAR",
        "'/'" => "SLASH",
        "'%'" => "PERCENT",
        "'^'" => "CARET",
        "'['" => "BRACKET",
        "']'" => "BRACKET_END",
        "'('" => "PAREN",
        "')'" => "PAREN_END",
        "'.'" => "DOT",
        "','" => "COMMA",
        "';'" => "SEMICOLON",
        "':'" => "COLON",
        _ => name,
    };
    mark.to_string()
}

fn array<T: ToString>(text: &mut String, name: &str, kind: &str, values: impl IntoIterator<Item = T>) {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    writeln!(text, "pub static {name}: [{kind}; {}] = [{}];", values.len(), values.join(",")).expect("text grows");
}

/// Lists of several lengths: where each begins, and all one after the other.
fn ragged<T: ToString + Copy>(text: &mut String, name: &str, kind: &str, lists: &[Vec<T>]) {
    let mut starts = vec![0];
    starts.extend(lists.iter().scan(0, |end, list| {
        *end += list.len() as u32;
        Some(*end)
    }));
    array(text, &format!("{name}_START"), "u32", starts);
    array(text, name, kind, lists.iter().flatten().copied());
}

fn pairs<T: ToString + Copy>(text: &mut String, name: &str, kind: &str, lists: &[Vec<(u16, T)>]) {
    let keys: Vec<Vec<u16>> = lists.iter().map(|list| list.iter().map(|(key, _)| *key).collect()).collect();
    ragged(text, &format!("{name}_KEY"), "u16", &keys);
    array(text, &format!("{name}_VALUE"), kind, lists.iter().flatten().map(|(_, value)| *value));
}
