//! The `raid` program from outside: real processes, real clients, real kills.
//!
//! Every test has a cluster of its own in a folder that vanishes, on ports of its own; it waits for what it can observe, with a deadline, and
//! ends only processes that it started. One cluster runs at a time, so that clusters do not take each other's processors.

mod activity;
mod advisory;
mod answers;
mod audit_log;
mod clients;
mod commands;
mod contention;
mod cuts;
mod damage;
mod databases;
mod disks;
mod domains;
mod drivers;
mod dumps;
mod encryption;
mod failures;
mod harness;
mod isolation;
mod lateness;
mod layouts;
mod locking;
mod materialized_views;
mod memory;
mod memory_servers;
mod methods;
mod metrics;
mod networks;
mod other_host;
mod outcomes;
mod point_in_time;
mod postgres_programs;
mod privileges;
mod quel;
mod queries;
mod register;
mod returning;
mod rollbacks;
mod routines;
mod row_security;
mod schema_changes;
mod security;
mod snapshots;
mod sql_like_postgres;
mod statements;
mod temporary_tables;
mod throwaway_postgres;
mod triggers;
mod wire;
