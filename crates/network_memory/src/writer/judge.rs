//! Whether a log can be opened with the answers that are there, and from whom it is taken.
//!
//! The rule, and why it loses nothing:
//! * a record is acknowledged by memory when k members of its epoch's configuration hold it; any n - k + 1 members have one of them
//!   among them (flexible quorums: H. Howard, D. Malkhi and A. Spiegelman, "Flexible Paxos", 2016);
//! * a member counts only with the life of its memory that the configuration names. The configuration is the one of the highest epoch
//!   that any answer knows. If nobody says that it is established, n - k + 1 of its members may be servers that came back empty, and an
//!   epoch that it never knew of may live with the others: then n - k + 1 that have kept their memory since the last established epoch
//!   must answer as well, one of whom would know it;
//! * the log of the highest active epoch wins, not the longest: whoever began that epoch had sealed and restored all that was
//!   acknowledged before. Within an epoch the longest wins: it has one writer, which only appends;
//! * elsewhere the own copy counts for as much as another server that holds the log of the same epoch, and for nothing otherwise;
//! * where every recovery has the disk, the disk's configuration is the latest one, and when the disk says that it holds everything,
//!   nobody needs to be asked.
//!
//! Who accepts a loss where the log may be recovered anywhere does without the second of these, and lost memories cannot say what they had let a
//! writer do that still lives. Why both do not acknowledge:
//! * he holds the seal: n - k + 1 members, in the same lives of their memory, are sealed a lease before he begins his epoch, and still then;
//! * a receipt is given only if k members, in lives that count for its writer, have taken something of this writer that was sent less than a
//!   lease before ([`crate::limits::VOUCHED`]), be it the last record or a lease. One of these is among the n - k + 1, and was sealed then;
//! * his number is higher than any that he may not have heard of ([`crate::limits::ACCEPTED_STEP`]): who was sealed does not go back to the old writer;
//! * in his epoch those lives count that are sealed for it, and no others: a second who accepts a loss meets one of them, or does not need to.
//!
//! Why an attempt to accept a loss that breaks off takes nothing from others without a word:
//! * he gives up what is wanting, and nothing else ([`LogChoice::gives_up`]). Who could have begun without accepting anything begins as anybody else: his
//!   epoch is not established before it is, and until then n - k + 1 that have kept their memory since the last established one must answer, none
//!   of them damaged. Otherwise a member that came back empty, and has never got what the attempt was to bring it, would vouch for that;
//! * who has given something up says so in his configuration, and whoever counts its members tells the doubt, whoever's log he takes;
//! * the higher epoch is the later one, whoever has accepted what: who begins one above an attempt that he does not know of has been let pass by n - k + 1
//!   in whom the attempt was not activated, and never will be.
//!
//! What is not known is never guessed: short of the quorum the verdict is to wait, and says for whom.

use super::Intent;
use crate::message::HeldLog;
use crate::names::{
    Configuration, DiskId, Fallback, Incarnation, LogMark, RecordNumber, RecoveryDoubt, ServerId, WriterEpoch,
};
use crate::planted::PlantedInLog;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a writer holds itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnLog<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) end: LogMark,
    /// Nothing that was ever acknowledged is missing here.
    pub(super) is_complete: bool,
    /// This writer knows that its epoch is established.
    pub(super) is_established: bool,
}

/// All that is known.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) own: Option<OwnLog<'a>>,
    pub(super) disk: Option<DiskId>,
    /// A log that is made here will always be restarted on this disk: nobody else can have it.
    pub(super) is_of_this_disk: bool,
    /// The servers that were asked.
    pub(super) asked: &'a [ServerId],
    pub(super) answers: &'a BTreeMap<ServerId, (Incarnation, HeldLog)>,
    /// Servers that wait for a lease, in nanoseconds.
    pub(super) waiting: &'a BTreeMap<ServerId, u64>,
    /// Servers with damaged records: they know of epochs, and hold nothing that counts.
    pub(super) damaged: &'a BTreeSet<ServerId>,
    pub(super) intent: Intent,
    pub(super) planted: Option<PlantedInLog>,
}

