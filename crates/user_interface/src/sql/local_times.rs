//! Local times in texts that are kept: of defaults, conditions and views.
//!
//! PostgreSQL reads a constant when its text is analyzed, in the time zone that the session has then. Texts that are kept here are read again when they are
//! used, in UTC. Invariant: a kept text has no constant that another time zone would have read otherwise.

use crate::errors::{Result, SqlError};
use sqlparser::ast::{self, Visit, Visitor};
use std::ops::ControlFlow;
use values::{RangeKind, Type, Zone};

/// The types whose constants are local times, alone and in arrays.
const INSTANTS: [Type; 4] = [
    Type::TimestampTz(None),
    Type::Range(RangeKind::TimestampTz),
    Type::Multirange(RangeKind::TimestampTz),
    Type::TimeTz(None),
];

/// Refuses a text in which a constant is a local time, unless it is read in UTC. A constant that would be one if it was a `timestamptz` counts too: what it becomes
/// is not known here. Errors: 0A000.
pub fn refuse(text: &impl Visit, what: &str, zone: &Zone) -> Result<()> {
    if zone.is_utc() {
        return Ok(());
    }
    match text.visit(&mut KeptConstants(zone)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(constant) => {
            let message = format!("the local time \"{constant}\" in {what}, in the time zone {}", zone.name());
            Err(SqlError::unsupported(message).with_hint("Write its offset behind it, or SET TIME ZONE 'UTC'."))
        }
    }
}

struct KeptConstants<'a>(&'a Zone);

impl Visitor for KeptConstants<'_> {
    type Break = String;

    fn pre_visit_value(&mut self, value: &ast::ValueWithSpan) -> ControlFlow<String> {
        let Some(text) = crate::sql::literals::text_of(&value.value) else { return ControlFlow::Continue(()) };
        let read = |data_type: Type, zone: &Zone| values::text::parse_in(text, data_type, zone).ok();
        match INSTANTS.into_iter().flat_map(|of| [of, of.array()]).all(|of| read(of, self.0) == read(of, &Zone::UTC)) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(text.to_owned()),
        }
    }
}
