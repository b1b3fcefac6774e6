//! Modifiers of types: `numeric(10, 2)` as the number that PostgreSQL makes of it.

use grammar::ast::{ExpressionNode, IntervalFields, TypeName};

use super::{Analyzer, Result, error_at, not_built};
use crate::error::{INVALID_PARAMETER_VALUE, SYNTAX_ERROR};
use crate::facts::TypeRow;
use crate::types::{
    BIT, BPCHAR, INTERVAL, NO_MODIFIER, NUMERIC, TIME, TIMESTAMP, TIMESTAMPTZ, TIMETZ, VARBIT, VARCHAR,
};

/// The most characters that a length may say.
const LENGTH_MAX: i32 = 10 * 1024 * 1024;
/// Digits of a second that are kept.
const SECOND_DIGITS_MAX: i32 = 6;
/// All fields of an interval.
const ALL_FIELDS: i32 = 0x7fff;
/// All digits of its seconds.
const ALL_DIGITS: i32 = 0xffff;

impl Analyzer<'_> {
    /// The modifier that a name of a type says; -1 if none.
    pub fn modifier(&self, row: &TypeRow, name: &TypeName) -> Result<i32> {
        if row.id == INTERVAL {
            return self.interval_modifier(name);
        }
        if name.modifiers.is_empty() {
            return Ok(NO_MODIFIER);
        }
        if row.modifier_input == "-" {
            let shown = super::missing::written(&name.names);
            let message = format!("type modifier is not allowed for type \"{shown}\"");
            return error_at(SYNTAX_ERROR, message, name.at);
        }
        let numbers = self.numbers(name)?;
        let refuse = |message: String| error_at(INVALID_PARAMETER_VALUE, message, name.at);
        match (row.id, numbers.as_slice()) {
            (BPCHAR | VARCHAR | BIT | VARBIT, &[length]) => {
                let shown = match row.id {
                    BPCHAR => "char",
                    VARCHAR => "varchar",
                    BIT => "bit",
                    _ => "bit varying",
                };
                let bits = matches!(row.id, BIT | VARBIT);
                if length < 1 {
                    return refuse(format!("length for type {shown} must be at least 1"));
                }
                let most = if bits { LENGTH_MAX * 8 } else { LENGTH_MAX };
                if length > most {
                    return refuse(format!("length for type {shown} cannot exceed {most}"));
                }
                Ok(if bits { length } else { length + 4 })
            }
            (NUMERIC, &[precision]) => numeric(precision, 0).or_else(refuse),
            (NUMERIC, &[precision, scale]) => numeric(precision, scale).or_else(refuse),
            (NUMERIC, _) => refuse("invalid NUMERIC type modifier".to_string()),
            (TIME | TIMETZ | TIMESTAMP | TIMESTAMPTZ, &[digits]) => {
                if digits < 0 {
                    let word = if matches!(row.id, TIME | TIMETZ) { "TIME" } else { "TIMESTAMP" };
                    let zone = if matches!(row.id, TIMETZ | TIMESTAMPTZ) { " WITH TIME ZONE" } else { "" };
                    return refuse(format!("{word}({digits}){zone} precision must not be negative"));
                }
                Ok(digits.min(SECOND_DIGITS_MAX))
            }
            (BPCHAR | VARCHAR | BIT | VARBIT | TIME | TIMETZ | TIMESTAMP | TIMESTAMPTZ, _) => {
                refuse("invalid type modifier".to_string())
            }
            _ => not_built(format!("a modifier of type {}", row.name), name.at),
        }
    }

    fn numbers(&self, name: &TypeName) -> Result<Vec<i32>> {
        let mut numbers = Vec::with_capacity(name.modifiers.len());
        for modifier in &name.modifiers {
            match &self.arena[*modifier].node {
                ExpressionNode::Integer(number) => numbers.push(*number),
                ExpressionNode::Number(text) | ExpressionNode::String(text) => match text.parse() {
                    Ok(number) => numbers.push(number),
                    Err(_) => {
                        let message = format!("invalid input syntax for type integer: \"{text}\"");
                        return error_at(sqlstate::INVALID_TEXT_REPRESENTATION, message, name.at);
                    }
                },
                ExpressionNode::Column { names, star: false } if names.len() == 1 => {
                    let message = format!("invalid input syntax for type integer: \"{}\"", names[0].text);
                    return error_at(sqlstate::INVALID_TEXT_REPRESENTATION, message, name.at);
                }
                _ => {
                    let message = "type modifiers must be simple constants or identifiers";
                    return error_at(SYNTAX_ERROR, message, name.at);
                }
            }
        }
        Ok(numbers)
    }

    /// Fields in the upper half, a bit each; digits of a second in the lower one.
    fn interval_modifier(&self, name: &TypeName) -> Result<i32> {
        let digits = match self.numbers(name)?.first() {
            Some(digits) if *digits < 0 => {
                let message = format!("INTERVAL({digits}) precision must not be negative");
                return error_at(INVALID_PARAMETER_VALUE, message, name.at);
            }
            Some(digits) => (*digits).min(SECOND_DIGITS_MAX),
            None => ALL_DIGITS,
        };
        let fields = match name.fields {
            None if digits == ALL_DIGITS => return Ok(NO_MODIFIER),
            None => ALL_FIELDS,
            Some(fields) => mask(fields),
        };
        Ok((fields << 16) | digits)
    }
}

fn mask(fields: IntervalFields) -> i32 {
    const YEAR: i32 = 1 << 2;
    const MONTH: i32 = 1 << 1;
    const DAY: i32 = 1 << 3;
    const HOUR: i32 = 1 << 10;
    const MINUTE: i32 = 1 << 11;
    const SECOND: i32 = 1 << 12;
    match fields {
        IntervalFields::Year => YEAR,
        IntervalFields::Month => MONTH,
        IntervalFields::Day => DAY,
        IntervalFields::Hour => HOUR,
        IntervalFields::Minute => MINUTE,
        IntervalFields::Second => SECOND,
        IntervalFields::YearToMonth => YEAR | MONTH,
        IntervalFields::DayToHour => DAY | HOUR,
        IntervalFields::DayToMinute => DAY | HOUR | MINUTE,
        IntervalFields::DayToSecond => DAY | HOUR | MINUTE | SECOND,
        IntervalFields::HourToMinute => HOUR | MINUTE,
        IntervalFields::HourToSecond => HOUR | MINUTE | SECOND,
        IntervalFields::MinuteToSecond => MINUTE | SECOND,
    }
}

fn numeric(precision: i32, scale: i32) -> std::result::Result<i32, String> {
    if !(1..=1000).contains(&precision) {
        return Err(format!("NUMERIC precision {precision} must be between 1 and 1000"));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(format!("NUMERIC scale {scale} must be between -1000 and 1000"));
    }
    Ok(((precision << 16) | (scale & 0x7ff)) + 4)
}
