//! A statement as a tree of text. The tree knows nothing of SQL but what may be left out and what may stand in whose place; so that
//! one minimiser serves every kind of statement.
//!
//! Invariant: a reduction never makes an answer depend on chance that did not depend on it before: what makes an order total is no
//! part that may go while what needs the order stays.

use crate::types::Type;

/// What a node is: one node may stand for another of the same label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// An expression of a type.
    Value(Type),
    /// A query whose columns have these types, as a number that is the same for the same types.
    Query(u64),
    /// Something that rows come from.
    From,
    /// Anything else; nothing stands for it.
    Other,
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub label: Label,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// Whether the statement may do without it.
    pub may_go: bool,
    /// Texts that are simpler and mean something of the same label.
    pub simpler: Vec<String>,
}

/// What a node is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text as it stands.
    Text(String),
    /// A node.
    Node(Node),
    /// Nodes with a separator between them, of which so many must stay.
    List(Vec<Node>, &'static str, usize),
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::Text(text.to_string())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text)
    }
}

impl From<Node> for Part {
    fn from(node: Node) -> Part {
        Part::Node(node)
    }
}

/// `parts![...]`: texts and nodes in order.
macro_rules! parts {
    ($($part:expr),* $(,)?) => { vec![$($crate::tree::Part::from($part)),*] };
}
pub(crate) use parts;

impl Node {
    /// A node of this label.
    pub fn new(label: Label, parts: Vec<Part>) -> Node {
        Node { label, parts, may_go: false, simpler: Vec::new() }
    }

    /// A node for which nothing else stands.
    pub fn other(parts: Vec<Part>) -> Node {
        Node::new(Label::Other, parts)
    }

    /// Text that may not go.
    pub fn text(text: impl Into<String>) -> Node {
        Node::other(vec![Part::Text(text.into())])
    }

    /// Nothing.
    pub fn nothing() -> Node {
        Node::other(Vec::new())
    }

    /// The same, but the statement may do without it.
    pub fn optional(self) -> Node {
        Node { may_go: true, ..self }
    }

    /// A clause without which the statement is one still.
    pub fn clause(parts: Vec<Part>) -> Node {
        Node::other(parts).optional()
    }

    /// The same, with simpler texts that may stand for it.
    pub fn or(mut self, simpler: &[&str]) -> Node {
        self.simpler.extend(simpler.iter().map(|text| (*text).to_string()));
        self
    }

    /// The statement.
    pub fn sql(&self) -> String {
        let mut sql = String::new();
        self.write(&mut sql);
        sql
    }

