//! Addresses of IP and of hardware: `inet`, `cidr`, `macaddr` and `macaddr8`.

use super::digests::{extended, hashed, of_bytes, of_bytes_with, seed};
use crate::call::{CallArguments, FunctionResult, Implementation};
use std::cmp::Ordering;
use values::Type::{Cidr, MacAddr, MacAddr8};
use values::hardware::{MacAddress, MacAddress8};
use values::network::{abbreviated, write_host, write_inet, write_shown};
use values::{InetAddress, Value, binary, cast};

/// Bytes of a hardware address that name its maker.
const MAKER_BYTES: usize = 3;
/// The bit of the first byte that a modified EUI-64 has set.
const SEVENTH_BIT: u8 = 0x02;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("inet_abbrev", |call| Ok(written(write_inet, call.network(0)))),
    ("cidr_abbrev", |call| Ok(Value::text(abbreviated(call.network(0))))),
    ("network_host", |call| Ok(written(write_host, call.network(0)))),
    ("network_show", |call| Ok(written(write_shown, call.network(0)))),
    ("network_family", |call| Ok(Value::Integer(call.network(0).family()))),
    ("network_masklen", |call| Ok(Value::Integer(i32::from(call.network(0).bits())))),
    ("network_broadcast", |call| Ok(Value::Inet(call.network(0).broadcast()))),
    ("network_network", |call| Ok(Value::Cidr(call.network(0).network()))),
    ("network_netmask", |call| Ok(Value::Inet(call.network(0).netmask()))),
    ("network_hostmask", |call| Ok(Value::Inet(call.network(0).hostmask()))),
    ("inet_set_masklen", |call| Ok(Value::Inet(call.network(0).with_mask_length(call.integer(1))?))),
    ("cidr_set_masklen", |call| Ok(Value::Cidr(call.network(0).with_mask_length(call.integer(1))?.network()))),
    ("inet_to_cidr", |call| cast::explicit_in(call.value(0), Cidr, call.zone())),
    ("inet_merge", |call| Ok(Value::Cidr(call.network(0).merged(call.network(1))?))),
    ("inet_same_family", |call| Ok((call.network(0).family() == call.network(1).family()).into())),
    ("network_sub", |call| Ok(is_within(call, 0, 1, Ordering::is_ne))),
    ("network_subeq", |call| Ok(is_within(call, 0, 1, |_| true))),
    ("network_sup", |call| Ok(is_within(call, 1, 0, Ordering::is_ne))),
    ("network_supeq", |call| Ok(is_within(call, 1, 0, |_| true))),
    ("network_overlap", |call| Ok(call.network(0).overlaps(call.network(1)).into())),
    ("inetnot", |call| Ok(Value::Inet(call.network(0).complement()))),
    ("inetand", |call| Ok(Value::Inet(call.network(0).and(call.network(1))?))),
    ("inetor", |call| Ok(Value::Inet(call.network(0).or(call.network(1))?))),
    ("inetpl", |call| Ok(Value::Inet(call.network(0).plus(call.integer(1))?))),
    ("inetmi_int8", |call| Ok(Value::Inet(call.network(0).plus(call.integer(1).wrapping_neg())?))),
    ("inetmi", |call| Ok(Value::BigInt(call.network(0).minus(call.network(1))?))),
    ("hashinet", |call| hashed(of_bytes(&hashed_bytes(call)))),
    ("hashinetextended", |call| extended(of_bytes_with(&hashed_bytes(call), seed(call)))),
    ("macaddr_not", |call| Ok(each_byte(call, |byte, _| !byte))),
    ("macaddr_and", |call| Ok(each_byte(call, |one, other| one & other))),
    ("macaddr_or", |call| Ok(each_byte(call, |one, other| one | other))),
    ("macaddr_trunc", |call| Ok(of_maker(call))),
    ("macaddr8_not", |call| Ok(each_byte(call, |byte, _| !byte))),
    ("macaddr8_and", |call| Ok(each_byte(call, |one, other| one & other))),
    ("macaddr8_or", |call| Ok(each_byte(call, |one, other| one | other))),
    ("macaddr8_trunc", |call| Ok(of_maker(call))),
    ("macaddr8_set7bit", |call| {
        let mut bytes = call.hardware(0).to_vec();
        bytes[0] |= SEVENTH_BIT;
        Ok(hardware(&bytes))
    }),
    ("macaddrtomacaddr8", |call| cast::explicit_in(call.value(0), MacAddr8, call.zone())),
    ("macaddr8tomacaddr", |call| cast::explicit_in(call.value(0), MacAddr, call.zone())),
    ("hashmacaddr", |call| hashed(of_bytes(call.hardware(0)))),
    ("hashmacaddrextended", |call| extended(of_bytes_with(call.hardware(0), seed(call)))),
    ("hashmacaddr8", |call| hashed(of_bytes(call.hardware(0)))),
    ("hashmacaddr8extended", |call| extended(of_bytes_with(call.hardware(0), seed(call)))),
];

/// `int8pl_inet`, which PostgreSQL writes in SQL.
pub(super) const BY_NUMBER: &[(u32, Implementation)] = &[(2631, after)];

fn after(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::Inet(call.network(1).plus(call.integer(0))?))
}

fn written(write: fn(&InetAddress, &mut Vec<u8>), network: &InetAddress) -> Value {
    let mut bytes = Vec::new();
    write(network, &mut bytes);
    Value::text(String::from_utf8_lossy(&bytes))
}

/// Whether one argument is within another, and the lengths of their masks compare like this.
fn is_within(call: &CallArguments<'_, '_>, inner: usize, outer: usize, lengths: fn(Ordering) -> bool) -> Value {
    let (inner, outer) = (call.network(inner), call.network(outer));
    (inner.is_within(outer) && lengths(inner.bits().cmp(&outer.bits()))).into()
}

/// What PostgreSQL hashes: family, length of the mask, and the address.
fn hashed_bytes(call: &CallArguments<'_, '_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    binary::write(&Value::Inet(*call.network(0)), values::Type::Inet, &mut bytes);
    // Behind those two, it sends which of the two types it is, and how many bytes there are.
    bytes.drain(2..4);
    bytes
}

/// The address of 6 or 8 bytes.
fn hardware(bytes: &[u8]) -> Value {
    match (MacAddress::try_from(bytes), MacAddress8::try_from(bytes)) {
        (Ok(bytes), _) => Value::MacAddr(bytes),
        (_, Ok(bytes)) => Value::MacAddr8(bytes),
        _ => unreachable!("an address has 6 bytes or 8"),
    }
}

/// Of each byte of the first argument, and of the last one at its place.
fn each_byte(call: &CallArguments<'_, '_>, combine: fn(u8, u8) -> u8) -> Value {
    let (one, other) = (call.hardware(0), call.hardware(call.arguments.len() - 1));
    hardware(&one.iter().zip(other).map(|(one, other)| combine(*one, *other)).collect::<Vec<_>>())
}

/// The address with zeros behind its maker.
fn of_maker(call: &CallArguments<'_, '_>) -> Value {
    let mut bytes = call.hardware(0).to_vec();
    bytes[MAKER_BYTES..].fill(0);
    hardware(&bytes)
}
