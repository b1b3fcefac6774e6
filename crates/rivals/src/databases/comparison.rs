//! The plan: start the systems, fill their tables, run every load on every contender in every round, audit, and report.
//!
//! Within a round the contenders take turns, and each round begins with another one, so that neither a slowing machine nor the
//! order favours anybody.

use std::collections::BTreeSet;
use std::fs;

use crate::databases::Options;
use crate::databases::books::Books;
use crate::databases::clients::{self, pgbench};
use crate::databases::contenders::{Contender, Kind, System};
use crate::databases::endpoint::Endpoint;
use crate::databases::environment::{self, Environment};
use crate::databases::error::CompareError;
use crate::databases::hosts::Hosts;
use crate::databases::limits::{IDLE_WINDOW, RUN_OVERHEAD_SECONDS};
use crate::databases::loads::{Load, Spread};
use crate::databases::machine::{Machine, sync_latency};
use crate::databases::process::Interrupt;
use crate::databases::report::{Party, Promise, Report, Run};
use crate::databases::scheduling::SharedGroup;

/// A system, once it runs.
struct Running {
    kind: Kind,
    system: Box<dyn System>,
}

/// Whether this load is to be run on this way to use a system.
fn takes_part(load: &Load, contender: &Contender) -> bool {
    load.contenders.contains(&contender.name)
}

/// The systems that some load needs and that are wanted, in the order in which they are started.
fn wanted(options: &Options, loads: &[Load]) -> Vec<Kind> {
    let needed =
        |kind: &Kind| loads.iter().any(|load| kind.contenders().iter().any(|contender| takes_part(load, contender)));
    Kind::ALL.into_iter().filter(|kind| options.only.is_empty() || options.only.contains(kind)).filter(needed).collect()
}

/// Prints the loads with who takes part in them, and how long all of them take.
pub fn list(options: &Options, loads: &[Load]) {
    let kinds = wanted(options, loads);
    let contenders: Vec<&Contender> = kinds.iter().flat_map(|kind| kind.contenders()).collect();
    let mut runs = 0;
    for load in loads {
        let names: Vec<&str> =
            contenders.iter().filter(|contender| takes_part(load, contender)).map(|contender| contender.name).collect();
        runs += names.len() as u32;
        println!("{:<24} {:<52} {}", load.key, load.name, names.join(", "));
    }
    let minutes = (options.rounds * runs * (options.seconds + RUN_OVERHEAD_SECONDS)).div_ceil(60);
    println!(
        "{} rounds of {runs} runs of {} s: about {minutes} minutes, after some for filling the tables",
        options.rounds, options.seconds
    );
}

/// Carries the comparison out; prints as it goes.
pub fn run(options: &Options, loads: &[Load]) -> Result<(), CompareError> {
    let interrupt = Interrupt::listen()?;
    let raid_program = options.raid.as_deref().map(environment::absolute).transpose()?;
    // Declared before the systems, so that both outlive them.
    let group = SharedGroup::enter();
    let folder = environment::run_folder(options.data.as_deref())?;
    let hosts = if options.namespaces { Hosts::namespaces()? } else { Hosts::loopback() };
    let machine = Machine::look(folder.path(), group.describe(), hosts.describe());
    let environment = Environment {
        folder: folder.path().to_path_buf(),
        postgres_programs: pgbench::find_programs()?,
        raid_program,
        port: options.port,
        cores: machine.cores,
        hosts,
        interrupt,
    };
    let kinds = wanted(options, loads);
    kinds.iter().try_for_each(|kind| kind.look_for_programs(&environment))?;
    loads.iter().try_for_each(|load| clients::program(load.client).prepare(&environment))?;
    let mut systems = start(&environment, &kinds, loads)?;

    let mut report = Report::new(
        machine,
        parties(&environment, &systems)?,
        client_versions(&environment, loads)?,
        promises(&kinds, loads),
        loads,
        options.rounds,
        options.seconds,
    );
    print!("{}", report.heading());
    let mut books = Books::default();
    let outcome = rounds(&environment, options, loads, &mut systems, &mut books, &mut report)
        .and_then(|()| audit(&environment, &systems, loads, &mut books))
        .and_then(|()| group.idle_share(&environment.interrupt, IDLE_WINDOW));
    (report.findings, report.audited) = (books.findings, books.audited);
    // What an hour has measured is worth keeping, however it ended.
    report.idle_cores = outcome.as_ref().ok().copied().flatten();
    publish(options, &mut report)?;
    outcome?;
    if report.findings.is_empty() { Ok(()) } else { Err(CompareError::Books(report.findings.join("; "))) }
}

/// All runs.
fn rounds(
    environment: &Environment,
    options: &Options,
    loads: &[Load],
    systems: &mut [Running],
    books: &mut Books,
    report: &mut Report,
) -> Result<(), CompareError> {
    let kinds: Vec<Kind> = systems.iter().map(|running| running.kind).collect();
    for round in 1..=options.rounds {
        let sync_us = sync_latency(&environment.folder)?.as_micros() as u64;
        println!("round {round} of {}: fdatasync {sync_us} us", options.rounds);
        for load in loads {
            for (place, contender) in turn(&kinds, round, load) {
                let figures = measure(environment, systems, books, load, place, contender, options.seconds)?;
                let run = Run { round, load: load.key, contender, sync_us, figures };
                println!("{run}");
                report.runs.push(run);
            }
        }
    }
    Ok(())
}

