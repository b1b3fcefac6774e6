//! What became of requests that earlier lives of the site have not answered, for sessions that have outlived those.
//!
//! Invariants: a request counts as undone only where it never came, had not got as far as a commit, or the others' table covers its transaction and
//! does not name it; what has been answered once is answered the same again, until the session asks for something else: an answer may be lost with
//! this life, too.

use crate::session::DriverSession;
use crate::work::Waits;
use messages::last_words::{InDoubtCommit, LastWords, LeftRequest, LeftSession, OutcomeTable, Testimony};
use messages::limits::SERVICE_PATIENCE;
use messages::planted;
use messages::planted::Planted;
use messages::session::{CommitReceipt, Failure, SessionReply};
use messages::{Incarnation, Now, ServerKind, SessionId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Lives that are remembered.
const LIVES_MAX: usize = 64;

/// See the module's description.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LeftBehind {
    words: LastWords,
    /// Sessions that wait for an outcome: of which life, and until when (boot clock).
    waiting: BTreeMap<SessionId, (Incarnation, u64)>,
}

impl LeftBehind {
    /// What earlier lives have left.
    pub fn take_over(&mut self, mut words: LastWords) {
        while words.lives.len() > LIVES_MAX {
            words.lives.pop_first();
        }
        self.words = words;
    }

    /// The same for the next life.
    pub fn words(&self) -> &LastWords {
        &self.words
    }

    /// What became of a session's request. `None`: that is told later.
    pub fn resume(&mut self, now: Now, session: SessionId, life: Incarnation, asked: u64) -> Option<SessionReply> {
        if life == Incarnation(0) {
            // There was none yet.
            return Some(SessionReply::Undone);
        }
        let Some(left) = self.words.lives.get(&life) else { return Some(unknown(TransactionId::ZERO)) };
        let Some(LeftSession { taken, request }) = left.get(&session) else { return Some(SessionReply::Undone) };
        if asked != *taken {
            // It never came; fewer than came were never asked.
            return Some(if asked > *taken { SessionReply::Undone } else { unknown(TransactionId::ZERO) });
        }
        let reply = reply_of(request);
        if reply.is_none() {
            self.waiting.insert(session, (life, now.boot + SERVICE_PATIENCE));
        }
        reply
    }

    /// The epoch that has taken this life in is active: what the others know is all that anybody will ever know. Returns who is answered, and what.
    pub fn outcomes(&mut self, tables: &[OutcomeTable], planted: Planted) -> Vec<(SessionId, SessionReply)> {
        for (life, left) in &mut self.words.lives {
            let table = tables.iter().find(|table| table.life == *life);
            for left in left.values_mut() {
                if let LeftRequest::Doubt(doubt) = &left.request {
                    left.request = verdict(doubt, table, planted);
                }
            }
        }
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().filter_map(|(session, (life, _))| Some((session, self.answer(session, life)?))).collect()
    }

    fn answer(&self, session: SessionId, life: Incarnation) -> Option<SessionReply> {
        reply_of(&self.words.lives.get(&life)?.get(&session)?.request)
    }

    /// The session waits no longer.
    pub fn cancel(&mut self, session: SessionId) -> Option<SessionReply> {
        let (life, _) = self.waiting.remove(&session)?;
        let left = self.words.lives.get_mut(&life)?.get_mut(&session)?;
        if let LeftRequest::Doubt(doubt) = &left.request {
            left.request = LeftRequest::Unknown { transaction: doubt.transaction, changed: doubt.changed.clone() };
        }
        self.answer(session, life)
    }

    /// Who has waited for too long.
    pub fn tick(&mut self, now: Now) -> Vec<(SessionId, SessionReply)> {
        let late = self.waiting.iter().filter(|(_, (_, until))| now.boot >= *until).map(|(session, _)| *session);
        let late: Vec<SessionId> = late.collect();
        late.into_iter().filter_map(|session| Some((session, self.cancel(session)?))).collect()
    }

    /// The session has gone, or goes on: it has heard what it had to.
    pub fn forget(&mut self, session: SessionId) {
        self.waiting.remove(&session);
        for left in self.words.lives.values_mut() {
            left.remove(&session);
        }
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.words.lives.is_empty()
    }
}

fn unknown(transaction: TransactionId) -> SessionReply {
    SessionReply::Failed(Failure::Unknown { transaction, changed: None })
}

