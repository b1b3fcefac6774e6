//! A sequence gives out no value twice, unless all machines have lost power in between: then what took the block may be lost with their memory, as every commit
//! of that moment may.

use crate::history::Loss;
use std::collections::BTreeMap;

/// Values of the sequence, and when clients were told them.
#[derive(Clone, Debug, Default)]
pub struct DrawnValues {
    told: BTreeMap<i64, u64>,
    /// Told again: the value, when first, and when then.
    again: Vec<(i64, u64, u64)>,
}

impl DrawnValues {
    /// A client was told a value.
    pub fn note(&mut self, value: i64, now: u64) {
        if let Some(before) = self.told.insert(value, now) {
            self.again.push((value, before, now));
        }
    }

    /// At the end of a run. Errors: what was given out twice though it was kept.
    pub fn check(&self, losses: &[Loss]) -> Result<(), String> {
        let windows = || losses.iter().flat_map(|loss| loss.windows.values());
        let is_lost =
            |before: u64, now: u64| windows().any(|(since, gone)| (*since..=*gone).contains(&before) && now > *gone);
        match self.again.iter().find(|(_, before, now)| !is_lost(*before, *now)) {
            None => Ok(()),
            Some((value, before, now)) => Err(format!(
                "the sequence gave out {value} twice, at {before} and at {now} (losses of power: {losses:?})"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise what power took would be held against a site; or a value that two clients have would go by.
    #[test]
    fn only_power_takes_a_block_back() {
        let mut drawn = DrawnValues::default();
        drawn.note(97, 20);
        drawn.note(98, 21);
        assert!(drawn.check(&[]).is_ok());
        drawn.note(97, 40);
        let loss = |since, gone| [Loss { windows: BTreeMap::from([(1, (since, gone))]) }];
        assert!(
            drawn.check(&[]).is_err() && drawn.check(&loss(21, 30)).is_err() && drawn.check(&loss(10, 41)).is_err()
        );
        assert!(drawn.check(&loss(15, 30)).is_ok());
    }
}
