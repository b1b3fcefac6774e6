//! Two named pipes, one for each direction.

use crate::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use laboratory_harness::Outcome;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::any::Any;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

/// See the module's description.
pub struct Pipes;

const REQUESTS: &str = "requests";
const REPLIES: &str = "replies";

/// Both sides open the pipes in this order, and each open waits for the other side's.
fn open(folder: &Path, writes_requests: bool) -> Outcome<(File, File)> {
    let end = |name, write: bool| File::options().read(!write).write(write).open(folder.join(name));
    Ok((end(REQUESTS, writes_requests)?, end(REPLIES, !writes_requests)?))
}

impl Method for Pipes {
    fn name(&self) -> &'static str {
        "named pipes"
    }

    fn prepare(&self, meeting: &mut Meeting) -> Outcome<Box<dyn Any>> {
        for name in [REQUESTS, REPLIES] {
            mknodat(CWD, meeting.folder.join(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        }
        Ok(Box::new(()))
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        ready("")?;
        let (mut requests, mut replies) = open(&meeting.folder, false)?;
        serve_stream(meeting, |request| requests.read_exact(request), |reply| replies.write_all(reply))
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let (mut requests, mut replies) = open(&meeting.folder, true)?;
        let reply_bytes = meeting.reply_bytes;
        Ok(Box::new(move |request, reply| {
            requests.write_all(request)?;
            reply.resize(reply_bytes, 0);
            Ok(replies.read_exact(reply)?)
        }))
    }
}

/// Serves over a stream of bytes until it ends.
pub fn serve_stream(
    meeting: &Meeting,
    mut receive: impl FnMut(&mut [u8]) -> std::io::Result<()>,
    mut send: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> Outcome<()> {
    let (mut request, mut reply) = (vec![0; meeting.request_bytes], Vec::new());
    loop {
        match receive(&mut request) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        reply_to(&request, &mut reply, meeting.reply_bytes);
        send(&reply)?;
    }
}
