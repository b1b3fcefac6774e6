//! Prints `inet` and `cidr` as PostgreSQL 15's `inet_net_ntop.c` and `inet_cidr_ntop.c` do.

use super::{BITS_6, InetAddress};
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr};

/// Groups of an address of IPv6.
const GROUPS: usize = 8;
/// The first group that may be written as IPv4.
const INNER_IPV4: usize = 6;
const LOOPBACK: u16 = 1;

/// Appends an `inet`: the mask only if it is shorter than the address.
pub fn write_inet(network: &InetAddress, out: &mut Vec<u8>) {
    write_host(network, out);
    if network.bits() < network.width() {
        write_mask(network.bits(), out);
    }
}

/// Appends a `cidr`: always with its mask.
pub fn write_cidr(network: &InetAddress, out: &mut Vec<u8>) {
    write_shown(network, out);
}

/// Appends an address with its mask: what a cast to text prints.
pub fn write_shown(network: &InetAddress, out: &mut Vec<u8>) {
    write_host(network, out);
    write_mask(network.bits(), out);
}

/// Appends the address alone.
pub fn write_host(network: &InetAddress, out: &mut Vec<u8>) {
    match network.address() {
        // Writing to a vector cannot fail, here and below.
        IpAddr::V4(address) => {
            let _ = write!(out, "{address}");
        }
        IpAddr::V6(address) => write_ipv6(address, out),
    }
}

fn write_mask(bits: u8, out: &mut Vec<u8>) {
    let _ = write!(out, "/{bits}");
}

/// The first of the longest runs of groups that are zero: where it starts, and how many there are.
fn longest_zeros(groups: &[u16]) -> (usize, usize) {
    let mut best = (0, 0);
    let mut length = 0;
    for (place, group) in groups.iter().enumerate() {
        length = if *group == 0 { length + 1 } else { 0 };
        if length > best.1 {
            best = (place + 1 - length, length);
        }
    }
    best
}

fn write_ipv6(address: Ipv6Addr, out: &mut Vec<u8>) {
    let groups = address.segments();
    let (start, length) = match longest_zeros(&groups) {
        (_, 0 | 1) => (GROUPS, 0),
        run => run,
    };
    let is_mapped = start == 0 && (length == INNER_IPV4 || (length == INNER_IPV4 - 1 && groups[length] == u16::MAX));
    for (place, group) in groups.into_iter().enumerate() {
        if (start..start + length).contains(&place) {
            if place == start {
                out.push(b':');
            }
            continue;
        }
        if place > 0 {
            out.push(b':');
        }
        if is_mapped && place == INNER_IPV4 {
            let [.., a, b, c, d] = address.octets();
            let _ = write!(out, "{a}.{b}.{c}.{d}");
            break;
        }
        let _ = write!(out, "{group:x}");
    }
    if start + length == GROUPS && length > 0 {
        out.push(b':');
    }
}

/// A `cidr` with the octets or groups that its mask leaves out (`abbrev`).
pub fn abbreviated(network: &InetAddress) -> String {
    let network = network.network();
    let bits = network.bits();
    let mut out = match network.address() {
        IpAddr::V4(address) => {
            let octets = address.octets();
            let written = usize::from(bits.div_ceil(8)).max(1);
            octets[..written].iter().map(u8::to_string).collect::<Vec<_>>().join(".")
        }
        IpAddr::V6(_) if bits == 0 => "::".to_owned(),
        IpAddr::V6(address) => abbreviated_ipv6(address, bits),
    };
    out.push_str(&format!("/{bits}"));
    out
}

/// The groups that the mask reaches, at least two of them.
fn abbreviated_ipv6(address: Ipv6Addr, bits: u8) -> String {
    let groups = address.segments();
    let octets = address.octets();
    let written = usize::from(bits.div_ceil(16)).max(2);
    let (start, length) = zeros_of_prefix(&groups[..written]);
    let is_inner = match length {
        INNER_IPV4 => true,
        5 => groups[5] == u16::MAX,
        7 => octets[14] != 0 && octets[15] != LOOPBACK as u8,
        _ => false,
    };
    let is_inner = is_inner && start == 0 && length != written;
    let mut out = String::new();
    for place in 0..written {
        if (start..start + length).contains(&place) {
            out.push_str(if place == start { ":" } else { "" });
            out.push_str(if place == written - 1 { ":" } else { "" });
        } else if is_inner && place >= INNER_IPV4 {
            out.push(if place == INNER_IPV4 { ':' } else { '.' });
            out.push_str(&octets[place * 2].to_string());
            // The last octet may be beyond the mask.
            if place < GROUPS - 1 || bits > BITS_6 - 8 {
                out.push_str(&format!(".{}", octets[place * 2 + 1]));
            }
        } else {
            out.push_str(if out.is_empty() { "" } else { ":" });
            out.push_str(&format!("{:x}", groups[place]));
        }
    }
    out
}

/// As [`longest_zeros`], with a quirk of PostgreSQL's: a run that is not longer than one before it is counted on in the next one.
fn zeros_of_prefix(groups: &[u16]) -> (usize, usize) {
    let (mut start, mut length) = (0, 0);
    let (mut run_start, mut run) = (0, 0);
    for (place, group) in groups.iter().enumerate() {
        if *group == 0 {
            if run == 0 {
                run_start = place;
            }
            run += 1;
        } else if run > length {
            (start, length) = (run_start, run);
            run = 0;
        }
    }
    if run > length { (run_start, run) } else { (start, length) }
}
