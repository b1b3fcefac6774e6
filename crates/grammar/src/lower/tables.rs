//! Items of FROM.

use super::{Lower, Lowered};
use crate::ast::{
    Alias, FromFunction, FromId, FromItem, FromNode, FunctionColumn, JoinCondition, JoinKind, QueryBody, RelationName,
    Sample,
};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    /// `from_list`, `from_clause`, `using_clause`.
    pub(super) fn item_list(&mut self, node: Node) -> Vec<FromId> {
        let list = self.part(node, g::from_list);
        list.map(|list| self.list(list).into_iter().map(|item| self.item(item)).collect()).unwrap_or_default()
    }

    pub(super) fn item_node(&mut self, node: Node) -> Lowered<FromId> {
        let (shape, children) = self.parts(node);
        if shape[0] == g::PAREN {
            let number = self.item(children[1]);
            if let Some(alias) = children.get(3) {
                self.arena[number].alias = Some(self.alias(*alias));
            }
            return Ok(number);
        }
        if self.tree.symbol(node) == g::joined_table {
            return self.join(node);
        }
        let lateral = shape[0] == g::LATERAL_P;
        let rest = usize::from(lateral);
        let (at, source) = (self.at(node), children[rest]);
        let (node, alias) = match &shape[rest..] {
            [g::relation_expr, ..] => self.relation(children)?,
            [g::func_table, _] => self.function_table(source, children[rest + 1])?,
            [g::xmltable, _] => (FromNode::Other("XMLTABLE"), self.opt_alias(children[rest + 1])),
            [g::select_with_parens, _] => {
                let query = self.query(source);
                let alias = self.opt_alias(children[rest + 1]);
                if alias.is_none() {
                    let (message, hint) = match self.arena[query].body {
                        QueryBody::Values(_) => {
                            ("VALUES in FROM must have an alias", "For example, FROM (VALUES ...) [AS] foo.")
                        }
                        _ => ("subquery in FROM must have an alias", "For example, FROM (SELECT ...) [AS] foo."),
                    };
                    return Err(self.error(source, message).with_hint(hint));
                }
                (FromNode::Query(query), alias)
            }
            _ => return Err(self.unexpected(node)),
        };
        Ok(self.arena.items(FromItem { node, alias, lateral, at }))
    }

    fn relation(&mut self, children: &[Node]) -> Lowered<(FromNode, Option<Alias>)> {
        let name: RelationName = self.relation_expr(children[0]);
        let alias = self.opt_alias(children[1]);
        let sample = match children.get(2) {
            Some(&sample) => Some(Box::new(self.sample(sample)?)),
            None => None,
        };
        Ok((FromNode::Relation { name, sample }, alias))
    }

    fn sample(&mut self, node: Node) -> Lowered<Sample> {
        let &[_, method, _, arguments, _, repeatable] = self.children(node) else { return Err(self.unexpected(node)) };
        let (at, method) = (self.at(method), self.function_name(method));
        let arguments = self.exprs(arguments);
        let seed = self.part(repeatable, g::a_expr).map(|seed| self.expr(seed));
        Ok(Sample { method, arguments, seed, at })
    }

    /// `func_table func_alias_clause`.
    fn function_table(&mut self, table: Node, alias: Node) -> Lowered<(FromNode, Option<Alias>)> {
        let rows_from = self.has(table, g::ROWS);
        let ordinality = self.filled(table, g::opt_ordinality).is_some();
        let mut functions = Vec::new();
        if let Some(list) = self.part(table, g::rowsfrom_list) {
            for item in self.list(list) {
                let children = self.children(item);
                let call = self.expr(children[0]);
                functions.push(FromFunction { call, columns: self.function_columns(children[1])? });
            }
        } else {
            let call = self.expr(self.children(table)[0]);
            functions.push(FromFunction { call, columns: self.function_columns(alias)? });
        }
        let alias = match self.part(alias, g::alias_clause) {
            Some(alias) => Some(self.alias(alias)),
            None if self.is_empty(alias) => None,
            None => Some(Alias { name: self.part(alias, g::ColId).map(|name| self.name(name)), columns: Vec::new() }),
        };
        Ok((FromNode::Functions { functions, rows_from, ordinality }, alias))
    }

    fn function_columns(&mut self, node: Node) -> Lowered<Vec<FunctionColumn>> {
        let Some(list) = self.part(node, g::TableFuncElementList) else { return Ok(Vec::new()) };
        let mut columns = Vec::new();
        for column in self.list(list) {
            let &[name, of, collation] = self.children(column) else { return Err(self.unexpected(column)) };
            let (name, of) = (self.name(name), self.type_name(of)?);
            columns.push(FunctionColumn { name, of, collation: self.opt_collation(collation) });
        }
        Ok(columns)
    }

    /// `opt_collate_clause` and `opt_collate`.
    pub(super) fn opt_collation(&self, node: Node) -> Option<crate::ast::QualifiedName> {
        self.part(node, g::any_name).map(|name| self.any_name(name))
    }

    /// `alias_clause`.
    pub(super) fn alias(&self, node: Node) -> Alias {
        let name = self.part(node, g::ColId).map(|name| self.name(name));
        let columns = self.part(node, g::name_list).map(|list| self.names(list)).unwrap_or_default();
        Alias { name, columns }
    }

    fn opt_alias(&self, node: Node) -> Option<Alias> {
        self.part(node, g::alias_clause).map(|alias| self.alias(alias))
    }

    fn join(&mut self, node: Node) -> Lowered<FromId> {
        let children = self.children(node);
        let (left, right) = match self.part(node, g::join_qual) {
            Some(_) => (children[0], children[children.len() - 2]),
            None => (children[0], children[children.len() - 1]),
        };
        let kind = match self.part(node, g::join_type).map(|kind| self.shape(kind)[0]) {
            Some(g::FULL) => JoinKind::Full,
            Some(g::LEFT) => JoinKind::Left,
            Some(g::RIGHT) => JoinKind::Right,
            _ if self.has(node, g::CROSS) => JoinKind::Cross,
            _ => JoinKind::Inner,
        };
        let (left, right) = (self.item(left), self.item(right));
        let condition = match self.part(node, g::join_qual) {
            Some(condition) => match *self.children(condition) {
                [_, expression] => JoinCondition::On(self.expr(expression)),
                [_, _, columns, _, alias] => {
                    let alias = self.part(alias, g::ColId).map(|alias| self.name(alias));
                    JoinCondition::Using(self.names(columns), alias)
                }
                _ => return Err(self.unexpected(condition)),
            },
            None if self.has(node, g::NATURAL) => JoinCondition::Natural,
            None => JoinCondition::None,
        };
        let at = self.at(node);
        let node = FromNode::Join { kind, left, right, condition };
        Ok(self.arena.items(FromItem { node, alias: None, lateral: false, at }))
    }
}
