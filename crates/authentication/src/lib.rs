//! Who may connect: the parts of authentication that are pure functions and small machines.
//!
//! It knows no session, no socket and no catalog: whoever serves clients asks it, and tells the client what it says. Keys, salts and the time come in
//! from outside. Nothing cryptographic is written here: hashes, key derivation and comparisons are those of `ring` and `subtle`. In reading order:
//!
//! * [`hba`]: rules by which a connection is let in, as in PostgreSQL's `pg_hba.conf`;
//! * [`verifier`]: what the catalog keeps of a password; [`scram`]: the server's side of SCRAM-SHA-256;
//! * [`nonces`]: numbers that nobody guesses; [`throttle`]: guessing takes time; [`limits`]: every bound.

pub mod hba;
pub mod limits;
pub mod nonces;
pub mod scram;
pub mod throttle;
pub mod verifier;

pub use hba::{Attempt, LoginMethod, Rules};
pub use nonces::Nonces;
pub use scram::{ScramError, ScramExchange};
pub use throttle::Throttle;
pub use verifier::PasswordVerifier;
