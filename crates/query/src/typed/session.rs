//! What functions may ask of the session while a statement runs.

use crate::functions::asked;
use crate::system_catalog::{SETTINGS, SystemCatalog};
use messages::query::SessionFacts;
use std::sync::Arc;
use values::{Value, ValueError};

/// The session that runs a statement, as functions see it.
#[derive(Clone, Debug)]
pub(crate) struct SessionView {
    /// What was told of it.
    pub facts: Arc<SessionFacts>,
    /// What `pg_backend_pid()` says.
    pub backend_pid: i32,
    /// The system catalogs, if the statement shows them.
    pub system: Option<Arc<SystemCatalog>>,
}

impl evaluation::call::SessionInfo for SessionView {
    fn current_user(&self) -> &str {
        &self.facts.user
    }

    fn session_user(&self) -> &str {
        &self.facts.session_user
    }

    fn database(&self) -> &str {
        &self.facts.database
    }

    fn version(&self) -> &str {
        &self.facts.version
    }

    fn setting(&self, name: &str) -> Option<String> {
        let own = self.facts.settings.iter().map(|(known, value)| (known.as_str(), value.as_str()));
        let mut all = own.chain(SETTINGS);
        all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }

    fn backend_pid(&self) -> i32 {
        self.backend_pid
    }

    fn of_catalog(&self, name: &str, arguments: &[Value]) -> Option<Result<Value, ValueError>> {
        asked::answer(self.system.as_ref()?, name, arguments)
    }
}
