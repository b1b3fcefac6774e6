//! What can go wrong, and what to do.

use std::io;

/// Why the kernel does not do it.
#[derive(Debug, thiserror::Error)]
pub enum KernelFailure {
    /// We have not the rights. The interpreter needs none.
    #[error("needs CAP_BPF and CAP_NET_ADMIN: {doing} is not permitted")]
    Rights {
        /// What was tried.
        doing: &'static str,
    },
    /// The kernel is too old, or was built without it. The interpreter needs nothing.
    #[error("this kernel cannot {doing}: links of programs need Linux 6.6")]
    Unknown {
        /// What was tried.
        doing: &'static str,
    },
    /// The kernel's verifier refuses what ours has taken: its way to follow loops has bounds that ours has not.
    #[error("the kernel refuses line {line}, {word}: {why}")]
    Refused {
        /// The word's line, counted from 1; 0: what every program begins with.
        line: usize,
        /// The word.
        word: String,
        /// The kernel's own words.
        why: String,
    },
    /// The program has no such hook.
    #[error("{program} has no hook `on {hook}`")]
    NoHook {
        /// The program.
        program: String,
        /// The hook's name.
        hook: &'static str,
    },
    /// Anything else.
    #[error("{doing} failed: {why}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// The system's answer.
        why: io::Error,
    },
}

impl KernelFailure {
    /// Of an answer of the operating system.
    pub fn of(doing: &'static str, why: io::Error) -> KernelFailure {
        match why.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => KernelFailure::Rights { doing },
            Some(libc::ENOSYS | libc::EOPNOTSUPP) => KernelFailure::Unknown { doing },
            _ => KernelFailure::System { doing, why },
        }
    }

    /// Whether nothing but rights or a newer kernel is missing, so that the interpreter can take over.
    pub fn is_missing(&self) -> bool {
        matches!(self, KernelFailure::Rights { .. } | KernelFailure::Unknown { .. })
    }
}
