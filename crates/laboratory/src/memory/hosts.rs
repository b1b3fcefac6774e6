//! Where clients and servers run: hosts of their own at one switch, or without the means for that this host's loopback interface.

use laboratory_harness::network::{Host, Switched};
use laboratory_harness::process::Program;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;

/// See the module's description.
#[derive(Debug)]
pub struct Hosts {
    network: Result<Switched, String>,
}

impl Hosts {
    /// So many.
    pub fn new(count: usize) -> Hosts {
        let count = u8::try_from(count).unwrap_or(u8::MAX);
        Hosts { network: Switched::new(count).map_err(|failure| failure.to_string()) }
    }

    fn host(&self, index: usize) -> Option<&Host> {
        self.network.as_ref().ok()?.hosts.get(index)
    }

    /// The address of one.
    pub fn address(&self, index: usize) -> IpAddr {
        self.host(index).map_or(Ipv4Addr::LOCALHOST, |host| host.address).into()
    }

    /// What starts this program with a job at one of them.
    pub fn start(&self, index: usize, program: &Program, job: &str) -> Command {
        program.command(job, self.host(index))
    }

    /// What starts another program there.
    pub fn command(&self, index: usize, program: &Path) -> Command {
        self.host(index).map_or_else(|| Command::new(program), |host| host.command(program))
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.network {
            Ok(_) => write!(formatter, "clients and servers each in a network namespace, at one switch of this host"),
            Err(why) => write!(formatter, "clients and servers on the loopback interface: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laboratory_harness::limits::SWITCHED_MAX;

    /// If this fails, who cannot have namespaces gets no figures, or figures that do not say where they are from.
    #[test]
    fn without_namespaces_the_loopback_interface_serves_and_is_named() {
        // More than one switch takes: what a machine without `ip`, or without the rights, comes to.
        let hosts = Hosts::new(usize::from(SWITCHED_MAX) + 1);
        assert_eq!(hosts.address(0), Ipv4Addr::LOCALHOST);
        assert_eq!(hosts.command(0, Path::new("/bin/true")).get_program(), "/bin/true");
        assert!(hosts.to_string().starts_with("clients and servers on the loopback interface: "), "{hosts}");
    }
}