fn reply_of(request: &LeftRequest) -> Option<SessionReply> {
    match request {
        // The answer is on its way, or lost.
        LeftRequest::Answered => Some(unknown(TransactionId::ZERO)),
        LeftRequest::Undone => Some(SessionReply::Undone),
        LeftRequest::Committed(reply) => Some(reply.clone()),
        LeftRequest::Unknown { transaction, changed } => {
            let (transaction, changed) = (*transaction, changed.clone());
            Some(SessionReply::Failed(Failure::Unknown { transaction, changed }))
        }
        LeftRequest::Doubt(_) => None,
    }
}

/// What became of a commit, by what its home knew and the others know of that life.
fn verdict(doubt: &InDoubtCommit, table: Option<&OutcomeTable>, planted: Planted) -> LeftRequest {
    let InDoubtCommit { transaction, changed, reply, sent } = doubt;
    let unknown = || LeftRequest::Unknown { transaction: *transaction, changed: changed.clone() };
    let committed = || LeftRequest::Committed(reply.clone());
    let Some(sent) = sent else { return LeftRequest::Undone };
    let Some(table) = table else {
        return if planted!(planted, AbsentTakenForAbort) { LeftRequest::Undone } else { unknown() };
    };
    if sent.testimony == Testimony::Committed || table.commits.contains(&sent.sent_as.sequence) {
        return committed();
    }
    match sent.testimony {
        // Its vote was needed by somebody who votes no more, and has told all.
        _ if sent.epoch >= table.epoch && sent.order >= table.finished_below => LeftRequest::Undone,
        // Every member of that epoch has logged how the ones before it ended, this home as well.
        Testimony::Resolved { committed: true } if sent.epoch < table.epoch => committed(),
        Testimony::Resolved { committed: false } if sent.epoch < table.epoch => LeftRequest::Undone,
        Testimony::Open | Testimony::Committed | Testimony::Resolved { .. } => unknown(),
    }
}

