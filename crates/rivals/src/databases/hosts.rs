//! Where the parties run: all on this host and its loopback device, or each in a network namespace of its own behind one switch.
//!
//! Invariant: a namespace lives as long as a value that names it, so that no server loses its network before it is ended.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use laboratory_harness::network::Switched;

use crate::databases::error::CompareError;

/// Servers have so many hosts of their own in a comparison; the clients have one more.
pub const SERVER_HOSTS: usize = 3;

/// A place to run programs in.
#[derive(Clone, Debug)]
pub struct Host {
    network: Option<Rc<Switched>>,
    index: usize,
}

impl Host {
    /// The address at which the other parties reach what runs here.
    pub fn address(&self) -> Ipv4Addr {
        self.network.as_ref().map_or(Ipv4Addr::LOCALHOST, |network| network.hosts[self.index].address)
    }

    /// A command that runs `program` here. Its process number is the program's own: what enters a namespace becomes the program.
    pub fn command(&self, program: &Path) -> Command {
        match &self.network {
            Some(network) => network.hosts[self.index].command(program),
            None => Command::new(program),
        }
    }
}

/// All places of a comparison.
#[derive(Debug)]
pub struct Hosts {
    network: Option<Rc<Switched>>,
    servers: usize,
    /// The index of the clients' host.
    client: usize,
}

impl Hosts {
    /// This host alone.
    pub fn loopback() -> Hosts {
        Hosts { network: None, servers: SERVER_HOSTS, client: SERVER_HOSTS }
    }

    /// One namespace for each server host and one for the clients.
    ///
    /// # Errors
    /// This machine has no `ip`, its kernel no bridges, or we have not the rights.
    pub fn namespaces() -> Result<Hosts, CompareError> {
        Hosts::switched(SERVER_HOSTS, SERVER_HOSTS)
    }

    /// One namespace for each of so many server hosts; clients are beside the first, so that only what servers say crosses the network.
    ///
    /// # Errors
    /// As of [`Hosts::namespaces`].
    pub fn namespaces_of_servers(servers: usize) -> Result<Hosts, CompareError> {
        Hosts::switched(servers, 0)
    }

    fn switched(servers: usize, client: usize) -> Result<Hosts, CompareError> {
        let count = u8::try_from(servers.max(client + 1)).expect("a handful of hosts");
        let network = Switched::new(count).map_err(|error| CompareError::Missing {
            program: "network namespaces".to_string(),
            remedy: format!("{error}; install iproute2 and run as root, or leave out --namespaces"),
        })?;
        Ok(Hosts { network: Some(Rc::new(network)), servers, client })
    }

    /// How many server hosts there are.
    pub fn servers(&self) -> usize {
        self.servers
    }

    /// Where the server of this index runs, counted from zero.
    pub fn server(&self, index: usize) -> Host {
        assert!(index < self.servers, "there are {} hosts for servers", self.servers);
        Host { network: self.network.clone(), index }
    }

    /// Where clients run, and what serves no client.
    pub fn client(&self) -> Host {
        Host { network: self.network.clone(), index: self.client }
    }

    /// Whether each party has a network of its own.
    pub fn are_separate(&self) -> bool {
        self.network.is_some()
    }

    /// For the report.
    pub fn describe(&self) -> &'static str {
        if self.are_separate() {
            "network namespaces behind one switch: a server each, and one for the clients"
        } else {
            "the loopback device of one host"
        }
    }
}
