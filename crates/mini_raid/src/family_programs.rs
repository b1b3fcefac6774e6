//! The programs about parents and children, written by hand.
//!
//! Invariant: each that changes something names all the foreign keys between the two tables.

use crate::families::{Bond, CHILDREN, FamilyStep, LINKED, LINKS, PARENTS};
use crate::history::WriteToken;
use crate::programs::{point_at, with_references};
use messages::program::{
    AccessPath, Action, Expression, ForeignKeyReference, InsertInput, PrefixBounds, Program, RowSource,
};
use messages::schema::{Column, ForeignKeySchema, IndexSchema, OnChange, TableSchema};
use std::sync::Arc;
use values::{Type, Value};

/// The programs.
#[derive(Debug)]
pub struct FamilyPrograms {
    parent: Arc<Program>,
    end_parent: Arc<Program>,
    move_parent: Arc<Program>,
    children: [Arc<Program>; 4],
    end_child: Arc<Program>,
    read_parents: Arc<Program>,
    read_children: Arc<Program>,
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
    let foreign_key = |place: usize, link: Bond| {
        let on_change = match link {
            Bond::Cascade => OnChange::Cascade,
            Bond::SetNull => OnChange::SetNull,
            Bond::Deferred => OnChange::NoAction,
            Bond::Restrict => OnChange::Restrict,
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
            is_deferrable: link == Bond::Deferred,
            is_deferred: link == Bond::Deferred,
            is_valid: true,
        }
    };
    let index = |place: usize| {
        IndexSchema::new(format!("children_{place}"), LINKED[place].0, LINKED[place], &[1 + place], false)
    };
    Arc::new(TableSchema {
        oid: CHILDREN.0,
        primary_key: vec![0],
        indexes: (0..LINKED.len()).map(index).collect(),
        foreign_keys: LINKS.iter().enumerate().map(|(place, link)| foreign_key(place, *link)).collect(),
        ..TableSchema::new("children", CHILDREN, columns)
    })
}

impl FamilyPrograms {
    /// Builds them all.
    pub fn new() -> FamilyPrograms {
        let (parents, children) = (parents(), children());
        let reference = |foreign_key| ForeignKeyReference {
            child: Arc::clone(&children),
            foreign_key,
            parent: Arc::clone(&parents),
        };
        let references: Arc<[ForeignKeyReference]> = (0..LINKS.len()).map(reference).collect();
        let changing = |action: Action| with_references(action, 0, Arc::clone(&references));
        let insert = |table: &Arc<TableSchema>, row: Vec<Expression>| Action::Insert {
            table: Arc::clone(table),
            values: (0..row.len()).map(|column| Expression::Column(column as u16)).collect(),
            input: InsertInput::Rows(vec![row]),
            on_conflict: None,
            returning: Vec::new(),
            private: false,
            guard: None,
        };
        let child = |link: usize| {
            let mut row = vec![Expression::Constant(Value::Null); 5];
            (row[0], row[1 + link]) = (Expression::Parameter(0), Expression::Parameter(2));
            changing(insert(&children, row))
        };
        let delete = |table: &Arc<TableSchema>| {
            let source = point_at(Arc::clone(table));
            changing(Action::Delete { source, filter: None, returning: Vec::new(), guard: None })
        };
        let read = |table: &Arc<TableSchema>, columns: u16| {
            let path = AccessPath::KeyRange(PrefixBounds::default());
            let source = Some(RowSource { table: Arc::clone(table), path, reverse: false });
            let output = (0..columns).map(Expression::Column).collect();
            let read = Action::Select {
                source,
                filter: None,
                output,
                offset: None,
                limit: None,
                lock: None,
                order: Vec::new(),
            };
            with_references(read, columns, Arc::default())
        };
        FamilyPrograms {
            parent: changing(insert(&parents, [0, 1].map(Expression::Parameter).to_vec())),
            end_parent: delete(&parents),
            move_parent: changing(Action::Update {
                source: point_at(Arc::clone(&parents)),
                filter: None,
                assignments: vec![(0, Expression::Parameter(2))],
                returning: Vec::new(),
                guard: None,
            }),
            children: [0, 1, 2, 3].map(child),
            end_child: delete(&children),
            read_parents: read(&parents, 1),
            read_children: read(&children, 5),
        }
    }

    /// The program of a step, and the two keys that it is given.
    pub fn of(&self, step: FamilyStep) -> (&Arc<Program>, [WriteToken; 2]) {
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

impl Default for FamilyPrograms {
    fn default() -> FamilyPrograms {
        FamilyPrograms::new()
    }
}
