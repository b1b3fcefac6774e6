//! Names of what is in a schema.
//!
//! The catalog knows a relation, an index or a procedure by one text. In the schema `public` that is its name. In another one the schema's object
//! identifier stands behind it, set off by the control character U+001F: `item` in the schema with number 16390 is `item\u{1f}16390`. So a schema
//! gets another name by one row of the catalog, and nothing that is in it changes. Invariant: no client sees such a text ([`shown`]).

use std::borrow::Cow;

/// The name of the schema where names without a schema are, unless a session says otherwise.
pub const PUBLIC: &str = "public";
/// Its object identifier, which PostgreSQL gives it, too.
pub const PUBLIC_OID: u32 = 2200;
/// The number of no schema: nothing is in it.
pub const NOWHERE: u32 = 0;
/// The number that stands for the session's temporary schema until that is made. No schema has it.
pub const UNMADE_TEMPORARY: u32 = 1;
/// What statements call the session's temporary schema.
pub const OWN_TEMPORARY: &str = "pg_temp";
/// How names of temporary schemas begin; their numbers follow.
pub const TEMPORARY: &str = "pg_temp_";
/// Stands between a name and the number of its schema.
const MARK: char = '\u{1f}';
/// Stands between a schema and a name as they were written, before it is known what they mean.
pub const WRITTEN: char = '\u{1e}';

/// The text for a name in a schema.
pub fn within(name: &str, namespace: u32) -> String {
    match namespace {
        PUBLIC_OID => name.to_owned(),
        other => format!("{name}{MARK}{other}"),
    }
}

/// The name in such a text.
pub fn bare(text: &str) -> &str {
    text.split(MARK).next().unwrap_or(text)
}

/// The number of the schema in such a text; [`NOWHERE`] for a text that is none.
pub fn of(text: &str) -> u32 {
    match text.split_once(MARK) {
        None => PUBLIC_OID,
        Some((_, number)) => number.parse().unwrap_or(NOWHERE),
    }
}

/// Another name in the same schema.
pub fn beside(text: &str, name: &str) -> String {
    within(name, of(text))
}

/// Whether a text has more in it than a name in `public`.
pub fn is_marked(text: &str) -> bool {
    text.contains(MARK)
}

/// Whether a text has one of the characters in it that set parts of a name off: the mark, or what stands between a schema and a name until it is known what
/// they mean.
pub fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte == MARK as u8 || byte == WRITTEN as u8)
}

/// A text without numbers of schemas, as clients see it.
pub fn shown(text: &str) -> Cow<'_, str> {
    named(text, |_| None)
}

/// A text with names in it, quoted or not: each that has the number of a schema gets the schema's name before it, as SQL writes it, if `name_of` knows
/// one.
pub fn named(text: &str, name_of: impl Fn(u32) -> Option<String>) -> Cow<'_, str> {
    let mut pieces = text.split(MARK);
    let first = pieces.next().unwrap_or_default();
    let mut shown = first.to_owned();
    let mut is_changed = false;
    for piece in pieces {
        is_changed = true;
        let rest = piece.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let Some(schema) = piece[..piece.len() - rest.len()].parse().ok().and_then(&name_of) else {
            shown.push_str(rest);
            continue;
        };
        let at = start_of_name(&shown, rest.starts_with('"'));
        let name = shown.split_off(at);
        // The mark was the reason for quotes around a plain name.
        let quoted = name.strip_prefix('"').filter(|_| rest.starts_with('"'));
        let unquoted = quoted.filter(|name| is_plain(name));
        shown.push_str(&format!("{schema}.{}", unquoted.unwrap_or(&name)));
        let behind = &rest[usize::from(quoted.is_some())..];
        if quoted.is_some() && unquoted.is_none() {
            shown.push('"');
        }
        shown.push_str(quoted.and_then(|name| without_own_alias(behind, name)).unwrap_or(behind));
    }
    if is_changed { Cow::Owned(shown) } else { Cow::Borrowed(text) }
}

