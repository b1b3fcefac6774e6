//! Parents and children: two tables between which there are foreign keys, and what clients do with them.
//!
//! Invariant: no key of a parent or a child is ever that of another row of the run, so whoever sees a row knows who brought it.

use crate::history::Token;
use crate::programs::{point_at, with_references};
use crate::random::Random;
use crate::workload::{Step, Workload};
use messages::TableId;
use messages::limits::MILLISECOND;
use messages::program::{AccessPath, Action, Bounds, Expression, InsertInput, Program, Reference, Source};
use messages::schema::{Column, ForeignKeySchema, IndexSchema, OnChange, TableSchema};
use messages::session::AccessMode;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use values::{Type, Value};

/// Storage of the parents.
pub const PARENTS: TableId = TableId(21);
/// Storage of the children.
pub const CHILDREN: TableId = TableId(22);
/// Storages of the indexes over the children's first two links.
pub const LINKED: [TableId; 2] = [TableId(23), TableId(24)];

/// How a child refers to its parent: a column and a foreign key each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
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
pub const LINKS: [Link; 4] = [Link::Cascade, Link::SetNull, Link::Deferred, Link::Restrict];

/// What a client asks of the two tables. Keys of rows are the tokens of those who brought them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyStep {
    /// A parent comes.
    Parent(Token),
    /// A parent goes.
    EndParent(Token),
    /// A parent gets another key.
    Move(Token, Token),
    /// A child of a parent comes.
    Child(Token, Link, Token),
    /// A child goes.
    EndChild(Token),
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
pub struct Family {
    /// The keys of all parents.
    pub parents: Option<BTreeSet<Token>>,
    /// By their keys all children: to whom each link refers.
    pub children: Option<BTreeMap<Token, [Option<Token>; 4]>>,
    /// What it changed.
    pub changes: Vec<FamilyChange>,
}

/// The programs.
#[derive(Debug)]
pub struct Programs {
    parent: Arc<Program>,
    end_parent: Arc<Program>,
    move_parent: Arc<Program>,
    children: [Arc<Program>; 4],
    end_child: Arc<Program>,
    read_parents: Arc<Program>,
    read_children: Arc<Program>,
}

/// Parents of which clients know.
#[derive(Clone, Debug, Default)]
pub struct Known {
    parents: VecDeque<Token>,
    children: VecDeque<Token>,
}

fn parents() -> Arc<TableSchema> {
    Arc::new(TableSchema {
        oid: PARENTS.0,
        primary_key: vec![0],
        ..TableSchema::new(
            "parents",
            PARENTS,
            vec![Column::new("k", Type::BigInt, true), Column::new("v", Type::Text, false)],
        )
    })
}

fn children() -> Arc<TableSchema> {
    let mut columns = vec![Column::new("k", Type::BigInt, true)];
    columns.extend(["owner", "friend", "guard", "base"].map(|name| Column::new(name, Type::BigInt, false)));
    let foreign_key = |place: usize, link: Link| {
        let on_change = match link {
            Link::Cascade => OnChange::Cascade,
            Link::SetNull => OnChange::SetNull,
            Link::Deferred => OnChange::NoAction,
            Link::Restrict => OnChange::Restrict,
        };
        ForeignKeySchema {
            name: format!("link_{place}"),
            oid: CHILDREN.0 + 2_000 + place as u32,
            columns: vec![1 + place],
            parent: PARENTS.0,
            parent_columns: vec![0],
            on_delete: on_change,
            on_update: on_change,
            defaults: Vec::new(),
            is_full: false,
            is_deferrable: link == Link::Deferred,
            is_deferred: link == Link::Deferred,
            is_valid: true,
        }
    };
    let index = |place: usize| IndexSchema {
        name: format!("children_{place}"),
        oid: LINKED[place].0,
        storage: LINKED[place],
        columns: vec![1 + place],
        unique: false,
        constraint: false,
    };
    Arc::new(TableSchema {
        oid: CHILDREN.0,
        primary_key: vec![0],
        indexes: (0..LINKED.len()).map(index).collect(),
        foreign_keys: LINKS.iter().enumerate().map(|(place, link)| foreign_key(place, *link)).collect(),
        ..TableSchema::new("children", CHILDREN, columns)
    })
}

impl Programs {
    /// Builds them all.
    pub fn new() -> Programs {
        let (parents, children) = (parents(), children());
        let reference =
            |foreign_key| Reference { child: Arc::clone(&children), foreign_key, parent: Arc::clone(&parents) };
        let references: Arc<[Reference]> = (0..LINKS.len()).map(reference).collect();
        let changing = |action: Action| with_references(action, 0, Arc::clone(&references));
        let insert = |table: &Arc<TableSchema>, row: Vec<Expression>| Action::Insert {
            table: Arc::clone(table),
            values: (0..row.len()).map(|column| Expression::Column(column as u16)).collect(),
            input: InsertInput::Rows(vec![row]),
            on_conflict: None,
            returning: Vec::new(),
            private: false,
        };
        let child = |link: usize| {
            let mut row = vec![Expression::Constant(Value::Null); 5];
            (row[0], row[1 + link]) = (Expression::Parameter(0), Expression::Parameter(2));
            changing(insert(&children, row))
        };
        let delete = |table: &Arc<TableSchema>| {
            let source = point_at(Arc::clone(table));
            changing(Action::Delete { source, filter: None, returning: Vec::new() })
        };
        let read = |table: &Arc<TableSchema>, columns: u16| {
            let path = AccessPath::KeyRange(Bounds::default());
            let source = Some(Source { table: Arc::clone(table), path, reverse: false });
            let output = (0..columns).map(Expression::Column).collect();
            let read = Action::Select { source, filter: None, output, offset: None, limit: None, lock: None };
            with_references(read, columns, Arc::default())
        };
        Programs {
            parent: changing(insert(&parents, [0, 1].map(Expression::Parameter).to_vec())),
            end_parent: delete(&parents),
            move_parent: changing(Action::Update {
                source: point_at(Arc::clone(&parents)),
                filter: None,
                assignments: vec![(0, Expression::Parameter(2))],
                returning: Vec::new(),
            }),
            children: [0, 1, 2, 3].map(child),
            end_child: delete(&children),
            read_parents: read(&parents, 1),
            read_children: read(&children, 5),
        }
    }

