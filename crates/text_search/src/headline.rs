//! Pieces of a document that show why it was found (`ts_headline`).

mod options;
mod selection;

pub use options::HeadlineOptions;

use crate::configuration::SearchConfiguration;
use crate::error::TextSearchError;
use crate::limits::{LEXEME_BYTES_END, POSITION_MAX};
use crate::matching::WordSource;
use crate::query::{QueryItem, QueryWord, SearchQuery};
use crate::token::TokenKind;
use crate::tokens::SearchTokens;

/// A token of the document, once for each word of the query that it is; at least once.
struct HeadlineWord<'a> {
    text: &'a str,
    kind: TokenKind,
    place: u16,
    /// The place in the query of the word that this is.
    asked: Option<usize>,
    /// Stands behind the same token for another word of the query.
    is_repeated: bool,
    is_shown: bool,
    is_marked: bool,
    is_left_out: bool,
    is_replaced: bool,
}

impl HeadlineWord<'_> {
    fn is_interesting(&self) -> bool {
        self.asked.is_some() && !self.is_repeated
    }

    fn counts(&self) -> bool {
        !self.kind.is_no_word()
    }
}

/// Consecutive words of a document.
struct HeadlinePiece<'a>(&'a [HeadlineWord<'a>]);

impl WordSource for HeadlinePiece<'_> {
    fn has(&self, place: usize, _word: &QueryWord) -> bool {
        self.0.iter().any(|word| word.asked == Some(place))
    }

    fn places(&self, place: usize, _word: &QueryWord) -> Option<Vec<u16>> {
        let mut places: Vec<u16> = Vec::new();
        for word in self.0.iter().filter(|word| word.asked == Some(place)) {
            if places.last().is_none_or(|last| *last < word.place) {
                places.push(word.place);
            }
        }
        Some(places)
    }
}

fn words<'a>(configuration: SearchConfiguration, text: &'a str, query: &SearchQuery) -> Vec<HeadlineWord<'a>> {
    let mut words = Vec::new();
    let mut place = 0_u32;
    for token in SearchTokens::new(text) {
        if token.text.len() >= LEXEME_BYTES_END {
            continue;
        }
        let mut word = HeadlineWord {
            text: token.text,
            kind: token.kind,
            place: 0,
            asked: None,
            is_repeated: false,
            is_shown: false,
            is_marked: false,
            is_left_out: false,
            is_replaced: false,
        };
        let Some(dictionary) = configuration.dictionary(token.kind) else {
            words.push(word);
            continue;
        };
        place = place.saturating_add(1);
        let Some(lexeme) = dictionary.lexeme(token.text) else {
            words.push(word);
            continue;
        };
        word.place = place.min(u32::from(POSITION_MAX)) as u16;
        let first = words.len();
        for (asked, item) in query.items().iter().enumerate() {
            let QueryItem::Word(wanted) = item else { continue };
            let is_it = match wanted.is_prefix {
                true => lexeme.starts_with(&*wanted.word),
                false => *lexeme == *wanted.word,
            };
            if is_it {
                words.push(HeadlineWord { asked: Some(asked), is_repeated: words.len() > first, ..word });
            }
        }
        if words.len() == first {
            words.push(word);
        }
    }
    words
}

/// The headline of a text. Errors: as [`HeadlineOptions::read`].
pub fn headline(
    configuration: SearchConfiguration,
    text: &str,
    query: &SearchQuery,
    options: &HeadlineOptions,
) -> Result<String, TextSearchError> {
    let mut words = words(configuration, text, query);
    selection::select(&mut words, query, options)?;
    let mut out = String::new();
    let mut fragments = 0;
    let mut inside = false;
    for word in words.iter().filter(|word| !word.is_repeated) {
        if !word.is_shown {
            inside = false;
            continue;
        }
        if !inside {
            inside = true;
            fragments += 1;
            if fragments > 1 {
                out.push_str(&options.delimiter);
            }
        }
        if word.is_replaced {
            out.push(' ');
        } else if !word.is_left_out {
            let (before, behind) = if word.is_marked { (&*options.start, &*options.stop) } else { ("", "") };
            out.extend([before, word.text, behind]);
        }
    }
    Ok(out)
}
