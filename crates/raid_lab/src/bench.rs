//! `raid-lab bench`, which `raid bench` calls: experiments that print figures of this machine.

use crate::experiment;
use clap::{Args, Subcommand};
use laboratory::experiment::ExperimentError;
use laboratory::larger::rows::Share;
use laboratory::{adapting, communication, dip, interruption, larger, memory, returning, soak};
use laboratory_harness::process::Program;
use laboratory_harness::{Failure, Outcome};
use local_cluster::screen::Screen;
use local_cluster::stop;
use messages::LeaseLength;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  raid bench return                              a million rows, 1% of which change, five times
  raid bench return --scale 1 --percent 50 --rounds 1
  raid bench gap --kills 100                     for how long a surviving site answers nothing when another one is killed
  raid bench dip --scale 100 --rate 1000         what a site that comes back costs the clients of the others
  raid bench adapt --seconds 5 --settle 45       every method of concurrency control under six loads, and auto among them
  raid bench soak --minutes 2 --rate 100         a mixed load with a kill a minute; 60 minutes unless told otherwise
  raid bench larger --gigabytes 1 --memory-mb 200   more rows than memory: does a working set that fits stay fast?
  raid bench comm --list                         the experiments on communication
  raid bench comm --only calls --rounds 9        64 bytes to another process and back, at every place
  raid bench memory --quick                      the experiments on network memory, in a minute
  raid bench memory --only figure1,figure9 --output ./figures";

/// Measure Raid on this machine.
///
/// Figures are of the machine as it is now: leave it idle, and build with --release.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    Return(ReturnOptions),
    Gap(GapOptions),
    Dip(DipOptions),
    Adapt(AdaptOptions),
    Soak(SoakOptions),
    Larger(LargerOptions),
    Comm(CommOptions),
    Memory(MemoryOptions),
}

/// The papers' experiments on communication, with their figures beside ours.
///
/// Every method has its turn in each round, at places that the table names; what others do with the processors meanwhile is printed. Two hosts are
/// two network namespaces: they need `ip` and the rights of the superuser, and are left out without.
#[derive(Args)]
struct CommOptions {
    /// One experiment of the list, instead of all of them.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Calls at one place only, such as "one, neighbour".
    #[arg(long, value_name = "NAME")]
    place: Option<String>,
    /// Rounds.
    #[arg(long, value_name = "N", default_value_t = communication::limits::ROUNDS,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(communication::limits::ROUNDS_MAX)))]
    rounds: u32,
    #[command(flatten)]
    figures: Figures,
}

/// What a laboratory makes of its figures.
#[derive(Args)]
struct Figures {
    /// Also write the figures as JSON and plots as SVG into this folder.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// List the experiments, and measure nothing.
    #[arg(long)]
    list: bool,
    /// What a process of an experiment is to do.
    #[arg(long, value_name = "JOB", hide = true)]
    job: Option<String>,
}

/// The network-memory paper's experiments, with its figures beside ours.
///
/// Recoverable memory with its log on disk beside the same with its log in the memory of servers (figures 1 to 11), and OO7 on SQLite and redb (figure
/// 12), all in turns, on this disk and on models of slower ones: how long its syncs took is printed with every figure. Clients and servers run in
/// network namespaces of their own, which need `ip` and the rights of the superuser; without, on the loopback interface. SQLite is that of a stock
/// Python with the extension of this project. With default options it takes some minutes.
#[derive(Args)]
struct MemoryOptions {
    /// Figures of the list, with commas between them, instead of all of them.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Rounds; 3 unless --quick is given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(memory::limits::ROUNDS_MAX)))]
    rounds: Option<u32>,
    /// The same points, but one short round, fewer disks and a smaller database for OO7.
    #[arg(long)]
    quick: bool,
    /// Folder on the disk that is to be measured, instead of that for temporary files. A gigabyte must be free.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// SQLite's extension, if it is not beside this program (`cargo build --release -p remote_sqlite`).
    #[arg(long, value_name = "PATH")]
    sqlite_extension: Option<PathBuf>,
    #[command(flatten)]
    figures: Figures,
}

