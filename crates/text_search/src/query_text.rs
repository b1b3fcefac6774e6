//! Reads queries: those of `tsquery`, of `to_tsquery` and its like, and of search engines.

use crate::configuration::SearchConfiguration;
use crate::error::TextSearchError;
use crate::limits::{DISTANCE_MAX, LEXEME_BYTES_END, POSITION_MAX, VECTOR_BYTES_MAX, WAITING_OPERATORS_MAX};
use crate::query::{QueryItem, QueryWord, SearchOperator, SearchQuery};
use crate::query_stops::without_stops;
use crate::tokens::is_space;
use crate::vector::LexemeWeight;
use crate::vector_text::{WordReader, WordSyntax, is_operator};
use sqlstate::{INTERNAL_ERROR, INVALID_PARAMETER_VALUE};

/// What a word of a query becomes.
#[derive(Clone, Copy)]
enum WordTreatment {
    /// Itself.
    AsIs,
    /// Its lexemes, joined by this operator.
    Lexemes(SearchConfiguration, SearchOperator),
}

/// What a word or an operator becomes before stop words are taken out. Items are in the order of their ends.
struct QueryBuilder<'a> {
    text: &'a str,
    treatment: WordTreatment,
    /// In the opposite of the order of [`SearchQuery`]; `None` for a stop word.
    pieces: Vec<Option<QueryItem>>,
    /// Operators that wait for their right side, for each pair of parentheses.
    waiting: Vec<Vec<SearchOperator>>,
    bytes: usize,
}

impl std::str::FromStr for SearchQuery {
    type Err = TextSearchError;

    fn from_str(text: &str) -> Result<Self, TextSearchError> {
        standard(text, WordTreatment::AsIs)
    }
}

/// `to_tsquery`: operators as in a `tsquery`, words of the language.
pub fn to_query(configuration: SearchConfiguration, text: &str) -> Result<SearchQuery, TextSearchError> {
    standard(text, WordTreatment::Lexemes(configuration, SearchOperator::Phrase(1)))
}

/// `plainto_tsquery`: all words of a text.
pub fn plain_query(configuration: SearchConfiguration, text: &str) -> Result<SearchQuery, TextSearchError> {
    whole(text, WordTreatment::Lexemes(configuration, SearchOperator::And))
}

/// `phraseto_tsquery`: the words of a text in their order.
pub fn phrase_query(configuration: SearchConfiguration, text: &str) -> Result<SearchQuery, TextSearchError> {
    whole(text, WordTreatment::Lexemes(configuration, SearchOperator::Phrase(1)))
}

fn whole(text: &str, treatment: WordTreatment) -> Result<SearchQuery, TextSearchError> {
    let mut builder = QueryBuilder::new(text, treatment);
    if !text.is_empty() {
        builder.push_word(text, 0, false)?;
    }
    builder.finish()
}

impl<'a> QueryBuilder<'a> {
    fn new(text: &'a str, treatment: WordTreatment) -> Self {
        Self { text, treatment, pieces: Vec::new(), waiting: vec![Vec::new()], bytes: 0 }
    }

    #[cold]
    fn wrong(&self) -> TextSearchError {
        TextSearchError::syntax(format!("syntax error in tsquery: \"{}\"", self.text))
    }

    fn push_operator(&mut self, operator: SearchOperator) {
        self.pieces.push(Some(QueryItem::Operator(operator)));
    }

    fn push_lexeme(&mut self, word: &str, weights: u8, is_prefix: bool) -> Result<(), TextSearchError> {
        if word.len() >= LEXEME_BYTES_END {
            return Err(TextSearchError::limit(format!("word is too long in tsquery: \"{}\"", self.text)));
        }
        if self.bytes >= VECTOR_BYTES_MAX {
            return Err(TextSearchError::limit(format!("value is too big in tsquery: \"{}\"", self.text)));
        }
        self.bytes += word.len() + 1;
        self.pieces.push(Some(QueryItem::Word(QueryWord { word: word.into(), is_prefix, weights })));
        Ok(())
    }

