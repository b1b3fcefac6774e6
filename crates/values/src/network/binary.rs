//! The binary format of `inet` and `cidr`: family, length of the mask, which of the two it is, length and bytes of the address
//! (`network_send` and `network_recv`).

use super::InetAddress;
use crate::error::{ValueError, sqlstate};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `PGSQL_AF_INET`.
const FAMILY_4: u8 = 2;
/// `PGSQL_AF_INET6`.
const FAMILY_6: u8 = 3;

/// Appends an address.
pub(crate) fn write_binary(network: &InetAddress, is_cidr: bool, out: &mut Vec<u8>) {
    let octets = network.octets();
    let family = if octets.len() == 4 { FAMILY_4 } else { FAMILY_6 };
    out.extend_from_slice(&[family, network.bits(), u8::from(is_cidr), octets.len() as u8]);
    out.extend_from_slice(&octets);
}

/// Reads an address; which of the two it says that it is does not count. Errors: 22P03; 08P01 for bytes that are cut off.
pub(crate) fn from_binary(bytes: &[u8], is_cidr: bool) -> Result<InetAddress, ValueError> {
    let name = if is_cidr { "cidr" } else { "inet" };
    let invalid = |what: &str| malformed(format!("invalid {what} in external \"{name}\" value"));
    let byte = |at: usize| bytes.get(at).copied().ok_or_else(cut_off);
    let (width, length) = match byte(0)? {
        FAMILY_4 => (32, 4),
        FAMILY_6 => (128, 16),
        _ => return Err(invalid("address family")),
    };
    let bits = byte(1)?;
    if bits > width {
        return Err(invalid("bits"));
    }
    byte(2)?;
    if byte(3)? != length {
        return Err(invalid("length"));
    }
    let octets = &bytes[4..];
    let address = match (<[u8; 4]>::try_from(octets), <[u8; 16]>::try_from(octets)) {
        (Ok(octets), _) if length == 4 => IpAddr::V4(Ipv4Addr::from_octets(octets)),
        (_, Ok(octets)) if length == 16 => IpAddr::V6(Ipv6Addr::from_octets(octets)),
        _ if octets.len() < usize::from(length) => return Err(cut_off()),
        _ => return Err(malformed("incorrect binary data format".to_owned())),
    };
    let network = InetAddress { address, bits };
    if is_cidr && !network.is_whole() {
        let error = malformed("invalid external \"cidr\" value".to_owned());
        return Err(error.with_detail("Value has bits set to right of mask."));
    }
    Ok(network)
}

#[cold]
fn cut_off() -> ValueError {
    ValueError::new(sqlstate::PROTOCOL_VIOLATION, "no data left in message")
}

#[cold]
fn malformed(message: String) -> ValueError {
    ValueError::new(sqlstate::INVALID_BINARY_REPRESENTATION, message)
}
