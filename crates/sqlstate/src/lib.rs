//! SQLSTATEs: the codes of errors, warnings and success, by the names of their conditions (PostgreSQL 15, appendix A).
//!
//! Invariant: a code that Raid says, or looks for, stands here once, under PostgreSQL's name for it, and nowhere else in product code.

pub mod conditions;

// Class 00: Successful Completion
/// `successful_completion`.
pub const SUCCESSFUL_COMPLETION: &str = "00000";

// Class 01: Warning
/// `warning`.
pub const WARNING: &str = "01000";
/// `privilege_not_revoked`.
pub const PRIVILEGE_NOT_REVOKED: &str = "01006";
/// `privilege_not_granted`.
pub const PRIVILEGE_NOT_GRANTED: &str = "01007";

// Class 08: Connection Exception
/// `transaction_resolution_unknown`.
pub const TRANSACTION_RESOLUTION_UNKNOWN: &str = "08007";
/// `protocol_violation`.
pub const PROTOCOL_VIOLATION: &str = "08P01";

// Class 0A: Feature Not Supported
/// `feature_not_supported`.
pub const FEATURE_NOT_SUPPORTED: &str = "0A000";

// Class 0L: Invalid Grantor
/// `invalid_grant_operation`.
pub const INVALID_GRANT_OPERATION: &str = "0LP01";

// Class 0Z: Diagnostics Exception
/// `stacked_diagnostics_accessed_without_active_handler`.
pub const STACKED_DIAGNOSTICS_WITHOUT_HANDLER: &str = "0Z002";

// Class 20: Case Not Found
/// `case_not_found`.
pub const CASE_NOT_FOUND: &str = "20000";

// Class 21: Cardinality Violation
/// `cardinality_violation`.
pub const CARDINALITY_VIOLATION: &str = "21000";

// Class 22: Data Exception
/// `data_exception`.
pub const DATA_EXCEPTION: &str = "22000";
/// `string_data_right_truncation`.
pub const STRING_DATA_RIGHT_TRUNCATION: &str = "22001";
/// `numeric_value_out_of_range`.
pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
/// `null_value_not_allowed`.
pub const NULL_VALUE_NOT_ALLOWED: &str = "22004";
/// `error_in_assignment`.
pub const ERROR_IN_ASSIGNMENT: &str = "22005";
/// `invalid_datetime_format`.
pub const INVALID_DATETIME_FORMAT: &str = "22007";
/// `datetime_field_overflow`.
pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
/// `invalid_time_zone_displacement_value`.
pub const INVALID_TIME_ZONE_DISPLACEMENT_VALUE: &str = "22009";
/// `invalid_use_of_escape_character`.
pub const INVALID_USE_OF_ESCAPE_CHARACTER: &str = "2200C";
/// `zero_length_character_string`.
pub const ZERO_LENGTH_CHARACTER_STRING: &str = "2200F";
/// `sequence_generator_limit_exceeded`.
pub const SEQUENCE_GENERATOR_LIMIT_EXCEEDED: &str = "2200H";
/// `string_data_length_mismatch`.
pub const STRING_DATA_LENGTH_MISMATCH: &str = "22026";
/// `substring_error`.
pub const SUBSTRING_ERROR: &str = "22011";
/// `division_by_zero`.
pub const DIVISION_BY_ZERO: &str = "22012";
/// `invalid_preceding_or_following_size`.
pub const INVALID_PRECEDING_OR_FOLLOWING_SIZE: &str = "22013";
/// `invalid_argument_for_ntile_function`.
pub const INVALID_ARGUMENT_FOR_NTILE_FUNCTION: &str = "22014";
/// `interval_field_overflow`.
pub const INTERVAL_FIELD_OVERFLOW: &str = "22015";
/// `invalid_argument_for_nth_value_function`.
pub const INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION: &str = "22016";
/// `invalid_regular_expression`.
pub const INVALID_REGULAR_EXPRESSION: &str = "2201B";
/// `invalid_argument_for_logarithm`.
pub const INVALID_ARGUMENT_FOR_LOGARITHM: &str = "2201E";
/// `invalid_argument_for_power_function`.
pub const INVALID_ARGUMENT_FOR_POWER_FUNCTION: &str = "2201F";
/// `invalid_argument_for_width_bucket_function`.
pub const INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION: &str = "2201G";
/// `invalid_row_count_in_limit_clause`.
pub const INVALID_ROW_COUNT_IN_LIMIT_CLAUSE: &str = "2201W";
/// `invalid_row_count_in_result_offset_clause`.
pub const INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE: &str = "2201X";
/// `character_not_in_repertoire`.
pub const CHARACTER_NOT_IN_REPERTOIRE: &str = "22021";
/// `invalid_parameter_value`.
pub const INVALID_PARAMETER_VALUE: &str = "22023";
/// `invalid_escape_sequence`.
pub const INVALID_ESCAPE_SEQUENCE: &str = "22025";
/// `array_subscript_error`.
pub const ARRAY_SUBSCRIPT_ERROR: &str = "2202E";
/// `invalid_tablesample_argument`.
pub const INVALID_TABLESAMPLE_ARGUMENT: &str = "2202H";
/// `invalid_text_representation`.
pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
/// `invalid_binary_representation`.
pub const INVALID_BINARY_REPRESENTATION: &str = "22P03";
/// `bad_copy_file_format`.
pub const BAD_COPY_FILE_FORMAT: &str = "22P04";
/// `untranslatable_character`.
pub const UNTRANSLATABLE_CHARACTER: &str = "22P05";

