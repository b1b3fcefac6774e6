//! A compiled statement: how it is executed, what it shows, and what it relies on.
//!
//! Invariant: a [`Prepared`] stands as long as the catalog rows it names have the versions it names.

use crate::errors::{Result, SqlError, sqlstate};
use crate::locks::held::TableLock;
use crate::sql::advisory_calls::LockCall;
use crate::sql::cursor_syntax::DeclaredCursor;
use crate::sql::effects::{EffectColumn, SessionEffect};
use crate::sql::feed::Supplying;
use crate::sql::firing_statement::FiringStatement;
use crate::sql::like_syntax::LikeClause;
use crate::sql::lookup::NameLookup;
use crate::sql::new_function::NewFunction;
use crate::sql::parts::StatementParts;
use crate::sql::queried_table::QueriedTable;
use crate::sql::rights::{self, Needs, Verdict};
use crate::sql::role_syntax::RoleStatement;
use crate::sql::routine_call::RoutineCall;
use crate::sql::schema_syntax::SchemaStatement;
use crate::sql::sequence_calls::SetValue;
use crate::sql::sequences::SequenceStatement;
use crate::sql::session_calls::SleepingColumn;
use crate::sql::settings::Settings;
use crate::sql::statement_form::StatementForm;
use crate::sql::system::SystemStatement;
use crate::sql::type_syntax::TypeStatement;
use crate::sql::utility::Utility;
use crate::sql::views::Expanded;
use messages::database::DatabaseId;
use messages::program::{Program, ResultColumn};
use messages::role::BOOTSTRAP_OID;
use messages::schema::{Catalog, CatalogVersions};
use messages::{Key, Timestamp};
use privileges::Standing;
use privileges::path::SearchPath;
use sqlparser::ast;
use std::collections::BTreeSet;
use std::sync::Arc;
use values::{Type, Zone};

/// How a statement is executed.
#[derive(Clone, Debug)]
pub enum Plan {
    /// By the action driver.
    Program(Arc<Program>),
    /// By the query processor.
    Query(Arc<str>),
    /// By both.
    Feed(Arc<str>, Arc<Program>, Vec<Type>, Supplying),
    /// As a routine that the session runs.
    Routine(Arc<RoutineCall>),
    /// Row by row by the session, between what triggers do.
    Firing(Arc<FiringStatement>),
    /// As several parts.
    Parts(Arc<StatementParts>),
    /// As a schema change, planned when it is executed; with the LIKEs of CREATE TABLE.
    Schema(Box<ast::Statement>, Arc<[LikeClause]>),
    /// As a table that is made, planned when it is executed, and then filled by this query; or as a view.
    Queried(Arc<QueriedTable>, Arc<str>),
    /// As a function that is made, planned when it is executed.
    Function(Arc<NewFunction>),
    /// As a change of roles, planned when it is executed.
    Roles(Arc<RoleStatement>),
    /// As a change of a sequence, planned when it is executed.
    Sequence(Arc<SequenceStatement>),
    /// As a change of a type, planned when it is executed.
    Types(Arc<TypeStatement>),
    /// As a change of schemas, planned when it is executed.
    Namespaces(Arc<SchemaStatement>),
    /// As `setval`, planned when it is executed.
    SetValue(Arc<SetValue>),
    /// As a change of settings, planned when it is executed.
    System(Arc<SystemStatement>),
    /// By the session.
    Utility(Utility),
    /// As the prepared statement of this name, with these arguments.
    Execute(String, Vec<ast::Expr>),
}

/// The command tag, without counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// `SELECT n`.
    Select,
    /// `SELECT n` of rows that a table was filled with.
    Stored,
    /// `INSERT 0 n`.
    Insert,
    /// `UPDATE n`.
    Update,
    /// `DELETE n`.
    Delete,
    /// With a count behind it.
    Counted(&'static str),
    /// Without a count.
    Plain(&'static str),
}

impl Tag {
    /// What the statement is called.
    pub fn command(self) -> &'static str {
        match self {
            Tag::Select | Tag::Stored => "SELECT",
            Tag::Insert => "INSERT",
            Tag::Update => "UPDATE",
            Tag::Delete => "DELETE",
            Tag::Counted(word) | Tag::Plain(word) => word,
        }
    }

    /// As CommandComplete carries it.
    pub fn text(self, count: u64) -> String {
        match self {
            Tag::Select | Tag::Stored => format!("SELECT {count}"),
            Tag::Insert => format!("INSERT 0 {count}"),
            Tag::Update => format!("UPDATE {count}"),
            Tag::Delete => format!("DELETE {count}"),
            Tag::Counted(tag) => format!("{tag} {count}"),
            Tag::Plain(tag) => tag.to_string(),
        }
    }
}

