//! The parameters of one session: those in force, what they become when a block ends, and as the query processor was told them.
//!
//! Invariant: they are told again when anything is otherwise that [`Settings::all`] looks at.

use crate::sql::isolation::TransactionLevel;
use crate::sql::settings::{Facts, Settings};
use messages::session::AccessMode;
use std::cell::RefCell;
use std::sync::Arc;

/// The session's parameters, and what they become when the block ends.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// In force.
    pub now: Settings,
    /// In force after a commit, when SET LOCAL made them differ.
    pub after_commit: Option<Settings>,
    /// In force after a rollback, when SET made them differ.
    pub after_rollback: Option<Settings>,
}

/// Names and values of all parameters, with all that they depend on but the site's own file.
#[derive(Debug)]
pub struct ToldSettings {
    settings: Settings,
    session_user: String,
    is_superuser: bool,
    access: AccessMode,
    level: TransactionLevel,
    /// The update of the catalog.
    generation: u64,
    all: Arc<[(String, String)]>,
}

impl ToldSettings {
    /// All parameters of a session, with the catalog of this generation: those that were told if nothing is otherwise.
    pub fn all(told: &RefCell<Option<ToldSettings>>, facts: &Facts, generation: u64) -> Arc<[(String, String)]> {
        let is_it = |known: &&ToldSettings| {
            (known.generation, known.level, known.access) == (generation, facts.level, facts.access)
                && (known.is_superuser, known.session_user.as_str()) == (facts.is_superuser, facts.session_user)
                && known.settings == *facts.settings
        };
        if let Some(known) = told.borrow().as_ref().filter(is_it) {
            return known.all.clone();
        }
        let all: Arc<[_]> = facts.settings.all(facts).into();
        *told.borrow_mut() = Some(ToldSettings {
            settings: facts.settings.clone(),
            session_user: facts.session_user.to_owned(),
            is_superuser: facts.is_superuser,
            access: facts.access,
            level: facts.level,
            generation,
            all: all.clone(),
        });
        all
    }
}
