//! This system's line of shared memory: Raidcomm V.3.

use crate::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use laboratory_harness::{Failure, Outcome};
use raidcomm::shared::{LineClient, LineListener, Shape};

/// See the module's description.
pub struct Line;

impl Method for Line {
    fn name(&self) -> &'static str {
        "line (V.3)"
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let listener = LineListener::bind(&meeting.folder.join("line")).map_err(Failure::foreign)?;
        ready("")?;
        let mut server = listener.accept().map_err(Failure::foreign)?;
        server.serve(|request, reply| reply_to(request, reply, meeting.reply_bytes)).map_err(Failure::foreign)
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let shape = Shape { slots: 1, slot_bytes: meeting.bytes().max(1) as u32 };
        let mut client = LineClient::connect(&meeting.folder.join("line"), shape).map_err(Failure::foreign)?;
        Ok(Box::new(move |request, reply| client.call(request, reply, None).map_err(Failure::foreign)))
    }
}
