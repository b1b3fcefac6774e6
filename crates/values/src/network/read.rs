//! Reads `inet` and `cidr` as PostgreSQL 15's `inet_net_pton.c` does, whose rules are none of an RFC's: an octet may have any number of
//! leading zeros, `10.1/16` is an address, and a `cidr` without a mask has that of its class.

use super::{BITS_4, BITS_6, InetAddress};
use crate::error::{ValueError, sqlstate};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Octets of an address of IPv4.
const OCTETS_4: usize = 4;
/// Octets of an address of IPv6.
const OCTETS_6: usize = 16;
/// Hexadecimal digits of a group of IPv6, at most.
const GROUP_DIGITS_MAX: usize = 4;

/// Reads an `inet`. Errors: 22P02.
pub fn parse_inet(input: &str) -> Result<InetAddress, ValueError> {
    let found = if input.contains(':') { ipv6(input) } else { inet_ipv4(input.as_bytes()) };
    found.ok_or_else(|| ValueError::syntax("inet", input))
}

/// Reads a `cidr`. Errors: 22P02, also for bits to the right of the mask.
pub fn parse_cidr(input: &str) -> Result<InetAddress, ValueError> {
    let found = if input.contains(':') { ipv6(input) } else { cidr_ipv4(input.as_bytes()) };
    let network = found.ok_or_else(|| ValueError::syntax("cidr", input))?;
    if network.is_whole() {
        return Ok(network);
    }
    let message = format!("invalid cidr value: \"{input}\"");
    let error = ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message);
    Err(error.with_detail("Value has bits set to right of mask."))
}

/// Takes a decimal number up to `max` from the front; `None` if there is none or it is larger.
fn decimal(rest: &mut &[u8], max: u32) -> Option<u8> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, behind) = rest.split_at(digits);
    let mut number = 0;
    for digit in digits {
        number = number * 10 + u32::from(digit - b'0');
        if number > max {
            return None;
        }
    }
    *rest = behind;
    (!digits.is_empty()).then_some(number as u8)
}

/// The mask behind an address of IPv4; `Some(None)` if nothing is there, `None` for anything else.
fn mask_ipv4(rest: &[u8]) -> Option<Option<u8>> {
    let Some((b'/', mut digits)) = rest.split_first() else {
        return rest.is_empty().then_some(None);
    };
    let bits = decimal(&mut digits, u32::from(BITS_4))?;
    digits.is_empty().then_some(Some(bits))
}

fn ipv4(octets: &[u8], bits: u8) -> Option<InetAddress> {
    let mut all = [0; OCTETS_4];
    all.get_mut(..octets.len())?.copy_from_slice(octets);
    InetAddress::new(Ipv4Addr::from_octets(all).into(), bits)
}

/// Octets of which the mask needs no more than those written; without a mask all four.
fn inet_ipv4(input: &[u8]) -> Option<InetAddress> {
    let mut rest = input;
    let mut octets = Vec::with_capacity(OCTETS_4);
    // A point may stand behind the last one.
    while rest.first().is_some_and(u8::is_ascii_digit) {
        octets.push(decimal(&mut rest, u32::from(u8::MAX))?);
        match rest.split_first() {
            Some((b'.', behind)) => rest = behind,
            None | Some((b'/', _)) => break,
            Some(_) => return None,
        }
    }
    let bits = match mask_ipv4(rest)? {
        Some(bits) => bits,
        None if octets.len() == OCTETS_4 => BITS_4,
        None => return None,
    };
    let is_written = !octets.is_empty() && usize::from(bits / 8) <= octets.len();
    if is_written { ipv4(&octets, bits) } else { None }
}

/// Octets in decimal, or all of them in hexadecimal behind `0x`; the mask of their class, if none is written.
fn cidr_ipv4(input: &[u8]) -> Option<InetAddress> {
    let mut octets = Vec::with_capacity(OCTETS_4);
    let rest = match input {
        [b'0', b'x' | b'X', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
            let count = digits.iter().take_while(|digit| digit.is_ascii_hexdigit()).count();
            let (digits, rest) = digits.split_at(count);
            let nibble = |digit: &u8| char::from(*digit).to_digit(16).map_or(0, |digit| digit as u8);
            octets.extend(digits.chunks(2).map(|pair| nibble(&pair[0]) << 4 | pair.get(1).map_or(0, nibble)));
            rest
        }
        _ => {
            let mut rest = input;
            octets.push(decimal(&mut rest, u32::from(u8::MAX))?);
            while let Some((b'.', behind)) = rest.split_first() {
                rest = behind;
                octets.push(decimal(&mut rest, u32::from(u8::MAX))?);
            }
            rest
        }
    };
    let bits = mask_ipv4(rest)?.unwrap_or_else(|| class_mask(&octets));
    ipv4(&octets, bits)
}

