//! `raid plan`: how many sites, clients and processors a load needs, and what binds.
//!
//! It computes from demands that were measured, and starts nothing. Invariant: no figure without what it may be off by.

use clap::{Args, ValueEnum};
use queueing_network::capacity::{self, Capacity, CapacityQuestion, CarriedLoad, Hosts};
use queueing_network::demands::{DemandCertainty, Demands};
use queueing_network::mean_value::NetworkSolution;
use queueing_network::thesis;
use std::path::PathBuf;
use std::process::ExitCode;

const EXPLANATION: &str = "\
The file of demands (TOML; times in microseconds of a transaction, us):
  machine = \"2 processors of a shared host, 2026-11-24\"
  processors = 1.552            how many processors' worth of work the machine does when it is busy:
                                transactions per second times seconds of processor time of one, client and sites
  spread = 0.056                how far predictions have been off, as a share
  [[transaction]]               for each kind of transaction:
  name = \"TPC-B\"
  client_us = 44                processor time of its client
  rounds = 1                    round trips between sites that it waits for (default 1)
  disk_us = 0                   time of a disk that its commit waits for (default 0: copies in memory)
  [[transaction.sites]]         for each number of sites that was measured, the fewest first:
  count = 3
  home_us = 98.0                processor time of the site that its client is connected to
  other_us = 26.7               processor time of each other site
  bytes = 326                   what the home site sends to others

`raid-lab compare sites` measures home_us, other_us, bytes and the rates. Numbers of sites in between lie on a line. Sites beyond are marked: `beyond`
up to two more than were measured, `a guess` after that. Locks are not in the model: where transactions want one row, they wait for more than it tells.

What the columns mean:
  clients     busy at once; with --think each thinks between two transactions
  per second  transactions, with what the figure may be off by
  mean, 99 %  time of a transaction, in milliseconds; the second is about
  busiest     the part that has least left, and its share of time

Examples:
  raid plan demands.toml                                   5 clients, one machine, as many sites as were measured
  raid plan demands.toml --sites 5 --clients 1..64
  raid plan demands.toml --sites 3 --hosts each --network 0.2 --bandwidth 10000
  raid plan demands.toml --want 5000 --p99 20              the fewest clients, and the processors, for each number of sites
  raid plan --thesis                                       the file server of the V thesis, which the model comes from";

/// Tell how many sites, clients and processors a load needs
///
/// Solves a closed queueing network with the demands that were measured (mean value analysis), and says what binds.
#[derive(Args)]
#[command(after_help = EXPLANATION)]
pub struct PlanOptions {
    /// The file of demands.
    #[arg(value_name = "FILE", required_unless_present = "thesis")]
    demands: Option<PathBuf>,
    /// The kind of transaction. [default: the first one in the file]
    #[arg(long, value_name = "NAME")]
    transaction: Option<String>,
    /// Number of sites, or a range of them, as 1..7. [default: those that were measured]
    #[arg(long, value_name = "N", value_parser = range)]
    sites: Option<(usize, usize)>,
    /// Number of clients, or a range of them, as 1..64.
    #[arg(long, value_name = "N", value_parser = range, default_value = "1..64")]
    clients: (usize, usize),
    /// Where sites run: all on one machine with the clients, or each on its own.
    #[arg(long, value_enum, default_value = "one")]
    hosts: HostsOption,
    /// Processors' worth of each machine. [default: as in the file]
    #[arg(long, value_name = "X", value_parser = positive)]
    processors: Option<f64>,
    /// Milliseconds that a client thinks between two transactions.
    #[arg(long, value_name = "MS", value_parser = not_negative, default_value = "0")]
    think: f64,
    /// Milliseconds from one site to another and back.
    #[arg(long, value_name = "MS", value_parser = not_negative, default_value = "0")]
    network: f64,
    /// Megabits per second of a site's network. [default: no limit]
    #[arg(long, value_name = "MBIT", value_parser = positive)]
    bandwidth: Option<f64>,
    /// Transactions per second that are wanted: tells the fewest clients for each number of sites.
    #[arg(long, value_name = "X", value_parser = positive)]
    want: Option<f64>,
    /// Milliseconds that 99 of 100 transactions may take, with --want.
    #[arg(long, value_name = "MS", value_parser = positive, requires = "want")]
    p99: Option<f64>,
    /// Show the thesis's figures instead.
    #[arg(long, conflicts_with_all = ["demands", "want"])]
    thesis: bool,
}

