//! An access manager over an empty store, and nobody else.

use access_manager::{AccessManager, MemoryStore, StoreSettings};
use messages::access::AccessRequest;
use messages::{Envelope, EpochNumber, Incarnation, Message, Now, Outbox, Server, ServerKind, SiteId};

const NOW: Now = Now { boot: 0, wall_micros: 0 };

/// See the module's description.
pub struct Alone {
    pub manager: AccessManager,
    outbox: Outbox,
}

impl Alone {
    pub fn new() -> Alone {
        let manager = AccessManager::open(Box::new(MemoryStore::new()), StoreSettings::default());
        let mut manager = manager.expect("an empty store opens");
        manager.replay_ends().expect("the store is sound");
        Alone { manager, outbox: Outbox::default() }
    }

    /// Has it handle a request, and forgets what it answers.
    pub fn send(&mut self, request: AccessRequest) {
        let envelope = Envelope {
            from_site: SiteId(1),
            from: ServerKind::ActionDriver,
            to_site: SiteId(1),
            to: ServerKind::AccessManager,
            epoch: EpochNumber(1),
            incarnation: Incarnation(1),
            message: Message::Access(request),
        };
        self.manager.handle(NOW, envelope, &mut self.outbox);
        self.outbox.messages.clear();
    }
}
