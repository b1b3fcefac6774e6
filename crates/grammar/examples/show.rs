//! Prints the tree of each statement of the texts that it is given, or what is wrong.

fn main() {
    for text in std::env::args().skip(1) {
        match grammar::parse(&text) {
            Ok(script) => println!("{script:#?}"),
            Err(error) => println!("{}: {error} (position {:?})", error.sqlstate, error.position(&text)),
        }
    }
}
