//! Functions that make UUIDs (RFC 4122): PostgreSQL's own, and those of the extension `uuid-ossp` that need no digest.

use super::{Environment, FunctionBody, FunctionEntry, FunctionVolatility, entry};
use crate::types::Type;
use crate::value::Value;

/// Hundreds of nanoseconds from 1582-10-15, where UUIDs count from, to 2000-01-01.
const TICKS_TO_2000: i64 = 0x01b2_1dd2_1381_4000 + 946_684_800 * 10_000_000;

pub(super) const TABLE: &[FunctionEntry] = &[
    random("gen_random_uuid", RANDOM),
    random("uuid_generate_v4", RANDOM),
    random("uuid_generate_v1", |_, environment| Ok(of_time(environment, 0x01))),
    // Bits of its first byte say that an address is of many, and given out locally.
    random("uuid_generate_v1mc", |_, environment| Ok(of_time(environment, 0x03))),
    constant("uuid_nil", |_, _| Ok(Value::Uuid([0; 16]))),
    constant("uuid_ns_dns", |_, _| Ok(namespace(0x10))),
    constant("uuid_ns_url", |_, _| Ok(namespace(0x11))),
    constant("uuid_ns_oid", |_, _| Ok(namespace(0x12))),
    constant("uuid_ns_x500", |_, _| Ok(namespace(0x14))),
];

const RANDOM: FunctionBody = |_, environment| {
    let (high, low) = ((environment.random)(), (environment.random)());
    Ok(Value::Uuid(of_version(4, ((u128::from(high) << 64) | u128::from(low)).to_be_bytes())))
};

const fn random(name: &'static str, body: FunctionBody) -> FunctionEntry {
    FunctionEntry { name, parameters: &[], result: Type::Uuid, volatility: FunctionVolatility::Volatile, body }
}

const fn constant(name: &'static str, body: FunctionBody) -> FunctionEntry {
    entry(name, &[], Type::Uuid, body)
}

/// Puts version and variant in their places (section 4.1).
pub fn of_version(version: u8, mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// A namespace of appendix C. They differ in one byte.
fn namespace(last_of_time: u8) -> Value {
    Value::Uuid([
        0x6b,
        0xa7,
        0xb8,
        last_of_time,
        0x9d,
        0xad,
        0x11,
        0xd1,
        0x80,
        0xb4,
        0x00,
        0xc0,
        0x4f,
        0xd4,
        0x30,
        0xc8,
    ])
}

/// Version 1: the time, and a clock sequence and a node that are random (section 4.5). No machine's address is in it. Calls of one statement have the same
/// microsecond, and differ by the 61 bits and more that are drawn for each.
fn of_time(environment: &mut Environment<'_>, node_bits: u8) -> Value {
    let (ticks, rest) = ((environment.random)(), (environment.random)());
    let time = environment.statement_time.wrapping_mul(10).wrapping_add(TICKS_TO_2000 + (ticks % 10) as i64) as u64;
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(time as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((time >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((time >> 48) as u16).to_be_bytes());
    bytes[8..].copy_from_slice(&rest.to_be_bytes());
    bytes[10] |= node_bits;
    Value::Uuid(of_version(1, bytes))
}

#[cfg(test)]
mod tests {
    use super::super::lookup;
    use super::*;
    use crate::zone::Zone;

    fn made(name: &str, statement_time: i64, bits: u64) -> String {
        let zone = Zone::default();
        let function = lookup(name, &[]).expect(name);
        let mut random = || bits;
        let mut environment = Environment { statement_time, zone: &zone, random: &mut random };
        let value = function.call(&[], &mut environment).expect("it has a value");
        crate::text::to_string(&value).expect("it is not NULL")
    }

    /// Programs take versions, variants and times out of them.
    #[test]
    fn uuids_have_their_version_and_time() {
        assert_eq!(made("uuid_generate_v4", 0, u64::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        // 2000-01-01 00:00 UTC, as the extension's own functions read it.
        assert_eq!(made("uuid_generate_v1", 0, 0), "63b00000-bfde-11d3-8000-010000000000");
        assert_eq!(made("uuid_generate_v1mc", 1, 0), "63b0000a-bfde-11d3-8000-030000000000");
        assert_eq!(made("uuid_ns_x500", 0, 0), "6ba7b814-9dad-11d1-80b4-00c04fd430c8");
        assert_eq!(made("uuid_nil", 0, 0), "00000000-0000-0000-0000-000000000000");
    }
}
