//! Single cases of the methods other than locking and validation, and of the ways to go over from one to another.

use crate::support::{HERE, Site, THERE, history, item, own, range, said, transaction};
use concurrency_controller::limits::{REFUSALS_MAX, SERIAL_IDLE, SWITCH_PATIENCE};
use messages::concurrency::{ConcurrencyReply, ConcurrencyRequest, Method, SwitchStrategy};
use messages::method::{MethodReport, Origin};
use messages::schema::CatalogEntry;
use messages::settings::Parameter;
use messages::{Key, Row, SiteId};

const NOTHING: [&str; 0] = [];

/// Otherwise a client that thinks would stop all others, or lose its transaction for it.
#[test]
fn who_thinks_leaves_its_turn_and_waits_for_another_one() {
    let mut site = Site::new(Method::Serial);
    assert_eq!(site.write(own(1), item(1)), ["1 granted"]);
    assert_eq!(site.write(own(2), item(2)), NOTHING, "it is not its turn");
    assert_eq!(site.read(own(3), item(3)), NOTHING);
    assert_eq!(site.write(own(1), item(4)), ["1 granted"], "it has the turn");
    site.now += SERIAL_IDLE;
    assert_eq!(said(&site.tick()), ["2 granted"]);
    assert_eq!(site.read(own(1), item(1)), NOTHING, "what it has it may not use without the turn");
    assert_eq!(site.commit_lock(own(2), history(&[], &[], &[2])), ["2 commit-locks granted", "3 granted"]);
    assert_eq!(site.finish(own(3)), ["1 granted"], "in the order in which they asked");
    site.finish(own(2));
    assert_eq!(site.commit_lock(own(1), history(&[], &[], &[1, 4])), ["1 commit-locks granted"]);
    site.finish(own(1));
    assert!(site.is_idle());
}

/// Otherwise a parked transaction would go on with what it has read and another has changed.
#[test]
fn who_has_left_its_turn_loses_what_others_change() {
    let mut site = Site::new(Method::Serial);
    assert_eq!(site.read(own(1), item(1)), ["1 granted"]);
    site.now += SERIAL_IDLE;
    site.tick();
    assert_eq!(site.write(own(2), item(1)), ["2 granted"]);
    assert_eq!(site.commit_lock(own(2), history(&[], &[], &[1])), ["1 doomed: stale", "2 commit-locks granted"]);
}

/// Otherwise two readers of what both go on to write would meet.
#[test]
fn simple_locks_let_readers_wait_for_each_other() {
    let mut site = Site::new(Method::SimpleLocking);
    assert_eq!(site.read(own(1), item(1)), ["1 granted"]);
    assert_eq!(site.read(own(2), item(1)), NOTHING);
    assert_eq!(site.add(own(3), item(4)), ["3 granted"]);
    assert_eq!(site.read(own(4), range(3, 6)), NOTHING);
    assert_eq!(site.write(own(1), item(1)), ["1 granted"]);
    assert_eq!(site.finish(own(1)), ["2 granted"]);
    assert_eq!(site.finish(own(3)), ["4 granted"]);
}

/// Otherwise who came first would go after what a later one has done, or a retry would be late again.
#[test]
fn who_comes_too_late_is_refused_also_after_the_other_has_ended() {
    let mut site = Site::new(Method::Timestamp);
    assert_eq!(site.read(own(1), item(1)), ["1 granted"]);
    assert_eq!(site.write(own(2), item(2)), ["2 granted"]);
    assert_eq!(site.write(own(2), item(1)), NOTHING, "it waits for the smaller stamp");
    assert_eq!(site.read(own(1), item(2)), ["1 late"]);
    assert_eq!(site.finish(own(1)), ["2 granted"]);
    assert_eq!(site.read(own(3), item(3)), ["3 granted"]);
    assert_eq!(site.write(own(4), item(4)), ["4 granted"]);
    assert_eq!(site.finish(own(4)), NOTHING);
    assert_eq!(site.read(own(3), item(4)), ["3 late"], "the other is there as a ghost");
    assert_eq!(site.finish(own(3)), NOTHING);
    assert_eq!(site.finish(own(2)), NOTHING);
    assert!(site.is_idle());
    assert_eq!(site.read(own(5), item(4)), ["5 granted"]);
}