/// Starts the systems and fills the tables of the scales that their loads need.
fn start(environment: &Environment, kinds: &[Kind], loads: &[Load]) -> Result<Vec<Running>, CompareError> {
    let mut systems = Vec::new();
    for &kind in kinds {
        println!("starting {}", kind.names());
        let mut system = kind.start(environment)?;
        for scale in scales(kind, loads) {
            println!("filling its tables at scale {scale}");
            system.fill(environment, scale)?;
            system.check()?;
        }
        systems.push(Running { kind, system });
    }
    Ok(systems)
}

/// The scales at which a system is measured.
fn scales(kind: Kind, loads: &[Load]) -> BTreeSet<u32> {
    let needed = loads.iter().filter(|load| kind.contenders().iter().any(|contender| takes_part(load, contender)));
    needed.map(|load| load.scale).collect()
}

fn parties(environment: &Environment, systems: &[Running]) -> Result<Vec<Party>, CompareError> {
    let party = |Running { kind, system }: &Running| {
        Ok(Party { contenders: kind.names(), version: system.version(environment)?, settings: system.settings() })
    };
    systems.iter().map(party).collect()
}

fn client_versions(environment: &Environment, loads: &[Load]) -> Result<Vec<String>, CompareError> {
    let versions: Result<BTreeSet<String>, CompareError> =
        loads.iter().map(|load| clients::program(load.client).version(environment)).collect();
    Ok(versions?.into_iter().collect())
}

fn promises(kinds: &[Kind], loads: &[Load]) -> Vec<Promise> {
    let contenders = kinds.iter().flat_map(|kind| kind.contenders());
    contenders
        .filter(|contender| loads.iter().any(|load| takes_part(load, contender)))
        .map(|contender| Promise { contender: contender.name, promise: contender.promise })
        .collect()
}

/// The contenders of a load, each with the index of its system, beginning with another one in each round.
fn turn(kinds: &[Kind], round: u32, load: &Load) -> Vec<(usize, &'static str)> {
    let all = kinds.iter().enumerate().flat_map(|(place, kind)| {
        kind.contenders().iter().filter(|contender| takes_part(load, contender)).map(move |one| (place, one.name))
    });
    let mut order: Vec<(usize, &'static str)> = all.collect();
    if !order.is_empty() {
        let first = (round as usize - 1) % order.len();
        order.rotate_left(first);
    }
    order
}

/// One run, with its books.
fn measure(
    environment: &Environment,
    systems: &mut [Running],
    books: &mut Books,
    load: &Load,
    place: usize,
    contender: &'static str,
    seconds: u32,
) -> Result<clients::Figures, CompareError> {
    let system = &mut systems[place].system;
    let servers = system.endpoints(contender, load.scale);
    let aimed: Vec<Endpoint> = match load.spread {
        Spread::Everywhere if system.all_write() => servers.clone(),
        Spread::Everywhere => servers[..1].to_vec(),
        // A system of one server is asked there.
        Spread::At(index) => vec![servers[index % servers.len()].clone()],
    };
    let booked = system.keeps_books() && !load.reads_only();
    system.become_contender(environment, contender)?;
    if booked {
        books.open(environment, &servers[0])?;
    }
    let figures = clients::run(environment, load, &aimed, seconds);
    system.check()?;
    let figures = figures?;
    if booked {
        system.settle(environment)?;
        let scale = load.scale;
        books.close(environment, &servers[0], (place, scale), &figures, &format!("{}, {contender}", load.key))?;
    }
    Ok(figures)
}

fn audit(
    environment: &Environment,
    systems: &[Running],
    loads: &[Load],
    books: &mut Books,
) -> Result<(), CompareError> {
    println!("auditing the books");
    for (place, Running { kind, system }) in systems.iter().enumerate().filter(|(_, one)| one.system.keeps_books()) {
        let name = kind.contenders()[0].name;
        for scale in scales(*kind, loads) {
            let servers = system.endpoints(name, scale);
            books.audit(environment, &servers, (place, scale), name)?;
        }
    }
    books.audited = true;
    Ok(())
}

fn publish(options: &Options, report: &mut Report) -> Result<(), CompareError> {
    print!("\n{}", report.summary());
    for path in &options.output {
        let text = if path.extension().is_some_and(|end| end == "json") { report.json() } else { report.markdown() };
        fs::write(path, text).map_err(CompareError::system("cannot write", path))?;
        println!("written to {}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::databases::loads::beside_postgres;

    /// Whoever always ran first would always find a rested disk.
    #[test]
    fn each_round_begins_with_another_contender() {
        let loads = beside_postgres(100);
        let load = loads.iter().find(|load| load.key == "select-16-site1").expect("it is there");
        let kinds = [Kind::StandIn, Kind::PostgresStandbys, Kind::Raid];
        let order = |round| -> Vec<usize> { turn(&kinds, round, load).iter().map(|(place, _)| *place).collect() };
        assert_eq!([1, 2, 3, 4].map(order), [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }

    /// Two ways to use one system are two contenders of one place.
    #[test]
    fn a_system_may_be_several_contenders() {
        let loads = beside_postgres(100);
        let order = turn(&[Kind::PostgresStandbys], 2, &loads[0]);
        assert_eq!(order, [(0, "postgres on"), (0, "postgres remote_write")]);
        assert_eq!(scales(Kind::StandIn, &loads).into_iter().collect::<Vec<_>>(), [10]);
        assert_eq!(scales(Kind::Raid, &loads).into_iter().collect::<Vec<_>>(), [1, 10, 100]);
    }
}
