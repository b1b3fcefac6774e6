//! Small constructors of syntax trees.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, ObjectNamePart, OrderByExpr, Value,
};

/// A quoted string.
pub fn text(text: impl Into<String>) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.into()).into())
}

/// A number, as written.
pub fn number(digits: impl ToString) -> Expr {
    Expr::Value(Value::Number(digits.to_string(), false).into())
}

/// NULL.
pub fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

/// `$n`.
pub fn placeholder(number: usize) -> Expr {
    Expr::Value(Value::Placeholder(format!("${number}")).into())
}

/// A quoted name: taken as it is.
pub fn quoted(name: impl Into<String>) -> Ident {
    Ident::with_quote('"', name)
}

/// A name of one part.
pub fn object_name(name: &str) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(quoted(name))])
}

/// `name(arguments)`.
pub fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Function(function(name, arguments))
}

/// `name(arguments)`, as a function.
pub fn function(name: &str, arguments: Vec<Expr>) -> Function {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    Function {
        name: object_name(name),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: vec![] }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    }
}

/// `name(argument ORDER BY ...)`.
pub fn ordered_aggregate(name: &str, argument: Expr, order_by: Vec<OrderByExpr>) -> Expr {
    let mut function = function(name, vec![argument]);
    if let (FunctionArguments::List(list), false) = (&mut function.args, order_by.is_empty()) {
        list.clauses.push(FunctionArgumentClause::OrderBy(order_by));
    }
    Expr::Function(function)
}

/// A cast that DataFusion's own kernels do.
pub fn native_cast(expression: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::DoubleColon, expr: Box::new(expression), data_type, array: false, format: None }
}

/// `left op right`.
pub fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// `CASE WHEN condition THEN value ELSE otherwise END`.
pub fn when(condition: Expr, value: Expr, otherwise: Expr) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result: value }],
        else_result: Some(Box::new(otherwise)),
    }
}

/// In parentheses, so that it stays together when printed.
pub fn nested(expression: Expr) -> Expr {
    Expr::Nested(Box::new(expression))
}

/// The expressions that a call is made with, or `None` when it has named arguments, wildcards or a subquery.
pub fn plain_arguments(arguments: &FunctionArguments) -> Option<Vec<&Expr>> {
    match arguments {
        FunctionArguments::None => Some(vec![]),
        FunctionArguments::Subquery(_) => None,
        FunctionArguments::List(list) => list
            .args
            .iter()
            .map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
                _ => None,
            })
            .collect(),
    }
}

/// The same, to be changed.
pub fn arguments_mut(arguments: &mut FunctionArguments) -> impl Iterator<Item = &mut Expr> {
    let list = match arguments {
        FunctionArguments::List(list) => list.args.as_mut_slice(),
        _ => &mut [],
    };
    list.iter_mut().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
        _ => None,
    })
}

/// The last part of a name, folded as an identifier is.
pub fn last_part(name: &ObjectName) -> String {
    name.0.last().and_then(ObjectNamePart::as_ident).map(folded).unwrap_or_default()
}

/// Lower case unless quoted.
pub fn folded(identifier: &Ident) -> String {
    if identifier.quote_style.is_some() { identifier.value.clone() } else { identifier.value.to_lowercase() }
}
