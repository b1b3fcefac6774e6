//! What is said of a sequence: options as tokens and as the parser has them, and the sequence that they make.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::names;
use crate::sql::words::Words;
use messages::schema::SequenceSchema;
use sqlparser::ast::{self, Expr};
use sqlparser::tokenizer::Token;
use values::Type;

/// What is said of a sequence; `None`: nothing; within, `None`: NO, or without a value.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// AS.
    pub data_type: Option<Type>,
    /// INCREMENT.
    pub increment: Option<i64>,
    /// MINVALUE.
    pub minimum: Option<Option<i64>>,
    /// MAXVALUE.
    pub maximum: Option<Option<i64>>,
    /// START.
    pub start: Option<i64>,
    /// RESTART.
    pub restart: Option<Option<i64>>,
    /// CACHE.
    pub cache: Option<i64>,
    /// CYCLE.
    pub cycle: Option<bool>,
    /// OWNED BY.
    pub owned_by: Option<Option<(String, String)>>,
}

/// `name` or `schema.name`, as it was written.
pub(super) fn relation(words: &mut Words) -> Result<String> {
    let name = words.name()?;
    if !words.skip_token(&Token::Period) {
        return Ok(name);
    }
    let own = words.name()?;
    Ok(names::written(&name, &own))
}

pub(super) fn options(words: &mut Words) -> Result<Options> {
    let mut options = Options::default();
    while words.peek().is_some() {
        let word = words.keyword().ok_or_else(|| words.error())?;
        match word.as_str() {
            "as" => {
                let spelled = words.keyword().ok_or_else(|| words.error())?;
                once(&mut options.data_type, spelled.parse::<Type>()?)?;
            }
            "increment" => {
                words.skip(&["by"]);
                once(&mut options.increment, number(words)?)?;
            }
            "minvalue" => once(&mut options.minimum, Some(number(words)?))?,
            "maxvalue" => once(&mut options.maximum, Some(number(words)?))?,
            "no" => match words.keyword().as_deref() {
                Some("minvalue") => once(&mut options.minimum, None)?,
                Some("maxvalue") => once(&mut options.maximum, None)?,
                Some("cycle") => once(&mut options.cycle, false)?,
                _ => return Err(words.error()),
            },
            "start" => {
                words.skip(&["with"]);
                once(&mut options.start, number(words)?)?;
            }
            "restart" => {
                let says = words.skip(&["with"])
                    || matches!(words.peek(), Some(Token::Number(..) | Token::Minus | Token::Plus));
                let value = if says { Some(number(words)?) } else { None };
                once(&mut options.restart, value)?;
            }
            "cache" => once(&mut options.cache, number(words)?)?,
            "cycle" => once(&mut options.cycle, true)?,
            "owned" => {
                words.expect("by")?;
                once(&mut options.owned_by, owner(words)?)?;
            }
            _ => return Err(SqlError::syntax(&word)),
        }
    }
    Ok(options)
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options")),
    }
}

fn number(words: &mut Words) -> Result<i64> {
    let minus = words.skip_token(&Token::Minus);
    if !minus {
        words.skip_token(&Token::Plus);
    }
    let Some(Token::Number(digits, _)) = words.peek() else { return Err(words.error()) };
    let text = if minus { format!("-{digits}") } else { digits.clone() };
    let value = text.parse().map_err(|_| {
        SqlError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("value \"{text}\" is out of range for type bigint"))
    })?;
    words.advance();
    Ok(value)
}

/// `NONE`, or a table's column.
fn owner(words: &mut Words) -> Result<Option<(String, String)>> {
    let unquoted = words.peek_is("none");
    let mut parts = vec![words.name()?];
    while words.skip_token(&Token::Period) {
        parts.push(words.name()?);
    }
    match parts.as_slice() {
        [_] if unquoted => Ok(None),
        [table, column] => Ok(Some((table.clone(), column.clone()))),
        [schema, table, column] => Ok(Some((names::written(schema, table), column.clone()))),
        _ => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "invalid OWNED BY option")
            .with_hint("Specify OWNED BY table.column or OWNED BY NONE.")),
    }
}

