//! see Cargo.toml

fn main() {}
