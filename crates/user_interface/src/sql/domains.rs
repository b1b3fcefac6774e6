//! CREATE, ALTER and DROP DOMAIN planned as catalog writes (PostgreSQL's `typecmds.c`).
//!
//! Invariants: a column and a cast carry what their domain says, so each change of a domain writes the rows of the domains over it, and of all tables that have it or
//! name it. Whoever begins to use a domain writes its row again as it is, so that a change that does not know of the new use begins anew. What a domain says of all its values is looked at in all rows that are there, but for a condition that is NOT VALID.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{DOMAIN_BYTES_MAX, DOMAINS_WITHIN_MAX};
use crate::sql::checks::{CheckDefinition, compile};
use crate::sql::ddl::Planner;
use crate::sql::definitions::{check_default, default_expression};
use crate::sql::denials::{OwnerReach, denied_for};
use crate::sql::domain_definitions::parts;
use crate::sql::domain_syntax::{DomainAlteration, DomainStatement, DomainText};
use crate::sql::extension_functions::extensions_called;
use crate::sql::lookup::NameLookup;
use crate::sql::parse;
use crate::sql::sequences;
use crate::sql::settings::Facts;
use crate::sql::type_syntax::{DroppedTypes, TypeAlteration};
use crate::sql::types::{WrittenType, named_type_in, types_named};
use crate::sql::user_types::{is_of, names_type, no_type, renamed, written};
use messages::namespace;
use messages::privilege::{Privileges, Rights};
use messages::program::{Action, Expression};
use messages::schema::{
    CatalogEntry, CheckSchema, Column, DomainCondition, DomainRules, DomainSchema, TableSchema, TypeSchema,
    TypeSchemaKind, domain_scope,
};
use privileges::Kind;
use sqlparser::ast;
use std::collections::BTreeSet;
use std::sync::Arc;
use values::{Type, Value};

/// What a domain says with what the one says that it is over.
fn rules(known: &TypeSchema, domain: &DomainSchema, over: Option<&DomainRules>) -> DomainRules {
    let own = domain.checks.iter().map(|check| DomainCondition {
        name: check.name.clone(),
        text: check.text.clone(),
        condition: check.condition.clone(),
    });
    DomainRules {
        oid: known.oid,
        name: known.written.clone(),
        not_null: domain.not_null || over.is_some_and(|over| over.not_null),
        conditions: over.into_iter().flat_map(|over| over.conditions.iter().cloned()).chain(own).collect(),
        default: domain.rules.default.clone(),
    }
}

fn no_constraint(name: &str, domain: &str) -> Box<SqlError> {
    let message = format!("constraint \"{name}\" of domain \"{domain}\" does not exist");
    SqlError::new(sqlstate::UNDEFINED_OBJECT, message)
}

