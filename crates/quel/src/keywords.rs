//! Words with a meaning of their own, which name no variable.

/// Words that begin a statement, and so end the one before.
const STATEMENTS: &[&str] = &[
    "abort",
    "append",
    "begin",
    "copy",
    "create",
    "define",
    "delete",
    "destroy",
    "end",
    "help",
    "index",
    "integrity",
    "modify",
    "permit",
    "print",
    "range",
    "replace",
    "retrieve",
    "savepoint",
    "view",
];

/// The others, sorted.
const OTHERS: &[&str] = &[
    "all",
    "and",
    "any",
    "at",
    "avg",
    "avgu",
    "by",
    "count",
    "countu",
    "from",
    "in",
    "into",
    "is",
    "max",
    "min",
    "mod",
    "not",
    "null",
    "of",
    "on",
    "only",
    "onto",
    "or",
    "sort",
    "sum",
    "sumu",
    "to",
    "transaction",
    "unique",
    "until",
    "where",
];

/// Statements of SQL that concern the session or a cursor, and are taken as they are.
const SESSION: &[&str] = &[
    "close",
    "commit",
    "deallocate",
    "discard",
    "execute",
    "fetch",
    "move",
    "release",
    "reset",
    "rollback",
    "set",
    "show",
    "start",
];

/// Whether a word, in lower case, names no variable.
pub fn is_reserved(word: &str) -> bool {
    begins_statement(word) || OTHERS.binary_search(&word).is_ok()
}

/// Whether a word begins a statement wherever it stands.
pub fn begins_statement(word: &str) -> bool {
    STATEMENTS.binary_search(&word).is_ok()
}

/// Whether a statement that begins with the word is SQL's.
pub fn is_of_session(word: &str) -> bool {
    SESSION.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a binary search misses words.
    #[test]
    fn lists_are_sorted() {
        assert!([STATEMENTS, OTHERS, SESSION].iter().all(|list| list.is_sorted()));
    }
}
