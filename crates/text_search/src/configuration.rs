//! Configurations: which tokens become which lexemes. There are two, and two dictionaries.

use crate::error::TextSearchError;
use crate::limits::{LEXEME_BYTES_END, STEMMED_BYTES_MAX};
use crate::token::TokenKind;
use crate::tokens::SearchTokens;
use crate::vector::SearchVector;
use rust_stemmers::{Algorithm, Stemmer};

/// PostgreSQL's list for English: one word a line, in the order of its bytes after sorting here.
const STOP_WORDS: &str = include_str!("english.stop");

/// What turns a word into a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchDictionary {
    /// `simple`: in small letters.
    Simple,
    /// `english_stem`: in small letters, without stop words, and without endings.
    EnglishStem,
}

impl SearchDictionary {
    /// The lexeme of a word; `None` for a stop word.
    pub fn lexeme(self, word: &str) -> Option<String> {
        let small = word.to_ascii_lowercase();
        match self {
            Self::Simple => Some(small),
            Self::EnglishStem if word.len() > STEMMED_BYTES_MAX => Some(small),
            Self::EnglishStem if small.is_empty() || is_stop_word(&small) => None,
            Self::EnglishStem => Some(Stemmer::create(Algorithm::English).stem(&small).into_owned()),
        }
    }
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.lines().any(|line| line == word)
}

/// Which dictionary looks at which tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchConfiguration {
    /// `simple`.
    Simple,
    /// `english`.
    English,
}

impl SearchConfiguration {
    /// What looks at tokens of this kind; `None` if nothing does.
    pub fn dictionary(self, kind: TokenKind) -> Option<SearchDictionary> {
        match kind {
            TokenKind::Blank | TokenKind::Tag | TokenKind::Protocol | TokenKind::Entity => None,
            TokenKind::AsciiWord
            | TokenKind::Word
            | TokenKind::HyphenPart
            | TokenKind::HyphenAsciiPart
            | TokenKind::AsciiHyphenWord
            | TokenKind::HyphenWord => Some(match self {
                Self::Simple => SearchDictionary::Simple,
                Self::English => SearchDictionary::EnglishStem,
            }),
            _ => Some(SearchDictionary::Simple),
        }
    }

    /// The lexemes of a text with their places. A stop word takes a place, too. `place` is the last one so far.
    pub(crate) fn words(self, text: &str, place: &mut u32) -> Vec<(String, u32)> {
        let mut words = Vec::new();
        for token in SearchTokens::new(text) {
            if token.text.len() >= LEXEME_BYTES_END {
                continue;
            }
            let Some(dictionary) = self.dictionary(token.kind) else { continue };
            *place = place.saturating_add(1);
            if let Some(lexeme) = dictionary.lexeme(token.text) {
                words.push((lexeme, *place));
            }
        }
        words
    }

    /// The vector of a text. Errors: 54000 if it is too long.
    pub fn vector(self, text: &str) -> Result<SearchVector, TextSearchError> {
        SearchVector::of_document(self.words(text, &mut 0))
    }

    /// The vector of texts that are no neighbours: no phrase goes from one to the next. Errors: 54000 if it is too
    /// long.
    pub fn vector_of_texts<'a>(self, texts: impl Iterator<Item = &'a str>) -> Result<SearchVector, TextSearchError> {
        let mut words = Vec::new();
        let mut place = 0;
        for text in texts {
            let found = self.words(text, &mut place);
            place += u32::from(!found.is_empty());
            words.extend(found);
        }
        SearchVector::of_document(words)
    }

    /// The vector of texts that go on from one to the next. Errors: 54000 if it is too long.
    pub fn vector_of_columns<'a>(self, texts: impl Iterator<Item = &'a str>) -> Result<SearchVector, TextSearchError> {
        let mut place = 0;
        SearchVector::of_document(texts.flat_map(|text| self.words(text, &mut place)).collect())
    }
}
