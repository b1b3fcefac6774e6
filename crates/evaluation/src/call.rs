//! A call of a function, and what may be used beside its arguments.

use crate::pattern_cache::PatternCache;
use analyzer::Typed;
use bigdecimal::BigDecimal;
use text_search::{SearchQuery, SearchVector};
use values::error::sqlstate;
use values::ranges::RangeSpan;
use values::{
    BitString, InetAddress, Interval, Jsonb, MultirangeValue, RangeKind, RangeValue, Type, Value, ValueError, Zone,
    ZonedTime,
};

/// What a function may use beside its arguments: one execution of a statement has one.
pub struct CallEnvironment<'a> {
    /// When the transaction began, in microseconds since 2000-01-01 00:00 UTC: what `now()` returns.
    pub transaction_time: i64,
    /// When the statement began, in the same unit: what `statement_timestamp()` returns.
    pub statement_time: i64,
    /// The session's time zone.
    pub zone: &'a Zone,
    /// Where `random()` takes its bits from, all 64 of them uniformly distributed.
    pub random: &'a mut dyn FnMut() -> u64,
    /// The session and the catalog.
    pub session: &'a dyn SessionInfo,
    /// Regular expressions that were translated before: the same for all rows of the execution.
    pub patterns: &'a mut PatternCache,
}

/// What functions ask about the session that runs the statement.
pub trait SessionInfo {
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
    /// A function over the system catalogs, by the name that it is called by; `None`: there is no catalog to ask.
    fn of_catalog(&self, name: &str, arguments: &[Value]) -> Option<Result<Value, ValueError>> {
        let _ = (name, arguments);
        None
    }
}

/// One call. Of a strict function no argument is NULL.
pub struct CallArguments<'a, 'b> {
    /// Values of the types that the function's row in `pg_proc` names; polymorphic ones of the types that `types` says. With VARIADIC `any`, as many as there are.
    pub arguments: &'a [Value],
    /// The arguments' types.
    pub types: &'a [Typed],
    /// The type of the result.
    pub result: Typed,
    /// Everything else.
    pub environment: &'a mut CallEnvironment<'b>,
}

