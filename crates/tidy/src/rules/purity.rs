//! Pure crates use nothing that would make two runs of the simulator differ, or that the simulator cannot take away.
//!
//! `crates/pure.clippy.toml` bans the same by type, test code included; this rule sees what clippy cannot (whole modules and
//! crates) and leaves tests alone, since a golden script is a file. An exception that clippy is told of, with a reason, holds here
//! too: a library's interface may demand a randomly ordered map.

use crate::architecture::Architecture;
use crate::limits::EXCEPTION_REACH_LINES;
use crate::source::{SourceLine, words};
use crate::tree::{Violation, WorkTree};

/// A banned path.
struct Ban {
    /// Segments that stand in a row anywhere in a path; `std` or a crate's name only at its start.
    path: &'static [&'static str],
    /// Last segments that are harmless all the same.
    except: &'static [&'static str],
    /// Lifted by `asynchronous = true`.
    asynchronous: bool,
    /// Clippy's name for the same ban; an exception from that lint is one from this.
    lint: Option<&'static str>,
    /// What to do.
    instead: &'static str,
}

const fn ban(path: &'static [&'static str], instead: &'static str) -> Ban {
    Ban { path, except: &[], asynchronous: false, lint: None, instead }
}

const fn method(path: &'static [&'static str], instead: &'static str) -> Ban {
    Ban { lint: Some("clippy::disallowed_methods"), ..ban(path, instead) }
}

const fn of_type(path: &'static [&'static str], instead: &'static str) -> Ban {
    Ban { lint: Some("clippy::disallowed_types"), ..ban(path, instead) }
}

const CLOCK: &str = "time comes in as `now`, so that the simulator owns it";
const MAP: &str = "its order differs from run to run; take a BTreeMap, or rustc_hash where the order never matters";
const RANDOM: &str = "draw from the seeded generator that is passed in";
const THREAD: &str = "a machine runs on its caller's thread; put the work into the outbox";

const BANS: &[Ban] = &[
    method(&["Instant", "now"], CLOCK),
    method(&["SystemTime", "now"], CLOCK),
    ban(&["Utc", "now"], CLOCK),
    ban(&["Local", "now"], CLOCK),
    ban(&["std", "thread"], THREAD),
    method(&["thread", "spawn"], THREAD),
    method(&["thread", "sleep"], THREAD),
    Ban {
        path: &["std", "net"],
        except: &["SocketAddr", "SocketAddrV4", "SocketAddrV6", "IpAddr", "Ipv4Addr", "Ipv6Addr"],
        ..ban(&[], "send a message; channels belong to raidcomm and site")
    },
    ban(&["std", "fs"], "ask through the outbox; files belong to site and commit_log"),
    Ban { asynchronous: true, ..ban(&["tokio"], "a machine is not asynchronous; put the work into the outbox") },
    ban(&["rand"], RANDOM),
    ban(&["fastrand"], RANDOM),
    ban(&["getrandom"], RANDOM),
    ban(&["Uuid", "new_v4"], RANDOM),
    of_type(&["collections", "HashMap"], MAP),
    of_type(&["collections", "HashSet"], MAP),
    of_type(&["RandomState"], MAP),
];

const CONSOLE: [&str; 4] = ["print", "println", "eprint", "eprintln"];

/// Applies the rule.
pub fn check(tree: &WorkTree, architecture: &Architecture) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.rust_files() {
        let Some(part) = architecture.parts.get(file.krate) else {
            continue;
        };
        // Examples and build scripts are programs beside the crate, not part of the machine.
        if !part.pure || !file.path.starts_with(&format!("crates/{}/src/", file.krate)) {
            continue;
        }
        let mut complain = |line: usize, what: &str, instead: &str| {
            let message = format!("`{what}` in the pure crate `{}`: {instead}", file.krate);
            violations.push(Violation::new(file.path, line + 1, message));
        };
        for (line, path) in file.source.paths() {
            let banned = BANS.iter().find(|ban| !(ban.asynchronous && part.asynchronous) && matches(ban, &path));
            if let Some(ban) =
                banned.filter(|ban| !file.source.lines[line].test && !is_excepted(ban, &file.source.lines, line))
            {
                complain(line, &path, ban.instead);
            }
        }
        for (index, line) in file.source.lines.iter().enumerate().filter(|(_, line)| !line.test) {
            for (start, word) in words(&line.code) {
                if CONSOLE.contains(&word) && line.code[start + word.len()..].starts_with('!') {
                    complain(index, &format!("{word}!"), "answer through the outbox, or log with tracing");
                }
                if word == "async" && !part.asynchronous {
                    complain(index, word, "a machine is not asynchronous; put the work into the outbox");
                }
            }
        }
    }
    violations
}