/// How soon a site that was away answers again, and what it copies.
///
/// Starts three sites on this machine and loads pgbench's tables. Then, each round: kills site 3, changes part of the accounts, starts site 3
/// again, and reads from it what has changed until it answers. A stale answer ends the experiment with status 1.
#[derive(Args)]
struct ReturnOptions {
    /// Scale of pgbench's tables: 100,000 accounts each.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(laboratory::limits::SCALE_MAX)))]
    scale: u32,
    /// How many of the accounts change while the site is away, in percent.
    #[arg(long, value_name = "P", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    percent: u32,
    /// How often the site goes and comes back.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Keep the data here instead of in a folder that vanishes; it must hold no other cluster.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// For how long a surviving site answers nothing when another one is killed.
///
/// Starts three sites on this machine and lets clients book at a modest rate. Then kills one site after the other with SIGKILL, each time while
/// one client of a surviving site changes a row every millisecond and another one reads it, and takes it back before the next. A stale read, or a
/// booking that is lost or there twice, ends the experiment with status 1.
#[derive(Args)]
struct GapOptions {
    /// How often a site is killed.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    kills: u32,
    /// Bookings a second meanwhile.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// Clients that book, spread over the sites.
    #[arg(long, value_name = "N", default_value_t = 6,
          value_parser = clap::value_parser!(u16).range(3..=laboratory::limits::CLIENTS_MAX as i64))]
    clients: u16,
    /// Milliseconds that a site's lease lasts, 200 to 1000.
    #[arg(long, value_name = "MS", default_value_t = LeaseLength::DEFAULT.milliseconds())]
    lease_ms: u64,
    /// Keep the data here instead of in a folder that vanishes; it must hold no other cluster.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// What a site that comes back costs the clients of the others.
///
/// Starts three sites on this machine, loads pgbench's tables and lets clients book at two of the sites all the time. Then, each round: kills site 3, changes
/// part of the accounts, starts site 3 again, and counts what the clients book in a second before that, until nothing is left to copy, and after it. A booking
/// that is lost or there twice ends the experiment with status 1.
#[derive(Args)]
struct DipOptions {
    /// Scale of pgbench's tables: 100,000 accounts each.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(laboratory::limits::SCALE_MAX)))]
    scale: u32,
    /// How many of the accounts change while the site is away, in percent.
    #[arg(long, value_name = "P", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    percent: u32,
    /// How often the site goes and comes back.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Clients that book at the two other sites.
    #[arg(long, value_name = "N", default_value_t = 8,
          value_parser = clap::value_parser!(u16).range(1..=laboratory::limits::CLIENTS_MAX as i64))]
    clients: u16,
    /// Bookings a second of all of them together; without it, as many as they can.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Keep the data here instead of in a folder that vanishes; it must hold no other cluster.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Every method of concurrency control under six loads, and `auto`, which follows the site's own rules.
///
/// Starts three sites on this machine. In each round every method goes through all loads, and then `auto`, by clients of one site. Printed are commits a
/// second, tries that failed, what `auto` ran, and how it stands to the best of each load and to the best single method over all. Books that do not
/// balance end the experiment with status 1.
#[derive(Args)]
struct AdaptOptions {
    /// How long commits are counted, in each load.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// How long `auto` has before that: its rules look at three windows of ten seconds, and at two more before they stay with a method.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    settle: u64,
    /// Clients of each load.
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(5..=laboratory::limits::CLIENTS_MAX as i64))]
    clients: u16,
    /// How often all have their turn.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Also write the figures as JSON and plots as SVG into this folder.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Keep the data here instead of in a folder that vanishes; it must hold no other cluster.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// A mixed load with a kill a minute: is anything lost, do memory and disk stay what they are?
///
/// Starts three sites on this machine. Each minute clients book at all of them at a bounded rate, others read, change one row that all change, and
/// read for long; one site is killed with SIGKILL after 10 s and started again 10 s later. Then the books are closed: what every client was told is
/// compared with every copy. Each second every process's memory, files, threads, log and store are measured. Exit status: 0 when nothing
/// was lost or doubled, all copies were equal, and everything measured is flat by the rule that the report states; 1 otherwise.
#[derive(Args)]
struct SoakOptions {
    /// How long; the first third is warm-up.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_080))]
    minutes: u32,
    /// Bookings a second; as many reads, and a fifth as many changes of the hot row.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(5..=100_000))]
    rate: u32,
    /// Clients that book, spread over the sites.
    #[arg(long, value_name = "N", default_value_t = 12,
          value_parser = clap::value_parser!(u16).range(3..=laboratory::limits::CLIENTS_MAX as i64))]
    clients: u16,
    /// Keep the data here instead of in a folder that vanishes; it must hold no other cluster.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// More rows than memory: does a working set that fits stay fast?
