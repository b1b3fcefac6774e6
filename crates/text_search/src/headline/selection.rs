//! Which words of a document are its headline.
//!
//! A cover is a piece of the document that satisfies the query, and no piece that starts with the same word and is
//! shorter
//! does. A headline is a cover that is made longer or shorter; fragments are parts of several covers.

use super::{HeadlineOptions, HeadlinePiece, HeadlineWord};
use crate::error::TextSearchError;
use crate::matching::is_satisfied;
use crate::query::SearchQuery;
use std::ops::RangeInclusive;

/// Covers are at most as many words long as this times a headline.
const COVER_FACTOR: i64 = 10;
const COVER_WORDS_MIN: i64 = 100;

/// The words, the query and the options.
struct FragmentSelection<'a, 'b> {
    words: &'a mut Vec<HeadlineWord<'b>>,
    query: &'a SearchQuery,
    options: &'a HeadlineOptions,
    cover_words_max: i64,
}

/// Marks the words of the headline. Errors: 22023 for options that contradict each other.
pub(super) fn select(
    words: &mut Vec<HeadlineWord<'_>>,
    query: &SearchQuery,
    options: &HeadlineOptions,
) -> Result<(), TextSearchError> {
    options.check()?;
    let fragments = i64::from(options.fragments_max.max(1));
    let cover_words_max = (i64::from(options.words_max) * COVER_FACTOR).max(COVER_WORDS_MIN) * fragments;
    let mut selection = FragmentSelection { words, query, options, cover_words_max };
    if options.fragments_max != 0 {
        selection.select_fragments();
    } else if options.shows_all {
        let last = selection.words.len();
        selection.show(0..last);
    } else {
        let best = selection.best_piece();
        selection.show(best);
    }
    Ok(())
}

impl FragmentSelection<'_, '_> {
    fn next_asked(&self, from: usize) -> Option<usize> {
        (from..self.words.len()).find(|at| self.words[*at].asked.is_some())
    }

    /// The first cover that starts here or further behind.
    fn cover(&self, from: usize) -> Option<RangeInclusive<usize>> {
        let mut first = self.next_asked(from)?;
        loop {
            let mut last = first;
            let next_first = self.next_asked(first + 1);
            loop {
                if is_satisfied(self.query, &HeadlinePiece(&self.words[first..=last])) {
                    return Some(first..=last);
                }
                match self.next_asked(last + 1) {
                    Some(next) if ((next - first) as i64) < self.cover_words_max => last = next,
                    _ => break,
                }
            }
            first = next_first?;
        }
    }

    fn is_bad_end(&self, at: usize) -> bool {
        let word = &self.words[at];
        let is_short = word.text.len() as i64 <= i64::from(self.options.short_word);
        (word.kind.is_no_end() || is_short) && !word.is_interesting()
    }

    /// 1 if the word counts for the length of the headline.
    fn length(&self, at: usize) -> i32 {
        i32::from(self.words[at].counts())
    }

    fn interest(&self, at: usize) -> i32 {
        i32::from(self.words[at].is_interesting())
    }

    fn show(&mut self, piece: std::ops::Range<usize>) {
        let shows_all = self.options.shows_all;
        for word in &mut self.words[piece] {
            word.is_marked = word.asked.is_some();
            if !shows_all && word.kind == crate::token::TokenKind::Tag {
                word.is_replaced = true;
            } else if word.kind.is_compound() {
                word.is_left_out = true;
            }
            word.is_shown = !word.is_repeated;
        }
    }

    /// The first words, as many as a headline has at least.
    fn beginning(&self) -> std::ops::Range<usize> {
        let mut length = 0;
        let mut end = 0;
        while end < self.words.len() && length < self.options.words_min {
            length += self.length(end);
            end += 1;
        }
        0..end
    }

    /// The piece with the best cover: one that is shown whole, has many words that were asked for, and ends well.
    fn best_piece(&self) -> std::ops::Range<usize> {
        let mut best: Option<(bool, i32, usize, usize)> = None;
        let mut from = 0;
        while let Some(cover) = self.cover(from) {
            let (first, last, interest) = self.piece_of(&cover);
            let is_whole = first <= *cover.start() && last >= *cover.end();
            let is_better = best.is_none_or(|(was_whole, was_interest, _, was_last)| {
                let order = (is_whole, interest).cmp(&(was_whole, was_interest));
                order.is_gt() || (order.is_eq() && !self.is_bad_end(last) && self.is_bad_end(was_last))
            });
            if is_better {
                best = Some((is_whole, interest, first, last));
            }
            from = cover.start() + 1;
        }
        best.map_or_else(|| self.beginning(), |(_, _, first, last)| first..last + 1)
    }