/// Options of an identity column as the parser gives them.
pub(super) fn identity_options(given: &[ast::SequenceOptions]) -> Result<Options> {
    use ast::SequenceOptions as O;
    let mut options = Options::default();
    let value = |expression: &Expr| -> Result<i64> {
        let text = expression.to_string();
        text.parse().map_err(|_| SqlError::syntax(&text))
    };
    for option in given {
        match option {
            O::IncrementBy(by, _) => once(&mut options.increment, value(by)?)?,
            O::MinValue(minimum) => once(&mut options.minimum, minimum.as_ref().map(value).transpose()?)?,
            O::MaxValue(maximum) => once(&mut options.maximum, maximum.as_ref().map(value).transpose()?)?,
            O::StartWith(start, _) => once(&mut options.start, value(start)?)?,
            O::Cache(cache) => once(&mut options.cache, value(cache)?)?,
            // The parser says whether NO was there.
            O::Cycle(no) => once(&mut options.cycle, !no)?,
        }
    }
    Ok(options)
}

pub(super) fn limits(data_type: Type) -> Result<(i64, i64)> {
    match data_type {
        Type::SmallInt => Ok((i64::from(i16::MIN), i64::from(i16::MAX))),
        Type::Integer => Ok((i64::from(i32::MIN), i64::from(i32::MAX))),
        Type::BigInt => Ok((i64::MIN, i64::MAX)),
        _ => Err(wrong("sequence type must be smallint, integer, or bigint")),
    }
}

pub(super) fn wrong(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

impl Options {
    /// What a sequence is with these options, new or as it was before; and the value that it is to go on with, if they say. Errors: 22023.
    pub(super) fn apply(&self, before: Option<&SequenceSchema>) -> Result<(SequenceSchema, Option<i64>)> {
        let data_type = self.data_type.or(before.map(|before| before.data_type)).unwrap_or(Type::BigInt);
        let (lowest, highest) = limits(data_type)?;
        let increment = self.increment.or(before.map(|before| before.increment)).unwrap_or(1);
        if increment == 0 {
            return Err(wrong("INCREMENT must not be zero"));
        }
        let (minimum, maximum) = self.bounds(before, data_type, increment)?;
        for (word, bound) in [("MAXVALUE", maximum), ("MINVALUE", minimum)] {
            if !(lowest..=highest).contains(&bound) {
                let message = format!("{word} ({bound}) is out of range for sequence data type {data_type}");
                return Err(wrong(message));
            }
        }
        if minimum >= maximum {
            return Err(wrong(format!("MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})")));
        }
        let first = if increment > 0 { minimum } else { maximum };
        let start = self.start.or(before.map(|before| before.start)).unwrap_or(first);
        let restart = self.restart.map(|value| value.unwrap_or(start));
        for (word, value) in [("START", Some(start)), ("RESTART", restart)] {
            let limit = match value {
                Some(value) if value < minimum => {
                    format!("{word} value ({value}) cannot be less than MINVALUE ({minimum})")
                }
                Some(value) if value > maximum => {
                    format!("{word} value ({value}) cannot be greater than MAXVALUE ({maximum})")
                }
                _ => continue,
            };
            return Err(wrong(limit));
        }
        let cache = self.cache.or(before.map(|before| before.cache)).unwrap_or(1);
        if cache <= 0 {
            return Err(wrong(format!("CACHE ({cache}) must be greater than zero")));
        }
        let cycle = self.cycle.or(before.map(|before| before.cycle)).unwrap_or(false);
        let owned_by = before.and_then(|before| before.owned_by);
        let generation = before.map_or(0, |before| before.generation.wrapping_add(1));
        let schema =
            SequenceSchema { data_type, start, increment, minimum, maximum, cache, cycle, owned_by, generation };
        Ok((schema, restart))
    }

    /// The least and the greatest value.
    fn bounds(&self, before: Option<&SequenceSchema>, data_type: Type, increment: i64) -> Result<(i64, i64)> {
        let (lowest, highest) = limits(data_type)?;
        // A bound that was the type's goes with the type.
        let old = before.filter(|before| before.data_type != data_type);
        let old_limits = old.map(|old| limits(old.data_type)).transpose()?;
        let kept_maximum =
            before.map(|before| before.maximum).filter(|max| old_limits.is_none_or(|(_, high)| high != *max));
        let kept_minimum =
            before.map(|before| before.minimum).filter(|min| old_limits.is_none_or(|(low, _)| low != *min));
        let maximum = match self.maximum {
            Some(Some(maximum)) => maximum,
            None if kept_maximum.is_some() => kept_maximum.unwrap_or_default(),
            _ => {
                if increment > 0 {
                    highest
                } else {
                    -1
                }
            }
        };
        let minimum = match self.minimum {
            Some(Some(minimum)) => minimum,
            None if kept_minimum.is_some() => kept_minimum.unwrap_or_default(),
            _ => {
                if increment > 0 {
                    1
                } else {
                    lowest
                }
            }
        };
        Ok((minimum, maximum))
    }
}
