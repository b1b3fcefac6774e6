//! iceoryx2: requests and responses in shared memory; each side waits for an event, or looks again and again.
//!
//! Invariant: all that it makes is in the meeting's folder or bears its prefix, and is taken away after the round.

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::prelude::{
    AllocationStrategy, Config, FileName, LogLevel, Node, NodeBuilder, Path, SemanticString, ServiceName,
    SignalHandlingMode, ipc, set_log_level,
};
use laboratory::communication::method::{Caller, Meeting, Method, Ready, patiently, reply_to};
use laboratory_harness::{Failure, Outcome};
use std::any::Any;

/// See the module's description.
pub struct Iceoryx {
    /// Looks again and again instead of sleeping.
    pub busy: bool,
}

const REQUESTED: &str = "requested";
const RESPONDED: &str = "responded";
const CALLS: &str = "calls";

/// Shared memory is named in one place for the whole host.
fn prefix(meeting: &Meeting) -> String {
    let folder = meeting.folder.display().to_string();
    format!("{}_", folder.chars().filter(char::is_ascii_alphanumeric).collect::<String>())
}

/// Where Linux shows POSIX shared memory (shm_overview(7)).
const SHARED_MEMORY: &str = "/dev/shm";

/// Takes away what the nodes of a round have left behind, in their own way, and then whatever bears the round's name.
struct Last {
    node: Option<Node<ipc::Service>>,
    prefix: String,
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(node) = self.node.take() {
            node.try_cleanup_dead_nodes();
        }
        let entries = std::fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&self.prefix)) {
            // The next start of this machine takes away what cannot be.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn node(meeting: &Meeting) -> Outcome<Node<ipc::Service>> {
    set_log_level(LogLevel::Fatal);
    let mut config = Config::default();
    let folder = meeting.folder.display().to_string();
    config.global.set_root_path(&Path::new(folder.as_bytes()).map_err(foreign)?);
    config.global.prefix = FileName::new(prefix(meeting).as_bytes()).map_err(foreign)?;
    let builder = NodeBuilder::new().config(&config).signal_handling_mode(SignalHandlingMode::Disabled);
    builder.create().map_err(foreign)
}

fn foreign<E: std::fmt::Debug>(error: E) -> Failure {
    Failure::foreign(format!("iceoryx2: {error:?}"))
}

fn name(of: &str) -> Outcome<ServiceName> {
    of.try_into().map_err(foreign)
}

fn listener(node: &Node<ipc::Service>, of: &str) -> Outcome<Listener<ipc::Service>> {
    let event = node.service_builder(&name(of)?).event().open_or_create().map_err(foreign)?;
    event.listener_builder().create().map_err(foreign)
}

fn notifier(node: &Node<ipc::Service>, of: &str) -> Outcome<Notifier<ipc::Service>> {
    let event = node.service_builder(&name(of)?).event().open_or_create().map_err(foreign)?;
    event.notifier_builder().create().map_err(foreign)
}

/// Waits for what `look` finds.
fn wait<T>(
    busy: bool,
    listener: &mut Listener<ipc::Service>,
    mut look: impl FnMut() -> Outcome<Option<T>>,
) -> Outcome<T> {
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if busy {
            std::hint::spin_loop();
        } else {
            listener.blocking_wait(|_| {}).map_err(foreign)?;
        }
    }
}

impl Method for Iceoryx {
    fn name(&self) -> &'static str {
        if self.busy { "iceoryx2, busy" } else { "iceoryx2, blocking" }
    }

    fn prepare(&self, meeting: &mut Meeting) -> Outcome<Box<dyn Any>> {
        Ok(Box::new(Last { node: Some(node(meeting)?), prefix: prefix(meeting) }))
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let node = node(meeting)?;
        let service = node.service_builder(&name(CALLS)?).request_response::<[u8], [u8]>();
        let service = service.open_or_create().map_err(foreign)?;
        let builder = service.server_builder().initial_max_slice_len(meeting.bytes().max(1));
        let server = builder.allocation_strategy(AllocationStrategy::Static).create().map_err(foreign)?;
        let mut requested = listener(&node, REQUESTED)?;
        let responded = notifier(&node, RESPONDED)?;
        ready("")?;
        let mut reply = Vec::new();
        loop {
            let request = wait(self.busy, &mut requested, || server.receive().map_err(foreign))?;
            reply_to(request.payload(), &mut reply, meeting.reply_bytes);
            let response = request.loan_slice_uninit(reply.len()).map_err(foreign)?;
            response.write_from_slice(&reply).send().map_err(foreign)?;
            if !self.busy {
                responded.notify().map_err(foreign)?;
            }
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let node = node(meeting)?;
        let service = node.service_builder(&name(CALLS)?).request_response::<[u8], [u8]>();
        let service = service.open_or_create().map_err(foreign)?;
        let builder = service.client_builder().initial_max_slice_len(meeting.bytes().max(1));
        let client = builder.allocation_strategy(AllocationStrategy::Static).create().map_err(foreign)?;
        let mut responded = listener(&node, RESPONDED)?;
        let requested = patiently(|| notifier(&node, REQUESTED))?;
        let busy = self.busy;
        Ok(Box::new(move |request, reply| {
            let _node = &node;
            let loaned = client.loan_slice_uninit(request.len()).map_err(foreign)?;
            let pending = loaned.write_from_slice(request).send().map_err(foreign)?;
            if !busy {
                requested.notify().map_err(foreign)?;
            }
            let response = wait(busy, &mut responded, || pending.receive().map_err(foreign))?;
            reply.clear();
            reply.extend_from_slice(response.payload());
            Ok(())
        }))
    }
}
