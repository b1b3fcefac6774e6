//! A site's own process: its workers with the core, and the threads beside them.

use crate::config::SiteConfig;
use crate::layout::orders;
use crate::snapshot::schedule;
use crate::{console_host, huge_pages, worker};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs a site until `stop` is set.
///
/// # Errors
/// What ended it instead.
pub fn run(config: SiteConfig, stop: Arc<AtomicBool>) -> Result<(), String> {
    huge_pages::allow(false);
    let prepared = worker::prepare_site(config, stop)?;
    let (config, shared) = (prepared.config(), prepared.shared());
    let console = TcpListener::bind(config.console);
    let console = console.map_err(|error| format!("cannot listen at {}: {error}", config.console))?;
    if let Some((_, door)) = shared.door() {
        let (door, shared) = (door.clone(), shared.clone());
        let thread = std::thread::Builder::new().name("door".to_owned());
        thread.spawn(move || door.serve(&shared)).map_err(|error| error.to_string())?;
    }
    console_host::serve(&config, &shared, console)?;
    orders::serve(&config, &shared)?;
    schedule::serve(&config, &shared)?;
    prepared.run()
}
