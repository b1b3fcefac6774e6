//! `raid-lab compare sites`: what a transaction of Raid costs by the number of sites, each in a network namespace of its own: frames and bytes on the
//! network, and processor time of the sites. (The Raid papers' tables II and III count messages and times in this way.)
//!
//! All clients are at the first site and run beside it, so that nothing crosses the network but what sites, and the oracle at the first one's, say to each
//! other. Clusters run one after the other: counts may be compared between them, rates only with care. Invariant: a run counts only if its books balance.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::databases::books::Books;
use crate::databases::clients::{self, Figures, pgbench};
use crate::databases::contenders::raid::{Raid, SITES_MAX};
use crate::databases::contenders::{RAID, System};
use crate::databases::environment::{self, Environment};
use crate::databases::error::CompareError;
use crate::databases::hosts::Hosts;
use crate::databases::limits::STATEMENT_TIME_MAX;
use crate::databases::loads::{self, Load};
use crate::databases::machine::{Machine, sync_latency};
use crate::databases::process::Interrupt;
use crate::databases::scheduling::SharedGroup;

/// The loads, by their keys.
const LOADS: [&str; 2] = ["tpcb-16", "call-16"];
/// The device of a host that leads to the others.
const DEVICE: &str = "ether";

/// What to measure and for how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of sites, with commas between them
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,3,5,7",
          value_parser = clap::value_parser!(u8).range(1..=SITES_MAX as i64))]
    sites: Vec<u8>,
    /// Rounds with each of them
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of one run
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// The `raid` program to measure [default: the one of the same build]
    #[arg(long, value_name = "PATH")]
    raid: Option<PathBuf>,
    /// Folder below which the sites keep their data [default: the system's temporary folder]
    #[arg(long)]
    data: Option<PathBuf>,
    /// First of the TCP ports used in each namespace
    #[arg(long, default_value_t = 25_430, value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    port: u16,
}

/// Counters of all sites, in order.
struct Counters {
    /// Frames sent and their bytes.
    sent: Vec<(u64, u64)>,
    used: Vec<Duration>,
}

/// What one transaction of a run cost.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    tps: f64,
    latency_ms: f64,
    frames: f64,
    bytes: f64,
    home_us: f64,
    /// Of each other site, on average.
    other_us: f64,
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<(), CompareError> {
    let group = SharedGroup::enter();
    let folder = environment::run_folder(options.data.as_deref())?;
    let loads = loads::select(loads::beside_postgres(100), &LOADS.map(str::to_string))?;
    let network = "network namespaces behind one switch: a site each, clients and oracle beside the first";
    let machine = Machine::look(folder.path(), group.describe(), network);
    let mut environment = Environment {
        folder: folder.path().to_path_buf(),
        postgres_programs: pgbench::find_programs()?,
        raid_program: options.raid.as_deref().map(environment::absolute).transpose()?,
        port: options.port,
        cores: machine.cores,
        hosts: Hosts::loopback(),
        interrupt: Interrupt::listen()?,
    };
    loads.iter().try_for_each(|load| clients::program(load.client).prepare(&environment))?;
    let sync_us = sync_latency(folder.path())?.as_micros();
    println!(
        "{} cores ({}), {}, fdatasync {sync_us} us; {}; {network}",
        machine.cores, machine.processor, machine.kernel, machine.scheduling
    );
    println!("of one transaction; medians of {} rounds of {} s\n", options.rounds, options.seconds);
    println!("| sites | load | tps | latency, ms | frames sent | bytes sent | home site, us | each other site, us |");
    println!("|---:|---|---:|---:|---:|---:|---:|---:|");
    for &sites in &options.sites {
        environment.folder = folder.path().join(format!("{sites}_sites"));
        std::fs::create_dir_all(&environment.folder)
            .map_err(CompareError::system("cannot create", &environment.folder))?;
        loads.iter().try_for_each(|load| clients::program(load.client).prepare(&environment))?;
        environment.hosts = Hosts::namespaces_of_servers(usize::from(sites))?;
        measure(&environment, options, &loads)?;
        // Namespaces have names, so the next network may come only after this one.
        environment.hosts = Hosts::loopback();
    }
    Ok(())
}

