//! Measures what a transaction of pgbench costs in the servers of all sites, by step, and so what bounds them on one core:
//! `cargo bench -p domain --bench transaction_cost -- [--sites N] [--call] [--accounts N] [--transactions N] [--clients N]
//! [--workers N] [--replay]`.
//!
//! `--call` makes DebitCredit one request, a call of a procedure, instead of pgbench's seven.
//!
//! `--workers` runs one site by 1 to N threads, as a site's process does, and tells what they do under the servers' lock.
//!
//! `--replay` measures instead what the last site's start costs when it is killed after these transactions, with everything before them in its store.
//!
//! Otherwise everything runs on one thread, without sockets, files and other processes, so that the processor's time can be told on a machine that has
//! other things to do. Messages between sites are encoded and decoded as on a real line; logs and stores are in memory. What is not in
//! it: system calls, waking, and the store's thread.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod client;
mod cluster;
mod meter;
mod replay;
mod workers;

use client::{Client, Door};
use cluster::Cluster;
use std::error::Error;
use std::time::Instant;

/// Accounts, unless the command line says otherwise: a row of each is in memory at all three sites.
const ACCOUNTS: i64 = 200_000;
/// Sites, at most.
const SITES_MAX: u32 = 7;
/// Transactions that are measured.
const TRANSACTIONS: u64 = 20_000;
/// Threads, at most.
const WORKERS_MAX: u32 = 64;
/// Clients, all of them at the first site.
const CLIENTS: u64 = 16;

/// The allocator of `raid`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut sites, mut accounts, mut transactions, mut clients, mut calls, mut workers, mut replays) =
        (3, ACCOUNTS, TRANSACTIONS, CLIENTS, false, None, false);
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(name) = arguments.next() {
        if name == "--call" {
            calls = true;
            continue;
        }
        if name == "--replay" {
            replays = true;
            continue;
        }
        let value = arguments.next().unwrap_or_default();
        let number = value.parse::<u32>().ok().filter(|number| *number > 0);
        let number = number.ok_or_else(|| format!("{name} wants a number above 0, not {value:?}"))?;
        match name.as_str() {
            "--sites" if number <= SITES_MAX => sites = number as u16,
            "--accounts" => accounts = number.into(),
            "--transactions" => transactions = number.into(),
            "--workers" if number <= WORKERS_MAX => workers = Some(number),
            "--clients" => clients = number.into(),
            _ => return Err(format!("there is no {name} {number}: see the top of this file").into()),
        }
    }
    let mut cluster = Cluster::start(if workers.is_some() { 1 } else { sites })?;
    let mut all: Vec<Client> = (1..=clients).map(|number| Client::new(number, accounts, calls)).collect();
    for client in &mut all {
        client.connect(&mut cluster)?;
    }
    client::fill_tables(&mut all[0], &mut cluster, accounts)?;
    if let Some(workers) = workers {
        let (domain, boot) = cluster.into_first();
        return Ok(workers::compare(domain, boot, workers, clients, accounts, calls, transactions)?);
    }
    for client in &mut all {
        client.prepare(&mut cluster)?;
    }
    if replays {
        cluster.bring_to_stores();
        run(&mut all, &mut cluster, transactions)?;
        return replay::measure(cluster);
    }
    // The first round warms the caches.
    run(&mut all, &mut cluster, transactions)?;
    cluster.begin_measuring();
    let begun = Instant::now();
    run(&mut all, &mut cluster, transactions)?;
    println!(
        "{sites} sites, {clients} clients, {accounts} accounts: {:.0} transactions a second",
        transactions as f64 / begun.elapsed().as_secs_f64()
    );
    print!("{}", cluster.report(transactions));
    Ok(())
}

/// All clients at once, as far as locks let them.
fn run(clients: &mut [Client], cluster: &mut Cluster, transactions: u64) -> Result<(), String> {
    let goal = clients.iter().map(Client::done).sum::<u64>() + transactions;
    while clients.iter().map(Client::done).sum::<u64>() < goal {
        for client in &mut *clients {
            client.go_on(cluster)?;
        }
        cluster.pass_time();
    }
    Ok(())
}
