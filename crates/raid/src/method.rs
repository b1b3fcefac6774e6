//! `raid method`: which method of concurrency control each site runs, and another one.
//!
//! It is a client like any other: what it sets is a setting in SQL, and what it shows is `raid.concurrency`.

mod advice;

use crate::cluster_folder::ClusterFolder;
use crate::limits::{CONNECT_TIME_MAX, LOOK_INTERVAL, METHOD_TIME_MAX};
use clap::{Args, Subcommand, ValueEnum};
use local_cluster::ClusterDirectory;
use messages::concurrency;
use messages::settings::{AUTOMATIC, Parameter};
use postgres::{Client, NoTls};
use site::SiteConfig;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

const EXPLANATION: &str = "\
What the columns mean:
  method    how transactions that execute at the site are kept apart; whatever it is, every commit checks what its transaction has read
  auto      the site goes over to another method by itself, when its rules say so for half a minute (see `raid method advice`)
  set for   cluster: for all sites; site: for this one alone, which goes first; or nothing is set, and the site's file decides
  since     when it was switched to; empty: it has been so since the site's process began its present life
  before    transactions that execute since before the last switch

It connects as the user `postgres`, without encryption, and with the password in PGPASSWORD if it is asked for one. What it does can be done with any
client, too: see docs/concurrency-control.md.

Examples:
  raid method
  raid method set optimistic                      all sites, at once, while they serve
  raid method set timestamp --way suffix          with both methods until no older transaction is left
  raid method set serial --site 2                 one site; the others stay as they are
  raid method reset --site 2                      as the others again
  raid method advice                              what the sites' rules say of their load, and why
  raid method auto on                             let each site follow its rules; `auto off` takes that back
  raid method --config /etc/raid/site.toml";

/// Show or change the method of concurrency control
///
/// The change is a small transaction: it is in force at every site where it is installed, also at those that are away and come back.
#[derive(Args)]
#[command(after_help = EXPLANATION, args_conflicts_with_subcommands = false)]
pub struct MethodArguments {
    #[command(flatten)]
    folder: ClusterFolder,
    /// Instead of the folder: the configuration file of one site, which is asked.
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    change: Option<MethodChange>,
}

#[derive(Subcommand)]
enum MethodChange {
    /// Go over to another method
    Set {
        /// To which.
        method: MethodOption,
        /// How the sites go over to it. It stays set for later ones. [default: as it is set, or generic]
        #[arg(long)]
        way: Option<StrategyOption>,
        /// At one site only.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        site: Option<u16>,
    },
    /// Let the sites choose their methods by themselves
    Auto {
        /// On: from what is in force now. Off: what was set is taken back, too, so that the sites' files decide.
        state: Toggle,
        /// One site only.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        site: Option<u16>,
    },
    /// Show what the rules of each site say of each method, by the last ten seconds of its load
    Advice,
    /// Take back what was set
    Reset {
        /// For one site only.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        site: Option<u16>,
    },
}

/// Whether something is on.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Toggle {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// A method of concurrency control.
#[derive(Clone, Copy, ValueEnum)]
enum MethodOption {
    /// Transactions that conflict wait for each other; readers do not wait for readers.
    Locking,
    /// Nobody waits; who has read what changes meanwhile begins again.
    Optimistic,
    /// One transaction executes at a time.
    Serial,
    /// Locks, all of them exclusive.
    SimpleLocking,
    /// Who comes too late for its place in the order begins again.
    Timestamp,
}

/// How a site goes over to another method.
#[derive(Clone, Copy, ValueEnum)]
enum StrategyOption {
    /// The new method judges from now on; nobody is aborted.
    Generic,
    /// What contradicts the new method is aborted at once.
    Converting,
    /// Both methods judge until no transaction from before is left.
    #[value(alias = "suffix")]
    SuffixSufficient,
}

impl MethodOption {
    fn name(self) -> &'static str {
        match self {
            MethodOption::Locking => concurrency::Method::Locking,
            MethodOption::Optimistic => concurrency::Method::Optimistic,
            MethodOption::Serial => concurrency::Method::Serial,
            MethodOption::SimpleLocking => concurrency::Method::SimpleLocking,
            MethodOption::Timestamp => concurrency::Method::Timestamp,
        }
        .name()
    }
}

