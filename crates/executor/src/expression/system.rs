//! CURRENT_DATE and its like.

use crate::error::Interruption;
use crate::run::RunState;
use grammar::ast::SqlValue;
use values::{Type, Value};

/// The value in this execution. The planner lets through only those that are here.
pub fn sql_value(value: SqlValue, precision: Option<i32>, run: &mut RunState<'_, '_>) -> Result<Value, Interruption> {
    let (now, zone) = (run.environment.transaction_time, run.environment.zone);
    let moment = |moment: i64| match precision {
        Some(digits @ 0..6) => {
            let unit = 10_i64.pow(6 - digits as u32);
            moment.saturating_add(unit / 2).div_euclid(unit) * unit
        }
        _ => moment,
    };
    Ok(match value {
        SqlValue::CurrentTimestamp => Value::TimestampTz(moment(now)),
        SqlValue::LocalTimestamp => {
            values::cast::explicit_in(&Value::TimestampTz(moment(now)), Type::Timestamp(None), zone)?
        }
        SqlValue::CurrentDate => values::cast::explicit_in(&Value::TimestampTz(now), Type::Date, zone)?,
        SqlValue::LocalTime => values::cast::explicit_in(&Value::TimestampTz(moment(now)), Type::Time(None), zone)?,
        SqlValue::CurrentRole | SqlValue::CurrentUser | SqlValue::User => {
            Value::text(run.environment.session.current_user())
        }
        SqlValue::SessionUser => Value::text(run.environment.session.session_user()),
        SqlValue::CurrentCatalog => Value::text(run.environment.session.database()),
        SqlValue::CurrentTime => values::cast::explicit_in(&Value::TimestampTz(moment(now)), Type::TimeTz(None), zone)?,
        SqlValue::CurrentSchema => Value::Null,
    })
}

/// Whether a value is among those above.
pub fn is_built(value: SqlValue) -> bool {
    !matches!(value, SqlValue::CurrentSchema)
}
