//! When advice is followed: patience, pauses, probation, and the bound on switches.

use expert_system::limits::{HOUR, PAUSE_MIN, SWITCHES_PER_HOUR_MAX};
use expert_system::{Decision, Expert, Fact, Findings, LoadWindow, RuleBook, WindowOutcome};
use messages::limits::SECOND;
use messages::method::Method;
use messages::planted::{Bug, Planted};
use proptest::prelude::*;
use std::sync::Arc;

/// `near` names the method that is wanted: 1 serial, 2 optimistic, 3 timestamp, 4 simple locking.
const BOOK: &str = r#"
[[rule]]
name = "one"
when = ["near >= 1", "near <= 1"]
method = "serial"
certainty = 900
because = "One."
[[rule]]
name = "two"
when = ["near >= 2", "near <= 2"]
method = "optimistic"
certainty = 900
because = "Two."
[[rule]]
name = "three"
when = ["near >= 3", "near <= 3"]
method = "timestamp"
certainty = 900
because = "Three."
[[rule]]
name = "four"
when = ["near >= 4", "near <= 4"]
method = "simple-locking"
certainty = 900
because = "Four."
"#;

const WINDOW: u64 = 10 * SECOND;

/// A site that does what its expert says.
struct Site {
    expert: Expert,
    method: Method,
    now: u64,
    acts: bool,
    switches: Vec<(u64, Method, bool)>,
}

impl Site {
    fn new(planted: Planted) -> Site {
        let book = Arc::new(RuleBook::parse(BOOK).expect("it is a book"));
        let (method, switches) = (Method::Locking, Vec::new());
        Site { expert: Expert::new(book, planted), method, now: SECOND, acts: true, switches }
    }

    fn passes(&mut self, window: LoadWindow) -> Decision {
        self.now += WINDOW;
        let decision = self.expert.observe(self.now, self.method, self.acts, window);
        if let Decision::Switch { to, .. } | Decision::Return { to, .. } = &decision {
            assert_ne!(*to, self.method, "a switch goes somewhere");
            self.method = *to;
            self.switches.push((self.now, *to, matches!(decision, Decision::Return { .. })));
        }
        decision
    }
}

/// A window in which this method is wanted, and a commit costs so much.
fn window(wanted: u64, cost_micros: u64) -> LoadWindow {
    let findings = Findings::default().with(Fact::Near, wanted).with(Fact::Length, 4).with(Fact::Reads, 500);
    let outcome =
        WindowOutcome { server_time: cost_micros * 1_000 * 1_000, tries: [1_200, 0, 0], commits: [1_000, 0, 0] };
    LoadWindow { accesses: 1_000_000, findings, outcome }
}

/// If this fails, one odd window switches a site, or a wish that lasts is not followed.
#[test]
fn a_wish_is_followed_in_its_third_window() {
    let mut site = Site::new(Planted::none());
    for wanted in [1, 1, 0, 1, 2, 1, 2] {
        assert_eq!(site.passes(window(wanted, 100)), Decision::Stay);
    }
    assert_eq!(site.passes(window(2, 100)), Decision::Stay);
    let followed = site.passes(window(2, 100));
    assert_eq!(followed, Decision::Switch { to: Method::Optimistic, because: "Two.".into() });
}

/// If this fails, a small difference switches a site, and the next one switches it back.
#[test]
fn a_margin_that_is_too_small_changes_nothing() {
    let text = BOOK.replace("900", "249");
    let mut site = Site::new(Planted::none());
    site.expert = Expert::new(Arc::new(RuleBook::parse(&text).expect("it is a book")), Planted::none());
    assert!((0..50).all(|_| site.passes(window(1, 100)) == Decision::Stay));
}

/// If this fails, a site that is only to be advised switches by itself; or it has nothing to say.
#[test]
fn who_only_advises_decides_nothing() {
    let mut site = Site::new(Planted::none());
    site.acts = false;
    for _ in 0..20 {
        assert_eq!(site.passes(window(1, 100)), Decision::Stay);
        assert_eq!(site.expert.advice().map(|advice| advice.best(Method::Locking)), Some(Method::Serial));
    }
    // And what it was told then is no wish of now.
    site.acts = true;
    assert_eq!(site.passes(window(1, 100)), Decision::Stay);
}

fn run(site: &mut Site, windows: usize, of: impl Fn(Method) -> LoadWindow) {
    for _ in 0..windows {
        let window = of(site.method);
        site.passes(window);
    }
}

/// If this fails, a method that makes things worse stays; or the same rule leads there again at once; or the pause does not grow.
#[test]
fn a_method_that_costs_more_goes_back_and_its_rule_counts_half() {
    let mut site = Site::new(Planted::none());
    let serial_is_dear = |method| window(1, if method == Method::Serial { 300 } else { 100 });
    run(&mut site, 5, serial_is_dear);
    let [(switched, Method::Serial, false), (returned, Method::Locking, true)] = site.switches[..] else {
        panic!("{:?}", site.switches);
    };
    assert_eq!(returned - switched, 2 * WINDOW);
    run(&mut site, 3, serial_is_dear);
    let advice = site.expert.advice().expect("it was told of windows");
    assert!(advice.belief(Method::Serial) <= 450, "its rule counts half");
    run(&mut site, 100, serial_is_dear);
    let gaps: Vec<u64> = site.switches.windows(2).filter(|two| !two[1].2).map(|two| two[1].0 - two[0].0).collect();
    assert!(gaps.windows(2).all(|two| two[0] <= two[1]), "{gaps:?}");
    assert!(gaps[0] >= 2 * PAUSE_MIN, "{gaps:?}");
}

