//! What a site's configuration names: methods of concurrency control.

use messages::concurrency::Method;
use serde::{Deserialize, Serialize};

/// The name of a concurrency-control method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodName {
    /// Two-phase read/write locking.
    #[default]
    Locking,
    /// Optimistic validation.
    Optimistic,
    /// One transaction at a time.
    Serial,
    /// Two-phase locking with exclusive locks only.
    SimpleLocking,
    /// Strict timestamp ordering.
    Timestamp,
}

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Method {
        match name {
            MethodName::Locking => Method::Locking,
            MethodName::Optimistic => Method::Optimistic,
            MethodName::Serial => Method::Serial,
            MethodName::SimpleLocking => Method::SimpleLocking,
            MethodName::Timestamp => Method::Timestamp,
        }
    }
}
