//! The states of the LR(0) parser. A state is a set of items; an item is a rule with how much of its right side has been read, numbered over all rules.

use std::collections::BTreeMap;

use crate::rules::Grammar;

pub struct State {
    /// By symbol, in order.
    pub transitions: Vec<(u16, u32)>,
    /// Rules that are complete here.
    pub complete: Vec<usize>,
}

pub struct Automaton {
    pub states: Vec<State>,
}

impl Automaton {
    pub fn of(grammar: &Grammar) -> Automaton {
        let (first_item, item_rules) = number_items(grammar);
        let closures = closures(grammar);
        let mut numbers: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut kernels: Vec<Vec<u32>> = vec![vec![first_item[0]]];
        numbers.insert(kernels[0].clone(), 0);
        let mut states = Vec::new();
        let mut position = 0;
        while position < kernels.len() {
            let kernel = kernels[position].clone();
            let mut next: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
            let mut complete = Vec::new();
            let mut reached = vec![false; grammar.names.len()];
            for &item in &kernel {
                let rule = item_rules[item as usize];
                match grammar.rules[rule].right.get((item - first_item[rule]) as usize) {
                    None => complete.push(rule),
                    Some(&symbol) => {
                        next.entry(symbol).or_default().push(item + 1);
                        for &inner in &closures[symbol as usize] {
                            reached[inner as usize] = true;
                        }
                    }
                }
            }
            for (rules, _) in grammar.rules_of.iter().zip(&reached).filter(|(_, reached)| **reached) {
                for &rule in rules {
                    match grammar.rules[rule].right.first() {
                        None => complete.push(rule),
                        Some(&symbol) => next.entry(symbol).or_default().push(first_item[rule] + 1),
                    }
                }
            }
            let mut transitions = Vec::new();
            for (symbol, mut kernel) in next {
                kernel.sort_unstable();
                let number = *numbers.entry(kernel).or_insert_with_key(|kernel| {
                    kernels.push(kernel.clone());
                    kernels.len() as u32 - 1
                });
                transitions.push((symbol, number));
            }
            complete.sort_unstable();
            states.push(State { transitions, complete });
            position += 1;
        }
        Automaton { states }
    }

    /// The state after `symbol`.
    pub fn after(&self, state: u32, symbol: u16) -> u32 {
        let transitions = &self.states[state as usize].transitions;
        let found = transitions.binary_search_by_key(&symbol, |(symbol, _)| *symbol);
        transitions[found.expect("a state reads what its items begin with")].1
    }
}

/// The number of each rule's first item, and the rule of each item.
fn number_items(grammar: &Grammar) -> (Vec<u32>, Vec<usize>) {
    let (mut first, mut rules) = (Vec::new(), Vec::new());
    for (number, rule) in grammar.rules.iter().enumerate() {
        first.push(rules.len() as u32);
        rules.resize(rules.len() + rule.right.len() + 1, number);
    }
    (first, rules)
}

/// For each symbol, the symbols whose rules can begin where it stands.
fn closures(grammar: &Grammar) -> Vec<Vec<u16>> {
    let mut closures = vec![Vec::new(); grammar.names.len()];
    for (start, closure) in closures.iter_mut().enumerate().skip(grammar.terminals) {
        let mut seen = vec![false; grammar.names.len()];
        let mut open = vec![start as u16];
        seen[start] = true;
        while let Some(symbol) = open.pop() {
            closure.push(symbol);
            for &rule in &grammar.rules_of[symbol as usize] {
                if let Some(&first) = grammar.rules[rule].right.first()
                    && !grammar.is_token(first)
                    && !std::mem::replace(&mut seen[first as usize], true)
                {
                    open.push(first);
                }
            }
        }
    }
    closures
}
