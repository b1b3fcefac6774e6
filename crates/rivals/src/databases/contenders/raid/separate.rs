//! Raid on hosts of its own: an oracle beside the clients and a site on each server host, from configuration files as in earnest.
//!
//! They talk in clear, as the other contenders do here, and by no shared memory, which real hosts would not have.

use std::fs;
use std::net::SocketAddrV4;
use std::path::Path;

use rustix::process::Signal;

use super::{CLUSTER_PORTS, MEMORY_MB};
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;
use crate::databases::hosts::Host;
use crate::databases::process::Process;

/// Where sites listen, from the first port of a cluster, behind the ports for clients.
const LISTEN: u16 = CLUSTER_PORTS - 3;
/// Where sites tell their state.
const CONSOLE: u16 = CLUSTER_PORTS - 2;
/// Where the oracle listens, which may be beside a site.
const ORACLE: u16 = CLUSTER_PORTS - 1;
/// Any number that no other instance here has; the port is added.
const INSTANCE: u64 = 0x5241_4944_0000_0000;

/// Clients come from other hosts' addresses, in clear, as the rivals' do.
const CLIENTS: &str = "\n[clients]\ninsecure = true\nhba = [\"host all all all trust\"]\n";

/// Starts the oracle and the sites; the sites come first in the answer.
pub fn start(environment: &Environment, program: &Path, data: &Path, port: u16) -> Result<Vec<Process>, CompareError> {
    fs::create_dir(data).map_err(CompareError::system("cannot create", data))?;
    let listen = |host: &Host| SocketAddrV4::new(host.address(), port + LISTEN);
    let oracle_address = SocketAddrV4::new(environment.hosts.client().address(), port + ORACLE);
    let peers = |without: Option<usize>| -> String {
        let others = (0..environment.hosts.servers()).filter(|&index| Some(index) != without);
        others.map(|index| format!("{} = \"{}\"\n", index + 1, listen(&environment.hosts.server(index)))).collect()
    };
    let common = |folder: &Path, listen: SocketAddrV4| {
        let instance = INSTANCE + u64::from(port);
        let data = folder.display();
        format!("instance = {instance}\ndata = \"{data}\"\nlisten = \"{listen}\"\nclear = true\nmethod = \"locking\"\n")
    };
    let launch = |name: &str, host: &Host, configuration: String, command: &str| -> Result<Process, CompareError> {
        let path = data.join(format!("{name}.toml"));
        fs::write(&path, configuration).map_err(CompareError::system("cannot write", &path))?;
        let mut process = host.command(program);
        process.args([command, "--config"]).arg(&path);
        Process::start(process, &environment.log(&format!("raid_{port}_{name}")), Signal::TERM)
    };

    let host = environment.hosts.client();
    let configuration =
        format!("{}required_copies = 2\n\n[sites]\n{}", common(&data.join("oracle"), oracle_address), peers(None));
    let oracle = launch("oracle", &host, configuration, "oracle")?;
    let mut processes = Vec::new();
    for index in 0..environment.hosts.servers() {
        let host = environment.hosts.server(index);
        let name = format!("site{}", index + 1);
        let sql = SocketAddrV4::new(host.address(), port + index as u16);
        let configuration = format!(
            "{}id = {}\nmemory_mb = {MEMORY_MB}\nsql = \"{sql}\"\nconsole = \"127.0.0.1:{}\"\noracle = \"{oracle_address}\"\nchannels = \"datagrams\"\n\n[peers]\n{}{CLIENTS}",
            common(&data.join(&name), listen(&host)),
            index + 1,
            port + CONSOLE,
            peers(Some(index))
        );
        processes.push(launch(&name, &host, configuration, "site")?);
    }
    processes.push(oracle);
    Ok(processes)
}
