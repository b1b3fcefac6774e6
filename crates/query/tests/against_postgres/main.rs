//! Queries and their results as PostgreSQL 15 gives them.
//!
//! Each file in `tests/queries` holds queries with the columns, types and rows that PostgreSQL returned for them. To have
//! them written anew by a server of version 15, name the command that reaches an empty database of it:
//! `QUERY_TESTS_PSQL="psql -h ... -d ..." cargo test -p query --test against_postgres`.

mod cases;
mod catalog;
mod drivers;
mod engines;
mod kept;
mod memory;
mod nestings;
mod postgres;
mod protocol;
mod psql;
