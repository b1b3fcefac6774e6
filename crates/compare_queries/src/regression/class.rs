//! What two answers to one statement of the suite say.

use super::script::without_comments;
use super::trail::{Token, Trail, head, tokens};
use crate::wire::{Answer, Cell, Column};

/// The classes, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The same rows, or the same was done.
    SameRows,
    /// Refused with the same SQLSTATE.
    SameError,
    /// Raid says that it does not support this.
    Unsupported,
    /// It names what failed before, or what a failure has changed.
    Follows,
    /// Other rows of the system's catalogs.
    Catalog,
    /// It depends on chance: the time, a random number, a LIMIT without an order; or on settings that Raid does not have.
    Chance,
    /// A plan.
    Explain,
    /// Other rows, another order, other columns, another tag.
    WrongResult,
    /// Done, and PostgreSQL refuses it.
    Accepted,
    /// Refused with another SQLSTATE than PostgreSQL's, or though PostgreSQL does it.
    OtherError,
    /// It took too long.
    TooLong,
    /// The connection was lost.
    Lost,
    /// PostgreSQL itself did not answer.
    Unknown,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 13] = [
        Class::SameRows,
        Class::SameError,
        Class::Unsupported,
        Class::Follows,
        Class::Catalog,
        Class::Chance,
        Class::Explain,
        Class::WrongResult,
        Class::Accepted,
        Class::OtherError,
        Class::TooLong,
        Class::Lost,
        Class::Unknown,
    ];

    /// For reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::SameRows => "same rows",
            Class::SameError => "same error",
            Class::Unsupported => "unsupported",
            Class::Follows => "following",
            Class::Catalog => "catalogs",
            Class::Chance => "chance, settings",
            Class::Explain => "plans",
            Class::WrongResult => "wrong result",
            Class::Accepted => "accepted",
            Class::OtherError => "other error",
            Class::TooLong => "too long",
            Class::Lost => "lost",
            Class::Unknown => "not judged",
        }
    }

    /// Whether somebody must look at it.
    pub fn is_fault(self) -> bool {
        matches!(self, Class::WrongResult | Class::Accepted | Class::OtherError | Class::TooLong | Class::Lost)
    }
}

/// SQLSTATEs by which Raid says that something is not there.
const UNSUPPORTED: [&str; 4] = ["0A000", "42883", "42704", "42601"];
/// SQLSTATE of a statement that took too long.
const CANCELLED: &str = "57014";
/// SQLSTATE of a statement in a transaction that has failed.
const ABORTED: &str = "25P02";
/// SQLSTATEs of constraints and dependent things, which Raid may not have.
const CONSTRAINTS: [&str; 6] = ["23503", "23514", "23P01", "2BP01", "55000", "44000"];
/// SQLSTATE of a key that is there twice, found late: of a key that Raid has refused to check late.
const UNIQUE: &str = "23505";
/// SQLSTATE of what is not permitted.
const PERMISSION: &str = "42501";

/// Functions and names whose values are another each time.
const CHANCE: [&str; 27] = [
    "random",
    "setseed",
    "now",
    "clock_timestamp",
    "current_timestamp",
    "localtimestamp",
    "current_time",
    "localtime",
    "current_date",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "version",
    "gen_random_uuid",
    "ctid",
    "xmin",
    "xmax",
    "cmin",
    "cmax",
    "tableoid",
    "pg_backend_pid",
    "today",
    "tomorrow",
    "yesterday",
    "inet_server_addr",
    "inet_client_addr",
    "txid_current",
];

/// Where a statement was run.
pub struct Context<'a> {
    /// What failures have left.
    pub trail: &'a Trail,
    /// Whether PostgreSQL's settings that show in results are others than at the start.
    pub other_settings: bool,
}

