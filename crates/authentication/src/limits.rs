//! Bounds of authentication.

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// Rules of a site at most.
pub const RULES_MAX: usize = 10_000;
/// Iterations of PBKDF2 for new verifiers: PostgreSQL's number (`SCRAM_DEFAULT_ITERATIONS`).
pub const ITERATIONS: u32 = 4_096;
/// Iterations that a verifier made elsewhere may ask for: deriving a key for one of more would hold the site up.
pub const ITERATIONS_MAX: u32 = 100_000;
/// Bytes of a new verifier's salt: PostgreSQL's number.
pub const SALT_BYTES: usize = 16;
/// Bytes of a salt at most.
pub const SALT_BYTES_MAX: usize = 1_024;
/// Random bytes of the server's part of a nonce: PostgreSQL's number.
pub const NONCE_BYTES: usize = 18;
/// Longest password, in bytes. Drivers send no longer ones.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Longest message of a client while it proves who it is, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 8 << 10;
/// The wait after the first failed login of a role from an address, in nanoseconds; each further one doubles it.
pub const DELAY_FIRST: u64 = SECOND / 10;
/// The longest such wait, in nanoseconds.
pub const DELAY_MAX: u64 = 5 * SECOND;
/// After so long without a failed login the earlier ones are forgotten, in nanoseconds.
pub const FORGET_AFTER: u64 = 60 * SECOND;
/// So many failed logins of whatever roles count for an address as one of a role counts for the role there.
pub const FAILURES_OF_ADDRESS: u32 = 8;
/// Pairs of address and role whose failures are remembered.
pub const REMEMBERED_MAX: usize = 4_096;

const _: () = assert!(DELAY_FIRST < DELAY_MAX && DELAY_MAX < FORGET_AFTER);
const _: () = assert!(ITERATIONS < ITERATIONS_MAX && SALT_BYTES < SALT_BYTES_MAX);
