//! The versions of every list, register and member, in order, the increments to every counter, and what reads of them imply.
//!
//! Invariant: of a list, every read is a first part of the longest one; of a register, no write is overwritten twice.

use super::graph::{Edge, Graph};
use crate::history::{
    HistoryWrite, Observation, ObservedTransaction, RunHistory, TransactionFate, WriteToken, companion,
};
use std::collections::BTreeMap;

/// All versions that a set of transactions shows.
pub struct Versions {
    /// By token: who wrote it, whatever became of it.
    writers: BTreeMap<WriteToken, usize>,
    /// Entries in order.
    lists: BTreeMap<u64, Vec<WriteToken>>,
    /// By list and entry: its place.
    places: BTreeMap<(u64, WriteToken), usize>,
    /// By register and write: the transaction that overwrote it.
    overwriters: BTreeMap<(u64, WriteToken), usize>,
    /// By counter: all increments.
    increments: BTreeMap<u64, Vec<WriteToken>>,
    /// Tokens that bring a member; all other entries of companion lists take one away.
    insertions: BTreeMap<WriteToken, u64>,
    members: Vec<u64>,
}

impl Versions {
    /// What the transactions that `included` names show. Errors: reads that fit no order.
    pub fn of(history: &RunHistory, included: &dyn Fn(usize) -> bool) -> Result<Versions, String> {
        let mut versions = Versions {
            writers: BTreeMap::new(),
            lists: BTreeMap::new(),
            places: BTreeMap::new(),
            overwriters: BTreeMap::new(),
            increments: BTreeMap::new(),
            insertions: BTreeMap::new(),
            members: Vec::new(),
        };
        for (place, transaction) in history.transactions.iter().enumerate() {
            for change in &transaction.changes {
                versions.writers.insert(change.token(), place);
                if let HistoryWrite::Increment { key, token } = change {
                    versions.increments.entry(*key).or_default().push(*token);
                }
                if let HistoryWrite::Insert { member, token } = change {
                    versions.insertions.insert(*token, *member);
                    versions.members.push(*member);
                }
            }
        }
        versions.members.sort_unstable();
        versions.members.dedup();
        for (place, transaction) in history.transactions.iter().enumerate().filter(|(place, _)| included(*place)) {
            versions.take_longest(transaction);
            versions.take_overwritten(history, place)?;
        }
        for (list, entries) in &versions.lists {
            for (place, entry) in entries.iter().enumerate() {
                if versions.places.insert((*list, *entry), place).is_some() {
                    return Err(format!("entry {entry} is twice in list {list}: {entries:?}"));
                }
            }
        }
        Ok(versions)
    }

    fn take_longest(&mut self, transaction: &ObservedTransaction) {
        for observation in &transaction.observations {
            let Observation::List { key, entries } = observation else { continue };
            let own = own_entries(transaction, *key);
            let longest = self.lists.entry(*key).or_default();
            if entries.len() + own.len() > longest.len() {
                longest.clone_from(entries);
                longest.extend(own);
            }
        }
    }

    fn take_overwritten(&mut self, history: &RunHistory, place: usize) -> Result<(), String> {
        for change in &history.transactions[place].changes {
            let HistoryWrite::Register { key, before, .. } = change else { continue };
            if let Some(other) = self.overwriters.insert((*key, *before), place) {
                let both = [&history.transactions[other], &history.transactions[place]];
                return Err(format!("lost update: two transactions overwrote {before} in register {key}: {both:#?}"));
            }
        }
        Ok(())
    }

    fn writer(&self, token: WriteToken) -> Option<usize> {
        self.writers.get(&token).copied()
    }

