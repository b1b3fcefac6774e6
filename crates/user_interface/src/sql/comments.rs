//! COMMENT ON: a text about an object, planned as a catalog write (PostgreSQL's `comment.c`).
//!
//! Invariant: a comment goes with its object, whatever drops that.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::comment_syntax::{CommentStatement, Commented};
use crate::sql::ddl::Planner;
use crate::sql::denials::{OwnerReach, denied, not_owner};
use crate::sql::extensions::extension_number;
use crate::sql::lookup::no_schema;
use crate::sql::role_syntax::Named;
use crate::sql::roles::find;
use crate::sql::set_clauses::no_column;
use crate::sql::settings::Facts;
use messages::namespace;
use messages::role::BOOTSTRAP_OID;
use messages::schema::{CatalogEntry, CommentTarget, TableSchema};
use std::collections::BTreeSet;
use values::extensions::PLPGSQL_OID;

impl Planner<'_> {
    pub(super) fn comment(&mut self, comment: &CommentStatement, facts: &Facts) -> Result<()> {
        let target = match &comment.object {
            Commented::Relation(word, name) => self.commented_relation(word, name)?,
            Commented::Column(table, column) => {
                let known = self.commented_table(table)?;
                let position = known.column(column).ok_or_else(|| no_column(&known, column))?;
                CommentTarget { number: position as i32 + 1, ..CommentTarget::relation(known.oid) }
            }
            Commented::Constraint(table, name) => {
                let known = self.commented_table(table)?;
                let oid = constraint(&known, name).ok_or_else(|| {
                    let message = format!("constraint \"{name}\" for table \"{table}\" does not exist");
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, message)
                })?;
                CommentTarget::new(CommentTarget::CONSTRAINTS, oid)
            }
            Commented::Policy(table, name) => self.commented_policy(table, name)?,
            Commented::Procedure(word, name, types) => {
                let name = self.procedure_named(word, name, types.as_deref())?;
                let Some((procedure, _)) = self.catalog.procedures.get(&name).cloned() else { return Ok(()) };
                self.check_owns(&procedure.rights, "function", &name, OwnerReach::Object)?;
                self.relied.insert(CatalogEntry::procedure_key(&name));
                CommentTarget::new(CommentTarget::PROCEDURES, procedure.oid)
            }
            Commented::Type(name) => {
                let Some((known, _)) = self.catalog.types.get(name).cloned() else {
                    let message = format!("type \"{name}\" does not exist");
                    return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
                };
                self.check_owns(&known.rights, "type", &known.written, OwnerReach::Object)?;
                self.relied.insert(CatalogEntry::type_key(name));
                CommentTarget::new(CommentTarget::TYPES, known.oid)
            }
            Commented::Domain(name) => self.commented_domain(name, None)?,
            Commented::DomainConstraint(name, own) => self.commented_domain(name, Some(own))?,
            Commented::Extension(name) => self.commented_extension(name)?,
            Commented::Schema(name) => {
                let schema = self.catalog.namespace(name).ok_or_else(|| no_schema(name))?;
                if !self.standing.has(schema.rights.owner) {
                    return Err(not_owner("schema", name));
                }
                self.relied.insert(CatalogEntry::namespace_key(name));
                CommentTarget::new(CommentTarget::SCHEMAS, schema.oid)
            }
            Commented::Database(name) => CommentTarget::database(self.owned_database(name)?.id),
            Commented::Role(name) => {
                let role = find(&self.catalog, &Named::Is(name.clone()), facts)?;
                if !(self.standing.is_superuser() || self.standing.role.create_role && !role.superuser) {
                    return Err(denied("must be member of role \"".to_owned() + name + "\" to comment upon it"));
                }
                self.relied.insert(CatalogEntry::role_key(&role.name));
                CommentTarget::new(CommentTarget::ROLES, role.oid)
            }
        };
        // `public` has a comment by itself, so one that is taken away is kept as empty.
        let text = comment.text.as_deref().or_else(|| (target == CommentTarget::PUBLIC).then_some(""));
        let entry = text.map(|text| CatalogEntry::Comment(text.into()));
        if entry.is_some() || self.catalog.comments.contains_key(&target) {
            self.write(CatalogEntry::comment_key(target), entry);
        }
        Ok(())
    }

    /// A policy of a table of the role's own.
    fn commented_policy(&mut self, table: &str, name: &str) -> Result<CommentTarget> {
        let known = self.commented_table(table)?;
        let policy = known.row_security.policies.iter().find(|policy| policy.name == name).ok_or_else(|| {
            let message = format!("policy \"{name}\" for table \"{table}\" does not exist");
            SqlError::new(sqlstate::UNDEFINED_OBJECT, message)
        })?;
        Ok(CommentTarget::new(CommentTarget::POLICIES, policy.oid))
    }

    /// A domain of the role's own, or one of its conditions, which the plan relies on.
    fn commented_domain(&mut self, name: &str, constraint: Option<&str>) -> Result<CommentTarget> {
        let known = self.domain_named(name, true)?;
        self.check_owns(&known.rights, "type", &known.written, OwnerReach::Object)?;
        self.relied.insert(CatalogEntry::type_key(name));
        let Some(own) = constraint else { return Ok(CommentTarget::new(CommentTarget::TYPES, known.oid)) };
        match known.domain().and_then(|domain| domain.checks.iter().find(|check| check.name == own)) {
            Some(check) => Ok(CommentTarget::new(CommentTarget::CONSTRAINTS, check.oid)),
            None => {
                let message = format!("constraint \"{own}\" for domain {} does not exist", known.written);
                Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message))
            }
        }
    }

    /// An extension of the role's own, which the plan relies on.
    fn commented_extension(&mut self, name: &str) -> Result<CommentTarget> {
        let Some(oid) = extension_number(&self.catalog, name) else {
            let message = format!("extension \"{name}\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
        };
        let owner = self.catalog.extensions.get(name).map_or(BOOTSTRAP_OID, |(known, _)| known.rights.owner);
        if !self.standing.has(owner) {
            return Err(not_owner("extension", name));
        }
        self.relied.insert(CatalogEntry::extension_key(name));
        Ok(CommentTarget::new(CommentTarget::EXTENSIONS, oid))
    }

    /// A table or view of the role's own, which the plan relies on.
    fn commented_table(&mut self, name: &str) -> Result<TableSchema> {
        let missing = || SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"));
        let known = self.catalog.tables.get(name).ok_or_else(missing)?.table.clone();
        self.check_owns(&known.rights, "table", name, OwnerReach::Object)?;
        self.relied.insert(CatalogEntry::key(name));
        Ok(TableSchema::clone(&known))
    }

    fn commented_relation(&mut self, word: &str, name: &str) -> Result<CommentTarget> {
        let wrong = || SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {}", with_article(word)));
        if let Some((owner, _)) = self.catalog.index_names.get(name).cloned() {
            if word != "index" {
                return Err(wrong());
            }
            self.check_owns_index(name, OwnerReach::Object)?;
            self.relied.insert(CatalogEntry::key(&owner));
            let table = self.stored(&owner)?;
            let index = table.indexes.iter().find(|index| index.name == name);
            return Ok(CommentTarget::relation(index.map_or(table.primary_key_oid, |index| index.oid)));
        }
        let missing = || SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"));
        let known = self.catalog.tables.get(name).ok_or_else(missing)?.table.clone();
        let kind = known.kind().word();
        if kind != word {
            return Err(wrong());
        }
        self.check_owns(&known.rights, kind, name, OwnerReach::Object)?;
        self.relied.insert(CatalogEntry::key(name));
        Ok(CommentTarget::relation(known.oid))
    }

    /// Forgets what was said of what is gone.
    pub(super) fn forget_comments(&mut self) {
        if self.catalog.comments.is_empty() {
            return;
        }
        let mut relations: BTreeSet<(u32, i32)> = BTreeSet::new();
        let mut others: BTreeSet<u32> = BTreeSet::new();
        for known in self.catalog.tables.values() {
            let table = &known.table;
            let live = table.columns.iter().zip(1..).filter(|(column, _)| !column.dropped);
            relations.extend(live.map(|(_, number)| (table.oid, number)));
            let indexes = table.indexes.iter().map(|index| index.oid).chain([table.primary_key_oid]);
            relations.extend([table.oid].into_iter().chain(indexes).map(|oid| (oid, 0)));
            others.extend(constraints(table).map(|(_, oid)| oid));
            others.extend(table.row_security.policies.iter().map(|policy| policy.oid));
        }
        others.extend(self.catalog.procedures.values().map(|(procedure, _)| procedure.oid));
        others.extend(self.catalog.types.values().map(|(known, _)| known.oid));
        let domains = self.catalog.types.values().filter_map(|(known, _)| known.domain());
        others.extend(domains.flat_map(|domain| domain.checks.iter().map(|check| check.oid)));
        others.extend(self.catalog.extensions.values().map(|(known, _)| known.oid).chain([PLPGSQL_OID]));
        others.extend(self.catalog.all_namespaces().iter().map(|schema| schema.oid));
        others.extend(self.catalog.all_roles().iter().map(|role| role.oid));
        others.extend(self.catalog.all_databases().iter().map(|known| known.id.0));
        let is_gone = |target: &&CommentTarget| match target.class {
            CommentTarget::RELATIONS => !relations.contains(&(target.oid, target.number)),
            _ => !others.contains(&target.oid),
        };
        let gone: Vec<CommentTarget> = self.catalog.comments.keys().filter(is_gone).copied().collect();
        for target in gone {
            self.write(CatalogEntry::comment_key(target), None);
        }
    }
}

fn with_article(word: &str) -> String {
    format!("{} {word}", if word.starts_with('i') { "an" } else { "a" })
}

/// A table's constraints by name, each with its object identifier; that of a key is its index's.
fn constraints(table: &TableSchema) -> impl Iterator<Item = (&str, u32)> {
    let key = table.primary_key_name.as_deref().map(|name| (namespace::bare(name), table.primary_key_oid));
    let unique = table.indexes.iter().filter(|index| index.constraint);
    key.into_iter()
        .chain(unique.map(|index| (namespace::bare(&index.name), index.oid)))
        .chain(table.checks.iter().map(|check| (check.name.as_str(), check.oid)))
        .chain(table.foreign_keys.iter().map(|key| (key.name.as_str(), key.oid)))
}

fn constraint(table: &TableSchema, name: &str) -> Option<u32> {
    constraints(table).find(|(known, _)| *known == name).map(|(_, oid)| oid)
}