/// What follows from it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Diagnosis {
    /// More must be known.
    Wait(Missing),
    /// The log is taken from there.
    Ready(LogChoice),
    /// It cannot be opened here.
    NeedsDisk(DiskId),
    /// There is one already.
    Exists(WriterEpoch),
}

/// From whom the log is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogChoice {
    /// The last configuration; none if the log is new.
    pub(super) configuration: Option<Configuration>,
    /// Whether it is known to be established.
    pub(super) is_established: bool,
    /// The writer's own copy is the one.
    pub(super) is_own: bool,
    /// Otherwise: the servers that hold the log of that epoch, those with the longest first, and where each ends.
    pub(super) sources: Vec<(ServerId, RecordNumber)>,
    /// The epoch of their log, where it begins, and where it ends.
    pub(super) epoch: WriterEpoch,
    pub(super) from: LogMark,
    pub(super) end: LogMark,
    pub(super) doubt: Option<RecoveryDoubt>,
    /// Something that was acknowledged may be given up by this very choice, which was accepted: without that there would be none.
    pub(super) gives_up: bool,
}

/// Why a log cannot be opened yet: what it contains is indeterminate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// So many servers that count must answer.
    pub needed: usize,
    /// So many have.
    pub have: usize,
    /// The others, and what is wrong with them.
    pub servers: Vec<(ServerId, Lack)>,
    /// Nobody who has answered knows the log.
    pub is_unknown: bool,
}

/// What is wrong with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It does not answer.
    Silent,
    /// It has lost its memory since it held the log, or never held it.
    Empty,
    /// The last writer may acknowledge from its disk for so many nanoseconds more.
    Leased(u64),
    /// A record is damaged there, and whole nowhere else that answers.
    Damaged(RecordNumber),
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unknown {
            return formatter
                .write_str("no server that answers knows this log, or not all of them do that it is to be made on");
        }
        write!(formatter, "{} of the {} servers that are needed have answered", self.have, self.needed)?;
        for (server, lack) in &self.servers {
            match lack {
                Lack::Silent => write!(formatter, "; {server} is silent")?,
                Lack::Empty => write!(formatter, "; {server} has lost its memory")?,
                Lack::Leased(time) => write!(formatter, "; {server} waits {} ms for a lease", time / 1_000_000)?,
                Lack::Damaged(position) => write!(formatter, "; record {position} is damaged at {server}")?,
            }
        }
        Ok(())
    }
}

/// See the module's description.
pub(super) fn judge(evidence: &Evidence<'_>) -> Diagnosis {
    let held = evidence.answers.values().filter_map(|(_, held)| held.configuration.as_ref());
    let best = held.max_by_key(|configuration| rank_of(evidence, configuration, configuration.epoch));
    match evidence.own {
        Some(own) if has_disk_always(own.configuration) => {
            // Somebody has taken the log over, and has accepted that what only this disk holds is lost.
            let rival = best.filter(|best| best.is_rival_of(own.configuration));
            match rival.map(|rival| (rival, rival.fallback)) {
                // A later epoch of this disk in which anything was acknowledged would be known to it. Only who has accepted a loss may open
                // the log on a disk whose loss was accepted elsewhere, and who has not answered could say so.
                None if own.is_complete => {
                    let is_blind = evidence.answers.len() < evidence.asked.len();
                    let is_doubtful = evidence.intent == Intent::AcceptLoss && is_blind;
                    let doubt = is_doubtful.then_some(RecoveryDoubt::LossAccepted);
                    Diagnosis::Ready(LogChoice { gives_up: is_doubtful, ..own_choice(own, doubt) })
                }
                None => weigh(evidence, own.configuration),
                Some((_, Fallback::RestartOnThisDisk(disk))) if evidence.intent != Intent::AcceptLoss => {
                    Diagnosis::NeedsDisk(disk)
                }
                Some((rival, _)) => weigh(evidence, rival),
            }
        }
        own => {
            // An epoch of the own copy that no server knows has never been established: it is as if it had not been tried.
            let Some(latest) = best.or(own.map(|own| own.configuration)) else {
                return unknown(evidence);
            };
            match latest.fallback {
                _ if evidence.intent == Intent::Create => Diagnosis::Exists(latest.epoch),
                Fallback::RestartOnThisDisk(disk)
                    if evidence.disk != Some(disk)
                        && evidence.intent != Intent::AcceptLoss
                        && evidence.planted != Some(PlantedInLog::DiskNotAskedFor) =>
                {
                    Diagnosis::NeedsDisk(disk)
                }
                _ => weigh(evidence, latest),
            }
        }
    }
}

