//! SELECT, set operations, WITH, and the order of what comes out.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Atom, Generator, Relation, Scope};
use crate::limits::QUERY_DEPTH_MAX;
use crate::tree::{Label, Node, Part, parts};
use crate::types::Type;

/// A query inside of a statement.
pub struct Query {
    /// Its text.
    pub node: Node,
    /// Its columns; names are given unless it is the statement itself.
    pub columns: Vec<(String, Type)>,
}

/// A query that is a statement.
#[derive(Clone, Debug)]
pub struct TopQuery {
    /// Its text.
    pub node: Node,
    /// Columns by which its rows are ordered, counted from zero, the first one first.
    pub keys: Vec<usize>,
}

/// A number for a row of types.
fn signature(kinds: &[Type]) -> u64 {
    let mut hasher = DefaultHasher::new();
    kinds.hash(&mut hasher);
    hasher.finish()
}

impl Generator<'_> {
    /// A query that is a statement.
    pub fn statement(&mut self) -> TopQuery {
        self.begin();
        if self.random.percent(18) {
            return self.plain_statement();
        }
        let mut with = Vec::new();
        let mut ctes = Vec::new();
        let mut recursive = "";
        while self.random.percent(12) && with.len() < 2 {
            self.feature("WITH");
            let kinds: Vec<Type> = (0..self.random.between(1, 3)).map(|_| Type::draw(&mut self.random)).collect();
            let query = self.query(&kinds, &Scope::default(), 1);
            let alias = self.name("w");
            if self.random.percent(20) && with.is_empty() {
                self.feature("WITH RECURSIVE");
                let (first, last) = (self.random.below(3), self.random.between(2, 6));
                let union = *self.random.pick(&["UNION", "UNION ALL"]);
                let text =
                    format!("{alias} (n) AS (SELECT {first} {union} SELECT n + 1 FROM {alias} WHERE n < {last})");
                with.push(Node::text(text));
                ctes.push(Relation { alias, columns: vec![("n".to_string(), Type::Int4)], keyed: false });
                self.ctes.clone_from(&ctes);
                recursive = "RECURSIVE ";
                continue;
            }
            let hint = *self.random.pick(&["", "", "", "MATERIALIZED ", "NOT MATERIALIZED "]);
            with.push(Node::other(parts![format!("{alias} AS {hint}("), query.node, ")"]));
            ctes.push(Relation { alias, columns: query.columns, keyed: false });
            self.ctes.clone_from(&ctes);
        }
        let kinds: Vec<Type> = (0..self.random.between(1, 4)).map(|_| Type::draw(&mut self.random)).collect();
        let query = self.plain_query(&kinds, &Scope::default(), 0, self.names == 0);
        let (order, keys) = self.order(kinds.len());
        let with = if with.is_empty() {
            Node::nothing()
        } else {
            Node::clause(vec!["WITH ".into(), recursive.into(), Part::List(with, ", ", 1), " ".into()])
        };
        TopQuery { node: Node::other(parts![with, query.node, order]), keys }
    }

    /// What programs ask most: rows of one table by a column or two.
    fn plain_statement(&mut self) -> TopQuery {
        self.feature("one table, by columns");
        let tables = self.tables;
        let table = self.random.pick(tables);
        let mut conditions = Vec::new();
        for _ in 0..self.random.between(1, 2) {
            let column = self.random.pick(&table.columns);
            let operator = *self.random.pick(&["=", "=", "=", "<", ">=", "<>", ">"]);
            let value = match self.parameter(column.kind) {
                Some(parameter) => parameter,
                None if column.is_key => self.random.between(1, 10).to_string(),
                None => column.kind.literal(&mut self.random),
            };
            conditions.push(Node::text(format!("{} {operator} {value}", column.name)));
        }
        let mut names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        self.random.shuffle(&mut names);
        names.truncate(self.random.between(1, names.len()));
        let columns = names.len();
        let list: Vec<Node> = names.into_iter().map(Node::text).collect();
        let word = *self.random.pick(&[" AND ", " AND ", " OR "]);
        let filter = Node::clause(vec![" WHERE ".into(), Part::List(conditions, word, 1)]);
        let (order, keys) = self.order(columns);
        let from = format!(" FROM {}", table.name);
        let node = vec!["SELECT ".into(), Part::List(list, ", ", 1), from.into(), filter.into(), order.into()];
        TopQuery { node: Node::other(node), keys }
    }

    /// A query of these columns, perhaps with an order and a limit.
    pub fn query(&mut self, kinds: &[Type], outer: &Scope, depth: usize) -> Query {
        let query = self.plain_query(kinds, outer, depth, false);
        if !self.random.percent(15) {
            return query;
        }
        self.feature("LIMIT in a subquery");
        let order = self.total_order(kinds.len()).0;
        Query { node: Node::new(Label::Query(signature(kinds)), parts![query.node, order]), columns: query.columns }
    }

    /// A query of one row and column.
    pub fn scalar_query(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        if self.fuel < 3 || depth >= QUERY_DEPTH_MAX {
            return None;
        }
        let inside = scope.inside();
        if self.random.percent(50) {
            let sources = self.sources(&inside, depth + 1);
            let arguments = Scope { atoms: sources.atoms.clone(), ..Scope::default() };
            let aggregate = self.aggregate(kind, &arguments, depth)?;
            let own = Scope { atoms: sources.atoms, outer: inside.outer, ..Scope::default() };
            let filter = self.filter(" WHERE ", 60, &own, depth + 1);
            return Some(parts!["(SELECT ", Node::other(aggregate), " FROM ", sources.node, filter, ")"]);
        }
        let query = self.plain_query(&[kind], &inside, depth + 1, false);
        let direction = *self.random.pick(&["", " DESC", " NULLS FIRST"]);
        let offset = *self.random.pick(&["", "", " OFFSET 1"]);
        Some(parts!["(", query.node, format!(" ORDER BY 1{direction} LIMIT 1{offset})")])
    }

    /// A SELECT, or several in a set operation.
    fn plain_query(&mut self, kinds: &[Type], outer: &Scope, depth: usize, bare: bool) -> Query {
        let label = Label::Query(signature(kinds));
        if self.fuel < 4 || depth > QUERY_DEPTH_MAX || !self.random.percent(14) {
            return self.select(kinds, outer, depth, bare);
        }
        let (word, feature) = *self.random.pick(&[
            (" UNION ", "UNION"),
            (" UNION ALL ", "UNION ALL"),
            (" INTERSECT ", "INTERSECT"),
            (" INTERSECT ALL ", "INTERSECT ALL"),
            (" EXCEPT ", "EXCEPT"),
            (" EXCEPT ALL ", "EXCEPT ALL"),
        ]);
        self.feature(feature);
        let left = self.select(kinds, outer, depth + 1, bare);
        let right = self.plain_query(kinds, outer, depth + 1, false);
        let node = Node::new(label, parts!["(", left.node, ")", word, "(", right.node, ")"]);
        // Within a set operation an order needs parentheses around the whole.
        let node = if depth == 0 {
            node
        } else {
            Node::new(label, parts!["SELECT * FROM (", node, format!(") AS {}", self.name("u"))])
        };
        Query { node, columns: left.columns }
    }

    fn select(&mut self, kinds: &[Type], outer: &Scope, depth: usize, bare: bool) -> Query {
        let label = Label::Query(signature(kinds));
        let sources = self.sources(outer, depth);
        let own =
            Scope { atoms: sources.atoms, outer: outer.outer.clone(), grouped: None, total_order: sources.total_order };
        let filter = self.filter(" WHERE ", 55, &own, depth);
        let (groups, scope) = if self.random.percent(25) { self.groups(&own) } else { (Node::nothing(), own) };
        let mut items = Vec::new();
        let mut columns = Vec::new();
        for (at, kind) in kinds.iter().enumerate() {
            let item = self.item(*kind, &scope, depth);
            let name = format!("c{at}");
            let item =
                if bare && self.random.percent(60) { item } else { Node::other(parts![item, format!(" AS {name}")]) };
            items.push(item);
            columns.push((name, *kind));
        }
        let distinct = match self.random.percent(12) {
            true => {
                self.feature("SELECT DISTINCT");
                Node::clause(parts!["DISTINCT "])
            }
            false => Node::nothing(),
        };
        let node = vec![
            "SELECT ".into(),
            distinct.into(),
            Part::List(items, ", ", 1),
            " FROM ".into(),
            sources.node.into(),
            filter.into(),
            groups.into(),
        ];
        Query { node: Node::new(label, node), columns }
    }

    fn item(&mut self, kind: Type, scope: &Scope, depth: usize) -> Node {
        if self.random.percent(10)
            && let Some(parts) = self.window(kind, scope, depth)
        {
            return Node::new(Label::Value(kind), parts).or(kind.simplest());
        }
        self.expression(kind, scope, depth)
    }

    /// A clause with a condition, in so many of a hundred queries.
    pub fn filter(&mut self, word: &'static str, percent: usize, scope: &Scope, depth: usize) -> Node {
        if !self.random.percent(percent) {
            return Node::nothing();
        }
        self.feature(if word == " WHERE " { "WHERE" } else { "HAVING" });
        let condition = self.condition(scope, depth);
        Node::clause(parts![word, condition])
    }

    /// GROUP BY and HAVING, and what can be named behind them.
    fn groups(&mut self, own: &Scope) -> (Node, Scope) {
        self.feature("GROUP BY");
        let mut atoms = Vec::new();
        for _ in 0..self.random.below(3) {
            let atom = if self.random.percent(75) && !own.atoms.is_empty() {
                self.random.pick(&own.atoms).clone()
            } else {
                let kind = Type::draw(&mut self.random);
                let plain = Scope { outer: Vec::new(), ..own.clone() };
                let parameters = self.parameters.take();
                let sql = self.expression(kind, &plain, 2).sql();
                self.parameters = parameters;
                // A constant would be a position.
                if !own.atoms.iter().any(|atom| sql.contains(&atom.sql)) {
                    continue;
                }
                Atom { sql, kind }
            };
            if !atoms.contains(&atom) {
                atoms.push(atom);
            }
        }
        let mut scope = Scope { atoms, outer: own.outer.clone(), grouped: Some(own.atoms.clone()), total_order: None };
        let by = if scope.atoms.is_empty() {
            self.feature("aggregate of all rows");
            // Without groups there must be an aggregate for the rows to become one.
            scope.outer.clear();
            let having = self.filter(" HAVING ", 20, &scope, 1);
            return (
                Node::other(parts![" HAVING count(*) >= 0", Node::clause(parts![" AND ", self.having(having)])]),
                scope,
            );
        } else {
            scope.atoms.iter().map(|atom| Node::text(atom.sql.clone())).collect()
        };
        let having = self.filter(" HAVING ", 25, &scope, 1);
        // In a total a column is NULL, so what follows from it is not what is grouped by: only columns themselves are named then.
        let plain = scope.atoms.iter().all(|atom| own.atoms.contains(atom));
        let (open, close) = if plain && self.random.percent(12) {
            self.feature("ROLLUP, CUBE");
            *self.random.pick(&[("ROLLUP (", ")"), ("CUBE (", ")")])
        } else {
            ("", "")
        };
        let clause =
            Node::other(vec![" GROUP BY ".into(), open.into(), Part::List(by, ", ", 1), close.into(), having.into()]);
        (clause, scope)
    }

    /// The condition of a HAVING clause, or a true one.
    fn having(&mut self, clause: Node) -> Node {
        match clause.parts.into_iter().nth(1) {
            Some(Part::Node(condition)) => condition,
            _ => Node::text("true"),
        }
    }

    /// The order of a statement, and the columns that it goes by.
    fn order(&mut self, columns: usize) -> (Node, Vec<usize>) {
        match self.random.below(10) {
            0..=3 => (Node::nothing(), Vec::new()),
            4..=6 => {
                self.feature("ORDER BY");
                let mut keys: Vec<usize> = (0..columns).collect();
                self.random.shuffle(&mut keys);
                keys.truncate(self.random.between(1, columns));
                let list = keys.iter().map(|key| self.order_item(*key)).collect();
                (Node::clause(vec![" ORDER BY ".into(), Part::List(list, ", ", 1)]), keys)
            }
            _ => {
                self.feature("ORDER BY with LIMIT");
                self.total_order(columns)
            }
        }
    }

    /// An order by all columns, and how many rows to skip and give.
    fn total_order(&mut self, columns: usize) -> (Node, Vec<usize>) {
        let mut keys: Vec<usize> = (0..columns).collect();
        self.random.shuffle(&mut keys);
        let list = keys.iter().map(|key| self.order_item(*key)).collect();
        let mut limit = Vec::new();
        if self.random.percent(85) {
            limit.push(Part::from(format!(" LIMIT {}", self.random.below(6))));
        }
        if self.random.percent(35) {
            self.feature("OFFSET");
            limit.push(Part::from(format!(" OFFSET {}", self.random.below(4))));
        }
        let limit = Node::clause(limit);
        (Node::clause(vec![" ORDER BY ".into(), Part::List(list, ", ", columns), limit.into()]), keys)
    }

    fn order_item(&mut self, key: usize) -> Node {
        let direction = *self.random.pick(&["", "", " DESC", " ASC NULLS FIRST", " DESC NULLS LAST"]);
        Node::other(parts![(key + 1).to_string(), Node::clause(parts![direction])])
    }
}
