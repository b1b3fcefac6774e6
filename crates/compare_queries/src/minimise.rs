//! The smallest statement and the smallest tables that still show a difference.
//!
//! Greedy: the first smaller subject that still fails is taken, until none does or the time is over (Zeller and Hildebrandt, "Simplifying
//! and isolating failure-inducing input", 2002, with the tree of the statement instead of its lines).

use std::time::Instant;

use crate::limits::{MINIMISE_TIME_MAX, MINIMISE_TRIES_MAX};
use crate::tables::Table;
use crate::tree::Node;

/// What can be made smaller.
pub trait Shrink: Clone {
    /// The tables.
    fn tables(&mut self) -> &mut Vec<Table>;
    /// The statements, or parts of them.
    fn nodes(&mut self) -> Vec<&mut Node>;
    /// The same with a step less, the last but this number; nothing if it must stay.
    fn without_step(&self, number: usize) -> Option<Self>;
    /// How many steps there are.
    fn steps(&self) -> usize;
}

/// A run of the minimiser.
pub struct Minimiser<'a, S> {
    fails: &'a mut dyn FnMut(&S) -> bool,
    begin: Instant,
    tries: usize,
}

impl<'a, S: Shrink> Minimiser<'a, S> {
    /// The smallest subject for which `fails` is true that is found.
    pub fn run(subject: S, fails: &'a mut dyn FnMut(&S) -> bool) -> S {
        let mut minimiser = Minimiser { fails, begin: Instant::now(), tries: 0 };
        let mut subject = minimiser.steps(subject);
        loop {
            let before = minimiser.size(&mut subject);
            subject = minimiser.tables(subject);
            subject = minimiser.statements(subject);
            subject = minimiser.steps(subject);
            if minimiser.is_over() || minimiser.size(&mut subject) == before {
                return subject;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.tries >= MINIMISE_TRIES_MAX || self.begin.elapsed() > MINIMISE_TIME_MAX
    }

    /// A number that gets smaller with the subject.
    fn size(&self, subject: &mut S) -> (usize, usize, usize) {
        let tables: usize = subject.tables().iter().map(|table| format!("{table:?}").len()).sum();
        let text: usize = subject.nodes().iter().map(|node| node.sql().len()).sum();
        (subject.steps(), tables, text)
    }

    /// Whether a smaller subject still fails; it takes the place of the other one then.
    fn takes(&mut self, subject: &mut S, smaller: S) -> bool {
        if self.is_over() {
            return false;
        }
        self.tries += 1;
        let fails = (self.fails)(&smaller);
        if fails {
            *subject = smaller;
        }
        fails
    }

    fn steps(&mut self, mut subject: S) -> S {
        // All at once first: most differences need one step alone.
        let mut alone = subject.clone();
        let mut number = 0;
        while number < alone.steps() {
            match alone.without_step(number) {
                Some(smaller) => alone = smaller,
                None => number += 1,
            }
        }
        if alone.steps() < subject.steps() && self.takes(&mut subject, alone) {
            return subject;
        }
        let mut number = 0;
        while number < subject.steps() {
            let smaller = subject.without_step(number);
            let taken = smaller.is_some_and(|smaller| self.takes(&mut subject, smaller));
            number += usize::from(!taken);
        }
        subject
    }

    fn statements(&mut self, mut subject: S) -> S {
        for number in (0..subject.nodes().len()).rev() {
            let mut progress = true;
            while progress && !self.is_over() {
                progress = false;
                let reductions = subject.nodes()[number].reductions();
                for reduction in reductions {
                    let mut smaller = subject.clone();
                    *smaller.nodes()[number] = reduction;
                    if self.takes(&mut subject, smaller) {
                        progress = true;
                        break;
                    }
                    if self.is_over() {
                        break;
                    }
                }
            }
        }
        subject
    }

    fn tables(&mut self, mut subject: S) -> S {
        let mut number = 0;
        while number < subject.tables().len() {
            let mut smaller = subject.clone();
            smaller.tables().remove(number);
            if !self.takes(&mut subject, smaller) {
                subject = self.table(subject, number);
                number += 1;
            }
        }
        subject
    }

    fn table(&mut self, mut subject: S, number: usize) -> S {
        // Rows by halves, then one by one.
        let mut chunk = subject.tables()[number].rows.len().div_ceil(2);
        while chunk > 0 {
            let mut from = 0;
            while from < subject.tables()[number].rows.len() {
                let mut smaller = subject.clone();
                let rows = &mut smaller.tables()[number].rows;
                let to = (from + chunk).min(rows.len());
                rows.drain(from..to);
                if !self.takes(&mut subject, smaller) {
                    from += chunk;
                }
            }
            chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
        }
        let mut index = 0;
        while index < subject.tables()[number].indexes.len() {
            let mut smaller = subject.clone();
            smaller.tables()[number].indexes.remove(index);
            if !self.takes(&mut subject, smaller) {
                index += 1;
            }
        }
        let mut column = 0;
        while column < subject.tables()[number].columns.len() {
            let table = subject.tables()[number].without_column(column);
            let taken = table.is_some_and(|table| {
                let mut smaller = subject.clone();
                smaller.tables()[number] = table;
                self.takes(&mut subject, smaller)
            });
            if !taken {
                column += 1;
            }
        }
        subject
    }
}
