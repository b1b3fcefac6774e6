//! Foreign keys: whoever sees all parents and all children sees no child without its parent; and at the end each parent and child is there, gone or
//! changed as those say who changed it, cascades wholly.
//!
//! What a loss of power excuses is as in [`super::durability`]: it may have come about or not.

use super::durability::is_excused;
use crate::families::{Bond, FamilyStep, FamilyView, LINKS};
use crate::history::{Fate, History, Token, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// Errors: a child without its parent, or a row that is not what it must be.
pub fn check(history: &History) -> Result<(), String> {
    for transaction in &history.transactions {
        let stands = transaction.fate == Fate::Committed || transaction.read_only;
        if stands && let Some(orphan) = orphan(&transaction.family) {
            return Err(format!("{orphan}, as this transaction has seen: {transaction:?}"));
        }
    }
    let last = history.transactions.iter().rev().map(|transaction| &transaction.family);
    let mut last = last.filter_map(|family| Some((family.parents.as_ref()?, family.children.as_ref()?)));
    match last.next() {
        Some((parents, children)) => Done::of(history).check(parents, children),
        None => Ok(()),
    }
}

/// A child that refers to nobody who is there.
fn orphan(family: &FamilyView) -> Option<String> {
    let (parents, children) = (family.parents.as_ref()?, family.children.as_ref()?);
    for (child, links) in children {
        for (link, parent) in LINKS.iter().zip(links) {
            if let Some(parent) = parent
                && !parents.contains(parent)
            {
                return Some(format!("child {child} refers to parent {parent} by {link:?}, who is not there"));
            }
        }
    }
    None
}

/// How far a change has come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Came {
    /// Not at all.
    Never,
    /// Perhaps.
    Perhaps,
    /// Wholly.
    Surely,
}

/// What all transactions together have done.
#[derive(Default)]
struct Done {
    parents: BTreeMap<Token, Came>,
    children: BTreeMap<Token, (Came, Bond, Token)>,
    ended_parents: BTreeMap<Token, Came>,
    ended_children: BTreeMap<Token, Came>,
    moved: BTreeMap<Token, Vec<(Token, Came)>>,
}

fn came(history: &History, transaction: &Transaction, found: Option<bool>) -> Came {
    match transaction.fate {
        _ if found == Some(false) => Came::Never,
        Fate::Aborted => Came::Never,
        Fate::Committed if found.is_some() && !is_excused(history, transaction) => Came::Surely,
        _ => Came::Perhaps,
    }
}

impl Done {
    fn of(history: &History) -> Done {
        let mut done = Done::default();
        for transaction in &history.transactions {
            for change in &transaction.family.changes {
                let came = came(history, transaction, change.found);
                let raise = |known: &mut Came| *known = (*known).max(came);
                match change.step {
                    FamilyStep::Parent(key) => raise(done.parents.entry(key).or_insert(Came::Never)),
                    FamilyStep::EndParent(key) => raise(done.ended_parents.entry(key).or_insert(Came::Never)),
                    FamilyStep::EndChild(key) => raise(done.ended_children.entry(key).or_insert(Came::Never)),
                    FamilyStep::Move(from, to) => done.moved.entry(from).or_default().push((to, came)),
                    FamilyStep::Child(key, link, parent) => drop(done.children.insert(key, (came, link, parent))),
                    FamilyStep::ReadParents | FamilyStep::ReadChildren => {}
                }
            }
        }
        done
    }

    /// The keys that a parent may have had since it had this one.
    fn keys(&self, parent: Token) -> BTreeSet<Token> {
        let (mut keys, mut left) = (BTreeSet::from([parent]), vec![parent]);
        while let Some(key) = left.pop() {
            for (to, came) in self.moved.get(&key).into_iter().flatten() {
                if *came > Came::Never && keys.insert(*to) {
                    left.push(*to);
                }
            }
        }
        keys
    }

    fn may_end(&self, parent: Token) -> bool {
        self.ended_parents.get(&parent).is_some_and(|came| *came > Came::Never)
    }

    fn may_go(&self, parent: Token) -> bool {
        let moved = self.moved.get(&parent).into_iter().flatten();
        self.may_end(parent) || moved.into_iter().any(|(_, came)| *came > Came::Never)
    }

