//! Names, operators' names, and constants that stand where no expression may.

use super::{Lower, Lowered};
use crate::ast::{Name, OperatorName, QualifiedName, RelationName, Step};
use crate::parse::Node;
use crate::scan::Token;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    /// Of a rule that is a name: an identifier or a word that may be one.
    pub(super) fn name(&self, node: Node) -> Name {
        let token = self.tree.first_token(node);
        Name { text: self.word(token), at: token.at }
    }

    pub(super) fn word(&self, token: &Token) -> String {
        match token.kind {
            g::IDENT | g::SCONST => self.tree.text_of(token).to_string(),
            _ => self.tree.source(token).to_ascii_lowercase(),
        }
    }

    pub(super) fn names(&self, list: Node) -> Vec<Name> {
        self.list(list).into_iter().map(|node| self.name(node)).collect()
    }

    /// `(a, b)`, or nothing.
    pub(super) fn opt_names(&self, node: Node) -> Vec<Name> {
        match self.children(node) {
            [_, list, _] => self.names(*list),
            _ => Vec::new(),
        }
    }

    pub(super) fn string(&self, node: Node) -> String {
        self.tree.text_of(self.tree.first_token(node)).to_string()
    }

    pub(super) fn integer(&self, node: Node) -> i32 {
        self.tree.first_token(node).value as i32
    }

    /// `any_name`: all of its parts are names.
    pub(super) fn any_name(&self, node: Node) -> QualifiedName {
        let mut names = vec![self.name(node)];
        if let Some(attributes) = self.part(node, g::attrs) {
            names.extend(self.names(attributes));
        }
        names
    }

    /// The steps of `indirection` and `opt_indirection`. A star ends them.
    pub(super) fn steps(&mut self, node: Node) -> Lowered<Vec<Step>> {
        let elements = self.list(node);
        let mut steps = Vec::with_capacity(elements.len());
        for element in elements {
            if matches!(steps.last(), Some(Step::Star(_))) {
                return Err(self.error_behind(node, "improper use of \"*\""));
            }
            let children = self.children(element);
            steps.push(match self.shape(element) {
                [g::DOT, g::STAR] => Step::Star(self.at(children[1])),
                [g::DOT, _] => Step::Field(self.name(children[1])),
                [_, _, _] => Step::Subscript(self.expr(children[1])),
                _ => {
                    let bound = |node: Node, lower: &mut Self| {
                        let expression = lower.children(node).first().copied();
                        expression.map(|expression| lower.expr(expression))
                    };
                    Step::Slice(bound(children[1], self), bound(children[3], self))
                }
            });
        }
        Ok(steps)
    }

    /// `ColId` or `ColId indirection`, all of whose parts are names, as has been checked.
    fn dotted(&self, node: Node) -> QualifiedName {
        let mut names = vec![self.name(node)];
        if let Some(steps) = self.part(node, g::indirection) {
            names.extend(
                self.list(steps)
                    .into_iter()
                    .filter_map(|step| self.part(step, g::attr_name))
                    .map(|name| self.name(name)),
            );
        }
        names
    }

    /// `func_name`, and a routine's name in `function_with_argtypes`.
    pub(super) fn function_name(&self, node: Node) -> QualifiedName {
        self.dotted(node)
    }

    /// `qualified_name`: at most database, schema and name, as has been checked.
    pub(super) fn relation_name(&self, node: Node) -> RelationName {
        let mut names = self.dotted(node).into_iter().rev();
        let name = names.next().unwrap_or_else(|| self.name(node));
        RelationName { name, schema: names.next(), catalog: names.next(), with_children: true }
    }

    pub(super) fn relation_names(&self, list: Node) -> Vec<RelationName> {
        self.list(list).into_iter().map(|node| self.relation_name(node)).collect()
    }

    /// A table, with or without its children.
    pub(super) fn relation_expr(&self, node: Node) -> RelationName {
        let extended = self.part(node, g::extended_relation_expr).unwrap_or(node);
        let name = self.part(extended, g::qualified_name).unwrap_or(extended);
        RelationName { with_children: !self.has(extended, g::ONLY), ..self.relation_name(name) }
    }

    pub(super) fn relation_exprs(&self, list: Node) -> Vec<RelationName> {
        self.list(list).into_iter().map(|node| self.relation_expr(node)).collect()
    }

    /// A changed table and its alias.
    pub(super) fn relation_and_alias(&self, node: Node) -> (RelationName, Option<Name>) {
        let alias = self.part(node, g::ColId).map(|alias| self.name(alias));
        (self.relation_expr(self.children(node)[0]), alias)
    }

    /// `qual_Op`, `qual_all_Op`, `subquery_Op`, `all_Op`, or an operator's token.
    pub(super) fn operator(&self, node: Node) -> OperatorName {
        let at = self.at(node);
        let plain = |symbol: String| OperatorName { schema: Vec::new(), symbol, at };
        match self.shape(node) {
            [g::OPERATOR, ..] => OperatorName { at, ..self.any_operator(self.children(node)[2]) },
            [g::LIKE] => plain("~~".to_string()),
            [g::ILIKE] => plain("~~*".to_string()),
            [g::NOT_LA, g::LIKE] => plain("!~~".to_string()),
            [g::NOT_LA, g::ILIKE] => plain("!~~*".to_string()),
            _ => plain(self.operator_symbol(self.tree.first_token(node))),
        }
    }

    fn operator_symbol(&self, token: &Token) -> String {
        match token.kind {
            g::NOT_EQUALS => "<>".to_string(),
            _ => self.tree.text_of(token).to_string(),
        }
    }

    /// `schema.+`.
    pub(super) fn any_operator(&self, node: Node) -> OperatorName {
        let at = self.at(node);
        let (mut schema, mut node) = (Vec::new(), node);
        while let [name, _, rest] = self.children(node) {
            schema.push(self.name(*name));
            node = *rest;
        }
        OperatorName { schema, symbol: self.operator_symbol(self.tree.first_token(node)), at }
    }
}
