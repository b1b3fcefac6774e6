//! The syntax of COPY and its options, in the newer form and the older ones.
//!
//! Invariant: an option that is accepted is obeyed, but for FREEZE, which only hints.

use crate::errors::{Result, SqlError, sqlstate};
use crate::protocol::copy::{Format, Options};
use crate::sql::places::offset;
use crate::sql::sequence_options::relation;
use crate::sql::utility::{Copy, CopySource, Utility};
use crate::sql::words::Words;
use sqlparser::tokenizer::Token;
use std::sync::Arc;

impl Words<'_> {
    pub(super) fn copy(&mut self) -> Result<Utility> {
        self.skip(&["binary"]);
        let source = if self.peek() == Some(&Token::LParen) {
            CopySource::Query(self.parenthesized()?)
        } else {
            let name = relation(self)?;
            CopySource::Table(name, self.names_in_parentheses()?)
        };
        let outwards = match self.keyword().as_deref() {
            Some("to") => true,
            Some("from") => false,
            _ => return Err(self.error()),
        };
        match self.keyword().as_deref() {
            Some("stdin" | "stdout") => {}
            Some("program") => return Err(SqlError::unsupported("COPY with a program")),
            _ => {
                return Err(SqlError::unsupported("COPY with a file of the server")
                    .with_hint("Use STDIN or STDOUT; psql's \\copy reads and writes files of the client."));
            }
        }
        if !outwards && matches!(source, CopySource::Query(_)) {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "COPY query must have TO STDOUT"));
        }
        let options = self.copy_options()?;
        Ok(Utility::Copy(Copy { source, outwards, options }))
    }

    /// The text within the parentheses that come next.
    fn parenthesized(&mut self) -> Result<Arc<str>> {
        let start = self.rest.first().map(|token| offset(self.text, token.span.end));
        self.expect_token(&Token::LParen)?;
        let mut depth = 0;
        while let Some(token) = self.peek() {
            match token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => depth -= 1,
                _ => {}
            }
            self.advance();
        }
        let end = self.rest.first().map(|token| offset(self.text, token.span.start));
        match (start, end) {
            (Some(start), Some(end)) => {
                self.advance();
                Ok(Arc::from(self.text[start..end].trim()))
            }
            _ => Err(self.error()),
        }
    }

    fn names_in_parentheses(&mut self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        if self.skip_token(&Token::LParen) {
            loop {
                names.push(self.name()?);
                if !self.skip_token(&Token::Comma) {
                    break;
                }
            }
            self.expect_token(&Token::RParen)?;
        }
        Ok(names)
    }

    /// Both the list in parentheses and the older form with words alone.
    fn copy_options(&mut self) -> Result<Options> {
        self.skip(&["with"]);
        let listed = self.skip_token(&Token::LParen);
        let mut format = Format::Text;
        let mut given: Vec<(String, String)> = Vec::new();
        while self.peek().is_some_and(|token| *token != Token::RParen) {
            let name = self.keyword().ok_or_else(|| self.error())?;
            match name.as_str() {
                "csv" | "binary" | "text" if !listed => format = copy_format(&name)?,
                "format" => format = copy_format(&self.name().or_else(|_| self.string())?)?,
                "freeze" | "header" => {
                    let off = self.skip(&["false", "off"]) || self.skip_token(&Token::Number("0".into(), false));
                    let on = off || self.skip(&["true", "on"]) || self.skip_token(&Token::Number("1".into(), false));
                    if on || !self.peek_is("match") {
                        given.push((name, if off { "false" } else { "true" }.to_string()));
                    } else {
                        return Err(SqlError::unsupported("COPY with HEADER MATCH"));
                    }
                }
                "delimiter" | "delimiters" | "null" | "quote" | "escape" | "encoding" => {
                    self.skip(&["as"]);
                    let value = self.string()?;
                    given.push((name, value));
                }
                "force" | "force_quote" | "force_not_null" | "force_null" => {
                    return Err(SqlError::unsupported(format!("COPY option {}", name.to_uppercase())));
                }
                "where" => return Err(SqlError::unsupported("COPY ... WHERE")),
                _ => {
                    return Err(SqlError::new(sqlstate::SYNTAX_ERROR, format!("option \"{name}\" not recognized")));
                }
            }
            if listed && !self.skip_token(&Token::Comma) {
                break;
            }
        }
        if listed {
            self.expect_token(&Token::RParen)?;
        }
        apply_copy_options(format, given)
    }
}

fn copy_format(name: &str) -> Result<Format> {
    match name {
        "text" => Ok(Format::Text),
        "csv" => Ok(Format::Csv),
        "binary" => Ok(Format::Binary),
        other => {
            Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("COPY format \"{other}\" not recognized")))
        }
    }
}

fn apply_copy_options(format: Format, given: Vec<(String, String)>) -> Result<Options> {
    let mut options = Options::of(format);
    let mut escape = None;
    for (name, value) in given {
        let byte = || match value.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
            _ => Err(SqlError::new(
                sqlstate::FEATURE_NOT_SUPPORTED,
                format!("COPY {name} must be a single one-byte character"),
            )),
        };
        let csv_only = matches!(name.as_str(), "quote" | "escape");
        if (csv_only && format != Format::Csv)
            || (format == Format::Binary && matches!(name.as_str(), "delimiter" | "null"))
        {
            return Err(SqlError::new(
                sqlstate::SYNTAX_ERROR,
                format!("cannot specify {} in this COPY format", name.to_uppercase()),
            ));
        }
        match name.as_str() {
            "header" => options.header = value == "true" && format != Format::Binary,
            "delimiter" | "delimiters" => options.delimiter = byte()?,
            "null" => options.null = value,
            "quote" => options.quote = byte()?,
            "escape" => escape = Some(byte()?),
            "encoding" if !value.replace('-', "").eq_ignore_ascii_case("utf8") => {
                return Err(SqlError::unsupported(format!("encoding \"{value}\"")));
            }
            _ => {}
        }
    }
    options.escape = escape.unwrap_or(options.quote);
    if options.format == Format::Text
        && (options.delimiter.is_ascii_alphanumeric() || b"\\.".contains(&options.delimiter))
    {
        return Err(SqlError::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("COPY delimiter cannot be \"{}\"", char::from(options.delimiter)),
        ));
    }
    if options.format == Format::Csv && options.delimiter == options.quote {
        return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, "COPY delimiter and quote must be different"));
    }
    Ok(options)
}
