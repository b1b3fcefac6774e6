//! Rust text as the rules see it: code and comments apart, contents of strings blanked, tests marked.
//!
//! A scanner, not a parser: it knows strings, comments, character literals and brackets, which is all that the rules need, and it
//! never fails. Line numbers here count from zero; only [`crate::tree::Violation`] counts from one.

/// One line of a file.
#[derive(Clone, Debug, Default)]
pub struct SourceLine {
    /// The code, with comments left out and the contents of strings and characters left out between their quotes.
    pub code: String,
    /// The text of the comments on this line.
    pub comment: String,
    /// Whether the line belongs to a test.
    pub test: bool,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFunction {
    /// Its name, without the type it belongs to.
    pub name: String,
    /// The line of `fn`.
    pub line: usize,
    /// Lines from `fn` to the closing brace, both counted.
    pub lines: usize,
}

/// A scanned file.
#[derive(Clone, Debug, Default)]
pub struct SourceFile {
    /// The lines, in order.
    pub lines: Vec<SourceLine>,
    /// All code, lines joined with newlines: for what spans lines.
    code: String,
    /// The offset in `code` of each line's first character.
    line_starts: Vec<usize>,
}

/// What the scanner is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScannerState {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

impl SourceFile {
    /// Scans a file. `all_test`: every line is test code, whatever stands there.
    pub fn parse(text: &str, all_test: bool) -> SourceFile {
        let lines = scan(text);
        let code = lines.iter().map(|line| line.code.as_str()).collect::<Vec<_>>().join("\n");
        let line_starts = std::iter::once(0).chain(code.match_indices('\n').map(|(offset, _)| offset + 1)).collect();
        let mut source = SourceFile { lines, code, line_starts };
        source.mark_tests(all_test);
        source
    }

    fn mark_tests(&mut self, all_test: bool) {
        if all_test || self.code.contains("#![cfg(test)]") {
            self.lines.iter_mut().for_each(|line| line.test = true);
        }
        for attribute in ["#[cfg(test)]", "#[cfg(all(test", "#[cfg(doctest)]"] {
            let starts: Vec<usize> = self.code.match_indices(attribute).map(|(start, _)| start).collect();
            for start in starts {
                let (first, last) = (self.line_of(start), self.line_of(item_end(&self.code, start)));
                self.lines[first..=last].iter_mut().for_each(|line| line.test = true);
            }
        }
    }

    /// The line of an offset in `code`.
    fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset) - 1
    }

    /// Lines that are not test code, blank ones and comments included.
    pub fn lines_before_tests(&self) -> usize {
        self.lines.iter().filter(|line| !line.test).count()
    }

    /// Every function with a body, in order, nested ones too; test code left out.
    pub fn functions(&self) -> Vec<SourceFunction> {
        let code = self.code.as_str();
        let mut functions = Vec::new();
        for (start, word) in words(code) {
            let line = self.line_of(start);
            let rest = &code[start + word.len()..];
            let name: String = rest.trim_start().chars().take_while(|&c| is_word(c)).collect();
            if word != "fn" || name.is_empty() || self.lines[line].test {
                continue;
            }
            let end = item_end(code, start);
            if code[end..].starts_with('}') {
                functions.push(SourceFunction { name, line, lines: self.line_of(end) - line + 1 });
            }
        }
        functions
    }

    /// Every path that the code names, with its line: `use` trees spelled out (at the line where the `use` begins), and paths
    /// such as `std::fs::read` wherever they stand. Single words are paths too.
    pub fn paths(&self) -> Vec<(usize, String)> {
        let code = self.code.as_str();
        let mut paths = Vec::new();
        let mut skip_to = 0;
        for (start, word) in words(code) {
            // Not the middle of a path; a leading `::` is no middle.
            let inner =
                code[..start].strip_suffix("::").is_some_and(|before| before.ends_with(|c| is_word(c) || c == '>'));
            if start < skip_to || inner {
                continue;
            }
            let line = self.line_of(start);
            // With a blank behind it, since `use<'a>` lists the lifetimes that a type captures.
            if word == "use" && code[start + word.len()..].starts_with(char::is_whitespace) {
                let end = code[start..].find(';').map_or(code.len(), |length| start + length);
                expand_use("", &code[start + word.len()..end], &mut |path| paths.push((line, path)));
                skip_to = end;
            } else {
                let mut end = start + word.len();
                while let Some(next) = code[end..].strip_prefix("::") {
                    let length = next.find(|c| !is_word(c)).unwrap_or(next.len());
                    if length == 0 {
                        break;
                    }
                    end += 2 + length;
                }
                paths.push((line, code[start..end].to_string()));
            }
        }
        paths
    }
}

