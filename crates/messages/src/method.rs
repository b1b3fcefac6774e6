//! Methods of concurrency control, the ways from one to another, and what a site tells of its own.

use identifiers::SiteId;
use serde::{Deserialize, Serialize};

/// A method of concurrency control: how transactions that execute at one site are kept apart. Whatever it is, every vote checks versions, so that it
/// decides who waits and who begins again, and never what is correct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Method {
    /// Two-phase read/write locking with range locks.
    #[default]
    Locking,
    /// Optimistic validation.
    Optimistic,
    /// One transaction executes at a time.
    Serial,
    /// Two-phase locking of which every lock is exclusive.
    SimpleLocking,
    /// Strict timestamp ordering.
    Timestamp,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 5] =
        [Method::Locking, Method::Optimistic, Method::Serial, Method::SimpleLocking, Method::Timestamp];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Locking => "locking",
            Method::Optimistic => "optimistic",
            Method::Serial => "serial",
            Method::SimpleLocking => "simple-locking",
            Method::Timestamp => "timestamp",
        }
    }

    /// The method of this name.
    pub fn of_name(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// How a site goes over from one concurrency-control method to another while transactions execute (Bhargava and Riedl, "A Model for
/// Adaptable Systems for Transaction Processing", 1989).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SwitchStrategy {
    /// The new method judges from now on, over what has been accessed so far. Nobody is aborted; its property holds once the
    /// transactions from before have ended.
    #[default]
    Generic,
    /// What contradicts the new method is aborted, so that its property holds at once.
    Converting,
    /// Both methods judge until the transactions from before have ended, or until patience with them has.
    SuffixSufficient,
}

impl SwitchStrategy {
    /// All of them.
    pub const ALL: [SwitchStrategy; 3] =
        [SwitchStrategy::Generic, SwitchStrategy::Converting, SwitchStrategy::SuffixSufficient];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            SwitchStrategy::Generic => "generic",
            SwitchStrategy::Converting => "converting",
            SwitchStrategy::SuffixSufficient => "suffix-sufficient",
        }
    }

    /// The way of this name.
    pub fn of_name(name: &str) -> Option<SwitchStrategy> {
        SwitchStrategy::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// Where the method comes from that is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The site's own file.
    File,
    /// A setting of all sites.
    Cluster,
    /// A setting of this site.
    Site,
}

/// What a concurrency controller tells of its method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodReport {
    /// Of which site.
    pub site: SiteId,
    /// The method in force.
    pub method: Method,
    /// Where it comes from.
    pub origin: Origin,
    /// Since when: microseconds since 1970; `None`: since the site began this life.
    pub since_micros: Option<u64>,
    /// How the next switch will be done.
    pub way: SwitchStrategy,
    /// The way of the switch of which something is still under way.
    pub switching: Option<SwitchStrategy>,
    /// Transactions that execute and had accessed something before that switch.
    pub from_before: u64,
    /// What the load has come to in this life.
    pub load: AccessLoad,
    /// The last switches, the oldest first.
    pub switches: Vec<Switch>,
    /// Whether the site chooses its method by itself.
    pub is_automatic: bool,
    /// Whether the method in force is one that it has chosen and still compares with the one before.
    pub is_on_probation: bool,
    /// What the site's rules say of each method, by the last window of its load. Nothing: there was none.
    pub advice: Vec<MethodAdvice>,
    /// What that window was like.
    pub facts: Vec<LoadFact>,
}

/// What the rules of a site say of a method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodAdvice {
    /// Of which.
    pub method: Method,
    /// How far it is believed in, from -1,000 to 1,000.
    pub belief: i64,
    /// The rules that have fired.
    pub reasons: Vec<AdviceReason>,
}

/// A rule that has fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviceReason {
    /// Its name.
    pub rule: String,
    /// How far it speaks for its method, or against it: from -1,000 to 1,000.
    pub certainty: i64,
    /// Its sentence.
    pub because: String,
}

/// A number about a site's load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadFact {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// What it says, with its unit.
    pub meaning: String,
}

/// Who has switched a site's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SwitchedBy {
    /// Somebody, by a setting.
    Setting,
    /// The site, by its rules.
    Expert,
    /// The site, back, as the method has not stood its probation.
    Probation,
}

/// Accesses, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessLoad {
    /// Accesses asked for.
    pub accesses: u64,
    /// Of them, those that waited.
    pub waits: u64,
    /// Of them, those refused because they would have waited in a circle.
    pub deadlocks: u64,
    /// Of them, those refused because they came too late for the order of the method.
    pub late: u64,
    /// Executing transactions that lost an access to one that was being committed.
    pub doomed: u64,
    /// Executing transactions that a switch doomed.
    pub doomed_by_switches: u64,
}

/// One switch of the method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// When it began: microseconds since 1970.
    pub at_micros: u64,
    /// From which method.
    pub from: Method,
    /// To which.
    pub to: Method,
    /// How.
    pub way: SwitchStrategy,
    /// How long until nothing executed from before it, in nanoseconds; `None`: that is not so yet.
    pub took: Option<u64>,
    /// Transactions that it doomed.
    pub doomed: u64,
    /// By whom.
    pub by: SwitchedBy,
    /// Why, if the site has done it by itself: a sentence.
    pub because: String,
}
