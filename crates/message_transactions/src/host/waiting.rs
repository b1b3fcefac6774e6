//! Futures of messages that are sent and received. They need no runtime: any executor that polls them will do.
//!
//! Invariant: a future that is dropped takes its operation back; memory that was given away comes back with the outcome alone.

use super::HostError;
use super::lent::Lent;
use super::process::{ProcessReply, ReceivedCall};
use super::shared::HostShared;
use super::transport::PacketTransport;
use crate::identifier::ProcessId;
use crate::kernel::ProcessError;
use crate::memory::OwnedMemory;
use crate::outbox::{Completion, ReceivedMessage};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A message under way: the reply, and the memory that was given away.
#[must_use = "futures do nothing until they are awaited"]
#[derive(Debug)]
pub struct PendingSend<'a, T: PacketTransport> {
    shared: &'a HostShared<T>,
    process: ProcessId,
    begun: Option<Result<(), ProcessError>>,
}

impl<'a, T: PacketTransport> PendingSend<'a, T> {
    pub(super) fn new(
        shared: &'a HostShared<T>,
        process: ProcessId,
        begun: Result<(), ProcessError>,
    ) -> PendingSend<'a, T> {
        PendingSend { shared, process, begun: Some(begun) }
    }
}

impl<T: PacketTransport> Future for PendingSend<'_, T> {
    type Output = (Result<ProcessReply, HostError>, Option<OwnedMemory>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(Err(error)) = self.begun {
            self.begun = None;
            return Poll::Ready((Err(error.into()), None));
        }
        let Some(completion) = self.shared.poll(self.process, context.waker()) else { return Poll::Pending };
        self.begun = None;
        Poll::Ready(match completion {
            Completion::Replied { from, message, segment } => {
                (Ok(ProcessReply { from, message }), segment.and_then(Lent::into_owned))
            }
            Completion::SendFailed { failure, segment } => (Err(failure.into()), segment.and_then(Lent::into_owned)),
            other => panic!("a message was answered by {other:?}"),
        })
    }
}

impl<T: PacketTransport> Drop for PendingSend<'_, T> {
    fn drop(&mut self) {
        if self.begun.take().is_some_and(|begun| begun.is_ok()) {
            self.shared.cancel(self.process);
        }
    }
}

/// A message that is waited for.
#[must_use = "futures do nothing until they are awaited"]
#[derive(Debug)]
pub struct PendingReceive<'a, T: PacketTransport> {
    shared: &'a HostShared<T>,
    process: ProcessId,
    begun: Option<Result<Option<ReceivedMessage>, ProcessError>>,
}

impl<'a, T: PacketTransport> PendingReceive<'a, T> {
    pub(super) fn new(
        shared: &'a HostShared<T>,
        process: ProcessId,
        begun: Result<Option<ReceivedMessage>, ProcessError>,
    ) -> PendingReceive<'a, T> {
        PendingReceive { shared, process, begun: Some(begun) }
    }
}

impl<T: PacketTransport> Future for PendingReceive<'_, T> {
    type Output = Result<ReceivedCall, HostError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.begun.take() {
            Some(Ok(Some(delivery))) => return Poll::Ready(Ok(ReceivedCall::new(delivery))),
            Some(Err(error)) => return Poll::Ready(Err(error.into())),
            waiting => self.begun = waiting,
        }
        let Some(completion) = self.shared.poll(self.process, context.waker()) else { return Poll::Pending };
        self.begun = None;
        Poll::Ready(match completion {
            Completion::Received(delivery) => Ok(ReceivedCall::new(delivery)),
            other => panic!("a wait for messages was ended by {other:?}"),
        })
    }
}

impl<T: PacketTransport> Drop for PendingReceive<'_, T> {
    fn drop(&mut self) {
        match self.begun.take() {
            Some(Ok(None)) => self.shared.cancel(self.process),
            Some(Ok(Some(delivery))) => self.shared.put_back(self.process, delivery),
            _ => {}
        }
    }
}