/// Whether a character can stand inside an identifier.
pub fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The identifiers and keywords of some code, each with its byte offset.
pub fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let start = offset + code[offset..].find(is_word)?;
        let length = code[start..].find(|c| !is_word(c)).unwrap_or(code.len() - start);
        offset = start + length;
        Some((start, &code[start..offset]))
    })
}

/// The offset of the last character of the item that begins at `start`: its closing brace, or the semicolon or comma that ends it.
fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return offset;
                }
            }
            b';' | b',' if depth == 0 => return offset,
            _ => {}
        }
    }
    code.len().saturating_sub(1)
}

/// Spells out a `use` tree: `a::{b, c::{d as e}}` gives `a::b` and `a::c::d`.
fn expand_use(prefix: &str, tree: &str, emit: &mut dyn FnMut(String)) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split_whitespace().next().unwrap_or_default();
        if !path.is_empty() {
            emit(format!("{prefix}{}", path.trim_start_matches("::")));
        }
        return;
    };
    let prefix = format!("{prefix}{}", tree[..open].trim().trim_start_matches("::"));
    let inner = tree[open + 1..].strip_suffix('}').unwrap_or(&tree[open + 1..]);
    let (mut depth, mut begin) = (0_usize, 0);
    for (offset, byte) in inner.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                expand_use(&prefix, &inner[begin..offset], emit);
                begin = offset + 1;
            }
            _ => {}
        }
    }
    expand_use(&prefix, &inner[begin..], emit);
}

/// Takes code, comments and strings apart, line by line.
fn scan(text: &str) -> Vec<SourceLine> {
    let characters: Vec<char> = text.chars().collect();
    let mut lines = vec![SourceLine::default()];
    let mut state = ScannerState::Code;
    let mut at = 0;
    while at < characters.len() {
        let line = lines.last_mut().expect("there is always a line");
        if characters[at] == '\n' {
            if state == ScannerState::LineComment {
                state = ScannerState::Code;
            }
            lines.push(SourceLine::default());
            at += 1;
            continue;
        }
        let (next, consumed) = step(state, &characters, at, line);
        state = next;
        at += consumed;
    }
    if text.ends_with('\n') {
        lines.pop();
    }
    lines
}

/// Scans what stands at `at`: the state after it, and how many characters it took. Never goes past a newline that ends a line.
fn step(state: ScannerState, characters: &[char], at: usize, line: &mut SourceLine) -> (ScannerState, usize) {
    let rest = &characters[at..];
    let character = rest[0];
    let next = rest.get(1).copied();
    match state {
        ScannerState::Code => step_code(characters, at, line),
        ScannerState::LineComment => {
            line.comment.push(character);
            (state, 1)
        }
        ScannerState::BlockComment { depth } => match (character, next) {
            ('/', Some('*')) => (ScannerState::BlockComment { depth: depth + 1 }, 2),
            ('*', Some('/')) if depth == 1 => (ScannerState::Code, 2),
            ('*', Some('/')) => (ScannerState::BlockComment { depth: depth - 1 }, 2),
            _ => {
                line.comment.push(character);
                (state, 1)
            }
        },
        ScannerState::Text => match character {
            // A backslash before the newline continues the string; the newline itself is left to the caller.
            '\\' if next.is_some_and(|next| next != '\n') => (state, 2),
            '"' => {
                line.code.push('"');
                (ScannerState::Code, 1)
            }
            _ => (state, 1),
        },
        ScannerState::RawText { hashes } => {
            if character == '"' && rest[1..].iter().take_while(|&&c| c == '#').count() >= hashes {
                line.code.push('"');
                (ScannerState::Code, 1 + hashes)
            } else {
                (state, 1)
            }
        }
    }
}

