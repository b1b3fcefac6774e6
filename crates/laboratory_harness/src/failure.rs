//! What can go wrong in an experiment, and what to do about it.

use rustix::io::Errno;
use std::error::Error;
use std::io;
use thiserror::Error;

/// What an experiment comes to.
pub type Outcome<T> = Result<T, Failure>;

/// Why there is no figure.
#[derive(Debug, Error)]
pub enum Failure {
    /// The operating system refuses.
    #[error("the operating system refuses: {0}")]
    System(#[from] io::Error),
    /// The operating system refuses something that has a name.
    #[error("cannot {doing}: {error}")]
    Refused {
        /// What was tried, as a verb.
        doing: String,
        /// Its answer.
        error: io::Error,
    },
    /// A process that said nothing any more.
    #[error("the process that was to {task} has ended early, with {status}")]
    Ended {
        /// What it was started for.
        task: String,
        /// How.
        status: String,
    },
    /// A process that said something else, or a method that brought other bytes.
    #[error("{0}")]
    Wrong(String),
    /// What a library that is measured says.
    #[error("{0}")]
    Foreign(Box<dyn Error + Send + Sync>),
    /// What was asked for does not exist.
    #[error("there is no experiment `{name}`; there are: {names}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        names: String,
    },
    /// This machine cannot do it.
    #[error("{0}")]
    Missing(String),
    /// Somebody asked for an end.
    #[error("stopped")]
    Stopped,
}

impl Failure {
    /// For `map_err` on a library that is measured.
    pub fn foreign(error: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
        Failure::Foreign(error.into())
    }

    /// For `map_err` on the operating system; `doing` reads on from "cannot".
    pub fn refused<E: Into<io::Error>>(doing: &str) -> impl FnOnce(E) -> Failure {
        move |error| Failure::Refused { doing: doing.to_owned(), error: error.into() }
    }
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Failure {
        Failure::System(error.into())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::Wrong(format!("a process of the harness was told, or said, what it may not: {error}"))
    }
}