/// Otherwise a sum of what others add to without a pause could never be read.
#[test]
fn who_was_often_late_and_what_is_only_added_to_follow_locks() {
    let mut site = Site::new(Method::Timestamp);
    assert_eq!(site.read(own(1), item(1)), ["1 granted"]);
    assert_eq!(site.add(own(2), item(2)), ["2 granted"]);
    assert_eq!(site.read(own(1), item(2)), NOTHING, "it waits, and is not late");
    assert_eq!(site.finish(own(2)), ["1 granted"]);
    site.finish(own(1));
    let mut number = 10;
    for _ in 0..REFUSALS_MAX {
        assert_eq!(said(&site.read_as(own(number), 5, item(1))), [format!("{number} granted")]);
        site.write(own(number + 1), item(2));
        assert_eq!(said(&site.read_as(own(number), 5, item(2))), [format!("{number} late")]);
        site.finish(own(number));
        site.finish(own(number + 1));
        number += 2;
    }
    assert_eq!(said(&site.read_as(own(number), 5, item(1))), [format!("{number} granted")]);
    assert_eq!(site.write(own(number + 1), item(2)), [format!("{} granted", number + 1)]);
    assert_eq!(said(&site.read_as(own(number), 5, item(2))), NOTHING, "it waits");
    assert_eq!(site.finish(own(number + 1)), [format!("{number} granted")]);
}

/// Otherwise who has read what a later one has read, too, would change it without a stamp, as if it had only added to it.
#[test]
fn adding_to_what_one_has_read_has_its_place_in_the_order() {
    let mut site = Site::new(Method::Timestamp);
    assert_eq!(site.read(own(1), item(1)), ["1 granted"]);
    assert_eq!(site.read(own(2), item(1)), ["2 granted"]);
    assert_eq!(site.finish(own(2)), NOTHING);
    assert_eq!(site.add(own(1), item(1)), ["1 late"]);
    assert_eq!(site.add(own(1), item(2)), ["1 granted"]);
}

/// Two that have both read what the other writes.
fn entangled(method: Method) -> Site {
    let mut site = Site::new(method);
    for (number, read, written) in [(1, 1, 2), (2, 2, 1)] {
        assert_eq!(site.read(own(number), item(read)), [format!("{number} granted")]);
        assert_eq!(site.write(own(number), item(written)), [format!("{number} granted")]);
    }
    site
}

/// Otherwise a conversion would doom more than it has to, or keep what breaks the new method.
#[test]
fn a_conversion_dooms_the_younger_of_two_that_contradict_the_new_method() {
    for method in [Method::Locking, Method::SimpleLocking, Method::Timestamp] {
        let mut site = entangled(Method::Optimistic);
        assert_eq!(said(&site.switch_by(method, SwitchStrategy::Converting)), ["2 doomed: late"], "{method:?}");
        assert!(site.controller.property_holds());
        let mut site = entangled(Method::Optimistic);
        assert_eq!(said(&site.switch_by(method, SwitchStrategy::Generic)), NOTHING);
        assert!(!site.controller.property_holds());
        site.finish(own(1));
        assert!(site.controller.property_holds() && site.controller.executing_from_before() == 1);
    }
    let mut site = entangled(Method::Optimistic);
    assert_eq!(said(&site.switch_by(Method::Serial, SwitchStrategy::Converting)), NOTHING);
    assert!(site.controller.property_holds());
    assert_eq!(site.read(own(2), item(7)), NOTHING, "the oldest has the turn");
    assert_eq!(site.finish(own(1)), ["2 granted"]);
}

/// Otherwise a reader and a writer would lose for an order that they have.
#[test]
fn a_conversion_to_stamps_orders_readers_before_writers() {
    let mut site = Site::new(Method::Optimistic);
    assert_eq!(site.write(own(1), item(1)), ["1 granted"]);
    assert_eq!(site.read(own(2), item(1)), ["2 granted"]);
    assert_eq!(said(&site.switch_by(Method::Timestamp, SwitchStrategy::Converting)), NOTHING);
    assert!(site.controller.stamp_of(own(2)) < site.controller.stamp_of(own(1)));
}