/// Judges, with a reason.
pub fn classify(sql: &str, raid: &[Answer], postgres: &[Answer], context: &Context<'_>) -> (Class, String) {
    let mention = context.trail.mentioned(sql);
    let (ours, theirs) = (failure(raid), failure(postgres));
    match (ours, theirs) {
        (_, Some(Answer::Broken(why))) => (Class::Unknown, why.clone()),
        (Some(Answer::Broken(why)), _) if why.contains("os error 11") => (Class::TooLong, why.clone()),
        (Some(Answer::Broken(why)), _) => (Class::Lost, why.clone()),
        (None, None) => match difference(sql, raid, postgres) {
            None => (Class::SameRows, String::new()),
            Some(text) => different(sql, text, mention, context),
        },
        (Some(Answer::Refused(ours)), None) => {
            let reason = format!("{} {}", ours.code, ours.message);
            let named = mention.or_else(|| context.trail.mentioned(&ours.message));
            if ours.code == ABORTED {
                (Class::Follows, "the transaction has failed".to_string())
            } else if ours.code == CANCELLED {
                (Class::TooLong, reason)
            } else if let Some(name) = named {
                (Class::Follows, name)
            } else if UNSUPPORTED.contains(&ours.code.as_str())
                || is_catalog(&ours.message) && ours.code.starts_with("42")
            {
                (Class::Unsupported, reason)
            } else {
                (Class::OtherError, reason)
            }
        }
        (None, Some(Answer::Refused(theirs))) => {
            let reason = format!("PostgreSQL: {} {}", theirs.code, theirs.message);
            if let Some(name) = mention.or_else(|| context.trail.mentioned(&theirs.message)) {
                (Class::Follows, name)
            } else if is_late_or_forbidden(sql, &theirs.code) || theirs.message.contains("foreign key constraint") {
                (Class::Follows, reason)
            } else if context.other_settings {
                (Class::Chance, reason)
            } else if is_catalog(&without_comments(sql)) {
                (Class::Catalog, reason)
            } else {
                (Class::Accepted, reason)
            }
        }
        (Some(Answer::Refused(ours)), Some(Answer::Refused(theirs))) => {
            let reason = format!("{} {}; PostgreSQL: {} {}", ours.code, ours.message, theirs.code, theirs.message);
            if ours.code == theirs.code {
                (Class::SameError, String::new())
            } else if let Some(name) = mention.or_else(|| context.trail.mentioned(&ours.message)) {
                (Class::Follows, name)
            } else if UNSUPPORTED.contains(&ours.code.as_str()) {
                (Class::Unsupported, reason)
            } else {
                (Class::OtherError, reason)
            }
        }
        _ => (Class::Unknown, String::new()),
    }
}

/// Whether PostgreSQL refuses for a constraint or a privilege that Raid may not have, or in a transaction that had failed.
fn is_late_or_forbidden(sql: &str, code: &str) -> bool {
    let checks = || head(sql).first().is_some_and(|word| word == "commit" || word == "set");
    CONSTRAINTS.contains(&code) || code == PERMISSION || code == ABORTED || code == UNIQUE && checks()
}

fn different(sql: &str, text: String, mention: Option<String>, context: &Context<'_>) -> (Class, String) {
    let words = tokens(sql);
    let has = |of: &dyn Fn(&str) -> bool| words.iter().any(|token| matches!(token, Token::Name(name) if of(name)));
    let first = head(sql);
    if first.first().is_some_and(|word| word == "explain") {
        return (Class::Explain, String::new());
    }
    if let Some(name) = mention {
        return (Class::Follows, format!("{name}: {text}"));
    }
    if is_catalog(&without_comments(sql)) || first.first().is_some_and(|word| word == "show") {
        return (Class::Catalog, text);
    }
    let limited = has(&|name| name == "limit" || name == "fetch") && !has(&|name| name == "order");
    if limited || context.other_settings || has(&|name| CHANCE.contains(&name)) {
        return (Class::Chance, text);
    }
    if ties(&words) {
        return (Class::Chance, format!("rows that are alike in the order: {text}"));
    }
    (Class::WrongResult, text)
}

/// Whether a window has frames of rows, or functions that pick rows, without an order that is known to tell all rows apart.
fn ties(words: &[Token]) -> bool {
    const PICKS: [&str; 9] =
        ["first_value", "last_value", "nth_value", "lag", "lead", "row_number", "ntile", "array_agg", "string_agg"];
    let names: Vec<&str> = words
        .iter()
        .map(|token| match token {
            Token::Name(name) => name.as_str(),
            Token::Sign(_) => "",
        })
        .collect();
    let is_windowed = names.contains(&"over");
    let has_frame = names.contains(&"rows") || names.contains(&"exclude");
    is_windowed && (has_frame || names.iter().any(|name| PICKS.contains(name)))
}

fn is_catalog(text: &str) -> bool {
    tokens(text).iter().any(|token| {
        matches!(token, Token::Name(name) if name.starts_with("pg_") && !matches!(name.as_str(), "pg_typeof" | "pg_sleep") || matches!(name.as_str(), "information_schema" | "regclass"))
    })
}