/// All rounds with as many sites as there are hosts.
fn measure(environment: &Environment, options: &Options, loads: &[Load]) -> Result<(), CompareError> {
    let sites = environment.hosts.servers();
    let mut raid = Raid::new(environment)?;
    let scale = loads[0].scale;
    raid.fill(environment, scale)?;
    let servers = raid.endpoints(RAID, scale);
    let mut books = Books::default();
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); loads.len()];
    for _ in 0..options.rounds {
        for (load, costs) in loads.iter().zip(&mut costs) {
            books.open(environment, &servers[0])?;
            let before = counters(environment, &raid)?;
            let figures = clients::run(environment, load, &servers[..1], options.seconds);
            let after = counters(environment, &raid)?;
            raid.check()?;
            let figures = figures?;
            books.close(environment, &servers[0], (sites, scale), &figures, load.key)?;
            costs.push(cost(&before, &after, &figures));
        }
    }
    books.audit(environment, &servers, (sites, scale), RAID)?;
    if !books.findings.is_empty() {
        return Err(CompareError::Books(books.findings.join("; ")));
    }
    for (load, costs) in loads.iter().zip(&costs) {
        let middle = |figure: &dyn Fn(&Cost) -> f64| {
            let mut figures: Vec<f64> = costs.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        let other = if sites == 1 { "-".to_string() } else { format!("{:.1}", middle(&|cost| cost.other_us)) };
        println!(
            "| {sites} | {} | {:.0} | {:.3} | {:.2} | {:.0} | {:.1} | {other} |",
            load.key,
            middle(&|cost| cost.tps),
            middle(&|cost| cost.latency_ms),
            middle(&|cost| cost.frames),
            middle(&|cost| cost.bytes),
            middle(&|cost| cost.home_us),
        );
    }
    Ok(())
}

fn counters(environment: &Environment, raid: &Raid) -> Result<Counters, CompareError> {
    let path = "/proc/net/dev";
    let sent = |index: usize| {
        let mut command = environment.hosts.server(index).command(Path::new("cat"));
        command.arg(path);
        let text = environment.run(command, "devices", STATEMENT_TIME_MAX)?;
        sent_by(DEVICE, &text).ok_or(CompareError::Answer { statement: format!("cat {path}"), answer: text })
    };
    let sent = (0..environment.hosts.servers()).map(sent).collect::<Result<_, _>>()?;
    let used = raid.site_processes().iter().map(|process| process.processor_time()).collect::<Result<_, _>>()?;
    Ok(Counters { sent, used })
}

/// Frames that a device has sent, and their bytes, in the text of `/proc/net/dev` (proc(5)): eight columns of what was received stand before.
fn sent_by(device: &str, text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    let mut columns = line.split_whitespace().skip(8).map(|column| column.parse().ok());
    let bytes = columns.next()??;
    Some((columns.next()??, bytes))
}

fn cost(before: &Counters, after: &Counters, figures: &Figures) -> Cost {
    let each = |sum: f64| sum / figures.transactions.max(1) as f64;
    let grown = |count: &dyn Fn(&(u64, u64)) -> u64| -> f64 {
        before.sent.iter().zip(&after.sent).map(|(before, after)| (count(after) - count(before)) as f64).sum()
    };
    let used: Vec<f64> = before.used.iter().zip(&after.used).map(|(before, after)| micros(*before, *after)).collect();
    let others = used.iter().skip(1);
    let count = others.len().max(1) as f64;
    Cost {
        tps: figures.tps,
        latency_ms: figures.latency_ms_average,
        frames: each(grown(&|sent| sent.0)),
        bytes: each(grown(&|sent| sent.1)),
        home_us: each(used.first().copied().unwrap_or_default()),
        other_us: each(others.sum::<f64>() / count),
    }
}

fn micros(before: Duration, after: Duration) -> f64 {
    after.saturating_sub(before).as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wrong column would be what a site has received.
    #[test]
    fn what_a_device_has_sent_is_found() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes packets\n    lo: 1 2 3 4 5 6 7 8 9 10 0 0 0 0 0 0\n \
                    ether: 11 12 0 0 0 0 0 0 13 14 0 0 0 0 0 0\n";
        assert_eq!(sent_by("ether", text), Some((14, 13)));
        assert_eq!((sent_by("lo", text), sent_by("eth", text)), (Some((10, 9)), None));
    }

    /// What one site costs must not be told as what all cost, nor the home site's time as another's.
    #[test]
    fn costs_are_of_one_transaction() {
        let counters = |sent: [(u64, u64); 3], used: [u64; 3]| Counters {
            sent: sent.to_vec(),
            used: used.map(Duration::from_micros).to_vec(),
        };
        let before = counters([(10, 100); 3], [5, 5, 5]);
        let after = counters([(14, 300), (11, 110), (13, 130)], [105, 25, 45]);
        let figures = Figures { tps: 7.0, latency_ms_average: 0.5, transactions: 4, ..Figures::default() };
        let expected = Cost { tps: 7.0, latency_ms: 0.5, frames: 2.0, bytes: 60.0, home_us: 25.0, other_us: 7.5 };
        assert_eq!(cost(&before, &after, &figures), expected);
    }
}
