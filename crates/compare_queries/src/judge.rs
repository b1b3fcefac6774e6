//! Whether two answers to one statement are the same.

use std::fmt;

use crate::wire::{Answer, Cell, Column};

/// `pg_type.oid` of float4 and float8.
const FLOATS: [u32; 2] = [700, 701];
/// `pg_type.oid` of numeric.
const NUMERIC: u32 = 1700;
/// SQLSTATE of what a system does not support.
const UNSUPPORTED: &str = "0A000";
/// How SQLSTATEs of values without a result begin.
const DATA_EXCEPTION: &str = "22";
/// SQLSTATE of what was cancelled because it took too long.
const CANCELLED: &str = "57014";

/// How two answers differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// Other rows.
    Rows,
    /// The same rows, but for zeros at the end of numerics.
    Zeros,
    /// The same rows in an order that the statement forbids.
    Order,
    /// Columns of other names.
    Names,
    /// Columns of other types.
    Types,
    /// Parameters of other types.
    Parameters,
    /// Another command tag.
    Tag,
    /// Refused by Raid alone, with this SQLSTATE.
    Refused(String),
    /// Refused by PostgreSQL alone, with this SQLSTATE.
    Accepted(String),
    /// Refused by both, with these SQLSTATEs: Raid's, PostgreSQL's.
    Codes(String, String),
    /// The connection broke, or nothing came in time.
    Broken,
    /// The server took too long.
    Late,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Rows => write!(out, "other rows"),
            Difference::Zeros => write!(out, "zeros at the end of numbers"),
            Difference::Order => write!(out, "the same rows in a wrong order"),
            Difference::Names => write!(out, "other names of columns"),
            Difference::Types => write!(out, "other types of columns"),
            Difference::Parameters => write!(out, "other types of parameters"),
            Difference::Tag => write!(out, "another command tag"),
            Difference::Refused(code) => write!(out, "refused with {code}"),
            Difference::Accepted(code) => write!(out, "accepted, and should be refused with {code}"),
            Difference::Codes(ours, theirs) => write!(out, "refused with {ours} instead of {theirs}"),
            Difference::Broken => write!(out, "the connection broke"),
            Difference::Late => write!(out, "takes too long"),
        }
    }
}

impl Difference {
    /// Whether a machine that is too busy makes it, too.
    pub fn may_be_load(&self) -> bool {
        const LOAD: [&str; 5] = ["40001", "40P01", "57P03", "08007", "53300"];
        match self {
            Difference::Late => true,
            Difference::Refused(code) | Difference::Codes(code, _) => LOAD.contains(&code.as_str()),
            _ => false,
        }
    }

    /// Whether one system met a value that has no result, and the other did not, in a statement that leaves open what is evaluated: what
    /// is evaluated first is each system's own choice there (PostgreSQL 15, 4.2.14).
    pub fn depends_on_order(&self, sql: &str, is_empty: bool) -> bool {
        const OPEN: [&str; 14] = [
            "WHERE", "JOIN", "HAVING", "LIMIT", "EXISTS", "CASE", "COALESCE", " AND ", " OR ", "WITH", "(SELECT",
            "FILTER", " IN (", "USING",
        ];
        let code = match self {
            Difference::Refused(code) | Difference::Accepted(code) => code,
            _ => return false,
        };
        code.starts_with(DATA_EXCEPTION) && (is_empty || OPEN.iter().any(|word| sql.contains(word)))
    }
}

/// What is to be said of two answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They are the same.
    Same,
    /// Raid says that it does not support this.
    Unsupported,
    /// The judge has no answer itself.
    Unknown,
    /// They differ.
    Differ(Difference),
}

/// Compares Raid's answer with PostgreSQL's.
pub fn compare(raid: &Answer, postgres: &Answer, keys: &[usize], sql: &str) -> Verdict {
    let differ = Verdict::Differ;
    match (raid, postgres) {
        (Answer::Broken(_), _) => differ(Difference::Broken),
        (_, Answer::Broken(_)) => Verdict::Unknown,
        (_, Answer::Refused(theirs)) if theirs.code == CANCELLED => Verdict::Unknown,
        (Answer::Refused(ours), Answer::Refused(theirs)) if ours.code == theirs.code => Verdict::Same,
        (Answer::Refused(ours), Answer::Refused(theirs)) if either_row_is_wrong(&ours.code, &theirs.code, sql) => {
            Verdict::Same
        }
        (Answer::Refused(ours), _) if ours.code == UNSUPPORTED => Verdict::Unsupported,
        (Answer::Refused(ours), _) if ours.code == CANCELLED => differ(Difference::Late),
        (Answer::Refused(ours), Answer::Refused(theirs)) => {
            differ(Difference::Codes(ours.code.clone(), theirs.code.clone()))
        }
        (Answer::Refused(ours), Answer::Done { .. }) => differ(Difference::Refused(ours.code.clone())),
        (Answer::Done { .. }, Answer::Refused(theirs)) => differ(Difference::Accepted(theirs.code.clone())),
        (Answer::Done { .. }, Answer::Done { .. }) => match contents(raid, postgres, keys, sql) {
            Some(difference) => differ(difference),
            None => Verdict::Same,
        },
    }
}

