//! A client's place at a site, as whoever serves clients keeps it: it outlives the lives of its site, as long as its process does.

use messages::Incarnation;
use messages::session::{SessionReply, SessionRequest};

/// A client's place at a site.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Which client.
    pub client: usize,
    /// The life of the site that it has heard of last.
    pub life: Incarnation,
    /// Requests to that life.
    pub asked: u64,
    /// What has not been answered.
    pub waiting: Option<SessionRequest>,
    /// To which life that was asked, and as which request to it, if that life is over.
    pub parked: Option<(Incarnation, u64)>,
    /// A block is open.
    pub open: bool,
    /// A block is over without the client having been told.
    pub lost: bool,
}

impl Seat {
    /// Nothing has been asked.
    pub fn new(client: usize, life: Incarnation) -> Seat {
        Seat { client, life, asked: 0, waiting: None, parked: None, open: false, lost: false }
    }

    /// Whether what was asked may have committed.
    pub fn may_have_committed(&self) -> bool {
        match &self.waiting {
            Some(SessionRequest::Commit) => true,
            Some(SessionRequest::Execute { program, .. }) => !self.open && !program.read_only,
            _ => false,
        }
    }

    /// What was asked is answered so.
    pub fn answered(&mut self, reply: &SessionReply) {
        let request = self.waiting.take();
        self.parked = None;
        match (request, reply) {
            (Some(SessionRequest::Begin { .. }), SessionReply::Begun) => self.open = true,
            (Some(SessionRequest::Commit | SessionRequest::Rollback), _) => self.open = false,
            _ => {}
        }
    }
}
