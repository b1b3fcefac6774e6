//! Kinds of tokens, by the numbers and names that PostgreSQL's default parser gives them.

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table below says what each is")]
pub enum TokenKind {
    AsciiWord = 1,
    Word = 2,
    NumWord = 3,
    Email = 4,
    Url = 5,
    Host = 6,
    ScientificFloat = 7,
    Version = 8,
    HyphenNumPart = 9,
    HyphenPart = 10,
    HyphenAsciiPart = 11,
    Blank = 12,
    Tag = 13,
    Protocol = 14,
    NumHyphenWord = 15,
    AsciiHyphenWord = 16,
    HyphenWord = 17,
    UrlPath = 18,
    File = 19,
    Float = 20,
    Int = 21,
    UnsignedInt = 22,
    Entity = 23,
}

/// Every kind in the order of the numbers, with its name and what PostgreSQL says of it.
pub const KINDS: [(TokenKind, &str, &str); 23] = [
    (TokenKind::AsciiWord, "asciiword", "Word, all ASCII"),
    (TokenKind::Word, "word", "Word, all letters"),
    (TokenKind::NumWord, "numword", "Word, letters and digits"),
    (TokenKind::Email, "email", "Email address"),
    (TokenKind::Url, "url", "URL"),
    (TokenKind::Host, "host", "Host"),
    (TokenKind::ScientificFloat, "sfloat", "Scientific notation"),
    (TokenKind::Version, "version", "Version number"),
    (TokenKind::HyphenNumPart, "hword_numpart", "Hyphenated word part, letters and digits"),
    (TokenKind::HyphenPart, "hword_part", "Hyphenated word part, all letters"),
    (TokenKind::HyphenAsciiPart, "hword_asciipart", "Hyphenated word part, all ASCII"),
    (TokenKind::Blank, "blank", "Space symbols"),
    (TokenKind::Tag, "tag", "XML tag"),
    (TokenKind::Protocol, "protocol", "Protocol head"),
    (TokenKind::NumHyphenWord, "numhword", "Hyphenated word, letters and digits"),
    (TokenKind::AsciiHyphenWord, "asciihword", "Hyphenated word, all ASCII"),
    (TokenKind::HyphenWord, "hword", "Hyphenated word, all letters"),
    (TokenKind::UrlPath, "url_path", "URL path"),
    (TokenKind::File, "file", "File or path name"),
    (TokenKind::Float, "float", "Decimal notation"),
    (TokenKind::Int, "int", "Signed integer"),
    (TokenKind::UnsignedInt, "uint", "Unsigned integer"),
    (TokenKind::Entity, "entity", "XML entity"),
];

impl TokenKind {
    /// The number that `ts_parse` shows.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// A word that is found again in the tokens behind it.
    pub(crate) fn is_compound(self) -> bool {
        matches!(self, Self::Url | Self::NumHyphenWord | Self::AsciiHyphenWord | Self::HyphenWord)
    }

    /// What counts for nothing in the length of a headline.
    pub(crate) fn is_no_word(self) -> bool {
        matches!(self, Self::Blank | Self::Tag) || self.is_compound()
    }

    /// What no headline ends with, if it can be avoided.
    pub(crate) fn is_no_end(self) -> bool {
        self.is_no_word()
            || matches!(self, Self::ScientificFloat | Self::Version | Self::Float | Self::Int | Self::UnsignedInt)
            || matches!(self, Self::Protocol | Self::Entity)
    }
}
