//! The contenders: systems that run behind one trait, a file each, and the ways to use them between which a comparison tells.

mod galera;
mod postgres;
pub mod postgres_standalone;
mod postgres_standbys;
pub mod raid;
pub mod stand_in;

use clap::ValueEnum;

use crate::databases::endpoint::Endpoint;
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;

/// Three sites of ours.
pub const RAID: &str = "raid";
/// One PostgreSQL, which syncs its own disk.
pub const STANDALONE: &str = "postgres standalone";
/// PostgreSQL whose commits wait until two standbys have received them.
pub const REMOTE_WRITE: &str = "postgres remote_write";
/// PostgreSQL whose commits wait until two standbys have synced them.
pub const ON: &str = "postgres on";
/// Three nodes of Galera that sync every commit.
pub const GALERA_1: &str = "galera flush=1";
/// Three nodes of Galera that sync once a second.
pub const GALERA_0: &str = "galera flush=0";
/// A server that does nothing.
pub const STAND_IN: &str = "stand-in";

/// A way to use a system.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// As the report calls it.
    pub name: &'static str,
    /// What a client may rely on when it is told that a transaction has committed.
    pub promise: &'static str,
}

/// Which system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A server that answers at once and does nothing: the ceiling of clients and network
    StandIn,
    /// PostgreSQL alone
    PostgresStandalone,
    /// PostgreSQL with two synchronous standbys
    PostgresStandbys,
    /// MariaDB with Galera, three nodes
    Galera,
    /// Raid, three sites
    Raid,
}

impl Kind {
    /// All, in the order in which they are started.
    pub const ALL: [Kind; 5] =
        [Kind::StandIn, Kind::PostgresStandalone, Kind::PostgresStandbys, Kind::Galera, Kind::Raid];

    /// The ways to use it.
    pub fn contenders(self) -> &'static [Contender] {
        match self {
            Kind::StandIn => &stand_in::CONTENDERS,
            Kind::PostgresStandalone => &postgres_standalone::CONTENDERS,
            Kind::PostgresStandbys => &postgres_standbys::CONTENDERS,
            Kind::Galera => &galera::CONTENDERS,
            Kind::Raid => &raid::CONTENDERS,
        }
    }

    /// Their names, with commas between them.
    pub fn names(self) -> String {
        self.contenders().iter().map(|contender| contender.name).collect::<Vec<_>>().join(", ")
    }

    /// Fails unless everything is there that starting it takes: an error after minutes of preparation is a poor one.
    pub fn look_for_programs(self, environment: &Environment) -> Result<(), CompareError> {
        match self {
            // PostgreSQL's programs have been found: pgbench is the client.
            Kind::StandIn | Kind::PostgresStandalone | Kind::PostgresStandbys => Ok(()),
            Kind::Galera => galera::find_programs().map(drop),
            Kind::Raid => raid::find_program(environment).map(drop),
        }
    }

    /// Starts it and waits until it takes statements.
    pub fn start(self, environment: &Environment) -> Result<Box<dyn System>, CompareError> {
        Ok(match self {
            Kind::StandIn => Box::new(stand_in::StandIn::start(environment)?),
            Kind::PostgresStandalone => Box::new(postgres_standalone::Standalone::start(environment)?),
            Kind::PostgresStandbys => Box::new(postgres_standbys::Standbys::start(environment)?),
            Kind::Galera => Box::new(galera::Galera::start(environment)?),
            Kind::Raid => Box::new(raid::Raid::new(environment)?),
        })
    }
}

/// A system that runs. Dropped, it is ended with all its processes.
pub trait System {
    /// What ran, in its own words.
    fn version(&self, environment: &Environment) -> Result<String, CompareError>;

    /// What it runs with that is not its default.
    fn settings(&self) -> String;

    /// Makes and fills the tables of a scale, beside those of other scales; called once for each.
    fn fill(&mut self, environment: &Environment, scale: u32) -> Result<(), CompareError>;

    /// Where clients of a contender find the tables of a scale that has been filled, at each server in order. Only the first takes writes,
    /// unless [`System::all_write`].
    fn endpoints(&self, contender: &'static str, scale: u32) -> Vec<Endpoint>;

    /// Whether every server takes writes.
    fn all_write(&self) -> bool {
        false
    }

    /// Whether it keeps what is written, so that its books can be audited.
    fn keeps_books(&self) -> bool {
        true
    }

    /// Makes the whole system behave as this contender, where a session alone does not decide it.
    fn become_contender(&mut self, environment: &Environment, contender: &'static str) -> Result<(), CompareError> {
        let _ = (environment, contender);
        Ok(())
    }

    /// Waits until every server has applied what has been committed: work that is left over must not burden the next run, which may be
    /// another contender's, nor make an audit read what is old.
    fn settle(&mut self, environment: &Environment) -> Result<(), CompareError> {
        let _ = environment;
        Ok(())
    }

    /// Fails if a server has ended.
    fn check(&mut self) -> Result<(), CompareError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::databases::loads::{beside_galera, beside_postgres};

    /// A contender that no system knows would never be measured, without a word.
    #[test]
    fn every_load_names_contenders_that_exist() {
        let known: Vec<&str> = Kind::ALL.iter().flat_map(|kind| kind.contenders()).map(|one| one.name).collect();
        for load in beside_postgres(100).into_iter().chain(beside_galera()) {
            for name in load.contenders {
                assert_eq!(known.iter().filter(|one| *one == name).count(), 1, "{name}");
            }
        }
    }
}
