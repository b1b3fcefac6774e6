//! Tokens to a concrete tree: which rule was complete over what. The stack is a vector, so that nesting costs memory and no stack of the program's.
//!
//! An error is found at the first token that no continuation of the text before could have, as PostgreSQL finds it.

use crate::error::SyntaxError;
use crate::limits::OPEN_SYMBOLS_MAX;
use crate::scan::{FAILED, Scanned, Token};
use crate::tables as t;
use crate::tables::symbols as g;

/// A token or a complete rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node(u32);

const TOKEN_BIT: u32 = 1 << 31;

impl Node {
    /// Number of the rule's node, in the order in which rules became complete: parts before the whole.
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

struct Complete {
    rule: u16,
    /// The first token that it covers; of an empty one, the token behind it.
    first: u32,
    /// The token behind it.
    next: u32,
    /// The last token that had been looked at when it became complete: the one behind it or its own last one.
    read: u32,
    children: u32,
}

/// The concrete tree of a text, or of its part before an error.
pub struct Tree<'a> {
    /// The text.
    pub text: &'a str,
    /// Its tokens.
    pub scanned: Scanned,
    complete: Vec<Complete>,
    children: Vec<Node>,
}

impl<'a> Tree<'a> {
    /// All complete rules, parts before the whole.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.complete.len() as u32).map(Node)
    }

    /// The symbol of a token, or of what a rule defines.
    pub fn symbol(&self, node: Node) -> u16 {
        match self.token(node) {
            Some(token) => token.kind,
            None => t::RULE_LEFT[self.complete[node.number()].rule as usize],
        }
    }

    /// The right side of a complete rule; empty for a token.
    pub fn shape(&self, node: Node) -> &'static [u16] {
        if node.0 & TOKEN_BIT != 0 { &[] } else { right(self.complete[node.number()].rule) }
    }

    /// What stands for each symbol of the right side.
    pub fn children(&self, node: Node) -> &[Node] {
        if node.0 & TOKEN_BIT != 0 {
            return &[];
        }
        let complete = &self.complete[node.number()];
        let start = complete.children as usize;
        &self.children[start..start + right(complete.rule).len()]
    }

    /// The token that a node is.
    pub fn token(&self, node: Node) -> Option<&Token> {
        (node.0 & TOKEN_BIT != 0).then(|| &self.scanned.tokens[(node.0 & !TOKEN_BIT) as usize])
    }

    /// The first token of a node; of an empty one, the token behind it.
    pub fn first_token(&self, node: Node) -> &Token {
        let number = if node.0 & TOKEN_BIT != 0 { node.0 & !TOKEN_BIT } else { self.complete[node.number()].first };
        &self.scanned.tokens[number as usize]
    }

    /// The token behind a node.
    pub fn next_token(&self, node: Node) -> &Token {
        let number =
            if node.0 & TOKEN_BIT != 0 { (node.0 & !TOKEN_BIT) + 1 } else { self.complete[node.number()].next };
        &self.scanned.tokens[number as usize]
    }

    /// The last token that had been looked at when a rule became complete. PostgreSQL points to it with errors that its rules' actions find.
    pub fn read_token(&self, node: Node) -> &Token {
        match node.0 & TOKEN_BIT {
            0 => &self.scanned.tokens[self.complete[node.number()].read as usize],
            _ => self.first_token(node),
        }
    }

    /// The last token of a node that is not empty.
    pub fn last_token(&self, node: Node) -> &Token {
        let next = if node.0 & TOKEN_BIT != 0 { (node.0 & !TOKEN_BIT) + 1 } else { self.complete[node.number()].next };
        &self.scanned.tokens[next as usize - 1]
    }

    /// What a token says, without quotes.
    pub fn text_of(&self, token: &Token) -> &str {
        match token.kind {
            g::IDENT | g::SCONST | g::FCONST | g::BCONST | g::XCONST | g::Op => {
                &self.scanned.texts[token.value as usize]
            }
            _ => self.source(token),
        }
    }

    /// How a token is written.
    pub fn source(&self, token: &Token) -> &'a str {
        &self.text[token.at as usize..token.end as usize]
    }
}

