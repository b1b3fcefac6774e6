//! The one error of this crate: a SQLSTATE and the message PostgreSQL would print.
//!
//! Everything here is the client's data or stored bytes being wrong, so nothing in this crate panics on its input.

use std::fmt;

/// The error codes used here (PostgreSQL 15, appendix A).
pub mod sqlstate {
    /// `feature_not_supported`.
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// `protocol_violation`.
    pub const PROTOCOL_VIOLATION: &str = "08P01";
    /// `string_data_right_truncation`.
    pub const STRING_DATA_RIGHT_TRUNCATION: &str = "22001";
    /// `numeric_value_out_of_range`.
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    /// `invalid_datetime_format`.
    pub const INVALID_DATETIME_FORMAT: &str = "22007";
    /// `datetime_field_overflow`.
    pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
    /// `invalid_time_zone_displacement_value`.
    pub const INVALID_TIME_ZONE_DISPLACEMENT: &str = "22009";
    /// `substring_error`.
    pub const SUBSTRING_ERROR: &str = "22011";
    /// `division_by_zero`.
    pub const DIVISION_BY_ZERO: &str = "22012";
    /// `interval_field_overflow`.
    pub const INTERVAL_FIELD_OVERFLOW: &str = "22015";
    /// `invalid_argument_for_logarithm`.
    pub const INVALID_ARGUMENT_FOR_LOGARITHM: &str = "2201E";
    /// `invalid_argument_for_power_function`.
    pub const INVALID_ARGUMENT_FOR_POWER: &str = "2201F";
    /// `array_subscript_error`.
    pub const ARRAY_SUBSCRIPT_ERROR: &str = "2202E";
    /// `character_not_in_repertoire`.
    pub const CHARACTER_NOT_IN_REPERTOIRE: &str = "22021";
    /// `invalid_parameter_value`.
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    /// `untranslatable_character`.
    pub const UNTRANSLATABLE_CHARACTER: &str = "22P05";
    /// `statement_too_complex`: the stack would not hold it.
    pub const STATEMENT_TOO_COMPLEX: &str = "54001";
    /// `invalid_escape_sequence`.
    pub const INVALID_ESCAPE_SEQUENCE: &str = "22025";
    /// `invalid_text_representation`.
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    /// `invalid_binary_representation`.
    pub const INVALID_BINARY_REPRESENTATION: &str = "22P03";
    /// `cannot_coerce`.
    pub const CANNOT_COERCE: &str = "42846";
    /// `datatype_mismatch`.
    pub const DATATYPE_MISMATCH: &str = "42804";
    /// `wrong_object_type`.
    pub const WRONG_OBJECT_TYPE: &str = "42809";
    /// `undefined_function`, also for operators.
    pub const UNDEFINED_FUNCTION: &str = "42883";
    /// `undefined_object`, for a type that does not exist.
    pub const UNDEFINED_OBJECT: &str = "42704";
    /// `syntax_error`.
    pub const SYNTAX_ERROR: &str = "42601";
    /// `program_limit_exceeded`.
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    /// `internal_error`, where PostgreSQL has no other code.
    pub const INTERNAL_ERROR: &str = "XX000";
    /// `data_corrupted`: stored bytes are no row or key.
    pub const DATA_CORRUPTED: &str = "XX001";
}

/// Why a value could not be read, computed or converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValueError {
    /// One of [`sqlstate`].
    pub sqlstate: &'static str,
    /// PostgreSQL's primary message, without a final full stop.
    pub message: String,
    /// PostgreSQL's DETAIL line, when it has one.
    pub detail: Option<Box<str>>,
}

impl ValueError {
    /// An error with a code of [`sqlstate`] and PostgreSQL's message.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into(), detail: None }
    }

    /// The same error with a DETAIL line.
    pub fn with_detail(mut self, detail: impl Into<Box<str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Stored bytes that no encoder of this crate wrote; `what` names the part that is wrong.
    #[cold]
    pub(crate) fn corrupt(what: &str) -> Self {
        Self::new(sqlstate::DATA_CORRUPTED, format!("stored bytes are damaged: {what}"))
    }

    /// `invalid input syntax for type ...`, 22P02.
    #[cold]
    pub(crate) fn syntax(type_name: impl fmt::Display, input: &str) -> Self {
        Self::new(
            sqlstate::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {type_name}: \"{input}\""),
        )
    }

    /// `value "..." is out of range for type ...`, 22003.
    #[cold]
    pub(crate) fn text_out_of_range(type_name: impl fmt::Display, input: &str) -> Self {
        Self::new(
            sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{input}\" is out of range for type {type_name}"),
        )
    }

    /// `... out of range`, 22003.
    #[cold]
    pub(crate) fn out_of_range(type_name: impl fmt::Display) -> Self {
        Self::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
    }

    /// `division by zero`, 22012.
    #[cold]
    pub(crate) fn division_by_zero() -> Self {
        Self::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
    }

    /// `... out of range`, 22008.
    #[cold]
    pub(crate) fn datetime_out_of_range(what: impl fmt::Display) -> Self {
        Self::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
    }

    /// A feature that is refused, 0A000.
    #[cold]
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
    }
}
