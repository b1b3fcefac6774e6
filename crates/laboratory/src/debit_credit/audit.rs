//! The database against the ledgers, after the load: nothing lost, nothing doubled, the same balances at every site.

use super::ledger::{Fate, Ledger, mark, parse_mark};
use super::{connect, explain};
use crate::limits;
use postgres::fallible_iterator::FallibleIterator;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a site could not be audited.
#[derive(Debug, Error)]
#[error("site {site} could not be audited: {what}: {}", explain(.error))]
pub struct AuditError {
    /// Which site.
    pub site: u16,
    /// At which step.
    pub what: &'static str,
    /// What it said.
    pub error: postgres::Error,
}

/// The balances at one site: all four are equal when the books balance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Sum over accounts.
    pub accounts: i64,
    /// Sum over tellers.
    pub tellers: i64,
    /// Sum over branches.
    pub branches: i64,
    /// Sum over the history's deltas.
    pub history: i64,
    /// Rows of the history.
    pub history_rows: u64,
}

/// What history says of the transactions of all clients, at one site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Acknowledged, as the clients' ledgers say.
    pub acknowledged: u64,
    /// Of them, not in the history.
    pub lost: u64,
    /// In the history more than once.
    pub duplicated: u64,
    /// In the history although refused.
    pub refused_but_there: u64,
    /// In the history with another delta than the client's.
    pub altered: u64,
    /// In the history, of no client.
    pub foreign: u64,
    /// Of unknown outcome, and in the history.
    pub unknown_committed: u64,
    /// Of unknown outcome, and not in the history.
    pub unknown_aborted: u64,
    /// The first findings, in words.
    pub findings: Vec<String>,
}

impl Comparison {
    /// Whether the history is what the clients were told.
    pub fn is_clean(&self) -> bool {
        self.lost + self.duplicated + self.refused_but_there + self.altered + self.foreign == 0
    }
}

/// One site's part of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteAudit {
    /// Its balances.
    pub books: Books,
    /// Its history against the ledgers.
    pub comparison: Comparison,
}

/// An audit of all sites.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// By site.
    pub sites: BTreeMap<u16, SiteAudit>,
}

impl Audit {
    /// Everything that is wrong, in sentences; empty when all is well.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints_since(0)
    }

    /// As [`Audit::complaints`], when all balances added up to `opening` before the first transaction that is in the history.
    pub fn complaints_since(&self, opening: i64) -> Vec<String> {
        let mut complaints = Vec::new();
        for (site, audit) in &self.sites {
            let Books { accounts, tellers, branches, .. } = audit.books;
            let history = opening + audit.books.history;
            if accounts != tellers || accounts != branches || accounts != history {
                complaints.push(format!(
                    "site {site}: the books do not balance: accounts {accounts}, tellers {tellers}, branches {branches}, \
                     history {history}"
                ));
            }
            if !audit.comparison.is_clean() {
                let found = audit.comparison.findings.join("; ");
                complaints.push(format!("site {site}: the history is not what clients were told: {found}"));
            }
        }
        let mut sites = self.sites.iter();
        if let Some((first, expected)) = sites.next() {
            for (site, audit) in sites.filter(|(_, audit)| audit.books != expected.books) {
                complaints.push(format!("sites {first} and {site} differ: {:?} and {:?}", expected.books, audit.books));
            }
        }
        complaints
    }
}

/// A row of the history, as far as an audit needs it.
#[derive(Clone, Debug)]
pub struct HistoryRow {
    /// Whom it belongs to.
    pub filler: String,
    /// What it added.
    pub delta: i32,
}

/// Compares a history with the ledgers.
pub fn compare(ledgers: &[Ledger], history: &[HistoryRow]) -> Comparison {
    let mut comparison = Comparison::default();
    let mut seen: Vec<Vec<u32>> = ledgers.iter().map(|ledger| vec![0; ledger.entries().len()]).collect();
    let index_of: BTreeMap<u32, usize> =
        ledgers.iter().enumerate().map(|(index, ledger)| (ledger.client(), index)).collect();
    let mut findings = Vec::new();
    let mut find = |text: String| {
        if findings.len() < limits::FINDINGS_SHOWN {
            findings.push(text);
        }
    };
    for row in history {
        let owner = parse_mark(&row.filler)
            .and_then(|(client, sequence)| Some((*index_of.get(&client)?, usize::try_from(sequence).ok()?)))
            .filter(|(index, sequence)| *sequence < seen[*index].len());
        let Some((index, sequence)) = owner else {
            comparison.foreign += 1;
            find(format!("{:?} was never sent", row.filler));
            continue;
        };
        seen[index][sequence] += 1;
        let sent = ledgers[index].entries()[sequence].delta;
        if sent != row.delta {
            comparison.altered += 1;
            find(format!("{} has delta {} instead of {sent}", row.filler.trim_end(), row.delta));
        }
    }
    for (ledger, counts) in ledgers.iter().zip(&seen) {
        for (sequence, (entry, count)) in ledger.entries().iter().zip(counts).enumerate() {
            let name = || mark(ledger.client(), sequence as u32);
            if *count > 1 {
                comparison.duplicated += 1;
                find(format!("{} is there {count} times", name()));
            }
            match (entry.fate, count) {
                (Fate::Acknowledged, 0) => {
                    comparison.lost += 1;
                    find(format!("{} was acknowledged and is not there", name()));
                }
                (Fate::Refused, 1..) => {
                    comparison.refused_but_there += 1;
                    find(format!("{} was refused and is there", name()));
                }
                (Fate::Unknown, 0) => comparison.unknown_aborted += 1,
                (Fate::Unknown, _) => comparison.unknown_committed += 1,
                _ => {}
            }
            comparison.acknowledged += u64::from(entry.fate == Fate::Acknowledged);
        }
    }
    comparison.findings = findings;
    comparison
}