/// As [`step`], in code.
fn step_code(characters: &[char], at: usize, line: &mut SourceLine) -> (ScannerState, usize) {
    let rest = &characters[at..];
    let character = rest[0];
    let next = rest.get(1).copied();
    let after_word = at > 0 && is_word(characters[at - 1]);
    match (character, next) {
        ('/', Some('/')) => (ScannerState::LineComment, 2),
        ('/', Some('*')) => (ScannerState::BlockComment { depth: 1 }, 2),
        ('"', _) => {
            line.code.push('"');
            (ScannerState::Text, 1)
        }
        // `r"`, `r#"`; also as the end of `br` and `cr`. A raw identifier (`r#type`) has no quote.
        ('r', Some('"' | '#')) if !after_word || matches!(characters[at - 1], 'b' | 'c') => {
            let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
            if rest.get(1 + hashes) == Some(&'"') {
                line.code.push('"');
                (ScannerState::RawText { hashes }, 2 + hashes)
            } else {
                line.code.push('r');
                (ScannerState::Code, 1)
            }
        }
        ('\'', Some(second)) => {
            let length = character_literal_length(rest, second);
            line.code.push('\'');
            if length > 1 {
                line.code.push('\'');
            }
            (ScannerState::Code, length)
        }
        _ => {
            line.code.push(character);
            (ScannerState::Code, 1)
        }
    }
}

/// Length of the character literal at the start of `rest`; one if it is the quote of a lifetime.
fn character_literal_length(rest: &[char], second: char) -> usize {
    if second == '\\' {
        // From the escaped character on, so that `'\''` ends at its last quote.
        let end = rest.iter().skip(3).take_while(|&&c| c != '\n').position(|&c| c == '\'');
        end.map_or(1, |end| 3 + end + 1)
    } else if second != '\'' && rest.get(2) == Some(&'\'') {
        3
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        SourceFile::parse(text, false).code
    }

    /// A banned word inside a string or a comment is no use of it; code after them must not be swallowed.
    #[test]
    fn strings_comments_and_characters_are_not_code() {
        assert_eq!(code(r#"a("x\"y"); b"#), r#"a(""); b"#);
        assert_eq!(code("a(r#\"x\"y\"#); br\"z\"; b"), "a(\"\"); b\"\"; b");
        assert_eq!(code("a // b\nc /* d /* e */ f */ g"), "a \nc  g");
        assert_eq!(code(r"['\'', '{', '\u{7d}', '}']; b"), "['', '', '', '']; b");
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code("r#type + \"one \\\n two\" + b"), "r#type + \"\n\" + b");
    }

    /// The unsafe rule looks for its reason in comments.
    #[test]
    fn comments_are_kept_apart() {
        let source = SourceFile::parse("a; // SAFETY: because\n/* and\nso */ b", false);
        assert_eq!(source.lines[0].comment, " SAFETY: because");
        assert_eq!(source.lines[2].comment, "so ");
        assert_eq!(source.lines[2].code, " b");
    }

    /// Were test code not recognised, every test would be judged as server code; were too much of it recognised, code could hide.
    #[test]
    fn test_items_are_marked_to_their_end() {
        let text =
            "use a;\n#[cfg(test)]\nuse b;\nfn c() {}\n#[cfg(test)]\nmod tests {\n    fn d() { e }\n}\nfn f() {}\n";
        let marks: Vec<bool> = SourceFile::parse(text, false).lines.iter().map(|line| line.test).collect();
        assert_eq!(marks, [false, true, true, false, true, true, true, true, false]);
        assert_eq!(SourceFile::parse(text, false).lines_before_tests(), 3);
        assert_eq!(SourceFile::parse(text, true).lines_before_tests(), 0);
    }

    /// Sizes of functions come from here: signatures over several lines, closures, array types and bodiless functions included.
    #[test]
    fn functions_are_measured_from_fn_to_brace() {
        let text = "trait T {\n    fn a(x: [u8; 4]);\n}\nfn b(\n    x: fn(u8) -> u8,\n) -> [u8; 2] {\n    {\n    }\n}\nfn c() {}\n";
        let functions = SourceFile::parse(text, false).functions();
        let found: Vec<_> = functions.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(found, [("b", 3, 6), ("c", 9, 1)]);
    }

    /// An import hidden in a nested `use` tree must not escape a ban.
    #[test]
    fn use_trees_are_spelled_out() {
        let text = "pub use std::{\n    collections::{BTreeMap, HashMap as Map},\n    fs,\n};\nlet x = a::b::<C>(::std::net::f);\n";
        let paths = SourceFile::parse(text, false).paths();
        let named = |line, path: &str| paths.contains(&(line, path.to_string()));
        assert!(named(0, "std::collections::HashMap"));
        assert!(named(0, "std::collections::BTreeMap"));
        assert!(named(0, "std::fs"));
        assert!(named(4, "std::net::f"));
        assert!(named(4, "a::b"));
    }
}
