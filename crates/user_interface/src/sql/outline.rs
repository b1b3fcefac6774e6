//! Outlines: the text of a statement with its constants taken out, as parameters. Statements that differ in constants alone have one outline, and are
//! compiled once.
//!
//! Invariant: a constant is taken out only where a parameter means the same: beside a comparison or arithmetic, behind BETWEEN, or as a whole value of
//! VALUES. What else is a number or a string there (a position of ORDER BY, a count, the length of a type, a text with a type before or behind it) stays. A text
//! that is not understood to its end has no outline.

use crate::limits::{OUTLINE_BYTES_MAX, OUTLINE_CONSTANTS_MAX};
use crate::sql::prepared::{Plan, Prepared};
use messages::program::{AccessPath, Action, Expression, PrefixBounds, Program, RowSource};
use std::mem::{Discriminant, discriminant};
use std::ops::Range;
use values::Type;

/// A statement's text without its constants.
#[derive(Debug, PartialEq, Eq)]
pub struct Outline {
    /// With `$1` and so on for them, from its first word to the last.
    pub text: String,
    /// Their types; `None`: a string, which takes the type of what is around it.
    pub declared: Vec<Option<Type>>,
    /// What was taken out, as texts of these types.
    pub constants: Vec<Box<str>>,
    /// Where the statement begins.
    begin: usize,
    /// Where in the text each constant was.
    places: Vec<Range<usize>>,
}

