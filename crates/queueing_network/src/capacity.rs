//! What sites and clients make of the demands, and what binds.
//!
//! A site's home work is done by one event loop, on a processor among others. So those who are at the machine are served as many at a time as it has
//! processors' worth, and never faster than the loop takes them: the flow-equivalent centre of both (hierarchical modelling, thesis section 4.2.4).

use crate::centres::{Centre, CentreService};
use crate::demands::{DemandCertainty, Demands, SITES_MAX, SiteDemands, TransactionDemands};
use crate::mean_value::{NetworkSolution, solve};

/// Clients up to which a plan is looked for.
pub const CLIENTS_MAX: usize = 1_000;

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityQuestion {
    /// How many sites, each with a copy.
    pub sites: usize,
    /// Where they run.
    pub hosts: Hosts,
    /// Processors' worth of each machine.
    pub processors: f64,
    /// Microseconds that a client thinks between two transactions.
    pub think_us: f64,
    /// Microseconds that a message takes from one site to another and its answer back.
    pub round_us: f64,
    /// Bytes per second of the home site's network; infinite: as many as anybody likes.
    pub bytes_per_second: f64,
}

/// Where sites run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// All, and the clients, on one machine.
    One,
    /// Each on its own; the clients at their home site's.
    Each,
}

/// What binds a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The home site's event loop.
    EventLoop,
    /// The processors of the machine that the clients' home site runs on.
    Processors,
    /// The processors of another site's machine.
    OtherProcessors,
    /// The disk.
    Disk,
    /// The network.
    Network,
}

impl Binding {
    /// As it is told.
    pub fn name(self) -> &'static str {
        match self {
            Binding::EventLoop => "the home site's event loop",
            Binding::Processors => "processors",
            Binding::OtherProcessors => "processors of another site",
            Binding::Disk => "disk",
            Binding::Network => "network",
        }
    }
}

/// A network for a question, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Where time goes.
    pub centres: Vec<Centre>,
    /// What binds in the end, and how many transactions per second that lets through; `None`: nothing does.
    pub limit: Option<(Binding, f64)>,
    /// How well the demands are known.
    pub known: DemandCertainty,
    /// Think time, in microseconds.
    pub think_us: f64,
    /// Microseconds of processors for a transaction, at all sites and the client.
    pub processor_us: f64,
    /// The demands that it was made of.
    pub demands: SiteDemands,
}

impl Capacity {
    /// For a kind of transaction. Errors: more sites than an instance may have.
    pub fn of(transaction: &TransactionDemands, question: &CapacityQuestion) -> Result<Capacity, String> {
        if !(1..=SITES_MAX).contains(&question.sites) {
            return Err(format!("the plan wants {} sites: {SITES_MAX} is the limit", question.sites));
        }
        let (demands, known) = transaction.at(question.sites);
        let others = (question.sites - 1) as f64;
        let processors = question.processors.max(1.0);
        let at_home = transaction.client_us + demands.home_us;
        let here = match question.hosts {
            Hosts::One => at_home + others * demands.other_us,
            Hosts::Each => at_home,
        };
        // The loop serves one at a time: no more than these are served at once, wherever in the machine they are.
        let at_once = processors.min(here / demands.home_us);
        let mut centres = vec![Centre::new("machine", here, CentreService::Several(at_once))];
        let mut limits =
            vec![(Binding::Processors, processors * 1e6 / here), (Binding::EventLoop, 1e6 / demands.home_us)];
        let has_rounds = question.sites > 1 && transaction.rounds > 0.0;
        if has_rounds {
            centres.push(Centre::new("round trips", transaction.rounds * question.round_us, CentreService::Delay));
            if question.hosts == Hosts::Each {
                // All are asked at once: the slowest counts.
                centres.push(Centre::new("another site", demands.other_us, CentreService::Single));
                limits.push((Binding::OtherProcessors, 1e6 / demands.other_us));
            }
            let network_us = demands.bytes / question.bytes_per_second * 1e6;
            if network_us > 0.0 {
                centres.push(Centre::new("network", network_us, CentreService::Single));
                limits.push((Binding::Network, 1e6 / network_us));
            }
        }
        if transaction.disk_us > 0.0 {
            centres.push(Centre::new("disk", transaction.disk_us, CentreService::Single));
            limits.push((Binding::Disk, 1e6 / transaction.disk_us));
        }
        let least = limits.into_iter().filter(|(_, limit)| limit.is_finite());
        let limit = least.min_by(|left, right| left.1.total_cmp(&right.1));
        let processor_us = at_home + others * demands.other_us;
        Ok(Capacity { centres, limit, known, think_us: question.think_us, processor_us, demands })
    }

