//! What the ends of transactions and sessions do to temporary tables.
//!
//! Invariant: a transaction that has written to a table with ON COMMIT does to it what that says before it commits, or does not commit.

use crate::errors::Result;
use crate::session::state::{Block, Execution, Session, Step, Work};
use crate::session::turn::Turn;
use crate::sql::ddl::SchemaChange;
use crate::sql::prepared::{Plan, Prepared};
use crate::sql::temporary;
use crate::sql::utility::Utility;
use messages::namespace::{self, TEMPORARY, UNMADE_TEMPORARY};
use messages::schema::{CatalogEntry, TemporaryOwner};
use messages::session::SessionRequest;
use sqlparser::ast;
use std::sync::Arc;
use values::Zone;

/// Whether a change makes a temporary schema.
pub(super) fn makes_schema(change: &SchemaChange) -> bool {
    let prefix = CatalogEntry::namespace_key(TEMPORARY);
    change.rows.iter().any(|(key, _, row)| row.is_some() && key.as_bytes().starts_with(prefix.as_bytes()))
}

impl Session {
    /// Who had a temporary schema in the life that the session asks; asked once.
    pub(super) fn take_temporary(&mut self, owner: TemporaryOwner) -> Option<TemporaryOwner> {
        std::mem::take(&mut self.has_temporary).then_some(owner)
    }
}

impl Prepared {
    /// Whether it is DISCARD, which drops what is temporary.
    pub(super) fn discards(&self) -> bool {
        matches!(self.plan, Plan::Utility(Utility::Discard(_)))
    }
}

impl Turn<'_> {
    /// Whether a statement may write to what is temporary, or make it.
    fn touches_temporary(&self, prepared: &Prepared) -> bool {
        let own = self.with_facts(|facts| facts.temporary.schema);
        let is_own = |name: &[u8]| own == Some(namespace::of(&String::from_utf8_lossy(name)));
        match &prepared.plan {
            Plan::Schema(..) | Plan::Function(_) | Plan::Queried(..) | Plan::Utility(Utility::Copy(_)) => true,
            _ => prepared.writes && prepared.mentions.iter().any(|(key, _)| is_own(key.as_bytes())),
        }
    }

    /// Notes what a statement does. Whether its transaction has something to do before it commits, so that it cannot commit by itself.
    pub(super) fn note_temporary(&mut self, prepared: &Prepared) -> bool {
        if makes_dropped(&prepared.plan) {
            self.session.wrote_temporary = true;
            return true;
        }
        if !self.session.has_temporary || !self.touches_temporary(prepared) {
            return false;
        }
        self.session.wrote_temporary = true;
        let catalog = self.catalog();
        self.with_facts(|facts| !temporary::acting_at_commit(&catalog, facts).is_empty())
    }

    /// What is to be done to temporary tables before the transaction commits; `None`: nothing.
    pub(super) fn plan_at_commit(&mut self) -> Result<Option<SchemaChange>> {
        if !std::mem::take(&mut self.session.wrote_temporary) {
            return Ok(None);
        }
        let (catalog, own) = (self.catalog(), self.session.overlay.keys());
        let change = self.with_facts(|facts| temporary::plan_at_commit(&catalog, &own, facts))?;
        Ok(change.program.is_some().then_some(change))
    }

    /// Has it done, before COMMIT.
    pub(super) fn act_at_commit(&mut self, mut execution: Box<Execution>, mut change: SchemaChange) {
        let program = change.program.take().expect("there is something to do");
        execution.change = Some(change);
        self.execute_program(&mut execution, Arc::new(program), Vec::new(), Step::AtCommit);
        self.session.work = Work::Statement(execution);
    }

    /// It is done: the transaction commits.
    pub(super) fn acted_at_commit(&mut self, mut execution: Box<Execution>) {
        if let Some(change) = execution.change.take() {
            self.session.overlay.add(change);
        }
        execution.step = Step::Commit;
        self.session.work = Work::Statement(execution);
        self.ask(SessionRequest::Commit);
    }

    /// The name of a table that the transaction has made, which was compiled before its schema was there.
    pub(super) fn made_name(&self, name: &str) -> String {
        match (namespace::of(name), self.with_facts(|facts| facts.temporary.schema)) {
            (UNMADE_TEMPORARY, Some(own)) => namespace::within(namespace::bare(name), own),
            _ => name.to_owned(),
        }
    }

    /// The same before an implicit transaction commits.
    pub(super) fn act_at_end(&mut self, mut change: SchemaChange) {
        let program = Arc::new(change.program.take().expect("there is something to do"));
        self.session.at_commit = Some(change);
        let time_micros = self.micros();
        self.ask(SessionRequest::Execute {
            program,
            parameters: Vec::new(),
            rows: Vec::new(),
            time_micros,
            zone: Zone::UTC,
        });
    }

    /// DISCARD TEMP and ALL: all that is temporary is dropped, in the transaction or in one of its own.
    pub(super) fn discard_temporary(&mut self, execution: Box<Execution>) -> Result<()> {
        let (catalog, own) = (self.catalog(), self.session.overlay.keys());
        let change = self.with_facts(|facts| temporary::plan_discard(&catalog, &own, facts))?;
        match change.program {
            None => self.complete(execution),
            Some(_) if self.session.block == Block::None || !self.session.open => return self.enter(execution),
            Some(_) => self.launch_change(execution, change, Vec::new()),
        }
        Ok(())
    }
}

/// Whether a table is made that goes when its transaction commits.
fn makes_dropped(plan: &Plan) -> bool {
    match plan {
        Plan::Schema(statement, _) => match &**statement {
            ast::Statement::CreateTable(create) => create.on_commit == Some(ast::OnCommit::Drop),
            _ => false,
        },
        Plan::Queried(table, _) => table.acts_at_commit(),
        _ => false,
    }
}