///
/// Starts one site on this machine and loads rows of a kilobyte of random text, more than it may keep in memory. Then clients read and change the working
/// set, which is every so many-th row: alone, while others read all rows at random, and while another one scans them. Each load is printed with its
/// answers in a second, their times, and the most memory that the site had. Before that, the same is done in a site that has the working set and no
/// other rows. It needs room on disk, which it checks first. A wrong answer ends the experiment with status 1.
#[derive(Args)]
struct LargerOptions {
    /// How much is loaded, in 1,000,000,000 bytes; parts of it are possible.
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = gigabytes)]
    gigabytes: f64,
    /// Megabytes of rows that the site keeps in memory.
    #[arg(long, value_name = "MB", default_value_t = 2_048, value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    memory_mb: u32,
    /// How much of the rows is the working set, in percent: 1, 2, 4, 5, 10, 20, 25, 50 or 100.
    #[arg(long, value_name = "P", default_value_t)]
    working_set_percent: Share,
    /// How long each load goes on.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// Clients of each load.
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..=laboratory::limits::CLIENTS_MAX as i64))]
    clients: u16,
    /// Keep the data here instead of in a folder that vanishes; it must hold no other cluster.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

fn gigabytes(text: &str) -> Result<f64, String> {
    let most = laboratory::limits::LARGER_ROWS_MAX as f64 * larger::rows::ROW_BYTES as f64 / 1e9;
    match text.parse() {
        Ok(number) if (0.01..=most).contains(&number) => Ok(number),
        _ => Err(format!("a number from 0.01 to {most}")),
    }
}

/// Runs it.
pub fn run(options: &Options) -> Result<ExitCode, String> {
    match &options.experiment {
        Experiment::Return(options) => measure_return(options),
        Experiment::Gap(options) => measure_gap(options),
        Experiment::Dip(options) => measure_dip(options),
        Experiment::Adapt(options) => measure_adapt(options),
        Experiment::Soak(options) => measure_soak(options),
        Experiment::Larger(options) => measure_larger(options),
        Experiment::Comm(options) => measure_communication(options).map_err(|failure| failure.to_string()),
        Experiment::Memory(options) => measure_memory(options).map_err(|failure| failure.to_string()),
    }
}

