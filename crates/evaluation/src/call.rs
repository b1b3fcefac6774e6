//! A call of a function, and what may be used beside its arguments.

use analyzer::Typed;
use values::{Value, ValueError};

/// What a function may use beside its arguments: one execution of a statement has one.
pub struct Environment<'a> {
    /// When the transaction began, in microseconds since 2000-01-01 00:00 UTC: what `now()` returns.
    pub transaction_time: i64,
    /// When the statement began, in the same unit: what `statement_timestamp()` returns.
    pub statement_time: i64,
    /// Where `random()` takes its bits from, all 64 of them uniformly distributed.
    pub random: &'a mut dyn FnMut() -> u64,
    /// The session and the catalog.
    pub session: &'a dyn Session,
}

/// What functions ask about the session that runs the statement.
pub trait Session {
    /// `current_user`.
    fn current_user(&self) -> &str;
    /// `session_user`.
    fn session_user(&self) -> &str;
    /// `current_database()`.
    fn database(&self) -> &str;
    /// `version()`.
    fn version(&self) -> &str;
    /// `current_setting`: as SHOW prints it.
    fn setting(&self, name: &str) -> Option<String>;
    /// `pg_backend_pid()`.
    fn backend_pid(&self) -> i32;
}

/// One call. Of a strict function no argument is NULL.
pub struct Call<'a, 'b> {
    /// Values of the types that the function's row in `pg_proc` names; polymorphic ones of the types that `types` says. With VARIADIC `any`, as many as there are.
    pub arguments: &'a [Value],
    /// The arguments' types.
    pub types: &'a [Typed],
    /// The type of the result.
    pub result: Typed,
    /// Everything else.
    pub environment: &'a mut Environment<'b>,
}

/// What computes a function.
pub type Body = fn(&mut Call<'_, '_>) -> Result<Value, ValueError>;
