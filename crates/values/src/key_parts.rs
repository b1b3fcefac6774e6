//! What keys are made of, and `jsonb` within them: integers, strings, numerics and addresses whose bytes order as they do.

use crate::bits::BitString;
use crate::error::ValueError;
use crate::limits::{MICROSECONDS_PER_SECOND, NUMERIC_FRACTION_DIGITS_MAX, NUMERIC_INTEGER_DIGITS_MAX};
use crate::network::InetAddress;
use crate::zoned_time::ZonedTime;
use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};
use std::net::IpAddr;

/// Marker of fixed-length values and strings.
pub(crate) const PRESENT: u8 = 0x01;
pub(crate) const NUMERIC_NEGATIVE: u8 = 0x01;
pub(crate) const NUMERIC_ZERO: u8 = 0x02;
pub(crate) const NUMERIC_POSITIVE: u8 = 0x03;
/// Marker of the integer 0. The marker of n > 0 is this plus its number of bytes; of n < 0, one less than this minus the
/// number of bytes of -1 - n.
pub(crate) const INTEGER_ZERO: u8 = 0x80;
/// Ends a string, lower than any byte within one; and an array, lower than any marker.
pub(crate) const END: u8 = 0x00;
/// Escapes the bytes 0x00 and 0x01 within a string as 0x01 0x01 and 0x01 0x02.
pub(crate) const ESCAPE: u8 = 0x01;

#[cold]
pub(crate) fn unknown_marker() -> ValueError {
    ValueError::corrupt("a key has an unknown marker")
}

pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], ValueError> {
    let (taken, after) =
        rest.split_first_chunk::<N>().ok_or_else(|| ValueError::corrupt("a key ends within a value"))?;
    *rest = after;
    Ok(*taken)
}

/// Families of addresses in their order.
const FAMILY_4: u8 = 4;
const FAMILY_6: u8 = 6;

/// A bit string is its bytes as a string, and how many bits of the last byte there are.
pub(crate) fn append_bits(bits: &BitString, out: &mut Vec<u8>) {
    append_string(bits.bytes(), out);
    let unused = bits.bytes().len() * 8 - bits.length() as usize;
    out.push(8 - unused as u8);
}

pub(crate) fn bits(rest: &mut &[u8]) -> Result<BitString, ValueError> {
    let bytes = string(rest)?;
    let [used] = take::<1>(rest)?;
    let damaged = || ValueError::corrupt("the bits of a key");
    let unused = usize::from(8_u8.checked_sub(used).ok_or_else(damaged)?);
    let length = (bytes.len() * 8).checked_sub(unused).and_then(|length| u32::try_from(length).ok());
    BitString::of_bytes(length.ok_or_else(damaged)?, &bytes).ok_or_else(damaged)
}

/// A time with a zone is the time at Greenwich, and the seconds that its zone is west of there.
pub(crate) fn append_zoned_time(zoned: &ZonedTime, out: &mut Vec<u8>) {
    append_integer(zoned.universal(), out);
    append_integer(-i64::from(zoned.offset), out);
}

pub(crate) fn zoned_time(marker: u8, rest: &mut &[u8]) -> Result<ZonedTime, ValueError> {
    let universal = integer(marker, rest)?;
    let [marker] = take::<1>(rest)?;
    let west = integer(marker, rest)?;
    let damaged = || ValueError::corrupt("the offset of a time in a key");
    let offset = west.checked_neg().and_then(|offset| i32::try_from(offset).ok()).ok_or_else(damaged)?;
    let time = universal.checked_add(i64::from(offset) * MICROSECONDS_PER_SECOND).ok_or_else(damaged)?;
    Ok(ZonedTime { time, offset })
}

/// Family, address of the network, length of the mask, and of the whole address the bytes that are not all the network's.
pub(crate) fn append_network(network: &InetAddress, out: &mut Vec<u8>) {
    let family = if network.address().is_ipv4() { FAMILY_4 } else { FAMILY_6 };
    out.extend_from_slice(&[PRESENT, family]);
    out.extend_from_slice(&network.network().octets());
    out.push(network.bits());
    out.extend_from_slice(&network.octets()[usize::from(network.bits() / 8)..]);
}

pub(crate) fn network(rest: &mut &[u8]) -> Result<InetAddress, ValueError> {
    let address = match take::<1>(rest)?[0] {
        FAMILY_4 => IpAddr::from(take::<4>(rest)?),
        FAMILY_6 => IpAddr::from(take::<16>(rest)?),
        _ => return Err(unknown_marker()),
    };
    let [bits] = take::<1>(rest)?;
    let damaged = || ValueError::corrupt("an address in a key");
    let whole = InetAddress::new(address, bits).ok_or_else(damaged)?;
    let mut octets = whole.octets();
    for octet in &mut octets[usize::from(bits / 8)..] {
        [*octet] = take::<1>(rest)?;
    }
    let address = match (<[u8; 4]>::try_from(octets.as_slice()), <[u8; 16]>::try_from(octets.as_slice())) {
        (Ok(octets), _) => IpAddr::from(octets),
        (_, Ok(octets)) => IpAddr::from(octets),
        _ => return Err(damaged()),
    };
    let network = InetAddress::new(address, bits).ok_or_else(damaged)?;
    if network.network() == whole { Ok(network) } else { Err(damaged()) }
}

pub(crate) fn narrow<N: TryFrom<i64>>(number: i64) -> Result<N, ValueError> {
    N::try_from(number).map_err(|_| ValueError::corrupt("a number in a key exceeds its type"))
}

/// Bytes without leading zero bytes: 0 for 0.
pub(crate) fn significant_bytes(number: u64) -> usize {
    size_of::<u64>() - number.leading_zeros() as usize / 8
}