fn measure_communication(options: &CommOptions) -> Outcome<ExitCode> {
    let experiments = communication::experiments::ALL;
    if let Some(job) = &options.figures.job {
        communication::worker::perform(job, &communication::methods::all(), &experiments)?;
    } else if options.figures.list {
        print!("{}", communication::experiments::list(&experiments));
    } else {
        let CommOptions { only, place, rounds, figures } = options;
        let (only, place, output) = (only.clone(), place.clone(), figures.output.clone());
        let chosen = communication::Options { only, place, rounds: *rounds, output };
        let program =
            Program { path: std::env::current_exe()?, arguments: ["bench", "comm", "--job"].map(Into::into).to_vec() };
        let stop = stop::on_signal().map_err(Failure::foreign)?;
        communication::run(&chosen, &experiments, program, stop, |text| println!("{text}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure_memory(options: &MemoryOptions) -> Outcome<ExitCode> {
    if let Some(job) = &options.figures.job {
        memory::job::perform(job)?;
    } else if options.figures.list {
        print!("{}", memory::experiments::list());
    } else {
        let (scale, rounds) = match options.quick {
            true => (memory::scale::QUICK, memory::limits::ROUNDS_QUICK),
            false => (memory::scale::PAPER, memory::limits::ROUNDS),
        };
        let MemoryOptions { only, data, sqlite_extension, figures, .. } = options;
        let chosen = memory::Options {
            only: only.clone(),
            scale,
            rounds: options.rounds.unwrap_or(rounds),
            data: data.clone(),
            sqlite_extension: sqlite_extension.clone(),
            output: figures.output.clone(),
        };
        let program = Program {
            path: std::env::current_exe()?,
            arguments: ["bench", "memory", "--job"].map(Into::into).to_vec(),
        };
        let stop = stop::on_signal().map_err(Failure::foreign)?;
        memory::run(&chosen, program, stop, |text| println!("{text}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An experiment of the laboratory: the `raid` program, a folder of its own, what is measured, whether to stop, where to show it.
type Measurement<Chosen, Report> =
    fn(&Path, &Path, Chosen, &AtomicBool, &mut Screen) -> Result<Report, ExperimentError>;

/// Runs an experiment and prints its report; the exit status is 0 if that is good.
fn measure<Chosen, Report: Display>(
    measurement: Measurement<Chosen, Report>,
    chosen: Chosen,
    data: Option<&Path>,
    is_good: fn(&Report) -> bool,
) -> Result<ExitCode, String> {
    experiment::run(data, |program, folder, stop, screen| {
        let report = measurement(program, folder, chosen, stop, screen)?;
        screen.line(&format!("\n{report}"));
        Ok(if is_good(&report) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

fn measure_return(options: &ReturnOptions) -> Result<ExitCode, String> {
    let ReturnOptions { scale, percent, rounds, data } = options;
    let chosen = returning::Options { scale: *scale, percent: *percent, rounds: *rounds };
    measure(returning::run, chosen, data.as_deref(), |_| true)
}

fn measure_gap(options: &GapOptions) -> Result<ExitCode, String> {
    let GapOptions { kills, rate, clients, lease_ms, data } = options;
    let chosen =
        interruption::Options { kills: *kills, rate: *rate, clients: usize::from(*clients), lease_ms: *lease_ms };
    measure(interruption::run, chosen, data.as_deref(), |_| true)
}

fn measure_dip(options: &DipOptions) -> Result<ExitCode, String> {
    let DipOptions { scale, percent, rounds, clients, rate, data } = options;
    let (scale, percent, rounds, clients, rate) = (*scale, *percent, *rounds, usize::from(*clients), *rate);
    let chosen = dip::Options { scale, percent, rounds, clients, rate };
    measure(dip::run, chosen, data.as_deref(), |_| true)
}

fn measure_adapt(options: &AdaptOptions) -> Result<ExitCode, String> {
    let AdaptOptions { seconds, settle, clients, rounds, output, data } = options;
    let (seconds, settle, clients, rounds) = (*seconds, *settle, usize::from(*clients), *rounds);
    let chosen = adapting::Options { seconds, settle, clients, rounds, output: output.clone() };
    experiment::run(data.as_deref(), |program, folder, stop, screen| {
        adapting::run(program, folder, &chosen, stop, screen)?;
        Ok(ExitCode::SUCCESS)
    })
}

fn measure_soak(options: &SoakOptions) -> Result<ExitCode, String> {
    let SoakOptions { minutes, rate, clients, data } = options;
    let chosen = soak::Options { minutes: *minutes, rate: *rate, clients: usize::from(*clients) };
    measure(soak::run, chosen, data.as_deref(), soak::Report::is_good)
}

fn measure_larger(options: &LargerOptions) -> Result<ExitCode, String> {
    let LargerOptions { gigabytes, memory_mb, working_set_percent, seconds, clients, data } = options;
    let chosen = larger::Options {
        rows: (gigabytes * 1e9) as u64 / larger::rows::ROW_BYTES,
        memory_mb: *memory_mb as usize,
        working_set: *working_set_percent,
        load_time: Duration::from_secs(*seconds),
        clients: usize::from(*clients),
    };
    measure(larger::run, chosen, data.as_deref(), |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn larger(arguments: &[&str]) -> Result<LargerOptions, clap::Error> {
        let line = Line::try_parse_from(["bench", "larger"].iter().chain(arguments))?;
        match line.options.experiment {
            Experiment::Larger(options) => Ok(options),
            _ => panic!("another experiment was read"),
        }
    }

    /// A working set that no step makes would be measured as another one, of which the report would not tell.
    #[test]
    fn only_shares_that_there_are_can_be_a_working_set() {
        let share = |percent: &str| larger(&["--working-set-percent", percent]).map(|read| read.working_set_percent);
        assert_eq!(larger(&[]).expect("it needs no option").working_set_percent, Share::default());
        assert_eq!(share("25").expect("every fourth row").of(100).rows(), 25);
        let error = share("40").expect_err("every two and a half-th row").to_string();
        assert!(error.contains("'40' for '--working-set-percent <P>'"), "{error}");
        assert!(error.contains("only 1, 2, 4, 5, 10, 20, 25, 50, 100 are possible"), "{error}");
    }
}
