//! What zones mean, and what is read and computed in them, with answers of PostgreSQL 15.

use super::*;
use crate::calendar::write_timestamp;
use crate::cast;
use crate::operators::{BinaryOperator, binary_in};
use crate::text;
use crate::types::Type;
use crate::value::Value;
use proptest::prelude::*;

fn zone(name: &str) -> Zone {
    Zone::of_name(name).unwrap_or_else(|| panic!("{name} is a zone"))
}

fn instant(text: &str, zone: &Zone) -> Value {
    text::parse_in(text, Type::TimestampTz(None), zone).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What PostgreSQL prints of a text that it reads in a zone.
fn shown(text: &str, name: &str) -> String {
    let zone = zone(name);
    text::to_string_in(&instant(text, &zone), &zone).unwrap()
}

/// A zone whose data could not be read would be none, and one without its rule would stop in the year of its last transition.
#[test]
fn every_zone_of_the_database_is_read() {
    for name in database::names() {
        let Zone(Some(rules)) = zone(name) else {
            assert_eq!(name, "UTC");
            continue;
        };
        assert_eq!(&*rules.name, name);
        assert!(rules.transitions.is_sorted_by(|left, right| left.0 < right.0), "{name}");
        assert!(rules.tail.is_some() || name == "Factory", "{name}");
    }
    assert!(Zone::all().count() > 500);
}

/// The answers are those of PostgreSQL 15.
#[test]
fn local_times_become_instants_as_in_postgresql() {
    for (written, name, expected) in [
        ("1800-01-01", "Europe/Berlin", "1800-01-01 00:00:00+00:53:28"),
        ("4713-01-01 BC", "Europe/Berlin", "4713-01-01 00:00:00+00:53:28 BC"),
        ("2500-07-01", "Europe/Berlin", "2500-07-01 00:00:00+02"),
        ("290000-07-01", "Europe/Berlin", "290000-07-01 00:00:00+02"),
        // Left out, and twice.
        ("2024-03-31 02:30", "Europe/Berlin", "2024-03-31 03:30:00+02"),
        ("2024-10-27 02:30", "Europe/Berlin", "2024-10-27 02:30:00+01"),
        ("2024-03-31 01:59:59.999999", "Europe/Berlin", "2024-03-31 01:59:59.999999+01"),
        ("2024-03-31 03:00", "Europe/Berlin", "2024-03-31 03:00:00+02"),
        ("1800-01-01", "Asia/Kolkata", "1800-01-01 00:00:00+05:53:28"),
        ("2500-07-01", "asia/kolkata", "2500-07-01 00:00:00+05:30"),
        ("2024-07-01", "AAA5BBB", "2024-07-01 00:00:00-04"),
        ("2024-01-01", "aaa5bbb", "2024-01-01 00:00:00-05"),
        ("2024-07-01", "AAA5BBB,M3.5.0,M10.5.0/3", "2024-07-01 00:00:00-04"),
        ("2024-01-01", "<foo>-3", "2024-01-01 00:00:00+03"),
        ("2024-01-01 10:00 America/New_York", "Europe/Berlin", "2024-01-01 16:00:00+01"),
        ("2024-07-01 10:00 EST5EDT", "Europe/Berlin", "2024-07-01 16:00:00+02"),
        ("2024-07-01 10:00 EST", "Europe/Berlin", "2024-07-01 17:00:00+02"),
        ("2024-07-01 10:00 pdt", "Europe/Berlin", "2024-07-01 19:00:00+02"),
        ("2024-07-01 10:00 UTC-3", "Europe/Berlin", "2024-07-01 09:00:00+02"),
        ("2024-07-01 10:00 MSK", "Europe/Berlin", "2024-07-01 09:00:00+02"),
        ("2013-07-01 10:00 MSK", "Europe/Berlin", "2013-07-01 08:00:00+02"),
        ("2024-01-01 10:00 FOO+3", "Europe/Berlin", "2024-01-01 14:00:00+01"),
        ("2024-01-01 EST", "Europe/Berlin", "2024-01-01 06:00:00+01"),
        ("2024-01-01 +02", "Europe/Berlin", "2023-12-31 23:00:00+01"),
        ("2024-01-01 10:00 EST DST", "Europe/Berlin", "2024-01-01 15:00:00+01"),
        ("2024-01-01 10:00 Japan", "UTC", "2024-01-01 01:00:00+00"),
        ("2024-01-01T10:00:00Z", "UTC", "2024-01-01 10:00:00+00"),
    ] {
        assert_eq!(shown(written, name), expected, "{written} in {name}");
    }
}

/// What PostgreSQL refuses must not become a time.
#[test]
fn wrong_zones_are_refused_as_in_postgresql() {
    let message = |written: &str, data_type: Type| match text::parse_in(written, data_type, &zone("Europe/Berlin")) {
        Ok(value) => panic!("{written}: {value:?}"),
        Err(error) => (error.sqlstate, error.message),
    };
    assert_eq!(
        message("2024-01-01 10:00 Nowhere/Foo", Type::TimestampTz(None)),
        ("22023", "time zone \"nowhere/foo\" not recognized".to_owned())
    );
    for (written, data_type) in [
        ("2024-01-01 10:00 FOO", Type::TimestampTz(None)),
        ("2024-01-01 10:00 FOO", Type::Timestamp(None)),
        ("10:00 America/New_York", Type::Time(None)),
        ("10:00 EST", Type::TimestampTz(None)),
        ("2024-01-01 10:00+02 EST", Type::TimestampTz(None)),
    ] {
        assert_eq!(message(written, data_type).0, "22007", "{written}");
    }
    // A zone that changes nothing is read all the same.
    assert!(text::parse("2024-01-01 America/New_York", Type::Date).is_ok());
    assert!(text::parse("2024-01-01 10:00 America/New_York", Type::Timestamp(None)).is_ok());
    assert!(text::parse("10:00 EST", Type::Time(None)).is_ok());
}

/// SHOW prints these names, and clients compare them.
#[test]
fn settings_name_zones_as_in_postgresql() {
    for (setting, expected) in [
        ("europe/berlin", "Europe/Berlin"),
        ("est5edt", "EST5EDT"),
        ("aaa5bbb", "AAA5BBB"),
        ("<foo>-3", "<FOO>-3"),
        ("+02", "<+02>-02"),
        ("-3.5", "<-03:30>+03:30"),
        ("INTERVAL '-08:00:00'", "<-08>+08"),
        ("interval '1:00'", "<+01>-01"),
        ("100", "<+100>-100"),
        ("foo+3", "FOO+3"),
        ("utc", "UTC"),
        ("gmt", "GMT"),
        ("cet", "CET"),
    ] {
        assert_eq!(Zone::of_setting(setting).map(|zone| zone.name().to_owned()), Ok(expected.to_owned()), "{setting}");
    }
    for (setting, detail) in [
        ("Nowhere/Nope", None),
        ("", None),
        ("FOO", None),
        ("Z", None),
        ("200", Some("UTC timezone offset is out of range.")),
        ("INTERVAL '1 mon'", Some("Cannot specify months in time zone interval.")),
    ] {
        assert_eq!(Zone::of_setting(setting), Err(detail), "{setting}");
    }
}

/// A server that was sent a zone must not mean another by it.
#[test]
fn zones_travel_by_their_names() {
    for name in ["UTC", "Europe/Berlin", "<+02>-02", "AAA5BBB,M3.5.0,M10.5.0/3"] {
        let bytes = postcard::to_allocvec(&zone(name)).unwrap();
        let arrived: Zone = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(arrived.name(), name);
        assert_eq!(arrived, zone(name));
    }
    assert!(postcard::from_bytes::<Zone>(&postcard::to_allocvec("nowhere").unwrap()).is_err());
}

/// Days and months keep the time of the day where the clock changes, hours do not.
#[test]
fn intervals_are_added_in_local_time() {
    let berlin = zone("Europe/Berlin");
    let sum = |start: &str, span: &str| {
        let span = text::parse(span, Type::Interval(None)).unwrap();
        let sum = binary_in(BinaryOperator::Add, &instant(start, &berlin), &span, &berlin).unwrap();
        text::to_string_in(&sum, &berlin).unwrap()
    };
    assert_eq!(sum("2024-03-30 12:00", "1 day"), "2024-03-31 12:00:00+02");
    assert_eq!(sum("2024-03-30 12:00", "24 hours"), "2024-03-31 13:00:00+02");
    assert_eq!(sum("2024-02-29 02:30", "1 mon 2 days"), "2024-03-31 03:30:00+02");
    assert_eq!(sum("2024-10-26 02:30", "1 day"), "2024-10-27 02:30:00+01");
}

/// A comparison that took one for the other would find other rows.
#[test]
fn local_times_compare_with_instants_in_the_zone() {
    let tokyo = zone("Asia/Tokyo");
    let at = instant("2024-01-01 00:00", &tokyo);
    let day = text::parse("2024-01-01", Type::Date).unwrap();
    let is = |left: &Value, operator, right: &Value, zone: &Zone| binary_in(operator, left, right, zone).unwrap();
    assert_eq!(is(&at, BinaryOperator::Equal, &day, &tokyo), Value::Boolean(true));
    assert_eq!(is(&day, BinaryOperator::Equal, &at, &tokyo), Value::Boolean(true));
    assert_eq!(is(&at, BinaryOperator::Less, &day, &Zone::UTC), Value::Boolean(true));
    assert_eq!(cast::explicit_in(&at, Type::Date, &tokyo), Ok(day));
    let last = Value::Date(crate::limits::DATE_MAX);
    assert_eq!(is(&at, BinaryOperator::Less, &last, &tokyo), Value::Boolean(true));
}

/// The set is PostgreSQL's: one that was not found would be a syntax error.
#[test]
fn abbreviations_ascend_and_mean_something() {
    let names: Vec<&str> = abbreviations().map(|(name, _)| name).collect();
    assert!(names.is_sorted());
    assert_eq!(names.len(), 195);
    assert!(names.iter().all(|name| name.len() <= 6), "a longer one would not be looked for");
}

proptest! {
    /// Otherwise a value would change when a client reads it and sends it back.
    #[test]
    fn instants_come_back_from_their_texts(
        at in -60_000_000_000_000_000_i64..60_000_000_000_000_000,
        name in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Monrovia", "<+02>-02"]),
    ) {
        let zone = zone(name);
        let mut text = Vec::new();
        write_timestamp(zone.local(at), Some(zone.at(at).seconds), &mut text);
        let text = String::from_utf8(text).unwrap();
        prop_assert_eq!(instant(&text, &zone), Value::TimestampTz(at), "{}", text);
    }

    /// No name may stop a site.
    #[test]
    fn any_text_may_be_asked_for(text in "\\PC{0,40}", rule in "[A-C<>]{0,5}[-+0-9:,MJ./]{0,30}") {
        for text in [text, rule] {
            if let Ok(zone) = Zone::of_setting(&text) {
                let _ = zone.instant(zone.local(i64::MAX / 2));
                let _ = zone.at(i64::MIN / 2);
            }
        }
    }
}