/// Whether both have refused a row of a query that is in no order, each the one that came first: it breaks another constraint than the other's.
fn either_row_is_wrong(ours: &str, theirs: &str, sql: &str) -> bool {
    let is_of_constraints = |code: &str| code.starts_with("23");
    is_of_constraints(ours) && is_of_constraints(theirs) && sql.starts_with("INSERT") && sql.contains("SELECT")
}

fn contents(raid: &Answer, postgres: &Answer, keys: &[usize], sql: &str) -> Option<Difference> {
    let Answer::Done { columns: our_columns, rows: our_rows, tag: our_tag, parameters: our_parameters } = raid else {
        return None;
    };
    let Answer::Done { columns, rows, tag, parameters } = postgres else { return None };
    let types = |columns: &[Column]| -> Vec<u32> { columns.iter().map(|column| column.oid).collect() };
    if types(our_columns) != types(columns) {
        return Some(Difference::Types);
    }
    let (ours, theirs) = (Rows::of(columns, our_rows), Rows::of(columns, rows));
    if let Some(difference) = compare_rows(&ours, &theirs, keys, sql) {
        return Some(difference);
    }
    let names = |columns: &[Column]| -> Vec<String> { columns.iter().map(|column| column.name.clone()).collect() };
    if names(our_columns) != names(columns) {
        return Some(Difference::Names);
    }
    if our_parameters != parameters {
        return Some(Difference::Parameters);
    }
    (our_tag != tag).then_some(Difference::Tag)
}

/// Rows with the types of their columns.
#[derive(Clone, Copy)]
struct Rows<'a> {
    columns: &'a [Column],
    rows: &'a [Vec<Cell>],
}

/// Which values that are read differently are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leniency {
    /// None.
    Exact,
    /// Floats that differ by rounding.
    Floats,
    /// These, and numbers that differ by zeros at their end.
    FloatsAndScales,
}

impl<'a> Rows<'a> {
    fn of(columns: &'a [Column], rows: &'a [Vec<Cell>]) -> Rows<'a> {
        Rows { columns, rows }
    }

    /// The rows as they are compared.
    fn plain(self, leniency: Leniency) -> Vec<Vec<Cell>> {
        let cell = |(at, cell): (usize, &Cell)| {
            let value = cell.as_ref()?;
            let oid = self.columns.get(at).map_or(0, |column| column.oid);
            Some(match oid {
                _ if leniency == Leniency::Exact => value.clone(),
                oid if FLOATS.contains(&oid) => rounded(value, oid),
                NUMERIC if leniency == Leniency::FloatsAndScales => without_zeros(value),
                _ => value.clone(),
            })
        };
        self.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
    }
}

fn compare_rows(ours: &Rows<'_>, theirs: &Rows<'_>, keys: &[usize], sql: &str) -> Option<Difference> {
    // Of equal numbers that read differently either may stand for its group.
    let scales = [
        "GROUP BY",
        "DISTINCT",
        "UNION",
        "INTERSECT",
        "EXCEPT",
        "USING",
        "min(",
        "max(",
        "GREATEST",
        "LEAST",
        "MATERIALIZED",
    ]
    .iter()
    .any(|word| sql.contains(word));
    for leniency in [Leniency::Exact, if scales { Leniency::FloatsAndScales } else { Leniency::Floats }] {
        let (mut our_rows, mut their_rows) = (ours.plain(leniency), theirs.plain(leniency));
        let by_keys = |rows: &[Vec<Cell>]| -> Vec<Vec<Cell>> {
            rows.iter().map(|row| keys.iter().map(|key| row.get(*key).cloned().flatten()).collect()).collect()
        };
        let ordered = by_keys(&our_rows) == by_keys(&their_rows);
        our_rows.sort();
        their_rows.sort();
        if our_rows == their_rows {
            if ordered {
                return None;
            }
            if leniency != Leniency::Exact {
                return Some(Difference::Order);
            }
        }
    }
    let leniency = Leniency::FloatsAndScales;
    let (mut our_rows, mut their_rows) = (ours.plain(leniency), theirs.plain(leniency));
    our_rows.sort();
    their_rows.sort();
    Some(if our_rows == their_rows { Difference::Zeros } else { Difference::Rows })
}

