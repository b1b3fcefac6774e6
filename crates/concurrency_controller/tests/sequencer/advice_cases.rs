//! What is counted of a load, whatever the method; and that a site follows its own advice where it is told to, and nowhere else.

use crate::support::*;
use messages::concurrency::{ConcurrencyReply, ConcurrencyRequest, Method};
use messages::limits::{MILLISECOND, SECOND};
use messages::method::{MethodReport, SwitchedBy};
use messages::schema::CatalogEntry;
use messages::settings::Parameter;

fn report(site: &mut Site) -> MethodReport {
    match site.ask(ConcurrencyRequest::Method { tag: 7 }).pop() {
        Some(ConcurrencyReply::MethodReply { tag: 7, report }) => *report,
        other => panic!("a report, not {other:?}"),
    }
}

fn fact(report: &MethodReport, name: &str) -> u64 {
    report.facts.iter().find(|fact| fact.name == name).map_or_else(|| panic!("no fact {name}"), |fact| fact.value)
}

/// A site, and the number of its next transaction.
struct Loaded {
    site: Site,
    next: u64,
}

impl Loaded {
    fn new(method: Method) -> Loaded {
        Loaded { site: Site::new(method), next: 1 }
    }

    fn transaction(&mut self) -> messages::TransactionId {
        self.next += 1;
        transaction(HERE, self.next)
    }

    /// For ten seconds two clients write one row, the second of them while the first is at it; nobody thinks.
    fn hot_row(&mut self) {
        for _ in 0..5_000 {
            let (first, second) = (self.transaction(), self.transaction());
            self.site.write(first, item(1));
            self.site.write(second, item(1));
            self.site.now += MILLISECOND;
            self.site.finish(first);
            self.site.now += MILLISECOND;
            self.site.finish(second);
        }
        self.site.tick();
    }

    /// For ten seconds a client reads a row, thinks, and writes it, while others write that row.
    fn thinker(&mut self) {
        for _ in 0..200 {
            let thinker = self.transaction();
            self.site.read(thinker, item(1));
            for _ in 0..4 {
                let writer = self.transaction();
                self.site.now += 10 * MILLISECOND;
                self.site.write(writer, item(1));
                self.site.finish(writer);
            }
            self.site.now += 10 * MILLISECOND;
            self.site.write(thinker, item(1));
            self.site.finish(thinker);
        }
        self.site.tick();
    }

    fn set(&mut self, value: Option<&str>) {
        let row = value.map(|value| CatalogEntry::Setting(value.to_owned()).encode());
        let key = CatalogEntry::setting_key(&Parameter::ConcurrencyMethod.name(None));
        self.site.ask(ConcurrencyRequest::Settings { rows: vec![(key, row)], begins: false });
    }
}

/// If this fails, what is advised depends on what runs, so that a site goes to and fro under one load.
#[test]
fn what_is_counted_does_not_depend_on_the_method() {
    for method in Method::ALL {
        let mut loaded = Loaded::new(method);
        loaded.site.tick();
        loaded.hot_row();
        let hot = report(&mut loaded.site);
        let values = ["accesses", "near", "hot", "one-shot", "thinking", "length", "reads", "wasted"];
        assert_eq!(values.map(|name| fact(&hot, name)), [10_000, 500, 1_000, 1_000, 0, 1, 0, 0], "{method:?}");
        loaded.thinker();
        let thinks = report(&mut loaded.site);
        assert!(fact(&thinks, "thinking") > 300, "{method:?}: {:?}", thinks.facts);
        assert!(fact(&thinks, "near") > 500, "{method:?}: {:?}", thinks.facts);
        assert_eq!(fact(&thinks, "read-then-write"), 200, "{method:?}");
    }
}