/// Where sites run.
#[derive(Clone, Copy, ValueEnum)]
enum HostsOption {
    /// All on one machine, the clients, too.
    One,
    /// Each on its own machine, the clients at their home site's.
    Each,
}

/// `5` or `1..7`.
fn range(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| match text.parse::<usize>() {
        Ok(number) if (1..=capacity::CLIENTS_MAX).contains(&number) => Ok(number),
        _ => Err(format!("{text} is no number from 1 to {}", capacity::CLIENTS_MAX)),
    };
    match text.split_once("..") {
        None => number(text).map(|number| (number, number)),
        Some((first, last)) => match (number(first)?, number(last)?) {
            (first, last) if first <= last => Ok((first, last)),
            _ => Err(format!("{text} has nothing in it")),
        },
    }
}

fn positive(text: &str) -> Result<f64, String> {
    not_negative(text).and_then(|number| if number > 0.0 { Ok(number) } else { Err("it has to be above 0".to_owned()) })
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!("{text} is no number from 0 on")),
    }
}

/// Prints the plan. Exit status 1 when what is wanted cannot be carried with any number of sites that was asked about.
pub fn run(options: &PlanOptions) -> Result<ExitCode, String> {
    let Some(path) = options.demands.as_ref().filter(|_| !options.thesis) else {
        print!("{}", of_thesis());
        return Ok(ExitCode::SUCCESS);
    };
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let demands: Demands = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    demands.check().map_err(|error| format!("{}: {error}", path.display()))?;
    let transaction = capacity::chosen(&demands, options.transaction.as_deref())?;
    let (fewest, most) = options.sites.unwrap_or_else(|| {
        let counts = transaction.sites.iter().map(|site| site.count);
        (counts.clone().min().unwrap_or(1), counts.max().unwrap_or(1))
    });
    println!("{}, measured on {}", transaction.name, demands.machine);
    let mut is_carried = options.want.is_none();
    for sites in fewest..=most {
        let is_asked = options.sites.is_some() || transaction.sites.iter().any(|known| known.count == sites);
        if !is_asked {
            continue;
        }
        let capacity = Capacity::of(transaction, &question(options, &demands, sites))?;
        println!("\n{sites} site{}{}", if sites == 1 { "" } else { "s" }, certainty(capacity.known));
        match options.want {
            Some(want) => is_carried |= tell_wanted(&capacity, want, options.p99, demands.spread),
            None => tell(&capacity, options.clients, demands.spread),
        }
    }
    Ok(if is_carried { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn question(options: &PlanOptions, demands: &Demands, sites: usize) -> CapacityQuestion {
    CapacityQuestion {
        sites,
        hosts: match options.hosts {
            HostsOption::One => Hosts::One,
            HostsOption::Each => Hosts::Each,
        },
        processors: options.processors.unwrap_or(demands.processors),
        think_us: options.think * 1e3,
        round_us: options.network * 1e3,
        bytes_per_second: options.bandwidth.map_or(f64::INFINITY, |megabits| megabits * 1e6 / 8.0),
    }
}

fn certainty(known: DemandCertainty) -> &'static str {
    match known {
        DemandCertainty::Measured => "",
        DemandCertainty::Beyond => " (beyond what was measured)",
        DemandCertainty::Guess => " (a guess: too far beyond what was measured)",
    }
}

/// The lines of a table: all numbers of clients that are powers of two, and both ends.
fn tell(capacity: &Capacity, clients: (usize, usize), spread: f64) {
    println!("clients     per second       mean    99 %  busiest");
    let solutions = capacity.solutions(clients.1);
    for solution in &solutions[clients.0 - 1..] {
        let count = solution.customers;
        if count == clients.0 || count == clients.1 || count.is_power_of_two() {
            println!("{}", line(capacity, solution, spread));
        }
    }
    tell_limit(capacity, spread);
}

fn line(capacity: &Capacity, solution: &NetworkSolution, spread: f64) -> String {
    let busiest = match solution.busiest() {
        Some(place) => format!("{}, {:.0} %", capacity.centres[place].name, solution.busy[place] * 100.0),
        None => "nothing waits".to_owned(),
    };
    let ninety_nine = capacity::ninety_nine(&capacity.centres, solution);
    format!(
        "{:>7}  {:>7.0} ± {:<5.0}  {:>6.2}  {:>6.2}  {busiest}",
        solution.customers,
        solution.throughput,
        solution.throughput * spread,
        solution.response_us / 1e3,
        ninety_nine / 1e3
    )
}

fn tell_limit(capacity: &Capacity, spread: f64) {
    let Some((binding, per_second)) = capacity.limit else {
        println!("nothing binds");
        return;
    };
    let off = per_second * spread;
    let knee =
        capacity.knee().map_or_else(String::new, |knee| format!("; clients wait for each other from {knee:.1} on"));
    println!("binds: {}, at {per_second:.0} ± {off:.0} per second{knee}", binding.name());
}

/// Whether it is carried.
fn tell_wanted(capacity: &Capacity, per_second: f64, p99_ms: Option<f64>, spread: f64) -> bool {
    let processors = capacity::processors_for(capacity, per_second);
    let work = format!(
        "{per_second:.0} per second are {processors:.2} ± {:.2} processors' worth of work",
        processors * spread
    );
    match capacity::wanted(capacity, per_second, p99_ms.map(|ms| ms * 1e3)) {
        CarriedLoad::Carried(solution) => {
            println!(
                "clients     per second       mean    99 %  busiest\n{}\n{work}",
                line(capacity, &solution, spread)
            );
            true
        }
        CarriedLoad::Bound(binding, limit) => {
            println!(
                "no: {} bind{} at {limit:.0} ± {:.0} per second\n{work}",
                binding.name(),
                plural(binding),
                limit * spread
            );
            false
        }
        CarriedLoad::TooFewClients(found) => {
            println!("no: {} clients that think so long make {found:.0} per second\n{work}", capacity::CLIENTS_MAX);
            false
        }
    }
}

fn plural(binding: capacity::Binding) -> &'static str {
    match binding {
        capacity::Binding::Processors | capacity::Binding::OtherProcessors => "",
        _ => "s",
    }
}

/// Ratios of remote to local files, and shares of time, as figures 4-3 to 4-6 have them.
fn of_thesis() -> String {
    let mut text = String::from(
        "Message Passing on a Local Network, chapter 4: 8 kilobytes of a file, remote; milliseconds, and by the time with a local disk\n",
    );
    for server in &thesis::MODIFICATIONS {
        text += &format!("\n{}\nclients    time  ratio  network  processor  disk\n", server.name);
        let seen = thesis::seen(server, 50);
        for one in seen.iter().filter(|one| [1, 10, 12, 20, 30, 40, 50].contains(&one.clients)) {
            let [network, processor, disk] = one.busy.map(|busy| busy * 100.0);
            text += &format!(
                "{:>7}  {:>6.1}  {:>5.3}  {network:>5.1} %  {processor:>7.1} %  {disk:>2.0} %\n",
                one.clients, one.time_ms, one.ratio
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, the example of the help text is not what the command takes.
    #[test]
    fn the_example_is_read() {
        let lines = EXPLANATION.lines().skip(1).take_while(|line| !line.is_empty());
        let text: String = lines
            .filter(|line| !line.trim_start().starts_with("transactions per second times"))
            .map(|line| {
                line.split("   ").find(|part| !part.trim().is_empty()).unwrap_or_default().trim().to_owned() + "\n"
            })
            .collect();
        let demands: Demands = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        assert_eq!(demands.check(), Ok(()));
        assert_eq!(demands.transaction[0].sites[0].other_us, 26.7);
    }

    /// If this fails, ranges are read otherwise than the help says.
    #[test]
    fn ranges_are_read() {
        assert_eq!(range("5"), Ok((5, 5)));
        assert_eq!(range("1..64"), Ok((1, 64)));
        for wrong in ["0", "7..1", "..", "x", "1..99999"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
