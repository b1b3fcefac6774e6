//! One input handled for one session: the parts of the user interface that it takes, and what all handlers share.
//!
//! Invariant: a statement is compiled with the catalog as the session sees it; what other sessions may use is kept in the cache.

use crate::config::Config;
use crate::counters::InterfaceCounters;
use crate::errors::{Result, SqlError};
use crate::events::SessionEvent;
use crate::limits::{CACHED_SQL_BYTES_MAX, CACHED_STATEMENTS_MAX};
use crate::locks::errands::{LeavingLocks, LockScene};
use crate::protocol::backend::{self, Severity};
use crate::session::catalog::{KnownPath, SharedCatalog};
use crate::session::doorkeeper::Doorkeeper;
use crate::session::state::{Session, TextLanguage};
use crate::sql::compile;
use crate::sql::effects::SentSignal;
use crate::sql::given::Context;
use crate::sql::outline::KnownOutlines;
use crate::sql::parse::{self, Parsed};
use crate::sql::parts::QueryDescription;
use crate::sql::prepared::{Plan, Prepared};
use crate::sql::session_settings::ToldSettings;
use crate::sql::settings::{Facts, OwnTemporary, SiteFacts};
use crate::sql::utility::Utility;
use messages::advisory::AdvisoryOwner;
use messages::program::ResultColumn;
use messages::query::{QueryRequest, SessionFacts};
use messages::schema::{Catalog, TemporaryOwner};
use messages::session::SessionRequest;
use messages::{Epoch, Incarnation, Message, Now, Outbox, ServerKind, SessionId};
use privileges::path::{PathOwner, SearchPath, search_path};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use values::{Type, Zone};

/// What all sessions share.
pub struct Shared {
    /// Who we are.
    pub config: Config,
    /// Who lets clients in.
    pub doorkeeper: Arc<Doorkeeper>,
    /// The committed catalog.
    pub catalog: SharedCatalog,
    /// Compiled statements by text.
    pub cache: FxHashMap<Arc<str>, Vec<Arc<Prepared>>>,
    /// Outlines of statements that came lately.
    pub outlines: KnownOutlines,
    /// Statements in `cache`.
    pub cached: usize,
    /// Bytes that the cursors of all sessions keep.
    pub cursor_bytes: Arc<AtomicUsize>,
    /// A buffer for encoding values.
    pub scratch: Vec<u8>,
    /// The life of the site that requests are for: the last one heard of.
    pub life: Incarnation,
    /// The epoch that the site serves in, as far as it has said so in this life.
    pub epoch: Option<Arc<Epoch>>,
    /// Advisory locks of sessions that have ended, which are being given back.
    pub leaving: BTreeMap<SessionId, LeavingLocks>,
    /// Whether long messages are taken; if not, they are left to another user interface.
    pub takes_long: bool,
    /// What is counted.
    pub counters: Arc<InterfaceCounters>,
    /// Signals for sessions, which may be another user interface's.
    pub signals: Vec<SentSignal>,
    /// What was noted since the caller asked last.
    pub events: Vec<SessionEvent>,
}

impl Shared {
    /// What the locks of a session see of the world.
    pub fn lock_scene<'a>(
        &'a self,
        session: SessionId,
        process: i32,
        now: Now,
        outbox: &'a mut Outbox,
    ) -> LockScene<'a> {
        let owner = AdvisoryOwner { site: self.config.site, incarnation: self.life, session };
        LockScene { now, outbox, owner, process, epoch: self.epoch.as_deref() }
    }
}

/// One input handled for one session.
pub struct Turn<'a> {
    /// What all sessions share.
    pub shared: &'a mut Shared,
    /// The session.
    pub session: &'a mut Session,
    /// The time.
    pub now: Now,
    /// Where messages go.
    pub outbox: &'a mut Outbox,
}

