//! Which tokens may follow a complete rule in a state. The method is that of F. DeRemer and T. Pennello, "Efficient Computation of LALR(1) Look-Ahead
//! Sets", TOPLAS 4 (1982): relations between the transitions by symbols that are no tokens, and the unions of sets along them.

use std::collections::BTreeMap;

use crate::automaton::Automaton;
use crate::rules::Grammar;

/// A set of tokens.
pub type Tokens = Vec<u64>;

/// By state and rule.
pub type Lookaheads = BTreeMap<(u32, usize), Tokens>;

pub fn of(grammar: &Grammar, automaton: &Automaton) -> Lookaheads {
    let words = grammar.terminals.div_ceil(64);
    let transitions = Transitions::of(grammar, automaton);
    let mut sets: Vec<Tokens> = Vec::new();
    let mut reads: Vec<Vec<u32>> = Vec::new();
    for &(_, _, target) in &transitions.all {
        let (mut direct, mut nullable) = (vec![0u64; words], Vec::new());
        for &(symbol, _) in &automaton.states[target as usize].transitions {
            if grammar.is_token(symbol) {
                direct[symbol as usize / 64] |= 1 << (symbol % 64);
            } else if grammar.nullable[symbol as usize] {
                nullable.push(transitions.number(target, symbol));
            }
        }
        sets.push(direct);
        reads.push(nullable);
    }
    unite(&reads, &mut sets);
    let mut includes: Vec<Vec<u32>> = vec![Vec::new(); transitions.all.len()];
    let mut looks_back: BTreeMap<(u32, usize), Vec<u32>> = BTreeMap::new();
    for (number, &(from, left, _)) in transitions.all.iter().enumerate() {
        for &rule in &grammar.rules_of[left as usize] {
            let right = &grammar.rules[rule].right;
            let nullable_from =
                right.iter().rposition(|&symbol| !grammar.nullable[symbol as usize]).map_or(0, |last| last + 1);
            let mut state = from;
            for (position, &symbol) in right.iter().enumerate() {
                if !grammar.is_token(symbol) && position + 1 >= nullable_from {
                    includes[transitions.number(state, symbol) as usize].push(number as u32);
                }
                state = automaton.after(state, symbol);
            }
            looks_back.entry((state, rule)).or_default().push(number as u32);
        }
    }
    unite(&includes, &mut sets);
    let mut lookaheads = Lookaheads::new();
    for (key, numbers) in looks_back {
        let set = lookaheads.entry(key).or_insert_with(|| vec![0; words]);
        for number in numbers {
            add(set, &sets[number as usize]);
        }
    }
    lookaheads
}

fn add(set: &mut [u64], other: &[u64]) {
    for (word, other) in set.iter_mut().zip(other) {
        *word |= other;
    }
}

/// The transitions by symbols that are no tokens: from, symbol, to; in order.
struct Transitions {
    all: Vec<(u32, u16, u32)>,
    first: Vec<u32>,
}

impl Transitions {
    fn of(grammar: &Grammar, automaton: &Automaton) -> Transitions {
        let (mut all, mut first) = (Vec::new(), Vec::new());
        for (state, content) in automaton.states.iter().enumerate() {
            first.push(all.len() as u32);
            let inner = content.transitions.iter().filter(|(symbol, _)| !grammar.is_token(*symbol));
            all.extend(inner.map(|&(symbol, target)| (state as u32, symbol, target)));
        }
        first.push(all.len() as u32);
        Transitions { all, first }
    }

    fn number(&self, state: u32, symbol: u16) -> u32 {
        let (from, to) = (self.first[state as usize], self.first[state as usize + 1]);
        let own = &self.all[from as usize..to as usize];
        from + own.binary_search_by_key(&symbol, |(_, symbol, _)| *symbol).expect("the transition exists") as u32
    }
}

/// Adds to each set those of all that it is related to, over any number of steps: circles share one set. Tarjan's algorithm, without recursion.
fn unite(related: &[Vec<u32>], sets: &mut [Tokens]) {
    const OPEN: u32 = 0;
    const CLOSED: u32 = u32::MAX;
    let mut depth = vec![OPEN; related.len()];
    let mut stack: Vec<u32> = Vec::new();
    for root in 0..related.len() as u32 {
        if depth[root as usize] != OPEN {
            continue;
        }
        stack.push(root);
        depth[root as usize] = stack.len() as u32;
        // What is under way: the node, which of its relations comes next, and how deep it was pushed.
        let mut path: Vec<(u32, usize, u32)> = vec![(root, 0, stack.len() as u32)];
        while let Some(&mut (node, ref mut next, pushed)) = path.last_mut() {
            if let Some(&other) = related[node as usize].get(*next) {
                if depth[other as usize] == OPEN {
                    stack.push(other);
                    depth[other as usize] = stack.len() as u32;
                    path.push((other, 0, stack.len() as u32));
                    continue;
                }
                *next += 1;
                depth[node as usize] = depth[node as usize].min(depth[other as usize]);
                let set = sets[other as usize].clone();
                add(&mut sets[node as usize], &set);
                continue;
            }
            path.pop();
            if depth[node as usize] == pushed {
                while let Some(top) = stack.pop() {
                    depth[top as usize] = CLOSED;
                    if top == node {
                        break;
                    }
                    sets[top as usize] = sets[node as usize].clone();
                }
            }
        }
    }
}
