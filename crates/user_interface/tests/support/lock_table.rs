//! The rows of advisory locks, as the action driver of a script has them: what the session's deputy asks is done on them, and what others do beside it.

use messages::advisory::{AdvisoryClaim, AdvisoryKey, AdvisoryMode, AdvisoryOwner, AdvisoryQueue};
use messages::epoch::{Placement, ProposalId};
use messages::program::{AccessPath, Action, Expression, InsertInput, Program, RowSource};
use messages::session::{CommitReceipt, Failure, SessionReply, SessionRequest};
use messages::{Epoch, EpochNumber, Incarnation, Member, MemberState, OracleLife, SessionId, SiteId};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use user_interface::locks::queue;
use values::Value;

/// See the module's description.
#[derive(Default)]
pub struct LockTable {
    rows: BTreeMap<AdvisoryKey, AdvisoryQueue>,
    written: Vec<(AdvisoryKey, Option<AdvisoryQueue>)>,
    /// The next commit fails so.
    pub fails: Option<Failure>,
    /// Nothing is answered.
    pub is_paused: bool,
    /// What is to be answered.
    pub reply: Option<SessionReply>,
}

impl LockTable {
    /// The deputy asks.
    pub fn ask(&mut self, request: &SessionRequest, output: &mut String) {
        let reply = match request {
            SessionRequest::Begin { .. } => SessionReply::Begun,
            SessionRequest::Execute { program, .. } => self.execute(program, output),
            SessionRequest::Rollback => {
                self.written.clear();
                SessionReply::RolledBack
            }
            SessionRequest::Commit => match self.fails.take() {
                Some(failure) => {
                    writeln!(output, "  & does not commit").expect("a string grows");
                    self.written.clear();
                    SessionReply::Failed(failure)
                }
                None => {
                    self.commit(output);
                    SessionReply::Committed { receipt: CommitReceipt::Nothing }
                }
            },
            SessionRequest::Close => return writeln!(output, "  & Close").expect("a string grows"),
            other => panic!("no request about locks: {other:?}"),
        };
        assert!(self.reply.is_none(), "one request is under way");
        self.reply = Some(reply);
    }

    fn commit(&mut self, output: &mut String) {
        for (key, queue) in std::mem::take(&mut self.written) {
            match queue {
                Some(queue) => {
                    writeln!(output, "  & {key}: {}", shown(&queue)).expect("a string grows");
                    self.rows.insert(key, queue);
                }
                None => {
                    writeln!(output, "  & {key}: nobody").expect("a string grows");
                    self.rows.remove(&key);
                }
            }
        }
    }

    fn execute(&mut self, program: &Program, output: &mut String) -> SessionReply {
        let mut rows = Vec::new();
        for action in &program.actions {
            match action {
                Action::Select { source: Some(source), .. } => match key_of(source) {
                    Some(key) => rows.extend(self.rows.get(&key).map(|queue| row(key, queue))),
                    None => {
                        writeln!(output, "  & all are read").expect("a string grows");
                        rows.extend(self.rows.iter().map(|(key, queue)| row(*key, queue)));
                    }
                },
                Action::Insert { input: InsertInput::Rows(inserted), .. } => {
                    let (key, queue) = decoded(&inserted[0]);
                    assert!(!self.rows.contains_key(&key), "{key} is there already");
                    self.written.push((key, Some(queue)));
                }
                Action::Update { source, assignments, .. } => {
                    let key = key_of(source).expect("one row");
                    assert!(self.rows.contains_key(&key), "{key} is not there");
                    let [kind, number, database] = key.values();
                    let Expression::Constant(claims) = &assignments[0].1 else { panic!("no constant") };
                    let (_, queue) = AdvisoryQueue::decode(&[kind, number, database, claims.clone()]).expect("claims");
                    self.written.push((key, Some(queue)));
                }
                Action::Delete { source, .. } => self.written.push((key_of(source).expect("one row"), None)),
                Action::Notify { payload: Expression::Constant(payload), .. } => {
                    let payload = values::text::to_string(payload).unwrap_or_default();
                    writeln!(output, "  & told: {payload}").expect("a string grows");
                }
                other => panic!("nothing to do with locks: {other:?}"),
            }
        }
        SessionReply::Executed { affected: rows.len() as u64, rows }
    }

