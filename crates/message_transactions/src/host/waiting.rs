//! Futures of messages that are sent and received. They need no runtime: any executor that polls them will do.
//!
//! Invariant: a future that is dropped takes its operation back; memory that was given away comes back with the outcome alone.

use super::HostError;
use super::lent::Lent;
use super::process::{Call, Reply};
use super::shared::Shared;
use super::transport::Transport;
use crate::identifier::ProcessId;
use crate::kernel::CallError;
use crate::memory::Owned;
use crate::outbox::{Completion, Delivery};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A message under way: the reply, and the memory that was given away.
#[must_use = "futures do nothing until they are awaited"]
#[derive(Debug)]
pub struct Sending<'a, T: Transport> {
    shared: &'a Shared<T>,
    process: ProcessId,
    begun: Option<Result<(), CallError>>,
}

impl<'a, T: Transport> Sending<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>, process: ProcessId, begun: Result<(), CallError>) -> Sending<'a, T> {
        Sending { shared, process, begun: Some(begun) }
    }
}

impl<T: Transport> Future for Sending<'_, T> {
    type Output = (Result<Reply, HostError>, Option<Owned>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(Err(error)) = self.begun {
            self.begun = None;
            return Poll::Ready((Err(error.into()), None));
        }
        let Some(completion) = self.shared.poll(self.process, context.waker()) else { return Poll::Pending };
        self.begun = None;
        Poll::Ready(match completion {
            Completion::Replied { from, message, segment } => {
                (Ok(Reply { from, message }), segment.and_then(Lent::into_owned))
            }
            Completion::SendFailed { failure, segment } => (Err(failure.into()), segment.and_then(Lent::into_owned)),
            other => panic!("a message was answered by {other:?}"),
        })
    }
}

impl<T: Transport> Drop for Sending<'_, T> {
    fn drop(&mut self) {
        if self.begun.take().is_some_and(|begun| begun.is_ok()) {
            self.shared.cancel(self.process);
        }
    }
}

/// A message that is waited for.
#[must_use = "futures do nothing until they are awaited"]
#[derive(Debug)]
pub struct Receiving<'a, T: Transport> {
    shared: &'a Shared<T>,
    process: ProcessId,
    begun: Option<Result<Option<Delivery>, CallError>>,
}

impl<'a, T: Transport> Receiving<'a, T> {
    pub(super) fn new(
        shared: &'a Shared<T>,
        process: ProcessId,
        begun: Result<Option<Delivery>, CallError>,
    ) -> Receiving<'a, T> {
        Receiving { shared, process, begun: Some(begun) }
    }
}

impl<T: Transport> Future for Receiving<'_, T> {
    type Output = Result<Call, HostError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.begun.take() {
            Some(Ok(Some(delivery))) => return Poll::Ready(Ok(Call::new(delivery))),
            Some(Err(error)) => return Poll::Ready(Err(error.into())),
            waiting => self.begun = waiting,
        }
        let Some(completion) = self.shared.poll(self.process, context.waker()) else { return Poll::Pending };
        self.begun = None;
        Poll::Ready(match completion {
            Completion::Received(delivery) => Ok(Call::new(delivery)),
            other => panic!("a wait for messages was ended by {other:?}"),
        })
    }
}

impl<T: Transport> Drop for Receiving<'_, T> {
    fn drop(&mut self) {
        match self.begun.take() {
            Some(Ok(None)) => self.shared.cancel(self.process),
            Some(Ok(Some(delivery))) => self.shared.put_back(self.process, delivery),
            _ => {}
        }
    }
}