impl DriverSession {
    /// What this life leaves of the session.
    pub fn left(&self) -> LeftSession {
        let work = self.work.as_ref().filter(|work| work.reply_to == ServerKind::UserInterface);
        let request = match (&self.queued, work) {
            (Some((ServerKind::UserInterface, _)), _) => LeftRequest::Undone,
            (_, None) => LeftRequest::Answered,
            (_, Some(work)) => match &work.waits {
                Waits::Commit { transaction, changed, .. } | Waits::Joint { transaction, changed } => {
                    let reply = work.job.reply_if_committed(CommitReceipt::Disk);
                    let (transaction, changed) = (*transaction, changed.clone());
                    LeftRequest::Doubt(Box::new(InDoubtCommit { transaction, changed, reply, sent: None }))
                }
                _ => LeftRequest::Undone,
            },
        };
        LeftSession { taken: self.taken, request }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::last_words::OpenTransaction;
    use messages::planted::Bug;
    use messages::{EpochNumber, SiteId};

    const LIFE: Incarnation = Incarnation(3);
    const SESSION: SessionId = SessionId(1);
    const NOW: Now = Now { boot: 5, wall_micros: 0 };

    fn id(sequence: u64) -> TransactionId {
        TransactionId { home: SiteId(1), incarnation: LIFE, sequence }
    }

    fn reply() -> SessionReply {
        SessionReply::Executed { rows: Vec::new(), affected: 1 }
    }

    /// Session 1's second request, sent in a group as the tenth prepare, in epoch 4.
    fn left(testimony: Testimony) -> LastWords {
        let sent = OpenTransaction { transaction: id(7), sent_as: id(9), order: 10, epoch: EpochNumber(4), testimony };
        let doubt = InDoubtCommit { transaction: id(7), changed: None, reply: reply(), sent: Some(sent) };
        let left = LeftSession { taken: 2, request: LeftRequest::Doubt(Box::new(doubt)) };
        LastWords { lives: [(LIFE, [(SESSION, left)].into())].into() }
    }

    fn table(epoch: u64, finished_below: u64, commits: &[u64]) -> OutcomeTable {
        let commits = commits.iter().copied().collect();
        OutcomeTable { home: SiteId(1), life: LIFE, epoch: EpochNumber(epoch), finished_below, commits }
    }

    /// What the session is told once an epoch that knows this is active.
    fn told(testimony: Testimony, table: Option<OutcomeTable>, planted: Planted) -> SessionReply {
        let mut behind = LeftBehind::default();
        behind.take_over(left(testimony));
        assert_eq!(behind.resume(NOW, SESSION, LIFE, 2), None, "it is not known yet");
        let mut told = behind.outcomes(table.as_slice(), planted);
        let again = behind.resume(NOW, SESSION, LIFE, 2).expect("it is known now");
        let (session, reply) = told.pop().expect("the session has waited for it");
        assert_eq!((session, &again), (SESSION, &reply), "what was told once is told again");
        reply
    }

    fn unknown_of(sequence: u64) -> SessionReply {
        unknown(id(sequence))
    }

    /// If this fails, a client is told that its transaction failed though it may be there, or the other way round.
    #[test]
    fn an_outcome_is_told_only_when_it_is_proven() {
        use Testimony::{Committed, Open, Resolved};
        let told = |testimony, table| told(testimony, table, Planted::none());
        assert_eq!(told(Open, Some(table(4, 10, &[9]))), reply(), "the group has committed");
        assert_eq!(told(Open, Some(table(4, 10, &[7]))), SessionReply::Undone, "that is another transaction's name");
        assert_eq!(
            told(Open, Some(table(3, 10, &[]))),
            SessionReply::Undone,
            "whoever made this was asked to vote, and has not"
        );
        assert_eq!(told(Open, Some(table(4, 11, &[]))), unknown_of(7), "the table does not cover it");
        assert_eq!(told(Open, Some(table(5, 0, &[]))), unknown_of(7), "nor this one");
        assert_eq!(told(Open, None), unknown_of(7), "absence proves nothing");
        assert_eq!(told(Committed, None), unknown_of(7), "it may be lost with all that has followed");
        assert_eq!(told(Committed, Some(table(4, 11, &[]))), reply());
        assert_eq!(told(Resolved { committed: true }, Some(table(5, 0, &[]))), reply());
        assert_eq!(told(Resolved { committed: false }, Some(table(5, 0, &[]))), SessionReply::Undone);
        assert_eq!(
            told(Resolved { committed: false }, Some(table(4, 11, &[9]))),
            reply(),
            "what it had resolved was void"
        );
    }

    /// If this fails, nobody would notice that what nobody knows is taken for undone.
    #[test]
    fn absence_is_no_proof() {
        let planted = Planted::only(Bug::AbsentTakenForAbort);
        assert_eq!(told(Testimony::Open, None, planted), SessionReply::Undone);
    }

    /// If this fails, a request whose answer was lost on its way is done twice, or one that never came is taken for done.
    #[test]
    fn a_request_that_never_came_is_told_from_one_whose_answer_is_lost() {
        let answered = LeftSession { taken: 2, request: LeftRequest::Answered };
        let mut behind = LeftBehind::default();
        behind.take_over(LastWords { lives: [(LIFE, [(SESSION, answered)].into())].into() });
        let mut asked = |session, life, asked| behind.resume(NOW, session, life, asked);
        assert_eq!(asked(SESSION, LIFE, 3), Some(SessionReply::Undone), "two came");
        assert_eq!(asked(SESSION, LIFE, 2), Some(unknown(TransactionId::ZERO)), "it was answered");
        assert_eq!(asked(SessionId(2), LIFE, 1), Some(SessionReply::Undone), "none came");
        assert_eq!(asked(SESSION, Incarnation(2), 1), Some(unknown(TransactionId::ZERO)), "that life has left no word");
    }

    /// If this fails, a client that cancels waits on, or is told two things one after the other.
    #[test]
    fn who_waits_no_longer_is_told_that_nobody_knows() {
        let mut behind = LeftBehind::default();
        behind.take_over(left(Testimony::Open));
        assert_eq!(behind.cancel(SESSION), None, "it does not wait yet");
        assert_eq!(behind.resume(NOW, SESSION, LIFE, 2), None);
        assert_eq!(behind.cancel(SESSION), Some(unknown_of(7)));
        assert!(behind.outcomes(&[table(4, 10, &[9])], Planted::none()).is_empty());
        assert_eq!(behind.resume(NOW, SESSION, LIFE, 2), Some(unknown_of(7)), "what it was told stands");
    }

    /// If this fails, a client of a site that nobody takes in waits for ever.
    #[test]
    fn nobody_waits_for_ever() {
        let mut behind = LeftBehind::default();
        behind.take_over(left(Testimony::Open));
        assert_eq!(behind.resume(NOW, SESSION, LIFE, 2), None);
        assert!(behind.tick(NOW).is_empty());
        assert_eq!(behind.tick(Now { boot: NOW.boot + SERVICE_PATIENCE, ..NOW }), [(SESSION, unknown_of(7))]);
    }
}