    /// For 1 to `clients` clients.
    pub fn solutions(&self, clients: usize) -> Vec<NetworkSolution> {
        solve(&self.centres, self.think_us, clients)
    }

    /// The number of clients beyond which waiting begins: the time of one, alone, by that of what binds.
    pub fn knee(&self) -> Option<f64> {
        let alone: f64 = self.think_us + self.centres.iter().map(|centre| centre.demand_us).sum::<f64>();
        self.limit.map(|(_, per_second)| alone * per_second / 1e6)
    }
}

/// About how long 99 of 100 transactions take at most, in microseconds: delays are fixed, and what is waited for is taken as exponential.
pub fn ninety_nine(centres: &[Centre], solution: &NetworkSolution) -> f64 {
    let (mut fixed, mut waited) = (0.0, 0.0);
    for (centre, time) in centres.iter().zip(&solution.times_us) {
        match centre.service {
            CentreService::Delay => fixed += time,
            _ => waited += time,
        }
    }
    fixed + waited * 100f64.ln()
}

/// The least clients with which a load is carried, and what carries it.
#[derive(Clone, Debug, PartialEq)]
pub enum CarriedLoad {
    /// With these clients; what there is then.
    Carried(NetworkSolution),
    /// Not with any number of them: what binds, and what it lets through.
    Bound(Binding, f64),
    /// Not with [`CLIENTS_MAX`] of them: they think too long.
    TooFewClients(f64),
}

/// How many clients carry so many transactions per second. `p99_us`: about how long 99 of 100 may take.
pub fn wanted(capacity: &Capacity, per_second: f64, p99_us: Option<f64>) -> CarriedLoad {
    if let Some((binding, limit)) = capacity.limit.filter(|(_, limit)| *limit < per_second) {
        return CarriedLoad::Bound(binding, limit);
    }
    let solutions = capacity.solutions(CLIENTS_MAX);
    let Some(found) = solutions.iter().find(|solution| solution.throughput >= per_second) else {
        return CarriedLoad::TooFewClients(solutions.last().map_or(0.0, |solution| solution.throughput));
    };
    match (p99_us, capacity.limit) {
        (Some(p99_us), Some((binding, _))) if ninety_nine(&capacity.centres, found) > p99_us => {
            // Waiting grows with the clients: those before are the last that are soon enough.
            let soon = solutions.iter().take_while(|solution| ninety_nine(&capacity.centres, solution) <= p99_us);
            CarriedLoad::Bound(binding, soon.last().map_or(0.0, |solution| solution.throughput))
        }
        _ => CarriedLoad::Carried(found.clone()),
    }
}

/// Processors' worth of one machine that a load keeps busy, whether or not an event loop can.
pub fn processors_for(capacity: &Capacity, per_second: f64) -> f64 {
    capacity.processor_us * per_second / 1e6
}

/// The transaction of a name, or the only one. Errors: the names that there are.
pub fn chosen<'a>(demands: &'a Demands, name: Option<&str>) -> Result<&'a TransactionDemands, String> {
    let names = || demands.transaction.iter().map(|known| known.name.as_str()).collect::<Vec<_>>().join(", ");
    match name {
        None => demands.transaction.first().ok_or_else(|| "there is no transaction".to_owned()),
        Some(name) => demands
            .transaction
            .iter()
            .find(|known| known.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| format!("there is no transaction {name}, but {}", names())),
    }
}