/// The answer that is none.
pub fn failure(answers: &[Answer]) -> Option<&Answer> {
    answers.iter().find(|answer| !answer.is_done())
}

/// How what was done differs.
fn difference(sql: &str, raid: &[Answer], postgres: &[Answer]) -> Option<String> {
    if raid.len() != postgres.len() {
        return Some(format!("{} results instead of {}", raid.len(), postgres.len()));
    }
    let is_ordered = is_ordered(sql);
    raid.iter().zip(postgres).find_map(|(ours, theirs)| match (ours, theirs) {
        (
            Answer::Done { columns: our_columns, rows: our_rows, tag: our_tag, .. },
            Answer::Done { columns, rows, tag, .. },
        ) => rows_differ(our_rows, rows, is_ordered.then(|| keys_of_order(sql, columns)))
            .or_else(|| columns_differ(our_columns, columns))
            .or_else(|| (our_tag != tag).then(|| format!("tag {our_tag} instead of {tag}"))),
        _ => None,
    })
}

/// `order`: the columns that the rows are ordered by, as far as they are columns of the result; `None`: they have no order.
fn rows_differ(ours: &[Vec<Cell>], theirs: &[Vec<Cell>], order: Option<Option<Vec<usize>>>) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let sorted = |rows: &[Vec<Cell>]| {
        let mut rows = rows.to_vec();
        rows.sort();
        rows
    };
    if sorted(ours) == sorted(theirs) {
        let keys = |rows: &[Vec<Cell>], columns: &[usize]| -> Vec<Vec<Cell>> {
            rows.iter().map(|row| columns.iter().filter_map(|column| row.get(*column).cloned()).collect()).collect()
        };
        return match order {
            None => None,
            // Rows that are alike in all of these come in any order.
            Some(Some(columns)) if keys(ours, &columns) == keys(theirs, &columns) => None,
            Some(_) => Some("the same rows in another order".to_string()),
        };
    }
    let text = |rows: &[Vec<Cell>], others: &[Vec<Cell>]| -> String {
        let only: Vec<String> = rows
            .iter()
            .filter(|row| !others.contains(row))
            .take(2)
            .map(|row| row.iter().map(crate::report::cell).collect::<Vec<_>>().join("|"))
            .collect();
        only.join("; ").chars().take(160).collect()
    };
    Some(format!(
        "{} rows instead of {}; only Raid: {}; only PostgreSQL: {}",
        ours.len(),
        theirs.len(),
        text(ours, theirs),
        text(theirs, ours)
    ))
}

fn columns_differ(ours: &[Column], theirs: &[Column]) -> Option<String> {
    if ours.len() != theirs.len() {
        return Some(format!("{} columns instead of {}", ours.len(), theirs.len()));
    }
    ours.iter().zip(theirs).find_map(|(ours, theirs)| {
        // Types that the suite has made have other numbers; `name` is `text` in tables that were carried over.
        let plain = |oid: u32| {
            if oid >= 16_384 {
                0
            } else if oid == 19 {
                25
            } else {
                oid
            }
        };
        if ours.name != theirs.name {
            return Some(format!("column {} instead of {}", ours.name, theirs.name));
        }
        (plain(ours.oid) != plain(theirs.oid))
            .then(|| format!("{}: type {} instead of {}", ours.name, ours.oid, theirs.oid))
    })
}

