//! The bounds of PostgreSQL's types, each as PostgreSQL 15 sets it, related to each other by `const` asserts.

/// Longest `varchar(n)` and `char(n)`, in characters.
pub const CHARACTERS_MAX: u32 = 10_485_760;

/// Largest declared precision of a `numeric(precision, scale)`, in decimal digits.
pub const NUMERIC_PRECISION_MAX: u16 = 1000;

/// Largest absolute value of the declared scale of a `numeric(precision, scale)`.
pub const NUMERIC_SCALE_MAX: i16 = 1000;

/// Most decimal digits before the decimal point of any `numeric`.
pub const NUMERIC_INTEGER_DIGITS_MAX: i64 = 131_072;

/// Most decimal digits after the decimal point of any `numeric`.
pub const NUMERIC_FRACTION_DIGITS_MAX: i64 = 16_383;

/// Longest text that is read as a number, in bytes: sign, digits, point, exponent and some slack.
pub const NUMERIC_TEXT_BYTES_MAX: usize = 262_144;

/// Most columns of a row, as in PostgreSQL (`MaxTupleAttributeNumber`).
pub const COLUMNS_MAX: usize = 1664;

/// Largest `text` or `bytea` value, in bytes (PostgreSQL's `MaxAllocSize`, 1 GiB - 1).
pub const VALUE_BYTES_MAX: usize = 0x3fff_ffff;

/// Longest label of an enum type, in bytes: a name (PostgreSQL's `NAMEDATALEN`, without the zero behind it).
pub const ENUM_LABEL_BYTES_MAX: usize = 63;

/// Longest place of a label in the order of its type, in bytes. Each eighth label that is put between the same two takes one more.
pub const ENUM_ORDER_BYTES_MAX: usize = 256;

/// Bytes that the definitions of enum types may take which a process has ever seen: each change of a type makes another.
pub const DEFINITIONS_BYTES_MAX: usize = 1 << 28;

/// Most elements of an array (PostgreSQL's `MaxArraySize`).
pub const ARRAY_ELEMENTS_MAX: usize = VALUE_BYTES_MAX / size_of::<u64>();

/// Most dimensions that a client may speak of (PostgreSQL's `MAXDIM`), though it gets no further with more than one.
pub const ARRAY_DIMENSIONS_MAX: i32 = 6;

/// Deepest nesting of arrays and objects in a `json` or `jsonb`. PostgreSQL's is what its stack holds, some thousands.
pub const JSON_DEPTH_MAX: usize = 1000;

/// Longest declared `bit(n)` and `bit varying(n)`, in bits.
pub const BIT_LENGTH_MAX: u32 = 8 * CHARACTERS_MAX;

/// Most bits of a bit string (PostgreSQL's `VARBITMAXLEN`).
pub const BITS_MAX: u32 = i32::MAX as u32 - 7;

/// Largest offset that a text or a message may have, in hours, exclusive (PostgreSQL's `MAX_TZDISP_HOUR` and one).
pub const ZONE_HOURS_END: i64 = 16;

/// Longest name of a time zone, in bytes (PostgreSQL's `TZ_STRLEN_MAX`).
pub const ZONE_NAME_BYTES_MAX: usize = 255;

/// Largest offset that a rule of a time zone may have, in whole hours: less than a week.
pub const ZONE_OFFSET_HOURS_MAX: i64 = 24 * 7 - 1;

/// Microseconds in a second.
pub const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

/// Microseconds in a day.
pub const MICROSECONDS_PER_DAY: i64 = 86_400 * MICROSECONDS_PER_SECOND;

/// Days in the month by which intervals are compared and multiplied.
pub const DAYS_PER_MONTH: i64 = 30;

/// Earliest `date` and day of a `timestamp`: 4714-11-24 BC, Julian day 0, in days since 2000-01-01.
pub const DATE_MIN: i32 = -2_451_545;

/// Latest `date`: 5874897-12-31, in days since 2000-01-01.
pub const DATE_MAX: i32 = 2_145_031_948;

/// Earliest `timestamp`, in microseconds since 2000-01-01.
pub const TIMESTAMP_MIN: i64 = DATE_MIN as i64 * MICROSECONDS_PER_DAY;

/// First instant that is too late for a `timestamp`: 294277-01-01, in microseconds since 2000-01-01.
pub const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;

const _: () = assert!(TIMESTAMP_END % MICROSECONDS_PER_DAY == 0);
const _: () = assert!(TIMESTAMP_END / MICROSECONDS_PER_DAY < DATE_MAX as i64);
const _: () = assert!(BIT_LENGTH_MAX < BITS_MAX);
const _: () = assert!(NUMERIC_PRECISION_MAX as i64 <= NUMERIC_INTEGER_DIGITS_MAX);
const _: () = assert!(NUMERIC_SCALE_MAX as i64 <= NUMERIC_FRACTION_DIGITS_MAX);
const _: () =
    assert!((NUMERIC_INTEGER_DIGITS_MAX + NUMERIC_FRACTION_DIGITS_MAX) as usize + 64 < NUMERIC_TEXT_BYTES_MAX);