/// A token, as far as it matters what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutlineToken<'a> {
    Start,
    Word(&'a str),
    /// Digits alone.
    Whole(&'a str),
    /// With its quotes.
    Text(&'a str),
    /// Of operator characters.
    Operator(&'a str),
    /// Any other character.
    Mark(u8),
    /// A number with a point or an exponent, a quoted name.
    Other,
    End,
}

/// OutlineTokens of a text one by one.
struct OutlineTokens<'a> {
    text: &'a str,
    at: usize,
}

const OPERATORS: &[u8] = b"+-*/<>=~!@#%^&|`?";

impl<'a> OutlineTokens<'a> {
    /// The next token and where it is; `None`: what is there is not understood here.
    fn next(&mut self) -> Option<(OutlineToken<'a>, Range<usize>)> {
        let bytes = self.text.as_bytes();
        let run = |from: usize, is: fn(u8) -> bool| from + bytes[from..].iter().take_while(|byte| is(**byte)).count();
        let from = run(self.at, |byte| byte.is_ascii_whitespace());
        let Some(&first) = bytes.get(from) else {
            self.at = from;
            return Some((OutlineToken::End, from..from));
        };
        let of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        let (token, to) = match first {
            b'0'..=b'9' => {
                let to = run(from, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || byte >= 0x80);
                let number = &self.text[from..to];
                let is_whole = number.bytes().all(|byte| byte.is_ascii_digit());
                // An exponent may have a sign, which would be an operator here.
                if !is_whole && number.ends_with(['e', 'E']) {
                    return None;
                }
                (if is_whole { OutlineToken::Whole(number) } else { OutlineToken::Other }, to)
            }
            byte if of_word(byte) => {
                let to = run(from, of_word);
                // A letter before a quote makes another kind of string.
                if matches!(bytes.get(to), Some(b'\'' | b'&')) {
                    return None;
                }
                (OutlineToken::Word(&self.text[from..to]), to)
            }
            quote @ (b'\'' | b'"') => {
                let mut to = from + 1;
                loop {
                    to += bytes[to..].iter().position(|byte| *byte == quote)? + 1;
                    if bytes.get(to) != Some(&quote) {
                        break;
                    }
                    to += 1;
                }
                (if quote == b'"' { OutlineToken::Other } else { OutlineToken::Text(&self.text[from..to]) }, to)
            }
            byte if OPERATORS.contains(&byte) => {
                let to = run(from, |byte| OPERATORS.contains(&byte));
                let operator = &self.text[from..to];
                if operator.contains("--") || operator.contains("/*") {
                    return None;
                }
                (OutlineToken::Operator(operator), to)
            }
            b'(' | b')' | b',' | b'.' | b';' => (OutlineToken::Mark(first), from + 1),
            // A cast, a slice, a parameter, and whatever there may be.
            _ => return None,
        };
        self.at = to;
        Some((token, from..to))
    }
}

fn is_any(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Words that can stand behind a whole operand.
const BEHIND: &[&str] = &[
    "and",
    "or",
    "where",
    "order",
    "group",
    "limit",
    "offset",
    "returning",
    "for",
    "on",
    "then",
    "else",
    "end",
    "having",
    "from",
    "union",
];

impl OutlineToken<'_> {
    /// Whether a number or string behind it is an operand of a comparison, arithmetic or BETWEEN.
    fn is_before_operand(self) -> bool {
        match self {
            OutlineToken::Operator(operator) => {
                is_any(operator, &["=", "<", ">", "<=", ">=", "<>", "!=", "+", "-", "*"])
            }
            OutlineToken::Word(word) => is_any(word, &["between", "and"]),
            _ => false,
        }
    }

    /// Whether what stands before it was a whole operand, of arithmetic too.
    fn ends_operand(self, arithmetic: bool) -> bool {
        match self {
            OutlineToken::End | OutlineToken::Mark(b')' | b',' | b';') => true,
            OutlineToken::Word(word) => is_any(word, BEHIND),
            OutlineToken::Operator(operator) => {
                arithmetic && is_any(operator, &["=", "<", ">", "<=", ">=", "<>", "!=", "+", "-", "*"])
            }
            _ => false,
        }
    }
}

impl Outline {
    /// The outline of a text; `None`: it has none, or nothing is taken out of it.
    pub fn of(text: &str) -> Option<Outline> {
        if text.len() > OUTLINE_BYTES_MAX {
            return None;
        }
        let mut tokens = OutlineTokens { text, at: 0 };
        let (mut before, (mut token, mut place)) = (OutlineToken::Start, tokens.next()?);
        let mut made = Outline {
            text: String::with_capacity(text.len()),
            declared: Vec::new(),
            constants: Vec::new(),
            begin: place.start,
            places: Vec::new(),
        };
        let OutlineToken::Word(verb) = token else { return None };
        let is_insert = verb.eq_ignore_ascii_case("insert");
        if !is_insert && !is_any(verb, &["select", "update", "delete"]) {
            return None;
        }
        // Within VALUES of an INSERT, and how many parentheses are open.
        let (mut in_values, mut depth, mut copied) = (false, 0_usize, place.start);
        let end = loop {
            let (next, next_place) = tokens.next()?;
            match token {
                OutlineToken::End => break place.start,
                OutlineToken::Mark(b'(') => depth += 1,
                OutlineToken::Mark(b')') => depth = depth.checked_sub(1)?,
                OutlineToken::Mark(b';') if next == OutlineToken::End => break place.start,
                OutlineToken::Mark(b';') => return None,
                // What it shows is not kept, and is asked for seldom.
                OutlineToken::Word(word) if is_special(word, is_insert) => return None,
                OutlineToken::Word(word) if depth == 0 && is_insert => in_values = word.eq_ignore_ascii_case("values"),
                OutlineToken::Whole(_) | OutlineToken::Text(_) => {
                    let is_number = matches!(token, OutlineToken::Whole(_));
                    let is_value = in_values && depth == 1 && matches!(before, OutlineToken::Mark(b'(' | b','));
                    let is_operand = before.is_before_operand() && (is_number || is_compared(before));
                    let ends = if is_value {
                        matches!(next, OutlineToken::Mark(b')' | b','))
                    } else {
                        next.ends_operand(is_number)
                    };
                    if let (true, true, Some((declared, constant))) = (is_value || is_operand, ends, constant(token)) {
                        made.text.push_str(&text[copied..place.start]);
                        made.declared.push(declared);
                        made.text.push('$');
                        made.text.push_str(&made.declared.len().to_string());
                        made.constants.push(constant);
                        made.places.push(place.clone());
                        copied = place.end;
                    }
                }
                _ => {}
            }
            (before, token, place) = (token, next, next_place);
        };
        made.text.push_str(text[copied..end].trim_end());
        (1..=OUTLINE_CONSTANTS_MAX).contains(&made.declared.len()).then_some(made)
    }

    /// A position in the outline as one in the text that it was made of; both in characters from 1.
    pub fn position_in(&self, text: &str, position: usize) -> usize {
        // Only blanks are before it.
        let (mut characters, mut copied, mut longer) = (0, self.begin, self.begin as isize);
        for (number, place) in (1_usize..).zip(&self.places) {
            characters += text[copied..place.start].chars().count();
            if position <= characters + 1 {
                break;
            }
            let (was, is) = (text[place.clone()].chars().count(), 1 + number.to_string().len());
            characters += is;
            longer += was as isize - is as isize;
            copied = place.end;
        }
        position.saturating_add_signed(longer)
    }
}

/// Whether a word tells of what has no outline: catalogs, tables of queries, what would be another parameter.
fn is_special(word: &str, is_insert: bool) -> bool {
    let begins = |with: &str| word.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    begins("pg_")
        || word.eq_ignore_ascii_case("information_schema")
        || (!is_insert && word.eq_ignore_ascii_case("into"))
}

/// Whether what is before a string compares or assigns it: beside arithmetic its type might be another than a parameter's.
fn is_compared(before: OutlineToken) -> bool {
    !matches!(before, OutlineToken::Operator("+" | "-" | "*"))
}

/// A constant's type and text; `None`: it stays where it is.
fn constant(token: OutlineToken) -> Option<(Option<Type>, Box<str>)> {
    match token {
        OutlineToken::Whole(digits) => {
            let number: i64 = digits.parse().ok()?;
            let data_type = if i32::try_from(number).is_ok() { Type::Integer } else { Type::BigInt };
            Some((Some(data_type), digits.into()))
        }
        OutlineToken::Text(quoted) => Some((None, quoted[1..quoted.len() - 1].replace("''", "'").into())),
        _ => None,
    }
}

/// Whether a statement that was compiled from an outline does what the one with constants does, and finds its rows in the same ways.
pub fn stands_for(outline: &Prepared, whole: &Prepared) -> bool {
    let is_plain = |prepared: &Prepared| {
        let takes_locks = !prepared.locks.is_empty() || !prepared.table_locks.is_empty();
        let is_tied =
            prepared.outside_blocks.is_some() || prepared.inside_blocks.is_some() || prepared.cursor.is_some();
        prepared.shareable && prepared.denied.is_none() && prepared.sleeps.is_empty() && !takes_locks && !is_tied
    };
    let is_alike = match (&outline.plan, &whole.plan) {
        (Plan::Program(left), Plan::Program(right)) => ways(left) == ways(right),
        (Plan::Query(_), Plan::Query(_)) => true,
        _ => false,
    };
    is_plain(outline) && is_plain(whole) && is_alike && outline.tag == whole.tag && outline.writes == whole.writes
}

/// How an action finds rows: its kind, the kind of its path, the index, how many columns and bounds the path has, its direction, and whether rows are filtered.
type ProgramWay =
    (Discriminant<Action>, Option<(Discriminant<AccessPath>, Option<usize>, usize, bool, bool, bool)>, bool);

fn ways(program: &Program) -> Vec<ProgramWay> {
    let of_source = |source: &RowSource| {
        let of_bounds = |bounds: &PrefixBounds| (bounds.prefix.len(), bounds.low.is_some(), bounds.high.is_some());
        let (index, (columns, low, high)) = match &source.path {
            AccessPath::Point(values) => (None, (values.len(), false, false)),
            AccessPath::OneOf(several) => (several.index, (several.equal.len(), false, false)),
            AccessPath::KeyRange(bounds) => (None, of_bounds(bounds)),
            AccessPath::IndexRange(index, bounds) => (Some(*index), of_bounds(bounds)),
            AccessPath::Supplied => (None, (0, false, false)),
        };
        (discriminant(&source.path), index, columns, low, high, source.reverse)
    };
    let way = |action: &Action| {
        let (source, filter): (Option<&RowSource>, &Option<Expression>) = match action {
            Action::Select { source, filter, .. } => (source.as_ref(), filter),
            Action::Update { source, filter, .. } | Action::Delete { source, filter, .. } => (Some(source), filter),
            _ => (None, &None),
        };
        (discriminant(action), source.map(of_source), filter.is_some())
    };
    program.actions.iter().map(way).collect()
}

/// What is known of the outlines that came lately: as many as there are places, each outline having one of them. Whoever loses its place is new again.
#[derive(Debug)]
pub struct KnownOutlines {
    places: Box<[(u64, OutlineStanding)]>,
}

/// What is known of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlineStanding {
    /// Nothing: it may never come again.
    New,
    /// It has come before.
    Seen,
    /// With the catalog of this generation it does not stand for its statements.
    Refused(u64),
}

impl KnownOutlines {
    /// Nothing is known; there is room for so many.
    pub fn with_room(places: usize) -> KnownOutlines {
        KnownOutlines { places: vec![(0, OutlineStanding::New); places].into() }
    }

    /// What is known of the outline with this hash.
    pub fn standing(&self, hash: u64) -> OutlineStanding {
        let (known, standing) = self.places[self.place(hash)];
        if known == hash { standing } else { OutlineStanding::New }
    }

    /// From now on this is known of it.
    pub fn note(&mut self, hash: u64, standing: OutlineStanding) {
        let place = self.place(hash);
        self.places[place] = (hash, standing);
    }

    fn place(&self, hash: u64) -> usize {
        (hash % self.places.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Option<(String, Vec<String>)> {
        Outline::of(text).map(|made| (made.text, made.constants.iter().map(ToString::to_string).collect()))
    }

    /// If this fails, statements of an ordinary load are compiled one by one.
    #[test]
    fn constants_are_taken_out() {
        for (text, made, constants) in [
            ("SELECT c FROM t WHERE id = 7;", "SELECT c FROM t WHERE id = $1", &["7"][..]),
            (
                "select c from t where id between 5 and 5 + 99 order by c limit 3",
                "select c from t where id between $1 and $2 + $3 order by c limit 3",
                &["5", "5", "99"],
            ),
            (
                "update t set k = k+1, c = 'it''s' where a=-2",
                "update t set k = k+$1, c = $2 where a=-2",
                &["1", "it's"],
            ),
            (
                "insert into t (a, b) values (1, 'x'), (2, 'y') on conflict (a) do nothing",
                "insert into t (a, b) values ($1, $2), ($3, $4) on conflict (a) do nothing",
                &["1", "x", "2", "y"],
            ),
            ("delete from t where id = 3000000000", "delete from t where id = $1", &["3000000000"]),
        ] {
            let expected = Some((made.to_string(), constants.iter().map(ToString::to_string).collect()));
            assert_eq!(outline(text), expected, "{text}");
        }
    }

    /// If this fails, a number or string that is no value becomes a parameter, which means something else or nothing.
    #[test]
    fn what_is_no_operand_stays() {
        for text in [
            "select a from t order by 1",
            "select a from t limit 5 offset 2",
            "select cast(a as numeric(10, 2)) from t",
            "select sum(a) over (rows between 1 preceding and 2 following) from t",
            "select a from t where d > date '2020-01-01'",
            "select a from t where d = '2020-01-01'::date",
            "select a from t where a = 'x' || b",
            "select a from t where a = 'x' collate \"C\"",
            "select a from t where a = e'x'",
            "select a from t where a = 1.5",
            "select a from t where a = 1e-5",
            "select a from t where a = 'x'\n'y'",
            "select a from t where a = 1 -- 2",
            "select a from t where a = /* 2 */ 1",
            "select a from t where a = $1",
            "select a from t where a = $$x$$",
            "select a from t where a = 99999999999999999999",
            "select a into s from t where a = 1",
            "select relname from pg_class where oid = 1",
            "select a from t where a = 1; select 2",
            "insert into t values (f(1))",
            "create table t (a int check (a > 1))",
            "select a from t where a = 'x",
            "select f(x => 1)",
        ] {
            assert_eq!(outline(text), None, "{text}");
        }
    }

    /// A client shows its user the place of an error by its position.
    #[test]
    fn positions_are_those_of_the_text() {
        let text = " \n select a from t where a = 12345 and b = 'größer' and c > 0";
        let made = Outline::of(text).expect("it has one");
        for sought in ["a from", "12345", "and b", "b =", "'größer'", "and c", "c >", "0"] {
            let at = |text: &str, sought: &str| text[..text.find(sought).expect("it is there")].chars().count() + 1;
            let within = match sought {
                "12345" => "$1",
                "'größer'" => "$2",
                "0" => "$3",
                other => other,
            };
            assert_eq!(made.position_in(text, at(&made.text, within)), at(text, sought), "{sought}");
        }
    }
}