impl<'a, 'b> CallArguments<'a, 'b> {
    /// The session's time zone.
    pub(crate) fn zone(&self) -> &'b Zone {
        self.environment.zone
    }

    /// An argument.
    pub(crate) fn value(&self, index: usize) -> &'a Value {
        &self.arguments[index]
    }

    /// A string's characters.
    ///
    /// # Panics
    /// This and the next ones, if the argument is of another type: the analyzer coerces arguments to the types of a function's row.
    pub(crate) fn text(&self, index: usize) -> &'a str {
        self.arguments[index].as_text().unwrap_or_else(|| self.mistyped(index))
    }

    /// A whole number of any width.
    pub(crate) fn integer(&self, index: usize) -> i64 {
        self.arguments[index].as_integer().unwrap_or_else(|| self.mistyped(index))
    }

    /// A double, or a real as one.
    pub(crate) fn double(&self, index: usize) -> f64 {
        match &self.arguments[index] {
            Value::Double(number) => *number,
            Value::Real(number) => f64::from(*number),
            _ => self.mistyped(index),
        }
    }

    /// A numeric.
    pub(crate) fn numeric(&self, index: usize) -> &'a BigDecimal {
        match &self.arguments[index] {
            Value::Numeric(number) => number,
            _ => self.mistyped(index),
        }
    }

    /// A truth value.
    pub(crate) fn boolean(&self, index: usize) -> bool {
        self.arguments[index].as_boolean().unwrap_or_else(|| self.mistyped(index))
    }

    /// A byte string.
    pub(crate) fn bytes(&self, index: usize) -> &'a [u8] {
        match &self.arguments[index] {
            Value::Bytea(bytes) => bytes,
            _ => self.mistyped(index),
        }
    }

    /// The text of a `json`.
    pub(crate) fn json(&self, index: usize) -> &'a str {
        match &self.arguments[index] {
            Value::Json(text) => text,
            _ => self.mistyped(index),
        }
    }

    /// The tree of a `jsonb`.
    pub(crate) fn jsonb(&self, index: usize) -> &'a Jsonb {
        match &self.arguments[index] {
            Value::Jsonb(tree) => tree,
            _ => self.mistyped(index),
        }
    }

    /// An `inet` or a `cidr`.
    pub(crate) fn network(&self, index: usize) -> &'a InetAddress {
        self.arguments[index].as_network().unwrap_or_else(|| self.mistyped(index))
    }

    /// The bytes of a hardware address.
    pub(crate) fn hardware(&self, index: usize) -> &'a [u8] {
        self.arguments[index].as_hardware().unwrap_or_else(|| self.mistyped(index))
    }

    /// A bit string.
    pub(crate) fn bits(&self, index: usize) -> &'a BitString {
        match &self.arguments[index] {
            Value::Bits(bits) => bits,
            _ => self.mistyped(index),
        }
    }

    /// A time of day with its zone.
    pub(crate) fn zoned_time(&self, index: usize) -> ZonedTime {
        match &self.arguments[index] {
            Value::TimeTz(zoned) => *zoned,
            _ => self.mistyped(index),
        }
    }

    /// The hundredths of an amount of money.
    pub(crate) fn amount(&self, index: usize) -> i64 {
        match &self.arguments[index] {
            Value::Money(amount) => *amount,
            _ => self.mistyped(index),
        }
    }

    /// A range.
    pub(crate) fn range(&self, index: usize) -> &'a RangeValue {
        match &self.arguments[index] {
            Value::Range(range) => range,
            _ => self.mistyped(index),
        }
    }

    /// A `tsvector`.
    pub(crate) fn ts_vector(&self, index: usize) -> &'a SearchVector {
        match &self.arguments[index] {
            Value::TsVector(vector) => vector,
            _ => self.mistyped(index),
        }
    }

    /// A `tsquery`.
    pub(crate) fn ts_query(&self, index: usize) -> &'a SearchQuery {
        match &self.arguments[index] {
            Value::TsQuery(query) => query,
            _ => self.mistyped(index),
        }
    }

    /// A multirange.
    pub(crate) fn multirange(&self, index: usize) -> &'a MultirangeValue {
        match &self.arguments[index] {
            Value::Multirange(multirange) => multirange,
            _ => self.mistyped(index),
        }
    }

    /// What a range or a multirange spans.
    pub(crate) fn spans(&self, index: usize) -> &'a [RangeSpan] {
        match &self.arguments[index] {
            Value::Range(range) => range.spans(),
            Value::Multirange(multirange) => multirange.spans(),
            _ => self.mistyped(index),
        }
    }

    /// Which ranges an argument is of.
    pub(crate) fn range_kind(&self, index: usize) -> RangeKind {
        match &self.arguments[index] {
            Value::Range(range) => range.kind(),
            Value::Multirange(multirange) => multirange.kind(),
            _ => self.mistyped(index),
        }
    }

    /// An interval.
    pub(crate) fn interval(&self, index: usize) -> Interval {
        match &self.arguments[index] {
            Value::Interval(interval) => *interval,
            _ => self.mistyped(index),
        }
    }

    /// The microseconds of a time or timestamp; of a date, those of its midnight.
    pub(crate) fn instant(&self, index: usize) -> i64 {
        match &self.arguments[index] {
            Value::Time(at) | Value::Timestamp(at) | Value::TimestampTz(at) => *at,
            Value::Date(days) => i64::from(*days) * values::limits::MICROSECONDS_PER_DAY,
            _ => self.mistyped(index),
        }
    }

    /// An array's elements.
    pub(crate) fn elements(&self, index: usize) -> &'a [Value] {
        self.arguments[index].as_array().unwrap_or_else(|| self.mistyped(index))
    }

    /// How values of an argument's type are held, NULL too. Errors: 0A000 where there is no way yet.
    pub(crate) fn held(&self, index: usize) -> Result<Type, ValueError> {
        crate::storage::storage(self.types[index])
            .ok_or_else(|| ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "values of this type are not supported"))
    }

    #[cold]
    fn mistyped(&self, index: usize) -> ! {
        panic!("argument {index} is {:?}, which is not of its parameter's type", self.arguments[index])
    }
}

/// What a function yields.
pub type FunctionResult = Result<Value, ValueError>;

/// What computes a function.
pub type Implementation = fn(&mut CallArguments<'_, '_>) -> Result<Value, ValueError>;

/// The rows of a call; each has one value for each column of the function's result. Bounded by its arguments, never by memory: rows are made as they are asked for.
pub type SetRows = Box<dyn Iterator<Item = Result<Vec<Value>, ValueError>> + Send>;

/// What computes a function that yields a set.
pub type SetBody = fn(&mut CallArguments<'_, '_>) -> Result<SetRows, ValueError>;
