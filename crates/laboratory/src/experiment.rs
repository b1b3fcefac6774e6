//! Why an experiment, or the demonstration, ends early.
//!
//! Invariant: whoever asked for an end hears nothing but that ([`ExperimentError::is_stop`]), in whatever step the experiment was.

use crate::debit_credit::audit::AuditError;
use crate::debit_credit::explain;
use crate::debit_credit::load::LoadError;
use crate::limits;
use local_cluster::ClusterError;
use local_cluster::process::ProcessName;
use local_cluster::running::ClusterRunError;
use local_cluster::screen::bytes;
use std::time::Instant;
use thiserror::Error;

/// See the module's description.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The cluster.
    #[error(transparent)]
    Run(#[from] ClusterRunError),
    /// Its files.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The tables.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The audit.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The disk is too small.
    #[error("{folder} has {} free, and this needs {}: name a folder on a larger disk with --data, or load less with --gigabytes", bytes(*.free), bytes(*.needed))]
    Disk {
        /// Where the data would be.
        folder: String,
        /// Bytes.
        free: u64,
        /// Bytes.
        needed: u64,
    },
    /// A statement of the experiment itself.
    #[error("{what} failed: {}", explain(.error))]
    Statement {
        /// Which.
        what: String,
        /// What the site said.
        error: postgres::Error,
    },
    /// The connection broke during COPY.
    #[error("loading rows failed: {0}")]
    Copy(std::io::Error),
    /// Clients hang.
    #[error("{count} clients did not end their transaction within {} s", limits::CLIENTS_END_TIME_MAX.as_secs())]
    ClientsHang {
        /// How many.
        count: usize,
    },
    /// A process cannot be measured.
    #[error("{name} cannot be measured: {source}")]
    Measure {
        /// Which.
        name: ProcessName,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Figures cannot be told.
    #[error("{0}")]
    Figures(String),
    /// What a database must never do: a stale read, books that do not balance, an answer that cannot be right.
    #[error("WRONG: {0}")]
    Wrong(String),
}

impl ExperimentError {
    /// Whether the person at the terminal asked for an end: nothing has failed, and nothing is to be said.
    pub fn is_stop(&self) -> bool {
        matches!(self, ExperimentError::Run(ClusterRunError::Stopped) | ExperimentError::Load(LoadError::Stopped))
    }
}

/// As the error of a statement.
pub(crate) fn failed(what: impl Into<String>) -> impl FnOnce(postgres::Error) -> ExperimentError {
    move |error| ExperimentError::Statement { what: what.into(), error }
}

/// Executes a statement, and again while it is refused for a conflict: with other clients, or because the set of sites changes just then.
pub(crate) fn change_rows(client: &mut postgres::Client, statement: &str) -> Result<(), postgres::Error> {
    let begun = Instant::now();
    loop {
        match client.batch_execute(statement) {
            // Class 40: it has not committed.
            Err(error)
                if error.code().is_some_and(|code| code.code().starts_with("40"))
                    && begun.elapsed() < limits::RESUME_TIME_MAX => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ctrl-C while tables are filled would be told as a failure, a time-out passed over in silence.
    #[test]
    fn only_a_stop_is_a_stop() {
        assert!(ExperimentError::from(ClusterRunError::Stopped).is_stop());
        assert!(ExperimentError::from(LoadError::Stopped).is_stop());
        let late = ClusterRunError::TimedOut { what: "an answer".to_owned(), waited_s: 60, seen: String::new() };
        assert!(!ExperimentError::from(late).is_stop());
        assert!(!ExperimentError::Wrong("a stale read".to_owned()).is_stop());
    }
}