/// Audits all sites. The load must have ended.
pub fn audit(
    sites: impl IntoIterator<Item = (u16, SocketAddr)>,
    ledgers: &[Ledger],
    mut progress: impl FnMut(u16),
) -> Result<Audit, AuditError> {
    let mut audit = Audit::default();
    for (site, sql) in sites {
        progress(site);
        audit.sites.insert(site, audit_site(site, sql, ledgers)?);
    }
    Ok(audit)
}

fn audit_site(site: u16, sql: SocketAddr, ledgers: &[Ledger]) -> Result<SiteAudit, AuditError> {
    let failed = |what| move |error| AuditError { site, what, error };
    let mut client = connect(sql).map_err(failed("connecting"))?;
    let mut sum = |what: &'static str, statement: &str| {
        client.query_one(statement, &[]).and_then(|row| row.try_get::<_, i64>(0)).map_err(failed(what))
    };
    let mut books = Books {
        accounts: sum("the accounts", "SELECT coalesce(sum(abalance), 0) FROM pgbench_accounts")?,
        tellers: sum("the tellers", "SELECT coalesce(sum(tbalance), 0) FROM pgbench_tellers")?,
        branches: sum("the branches", "SELECT coalesce(sum(bbalance), 0) FROM pgbench_branches")?,
        history: sum("the history", "SELECT coalesce(sum(delta), 0) FROM pgbench_history")?,
        history_rows: 0,
    };
    let no_parameters: [&str; 0] = [];
    let rows = client
        .query_raw("SELECT filler, delta FROM pgbench_history", no_parameters)
        .and_then(|rows| {
            rows.map(|row| Ok(HistoryRow { filler: row.try_get(0)?, delta: row.try_get(1)? })).collect::<Vec<_>>()
        })
        .map_err(failed("the rows of the history"))?;
    books.history_rows = rows.len() as u64;
    Ok(SiteAudit { books, comparison: compare(ledgers, &rows) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(client: u32, sequence: u32, delta: i32) -> HistoryRow {
        HistoryRow { filler: format!("{:22}", mark(client, sequence)), delta }
    }

    fn ledgers() -> Vec<Ledger> {
        let mut ledger = Ledger::new(7);
        for (fate, delta) in
            [(Fate::Acknowledged, 10), (Fate::Acknowledged, 20), (Fate::Refused, 30), (Fate::Unknown, 40)]
        {
            ledger.note(fate, delta);
        }
        vec![Ledger::new(3), ledger]
    }

    /// The history that the clients were told of is clean, whatever became of the unknown one.
    #[test]
    fn what_was_told_is_clean() {
        let without = compare(&ledgers(), &[row(7, 1, 20), row(7, 0, 10)]);
        assert!(without.is_clean(), "{without:?}");
        assert_eq!((without.acknowledged, without.unknown_aborted, without.unknown_committed), (2, 1, 0));
        let with = compare(&ledgers(), &[row(7, 0, 10), row(7, 3, 40), row(7, 1, 20)]);
        assert!(with.is_clean(), "{with:?}");
        assert_eq!((with.unknown_aborted, with.unknown_committed), (0, 1));
    }

    /// An audit that overlooks one of these would call a broken database sound.
    #[test]
    fn every_kind_of_fault_is_found() {
        let good = [row(7, 0, 10), row(7, 1, 20)];
        let with = |extra: HistoryRow| compare(&ledgers(), &[&good[..], &[extra]].concat());
        assert_eq!(compare(&ledgers(), &good[..1]).lost, 1);
        assert_eq!(with(row(7, 1, 20)).duplicated, 1);
        assert_eq!(with(row(7, 2, 30)).refused_but_there, 1);
        assert_eq!(with(row(7, 3, 41)).altered, 1);
        assert_eq!(with(row(7, 4, 1)).foreign, 1);
        assert_eq!(with(row(5, 0, 1)).foreign, 1);
        assert_eq!(with(HistoryRow { filler: "somebody".to_owned(), delta: 1 }).foreign, 1);
        for extra in [row(7, 1, 20), row(7, 2, 30), row(7, 3, 41), row(7, 4, 1)] {
            let comparison = with(extra);
            assert!(!comparison.is_clean() && comparison.findings.len() == 1, "{comparison:?}");
        }
    }

    /// Copies that differ, or balances that do not add up, must not pass because the history is complete.
    #[test]
    fn unequal_books_are_found() {
        let books = Books { accounts: 30, tellers: 30, branches: 30, history: 30, history_rows: 2 };
        let site = |books| SiteAudit { books, comparison: Comparison::default() };
        let audit = |second| Audit { sites: [(1, site(books)), (2, site(second))].into() };
        assert_eq!(audit(books).complaints(), Vec::<String>::new());
        assert_eq!(audit(Books { tellers: 29, ..books }).complaints().len(), 2, "unbalanced, and different");
        assert_eq!(audit(Books { history_rows: 3, ..books }).complaints().len(), 1);
    }
}
