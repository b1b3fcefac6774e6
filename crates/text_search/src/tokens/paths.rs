//! Names of files.

use super::{FoundToken, SearchTokens, is_of_path, is_space};
use crate::token::TokenKind;

/// Where a reader is within a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathPlace {
    /// Behind a slash.
    Slash,
    /// Behind a tilde.
    Tilde,
    /// Behind the first dot of a name.
    Dot,
    /// Behind two dots.
    DotDot,
    /// Within a name.
    Name,
}

impl SearchTokens<'_> {
    /// A path that starts here with a slash, a tilde or a dot.
    pub(super) fn path(&self, at: usize) -> Option<FoundToken> {
        let next = self.byte(at + 1);
        match self.byte(at)? {
            b'/' => self.file(PathPlace::Slash, at + 1),
            b'~' => self.file(PathPlace::Tilde, at + 1),
            _ if next == Some(b'.') => self.file(PathPlace::DotDot, at + 2),
            _ if next == Some(b'/') => self.file(PathPlace::Slash, at + 2),
            _ => None,
        }
    }

    /// A path whose first slash stands before here.
    pub(super) fn file_behind_slash(&self, at: usize) -> Option<FoundToken> {
        self.file(PathPlace::Slash, at)
    }

    /// The name of a file whose first dot stands before here.
    pub(super) fn file_behind_dot(&self, at: usize) -> Option<FoundToken> {
        if self.is(at, is_of_path) { self.file(PathPlace::Name, at) } else { None }
    }

    fn file(&self, mut place: PathPlace, mut at: usize) -> Option<FoundToken> {
        // Where it ends if what is tried further on fails.
        let mut complete = None;
        loop {
            let byte = self.byte(at);
            place = match (place, byte) {
                (_, Some(byte)) if place != PathPlace::DotDot && is_of_path(byte) => PathPlace::Name,
                (PathPlace::Name, Some(b'-')) => PathPlace::Name,
                (PathPlace::Name, Some(b'.')) if self.is(at + 1, is_of_path) => PathPlace::Name,
                (PathPlace::Name | PathPlace::DotDot, Some(b'/')) => {
                    complete = Some(at);
                    PathPlace::Slash
                }
                (PathPlace::Name, _) => {
                    complete = Some(at);
                    break;
                }
                (PathPlace::DotDot, None) => {
                    complete = Some(at);
                    break;
                }
                (PathPlace::DotDot, Some(byte)) if is_space(byte) => {
                    complete = Some(at);
                    break;
                }
                (PathPlace::Slash, Some(b'.')) => PathPlace::Dot,
                (PathPlace::Slash, Some(b'~')) => PathPlace::Tilde,
                (PathPlace::Tilde | PathPlace::Dot, Some(b'/')) => PathPlace::Slash,
                (PathPlace::Dot, Some(b'.')) => PathPlace::DotDot,
                _ => break,
            };
            at += 1;
        }
        complete.map(|end| FoundToken::new(TokenKind::File, end))
    }
}