/// If this fails, a hot row counts as long transactions where programs commit together, so that the rule for hot rows does not fire there.
#[test]
fn programs_that_go_on_in_one_transaction_are_counted_each() {
    let mut loaded = Loaded::new(Method::Locking);
    loaded.site.tick();
    for _ in 0..500 {
        let heir = loaded.transaction();
        loaded.site.write(heir, item(1));
        let guests: Vec<_> = (0..9).map(|_| loaded.transaction()).collect();
        for guest in &guests {
            loaded.site.write(*guest, item(1));
        }
        for guest in guests {
            loaded.site.hand_over(guest, heir);
        }
        loaded.site.now += MILLISECOND;
        loaded.site.finish(heir);
    }
    loaded.site.now += 10 * SECOND;
    loaded.site.tick();
    let told = report(&mut loaded.site);
    let values = ["accesses", "near", "length", "one-shot", "wasted"].map(|name| fact(&told, name));
    assert_eq!(values, [5_000, 900, 1, 1_000, 0]);
}

/// If this fails, what does not meet is said to meet: transactions one after another, readers, or who only adds.
#[test]
fn what_does_not_meet_is_not_near() {
    let mut loaded = Loaded::new(Method::Locking);
    loaded.site.tick();
    for _ in 0..500 {
        let (reader, other) = (loaded.transaction(), loaded.transaction());
        loaded.site.read(reader, item(1));
        loaded.site.read(other, item(1));
        loaded.site.add(reader, item(2));
        loaded.site.add(other, item(2));
        loaded.site.finish(reader);
        loaded.site.finish(other);
        let writer = loaded.transaction();
        loaded.site.write(writer, item(1));
        loaded.site.write(writer, item(1));
        loaded.site.finish(writer);
    }
    loaded.site.now += 10 * SECOND;
    loaded.site.tick();
    let told = report(&mut loaded.site);
    assert_eq!(["accesses", "near", "crossing"].map(|name| fact(&told, name)), [2_500, 0, 0]);
}

/// If this fails, rules that speak of ranges, or of rows in different orders, never fire.
#[test]
fn ranges_and_crossing_orders_are_seen() {
    let mut loaded = Loaded::new(Method::Optimistic);
    loaded.site.tick();
    for _ in 0..500 {
        let (first, second) = (loaded.transaction(), loaded.transaction());
        loaded.site.write(first, item(1));
        loaded.site.write(second, item(2));
        loaded.site.write(first, item(2));
        loaded.site.write(second, item(1));
        loaded.site.read(first, range(5, 9));
        loaded.site.write(second, item(7));
        loaded.site.finish(first);
        loaded.site.finish(second);
    }
    loaded.site.now += 10 * SECOND;
    loaded.site.tick();
    let told = report(&mut loaded.site);
    // Of six accesses three are near; of them one meets who was met before in the other order.
    assert_eq!(["near", "ranges"].map(|name| fact(&told, name)), [500, 500]);
    assert!(fact(&told, "crossing") >= 333, "{:?}", told.facts);
}

/// If this fails, a site switches that was told to run one method; or it does not where it is told to choose, or does not say why.
#[test]
fn advice_is_followed_where_auto_is_set_and_nowhere_else() {
    let mut loaded = Loaded::new(Method::Locking);
    loaded.site.tick();
    (0..5).for_each(|_| loaded.hot_row());
    let told = report(&mut loaded.site);
    assert_eq!((told.method, told.is_automatic, told.switches.len()), (Method::Locking, false, 0));
    let best = &told.advice[0];
    assert_eq!((best.method, best.reasons[0].rule.as_str()), (Method::Serial, "few-hot-rows"));
    assert!(best.belief > 400, "{best:?}");
    loaded.set(Some("auto"));
    assert_eq!(report(&mut loaded.site).method, Method::Locking);
    (0..3).for_each(|_| loaded.hot_row());
    let told = report(&mut loaded.site);
    assert_eq!((told.method, told.is_automatic, told.is_on_probation), (Method::Serial, true, true));
    assert_eq!(told.switches[0].by, SwitchedBy::Expert);
    assert_eq!(told.switches[0].because, "Nearly all transactions are short and want the same few rows.");
    (0..20).for_each(|_| loaded.hot_row());
    let told = report(&mut loaded.site);
    assert_eq!((told.method, told.is_on_probation, told.switches.len()), (Method::Serial, false, 1));
    // What is set goes before what was chosen.
    loaded.set(Some("timestamp"));
    (0..5).for_each(|_| loaded.hot_row());
    assert_eq!(report(&mut loaded.site).method, Method::Timestamp);
    loaded.set(None);
    assert_eq!(report(&mut loaded.site).method, Method::Locking);
}
