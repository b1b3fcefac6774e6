//! A network for a cluster: every process in a network namespace of its own, joined by a switch, with links that can be cut one way or lose
//! packets. The test itself sits at the switch too, and its own links are never touched.
//!
//! Invariants: names carry the number of the test's process, so that runs side by side do not meet; everything goes with the value, however
//! the test ends, and what a killed run has left behind is removed by the next one.

use crate::harness::said;
use local_cluster::process::ProcessName;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

/// A place for what is no site of the cluster.
pub const OTHER_HOST: ProcessName = ProcessName::Site(200);
/// All processes that have a place in the network.
const NAMES: [ProcessName; 5] =
    [ProcessName::Oracle, ProcessName::Site(1), ProcessName::Site(2), ProcessName::Site(3), OTHER_HOST];
/// The test's own place.
const TEST_HOST: u8 = 254;
/// Networks lie in 198.18.0.0/15, which is set aside for tests (RFC 2544).
const NETWORKS: u32 = 512;
/// Every namespace and link begins with this.
const PREFIX: &str = "rdt";

/// See the module's description.
pub struct Networks(Plan);

/// The names and addresses in the network of a process.
#[derive(Clone, Copy)]
struct Plan {
    process: u32,
}

impl Networks {
    /// Builds the network. `None`, said aloud, where the tools or the rights for it are missing.
    pub fn build() -> Option<Networks> {
        sweep();
        let networks = Networks(Plan { process: std::process::id() });
        match networks.0.lay() {
            Ok(()) => Some(networks),
            Err(error) => {
                eprintln!("no network namespaces here ({error}): this test does nothing without them");
                None
            }
        }
    }

    /// Where each process runs.
    pub fn names(&self) -> BTreeMap<ProcessName, String> {
        NAMES.into_iter().map(|name| (name, self.0.namespace(name))).collect()
    }

    /// The address of a process.
    pub fn address(&self, name: ProcessName) -> IpAddr {
        self.0.address(name)
    }

    /// Packets from one process to the other vanish; the other direction goes on.
    pub fn cut_one_way(&self, from: ProcessName, to: ProcessName) {
        let from = self.address(from).to_string();
        self.rule(to, &["ip", "saddr", &from, "drop"]);
    }

    /// Packets between two processes vanish.
    pub fn cut(&self, one: ProcessName, other: ProcessName) {
        self.cut_one_way(one, other);
        self.cut_one_way(other, one);
    }

    /// Of all packets between processes, this share is lost.
    pub fn lose(&self, percent: u8) {
        let test = self.0.host(TEST_HOST).to_string();
        let percent = percent.to_string();
        for name in NAMES {
            self.rule(name, &["ip", "saddr", "!=", &test, "numgen", "random", "mod", "100", "<", &percent, "drop"]);
        }
    }

    /// Everything is as at the beginning.
    pub fn heal(&self) {
        for name in NAMES {
            self.at(name, &["flush", "chain", "inet", "raid", "faults"]);
        }
    }

    fn rule(&self, at: ProcessName, rule: &[&str]) {
        self.at(at, &[&["add", "rule", "inet", "raid", "faults"], rule].concat());
    }

    fn at(&self, name: ProcessName, nft: &[&str]) {
        let namespace = self.0.namespace(name);
        ip(&[&["netns", "exec", &namespace, "nft"], nft].concat()).expect("what was laid can be changed");
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        self.0.remove();
    }
}

impl Plan {
    fn lay(&self) -> Result<(), String> {
        let (switch, test_link) = (self.switch(), self.test_link());
        let test = format!("{}/24", self.host(TEST_HOST));
        run("nft", &["--version"])?;
        ip(&["netns", "add", &switch])?;
        ip(&["-n", &switch, "link", "add", "switch", "type", "bridge"])?;
        ip(&["-n", &switch, "link", "set", "switch", "up"])?;
        ip(&["link", "add", &test_link, "type", "veth", "peer", "name", "test", "netns", &switch])?;
        ip(&["-n", &switch, "link", "set", "test", "master", "switch", "up"])?;
        ip(&["addr", "add", &test, "dev", &test_link])?;
        ip(&["link", "set", &test_link, "up"])?;
        for name in NAMES {
            self.lay_one(name)?;
        }
        Ok(())
    }

    fn lay_one(&self, name: ProcessName) -> Result<(), String> {
        let (switch, own) = (self.switch(), self.namespace(name));
        let port = format!("port{}", host(name));
        let address = format!("{}/24", self.address(name));
        ip(&["netns", "add", &own])?;
        ip(&["-n", &switch, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &own])?;
        ip(&["-n", &switch, "link", "set", &port, "master", "switch", "up"])?;
        ip(&["-n", &own, "addr", "add", &address, "dev", "eth0"])?;
        ip(&["-n", &own, "link", "set", "eth0", "up"])?;
        ip(&["-n", &own, "link", "set", "lo", "up"])?;
        let nft = |rest: &[&str]| ip(&[&["netns", "exec", &own, "nft"], rest].concat());
        nft(&["add", "table", "inet", "raid"])?;
        nft(&["add", "chain", "inet", "raid", "faults", "{ type filter hook input priority 0 ; }"])?;
        // The kernel may lack this kind of rule: better known now than in the middle of a test.
        nft(&["add", "rule", "inet", "raid", "faults", "numgen", "random", "mod", "100", "<", "0", "drop"])?;
        nft(&["flush", "chain", "inet", "raid", "faults"])
    }

    fn switch(&self) -> String {
        format!("{PREFIX}{}-switch", self.process)
    }

    fn test_link(&self) -> String {
        format!("{PREFIX}{}", self.process)
    }

    fn namespace(&self, name: ProcessName) -> String {
        format!("{PREFIX}{}-{}", self.process, name.argument())
    }

    fn host(&self, host: u8) -> IpAddr {
        let network = self.process % NETWORKS;
        IpAddr::V4(Ipv4Addr::new(198, 18 + (network / 256) as u8, (network % 256) as u8, host))
    }

    fn address(&self, name: ProcessName) -> IpAddr {
        self.host(host(name))
    }

    /// The links between namespaces go with the switch. What is not there is no error.
    fn remove(&self) {
        // Removing a namespace leaves its links for later; this one's name may be wanted again at once.
        let _ = ip(&["link", "del", &self.test_link()]);
        for name in NAMES {
            let _ = ip(&["netns", "del", &self.namespace(name)]);
        }
        let _ = ip(&["netns", "del", &self.switch()]);
    }
}

/// The last byte of its address.
fn host(name: ProcessName) -> u8 {
    match name {
        ProcessName::Oracle => 100,
        ProcessName::Site(site) => u8::try_from(site).expect("a test has few sites"),
    }
}

/// Removes the networks of processes that are gone.
fn sweep() {
    let Ok(found) = std::fs::read_dir("/run/netns") else { return };
    let owners = found
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok());
    for owner in owners.filter(|owner| !std::path::Path::new(&format!("/proc/{owner}")).exists()) {
        Plan { process: owner }.remove();
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program} {}: {}", arguments.join(" "), said(&output).trim())),
    }
}
