//! Hosts, URLs and addresses of mail.

use super::{FoundToken, SearchTokens, TokenStart, is_digit, is_of_url};
use crate::limits::HOST_DEPTH_MAX;
use crate::token::TokenKind;
use std::cell::Cell;

/// Where a reader is within the name of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostPlace {
    /// Behind a dot.
    DomainFirst,
    /// Behind the first letter of a domain.
    DomainSecond,
    /// Where a host may end.
    Domain,
    /// Behind a hyphen or an underscore.
    LabelFirst,
    /// Within a label that no host ends with.
    Label,
}

impl SearchTokens<'_> {
    /// A host, a URL or an address of mail that goes on here; `None` if there is none.
    pub(super) fn host(&self, mut place: HostPlace, mut at: usize) -> Option<FoundToken> {
        // Where it may end if what is tried further on fails.
        let mut complete = None;
        loop {
            let byte = self.byte(at);
            let is_letter = byte.is_some_and(|byte| byte.is_ascii_alphabetic());
            let is_number = byte.is_some_and(is_digit);
            place = match (place, byte) {
                (HostPlace::DomainFirst, _) if is_letter => HostPlace::DomainSecond,
                (HostPlace::DomainFirst | HostPlace::LabelFirst, _) if is_number => HostPlace::Label,
                (HostPlace::DomainFirst, _) => break,
                (HostPlace::LabelFirst, _) if is_letter => HostPlace::Label,
                (HostPlace::LabelFirst, _) => break,
                (HostPlace::DomainSecond | HostPlace::Domain, _) if is_letter => HostPlace::Domain,
                (HostPlace::Label, _) if is_letter => HostPlace::Label,
                (_, _) if is_number => HostPlace::Label,
                (HostPlace::Domain, Some(b':')) if self.is(at + 1, is_digit) => {
                    return Some(self.end_of_host(self.behind(at + 1, is_digit)));
                }
                (_, Some(mark @ (b'-' | b'_' | b'.'))) => {
                    if place == HostPlace::Domain {
                        complete = Some(at);
                    }
                    if mark == b'.' { HostPlace::DomainFirst } else { HostPlace::LabelFirst }
                }
                (_, Some(b'@')) => {
                    if let Some(found) = self.email(at + 1) {
                        return Some(found);
                    }
                    if place == HostPlace::Domain {
                        return Some(self.end_of_host(at));
                    }
                    break;
                }
                (HostPlace::Domain, _) => return Some(self.end_of_host(at)),
                _ => break,
            };
            at += 1;
        }
        complete.map(|at| self.end_of_host(at))
    }

    /// The host that ends here, or the URL that it is in.
    fn end_of_host(&self, at: usize) -> FoundToken {
        if at < self.bytes.len() && self.wants_host.replace(false) {
            return FoundToken { next: TokenStart::PathOfUrl, ..FoundToken::new(TokenKind::Host, at) };
        }
        if self.byte(at) == Some(b'/') && self.is(at + 1, is_of_url) {
            self.wants_host.set(true);
            return FoundToken { again: true, ..FoundToken::new(TokenKind::Url, self.behind(at + 1, is_of_url)) };
        }
        FoundToken::new(TokenKind::Host, at)
    }

    /// What an at sign before here ends, if a host follows.
    pub(super) fn email(&self, at: usize) -> Option<FoundToken> {
        if self.wants_host.replace(false) || self.depth >= HOST_DEPTH_MAX {
            return None;
        }
        let inner = SearchTokens {
            text: self.text,
            bytes: self.bytes,
            at,
            start: TokenStart::Anything,
            wants_host: Cell::new(true),
            ignores: Cell::new(self.ignores.get()),
            depth: self.depth + 1,
        };
        let host = inner.found(TokenStart::Anything, at).filter(|found| found.kind == TokenKind::Host)?;
        Some(FoundToken::new(TokenKind::Email, host.end))
    }
}
