//! What an executor works with, and how it comes to rest.
//!
//! Invariant: an executor never blocks and never sends; it says what it needs, and is resumed with the event that answers it.

use crate::expression::ExpressionScope;
use crate::failure;
use crate::generator::Generator;
use crate::hidden_keys::HiddenKeys;
use crate::increments::IncrementWorth;
use crate::limits::RESULT_BYTES_MAX;
use crate::need::ExecutorNeed;
use crate::reference_keys::{self, PendingReference};
use crate::sequences::Sequences;
use crate::transaction::ExecutingTransaction;
use messages::planted::Planted;
use messages::program::{Action, ForeignKeyReference, SequenceValue};
use messages::schema::TableSchema;
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use values::Value;

/// What a program returns.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Rows of the last action that returns rows.
    pub rows: Vec<Vec<Value>>,
    /// Rows touched by the last action.
    pub affected: u64,
    bytes: usize,
}

/// What is the same for all programs of a site.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SiteRules {
    /// Rows committed ahead at a time into a storage that its transaction made itself.
    pub chunk_rows: usize,
    /// Which clause the simulator leaves out.
    pub planted: Planted,
}

/// Where numbers come from.
pub struct NumberSources<'a> {
    /// The source of random numbers.
    pub generator: &'a Generator,
    /// Keys for rows without a primary key.
    pub hidden_keys: &'a mut HiddenKeys,
    /// Values of sequences.
    pub sequences: &'a mut Sequences,
}

/// What an executor works with.
pub struct Scene<'a> {
    /// What expressions may refer to.
    pub scope: ExpressionScope<'a>,
    /// Rows that came with the execution.
    pub supplied: &'a [Vec<Value>],
    /// The transaction.
    pub transaction: &'a mut ExecutingTransaction,
    /// What the program returns.
    pub results: &'a mut Results,
    /// Keys for rows without a primary key.
    pub hidden_keys: &'a mut HiddenKeys,
    /// Where rows are added to without being read.
    pub increment_worth: &'a IncrementWorth,
    /// Whether the numbers that the program takes are its own, whatever becomes of it.
    pub has_numbers: &'a mut bool,
    /// What is the same for all programs.
    pub rules: SiteRules,
    /// Foreign keys that what it changes may concern.
    pub references: &'a [ForeignKeyReference],
    /// What it has changed that they concern.
    pub changes: &'a mut Vec<PendingReference>,
}

impl Scene<'_> {
    /// A row has changed: without `old` it is new, without `new` it has gone. Errors: 23503.
    pub(crate) fn note_change(
        &mut self,
        table: &TableSchema,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<(), Failure> {
        if self.references.is_empty() {
            return Ok(());
        }
        reference_keys::note_change(self.references, self.changes, table, old, new)
    }
}

/// How an executor comes to rest.
#[derive(Debug)]
pub enum ExecutorStep {
    /// Until this is answered.
    Need(ExecutorNeed),
    /// Until what it has noted for foreign keys is looked at.
    Check,
    /// Until what it has gathered can be referred to.
    Gathered,
    /// For good.
    Done,
}

impl Results {
    /// An action begins; its rows, if it returns any, take the place of the last one's.
    pub(crate) fn begin_action(&mut self, action: &Action) {
        self.affected = 0;
        let returns_rows = match action {
            Action::Select { .. } => true,
            Action::Insert { returning, .. } | Action::Update { returning, .. } | Action::Delete { returning, .. } => {
                !returning.is_empty()
            }
            Action::SetSequence { value, .. } => matches!(value, SequenceValue::Set { .. }),
            Action::Bind { .. }
            | Action::Gather { .. }
            | Action::LockTable { .. }
            | Action::Catalog { .. }
            | Action::Rebuild { .. } => false,
            Action::CheckReferences { .. } | Action::CheckDomain { .. } | Action::Defer(_) => false,
            Action::Notify { .. } | Action::Statement(_) => false,
        };
        if returns_rows {
            self.rows.clear();
            self.bytes = 0;
        }
    }

    /// Returns one more row. Errors: 54000 when they are too many for one answer.
    pub fn push(&mut self, row: Vec<Value>) -> Result<(), Failure> {
        self.bytes += row.iter().map(Value::size_in_memory).sum::<usize>();
        if self.bytes > RESULT_BYTES_MAX {
            return Err(failure::statement_with_detail(
                sqlstate::PROGRAM_LIMIT_EXCEEDED,
                format!("the result is larger than {} MiB", RESULT_BYTES_MAX >> 20),
                "Ask for fewer rows at a time, by a condition on the key and LIMIT.",
            ));
        }
        self.rows.push(row);
        Ok(())
    }
}
