//! QUEL's functions of one row, as SQL has them. What converts a value does it as SQL's casts do.

use crate::error::{QuelError, Result, sqlstate};
use crate::sql_text::SqlText;

/// How a function is said in SQL.
#[derive(Clone, Copy)]
enum Spelling {
    /// By a function of this name.
    Function(&'static str),
    /// By a cast to this type.
    Cast(&'static str),
    /// By an operator in between.
    Operator(&'static str),
}

/// Whether what a function gives is a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    Text,
    Other,
}

/// A function: its name, how many arguments it takes, what it is in SQL.
struct Known(&'static str, usize, Spelling, Gives);

/// All of them.
const KNOWN: &[Known] = &[
    Known("abs", 1, Spelling::Function("abs"), Gives::Other),
    Known("ascii", 1, Spelling::Cast("text"), Gives::Text),
    Known("atan", 1, Spelling::Function("atan"), Gives::Other),
    Known("c", 1, Spelling::Cast("text"), Gives::Text),
    Known("char", 1, Spelling::Cast("text"), Gives::Text),
    Known("concat", 2, Spelling::Operator(" || "), Gives::Text),
    Known("cos", 1, Spelling::Function("cos"), Gives::Other),
    Known("date", 1, Spelling::Cast("date"), Gives::Other),
    Known("exp", 1, Spelling::Function("exp"), Gives::Other),
    Known("float4", 1, Spelling::Cast("float4"), Gives::Other),
    Known("float8", 1, Spelling::Cast("float8"), Gives::Other),
    Known("ifnull", 2, Spelling::Function("coalesce"), Gives::Other),
    Known("int1", 1, Spelling::Cast("int2"), Gives::Other),
    Known("int2", 1, Spelling::Cast("int2"), Gives::Other),
    Known("int4", 1, Spelling::Cast("int4"), Gives::Other),
    Known("int8", 1, Spelling::Cast("int8"), Gives::Other),
    Known("left", 2, Spelling::Function("left"), Gives::Text),
    Known("length", 1, Spelling::Function("length"), Gives::Other),
    Known("log", 1, Spelling::Function("ln"), Gives::Other),
    Known("lowercase", 1, Spelling::Function("lower"), Gives::Text),
    Known("mod", 2, Spelling::Function("mod"), Gives::Other),
    Known("money", 1, Spelling::Cast("numeric(14,2)"), Gives::Other),
    Known("right", 2, Spelling::Function("right"), Gives::Text),
    Known("sin", 1, Spelling::Function("sin"), Gives::Other),
    Known("sqrt", 1, Spelling::Function("sqrt"), Gives::Other),
    Known("text", 1, Spelling::Cast("text"), Gives::Text),
    Known("trim", 1, Spelling::Function("rtrim"), Gives::Text),
    Known("uppercase", 1, Spelling::Function("upper"), Gives::Text),
    Known("varchar", 1, Spelling::Cast("text"), Gives::Text),
    Known("vchar", 1, Spelling::Cast("text"), Gives::Text),
];

/// Whether a function gives a text.
pub(crate) fn gives_text(name: &str) -> bool {
    KNOWN.iter().any(|known| known.0 == name && known.3 == Gives::Text)
}

/// A call. Errors: 42883 for a function that QUEL has not, or with another number of arguments.
pub(crate) fn call(name: &str, arguments: &[SqlText], at: usize) -> Result<SqlText> {
    let Some(known) = KNOWN.iter().find(|known| known.0 == name && known.1 == arguments.len()) else {
        let count = arguments.len();
        let message = format!("QUEL has no function {name} of {count} argument{}", if count == 1 { "" } else { "s" });
        return Err(QuelError::new(sqlstate::UNDEFINED_FUNCTION, message, at));
    };
    let mut sql = SqlText::default();
    sql.mark(at);
    match known.2 {
        Spelling::Function(function) => {
            sql.push(function);
            sql.append(&SqlText::joined(arguments, ", ").in_parentheses());
        }
        Spelling::Cast(data_type) => {
            sql.push("CAST(");
            sql.append(&arguments[0]);
            sql.push(&format!(" AS {data_type})"));
        }
        Spelling::Operator(operator) => {
            let each: Vec<SqlText> = arguments.iter().map(SqlText::in_parentheses).collect();
            sql.append(&SqlText::joined(&each, operator).in_parentheses());
        }
    }
    Ok(sql)
}
