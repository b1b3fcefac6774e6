//! Every method between two processes, and the experiments that have processes of their own. The program starts itself again, so it has no test
//! harness around it.

use laboratory::communication::experiment::Experiment;
use laboratory::communication::experiments::ALL;
use laboratory::communication::experiments::{context_switches, message_transactions, pipes, raid_messages};
use laboratory::communication::laboratory::{Calls, Laboratory};
use laboratory::communication::{job, limits, methods, worker};
use laboratory_harness::Failure;
use laboratory_harness::placement;
use laboratory_harness::process::Program;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const JOB: &str = "--job";

fn laboratory(stop: Arc<AtomicBool>) -> Laboratory {
    let path = std::env::current_exe().expect("this program has a file");
    Laboratory::new(Program { path, arguments: vec![JOB.into()] }, 1, None, stop).expect("a laboratory")
}

/// If this fails, a method brings other bytes than were sent, or does not bring so many; the client compares them.
fn every_method_brings_short_and_long_messages(laboratory: &Laboratory) {
    let placement = placement::one(&laboratory.processors);
    for method in methods::CARRIERS.into_iter().chain(methods::OTHERS) {
        for (request_bytes, reply_bytes) in [(1, 1), (64, 1000), (limits::QUEUE_BYTES_MAX, 10), (60_000, 60_000)] {
            if request_bytes.max(reply_bytes) > method.bytes_max() {
                continue;
            }
            let measured = laboratory.call(&Calls { method, request_bytes, reply_bytes, placement, hosts: None });
            match measured {
                Ok(measured) => assert!(measured.count > 0, "{}", method.name()),
                // A kernel may be built without one.
                Err(Failure::System(error))
                    if error.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error()) =>
                {
                    println!("{}: this kernel has none", method.name());
                }
                Err(failure) => panic!("{}, {request_bytes} and {reply_bytes} bytes: {failure}", method.name()),
            }
        }
    }
}

/// If this fails, a row of a table stays empty, or an experiment leaves a message out.
fn experiments_fill_their_tables(laboratory: &Laboratory) {
    let experiments: [&dyn Experiment; 3] =
        [&context_switches::ContextSwitches, &raid_messages::RaidMessages, &message_transactions::MessageTransactions];
    for experiment in experiments {
        for table in experiment.run(laboratory).expect("an experiment") {
            for row in &table.rows {
                assert!(row.cells.iter().all(|cell| cell.ours.is_some()), "{}: {:?}", row.name, table.notes);
            }
        }
    }
    // The system's own pipe is not between machines: its row has one figure.
    for table in pipes::Pipes.run(laboratory).expect("an experiment") {
        assert!(table.rows[0].cells.iter().all(|cell| cell.ours.is_some()), "{:?}", table.notes);
        assert_eq!(table.rows[1].cells.iter().filter(|cell| cell.ours.is_some()).count(), 1, "{:?}", table.notes);
    }
}

/// If this fails, Ctrl-C leaves the user waiting for the rest of the rounds.
fn who_is_asked_to_stop_starts_nothing_more() {
    let laboratory = laboratory(Arc::new(AtomicBool::new(true)));
    let stopped = context_switches::ContextSwitches.run(&laboratory);
    assert!(matches!(stopped, Err(Failure::Stopped)));
}

/// If this fails, the server of a client that has failed is waited for, or keeps running.
fn a_process_that_ends_early_is_told(laboratory: &Laboratory) {
    let nonsense = job::Task::Part { experiment: "none".to_owned(), part: Default::default() };
    let mut process = laboratory.start(&job::Job { place: None, task: nonsense }).expect("it starts");
    assert!(matches!(process.line(), Err(Failure::Ended { .. })));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [JOB, text] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        if let Err(failure) = worker::perform(text, &methods::all(), &ALL) {
            eprintln!("{failure}");
            std::process::exit(1);
        }
        return;
    }
    let laboratory = laboratory(Arc::default());
    every_method_brings_short_and_long_messages(&laboratory);
    experiments_fill_their_tables(&laboratory);
    who_is_asked_to_stop_starts_nothing_more();
    a_process_that_ends_early_is_told(&laboratory);
    println!("processes: all is well");
}
