//! EXPLAIN: its options, and the text that it is of.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::explain_forms::ExplainFormat;
use crate::sql::utility::Utility;
use crate::sql::words::Words;
use sqlparser::tokenizer::Token;

impl Words<'_> {
    /// EXPLAIN, behind that word.
    pub(super) fn explain(&mut self) -> Result<Utility> {
        let mut format = ExplainFormat::Text;
        if self.skip_token(&Token::LParen) {
            self.explain_option(&mut format)?;
            while self.skip_token(&Token::Comma) {
                self.explain_option(&mut format)?;
            }
            self.expect_token(&Token::RParen)?;
        } else {
            if self.skip(&["analyze", "analyse"]) {
                return Err(SqlError::unsupported("EXPLAIN ANALYZE"));
            }
            self.skip(&["verbose"]);
        }
        Ok(Utility::Explain(self.remaining_text()?, format))
    }

    /// An option in parentheses. What a plan here does not show anyway may be on or off. Errors: 42601 for an option that there is not, 22023 for a value that it
    /// cannot have, 0A000 for ANALYZE.
    fn explain_option(&mut self, format: &mut ExplainFormat) -> Result<()> {
        let option = match self.skip(&["analyze", "analyse"]) {
            true => "analyze".to_owned(),
            false => self.name()?,
        };
        let value = match self.peek() {
            None | Some(Token::Comma | Token::RParen) => None,
            Some(Token::SingleQuotedString(_)) => Some(self.string()?),
            Some(Token::Number(digits, _)) => {
                let digits = digits.clone();
                self.advance();
                Some(digits)
            }
            Some(_) => Some(self.keyword().ok_or_else(|| self.error())?),
        };
        let value = value.map(|value| value.to_ascii_lowercase());
        if option == "format" {
            *format = match value.as_deref() {
                Some("text") => ExplainFormat::Text,
                Some("json") => ExplainFormat::Json,
                Some("yaml") => ExplainFormat::Yaml,
                Some("xml") => ExplainFormat::Xml,
                None => return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "format requires a parameter")),
                Some(other) => {
                    let message = format!("unrecognized value for EXPLAIN option \"format\": \"{}\"", other);
                    return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
            };
            return Ok(());
        }
        let known = ["analyze", "verbose", "costs", "settings", "buffers", "wal", "timing", "summary"];
        if !known.contains(&option.as_str()) {
            let message = format!("unrecognized EXPLAIN option \"{option}\"");
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
        }
        let is_on = match value.as_deref() {
            None | Some("true" | "on" | "1") => true,
            Some("false" | "off" | "0") => false,
            Some(_) => {
                return Err(SqlError::new(sqlstate::SYNTAX_ERROR, format!("{option} requires a Boolean value")));
            }
        };
        match option.as_str() {
            "analyze" if is_on => Err(SqlError::unsupported("EXPLAIN ANALYZE")),
            "wal" | "timing" if is_on => {
                let message = format!("EXPLAIN option {} requires ANALYZE", option.to_uppercase());
                Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message))
            }
            "settings" if is_on => Err(SqlError::unsupported("EXPLAIN (SETTINGS)")),
            _ => Ok(()),
        }
    }
}
