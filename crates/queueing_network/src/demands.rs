//! What was measured of transactions: a document, and what it says of other numbers of sites.

use serde::Deserialize;

/// Sites beyond the most that were measured, up to which demands are taken to go on as they went.
pub const SITES_BEYOND_MAX: usize = 2;
/// Sites that an instance may have.
pub const SITES_MAX: usize = 16;

/// What was measured on a kind of machine.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Demands {
    /// Which machine, when, by what.
    pub machine: String,
    /// How many processors' worth of work it does when it is busy: throughput times processor time of a transaction, in seconds. Threads wait while the scheduler
    /// has them on one processor, so that it is below the number of processors.
    pub processors: f64,
    /// How far predictions were off, as a share of them.
    pub spread: f64,
    /// The kinds of transactions.
    pub transaction: Vec<TransactionDemands>,
}

/// What a kind of transaction wants.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TransactionDemands {
    /// What it is called.
    pub name: String,
    /// Microseconds of its client's processor.
    pub client_us: f64,
    /// Times that a message crosses the network and is waited for, both ways counted as one; 0 for what stays at a site.
    #[serde(default = "one")]
    pub rounds: f64,
    /// Microseconds of a disk that a commit waits for; 0 with copies in memory.
    #[serde(default)]
    pub disk_us: f64,
    /// What the sites do, for some numbers of sites, in rising order.
    pub sites: Vec<SiteDemands>,
}

/// What sites do for a transaction.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SiteDemands {
    /// How many sites there were.
    pub count: usize,
    /// Microseconds of the home site's processor.
    pub home_us: f64,
    /// Microseconds of the processor of each other site.
    #[serde(default)]
    pub other_us: f64,
    /// Bytes that the home site sends.
    #[serde(default)]
    pub bytes: f64,
}

fn one() -> f64 {
    1.0
}

/// How well a number of sites is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemandCertainty {
    /// It was measured, or lies between two that were.
    Measured,
    /// It lies beyond, by at most [`SITES_BEYOND_MAX`].
    Beyond,
    /// It lies further beyond: a guess.
    Guess,
}

impl Demands {
    /// Errors: what makes no sense, with the field's name.
    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(format!("{name} is {value}: it has to be above 0")),
        };
        let not_negative = |name: &str, value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(format!("{name} is {value}: it cannot be below 0")),
        };
        positive("processors", self.processors)?;
        not_negative("spread", self.spread)?;
        if self.transaction.is_empty() {
            return Err("there is no [[transaction]]".to_owned());
        }
        for transaction in &self.transaction {
            let name = &transaction.name;
            for (field, value) in
                [("client_us", transaction.client_us), ("rounds", transaction.rounds), ("disk_us", transaction.disk_us)]
            {
                not_negative(&format!("{field} of {name}"), value)?;
            }
            if transaction.sites.is_empty() {
                return Err(format!("{name} has no [[transaction.sites]]"));
            }
            if !transaction.sites.windows(2).all(|two| two[0].count < two[1].count) {
                return Err(format!("the counts of sites of {name} do not rise"));
            }
            for site in &transaction.sites {
                if !(1..=SITES_MAX).contains(&site.count) {
                    return Err(format!(
                        "{name} was measured with {} sites: 1 to {SITES_MAX} are possible",
                        site.count
                    ));
                }
                positive(&format!("home_us of {name}"), site.home_us)?;
                not_negative(&format!("other_us of {name}"), site.other_us)?;
                not_negative(&format!("bytes of {name}"), site.bytes)?;
            }
        }
        Ok(())
    }
}

impl TransactionDemands {
    /// The demands with a number of sites: as measured, or on the line through the two nearest. A site alone is not on that line: it has no rounds.
    pub fn at(&self, count: usize) -> (SiteDemands, DemandCertainty) {
        if let Some(exact) = self.sites.iter().find(|known| known.count == count) {
            return (*exact, DemandCertainty::Measured);
        }
        let several: Vec<&SiteDemands> = self.sites.iter().filter(|known| known.count > 1).collect();
        let (Some(first), Some(last)) = (several.first(), several.last()) else {
            return (SiteDemands { count, ..self.sites[0] }, DemandCertainty::Guess);
        };
        let known = match count {
            _ if count == 1 || several.len() < 2 => DemandCertainty::Guess,
            _ if count < first.count => DemandCertainty::Beyond,
            _ if count <= last.count => DemandCertainty::Measured,
            _ if count <= last.count + SITES_BEYOND_MAX => DemandCertainty::Beyond,
            _ => DemandCertainty::Guess,
        };
        if several.len() < 2 {
            return (SiteDemands { count, ..**first }, known);
        }
        let right = several.iter().position(|known| known.count > count).unwrap_or(several.len() - 1).max(1);
        let (left, right) = (several[right - 1], several[right]);
        let share = (count as f64 - left.count as f64) / (right.count as f64 - left.count as f64);
        let between = |left: f64, right: f64| (left + (right - left) * share).max(0.0);
        let demands = SiteDemands {
            count,
            home_us: between(left.home_us, right.home_us),
            other_us: between(left.other_us, right.other_us),
            bytes: between(left.bytes, right.bytes),
        };
        (demands, known)
    }
}