    /// All edges that these versions imply. Errors: reads that fit no order, or of what was never committed.
    pub fn edges(
        &self,
        history: &RunHistory,
        included: &dyn Fn(usize) -> bool,
        hidden: &dyn Fn(usize) -> bool,
        graph: &mut Graph,
    ) -> Result<(), String> {
        for (list, entries) in &self.lists {
            for pair in entries.windows(2) {
                if let (Some(first), Some(second)) = (self.writer(pair[0]), self.writer(pair[1])) {
                    graph.add(first, second, Edge::Overwrote(*list));
                }
            }
        }
        for (place, transaction) in history.transactions.iter().enumerate().filter(|(place, _)| included(*place)) {
            for observation in &transaction.observations {
                match observation {
                    Observation::List { key, entries } => self.list_read(history, place, *key, entries, graph)?,
                    Observation::Register { key, value } => self.register_read(history, place, *key, *value, graph)?,
                    Observation::Counter { key, increments } => {
                        self.counter_read(history, place, *key, increments, graph)?;
                    }
                    Observation::Members { low, high, present } => {
                        for member in self.scanned(history, place, (*low, *high), present, graph)? {
                            self.missed(history, hidden, place, member, graph)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Who wrote what was read. Errors: nobody, or somebody who was told that it failed.
    fn written(&self, history: &RunHistory, reader: usize, token: WriteToken) -> Result<usize, String> {
        let reader = &history.transactions[reader];
        let Some(writer) = self.writer(token) else {
            return Err(format!("a write that nobody made was read: {token} in {reader:?}"));
        };
        if history.transactions[writer].fate == TransactionFate::Aborted {
            let writer = &history.transactions[writer];
            return Err(format!("an aborted write was read: {token} of {writer:?} in {reader:?}"));
        }
        Ok(writer)
    }

    fn list_read(
        &self,
        history: &RunHistory,
        place: usize,
        key: u64,
        entries: &[WriteToken],
        graph: &mut Graph,
    ) -> Result<(), String> {
        let order = &self.lists[&key];
        if !order.starts_with(entries) {
            let reader = &history.transactions[place];
            return Err(format!("list {key} was read as {entries:?}, which is no first part of {order:?}: {reader:?}"));
        }
        for entry in entries {
            self.written(history, place, *entry)?;
        }
        if let Some(last) = entries.last() {
            graph.add(self.written(history, place, *last)?, place, Edge::Read(key));
        }
        if let Some(next) = order.get(entries.len()).and_then(|next| self.writer(*next)) {
            graph.add(place, next, Edge::OverwrittenBy(key));
        }
        Ok(())
    }

    /// Additions have no order among each other: each was there, or came later.
    fn counter_read(
        &self,
        history: &RunHistory,
        place: usize,
        key: u64,
        found: &[WriteToken],
        graph: &mut Graph,
    ) -> Result<(), String> {
        for token in found {
            graph.add(self.written(history, place, *token)?, place, Edge::ReadCounter(key));
        }
        let all = self.increments.get(&key).into_iter().flatten();
        for later in all.filter(|token| !found.contains(token)).filter_map(|token| self.writer(*token)) {
            graph.add(place, later, Edge::AddedToLater(key));
        }
        Ok(())
    }

    fn register_read(
        &self,
        history: &RunHistory,
        place: usize,
        key: u64,
        value: WriteToken,
        graph: &mut Graph,
    ) -> Result<(), String> {
        if value != 0 {
            graph.add(self.written(history, place, value)?, place, Edge::ReadRegister(key));
        }
        if let Some(next) = self.overwriters.get(&(key, value)) {
            graph.add(place, *next, Edge::RegisterOverwrittenBy(key));
        }
        Ok(())
    }

    /// A scan: each member of the range was there or not. Gives those that were not.
    fn scanned(
        &self,
        history: &RunHistory,
        place: usize,
        range: (u64, u64),
        present: &[(u64, WriteToken)],
        graph: &mut Graph,
    ) -> Result<Vec<u64>, String> {
        for (member, token) in present {
            if self.insertions.get(token) != Some(member) {
                return Err(format!("member {member} holds {token}, which did not bring it"));
            }
            graph.add(self.written(history, place, *token)?, place, Edge::SawMember(*member));
            let list = companion(*member);
            let next = self.places.get(&(list, *token)).and_then(|at| self.lists[&list].get(at + 1));
            if let Some(next) = next.and_then(|next| self.writer(*next)) {
                graph.add(place, next, Edge::MemberChangedBy(*member));
            }
        }
        let first = self.members.partition_point(|member| *member < range.0);
        let in_range = self.members[first..].iter().take_while(|member| **member < range.1);
        Ok(in_range.filter(|member| present.iter().all(|(key, _)| key != *member)).copied().collect())
    }

    /// A scan did not see a member: it came before an insertion, or after a deletion. Which one, real time may leave open; then only
    /// the outer bounds hold.
    fn missed(
        &self,
        history: &RunHistory,
        hidden: &dyn Fn(usize) -> bool,
        place: usize,
        member: u64,
        graph: &mut Graph,
    ) -> Result<(), String> {
        let Some(order) = self.lists.get(&companion(member)) else { return Ok(()) };
        let reader = &history.transactions[place];
        let mut bounds: Option<(usize, usize)> = None;
        for gap in 0..=order.len() {
            // Between the entries gap - 1 and gap the member is absent, if the one brought it away.
            let absent = gap == 0 || !self.insertions.contains_key(&order[gap - 1]);
            let begun =
                gap == 0 || self.writer(order[gap - 1]).is_none_or(|w| history.transactions[w].begun < reader.ended);
            let over = order.get(gap).and_then(|token| self.writer(*token)).is_some_and(|writer| {
                let writer = &history.transactions[writer];
                writer.fate == TransactionFate::Committed && writer.ended < reader.begun
            });
            if absent && begun && !over {
                bounds = Some((bounds.map_or(gap, |(first, _)| first), gap));
            }
        }
        let Some((first, last)) = bounds else {
            let taken_away = history.transactions.iter().enumerate().any(|(place, transaction)| {
                hidden(place)
                    && transaction.begun < reader.ended
                    && transaction.changes.iter().any(|change| match change {
                        HistoryWrite::Delete { member: deleted, token } => *deleted == member && !order.contains(token),
                        _ => false,
                    })
            });
            if taken_away {
                return Ok(());
            }
            return Err(format!("a scan missed member {member}, which was there all the time: {reader:?}; {order:?}"));
        };
        if first > 0
            && let Some(writer) = self.writer(order[first - 1])
        {
            graph.add(writer, place, Edge::MissedMember(member));
        }
        if let Some(writer) = order.get(last).and_then(|token| self.writer(*token)) {
            graph.add(place, writer, Edge::MemberChangedBy(member));
        }
        Ok(())
    }
}

fn own_entries(transaction: &ObservedTransaction, list: u64) -> Vec<WriteToken> {
    let own = transaction.changes.iter().filter(|change| match change {
        HistoryWrite::Append { key, .. } => *key == list,
        HistoryWrite::Insert { member, .. } | HistoryWrite::Delete { member, .. } => companion(*member) == list,
        HistoryWrite::Register { .. } | HistoryWrite::Increment { .. } => false,
    });
    own.map(HistoryWrite::token).collect()
}
