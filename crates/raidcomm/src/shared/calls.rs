//! The slots as each side sees them: which it may use, whose replies are there, and whom nobody waits for.
//!
//! Invariant: a slot is in at most one of the client's three sets, and in `free` only while its state says that it is; whoever moves the state
//! on has the slot, so a call that is given up while the server takes it is either never executed or its fate unknown.

use super::client::{LineCallError, RequestFate, Ticket};
use super::place::SharedPlace;
use super::segment::{LineSegment, LineSide, SlotPhase};
use super::server::{LineServeError, TakenCall};
use crate::limits::SLOTS_MAX;

/// The client's view.
#[derive(Debug)]
pub(super) struct ClientCalls {
    /// Slots that this side may use.
    free: u32,
    /// Slots whose replies are there.
    replied: u32,
    /// Slots whose replies nobody wants.
    abandoned: u32,
}

impl ClientCalls {
    /// No call is under way.
    pub(super) fn new(slots: u32) -> ClientCalls {
        ClientCalls { free: u32::MAX >> (32 - slots), replied: 0, abandoned: 0 }
    }

    /// Puts a request into a free slot, and tells the server.
    pub(super) fn begin<P: SharedPlace>(
        &mut self,
        segment: &LineSegment<P>,
        request: &[u8],
    ) -> Result<Ticket, LineCallError> {
        let shape = segment.shape();
        if request.len() > shape.slot_bytes as usize {
            return Err(LineCallError::TooLong { bytes: request.len(), bytes_max: shape.slot_bytes });
        }
        if self.free == 0 {
            self.look(segment);
        }
        if self.free == 0 {
            return Err(LineCallError::Full);
        }
        let slot = self.free.trailing_zeros();
        assert!(slot < SLOTS_MAX, "only slots that there are are free");
        let free = segment.state(slot);
        if free.phase() != SlotPhase::Free {
            return Err(LineCallError::Broken);
        }
        segment.write(slot, request);
        let used = free.to(SlotPhase::Requested);
        if !segment.advance(slot, free, used) {
            return Err(LineCallError::Broken);
        }
        self.free &= !(1 << slot);
        segment.post(LineSide::Server, slot);
        Ok(Ticket { slot, used })
    }

    /// Whether the reply of a call is there.
    pub(super) fn has_reply(&self, ticket: &Ticket) -> bool {
        self.replied & (1 << ticket.slot) != 0
    }

    /// Takes the reply that is there, and frees the slot.
    pub(super) fn take_reply<P: SharedPlace>(
        &mut self,
        segment: &LineSegment<P>,
        ticket: &Ticket,
        reply: &mut Vec<u8>,
    ) -> Result<(), LineCallError> {
        self.replied &= !(1 << ticket.slot);
        if segment.state(ticket.slot) != ticket.used.to(SlotPhase::Replied)
            || segment.read(ticket.slot, reply).is_none()
        {
            return Err(LineCallError::Broken);
        }
        self.set_free(segment, ticket.slot);
        Ok(())
    }

    /// The server is gone: what it left in the slot tells the call's fate.
    pub(super) fn finish_alone<P: SharedPlace>(
        &mut self,
        segment: &LineSegment<P>,
        ticket: &Ticket,
        reply: &mut Vec<u8>,
    ) -> Result<(), LineCallError> {
        if segment.advance(ticket.slot, ticket.used, ticket.used.next()) {
            return Err(LineCallError::Gone(RequestFate::NotExecuted));
        }
        if segment.state(ticket.slot) == ticket.used.to(SlotPhase::Replied) {
            return self.take_reply(segment, ticket, reply);
        }
        Err(LineCallError::Gone(RequestFate::Unknown))
    }

    /// Gives a call up.
    pub(super) fn abandon<P: SharedPlace>(&mut self, segment: &LineSegment<P>, ticket: &Ticket) -> RequestFate {
        let bit = 1 << ticket.slot;
        if segment.advance(ticket.slot, ticket.used, ticket.used.next()) {
            self.free |= bit;
            return RequestFate::NotExecuted;
        }
        if self.replied & bit != 0 {
            self.replied &= !bit;
            self.set_free(segment, ticket.slot);
        } else {
            self.abandoned |= bit;
        }
        RequestFate::Unknown
    }

    /// Calls that can be begun now.
    pub(super) fn free_slots<P: SharedPlace>(&mut self, segment: &LineSegment<P>) -> u32 {
        self.look(segment);
        self.free.count_ones()
    }

    fn look<P: SharedPlace>(&mut self, segment: &LineSegment<P>) {
        let posted = segment.take_posted(LineSide::Client);
        self.sort(segment, posted);
    }

    /// Takes notice of replies.
    pub(super) fn sort<P: SharedPlace>(&mut self, segment: &LineSegment<P>, posted: u32) {
        // A bit without a call is the server's mistake, and no harm.
        let posted = posted & !self.free;
        self.replied |= posted & !self.abandoned;
        let mut unwanted = posted & self.abandoned;
        self.abandoned &= !unwanted;
        while unwanted != 0 {
            self.set_free(segment, unwanted.trailing_zeros());
            unwanted &= unwanted - 1;
        }
    }

    /// A slot whose reply is taken, or not wanted. One whose state is not what it may be is never used again.
    fn set_free<P: SharedPlace>(&mut self, segment: &LineSegment<P>, slot: u32) {
        let state = segment.state(slot);
        if state.phase() == SlotPhase::Replied && segment.advance(slot, state, state.next()) {
            self.free |= 1 << slot;
        }
    }
}

/// The server's view.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Slots that were posted and not looked at.
    posted: u32,
}

impl Requests {
    /// Takes notice of requests.
    pub(super) fn add(&mut self, posted: u32) {
        self.posted |= posted;
    }

    /// Takes the next request, which replaces what is in `request`.
    pub(super) fn take<P: SharedPlace>(
        &mut self,
        segment: &LineSegment<P>,
        request: &mut Vec<u8>,
    ) -> Result<Option<TakenCall>, LineServeError> {
        while self.posted != 0 {
            let slot = self.posted.trailing_zeros();
            self.posted &= self.posted - 1;
            let state = segment.state(slot);
            let serving = state.to(SlotPhase::Serving);
            // The client may have taken it back.
            if state.phase() == SlotPhase::Requested && segment.advance(slot, state, serving) {
                segment.read(slot, request).ok_or(LineServeError::Broken)?;
                return Ok(Some(TakenCall { slot, state: serving }));
            }
        }
        Ok(None)
    }
}

/// Puts a reply into the slot of its request, and tells the client. On an error the call comes back.
pub(super) fn reply<P: SharedPlace>(
    segment: &LineSegment<P>,
    call: TakenCall,
    reply: &[u8],
) -> Result<(), (LineServeError, TakenCall)> {
    let bytes_max = segment.shape().slot_bytes;
    if reply.len() > bytes_max as usize {
        return Err((LineServeError::TooLong { bytes: reply.len(), bytes_max }, call));
    }
    segment.write(call.slot, reply);
    if !segment.advance(call.slot, call.state, call.state.to(SlotPhase::Replied)) {
        return Err((LineServeError::Broken, call));
    }
    segment.post(LineSide::Client, call.slot);
    Ok(())
}
