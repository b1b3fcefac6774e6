//! Every message is sent by somebody: a variant of a protocol that no code makes is a promise that nobody keeps.
//!
//! Protocols are the enums of `messages` whose names end as those of messages do. A variant is made where its name stands outside of a
//! pattern, in code that is no test. A variant may wait for its sender if its documentation says so with [`EXCUSE`].

use crate::source::{is_word, words};
use crate::tree::{Violation, WorkTree};

/// How the names of protocols end.
const ENDINGS: [&str; 5] = ["Message", "Request", "Reply", "Order", "News"];

/// What the documentation of a variant says that has no sender yet.
pub const EXCUSE: &str = "Nobody sends it yet";

/// A variant and where it is declared.
struct Variant {
    file: String,
    line: usize,
    /// `Protocol::Variant`.
    name: String,
}

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let variants = variants(tree);
    let made: Vec<String> = tree
        .rust_files()
        .map(|file| {
            let code = file.source.lines.iter().map(|line| if line.test { "" } else { line.code.as_str() });
            code.collect::<Vec<_>>().join("\n")
        })
        .collect();
    let unsent = variants.into_iter().filter(|variant| !made.iter().any(|code| makes(code, &variant.name)));
    unsent
        .map(|variant| {
            let message = format!(
                "nobody sends `{}`: remove it, or say in its documentation \"{EXCUSE}\" and what it waits for",
                variant.name
            );
            Violation::new(&variant.file, variant.line + 1, message)
        })
        .collect()
}

/// The variants of every protocol, but those that are excused.
fn variants(tree: &WorkTree) -> Vec<Variant> {
    let mut found = Vec::new();
    for file in tree.rust_files().filter(|file| file.path.starts_with("crates/messages/src/")) {
        let mut protocol: Option<String> = None;
        let (mut depth, mut excused) = (0_i32, false);
        for (index, line) in file.source.lines.iter().enumerate() {
            let code = line.code.trim();
            if let Some(name) = code.strip_prefix("pub enum ") {
                let name: String = name.chars().take_while(|&c| is_word(c)).collect();
                protocol = (!line.test && ENDINGS.iter().any(|ending| name.ends_with(ending))).then_some(name);
                depth = 0;
            }
            excused |= line.comment.contains(EXCUSE);
            if let Some(protocol) = protocol.as_ref().filter(|_| depth == 1) {
                let variant: String = code.chars().take_while(|&c| is_word(c)).collect();
                if variant.starts_with(char::is_uppercase) {
                    if !excused {
                        let name = format!("{protocol}::{variant}");
                        found.push(Variant { file: file.path.to_string(), line: index, name });
                    }
                    excused = false;
                }
            }
            depth += code.chars().map(|c| i32::from("({[".contains(c)) - i32::from(")}]".contains(c))).sum::<i32>();
            if depth == 0 && code.contains('}') {
                protocol = None;
            }
        }
    }
    found
}

/// Whether the code makes the variant: names it anywhere but in a pattern.
fn makes(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(start, _)| {
        let end = start + name.len();
        let whole = !code[..start].ends_with(is_word) && !code[end..].starts_with(is_word);
        whole && !is_pattern(code, start, end)
    })
}

/// Whether what stands there, with its fields, is a pattern: `=>`, `|`, a guard or `=` follows, or `matches!` and `let` go before.
fn is_pattern(code: &str, start: usize, end: usize) -> bool {
    let mut depth = 0_i32;
    let rest = code[end..].char_indices().peekable();
    for (offset, character) in rest {
        match character {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            _ if depth > 0 || character.is_whitespace() => {}
            '=' => return !code[end + offset..].starts_with("=="),
            '|' => return !code[end + offset..].starts_with("||"),
            _ => return follows(&code[end + offset..]) || is_matched(&code[..start]),
        }
        // Out of what it stands in: `Some(Name { .. }) =>` is a pattern, `f(Name { .. })` is not.
        if depth < 0 {
            depth = 0;
        }
    }
    false
}

/// Whether a guard follows.
fn follows(rest: &str) -> bool {
    words(rest).next().is_some_and(|(offset, word)| offset == 0 && word == "if")
}

/// Whether it is what `matches!` compares with: a comma within its parentheses goes before.
fn is_matched(before: &str) -> bool {
    let statement = before.rfind([';', '{', '}']).map_or(before, |end| &before[end..]);
    statement.rfind("matches!(").is_some_and(|start| statement[start..].contains(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsent(protocol: &str, code: &str) -> usize {
        check(&WorkTree::of(&[("crates/messages/src/x.rs", protocol), ("crates/a/src/lib.rs", code)])).len()
    }

    const PROTOCOL: &str =
        "pub enum XMessage {\n    /// One.\n    Ask { a: u32 },\n    Tell(u8),\n    End,\n}\npub enum Other { A }\n";

    /// A message that is only received would keep its receiver's code alive for ever.
    #[test]
    fn what_is_only_received_is_found() {
        let receives =
            "match m { XMessage::Ask { a } => 1, Some(XMessage::Tell(x)) if x => 2, XMessage::End | _ => 3 }";
        assert_eq!(unsent(PROTOCOL, receives), 3);
        assert_eq!(unsent(PROTOCOL, "if let XMessage::Ask { a } = m {}\nlet b = matches!(m, XMessage::End);"), 3);
    }

    /// What is sent must not be called unsent, however it is written.
    #[test]
    fn what_is_made_is_sent() {
        let sends = "send(XMessage::Ask { a: 1 });\nlet m = XMessage::Tell(2);\nv.map(XMessage::End)\n";
        assert_eq!(unsent(PROTOCOL, sends), 0);
        assert_eq!(unsent(PROTOCOL, &format!("#[cfg(test)]\nmod tests {{ fn f() {{ {sends} }} }}")), 3);
    }

    /// What waits for its sender says so.
    #[test]
    fn an_excuse_is_enough() {
        let excused = PROTOCOL.replace("/// One.", "/// One. Nobody sends it yet: the console will.");
        assert_eq!(unsent(&excused, ""), 2);
    }
}
