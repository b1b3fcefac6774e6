//! What an example is: a block of a page that is fenced as `console run`, or as `console run stays`.
//!
//! A line that begins with `$ ` is a command; a backslash at its end continues it. What follows up to the next command is what it prints, on
//! either channel: no more and no less. `...` stands for any text within a line, and alone for any lines. In a block that says `stays` a command goes
//! on, as in another terminal, once it has printed that; it is ended with the page, by SIGINT.

/// A marked block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its commands go on.
    pub stays: bool,
    /// In order.
    pub commands: Vec<PageCommand>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCommand {
    /// Of the page, counted from one.
    pub line: usize,
    /// As it is typed.
    pub text: String,
    /// What it prints.
    pub output: Vec<String>,
}

/// How a fenced block is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// It is run, and ends.
    Run,
    /// It is run, and goes on.
    Stays,
}

/// Whether a fence begins or ends here.
pub fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// How the block is marked that begins here; none if none does, or one that is only shown.
///
/// # Errors
/// It begins with `console` and says something that is not known.
pub fn marker_of(line: &str) -> Result<Option<Marker>, String> {
    let words: Vec<&str> = line.trim_start().strip_prefix("```").unwrap_or_default().split_whitespace().collect();
    match words[..] {
        ["console", "run"] => Ok(Some(Marker::Run)),
        ["console", "run", "stays"] => Ok(Some(Marker::Stays)),
        ["console"] => Ok(None),
        ["console", ..] => {
            Err("an example says `console`, `console run` or `console run stays`; correct the mark".to_string())
        }
        _ => Ok(None),
    }
}

/// All marked blocks of a page.
pub fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let (mut is_code, mut is_run, mut continues) = (false, false, false);
    for (index, line) in text.lines().enumerate() {
        if is_fence(line) {
            is_code = !is_code;
            let marker = if is_code { marker_of(line).unwrap_or(None) } else { None };
            is_run = marker.is_some();
            found.extend(marker.map(|marker| Example { stays: marker == Marker::Stays, commands: Vec::new() }));
            continue;
        }
        let Some(example) = found.last_mut().filter(|_| is_run) else { continue };
        let begun = line.strip_prefix("$ ");
        if let Some(text) = begun {
            example.commands.push(PageCommand { line: index + 1, text: text.to_string(), output: Vec::new() });
        } else if let Some(command) = example.commands.last_mut() {
            if continues {
                command.text.push('\n');
                command.text.push_str(line);
            } else {
                command.output.push(line.trim_end().to_string());
            }
        }
        continues = (begun.is_some() || continues) && line.ends_with('\\');
    }
    found
}

impl Example {
    /// What must be installed for it.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let first = |command: &'_ PageCommand| command.text.split_whitespace().next().map(str::len);
        let words = self.commands.iter().filter_map(move |command| Some(&command.text[..first(command)?]));
        words.filter(|tool| !matches!(*tool, "raid" | "cargo"))
    }
}

/// Whether the lines are those that are expected.
pub fn is_as_expected(expected: &[String], lines: &[String]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((any, rest)) if any.trim() == "..." => (0..=lines.len()).any(|skip| is_as_expected(rest, &lines[skip..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, others)| is_like(first, line) && is_as_expected(rest, others))
        }
    }
}

/// Whether a line is one with any text in the place of each `...`.
fn is_like(pattern: &str, line: &str) -> bool {
    let (pattern, line) = (pattern.trim_end(), line.trim_end());
    match pattern.split_once("...") {
        None => pattern == line,
        Some((begin, rest)) => line.strip_prefix(begin).is_some_and(|line| {
            let mut ends = (0..=line.len()).filter(|end| line.is_char_boundary(*end));
            ends.any(|end| is_like(rest, &line[end..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_string).collect()
    }

    /// If this failed, examples would be left out, or what is only shown would be run.
    #[test]
    fn marked_blocks_are_found() {
        let page = "```\n$ rm x\n```\n```console\n$ rm y\n```\n```console run\n$ one \\\n  more\nout\n\nput\n$ two\n```\n$ three\n\
                    ```console run stays\n$ four\n```\n";
        let command = |line, text: &str, output: &[&str]| PageCommand {
            line,
            text: text.to_string(),
            output: output.iter().map(|line| line.to_string()).collect(),
        };
        let first = vec![command(8, "one \\\n  more", &["out", "", "put"]), command(13, "two", &[])];
        let expected = [
            Example { stays: false, commands: first },
            Example { stays: true, commands: vec![command(17, "four", &[])] },
        ];
        assert_eq!(examples(page), expected);
        assert_eq!(expected[0].tools().collect::<Vec<_>>(), ["one", "two"]);
    }

    /// If this failed, a page could promise other lines than come.
    #[test]
    fn lines_are_compared_but_for_what_may_be_anything() {
        for (expected, printed, is_good) in [
            ("a\nb", "a\nb", true),
            ("a \nb", "a\nb  ", true),
            ("a", "a\nb", false),
            ("a\nb", "a", false),
            ("a\n...", "a\nb\nc", true),
            ("...\nc", "a\nb\nc", true),
            ("...\nc", "a\nb", false),
            ("after ... s", "after 0.2 s", true),
            ("after ... s", "after 0.2 ms ", false),
            ("... of ... rows", "2 of 3 rows", true),
            ("", "", true),
        ] {
            assert_eq!(is_as_expected(&lines(expected), &lines(printed)), is_good, "{expected:?} {printed:?}");
        }
    }
}
