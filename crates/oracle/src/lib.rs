//! Name service and keeper of the epoch.
