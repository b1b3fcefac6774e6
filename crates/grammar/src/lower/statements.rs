//! Which statement a rule is.

use super::{Lower, Lowered};
use crate::ast::{Statement, StatementId};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    /// `stmt`, `PreparableStmt`, `ExplainableStmt`.
    pub(super) fn statement_node(&mut self, node: Node) -> Lowered<StatementId> {
        let statement = match self.children(node) {
            [] => Statement::Empty,
            parts => self.statement_of(parts[0])?,
        };
        Ok(self.arena.statements(statement))
    }

    /// One of the rules that are statements.
    pub(super) fn statement_of(&mut self, node: Node) -> Lowered<Statement> {
        let symbol = self.tree.symbol(node);
        Ok(match symbol {
            g::SelectStmt => Statement::Query(self.query(node)),
            g::InsertStmt => self.insert(node)?,
            g::UpdateStmt => self.update(node)?,
            g::DeleteStmt => self.delete(node)?,
            g::MergeStmt => self.merge(node)?,
            g::TransactionStmt => self.transaction(node)?,
            g::VariableSetStmt | g::VariableResetStmt => self.set(node)?,
            g::VariableShowStmt => self.show(node)?,
            g::ConstraintsSetStmt | g::DiscardStmt | g::LockStmt | g::ListenStmt | g::UnlistenStmt | g::NotifyStmt => {
                self.session_statement(node)?
            }
            g::PrepareStmt
            | g::ExecuteStmt
            | g::DeallocateStmt
            | g::DeclareCursorStmt
            | g::FetchStmt
            | g::ClosePortalStmt => self.cursor_statement(node)?,
            g::CopyStmt => self.copy(node)?,
            g::ExplainStmt | g::CallStmt | g::DoStmt | g::CheckPointStmt | g::LoadStmt => self.plain_utility(node)?,
            g::VacuumStmt | g::AnalyzeStmt | g::ClusterStmt | g::ReindexStmt => self.maintenance(node)?,
            g::CreateStmt | g::CreateAsStmt | g::CreateMatViewStmt | g::IndexStmt | g::ViewStmt => self.create(node)?,
            g::CreateSeqStmt | g::AlterSeqStmt | g::CreateSchemaStmt | g::CreateDomainStmt => self.create(node)?,
            g::CreateFunctionStmt => self.routine(node)?,
            g::DefineStmt if self.has(node, g::ENUM_P) => self.create(node)?,
            g::AlterTableStmt | g::RenameStmt | g::AlterObjectSchemaStmt | g::AlterOwnerStmt => self.alter(node)?,
            g::DropStmt | g::RemoveFuncStmt | g::TruncateStmt | g::CommentStmt | g::RefreshMatViewStmt => {
                self.drop_statement(node)?
            }
            _ => Statement::Other { words: self.other_words(node), at: self.at(node) },
        })
    }

    /// The words that a statement without a tree begins with.
    fn other_words(&self, node: Node) -> &'static str {
        match self.tree.symbol(node) {
            g::DropCastStmt => "DROP CAST",
            g::DropOpClassStmt => "DROP OPERATOR CLASS",
            g::DropOpFamilyStmt => "DROP OPERATOR FAMILY",
            g::DropOwnedStmt => "DROP OWNED",
            g::DropSubscriptionStmt => "DROP SUBSCRIPTION",
            g::DropTableSpaceStmt => "DROP TABLESPACE",
            g::DropTransformStmt => "DROP TRANSFORM",
            g::DropRoleStmt => "DROP ROLE",
            g::DropUserMappingStmt => "DROP USER MAPPING",
            g::DropdbStmt => "DROP DATABASE",
            g::RemoveAggrStmt => "DROP AGGREGATE",
            g::RemoveOperStmt => "DROP OPERATOR",
            g::GrantStmt | g::GrantRoleStmt => "GRANT",
            g::RevokeStmt | g::RevokeRoleStmt => "REVOKE",
            g::ImportForeignSchemaStmt => "IMPORT FOREIGN SCHEMA",
            g::ReassignOwnedStmt => "REASSIGN OWNED",
            g::SecLabelStmt => "SECURITY LABEL",
            _ => self.create_words(node),
        }
    }

    fn create_words(&self, node: Node) -> &'static str {
        match self.tree.symbol(node) {
            g::CreateAmStmt => "CREATE ACCESS METHOD",
            g::CreateCastStmt => "CREATE CAST",
            g::CreateConversionStmt => "CREATE CONVERSION",
            g::CreateExtensionStmt => "CREATE EXTENSION",
            g::CreateFdwStmt => "CREATE FOREIGN DATA WRAPPER",
            g::CreateForeignServerStmt => "CREATE SERVER",
            g::CreateForeignTableStmt => "CREATE FOREIGN TABLE",
            g::CreateGroupStmt => "CREATE GROUP",
            g::CreateOpClassStmt => "CREATE OPERATOR CLASS",
            g::CreateOpFamilyStmt => "CREATE OPERATOR FAMILY",
            g::CreatePublicationStmt => "CREATE PUBLICATION",
            g::CreatePolicyStmt => "CREATE POLICY",
            g::CreatePLangStmt => "CREATE LANGUAGE",
            g::CreateSubscriptionStmt => "CREATE SUBSCRIPTION",
            g::CreateStatsStmt => "CREATE STATISTICS",
            g::CreateTableSpaceStmt => "CREATE TABLESPACE",
            g::CreateTransformStmt => "CREATE TRANSFORM",
            g::CreateTrigStmt => "CREATE TRIGGER",
            g::CreateEventTrigStmt => "CREATE EVENT TRIGGER",
            g::CreateRoleStmt => "CREATE ROLE",
            g::CreateUserStmt => "CREATE USER",
            g::CreateUserMappingStmt => "CREATE USER MAPPING",
            g::CreatedbStmt => "CREATE DATABASE",
            g::DefineStmt => self.definition_words(node),
            g::RuleStmt => "CREATE RULE",
            _ => self.alter_words(node),
        }
    }

    fn alter_words(&self, node: Node) -> &'static str {
        match self.tree.symbol(node) {
            g::AlterEventTrigStmt => "ALTER EVENT TRIGGER",
            g::AlterCollationStmt => "ALTER COLLATION",
            g::AlterDatabaseStmt | g::AlterDatabaseSetStmt => "ALTER DATABASE",
            g::AlterDefaultPrivilegesStmt => "ALTER DEFAULT PRIVILEGES",
            g::AlterDomainStmt => "ALTER DOMAIN",
            g::AlterEnumStmt | g::AlterTypeStmt | g::AlterCompositeTypeStmt => "ALTER TYPE",
            g::AlterExtensionStmt | g::AlterExtensionContentsStmt => "ALTER EXTENSION",
            g::AlterFdwStmt => "ALTER FOREIGN DATA WRAPPER",
            g::AlterForeignServerStmt => "ALTER SERVER",
            g::AlterFunctionStmt => match self.shape(node)[1] {
                g::PROCEDURE => "ALTER PROCEDURE",
                g::ROUTINE => "ALTER ROUTINE",
                _ => "ALTER FUNCTION",
            },
            g::AlterGroupStmt => "ALTER GROUP",
            g::AlterObjectDependsStmt => "ALTER .. DEPENDS ON EXTENSION",
            g::AlterOperatorStmt => "ALTER OPERATOR",
            g::AlterOpFamilyStmt => "ALTER OPERATOR FAMILY",
            g::AlterPolicyStmt => "ALTER POLICY",
            g::AlterSystemStmt => "ALTER SYSTEM",
            g::AlterTblSpcStmt => "ALTER TABLESPACE",
            g::AlterPublicationStmt => "ALTER PUBLICATION",
            g::AlterRoleSetStmt | g::AlterRoleStmt => "ALTER ROLE",
            g::AlterSubscriptionStmt => "ALTER SUBSCRIPTION",
            g::AlterStatsStmt => "ALTER STATISTICS",
            g::AlterTSConfigurationStmt => "ALTER TEXT SEARCH CONFIGURATION",
            g::AlterTSDictionaryStmt => "ALTER TEXT SEARCH DICTIONARY",
            g::AlterUserMappingStmt => "ALTER USER MAPPING",
            _ => "this statement",
        }
    }

    fn definition_words(&self, node: Node) -> &'static str {
        let shape = self.shape(node);
        match shape {
            [_, _, g::AGGREGATE, ..] => "CREATE AGGREGATE",
            [_, g::OPERATOR, ..] => "CREATE OPERATOR",
            [_, g::COLLATION, ..] => "CREATE COLLATION",
            [_, g::TEXT_P, _, g::PARSER, ..] => "CREATE TEXT SEARCH PARSER",
            [_, g::TEXT_P, _, g::DICTIONARY, ..] => "CREATE TEXT SEARCH DICTIONARY",
            [_, g::TEXT_P, _, g::TEMPLATE, ..] => "CREATE TEXT SEARCH TEMPLATE",
            [_, g::TEXT_P, ..] => "CREATE TEXT SEARCH CONFIGURATION",
            _ => "CREATE TYPE",
        }
    }
}
