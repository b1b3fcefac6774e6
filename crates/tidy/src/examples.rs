//! `tidy --examples PROGRAM`: runs the shell examples of the pages, and compares what they print with what the page says.
//!
//! The examples of a page run in order, in one fresh folder, with `raid` standing for the program that is given. What a reader types is what is run, but for two
//! things: `cargo run --release --` is `raid`, and the ports that pages use ([`crate::limits::PORTS`]) are free ones.
//! Invariant: no example passes because it was not looked at. Where a command is not installed, that is said, and its page is left out.
//!
//! [`page`]: what an example is; [`running`]: one command; this file: a page, and all of them.

pub mod page;
mod running;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use crate::limits::PORTS;
use crate::tree::WorkTree;
use page::{Example, PageCommand};
use running::{Background, CommandSurroundings};

/// Runs all examples of README.md and `docs/`, and says how each page went. Whether all of them did what the pages say.
///
/// # Errors
/// There is no folder or port to run them in.
pub fn run(tree: &WorkTree, program: &Path) -> Result<bool, String> {
    let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
    let is_page = |path: &str| path == "README.md" || path.starts_with("docs/") && path.ends_with(".md");
    let (mut is_good, mut is_empty) = (true, true);
    for (name, text) in tree.texts().filter(|(path, _)| is_page(path)) {
        let examples = page::examples(text);
        if examples.is_empty() {
            continue;
        }
        is_empty = false;
        let missing: Vec<&str> =
            examples.iter().flat_map(|one| one.tools()).filter(|tool| !running::has(tool)).collect();
        if let Some(tool) = missing.first() {
            println!("examples: {name}: `{tool}` is not installed: not run");
            continue;
        }
        let commands = examples.iter().map(|one| one.commands.len()).sum::<usize>();
        match run_page(&examples, &program)? {
            None => println!("examples: {name}: {commands} commands do what the page says"),
            Some(complaint) => {
                is_good = false;
                println!("{name}:{complaint}");
            }
        }
    }
    if is_empty {
        return Err("no page has an example that is marked as one to run".to_string());
    }
    Ok(is_good)
}

/// What differs from the page, with its line in front; none if nothing does.
fn run_page(examples: &[Example], program: &Path) -> Result<Option<String>, String> {
    let folder = ExampleFolder::make()?;
    let ports = free_ports()?;
    let surroundings = CommandSurroundings::new(&folder.path, program)?;
    let mut left_running: Vec<(usize, Background)> = Vec::new();
    let mut complaint = None;
    for (command, stays) in examples.iter().flat_map(|one| one.commands.iter().map(|command| (command, one.stays))) {
        let typed = with_ports(&command.text.replace("cargo run --release --", "raid"), &ports);
        let expected: Vec<String> = command.output.iter().map(|line| with_ports(line, &ports)).collect();
        let outcome = if stays {
            surroundings.start(&typed, &expected).map(|background| left_running.push((command.line, background)))
        } else {
            surroundings.run(&typed, &expected)
        };
        if let Err(what) = outcome {
            complaint = Some(tell(command, &what));
            break;
        }
    }
    // The last one that was started is ended first. All are, whatever went wrong before.
    while let Some((line, background)) = left_running.pop() {
        if let Err(what) = background.end() {
            complaint.get_or_insert(format!("{line}: {what}"));
        }
    }
    Ok(complaint)
}

fn tell(command: &PageCommand, what: &str) -> String {
    format!("{}: `{}`: {what}", command.line, command.text)
}

/// The text with each of [`PORTS`] replaced.
fn with_ports(text: &str, ports: &[u16]) -> String {
    let mut changed = String::new();
    let mut number = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let place = PORTS.iter().position(|port| port.to_string() == number);
        changed.push_str(&place.map_or_else(|| number.clone(), |place| ports[place].to_string()));
        number.clear();
        changed.push(c);
    }
    changed.pop();
    changed
}

/// A free port for each of [`PORTS`]; those that follow each other there do so here.
fn free_ports() -> Result<Vec<u16>, String> {
    let listen = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let offsets = PORTS.map(|port| port - PORTS[0].min(port));
    let mut tried = Vec::new();
    for _ in 0..crate::limits::PORT_TRIES_MAX {
        // The one that the system gives is kept, so that the next one is another.
        let first = listen(0).map_err(|error| format!("no port: {error}"))?;
        let base = first.local_addr().map_err(|error| error.to_string())?.port();
        let others: Option<Vec<TcpListener>> =
            offsets[1..].iter().map(|offset| listen(base.checked_add(*offset)?).ok()).collect();
        if others.is_some() {
            return Ok(offsets.iter().map(|offset| base + offset).collect());
        }
        tried.push(first);
    }
    Err("there are no free ports in a row".to_string())
}

/// A folder of its own, which goes when it is not needed any more.
struct ExampleFolder {
    path: PathBuf,
}

impl ExampleFolder {
    fn make() -> Result<ExampleFolder, String> {
        for number in 0_u32.. {
            let path = std::env::temp_dir().join(format!("raid-examples-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(ExampleFolder { path }),
                // Another thread has it.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Err("no name for a folder".to_owned())
    }
}

impl Drop for ExampleFolder {
    fn drop(&mut self) {
        // Left behind it harms nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(text: &str) -> Option<String> {
        run_page(&page::examples(text), Path::new("/bin/true")).expect("there is room for a folder")
    }

    /// If this failed, a page could say anything.
    #[test]
    fn a_wrong_line_is_found() {
        assert_eq!(played("```console run\n$ echo a; echo b\na\nb\n```\n"), None);
        let wrong = played("```console run\n$ echo a; echo b\na\nc\n```\n").expect("b is not c");
        assert!(wrong.starts_with("2: `echo a; echo b`: "), "{wrong}");
        assert!(played("```console run\n$ echo a\n```\n").is_some(), "a line too much");
        assert!(played("```console run\n$ true\na\n```\n").is_some(), "a line too few");
        assert!(played("```console run\n$ echo a; false\na\n```\n").is_some(), "a status that is not 0");
    }

    /// If this failed, what goes on in another terminal could not be shown.
    #[test]
    fn a_command_that_stays_is_ended_at_the_end() {
        let stays =
            "```console run stays\n$ trap 'exit 0' INT; echo ready; while :; do read -t 1 <> <(:); done\nready\n```\n";
        assert_eq!(played(&format!("{stays}```console run\n$ echo a\na\n```\n")), None);
        let ended = played("```console run stays\n$ echo ready\nready\n...\nmore\n```\n");
        assert!(ended.expect("it has ended before").contains("ended"));
    }

    /// If this failed, an example would meet whatever listens at its ports, or print others than the page.
    #[test]
    fn ports_are_free_ones() {
        let ports: Vec<u16> = (0..PORTS.len() as u16).map(|place| 100 + place).collect();
        assert_eq!(with_ports("-p 5433 15433 54330 localhost:5434", &ports), "-p 100 15433 54330 localhost:101");
        assert_eq!(free_ports().expect("there are some").len(), PORTS.len());
    }

    /// The program that is given is what pages call `raid`, however they call it.
    #[test]
    fn raid_is_the_program_that_is_given() {
        assert_eq!(played("```console run\n$ raid status\n$ cargo run --release -- status\n```\n"), None);
    }
}