impl Turn<'_> {
    /// Asks the action driver.
    pub fn ask(&mut self, request: SessionRequest) {
        let counts = !matches!(
            request,
            SessionRequest::Cancel
                | SessionRequest::Close
                | SessionRequest::ForsakeTemporary { .. }
                | SessionRequest::Resume { .. }
                | SessionRequest::ForgetSequences
        );
        self.session.asked += u64::from(counts);
        let message = Message::SessionRequest(self.session.id, self.placed(request));
        self.outbox.local(ServerKind::ActionDriver, message);
    }

    /// A request that reads and writes the catalog rows of the session's database.
    fn placed(&self, request: SessionRequest) -> SessionRequest {
        let database = self.session.database_id;
        match request {
            SessionRequest::Execute { program, parameters, rows, time_micros, zone }
                if program.database != database =>
            {
                let program = Arc::new(program.placed(database));
                SessionRequest::Execute { program, parameters, rows, time_micros, zone }
            }
            other => other,
        }
    }

    /// Asks the query processor.
    pub fn query(&mut self, request: QueryRequest) {
        if let QueryRequest::Stop = request {
            self.session.stops += 1;
        }
        let message = Message::Query(self.session.id, self.session.routines.suspended(), request);
        self.outbox.local(ServerKind::Query, message);
    }

    /// Microseconds since 1970.
    pub fn micros(&self) -> i64 {
        i64::try_from(self.now.wall_micros).unwrap_or(i64::MAX)
    }

    /// Tells the client something that is no error.
    pub fn notice(&mut self, severity: Severity, notice: &SqlError) {
        backend::error(&mut self.session.output, severity, notice);
        self.session.is_due = true;
    }

    /// A warning.
    pub fn warn(&mut self, code: &'static str, message: &str) {
        self.notice(Severity::Warning, &SqlError::new(code, message));
    }

    /// What has committed of the catalog that the session sees.
    pub fn committed(&self) -> &Arc<Catalog> {
        self.shared.catalog.of(self.session.database_id)
    }

    /// The catalog as the session sees it.
    pub fn catalog(&mut self) -> Arc<Catalog> {
        self.session.overlay.over(&self.shared.catalog, self.session.database_id)
    }

    /// What of it the session's role may name.
    pub fn seen_catalog(&mut self) -> Arc<Catalog> {
        let (_, role) = self.session.current_user();
        crate::sql::rights::seen(&self.catalog(), role)
    }

    /// The schemas where the session looks for names without one.
    pub fn path(&self) -> SearchPath {
        self.known_path().0
    }

    /// Whose temporary objects are the session's.
    pub fn temporary_owner(&self) -> TemporaryOwner {
        TemporaryOwner { site: self.shared.config.site, life: self.session.life, session: self.session.id }
    }

    /// The path, and the number of the schema of the session's temporary objects.
    fn known_path(&self) -> (SearchPath, Option<u32>) {
        let (user, role) = self.session.current_user();
        let setting = self.session.settings.now.search_path();
        let within = |catalog: &Catalog| {
            let temporary = catalog.temporary_schema(self.temporary_owner()).map(|schema| schema.oid);
            (search_path(catalog, PathOwner { role, user, temporary }, setting), temporary)
        };
        if !self.session.overlay.is_empty() {
            return within(self.session.overlay.merged(&self.shared.catalog, self.session.database_id));
        }
        let (catalog, generation) = (self.committed(), &self.shared.catalog.generation);
        let is_it = |known: &&KnownPath| {
            known.generation == *generation && known.role == role && known.user == user && known.setting == setting
        };
        if let Some(known) = self.session.path.borrow().as_ref().filter(is_it) {
            return (known.path.clone(), known.temporary);
        }
        let (path, temporary) = within(catalog);
        let (user, setting) = (user.to_owned(), setting.to_owned());
        let known = KnownPath { generation: *generation, role, user, setting, path: path.clone(), temporary };
        *self.session.path.borrow_mut() = Some(known);
        (path, temporary)
    }

    /// Runs `with` with what is special about the session.
    pub fn with_facts<T>(&self, with: impl FnOnce(&Facts) -> T) -> T {
        let config = &self.shared.config;
        let (session_user, session_role) = self.session.session_user();
        let (user, role) = self.session.current_user();
        let (path, temporary) = self.known_path();
        let (access, level) = self.modes();
        with(&Facts {
            user,
            role,
            session_user,
            session_role,
            is_superuser: self.is_superuser(user, role),
            database: &self.session.database,
            database_id: self.session.database_id,
            version: &config.version,
            server_version: &config.server_version,
            process: self.session.process,
            path,
            temporary: OwnTemporary { owner: self.temporary_owner(), schema: temporary },
            access,
            level,
            settings: &self.session.settings.now,
            site: Some(SiteFacts { site: config.site, catalog: self.committed(), method: config.method }),
        })
    }

    /// The same for the query processor, with what this statement shows of other sessions, and the time zone in which its constants are read.
    pub fn session_facts(&self, sql: &str, constants_zone: &Zone) -> Arc<SessionFacts> {
        const VIEW: &[u8] = b"pg_stat_activity";
        // A byte in its middle is looked at first.
        let is_view = |part: &[u8]| part[2] == VIEW[2] && part.eq_ignore_ascii_case(VIEW);
        let shows_activity = sql.as_bytes().windows(VIEW.len()).any(is_view);
        let activity = if shows_activity { self.shared.config.activity.all() } else { Arc::default() };
        let facts = self.with_facts(|facts| SessionFacts {
            user: facts.user.to_owned(),
            role: facts.role,
            session_user: facts.session_user.to_owned(),
            database: facts.database.to_owned(),
            version: facts.version.to_owned(),
            zone: facts.settings.zone().clone(),
            constants_zone: constants_zone.clone(),
            time_micros: self.micros(),
            settings: ToldSettings::all(&self.session.told_settings, facts, self.shared.catalog.generation),
            temporary: facts.temporary.schema,
            process: facts.process,
            activity,
        });
        Arc::new(facts)
    }

    /// A text compiled, from the cache if it can be; `None`: it holds no statement.
    pub fn prepare(
        &mut self,
        text: &str,
        language: TextLanguage,
        declared: Vec<Option<Type>>,
    ) -> Result<Option<Arc<Prepared>>> {
        parse::check_length(text)?;
        let language = match language {
            TextLanguage::Session if self.session.settings.now.speaks_quel() => {
                return self.prepare_quel(text, declared);
            }
            TextLanguage::Session => {
                self.session.places = None;
                TextLanguage::PLAIN
            }
            of_sql => of_sql,
        };
        if let Some(found) = self.cached(text, language, &declared) {
            return Ok(Some(found));
        }
        match self.read_one(text, language)? {
            None => Ok(None),
            Some(parsed) => {
                let prepared = self.compile(&parsed, text, declared, None)?;
                Ok(Some(self.keep(text, prepared)))
            }
        }
    }

    /// A statement of SQL that another session, or this one before, has had compiled.
    pub fn cached(&self, text: &str, language: TextLanguage, declared: &[Option<Type>]) -> Option<Arc<Prepared>> {
        if !self.session.overlay.is_empty() {
            return None;
        }
        let all = self.shared.cache.get(whole(text))?;
        let (_, role) = self.session.current_user();
        let (path, zone) = (self.path(), self.session.settings.now.zone());
        let is_it = |prepared: &&Arc<Prepared>| {
            prepared.declared == declared
                && prepared.role == role
                && prepared.path == path
                && prepared.zone == *zone
                && prepared.database == self.session.database_id
        };
        let found = all.iter().filter(|prepared| TextLanguage::of(prepared) == language).find(is_it)?;
        self.is_fresh(found).then(|| found.clone())
    }

    /// Whether what a statement was compiled with is still so.
    fn is_fresh(&self, prepared: &Prepared) -> bool {
        match &prepared.plan {
            Plan::Schema(..)
            | Plan::Function(_)
            | Plan::Roles(_)
            | Plan::Sequence(_)
            | Plan::Types(_)
            | Plan::Namespaces(_)
            | Plan::Utility(Utility::Copy(_) | Utility::Maintenance(_)) => {
                let catalog = self.committed();
                // What the transaction itself has made has no version, as what is not there has none.
                self.session.overlay.is_empty()
                    && prepared.path == self.path()
                    && prepared.resolved.iter().all(|(key, version)| catalog.version_of(key) == *version)
            }
            // What a routine names is looked for when it runs; who calls it relies on its row.
            Plan::Routine(_) => {
                prepared.role == self.session.current_user().1
                    && prepared.path == self.path()
                    && (prepared.mentions.is_empty() || self.session.overlay.is_empty())
                    && prepared.stands(self.committed())
            }
            Plan::Utility(_) | Plan::System(_) | Plan::Execute(..) => true,
            Plan::Program(_)
            | Plan::Firing(_)
            | Plan::Query(_)
            | Plan::Feed(..)
            | Plan::Parts(_)
            | Plan::SetValue(_)
            | Plan::Queried(..) => {
                self.session.overlay.is_empty()
                    && prepared.held_with.as_ref().is_none_or(|settings| **settings == self.session.settings.now)
                    && prepared.role == self.session.current_user().1
                    && prepared.path == self.path()
                    && (prepared.generation == self.shared.catalog.generation || prepared.stands(self.committed()))
            }
        }
    }

    /// Keeps a compiled statement for other sessions, if they may use it.
    pub fn keep(&mut self, text: &str, prepared: Prepared) -> Arc<Prepared> {
        let prepared = Arc::new(prepared);
        let keeps = prepared.shareable
            && !prepared.undescribed
            && self.session.overlay.is_empty()
            && text.len() <= CACHED_SQL_BYTES_MAX;
        if keeps {
            if self.shared.cached >= CACHED_STATEMENTS_MAX {
                self.shared.cache.clear();
                self.shared.cached = 0;
            }
            let all = self.shared.cache.entry(Arc::from(whole(text))).or_default();
            let before = all.len();
            let differs = |other: &Arc<Prepared>| {
                (&other.declared, other.role, &other.path, &other.zone, other.database)
                    != (&prepared.declared, prepared.role, &prepared.path, &prepared.zone, prepared.database)
            };
            all.retain(|other| differs(other) || other.form != prepared.form);
            all.push(prepared.clone());
            self.shared.cached = self.shared.cached + all.len() - before;
        }
        prepared
    }

    /// Compiles a statement. `text`: what its places refer to.
    pub fn compile(
        &mut self,
        parsed: &Parsed,
        text: &str,
        declared: Vec<Option<Type>>,
        described: Option<(&[ResultColumn], &[Type])>,
    ) -> Result<Prepared> {
        self.compile_on(parsed, text, declared, &[], described)
    }

    /// The same of a statement of which some queries were described before.
    pub fn compile_on(
        &mut self,
        parsed: &Parsed,
        text: &str,
        declared: Vec<Option<Type>>,
        before: &[QueryDescription],
        described: Option<(&[ResultColumn], &[Type])>,
    ) -> Result<Prepared> {
        let (all, catalog) = (self.catalog(), self.seen_catalog());
        let generation = self.shared.catalog.generation;
        let (made, own) = (self.session.overlay.made(), self.session.overlay.keys());
        self.with_facts(|facts| {
            let context = Context {
                catalog: &catalog,
                all: &all,
                generation,
                facts,
                own: &own,
                made,
                text,
                described: before,
                view_checks: &[],
                with_view: None,
            };
            compile::compile(parsed, declared, &context, described)
        })
        .map(|prepared| prepared.placed(self.session.database_id))
        .map(|prepared| match &prepared.plan {
            Plan::Utility(Utility::Fetch(fetch)) => {
                let fetch = fetch.clone();
                self.with_cursor_columns(prepared, &fetch)
            }
            _ => prepared,
        })
    }

    /// The statement compiled anew unless it still stands. A query is then described only if another session has had it described since.
    pub fn refresh(&mut self, prepared: Arc<Prepared>) -> Result<Arc<Prepared>> {
        if self.is_fresh(&prepared) {
            return Ok(prepared);
        }
        match self.cached(&prepared.text, TextLanguage::of(&prepared), &prepared.declared) {
            Some(found) => Ok(found),
            None => self.compile_anew(&prepared),
        }
    }

    /// The statement compiled with the catalog as it is now.
    pub fn compile_anew(&mut self, prepared: &Prepared) -> Result<Arc<Prepared>> {
        let text = prepared.text.clone();
        let parsed = self.read_one(&text, TextLanguage::of(prepared))?.ok_or_else(|| SqlError::syntax(&text))?;
        let anew = self.compile(&parsed, &text, prepared.declared.clone(), None)?;
        Ok(self.keep(&text, anew))
    }
}

/// A text without what may be around its statement, which is what a compiled statement calls its text.
fn whole(text: &str) -> &str {
    text.trim_matches(|one: char| one.is_ascii_whitespace()).trim_end_matches(';').trim_end()
}

impl Prepared {
    /// Whether a client that was told of one can be given the other.
    pub fn is_like(&self, told: &Prepared) -> bool {
        self.parameters == told.parameters && same_shape(&self.columns, &told.columns)
    }
}

/// Whether columns have the same names and types.
pub fn same_shape(left: &[ResultColumn], right: &[ResultColumn]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| left.column_type == right.column_type && left.name == right.name)
}
