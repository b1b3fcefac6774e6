//! What can go wrong, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why the comparison ended early.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Ctrl-C or a request to terminate.
    #[error("interrupted; all processes have been ended")]
    Interrupted,
    /// A program that is not where it should be.
    #[error("cannot find `{program}`: {remedy}")]
    Missing {
        /// What was looked for.
        program: String,
        /// What to do.
        remedy: String,
    },
    /// A program that ended badly.
    #[error("`{command}` ended with {status}:\n{output}")]
    Failed {
        /// The command line.
        command: String,
        /// Its exit status or signal.
        status: String,
        /// The end of its output.
        output: String,
    },
    /// A program that did not do what was waited for.
    #[error("waited {waited:?} for {what}:\n{output}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// For how long.
        waited: Duration,
        /// The end of its output.
        output: String,
    },
    /// Output in an unknown form.
    #[error("cannot read `{field}` in the client's output:\n{output}")]
    Output {
        /// The figure that was looked for.
        field: &'static str,
        /// The output.
        output: String,
    },
    /// An answer in an unknown form.
    #[error("cannot read the answer to `{statement}`: {answer}")]
    Answer {
        /// What was asked.
        statement: String,
        /// What came.
        answer: String,
    },
    /// Transactions were lost or doubled.
    #[error("the books do not balance, so that no figure counts: {0}")]
    Books(String),
    /// Answers differ.
    #[error("{0}")]
    Answers(String),
    /// A name on the command line that names nothing.
    #[error("there is no {what}; there are: {known}")]
    Choice {
        /// What was asked for.
        what: String,
        /// What there is.
        known: String,
    },
    /// The operating system refused.
    #[error("{action} {path}: {error}")]
    System {
        /// What was tried, as "cannot ...".
        action: &'static str,
        /// On which file or program.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
}

impl CompareError {
    /// For `map_err` on what the operating system refuses; `action` reads "cannot ...".
    pub fn system(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CompareError {
        move |error| CompareError::System { action, path: path.to_path_buf(), error }
    }
}