/// Otherwise a client that thinks for long would keep two methods in force for ever; or who has sent its prepare would be doomed.
#[test]
fn patience_with_those_from_before_a_switch_ends() {
    let mut site = entangled(Method::Optimistic);
    assert_eq!(site.write(own(3), item(3)), ["3 granted"]);
    assert_eq!(site.write(own(4), item(4)), ["4 granted"]);
    site.commit_lock_of(own(10), &[own(3), own(4)], history(&[], &[], &[3, 4]));
    assert_eq!(said(&site.switch_by(Method::Locking, SwitchStrategy::SuffixSufficient)), NOTHING);
    assert_eq!(site.controller.executing_from_before(), 2);
    assert_eq!(site.write(own(5), item(1)), NOTHING, "the new method judges, too");
    site.now += SWITCH_PATIENCE - 1;
    assert_eq!(said(&site.tick()), NOTHING);
    site.now += 1;
    assert_eq!(said(&site.tick()), ["1 doomed: late", "2 doomed: late", "5 granted"]);
    assert!(site.controller.switching().is_none() && site.controller.property_holds());
    assert_eq!(site.finish(own(10)), NOTHING);
    assert_eq!(site.controller.counters().doomed_by_switches, 2);
}

/// Otherwise a newer setting would have to wait, or two switches would be under way at once.
#[test]
fn a_newer_switch_ends_the_one_under_way() {
    let mut site = entangled(Method::Optimistic);
    site.switch_by(Method::Locking, SwitchStrategy::SuffixSufficient);
    assert_eq!(site.write(own(5), item(1)), NOTHING);
    assert_eq!(said(&site.switch_by(Method::Optimistic, SwitchStrategy::Generic)), ["5 granted"]);
    assert_eq!(site.controller.method(), Method::Optimistic);
    assert_eq!(site.commit_lock(transaction(THERE, 50), history(&[], &[], &[9])), ["50 commit-locks granted"]);
}

/// A row of the catalog.
fn setting(parameter: Parameter, site: Option<SiteId>, value: Option<&str>) -> (Key, Option<Row>) {
    let row = value.map(|value| CatalogEntry::Setting(value.to_owned()).encode());
    (CatalogEntry::setting_key(&parameter.name(site)), row)
}

fn report(site: &mut Site) -> MethodReport {
    match site.ask(ConcurrencyRequest::Method { tag: 7 }).pop() {
        Some(ConcurrencyReply::MethodReply { tag: 7, report }) => *report,
        other => panic!("a report, not {other:?}"),
    }
}

/// Otherwise a site would not run what is set for it, or would tell something else of it.
#[test]
fn settings_are_followed_where_they_are_installed() {
    let mut site = Site::new(Method::Locking);
    let (method, way) = (Parameter::ConcurrencyMethod, Parameter::ConcurrencyWay);
    let at_start = vec![setting(method, None, Some("optimistic")), setting(method, Some(THERE), Some("serial"))];
    site.ask(ConcurrencyRequest::Settings { rows: at_start, begins: true });
    let told = report(&mut site);
    assert_eq!((told.method, told.origin, told.switches.len()), (Method::Optimistic, Origin::Cluster, 0));
    site.read(own(1), item(1));
    let rows = vec![setting(way, None, Some("suffix-sufficient")), setting(method, Some(HERE), Some("timestamp"))];
    site.now += 5;
    assert_eq!(said(&site.ask(ConcurrencyRequest::Settings { rows, begins: false })), NOTHING);
    let told = report(&mut site);
    assert_eq!(
        (told.method, told.origin, told.switching),
        (Method::Timestamp, Origin::Site, Some(SwitchStrategy::SuffixSufficient))
    );
    assert_eq!((told.from_before, told.switches[0].from, told.switches[0].took), (1, Method::Optimistic, None));
    site.now += 20;
    site.finish(own(1));
    assert_eq!(report(&mut site).switches[0].took, Some(20));
    // What a later version sets, or takes back, is not followed.
    let rows = vec![setting(method, Some(HERE), Some("clairvoyant")), setting(method, None, None)];
    site.ask(ConcurrencyRequest::Settings { rows, begins: false });
    let told = report(&mut site);
    assert_eq!((told.method, told.origin), (Method::Locking, Origin::File));
}