/// Twelve digits of a float in text or binary form.
fn rounded(value: &[u8], oid: u32) -> Vec<u8> {
    let text = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    let number = match (text, value.len(), oid) {
        (Some(number), ..) => number,
        (None, 8, 701) => f64::from_be_bytes(value.try_into().unwrap_or_default()),
        (None, 4, 700) => f64::from(f32::from_be_bytes(value.try_into().unwrap_or_default())),
        _ => return value.to_vec(),
    };
    let number = if number == 0.0 { 0.0 } else { number };
    format!("{number:.11e}").into_bytes()
}

/// A numeric without zeros at its end, in text or binary form. (In binary form the scale is a field of its own, PostgreSQL's `numeric_send`.)
fn without_zeros(value: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(value) {
        Ok(text) if text.contains('.') && text.chars().all(|char| matches!(char, '0'..='9' | '.' | '-')) => {
            text.trim_end_matches('0').trim_end_matches('.').as_bytes().to_vec()
        }
        _ if value.len() >= 8 && value.len().is_multiple_of(2) && !value[0].is_ascii_digit() => {
            let mut plain = value.to_vec();
            plain[6..8].fill(0);
            plain
        }
        _ => value.to_vec(),
    }
}

/// Whether two sets of rows of the same types are the same, in any order.
pub fn same_rows(columns: &[Column], one: &[Vec<Cell>], other: &[Vec<Cell>], sql: &str) -> bool {
    compare_rows(&Rows::of(columns, one), &Rows::of(columns, other), &[], sql).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Refusal;

    fn answer(oid: u32, rows: &[&[Option<&str>]]) -> Answer {
        let cell = |cell: &Option<&str>| cell.map(|text| text.as_bytes().to_vec());
        let rows = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        let column = Column { name: "c".to_string(), oid };
        Answer::Done { columns: vec![column], rows, tag: "SELECT".to_string(), parameters: Vec::new() }
    }

    fn refused(code: &str) -> Answer {
        Answer::Refused(Refusal { code: code.to_string(), message: String::new() })
    }

    /// A judge that overlooks a kind of difference finds none of that kind.
    #[test]
    fn every_kind_of_difference_is_seen() {
        let one = answer(23, &[&[Some("1")], &[None]]);
        let other_order = answer(23, &[&[None], &[Some("1")]]);
        assert_eq!(compare(&one, &other_order, &[], ""), Verdict::Same);
        assert_eq!(compare(&one, &other_order, &[0], ""), Verdict::Differ(Difference::Order));
        assert_eq!(compare(&one, &answer(23, &[&[Some("1")]]), &[], ""), Verdict::Differ(Difference::Rows));
        assert_eq!(compare(&one, &answer(20, &[&[Some("1")], &[None]]), &[], ""), Verdict::Differ(Difference::Types));
        let inserted = "INSERT INTO t SELECT DISTINCT a FROM s";
        assert_eq!(compare(&refused("23502"), &refused("23505"), &[], inserted), Verdict::Same);
        assert_eq!(
            compare(&refused("23502"), &refused("23505"), &[], "INSERT INTO t VALUES (1)"),
            Verdict::Differ(Difference::Codes("23502".to_string(), "23505".to_string()))
        );
        assert_eq!(
            compare(&refused("42601"), &one, &[], ""),
            Verdict::Differ(Difference::Refused("42601".to_string()))
        );
        assert_eq!(
            compare(&one, &refused("42601"), &[], ""),
            Verdict::Differ(Difference::Accepted("42601".to_string()))
        );
        assert_eq!(compare(&refused("0A000"), &one, &[], ""), Verdict::Unsupported);
        assert_eq!(compare(&refused("22003"), &refused("22003"), &[], ""), Verdict::Same);
        assert_eq!(compare(&Answer::Broken(String::new()), &one, &[], ""), Verdict::Differ(Difference::Broken));
    }

    /// Sums of floats depend on the order of rows in their last digit, and no other digit.
    #[test]
    fn floats_may_differ_in_their_last_digits_only() {
        let one = answer(701, &[&[Some("0.30000000000000004")]]);
        assert_eq!(compare(&one, &answer(701, &[&[Some("0.3")]]), &[], ""), Verdict::Same);
        assert_eq!(compare(&one, &answer(701, &[&[Some("0.300001")]]), &[], ""), Verdict::Differ(Difference::Rows));
    }

    /// Digits of a numeric count, unless either of two equal numbers may stand for a group.
    #[test]
    fn zeros_count_unless_equals_are_merged() {
        let (one, other) = (answer(1700, &[&[Some("1.50")]]), answer(1700, &[&[Some("1.5")]]));
        assert_eq!(compare(&one, &other, &[], "SELECT a"), Verdict::Differ(Difference::Zeros));
        assert_eq!(compare(&one, &other, &[], "SELECT DISTINCT a"), Verdict::Same);
    }
}
