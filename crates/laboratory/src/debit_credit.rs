//! DebitCredit: pgbench's tables and transaction, from clients that keep books of what they were told.
//!
//! Each transaction inserts a history row whose filler names client and sequence number. So after the load every transaction can be
//! counted in the database, and compared with what its client was told: nothing acknowledged may be missing, nothing may be there twice,
//! nothing refused may be there at all.
//!
//! * [`load`]: makes and fills the tables as `pgbench -i` does;
//! * [`ledger`]: what a client was told; * [`client`]: a client; * [`crew`]: many of them, over all sites;
//! * [`pace`]: a bounded rate; * [`audit`]: the database against the ledgers; * [`gap`]: how long nobody could commit.

pub mod audit;
pub mod client;
pub mod crew;
pub mod gap;
pub mod ledger;
pub mod load;
pub mod pace;

use crate::limits;
use std::net::SocketAddr;

/// Branches for each unit of scale, as pgbench has them.
pub const BRANCHES: u32 = 1;
/// Tellers for each unit of scale.
pub const TELLERS: u32 = 10;
/// Accounts for each unit of scale.
pub const ACCOUNTS: u32 = 100_000;

/// How a client connects with a site.
pub fn connection(sql: SocketAddr) -> postgres::Config {
    let mut config = postgres::Config::new();
    config
        .host(&sql.ip().to_string())
        .port(sql.port())
        .user("raid")
        .dbname("raid")
        .application_name("debit_credit")
        .connect_timeout(limits::CONNECT_TIME_MAX);
    config
}

/// A connection with a site.
pub fn connect(sql: SocketAddr) -> Result<postgres::Client, postgres::Error> {
    connection(sql).connect(postgres::NoTls)
}

/// What a driver's error says: with the server's message, which its own text leaves out.
pub fn explain(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(server) => {
            let detail = server.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
            format!("{}: {}{detail}", server.code().code(), server.message())
        }
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
