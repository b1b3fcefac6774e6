//! A tree in a form that is read at a glance, made of what `{:?}` prints: numbers of the arena become what they stand for, and what is not there, empty or
//! false is left out. `a@7` is the name `a` at byte 7.

use std::iter::Peekable;
use std::str::Chars;

use grammar::Parsed;
use grammar::ast::{Arena, ExpressionId, FromId, GroupingId, QueryId, StatementId};

/// Columns of a line; a longer node has a line for each part.
const WIDTH: usize = 110;

/// A value as `{:?}` prints it.
enum Value {
    /// A number, a string or a word.
    Word(String),
    /// `Name { field: value }` or `Name(value)`; fields of the second kind have no names.
    Node(String, Vec<(String, Value)>),
    List(Vec<Value>),
}

/// A statement in lines.
pub fn print(parsed: &Parsed) -> String {
    let value = resolve(read(&format!("{:?}", parsed.statement)), &parsed.arena);
    value.map(|value| lines(&value, 0)).unwrap_or_default()
}

fn read(text: &str) -> Value {
    value(&mut text.chars().peekable())
}

fn value(text: &mut Peekable<Chars<'_>>) -> Value {
    match text.peek() {
        Some('[') => {
            text.next();
            Value::List(items(text, ']').into_iter().map(|(_, value)| value).collect())
        }
        Some('(') => {
            text.next();
            Value::Node(String::new(), items(text, ')'))
        }
        Some('"') => {
            let mut string = String::from(text.next().unwrap_or('"'));
            while let Some(character) = text.next() {
                string.push(character);
                match character {
                    '\\' => string.extend(text.next()),
                    '"' => break,
                    _ => {}
                }
            }
            Value::Word(string)
        }
        _ => {
            let mut word = String::new();
            while let Some(character) =
                text.next_if(|character| character.is_alphanumeric() || "_-.".contains(*character))
            {
                word.push(character);
            }
            match text.peek() {
                Some('(') => {
                    text.next();
                    Value::Node(word, items(text, ')'))
                }
                Some(' ') => {
                    text.next();
                    match text.next_if_eq(&'{') {
                        Some(_) => Value::Node(word, items(text, '}')),
                        None => Value::Word(word),
                    }
                }
                _ => Value::Word(word),
            }
        }
    }
}

fn items(text: &mut Peekable<Chars<'_>>, end: char) -> Vec<(String, Value)> {
    let mut items = Vec::new();
    loop {
        while text.next_if(|character| matches!(character, ' ' | ',')).is_some() {}
        if text.peek().is_none_or(|character| *character == end) {
            text.next();
            return items;
        }
        let mut item = value(text);
        let mut name = String::new();
        if let (Value::Word(word), Some(':')) = (&item, text.peek()) {
            name.clone_from(word);
            text.next();
            text.next();
            item = value(text);
        }
        items.push((name, item));
    }
}

/// Puts nodes in place of their numbers and leaves out what says nothing.
fn resolve(value: Value, arena: &Arena) -> Option<Value> {
    match value {
        Value::Word(word) => {
            (!matches!(word.as_str(), "None" | "false" | "Default" | "No")).then_some(Value::Word(word))
        }
        Value::List(values) if values.is_empty() => None,
        Value::List(values) => {
            let empty = || Value::Word("-".to_string());
            Some(Value::List(values.into_iter().map(|value| resolve(value, arena).unwrap_or_else(empty)).collect()))
        }
        Value::Node(name, fields) => {
            let fields: Vec<(String, Value)> =
                fields.into_iter().filter_map(|(name, value)| Some((name, resolve(value, arena)?))).collect();
            if let [(_, Value::Word(number))] = fields.as_slice()
                && let Ok(number) = number.parse::<u32>()
                && let Some(text) = node(&name, number, arena)
            {
                return resolve(read(&text), arena);
            }
            match (name.as_str(), fields.as_slice()) {
                ("Name", [(_, Value::Word(text)), (_, Value::Word(at))]) => {
                    let text = text.trim_matches('"');
                    Some(Value::Word(format!("{text}@{at}")))
                }
                ("OperatorName", [(_, Value::Word(symbol)), (_, Value::Word(at))]) => {
                    let symbol = symbol.trim_matches('"');
                    Some(Value::Word(format!("{symbol}@{at}")))
                }
                // `Select(Select { .. })` says it twice.
                (outer, [(_, Value::Node(inner, _))]) if outer == inner => {
                    fields.into_iter().next().map(|(_, value)| value)
                }
                ("Some", _) => fields.into_iter().next().map(|(_, value)| value),
                // An expression is what it is, with its place behind.
                ("Expression", [(_, _), (_, Value::Word(at))]) => {
                    let at = at.clone();
                    match fields.into_iter().next() {
                        Some((_, Value::Node(name, parts))) => Some(Value::Node(format!("{name}@{at}"), parts)),
                        Some((_, Value::Word(word))) => Some(Value::Word(format!("{word}@{at}"))),
                        _ => None,
                    }
                }
                _ => Some(Value::Node(name, fields)),
            }
        }
    }
}

fn node(kind: &str, number: u32, arena: &Arena) -> Option<String> {
    Some(match kind {
        "ExpressionId" => format!("{:?}", arena[ExpressionId(number)]),
        "QueryId" => format!("{:?}", arena[QueryId(number)]),
        "FromId" => format!("{:?}", arena[FromId(number)]),
        "GroupingId" => format!("{:?}", arena[GroupingId(number)]),
        "StatementId" => format!("{:?}", arena[StatementId(number)]),
        _ => return None,
    })
}

fn line(value: &Value) -> String {
    match value {
        Value::Word(word) => word.clone(),
        Value::List(values) => format!("[{}]", values.iter().map(line).collect::<Vec<_>>().join(" ")),
        Value::Node(name, fields) => {
            let part = |(name, value): &(String, Value)| match name.as_str() {
                "" => line(value),
                name => format!("{name}={}", line(value)),
            };
            let parts: Vec<String> = fields.iter().map(part).collect();
            format!("{name}({})", parts.join(" "))
        }
    }
}

fn lines(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let whole = line(value);
    if indent.len() + whole.len() <= WIDTH {
        return format!("{indent}{whole}\n");
    }
    match value {
        Value::Word(word) => format!("{indent}{word}\n"),
        Value::List(values) => values.iter().map(|value| lines(value, depth)).collect(),
        Value::Node(name, fields) => {
            let mut text = format!("{indent}{name}\n");
            for (name, value) in fields {
                let short = line(value);
                let name = if name.is_empty() { String::new() } else { format!("{name}=") };
                if indent.len() + name.len() + short.len() + 2 <= WIDTH {
                    text.push_str(&format!("{indent}  {name}{short}\n"));
                } else if name.is_empty() {
                    text.push_str(&lines(value, depth + 1));
                } else {
                    text.push_str(&format!("{indent}  {name}\n{}", lines(value, depth + 2)));
                }
            }
            text
        }
    }
}
