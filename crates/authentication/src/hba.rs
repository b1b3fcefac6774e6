//! Rules by which a connection is let in, written as in PostgreSQL's `pg_hba.conf` (its manual, section 21.1): type, databases, roles, addresses, method, options.
//! The first rule that fits a connection decides; without one it is refused.
//!
//! Invariant: a rule that asks for what is not there (host names, groups, other methods) is an error when it is read, never a rule that fits nothing or
//! everything.

use crate::limits::RULES_MAX;
use std::fmt;
use std::net::IpAddr;
use thiserror::Error;

/// A line that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct HbaError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// How a client shows that it may be who it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginMethod {
    /// It need not.
    Trust,
    /// It cannot.
    Reject,
    /// By SCRAM-SHA-256.
    Scram,
    /// By its password as it is.
    Password,
    /// By a certificate that bears its role's name.
    Certificate,
}

/// Which certificate a client has to show beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientCertificate {
    /// None.
    None,
    /// A valid one.
    Valid,
    /// One that bears its role's name.
    OfRole,
}

/// How a connection comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    /// By a socket of the operating system, of which there is none.
    Local,
    Any,
    Encrypted,
    Plain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HbaName {
    All,
    SameUser,
    Is(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Addresses {
    All,
    SameHost,
    Within(IpAddr, u8),
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    line: usize,
    transport: Transport,
    databases: Vec<HbaName>,
    roles: Vec<HbaName>,
    addresses: Addresses,
    /// What it asks for.
    pub method: LoginMethod,
    /// What it asks for beside.
    pub certificate: ClientCertificate,
}

/// A connection that wants to be let in.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The database that it names.
    pub database: &'a str,
    /// The role that it names.
    pub role: &'a str,
    /// Where it comes from.
    pub address: IpAddr,
    /// Whether both its ends have one address.
    pub same_host: bool,
    /// Whether it is encrypted.
    pub encrypted: bool,
}

/// Rules in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

/// What a site has unless it is told otherwise: users of its own host as they say they are, all others by password and encrypted.
pub const SHIPPED: &str = "\
host    all all 127.0.0.0/8 trust
host    all all ::1/128     trust
hostssl all all all         scram-sha-256
";

impl Rules {
    /// The rules that a site has unless it is told otherwise.
    pub fn shipped() -> Rules {
        Rules::parse(SHIPPED).expect("the shipped rules are rules")
    }

    /// Reads rules, one a line.
    pub fn parse(text: &str) -> Result<Rules, HbaError> {
        let mut rules = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let error = |message| HbaError { line, message };
            let fields = fields(text).map_err(error)?;
            if fields.is_empty() {
                continue;
            }
            if rules.len() == RULES_MAX {
                return Err(error(format!("more than {RULES_MAX} rules")));
            }
            rules.push(rule(line, &fields).map_err(error)?);
        }
        Ok(Rules(rules))
    }

    /// The rule that decides about a connection.
    pub fn find(&self, attempt: &Attempt) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.fits(attempt))
    }

    /// The first line that lets somebody in from another host without asking who it is.
    pub fn trusts_others(&self) -> Option<usize> {
        let trusts = |rule: &&Rule| {
            let from_elsewhere = match rule.addresses {
                Addresses::All => true,
                Addresses::SameHost => false,
                Addresses::Within(network, bits) => !is_loopback(network, bits),
            };
            rule.method == LoginMethod::Trust && rule.transport != Transport::Local && from_elsewhere
        };
        self.0.iter().find(trusts).map(|rule| rule.line)
    }

    /// Whether a rule asks for client certificates.
    pub fn ask_for_certificates(&self) -> bool {
        self.0.iter().any(|rule| rule.certificate != ClientCertificate::None)
    }
}

impl Rule {
    fn fits(&self, attempt: &Attempt) -> bool {
        let by_transport = match self.transport {
            Transport::Local => false,
            Transport::Any => true,
            Transport::Encrypted => attempt.encrypted,
            Transport::Plain => !attempt.encrypted,
        };
        by_transport
            && self.databases.iter().any(|name| name.fits(attempt.database, attempt.role))
            && self.roles.iter().any(|name| name.fits(attempt.role, attempt.role))
            && self.addresses.hold(attempt)
    }
}

impl HbaName {
    fn fits(&self, name: &str, role: &str) -> bool {
        match self {
            HbaName::All => true,
            HbaName::SameUser => name == role,
            HbaName::Is(wanted) => wanted == name,
        }
    }
}

