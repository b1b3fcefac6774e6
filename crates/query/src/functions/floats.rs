//! Functions of double precision: other numbers become doubles, but for functions that PostgreSQL computes to all digits of a numeric.

use super::cast;
use super::rowwise::{self, RowImplementation};
use crate::error::QueryError;
use crate::types;
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use std::sync::Arc;
use values::{Type, Value, cast as casts};

/// The library's, of doubles.
const NATIVE: [&str; 7] = ["asinh", "atan", "atan2", "cbrt", "cosh", "sinh", "tanh"];
/// Those with PostgreSQL's errors.
const CHECKED: [&str; 14] =
    ["acos", "acosh", "asin", "atanh", "cos", "cot", "degrees", "exp", "ln", "log", "log10", "radians", "sin", "tan"];
/// Those of them that PostgreSQL computes to all digits of a numeric.
const OF_NUMERICS: [&str; 4] = ["exp", "ln", "log", "log10"];
/// Degrees in a radian, as PostgreSQL has them (`RADIANS_PER_DEGREE`).
const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

/// The function of that name; `native` is the library's.
pub fn of_name(name: &str, native: Option<&Arc<ScalarUDF>>) -> Option<ScalarUDF> {
    if let Some(name) = CHECKED.iter().find(|known| **known == name) {
        return Some(rowwise::function(Checked { name }));
    }
    let native = native.filter(|_| NATIVE.contains(&name))?;
    let signature = rowwise::any_arguments(native.signature().volatility);
    Some(ScalarUDF::new_from_impl(OfDoubles { native: Arc::clone(native), signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfDoubles {
    native: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for OfDoubles {
    fn name(&self) -> &str {
        self.native.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments.iter().all(|argument| types::is_number(argument) || argument.is_null()) {
            true => Ok(DataType::Float64),
            false => {
                let names: Vec<String> = arguments.iter().map(crate::convert::describe).collect();
                let call = format!("{}({})", self.name(), names.join(", "));
                Err(QueryError::undefined_function(&call).into_datafusion())
            }
        }
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let double = |argument: Expr| -> Result<Expr> {
            let is_double = argument.get_type(info.schema())? == DataType::Float64;
            Ok(if is_double { argument } else { cast::to(argument, Type::Double) })
        };
        let arguments = args.into_iter().map(double).collect::<Result<Vec<_>>>()?;
        Ok(ExprSimplifyResult::Simplified(self.native.call(arguments)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.native.invoke_with_args(args)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    name: &'static str,
}

impl RowImplementation for Checked {
    fn name(&self) -> &str {
        self.name
    }

    fn result(&self, arguments: &[Option<Type>]) -> std::result::Result<Type, QueryError> {
        let [argument] = arguments else {
            return Err(QueryError::unsupported(format!("{} of numeric is not supported", self.name)));
        };
        match argument.unwrap_or(Type::Double) {
            Type::Numeric(_) if OF_NUMERICS.contains(&self.name) => {
                let message = format!("{} of numeric is not supported; cast to double precision", self.name);
                Err(QueryError::unsupported(message))
            }
            known if known.is_number() => Ok(Type::Double),
            other => Err(QueryError::undefined_function(&format!("{}({})", self.name, other.base_name()))),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn call(&self, arguments: &[Value]) -> std::result::Result<Value, QueryError> {
        let Value::Double(number) = casts::explicit(&arguments[0], Type::Double)? else { return Ok(Value::Null) };
        computed(self.name, number).map(Value::Double)
    }
}

/// The function of a number. Errors: 2201E, 22003.
fn computed(name: &str, number: f64) -> std::result::Result<f64, QueryError> {
    let input = || Err(QueryError::new("22003", "input is out of range"));
    let checked = |result: f64| match number.is_finite() && result.is_infinite() {
        true => Err(QueryError::new("22003", "value out of range: overflow")),
        false => Ok(result),
    };
    match name {
        _ if number.is_nan() => Ok(number),
        "exp" if number.is_finite() && number.exp() == 0.0 => {
            Err(QueryError::new("22003", "value out of range: underflow"))
        }
        "exp" => checked(number.exp()),
        "ln" | "log" | "log10" if number == 0.0 => Err(QueryError::new("2201E", "cannot take logarithm of zero")),
        "ln" | "log" | "log10" if number < 0.0 => {
            Err(QueryError::new("2201E", "cannot take logarithm of a negative number"))
        }
        "ln" => Ok(number.ln()),
        "log" | "log10" => Ok(number.log10()),
        "acos" | "asin" | "atanh" if number.abs() > 1.0 => input(),
        "acosh" if number < 1.0 => input(),
        "sin" | "cos" | "tan" | "cot" if number.is_infinite() => input(),
        "acos" => Ok(number.acos()),
        "acosh" => Ok(number.acosh()),
        "asin" => Ok(number.asin()),
        "atanh" => Ok(number.atanh()),
        "sin" => Ok(number.sin()),
        "cos" => Ok(number.cos()),
        "tan" => Ok(number.tan()),
        "cot" => Ok(1.0 / number.tan()),
        "degrees" => checked(number / RADIANS_PER_DEGREE),
        "radians" => Ok(number * RADIANS_PER_DEGREE),
        other => panic!("{other} is none of these functions"),
    }
}