/// A compiled statement.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Its text.
    pub text: Arc<str>,
    /// What is special about it.
    pub form: StatementForm,
    /// Types that the client gave its parameters.
    pub declared: Vec<Option<Type>>,
    /// Types of its parameters.
    pub parameters: Vec<Type>,
    /// Columns of its result; none: it returns no rows.
    pub columns: Vec<ResultColumn>,
    /// Columns of the rows that the query processor gives for it, once it is described: its own, or those that its program is supplied with.
    pub source: Vec<ResultColumn>,
    /// How it is executed.
    pub plan: Plan,
    /// Its command tag.
    pub tag: Tag,
    /// Whether it changes rows or schema.
    pub writes: bool,
    /// Whether it calls functions in PL/pgSQL, which may change anything.
    pub calls_routines: bool,
    /// Catalog rows of what it mentions, with the version of each when it was compiled.
    pub mentions: CatalogVersions,
    /// The catalog's generation when it was last found to stand.
    pub generation: u64,
    /// Whether every session may use it.
    pub shareable: bool,
    /// The columns of its program's row that say how long the session sleeps before it is told.
    pub sleeps: Arc<[SleepingColumn]>,
    /// The columns of its rows whose values are arguments of what is done to sessions.
    pub effects: Arc<[EffectColumn]>,
    /// The functions of advisory locks that it calls, with arguments from its program's row.
    pub locks: Arc<[LockCall]>,
    /// Locks of tables that are taken before its program runs.
    pub table_locks: Arc<[TableLock]>,
    /// The cursor that keeps its rows, and their columns; it has none itself then.
    pub cursor: Option<(Arc<DeclaredCursor>, Vec<ResultColumn>)>,
    /// The query processor has yet to say what its columns and parameters are.
    pub undescribed: bool,
    /// What it is called, if it runs outside of transaction blocks only.
    pub outside_blocks: Option<&'static str>,
    /// What it is called, if it runs within transaction blocks only.
    pub inside_blocks: Option<&'static str>,
    /// The role that it was compiled for.
    pub role: u32,
    /// The schemas where its names were looked for.
    pub path: SearchPath,
    /// The database that it was compiled in.
    pub database: DatabaseId,
    /// The time zone in which its constants were read.
    pub zone: Zone,
    /// Catalog rows that decided what its names mean, with their versions.
    pub resolved: CatalogVersions,
    /// Why that role may not execute it.
    pub denied: Option<Box<SqlError>>,
    /// Catalog rows that decide what the role may do, with their versions: they are among `mentions`, too.
    pub rights: CatalogVersions,
    /// The session's parameters when policies were looked at, if they hold something back: with others they may hold back something else.
    pub held_with: Option<Arc<Settings>>,
    /// A query in which a meaning is to be found before the statement is executed.
    pub trial: Option<Arc<str>>,
}

impl Prepared {
    /// The query of arguments that a statement with this text comes to, once calls have their effects as its rows come.
    pub fn with_effects(mut self, text: &Arc<str>, effects: &[EffectColumn]) -> Prepared {
        for column in effects {
            if let Some(result) = self.columns.get_mut(column.place) {
                (result.column_type, result.origin) = (column.effect.result(), (0, 0));
            }
        }
        (self.text, self.shareable, self.effects) = (text.clone(), false, effects.into());
        self
    }

    /// Has it rely on what decides which roles the session may become, if its calls may have it become one.
    pub fn becoming(mut self, catalog: &Catalog, session_role: u32) -> Prepared {
        let becomes = |column: &EffectColumn| column.effect == SessionEffect::Configure { becomes: true };
        if session_role == BOOTSTRAP_OID || !self.effects.iter().any(becomes) {
            return self;
        }
        self.rely_on(&Standing::of(catalog, session_role).relied(catalog));
        self
    }

    /// The program that is executed before anything else is changed.
    fn first_program(&mut self) -> Option<&mut Program> {
        match &mut self.plan {
            Plan::Program(program) | Plan::Feed(_, program, ..) => Some(Arc::make_mut(program)),
            Plan::Parts(parts) => Some(Arc::make_mut(&mut Arc::make_mut(parts).begin)),
            _ => None,
        }
    }

    /// The same for sessions of this database: its program finds the catalog rows that it relies on where that has them.
    pub fn placed(mut self, database: DatabaseId) -> Prepared {
        self.database = database;
        if let Some(program) = self.first_program().filter(|program| program.database != database) {
            *program = program.placed(database);
        }
        self
    }