/// If this fails, a bug that leaves probation out would not be seen.
#[test]
fn without_probation_what_is_dear_stays() {
    let mut site = Site::new(Planted::only(Bug::ProbationIgnored));
    run(&mut site, 10, |method| window(1, if method == Method::Serial { 300 } else { 100 }));
    assert_eq!(site.method, Method::Serial);
}

/// If this fails, more commits in all hide that those of one length hardly commit any more.
#[test]
fn a_method_under_which_the_long_ones_starve_goes_back_at_once() {
    let mut site = Site::new(Planted::none());
    run(&mut site, 4, |method| {
        let mut window = window(2, if method == Method::Optimistic { 20 } else { 100 });
        window.outcome.tries[2] = 100;
        window.outcome.commits[2] = if method == Method::Optimistic { 9 } else { 90 };
        window
    });
    assert_eq!(site.switches.len(), 2, "{:?}", site.switches);
    let (returned, to, is_return) = site.switches[1];
    assert_eq!((to, is_return, returned - site.switches[0].0), (Method::Locking, true, WINDOW));
}

/// If this fails, a method is blamed for another load.
#[test]
fn what_costs_more_because_the_load_changed_is_kept() {
    let mut site = Site::new(Planted::none());
    run(&mut site, 10, |method| {
        let mut window = window(1, if method == Method::Serial { 300 } else { 100 });
        if method == Method::Serial {
            window.findings.set(Fact::Length, 40);
        }
        window
    });
    assert_eq!((site.method, site.switches.len()), (Method::Serial, 1));
}

/// If this fails, a method is blamed for a transaction that somebody rolled back while nothing else ran, or has stood its probation while nothing ran.
#[test]
fn a_window_in_which_hardly_anything_ran_says_nothing() {
    let mut site = Site::new(Planted::none());
    run(&mut site, 3, |_| window(1, 100));
    for tries in [0, 1, 19, 0] {
        let mut idle = window(1, 100);
        idle.outcome = WindowOutcome { server_time: 1_000, tries: [tries, 0, 0], commits: [0; 3] };
        assert_eq!(site.passes(idle), Decision::Stay);
        assert!(site.expert.is_on_probation());
    }
    run(&mut site, 2, |_| window(1, 300));
    assert_eq!(site.switches.len(), 2, "what was dear is found when the load is back: {:?}", site.switches);
}

/// If this fails, a method that somebody has set is undone, because the one before it was on probation.
#[test]
fn what_somebody_else_switches_ends_the_probation() {
    let mut site = Site::new(Planted::none());
    run(&mut site, 3, |_| window(1, 100));
    assert!(site.expert.is_on_probation());
    site.method = Method::Timestamp;
    assert_eq!(site.passes(window(3, 10_000)), Decision::Stay);
    assert!(!site.expert.is_on_probation());
    assert_eq!(site.passes(window(3, 10_000)), Decision::Stay);
}

fn most_in_an_hour(switches: &[(u64, Method, bool)]) -> usize {
    let in_hour = |from: u64| switches.iter().filter(|(at, ..)| (from..from + HOUR).contains(at)).count();
    switches.iter().map(|(at, ..)| in_hour(*at)).max().unwrap_or(0)
}

/// If this fails, the property below finds nothing.
#[test]
fn without_pauses_the_bound_is_broken() {
    let mut site = Site::new(Planted::only(Bug::ExpertWithoutPause));
    for round in 0..400 {
        site.passes(window(1 + (round / 5) % 4, 100));
    }
    assert!(most_in_an_hour(&site.switches) > SWITCHES_PER_HOUR_MAX);
}

proptest! {
    /// If this fails, some load makes a site switch so often that switching is what it does.
    #[test]
    fn no_load_makes_more_switches_than_the_bound(
        loads in proptest::collection::vec((0_u64..5, 1_u64..400, 0_u64..1_200, 1_usize..12, any::<bool>()), 1..120),
    ) {
        let mut site = Site::new(Planted::none());
        for (wanted, cost, commits, windows, depends) in loads {
            for _ in 0..windows {
                let factor = if depends { 1 + site.method as u64 } else { 1 };
                let mut window = window(wanted, cost * factor);
                window.outcome.commits[0] = commits;
                site.passes(window);
            }
        }
        prop_assert!(most_in_an_hour(&site.switches) <= SWITCHES_PER_HOUR_MAX);
        for two in site.switches.windows(2) {
            let (before, (at, _, is_return)) = (two[0].0, two[1]);
            prop_assert!(is_return || at - before >= PAUSE_MIN);
        }
    }
}
