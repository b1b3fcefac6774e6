//! A process with servers of a site, which the site's own process started and calls.
//!
//! Invariant: it ends at once when the site's process is gone, whatever ended that; what it has not replied has not happened.

use crate::config::SiteConfig;
use crate::layout::stores::FolderStores;
use crate::layout::{self, Meeting, front, starting};
use crate::{huge_pages, repair};
use domain::ServerHost;
use messages::ServerKind;
use raidcomm::shared::LineListener;
use std::io::Write;
use std::panic::AssertUnwindSafe;

/// Runs the process that is named after this server, and is called at the socket `line`, until the site's process is gone.
///
/// # Errors
/// It cannot be called, or the site's process does not keep to the protocol.
pub fn run(config: SiteConfig, process: ServerKind, line: &str) -> Result<(), String> {
    huge_pages::allow(true);
    let meeting = Meeting::open(&config.data).map_err(|error| format!("{}: {error}", config.data.display()))?;
    let listener = LineListener::bind(&meeting.path(line)).map_err(|error| error.to_string())?;
    let stores = FolderStores(config.data.join(repair::STORE_FOLDER));
    let ready = || say_ready().map_err(|error| error.to_string());
    if process == ServerKind::UserInterface {
        let front = front::start(config, &meeting)?;
        ready()?;
        let serving = std::thread::Builder::new().name("servers".to_owned());
        let thread = serving.spawn(move || {
            let served = std::panic::catch_unwind(AssertUnwindSafe(|| serve(&listener, stores)));
            // The clients' connections are worth nothing without the site. After a panic, which has been told, nothing else of this
            // process is to run: what it holds is in no known state.
            let served = served.unwrap_or_else(|_| std::process::abort());
            if let Err(error) = served {
                tracing::error!(error, "the user interface's process ends");
            }
            std::process::exit(0);
        });
        drop(thread.map_err(|error| error.to_string())?);
        return front.run();
    }
    ready()?;
    serve(&listener, stores)
}

fn serve(listener: &LineListener, stores: FolderStores) -> Result<(), String> {
    let mut server = listener.accept().map_err(|error| error.to_string())?;
    let mut host = ServerHost::new(Box::new(stores));
    layout::line::serve(&mut server, |request, reply| host.execute(request, reply))
}

fn say_ready() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(starting::READY.as_bytes())?;
    output.flush()
}
