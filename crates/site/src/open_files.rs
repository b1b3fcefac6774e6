//! The bound on open files that the operating system sets for this process.
//!
//! Invariant: it is only ever raised, and never beyond what the administrator allows.

use crate::limits::OPEN_FILES;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the bound as far as a site may need. Shells often start programs with 1,024, which its clients alone could use up.
pub fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= OPEN_FILES) {
        return;
    }
    let possible = maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(possible), maximum });
    if raised.is_err() || possible < OPEN_FILES {
        tracing::warn!(
            possible,
            wanted = OPEN_FILES,
            "few files may be open at once: with many clients connections will fail; raise the hard limit (ulimit -Hn)"
        );
    }
}