    fn check(&self, parents: &BTreeSet<Token>, children: &BTreeMap<Token, [Option<Token>; 4]>) -> Result<(), String> {
        self.check_parents(parents)?;
        for (key, (came, link, parent)) in &self.children {
            let told = || format!("child {key} of parent {parent} by {link:?}");
            let ended = self.ended_children.get(key).copied().unwrap_or(Came::Never);
            let Some(links) = children.get(key) else {
                let cascaded = *link == Bond::Cascade && self.keys(*parent).iter().any(|key| self.may_end(*key));
                match *came == Came::Surely && ended == Came::Never && !cascaded {
                    true => return Err(format!("{} is lost", told())),
                    false => continue,
                }
            };
            if *came == Came::Never || ended == Came::Surely {
                return Err(format!("{} is there", told()));
            }
            for (place, refers) in LINKS.iter().zip(links) {
                let is_right = match (place == link, refers) {
                    (false, refers) => refers.is_none(),
                    (true, None) => *link == Bond::SetNull && self.may_go(*parent),
                    (true, Some(refers)) if *link == Bond::Cascade => self.keys(*parent).contains(refers),
                    (true, Some(refers)) => refers == parent,
                };
                if !is_right {
                    return Err(format!("{} refers to {links:?}", told()));
                }
            }
        }
        match children.keys().find(|key| !self.children.contains_key(key)) {
            Some(key) => Err(format!("child {key} was brought by nobody")),
            None => Ok(()),
        }
    }

    fn check_parents(&self, parents: &BTreeSet<Token>) -> Result<(), String> {
        let moves = self.moved.values().flatten();
        let mut brought: BTreeMap<Token, Came> = moves.copied().collect();
        brought.extend(&self.parents);
        for (key, came) in &brought {
            let moved = self.moved.get(key).into_iter().flatten().map(|(_, came)| *came).max();
            let ended = self.ended_parents.get(key).copied().max(moved).unwrap_or(Came::Never);
            match parents.contains(key) {
                true if *came == Came::Never => return Err(format!("parent {key} was never to come, and is there")),
                true if ended == Came::Surely => return Err(format!("parent {key} has gone, and is there")),
                false if *came == Came::Surely && ended == Came::Never => {
                    return Err(format!("parent {key} is lost"));
                }
                _ => {}
            }
        }
        match parents.iter().find(|key| !brought.contains_key(key)) {
            Some(key) => Err(format!("parent {key} was brought by nobody")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::FamilyChange;

    fn transaction(fate: Fate, family: FamilyView) -> Transaction {
        Transaction {
            client: 0,
            site: 1,
            begun: 10,
            ended: 20,
            fate,
            read_only: false,
            observations: Vec::new(),
            changes: Vec::new(),
            family,
        }
    }

    fn changed(step: FamilyStep) -> Transaction {
        let changes = vec![FamilyChange { step, found: Some(true) }];
        transaction(Fate::Committed, FamilyView { changes, ..FamilyView::default() })
    }

    fn judged(mut transactions: Vec<Transaction>, parents: &[Token], children: &[(Token, [Option<Token>; 4])]) -> bool {
        let (parents, children) = (Some(parents.iter().copied().collect()), Some(children.iter().copied().collect()));
        transactions.push(transaction(Fate::Committed, FamilyView { parents, children, changes: Vec::new() }));
        check(&History { transactions, losses: Vec::new() }).is_ok()
    }

    /// If this fails, orphans, lost children and half cascades go unnoticed.
    #[test]
    fn finds_orphans_and_half_cascades() {
        use FamilyStep::{Child, EndParent, Move, Parent};
        let begun =
            || vec![changed(Parent(1)), changed(Child(2, Bond::Cascade, 1)), changed(Child(3, Bond::SetNull, 1))];
        let (owned, friend) = ((2, [Some(1), None, None, None]), (3, [None, Some(1), None, None]));
        assert!(judged(begun(), &[1], &[owned, friend]));
        assert!(!judged(begun(), &[1], &[owned]), "a child is lost");
        assert!(!judged(begun(), &[], &[owned, friend]), "both are orphans");
        let ended = || [begun(), vec![changed(EndParent(1))]].concat();
        let let_go = (3, [None; 4]);
        assert!(judged(ended(), &[], &[let_go]));
        assert!(!judged(ended(), &[], &[owned, let_go]), "half a cascade");
        assert!(!judged(begun(), &[1], &[owned, let_go]), "nobody has gone");
        let moved = || [begun(), vec![changed(Move(1, 4))]].concat();
        assert!(judged(moved(), &[4], &[(2, [Some(4), None, None, None]), let_go]));
        assert!(!judged(moved(), &[1, 4], &[owned, let_go]), "the parent is there twice");
    }
}
