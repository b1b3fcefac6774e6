//! Statements that change rows, and those that change tables.
//!
//! Invariant: what a row becomes does not depend on chance: no row is updated from several.

use super::{Atom, Generator, Scope};
use crate::random::Random;
use crate::tables::{Index, Table, TableColumn, draw_index};
use crate::tree::{Node, Part, parts};
use crate::types::Type;

impl Generator<'_> {
    /// INSERT, UPDATE or DELETE, and the number of the table that it changes.
    pub fn change(&mut self) -> (Node, usize) {
        self.begin();
        let number = self.random.below(self.tables.len());
        let tables = self.tables;
        let table = &tables[number];
        let node = match self.random.below(10) {
            0..=3 => self.insert(table),
            4..=7 => self.update(table),
            _ => self.delete(table),
        };
        (node, number)
    }

    fn insert(&mut self, table: &Table) -> Node {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let kinds: Vec<Type> = table.columns.iter().map(|column| column.kind).collect();
        let head = format!("INSERT INTO {} AS d ({}) ", table.name, names.join(", "));
        let source = if self.random.percent(50) {
            self.feature("INSERT ... SELECT");
            self.query(&kinds, &Scope::default(), 0).node
        } else {
            self.feature("INSERT ... VALUES");
            let mut rows = Vec::new();
            for _ in 0..self.random.between(1, 3) {
                let value = |column: &TableColumn| match column.is_key {
                    true => Node::text(self.random.between(1, 14).to_string()),
                    false => self.expression(column.kind, &Scope::default(), 1),
                };
                let values = table.columns.iter().map(value).collect();
                rows.push(Node::other(vec!["(".into(), Part::List(values, ", ", kinds.len()), ")".into()]));
            }
            Node::other(vec!["VALUES ".into(), Part::List(rows, ", ", 1)])
        };
        let conflict =
            if table.columns[0].is_key && self.random.percent(45) { self.conflict(table) } else { Node::nothing() };
        let returning = self.returning("d", table);
        Node::other(parts![head, source, conflict, returning])
    }

    fn conflict(&mut self, table: &Table) -> Node {
        self.feature("ON CONFLICT");
        if self.random.percent(40) || table.columns.len() < 2 {
            return Node::clause(parts![
                *self.random.pick(&[" ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO NOTHING"])
            ]);
        }
        let own = table.columns.iter().map(|column| Atom { sql: format!("d.{}", column.name), kind: column.kind });
        let new =
            table.columns.iter().map(|column| Atom { sql: format!("excluded.{}", column.name), kind: column.kind });
        let scope = Scope { atoms: own.chain(new).collect(), ..Scope::default() };
        let column = self.random.pick(&table.columns[1..]).clone();
        let value = self.expression(column.kind, &scope, 1);
        let filter = self.filter(" WHERE ", 30, &scope, 2);
        Node::other(parts![format!(" ON CONFLICT (id) DO UPDATE SET {} = ", column.name), value, filter])
    }

    fn update(&mut self, table: &Table) -> Node {
        self.feature("UPDATE");
        let mut atoms = atoms(table, "d");
        let tables = self.tables;
        let other = self.random.pick(tables);
        let both_keyed = table.columns[0].is_key && other.columns[0].is_key;
        let mut from = Node::nothing();
        let mut tie = None;
        if both_keyed && self.random.percent(45) {
            self.feature("UPDATE FROM");
            atoms.extend(self::atoms(other, "o"));
            from = Node::text(format!(" FROM {} AS o", other.name));
            tie = Some(" WHERE o.id = d.id");
        }
        let scope = Scope { atoms, ..Scope::default() };
        let mut columns: Vec<&TableColumn> = table.columns.iter().filter(|column| !column.is_key).collect();
        self.random.shuffle(&mut columns);
        let count = self.random.between(1, 2).min(columns.len());
        let set = |column: &&TableColumn| {
            let value = self.expression(column.kind, &scope, 0);
            Node::other(parts![format!("{} = ", column.name), value])
        };
        let list = columns[..count].iter().map(set).collect();
        let filter = match tie {
            Some(tie) => {
                let condition = self.condition(&scope, 1);
                Node::other(parts![tie, Node::clause(parts![" AND ", condition])])
            }
            None => self.filter(" WHERE ", 70, &scope, 1),
        };
        let returning = self.returning("d", table);
        let head = format!("UPDATE {} AS d SET ", table.name);
        Node::other(vec![head.into(), Part::List(list, ", ", 1), from.into(), filter.into(), returning.into()])
    }

    fn delete(&mut self, table: &Table) -> Node {
        self.feature("DELETE");
        let mut atoms = atoms(table, "d");
        let mut using = Node::nothing();
        if self.random.percent(45) {
            self.feature("DELETE USING");
            let tables = self.tables;
            let other = self.random.pick(tables);
            atoms.extend(self::atoms(other, "o"));
            using = Node::text(format!(" USING {} AS o", other.name));
        }
        let scope = Scope { atoms, ..Scope::default() };
        let filter = self.filter(" WHERE ", 95, &scope, 1);
        let returning = self.returning("d", table);
        Node::other(parts![format!("DELETE FROM {} AS d", table.name), using, filter, returning])
    }

    fn returning(&mut self, alias: &str, table: &Table) -> Node {
        if !self.random.percent(40) {
            return Node::nothing();
        }
        self.feature("RETURNING");
        let scope = Scope { atoms: atoms(table, alias), ..Scope::default() };
        let mut list = Vec::new();
        for _ in 0..self.random.between(1, 2) {
            let kind = self.random.pick(&scope.atoms).kind;
            list.push(self.expression(kind, &scope, 1));
        }
        Node::clause(vec![" RETURNING ".into(), Part::List(list, ", ", 1)])
    }
}