/// Whether the statement itself has an order, outside of parentheses.
fn is_ordered(sql: &str) -> bool {
    let mut depth = 0_usize;
    let tokens = tokens(sql);
    tokens.windows(2).any(|pair| {
        match pair[0] {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        let name = |token: &Token, text: &str| matches!(token, Token::Name(name) if name == text);
        depth == 0 && name(&pair[0], "order") && name(&pair[1], "by")
    })
}

/// The columns of the result that the statement's own ORDER BY names, by name or place; `None` if it has something else.
fn keys_of_order(sql: &str, columns: &[Column]) -> Option<Vec<usize>> {
    let plain = without_comments(sql);
    let at = plain.to_ascii_lowercase().rfind("order by")? + "order by".len();
    let list = plain[at..].trim_end_matches([';', ' ', '\n', '\t']);
    if list.contains(['(', ')']) {
        return None;
    }
    let mut found = Vec::new();
    for item in list.split(',') {
        let mut words = item.split_whitespace();
        let key = words.next()?;
        let plain = key.rsplit('.').next().unwrap_or(key).trim_matches('"');
        let place = match plain.parse::<usize>() {
            Ok(place) => place.checked_sub(1)?,
            Err(_) => columns.iter().position(|column| column.name.eq_ignore_ascii_case(plain))?,
        };
        found.push(place);
        let rest: Vec<String> = words.map(str::to_ascii_lowercase).collect();
        let known = ["asc", "desc", "nulls", "first", "last"];
        if let Some(other) = rest.iter().find(|word| !known.contains(&word.as_str())) {
            return matches!(other.as_str(), "limit" | "offset" | "fetch" | "for").then_some(found);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Refusal;

    fn rows(values: &[&str]) -> Vec<Answer> {
        let rows = values.iter().map(|value| vec![Some(value.as_bytes().to_vec())]).collect();
        let column = Column { name: "a".to_string(), oid: 23 };
        vec![Answer::Done { columns: vec![column], rows, tag: "SELECT".to_string(), parameters: Vec::new() }]
    }

    fn refused(code: &str, message: &str) -> Vec<Answer> {
        vec![Answer::Refused(Refusal { code: code.to_string(), message: message.to_string() })]
    }

    /// Rows that are alike in what they are ordered by come in any order.
    #[test]
    fn an_order_is_one_of_its_columns() {
        let columns = ["a", "b"].map(|name| Column { name: name.to_string(), oid: 23 });
        let row = |a: &str, b: &str| vec![Some(a.as_bytes().to_vec()), Some(b.as_bytes().to_vec())];
        let (ours, theirs) = ([row("1", "x"), row("1", "y")], [row("1", "y"), row("1", "x")]);
        let differ = |sql: &str| rows_differ(&ours, &theirs, Some(keys_of_order(sql, &columns)));
        assert_eq!(differ("SELECT a, b FROM t ORDER BY a"), None);
        assert_eq!(differ("SELECT a, b FROM t ORDER BY 1 DESC NULLS LAST LIMIT 2"), None);
        assert!(differ("SELECT a, b FROM t ORDER BY a, t.b").is_some());
        assert!(differ("SELECT a, b FROM t ORDER BY a, abs(b)").is_some());
    }

    fn class(sql: &str, raid: &[Answer], postgres: &[Answer]) -> Class {
        let mut trail = Trail::default();
        trail.missing("gone");
        classify(sql, raid, postgres, &Context { trail: &trail, other_settings: false }).0
    }

    /// A fault in the wrong class is one that nobody looks at.
    #[test]
    fn answers_are_classified() {
        let (one, two) = (rows(&["1", "2"]), rows(&["2", "1"]));
        assert_eq!(class("SELECT a FROM t", &one, &two), Class::SameRows);
        assert_eq!(class("SELECT a FROM t ORDER BY a", &one, &two), Class::WrongResult);
        assert_eq!(class("SELECT a FROM t ORDER BY b", &one, &two), Class::WrongResult);
        assert_eq!(class("SELECT a FROM (SELECT 1 ORDER BY a) t", &one, &two), Class::SameRows);
        assert_eq!(class("SELECT sum(a) OVER (ROWS 1 PRECEDING) FROM t", &one, &rows(&["1", "1"])), Class::Chance);
        assert_eq!(class("SELECT a FROM t", &one, &rows(&["1"])), Class::WrongResult);
        assert_eq!(class("SELECT a FROM gone", &one, &rows(&["1"])), Class::Follows);
        assert_eq!(class("SELECT a FROM t LIMIT 1", &one, &rows(&["1"])), Class::Chance);
        assert_eq!(class("SELECT a FROM pg_class", &one, &rows(&["1"])), Class::Catalog);
        assert_eq!(class("SELECT a", &refused("0A000", "x"), &one), Class::Unsupported);
        assert_eq!(class("SELECT a", &refused("42P01", "gone"), &one), Class::Follows);
        assert_eq!(class("SELECT a", &refused("22003", "x"), &one), Class::OtherError);
        assert_eq!(class("SELECT a", &one, &refused("22003", "x")), Class::Accepted);
        assert_eq!(class("SELECT a", &refused("22003", "x"), &refused("22003", "y")), Class::SameError);
        assert_eq!(class("SELECT a", &refused("XX000", "x"), &refused("22003", "y")), Class::OtherError);
    }
}
