//! Identifiers, epochs, items, actions and every message between servers.
