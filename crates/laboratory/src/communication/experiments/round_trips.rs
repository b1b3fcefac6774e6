//! Round trips by size, on one host and between two: figures 6 and 12 of the 1992 paper.
//!
//! What V.1 spends on the external data representation (XDR) is measured alone, too: a request and a reply, each converted there and back.
//!
//! Both are plots; the 1991 paper tells their straight lines in words: so many milliseconds, and so many more for each kilobyte.

use crate::communication::experiment::Experiment;
use crate::communication::job::{Job, Measured, Task, measure as measure_alone};
use crate::communication::laboratory::{Calls, Laboratory};
use crate::communication::limits::ROUND_TIME;
use crate::communication::method::Method;
use crate::communication::methods::raidcomm_one::{RaidcommOne, first_header, marshal, unmarshal};
use crate::communication::methods::{CARRIERS, sockets::Tcp, sockets::Udp, transactions::VERSION_TWO};
use laboratory_harness::network::Hosts;
use laboratory_harness::placement;
use laboratory_harness::process::say;
use laboratory_harness::report::{Columns, Table};
use laboratory_harness::{Failure, Outcome};

use serde::{Deserialize, Serialize};

const BYTES: [usize; 6] = [64, 256, 1024, 4096, 16384, 65536];
/// The papers' straight lines are told up to here.
const PAPER_BYTES_MAX: usize = 4096;
/// Microseconds of a round trip, and of each kilobyte more, in V.1 and V.2: on one host, and between two.
const ONE_HOST: [(f64, f64); 2] = [(4400.0, 1000.0), (1400.0, 340.0)];
const TWO_HOSTS: [(f64, f64); 2] = [(5100.0, 3000.0), (2700.0, 2500.0)];

const CONVERSION: &str = "of V.1: conversion";

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    bytes: usize,
}

/// See the module's description.
pub struct RoundTrips;

impl Experiment for RoundTrips {
    fn name(&self) -> &'static str {
        "round_trips"
    }

    fn about(&self) -> &'static str {
        "round trips by size, on one host and between two (1992, figures 6 and 12)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let mut methods = vec![&RaidcommOne as &dyn Method, &VERSION_TWO];
        methods.extend(CARRIERS);
        let title = "Round trips by size on one host, one processor";
        let mut local = measure(laboratory, title, &methods, ONE_HOST, None)?;
        local.notes.push(
            "beside the 1991 paper's words: V.1 4.4 ms, and 1.0 ms for each kilobyte; V.2 1.4 and 0.34 ms".to_owned(),
        );
        let mut tables = vec![local];
        match Hosts::new() {
            Ok(hosts) => {
                let title = "Round trips by size between two hosts (network namespaces), a processor each";
                let mut remote =
                    measure(laboratory, title, &[&RaidcommOne, &VERSION_TWO, &Udp, &Tcp], TWO_HOSTS, Some(&hosts))?;
                remote.notes.push(
                    "beside the 1991 paper's words: V.1 5.1 ms, and 3.0 ms for each kilobyte; V.2 2.7 and 2.5 ms"
                        .to_owned(),
                );
                tables.push(remote);
            }
            Err(failure) => tables[0].notes.push(failure.to_string()),
        }
        Ok(tables)
    }

    fn perform(&self, part: serde_json::Value) -> Outcome<()> {
        let Part { bytes } = serde_json::from_value(part)?;
        let (data, mut message) = (vec![7; bytes], Vec::new());
        let measured = measure_alone(ROUND_TIME, || {
            for _ in ["request", "reply"] {
                marshal(&first_header(), &data, &mut message).map_err(Failure::foreign)?;
                std::hint::black_box(unmarshal(&message).map_err(Failure::foreign)?);
            }
            Ok(())
        })?;
        say(&serde_json::to_string(&measured)?)
    }
}

/// One round of the conversion alone.
fn convert(laboratory: &Laboratory, bytes: usize) -> Outcome<f64> {
    let task = Task::Part { experiment: RoundTrips.name().to_owned(), part: serde_json::to_value(Part { bytes })? };
    let place = placement::one(&laboratory.processors).client;
    let line = laboratory.start(&Job { place, task })?.line()?;
    Ok(serde_json::from_str::<Measured>(&line)?.microseconds())
}

fn measure(
    laboratory: &Laboratory,
    title: &str,
    methods: &[&dyn Method],
    paper: [(f64, f64); 2],
    hosts: Option<&Hosts>,
) -> Outcome<Table> {
    let placement = match hosts {
        None => placement::one(&laboratory.processors),
        Some(_) => placement::two(&laboratory.processors),
    };
    let mut table = Table::new(title, "1992, figures 6 and 12", Columns::bytes(&BYTES));
    // None: what V.1 does before it sends and after it has received.
    let rows: Vec<Option<&dyn Method>> = methods.iter().map(|&method| Some(method)).chain([None]).collect();
    let wanted: Vec<_> = BYTES
        .iter()
        .enumerate()
        .flat_map(|(column, &bytes)| rows.iter().map(move |&row| (column, bytes, row)))
        .filter(|(_, bytes, row)| row.is_none_or(|method| *bytes <= method.bytes_max()))
        .collect();
    let figures = laboratory.in_turns(wanted.len(), |index| {
        let (_, bytes, row) = wanted[index];
        let Some(method) = row else { return convert(laboratory, bytes) };
        let calls = Calls { method, request_bytes: bytes, reply_bytes: bytes, placement, hosts };
        Ok(laboratory.call(&calls)?.microseconds())
    })?;
    for ((column, bytes, row), figure) in wanted.into_iter().zip(figures) {
        let row = row.map_or(CONVERSION, Method::name);
        let version = [RaidcommOne.name(), VERSION_TWO.name()].iter().position(|&name| name == row);
        let told = version.filter(|_| bytes <= PAPER_BYTES_MAX).map(|version| paper[version]);
        let paper = told.map(|(first, more)| first + more * bytes as f64 / 1024.0);
        table.put(column, row, figure, paper);
    }
    Ok(table)
}
