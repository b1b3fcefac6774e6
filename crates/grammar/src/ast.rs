//! The syntax tree. Expressions, queries, items of FROM and statements within statements lie in an arena and name each other by number, parts before the
//! whole: a tree of any depth is dropped without recursion, and may be walked by a loop over the arena.
//!
//! Nothing here is resolved: a name may be a column, a function or nothing. `at` is where PostgreSQL would point to, in bytes from the text's beginning: at
//! the operator of `a + b`, at the word IS of `a IS NULL`.
//!
//! * [`expressions`], [`types`], [`queries`]: what computes;
//! * [`changes`]: statements that change rows;
//! * [`definitions`], [`alterations`]: that change the schema;
//! * [`utility`]: all others.

pub mod alterations;
pub mod changes;
pub mod definitions;
pub mod expressions;
pub mod queries;
pub mod types;
pub mod utility;

pub use alterations::*;
pub use changes::*;
pub use definitions::*;
pub use expressions::*;
pub use queries::*;
pub use types::*;
pub use utility::*;

use std::ops::{Index, IndexMut};

/// Where something stands, in bytes from the text's beginning.
pub type At = u32;

/// A name: folded to lower case unless quoted, cut to 63 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its characters.
    pub text: String,
    /// Where it stands.
    pub at: At,
}

/// A name with what it lies in before it: `schema.table`.
pub type QualifiedName = Vec<Name>;

macro_rules! number {
    ($(#[$documentation:meta])* $name:ident, $node:ty, $list:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl Index<$name> for Arena {
            type Output = $node;
            fn index(&self, number: $name) -> &$node {
                &self.$list[number.0 as usize]
            }
        }

        impl IndexMut<$name> for Arena {
            fn index_mut(&mut self, number: $name) -> &mut $node {
                &mut self.$list[number.0 as usize]
            }
        }

        impl Arena {
            /// Adds a node.
            #[allow(non_snake_case)]
            pub(crate) fn $list(&mut self, node: $node) -> $name {
                self.$list.push(node);
                $name(self.$list.len() as u32 - 1)
            }
        }
    };
}

/// The nodes of one statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arena {
    /// Expressions, parts before the whole.
    pub expressions: Vec<Expression>,
    /// Queries.
    pub queries: Vec<Query>,
    /// Items of FROM.
    pub items: Vec<FromItem>,
    /// Statements within the statement: what WITH, EXPLAIN, PREPARE and the like name.
    pub statements: Vec<Statement>,
    /// Elements of GROUP BY.
    pub groupings: Vec<Grouping>,
}

number!(/// An expression of the arena.
    ExpressionId, Expression, expressions);
number!(/// A query of the arena.
    QueryId, Query, queries);
number!(/// An item of FROM of the arena.
    FromId, FromItem, items);
number!(/// A statement of the arena.
    StatementId, Statement, statements);
number!(/// An element of GROUP BY of the arena.
    GroupingId, Grouping, groupings);

/// A statement.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each has its own description")]
pub enum Statement {
    /// SELECT, VALUES, TABLE, and operations on such sets.
    Query(QueryId),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    Transaction(Transaction),
    Prepare(Box<Prepare>),
    Execute(Execute),
    Deallocate(Option<Name>),
    DeclareCursor(Box<DeclareCursor>),
    Fetch(Fetch),
    CloseCursor(Option<Name>),
    Copy(Box<Copy>),
    Explain(Explain),
    Set(Set),
    Show(Show),
    SetConstraints(SetConstraints),
    Discard(Discard),
    Call(Call),
    Do(Vec<DefinitionOption>),
    Lock(Lock),
    Listen(Name),
    Unlisten(Option<Name>),
    Notify(Notify),
    Checkpoint,
    Load(String),
    Vacuum(Vacuum),
    Cluster(Cluster),
    Reindex(Reindex),
    CreateTable(Box<CreateTable>),
    CreateTableAs(Box<CreateTableAs>),
    CreateIndex(Box<CreateIndex>),
    CreateView(Box<CreateView>),
    CreateSequence(Box<CreateSequence>),
    CreateSchema(Box<CreateSchema>),
    CreateRoutine(Box<CreateRoutine>),
    CreateEnum(CreateEnum),
    CreateDomain(Box<CreateDomain>),
    AlterTable(Box<AlterTable>),
    AlterSequence(AlterSequence),
    Rename(Rename),
    SetSchema(SetSchema),
    SetOwner(SetOwner),
    Drop(Drop),
    DropRoutine(DropRoutine),
    Truncate(Truncate),
    Comment(Comment),
    RefreshView(RefreshView),
    /// One that has no tree: what it begins with, in capitals, such as `CREATE TRIGGER`.
    Other {
        words: &'static str,
        at: At,
    },
    /// Nothing between two semicolons; only within CREATE FUNCTION's BEGIN ATOMIC.
    Empty,
}
