//! `pg_sleep` and its like: the session waits and asks nobody for anything; the server's ticks wake it.
//!
//! Invariant: what sleeps holds no thread; it can be cancelled, times out and ends with its client like any other statement.

use crate::session::state::{Execution, Step, Work};
use crate::session::turn::Turn;
use values::Value;

impl Turn<'_> {
    /// A program has said how long to sleep, in columns that return nothing.
    pub fn fall_asleep(&mut self, mut execution: Box<Execution>, mut rows: Vec<Vec<Value>>) {
        let now_micros = self.micros();
        let mut asleep: u64 = 0;
        for row in &mut rows {
            for column in execution.prepared.sleeps.iter() {
                let Some(value) = row.get_mut(column.place) else { continue };
                // One sleep begins when the one before it ends.
                let begins = now_micros.saturating_add_unsigned(asleep / 1_000);
                match column.measure.nanoseconds(value, begins) {
                    Ok(nanoseconds) => asleep = asleep.saturating_add(nanoseconds),
                    Err(error) => {
                        self.session.work = Work::Statement(execution);
                        return self.fail(&error);
                    }
                }
                if *value != Value::Null {
                    *value = Value::text("");
                }
            }
        }
        if asleep == 0 {
            return self.program_returned(execution, rows);
        }
        execution.asleep = rows;
        execution.step = Step::Sleep(self.now.boot.saturating_add(asleep));
        self.session.work = Work::Statement(execution);
    }

    /// The time may have come.
    pub fn wake(&mut self) {
        match std::mem::replace(&mut self.session.work, Work::Idle) {
            Work::Statement(mut execution) if matches!(execution.step, Step::Sleep(end) if end <= self.now.boot) => {
                let rows = std::mem::take(&mut execution.asleep);
                self.program_returned(execution, rows);
            }
            other => self.session.work = other,
        }
    }
}
