//! Constants, also those that a type's name stands before.

use super::{Lower, Lowered};
use crate::ast::{ExpressionId, ExpressionNode, TypeName};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    pub(super) fn constant(&mut self, node: Node) -> Lowered<ExpressionId> {
        let (shape, children) = self.parts(node);
        let at = self.at(node);
        let plain = match shape {
            [g::Iconst] => ExpressionNode::Integer(self.integer(node)),
            [g::FCONST] => ExpressionNode::Number(self.string(node)),
            [g::Sconst] => ExpressionNode::String(self.string(node)),
            [g::BCONST] => ExpressionNode::BitString(self.string(node)),
            [g::XCONST] => ExpressionNode::HexString(self.string(node)),
            [g::TRUE_P] => ExpressionNode::Boolean(true),
            [g::FALSE_P] => ExpressionNode::Boolean(false),
            [g::NULL_P] => ExpressionNode::Null,
            _ => {
                let to = self.constant_type(node)?;
                let string = children.iter().rev().find(|part| self.tree.symbol(**part) == g::Sconst);
                let string = *string.ok_or_else(|| self.unexpected(node))?;
                return Ok(self.typed_string(string, to, at));
            }
        };
        Ok(self.add(plain, at))
    }

    /// `type 'text'`.
    pub(super) fn typed_string(&mut self, string: Node, to: TypeName, at: u32) -> ExpressionId {
        let value = self.add(ExpressionNode::String(self.string(string)), self.at(string));
        self.add(ExpressionNode::Cast { value, to: Box::new(to) }, at)
    }

    /// The type before a string.
    fn constant_type(&mut self, node: Node) -> Lowered<TypeName> {
        let (shape, children) = self.parts(node);
        match (shape, children) {
            ([g::func_name, ..], _) => {
                let mut of = self.system_type("", self.at(node));
                of.names = self.function_name(children[0]);
                if let Some(list) = self.part(node, g::func_arg_list) {
                    for argument in self.arguments(list) {
                        if let Some(name) = argument.name {
                            let message = "type modifier cannot have parameter name";
                            return Err(crate::SyntaxError::new(crate::error::SYNTAX_ERROR, message, name.at));
                        }
                        of.modifiers.push(argument.value);
                    }
                }
                match self.filled(node, g::opt_sort_clause) {
                    Some(sort) => Err(self.error(sort, "type modifier cannot have ORDER BY")),
                    None => Ok(of),
                }
            }
            ([g::ConstTypename, _], &[of, _]) => self.constant_type_name(of),
            ([g::ConstInterval, _, g::opt_interval], &[_, _, fields]) => self.interval_type(node, Some(fields), None),
            ([g::ConstInterval, ..], &[_, _, precision, _, _]) => self.interval_type(node, None, Some(precision)),
            _ => Err(self.unexpected(node)),
        }
    }
}