    fn push_word(&mut self, word: &str, weights: u8, is_prefix: bool) -> Result<(), TextSearchError> {
        let (configuration, operator) = match self.treatment {
            WordTreatment::AsIs => return self.push_lexeme(word, weights, is_prefix),
            WordTreatment::Lexemes(configuration, operator) => (configuration, operator),
        };
        let lexemes = configuration.words(word, &mut 0);
        if lexemes.is_empty() {
            self.pieces.push(None);
            return Ok(());
        }
        let mut pushed = 0;
        let mut place = 0;
        let mut rest = lexemes.iter().map(|(lexeme, at)| (lexeme, (*at).min(u32::from(POSITION_MAX)))).peekable();
        while let Some((lexeme, at)) = rest.next() {
            // Stop words before this one, but not before the first.
            while place > 0 && place + 1 < at {
                self.pieces.push(None);
                if pushed > 0 {
                    self.push_operator(operator);
                }
                pushed += 1;
                place += 1;
            }
            place = at;
            self.push_lexeme(lexeme, weights, is_prefix)?;
            // Only at the greatest position there is more than one.
            while let Some((lexeme, _)) = rest.next_if(|(_, next)| *next == at) {
                self.push_lexeme(lexeme, weights, is_prefix)?;
                self.push_operator(SearchOperator::And);
            }
            if pushed > 0 {
                self.push_operator(operator);
            }
            pushed += 1;
        }
        Ok(())
    }

    /// An operator: those before it that bind closer have their sides.
    fn operator(&mut self, operator: SearchOperator) -> Result<(), TextSearchError> {
        self.settle(Some(operator));
        let waiting = self.waiting.last_mut().expect("the outermost level stays");
        if waiting.len() == WAITING_OPERATORS_MAX {
            return Err(TextSearchError::new(INTERNAL_ERROR, "tsquery stack too small"));
        }
        waiting.push(operator);
        Ok(())
    }

    /// Operators whose right side ends before this one, or at the end.
    fn settle(&mut self, next: Option<SearchOperator>) {
        let priority = next.map_or(0, SearchOperator::priority);
        let waiting = self.waiting.last_mut().expect("the outermost level stays");
        while let Some(last) = waiting.last() {
            let waits = match next {
                Some(SearchOperator::Not) => priority >= last.priority(),
                _ => priority > last.priority(),
            };
            if waits {
                break;
            }
            let operator = *last;
            waiting.pop();
            self.pieces.push(Some(QueryItem::Operator(operator)));
        }
    }

    fn finish(mut self) -> Result<SearchQuery, TextSearchError> {
        self.settle(None);
        if self.pieces.is_empty() {
            return Ok(SearchQuery::default());
        }
        self.pieces.reverse();
        without_stops(self.pieces)
    }
}

/// What a word of a query is followed by: weights and a star.
fn modifiers(reader: &mut WordReader<'_>) -> (u8, bool) {
    let (mut weights, mut is_prefix) = (0, false);
    if reader.byte() == Some(b':') {
        reader.at += 1;
        while let Some(byte) = reader.byte() {
            match LexemeWeight::of_letter(byte) {
                Some(weight) => weights |= weight.bit(),
                None if byte == b'*' => is_prefix = true,
                None => break,
            }
            reader.at += 1;
        }
    }
    (weights, is_prefix)
}

/// `<->` or `<2>` here; something must follow. Errors: 22023 for a distance that is too large.
fn phrase_operator(rest: &str) -> Result<Option<(SearchOperator, usize)>, TextSearchError> {
    let Some(inner) = rest.strip_prefix('<') else { return Ok(None) };
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let (distance, length) = match digits {
        0 if inner.starts_with('-') => (1, 1),
        0 => return Ok(None),
        _ => {
            let distance = inner[..digits].parse().ok().filter(|distance| *distance <= DISTANCE_MAX);
            (distance.ok_or_else(wrong_distance)?, digits)
        }
    };
    let is_closed = inner[length..].starts_with('>') && inner.len() > length + 1;
    Ok(is_closed.then_some((SearchOperator::Phrase(distance), length + 2)))
}

#[cold]
pub(crate) fn wrong_distance() -> TextSearchError {
    let message =
        format!("distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} inclusive");
    TextSearchError::new(INVALID_PARAMETER_VALUE, message)
}

