//! Parents and children: two tables between which there are foreign keys, and what clients do with them.
//!
//! Invariant: no key of a parent or a child is ever that of another row of the run, so whoever sees a row knows who brought it.

use crate::history::WriteToken;
use crate::random::SeededRandom;
use messages::TableId;
use messages::limits::MILLISECOND;
use messages::session::AccessMode;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use values::Value;

/// Storage of the parents.
pub const PARENTS: TableId = TableId(21);
/// Storage of the children.
pub const CHILDREN: TableId = TableId(22);
/// Storages of the indexes over the children's first two links.
pub const LINKED: [TableId; 2] = [TableId(23), TableId(24)];

/// How a child refers to its parent: a column and a foreign key each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// Goes and changes with it.
    Cascade,
    /// Refers to nobody once it has gone or changed.
    SetNull,
    /// Keeps it from going or changing; looked at when the transaction commits.
    Deferred,
    /// Keeps it from going or changing.
    Restrict,
}

/// All of them, in the order of their columns.
pub const LINKS: [Bond; 4] = [Bond::Cascade, Bond::SetNull, Bond::Deferred, Bond::Restrict];

/// What a client asks of the two tables. Keys of rows are the tokens of those who brought them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyStep {
    /// A parent comes.
    Parent(WriteToken),
    /// A parent goes.
    EndParent(WriteToken),
    /// A parent gets another key.
    Move(WriteToken, WriteToken),
    /// A child of a parent comes.
    Child(WriteToken, Bond, WriteToken),
    /// A child goes.
    EndChild(WriteToken),
    /// Reads all parents.
    ReadParents,
    /// Reads all children.
    ReadChildren,
}

/// A step that changes something, and what its client was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyChange {
    /// Which.
    pub step: FamilyStep,
    /// Whether there was something to be changed; `None`: nobody told.
    pub found: Option<bool>,
}

/// What a transaction has seen of the two tables, and changed.
#[derive(Clone, Debug, Default)]
pub struct FamilyView {
    /// The keys of all parents.
    pub parents: Option<BTreeSet<WriteToken>>,
    /// By their keys all children: to whom each link refers.
    pub children: Option<BTreeMap<WriteToken, [Option<WriteToken>; 4]>>,
    /// What it changed.
    pub changes: Vec<FamilyChange>,
}

/// Parents of which clients know.
#[derive(Clone, Debug, Default)]
pub struct KnownFamilies {
    parents: VecDeque<WriteToken>,
    children: VecDeque<WriteToken>,
}

impl FamilyStep {
    /// Whether it only reads.
    pub fn is_read(self) -> bool {
        matches!(self, FamilyStep::ReadParents | FamilyStep::ReadChildren)
    }
}

impl FamilyView {
    /// A step is asked for.
    pub fn asks(&mut self, step: FamilyStep) {
        if !step.is_read() {
            self.changes.push(FamilyChange { step, found: None });
        }
    }

    /// It was answered. Errors: it cannot be so.
    pub fn answered(&mut self, step: FamilyStep, rows: &[Vec<Value>], affected: u64) -> Result<(), String> {
        let token = |value: &Value| value.as_integer().map(|key| key as WriteToken);
        let key = |row: &Vec<Value>| token(&row[0]).ok_or_else(|| format!("a row without a key: {row:?}"));
        match step {
            FamilyStep::ReadParents => self.parents = Some(rows.iter().map(key).collect::<Result<_, _>>()?),
            FamilyStep::ReadChildren => {
                let child = |row: &Vec<Value>| Ok((key(row)?, [1, 2, 3, 4].map(|column| token(&row[column]))));
                self.children = Some(rows.iter().map(child).collect::<Result<_, String>>()?);
            }
            _ => {
                let change = self.changes.last_mut().expect("it was asked for");
                change.found = Some(affected > 0);
            }
        }
        Ok(())
    }
}

impl KnownFamilies {
    fn remember(known: &mut VecDeque<WriteToken>, token: WriteToken, most: usize) {
        known.push_back(token);
        if known.len() > most {
            known.pop_front();
        }
    }
}

/// A part of a transaction about the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyPart {
    /// Opens a transaction.
    Begin(AccessMode),
    /// A step.
    Step(FamilyStep),
    /// Does nothing for so long.
    Think(u64),
    /// Commits.
    Commit,
    /// Rolls back.
    Rollback,
}

impl KnownFamilies {
    fn change(&mut self, most: usize, token: WriteToken, random: &mut SeededRandom) -> FamilyStep {
        if self.parents.is_empty() || random.one_in(6) {
            KnownFamilies::remember(&mut self.parents, token, most);
            return FamilyStep::Parent(token);
        }
        let place = random.index(self.parents.len());
        let parent = self.parents[place];
        match random.below(10) {
            0..=4 => {
                KnownFamilies::remember(&mut self.children, token, most);
                FamilyStep::Child(token, *random.pick(&LINKS), parent)
            }
            5 => match self.children.is_empty() {
                true => FamilyStep::EndParent(parent),
                false => FamilyStep::EndChild(self.children[random.index(self.children.len())]),
            },
            6 => {
                self.parents[place] = token;
                FamilyStep::Move(parent, token)
            }
            _ => {
                if random.one_in(2) {
                    self.parents.remove(place);
                }
                FamilyStep::EndParent(parent)
            }
        }
    }

    /// A transaction about the two tables, of clients that work on so many parents at a time and think for so long; with fresh tokens.
    pub fn plan(
        &mut self,
        most: u64,
        think: u64,
        token: &mut dyn FnMut() -> WriteToken,
        random: &mut SeededRandom,
    ) -> Vec<FamilyPart> {
        use FamilyPart::{Begin, Commit, Rollback, Step};
        let most = most as usize;
        let thought = |plan: &mut Vec<FamilyPart>, random: &mut SeededRandom| {
            if !random.one_in(3) {
                plan.push(FamilyPart::Think(random.around(think.max(3 * MILLISECOND))));
            }
        };
        match random.below(8) {
            0..=2 => vec![Step(self.change(most, token(), random))],
            3 => {
                let mut plan = vec![Begin(AccessMode::ReadOnly), Step(FamilyStep::ReadParents)];
                thought(&mut plan, random);
                plan.extend([Step(FamilyStep::ReadChildren), Commit]);
                plan
            }
            4 => {
                // A child before its parent, which may stay away.
                let (child, parent) = (token(), token());
                let mut plan = vec![Begin(AccessMode::ReadWrite)];
                plan.push(Step(FamilyStep::Child(child, Bond::Deferred, parent)));
                thought(&mut plan, random);
                if !random.one_in(3) {
                    KnownFamilies::remember(&mut self.parents, parent, most);
                    plan.push(Step(FamilyStep::Parent(parent)));
                }
                plan.push(Commit);
                plan
            }
            _ => {
                let mut plan = vec![Begin(AccessMode::ReadWrite)];
                if random.one_in(4) {
                    plan.extend([Step(FamilyStep::ReadParents), Step(FamilyStep::ReadChildren)]);
                }
                for _ in 0..random.between(1, 3) {
                    plan.push(Step(self.change(most, token(), random)));
                    thought(&mut plan, random);
                }
                plan.push(if random.one_in(12) { Rollback } else { Commit });
                plan
            }
        }
    }
}
