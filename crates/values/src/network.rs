//! Addresses of IP with the length of a mask: `inet` and `cidr`, as PostgreSQL 15's `network.c` computes with them.
//!
//! Invariant: `bits` is at most the number of bits of the address. Networks order by their family, the bits of the network, the length of
//! its mask, and the whole address, in this order: that is PostgreSQL's order, which looks at the bits that both masks have first.

mod binary;
mod read;
mod write;

use crate::error::{ValueError, sqlstate};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) use binary::{from_binary, write_binary};
pub use read::{parse_cidr, parse_inet};
pub use write::{abbreviated, write_cidr, write_host, write_inet, write_shown};

/// Bits of an address of IPv4.
const BITS_4: u8 = 32;
/// Bits of an address of IPv6.
const BITS_6: u8 = 128;
/// Bits of the widest address that the narrower one lacks: addresses are computed with at the left end of 128 bits.
const SHIFT_4: u32 = (BITS_6 - BITS_4) as u32;

/// An address, and how many of its bits, from the left, are those of its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(IpAddr, u8)", into = "(IpAddr, u8)")]
pub struct InetAddress {
    address: IpAddr,
    bits: u8,
}

impl TryFrom<(IpAddr, u8)> for InetAddress {
    type Error = &'static str;

    fn try_from((address, bits): (IpAddr, u8)) -> Result<Self, Self::Error> {
        Self::new(address, bits).ok_or("a mask is longer than its address")
    }
}

impl From<InetAddress> for (IpAddr, u8) {
    fn from(network: InetAddress) -> Self {
        (network.address, network.bits)
    }
}

/// One address alone.
impl From<IpAddr> for InetAddress {
    fn from(address: IpAddr) -> Self {
        Self { address, bits: width(address) }
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { BITS_4 } else { BITS_6 }
}

/// A mask of this many bits, from the left.
fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shr(u32::from(bits)).map_or(u128::MAX, |rest| !rest)
}

