//! What is said of a view beside its query.

use serde::{Deserialize, Serialize};

/// Whose conditions a row has to satisfy that is written through a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewCheckOption {
    /// The view's own.
    Local,
    /// Those of the views that it reads, too.
    Cascaded,
}

impl ViewCheckOption {
    /// As it is written, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            ViewCheckOption::Local => "local",
            ViewCheckOption::Cascaded => "cascaded",
        }
    }
}
