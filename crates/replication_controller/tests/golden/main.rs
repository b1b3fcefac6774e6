//! Golden scripts: the replication controllers of a few sites, what befalls them and what they then say to each other, word for word.
//!
//! A script is a text file in `scripts/`. Lines that begin with `> ` are what happens (`world.rs` lists what can);
//! the indented lines under them are the messages that follow, in order. A script changes only when the protocol is
//! meant to change: with `BLESS=1` in the environment the files are written anew instead of compared.

mod copy;
mod words;
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
    first_start: "An instance must begin only with all its sites, and also when its first start was cut short.";
    leases: "A site must not serve without a lease from every other member, however late a grant comes.";
    lease_lengths: "A site must wait out what it has granted, however short or long its own leases are, and after a total failure the longest.";
    suspicion: "A silent member must be evicted by one proposal: oracle, seals, swap, reports, leases, records.";
    lost_swap_answer: "A swap whose answer is lost must be settled by its proposal, not tried as another.";
    lost_messages: "Each message of a change may be lost once; the change must complete all the same.";
    patience_of_the_sealed: "A sealed member must neither unseal nor wait for ever for a proposer that died.";
    no_oracle: "Without the oracle nobody may be sealed, and with it back the change must go on.";
    eviction: "An evicted site must start again as a joiner, and be up only when its copy is current.";
    pause: "A site that was stopped must not hold that against the others.";
    fail_locks: "What commits while a site is away must be in every table, and nothing else.";
    dropped: "A site that was away when a storage was dropped must not keep its rows, and one that dropped it alone must get them back.";
    joiner_dies: "A joiner that dies in its first epoch must come back to the same fail-locks.";
    outcomes: "A site that was evicted must hear what became of its clients' commits, once the epoch that has taken it in is active, and not of what nobody knows.";
    failed_epoch: "What an epoch that failed had resolved otherwise must not leave a joiner with old items that look fresh.";
    copiers: "What is wanted must be fetched at once, and nobody asked in a circle.";
    copier_rests: "A copy in haste must not be taken from clients of the others, nor must it wait where there are none.";
    earlier_oracle: "What an oracle gave before it was set back must not be entered on a peer's word, nor what it now holds before it has heard all.";
    silent_voter: "A member that grants but does not vote must be evicted.";
    found_whole_in_a_stall: "A copy that was found whole while its disk was taken for stalled must be whole, or nobody is ever taken in again.";
    deaf: "A member that hears nobody, and so grants nothing, must be evicted by those who hear each other, not they by it.";
    total_failure: "Only all up members of the last epoch may restart it, and not before the old leases are over.";
    alone: "After a total failure a site must not go on without the others, unless the operator has said so and nobody may still serve.";
    stalled_disk: "A site whose disk stalls must give up its leases, and hold nothing against the others when it works again.";
    lost_power: "What one log has lost and another has must be stale there, and fetched.";
    restart_dies: "A restart that loses a member must begin again with all of them, not go on from one log.";
    promoted: "A site that an epoch makes up must not end it alone before it has learnt what the others knew: of what it has voted for it could not check all.";
    put_back: "A site whose data were put back from an older copy must get everything anew, however long its log grows afterwards, and another copy of it again.";
    put_back_in_a_total_failure: "What is missing in a log that was put back must prove nothing, and nobody restart the instance with it unless told to.";
    put_back_long_ago: "What a site had told before it was put back and brought anew must not count against it for ever, only because an old log remembers it.";
    wiped_disk: "A copy without a log must not restart the instance.";
}
