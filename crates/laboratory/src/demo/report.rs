//! The demonstration's last words: what was found, and whether all is well.

use crate::debit_credit::audit::{Audit, Books};
use crate::debit_credit::crew::Counts;
use local_cluster::screen::{bytes, grouped};
use std::fmt;

/// What a demonstration found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Clients.
    pub clients: usize,
    /// Duration of the load, seconds.
    pub seconds: f64,
    /// What clients counted.
    pub counts: Counts,
    /// The longest time in which no client of a surviving site could commit, microseconds.
    pub gap_us: Option<u64>,
    /// The longest time between two commits of one client of a surviving site, microseconds.
    pub gap_of_one_client_us: Option<u64>,
    /// The longest time in which no client of a surviving site could commit while the other one came back, microseconds.
    pub gap_at_return_us: Option<u64>,
    /// From the start of the returning site until it served, milliseconds.
    pub serving_ms: u64,
    /// Until it answered a read, milliseconds.
    pub first_read_ms: u64,
    /// Until it was repaired, milliseconds.
    pub repaired_ms: u64,
    /// The most fail-locks seen.
    pub fail_locks_max: u64,
    /// Bytes of keys and rows copied to it.
    pub copied_bytes: u64,
    /// Commits at it before it was repaired.
    pub commits_while_repaired: u64,
    /// Errors that no application should have to expect.
    pub surprise_count: u64,
    /// The first of them.
    pub surprises: Vec<String>,
    /// The database against the clients' ledgers.
    pub audit: Audit,
}

impl Report {
    /// Everything that is wrong, in sentences; empty when all is well.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = self.audit.complaints();
        if self.counts.acknowledged == 0 {
            complaints.push("no transaction was acknowledged".to_owned());
        }
        if self.gap_us.is_none() {
            complaints.push("no client of a surviving site committed before and after the kill".to_owned());
        }
        if self.surprise_count > 0 {
            let first = self.surprises.join("; ");
            complaints.push(format!("{} unexpected errors, the first being: {first}", grouped(self.surprise_count)));
        }
        complaints
    }

    /// The largest of a count over all sites: they have the same history when all is well.
    fn worst(&self, count: impl Fn(&crate::debit_credit::audit::Comparison) -> u64) -> u64 {
        self.audit.sites.values().map(|site| count(&site.comparison)).max().unwrap_or_default()
    }
}

fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

fn milliseconds(micros: Option<u64>) -> String {
    micros.map_or("not seen".to_owned(), |micros| format!("{} ms", grouped(micros.div_ceil(1_000))))
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.counts.acknowledged as f64 / self.seconds.max(f64::MIN_POSITIVE);
        let mut row = |name: &str, text: String| writeln!(out, "  {name:<46}{text:>14}");
        row("transactions acknowledged", grouped(self.counts.acknowledged))?;
        row("  a second, the whole time", grouped(rate as u64))?;
        row("lost (acknowledged, and not there)", grouped(self.worst(|found| found.lost)))?;
        row("duplicated (there more than once)", grouped(self.worst(|found| found.duplicated)))?;
        row("refused, and there all the same", grouped(self.worst(|found| found.refused_but_there)))?;
        row("outcome unknown to the client, had committed", grouped(self.worst(|found| found.unknown_committed)))?;
        row("outcome unknown to the client, had not", grouped(self.worst(|found| found.unknown_aborted)))?;
        row("conflicts, tried again", grouped(self.counts.conflicts))?;
        row("gap: no commit at a surviving site for", milliseconds(self.gap_us))?;
        row("  a single client there waited at most", milliseconds(self.gap_of_one_client_us))?;
        row("gap at the surviving sites while it came back", milliseconds(self.gap_at_return_us))?;
        row("the returning site served after", format!("{} ms", grouped(self.serving_ms)))?;
        row("  its first answer to a read came after", format!("{} ms", grouped(self.first_read_ms)))?;
        row("  it was repaired after", format!("{} ms", grouped(self.repaired_ms)))?;
        row("  rows changed while it was away", grouped(self.fail_locks_max))?;
        row("  copied to it", bytes(self.copied_bytes))?;
        row("  transactions booked there meanwhile", grouped(self.commits_while_repaired))?;
        writeln!(out)?;
        write!(out, "  {:<14}", "sum of")?;
        for site in self.audit.sites.keys() {
            write!(out, "{:>18}", format!("site {site}"))?;
        }
        writeln!(out)?;
        type Sum = (&'static str, fn(&Books) -> String);
        let sums: [Sum; 5] = [
            ("accounts", |books| signed(books.accounts)),
            ("tellers", |books| signed(books.tellers)),
            ("branches", |books| signed(books.branches)),
            ("history", |books| signed(books.history)),
            ("history rows", |books| grouped(books.history_rows)),
        ];
        for (name, sum) in sums {
            write!(out, "  {name:<14}")?;
            for site in self.audit.sites.values() {
                write!(out, "{:>18}", sum(&site.books))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debit_credit::audit::{Comparison, SiteAudit};

    fn report() -> Report {
        let books = Books { accounts: -1_234, tellers: -1_234, branches: -1_234, history: -1_234, history_rows: 2 };
        let site = SiteAudit { books, comparison: Comparison { acknowledged: 2, ..Comparison::default() } };
        Report {
            clients: 12,
            seconds: 2.0,
            counts: Counts { acknowledged: 2, ..Counts::default() },
            gap_us: Some(432_100),
            gap_of_one_client_us: Some(450_000),
            gap_at_return_us: Some(60_000),
            serving_ms: 90,
            first_read_ms: 95,
            repaired_ms: 1_200,
            fail_locks_max: 3,
            copied_bytes: 120,
            commits_while_repaired: 1,
            surprise_count: 0,
            surprises: Vec::new(),
            audit: Audit { sites: [(1, site.clone()), (2, site)].into() },
        }
    }

    /// The exit status rests on complaints: one that is missing turns a broken run into a good one.
    #[test]
    fn every_fault_is_a_complaint() {
        assert_eq!(report().complaints(), Vec::<String>::new());
        let mut lost = report();
        lost.audit.sites.get_mut(&2).expect("it has two sites").comparison.lost = 1;
        assert_eq!(lost.complaints().len(), 1);
        assert_eq!(Report { surprise_count: 3, ..report() }.complaints().len(), 1);
        assert_eq!(Report { gap_us: None, ..report() }.complaints().len(), 1);
        assert_eq!(Report { counts: Counts::default(), ..report() }.complaints().len(), 1);
    }

    /// A reader looks for these numbers.
    #[test]
    fn the_text_names_what_was_found() {
        let text = report().to_string();
        for part in ["433 ms", "-1,234", "site 2", "120 bytes", "lost (acknowledged, and not there)"] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
    }
}