impl Addresses {
    fn hold(&self, attempt: &Attempt) -> bool {
        match self {
            Addresses::All => true,
            Addresses::SameHost => attempt.same_host || attempt.address.to_canonical().is_loopback(),
            Addresses::Within(network, bits) => is_within(attempt.address.to_canonical(), *network, *bits),
        }
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let mask = |width: u32| u128::MAX.checked_shl(width - u32::from(bits)).unwrap_or(0);
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            (u128::from(u32::from(address)) ^ u128::from(u32::from(network))) & mask(32) & 0xffff_ffff == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => (u128::from(address) ^ u128::from(network)) & mask(128) == 0,
        _ => false,
    }
}

fn is_loopback(network: IpAddr, bits: u8) -> bool {
    match network {
        IpAddr::V4(address) => address.is_loopback() && bits >= 8,
        IpAddr::V6(address) => address.is_loopback() && bits == 128,
    }
}

/// A field: its parts, which commas divide, each with whether it was quoted, which takes its special meaning.
type Field = Vec<(String, bool)>;

fn fields(line: &str) -> Result<Vec<Field>, String> {
    let mut fields: Vec<Field> = Vec::new();
    // Whether the next word begins a field: not behind a comma.
    let mut begins = true;
    let mut characters = line.chars().peekable();
    while let Some(&character) = characters.peek() {
        match character {
            '#' => break,
            ',' => {
                if fields.is_empty() {
                    return Err("a list begins with a comma".to_owned());
                }
                begins = false;
                characters.next();
            }
            blank if blank.is_whitespace() => drop(characters.next()),
            _ => {
                let part = part(&mut characters)?;
                match fields.last_mut().filter(|_| !begins) {
                    Some(field) => field.push(part),
                    None => fields.push(vec![part]),
                }
                begins = true;
            }
        }
    }
    if begins { Ok(fields) } else { Err("a list ends with a comma".to_owned()) }
}

fn part(characters: &mut std::iter::Peekable<std::str::Chars>) -> Result<(String, bool), String> {
    let (mut word, mut was_quoted, mut quoted) = (String::new(), false, false);
    while let Some(&character) = characters.peek() {
        match character {
            '"' => {
                // The first letter decides, as in PostgreSQL: `"all"` is a name, `a"l"l` is not.
                was_quoted |= word.is_empty() && !quoted;
                quoted = !quoted;
            }
            ',' | '#' if !quoted => break,
            blank if blank.is_whitespace() && !quoted => break,
            other => word.push(other),
        }
        characters.next();
    }
    if quoted { Err("a quotation does not end".to_owned()) } else { Ok((word, was_quoted)) }
}

fn rule(line: usize, fields: &[Field]) -> Result<Rule, String> {
    let mut rest = fields.iter();
    let transport = transport(single(rest.next(), "a connection type")?)?;
    let databases = rest.next().ok_or("the database is missing")?;
    let databases = databases.iter().map(|part| name(part, "database")).collect::<Result<_, _>>()?;
    let roles = rest.next().ok_or("the role is missing")?;
    let roles = roles.iter().map(|part| name(part, "role")).collect::<Result<_, _>>()?;
    let mut addresses = Addresses::All;
    if transport != Transport::Local {
        let address = single(rest.next(), "an address")?;
        addresses = match address {
            "all" => Addresses::All,
            "samehost" => Addresses::SameHost,
            "samenet" => return Err("samenet is not supported: write the network".to_owned()),
            text if text.contains('/') => network(text)?,
            text => {
                let address = ip(text)?;
                let mask = single(rest.next(), "a mask")?;
                Addresses::Within(address, bits_of(address, ip(mask)?).ok_or_else(|| format!("\"{mask}\" is no mask"))?)
            }
        };
    }
    let word = single(rest.next(), "an authentication method")?;
    let method = method(word)?;
    let mut certificate = ClientCertificate::None;
    for option in rest {
        let option = single(Some(option), "an option")?;
        certificate = match option {
            "clientcert=verify-ca" => ClientCertificate::Valid,
            "clientcert=verify-full" => ClientCertificate::OfRole,
            other => return Err(format!("the option \"{other}\" is not supported")),
        };
    }
    if method == LoginMethod::Certificate {
        certificate = ClientCertificate::OfRole;
    }
    if transport != Transport::Encrypted {
        if method == LoginMethod::Certificate {
            return Err("cert authentication is only supported on hostssl connections".to_owned());
        }
        if certificate != ClientCertificate::None {
            return Err("clientcert can only be configured for \"hostssl\" rows".to_owned());
        }
        if method == LoginMethod::Password {
            return Err(
                "password sends it as it is, and is only taken on hostssl connections: use scram-sha-256".to_owned()
            );
        }
    }
    Ok(Rule { line, transport, databases, roles, addresses, method, certificate })
}