fn standard(text: &str, treatment: WordTreatment) -> Result<SearchQuery, TextSearchError> {
    let mut builder = QueryBuilder::new(text, treatment);
    let mut reader = WordReader::new(text, WordSyntax::Query);
    let (mut wants_word, mut is_first) = (true, true);
    loop {
        let byte = reader.byte();
        match byte {
            Some(byte) if is_space(byte) => reader.at += 1,
            Some(b'!') if wants_word => {
                reader.at += 1;
                builder.operator(SearchOperator::Not)?;
                is_first = false;
            }
            Some(b'(') if wants_word => {
                reader.at += 1;
                builder.waiting.push(Vec::new());
                is_first = false;
            }
            Some(b':') if wants_word => return Err(builder.wrong()),
            _ if wants_word => match reader.word(0)? {
                Some((word, _)) => {
                    let (weights, is_prefix) = modifiers(&mut reader);
                    builder.push_word(&word, weights, is_prefix)?;
                    wants_word = false;
                }
                None if is_first => return builder.finish(),
                None => return Err(TextSearchError::syntax(format!("no operand in tsquery: \"{text}\""))),
            },
            None if builder.waiting.len() == 1 => return builder.finish(),
            Some(b')') if builder.waiting.len() > 1 => {
                reader.at += 1;
                builder.settle(None);
                builder.waiting.pop();
            }
            Some(mark @ (b'&' | b'|')) => {
                reader.at += 1;
                builder.operator(if mark == b'&' { SearchOperator::And } else { SearchOperator::Or })?;
                (wants_word, is_first) = (true, false);
            }
            _ => {
                let found = phrase_operator(&text[reader.at..])?;
                let (operator, length) = found.ok_or_else(|| builder.wrong())?;
                reader.at += length;
                builder.operator(operator)?;
                (wants_word, is_first) = (true, false);
            }
        }
    }
}

/// Whether `or` stands here as an operator: no part of a word, and something behind it.
fn is_or(rest: &str) -> bool {
    let Some((head, tail)) = rest.as_bytes().split_at_checked(2) else { return false };
    let joins = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let rest = rest.get(2..).unwrap_or_default();
    let behind = rest.chars().skip(1).any(|character| !u8::try_from(character).is_ok_and(is_space));
    head.eq_ignore_ascii_case(b"or") && !tail.first().is_none_or(joins) && behind
}

/// `websearch_to_tsquery`: as search engines take it; no text is wrong.
pub fn web_query(configuration: SearchConfiguration, text: &str) -> Result<SearchQuery, TextSearchError> {
    let mut builder = QueryBuilder::new(text, WordTreatment::Lexemes(configuration, SearchOperator::Phrase(1)));
    let mut reader = WordReader::new(text, WordSyntax::Web);
    let (mut wants_word, mut is_first) = (true, true);
    loop {
        match reader.byte() {
            Some(byte) if is_space(byte) => reader.at += 1,
            Some(b'-') if wants_word => {
                reader.at += 1;
                is_first = false;
                builder.operator(SearchOperator::Not)?;
            }
            Some(b'"') if wants_word => {
                let quoted = &text[reader.at + 1..];
                let length = quoted.find('"').unwrap_or(quoted.len());
                builder.push_word(&quoted[..length], 0, false)?;
                reader.at += 1 + length + usize::from(length < quoted.len());
                wants_word = false;
            }
            Some(_) if !wants_word && is_or(&text[reader.at..]) => {
                reader.at += 2;
                (wants_word, is_first) = (true, false);
                builder.operator(SearchOperator::Or)?;
            }
            Some(byte) if is_operator(byte) => {
                reader.at += 1;
                is_first &= !wants_word;
            }
            _ if wants_word => match reader.word(0)? {
                Some((word, _)) => {
                    builder.push_word(&word, 0, false)?;
                    wants_word = false;
                }
                None if is_first => return builder.finish(),
                None => {
                    builder.pieces.push(None);
                    return builder.finish();
                }
            },
            None => return builder.finish(),
            Some(_) => {
                (wants_word, is_first) = (true, false);
                builder.operator(SearchOperator::And)?;
            }
        }
    }
}