/// `sql_json_array_not_found`, and what else is no array.
pub const SQL_JSON_ARRAY_NOT_FOUND: &str = "22039";
/// `sql_json_member_not_found`.
pub const SQL_JSON_MEMBER_NOT_FOUND: &str = "2203A";
/// `sql_json_number_not_found`.
pub const SQL_JSON_NUMBER_NOT_FOUND: &str = "2203B";
/// `sql_json_object_not_found`.
pub const SQL_JSON_OBJECT_NOT_FOUND: &str = "2203C";

// Class 23: Integrity Constraint Violation
/// `not_null_violation`.
pub const NOT_NULL_VIOLATION: &str = "23502";
/// `foreign_key_violation`.
pub const FOREIGN_KEY_VIOLATION: &str = "23503";
/// `unique_violation`.
pub const UNIQUE_VIOLATION: &str = "23505";
/// `check_violation`.
pub const CHECK_VIOLATION: &str = "23514";
/// `exclusion_violation`.
pub const EXCLUSION_VIOLATION: &str = "23P01";

// Class 25: Invalid Transaction State
/// `active_sql_transaction`.
pub const ACTIVE_SQL_TRANSACTION: &str = "25001";
/// `read_only_sql_transaction`.
pub const READ_ONLY_SQL_TRANSACTION: &str = "25006";
/// `no_active_sql_transaction`.
pub const NO_ACTIVE_SQL_TRANSACTION: &str = "25P01";
/// `in_failed_sql_transaction`.
pub const IN_FAILED_SQL_TRANSACTION: &str = "25P02";
/// `idle_in_transaction_session_timeout`.
pub const IDLE_IN_TRANSACTION_SESSION_TIMEOUT: &str = "25P03";

// Class 26: Invalid SQL Statement Name
/// `invalid_sql_statement_name`.
pub const INVALID_SQL_STATEMENT_NAME: &str = "26000";

// Class 27: Triggered Data Change Violation
/// `triggered_data_change_violation`.
pub const TRIGGERED_DATA_CHANGE_VIOLATION: &str = "27000";

// Class 28: Invalid Authorization Specification
/// `invalid_authorization_specification`.
pub const INVALID_AUTHORIZATION_SPECIFICATION: &str = "28000";
/// `invalid_password`.
pub const INVALID_PASSWORD: &str = "28P01";

// Class 2B: Dependent Privilege Descriptors Still Exist
/// `dependent_objects_still_exist`.
pub const DEPENDENT_OBJECTS_STILL_EXIST: &str = "2BP01";

// Class 2F: SQL Routine Exception
/// `function_executed_no_return_statement`.
pub const NO_RETURN: &str = "2F005";