    fn write(&self, sql: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(text) => sql.push_str(text),
                Part::Node(node) => node.write(sql),
                Part::List(nodes, separator, _) => {
                    for (index, node) in nodes.iter().enumerate() {
                        if index > 0 {
                            sql.push_str(separator);
                        }
                        node.write(sql);
                    }
                }
            }
        }
    }

    /// Every tree that is smaller by one step, the most promising first: large parts go before small ones.
    pub fn reductions(&self) -> Vec<Node> {
        let mut found = Vec::new();
        let mut level: Vec<Vec<usize>> = vec![Vec::new()];
        while !level.is_empty() {
            let mut next = Vec::new();
            for path in &level {
                let Some(node) = self.at(path) else { continue };
                for smaller in node.smaller() {
                    found.push(self.with(path, smaller));
                }
                next.extend((0..node.children().len()).map(|child| [path.as_slice(), &[child]].concat()));
            }
            level = next;
        }
        found
    }

    /// What may stand for this node.
    fn smaller(&self) -> Vec<Node> {
        let mut found = Vec::new();
        if self.may_go && !self.parts.is_empty() {
            found.push(Node { parts: Vec::new(), ..self.clone() });
        }
        let is_text = matches!(self.parts.as_slice(), [Part::Text(_)]);
        if self.label != Label::Other {
            let mut same = Vec::new();
            self.collect(self.label, &mut same);
            found.extend(same.into_iter().map(|node| Node { may_go: self.may_go, ..node.clone() }));
        }
        let text = self.sql();
        for simpler in &self.simpler {
            // Of two texts, the one that stands later is the simpler: otherwise one would take the other's place for ever.
            let rank = self.simpler.iter().position(|one| *one == text);
            let later = self.simpler.iter().position(|one| one == simpler) > rank;
            if (!is_text || later) && *simpler != text {
                found.push(Node { parts: vec![Part::Text(simpler.clone())], ..self.clone() });
            }
        }
        for (index, part) in self.parts.iter().enumerate() {
            let Part::List(nodes, separator, least) = part else { continue };
            for gone in 0..nodes.len() {
                if nodes.len() > *least {
                    let mut nodes = nodes.clone();
                    nodes.remove(gone);
                    let mut smaller = self.clone();
                    smaller.parts[index] = Part::List(nodes, separator, *least);
                    found.push(smaller);
                }
            }
        }
        found
    }

    /// Nodes of a label below this one, nearest first.
    fn collect<'a>(&'a self, label: Label, found: &mut Vec<&'a Node>) {
        let children = self.children();
        found.extend(children.iter().filter(|node| node.label == label && !node.parts.is_empty()));
        for child in children {
            child.collect(label, found);
        }
    }

    fn children(&self) -> Vec<&Node> {
        let nodes = self.parts.iter().map(|part| match part {
            Part::Text(_) => Vec::new(),
            Part::Node(node) => vec![node],
            Part::List(nodes, ..) => nodes.iter().collect(),
        });
        nodes.flatten().collect()
    }

    fn at(&self, path: &[usize]) -> Option<&Node> {
        match path {
            [] => Some(self),
            [first, rest @ ..] => self.children().get(*first)?.at(rest),
        }
    }

    fn with(&self, path: &[usize], node: Node) -> Node {
        let [first, rest @ ..] = path else { return node };
        let mut copy = self.clone();
        let children = copy.parts.iter_mut().flat_map(|part| match part {
            Part::Text(_) => Vec::new(),
            Part::Node(node) => vec![node],
            Part::List(nodes, ..) => nodes.iter_mut().collect(),
        });
        if let Some(child) = children.into_iter().nth(*first) {
            *child = child.with(rest, node);
        }
        copy
    }

    /// The same tree in which every node that is exactly this text is another text.
    pub fn replaced(&self, of: &dyn Fn(&str) -> Option<String>) -> Node {
        if let [Part::Text(text)] = self.parts.as_slice() {
            return match of(text) {
                Some(other) => Node { parts: vec![Part::Text(other)], simpler: Vec::new(), ..self.clone() },
                None => self.clone(),
            };
        }
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => Part::Text(text.clone()),
            Part::Node(node) => Part::Node(node.replaced(of)),
            Part::List(nodes, separator, least) => {
                Part::List(nodes.iter().map(|node| node.replaced(of)).collect(), separator, *least)
            }
        });
        Node { parts: parts.collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Node {
        Node::new(Label::Value(Type::Int4), parts![text])
    }

    /// The smallest tree for which `fails` holds still.
    fn shrink(mut node: Node, fails: impl Fn(&str) -> bool) -> String {
        while let Some(smaller) = node.reductions().into_iter().find(|smaller| fails(&smaller.sql())) {
            node = smaller;
        }
        node.sql()
    }

    /// A difference that cannot be made small is one that nobody reads.
    #[test]
    fn a_statement_shrinks_to_what_matters() {
        let sum = Node::new(Label::Value(Type::Int4), parts!["(", value("a"), " + ", value("b"), ")"]).or(&["1"]);
        let list = Part::List(vec![value("x"), sum, value("y")], ", ", 1);
        let clause = Node::clause(parts![" WHERE ", value("z")]);
        let statement = Node::other(vec!["SELECT ".into(), list, " FROM t".into(), clause.into()]);
        assert_eq!(statement.sql(), "SELECT x, (a + b), y FROM t WHERE z");
        assert_eq!(shrink(statement.clone(), |sql| sql.contains('b')), "SELECT b FROM t");
        assert_eq!(
            shrink(statement, |sql| sql.contains('+') && sql.contains("WHERE")),
            "SELECT (a + b) FROM t WHERE z"
        );
    }

    /// Minimising ends: simpler texts never take each other's place in a circle.
    #[test]
    fn simpler_texts_make_no_circle() {
        let node = value("a").or(&["1", "NULL"]);
        assert_eq!(shrink(node, |_| true), "NULL");
    }

    /// Only whole nodes are replaced: `t1.a` must not be found in `t1.ab`.
    #[test]
    fn columns_are_replaced_as_wholes() {
        let node = Node::other(parts![value("t1.a"), " + t1.a + ", value("t1.ab")]);
        let of = |text: &str| (text == "t1.a").then(|| "7".to_string());
        assert_eq!(node.replaced(&of).sql(), "7 + t1.a + t1.ab");
    }
}
