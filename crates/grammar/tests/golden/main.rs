//! Statements with the trees that they mean, and texts with the errors that they get, in `*.txt` beside this file. A change of a tree shows as a change of a
//! file; with `BLESS=1` in the environment the files are written anew instead of compared. What is written is committed only when it can be explained.
//!
//! A block is a text in lines that begin with `> `, then what comes of it.

mod tree;

use std::path::Path;

/// What a text is, in lines.
fn answer(text: &str) -> String {
    match grammar::parse(text) {
        Ok(script) => {
            let mut lines: String = script.statements.iter().map(tree::print).collect();
            for notice in script.notices {
                lines.push_str(&format!("notice {}: {}\n", notice.sqlstate, notice.message));
            }
            if lines.is_empty() { "nothing\n".to_string() } else { lines }
        }
        Err(error) => {
            let position = error.position(text).map_or(String::new(), |position| format!(" at {position}"));
            let hint = error.hint.map_or(String::new(), |hint| format!("hint: {hint}\n"));
            let detail = error.detail.map_or(String::new(), |detail| format!("detail: {detail}\n"));
            format!("error {}{position}: {}\n{detail}{hint}", error.sqlstate, error.message)
        }
    }
}

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let file = std::fs::read_to_string(&path).expect("the file is there");
    let mut written = String::new();
    let mut lines = file.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            written.push_str(&format!("{line}\n\n"));
            continue;
        }
        let Some(first) = line.strip_prefix("> ") else { continue };
        let mut text = vec![first];
        while let Some(more) = lines.next_if(|line| line.starts_with('>')) {
            text.push(more.strip_prefix("> ").unwrap_or(""));
        }
        for line in &text {
            written.push_str(&format!("> {line}\n"));
        }
        written.push_str(&answer(&text.join("\n")));
        written.push('\n');
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, written).expect("the file can be written");
    } else {
        assert!(
            file.trim_end() == written.trim_end(),
            "{name} is not what comes now; BLESS=1 shows the difference:\n{written}"
        );
    }
}

macro_rules! golden {
    ($($test:ident $file:literal,)*) => {
        $(#[test]
        fn $test() {
            check($file);
        })*
    };
}

// Each fails if what a kind of text means has changed.
golden! {
    literals_are_read_as_postgresql_reads_them "literals.txt",
    names_are_folded_and_cut "names.txt",
    operators_bind_as_postgresql_binds_them "operators.txt",
    calls_and_forms_have_their_arguments "calls.txt",
    types_have_their_modifiers "types.txt",
    queries_have_all_their_clauses "queries.txt",
    items_of_from_are_what_they_are "from.txt",
    changes_have_all_their_clauses "changes.txt",
    utility_statements_are_complete "utility.txt",
    definitions_are_complete "definitions.txt",
    other_statements_have_their_words "other.txt",
    errors_have_postgresqls_words_and_places "errors.txt",
}