/// What of two configurations is later, or of two copies: one of this epoch's log.
fn rank_of(evidence: &Evidence<'_>, configuration: &Configuration, epoch: WriterEpoch) -> (u64, WriterEpoch) {
    match evidence.planted {
        Some(PlantedInLog::AcceptedRanksAbove) => (configuration.generation, epoch),
        _ => configuration.rank_of(epoch),
    }
}

/// Nobody knows the log.
fn unknown(evidence: &Evidence<'_>) -> Diagnosis {
    let is_new = evidence.intent == Intent::Create
        && (evidence.is_of_this_disk || evidence.answers.len() == evidence.asked.len());
    if is_new {
        return Diagnosis::Ready(LogChoice {
            configuration: None,
            is_established: true,
            is_own: true,
            sources: Vec::new(),
            epoch: WriterEpoch::default(),
            from: LogMark::default(),
            end: LogMark::default(),
            doubt: None,
            gives_up: false,
        });
    }
    let silent = evidence.asked.iter().filter(|server| !evidence.answers.contains_key(server));
    let servers = silent.map(|server| (*server, Lack::Silent)).collect();
    Diagnosis::Wait(Missing { needed: evidence.asked.len(), have: evidence.answers.len(), servers, is_unknown: true })
}

/// Whether every recovery has the disk.
fn has_disk_always(configuration: &Configuration) -> bool {
    matches!(configuration.fallback, Fallback::RestartOnThisDisk(_))
}

fn own_choice(own: OwnLog<'_>, doubt: Option<RecoveryDoubt>) -> LogChoice {
    LogChoice {
        configuration: Some(own.configuration.clone()),
        is_established: own.is_established,
        is_own: true,
        sources: Vec::new(),
        epoch: own.configuration.epoch,
        from: LogMark::default(),
        end: own.end,
        doubt,
        gives_up: false,
    }
}

/// The answers that count for a configuration.
struct Counted<'a> {
    held: Vec<(ServerId, &'a HeldLog)>,
    /// No epoch can begin any more that does not know of the configuration.
    is_established: bool,
    /// They are too few, which was accepted.
    is_short: bool,
}

/// Counts the members of a configuration, and of the last established one before it.
fn count<'a>(evidence: &Evidence<'a>, configuration: &Configuration) -> Result<Counted<'a>, Missing> {
    let counts = |server: ServerId, incarnation| {
        configuration.counts(server, incarnation)
            || evidence.planted == Some(PlantedInLog::EmptyServerCounts) && configuration.incarnation(server).is_some()
    };
    let has_kept = |server: ServerId, incarnation| configuration.has_kept(server, incarnation);
    let among = |counts: &dyn Fn(ServerId, Incarnation) -> bool| -> Vec<(ServerId, &'a HeldLog)> {
        let whole = evidence.answers.iter().filter(|(server, _)| !evidence.damaged.contains(server));
        let counted = whole.filter(|(server, (incarnation, _))| counts(**server, *incarnation));
        counted.map(|(server, (_, held))| (*server, held)).collect()
    };
    let (counted, kept) = (among(&counts), among(&has_kept));
    let needed = configuration.seal_quorum() - usize::from(evidence.planted == Some(PlantedInLog::SealQuorumLess));
    let is_established = is_established(evidence, configuration);
    let is_members_short = counted.len() < needed;
    let is_short = is_members_short || !is_established && kept.len() < needed;
    // Where a recovery need not have the disk, lost memories may be given up, and no server that does not answer: together they could
    // be enough for a writer that is cut off.
    let answered = configuration.members.iter().filter(|member| evidence.answers.contains_key(&member.server)).count();
    let is_alone = has_disk_always(configuration)
        || answered >= needed
        || evidence.planted == Some(PlantedInLog::SilentServersGivenUp);
    if is_short && (evidence.intent != Intent::AcceptLoss || !is_alone) {
        let wanting = if is_members_short { &counted } else { &kept };
        return Err(missing(evidence, configuration, wanting, needed));
    }
    // Whoever has kept its memory since the last established epoch may know of one that the latest does not.
    let is_either = |server, incarnation| counts(server, incarnation) || has_kept(server, incarnation);
    let held = if is_established { counted } else { among(&is_either) };
    Ok(Counted { held, is_established, is_short })
}

