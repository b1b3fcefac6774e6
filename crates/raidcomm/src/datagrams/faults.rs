//! A worse network than there is, for tests of what is built on datagrams: it loses, doubles and reorders what is sent.

use seeded_random::SplitMix64;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use thiserror::Error;

/// How often what happens, of a hundred datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// It is lost.
    pub loss_percent: u64,
    /// It is sent twice.
    pub double_percent: u64,
    /// It is kept back until the next one has been sent.
    pub reorder_percent: u64,
}

impl fmt::Display for FaultRates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FaultRates { loss_percent, double_percent, reorder_percent } = self;
        write!(formatter, "loss={loss_percent},double={double_percent},reorder={reorder_percent}")
    }
}

/// Words that describe no faults.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no fault of a network: write `loss=5,double=2,reorder=5`, each in percent, 0 to 90")]
pub struct FaultsError(String);

impl FromStr for FaultRates {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<FaultRates, FaultsError> {
        let mut faults = FaultRates::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let wrong = || FaultsError(word.to_owned());
            let (name, percent) = word.split_once('=').ok_or_else(wrong)?;
            let percent = percent.parse().ok().filter(|percent| *percent <= 90).ok_or_else(wrong)?;
            match name {
                "loss" => faults.loss_percent = percent,
                "double" => faults.double_percent = percent,
                "reorder" => faults.reorder_percent = percent,
                _ => return Err(wrong()),
            }
        }
        Ok(faults)
    }
}

/// What stands between a socket and whoever sends by it.
#[derive(Debug)]
pub(super) struct Worse {
    faults: FaultRates,
    random: SplitMix64,
    kept_back: Option<(SocketAddr, Vec<u8>)>,
}

impl Worse {
    pub(super) fn new(faults: FaultRates, seed: u64) -> Worse {
        Worse { faults, random: SplitMix64::new(seed), kept_back: None }
    }

    /// Sends a datagram, or what the network would have made of it.
    pub(super) fn send(&mut self, to: SocketAddr, datagram: &[u8], send: &mut impl FnMut(SocketAddr, &[u8])) {
        if self.random.percent(self.faults.loss_percent) {
            return;
        }
        if self.kept_back.is_none() && self.random.percent(self.faults.reorder_percent) {
            self.kept_back = Some((to, datagram.to_vec()));
            return;
        }
        for _ in 0..1 + u64::from(self.random.percent(self.faults.double_percent)) {
            send(to, datagram);
        }
        if let Some((to, datagram)) = self.kept_back.take() {
            send(to, &datagram);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_faults_or_are_refused() {
        let expected = FaultRates { loss_percent: 5, double_percent: 0, reorder_percent: 10 };
        assert_eq!("loss=5,reorder=10".parse(), Ok(expected));
        assert_eq!(expected.to_string().parse(), Ok(expected));
        assert_eq!("".parse(), Ok(FaultRates::default()));
        for wrong in ["loss", "loss=91", "loss=-1", "lost=5"] {
            assert_eq!(wrong.parse::<FaultRates>(), Err(FaultsError(wrong.to_owned())));
        }
    }

    #[test]
    fn everything_is_sent_but_what_is_lost() {
        let to = SocketAddr::from(([127, 0, 0, 1], 1));
        let faults = FaultRates { loss_percent: 10, double_percent: 10, reorder_percent: 10 };
        let mut worse = Worse::new(faults, 7);
        let mut counts = [0_u32; 1_000];
        let mut last = 0;
        let mut overtaken = 0;
        for number in 0..1_000_u16 {
            worse.send(to, &number.to_le_bytes(), &mut |_, datagram| {
                let number = u16::from_le_bytes([datagram[0], datagram[1]]);
                counts[usize::from(number)] += 1;
                overtaken += u32::from(number < last);
                last = number;
            });
        }
        let count = |times| counts.iter().filter(|count| **count == times).count();
        assert!((50..150).contains(&count(0)) && (50..150).contains(&count(2)) && (50..150).contains(&overtaken));
        assert_eq!(count(0) + count(1) + count(2), 1_000);
    }
}
