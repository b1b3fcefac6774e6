//! Constraints of columns, tables and domains, and options of sequences.

use super::{Lower, Lowered};
use crate::ast::{
    Constraint, ConstraintAttributes, ConstraintNode, Exclusion, ForeignKey, KeyAction, KeyConstraint, Name,
    OperatorName, QualifiedName, SequenceOption, SequenceOptionNode,
};
use crate::error::{FEATURE_NOT_SUPPORTED, SyntaxError};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    /// `ColQualList`: constraints, and a collation among them.
    pub(super) fn column_constraints(&mut self, list: Node) -> Lowered<(Vec<Constraint>, Option<QualifiedName>)> {
        let (mut constraints, mut collation) = (Vec::new(), None);
        for element in self.list(list) {
            let (shape, children) = self.parts(element);
            match (shape, children) {
                ([g::COLLATE, _], &[_, name]) => {
                    collation = Some(self.any_name(name));
                }
                ([g::ConstraintAttr], &[attribute]) => {
                    let node = match self.shape(attribute) {
                        [g::DEFERRABLE] => ConstraintNode::Deferrable(true),
                        [g::NOT, _] => ConstraintNode::Deferrable(false),
                        [_, g::DEFERRED] => ConstraintNode::InitiallyDeferred(true),
                        _ => ConstraintNode::InitiallyDeferred(false),
                    };
                    let at = self.at(attribute);
                    constraints.push(Constraint { name: None, node, attributes: ConstraintAttributes::default(), at });
                }
                _ => {
                    let name = self.part(element, g::name).map(|name| self.name(name));
                    let inner = children[children.len() - 1];
                    let (node, attributes) = self.column_constraint(inner)?;
                    // PostgreSQL points to CONSTRAINT where a name is given.
                    constraints.push(Constraint { name, node, attributes, at: self.at(element) });
                }
            }
        }
        Ok((constraints, collation))
    }

    fn column_constraint(&mut self, node: Node) -> Lowered<(ConstraintNode, ConstraintAttributes)> {
        let (shape, children) = self.parts(node);
        let mut attributes = ConstraintAttributes::default();
        let constraint = match (shape, children) {
            ([g::NOT, _], _) => ConstraintNode::NotNull,
            ([g::NULL_P], _) => ConstraintNode::Null,
            ([g::DEFAULT, _], &[_, value]) => ConstraintNode::Default(self.expr(value)),
            ([g::CHECK, ..], &[_, _, value, _, no_inherit]) => {
                attributes.no_inherit = !self.is_empty(no_inherit);
                ConstraintNode::Check(self.expr(value))
            }
            ([g::UNIQUE, ..], _) => ConstraintNode::Unique(self.key(node)?),
            ([g::PRIMARY, ..], _) => ConstraintNode::PrimaryKey(self.key(node)?),
            ([g::GENERATED, .., g::STORED], &[_, _, _, _, value, _, _]) => ConstraintNode::Generated(self.expr(value)),
            ([g::GENERATED, ..], &[_, when, _, _, options]) => {
                let options = self.opt_sequence_options(options)?;
                ConstraintNode::Identity { always: self.has(when, g::ALWAYS), options }
            }
            ([g::REFERENCES, ..], _) => ConstraintNode::Foreign(Box::new(self.foreign_key(node)?)),
            _ => return Err(self.unexpected(node)),
        };
        Ok((constraint, attributes))
    }

    /// What UNIQUE and PRIMARY KEY have in common.
    fn key(&mut self, node: Node) -> Lowered<KeyConstraint> {
        let options = match self.part(node, g::opt_definition) {
            Some(options) => self.definition(options)?,
            None => Vec::new(),
        };
        let nulls = self.part(node, g::opt_unique_null_treatment);
        let index = self.part(node, g::ExistingIndex).and_then(|index| self.part(index, g::name));
        Ok(KeyConstraint {
            columns: self.part(node, g::columnList).map(|list| self.names(list)).unwrap_or_default(),
            including: self.included(node),
            nulls_not_distinct: nulls.is_some_and(|nulls| self.has(nulls, g::NOT)),
            options,
            tablespace: self.index_tablespace(node),
            index: index.map(|index| self.name(index)),
        })
    }

    fn included(&self, node: Node) -> Vec<Name> {
        let list = self.part(node, g::opt_c_include).and_then(|list| self.part(list, g::columnList));
        list.map(|list| self.names(list)).unwrap_or_default()
    }

    fn index_tablespace(&self, node: Node) -> Option<Name> {
        let name = self.part(node, g::OptConsTableSpace).and_then(|space| self.part(space, g::name));
        name.map(|name| self.name(name))
    }

    fn foreign_key(&mut self, node: Node) -> Lowered<ForeignKey> {
        let (Some(table), Some(referenced), Some(actions)) =
            (self.part(node, g::qualified_name), self.part(node, g::opt_column_list), self.part(node, g::key_actions))
        else {
            return Err(self.unexpected(node));
        };
        let action = |event: u16| {
            let action = self.part(actions, event).map(|action| self.children(action)[2]);
            action.map(|action| self.key_action(action)).unwrap_or_default()
        };
        Ok(ForeignKey {
            columns: self.part(node, g::columnList).map(|list| self.names(list)).unwrap_or_default(),
            table: self.relation_name(table),
            referenced: self.opt_names(referenced),
            full: self.part(node, g::key_match).is_some_and(|matching| self.has(matching, g::FULL)),
            on_delete: action(g::key_delete),
            on_update: action(g::key_update),
        })
    }

    fn key_action(&self, node: Node) -> KeyAction {
        let columns = || self.part(node, g::opt_column_list).map(|list| self.opt_names(list)).unwrap_or_default();
        match self.shape(node) {
            [g::RESTRICT] => KeyAction::Restrict,
            [g::CASCADE] => KeyAction::Cascade,
            [_, g::NULL_P, _] => KeyAction::SetNull(columns()),
            [_, g::DEFAULT, _] => KeyAction::SetDefault(columns()),
            _ => KeyAction::NoAction,
        }
    }

    /// `TableConstraint`.
    pub(super) fn table_constraint(&mut self, node: Node) -> Lowered<Constraint> {
        let name = self.part(node, g::name).map(|name| self.name(name));
        let inner = self.part(node, g::ConstraintElem).ok_or_else(|| self.unexpected(node))?;
        let (shape, children) = self.parts(inner);
        let (constraint, kind) = match shape[0] {
            g::CHECK => (ConstraintNode::Check(self.expr(children[2])), "CHECK"),
            g::UNIQUE => (ConstraintNode::Unique(self.key(inner)?), "UNIQUE"),
            g::PRIMARY => (ConstraintNode::PrimaryKey(self.key(inner)?), "PRIMARY KEY"),
            g::EXCLUDE => (ConstraintNode::Exclusion(Box::new(self.exclusion(inner)?)), "EXCLUDE"),
            _ => (ConstraintNode::Foreign(Box::new(self.foreign_key(inner)?)), "FOREIGN KEY"),
        };
        let attributes = self.attributes(children[children.len() - 1], kind, true)?;
        Ok(Constraint { name, node: constraint, attributes, at: self.at(node) })
    }

    /// `ConstraintAttributeSpec`: what a kind of constraint may have.
    pub(super) fn attributes(&self, node: Node, kind: &str, may_be_invalid: bool) -> Lowered<ConstraintAttributes> {
        let mut attributes = ConstraintAttributes::default();
        for attribute in self.list(node) {
            match self.shape(attribute) {
                [g::DEFERRABLE] => attributes.deferrable = true,
                [g::INITIALLY, g::DEFERRED] => (attributes.deferrable, attributes.initially_deferred) = (true, true),
                [g::NOT, g::VALID] => attributes.not_valid = true,
                [g::NO, _] => attributes.no_inherit = true,
                _ => {}
            }
        }
        let refused = [
            (attributes.deferrable && kind == "CHECK", "DEFERRABLE"),
            (attributes.not_valid && !may_be_invalid, "NOT VALID"),
            (attributes.no_inherit && kind != "CHECK", "NO INHERIT"),
        ];
        match refused.into_iter().find(|(refused, _)| *refused) {
            Some((_, word)) => {
                let message = format!("{kind} constraints cannot be marked {word}");
                // PostgreSQL knows no place of a list that begins with nothing.
                Err(SyntaxError { at: None, ..SyntaxError::new(FEATURE_NOT_SUPPORTED, message, 0) })
            }
            None => Ok(attributes),
        }
    }

    fn exclusion(&mut self, node: Node) -> Lowered<Exclusion> {
        let list = self.part(node, g::ExclusionConstraintList).ok_or_else(|| self.unexpected(node))?;
        let mut elements = Vec::new();
        for element in self.list(list) {
            let operator = self.part(element, g::any_operator).ok_or_else(|| self.unexpected(element))?;
            let operator: OperatorName = self.any_operator(operator);
            elements.push((self.index_element(self.children(element)[0])?, operator));
        }
        let method = self.part(node, g::access_method_clause).and_then(|method| self.part(method, g::name));
        let options = match self.part(node, g::opt_definition) {
            Some(options) => self.definition(options)?,
            None => Vec::new(),
        };
        let filter = self.part(node, g::OptWhereClause).and_then(|filter| self.part(filter, g::a_expr));
        Ok(Exclusion {
            method: method.map(|method| self.name(method)),
            elements,
            including: self.included(node),
            options,
            tablespace: self.index_tablespace(node),
            filter: filter.map(|filter| self.expr(filter)),
        })
    }

    /// `OptParenthesizedSeqOptList`.
    pub(super) fn opt_sequence_options(&mut self, node: Node) -> Lowered<Vec<SequenceOption>> {
        match self.part(node, g::SeqOptList) {
            Some(list) => self.sequence_options(list),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn sequence_options(&mut self, list: Node) -> Lowered<Vec<SequenceOption>> {
        self.list(list).into_iter().map(|option| self.sequence_option(option)).collect()
    }

    /// `SeqOptElem`.
    pub(super) fn sequence_option(&mut self, node: Node) -> Lowered<SequenceOption> {
        use SequenceOptionNode as O;
        let (shape, children) = self.parts(node);
        let number = self.part(node, g::NumericOnly).map(|number| self.number(number));
        let required = |number: Option<String>| number.ok_or_else(|| self.unexpected(node));
        let option = match shape {
            [g::AS, _] => O::As(self.simple_type(children[1])?),
            [g::CACHE, _] => O::Cache(required(number)?),
            [g::CYCLE] => O::Cycle(true),
            [g::NO, g::CYCLE] => O::Cycle(false),
            [g::INCREMENT, ..] => O::Increment(required(number)?),
            [g::MAXVALUE, _] | [g::NO, g::MAXVALUE] => O::MaxValue(number),
            [g::MINVALUE, _] | [g::NO, g::MINVALUE] => O::MinValue(number),
            [g::OWNED, ..] => O::OwnedBy(self.any_name(children[2])),
            [g::SEQUENCE, ..] => O::Name(self.any_name(children[2])),
            [g::START, ..] => O::Start(required(number)?),
            [g::RESTART, ..] => O::Restart(number),
            [g::LOGGED] => O::Logged(true),
            [g::UNLOGGED] => O::Logged(false),
            _ => return Err(self.unexpected(node)),
        };
        Ok(SequenceOption { node: option, at: self.at(node) })
    }
}
