//! The extended protocol: Parse, Bind, Describe, Execute, Close, Sync.
//!
//! Invariant: what is executed between two Syncs is one transaction. An Execute that stands alone, with Sync right behind it, is a
//! transaction of its own, which the action driver begins and commits by itself.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{PORTALS_MAX, STATEMENTS_MAX};
use crate::protocol::backend;
use crate::protocol::format::{Formats, parse_parameter};
use crate::protocol::frontend::{Bind, Follows, Frontend, Target};
use crate::session::state::{Again, Block, Confirmed, Cycle, Execution, Portal, TextLanguage, Work};
use crate::session::turn::Turn;
use crate::sql::prepared::{Plan, Prepared};
use messages::query::QueryRequest;
use messages::schema::Catalog;
use std::sync::Arc;
use values::{Type, Value};

impl Turn<'_> {
    /// A message of the extended protocol.
    pub fn extended(&mut self, message: Frontend, follows: Follows) {
        if let Frontend::Sync = message {
            self.session.skip_to_sync = false;
            self.end_cycle(None);
            return;
        }
        if self.session.skip_to_sync {
            return;
        }
        if let Cycle::Idle = self.session.cycle {
            self.session.deadline = None;
            self.session.outlined = None;
        }
        self.session.cycle = Cycle::Extended;
        let done = match message {
            Frontend::Parse { name, sql, types } => {
                self.session.doubts = 0;
                let told = matches!(follows, Follows::Describe | Follows::Nothing);
                self.parse(name, sql, &types, told)
            }
            Frontend::Bind(bind) => self.bind(&bind),
            Frontend::Describe(Target::Statement(name)) => self.describe_statement(name),
            Frontend::Describe(Target::Portal(name)) => self.describe_portal(name, follows),
            Frontend::Execute { portal, rows_max } => self.execute(portal, rows_max, follows == Follows::Sync),
            Frontend::Close(target) => {
                self.close_target(target);
                Ok(())
            }
            Frontend::Flush => {
                self.session.is_due = true;
                Ok(())
            }
            // What else comes here was left over by a COPY that failed.
            _ => Ok(()),
        };
        if let Err(error) = done {
            self.fail(&error);
        }
    }

    /// A Parse message. `told`: the client is about to be told what columns there are, so they must be those that the catalog has everywhere.
    pub fn parse(&mut self, name: &str, text: &str, types: &[u32], told: bool) -> Result<()> {
        self.parse_in(name, text, TextLanguage::Session, types, told)
    }

    /// The same of a text in this language.
    pub fn parse_in(&mut self, name: &str, sql: &str, language: TextLanguage, types: &[u32], told: bool) -> Result<()> {
        let declared = self.declared_types(types)?;
        if !name.is_empty() && self.session.statements.contains_key(name) {
            return Err(SqlError::new(
                sqlstate::DUPLICATE_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        if self.session.statements.len() >= STATEMENTS_MAX {
            return Err(SqlError::new(
                sqlstate::PROGRAM_LIMIT_EXCEEDED,
                format!("a session has at most {STATEMENTS_MAX} prepared statements"),
            ));
        }
        let prepared = match self.prepare(sql, language, declared) {
            Ok(prepared) => prepared,
            Err(error) => {
                let parsed = self.read_one(sql, language).ok().flatten();
                let mut mentioned = parsed.map_or_else(Vec::new, |parsed| self.mentioned(&parsed.statement));
                mentioned.extend(self.own_rights());
                let relied = self.relied(mentioned);
                let (name, types) = (name.to_string(), types.to_vec());
                let again = Again::Parse { name, sql: sql.into(), language, types, told };
                self.doubt(Confirmed::Error(error), relied, again);
                return Ok(());
            }
        };
        if self.session.block == Block::Failed && !prepared.as_deref().is_none_or(ends_block) {
            return Err(crate::session::control::failed_block());
        }
        match prepared {
            Some(prepared) if prepared.undescribed => {
                self.describe(&prepared);
                self.session.work = Work::Parsing(name.to_string(), Box::new(Prepared::clone(&prepared)), told);
            }
            prepared => self.compiled(name.to_string(), prepared, told),
        }
        Ok(())
    }

    /// Asks the query processor what a statement is.
    pub fn describe(&mut self, prepared: &Prepared) {
        let sql = match &prepared.plan {
            Plan::Query(sql) | Plan::Feed(sql, ..) => sql.clone(),
            Plan::Queried(_, query) => query.clone(),
            Plan::Function(new) => new.trial(),
            Plan::Schema(..) => prepared.trial.clone().unwrap_or_default(),
            Plan::Parts(parts) if parts.asks.is_some() => {
                parts.asks.as_ref().map_or_else(|| Arc::from(""), |asks| asks.sql.clone())
            }
            Plan::SetValue(set) if set.source.is_some() => set.source.clone().unwrap_or_default(),
            _ => unreachable!("only what has a query is left undescribed"),
        };
        let parameters = match &prepared.plan {
            Plan::Parts(parts) => parts.asks.as_ref().map_or_else(Vec::new, |asks| asks.parameters.clone()),
            _ => prepared.declared.clone(),
        };
        let catalog = match &prepared.plan {
            Plan::Function(new) => new.within(&self.catalog()),
            _ => self.catalog(),
        };
        let session = self.session_facts(&sql, &prepared.zone);
        self.query(QueryRequest::Describe { sql, parameters, catalog, session });
    }

    /// A statement is compiled: its columns are told once the catalog is known to be what it was compiled with.
    pub fn compiled(&mut self, name: String, prepared: Option<Arc<Prepared>>, told: bool) {
        match prepared {
            Some(prepared) if told && !(prepared.columns.is_empty() && prepared.parameters.is_empty()) => {
                let (sql, types) = ((*prepared.text).into(), crate::session::queries::oids(&prepared));
                let language = TextLanguage::of(&prepared);
                let again = Again::Parse { name: name.clone(), sql, language, types, told };
                let relied = prepared.mentions.clone();
                self.doubt(Confirmed::Parsed(name, prepared), relied, again);
            }
            prepared => self.parsed(name, prepared),
        }
    }

    /// Names a statement and says so.
    pub fn parsed(&mut self, name: String, prepared: Option<Arc<Prepared>>) {
        self.session.statements.insert(name, prepared);
        backend::parse_complete(&mut self.session.output);
    }

    fn statement(&self, name: &str) -> Result<Option<Arc<Prepared>>> {
        self.session.statements.get(name).cloned().ok_or_else(|| {
            SqlError::new(
                sqlstate::UNDEFINED_STATEMENT,
                if name.is_empty() {
                    "unnamed prepared statement does not exist".to_string()
                } else {
                    format!("prepared statement \"{name}\" does not exist")
                },
            )
        })
    }

    fn bind(&mut self, bind: &Bind) -> Result<()> {
        let prepared = self.statement(bind.statement)?;
        if self.session.block == Block::Failed && !prepared.as_deref().is_none_or(ends_block) {
            return Err(crate::session::control::failed_block());
        }
        let session = &self.session;
        let is_taken = session.portals.contains_key(bind.portal) || session.cursors.contains_key(bind.portal);
        if !bind.portal.is_empty() && is_taken {
            return Err(SqlError::new(
                sqlstate::DUPLICATE_PORTAL,
                format!("cursor \"{}\" already exists", bind.portal),
            ));
        }
        if self.session.portals.len() >= PORTALS_MAX {
            return Err(SqlError::new(
                sqlstate::PROGRAM_LIMIT_EXCEEDED,
                format!("a session has at most {PORTALS_MAX} portals"),
            ));
        }
        let types: &[Type] = prepared.as_ref().map_or(&[], |prepared| &prepared.parameters);
        if bind.parameter_count != types.len() {
            return Err(SqlError::new(
                sqlstate::PROTOCOL_VIOLATION,
                format!(
                    "bind message supplies {} parameters, but prepared statement \"{}\" requires {}",
                    bind.parameter_count,
                    bind.statement,
                    types.len()
                ),
            ));
        }
        let mut parameters: Vec<Value> = Vec::with_capacity(types.len());
        for (index, (bytes, data_type)) in bind.parameters().zip(types).enumerate() {
            let (zone, is_binary) = (self.session.settings.now.zone(), bind.parameter_formats.is_binary(index)?);
            parameters.push(parse_parameter(bytes, *data_type, is_binary, zone)?);
        }
        let columns = prepared.as_ref().map_or(0, |prepared| prepared.columns.len());
        let portal = Portal {
            formats: Formats::of(&bind.result_formats, columns)?,
            prepared,
            parameters,
            announces: false,
            suspended: None,
            done: false,
        };
        self.forget_portal(bind.portal);
        self.session.portals.insert(bind.portal.to_string(), portal);
        backend::bind_complete(&mut self.session.output);
        Ok(())
    }

    fn describe_statement(&mut self, name: &str) -> Result<()> {
        let prepared = self.statement(name)?;
        let parameters: &[Type] = prepared.as_ref().map_or(&[], |prepared| &prepared.parameters);
        backend::parameter_description(&mut self.session.output, parameters);
        self.describe_columns(prepared.as_deref(), &Formats::Text);
        Ok(())
    }

    /// The columns of a portal that is executed next are told by that, which finds out whether they still are what they were.
    fn describe_portal(&mut self, name: &str, follows: Follows) -> Result<()> {
        if let Some(cursor) = self.session.cursors.get(name) {
            // To the protocol a cursor of SQL is a portal: drivers ask for its columns so.
            backend::row_description(&mut self.session.output, &cursor.columns, &Formats::Text);
            return Ok(());
        }
        let portal = self.session.portals.get_mut(name).ok_or_else(|| no_portal(name))?;
        let has_columns = portal.prepared.as_ref().is_some_and(|prepared| !prepared.columns.is_empty());
        if has_columns && !portal.done && portal.suspended.is_none() && follows == Follows::Execute(name) {
            portal.announces = true;
            return Ok(());
        }
        let (prepared, formats) = (portal.prepared.clone(), portal.formats.clone());
        self.describe_columns(prepared.as_deref(), &formats);
        Ok(())
    }

    fn describe_columns(&mut self, prepared: Option<&Prepared>, formats: &Formats) {
        match prepared {
            Some(prepared) if !prepared.columns.is_empty() => {
                backend::row_description(&mut self.session.output, &prepared.columns, formats);
            }
            _ => backend::no_data(&mut self.session.output),
        }
    }

    fn execute(&mut self, name: &str, rows_max: usize, sync_follows: bool) -> Result<()> {
        let portal = self.session.portals.get_mut(name).ok_or_else(|| no_portal(name))?;
        if let Some(mut execution) = portal.suspended.take() {
            self.check_lost(None)?;
            execution.rows_max = rows_max;
            self.statement_begins(&execution.prepared);
            self.resume_portal(execution);
            return Ok(());
        }
        if portal.done {
            return Err(SqlError::new(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("portal \"{name}\" cannot be run"),
            ));
        }
        portal.done = true;
        let announces = std::mem::take(&mut portal.announces);
        let Some(prepared) = portal.prepared.clone() else {
            backend::empty_query(&mut self.session.output);
            return Ok(());
        };
        let mut execution = Execution::new(prepared);
        // A portal is run once.
        execution.parameters = std::mem::take(&mut portal.parameters);
        execution.formats = portal.formats.clone();
        execution.portal = Some(name.to_string());
        execution.rows_max = rows_max;
        execution.announced = !announces;
        self.forget_places();
        self.check_plan(&execution.prepared)?;
        if matches!(execution.prepared.plan, Plan::Execute(..)) {
            return Err(SqlError::unsupported("EXECUTE in the extended protocol"));
        }
        if self.session.block == Block::None && !sync_follows {
            self.begin_implicit();
        }
        self.start(execution)
    }

    /// The types that a client declares for its parameters. Errors: 0A000.
    fn declared_types(&mut self, types: &[u32]) -> Result<Vec<Option<Type>>> {
        types.iter().map(|oid| declared_type(*oid, || self.catalog())).collect()
    }

    fn close_target(&mut self, target: Target) {
        match target {
            Target::Statement(name) => {
                self.session.statements.remove(name);
            }
            Target::Portal(name) => {
                self.session.cursors.remove(name);
                self.forget_portal(name);
            }
        }
        backend::close_complete(&mut self.session.output);
    }

    /// Forgets a portal and its query, if one is under way.
    pub fn forget_portal(&mut self, name: &str) {
        if self.session.query_portal.as_deref() == Some(name) {
            self.stop_query();
        }
        self.session.portals.remove(name);
    }

    /// Forgets all of them.
    pub fn forget_portals(&mut self) {
        self.stop_query();
        self.session.portals.clear();
    }

    /// The query processor forgets the query that a suspended portal holds; the portal cannot go on.
    pub fn stop_query(&mut self) {
        if let Some(name) = self.session.query_portal.take() {
            self.query(QueryRequest::Stop);
            if let Some(portal) = self.session.portals.get_mut(&name) {
                portal.suspended = None;
            }
        }
    }
}

/// Whether a statement may run in a failed block.
fn ends_block(prepared: &Prepared) -> bool {
    matches!(&prepared.plan, Plan::Utility(utility) if crate::session::control::ends_block(utility))
}

/// A parameter's type by its object identifier: 0 and `unknown` leave it to the server. Errors: 0A000 for one that does not exist here.
fn declared_type(oid: u32, catalog: impl FnOnce() -> Arc<Catalog>) -> Result<Option<Type>> {
    const UNKNOWN: u32 = 705;
    match oid {
        0 | UNKNOWN => Ok(None),
        _ => Type::from_oid(oid)
            .or_else(|| catalog().data_type(oid))
            .map(Some)
            .ok_or_else(|| SqlError::unsupported(format!("a parameter of the type with object identifier {oid}"))),
    }
}

fn no_portal(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_PORTAL, format!("portal \"{name}\" does not exist"))
}