impl StrategyOption {
    fn name(self) -> &'static str {
        match self {
            StrategyOption::Generic => concurrency::SwitchStrategy::Generic,
            StrategyOption::Converting => concurrency::SwitchStrategy::Converting,
            StrategyOption::SuffixSufficient => concurrency::SwitchStrategy::SuffixSufficient,
        }
        .name()
    }
}

/// Changes what is to be changed, and shows what each site runs then. Exit status 1 when a site does not answer.
pub fn run(options: &MethodArguments) -> Result<ExitCode, String> {
    let sites = addresses(options)?;
    if let Some(MethodChange::Advice) = &options.change {
        return Ok(advice::show(&sites));
    }
    if let Some(change) = &options.change {
        set(&sites, change, options.config.is_none())?;
    }
    let rows: Vec<_> = sites.iter().map(|(number, sql)| (*number, shown(*sql))).collect();
    print!("{}", table(&rows));
    Ok(if rows.iter().all(|(_, row)| row.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The sites, and where clients of each come in.
fn addresses(options: &MethodArguments) -> Result<Vec<(u16, SocketAddr)>, String> {
    if let Some(path) = &options.config {
        let config = SiteConfig::read(path).map_err(|error| error.to_string())?;
        let mut sql = config.sql;
        if sql.ip().is_unspecified() {
            sql.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        return Ok(vec![(config.id, sql)]);
    }
    let cluster = ClusterDirectory::open(&options.folder.data).map_err(|error| error.to_string())?;
    Ok(cluster.sites().iter().map(|(number, addresses)| (*number, addresses.sql)).collect())
}

/// The statements of a change. What it sets last is what is waited for.
fn statements(change: &MethodChange) -> Vec<String> {
    let name = |parameter: Parameter, site: Option<u16>| parameter.name(site.map(messages::SiteId));
    match change {
        MethodChange::Set { method, way, site } => {
            let set = |parameter, value| format!("ALTER SYSTEM SET {} = '{value}'", name(parameter, *site));
            let way = way.map(|way| set(Parameter::ConcurrencyWay, way.name()));
            way.into_iter().chain([set(Parameter::ConcurrencyMethod, method.name())]).collect()
        }
        MethodChange::Auto { state: Toggle::On, site } => {
            vec![format!("ALTER SYSTEM SET {} = '{AUTOMATIC}'", name(Parameter::ConcurrencyMethod, *site))]
        }
        MethodChange::Auto { state: Toggle::Off, site } => {
            vec![format!("ALTER SYSTEM RESET {}", name(Parameter::ConcurrencyMethod, *site))]
        }
        MethodChange::Advice => Vec::new(),
        MethodChange::Reset { site } => [Parameter::ConcurrencyMethod, Parameter::ConcurrencyWay]
            .map(|parameter| format!("ALTER SYSTEM RESET {}", name(parameter, *site)))
            .to_vec(),
    }
}

/// By the first site that can be reached. Then waits for a moment until the others have installed it, so that what is shown is not what was before.
fn set(sites: &[(u16, SocketAddr)], change: &MethodChange, all_are_listed: bool) -> Result<(), String> {
    let site = match change {
        MethodChange::Set { site, .. } | MethodChange::Reset { site } | MethodChange::Auto { site, .. } => *site,
        MethodChange::Advice => None,
    };
    if let Some(site) = site.filter(|site| all_are_listed && sites.iter().all(|(number, _)| number != site)) {
        return Err(format!("there is no site {site}"));
    }
    let mut unreached = String::new();
    let connected = sites.iter().find_map(|(number, sql)| match connect(*sql, "raid method") {
        Ok(client) => Some(client),
        Err(error) => {
            unreached = format!("site {number}: {error}");
            None
        }
    });
    let mut client = connected.ok_or_else(|| format!("no site can be reached; {unreached}"))?;
    for statement in statements(change) {
        client.batch_execute(&statement).map_err(|error| told(&error))?;
    }
    let wanted = match change {
        MethodChange::Set { method, .. } => Some(method.name()),
        MethodChange::Auto { state: Toggle::On, .. } => None,
        MethodChange::Auto { state: Toggle::Off, .. } | MethodChange::Reset { .. } | MethodChange::Advice => {
            return Ok(());
        }
    };
    let begun = Instant::now();
    let waits_for = |number: u16| site.is_none_or(|site| site == number);
    // What is set for all does not reach a site that has one of its own.
    let runs = |sql: SocketAddr| {
        let is_done = |row: &[String; 6]| match wanted {
            Some(method) => row[0] == method && row[1].is_empty(),
            None => row[1] == "yes",
        };
        shown(sql).map_or(true, |row| is_done(&row) || (site.is_none() && row[2] == "site"))
    };
    while !sites.iter().all(|(number, sql)| !waits_for(*number) || runs(*sql)) && begun.elapsed() < METHOD_TIME_MAX {
        std::thread::sleep(LOOK_INTERVAL);
    }
    Ok(())
}

/// Connects as the user `postgres`, for the command of this name.
pub fn connect(sql: SocketAddr, command: &str) -> Result<Client, String> {
    let mut config = postgres::Config::new();
    config.host(&sql.ip().to_string()).port(sql.port()).user("postgres").dbname("raid");
    config.connect_timeout(CONNECT_TIME_MAX).application_name(command);
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
    }
    config.connect(NoTls).map_err(|error| told(&error))
}

/// What a site has said, or why it was not reached.
pub fn told(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => match error.hint() {
            Some(hint) => format!("{} ({}). {hint}", error.message(), error.code().code()),
            None => format!("{} ({})", error.message(), error.code().code()),
        },
        None => error.to_string(),
    }
}

/// What a site says of its method, a text for each column.
fn shown(sql: SocketAddr) -> Result<[String; 6], String> {
    const QUERY: &str = "SELECT method, CASE WHEN automatic THEN 'yes' END, set_for, since, way, executing_from_before FROM raid.concurrency";
    let messages = connect(sql, "raid method")?.simple_query(QUERY).map_err(|error| told(&error))?;
    let row = messages.iter().find_map(|message| match message {
        postgres::SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let row = row.ok_or("it says nothing of its method")?;
    Ok(std::array::from_fn(|column| row.get(column).unwrap_or_default().to_owned()))
}

fn table(rows: &[(u16, Result<[String; 6], String>)]) -> String {
    let mut text = format!(
        "{:>4}  {:<14}  {:<4}  {:<21}  {:<31}  {:<17}  {}\n",
        "site", "method", "auto", "set for", "since", "way", "before"
    );
    for (number, row) in rows {
        let line = match row {
            Ok([method, auto, origin, since, way, before]) => {
                format!("{number:>4}  {method:<14}  {auto:<4}  {origin:<21}  {since:<31}  {way:<17}  {before}")
            }
            Err(error) => format!("{number:>4}  {error}"),
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, the command sets something else than it was asked for, or the method before the way to it.
    #[test]
    fn a_change_is_one_or_two_statements() {
        let set = MethodChange::Set {
            method: MethodOption::SimpleLocking,
            way: Some(StrategyOption::SuffixSufficient),
            site: Some(2),
        };
        let wanted = [
            "ALTER SYSTEM SET raid.site_2.concurrency_way = 'suffix-sufficient'",
            "ALTER SYSTEM SET raid.site_2.concurrency_method = 'simple-locking'",
        ];
        assert_eq!(statements(&set), wanted);
        let set = MethodChange::Set { method: MethodOption::Serial, way: None, site: None };
        assert_eq!(statements(&set), ["ALTER SYSTEM SET raid.concurrency_method = 'serial'"]);
        let auto = MethodChange::Auto { state: Toggle::On, site: None };
        assert_eq!(statements(&auto), ["ALTER SYSTEM SET raid.concurrency_method = 'auto'"]);
        let reset = ["ALTER SYSTEM RESET raid.concurrency_method", "ALTER SYSTEM RESET raid.concurrency_way"];
        assert_eq!(statements(&MethodChange::Reset { site: None }), reset);
    }
}
