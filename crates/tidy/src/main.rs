//! `cargo run -p tidy`: the checks of the house style that a machine can make, on text alone, in well under a second.
//!
//! Every finding reads `file:line: what is wrong, what to do`. Tidy judges the working tree as it stands, whatever git thinks of
//! it, and knows nothing of any crate but its name, its text and its row in `arrows.toml`. Reading order: [`tree`] (the files),
//! [`source`] (Rust text without strings and comments), [`architecture`] (`arrows.toml`), then one file per rule in [`rules`].
//!
//! `tidy --examples PROGRAM` is another thing: it runs the marked shell examples of the pages ([`examples`]).

mod architecture;
mod examples;
mod limits;
mod rules;
mod source;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tree::{Violation, WorkTree};

const HELP: &str = "\
Checks the house style. Usage: cargo run -p tidy -- [--bless [--allow-growth] | --examples PROGRAM]

  --bless         rewrite the lists of what is larger than the house likes: crates/tidy/large.txt (files and functions),
                  circles.txt (files that import each other), names.txt (types that share a name), sentences.txt (long
                  sentences of pages) and sqlstates.txt (SQLSTATEs as literals); entries may only shrink or vanish
  --allow-growth  with --bless: entries may also appear and grow (say why in the commit message)
  --examples      run the shell examples of README.md and docs/ that are marked as such (```console run), with this program as `raid`,
                  and compare what they print with what the page says
";

/// Whether a list of exceptions may get longer when it is blessed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Refused,
    Allowed,
}

fn main() -> ExitCode {
    let mut bless = false;
    let mut growth = Growth::Refused;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--examples" => return run_examples(arguments.next()),
            "--bless" => bless = true,
            "--allow-growth" => growth = Growth::Allowed,
            "--help" | "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            unknown => {
                eprintln!("tidy: unknown argument `{unknown}`\n\n{HELP}");
                return ExitCode::FAILURE;
            }
        }
    }
    match run(bless.then_some(growth)) {
        Ok(violations) if violations.is_empty() => ExitCode::SUCCESS,
        Ok(violations) => {
            for violation in &violations {
                println!("{violation}");
            }
            println!("tidy: {} to put right", violations.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the examples of the pages around the current folder.
fn run_examples(program: Option<String>) -> ExitCode {
    let outcome = program.ok_or_else(|| format!("--examples needs a program\n\n{HELP}")).and_then(|program| {
        let root = workspace_root()?;
        let tree = WorkTree::read(&root).map_err(|error| format!("cannot read {}: {error}", root.display()))?;
        examples::run(&tree, Path::new(&program))
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Checks the workspace around the current folder; blesses the lists first if asked to.
fn run(bless: Option<Growth>) -> Result<Vec<Violation>, String> {
    let root = workspace_root()?;
    let mut tree = WorkTree::read(&root).map_err(|error| format!("cannot read {}: {error}", root.display()))?;
    if let Some(growth) = bless {
        let allow_growth = growth == Growth::Allowed;
        let lists = [
            (rules::size::LIST, rules::size::bless(&tree, allow_growth)?),
            (rules::circles::LIST, rules::circles::bless(&tree, allow_growth)?),
            (rules::names::LIST, rules::names::bless(&tree, allow_growth)?),
            (rules::sentences::LIST, rules::sentences::bless(&tree, allow_growth)?),
            (rules::sqlstates::LIST, rules::sqlstates::bless(&tree, allow_growth)?),
        ];
        for (name, list) in lists {
            let path = root.join(name);
            std::fs::write(&path, &list).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            tree.insert(name, &list);
        }
    }
    let violations = rules::check_all(&tree);
    if violations.is_empty() {
        println!("tidy: {} files in order", tree.paths().count());
    }
    Ok(violations)
}

/// The nearest folder upwards whose Cargo.toml has a `[workspace]` table.
fn workspace_root() -> Result<PathBuf, String> {
    let start = std::env::current_dir().map_err(|error| format!("no current folder: {error}"))?;
    let is_root = |folder: &&Path| {
        std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|manifest| manifest.contains("[workspace]"))
    };
    let root = start.ancestors().find(is_root);
    root.map(Path::to_path_buf)
        .ok_or_else(|| format!("no workspace around {}; run it inside a checkout", start.display()))
}