impl Planner<'_> {
    pub(super) fn domain(&mut self, statement: &DomainStatement, facts: &Facts) -> Result<()> {
        match statement {
            DomainStatement::Create(name, text) => self.create_domain(name, text, facts),
            DomainStatement::Alter(name, change) => self.alter_domain(name, change, facts),
            DomainStatement::Drop(dropped) => self.drop_domains(dropped),
        }
    }

    /// A definition with the catalog's names, on whose rows the plan relies.
    fn definition(&mut self, text: &DomainText, facts: &Facts) -> Result<ast::ColumnDef> {
        let catalog = self.catalog.clone();
        let lookup = NameLookup::new(&catalog, facts);
        let definition = text.read(&lookup)?;
        self.relied.extend(lookup.relied().into_iter().map(|(key, _)| key));
        Ok(definition)
    }

    fn create_domain(&mut self, name: &str, text: &DomainText, facts: &Facts) -> Result<()> {
        if self.catalog.is_temporary(name) || namespace::of(name) == namespace::UNMADE_TEMPORARY {
            return Err(SqlError::unsupported("a temporary domain"));
        }
        self.check_create(name)?;
        self.check_type_free(name)?;
        self.relied.insert(CatalogEntry::key(name));
        let definition = self.definition(text, facts)?;
        let (base, over) = match named_type_in(&definition.data_type, &self.catalog)? {
            WrittenType::Plain(base) => (base, None),
            WrittenType::Domain(known) => (known.data_type()?, Some(known)),
        };
        match &over {
            None => self.use_type(base)?,
            Some(known) => {
                self.check_chain(known)?;
                self.use_domain(known)?;
            }
        }
        let parts = parts(&definition, base)?;
        let over_rules = over.as_ref().and_then(|known| known.domain()).map(|domain| domain.rules.clone());
        let inherited = over_rules.as_ref().and_then(|over| over.default.clone());
        let default = match parts.default {
            None => inherited,
            Some(default) => self.domain_default(name, base, default)?,
        };
        let oid = self.next_type_number();
        let empty = DomainRules { oid, name: String::new(), not_null: false, conditions: Vec::new(), default };
        let mut domain = DomainSchema {
            base,
            over: over.as_ref().map(|known| known.oid),
            not_null: parts.not_null == Some(true),
            checks: Vec::new(),
            rules: Arc::new(empty),
        };
        for check in parts.checks {
            self.add_domain_check(name, &mut domain, check, true)?;
        }
        let rights = Rights::of(self.standing.role.oid);
        let kind = TypeSchemaKind::Domain(Box::new(domain));
        let known = TypeSchema { name: name.to_owned(), written: written(name), oid, kind, rights };
        self.put_domain(&known, known.clone())
    }

    /// Errors: 54001 for a domain over so many others that none may be over it.
    fn check_chain(&self, known: &Arc<TypeSchema>) -> Result<()> {
        let over = |known: &Arc<TypeSchema>| self.catalog.type_numbered(known.domain()?.over?).cloned();
        if std::iter::successors(Some(known.clone()), over).count() < DOMAINS_WITHIN_MAX {
            return Ok(());
        }
        let message = format!("domains are over each other at most {DOMAINS_WITHIN_MAX} deep");
        Err(SqlError::new(sqlstate::STATEMENT_TOO_COMPLEX, message))
    }

    /// The text of a domain's default; `None` for NULL. Errors: 42804, and those of expressions.
    fn domain_default(&mut self, name: &str, base: Type, default: &ast::Expr) -> Result<Option<String>> {
        self.rely_on_types(default);
        self.check_names_no_domain(default)?;
        let text = sequences::drawing(default.clone(), None).to_string();
        if sequences::draws(default) {
            return Err(SqlError::unsupported("a default of a domain that draws from a sequence"));
        }
        let column = Column::new(namespace::bare(name), base, false);
        Ok(match check_default(default, &column, &self.catalog)? {
            Some(Value::Null) => None,
            _ => Some(text),
        })
    }

    /// Errors: 0A000 for an expression of a domain that names one, which might be the same, or that calls a function of an extension, which might go.
    fn check_names_no_domain(&self, expression: &ast::Expr) -> Result<()> {
        if !extensions_called(expression).is_empty() {
            return Err(SqlError::unsupported("an expression of a domain that calls a function of an extension"));
        }
        let is_domain = |name: &String| self.catalog.types.get(name).is_some_and(|(known, _)| known.domain().is_some());
        match types_named(expression).iter().any(is_domain) {
            true => Err(SqlError::unsupported("an expression of a domain that casts to a domain")),
            false => Ok(()),
        }
    }

    /// A condition of a domain. Errors: 42710 for a name that another one has, and those of conditions.
    fn add_domain_check(
        &mut self,
        name: &str,
        domain: &mut DomainSchema,
        check: CheckDefinition,
        is_valid: bool,
    ) -> Result<()> {
        self.rely_on_types(&check.condition);
        let condition = compile(&check.condition, &domain_scope(domain.base), &self.catalog)?;
        self.check_names_no_domain(&check.condition)?;
        let own = match check.name {
            Some(own) if domain.checks.iter().any(|other| other.name == own) => {
                let message = format!("constraint \"{own}\" for domain \"{}\" already exists", namespace::bare(name));
                return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
            }
            Some(own) => own,
            None => {
                let beside = namespace::of(name);
                let tables = self.catalog.tables.values().map(|known| &known.table);
                let of_tables =
                    tables.filter(|table| namespace::of(&table.name) == beside).flat_map(|table| &table.checks);
                let names: Vec<&str> = of_tables
                    .chain(&domain.checks)
                    .map(|check| check.name.as_str())
                    .chain(self.domain_check_names(beside))
                    .collect();
                self.free_name_beside(name, &[], "check", &names)
            }
        };
        let (oid, text) = (self.next_number(), check.condition.to_string());
        domain.checks.push(CheckSchema { name: own, oid, text, condition, columns: Vec::new(), is_valid });
        // They are checked in the order of their names.
        domain.checks.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(())
    }

    /// Names of the conditions of all domains of a schema.
    pub(super) fn domain_check_names(&self, schema: u32) -> impl Iterator<Item = &str> {
        let domains = self.catalog.types.values().filter(move |(known, _)| namespace::of(&known.name) == schema);
        domains
            .filter_map(|(known, _)| known.domain())
            .flat_map(|domain| &domain.checks)
            .map(|check| check.name.as_str())
    }

    /// A domain. `named`: it is looked up as an object, for which errors have other words. Errors: 42704; 42809 for a type that is none.
    pub(super) fn domain_named(&self, name: &str, named: bool) -> Result<Arc<TypeSchema>> {
        let no_domain = |shown: &str| {
            let shown = if named { format!("\"{shown}\"") } else { shown.to_owned() };
            SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is not a domain"))
        };
        if let Some((known, _)) = self.catalog.types.get(name) {
            return match known.domain() {
                Some(_) => Ok(known.clone()),
                None => Err(no_domain(&known.written)),
            };
        }
        if let Some(known) = self.catalog.tables.get(name).filter(|known| known.table.sequence.is_none()) {
            return Err(no_domain(&written(&known.table.name)));
        }
        let bare = namespace::bare(name).trim_start_matches("pg_catalog.");
        match bare.parse::<Type>() {
            Ok(built_in) if named => Err(no_domain(&format!("pg_catalog.{}", built_in.catalog_name()))),
            Ok(built_in) if built_in.catalog_name() == bare => Err(no_domain(built_in.base_name())),
            _ => Err(no_type(name)),
        }
    }

    fn alter_domain(&mut self, name: &str, change: &DomainAlteration, facts: &Facts) -> Result<()> {
        let known = self.domain_named(name, false)?;
        self.check_owns(&known.rights, "type", &known.written, OwnerReach::Object)?;
        let of_type = match change {
            DomainAlteration::Rename(to) => Some(TypeAlteration::Rename(to.clone())),
            DomainAlteration::Move(to) => Some(TypeAlteration::Move(to.clone())),
            DomainAlteration::Give(owner) => Some(TypeAlteration::Give(owner.clone())),
            _ => None,
        };
        if let Some(change) = of_type {
            return self.alter_type(name, &change, facts);
        }
        let Some(mut domain) = known.domain().cloned() else { return Ok(()) };
        let mut checked = None;
        match change {
            DomainAlteration::SetDefault(text) => {
                let definition = self.definition(text, facts)?;
                let parts = parts(&definition, domain.base)?;
                let Some(default) = parts.default.filter(|_| definition.options.len() == 1) else {
                    return Err(not_alone());
                };
                let default = self.domain_default(name, domain.base, default)?;
                domain.rules = Arc::new(DomainRules { default, ..DomainRules::clone(&domain.rules) });
            }
            DomainAlteration::DropDefault => {
                domain.rules = Arc::new(DomainRules { default: None, ..DomainRules::clone(&domain.rules) });
            }
            DomainAlteration::NotNull(not_null) if domain.not_null == *not_null => return Ok(()),
            DomainAlteration::NotNull(not_null) => {
                domain.not_null = *not_null;
                checked = not_null.then_some(None);
            }
            DomainAlteration::Add(text, is_valid) => {
                let definition = self.definition(text, facts)?;
                let mut checks = parts(&definition, domain.base)?.checks;
                let Some(check) = checks.pop().filter(|_| checks.is_empty() && definition.options.len() == 1) else {
                    return Err(not_alone());
                };
                let before: BTreeSet<u32> = domain.checks.iter().map(|check| check.oid).collect();
                self.add_domain_check(name, &mut domain, check, *is_valid)?;
                let new = domain.checks.iter().find(|check| !before.contains(&check.oid));
                checked = new.filter(|_| *is_valid).map(|check| Some(check.condition.clone()));
            }
            other => match self.alter_domain_check(&known, &mut domain, other)? {
                None => return Ok(()),
                Some(condition) => checked = condition.map(Some),
            },
        }
        let new = TypeSchema { kind: TypeSchemaKind::Domain(Box::new(domain)), ..TypeSchema::clone(&known) };
        self.put_domain(&known, new)?;
        if let Some(condition) = checked {
            self.check_values_of(known.oid, condition.as_ref());
        }
        Ok(())
    }

    /// Changes a condition that there is; what all values have to satisfy now. `None`: nothing is changed. Errors: 42704, 42710.
    fn alter_domain_check(
        &mut self,
        known: &TypeSchema,
        domain: &mut DomainSchema,
        change: &DomainAlteration,
    ) -> Result<Option<Option<Expression>>> {
        let bare = namespace::bare(&known.name);
        match change {
            DomainAlteration::DropConstraint { name: own, if_exists } => {
                let before = domain.checks.len();
                domain.checks.retain(|check| check.name != *own);
                if domain.checks.len() < before {
                    return Ok(Some(None));
                }
                let missing = no_constraint(own, bare);
                if !if_exists {
                    return Err(missing);
                }
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{}, skipping", missing.message));
                Ok(None)
            }
            DomainAlteration::RenameConstraint(old, new) => {
                let is_taken = domain.checks.iter().any(|check| check.name == *new);
                let Some(check) = domain.checks.iter_mut().find(|check| check.name == *old) else {
                    let message = format!("constraint \"{old}\" for domain {} does not exist", known.written);
                    return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
                };
                if is_taken {
                    let message = format!("constraint \"{new}\" for domain {} already exists", known.written);
                    return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
                }
                check.name = new.clone();
                domain.checks.sort_by(|left, right| left.name.cmp(&right.name));
                Ok(Some(None))
            }
            DomainAlteration::Validate(own) => {
                let Some(check) = domain.checks.iter_mut().find(|check| check.name == *own) else {
                    return Err(no_constraint(own, bare));
                };
                let was_valid = std::mem::replace(&mut check.is_valid, true);
                Ok((!was_valid).then(|| Some(check.condition.clone())))
            }
            _ => Ok(None),
        }
    }

    /// Has all values looked at that a domain, or one over it, has.
    fn check_values_of(&mut self, oid: u32, condition: Option<&Expression>) {
        let mut all = BTreeSet::from([oid]);
        loop {
            let domains = self.catalog.types.values().filter(|(known, _)| {
                known.domain().and_then(|domain| domain.over).is_some_and(|over| all.contains(&over))
            });
            let more: Vec<u32> = domains.map(|(known, _)| known.oid).filter(|oid| !all.contains(oid)).collect();
            if more.is_empty() {
                break;
            }
            all.extend(more);
        }
        for table in self.catalog.tables.values().map(|known| &known.table).filter(|table| table.is_plain()) {
            let is_one = |column: &Column| {
                !column.dropped && column.domain.as_ref().is_some_and(|rules| all.contains(&rules.oid))
            };
            let columns: Vec<usize> = (0..table.columns.len()).filter(|place| is_one(&table.columns[*place])).collect();
            if !columns.is_empty() {
                self.rebuilds.push(Action::CheckDomain {
                    table: table.clone(),
                    columns,
                    condition: condition.cloned(),
                });
            }
        }
    }

    /// Puts a changed domain in the place of what it was, wherever it is: in columns, in domains over it, and in expressions that name it.
    pub(super) fn put_domain(&mut self, old: &TypeSchema, mut new: TypeSchema) -> Result<()> {
        let TypeSchemaKind::Domain(domain) = &new.kind else { return Ok(()) };
        let over = domain.over.and_then(|over| self.catalog.type_numbered(over)).cloned();
        let over = over.as_ref().and_then(|known| known.domain()).map(|domain| domain.rules.clone());
        let mut domain = DomainSchema::clone(domain);
        for check in &mut domain.checks {
            check.condition = compile(&parse::expression(&check.text)?, &domain_scope(domain.base), &self.catalog)?;
        }
        let rules = Arc::new(rules(&new, &domain, over.as_deref()));
        check_bytes(&rules)?;
        domain.rules = rules.clone();
        new.kind = TypeSchemaKind::Domain(Box::new(domain));
        self.write_type(new.clone());
        let all: Vec<Arc<TableSchema>> = self.catalog.tables.values().map(|known| known.table.clone()).collect();
        for from in all {
            self.put_domain_in(&from, old, &new.name, &rules)?;
        }
        let others: Vec<Arc<TypeSchema>> = self.catalog.types.values().map(|(known, _)| known.clone()).collect();
        for other in others {
            if other.domain().is_some_and(|domain| domain.over == Some(new.oid)) {
                self.put_domain(&other, TypeSchema::clone(&other))?;
            }
        }
        Ok(())
    }

    /// The same in one table.
    fn put_domain_in(
        &mut self,
        from: &TableSchema,
        old: &TypeSchema,
        name: &str,
        rules: &Arc<DomainRules>,
    ) -> Result<()> {
        let mut to = from.clone();
        let is_named = self.rename_in_texts(&mut to, &old.name, name)?;
        let mut has_domain = false;
        for column in to.columns.iter_mut().filter(|column| has_domain_numbered(column, rules.oid)) {
            column.domain = Some(rules.clone());
            has_domain = true;
        }
        if !is_named && !has_domain {
            return Ok(());
        }
        if is_named {
            self.compile_checks(&mut to)?;
        }
        self.compile_set_defaults(&mut to)?;
        self.write_table(to);
        Ok(())
    }

    /// What ON DELETE SET DEFAULT and its like set, as the columns have it now.
    pub(super) fn compile_set_defaults(&self, table: &mut TableSchema) -> Result<()> {
        for place in 0..table.foreign_keys.len() {
            for position in 0..table.foreign_keys[place].columns.len() {
                let column = table.foreign_keys[place].columns[position];
                table.foreign_keys[place].defaults[position] = default_expression(table, column, &self.catalog)?;
            }
        }
        Ok(())
    }

    /// Domains over an enum that has changed, or that name it, have it as it is now.
    pub(super) fn retype_domains(
        &mut self,
        old: &TypeSchema,
        new: &TypeSchema,
        changed: impl Fn(Type) -> Type,
    ) -> Result<()> {
        let all: Vec<Arc<TypeSchema>> = self.catalog.types.values().map(|(known, _)| known.clone()).collect();
        for known in all {
            let Some(domain) = known.domain() else { continue };
            let mut domain = DomainSchema { base: changed(domain.base), ..domain.clone() };
            let is_named = rename_in_domain(&mut domain, &old.name, &new.name)?;
            if is_named || is_of(domain.base, old.oid) {
                let kind = TypeSchemaKind::Domain(Box::new(domain));
                self.put_domain(&known, TypeSchema { kind, ..TypeSchema::clone(&known) })?;
            }
        }
        Ok(())
    }

    /// A domain that its user may use. Errors: 42501.
    pub(super) fn use_domain(&mut self, known: &TypeSchema) -> Result<()> {
        if !self.standing.on(Kind::Type, &known.rights).contain(Privileges::USAGE) {
            return Err(denied_for("type", &known.written));
        }
        self.touch_domain(&known.name);
        Ok(())
    }

    /// Something that stays is about to name a domain: its row is written as it is, so that a change of the domain that is under way does not pass this by.
    pub(super) fn touch_domain(&mut self, name: &str) {
        self.relied.insert(CatalogEntry::type_key(name));
        if let Some((known, _)) = self.catalog.types.get(name)
            && known.domain().is_some()
        {
            self.write_type(TypeSchema::clone(known));
        }
    }

    /// A column may have the type that it has. Errors: 42501.
    pub(super) fn use_type_of(&mut self, column: &Column) -> Result<()> {
        let domain = column.domain.as_ref().and_then(|rules| self.catalog.type_numbered(rules.oid)).cloned();
        match domain {
            Some(known) => self.use_domain(&known),
            None => self.use_type(column.column_type),
        }
    }

    fn drop_domains(&mut self, dropped: &DroppedTypes) -> Result<()> {
        for name in &dropped.names {
            let known = match self.domain_named(name, true) {
                Err(error) if dropped.if_exists && error.sqlstate == sqlstate::UNDEFINED_OBJECT => {
                    self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("type \"{name}\" does not exist, skipping"));
                    continue;
                }
                known => known?,
            };
            self.check_owns(&known.rights, "type", &known.written, OwnerReach::Schema)?;
            self.drop_type(&known, dropped.cascade)?;
        }
        Ok(())
    }
}

