//! Quoted literals in IN lists: each gets the type of what it is compared with.
//!
//! Operators have theirs typed while they are planned; lists can only be seen in the finished plan.

use crate::convert::parse_literal;
use crate::types::is_text;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};

/// The plan with all lists typed.
pub fn type_lists(plan: LogicalPlan) -> Result<LogicalPlan> {
    let typed = plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.map_expressions(|expression| expression.transform_up(|part| type_list(part, &schema)))
    })?;
    Ok(typed.data)
}

fn type_list(expression: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::InList(InList { expr, list, negated }) = expression else {
        return Ok(Transformed::no(expression));
    };
    let list: Vec<Expr> = list.into_iter().map(plain).collect();
    let compared = match expr.get_type(schema) {
        Ok(compared) if !is_text(&compared) && compared != DataType::Null => compared,
        _ => return Ok(Transformed::no(Expr::InList(InList { expr, list, negated }))),
    };
    let list = list.into_iter().map(|item| typed(item, &compared)).collect::<Result<_>>()?;
    Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
}

/// A number that is cast, as it stands in a statement, as the literal that it is: a list may have thousands, and each cast is planned for itself.
fn plain(item: Expr) -> Expr {
    let Expr::Cast(cast) = &item else { return item };
    match (&*cast.expr, cast.field.data_type()) {
        (Expr::Literal(number @ ScalarValue::Int64(Some(_)), metadata), wanted @ DataType::Int32) => {
            let literal = number.cast_to(wanted).ok().filter(|literal| !literal.is_null());
            match literal {
                Some(literal) => Expr::Literal(literal, metadata.clone()),
                None => item,
            }
        }
        _ => item,
    }
}

fn typed(item: Expr, compared: &DataType) -> Result<Expr> {
    match &item {
        Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) => match parse_literal(text, compared) {
            Some(literal) => Ok(Expr::Literal(literal?, metadata.clone())),
            None => Ok(item),
        },
        _ => Ok(item),
    }
}
