//! Foreign keys: whoever sees all parents and all children sees no child without its parent; and at the end each parent and child is there, gone or
//! changed as those say who changed it, cascades wholly. Of one transaction's changes all have come about, or none.
//!
//! What a loss of power excuses is as in [`super::durability`]: it may have come about or not.

use super::durability::is_excused;
use crate::families::{Bond, FamilyChange, FamilyStep, FamilyView, LINKS};
use crate::history::{ObservedTransaction, RunHistory, TransactionFate, WriteToken};
use std::collections::{BTreeMap, BTreeSet};

/// All children by their keys, and to whom each link refers.
type Children = BTreeMap<WriteToken, [Option<WriteToken>; 4]>;

/// Errors: a child without its parent, or a row that is not what it must be.
pub fn check(history: &RunHistory) -> Result<(), String> {
    for transaction in &history.transactions {
        let stands = transaction.fate == TransactionFate::Committed || transaction.read_only;
        if stands && let Some(orphan) = orphan(&transaction.family) {
            return Err(format!("{orphan}, as this transaction has seen: {transaction:?}"));
        }
    }
    let Some(FamilyView { parents, children, .. }) = history.transactions.last().map(|last| &last.family) else {
        return Ok(());
    };
    let (Some(parents), Some(children)) = (parents, children) else {
        return match history.transactions.iter().all(|transaction| transaction.family.changes.is_empty()) {
            true => Ok(()),
            false => Err("nobody has looked at parents and children at the end".to_owned()),
        };
    };
    let done = Done::of(history);
    done.check(parents, children)?;
    match history.transactions.iter().find(|transaction| done.is_half(&transaction.family, parents, children)) {
        Some(half) => {
            Err(format!("of the changes of parents and children of one transaction only some are there: {half:?}"))
        }
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
    parents: BTreeMap<WriteToken, Came>,
    children: BTreeMap<WriteToken, (Came, Bond, WriteToken)>,
    ended_parents: BTreeMap<WriteToken, Came>,
    ended_children: BTreeMap<WriteToken, Came>,
    moved: BTreeMap<WriteToken, Vec<(WriteToken, Came)>>,
}

fn came(history: &RunHistory, transaction: &ObservedTransaction, found: Option<bool>) -> Came {
    match transaction.fate {
        _ if found == Some(false) => Came::Never,
        TransactionFate::Aborted => Came::Never,
        TransactionFate::Committed if found.is_some() && !is_excused(history, transaction) => Came::Surely,
        _ => Came::Perhaps,
    }
}

impl Done {
    fn of(history: &RunHistory) -> Done {
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
    fn keys(&self, parent: WriteToken) -> BTreeSet<WriteToken> {
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

    fn may_end(&self, parent: WriteToken) -> bool {
        self.ended_parents.get(&parent).is_some_and(|came| *came > Came::Never)
    }

    fn may_go(&self, parent: WriteToken) -> bool {
        let moved = self.moved.get(&parent).into_iter().flatten();
        self.may_end(parent) || moved.into_iter().any(|(_, came)| *came > Came::Never)
    }

    fn may_cascade(&self, link: Bond, parent: WriteToken) -> bool {
        link == Bond::Cascade && self.keys(parent).iter().any(|key| self.may_end(*key))
    }

    fn ended(&self, child: WriteToken) -> Came {
        self.ended_children.get(&child).copied().unwrap_or(Came::Never)
    }

    /// Whether some of a transaction's changes have certainly come about, and some have certainly not.
    fn is_half(&self, family: &FamilyView, parents: &BTreeSet<WriteToken>, children: &Children) -> bool {
        let has_come = |change: &FamilyChange| match change.step {
            _ if change.found == Some(false) => None,
            FamilyStep::Parent(key) if !self.may_go(key) => Some(parents.contains(&key)),
            FamilyStep::Child(key, link, parent)
                if self.ended(key) == Came::Never && !self.may_cascade(link, parent) =>
            {
                Some(children.contains_key(&key))
            }
            // A key never returns.
            FamilyStep::EndParent(key) | FamilyStep::Move(key, _) if parents.contains(&key) => Some(false),
            FamilyStep::EndChild(key) if children.contains_key(&key) => Some(false),
            FamilyStep::Move(_, to) if parents.contains(&to) => Some(true),
            _ => None,
        };
        // Nobody knows whether there was something to be changed.
        let is_told = |change: &&FamilyChange| change.found.is_some();
        let come: BTreeSet<bool> = family.changes.iter().filter(is_told).filter_map(has_come).collect();
        come.len() > 1
    }

    fn check(&self, parents: &BTreeSet<WriteToken>, children: &Children) -> Result<(), String> {
        self.check_parents(parents)?;
        for (key, (came, link, parent)) in &self.children {
            let told = || format!("child {key} of parent {parent} by {link:?}");
            let ended = self.ended(*key);
            let Some(links) = children.get(key) else {
                let cascaded = self.may_cascade(*link, *parent);
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

    fn check_parents(&self, parents: &BTreeSet<WriteToken>) -> Result<(), String> {
        let moves = self.moved.values().flatten();
        let mut brought: BTreeMap<WriteToken, Came> = moves.copied().collect();
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
    use crate::history::Loss;
    use FamilyStep::{Child, EndChild, EndParent, Move, Parent};

    fn changed(fate: TransactionFate, steps: &[FamilyStep]) -> ObservedTransaction {
        let changes = steps.iter().map(|step| FamilyChange { step: *step, found: Some(true) }).collect();
        let family = FamilyView { changes, ..FamilyView::default() };
        ObservedTransaction { family, ..ObservedTransaction::of_fate(fate) }
    }

    fn committed(step: FamilyStep) -> ObservedTransaction {
        changed(TransactionFate::Committed, &[step])
    }

    fn look(parents: &[WriteToken], children: &[(WriteToken, [Option<WriteToken>; 4])]) -> ObservedTransaction {
        let (parents, children) = (Some(parents.iter().copied().collect()), Some(children.iter().copied().collect()));
        let family = FamilyView { parents, children, changes: Vec::new() };
        ObservedTransaction { family, ..ObservedTransaction::of_fate(TransactionFate::Committed) }
    }

    fn judged(
        mut transactions: Vec<ObservedTransaction>,
        parents: &[WriteToken],
        children: &[(WriteToken, [Option<WriteToken>; 4])],
    ) -> bool {
        transactions.push(look(parents, children));
        check(&RunHistory { transactions, losses: Vec::new() }).is_ok()
    }

    /// A parent 1, and a child of it by each link: 2, 3, 4 and 5.
    fn begun() -> Vec<ObservedTransaction> {
        let children = LINKS.iter().zip(2..).map(|(link, key)| committed(Child(key, *link, 1)));
        std::iter::once(committed(Parent(1))).chain(children).collect()
    }

    const OWNED: (WriteToken, [Option<WriteToken>; 4]) = (2, [Some(1), None, None, None]);
    const FRIEND: (WriteToken, [Option<WriteToken>; 4]) = (3, [None, Some(1), None, None]);
    const GUARD: (WriteToken, [Option<WriteToken>; 4]) = (4, [None, None, Some(1), None]);
    const BASE: (WriteToken, [Option<WriteToken>; 4]) = (5, [None, None, None, Some(1)]);
    const LET_GO: (WriteToken, [Option<WriteToken>; 4]) = (3, [None; 4]);

    /// If this fails, orphans, lost children and half cascades go unnoticed.
    #[test]
    fn finds_orphans_and_half_cascades() {
        assert!(judged(begun(), &[1], &[OWNED, FRIEND, GUARD, BASE]));
        for missing in 0..4 {
            let mut left = vec![OWNED, FRIEND, GUARD, BASE];
            left.remove(missing);
            assert!(!judged(begun(), &[1], &left), "a child is lost: {left:?} are left");
        }
        assert!(!judged(begun(), &[1], &[OWNED, LET_GO, GUARD, BASE]), "nobody has gone");
        assert!(!judged(begun(), &[1], &[OWNED, FRIEND, (4, [None; 4]), BASE]), "this link is never set NULL");
        let two =
            || vec![committed(Parent(1)), committed(Child(2, Bond::Cascade, 1)), committed(Child(3, Bond::SetNull, 1))];
        assert!(!judged(two(), &[], &[OWNED, FRIEND]), "both are orphans");
        let ended = || [two(), vec![committed(EndParent(1))]].concat();
        assert!(judged(ended(), &[], &[LET_GO]));
        assert!(!judged(ended(), &[], &[OWNED, LET_GO]), "half a cascade");
        assert!(!judged(ended(), &[], &[FRIEND]), "the other half");
        assert!(!judged(ended(), &[], &[]), "this link does not cascade");
        let moved = || [two(), vec![committed(Move(1, 6))]].concat();
        let owned_anew = (2, [Some(6), None, None, None]);
        assert!(judged(moved(), &[6], &[owned_anew, LET_GO]));
        assert!(!judged(moved(), &[1, 6], &[OWNED, LET_GO]), "the parent is there twice");
        assert!(!judged(moved(), &[6], &[LET_GO]), "a move ends no child");
        let both = || [moved(), vec![committed(EndParent(6))]].concat();
        assert!(judged(both(), &[], &[LET_GO]), "a cascade follows the parent's keys");
    }

    /// If this fails, rows that were refused, deleted or brought by nobody go unnoticed.
    #[test]
    fn finds_rows_that_should_not_be_there() {
        let refused = || vec![changed(TransactionFate::Aborted, &[Parent(1)])];
        assert!(judged(refused(), &[], &[]));
        assert!(!judged(refused(), &[1], &[]));
        assert!(!judged(
            vec![committed(Parent(1)), changed(TransactionFate::Aborted, &[Child(2, Bond::Cascade, 1)])],
            &[1],
            &[OWNED]
        ));
        assert!(!judged(vec![committed(Parent(1)), committed(EndParent(1))], &[1], &[]), "it has gone");
        let let_go = || [begun(), vec![committed(EndChild(2))]].concat();
        assert!(judged(let_go(), &[1], &[FRIEND, GUARD, BASE]));
        assert!(!judged(let_go(), &[1], &[OWNED, FRIEND, GUARD, BASE]), "the child has gone");
        assert!(!judged(Vec::new(), &[1], &[]) && !judged(vec![committed(Parent(1))], &[1], &[OWNED]), "nobody's");
        let other = (2, [Some(7), None, None, None]);
        let strangers = vec![committed(Parent(1)), committed(Parent(7)), committed(Child(2, Bond::Cascade, 1))];
        assert!(!judged(strangers, &[1, 7], &[other]), "the child of another parent");
    }

    /// If this fails, an orphan that is gone at the end goes unnoticed, or nobody need look at the end.
    #[test]
    fn looks_at_every_view_and_wants_a_last_one() {
        let early = vec![committed(Parent(1)), look(&[], &[OWNED]), committed(Child(2, Bond::Cascade, 1))];
        assert!(!judged(early.clone(), &[1], &[OWNED]));
        let mut undone = early;
        undone[1].fate = TransactionFate::Aborted;
        assert!(judged(undone.clone(), &[1], &[OWNED]), "who writes and aborts may have seen anything");
        undone[1].read_only = true;
        assert!(!judged(undone, &[1], &[OWNED]), "what a reader has read stands");
        assert!(check(&RunHistory { transactions: begun(), losses: Vec::new() }).is_err(), "nobody has looked");
        assert!(check(&RunHistory::default()).is_ok());
    }

    /// If this fails, a transaction of which nobody knows the outcome may be there by half.
    #[test]
    fn finds_half_transactions() {
        let pair = [Child(4, Bond::Deferred, 1), Parent(1)];
        for fate in [TransactionFate::Unknown, TransactionFate::Committed] {
            assert!(judged(vec![changed(fate, &pair)], &[1], &[GUARD]));
            assert!(!judged(vec![changed(fate, &pair)], &[1], &[]), "{fate:?}");
        }
        assert!(judged(vec![changed(TransactionFate::Unknown, &pair)], &[], &[]));
        let moved = || vec![committed(Parent(1)), changed(TransactionFate::Unknown, &[Move(1, 6), Parent(7)])];
        assert!(judged(moved(), &[1], &[]) && judged(moved(), &[6, 7], &[]));
        assert!(!judged(moved(), &[6], &[]) && !judged(moved(), &[1, 7], &[]));
        let ended = || [begun(), vec![changed(TransactionFate::Unknown, &[EndChild(2), Parent(7)])]].concat();
        assert!(!judged(ended(), &[1, 7], &[OWNED, FRIEND, GUARD, BASE]));
        assert!(judged(ended(), &[1, 7], &[FRIEND, GUARD, BASE]));
    }

    /// If this fails, what may be gone with the power is held to be a fault, or a loss of power excuses half of a transaction.
    #[test]
    fn a_loss_of_power_excuses_what_is_wholly_gone() {
        let losses = vec![Loss { windows: BTreeMap::from([(1, (15, 30))]) }];
        let judged = |parents: &[WriteToken], children: &[(WriteToken, [Option<WriteToken>; 4])]| {
            let lost = changed(TransactionFate::Committed, &[Parent(1), Child(2, Bond::Cascade, 1)]);
            check(&RunHistory { transactions: vec![lost, look(parents, children)], losses: losses.clone() }).is_ok()
        };
        assert!(judged(&[], &[]) && judged(&[1], &[OWNED]));
        assert!(!judged(&[1], &[]));
    }
}
