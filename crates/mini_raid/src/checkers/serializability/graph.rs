//! The graph of dependencies, and the search for a cycle in it.
//!
//! Real time is not stored pair by pair: each ended transaction points to a moment, moments point to later moments, and a moment points to
//! whoever began next after it.

use crate::history::{RunHistory, TransactionFate};
use crate::limits::CYCLE_PRINTED_MAX;
use std::collections::VecDeque;

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The second appended to this list after the first.
    Overwrote(u64),
    /// The second read this list with the first's entry as the last.
    Read(u64),
    /// The first read this list without the second's entry.
    OverwrittenBy(u64),
    /// The second read this register as the first wrote it.
    ReadRegister(u64),
    /// The first read this register before the second wrote it.
    RegisterOverwrittenBy(u64),
    /// The second read this counter with what the first had added.
    ReadCounter(u64),
    /// The first read this counter before the second added to it.
    AddedToLater(u64),
    /// The second saw this member, which the first had inserted.
    SawMember(u64),
    /// The second missed this member, which the first had deleted.
    MissedMember(u64),
    /// The first scanned before the second changed this member.
    MemberChangedBy(u64),
    /// The first had ended when the second began.
    RealTime,
}

/// Nodes are transactions, by their place in the history, and behind them moments.
pub struct Graph {
    nodes: usize,
    included: Vec<bool>,
    edges: Vec<Vec<(u32, Edge)>>,
}

impl Graph {
    /// A graph of the transactions that `included` names, without edges.
    pub fn new(history: &RunHistory, included: &dyn Fn(usize) -> bool) -> Graph {
        let nodes = history.transactions.len();
        Graph { nodes, included: (0..nodes).map(included).collect(), edges: vec![Vec::new(); nodes] }
    }

    /// One comes before the other.
    pub fn add(&mut self, from: usize, to: usize, edge: Edge) {
        if from != to && self.included[from] && self.included[to] {
            self.edges[from].push((to as u32, edge));
        }
    }

    /// Whoever began after another had ended comes later.
    pub fn real_time(&mut self, history: &RunHistory) {
        let mut ended: Vec<(u64, usize)> = (0..self.nodes)
            .filter(|place| self.included[*place] && history.transactions[*place].fate == TransactionFate::Committed)
            .map(|place| (history.transactions[place].ended, place))
            .collect();
        ended.sort_unstable();
        self.edges.resize(self.nodes + ended.len(), Vec::new());
        for (order, (_, place)) in ended.iter().enumerate() {
            let moment = (self.nodes + order) as u32;
            self.edges[*place].push((moment, Edge::RealTime));
            if order + 1 < ended.len() {
                self.edges[self.nodes + order].push((moment + 1, Edge::RealTime));
            }
        }
        for place in (0..self.nodes).filter(|place| self.included[*place]) {
            let begun = history.transactions[place].begun;
            let before = ended.partition_point(|(time, _)| *time < begun);
            if before > 0 {
                self.edges[self.nodes + before - 1].push((place as u32, Edge::RealTime));
            }
        }
    }

    /// A shortest cycle, in words; `None`: there is an order.
    pub fn cycle(&self, history: &RunHistory) -> Option<String> {
        let component = self.component()?;
        let mut shortest: Option<Vec<(usize, Edge)>> = None;
        for start in component.iter().copied().filter(|node| *node < self.nodes).take(200) {
            if let Some(cycle) = self.shortest_from(start, &component)
                && shortest.as_ref().is_none_or(|known| cycle.len() < known.len())
            {
                shortest = Some(cycle);
            }
        }
        let cycle = shortest.expect("a strong component has a cycle through a transaction");
        let mut text = format!("not strictly serializable, a cycle of {}:", cycle.len());
        for (place, edge) in cycle.iter().take(CYCLE_PRINTED_MAX) {
            let transaction = &history.transactions[*place];
            text += &format!("\n  [{place}] {transaction:?}\n      before the next by {edge:?}");
        }
        Some(text)
    }

    /// The first strong component with more than one node (Tarjan, without recursion).
    fn component(&self) -> Option<Vec<usize>> {
        const UNSEEN: u32 = u32::MAX;
        let count = self.edges.len();
        let (mut index, mut low) = (vec![UNSEEN; count], vec![0u32; count]);
        let mut on_stack = vec![false; count];
        let (mut stack, mut calls): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        let mut next = 0;
        for root in 0..count {
            if index[root] != UNSEEN {
                continue;
            }
            calls.push((root, 0));
            while let Some((node, edge)) = calls.pop() {
                if edge == 0 {
                    (index[node], low[node]) = (next, next);
                    next += 1;
                    stack.push(node);
                    on_stack[node] = true;
                } else {
                    let child = self.edges[node][edge - 1].0 as usize;
                    low[node] = low[node].min(low[child]);
                }
                let mut descend = None;
                for (place, (child, _)) in self.edges[node].iter().enumerate().skip(edge) {
                    let child = *child as usize;
                    if index[child] == UNSEEN {
                        descend = Some((place, child));
                        break;
                    }
                    if on_stack[child] {
                        low[node] = low[node].min(index[child]);
                    }
                }
                if let Some((place, child)) = descend {
                    calls.push((node, place + 1));
                    calls.push((child, 0));
                } else if low[node] == index[node] {
                    let start = stack.iter().rposition(|other| *other == node).expect("it is on the stack");
                    let component = stack.split_off(start);
                    component.iter().for_each(|member| on_stack[*member] = false);
                    if component.len() > 1 {
                        return Some(component);
                    }
                }
            }
        }
        None
    }

    /// A shortest way from a transaction back to itself within a component; moments cost nothing.
    fn shortest_from(&self, start: usize, component: &[usize]) -> Option<Vec<(usize, Edge)>> {
        let inside: std::collections::BTreeSet<usize> = component.iter().copied().collect();
        let mut from: std::collections::BTreeMap<usize, (usize, Edge)> = std::collections::BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for (child, edge) in &self.edges[node] {
                let child = *child as usize;
                if child == start {
                    return Some(self.way_back(start, node, *edge, &from));
                }
                if inside.contains(&child) && !from.contains_key(&child) {
                    from.insert(child, (node, *edge));
                    if child >= self.nodes { queue.push_front(child) } else { queue.push_back(child) }
                }
            }
        }
        None
    }

    fn way_back(
        &self,
        start: usize,
        last: usize,
        edge: Edge,
        from: &std::collections::BTreeMap<usize, (usize, Edge)>,
    ) -> Vec<(usize, Edge)> {
        let mut way = Vec::new();
        let (mut node, mut edge) = (last, edge);
        loop {
            if node < self.nodes {
                way.push((node, edge));
            }
            if node == start {
                break;
            }
            (node, edge) = from[&node];
        }
        way.reverse();
        way
    }
}
