//! QUEL's functions of one row, as SQL has them. What converts a value does it as SQL's casts do.

use crate::error::{QuelError, QuelResult, sqlstate};
use crate::sql_text::SqlText;

/// How a function is said in SQL.
#[derive(Clone, Copy)]
enum SqlSpelling {
    /// By a function of this name.
    Function(&'static str),
    /// By a cast to this type.
    Cast(&'static str),
    /// By an operator in between.
    Operator(&'static str),
}

/// Whether what a function gives is a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GivenKind {
    Text,
    Other,
}

/// A function: its name, how many arguments it takes, what it is in SQL.
struct QuelFunction(&'static str, usize, SqlSpelling, GivenKind);

/// All of them.
const KNOWN: &[QuelFunction] = &[
    QuelFunction("abs", 1, SqlSpelling::Function("abs"), GivenKind::Other),
    QuelFunction("ascii", 1, SqlSpelling::Cast("text"), GivenKind::Text),
    QuelFunction("atan", 1, SqlSpelling::Function("atan"), GivenKind::Other),
    QuelFunction("c", 1, SqlSpelling::Cast("text"), GivenKind::Text),
    QuelFunction("char", 1, SqlSpelling::Cast("text"), GivenKind::Text),
    QuelFunction("concat", 2, SqlSpelling::Operator(" || "), GivenKind::Text),
    QuelFunction("cos", 1, SqlSpelling::Function("cos"), GivenKind::Other),
    QuelFunction("date", 1, SqlSpelling::Cast("date"), GivenKind::Other),
    QuelFunction("exp", 1, SqlSpelling::Function("exp"), GivenKind::Other),
    QuelFunction("float4", 1, SqlSpelling::Cast("float4"), GivenKind::Other),
    QuelFunction("float8", 1, SqlSpelling::Cast("float8"), GivenKind::Other),
    QuelFunction("ifnull", 2, SqlSpelling::Function("coalesce"), GivenKind::Other),
    QuelFunction("int1", 1, SqlSpelling::Cast("int2"), GivenKind::Other),
    QuelFunction("int2", 1, SqlSpelling::Cast("int2"), GivenKind::Other),
    QuelFunction("int4", 1, SqlSpelling::Cast("int4"), GivenKind::Other),
    QuelFunction("int8", 1, SqlSpelling::Cast("int8"), GivenKind::Other),
    QuelFunction("left", 2, SqlSpelling::Function("left"), GivenKind::Text),
    QuelFunction("length", 1, SqlSpelling::Function("length"), GivenKind::Other),
    QuelFunction("log", 1, SqlSpelling::Function("ln"), GivenKind::Other),
    QuelFunction("lowercase", 1, SqlSpelling::Function("lower"), GivenKind::Text),
    QuelFunction("mod", 2, SqlSpelling::Function("mod"), GivenKind::Other),
    QuelFunction("money", 1, SqlSpelling::Cast("numeric(14,2)"), GivenKind::Other),
    QuelFunction("right", 2, SqlSpelling::Function("right"), GivenKind::Text),
    QuelFunction("sin", 1, SqlSpelling::Function("sin"), GivenKind::Other),
    QuelFunction("sqrt", 1, SqlSpelling::Function("sqrt"), GivenKind::Other),
    QuelFunction("text", 1, SqlSpelling::Cast("text"), GivenKind::Text),
    QuelFunction("trim", 1, SqlSpelling::Function("rtrim"), GivenKind::Text),
    QuelFunction("uppercase", 1, SqlSpelling::Function("upper"), GivenKind::Text),
    QuelFunction("varchar", 1, SqlSpelling::Cast("text"), GivenKind::Text),
    QuelFunction("vchar", 1, SqlSpelling::Cast("text"), GivenKind::Text),
];

/// Whether a function gives a text.
pub(crate) fn gives_text(name: &str) -> bool {
    KNOWN.iter().any(|known| known.0 == name && known.3 == GivenKind::Text)
}

/// A call. Errors: 42883 for a function that QUEL has not, or with another number of arguments.
pub(crate) fn call(name: &str, arguments: &[SqlText], at: usize) -> QuelResult<SqlText> {
    let Some(known) = KNOWN.iter().find(|known| known.0 == name && known.1 == arguments.len()) else {
        let count = arguments.len();
        let message = format!("QUEL has no function {name} of {count} argument{}", if count == 1 { "" } else { "s" });
        return Err(QuelError::new(sqlstate::UNDEFINED_FUNCTION, message, at));
    };
    let mut sql = SqlText::default();
    sql.mark(at);
    match known.2 {
        SqlSpelling::Function(function) => {
            sql.push(function);
            sql.append(&SqlText::joined(arguments, ", ").in_parentheses());
        }
        SqlSpelling::Cast(data_type) => {
            sql.push("CAST(");
            sql.append(&arguments[0]);
            sql.push(&format!(" AS {data_type})"));
        }
        SqlSpelling::Operator(operator) => {
            let each: Vec<SqlText> = arguments.iter().map(SqlText::in_parentheses).collect();
            sql.append(&SqlText::joined(&each, operator).in_parentheses());
        }
    }
    Ok(sql)
}
