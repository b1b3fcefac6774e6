//! What PostgreSQL's grammar refuses in the actions of its rules, other than by the rules themselves. Each complete rule is looked at in its turn, so that of
//! two faults the one that PostgreSQL sees first is told.

use super::{Lower, Lowered};
use crate::error::{FEATURE_NOT_SUPPORTED, SYNTAX_ERROR, SyntaxError};
use crate::parse::Node;
use crate::tables::symbols as g;

/// What a list of a publication must begin with.
const PUBLICATION_DETAIL: &str =
    "One of TABLE or TABLES IN SCHEMA must be specified before a standalone table or schema name.";

/// An error without a place.
fn without_place(sqlstate: &'static str, message: &str) -> SyntaxError {
    SyntaxError { at: None, ..SyntaxError::new(sqlstate, message, 0) }
}

impl Lower<'_, '_> {
    pub(super) fn check(&mut self, node: Node) -> Lowered<()> {
        match self.tree.symbol(node) {
            g::qualified_name => self.check_qualified(node),
            g::func_name | g::function_with_argtypes => self.check_names(node),
            g::RoleSpec if self.first_word(node) == "none" => {
                Err(SyntaxError::new(sqlstate::RESERVED_NAME, "role name \"none\" is reserved", self.at(node)))
            }
            g::RoleId => self.check_role(node),
            g::key_match if self.has(node, g::PARTIAL) => {
                Err(self.not_supported(node, "MATCH PARTIAL not yet implemented"))
            }
            g::key_update => self.check_key_update(node),
            g::ConstraintAttributeSpec => self.check_attributes(node),
            g::ColConstraintElem => self.check_generated(node),
            g::ColQualList => self.check_collations(node),
            g::ConstraintElem => self.check_constraint(node),
            g::opt_float => self.check_float(node),
            g::xmltable_column_el => self.check_xml_column(node),
            g::zone_value => self.check_zone(node),
            g::CreatePublicationStmt | g::AlterPublicationStmt => self.check_publication(node),
            g::PartitionBoundSpec => self.check_hash_bound(node),
            g::alter_table_cmd => self.check_column_number(node),
            g::alter_identity_column_option => self.check_identity_option(node),
            g::AlterOptRoleElem => self.check_role_option(node),
            g::oper_argtypes if self.children(node).len() == 3 => {
                let error = self.error(self.children(node)[2], "missing argument");
                Err(error.with_hint("Use NONE to denote the missing argument of a unary operator."))
            }
            g::aggr_arg => self.check_aggregate_argument(node),
            g::create_extension_opt_item if self.has(node, g::FROM) => {
                Err(self.not_supported(node, "CREATE EXTENSION ... FROM is no longer supported"))
            }
            g::RowSecurityDefaultPermissive => self.check_policy(node),
            g::TriggerEvents => self.check_trigger_events(node),
            g::CreateTrigStmt => self.check_trigger(node),
            g::CreateAssertionStmt => {
                Err(without_place(FEATURE_NOT_SUPPORTED, "CREATE ASSERTION is not yet implemented"))
            }
            g::set_rest_more if self.has(node, g::CATALOG_P) => {
                Err(self.not_supported(self.children(node)[1], "current database cannot be changed"))
            }
            _ => Ok(()),
        }
    }

    fn first_word(&self, node: Node) -> String {
        self.word(self.tree.first_token(node))
    }

    /// Parts of a name are names.
    fn check_names(&self, node: Node) -> Lowered<()> {
        let Some(steps) = self.part(node, g::indirection) else { return Ok(()) };
        match self.list(steps).into_iter().all(|step| self.has(step, g::attr_name)) {
            true => Ok(()),
            false => Err(self.error_behind(node, "syntax error")),
        }
    }

    fn check_qualified(&self, node: Node) -> Lowered<()> {
        self.check_names(node)?;
        let Some(steps) = self.part(node, g::indirection) else { return Ok(()) };
        let steps = self.list(steps);
        if steps.len() <= 2 {
            return Ok(());
        }
        let mut written = self.first_word(node);
        for step in steps {
            written.push('.');
            written.push_str(&self.first_word(self.children(step)[1]));
        }
        Err(self.error(node, format!("improper qualified name (too many dotted names): {written}")))
    }

