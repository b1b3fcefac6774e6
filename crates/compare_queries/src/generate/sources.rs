//! FROM: tables, queries, VALUES and common table expressions, and their joins.

use super::{Atom, Generator, Relation, Scope};
use crate::limits::QUERY_DEPTH_MAX;
use crate::tree::{Label, Node, Part, parts};
use crate::types::Type;

/// A FROM clause.
pub struct Sources {
    /// What stands behind FROM.
    pub node: Node,
    /// What can be named of it.
    pub atoms: Vec<Atom>,
    /// What orders its rows totally, if anything does.
    pub total_order: Option<Vec<String>>,
}

impl Generator<'_> {
    /// One to three relations, joined.
    pub fn sources(&mut self, outer: &Scope, depth: usize) -> Sources {
        let (mut node, first) = self.source(outer, depth);
        let mut relations = vec![first];
        let mut merged = Vec::new();
        let count = [0, 0, 1, 1, 1, 2][self.random.below(6)];
        for _ in 0..count {
            if self.fuel == 0 {
                break;
            }
            self.fuel -= 1;
            node = self.join(node, &mut relations, &mut merged, outer, depth);
        }
        let mut atoms: Vec<Atom> = relations.iter().flat_map(atoms_of).collect();
        if count == 1 {
            atoms.append(&mut merged);
        }
        let keyed = relations.iter().all(|relation| relation.keyed);
        let total_order = keyed.then(|| relations.iter().map(|relation| format!("{}.id", relation.alias)).collect());
        Sources { node, atoms, total_order }
    }

    fn join(
        &mut self,
        left: Node,
        relations: &mut Vec<Relation>,
        merged: &mut Vec<Atom>,
        outer: &Scope,
        depth: usize,
    ) -> Node {
        let so_far: Vec<Atom> = relations.iter().flat_map(atoms_of).collect();
        if self.random.percent(7) {
            self.feature("LATERAL");
            let scope = Scope { atoms: so_far.clone(), outer: outer.outer.clone(), ..Scope::default() };
            let kinds = [Type::draw(&mut self.random), Type::draw(&mut self.random)];
            let query = self.query(&kinds, &scope.inside(), depth + 1);
            let relation = self.named_query(query.columns);
            let word = *self.random.pick(&[" CROSS JOIN LATERAL (", ", LATERAL (", " LEFT JOIN LATERAL ("]);
            let end = if word.contains("LEFT") { " ON true" } else { "" };
            let node = parts![left, word, query.node, format!(") AS {}{end}", relation.alias)];
            relations.push(relation);
            return Node::new(Label::From, node);
        }
        let (right, relation) = self.source(outer, depth);
        let kind = self.random.below(12);
        let common = common_columns(relations, &relation);
        let node = if kind == 0 {
            self.feature("CROSS JOIN");
            parts![left, *self.random.pick(&[" CROSS JOIN ", ", "]), right]
        } else {
            let (word, feature) = match kind {
                1..=4 => (" JOIN ", "inner join"),
                5..=7 => (" LEFT JOIN ", "left join"),
                8 | 9 => (" RIGHT JOIN ", "right join"),
                _ => (" FULL JOIN ", "full join"),
            };
            self.feature(feature);
            if relations.len() == 1 && !common.is_empty() && self.random.percent(30) {
                self.feature("USING");
                let count = self.random.between(1, common.len().min(2));
                let columns: Vec<String> = common[..count].iter().map(|(name, _)| name.clone()).collect();
                merged.extend(common[..count].iter().map(|(name, kind)| Atom { sql: name.clone(), kind: *kind }));
                parts![left, word, right, format!(" USING ({})", columns.join(", "))]
            } else {
                // PostgreSQL merges or hashes full joins, and can do neither by any condition.
                let plain = word == " FULL JOIN ";
                let condition = self.join_condition(&so_far, &atoms_of(&relation), outer, depth, plain);
                parts![left, word, right, " ON ", condition]
            }
        };
        relations.push(relation);
        Node::new(Label::From, node)
    }

    fn join_condition(&mut self, left: &[Atom], right: &[Atom], outer: &Scope, depth: usize, plain: bool) -> Node {
        let pairs: Vec<(&Atom, &Atom)> = left
            .iter()
            .flat_map(|one| right.iter().map(move |two| (one, two)))
            .filter(|(one, two)| one.kind == two.kind)
            .collect();
        let both = [left, right].concat();
        let scope = Scope { atoms: both, outer: outer.outer.clone(), ..Scope::default() };
        let equal = |(one, two): (&Atom, &Atom)| parts!["(", one.node(), " = ", two.node(), ")"];
        if plain {
            let parts = if pairs.is_empty() { parts!["true"] } else { equal(*self.random.pick(&pairs)) };
            return Node::new(Label::Value(Type::Bool), parts).or(&["true"]);
        }
        if pairs.is_empty() || self.random.percent(25) {
            self.feature("ON with any condition");
            return self.expression(Type::Bool, &scope, depth + 1);
        }
        let mut list = vec![Node::other(equal(*self.random.pick(&pairs)))];
        if self.random.percent(30) {
            self.feature("ON with any condition");
            list.push(self.expression(Type::Bool, &scope, depth + 1));
        }
        Node::new(Label::Value(Type::Bool), vec![Part::List(list, " AND ", 1)]).or(&["true"])
    }

    fn source(&mut self, outer: &Scope, depth: usize) -> (Node, Relation) {
        let nested = outer.outer.len() / 4 + depth;
        match self.random.below(20) {
            0..=2 if self.fuel > 3 && nested < QUERY_DEPTH_MAX => {
                self.feature("derived table");
                let kinds: Vec<Type> = (0..self.random.between(1, 3)).map(|_| Type::draw(&mut self.random)).collect();
                // A query in FROM sees what is around the whole query, and nothing beside itself.
                let scope = Scope { outer: outer.outer.clone(), ..Scope::default() };
                let query = self.query(&kinds, &scope, depth + 1);
                let relation = self.named_query(query.columns);
                (Node::new(Label::From, parts!["(", query.node, format!(") AS {}", relation.alias)]), relation)
            }
            3 => {
                self.feature("VALUES");
                self.values()
            }
            4..=8 if !self.ctes.is_empty() => {
                let cte = self.random.pick(&self.ctes.clone()).clone();
                let alias = self.name("s");
                let node = Node::new(Label::From, parts![format!("{} AS {alias}", cte.alias)]);
                (node, Relation { alias, columns: cte.columns, keyed: false })
            }
            _ => self.table(),
        }
    }

    fn table(&mut self) -> (Node, Relation) {
        let tables = self.tables;
        let table = self.random.pick(tables);
        let alias = self.alias();
        let columns = table.columns.iter().map(|column| (column.name.clone(), column.kind)).collect();
        let keyed = table.columns.iter().any(|column| column.is_key);
        let node = Node::new(Label::From, parts![format!("{} AS {alias}", table.name)]);
        (node, Relation { alias, columns, keyed })
    }

    /// A name for a table: now and then one that columns have, too.
    fn alias(&mut self) -> String {
        const COLUMNS: [&str; 4] = ["a", "b", "c", "d"];
        if self.random.percent(6) && self.column_aliases < COLUMNS.len() {
            self.feature("alias like a column");
            self.column_aliases += 1;
            return COLUMNS[self.column_aliases - 1].to_string();
        }
        self.name("s")
    }

    fn named_query(&mut self, columns: Vec<(String, Type)>) -> Relation {
        Relation { alias: self.name("q"), columns, keyed: false }
    }

    fn values(&mut self) -> (Node, Relation) {
        let kinds: Vec<Type> = (0..self.random.between(1, 2)).map(|_| Type::draw(&mut self.random)).collect();
        let scope = Scope::default();
        let mut rows = Vec::new();
        for _ in 0..self.random.between(1, 4) {
            let values = kinds.iter().map(|kind| self.leaf(*kind, &scope, 0)).collect();
            rows.push(Node::other(vec!["(".into(), Part::List(values, ", ", kinds.len()), ")".into()]));
        }
        let alias = self.name("v");
        let columns: Vec<(String, Type)> =
            kinds.iter().enumerate().map(|(at, kind)| (format!("v{at}"), *kind)).collect();
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let end = format!(") AS {alias} ({})", names.join(", "));
        let node = Node::new(Label::From, vec!["(VALUES ".into(), Part::List(rows, ", ", 1), end.into()]);
        (node, Relation { alias, columns, keyed: false })
    }
}

/// The columns of a relation, named with it.
pub fn atoms_of(relation: &Relation) -> Vec<Atom> {
    let atom = |(name, kind): &(String, Type)| Atom { sql: format!("{}.{name}", relation.alias), kind: *kind };
    relation.columns.iter().map(atom).collect()
}

fn common_columns(relations: &[Relation], other: &Relation) -> Vec<(String, Type)> {
    let has = |column: &&(String, Type)| relations.iter().all(|relation| relation.columns.contains(column));
    let unique = |name: &str| other.columns.iter().filter(|(one, _)| one == name).count() == 1;
    other.columns.iter().filter(has).filter(|(name, _)| unique(name)).cloned().collect()
}