/// The epoch of the own copy's log. One that no server knows was never opened: the copy is still one of the log that it began with.
fn epoch_of(evidence: &Evidence<'_>, own: &OwnLog<'_>, best_epoch: Option<WriterEpoch>) -> WriterEpoch {
    let Configuration { epoch, continues, .. } = own.configuration;
    let is_copy = !has_disk_always(own.configuration) && best_epoch == Some(*continues);
    if is_copy && evidence.planted != Some(PlantedInLog::AttemptForgetsItsLog) { *continues } else { *epoch }
}

/// Whether the own copy is of an earlier epoch than this. Members that hold nothing say nothing against it, when those that do are damaged.
fn is_old(evidence: &Evidence<'_>, own: &OwnLog<'_>, last: &Configuration) -> bool {
    let Configuration { epoch, continues, .. } = own.configuration;
    let is_of_last = [*epoch, *continues].contains(&last.epoch) || has_disk_always(own.configuration);
    !is_of_last && evidence.planted != Some(PlantedInLog::OldCopyChosen)
}

/// Takes the log of the highest epoch among the members of the last configuration and the own copy.
fn weigh(evidence: &Evidence<'_>, configuration: &Configuration) -> Diagnosis {
    let (counted, is_established, is_short) = match count(evidence, configuration) {
        Ok(Counted { held, is_established, is_short }) => (held, is_established, is_short),
        Err(missing) => return Diagnosis::Wait(missing),
    };
    let active = |held: &HeldLog| held.configuration.as_ref().map(|configuration| configuration.epoch);
    let rank = |of: &Configuration, epoch: WriterEpoch, end: LogMark| match evidence.planted {
        Some(PlantedInLog::LongestWins) => ((0, WriterEpoch::default()), end.position),
        _ => (rank_of(evidence, of, epoch), end.position),
    };
    let of_held = |held: &HeldLog| held.configuration.as_ref().map(|of| rank(of, of.epoch, held.end));
    let best = counted.iter().filter_map(|(_, held)| Some((of_held(held)?, *held))).max_by_key(|(rank, _)| *rank);
    let best_epoch = best.and_then(|(_, held)| active(held));
    let epoch_of = |own: &OwnLog<'_>| epoch_of(evidence, own, best_epoch);
    let is_of_use = |own: &OwnLog<'_>| match best_epoch {
        _ if has_disk_always(own.configuration) => true,
        Some(best_epoch) => best_epoch == epoch_of(own),
        None => !is_old(evidence, own, configuration) || evidence.intent == Intent::AcceptLoss,
    };
    let own = evidence.own.filter(is_of_use);
    let own = own.map(|own| (rank(own.configuration, epoch_of(&own), own.end), own));
    // Memories that an earlier attempt has given up are wanting in whatever is found without them.
    let is_accepted = configuration.doubt == Some(RecoveryDoubt::LossAccepted)
        && !has_disk_always(configuration)
        && evidence.planted != Some(PlantedInLog::GivenUpUntold);
    let accepted = (is_short || is_accepted).then_some(RecoveryDoubt::LossAccepted);
    let needed = configuration.seal_quorum();
    let best = match (best, own) {
        (None, None) => return Diagnosis::Wait(missing(evidence, configuration, &counted, needed)),
        (best, Some((own_rank, own))) if best.is_none_or(|(best, _)| best <= own_rank) => {
            let is_old = best_epoch.is_none() && is_old(evidence, &own, configuration);
            let accepted = accepted.or(is_old.then_some(RecoveryDoubt::LossAccepted));
            let chosen = own_choice(own, accepted.or(own.configuration.doubt));
            // Members are those of the last configuration, which is not always that of the log.
            let (configuration, epoch) = (Some(configuration.clone()), epoch_of(&own));
            let gives_up = is_short || is_old;
            return Diagnosis::Ready(LogChoice { configuration, is_established, epoch, gives_up, ..chosen });
        }
        (best, _) => best.expect("one of the two is there").1,
    };
    let epoch = active(best);
    let mut sources: Vec<(ServerId, &HeldLog)> =
        counted.into_iter().filter(|(_, held)| active(held) == epoch).collect();
    sources.sort_by_key(|(_, held)| std::cmp::Reverse(held.end.position));
    // What one of them has truncated nobody needs, and may be damaged where it is still held.
    let from = sources.iter().map(|(_, held)| held.from).max_by_key(|from| from.position).unwrap_or(best.from);
    let last_permit = sources.iter().map(|(_, held)| held.permit).max();
    let is_our_disk =
        evidence.own.is_some_and(|own| Some(epoch_of(&own)) == epoch && own.configuration.doubt.is_none());
    let is_doubtful = last_permit.is_some_and(|(_, granted)| granted)
        && !is_our_disk
        && evidence.planted != Some(PlantedInLog::DoubtUntold);
    let chosen = best.configuration.clone().expect("what is active has a configuration");
    let disk_is_lost = matches!(chosen.fallback, Fallback::RestartOnThisDisk(disk) if evidence.disk != Some(disk));
    let doubt = accepted
        .or(disk_is_lost.then_some(RecoveryDoubt::LossAccepted))
        .or(is_doubtful.then_some(RecoveryDoubt::DiskAlone))
        .or(chosen.doubt);
    Diagnosis::Ready(LogChoice {
        configuration: Some(configuration.clone()),
        is_established,
        is_own: false,
        epoch: chosen.epoch,
        from,
        end: best.end,
        sources: sources.into_iter().map(|(server, held)| (server, held.end.position)).collect(),
        doubt,
        gives_up: is_short || disk_is_lost,
    })
}

