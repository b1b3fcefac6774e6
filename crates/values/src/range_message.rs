//! Ranges and multiranges in binary: `range_send`, `range_recv` and those of multiranges of PostgreSQL 15.

use crate::binary;
use crate::error::{ValueError, sqlstate};
use crate::ranges::stored::{EMPTY, INCLUDES_LOWER, INCLUDES_UPPER, INFINITE_LOWER, INFINITE_UPPER, flags};
use crate::ranges::{MultirangeValue, RangeKind, RangeSpan, RangeValue};
use crate::value::Value;

/// Appends flags, and each finite bound behind its length.
pub(crate) fn write_range(range: &RangeValue, out: &mut Vec<u8>) {
    write_span(range.kind(), range.span(), out);
}

/// Appends the number of ranges, and each behind its length.
pub(crate) fn write_multirange(multirange: &MultirangeValue, out: &mut Vec<u8>) {
    out.extend_from_slice(&(multirange.spans().len() as u32).to_be_bytes());
    for span in multirange.spans() {
        with_length(out, |out| write_span(multirange.kind(), Some(span), out));
    }
}

fn write_span(kind: RangeKind, span: Option<&RangeSpan>, out: &mut Vec<u8>) {
    out.push(flags(span));
    let points = span.into_iter().flat_map(|span| [span.lower(), span.upper()]).filter_map(|cut| cut.point());
    for value in points.filter_map(|point| kind.value(point)) {
        with_length(out, |out| binary::write(&value, kind.subtype(), out));
    }
}

fn with_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; size_of::<u32>()]);
    write(out);
    let length = (out.len() - start - size_of::<u32>()) as u32;
    out[start..start + size_of::<u32>()].copy_from_slice(&length.to_be_bytes());
}

/// Reads what [`write_range`] writes. Errors: 08P01, 22P03, those of the bounds, and of [`RangeSpan::new`].
pub(crate) fn parse_range(bytes: &[u8], kind: RangeKind) -> Result<RangeValue, ValueError> {
    let mut rest = bytes;
    let (flags, behind) = rest.split_first().ok_or_else(|| cut_off("no data left in message"))?;
    rest = behind;
    let is_empty = flags & EMPTY != 0;
    let mut bound = |infinite: u8| -> Result<Value, ValueError> {
        match is_empty || flags & infinite != 0 {
            true => Ok(Value::Null),
            false => binary::parse(part(&mut rest)?, kind.subtype()),
        }
    };
    let (lower, upper) = (bound(INFINITE_LOWER)?, bound(INFINITE_UPPER)?);
    if !rest.is_empty() {
        return Err(left_over());
    }
    if is_empty {
        return Ok(RangeValue::empty(kind));
    }
    RangeValue::of_values(kind, (&lower, flags & INCLUDES_LOWER != 0), (&upper, flags & INCLUDES_UPPER != 0))
}

/// Reads what [`write_multirange`] writes. Errors: as [`parse_range`].
pub(crate) fn parse_multirange(bytes: &[u8], kind: RangeKind) -> Result<MultirangeValue, ValueError> {
    let mut rest = bytes;
    let count = number(&mut rest)?;
    let mut spans = Vec::new();
    for _ in 0..count {
        spans.extend(parse_range(part(&mut rest)?, kind)?.span().cloned());
    }
    if rest.is_empty() { Ok(MultirangeValue::new(kind, spans)) } else { Err(left_over()) }
}

fn number(rest: &mut &[u8]) -> Result<u32, ValueError> {
    let (number, behind) = rest.split_first_chunk().ok_or_else(|| cut_off("insufficient data left in message"))?;
    *rest = behind;
    Ok(u32::from_be_bytes(*number))
}

fn part<'b>(rest: &mut &'b [u8]) -> Result<&'b [u8], ValueError> {
    let length = number(rest)? as usize;
    let (part, behind) = rest.split_at_checked(length).ok_or_else(|| cut_off("insufficient data left in message"))?;
    *rest = behind;
    Ok(part)
}

#[cold]
fn cut_off(message: &str) -> ValueError {
    ValueError::new(sqlstate::PROTOCOL_VIOLATION, message)
}

#[cold]
fn left_over() -> ValueError {
    ValueError::new(sqlstate::INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
}