/// Whether an attribute for the whole file, or one just above, lifts the ban and says why.
fn is_excepted(ban: &Ban, lines: &[SourceLine], at: usize) -> bool {
    let Some(lint) = ban.lint else { return false };
    let lifts = |line: &SourceLine| line.code.contains(lint) && line.code.contains("reason");
    let near = at.saturating_sub(EXCEPTION_REACH_LINES)..at;
    lines[near].iter().any(lifts) || lines.iter().any(|line| line.code.starts_with("#![") && lifts(line))
}

fn matches(ban: &Ban, path: &str) -> bool {
    let segments: Vec<&str> = path.split("::").collect();
    if segments.last().is_some_and(|last| ban.except.contains(last)) {
        return false;
    }
    // Names of crates are lower case and mean something only at the start of a path with more to it.
    let at_start = ban.path[0] == "std" || ban.path.len() == 1 && ban.path[0].starts_with(char::is_lowercase);
    if at_start {
        segments.starts_with(ban.path) && segments.len() > 1
    } else {
        segments.windows(ban.path.len()).any(|window| window == ban.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(row: &str, text: &str) -> Vec<String> {
        let tree = WorkTree::of(&[(crate::architecture::ARROWS, row), ("crates/a/src/lib.rs", text)]);
        let (architecture, _) = Architecture::parse(&tree);
        check(&tree, &architecture).iter().map(Violation::to_string).collect()
    }

    const PURE: &str = "[a]\nkind = 'server'\npure = true\n";

    /// Each of these would let two runs with one seed differ, or reach outside the simulated world.
    #[test]
    fn every_ban_is_found() {
        for text in [
            "let t = Instant::now();",
            "let t = std::time::SystemTime::now();",
            "use std::thread;",
            "thread::sleep(x);",
            "use std::net::TcpStream;",
            "use std::{fs, io};",
            "let x = ::std::fs::read(p);",
            "use tokio::sync::mpsc;",
            "let x = rand::random();",
            "use std::collections::{BTreeMap, HashMap};",
            "let m: std::collections::HashSet<u8>;",
            "println!(\"x\");",
            "async fn f() {}",
        ] {
            assert_eq!(check_text(PURE, text).len(), 1, "{text}");
        }
        let message = "crates/a/src/lib.rs:2: `std::collections::HashMap` in the pure crate `a`: its order differs from run to run; \
                       take a BTreeMap, or rustc_hash where the order never matters";
        assert_eq!(check_text(PURE, "\nuse std::collections::HashMap;"), [message]);
    }

    /// A rule that cries wolf is switched off.
    #[test]
    fn harmless_things_pass() {
        for text in [
            "use std::time::{Duration, Instant};",
            "use std::collections::{BTreeMap, hash_map::Entry};",
            "use rustc_hash::FxHashMap;",
            "use std::net::{IpAddr, SocketAddr};",
            "// Instant::now is banned\nlet x = \"std::fs::read\";",
            "let rand = self.rand; rand.next();",
            "#[cfg(test)]\nmod tests {\n    use std::fs;\n    use std::collections::HashMap;\n}",
        ] {
            assert_eq!(check_text(PURE, text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(check_text("[a]\nkind = 'server'\n", "use std::fs;"), Vec::<String>::new());
    }

    /// An exception must be one that clippy knows of, give its reason, and reach no further than its item.
    #[test]
    fn an_exception_with_a_reason_holds() {
        let map = "use std::collections::HashMap;\n";
        let except = "[expect(clippy::disallowed_types, reason = \"the library's interface\")]\n";
        assert_eq!(check_text(PURE, &format!("#{except}{map}")), Vec::<String>::new());
        assert_eq!(check_text(PURE, &format!("#!{except}\n\n\n\n\n{map}")), Vec::<String>::new());
        assert_eq!(check_text(PURE, &format!("#{except}\n\n\n\n\n{map}")).len(), 1);
        assert_eq!(check_text(PURE, &format!("#[expect(clippy::disallowed_types)]\n{map}")).len(), 1);
        assert_eq!(check_text(PURE, &format!("#{except}use std::fs;")).len(), 1);
    }

    /// The query crate streams; it still may not look at a clock.
    #[test]
    fn an_asynchronous_crate_may_use_tokio_and_nothing_else() {
        let row = "[a]\nkind = 'library'\npure = true\nasynchronous = true\n";
        assert_eq!(check_text(row, "use tokio::sync::mpsc;\nasync fn f() {}"), Vec::<String>::new());
        assert_eq!(check_text(row, "use std::fs;").len(), 1);
    }
}
