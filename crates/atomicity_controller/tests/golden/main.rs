//! Golden scripts: one atomicity controller, what it is told and what it then logs and says, word for word.
//!
//! A script is a text file in `scripts/`. Lines that begin with `> ` are told to the controller of site 1 (`world.rs` lists what can be said);
//! the indented lines under them are its outbox, records first, as the site would take them. A script changes only when the protocol is
//! meant to change: with `BLESS=1` in the environment the files are written anew instead of compared.

mod world;

use std::path::Path;
use world::World;

fn run(script: &str) -> String {
    let mut world = World::new();
    let mut written = String::new();
    for line in script.lines().filter(|line| !line.starts_with("  ")) {
        written.push_str(line);
        written.push('\n');
        if let Some(command) = line.strip_prefix("> ") {
            for said in world.tell(command) {
                written.push_str(&format!("  {said}\n"));
            }
        }
    }
    written
}

#[track_caller]
fn golden(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scripts").join(format!("{name}.txt"));
    let script = std::fs::read_to_string(&path).expect("the script is there");
    let written = run(&script);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &written).expect("the script can be written");
        return;
    }
    let differs = script.lines().zip(written.lines()).position(|(old, new)| old != new);
    let line = differs.unwrap_or(script.lines().count().min(written.lines().count()));
    assert_eq!(
        script.lines().nth(line),
        written.lines().nth(line),
        "{name}.txt, line {}: what the controller says has changed",
        line + 1
    );
}

macro_rules! scripts {
    ($($name:ident: $breaks:literal;)*) => {
        $(#[doc = $breaks] #[test] fn $name() { golden(stringify!($name)); })*
    };
}

scripts! {
    commit_in_one_round: "A commit must take one round, be logged before it is answered, and be forgotten when all have it.";
    commit_waits_for_the_disk: "With too few copies an answer must not leave before the log is synced.";
    abort_waits_for_the_disk: "With too few copies an abort must be on disk at every participant before the client hears of it: the votes are.";
    abort_is_acknowledged: "A client must not be told of an abort while a participant could still commit.";
    group_commit: "What is ready while others are on their way must commit together, if nobody depends on another, and be told apart.";
    last_words: "The next life must know each transaction that others may commit by the name that they know, and what this one could not know itself.";
    large_commits: "Nobody may read a part of a large commit: its locks stay until it is installed, and nobody else may wait for it.";
    turns: "What becomes ready in one turn must commit together, also at a site alone, and nobody may be forgotten when the turn ends.";
    increments: "What is added to must not be expected for ever, nor be committed where a copy refuses it.";
    additions_ask_again: "What cannot be added to where a member is being repaired must not be prepared there, and nothing else be held up.";
    older_waits: "A vote must wait for the commit-locks, and a killed waiter must vote no.";
    logged_everywhere: "What others build on without a conflict must be in every log before whoever builds hears of it.";
    lost_messages: "Whatever is lost must be sent again, and asked for again, with the same words.";
    repeated_and_late_messages: "A repetition must change nothing, and what comes before its prepare must hold against it.";
    snapshots: "A snapshot must lie above everything that was voted for when it began.";
    seal: "A sealed site must not vote, decide or hear votes; it goes on in the next epoch.";
    resolution: "A decision wins, all prepared commits, a missing record or a refusal aborts.";
    joining: "A copy that joins must forget what its log says of transactions.";
    total_failure: "A log must give back what was open, and nothing of epochs that were over.";
    clocks: "A clock far ahead must neither be counted nor leave a decision that a voter refuses.";
    waiting: "A voter that says that its vote waits must not be named, but another that is silent must.";
    silence: "A voter that stays silent must be named once, but not for a pause of this site.";
}
