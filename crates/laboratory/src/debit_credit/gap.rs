//! How long nobody could commit.

use super::client::Commit;

/// The longest time without a commit, microseconds, that touches the window from `from_us` to `to_us`, over commits at sites that `counts`
/// accepts. Commits need not be sorted. `None`: fewer than two commits around or in the window.
pub fn longest(
    commits: impl Iterator<Item = Commit>,
    counts: impl Fn(u16) -> bool,
    from_us: u64,
    to_us: u64,
) -> Option<u64> {
    let mut times: Vec<u64> = commits.filter(|commit| counts(commit.site)).map(|commit| commit.at_us).collect();
    times.sort_unstable();
    longest_between(&times, from_us, to_us)
}

/// The same of any answers, whose times are sorted.
pub fn longest_between(times: &[u64], from_us: u64, to_us: u64) -> Option<u64> {
    let touching = times.windows(2).filter(|pair| pair[1] >= from_us && pair[0] <= to_us);
    touching.map(|pair| pair[1] - pair[0]).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gap that a demonstration reports must be the one around the kill, seen at the survivors: neither a pause before it, nor one that
    /// commits of the killed site hide.
    #[test]
    fn the_gap_around_a_kill_is_found() {
        let commit = |(at_us, site)| Commit { at_us, site };
        // Clients of site 1 and 2; site 2 is killed at 1_000.
        let all = [(10, 1), (900, 1), (990, 1), (995, 2), (1_400, 2), (1_450, 1), (1_500, 1), (5_000, 1)].map(commit);
        let gap = |from, to| longest(all.into_iter().rev(), |site| site == 1, from, to);
        assert_eq!(gap(1_000, 1_500), Some(3_500), "a gap that begins in the window counts whole");
        assert_eq!(gap(1_000, 1_480), Some(460));
        assert_eq!(gap(0, 900), Some(890));
        assert_eq!(gap(6_000, 7_000), None);
    }
}