/// 42601
fn not_alone() -> Box<SqlError> {
    SqlError::new(sqlstate::SYNTAX_ERROR, "syntax error: ALTER DOMAIN changes one thing at a time")
}

/// Errors: 54000 for texts that are too long for each column of the domain to carry.
fn check_bytes(rules: &DomainRules) -> Result<()> {
    let texts = rules.conditions.iter().map(|condition| condition.text.len());
    let bytes = texts.sum::<usize>() + rules.default.as_ref().map_or(0, String::len);
    if bytes <= DOMAIN_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the conditions of a domain take at most {} KiB", DOMAIN_BYTES_MAX >> 10);
    Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message))
}

/// Whether a column has the domain of this number.
pub(super) fn has_domain_numbered(column: &Column, oid: u32) -> bool {
    column.domain.as_ref().is_some_and(|rules| rules.oid == oid)
}

/// Whether a domain's own texts name a type, which gets another name there.
fn rename_in_domain(domain: &mut DomainSchema, old: &str, new: &str) -> Result<bool> {
    let mut is_named = false;
    for check in &mut domain.checks {
        if names_type(&parse::expression(&check.text)?, old) {
            check.text = renamed(&check.text, old, new)?;
            is_named = true;
        }
    }
    if let Some(default) = domain.rules.default.clone()
        && names_type(&parse::expression(&default)?, old)
    {
        let default = Some(renamed(&default, old, new)?);
        domain.rules = Arc::new(DomainRules { default, ..DomainRules::clone(&domain.rules) });
        is_named = true;
    }
    Ok(is_named)
}

/// Whether a domain's own texts name a type.
pub(super) fn domain_names(domain: &DomainSchema, name: &str) -> bool {
    rename_in_domain(&mut domain.clone(), name, name).unwrap_or(true)
}
