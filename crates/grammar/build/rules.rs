//! The grammar's text as numbered symbols and rules. Symbols below `terminals` are tokens; 0 is the end of the text. Rule 0 is `start end`.

use std::collections::BTreeMap;

/// The end of the text.
pub const END: u16 = 0;

/// How a precedence level settles a tie between a rule and a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Association {
    Left,
    Right,
    None,
}

/// A larger level binds more tightly.
pub type Precedence = (u16, Association);

pub struct Rule {
    pub left: u16,
    pub right: Vec<u16>,
    pub precedence: Option<Precedence>,
}

pub struct Grammar {
    pub names: Vec<String>,
    pub terminals: usize,
    pub rules: Vec<Rule>,
    /// Of each token that has one.
    pub precedences: BTreeMap<u16, Precedence>,
    /// Of each symbol that is no token: its rules.
    pub rules_of: Vec<Vec<usize>>,
    /// Which symbols derive the empty text.
    pub nullable: Vec<bool>,
}

/// The rules as they stand: left side, then alternatives with what `%prec` names.
type Alternatives = Vec<(String, Vec<(Vec<String>, Option<String>)>)>;

impl Grammar {
    pub fn parse(text: &str) -> Grammar {
        let text: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let (head, body) = text.split_once("\n%%\n").expect("`%%` stands before the rules");
        let written = alternatives(body);
        let mut levels: Vec<(Association, Vec<String>)> = Vec::new();
        for line in head.lines() {
            let mut words = line.split_whitespace().map(str::to_string);
            let association = match words.next().as_deref() {
                Some("%left") => Association::Left,
                Some("%right") => Association::Right,
                Some("%nonassoc") => Association::None,
                _ => continue,
            };
            levels.push((association, words.collect()));
        }
        let mut names = vec!["$end".to_string()];
        let is_rule: BTreeMap<&str, ()> = written.iter().map(|(name, _)| (name.as_str(), ())).collect();
        let mut numbers: BTreeMap<String, u16> = BTreeMap::new();
        let used = written.iter().flat_map(|(_, alternatives)| alternatives.iter().flat_map(|(right, _)| right));
        let leveled = levels.iter().flat_map(|(_, tokens)| tokens);
        let declared: Vec<String> = head
            .lines()
            .filter(|line| line.starts_with("%token"))
            .flat_map(|line| line.split_whitespace().skip(1).map(str::to_string))
            .collect();
        for name in used.chain(leveled).chain(&declared).filter(|name| !is_rule.contains_key(name.as_str())) {
            numbers.entry(name.clone()).or_insert_with(|| {
                names.push(name.clone());
                (names.len() - 1) as u16
            });
        }
        let terminals = names.len();
        for (name, _) in &written {
            numbers.insert(name.clone(), names.len() as u16);
            names.push(name.clone());
        }
        let mut precedences = BTreeMap::new();
        for (level, (association, tokens)) in levels.iter().enumerate() {
            for token in tokens {
                precedences.insert(numbers[token], (level as u16 + 1, *association));
            }
        }
        let mut rules = vec![Rule { left: names.len() as u16, right: vec![terminals as u16, END], precedence: None }];
        names.push("$accept".to_string());
        for (name, alternatives) in &written {
            for (right, named) in alternatives {
                let right: Vec<u16> = right.iter().map(|name| numbers[name]).collect();
                let last = right.iter().rev().find(|&&symbol| (symbol as usize) < terminals);
                let token = named.as_ref().map(|name| numbers[name]).or(last.copied());
                let precedence = token.and_then(|token| precedences.get(&token).copied());
                rules.push(Rule { left: numbers[name], right, precedence });
            }
        }
        let mut rules_of = vec![Vec::new(); names.len()];
        for (number, rule) in rules.iter().enumerate() {
            rules_of[rule.left as usize].push(number);
        }
        let nullable = nullable(&rules, names.len());
        Grammar { names, terminals, rules, precedences, rules_of, nullable }
    }

    pub fn is_token(&self, symbol: u16) -> bool {
        (symbol as usize) < self.terminals
    }
}

fn alternatives(body: &str) -> Alternatives {
    let mut rules: Alternatives = Vec::new();
    for line in body.lines() {
        let mut words = line.split_whitespace().peekable();
        match words.peek() {
            None | Some(&";") => continue,
            Some(&":" | &"|") => {
                words.next();
            }
            Some(name) => {
                rules.push((name.to_string(), Vec::new()));
                continue;
            }
        }
        let (mut right, mut precedence) = (Vec::new(), None);
        while let Some(word) = words.next() {
            match word {
                "%empty" => {}
                "%prec" => precedence = words.next().map(str::to_string),
                _ => right.push(word.to_string()),
            }
        }
        rules.last_mut().expect("a name stands before its alternatives").1.push((right, precedence));
    }
    rules
}

fn nullable(rules: &[Rule], symbols: usize) -> Vec<bool> {
    let mut nullable = vec![false; symbols];
    loop {
        let mut changed = false;
        for rule in rules {
            if !nullable[rule.left as usize] && rule.right.iter().all(|&symbol| nullable[symbol as usize]) {
                nullable[rule.left as usize] = true;
                changed = true;
            }
        }
        if !changed {
            return nullable;
        }
    }
}