/// Whether it is known that no epoch can begin any more that does not know of this one.
fn is_established(evidence: &Evidence<'_>, configuration: &Configuration) -> bool {
    let is_said = |held: &HeldLog| {
        held.is_established && held.configuration.as_ref().is_some_and(|held| held.epoch == configuration.epoch)
    };
    has_disk_always(configuration)
        || evidence.planted == Some(PlantedInLog::UnestablishedBasis)
        || evidence.answers.values().any(|(_, held)| is_said(held))
        || evidence.own.is_some_and(|own| own.is_established && own.configuration.epoch == configuration.epoch)
}

fn missing(
    evidence: &Evidence<'_>,
    configuration: &Configuration,
    counted: &[(ServerId, &HeldLog)],
    needed: usize,
) -> Missing {
    let lack = |server: ServerId| match (evidence.waiting.get(&server), evidence.answers.get(&server)) {
        (Some(&time), _) => Lack::Leased(time),
        (None, Some(_)) => Lack::Empty,
        (None, None) => Lack::Silent,
    };
    let absent = configuration.members.iter().map(|member| member.server);
    let absent = absent.filter(|server| counted.iter().all(|(counted, _)| counted != server));
    let servers = absent.map(|server| (server, lack(server))).collect();
    Missing { needed, have: counted.len(), servers, is_unknown: false }
}