fn single<'a>(field: Option<&'a Field>, what: &str) -> Result<&'a str, String> {
    match field.map(Vec::as_slice) {
        Some([(word, _)]) => Ok(word),
        Some(_) => Err(format!("{what} is one word, not a list")),
        None => Err(format!("{what} is missing")),
    }
}

fn transport(word: &str) -> Result<Transport, String> {
    match word {
        "local" => Ok(Transport::Local),
        "host" | "hostnogssenc" => Ok(Transport::Any),
        "hostssl" => Ok(Transport::Encrypted),
        "hostnossl" => Ok(Transport::Plain),
        "hostgssenc" => Err("hostgssenc is not supported: connections are encrypted by TLS".to_owned()),
        other => Err(format!("invalid connection type \"{other}\"")),
    }
}

fn name((word, quoted): &(String, bool), what: &str) -> Result<HbaName, String> {
    let unsupported = |what: &str| Err(format!("{what} is not supported"));
    Ok(match (word.as_str(), quoted) {
        ("all", false) => HbaName::All,
        ("sameuser", false) if what == "database" => HbaName::SameUser,
        ("samerole" | "samegroup" | "replication", false) if what == "database" => return unsupported(word),
        (group, false) if group.starts_with('+') => return unsupported("a group of roles"),
        (file, false) if file.starts_with('@') => return unsupported("a file of names"),
        ("", _) => return Err(format!("the {what} is empty")),
        (other, _) => HbaName::Is(other.to_owned()),
    })
}

fn network(text: &str) -> Result<Addresses, String> {
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    let address = ip(address)?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    let bits =
        bits.parse().ok().filter(|parsed: &u8| *parsed <= width && bits.bytes().all(|byte| byte.is_ascii_digit()));
    let bits = bits.ok_or_else(|| format!("invalid CIDR mask in address \"{text}\""))?;
    Ok(Addresses::Within(address, bits))
}

fn ip(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr =
        text.parse().map_err(|_| format!("\"{text}\" is no address; host names are not looked up"))?;
    match address.to_canonical() == address {
        true => Ok(address),
        false => {
            Err(format!("\"{text}\" is an IPv4 address as IPv6 writes it: no client has one; write it as IPv4 does"))
        }
    }
}

/// How many bits of an address a mask keeps.
fn bits_of(address: IpAddr, mask: IpAddr) -> Option<u8> {
    let (mask, width) = match (address, mask) {
        (IpAddr::V4(_), IpAddr::V4(mask)) => (u128::from(u32::from(mask)) << 96, 32),
        (IpAddr::V6(_), IpAddr::V6(mask)) => (u128::from(mask), 128),
        _ => return None,
    };
    let bits = mask.leading_ones();
    (mask.count_ones() == bits && bits <= width).then_some(bits as u8)
}

fn method(word: &str) -> Result<LoginMethod, String> {
    Ok(match word {
        "trust" => LoginMethod::Trust,
        "reject" => LoginMethod::Reject,
        // Of a SCRAM verifier PostgreSQL's md5 asks by SCRAM, and others are not kept.
        "scram-sha-256" | "md5" => LoginMethod::Scram,
        "password" => LoginMethod::Password,
        "cert" => LoginMethod::Certificate,
        other => return Err(format!("the authentication method \"{other}\" is not supported")),
    })
}

