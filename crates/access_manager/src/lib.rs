//! The local copy: versions, posting, checkpoint, restart.
