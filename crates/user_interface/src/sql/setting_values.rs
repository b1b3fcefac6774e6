//! Values of parameters, as SET and its like write them.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::words::Words;
use sqlparser::tokenizer::Token;
use values::limits::MICROSECONDS_PER_SECOND;
use values::{Type, Value};

impl Words<'_> {
    /// A parameter and its new value; `None`: its default, or the present one, if CURRENT stands behind.
    pub(super) fn assignment(&mut self) -> Result<(String, Option<String>)> {
        let name = if self.skip(&["names"]) {
            "client_encoding".to_string()
        } else {
            let is_phrase = self.peek_is("time");
            let name = self.setting_name()?;
            let zone = name == "timezone";
            if self.skip(&["from"]) {
                return match self.peek_is("current") {
                    true => Ok((name, None)),
                    false => Err(self.error()),
                };
            }
            let is_assigned = self.skip_token(&Token::Eq) || self.skip(&["to"]) || zone && is_phrase;
            if !is_assigned {
                return Err(self.error());
            }
            name
        };
        let value = if self.skip(&["default"]) || (name == "timezone" && self.skip(&["local"])) {
            None
        } else {
            let mut value = self.listed_value(&name)?;
            while self.skip_token(&Token::Comma) {
                value.push_str(", ");
                value.push_str(&self.listed_value(&name)?);
            }
            Some(value)
        };
        Ok((name, value))
    }

    /// The interval behind SET TIME ZONE INTERVAL, as PostgreSQL's parser hands it on. Errors: 42601 for other fields than hours and minutes.
    pub(super) fn zone_interval(&mut self) -> Result<String> {
        let text = self.value()?;
        let number = text.trim().parse::<i64>().ok();
        let (mut written, mut unit) = (text.clone(), 1);
        if self.skip(&["hour"]) {
            let field = if self.skip(&["to"]) {
                self.expect("minute")?;
                unit = 60 * MICROSECONDS_PER_SECOND;
                "minutes"
            } else {
                unit = 3600 * MICROSECONDS_PER_SECOND;
                "hours"
            };
            if let Some(number) = number {
                written = format!("{number} {field}");
            }
        } else if ["year", "month", "day", "minute", "second"].iter().any(|field| self.peek_is(field)) {
            let message = "time zone interval must be HOUR or HOUR TO MINUTE";
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
        }
        let Value::Interval(mut span) = values::text::parse(&written, Type::Interval(None))? else {
            return Err(self.error());
        };
        span.microseconds = span.microseconds / unit * unit;
        let span = values::text::to_string(&Value::Interval(span)).unwrap_or_default();
        Ok(format!("INTERVAL '{span}'"))
    }

    /// One of several values. Those of search_path are names, which keep the quotes that they need.
    fn listed_value(&mut self, setting: &str) -> Result<String> {
        let is_text = matches!(self.peek(), Some(Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)));
        let quoted = setting == "search_path" && (is_text || self.peek_is_quoted());
        let value = self.value()?;
        let plain =
            !value.is_empty() && value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        Ok(if quoted && !plain { format!("\"{}\"", value.replace('"', "\"\"")) } else { value })
    }

    /// A setting's value: a word, a text, a number with a sign.
    pub(super) fn value(&mut self) -> Result<String> {
        let minus = self.skip_token(&Token::Minus);
        if !minus {
            self.skip_token(&Token::Plus);
        }
        let value = match self.peek() {
            Some(Token::Number(digits, _)) => digits.clone(),
            Some(Token::Word(word)) if !minus => word.value.clone(),
            Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) if !minus => text.clone(),
            _ => return Err(self.error()),
        };
        self.advance();
        Ok(if minus { format!("-{value}") } else { value })
    }
}