fn atoms(table: &Table, alias: &str) -> Vec<Atom> {
    table.columns.iter().map(|column| Atom { sql: format!("{alias}.{}", column.name), kind: column.kind }).collect()
}

/// A change of tables: its statements, and the table that was made anew, if one was; the tables become what they are afterwards.
pub fn definition(
    random: &mut Random,
    tables: &mut [Table],
    number: usize,
) -> (Vec<String>, Option<Table>, &'static str) {
    let at = random.below(tables.len());
    let table = &mut tables[at];
    match random.below(5) {
        0 => {
            let kind = Type::draw(random);
            let column =
                TableColumn { name: format!("n{number}"), kind, declared: kind.declared(random), is_key: false };
            let default = if random.percent(40) { format!(" DEFAULT {}", kind.literal(random)) } else { String::new() };
            let sql = format!("ALTER TABLE {} ADD COLUMN {} {}{default}", table.name, column.name, column.declared);
            table.columns.push(column);
            (vec![sql], None, "ALTER TABLE ADD COLUMN")
        }
        1 | 2 if table.indexes.is_empty() || random.percent(60) => match draw_index(random, &table.columns) {
            Some(columns) => {
                let name = format!("{}_n{number}", table.name);
                let sql = format!("CREATE INDEX {name} ON {} ({})", table.name, columns.join(", "));
                table.indexes.push(Index { name, columns });
                (vec![sql], None, "CREATE INDEX")
            }
            None => (Vec::new(), None, "CREATE INDEX"),
        },
        1 | 2 => {
            let index = table.indexes.remove(0);
            (vec![format!("DROP INDEX {}", index.name)], None, "DROP INDEX")
        }
        _ => {
            let old = table.name.clone();
            let other = crate::tables::draw(random).remove(0);
            *table = other.renamed(&old);
            let mut statements = vec![format!("DROP TABLE {old}")];
            statements.extend(table.statements());
            (statements, Some(table.clone()), "DROP and CREATE TABLE")
        }
    }
}