    fn check_role(&self, node: Node) -> Lowered<()> {
        let role = self.children(node)[0];
        let message = match self.shape(role) {
            [g::NonReservedWord] if self.first_word(role) == "public" => "role name \"public\" is reserved",
            [g::CURRENT_ROLE] => "CURRENT_ROLE cannot be used as a role name here",
            [g::CURRENT_USER] => "CURRENT_USER cannot be used as a role name here",
            [g::SESSION_USER] => "SESSION_USER cannot be used as a role name here",
            _ => return Ok(()),
        };
        Err(SyntaxError::new(sqlstate::RESERVED_NAME, message, self.at(node)))
    }

    fn check_role_option(&self, node: Node) -> Lowered<()> {
        match self.shape(node) {
            [g::UNENCRYPTED, ..] => {
                let error = self.not_supported(node, "UNENCRYPTED PASSWORD is no longer supported");
                Err(error.with_hint("Remove UNENCRYPTED to store the password in encrypted form instead."))
            }
            [g::IDENT] => {
                let option = self.first_word(node);
                const KNOWN: [&str; 13] = [
                    "superuser",
                    "nosuperuser",
                    "createrole",
                    "nocreaterole",
                    "replication",
                    "noreplication",
                    "createdb",
                    "nocreatedb",
                    "login",
                    "nologin",
                    "bypassrls",
                    "nobypassrls",
                    "noinherit",
                ];
                match KNOWN.contains(&option.as_str()) {
                    true => Ok(()),
                    false => Err(self.error(node, format!("unrecognized role option \"{option}\""))),
                }
            }
            _ => Ok(()),
        }
    }

    fn check_key_update(&self, node: Node) -> Lowered<()> {
        let action = self.children(node)[2];
        let Some(_) = self.filled(action, g::opt_column_list) else { return Ok(()) };
        let action = if self.has(action, g::NULL_P) { "SET NULL" } else { "SET DEFAULT" };
        Err(self.not_supported(node, format!("a column list with {action} is only supported for ON DELETE actions")))
    }

    /// What has been said so far is kept beside the list's node: a list is looked at once, not once for each element.
    fn check_attributes(&mut self, node: Node) -> Lowered<()> {
        const NOT_DEFERRABLE: u32 = 1;
        const DEFERRABLE: u32 = 2;
        const IMMEDIATE: u32 = 4;
        const DEFERRED: u32 = 8;
        let &[before, last] = self.children(node) else { return Ok(()) };
        let said = self.made[before.number()]
            | match self.shape(last) {
                [g::NOT, g::DEFERRABLE] => NOT_DEFERRABLE,
                [g::DEFERRABLE] => DEFERRABLE,
                [g::INITIALLY, g::IMMEDIATE] => IMMEDIATE,
                [g::INITIALLY, g::DEFERRED] => DEFERRED,
                _ => 0,
            };
        self.made[node.number()] = said;
        let has = |both: u32| said & both == both;
        if has(NOT_DEFERRABLE | DEFERRED) {
            return Err(self.error(last, "constraint declared INITIALLY DEFERRED must be DEFERRABLE"));
        }
        if has(NOT_DEFERRABLE | DEFERRABLE) || has(IMMEDIATE | DEFERRED) {
            return Err(self.error(last, "conflicting constraint properties"));
        }
        Ok(())
    }

    fn check_generated(&self, node: Node) -> Lowered<()> {
        match (self.has(node, g::STORED), self.part(node, g::generated_when)) {
            (true, Some(when)) if !self.has(when, g::ALWAYS) => {
                Err(self.error(when, "for a generated column, GENERATED ALWAYS must be specified"))
            }
            _ => Ok(()),
        }
    }

