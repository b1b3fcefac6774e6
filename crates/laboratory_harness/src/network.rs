//! Several hosts within this one: network namespaces joined by virtual Ethernet devices, two of them by a pair, more by a switch.
//!
//! Invariant: what is made is taken away with its value; names tell this process, so that two runs do not meet.

use crate::failure::{Failure, Outcome};
use crate::limits::SWITCHED_MAX;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The last byte of the address of the first host at a switch.
const FIRST_SWITCHED: u8 = 20;

/// One of them.
#[derive(Debug)]
pub struct Host {
    namespace: String,
    /// Its address in their network.
    pub address: Ipv4Addr,
}

/// Two, joined by a pair of devices.
#[derive(Debug)]
pub struct Hosts {
    /// Where clients run.
    pub client: Host,
    /// Where servers run.
    pub server: Host,
}

/// A host that reaches the server's and no other.
#[derive(Debug)]
pub struct Third {
    /// The host.
    pub host: Host,
    /// The server's address in their network.
    pub server: Ipv4Addr,
}

/// Several that are joined by a switch: each reaches each.
#[derive(Debug)]
pub struct Switched {
    /// They go before their switch.
    pub hosts: Vec<Host>,
    _switch: Host,
}

fn ip(arguments: &str) -> Outcome<()> {
    let mut command = Command::new("ip");
    let output = command.args(arguments.split(' ')).stdin(Stdio::null()).output();
    let output = output.map_err(Failure::refused("run `ip`"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::Missing(format!("no second host: `ip {arguments}` says: {why}")))
}

impl Host {
    fn new(end: u8) -> Outcome<Host> {
        let namespace = format!("raidlab-{}-{end}", std::process::id());
        ip(&format!("netns add {namespace}"))?;
        // Whatever fails from here on, the drop takes it back.
        let host = Host { namespace, address: Ipv4Addr::new(10, 77, 0, end) };
        ip(&format!("-n {} link set lo up", host.namespace))?;
        Ok(host)
    }

    /// One with a device through which all destinations are reached, and whose other end drops what comes.
    ///
    /// # Errors
    /// This machine has no `ip`, or we have not the rights.
    pub fn with_sink() -> Outcome<Host> {
        let host = Host::new(3)?;
        let Host { namespace, address } = &host;
        // Without address resolution every frame goes to the sender's own hardware address, which the other end is not: it drops them.
        ip(&format!("-n {namespace} link add sink type veth peer name end"))?;
        ip(&format!("-n {namespace} link set sink arp off"))?;
        ip(&format!("-n {namespace} addr add {address}/24 dev sink"))?;
        ip(&format!("-n {namespace} link set end up"))?;
        ip(&format!("-n {namespace} link set sink up"))?;
        ip(&format!("-n {namespace} route add default dev sink"))?;
        Ok(host)
    }

    /// Starts a program there.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace]).arg(program);
        command
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Its devices vanish with it.
        let _ = ip(&format!("netns del {}", self.namespace));
    }
}

impl Hosts {
    /// Makes them.
    ///
    /// # Errors
    /// This machine has no `ip`, or we have not the rights.
    pub fn new() -> Outcome<Hosts> {
        let hosts = Hosts { client: Host::new(1)?, server: Host::new(2)? };
        join(&hosts.client, &hosts.server, "ether", [hosts.client.address, hosts.server.address])?;
        Ok(hosts)
    }

    /// A third host, in a network of its own with the server's.
    ///
    /// # Errors
    /// As of the two.
    pub fn third(&self) -> Outcome<Third> {
        let [address, server] = [1, 2].map(|end| Ipv4Addr::new(10, 77, 1, end));
        let mut host = Host::new(4)?;
        host.address = address;
        let third = Third { host, server };
        join(&third.host, &self.server, "second", [address, server])?;
        Ok(third)
    }
}

impl Switched {
    /// Makes so many.
    ///
    /// # Errors
    /// This machine has no `ip`, its kernel no bridges, or we have not the rights; or they are more than [`SWITCHED_MAX`].
    pub fn new(count: u8) -> Outcome<Switched> {
        if count > SWITCHED_MAX {
            return Err(Failure::Missing(format!("no more than {SWITCHED_MAX} hosts at one switch")));
        }
        // Its own address is used by nobody.
        let switch = Host::new(FIRST_SWITCHED - 1)?;
        let middle = &switch.namespace;
        ip(&format!("-n {middle} link add hub type bridge"))?;
        ip(&format!("-n {middle} link set hub up"))?;
        let mut hosts = Vec::new();
        for end in (0..count).map(|index| FIRST_SWITCHED + index) {
            let host = Host::new(end)?;
            let Host { namespace, address } = &host;
            ip(&format!("-n {namespace} link add ether type veth peer name port{end} netns {middle}"))?;
            ip(&format!("-n {middle} link set port{end} master hub up"))?;
            ip(&format!("-n {namespace} addr add {address}/24 dev ether"))?;
            ip(&format!("-n {namespace} link set ether up"))?;
            hosts.push(host);
        }
        Ok(Switched { hosts, _switch: switch })
    }
}

/// Joins two hosts by a pair of devices of one name.
fn join(first: &Host, second: &Host, device: &str, addresses: [Ipv4Addr; 2]) -> Outcome<()> {
    let [namespace, other] = [&first.namespace, &second.namespace];
    ip(&format!("-n {namespace} link add {device} type veth peer name {device} netns {other}"))?;
    for (namespace, address) in [namespace, other].into_iter().zip(addresses) {
        ip(&format!("-n {namespace} addr add {address}/24 dev {device}"))?;
        ip(&format!("-n {namespace} link set {device} up"))?;
    }
    Ok(())
}
