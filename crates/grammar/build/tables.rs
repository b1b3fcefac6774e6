//! What the parser does in a state at a token. Conflicts are settled by precedence as yacc does; one that is not is an error of the grammar.

use std::collections::BTreeMap;

use crate::automaton::Automaton;
use crate::lookaheads::Lookaheads;
use crate::rules::{Association, Grammar};

/// A shift to a state is the state's number, a rule that is complete is -1 less its number, an error is `ERROR`.
pub type Action = i16;

/// No token may stand here although the state has a default.
pub const ERROR: Action = i16::MIN;

pub struct Tables {
    /// For each state the number of its row, and what it does at any other token (`ERROR`: refuse it).
    pub states: Vec<(u16, Action)>,
    /// Rows by token, in order.
    pub rows: Vec<Vec<(u16, Action)>>,
    /// For each symbol that is no token: the state after it by the state before, in order, and the one where nothing is said.
    pub gotos: Vec<(Vec<(u16, u16)>, u16)>,
}

impl Tables {
    pub fn of(grammar: &Grammar, automaton: &Automaton, lookaheads: &Lookaheads) -> Tables {
        let mut numbers: BTreeMap<Vec<(u16, Action)>, u16> = BTreeMap::new();
        let (mut states, mut rows) = (Vec::new(), Vec::new());
        for state in 0..automaton.states.len() {
            let actions = actions(grammar, automaton, lookaheads, state);
            let default = default(&actions);
            let row: Vec<(u16, Action)> = actions.into_iter().filter(|(_, action)| *action != default).collect();
            let number = *numbers.entry(row).or_insert_with_key(|row| {
                rows.push(row.clone());
                rows.len() as u16 - 1
            });
            states.push((number, default));
        }
        Tables { states, rows, gotos: gotos(grammar, automaton) }
    }
}

fn actions(grammar: &Grammar, automaton: &Automaton, lookaheads: &Lookaheads, state: usize) -> BTreeMap<u16, Action> {
    let content = &automaton.states[state];
    let shifts = content.transitions.iter().filter(|(symbol, _)| grammar.is_token(*symbol));
    let mut actions: BTreeMap<u16, Action> = shifts.map(|&(symbol, target)| (symbol, target as Action)).collect();
    for &rule in &content.complete {
        let Some(tokens) = lookaheads.get(&(state as u32, rule)) else { continue };
        let reduce = -1 - rule as Action;
        for token in (0..grammar.terminals as u16).filter(|token| tokens[*token as usize / 64] >> (token % 64) & 1 == 1)
        {
            let Some(&other) = actions.get(&token) else {
                actions.insert(token, reduce);
                continue;
            };
            if other == ERROR {
                continue;
            }
            let name = &grammar.names[token as usize];
            assert!(other >= 0, "two rules are complete before {name}");
            let (Some(own), Some(their)) = (grammar.rules[rule].precedence, grammar.precedences.get(&token)) else {
                panic!("{name} may go on or end the rule of {}", grammar.names[grammar.rules[rule].left as usize]);
            };
            let reduces = own.0 > their.0 || own.0 == their.0 && own.1 == Association::Left;
            if reduces {
                actions.insert(token, reduce);
            } else if own.0 == their.0 && own.1 == Association::None {
                actions.insert(token, ERROR);
            }
        }
    }
    actions
}

/// The rule that is complete before most tokens: it is taken before any other token, too, for what is wrong shows before the token is read.
fn default(actions: &BTreeMap<u16, Action>) -> Action {
    let mut counts: BTreeMap<Action, usize> = BTreeMap::new();
    for action in actions.values().filter(|action| **action < 0 && **action != ERROR) {
        *counts.entry(*action).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(action, count)| (*count, *action)).map_or(ERROR, |(action, _)| action)
}

fn gotos(grammar: &Grammar, automaton: &Automaton) -> Vec<(Vec<(u16, u16)>, u16)> {
    let mut gotos: Vec<Vec<(u16, u16)>> = vec![Vec::new(); grammar.names.len()];
    for (state, content) in automaton.states.iter().enumerate() {
        for &(symbol, target) in content.transitions.iter().filter(|(symbol, _)| !grammar.is_token(*symbol)) {
            gotos[symbol as usize].push((state as u16, target as u16));
        }
    }
    let mut result = Vec::new();
    for mut pairs in gotos.into_iter().skip(grammar.terminals) {
        let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
        for (_, target) in &pairs {
            *counts.entry(*target).or_default() += 1;
        }
        let common = counts.into_iter().max_by_key(|(_, count)| *count).map_or(0, |(target, _)| target);
        pairs.retain(|(_, target)| *target != common);
        result.push((pairs, common));
    }
    result
}
