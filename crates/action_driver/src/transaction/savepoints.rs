//! What of a transaction can be undone: statements, savepoints; and what foreign keys have put off in it.

use super::ExecutingTransaction;
use crate::differential_file::DifferentialMark;
use crate::failure;
use crate::reference_keys::PendingReference;
use crate::sequences;
use messages::limits::TRANSACTION_WRITES_MAX;
use messages::session::Failure;
use serde::{Deserialize, Serialize};

/// A savepoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Savepoint {
    name: String,
    moment: Moment,
}

/// What a rollback restores.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Moment {
    mark: DifferentialMark,
    drops: usize,
    makes: usize,
    sequences: usize,
    deferred: usize,
    notifications: usize,
}

impl ExecutingTransaction {
    pub(super) fn moment(&self) -> Moment {
        let (drops, makes, sequences) = (self.drops.len(), self.makes.len(), self.sequences.len());
        let (deferred, notifications) = (self.deferred.len(), self.notifications.len());
        Moment { mark: self.file.mark(), drops, makes, sequences, deferred, notifications }
    }

    fn undo_to(&mut self, moment: Moment) {
        self.file.undo_to(moment.mark);
        self.drops.truncate(moment.drops);
        self.makes.truncate(moment.makes);
        sequences::undo_to(&mut self.sequences, moment.sequences);
        self.deferred.truncate(moment.deferred);
        for undone in self.notifications.drain(moment.notifications..) {
            self.notified_bytes -= undone.bytes();
            self.notified.remove(&undone);
        }
    }

    /// A statement begins.
    pub fn begin_statement(&mut self) {
        if self.explicit {
            if self.savepoints.is_empty() {
                self.file.forget_undo();
            }
            self.statement = Some(self.moment());
        }
    }

    /// A statement has failed: undoes its writes. Where that is impossible, because rows of it were committed ahead, the
    /// transaction can only be rolled back.
    pub fn fail_statement(&mut self) {
        self.view = None;
        match self.statement.take() {
            Some(moment) => self.undo_to(moment),
            None if self.explicit => {
                self.over = Some(failure::statement(
                    sqlstate::IN_FAILED_SQL_TRANSACTION,
                    "current transaction is aborted, commands ignored until end of transaction block",
                ));
            }
            None => {}
        }
    }

    /// Sets a savepoint; one of the same name is hidden, not replaced.
    pub fn set_savepoint(&mut self, name: String) {
        if self.savepoints.is_empty() {
            self.file.forget_undo();
        }
        let moment = self.moment();
        self.savepoints.push(Savepoint { name, moment });
    }

    /// Back to a savepoint, which remains. Errors: 3B001.
    pub fn roll_back_to(&mut self, name: &str) -> Result<(), Failure> {
        let position = self.savepoint(name)?;
        self.view = None;
        self.savepoints.truncate(position + 1);
        self.undo_to(self.savepoints[position].moment);
        Ok(())
    }

    /// Forgets a savepoint and those set since. Errors: 3B001.
    pub fn release(&mut self, name: &str) -> Result<(), Failure> {
        let position = self.savepoint(name)?;
        self.savepoints.truncate(position);
        Ok(())
    }

    fn savepoint(&self, name: &str) -> Result<usize, Failure> {
        let position = self.savepoints.iter().rposition(|savepoint| savepoint.name == name);
        position.ok_or_else(|| failure::no_savepoint(name))
    }

    /// Whether foreign keys that may be put off are; `None`: as each says.
    pub fn deferral(&self) -> Option<bool> {
        self.deferral
    }

    /// The client has said whether foreign keys are put off. What was put off already and is not to be any more.
    pub fn set_deferral(&mut self, is_deferred: bool) -> Vec<PendingReference> {
        self.deferral = Some(is_deferred);
        if is_deferred { Vec::new() } else { self.take_deferred() }
    }

    /// A key is looked at when the transaction commits. Errors: 54000.
    pub fn defer(&mut self, pending: PendingReference) -> Result<(), Failure> {
        if self.deferred.len() == TRANSACTION_WRITES_MAX {
            return Err(failure::too_large("transaction puts off the check of too many rows"));
        }
        self.deferred.push(pending);
        Ok(())
    }

    /// Whether keys are left to be looked at.
    pub fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// What was put off, to be looked at now.
    pub fn take_deferred(&mut self) -> Vec<PendingReference> {
        std::mem::take(&mut self.deferred)
    }
}