/// What stands behind a relation without the alias that says again what it is called.
fn without_own_alias<'t>(behind: &'t str, name: &str) -> Option<&'t str> {
    let rest = behind.strip_prefix(" AS \"")?.strip_prefix(name)?.strip_prefix('"')?;
    (!rest.trim_start().starts_with('(')).then_some(rest)
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
}

/// Where the name begins that a text ends with, its opening quote included. The mark stands at the end of a name: what is quoted has its closing quote next.
fn start_of_name(text: &str, is_quoted: bool) -> usize {
    let mut end = text.len();
    while is_quoted && let Some(last) = text[..end].rfind('"') {
        let run = text[..=last].trim_end_matches('"').len();
        // Quotes within the name are doubled: with the one before it they are odd.
        if (last + 1 - run) % 2 == 1 {
            return run;
        }
        end = run;
    }
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    text.rfind(|letter| !is_name(letter)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client would be told a number that it never wrote, or a relation would be found in a schema that it is not in.
    #[test]
    fn a_name_is_found_in_its_schema_only() {
        assert_eq!(within("item", PUBLIC_OID), "item");
        let text = within("item", 16390);
        assert_eq!((bare(&text), of(&text)), ("item", 16390));
        assert_eq!((bare("item"), of("item")), ("item", PUBLIC_OID));
        assert_eq!(of(&beside(&text, "item_pkey")), 16390);
        assert_eq!(of("a\u{1f}b"), NOWHERE);
    }

    /// Messages, plans and definitions have such texts in them.
    #[test]
    fn texts_are_shown_without_numbers() {
        let text = format!("relation \"{}\" already exists beside {}.", within("a b", 7), within("item", 16390));
        assert_eq!(shown(&text), "relation \"a b\" already exists beside item.");
        assert!(matches!(shown("relation \"item\""), Cow::Borrowed(_)));
        let named = named(&text, |number| (number == 16390).then(|| "sales".to_owned()));
        assert_eq!(named, "relation \"a b\" already exists beside sales.item.");
    }

    /// The definition of a view would name a relation in another schema.
    #[test]
    fn names_in_statements_get_their_schema() {
        let name_of = |number| (number == 9).then(|| "s".to_owned());
        assert_eq!(named("SELECT * FROM \"t\u{1f}9\" AS t", name_of), "SELECT * FROM s.t AS t");
        assert_eq!(named("FROM \"t\u{1f}9\" AS \"t\" WHERE", name_of), "FROM s.t WHERE");
        assert_eq!(named("FROM \"A\u{1f}9\" AS \"A\"", name_of), "FROM s.\"A\"");
        assert_eq!(named("FROM \"t\u{1f}9\" AS \"t\" (a)", name_of), "FROM s.t AS \"t\" (a)");
        assert_eq!(named("FROM \"t\u{1f}9\" AS \"u\"", name_of), "FROM s.t AS \"u\"");
        assert_eq!(named("nextval('t_id_seq\u{1f}9'::regclass)", name_of), "nextval('s.t_id_seq'::regclass)");
        assert_eq!(named("nextval('\"A\u{1f}9\"'::regclass)", name_of), "nextval('s.\"A\"'::regclass)");
        assert_eq!(named("SELECT '5\"' FROM \"t\u{1f}9\"", name_of), "SELECT '5\"' FROM s.t");
        assert_eq!(named("SELECT '5\"', nextval('q\u{1f}9')", name_of), "SELECT '5\"', nextval('s.q')");
        assert_eq!(named("FROM \"a\"\"b\u{1f}9\"", name_of), "FROM s.\"a\"\"b\"");
        assert_eq!(named("FROM \"\"\"b\u{1f}9\"", name_of), "FROM s.\"\"\"b\"");
        assert_eq!(named("FROM \"b\"\"\u{1f}9\"", name_of), "FROM s.\"b\"\"\"");
    }
}