impl InetAddress {
    /// An address with a mask of this many bits; `None` if it has fewer.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        (bits <= width(address)).then_some(Self { address, bits })
    }

    /// The address, that of a host as well as of a network.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Length of the mask.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// 32 or 128.
    pub fn width(&self) -> u8 {
        width(self.address)
    }

    /// 4 or 6.
    pub fn family(&self) -> i32 {
        if self.address.is_ipv4() { 4 } else { 6 }
    }

    /// True if no bit is set to the right of the mask: what a `cidr` has to be.
    pub fn is_whole(&self) -> bool {
        self.aligned() & !mask(self.bits) == 0
    }

    /// The bytes of the address.
    pub(crate) fn octets(&self) -> Vec<u8> {
        match self.address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        }
    }

    /// The address at the left end of 128 bits, zeros behind it.
    fn aligned(&self) -> u128 {
        match self.address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << SHIFT_4,
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    /// An address of the same family that starts with these bits.
    fn with_aligned(&self, aligned: u128, bits: u8) -> Self {
        let address = match self.address {
            IpAddr::V4(_) => Ipv4Addr::from_bits((aligned >> SHIFT_4) as u32).into(),
            IpAddr::V6(_) => Ipv6Addr::from_bits(aligned).into(),
        };
        Self { address, bits }
    }

    /// The parts by which networks are ordered.
    fn parts(&self) -> (bool, u128, u8, u128) {
        let aligned = self.aligned();
        (self.address.is_ipv6(), aligned & mask(self.bits), self.bits, aligned)
    }

    /// The network, without what is to the right of the mask.
    pub fn network(&self) -> Self {
        self.with_aligned(self.aligned() & mask(self.bits), self.bits)
    }

    /// The last address of the network, with its mask.
    pub fn broadcast(&self) -> Self {
        self.with_aligned(self.aligned() | !mask(self.bits), self.bits)
    }

    /// The mask as an address.
    pub fn netmask(&self) -> Self {
        self.with_aligned(mask(self.bits), self.width())
    }

    /// The complement of the mask as an address.
    pub fn hostmask(&self) -> Self {
        self.with_aligned(!mask(self.bits), self.width())
    }

    /// The same address with a mask of another length; -1 is all of it. Errors: 22023.
    pub fn with_mask_length(&self, bits: i64) -> Result<Self, ValueError> {
        let asked = if bits == -1 { i64::from(self.width()) } else { bits };
        let fits = u8::try_from(asked).ok().and_then(|bits| Self::new(self.address, bits));
        fits.ok_or_else(|| invalid(format!("invalid mask length: {asked}")))
    }

    /// True if all of this network, or address, is in the other one, which it may be itself.
    pub fn is_within(&self, other: &Self) -> bool {
        self.bits >= other.bits && self.overlaps(other)
    }

    /// True if one of the two is within the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        let common = mask(self.bits.min(other.bits));
        self.family() == other.family() && (self.aligned() ^ other.aligned()) & common == 0
    }

    /// The smallest network that both are in. Errors: 22023 for two families.
    pub fn merged(&self, other: &Self) -> Result<Self, ValueError> {
        if self.family() != other.family() {
            return Err(invalid("cannot merge addresses from different families"));
        }
        let alike = (self.aligned() ^ other.aligned()).leading_zeros() as u8;
        let bits = alike.min(self.bits).min(other.bits);
        Ok(Self { bits, ..*self }.network())
    }

    /// The complement of all bits of the address.
    pub fn complement(&self) -> Self {
        self.with_aligned(!self.aligned(), self.bits)
    }

    /// The bits that both addresses have. Errors: 22023 for two families.
    pub fn and(&self, other: &Self) -> Result<Self, ValueError> {
        self.combined(other, "AND", self.aligned() & other.aligned())
    }

    /// The bits that any of the two addresses has. Errors: 22023 for two families.
    pub fn or(&self, other: &Self) -> Result<Self, ValueError> {
        self.combined(other, "OR", self.aligned() | other.aligned())
    }

    fn combined(&self, other: &Self, operator: &str, aligned: u128) -> Result<Self, ValueError> {
        if self.family() != other.family() {
            return Err(invalid(format!("cannot {operator} inet values of different sizes")));
        }
        Ok(self.with_aligned(aligned, self.bits.max(other.bits)))
    }

    /// The address so many places behind this one. Errors: 22003 for one that there is not.
    pub fn plus(&self, places: i64) -> Result<Self, ValueError> {
        let address = match self.address {
            IpAddr::V4(address) => {
                let sum = i64::from(address.to_bits()).checked_add(places);
                sum.and_then(|sum| u32::try_from(sum).ok()).map(|bits| Ipv4Addr::from_bits(bits).into())
            }
            IpAddr::V6(address) => {
                let sum = address.to_bits().checked_add_signed(i128::from(places));
                sum.map(|bits| Ipv6Addr::from_bits(bits).into())
            }
        };
        address.map(|address| Self { address, bits: self.bits }).ok_or_else(out_of_range)
    }

    /// How many places this address is behind another. Errors: 22023 for two families, 22003 for too many.
    pub fn minus(&self, other: &Self) -> Result<i64, ValueError> {
        match (self.address, other.address) {
            (IpAddr::V4(left), IpAddr::V4(right)) => Ok(i64::from(left.to_bits()) - i64::from(right.to_bits())),
            // PostgreSQL counts around the end, too.
            (IpAddr::V6(left), IpAddr::V6(right)) => {
                let places = left.to_bits().wrapping_sub(right.to_bits()).cast_signed();
                i64::try_from(places).map_err(|_| out_of_range())
            }
            _ => Err(invalid("cannot subtract inet values of different sizes")),
        }
    }
}

impl Ord for InetAddress {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for InetAddress {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cold]
fn invalid(message: impl Into<String>) -> ValueError {
    ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

#[cold]
fn out_of_range() -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}

#[cfg(test)]
mod tests;
