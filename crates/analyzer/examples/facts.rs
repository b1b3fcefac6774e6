//! Selects the facts from a running PostgreSQL 15: `cargo run -p analyzer --example facts -- ADDRESS USER`. The server asks for no password.

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(user)) = (arguments.next(), arguments.next()) else {
        return Err("usage: facts ADDRESS USER".into());
    };
    let mut server = support::server::Server::connect(&address, &user)?;
    for selection in support::selections::SELECTIONS {
        let text = selection.text(&mut server)?;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("facts").join(format!("{}.tsv", selection.file));
        std::fs::write(&path, &text)?;
        println!("{}: {} rows", path.display(), text.lines().count() - 2);
    }
    Ok(())
}
