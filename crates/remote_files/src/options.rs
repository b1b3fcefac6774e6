//! What whoever opens files says: servers, k, and how a recovery is to be done.
//!
//! Options come as text, as in a URI: `servers=a:7901,b:7901&k=2`. What is left out is what it was when the log was made.

use network_memory::host::log_folder;
use network_memory::writer::Boot;
use std::net::SocketAddr;
use std::time::Duration;

use crate::error::OptionError;
use crate::limits::{SETTLE_BYTES_DEFAULT, SETTLE_BYTES_MAX, SETTLE_BYTES_MIN, WAIT_DEFAULT, WAIT_SECONDS_MAX};
use network_memory::limits::SERVERS_MAX;

/// See the module's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesOptions {
    /// The memory servers; none: those that the log was last opened with.
    pub servers: Vec<SocketAddr>,
    /// k: so many of them must hold a change. None: that of the log, or [`log_folder::COPIES_DEFAULT`].
    pub copies: Option<u8>,
    /// How long an opening and a sync may take.
    pub wait: Duration,
    /// Bytes of the log after which the files are brought to disk.
    pub settle_bytes: u64,
    /// The files are right as they are; what the log holds is given up.
    pub discard: bool,
    /// The log is opened with what answers, whatever is lost.
    pub accept_loss: bool,
    /// Which run of the kernel this is, for tests that play a loss of power; none: the present one.
    pub boot: Option<Boot>,
}

impl Default for FilesOptions {
    fn default() -> FilesOptions {
        FilesOptions {
            servers: Vec::new(),
            copies: None,
            wait: WAIT_DEFAULT,
            settle_bytes: SETTLE_BYTES_DEFAULT,
            discard: false,
            accept_loss: false,
            boot: None,
        }
    }
}

impl FilesOptions {
    /// Reads them from text: `value` gives that of an option, if it was given.
    ///
    /// # Errors
    /// See [`OptionError`].
    pub fn read(value: impl Fn(&str) -> Option<String>) -> Result<FilesOptions, OptionError> {
        let mut options = FilesOptions::default();
        if let Some(servers) = value("servers") {
            options.servers = read_servers(&servers)?;
        }
        let read = |name, min, max| value(name).map(|value| number(name, value, min, max)).transpose();
        options.copies = read("k", 1, SERVERS_MAX as u64)?.map(|copies| copies as u8);
        options.wait = read("wait", 1, WAIT_SECONDS_MAX)?.map_or(WAIT_DEFAULT, Duration::from_secs);
        let (min, max) = (SETTLE_BYTES_MIN >> 20, SETTLE_BYTES_MAX >> 20);
        options.settle_bytes = read("settle", min, max)?.map_or(SETTLE_BYTES_DEFAULT, |mebibytes| mebibytes << 20);
        options.boot = read("boot", 0, u64::MAX)?.map(|boot| Boot(boot.into()));
        options.discard = word("recover", value("recover"), ["replay", "discard"], "replay or discard")?;
        options.accept_loss = word("loss", value("loss"), ["refuse", "accept"], "refuse or accept")?;
        Ok(options)
    }
}

fn read_servers(text: &str) -> Result<Vec<SocketAddr>, OptionError> {
    match log_folder::read_servers(text) {
        Ok(servers) if servers.is_empty() => Err(OptionError::NoServers),
        other => other.map_err(|(name, reason)| OptionError::Server { name, reason }),
    }
}

fn number(name: &'static str, value: String, min: u64, max: u64) -> Result<u64, OptionError> {
    let number = value.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or(OptionError::Number { name, value, min, max })
}

/// Whether it is the second of two words.
fn word(
    name: &'static str,
    value: Option<String>,
    possible: [&str; 2],
    words: &'static str,
) -> Result<bool, OptionError> {
    match value {
        None => Ok(false),
        Some(value) if value == possible[0] => Ok(false),
        Some(value) if value == possible[1] => Ok(true),
        Some(value) => Err(OptionError::Word { name, value, words }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<FilesOptions, OptionError> {
        FilesOptions::read(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    /// If this failed, a mistyped option would silently mean less than was wanted.
    #[test]
    fn options_are_read_or_refused_by_name() {
        let options = read(&[("servers", "127.0.0.1:1,127.0.0.1:2"), ("k", "1"), ("wait", "3"), ("settle", "8")]);
        let options = options.expect("they are right");
        assert_eq!((options.servers.len(), options.copies, options.settle_bytes), (2, Some(1), 8 << 20));
        assert_eq!(read(&[]), Ok(FilesOptions::default()));
        for (name, value) in
            [("k", "0"), ("k", "two"), ("wait", "0"), ("settle", "100000"), ("recover", "no"), ("loss", "1")]
        {
            let message = read(&[(name, value)]).expect_err("it is wrong").to_string();
            assert!(message.contains(&format!("{name}={value}")), "{message}");
        }
        let message = read(&[("servers", "nowhere")]).expect_err("no port").to_string();
        assert!(message.contains("nowhere") && message.contains("HOST:PORT"), "{message}");
        assert_eq!(read(&[("servers", " ,")]), Err(OptionError::NoServers));
    }
}
