//! ALTER, DROP, TRUNCATE, COMMENT and REFRESH.

use super::{Lower, Lowered};
use crate::ast::{
    AlterAction, AlterTable, Comment, ConstraintAttributes, Drop, DropRoutine, Name, ObjectName, RefreshView, Rename,
    RenamedPart, SequenceOption, SequenceOptionNode, SetOwner, SetSchema, Signature, Statement, Truncate,
};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    pub(super) fn alter(&mut self, node: Node) -> Lowered<Statement> {
        let symbol = self.tree.symbol(node);
        let children = self.children(node);
        let last = children[children.len() - 1];
        let if_exists = self.has(node, g::EXISTS);
        if symbol == g::AlterTableStmt {
            return self.alter_table(node);
        }
        let kind = self.kind_behind(node, 1);
        let object = self.object(node)?;
        Ok(match symbol {
            g::AlterObjectSchemaStmt => {
                Statement::SetSchema(SetSchema { kind, object, if_exists, schema: self.name(last) })
            }
            g::AlterOwnerStmt => Statement::SetOwner(SetOwner { kind, object, owner: self.role(last) }),
            _ => {
                // A column or constraint stands before TO, after the object's own name.
                let renamed = children.iter().skip_while(|part| self.tree.symbol(**part) != g::RENAME);
                let part = renamed.clone().find(|part| self.tree.symbol(**part) == g::name);
                let to = renamed.clone().skip_while(|part| self.tree.symbol(**part) != g::TO).nth(1);
                let to = *to.ok_or_else(|| self.unexpected(node))?;
                let what = match self.has(node, g::CONSTRAINT) {
                    true => RenamedPart::Constraint,
                    false => RenamedPart::Column,
                };
                let part = part.filter(|part| **part != to).map(|part| (what, self.name(*part)));
                Statement::Rename(Rename { kind, object, part, if_exists, to: self.name(to) })
            }
        })
    }

    /// The words from `first` on that name a kind of object: those before its name.
    fn kind_behind(&self, node: Node, first: usize) -> String {
        let mut words = Vec::new();
        for &part in &self.children(node)[first..] {
            match self.tree.token(part) {
                Some(token) if token.kind == g::PAREN => break,
                Some(token) if !matches!(token.kind, g::IF_P | g::NOT | g::EXISTS | g::ALL) => {
                    words.push(self.tree.source(token).to_ascii_uppercase());
                }
                // Rules of words alone.
                None if matches!(
                    self.tree.symbol(part),
                    g::object_type_any_name | g::object_type_name | g::object_type_name_on_any_name | g::drop_type_name
                ) =>
                {
                    let part = self.part(part, g::drop_type_name).unwrap_or(part);
                    words.push(self.words(part));
                }
                None if self.tree.symbol(part) == g::opt_procedural => {}
                _ => break,
            }
        }
        words.join(" ")
    }

    /// The object of ALTER, or of COMMENT: the first part that names one.
    fn object(&mut self, node: Node) -> Lowered<ObjectName> {
        let (shape, children) = self.parts(node);
        let found = shape.iter().position(|symbol| {
            matches!(
                *symbol,
                g::relation_expr
                    | g::qualified_name
                    | g::any_name
                    | g::name
                    | g::RoleId
                    | g::Typename
                    | g::function_with_argtypes
                    | g::aggregate_with_argtypes
                    | g::operator_with_argtypes
                    | g::NumericOnly
            )
        });
        let Some(found) = found else { return Err(self.unexpected(node)) };
        let part = children[found];
        if shape.get(found + 1) == Some(&g::ON) {
            let on = children[children.len().min(found + 3) - 1];
            let on = if shape.get(found + 2) == Some(&g::DOMAIN_P) { children[found + 3] } else { on };
            return Ok(ObjectName::On(self.name(part), self.any_or_qualified(on)));
        }
        Ok(match shape[found] {
            g::relation_expr | g::qualified_name => ObjectName::Relation(self.relation_expr(part)),
            g::any_name => ObjectName::Name(self.any_name(part)),
            g::name | g::RoleId => ObjectName::Name(vec![self.name(part)]),
            g::Typename => ObjectName::Type(self.type_name(part)?),
            g::function_with_argtypes => ObjectName::Routine(self.signature(part)?),
            _ => ObjectName::Other(self.at(part)),
        })
    }

    fn any_or_qualified(&self, node: Node) -> Vec<Name> {
        match self.tree.symbol(node) {
            g::qualified_name => self.function_name(node),
            _ => self.any_name(node),
        }
    }

    fn alter_table(&mut self, node: Node) -> Lowered<Statement> {
        let shape = self.shape(node);
        let kind = match shape {
            [_, g::TABLE, ..] => "TABLE",
            [_, g::INDEX, ..] => "INDEX",
            [_, g::SEQUENCE, ..] => "SEQUENCE",
            [_, g::VIEW, ..] => "VIEW",
            [_, g::MATERIALIZED, ..] => "MATERIALIZED VIEW",
            _ => "FOREIGN TABLE",
        };
        let name = self.part(node, g::relation_expr).or(self.part(node, g::qualified_name));
        let Some(name) = name else {
            let words = match kind {
                "TABLE" => "ALTER TABLE ALL IN TABLESPACE",
                "INDEX" => "ALTER INDEX ALL IN TABLESPACE",
                _ => "ALTER MATERIALIZED VIEW ALL IN TABLESPACE",
            };
            return Ok(Statement::Other { words, at: self.at(node) });
        };
        let mut actions = Vec::new();
        if let Some(list) = self.part(node, g::alter_table_cmds) {
            for action in self.list(list) {
                actions.push(self.action(action)?);
            }
        } else if let Some(partition) = self.part(node, g::partition_cmd).or(self.part(node, g::index_partition_cmd)) {
            let (shape, children) = self.parts(partition);
            let table = self.relation_name(children[2]);
            actions.push(match shape[0] {
                g::ATTACH => {
                    let bound = self.part(partition, g::PartitionBoundSpec);
                    let bound = bound.map(|bound| self.partition_bound(bound)).transpose()?;
                    AlterAction::AttachPartition(table, bound)
                }
                _ if self.is_empty(children[children.len() - 1]) => AlterAction::DetachPartition(table),
                _ => AlterAction::Other("DETACH PARTITION CONCURRENTLY".to_string(), self.at(partition)),
            });
        }
        let name = self.relation_expr(name);
        let if_exists = self.has(node, g::EXISTS);
        Ok(Statement::AlterTable(Box::new(AlterTable { kind, name, if_exists, actions })))
    }

    /// `alter_table_cmd`.
    fn action(&mut self, node: Node) -> Lowered<AlterAction> {
        let (shape, children) = self.parts(node);
        let exists = self.has(node, g::EXISTS);
        let last = children[children.len() - 1];
        let cascade = self.part(node, g::opt_drop_behavior).is_some_and(|behavior| self.has(behavior, g::CASCADE));
        let named = |symbol: u16| self.part(node, symbol).map(|name| self.name(name));
        Ok(match shape {
            [g::ADD_P, .., g::columnDef] => {
                AlterAction::AddColumn { if_not_exists: exists, column: self.column_definition(last)? }
            }
            [g::ADD_P, g::TableConstraint] => AlterAction::AddConstraint(self.table_constraint(last)?),
            [g::DROP, g::CONSTRAINT, ..] => {
                let name = named(g::name).ok_or_else(|| self.unexpected(node))?;
                AlterAction::DropConstraint { if_exists: exists, name, cascade }
            }
            [g::DROP, ..] => {
                let name = named(g::ColId).ok_or_else(|| self.unexpected(node))?;
                AlterAction::DropColumn { if_exists: exists, name, cascade }
            }
            [g::ALTER, g::CONSTRAINT, ..] => self.alter_constraint(node)?,
            [g::ALTER, _, g::ColId, ..] => self.alter_column(node)?,
            [g::VALIDATE, ..] => AlterAction::ValidateConstraint(self.name(last)),
            [g::OWNER, ..] => AlterAction::SetOwner(self.role(last)),
            [g::SET, g::reloptions] => AlterAction::SetOptions(self.storage_options(last)?, true),
            [g::RESET, g::reloptions] => AlterAction::SetOptions(self.storage_options(last)?, false),
            [g::SET, g::TABLESPACE, _] => AlterAction::SetTablespace(self.name(last)),
            [g::SET, g::LOGGED] => AlterAction::SetLogged(true),
            [g::SET, g::UNLOGGED] => AlterAction::SetLogged(false),
            [g::INHERIT, _] => AlterAction::Inherit(self.relation_name(last), true),
            [g::NO, g::INHERIT, _] => AlterAction::Inherit(self.relation_name(last), false),
            _ => self.other_action(node),
        })
    }

    /// What has no tree, by its words.
    fn other_action(&self, node: Node) -> AlterAction {
        let words = match self.words(node) {
            words if words.is_empty() => "OPTIONS".to_string(),
            words => words,
        };
        AlterAction::Other(words, self.at(node))
    }

    /// ALTER CONSTRAINT takes no NOT VALID and no NO INHERIT.
    fn alter_constraint(&mut self, node: Node) -> Lowered<AlterAction> {
        let &[_, _, name, attributes] = self.children(node) else { return Err(self.unexpected(node)) };
        let attributes: ConstraintAttributes = self.attributes(attributes, "FOREIGN KEY", false)?;
        Ok(AlterAction::AlterConstraint(self.name(name), attributes))
    }

    fn alter_column(&mut self, node: Node) -> Lowered<AlterAction> {
        let (shape, children) = self.parts(node);
        let name = self.name(children[2]);
        let exists = self.has(node, g::EXISTS);
        Ok(match (&shape[3..], &children[3..]) {
            ([g::alter_column_default], &[default]) => {
                let value = self.part(default, g::a_expr).map(|value| self.expr(value));
                AlterAction::SetDefault(name, value)
            }
            ([g::DROP, g::NOT, _], _) => AlterAction::SetNotNull(name, false),
            ([g::SET, g::NOT, _], _) => AlterAction::SetNotNull(name, true),
            ([g::DROP, g::EXPRESSION, ..], _) => AlterAction::DropExpression(name, exists),
            ([g::DROP, g::IDENTITY_P, ..], _) => AlterAction::DropIdentity(name, exists),
            ([g::ADD_P, ..], &[_, _, when, _, _, options]) => {
                let options = self.opt_sequence_options(options)?;
                AlterAction::AddIdentity { name, always: self.has(when, g::ALWAYS), options }
            }
            ([g::alter_identity_column_option_list], &[list]) => {
                let mut options = Vec::new();
                for option in self.list(list) {
                    options.push(self.identity_option(option)?);
                }
                AlterAction::SetIdentity(name, options)
            }
            ([g::opt_set_data, ..], &[_, _, of, collation, using]) => {
                let of = self.type_name(of)?;
                let using = self.part(using, g::a_expr).map(|using| self.expr(using));
                AlterAction::SetType { name, of, collation: self.opt_collation(collation), using }
            }
            _ => self.other_action(node),
        })
    }

    fn identity_option(&mut self, node: Node) -> Lowered<SequenceOption> {
        let at = self.at(node);
        let option = match (self.part(node, g::SeqOptElem), self.part(node, g::generated_when)) {
            (Some(option), _) => return self.sequence_option(option),
            (None, Some(when)) => SequenceOptionNode::Generated(self.has(when, g::ALWAYS)),
            _ => SequenceOptionNode::Restart(self.part(node, g::NumericOnly).map(|number| self.number(number))),
        };
        Ok(SequenceOption { node: option, at })
    }

    /// DROP, TRUNCATE, COMMENT, REFRESH.
    pub(super) fn drop_statement(&mut self, node: Node) -> Lowered<Statement> {
        let children = self.children(node);
        let last = children[children.len() - 1];
        let cascade = self.has(last, g::CASCADE);
        let if_exists = self.has(node, g::EXISTS);
        Ok(match self.tree.symbol(node) {
            g::DropStmt => self.drop(node, if_exists, cascade)?,
            g::RemoveFuncStmt => {
                let list = children[children.len() - 2];
                let kind = self.kind_behind(node, 1);
                let routines = self.list(list);
                let routines = routines.into_iter().map(|routine| self.signature(routine)).collect::<Lowered<_>>()?;
                Statement::DropRoutine(DropRoutine { kind, if_exists, routines, cascade })
            }
            g::TruncateStmt => {
                let tables = self.relation_exprs(children[2]);
                Statement::Truncate(Truncate { tables, restart: self.has(children[3], g::RESTART), cascade })
            }
            g::RefreshMatViewStmt => Statement::RefreshView(RefreshView {
                name: self.relation_name(children[4]),
                concurrently: !self.is_empty(children[3]),
                with_data: !self.has(last, g::NO),
            }),
            _ => {
                let kind = self.kind_behind(node, 2);
                let object = self.object(node)?;
                let text = self.part(last, g::Sconst).map(|text| self.string(text));
                Statement::Comment(Comment { kind, object, text })
            }
        })
    }

    fn drop(&mut self, node: Node, if_exists: bool, cascade: bool) -> Lowered<Statement> {
        let concurrently = self.has(node, g::CONCURRENTLY);
        let mut kind = self.kind_behind(node, 1);
        if concurrently {
            kind = "INDEX".to_string();
        }
        let lists = [g::any_name_list, g::name_list, g::type_name_list];
        let list = lists.into_iter().find_map(|list| self.part(node, list));
        let mut objects = Vec::new();
        match list {
            Some(list) => {
                for object in self.list(list) {
                    objects.push(match self.tree.symbol(object) {
                        g::any_name => ObjectName::Name(self.any_name(object)),
                        g::Typename => ObjectName::Type(self.type_name(object)?),
                        _ => ObjectName::Name(vec![self.name(object)]),
                    });
                }
            }
            None => objects.push(self.object(node)?),
        }
        Ok(Statement::Drop(Drop { kind, if_exists, concurrently, objects, cascade }))
    }

    /// `function_with_argtypes`.
    pub(super) fn signature(&mut self, node: Node) -> Lowered<Signature> {
        let name = match self.part(node, g::func_name) {
            Some(name) => self.function_name(name),
            None => self.function_name(node),
        };
        let parameters = match self.part(node, g::func_args) {
            Some(list) => Some(self.parameters(list)?),
            None => None,
        };
        Ok(Signature { name, parameters })
    }
}
