//! The bytes of ranges and multiranges in a row, as docs/formats.md has them, and in a key.
//!
//! Invariant: as of rows and of keys. Decoding refuses what is not canonical.

use super::{MultirangeValue, RangeCut, RangeKind, RangePoint, RangeSpan, RangeValue};
use crate::error::ValueError;
use crate::key_parts::{END, PRESENT, append_integer, append_numeric, integer, numeric, take, unknown_marker};
use crate::limits::{NUMERIC_FRACTION_DIGITS_MAX, NUMERIC_INTEGER_DIGITS_MAX};
use crate::varint;
use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use std::sync::Arc;

/// The range has no value. This and the next ones are PostgreSQL's.
pub(crate) const EMPTY: u8 = 0x01;
/// The lower bound is in the range.
pub(crate) const INCLUDES_LOWER: u8 = 0x02;
/// The upper bound is in the range.
pub(crate) const INCLUDES_UPPER: u8 = 0x04;
/// There is no lower bound.
pub(crate) const INFINITE_LOWER: u8 = 0x08;
/// There is no upper bound.
pub(crate) const INFINITE_UPPER: u8 = 0x10;

/// PostgreSQL's flags of a range.
pub fn flags(span: Option<&RangeSpan>) -> u8 {
    let Some(span) = span else { return EMPTY };
    let lower = match span.lower() {
        RangeCut::Before(_) => INCLUDES_LOWER,
        RangeCut::Behind(_) => 0,
        RangeCut::Least | RangeCut::Greatest => INFINITE_LOWER,
    };
    let upper = match span.upper() {
        RangeCut::Behind(_) => INCLUDES_UPPER,
        RangeCut::Before(_) => 0,
        RangeCut::Least | RangeCut::Greatest => INFINITE_UPPER,
    };
    lower | upper
}

/// Appends the type and the span.
pub(crate) fn encode_range(range: &RangeValue, out: &mut Vec<u8>) {
    out.push(range.kind() as u8);
    encode_span(range.span(), out);
}

/// Appends the type, the number of spans, and the spans.
pub(crate) fn encode_multirange(multirange: &MultirangeValue, out: &mut Vec<u8>) {
    out.push(multirange.kind() as u8);
    varint::write(multirange.spans().len() as u64, out);
    multirange.spans().iter().for_each(|span| encode_span(Some(span), out));
}

fn encode_span(span: Option<&RangeSpan>, out: &mut Vec<u8>) {
    out.push(flags(span));
    for point in span.into_iter().flat_map(|span| [span.lower(), span.upper()]).filter_map(RangeCut::point) {
        match point {
            RangePoint::Whole(number) => varint::write(varint::zigzag(*number), out),
            RangePoint::Exact(number) => {
                let (unscaled, scale) = number.as_bigint_and_scale();
                varint::write(varint::zigzag(scale), out);
                let bytes = unscaled.to_signed_bytes_le();
                varint::write(bytes.len() as u64, out);
                out.extend_from_slice(&bytes);
            }
        }
    }
}

/// The range that these bytes are. Errors: XX001.
pub(crate) fn decode_range(mut bytes: &[u8]) -> Result<RangeValue, ValueError> {
    let kind = kind(&mut bytes)?;
    let span = match bytes {
        [EMPTY] => return Ok(RangeValue::empty(kind)),
        _ => decode_span(kind, &mut bytes)?,
    };
    if bytes.is_empty() { Ok(RangeValue { kind, span: Some(span) }) } else { Err(damaged()) }
}

/// The multirange that these bytes are. Errors: XX001.
pub(crate) fn decode_multirange(mut bytes: &[u8]) -> Result<MultirangeValue, ValueError> {
    let kind = kind(&mut bytes)?;
    let count = varint::read(&mut bytes)?;
    let mut spans = Vec::new();
    for _ in 0..count {
        spans.push(decode_span(kind, &mut bytes)?);
    }
    if bytes.is_empty() { in_order(kind, spans) } else { Err(damaged()) }
}

fn kind(rest: &mut &[u8]) -> Result<RangeKind, ValueError> {
    let [place] = take::<1>(rest)?;
    RangeKind::ALL.get(usize::from(place)).copied().ok_or_else(damaged)
}

fn decode_span(kind: RangeKind, rest: &mut &[u8]) -> Result<RangeSpan, ValueError> {
    let [flags] = take::<1>(rest)?;
    let lower = match flags & (INCLUDES_LOWER | INFINITE_LOWER) {
        0 => RangeCut::Behind(decode_point(kind, rest)?),
        INCLUDES_LOWER => RangeCut::Before(decode_point(kind, rest)?),
        INFINITE_LOWER => RangeCut::Least,
        _ => return Err(damaged()),
    };
    let upper = match flags & (INCLUDES_UPPER | INFINITE_UPPER) {
        0 => RangeCut::Before(decode_point(kind, rest)?),
        INCLUDES_UPPER => RangeCut::Behind(decode_point(kind, rest)?),
        INFINITE_UPPER => RangeCut::Greatest,
        _ => return Err(damaged()),
    };
    let span = canonical(kind, lower, upper)?;
    if self::flags(Some(&span)) == flags { Ok(span) } else { Err(damaged()) }
}

