//! Regular expressions whose matches would be others than PostgreSQL's: there the longest match wins, and one quantifier decides for all; to the library
//! the first alternative wins, and each quantifier decides for itself.

use crate::error::QueryError;

/// Errors: 0A000 for a pattern in which a code may have more digits than the library reads.
pub(super) fn check(pattern: &str) -> Result<(), QueryError> {
    match pattern.contains("\\x") || pattern.contains("\\u") {
        true => Err(QueryError::unsupported("a regular expression with the code of a character is not supported")),
        false => Ok(()),
    }
}

/// The same of a pattern whose match is shown. Errors: 0A000 for alternatives of which one may begin as another, and for quantifiers of which some match as
/// much as they can and others as little.
pub(super) fn check_match(pattern: &str) -> Result<(), QueryError> {
    check(pattern)?;
    if pattern.contains('|') && !alternatives(pattern).iter().all(|group| is_free(group)) {
        let message = "alternatives of which one may begin as another are not supported in a match that is shown";
        return Err(QueryError::unsupported(message));
    }
    let (lazy, greedy) = quantifiers(pattern);
    if lazy > 0 && greedy > 0 {
        let message = "quantifiers of both kinds, as in '.*?a+', are not supported in a match that is shown";
        return Err(QueryError::unsupported(message));
    }
    Ok(())
}

/// The alternatives of each pair of parentheses, and of the whole.
fn alternatives(pattern: &str) -> Vec<Vec<String>> {
    let mut open: Vec<Vec<String>> = vec![vec![String::new()]];
    let mut groups = Vec::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let is_outside = open.len() == 1;
        let Some(group) = open.last_mut() else { break };
        let Some(last) = group.last_mut() else { break };
        match letter {
            '\\' => {
                last.push('\\');
                last.extend(letters.next());
            }
            '[' => {
                // One letter of a set, in which no bar divides anything; a bracket that closes it does not stand first.
                last.push('[');
                let mut place = 0;
                for inner in letters.by_ref() {
                    let is_negation = place == 0 && inner == '^';
                    if inner == ']' && place > 0 {
                        break;
                    }
                    place += usize::from(!is_negation);
                }
            }
            '(' => {
                // What holds a group is no plain text.
                last.push('(');
                open.push(vec![String::new()]);
            }
            ')' if !is_outside => groups.extend(open.pop()),
            '|' => group.push(String::new()),
            other => last.push(other),
        }
    }
    groups.extend(open);
    groups.retain(|group| group.len() > 1);
    groups
}

/// Whether all are plain texts, and none begins as another.
fn is_free(group: &[String]) -> bool {
    let plain = |text: &str| text.trim_start_matches('^').trim_end_matches('$').to_owned();
    let texts: Vec<String> = group.iter().map(|text| plain(text.strip_prefix("?:").unwrap_or(text))).collect();
    let is_plain = |text: &String| {
        !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || " _-/:,;=@#".contains(letter))
    };
    let begins = |place: usize, text: &String| {
        texts.iter().enumerate().any(|(other, longer)| other != place && longer.starts_with(text.as_str()))
    };
    texts.iter().all(is_plain) && !texts.iter().enumerate().any(|(place, text)| begins(place, text))
}

/// How many quantifiers match as little, and as much as they can.
fn quantifiers(pattern: &str) -> (usize, usize) {
    let letters: Vec<char> = pattern.chars().collect();
    let (mut lazy, mut greedy) = (0, 0);
    let mut at = 0;
    while at < letters.len() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        match letters[at] {
            '\\' => at += 1,
            '[' => {
                let close = letters[at + 1..].iter().skip(1).position(|letter| *letter == ']');
                at += close.map_or(0, |close| close + 2);
            }
            '*' | '+' | '}' | '?' if before.is_some_and(|before| before != '(') => {
                let is_lazy = letters.get(at + 1) == Some(&'?');
                *(if is_lazy { &mut lazy } else { &mut greedy }) += 1;
                at += usize::from(is_lazy);
            }
            _ => {}
        }
        at += 1;
    }
    (lazy, greedy)
}

#[cfg(test)]
mod tests {
    use super::check_match;

    /// A match would be another than PostgreSQL's, or a harmless pattern be refused.
    #[test]
    fn patterns_that_match_otherwise_are_refused() {
        for pattern in ["[^0-9]", "^(foo|bar)-", "(?:a|b)+c", r"\s+", "a{2,3}", "^(.*?),", "[|*?]+", r"\(a\|b\)"] {
            assert!(check_match(pattern).is_ok(), "{pattern}");
        }
        for pattern in [".|...", "(a|ab)c", "(a*|b)", ".*?a+", "^(l*?)(.*)$", r"\x7fffffff", "a|"] {
            assert!(check_match(pattern).is_err(), "{pattern}");
        }
    }
}
