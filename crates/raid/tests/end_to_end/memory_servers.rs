//! Memory servers for a test: processes of `raid memory`, which end with it.

use crate::harness::raid;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// One of them, and where it listens whether it runs or not.
struct Server {
    address: SocketAddr,
    child: Option<Child>,
}

/// See the module's description.
pub struct MemoryServers(Vec<Server>);

impl MemoryServers {
    /// So many, which have nothing yet.
    pub fn start(count: usize) -> MemoryServers {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        MemoryServers((0..count).map(|_| start(any)).collect())
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(|server| server.address).collect()
    }

    /// Kills all of them: what they had is gone.
    pub fn kill(&mut self) {
        for child in self.0.iter_mut().filter_map(|server| server.child.take()) {
            end(child);
        }
    }

    /// Starts those that were killed, at their addresses.
    pub fn start_again(&mut self) {
        for server in self.0.iter_mut().filter(|server| server.child.is_none()) {
            *server = start(server.address);
        }
    }

    /// Stops all of them, or lets them go on: they keep what they have.
    pub fn signal(&self, signal: Signal) {
        for child in self.0.iter().filter_map(|server| server.child.as_ref()) {
            let pid = Pid::from_child(child);
            kill_process(pid, signal).expect("it runs");
        }
    }
}

impl Drop for MemoryServers {
    fn drop(&mut self) {
        self.kill();
    }
}

fn start(listen: SocketAddr) -> Server {
    let mut command = Command::new(raid());
    command.args(["memory", "--capacity", "1GiB", "--listen", &listen.to_string()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("raid runs");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("it is piped");
    BufReader::new(stdout).read_line(&mut line).expect("it speaks");
    let address = line.split([' ', ',']).find_map(|word| word.parse().ok());
    let address = address.unwrap_or_else(|| panic!("it does not say where it listens: {line}"));
    Server { address, child: Some(child) }
}

fn end(mut child: Child) {
    child.kill().expect("it runs, or has ended");
    child.wait().expect("it is ours");
}
