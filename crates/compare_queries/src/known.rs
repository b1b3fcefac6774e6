//! Differences that are known, each with its reason, from `known.txt`. The list may only shrink: a test knows how long it is.

/// The list.
const LIST: &str = include_str!("../known.txt");

/// An entry: `difference | fragment | ... | reason`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// How the answers differ, as reports say it.
    pub difference: String,
    /// What stands in the minimised statements, or, behind `message:`, in Raid's message.
    pub fragments: Vec<String>,
    /// Why this is so.
    pub reason: String,
}

/// All entries.
pub fn list() -> Vec<Known> {
    parse(LIST)
}

fn parse(text: &str) -> Vec<Known> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let mut fields: Vec<String> = line.split(" | ").map(|field| field.trim().to_string()).collect();
        let reason = fields.pop().filter(|_| fields.len() > 1)?;
        let difference = fields.remove(0);
        Some(Known { difference, fragments: fields, reason })
    };
    lines.filter_map(entry).collect()
}

impl Known {
    /// Whether a difference is this one. Statements that were not minimised count only if the message tells. A statement that Raid refuses before it comes to
    /// the error that PostgreSQL has found is the same difference.
    pub fn matches(&self, difference: &str, script: &str, message: &str, is_minimised: bool) -> bool {
        let by_message = self.fragments.iter().any(|fragment| fragment.starts_with("message:"));
        let holds = |fragment: &String| match fragment.strip_prefix("message:") {
            Some(rest) => message.contains(rest),
            None => script.contains(fragment.as_str()),
        };
        let is_this = difference == self.difference
            || difference.strip_prefix(&self.difference).is_some_and(|rest| rest.starts_with(" instead of "));
        (is_minimised || by_message) && is_this && self.fragments.iter().all(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many entries the list has. Lower it when one goes.
    const KNOWN_MAX: usize = 37;

    /// A list that grows hides what it should show.
    #[test]
    fn the_list_has_as_many_entries_as_it_may_have() {
        let lines = LIST.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count();
        assert_eq!(list().len(), lines, "an entry is `difference | fragment | ... | reason`");
        assert_eq!(lines, KNOWN_MAX, "the list may only shrink: mend the difference, or lower KNOWN_MAX");
    }

    /// An entry that matched too much would hide other differences.
    #[test]
    fn an_entry_matches_all_its_fragments_or_nothing() {
        let known = parse("other rows | EXCEPT ALL | t0 | duplicates are not counted\n# comment\n");
        assert_eq!(known.len(), 1);
        assert!(known[0].matches("other rows", "SELECT 1 FROM t0 EXCEPT ALL SELECT 2", "", true));
        assert!(!known[0].matches("other rows", "SELECT 1 FROM t0 EXCEPT ALL SELECT 2", "", false));
        assert!(!known[0].matches("other rows", "SELECT 1 EXCEPT ALL SELECT 2", "", true));
        assert!(!known[0].matches("takes too long", "SELECT 1 FROM t0 EXCEPT ALL SELECT 2", "", true));
        let refused = parse("refused with 42601 | message:no windows | windows in subqueries");
        assert!(refused[0].matches("refused with 42601 instead of 23502", "", "no windows here", false));
        assert!(!refused[0].matches("refused with 426010", "", "no windows here", false));
    }
}