    /// The program of a step, and the two keys that it is given.
    pub fn of(&self, step: FamilyStep) -> (&Arc<Program>, [Token; 2]) {
        match step {
            FamilyStep::Parent(key) => (&self.parent, [key, 0]),
            FamilyStep::EndParent(key) => (&self.end_parent, [key, 0]),
            FamilyStep::Move(from, to) => (&self.move_parent, [from, to]),
            FamilyStep::Child(key, link, parent) => (&self.children[link as usize], [key, parent]),
            FamilyStep::EndChild(key) => (&self.end_child, [key, 0]),
            FamilyStep::ReadParents => (&self.read_parents, [0, 0]),
            FamilyStep::ReadChildren => (&self.read_children, [0, 0]),
        }
    }
}

impl Default for Programs {
    fn default() -> Programs {
        Programs::new()
    }
}

impl FamilyStep {
    /// Whether it only reads.
    pub fn is_read(self) -> bool {
        matches!(self, FamilyStep::ReadParents | FamilyStep::ReadChildren)
    }
}

impl Family {
    /// A step is asked for.
    pub fn asks(&mut self, step: FamilyStep) {
        if !step.is_read() {
            self.changes.push(FamilyChange { step, found: None });
        }
    }

    /// It was answered. Errors: it cannot be so.
    pub fn answered(&mut self, step: FamilyStep, rows: &[Vec<Value>], affected: u64) -> Result<(), String> {
        let token = |value: &Value| value.as_integer().map(|key| key as Token);
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

impl Known {
    fn remember(known: &mut VecDeque<Token>, token: Token, most: usize) {
        known.push_back(token);
        if known.len() > most {
            known.pop_front();
        }
    }
}

fn change(workload: &mut Workload, random: &mut Random) -> FamilyStep {
    let most = workload.mix.families as usize;
    let token = workload.token();
    let known = &mut workload.families;
    if known.parents.is_empty() || random.one_in(6) {
        Known::remember(&mut known.parents, token, most);
        return FamilyStep::Parent(token);
    }
    let place = random.index(known.parents.len());
    let parent = known.parents[place];
    match random.below(10) {
        0..=4 => {
            Known::remember(&mut known.children, token, most);
            FamilyStep::Child(token, *random.pick(&LINKS), parent)
        }
        5 => match known.children.is_empty() {
            true => FamilyStep::EndParent(parent),
            false => FamilyStep::EndChild(known.children[random.index(known.children.len())]),
        },
        6 => {
            known.parents[place] = token;
            FamilyStep::Move(parent, token)
        }
        _ => {
            if random.one_in(2) {
                known.parents.remove(place);
            }
            FamilyStep::EndParent(parent)
        }
    }
}

/// Transactions about the two tables.
pub fn plan(workload: &mut Workload, random: &mut Random) -> Vec<Step> {
    let family = Step::Family;
    let think = |workload: &Workload, plan: &mut Vec<Step>, random: &mut Random| {
        if !random.one_in(3) {
            plan.push(Step::Think(random.around(workload.mix.think.max(3 * MILLISECOND))));
        }
    };
    match random.below(8) {
        0..=2 => vec![family(change(workload, random))],
        3 => {
            let mut plan = vec![Step::Begin(AccessMode::ReadOnly), family(FamilyStep::ReadParents)];
            think(workload, &mut plan, random);
            plan.extend([family(FamilyStep::ReadChildren), Step::Commit]);
            plan
        }
        4 => {
            // A child before its parent, which may stay away.
            let (child, parent) = (workload.token(), workload.token());
            let mut plan = vec![Step::Begin(AccessMode::ReadWrite)];
            plan.push(family(FamilyStep::Child(child, Link::Deferred, parent)));
            think(workload, &mut plan, random);
            if !random.one_in(3) {
                let most = workload.mix.families as usize;
                Known::remember(&mut workload.families.parents, parent, most);
                plan.push(family(FamilyStep::Parent(parent)));
            }
            plan.push(Step::Commit);
            plan
        }
        _ => {
            let mut plan = vec![Step::Begin(AccessMode::ReadWrite)];
            if random.one_in(4) {
                plan.extend([family(FamilyStep::ReadParents), family(FamilyStep::ReadChildren)]);
            }
            for _ in 0..random.between(1, 3) {
                plan.push(family(change(workload, random)));
                think(workload, &mut plan, random);
            }
            plan.push(if random.one_in(12) { Step::Rollback } else { Step::Commit });
            plan
        }
    }
}
