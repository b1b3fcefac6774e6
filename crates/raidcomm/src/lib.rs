//! Communication: addresses, channels, exchanges, groups.
