//! The methods that there are, by name.

use crate::sequencer::Sequencer;
use messages::epoch::Method;

/// A method has no state of its own: it is moved by its name.
pub(crate) mod by_name {
    use super::{Sequencer, sequencer_of};
    use messages::epoch::Method;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::borrowed_box, reason = "serde hands over a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(
        sequencer: &Box<dyn Sequencer + Send>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        sequencer.method().serialize(serializer)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Box<dyn Sequencer + Send>, D::Error> {
        Method::deserialize(deserializer).map(sequencer_of)
    }
}

/// Every method: what the conformance suite runs on, each alone and each switched to and from every other.
pub const METHODS: [Method; 2] = [Method::Locking, Method::Optimistic];

/// The implementation of a method.
pub fn sequencer_of(method: Method) -> Box<dyn Sequencer + Send> {
    match method {
        Method::Locking => Box::new(crate::locking::Locking),
        Method::Optimistic => Box::new(crate::optimistic::Optimistic),
    }
}