    /// A cover made as long as a headline should be: its first and last word, and how many of its words were asked for.
    fn piece_of(&self, cover: &RangeInclusive<usize>) -> (usize, usize, i32) {
        let (start, end) = (*cover.start(), *cover.end());
        let (min, max) = (self.options.words_min, self.options.words_max);
        let (mut length, mut interest) = (0, 0);
        let (mut first, mut last) = (start, start);
        let mut at = start;
        while at <= end && length < max {
            length += self.length(at);
            interest += self.interest(at);
            last = at;
            at += 1;
        }
        if length >= max {
            // No room: perhaps a better end before this one.
            let mut at = at.min(end);
            while length > min && self.is_bad_end(at) {
                length -= self.length(at);
                interest -= self.interest(at);
                if at == 0 {
                    break;
                }
                last = at - 1;
                at -= 1;
            }
            return (first, last, interest);
        }
        at -= 1;
        while at < self.words.len() && length < max {
            if at > end {
                length += self.length(at);
                interest += self.interest(at);
            }
            last = at;
            if !self.is_bad_end(at) && length >= min {
                break;
            }
            at += 1;
        }
        if length < min {
            // The document ends: more words before the cover.
            first = 0;
            for at in (0..start).rev() {
                length += self.length(at);
                interest += self.interest(at);
                if length >= max || (!self.is_bad_end(at) && length >= min) {
                    first = at;
                    break;
                }
            }
        }
        (first, last, interest)
    }
}

/// A part of a cover that may become a fragment.
struct FragmentCandidate {
    first: usize,
    last: usize,
    length: i32,
    interest: i32,
    is_open: bool,
}

impl FragmentSelection<'_, '_> {
    fn select_fragments(&mut self) {
        let mut candidates = self.candidates();
        for count in 0..self.options.fragments_max {
            let mut best: Option<usize> = None;
            for (at, candidate) in candidates.iter().enumerate().filter(|(_, candidate)| candidate.is_open) {
                let (interest, length) =
                    best.map_or((0, i32::MAX), |best| (candidates[best].interest, candidates[best].length));
                if interest < candidate.interest || (interest == candidate.interest && length > candidate.length) {
                    best = Some(at);
                }
            }
            let Some(best) = best else {
                if count == 0 {
                    let beginning = self.beginning();
                    self.show(beginning);
                }
                return;
            };
            let (first, last) = self.stretched(&candidates[best]);
            candidates[best].is_open = false;
            self.show(first..last + 1);
            for other in &mut candidates {
                if other.first <= last && other.last >= first {
                    other.is_open = false;
                }
            }
        }
    }

    /// All covers, cut into parts that are no longer than a fragment; each starts and ends with a word that was asked
    /// for.
    fn candidates(&self) -> Vec<FragmentCandidate> {
        let mut candidates = Vec::new();
        let mut from = 0;
        while let Some(cover) = self.cover(from) {
            let (mut first, end) = (*cover.start(), *cover.end());
            while first <= end {
                let candidate = self.candidate(first, end);
                first = candidate.last + 1;
                candidates.push(candidate);
            }
            from = cover.start() + 1;
        }
        candidates
    }

    fn candidate(&self, start: usize, end: usize) -> FragmentCandidate {
        let first = (start..=end).find(|at| self.words[*at].is_interesting()).unwrap_or(end);
        let (mut length, mut interest) = (0, 0);
        let mut at = first;
        while at <= end && length < self.options.words_max {
            length += self.length(at);
            interest += self.interest(at);
            at += 1;
        }
        let mut last = end;
        if end > at {
            last = at;
            while last > first && !self.words[last].is_interesting() {
                length -= self.length(last);
                last -= 1;
            }
        }
        FragmentCandidate { first, last, length, interest, is_open: true }
    }

    /// A fragment made longer at both sides, up to others that are shown.
    fn stretched(&self, candidate: &FragmentCandidate) -> (usize, usize) {
        let max = self.options.words_max;
        let (mut first, mut last, mut length) = (candidate.first, candidate.last, candidate.length);
        if length >= max {
            return (first, last);
        }
        let stretch_max = (max - length) / 2;
        let (mut stretch, mut reached) = (0, first);
        for at in (0..first).rev() {
            if stretch >= stretch_max || self.words[at].is_shown {
                break;
            }
            length += self.length(at);
            stretch += self.length(at);
            reached = at;
        }
        while reached < first && self.is_bad_end(reached) {
            length -= self.length(reached);
            reached += 1;
        }
        first = reached;
        let mut reached = last;
        for at in last + 1..self.words.len() {
            if length >= max || self.words[at].is_shown {
                break;
            }
            length += self.length(at);
            reached = at;
        }
        while reached > last && self.is_bad_end(reached) {
            reached -= 1;
        }
        last = reached;
        (first, last)
    }
}