    /// Of a column; what has been seen is kept beside the list's node.
    fn check_collations(&mut self, node: Node) -> Lowered<()> {
        let &[before, element] = self.children(node) else { return Ok(()) };
        let (seen, is_collation) = (self.made[before.number()], self.has(element, g::COLLATE));
        self.made[node.number()] = seen | u32::from(is_collation);
        match seen == 1 && is_collation {
            true => Err(self.error(element, "multiple COLLATE clauses not allowed")),
            false => Ok(()),
        }
    }

    fn check_constraint(&self, node: Node) -> Lowered<()> {
        let kind = match self.shape(node)[0] {
            g::CHECK => "CHECK",
            g::UNIQUE => "UNIQUE",
            g::PRIMARY => "PRIMARY KEY",
            g::EXCLUDE => "EXCLUDE",
            _ => "FOREIGN KEY",
        };
        match self.part(node, g::ConstraintAttributeSpec) {
            Some(attributes) => self.attributes(attributes, kind, matches!(kind, "CHECK" | "FOREIGN KEY")).map(drop),
            None => Ok(()),
        }
    }

    fn check_float(&self, node: Node) -> Lowered<()> {
        let Some(precision) = self.part(node, g::Iconst) else { return Ok(()) };
        let message = match self.integer(precision) {
            ..1 => "precision for type float must be at least 1 bit",
            1..54 => return Ok(()),
            _ => "precision for type float must be less than 54 bits",
        };
        Err(SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, message, self.at(precision)))
    }

    /// A column of XMLTABLE has each option once.
    fn check_xml_column(&self, node: Node) -> Lowered<()> {
        let Some(options) = self.part(node, g::xmltable_column_option_list) else { return Ok(()) };
        let (mut default, mut path, mut nulls) = (false, false, false);
        for option in self.list(options) {
            let word = self.first_word(option);
            let (seen, message) = match self.shape(option) {
                [g::DEFAULT, _] => (&mut default, "only one DEFAULT value is allowed".to_string()),
                [g::IDENT, _] if word == "path" => (&mut path, "only one PATH value per column is allowed".to_string()),
                [g::IDENT, _] if word == "__pg__is_not_null" => {
                    return Err(self.error(option, format!("option name \"{word}\" cannot be used in XMLTABLE")));
                }
                [g::IDENT, _] => return Err(self.error(option, format!("unrecognized column option \"{word}\""))),
                _ => {
                    let column = self.first_word(node);
                    let words = "conflicting or redundant NULL / NOT NULL declarations for column";
                    (&mut nulls, format!("{words} \"{column}\""))
                }
            };
            if std::mem::replace(seen, true) {
                return Err(self.error(option, message));
            }
        }
        Ok(())
    }

    fn check_zone(&self, node: Node) -> Lowered<()> {
        let Some(fields) = self.part(node, g::opt_interval) else { return Ok(()) };
        match self.shape(fields) {
            [] | [g::HOUR_P] | [g::HOUR_P, _, g::MINUTE_P] => Ok(()),
            _ => Err(self.error(fields, "time zone interval must be HOUR or HOUR TO MINUTE")),
        }
    }

    /// An object of a publication without words of its own is of the kind of the one before it.
    fn check_publication(&self, node: Node) -> Lowered<()> {
        let Some(list) = self.part(node, g::pub_obj_list) else { return Ok(()) };
        let mut tables = None;
        for object in self.list(list) {
            let (shape, at) = (self.shape(object), self.at(object));
            let refused = |message: &str| Err(SyntaxError::new(SYNTAX_ERROR, message, at));
            tables = match shape[0] {
                g::TABLE => Some(true),
                g::TABLES => Some(false),
                _ => tables,
            };
            let Some(is_table) = tables else {
                let error = SyntaxError::new(SYNTAX_ERROR, "invalid publication object list", at);
                return Err(SyntaxError { detail: Some(PUBLICATION_DETAIL), ..error });
            };
            let has_columns = self.filled(object, g::opt_column_list).is_some();
            match (is_table, shape) {
                (true, [g::CURRENT_SCHEMA]) => return refused("invalid table name"),
                (true, _) | (false, [g::TABLES, ..] | [g::CURRENT_SCHEMA]) => {}
                (false, _) if self.filled(object, g::OptWhereClause).is_some() => {
                    return refused("WHERE clause not allowed for schema");
                }
                (false, _) if has_columns => return refused("column specification not allowed for schema"),
                (false, [g::ColId, g::opt_column_list, _]) => {}
                (false, _) => return refused("invalid schema name"),
            }
        }
        Ok(())
    }

    fn check_hash_bound(&self, node: Node) -> Lowered<()> {
        let Some(bounds) = self.part(node, g::hash_partbound) else { return Ok(()) };
        let (mut modulus, mut remainder) = (false, false);
        for bound in self.list(bounds) {
            let (name, at) = (self.first_word(bound), self.at(bound));
            let seen = match name.as_str() {
                "modulus" => &mut modulus,
                "remainder" => &mut remainder,
                _ => {
                    let message = format!("unrecognized hash partition bound specification \"{name}\"");
                    return Err(SyntaxError::new(SYNTAX_ERROR, message, at));
                }
            };
            if std::mem::replace(seen, true) {
                let message = format!("{name} for hash partition provided more than once");
                return Err(SyntaxError::new(sqlstate::DUPLICATE_OBJECT, message, at));
            }
        }
        match (modulus, remainder) {
            (false, _) => Err(without_place(SYNTAX_ERROR, "modulus for hash partition must be specified")),
            (_, false) => Err(without_place(SYNTAX_ERROR, "remainder for hash partition must be specified")),
            _ => Ok(()),
        }
    }

    fn check_column_number(&self, node: Node) -> Lowered<()> {
        match self.part(node, g::Iconst) {
            Some(number) if !(1..=i32::from(i16::MAX)).contains(&self.integer(number)) => {
                let message = "column number must be in range from 1 to 32767";
                Err(SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, message, self.at(number)))
            }
            _ => Ok(()),
        }
    }

    fn check_identity_option(&self, node: Node) -> Lowered<()> {
        let Some(option) = self.part(node, g::SeqOptElem) else { return Ok(()) };
        let name = match self.shape(option)[0] {
            g::AS => "as",
            g::RESTART => "restart",
            g::OWNED => "owned_by",
            _ => return Ok(()),
        };
        Err(self.error(option, format!("sequence option \"{name}\" not supported here")))
    }

    fn check_aggregate_argument(&self, node: Node) -> Lowered<()> {
        let class = self.part(self.children(node)[0], g::arg_class);
        match class.map(|class| self.shape(class)) {
            Some([g::OUT_P] | [g::INOUT] | [g::IN_P, g::OUT_P]) => {
                Err(self.not_supported(node, "aggregates cannot have output arguments"))
            }
            _ => Ok(()),
        }
    }

    fn check_policy(&self, node: Node) -> Lowered<()> {
        let Some(&word) = self.children(node).get(1) else { return Ok(()) };
        let option = self.first_word(word);
        match option.as_str() {
            "permissive" | "restrictive" => Ok(()),
            _ => {
                let error = self.error(word, format!("unrecognized row security option \"{option}\""));
                Err(error.with_hint("Only PERMISSIVE or RESTRICTIVE policies are supported currently."))
            }
        }
    }

    fn check_trigger_events(&mut self, node: Node) -> Lowered<()> {
        let children = self.children(node);
        let before = if children.len() > 1 { self.made[children[0].number()] } else { 0 };
        let event = match self.shape(children[children.len() - 1])[0] {
            g::INSERT => 1,
            g::DELETE_P => 2,
            g::UPDATE => 4,
            _ => 8,
        };
        self.made[node.number()] = before | event;
        match before & event {
            0 => Ok(()),
            _ => Err(self.error_behind(node, "duplicate trigger events specified")),
        }
    }

    fn check_trigger(&self, node: Node) -> Lowered<()> {
        let Some(attributes) = self.part(node, g::ConstraintAttributeSpec) else { return Ok(()) };
        if self.filled(node, g::opt_or_replace).is_some() {
            let message = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
            return Err(without_place(FEATURE_NOT_SUPPORTED, message));
        }
        self.attributes(attributes, "TRIGGER", false).map(drop)
    }
}
