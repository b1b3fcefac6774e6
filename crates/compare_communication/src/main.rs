//! `cargo run --release -p compare_communication`: calls over this system's line of shared memory beside those of rival systems, in one run, of
//! the same sizes, at the same places.
//!
//! The rivals are iceoryx2 ([`iceoryx`]), gRPC by tonic ([`grpc`]), ZeroMQ ([`zero_mq`]) and QUIC by quinn ([`quic`]), each as its own
//! documentation has it; beside them stand a Unix socket, named pipes, futexes and eventfds. The harness is the laboratory's. To build it, the
//! machine must have libclang, which iceoryx2 asks for, and cmake, which ZeroMQ does.

mod grpc;
mod iceoryx;
mod quic;
mod zero_mq;

use clap::Parser;
use communication_laboratory::experiments::{Experiment, calls::Calls};
use communication_laboratory::harness::process::Program;
use communication_laboratory::methods::{Method, line, memory, pipes, sockets};
use communication_laboratory::{Failure, Options, Outcome, job, limits, run};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::PathBuf;
use std::process::ExitCode;
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

/// Measures this system's calls beside those of rival systems.
#[derive(Parser)]
#[command(version)]
struct CommandLine {
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

fn start(CommandLine { rounds, place, output, job }: CommandLine) -> Outcome<()> {
    if let Some(job) = job {
        return job::perform(&job, &METHODS, &EXPERIMENTS);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).map_err(Failure::refused("handle signals"))?;
    }
    let program = Program { path: std::env::current_exe()?, arguments: vec!["--job".into()] };
    let options = Options { only: None, place, rounds, output };
    run(&options, &EXPERIMENTS, program, stop, |text| println!("{text}"))
}

fn main() -> ExitCode {
    match start(CommandLine::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("compare_communication: {failure}");
            ExitCode::FAILURE
        }
    }
}
