//! Addresses are read, printed, ordered and computed with as by PostgreSQL 15.

use super::*;
use crate::generate;
use proptest::prelude::*;

fn inet(text: &str) -> InetAddress {
    parse_inet(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn cidr(text: &str) -> InetAddress {
    parse_cidr(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn written(write: fn(&InetAddress, &mut Vec<u8>), network: &InetAddress) -> String {
    let mut out = Vec::new();
    write(network, &mut out);
    String::from_utf8(out).unwrap()
}

proptest! {
    /// What is stored as text, or sent in binary, must come back.
    #[test]
    fn texts_and_bytes_come_back(address in generate::network()) {
        prop_assert_eq!(parse_inet(&written(write_inet, &address)), Ok(address));
        prop_assert_eq!(parse_inet(&written(write_shown, &address)), Ok(address));
        let whole = address.network();
        prop_assert_eq!(parse_cidr(&written(write_cidr, &whole)), Ok(whole));
        let mut bytes = Vec::new();
        write_binary(&address, false, &mut bytes);
        prop_assert_eq!(from_binary(&bytes, false), Ok(address));
        prop_assert_eq!(from_binary(&bytes, true).is_ok(), address.is_whole());
    }

    /// The order that PostgreSQL's indexes have: bits that both masks have, length of the mask, all bits.
    #[test]
    fn networks_order_as_in_postgresql(left in generate::network(), right in generate::network()) {
        let bits = |network: &InetAddress, count: u8| {
            let octets = network.octets();
            (0..usize::from(count)).map(move |bit| octets[bit / 8] >> (7 - bit % 8) & 1).collect::<Vec<_>>()
        };
        let common = left.bits().min(right.bits());
        let expected = left.family().cmp(&right.family()).then_with(|| {
            let of_networks = bits(&left, common).cmp(&bits(&right, common));
            let all = || bits(&left, left.width()).cmp(&bits(&right, right.width()));
            of_networks.then(left.bits().cmp(&right.bits())).then_with(all)
        });
        prop_assert_eq!(left.cmp(&right), expected);
        prop_assert_eq!(left.is_within(&right), left.network().merged(&right).is_ok_and(|merged| merged == right.network()));
    }

    /// A client's bytes must not stop a site.
    #[test]
    fn arbitrary_input_does_not_panic(text in "[0-9a-fA-F:./x]{0,24}", bytes: Vec<u8>) {
        let _ = parse_inet(&text);
        if let Ok(network) = parse_cidr(&text) {
            prop_assert!(network.is_whole());
            let _ = abbreviated(&network);
        }
        let _ = from_binary(&bytes, false);
    }
}

/// Schemas and clients rely on PostgreSQL's own rules; these were looked up there.
#[test]
fn texts_are_read_as_in_postgresql() {
    let inets = [
        ("10.1.2.3", "10.1.2.3"),
        ("010.001.2.3/32", "10.1.2.3"),
        ("10.1/16", "10.1.0.0/16"),
        ("10/8", "10.0.0.0/8"),
        ("10.1.2.3.", "10.1.2.3"),
        ("192.168.0.1/24", "192.168.0.1/24"),
        ("::", "::"),
        ("::1/0", "::1/0"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("::1.2.3.4/120", "::1.2.3.4/120"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("2001:DB8::", "2001:db8::"),
    ];
    for (text, printed) in inets {
        assert_eq!(written(write_inet, &inet(text)), printed, "{text}");
    }
    let cidrs = [
        ("10", "10.0.0.0/8"),
        ("10.1", "10.1.0.0/16"),
        ("192.168.1", "192.168.1.0/24"),
        ("172.16", "172.16.0.0/16"),
        ("224", "224.0.0.0/4"),
        ("250", "250.0.0.0/32"),
        ("10.1.2.3", "10.1.2.3/32"),
        ("0x0a01", "10.1.0.0/16"),
        ("::1", "::1/128"),
        ("2001:db8::/32", "2001:db8::/32"),
    ];
    for (text, printed) in cidrs {
        assert_eq!(written(write_cidr, &cidr(text)), printed, "{text}");
    }
}

/// A typing error must not become another address.
#[test]
fn wrong_texts_are_refused() {
    let wrong = [
        "",
        "10",
        "10.1",
        "10.1.2",
        "10.1.2.256",
        "10.1.2.3.4",
        "10.1.2.3/33",
        "10.1.2.3/",
        "10.1.2.3/x",
        " 10.1.2.3",
        "10.1.2.3 ",
        "10.1/24",
        "a.b.c.d",
        ":1",
        "1:",
        "1:2",
        "1::2::3",
        "12345::",
        "::1/129",
        "::1/01",
        "::256.1.1.1",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7::8:9",
        "::1.2.3.4.5",
    ];
    for text in wrong {
        assert_eq!(parse_inet(text).map_err(|error| error.sqlstate), Err("22P02"), "{text}");
    }
    for text in ["10.1.2.3/8", "192.168.1.1/24", "::1/127", "10..1", "10.", "0xg", "10.1.2.3.4"] {
        assert_eq!(parse_cidr(text).map_err(|error| error.sqlstate), Err("22P02"), "{text}");
    }
}

/// Wrong bits here would open a firewall.
#[test]
fn masks_are_those_of_the_network() {
    let address = inet("192.168.1.5/24");
    let printed = |network: InetAddress| written(write_inet, &network);
    assert_eq!(printed(address.network()), "192.168.1.0/24");
    assert_eq!(printed(address.broadcast()), "192.168.1.255/24");
    assert_eq!(printed(address.netmask()), "255.255.255.0");
    assert_eq!(printed(address.hostmask()), "0.0.0.255");
    assert_eq!(printed(inet("::1/0").netmask()), "::");
    assert_eq!(printed(inet("192.168.1.5/24").merged(&inet("192.168.2.5/24")).unwrap()), "192.168.0.0/22");
    assert_eq!(inet("::ffff:1.2.3.4").minus(&inet("::ffff:1.2.3.0")), Ok(4));
    assert_eq!(inet("255.255.255.255").plus(1).map_err(|error| error.sqlstate), Err("22003"));
    assert_eq!(abbreviated(&cidr("10.1.0.0/16")), "10.1/16");
}