pub(crate) fn append_integer(number: i64, out: &mut Vec<u8>) {
    let (marker, length) = if number >= 0 {
        let length = significant_bytes(number as u64);
        (INTEGER_ZERO + length as u8, length)
    } else {
        let length = significant_bytes(!number as u64);
        (INTEGER_ZERO - 1 - length as u8, length)
    };
    out.push(marker);
    out.extend_from_slice(&number.to_be_bytes()[size_of::<i64>() - length..]);
}

pub(crate) fn integer(marker: u8, rest: &mut &[u8]) -> Result<i64, ValueError> {
    let negative = marker < INTEGER_ZERO;
    let length = usize::from(if negative { INTEGER_ZERO - 1 - marker } else { marker - INTEGER_ZERO });
    if length > size_of::<i64>() {
        return Err(unknown_marker());
    }
    let (digits, after) =
        rest.split_at_checked(length).ok_or_else(|| ValueError::corrupt("a key ends within a number"))?;
    *rest = after;
    let mut bytes = [if negative { 0xff } else { 0 }; size_of::<i64>()];
    bytes[size_of::<i64>() - length..].copy_from_slice(digits);
    let number = i64::from_be_bytes(bytes);
    let magnitude = if negative { !number } else { number };
    if magnitude < 0 || significant_bytes(magnitude as u64) != length {
        return Err(ValueError::corrupt("a number in a key is not in its shortest form"));
    }
    Ok(number)
}

pub(crate) fn append_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 2);
    out.push(PRESENT);
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte <= ESCAPE) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[ESCAPE, rest[at] + 1]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(END);
}

pub(crate) fn string(rest: &mut &[u8]) -> Result<Vec<u8>, ValueError> {
    let mut bytes = Vec::new();
    loop {
        let at = rest
            .iter()
            .position(|&byte| byte <= ESCAPE)
            .ok_or_else(|| ValueError::corrupt("a string in a key does not end"))?;
        bytes.extend_from_slice(&rest[..at]);
        let found = rest[at];
        *rest = &rest[at + 1..];
        if found == END {
            return Ok(bytes);
        }
        match take::<1>(rest)? {
            [escaped @ 1..=2] => bytes.push(escaped - 1),
            _ => return Err(ValueError::corrupt("a string in a key has a wrong escape")),
        }
    }
}

/// A numeric is its sign, the exponent e of 0.d1d2d3... * 10^e with d1 > 0, and the digits in pairs, each pair plus 1 in
/// a byte, ended by 0. Behind a negative sign all bytes are inverted.
pub(crate) fn append_numeric(number: &BigDecimal, out: &mut Vec<u8>) {
    let (unscaled, scale) = number.as_bigint_and_scale();
    let sign = unscaled.sign();
    out.push(match sign {
        Sign::Minus => NUMERIC_NEGATIVE,
        Sign::NoSign => NUMERIC_ZERO,
        Sign::Plus => NUMERIC_POSITIVE,
    });
    if sign == Sign::NoSign {
        return;
    }
    let start = out.len();
    let digits = unscaled.magnitude().to_str_radix(10).into_bytes();
    append_integer((digits.len() as i64).saturating_sub(scale), out);
    let last = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    for pair in digits[..last].chunks(2) {
        let ones = pair.get(1).map_or(0, |digit| digit - b'0');
        out.push((pair[0] - b'0') * 10 + ones + 1);
    }
    out.push(END);
    if sign == Sign::Minus {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}

pub(crate) fn numeric(marker: u8, rest: &mut &[u8]) -> Result<BigDecimal, ValueError> {
    let flip = match marker {
        NUMERIC_ZERO => return Ok(BigDecimal::from(0)),
        NUMERIC_POSITIVE => 0x00,
        NUMERIC_NEGATIVE => 0xff,
        _ => return Err(unknown_marker()),
    };
    // The exponent takes at most 9 bytes.
    let mut head = [0; 1 + size_of::<i64>()];
    let available = rest.len().min(head.len());
    for (plain, byte) in head.iter_mut().zip(rest.iter()) {
        *plain = byte ^ flip;
    }
    let mut exponent_bytes = &head[..available];
    let exponent_marker = take::<1>(&mut exponent_bytes)?[0];
    let exponent = integer(exponent_marker, &mut exponent_bytes)?;
    *rest = &rest[available - exponent_bytes.len()..];

    let end = rest
        .iter()
        .position(|&byte| byte ^ flip == END)
        .ok_or_else(|| ValueError::corrupt("a numeric in a key does not end"))?;
    let mut digits = Vec::with_capacity(2 * end);
    for &byte in &rest[..end] {
        let pair = (byte ^ flip) - 1;
        if pair > 99 {
            return Err(ValueError::corrupt("a numeric in a key has a wrong digit"));
        }
        digits.extend_from_slice(&[pair / 10, pair % 10]);
    }
    *rest = &rest[end + 1..];
    let last = digits.iter().rposition(|&digit| digit != 0).ok_or_else(|| ValueError::corrupt("a numeric key"))?;
    let scale = last as i64 + 1 - exponent.clamp(-i64::from(u32::MAX), i64::from(u32::MAX));
    if digits[0] == 0
        || digits.len() - last > 2
        || exponent > NUMERIC_INTEGER_DIGITS_MAX
        || scale > NUMERIC_FRACTION_DIGITS_MAX
    {
        return Err(ValueError::corrupt("the size of a numeric in a key"));
    }
    let sign = if flip == 0 { Sign::Plus } else { Sign::Minus };
    let unscaled = BigInt::from_radix_be(sign, &digits[..=last], 10).ok_or_else(unknown_marker)?;
    let number = BigDecimal::new(unscaled, scale);
    Ok(if scale < 0 { number.with_scale(0) } else { number })
}
