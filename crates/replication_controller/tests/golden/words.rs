//! How messages read in a script; those that are not written down are empty.

use messages::access::{Copies, CopyRequest, StaleSet};
use messages::epoch::MemberState;
use messages::oracle::{OracleReply, OracleRequest};
use messages::replication::{MemberReport, ReplicationMessage};
use messages::{Epoch, Item, Key, Message, TableId};

pub fn key(name: &str) -> Key {
    Key::new(name.as_bytes())
}

pub fn item(name: &str) -> Item {
    Item { table: TableId(20), key: key(name) }
}

pub fn spelled(key: &Key) -> String {
    String::from_utf8_lossy(key.as_bytes()).into_owned()
}

fn items<'a>(items: impl IntoIterator<Item = &'a Item>) -> String {
    items.into_iter().map(|item| spelled(&item.key)).collect::<Vec<_>>().join(" ")
}

/// What a set of stale items names.
pub fn point(stale: &StaleSet) -> String {
    match (stale.everything, stale.storages.is_empty()) {
        (true, _) => "everything".to_owned(),
        (false, false) => "*".to_owned(),
        (false, true) if stale.items.is_empty() => "nothing".to_owned(),
        (false, true) => items(stale.items.tree()),
    }
}

fn epoch(epoch: &Epoch) -> String {
    let each = epoch.members.iter().map(|(site, member)| {
        let mark = if member.state == MemberState::Up { "" } else { "+" };
        format!("{}{mark}", site.0)
    });
    format!("{} of {}", epoch.number.0, each.collect::<Vec<_>>().join(" "))
}

fn report(report: &MemberReport) -> String {
    let basis = report.basis.map_or("nothing".to_owned(), |basis| basis.number.0.to_string());
    let recent: Vec<String> = (report.recent.iter())
        .map(|(timestamp, written)| format!("{}@{}:{}", point(written), timestamp.epoch.0, timestamp.clock))
        .collect();
    let tables: Vec<String> = (report.fail_locks.iter())
        .map(|(site, table)| format!("{}: {} since {}:{}", site.0, point(&table.stale), table.base.0.0, table.base.1))
        .collect();
    let open: Vec<String> = report.transactions.transactions.keys().map(|id| id.to_string()).collect();
    let joined = report.transactions.joined.0;
    format!(
        "after {basis}, joined {joined}, open [{}], recent [{}], tables [{}]",
        open.join(" "),
        recent.join(" "),
        tables.join(", ")
    )
}

/// In one line.
pub fn described(message: &Message) -> String {
    match message {
        Message::Oracle(OracleRequest::SwapEpoch { expected, epoch: new, .. }) => {
            format!("swap {} for {}", expected.number.0, epoch(new))
        }
        Message::OracleReply(OracleReply::EpochSwapped { won, epoch: held, .. }) => {
            format!("swapped {won}: {}", epoch(held))
        }
        Message::Replication(message) => replication(message),
        _ => String::new(),
    }
}

fn replication(message: &ReplicationMessage) -> String {
    match message {
        ReplicationMessage::Seal { epoch, .. } => format!("seal {}", epoch.0),
        ReplicationMessage::Sealed { epoch, current, .. } => {
            format!("sealed {}{}", epoch.0, if *current { ", current" } else { "" })
        }
        ReplicationMessage::EpochIs { epoch: known } if known.number.0 > 0 => format!("epoch is {}", epoch(known)),
        ReplicationMessage::Report { epoch, report: brought, .. } => format!("report {} {}", epoch.0, report(brought)),
        ReplicationMessage::Logged { epoch, complete, .. } => {
            format!("logged {}{}", epoch.0, if *complete { ", complete" } else { "" })
        }
        ReplicationMessage::Refreshed { everything: true, .. } => "refreshed everything".to_owned(),
        ReplicationMessage::Refreshed { items: refreshed, .. } => format!("refreshed {}", items(refreshed)),
        ReplicationMessage::CopyRequest { wanted, .. } => match wanted {
            CopyRequest::Items(wanted) => format!("copy {}", items(wanted)),
            CopyRequest::Range { .. } => "copy a storage".to_owned(),
            CopyRequest::Storages => "which storages".to_owned(),
        },
        ReplicationMessage::CopyReply { copies, .. } => match &**copies {
            Copies::Items(brought) => format!("copies {}", items(brought.iter().map(|(item, ..)| item))),
            Copies::Range { .. } => "copies a storage".to_owned(),
            Copies::Storages(listed) => format!("{} storages", listed.len()),
        },
        ReplicationMessage::Current => String::new(),
        _ => String::new(),
    }
}