// Class 34: Invalid Cursor Name
/// `invalid_cursor_name`.
pub const INVALID_CURSOR_NAME: &str = "34000";

// Class 39: External Routine Invocation Exception
/// `external_routine_invocation_exception`.
pub const EXTERNAL_ROUTINE_INVOCATION_EXCEPTION: &str = "39000";

// Class 3B: Savepoint Exception
/// `invalid_savepoint_specification`.
pub const INVALID_SAVEPOINT_SPECIFICATION: &str = "3B001";

// Class 3D: Invalid Catalog Name
/// `invalid_catalog_name`.
pub const INVALID_CATALOG_NAME: &str = "3D000";

// Class 3F: Invalid Schema Name
/// `invalid_schema_name`.
pub const INVALID_SCHEMA_NAME: &str = "3F000";

// Class 40: Transaction Rollback
/// `serialization_failure`.
pub const SERIALIZATION_FAILURE: &str = "40001";
/// `deadlock_detected`.
pub const DEADLOCK_DETECTED: &str = "40P01";

// Class 42: Syntax Error or Access Rule Violation
/// `insufficient_privilege`.
pub const INSUFFICIENT_PRIVILEGE: &str = "42501";
/// `syntax_error`.
pub const SYNTAX_ERROR: &str = "42601";
/// `invalid_name`.
pub const INVALID_NAME: &str = "42602";
/// `name_too_long`.
pub const NAME_TOO_LONG: &str = "42622";
/// `duplicate_column`.
pub const DUPLICATE_COLUMN: &str = "42701";
/// `ambiguous_column`.
pub const AMBIGUOUS_COLUMN: &str = "42702";
/// `undefined_column`.
pub const UNDEFINED_COLUMN: &str = "42703";
/// `undefined_object`.
pub const UNDEFINED_OBJECT: &str = "42704";
/// `duplicate_object`.
pub const DUPLICATE_OBJECT: &str = "42710";
/// `duplicate_alias`.
pub const DUPLICATE_ALIAS: &str = "42712";
/// `duplicate_function`.
pub const DUPLICATE_FUNCTION: &str = "42723";
/// `ambiguous_function`.
pub const AMBIGUOUS_FUNCTION: &str = "42725";
/// `grouping_error`.
pub const GROUPING_ERROR: &str = "42803";
/// `datatype_mismatch`.
pub const DATATYPE_MISMATCH: &str = "42804";
/// `wrong_object_type`.
pub const WRONG_OBJECT_TYPE: &str = "42809";
/// `invalid_foreign_key`.
pub const INVALID_FOREIGN_KEY: &str = "42830";
/// `cannot_coerce`.
pub const CANNOT_COERCE: &str = "42846";
/// `undefined_function`.
pub const UNDEFINED_FUNCTION: &str = "42883";
/// `generated_always`.
pub const GENERATED_ALWAYS: &str = "428C9";
/// `reserved_name`.
pub const RESERVED_NAME: &str = "42939";
/// `undefined_table`.
pub const UNDEFINED_TABLE: &str = "42P01";
/// `undefined_parameter`.
pub const UNDEFINED_PARAMETER: &str = "42P02";
/// `duplicate_cursor`.
pub const DUPLICATE_CURSOR: &str = "42P03";
/// `duplicate_prepared_statement`.
pub const DUPLICATE_PREPARED_STATEMENT: &str = "42P05";
/// Duplicate database.
pub const DUPLICATE_DATABASE: &str = "42P04";
/// `duplicate_schema`.
pub const DUPLICATE_SCHEMA: &str = "42P06";
/// `duplicate_table`.
pub const DUPLICATE_TABLE: &str = "42P07";
/// `ambiguous_parameter`.
pub const AMBIGUOUS_PARAMETER: &str = "42P08";
/// `ambiguous_alias`.
pub const AMBIGUOUS_ALIAS: &str = "42P09";
/// `invalid_column_reference`.
pub const INVALID_COLUMN_REFERENCE: &str = "42P10";
/// `invalid_cursor_definition`.
pub const INVALID_CURSOR_DEFINITION: &str = "42P11";
/// `invalid_function_definition`.
pub const INVALID_FUNCTION_DEFINITION: &str = "42P13";
/// `invalid_table_definition`.
pub const INVALID_TABLE_DEFINITION: &str = "42P16";
/// `invalid_object_definition`.
pub const INVALID_OBJECT_DEFINITION: &str = "42P17";
/// `indeterminate_datatype`.
pub const INDETERMINATE_DATATYPE: &str = "42P18";
/// `invalid_recursion`.
pub const INVALID_RECURSION: &str = "42P19";
/// `windowing_error`.
pub const WINDOWING_ERROR: &str = "42P20";
/// `collation_mismatch`.
pub const COLLATION_MISMATCH: &str = "42P21";

