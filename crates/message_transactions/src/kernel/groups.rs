//! Groups: which processes of this kernel are members of what.
//!
//! Invariant: the packets of a group are asked for before its first member is told that it has joined.

use super::Kernel;
use super::naming::KernelRequest;
use super::process::ProcessError;
use super::sending::OutgoingMessage;
use crate::identifier::{ProcessGroupId, ProcessId};
use crate::limits::{GROUPS_MAX, MEMBERS_MAX};
use crate::memory::LentMemory;
use crate::outbox::GroupMembership;
use std::collections::BTreeSet;

impl<A: Copy + Ord, M: LentMemory> Kernel<A, M> {
    /// A new group, with the process as its member. Its identifier is 63 random bits: that another group has them is improbable.
    ///
    /// # Errors
    /// The process is not here, or there are too many groups.
    pub fn allocate_group(&mut self, by: ProcessId) -> Result<ProcessGroupId, ProcessError> {
        if !self.processes.contains_key(&by) {
            return Err(ProcessError::NoSuchProcess);
        }
        let group = ProcessGroupId::well_known(self.random.draw());
        self.join(group, by)?;
        Ok(group)
    }

    /// Makes a process a member, and says whether that is done: if the process is not here, its kernel is asked, and the outcome
    /// is a completion with the reply `[1]`, or `[0]` if it cannot.
    ///
    /// # Errors
    /// The caller is busy, or there are too many groups or members.
    pub fn join_group(
        &mut self,
        now: u64,
        by: ProcessId,
        group: ProcessGroupId,
        member: ProcessId,
    ) -> Result<bool, ProcessError> {
        if self.processes.contains_key(&member) {
            return self.join(group, member).map(|()| true);
        }
        self.ask_kernel(now, by, member, KernelRequest::Join(group, member)).map(|()| false)
    }

    /// Takes a member out, and says whether that is done; otherwise as with [`Kernel::join_group`].
    ///
    /// # Errors
    /// The caller is busy.
    pub fn leave_group(
        &mut self,
        now: u64,
        by: ProcessId,
        group: ProcessGroupId,
        member: ProcessId,
    ) -> Result<bool, ProcessError> {
        if self.processes.contains_key(&member) {
            self.leave(group, member);
            return Ok(true);
        }
        self.ask_kernel(now, by, member, KernelRequest::Leave(group, member)).map(|()| false)
    }

    /// Sends a request to the kernel that made a process.
    pub(super) fn ask_kernel(
        &mut self,
        now: u64,
        by: ProcessId,
        about: ProcessId,
        request: KernelRequest,
    ) -> Result<(), ProcessError> {
        let server = about.host().kernel_server();
        self.send(now, by, server, OutgoingMessage::at_least_once(request.encode()))
    }

    pub(super) fn join(&mut self, group: ProcessGroupId, member: ProcessId) -> Result<(), ProcessError> {
        if !self.groups.contains_key(&group) {
            if self.groups.len() >= GROUPS_MAX {
                return Err(ProcessError::TooMany);
            }
            self.groups.insert(group, BTreeSet::new());
            self.outbox.membership(GroupMembership::Join(group));
        }
        let members = self.groups.entry(group).or_default();
        if members.len() >= MEMBERS_MAX && !members.contains(&member) {
            return Err(ProcessError::TooMany);
        }
        members.insert(member);
        Ok(())
    }

    pub(super) fn leave(&mut self, group: ProcessGroupId, member: ProcessId) {
        let Some(members) = self.groups.get_mut(&group) else { return };
        members.remove(&member);
        if members.is_empty() {
            self.groups.remove(&group);
            self.outbox.membership(GroupMembership::Leave(group));
        }
    }

    /// Takes a process out of all its groups, and says which they were.
    pub(super) fn leave_all(&mut self, member: ProcessId) -> Vec<ProcessGroupId> {
        let groups = self.groups.iter().filter(|(_, members)| members.contains(&member));
        let groups: Vec<ProcessGroupId> = groups.map(|(&group, _)| group).collect();
        groups.iter().for_each(|&group| self.leave(group, member));
        groups
    }
}