/// The mask of a network's class, or of the octets that are written, if that is longer.
fn class_mask(octets: &[u8]) -> u8 {
    let of_class = match octets[0] {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    match of_class.max((octets.len() * 8).min(usize::from(u8::MAX)) as u8) {
        8 if octets[0] == 224 => 4,
        bits => bits,
    }
}

/// Groups of hexadecimal digits, of which `::` stands for any number of zeros, an IPv4 address in place of the last two, and a mask.
fn ipv6(input: &str) -> Option<InetAddress> {
    let mut octets = Vec::with_capacity(OCTETS_6);
    // Where `::` stands, in octets.
    let mut gap = None;
    let mut bits = BITS_6;
    let mut rest = match input.as_bytes() {
        [b':', b':', ..] => &input.as_bytes()[1..],
        [b':', ..] => return None,
        all => all,
    };
    loop {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits > GROUP_DIGITS_MAX {
            return None;
        }
        let (group, behind) = rest.split_at(digits);
        if let Some(b'.') = behind.first().filter(|_| octets.len() + OCTETS_4 <= OCTETS_6) {
            let (inner, mask) = inner_ipv4(rest)?;
            octets.extend_from_slice(&inner);
            bits = mask.unwrap_or(bits);
            break;
        }
        if !group.is_empty() {
            if octets.len() + 2 > OCTETS_6 {
                return None;
            }
            let number = group.iter().try_fold(0_u16, |number, digit| {
                char::from(*digit).to_digit(16).map(|digit| number << 4 | digit as u16)
            })?;
            octets.extend_from_slice(&number.to_be_bytes());
        }
        match behind.split_first() {
            None => break,
            Some((b'/', mask)) => {
                bits = mask_ipv6(mask)?;
                break;
            }
            Some((b':', behind)) => {
                if group.is_empty() && gap.replace(octets.len()).is_some() {
                    return None;
                }
                if !group.is_empty() && behind.is_empty() {
                    return None;
                }
                rest = behind;
            }
            Some(_) => return None,
        }
    }
    let mut all = [0; OCTETS_6];
    match gap {
        None if octets.len() == OCTETS_6 => all.copy_from_slice(&octets),
        Some(gap) if octets.len() < OCTETS_6 => {
            let (before, after) = octets.split_at(gap);
            all[..gap].copy_from_slice(before);
            all[OCTETS_6 - after.len()..].copy_from_slice(after);
        }
        _ => return None,
    }
    InetAddress::new(Ipv6Addr::from_octets(all).into(), bits)
}

/// A number without leading zeros, up to a bound.
fn strict_decimal(digits: &[u8], max: u32) -> Option<u8> {
    let is_padded = digits.len() > 1 && digits[0] == b'0';
    let mut rest = digits;
    let number = decimal(&mut rest, max)?;
    (rest.is_empty() && !is_padded).then_some(number)
}

fn mask_ipv6(digits: &[u8]) -> Option<u8> {
    strict_decimal(digits, u32::from(BITS_6))
}

/// One to four octets at the end of an address of IPv6, zeros for those that are missing, and the mask. An octet without digits is zero, but
/// for the last one.
fn inner_ipv4(input: &[u8]) -> Option<([u8; OCTETS_4], Option<u8>)> {
    let mut parts = input.splitn(2, |byte| *byte == b'/');
    let (written, mask) = (parts.next()?, parts.next());
    let mut octets = [0; OCTETS_4];
    let written: Vec<&[u8]> = written.split(|byte| *byte == b'.').collect();
    if written.len() > OCTETS_4 {
        return None;
    }
    let last = written.len() - 1;
    for (place, digits) in written.into_iter().enumerate() {
        if !digits.is_empty() {
            octets[place] = strict_decimal(digits, u32::from(u8::MAX))?;
        } else if place == last && mask.is_none() {
            return None;
        }
    }
    let mask = match mask {
        Some(digits) => Some(mask_ipv6(digits)?),
        None => None,
    };
    Some((octets, mask))
}
