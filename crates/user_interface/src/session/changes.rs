//! Planned changes of the catalog, as they are handed to the action driver.
//!
//! Invariant: a change commits only if the names of its statement still mean what they meant when it was compiled.

use crate::errors::sqlstate;
use crate::protocol::backend::Severity;
use crate::session::state::{Execution, Step, Work};
use crate::session::temporary::makes_schema;
use crate::session::turn::Turn;
use crate::sql::ddl::SchemaChange;
use crate::sql::prepared::{Plan, Prepared};
use messages::database::DatabaseId;
use messages::program::Action;
use messages::{Key, Timestamp};
use std::sync::Arc;
use values::Value;

/// The class of SQLSTATEs that are warnings.
const WARNING_CLASS: &str = "01";

impl Turn<'_> {
    /// What the statement's names mean is to be what it was when they were looked for.
    fn rely_on_names(&self, prepared: &Prepared, change: &mut SchemaChange) {
        let Some(program) = &mut change.program else { return };
        let own = self.session.overlay.keys();
        let is_written = |key: &Key| own.contains(key) || change.rows.iter().any(|(written, ..)| written == key);
        let has = |key: &Key| program.relies_on.iter().any(|(known, _)| known == key);
        let others: Vec<_> =
            prepared.resolved.iter().filter(|(key, _)| !is_written(key) && !has(key)).cloned().collect();
        if !others.is_empty() {
            program.relies_on = program.relies_on.iter().cloned().chain(others).collect();
        }
    }

    /// Has a planned change of the catalog done, supplied with rows.
    pub(super) fn launch_change(
        &mut self,
        mut execution: Box<Execution>,
        mut change: SchemaChange,
        rows: Vec<Vec<Value>>,
    ) {
        self.rely_on_names(&execution.prepared, &mut change);
        self.session.has_temporary |= makes_schema(&change);
        for notice in std::mem::take(&mut change.notices) {
            // PostgreSQL warns of a privilege that a sequence does not have, and goes on.
            let is_warning = notice.sqlstate.starts_with(WARNING_CLASS) || notice.sqlstate == sqlstate::INVALID_GRANT;
            self.notice(if is_warning { Severity::Warning } else { Severity::Notice }, &notice);
        }
        let Some(program) = change.program.take() else {
            return self.complete(execution);
        };
        execution.change = Some(change);
        let program = Arc::new(program);
        execution.sent_program(&program);
        self.execute_program(&mut execution, program, rows, Step::Program);
        self.session.work = Work::Statement(execution);
    }
}

/// The version of a catalog row that the statement was compiled with.
pub(super) fn relied_on(execution: &Execution, key: &Key) -> Option<Timestamp> {
    // Keys of what was planned for this execution alone have no place in the catalog yet.
    let key = DatabaseId::plain(key);
    let is_it = |relied: &Key| DatabaseId::plain(relied) == key;
    if let Plan::Routine(_) = &execution.prepared.plan {
        let found = execution.prepared.mentions.iter().find(|(relied, _)| is_it(relied));
        return found.map(|(_, version)| *version);
    }
    let program = match (&execution.prepared.plan, &execution.change) {
        (Plan::Program(program) | Plan::Feed(_, program, ..), _) => program.as_ref(),
        (Plan::Parts(parts), _) => parts.begin.as_ref(),
        (_, Some(change)) => change.program.as_ref()?,
        _ => return None,
    };
    let written = program.actions.iter().flat_map(|action| match action {
        Action::Catalog { writes, .. } => writes.as_slice(),
        _ => &[],
    });
    program
        .relies_on
        .iter()
        .map(|(relied, version)| (relied, Some(*version)))
        .chain(written.map(|(written, version, _)| (written, *version)))
        .find(|(relied, _)| is_it(relied))
        .and_then(|(_, version)| version)
}
