//! How far each method is believed in, and for which reasons.
//!
//! What speaks for a method is combined to one measure, what speaks against it to another, each as a + b(1 - a); belief is the difference (Shortliffe and
//! Buchanan, 1975). So more reasons of one kind add up without passing certainty, and reasons against each other cancel. Numbers are whole, in
//! thousandths. Invariant: the order of the rules changes a belief by rounding at most; it lies between -`CERTAIN` and `CERTAIN`.

use crate::fact::Findings;
use crate::limits::{ACCESSES_HALF, CERTAIN};
use crate::rule_book::RuleBook;
use messages::method::Method;
use serde::{Deserialize, Serialize};

/// A rule that has fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    /// Its name.
    pub rule: String,
    /// Its certainty, less for few accesses and for a rule that has led astray.
    pub certainty: i64,
    /// Its sentence.
    pub because: String,
}

/// What is thought of a method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// Of which.
    pub method: Method,
    /// How far it is believed in.
    pub belief: i64,
    /// What for.
    pub firings: Vec<Firing>,
}

/// What is thought of each method, for one window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// In the order of [`Method::ALL`].
    pub opinions: Vec<Opinion>,
}

impl Advice {
    /// What a book says of a load of so many accesses. Some rules are trusted half only.
    pub fn of(book: &RuleBook, findings: &Findings, accesses: u64, is_distrusted: impl Fn(&str) -> bool) -> Advice {
        let opinion = |method: Method| {
            let fired = book.rules().iter().filter(|rule| rule.method == method && rule.fires(findings));
            let firings: Vec<Firing> = fired
                .map(|rule| {
                    let certainty = if is_distrusted(&rule.name) { rule.certainty / 2 } else { rule.certainty };
                    let certainty = weighed(certainty, accesses);
                    Firing { rule: rule.name.clone(), certainty, because: rule.because.clone() }
                })
                .collect();
            Opinion { method, belief: belief(firings.iter().map(|firing| firing.certainty)), firings }
        };
        Advice { opinions: Method::ALL.into_iter().map(opinion).collect() }
    }

    /// What is thought of one method.
    pub fn of_method(&self, method: Method) -> Option<&Opinion> {
        self.opinions.iter().find(|opinion| opinion.method == method)
    }

    /// The method that is believed in most: the present one, unless another is believed in more.
    pub fn best(&self, present: Method) -> Method {
        let mut best = (self.belief(present), present);
        for opinion in &self.opinions {
            if opinion.belief > best.0 {
                best = (opinion.belief, opinion.method);
            }
        }
        best.1
    }

    /// How far a method is believed in.
    pub fn belief(&self, method: Method) -> i64 {
        self.of_method(method).map_or(0, |opinion| opinion.belief)
    }
}

/// Few accesses say little.
fn weighed(certainty: i64, accesses: u64) -> i64 {
    let accesses = i128::from(accesses);
    let weighed = i128::from(certainty) * accesses / (accesses + i128::from(ACCESSES_HALF));
    weighed as i64
}

fn belief(certainties: impl Iterator<Item = i64> + Clone) -> i64 {
    let combined = |sum: i64, one: i64| sum + one * (CERTAIN - sum) / CERTAIN;
    let of_sign = |sign: i64| certainties.clone().map(|one| one * sign).filter(|one| *one > 0).fold(0, combined);
    of_sign(1) - of_sign(-1)
}
