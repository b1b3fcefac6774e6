//! Names of types as they are printed, in messages and by `format_type` (manual, 9.26).

use crate::catalog::Catalog;
use crate::error::{AnalysisError, UNDEFINED_OBJECT};
use crate::facts::Facts;
use crate::types::{
    BIT, BOOL, BPCHAR, FLOAT4, FLOAT8, INT2, INT4, INT8, INTERVAL, NONE, NUMERIC, TIME, TIMESTAMP, TIMESTAMPTZ, TIMETZ,
    TypeId, VARBIT, VARCHAR,
};

/// The name of a type of which no modifier is known.
pub fn type_name(catalog: &dyn Catalog, id: TypeId) -> String {
    name(catalog, id, None)
}

/// The name of a type with its modifier; -1 says that it has none, which `character` alone would not.
pub fn type_name_with_modifier(catalog: &dyn Catalog, id: TypeId, modifier: i32) -> String {
    name(catalog, id, Some(modifier))
}

fn name(catalog: &dyn Catalog, id: TypeId, modifier: Option<i32>) -> String {
    if id == NONE {
        return "-".to_string();
    }
    let Some(row) = catalog.type_row(id) else {
        return "???".to_string();
    };
    if row.is_array
        && row.storage != 'p'
        && let Some(element) = row.element.known()
    {
        return format!("{}[]", name(catalog, element, modifier));
    }
    let given = modifier.filter(|modifier| *modifier >= 0);
    match standard(id, modifier, given) {
        Some(name) => name,
        None => {
            let name = quoted(&row.name);
            let modifier = given.map(|modifier| format!("({modifier})")).unwrap_or_default();
            match &row.schema {
                Some(schema) => format!("{}.{name}{modifier}", quoted(schema)),
                None => format!("{name}{modifier}"),
            }
        }
    }
}

/// The names that the SQL standard gives and PostgreSQL's catalog does not.
fn standard(id: TypeId, modifier: Option<i32>, given: Option<i32>) -> Option<String> {
    let length = |beside: i32| given.map(|modifier| format!("({})", modifier - beside)).unwrap_or_default();
    let precision = |rest: &str| format!("{}{rest}", length(0));
    Some(match id {
        // Without a length they would be of length 1; so -1 shows as the catalog's own name.
        BPCHAR if modifier == Some(-1) => "bpchar".to_string(),
        BIT if modifier == Some(-1) => "\"bit\"".to_string(),
        BPCHAR => format!("character{}", length(4)),
        BIT => format!("bit{}", length(0)),
        VARCHAR => format!("character varying{}", length(4)),
        VARBIT => format!("bit varying{}", length(0)),
        BOOL => "boolean".to_string(),
        INT2 => "smallint".to_string(),
        INT4 => "integer".to_string(),
        INT8 => "bigint".to_string(),
        FLOAT4 => "real".to_string(),
        FLOAT8 => "double precision".to_string(),
        NUMERIC => format!("numeric{}", given.map(numeric_modifier).unwrap_or_default()),
        TIME => format!("time{}", precision(" without time zone")),
        TIMETZ => format!("time{}", precision(" with time zone")),
        TIMESTAMP => format!("timestamp{}", precision(" without time zone")),
        TIMESTAMPTZ => format!("timestamp{}", precision(" with time zone")),
        INTERVAL => format!("interval{}", given.map(interval_modifier).unwrap_or_default()),
        _ => return None,
    })
}

/// Precision in the upper half; scale in eleven bits below, with a sign.
fn numeric_modifier(modifier: i32) -> String {
    let modifier = modifier - 4;
    if modifier < 0 {
        return String::new();
    }
    let scale = ((modifier & 0x7ff) ^ 1024) - 1024;
    format!("({},{scale})", (modifier >> 16) & 0xffff)
}

/// Fields in the upper half, a bit each; precision in the lower one.
fn interval_modifier(modifier: i32) -> String {
    const FIELDS: [(i32, &str); 6] = [
        (1 << 2, "year"),
        (1 << 1, "month"),
        (1 << 3, "day"),
        (1 << 10, "hour"),
        (1 << 11, "minute"),
        (1 << 12, "second"),
    ];
    let (range, precision) = ((modifier >> 16) & 0x7fff, modifier & 0xffff);
    let mut text = String::new();
    if range != 0x7fff {
        let mut fields = FIELDS.iter().filter(|(bit, _)| range & bit != 0).map(|(_, name)| *name);
        if let Some(first) = fields.next() {
            text = format!(" {first}");
            if let Some(last) = fields.next_back() {
                text = format!(" {first} to {last}");
            }
        }
    }
    if precision != 0xffff {
        text.push_str(&format!("({precision})"));
    }
    text
}

/// A name as it has to be written: in double quotes if it would be read as something else.
pub fn quoted(name: &str) -> String {
    let plain = |character: char| character.is_ascii_lowercase() || character == '_';
    let simple =
        name.chars().next().is_some_and(plain) && name.chars().all(|letter| plain(letter) || letter.is_ascii_digit());
    let reserved = Facts::postgresql15().keywords.get(name).is_some_and(|keyword| keyword.category != 'U');
    if simple && !reserved { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// 42704 for a type that has no arrays.
pub fn no_array(catalog: &dyn Catalog, element: TypeId) -> AnalysisError {
    let name = type_name(catalog, element);
    AnalysisError::new(UNDEFINED_OBJECT, format!("could not find array type for data type {name}"))
}