    /// Whether what it mentions is as it was.
    pub fn stands(&self, catalog: &Catalog) -> bool {
        self.mentions.iter().all(|(key, version)| catalog.version_of(key) == *version)
    }

    /// Settles whether a role may execute it, and has its program rely on that. Errors: those of a schema that the role may not look into.
    pub fn protect(&mut self, catalog: &Catalog, role: u32, needs: impl FnOnce() -> Needs) -> Result<()> {
        let Verdict { denied, rights } = rights::decide(catalog, role, needs)?;
        self.role = role;
        self.denied = denied.or(self.denied.take());
        if rights.is_empty() {
            return Ok(());
        }
        self.rely_on(&rights);
        Ok(())
    }

    fn rely_on(&mut self, rights: &[(Key, Timestamp)]) {
        let with = |known: &CatalogVersions| -> CatalogVersions { known.iter().chain(rights).cloned().collect() };
        self.mentions = with(&self.mentions);
        if let Some(program) = self.first_program() {
            program.relies_on = with(&program.relies_on);
        }
        self.rights = with(&self.rights);
    }

    /// Has the rows of a query kept for a cursor. Errors: 0A000 for another statement.
    pub(super) fn declare(&mut self, cursor: &Arc<DeclaredCursor>, statement: &ast::Statement) -> Result<()> {
        if !matches!(statement, ast::Statement::Query(_)) {
            return Err(SqlError::syntax(cursor.query.split_whitespace().next().unwrap_or_default()));
        }
        if let Plan::Parts(_) = &self.plan {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if !matches!(&self.plan, Plan::Query(_) | Plan::Program(_)) {
            return Err(SqlError::unsupported("a cursor for this statement"));
        }
        self.cursor = Some((cursor.clone(), std::mem::take(&mut self.columns)));
        self.tag = Tag::Plain("DECLARE CURSOR");
        Ok(())
    }

    /// Has it rely on what its names mean.
    pub(super) fn name_by(&mut self, lookup: &NameLookup, own: &BTreeSet<Key>) {
        let resolved = lookup.relied();
        if resolved.is_empty() {
            return;
        }
        // What the transaction itself has written has no version that could change.
        let committed: Vec<_> = resolved.iter().filter(|(key, _)| !own.contains(key)).cloned().collect();
        self.mentions = self.mentions.iter().chain(&resolved).cloned().collect();
        if let Some(program) = self.first_program() {
            program.relies_on = program.relies_on.iter().chain(&committed).cloned().collect();
        }
        self.rights = self.rights.iter().chain(&committed).cloned().collect();
        self.resolved = committed.into();
    }

    /// Has it rely on the views that stood in its statement, and on what their owners may do.
    pub(super) fn show_views(&mut self, expanded: Expanded) {
        let Expanded { relied, committed, denied, .. } = expanded;
        let with = |known: &CatalogVersions| -> CatalogVersions { known.iter().chain(&committed).cloned().collect() };
        self.mentions = self.mentions.iter().chain(&relied).cloned().collect();
        if let Some(program) = self.first_program() {
            program.relies_on = with(&program.relies_on);
        }
        self.rights = self.rights.iter().cloned().chain(committed).collect();
        self.denied = denied;
    }

    /// Policies hold something back in it, which may be for this session alone.
    pub(super) fn hold(&mut self, settings: &Settings) {
        self.held_with = Some(Arc::new(settings.clone()));
        self.shareable = false;
    }

    /// A statement of these parts that mentions no table.
    pub fn simple(text: &Arc<str>, plan: Plan, tag: Tag) -> Prepared {
        Prepared {
            text: text.clone(),
            form: StatementForm::Plain,
            declared: Vec::new(),
            parameters: Vec::new(),
            columns: Vec::new(),
            source: Vec::new(),
            plan,
            tag,
            writes: false,
            calls_routines: false,
            mentions: Arc::default(),
            generation: 0,
            shareable: true,
            sleeps: Arc::default(),
            effects: Arc::default(),
            locks: Arc::default(),
            table_locks: Arc::default(),
            cursor: None,
            undescribed: false,
            outside_blocks: None,
            inside_blocks: None,
            role: 0,
            path: Arc::from([]),
            database: DatabaseId::FIRST,
            zone: Zone::UTC,
            resolved: Arc::default(),
            denied: None,
            rights: Arc::default(),
            held_with: None,
            trial: None,
        }
    }
}
