//! Whatever the text, parsing ends with statements or an error whose place is in the text; deep texts use no stack.

use grammar::ast::ExpressionNode;
use proptest::prelude::*;

/// Pieces that texts are made of.
const PIECES: &[&str] = &[
    "select",
    "from",
    "where",
    "insert",
    "into",
    "values",
    "update",
    "set",
    "delete",
    "with",
    "as",
    "(",
    ")",
    ",",
    ";",
    ".",
    "*",
    "+",
    "-",
    "=",
    "<>",
    "::",
    "[",
    "]",
    ":",
    "a",
    "b",
    "\"c d\"",
    "1",
    "2.5",
    "'x'",
    "E'\\n'",
    "$1",
    "$$q$$",
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "between",
    "like",
    "case",
    "when",
    "then",
    "else",
    "end",
    "join",
    "on",
    "using",
    "group",
    "by",
    "order",
    "limit",
    "union",
    "all",
    "create",
    "table",
    "int",
    "primary",
    "key",
    "over",
    "partition",
    "rows",
    "interval",
    "day",
    "cast",
    "extract",
    "array",
    "row",
    "lateral",
    "exists",
    "any",
    "copy",
    "stdin",
    "begin",
    "commit",
    "fetch",
    "U&'\\0041'",
    "uescape",
    "'!'",
    "--",
    "/*",
    "*/",
    "\n",
    "operator",
    "time",
    "zone",
    "at",
    "filter",
    "within",
    "merge",
    "matched",
    "do",
    "nothing",
    "conflict",
];

fn check(text: &str) {
    match grammar::parse(text) {
        Ok(script) => {
            for parsed in script.statements {
                assert!(parsed.at <= parsed.end && parsed.end as usize <= text.len());
                for expression in &parsed.arena.expressions {
                    assert!((expression.at as usize) < text.len(), "an expression stands in the text");
                }
            }
        }
        Err(error) => {
            assert_ne!(error.sqlstate, "XX000", "{text}: {error}");
            assert!(error.at.is_none_or(|at| text.is_char_boundary(at as usize)), "{text}: {error:?}");
            assert!(error.position(text).is_none_or(|position| position <= text.chars().count() + 1));
        }
    }
}

proptest! {
    // Fails if some text makes the scanner or the parser panic, or points out of itself.
    #[test]
    fn any_text_is_taken_or_refused(text in any::<String>()) {
        check(&text);
    }

    // The same with texts that get further.
    #[test]
    fn any_row_of_words_is_taken_or_refused(words in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        check(&words.join(" "));
        check(&words.concat());
    }

    // A text that was taken is taken in pieces of any white space.
    #[test]
    fn blanks_do_not_matter(blank in "[ \t\n\r]{1,3}") {
        let text = "select a , b from t where a = 1 and b in ( 1 , 2 )";
        let spaced = text.replace(' ', &blank);
        prop_assert!(grammar::parse(&spaced).is_ok());
    }
}

// Fails if nesting uses the program's stack, or is not bounded: a client could end the process.
#[test]
fn nesting_is_bounded_and_uses_no_stack() {
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let nested = move || {
        let deep = 200_000;
        for (open, close) in [("(", ")"), ("select (", ")"), ("not ", ""), ("- ", ""), ("array[", "]"), ("f(", ")")] {
            let text = format!("select {}1{}", open.repeat(deep), close.repeat(deep));
            let error = grammar::parse(&text).expect_err("nothing is nested that deeply");
            assert!(error.message.starts_with("memory exhausted") || error.sqlstate == "42601", "{error}");
        }
        let sum = format!("select 1{}", " + 1".repeat(deep));
        assert_eq!(grammar::parse(&sum).expect_err("a deep tree").sqlstate, "54001");
        let unions = format!("select 1{}", " union select 1".repeat(deep));
        assert_eq!(grammar::parse(&unions).expect_err("a deep tree").sqlstate, "54001");
    };
    small.spawn(nested).expect("a thread").join().expect("no panic");
}

// Fails if long texts that are not deep are refused, or a chain of AND is deep.
#[test]
fn long_texts_are_taken() {
    let count = 100_000;
    let chain = grammar::parse(&format!("select a{}", " and a".repeat(count))).expect("a chain is one node");
    let last = chain.statements[0].arena.expressions.last().map(|expression| &expression.node);
    assert!(matches!(last, Some(ExpressionNode::And(operands)) if operands.len() == count + 1));
    for text in [
        format!("select 1 in (1{})", ", 1".repeat(count)),
        format!("insert into t values (1){}", ", (1)".repeat(count)),
        "select 1;".repeat(count),
        format!("select '{}'", "''".repeat(count)),
        format!("select 1{}", ", 1".repeat(count)),
    ] {
        assert!(grammar::parse(&text).is_ok());
    }
}