// Class 44: WITH CHECK OPTION Violation
/// `with_check_option_violation`.
pub const WITH_CHECK_OPTION_VIOLATION: &str = "44000";

// Class 53: Insufficient Resources
/// `insufficient_resources`.
pub const INSUFFICIENT_RESOURCES: &str = "53000";
/// `disk_full`.
pub const DISK_FULL: &str = "53100";
/// `out_of_memory`.
pub const OUT_OF_MEMORY: &str = "53200";
/// `too_many_connections`.
pub const TOO_MANY_CONNECTIONS: &str = "53300";

// Class 54: Program Limit Exceeded
/// `program_limit_exceeded`.
pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
/// `statement_too_complex`.
pub const STATEMENT_TOO_COMPLEX: &str = "54001";
/// `too_many_columns`.
pub const TOO_MANY_COLUMNS: &str = "54011";
/// `too_many_arguments`.
pub const TOO_MANY_ARGUMENTS: &str = "54023";

// Class 55: Object Not In Prerequisite State
/// `object_not_in_prerequisite_state`.
pub const OBJECT_NOT_IN_PREREQUISITE_STATE: &str = "55000";
/// `object_in_use`.
pub const OBJECT_IN_USE: &str = "55006";
/// `cant_change_runtime_param`.
pub const CANT_CHANGE_RUNTIME_PARAM: &str = "55P02";
/// `lock_not_available`.
pub const LOCK_NOT_AVAILABLE: &str = "55P03";

// Class 57: Operator Intervention
/// `query_canceled`.
pub const QUERY_CANCELED: &str = "57014";
/// `admin_shutdown`.
pub const ADMIN_SHUTDOWN: &str = "57P01";
/// Database dropped.
pub const DATABASE_DROPPED: &str = "57P04";
/// `cannot_connect_now`.
pub const CANNOT_CONNECT_NOW: &str = "57P03";
/// `idle_session_timeout`.
pub const IDLE_SESSION_TIMEOUT: &str = "57P05";

// Class 58: System Error (errors external to PostgreSQL itself)
/// `system_error`.
pub const SYSTEM_ERROR: &str = "58000";
/// `io_error`.
pub const IO_ERROR: &str = "58030";

// Class 72: Snapshot Failure
/// `snapshot_too_old`.
pub const SNAPSHOT_TOO_OLD: &str = "72000";

// Class P0: PL/pgSQL Error
/// `raise_exception`.
pub const RAISE_EXCEPTION: &str = "P0001";
/// `no_data_found`.
pub const NO_DATA_FOUND: &str = "P0002";
/// `too_many_rows`.
pub const TOO_MANY_ROWS: &str = "P0003";
/// `assert_failure`.
pub const ASSERT_FAILURE: &str = "P0004";

// Class XX: Internal Error
/// `internal_error`.
pub const INTERNAL_ERROR: &str = "XX000";
/// `data_corrupted`.
pub const DATA_CORRUPTED: &str = "XX001";

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, the whole of an application's error handling meets codes that PostgreSQL does not have.
    #[test]
    fn classes_are_those_of_the_standard() {
        assert_eq!(
            [SUCCESSFUL_COMPLETION, WARNING, SYNTAX_ERROR, INTERNAL_ERROR],
            ["00000", "01000", "42601", "XX000"]
        );
    }
}
