//! Calls over this system's line of shared memory beside those of rival systems, in one run, of
//! the same sizes, at the same places.
//!
//! The rivals are iceoryx2 ([`iceoryx`]), gRPC by tonic ([`grpc`]), ZeroMQ ([`zero_mq`]) and QUIC by quinn ([`quic`]), each as its own
//! documentation has it; beside them stand a Unix socket, named pipes, futexes and eventfds. The harness is the laboratory's. To build it, the
//! machine must have libclang, which iceoryx2 asks for, and cmake, which ZeroMQ does.

mod grpc;
mod iceoryx;
mod quic;
mod zero_mq;

use clap::Args;
use laboratory::communication::experiment::Experiment;
use laboratory::communication::experiments::calls::Calls;
use laboratory::communication::method::Method;
use laboratory::communication::methods::{line, memory, pipes, sockets};
use laboratory::communication::{self, limits, worker};
use laboratory_harness::process::Program;
use laboratory_harness::{Failure, Outcome};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const METHODS: [&dyn Method; 10] = [
    &line::Line,
    &memory::Memory(memory::Wake::Futex),
    &memory::Memory(memory::Wake::Eventfd),
    &pipes::Pipes,
    &sockets::UNIX_STREAM,
    &iceoryx::Iceoryx { busy: false },
    &iceoryx::Iceoryx { busy: true },
    &grpc::Grpc,
    &zero_mq::ZeroMq,
    &quic::Quic,
];

const EXPERIMENTS: [&dyn Experiment; 1] = [&Calls { methods: &METHODS, sizes: &[64, 1024, 65536] }];

/// How to measure this system's calls beside those of rival systems.
#[derive(Args)]
pub struct Options {
    /// Rounds, in each of which every system has its turn
    #[arg(long, default_value_t = limits::ROUNDS, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::ROUNDS_MAX)))]
    rounds: u32,
    /// Measure at one place only, such as "one processor"
    #[arg(long, value_name = "NAME")]
    place: Option<String>,
    /// Also write the figures as JSON and plots as SVG into this folder
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// What a process of the comparison is to do
    #[arg(long, value_name = "JOB", hide = true)]
    job: Option<String>,
}

/// Carries it out, with processes of this program that `arguments` start: the job comes behind them.
///
/// # Errors
/// The operating system refuses, a process ends early, or somebody asked for an end.
pub fn run(Options { rounds, place, output, job }: &Options, arguments: &[&str]) -> Outcome<()> {
    if let Some(job) = job {
        return worker::perform(job, &METHODS, &EXPERIMENTS);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).map_err(Failure::refused("handle signals"))?;
    }
    let arguments = arguments.iter().map(Into::into).collect();
    let program = Program { path: std::env::current_exe()?, arguments };
    let chosen = communication::Options { only: None, place: place.clone(), rounds: *rounds, output: output.clone() };
    communication::run(&chosen, &EXPERIMENTS, program, stop, |text| println!("{text}"))
}