impl fmt::Display for LoginMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            LoginMethod::Trust => "trust",
            LoginMethod::Reject => "reject",
            LoginMethod::Scram => "scram-sha-256",
            LoginMethod::Password => "password",
            LoginMethod::Certificate => "cert",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str, role: &str, address: &str, encrypted: bool) -> Option<LoginMethod> {
        let rules = Rules::parse(text).expect("rules");
        let address = address.parse().expect("an address");
        let attempt = Attempt { database: "shop", role, address, same_host: false, encrypted };
        rules.find(&attempt).map(|rule| rule.method)
    }

    /// If this failed, a rule that refuses would refuse nobody, for clients have their IPv4 addresses as such.
    #[test]
    fn a_network_that_no_client_is_in_is_no_rule() {
        let wrong = Rules::parse("host all all ::ffff:10.0.0.0/104 reject").expect_err("it fits nobody");
        assert!(wrong.to_string().contains("write it as IPv4 does"), "{wrong}");
    }

    /// If this failed, a database would be open to its network, or closed to its own host.
    #[test]
    fn the_shipped_rules_trust_the_own_host_and_ask_all_others() {
        for local in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(found(SHIPPED, "x", local, false), Some(LoginMethod::Trust), "{local}");
            assert_eq!(found(SHIPPED, "x", local, true), Some(LoginMethod::Trust), "{local}");
        }
        for other in ["10.0.0.1", "128.0.0.1", "::2", "::ffff:10.0.0.1"] {
            assert_eq!(found(SHIPPED, "x", other, false), None, "{other}");
            assert_eq!(found(SHIPPED, "x", other, true), Some(LoginMethod::Scram), "{other}");
        }
        assert_eq!(Rules::shipped().trusts_others(), None);
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = "
            # type  database  role            address          method
            host    all       mallory         all              reject
            host    shop,\"all\" alice, bob   10.1.0.0/16      trust   # a list
            hostssl sameuser  all             10.0.0.0 255.0.0.0 password
            hostnossl all     \"all\"         fe80::/10        trust
            host    other     all             all              trust
            hostssl all       carol           samehost         cert
            local   all       all                              trust
        ";
        assert_eq!(found(rules, "mallory", "10.1.0.1", true), Some(LoginMethod::Reject));
        assert_eq!(found(rules, "alice", "10.1.0.1", false), Some(LoginMethod::Trust));
        assert_eq!(found(rules, "bob", "10.1.255.255", true), Some(LoginMethod::Trust));
        assert_eq!(found(rules, "bob", "10.2.0.1", true), None);
        assert_eq!(found(rules, "shop", "10.2.0.1", true), Some(LoginMethod::Password));
        assert_eq!(found(rules, "shop", "10.2.0.1", false), None);
        assert_eq!(found(rules, "all", "fe80::9", false), Some(LoginMethod::Trust));
        assert_eq!(found(rules, "anybody", "fe80::9", false), None, "a quoted all is a name");
        assert_eq!(found(rules, "carol", "127.0.0.1", true), Some(LoginMethod::Certificate));
        assert_eq!(found(rules, "carol", "10.9.0.1", true), None);
        assert_eq!(Rules::parse(rules).expect("rules").trusts_others(), Some(4));
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        for (bad, what) in [
            ("tcp all all all trust", "connection type"),
            ("host all all all", "method is missing"),
            ("host all all all gss", "\"gss\" is not supported"),
            ("host all all db.example.com trust", "host names"),
            ("host all all 10.0.0.1/33 trust", "CIDR"),
            ("host all all 10.0.0.1/+8 trust", "CIDR"),
            ("host all all 10.0.0.1 255.0.255.0 trust", "mask"),
            ("host all +admins all trust", "group"),
            ("host @file all all trust", "file"),
            ("host replication all all trust", "replication"),
            ("host all all all password", "hostssl"),
            ("host all all all cert", "hostssl"),
            ("host all all all scram-sha-256 clientcert=verify-full", "hostssl"),
            ("hostssl all all all cert map=users", "map=users"),
            ("host \"all all all trust", "quotation"),
            ("host all, all", "missing"),
            ("host all all all trust,", "comma"),
        ] {
            let error = Rules::parse(&format!("# first\n{bad}")).expect_err(bad);
            assert_eq!(error.line, 2, "{bad}");
            assert!(error.message.contains(what), "{bad}: {error}");
        }
    }

    #[test]
    fn certificates_are_asked_for_beside() {
        let rules = Rules::parse("hostssl all all all scram-sha-256 clientcert=verify-ca").expect("rules");
        assert!(rules.ask_for_certificates() && !Rules::shipped().ask_for_certificates());
    }

    proptest! {
        #[test]
        fn arbitrary_rules_do_not_panic(text in "(host|hostssl|local| |\"|,|#|all|[0-9.:/]{1,9}|trust|cert|\n|\\PC){0,20}") {
            if let Ok(rules) = Rules::parse(&text) {
                let address = "10.0.0.1".parse().expect("an address");
                let _ = rules.find(&Attempt { database: "a", role: "b", address, same_host: false, encrypted: true });
            }
        }

        /// Each bit of a network counts, and no other.
        #[test]
        fn networks_hold_what_they_should(address: u32, network: u32, bits in 0_u8..=32) {
            let within = is_within(IpAddr::V4(address.into()), IpAddr::V4(network.into()), bits);
            let expected = bits == 0 || (address ^ network) >> (32 - u32::from(bits)) == 0;
            prop_assert_eq!(within, expected);
        }
    }
}
