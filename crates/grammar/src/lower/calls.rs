//! Calls of functions, and SQL's forms that are calls.

use super::{Lower, Lowered};
use crate::ast::{Argument, CallForm, ExpressionId, ExpressionNode, FunctionCall, Over, SqlValue};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    /// `f (..)` without what may stand behind it.
    pub(super) fn application(&mut self, node: Node) -> Lowered<ExpressionId> {
        let (shape, children) = self.parts(node);
        let at = self.at(node);
        let mut call = self.system_call("", &[], CallForm::Plain, at);
        call.name = self.function_name(children[0]);
        call.star = shape[2] == g::STAR;
        call.distinct = shape[2] == g::DISTINCT;
        if let Some(list) = self.part(node, g::func_arg_list) {
            call.arguments = self.arguments(list);
        }
        if let Some(last) = self.part(node, g::func_arg_expr) {
            let last = self.argument(last);
            call.arguments.push(last);
            call.variadic = true;
        }
        if let Some(order) = self.filled(node, g::opt_sort_clause) {
            call.order = self.sort_keys(order)?;
        }
        Ok(self.add(ExpressionNode::Call(Box::new(call)), at))
    }

    pub(super) fn arguments(&mut self, list: Node) -> Vec<Argument> {
        self.list(list).into_iter().map(|node| self.argument(node)).collect()
    }

    fn argument(&mut self, node: Node) -> Argument {
        match *self.children(node) {
            [name, _, value] => Argument { name: Some(self.name(name)), value: self.expr(value) },
            ref other => Argument { name: None, value: self.expr(other[0]) },
        }
    }

    /// WITHIN GROUP, FILTER and OVER.
    pub(super) fn call_with_clauses(&mut self, node: Node) -> Lowered<ExpressionId> {
        let children = self.children(node);
        let (within, filter, over) = (children[1], children[2], children[3]);
        let number = self.expr(children[0]);
        if self.is_empty(within) && self.is_empty(filter) && self.is_empty(over) {
            return Ok(number);
        }
        let order = match self.part(within, g::sort_clause) {
            Some(sort) => Some(self.sort_keys(sort)?),
            None => None,
        };
        let filter = self.part(filter, g::a_expr).map(|filter| self.expr(filter));
        let over = match self.children(over) {
            [_, window] if self.tree.symbol(*window) == g::window_specification => {
                Some(Over::Window(Box::new(self.window(*window)?)))
            }
            [_, name] => Some(Over::Name(self.name(*name))),
            _ => None,
        };
        let at = self.arena[number].at;
        let ExpressionNode::Call(mut call) = std::mem::replace(&mut self.arena[number].node, ExpressionNode::Null)
        else {
            return Err(self.unexpected(node));
        };
        if let Some(order) = order {
            let refused = [
                (!call.order.is_empty(), "cannot use multiple ORDER BY clauses with WITHIN GROUP"),
                (call.distinct, "cannot use DISTINCT with WITHIN GROUP"),
                (call.variadic, "cannot use VARIADIC with WITHIN GROUP"),
            ];
            if let Some((_, message)) = refused.into_iter().find(|(refused, _)| *refused) {
                return Err(self.error(within, message));
            }
            call.order = order;
            call.within_group = true;
        }
        call.filter = filter;
        call.over = over;
        Ok(self.add(ExpressionNode::Call(call), at))
    }

    /// Forms that begin with a word of their own.
    pub(super) fn common_call(&mut self, node: Node) -> Lowered<ExpressionId> {
        let (shape, children) = self.parts(node);
        let at = self.at(node);
        if let Some(value) = sql_value(shape[0]) {
            let precision = children.get(2).map(|precision| self.integer(*precision));
            return Ok(self.add(ExpressionNode::SqlValue { value, precision }, at));
        }
        Ok(match (shape, children) {
            ([g::COLLATION, ..], &[_, _, _, value, _]) => {
                let value = self.expr(value);
                self.implied("pg_collation_for", &[value], CallForm::Sql, at)
            }
            ([g::CAST, ..], &[_, _, value, _, to, _]) => {
                let (value, to) = (self.expr(value), Box::new(self.type_name(to)?));
                self.add(ExpressionNode::Cast { value, to }, at)
            }
            ([g::TREAT, ..], &[_, _, value, _, to, _]) => {
                let (value, to) = (self.expr(value), self.type_name(to)?);
                let function = to.names.last().map_or(String::new(), |name| name.text.clone());
                self.implied(&function, &[value], CallForm::Implied, at)
            }
            ([g::NORMALIZE, .., g::unicode_normal_form, _], &[_, _, value, _, form, _]) => {
                let arguments = [self.expr(value), self.normal_form(form)];
                self.implied("normalize", &arguments, CallForm::Sql, at)
            }
            ([g::NORMALIZE, ..], &[_, _, value, _]) => {
                let value = self.expr(value);
                self.implied("normalize", &[value], CallForm::Sql, at)
            }
            ([g::NULLIF, ..], &[_, _, first, _, second, _]) => {
                let (first, second) = (self.expr(first), self.expr(second));
                self.add(ExpressionNode::NullIf(first, second), at)
            }
            ([word @ (g::COALESCE | g::GREATEST | g::LEAST), ..], &[_, _, list, _]) => {
                let list = self.exprs(list);
                let node = match *word {
                    g::COALESCE => ExpressionNode::Coalesce(list),
                    g::GREATEST => ExpressionNode::Greatest(list),
                    _ => ExpressionNode::Least(list),
                };
                self.add(node, at)
            }
            ([g::EXTRACT | g::OVERLAY | g::POSITION | g::SUBSTRING | g::TRIM, ..], _) => self.text_form(node)?,
            _ => {
                let word = match shape[0] {
                    g::XMLCONCAT => "XMLCONCAT",
                    g::XMLELEMENT => "XMLELEMENT",
                    g::XMLEXISTS => "XMLEXISTS",
                    g::XMLFOREST => "XMLFOREST",
                    g::XMLPARSE => "XMLPARSE",
                    g::XMLPI => "XMLPI",
                    g::XMLROOT => "XMLROOT",
                    g::XMLSERIALIZE => "XMLSERIALIZE",
                    _ => return Err(self.unexpected(node)),
                };
                self.add(ExpressionNode::Other(word), at)
            }
        })
    }

    /// Forms with words between the arguments.
    fn text_form(&mut self, node: Node) -> Lowered<ExpressionId> {
        let (shape, children) = self.parts(node);
        let at = self.at(node);
        let list = children[children.len() - 2];
        let (name, arguments) = match shape[0] {
            g::EXTRACT => {
                let parts = self.children(list);
                let field = self.word(self.tree.first_token(parts[0]));
                let field = self.add(ExpressionNode::String(field), self.at(parts[0]));
                ("extract", vec![field, self.expr(parts[2])])
            }
            g::POSITION => {
                let parts = self.children(list);
                ("position", vec![self.expr(parts[2]), self.expr(parts[0])])
            }
            g::TRIM => {
                let name = match shape[2] {
                    g::LEADING => "ltrim",
                    g::TRAILING => "rtrim",
                    _ => "btrim",
                };
                (name, self.trimmed(list))
            }
            word => {
                let name = if word == g::OVERLAY { "overlay" } else { "substring" };
                if self.tree.symbol(list) == g::func_arg_list_opt {
                    return Ok(self.plain_form(name, list, at));
                }
                (name, self.substring(list, at)?)
            }
        };
        Ok(self.implied(name, &arguments, CallForm::Sql, at))
    }

    /// `substring (a, 1, 2)`: an ordinary call, of that name wherever it is found.
    fn plain_form(&mut self, name: &str, list: Node, at: u32) -> ExpressionId {
        let mut call: FunctionCall = self.system_call(name, &[], CallForm::Plain, at);
        call.name.remove(0);
        if let [list] = *self.children(list) {
            call.arguments = self.arguments(list);
        }
        self.add(ExpressionNode::Call(Box::new(call)), at)
    }

    /// `c FROM a` is `a, c`.
    fn trimmed(&mut self, list: Node) -> Vec<ExpressionId> {
        match (self.shape(list), self.children(list)) {
            ([g::a_expr, _, _], &[characters, _, from]) => {
                let mut arguments = self.exprs(from);
                arguments.push(self.expr(characters));
                arguments
            }
            (_, children) => self.exprs(children[children.len() - 1]),
        }
    }

    /// `overlay_list` and `substr_list`.
    fn substring(&mut self, list: Node, at: u32) -> Lowered<Vec<ExpressionId>> {
        let (shape, children) = self.parts(list);
        let at_part = |part: usize, lower: &mut Self| lower.expr(children[part]);
        let first = at_part(0, self);
        Ok(match shape {
            [_, g::FOR, _, g::FROM, _] => vec![first, at_part(4, self), at_part(2, self)],
            [_, g::FOR, _] => {
                // The standard begins at the first character.
                let from = self.add(ExpressionNode::Integer(1), at);
                let length = at_part(2, self);
                let mut to = self.system_type("int4", at);
                to.at = at;
                let length = self.add(ExpressionNode::Cast { value: length, to: Box::new(to) }, at);
                vec![first, from, length]
            }
            [_, _, _] => vec![first, at_part(2, self)],
            [_, _, _, _, _] => vec![first, at_part(2, self), at_part(4, self)],
            [_, _, _, _, _, _, _] => vec![first, at_part(2, self), at_part(4, self), at_part(6, self)],
            _ => return Err(self.unexpected(list)),
        })
    }
}

fn sql_value(token: u16) -> Option<SqlValue> {
    Some(match token {
        g::CURRENT_DATE => SqlValue::CurrentDate,
        g::CURRENT_TIME => SqlValue::CurrentTime,
        g::CURRENT_TIMESTAMP => SqlValue::CurrentTimestamp,
        g::LOCALTIME => SqlValue::LocalTime,
        g::LOCALTIMESTAMP => SqlValue::LocalTimestamp,
        g::CURRENT_ROLE => SqlValue::CurrentRole,
        g::CURRENT_USER => SqlValue::CurrentUser,
        g::SESSION_USER => SqlValue::SessionUser,
        g::USER => SqlValue::User,
        g::CURRENT_CATALOG => SqlValue::CurrentCatalog,
        g::CURRENT_SCHEMA => SqlValue::CurrentSchema,
        _ => return None,
    })
}