fn right(rule: u16) -> &'static [u16] {
    let rule = rule as usize;
    &t::RULE_RIGHT[t::RULE_RIGHT_START[rule] as usize..t::RULE_RIGHT_START[rule + 1] as usize]
}

/// Looks a key up in the list of `row`.
fn find<T: Copy>(starts: &[u32], keys: &[u16], values: &[T], row: usize, key: u16) -> Option<T> {
    let (start, end) = (starts[row] as usize, starts[row + 1] as usize);
    keys[start..end].binary_search(&key).ok().map(|found| values[start + found])
}

fn action(state: u16, token: u16) -> i16 {
    let row = t::STATE_ROW[state as usize] as usize;
    find(&t::ROW_KEY_START, &t::ROW_KEY, &t::ROW_VALUE, row, token).unwrap_or(t::STATE_DEFAULT[state as usize])
}

/// Whether a state does the same at any token.
fn is_settled(state: u16) -> bool {
    let row = t::STATE_ROW[state as usize] as usize;
    t::ROW_KEY_START[row] == t::ROW_KEY_START[row + 1]
}

fn after(state: u16, symbol: u16) -> u16 {
    let row = (symbol - t::TERMINALS) as usize;
    find(&t::GOTO_KEY_START, &t::GOTO_KEY, &t::GOTO_VALUE, row, state).unwrap_or(t::GOTO_DEFAULT[row])
}

/// Reads tokens up to the text's end or an error; what was complete before the error is in the tree.
pub fn parse(text: &str, mut scanned: Scanned) -> (Tree<'_>, Option<SyntaxError>) {
    let failure = scanned.failure.take();
    let count = scanned.tokens.len();
    let mut tree =
        Tree { text, scanned, complete: Vec::with_capacity(4 * count), children: Vec::with_capacity(6 * count) };
    let mut states: Vec<u16> = vec![0];
    let mut open: Vec<Node> = Vec::new();
    let mut position = 0;
    let mut read = 0;
    let error = loop {
        let token = tree.scanned.tokens[position];
        let state = states[states.len() - 1];
        let action = action(state, token.kind);
        // Where a rule is complete whatever comes, the next token is not looked at.
        if !is_settled(state) {
            read = position;
        }
        if action == t::REFUSE {
            break Some(match failure {
                Some(failure) if token.kind == FAILED => failure,
                _ => SyntaxError::near("syntax error", text, token.at as usize, token.end as usize),
            });
        }
        if action >= 0 {
            if token.kind == g::END_OF_TEXT {
                break None;
            }
            open.push(Node(position as u32 | TOKEN_BIT));
            states.push(action as u16);
            position += 1;
        } else {
            let rule = (-1 - action) as u16;
            let kept = open.len() - right(rule).len();
            let first = match open.get(kept) {
                Some(node) if node.0 & TOKEN_BIT != 0 => node.0 & !TOKEN_BIT,
                Some(node) => tree.complete[node.number()].first,
                None => position as u32,
            };
            let node = Node(tree.complete.len() as u32);
            let children = tree.children.len() as u32;
            tree.complete.push(Complete { rule, first, next: position as u32, read: read as u32, children });
            tree.children.extend(open.drain(kept..));
            states.truncate(kept + 1);
            states.push(after(states[kept], t::RULE_LEFT[rule as usize]));
            open.push(node);
        }
        if states.len() > OPEN_SYMBOLS_MAX {
            let token = tree.scanned.tokens[position.min(tree.scanned.tokens.len() - 1)];
            break Some(SyntaxError::near("memory exhausted", text, token.at as usize, token.end as usize));
        }
    };
    (tree, error)
}
