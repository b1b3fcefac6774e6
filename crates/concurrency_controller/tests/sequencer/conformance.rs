//! The contract of `Sequencer`, on every method and across switches: by every pair of methods, every way and chains of three.
//!
//! Serializability cannot see a wrong method, as every vote checks versions whatever the method is. So each method's property is checked, and that
//! accesses are answered once, that switches end, and who was doomed.

use crate::model::{Setting, World};
use concurrency_controller::methods::METHODS;
use messages::concurrency::{Method, SwitchStrategy};
use messages::planted::{Bug, Planted};

const WAYS: [SwitchStrategy; 3] =
    [SwitchStrategy::Generic, SwitchStrategy::Converting, SwitchStrategy::SuffixSufficient];

/// Runs of a method alone; of a pair of methods, of a chain of three.
const SEEDS: u64 = 80;
const PAIR_SEEDS: u64 = 28;
const CHAIN_SEEDS: u64 = 6;
/// Of these, those that are run twice, to see that they run the same way.
const TWICE: u64 = 4;

fn conforms(setting: Setting<'_>, seeds: u64) {
    let mut commits = 0;
    for seed in 0..seeds {
        let once = std::panic::catch_unwind(|| World::new(seed, setting).run());
        let described = || format!("seed {seed}: {:?} to {:?}", setting.method, setting.switches);
        let (journal, committed) = once.unwrap_or_else(|_| panic!("{}", described()));
        if seed < TWICE {
            assert_eq!(journal, World::new(seed, setting).run().0, "{} runs the same way twice", described());
        }
        commits += committed;
    }
    assert!(commits > seeds * 10, "the schedules test nothing: {commits} commits");
}

fn alone(method: Method, remote: bool, planted: Planted) -> Setting<'static> {
    Setting { method, switches: &[], remote, planted }
}

/// Otherwise two-phase locking would not be conflict serializable, or would lose transactions that nobody else touches.
#[test]
fn locking_alone_never_surprises_at_the_end() {
    conforms(alone(Method::Locking, false, Planted::none()), SEEDS);
}

/// Otherwise a method would let a lost transaction commit, leave somebody waiting for ever, or make prepared transactions of
/// other sites wait for what executes here.
#[test]
fn every_method_conforms() {
    for method in METHODS {
        conforms(alone(method, true, Planted::none()), SEEDS);
        conforms(alone(method, false, Planted::none()), SEEDS / 4);
    }
}

/// Otherwise a switch of the method under load would break a transaction, doom one that has to be kept, leave a circle of waits, or not end.
#[test]
fn every_switch_conforms() {
    for method in METHODS {
        for other in METHODS.into_iter().filter(|other| *other != method) {
            for way in WAYS {
                let switches = [(other, way)];
                let setting = Setting { method, switches: &switches, remote: true, planted: Planted::none() };
                conforms(setting, PAIR_SEEDS);
            }
        }
    }
}

/// Otherwise a method would be unable to begin with what two others have left, or a switch with one that is still under way.
#[test]
fn every_chain_of_three_conforms() {
    let mut ways = WAYS.into_iter().cycle();
    for first in METHODS {
        for second in METHODS.into_iter().filter(|second| *second != first) {
            for third in METHODS.into_iter().filter(|third| *third != second) {
                let mut next = || ways.next().expect("they go round");
                let switches = [(second, next()), (third, next())];
                next();
                let setting = Setting { method: first, switches: &switches, remote: true, planted: Planted::none() };
                conforms(setting, CHAIN_SEEDS);
            }
        }
        // Each of the three ways comes to stand at each place.
        ways.next();
    }
}

/// Whether some run of some setting fails when a clause is left out.
fn is_found(bug: Bug) -> bool {
    let planted = Planted::only(bug);
    let fails = |setting: Setting<'_>, seeds: u64| {
        (0..seeds).any(|seed| std::panic::catch_unwind(|| World::new(seed, setting).run()).is_err())
    };
    let alone = METHODS.into_iter().any(|method| fails(alone(method, true, planted), PAIR_SEEDS));
    alone
        || METHODS.into_iter().any(|method| {
            let others = METHODS.into_iter().filter(|other| *other != method);
            others.into_iter().any(|other| {
                WAYS.into_iter()
                    .any(|way| fails(Setting { method, switches: &[(other, way)], remote: true, planted }, PAIR_SEEDS))
            })
        })
}

/// If this fails, the model has become blind, and a clause of the methods or of their switches is not checked at all.
#[test]
fn planted_bugs_are_found() {
    let bugs = Bug::OF_METHODS.iter().chain(&[Bug::LongWaiterPassed]);
    let missed: Vec<&str> = bugs.filter(|bug| !is_found(**bug)).map(|bug| bug.name()).collect();
    assert!(missed.is_empty(), "the suite does not find: {}", missed.join(", "));
}
