//! What a role may do: pure functions over the catalog's rows.
//!
//! It knows no statement, no session and no text of SQL: whoever compiles statements says what one needs, and tells the client what is missing. The
//! rules are PostgreSQL 15's (`acl.c`, `aclchk.c`, `user.c`). In reading order:
//!
//! * [`standing`]: a role with all that it is a member of, and what it may do;
//! * [`kind`]: kinds of objects, the privileges that there are on each, and what one begins with;
//! * [`grants`]: what is granted, added to and taken away from;
//! * [`policies`]: whose rows of a table are whose;
//! * [`path`]: the schemas where names are looked for;
//! * [`text`]: grants as PostgreSQL prints them.

pub mod grants;
pub mod kind;
pub mod path;
pub mod policies;
pub mod standing;
pub mod text;

pub use grants::{Behavior, GrantChange, GrantRefused};
pub use kind::Kind;
pub use standing::{Standing, is_member};
