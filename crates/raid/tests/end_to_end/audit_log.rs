//! What an operator reads later of who has done what.

use crate::harness::{World, eventually};
use local_cluster::process::ProcessName;
use serde_json::Value;
use site::SiteConfig;
use std::path::Path;

fn lines(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("audit.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Who came in, who did not, and what was changed must stand in the log of the site, in order, and no password.
#[test]
fn logins_and_changes_are_written_down() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = |site: u16| place.path().join(site.to_string());
    let world = World::start_changed(|cluster| {
        for site in cluster.sites().keys() {
            let path = cluster.config_of(ProcessName::Site(*site));
            let config = SiteConfig::read(&path).expect("it was written");
            let config = SiteConfig { audit_log: Some(folder(*site)), ..config };
            config.write(&path).expect("the folder can be written");
        }
    });
    let mut client = world.connect(2);
    client.batch_execute("CREATE TABLE watched (k int PRIMARY KEY)").expect("a table");
    client.batch_execute("CREATE ROLE guest LOGIN PASSWORD 'between us'").expect("a role");
    client.batch_execute("CREATE ROLE stranger").expect("a role that nobody logs in as");
    client.batch_execute("INSERT INTO watched VALUES (1)").expect("a row");
    let refused = client.batch_execute("DROP TABLE unwatched").expect_err("there is none");
    assert_eq!(refused.code().map(|code| code.code()), Some("42P01"));
    drop(client);
    let port = world.sql(2).port();
    let stranger = format!("host=127.0.0.1 port={port} user=stranger dbname=raid application_name=probe");
    assert!(postgres::Client::connect(&stranger, postgres::NoTls).is_err(), "nobody logs in as that role");
    let told = |kind: &str| -> Vec<Value> {
        lines(&folder(2)).into_iter().filter(|line| line["event"] == kind && line["user"] == "stranger").collect()
    };
    eventually("the log to have all", || told("login refused").len() == 1);
    let refusal = &told("login refused")[0];
    assert_eq!((refusal["user"].as_str(), refusal["sqlstate"].as_str()), (Some("stranger"), Some("28000")));
    assert_eq!((refusal["address"].as_str(), refusal["site"].as_u64()), (Some("127.0.0.1"), Some(2)));
    let changes: Vec<Value> = lines(&folder(2)).into_iter().filter(|line| line["statement"].is_string()).collect();
    let statements: Vec<_> = changes.iter().map(|line| (line["event"].as_str(), line["statement"].as_str())).collect();
    assert_eq!(
        statements,
        [
            (Some("change"), Some("CREATE TABLE watched (k int PRIMARY KEY)")),
            (Some("change"), Some("CREATE ROLE guest LOGIN PASSWORD ...")),
            (Some("change"), Some("CREATE ROLE stranger")),
            (Some("change refused"), Some("DROP TABLE unwatched")),
        ]
    );
    assert_eq!(changes[3]["sqlstate"], "42P01");
    let process = &changes[0]["process"];
    let of_client =
        |kind: &str| lines(&folder(2)).iter().any(|line| line["event"] == kind && line["process"] == *process);
    eventually("the session's end", || of_client("logout"));
    assert!(of_client("login"));
    let all = std::fs::read_to_string(folder(2).join("audit.jsonl")).expect("the log");
    assert!(!all.contains("between us"));
    assert_eq!(world.stop(), Vec::<String>::new());
}