    /// `2 take 5 x`, `0.2 leave 5 x`: a session of another site does, of the second if none is named. Whether the session of the script has got the lock by it.
    pub fn other(&mut self, text: &str) -> bool {
        let words: Vec<&str> = text.split(' ').collect();
        let [session, what, number, mode] = words.as_slice() else { panic!("session, what, number, mode") };
        let key = AdvisoryKey::of_number(number.parse().expect("a number"));
        let mode = if *mode == "x" { AdvisoryMode::Exclusive } else { AdvisoryMode::Share };
        let (site, session) = session.split_once('.').unwrap_or(("2", session));
        let (site, session): (u16, u64) = (site.parse().expect("a site"), session.parse().expect("a number"));
        let owner = AdvisoryOwner { site: SiteId(site), incarnation: Incarnation(1), session: SessionId(session) };
        let queue = self.rows.entry(key).or_default();
        if *what == "take" {
            let claim = AdvisoryClaim { owner, mode, process: 1_000 + session as i32, epoch: EpochNumber(1) };
            queue::ask(queue, claim, true);
            return false;
        }
        queue::leave(queue, owner, mode);
        queue::hand_on(queue).iter().any(|given| given.site == SiteId(1))
    }
}

/// An epoch of this number with these sites: `1:0 2:1`, each with its life.
pub fn epoch(text: &str) -> Arc<Epoch> {
    let (number, sites) = text.split_once(' ').expect("a number, then sites");
    let member = |text: &str| {
        let (site, life) = text.split_once(':').expect("site:life");
        let life = Incarnation(life.parse().expect("a life"));
        (SiteId(site.parse().expect("a site")), Member::beginning(life, MemberState::Up))
    };
    Arc::new(Epoch {
        number: EpochNumber(number.parse().expect("a number")),
        proposal: ProposalId::default(),
        parent: ProposalId::default(),
        oracle: OracleLife(1),
        members: sites.split(' ').map(member).collect(),
        sessions: BTreeMap::new(),
        required_copies: 1,
        placement: Placement::Everywhere,
        restart: false,
    })
}

fn row(key: AdvisoryKey, queue: &AdvisoryQueue) -> Vec<Value> {
    key.values().into_iter().chain([queue.encode()]).collect()
}

fn decoded(row: &[Expression]) -> (AdvisoryKey, AdvisoryQueue) {
    let constant = |expression: &Expression| match expression {
        Expression::Constant(value) => value.clone(),
        other => panic!("no constant: {other:?}"),
    };
    let values: Vec<Value> = row.iter().map(constant).collect();
    AdvisoryQueue::decode(&values).expect("a row of a lock")
}

fn key_of(source: &RowSource) -> Option<AdvisoryKey> {
    let AccessPath::Point(key) = &source.path else { return None };
    let mut row = key.clone();
    row.push(Expression::Constant(AdvisoryQueue::default().encode()));
    Some(decoded(&row).0)
}

fn shown(queue: &AdvisoryQueue) -> String {
    let one = |claim: &AdvisoryClaim| {
        let mode = if claim.mode == AdvisoryMode::Share { "shares" } else { "alone" };
        format!("{}.{} {mode}", claim.owner.site.0, claim.owner.session.0)
    };
    let all = |claims: &[AdvisoryClaim]| claims.iter().map(one).collect::<Vec<_>>().join(", ");
    match (queue.holders.is_empty(), queue.waiters.is_empty()) {
        (_, true) => all(&queue.holders),
        (_, false) => format!("{}; waiting: {}", all(&queue.holders), all(&queue.waiters)),
    }
}