fn decode_point(kind: RangeKind, rest: &mut &[u8]) -> Result<RangePoint, ValueError> {
    let number = varint::unzigzag(varint::read(rest)?);
    if kind != RangeKind::Numeric {
        return Ok(RangePoint::Whole(number));
    }
    // Printing takes memory in proportion to the scale.
    if !(-NUMERIC_INTEGER_DIGITS_MAX..=NUMERIC_FRACTION_DIGITS_MAX).contains(&number) {
        return Err(damaged());
    }
    let length = usize::try_from(varint::read(rest)?).map_err(|_| damaged())?;
    let (bytes, behind) = rest.split_at_checked(length).ok_or_else(damaged)?;
    *rest = behind;
    let unscaled = BigInt::from_signed_bytes_le(bytes);
    if unscaled.to_signed_bytes_le() != bytes {
        return Err(damaged());
    }
    Ok(RangePoint::Exact(Arc::new(BigDecimal::new(unscaled, number))))
}

/// A span of bounds that are its type's, and canonical.
fn canonical(kind: RangeKind, lower: RangeCut, upper: RangeCut) -> Result<RangeSpan, ValueError> {
    let fits = |cut: &RangeCut| cut.point().is_none_or(|point| kind.value(point).is_some());
    if !fits(&lower) || !fits(&upper) {
        return Err(damaged());
    }
    let span = RangeSpan::new(kind, lower.clone(), upper.clone()).ok().flatten();
    span.filter(|span| *span.lower() == lower && *span.upper() == upper).ok_or_else(damaged)
}

/// A multirange of spans that ascend, with gaps between them.
fn in_order(kind: RangeKind, spans: Vec<RangeSpan>) -> Result<MultirangeValue, ValueError> {
    match spans.windows(2).all(|pair| pair[0].upper().order(pair[1].lower()).is_lt()) {
        true => Ok(MultirangeValue { kind, spans }),
        false => Err(damaged()),
    }
}

#[cold]
fn damaged() -> ValueError {
    ValueError::corrupt("a range")
}

/// Before a span in a key, above [`END`].
const SPAN: u8 = 0x02;
/// Markers of bounds, in their order.
const LEAST: u8 = 0x01;
const FINITE: u8 = 0x02;
const GREATEST: u8 = 0x03;
/// What follows a bound's value: whether the bound lies before or behind that value.
const BEFORE: u8 = 0x01;
const BEHIND: u8 = 0x02;

/// Appends the span of a range, or that there is none.
pub(crate) fn append_range_key(range: &RangeValue, out: &mut Vec<u8>) {
    out.push(PRESENT);
    match range.span() {
        None => out.push(END),
        Some(span) => append_span(span, out),
    }
}

/// Appends the spans of a multirange and its end.
pub(crate) fn append_multirange_key(multirange: &MultirangeValue, out: &mut Vec<u8>) {
    out.push(PRESENT);
    multirange.spans().iter().for_each(|span| append_span(span, out));
    out.push(END);
}

fn append_span(span: &RangeSpan, out: &mut Vec<u8>) {
    out.push(SPAN);
    for cut in [span.lower(), span.upper()] {
        let (point, side) = match cut {
            RangeCut::Least => {
                out.push(LEAST);
                continue;
            }
            RangeCut::Greatest => {
                out.push(GREATEST);
                continue;
            }
            RangeCut::Before(point) => (point, BEFORE),
            RangeCut::Behind(point) => (point, BEHIND),
        };
        out.push(FINITE);
        match point {
            RangePoint::Whole(number) => append_integer(*number, out),
            RangePoint::Exact(number) => append_numeric(number, out),
        }
        out.push(side);
    }
}

/// Reads what [`append_range_key`] has written behind its first marker. Errors: XX001.
pub(crate) fn range_of_key(kind: RangeKind, rest: &mut &[u8]) -> Result<RangeValue, ValueError> {
    Ok(RangeValue { kind, span: span_of_key(kind, rest)? })
}

/// Reads what [`append_multirange_key`] has written behind its first marker. Errors: XX001.
pub(crate) fn multirange_of_key(kind: RangeKind, rest: &mut &[u8]) -> Result<MultirangeValue, ValueError> {
    let mut spans = Vec::new();
    while let Some(span) = span_of_key(kind, rest)? {
        spans.push(span);
    }
    in_order(kind, spans)
}

fn span_of_key(kind: RangeKind, rest: &mut &[u8]) -> Result<Option<RangeSpan>, ValueError> {
    match take::<1>(rest)? {
        [END] => return Ok(None),
        [SPAN] => {}
        _ => return Err(unknown_marker()),
    }
    let lower = cut_of_key(kind, rest)?;
    let upper = cut_of_key(kind, rest)?;
    canonical(kind, lower, upper).map(Some)
}

fn cut_of_key(kind: RangeKind, rest: &mut &[u8]) -> Result<RangeCut, ValueError> {
    match take::<1>(rest)? {
        [LEAST] => return Ok(RangeCut::Least),
        [GREATEST] => return Ok(RangeCut::Greatest),
        [FINITE] => {}
        _ => return Err(unknown_marker()),
    }
    let [marker] = take::<1>(rest)?;
    let point = match kind {
        RangeKind::Numeric => RangePoint::Exact(Arc::new(numeric(marker, rest)?)),
        _ => RangePoint::Whole(integer(marker, rest)?),
    };
    match take::<1>(rest)? {
        [BEFORE] => Ok(RangeCut::Before(point)),
        [BEHIND] => Ok(RangeCut::Behind(point)),
        _ => Err(unknown_marker()),
    }
}
