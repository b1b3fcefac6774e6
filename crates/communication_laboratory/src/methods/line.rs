//! This system's line of shared memory: Raidcomm V.3.

use super::{Caller, Meeting, Method, Ready, reply_to};
use crate::failure::Outcome;
use raidcomm::shared::{Client, Listener, Shape};

/// See the module's description.
pub struct Line;

impl Method for Line {
    fn name(&self) -> &'static str {
        "line (V.3)"
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let listener = Listener::bind(&meeting.folder.join("line"))?;
        ready("")?;
        let mut server = listener.accept()?;
        Ok(server.serve(|request, reply| reply_to(request, reply, meeting.reply_bytes))?)
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let shape = Shape { slots: 1, slot_bytes: meeting.bytes().max(1) as u32 };
        let mut client = Client::connect(&meeting.folder.join("line"), shape)?;
        Ok(Box::new(move |request, reply| Ok(client.call(request, reply, None)?)))
    }
}
