//! The copy of a site, as an access manager keeps it: only which version an item has.

use crate::world::{Node, TABLE};
use messages::access::{AccessReply, Copies, CopyRequest, StaleSet};
use messages::{Item, KeyRange};

/// The copy, as an access manager keeps it.
impl Node {
    pub fn mark(&mut self, stale: &StaleSet) {
        self.stale.items.tree_mut().extend(stale.items.iter());
        self.stale.storages.extend(&stale.storages);
        self.stale.everything |= stale.everything;
    }

    pub fn is_stale(&self, item: &Item) -> bool {
        self.stale.everything || self.stale.storages.contains(&item.table) || self.stale.items.tree().contains(item)
    }

    pub fn stale_left(&self) -> u64 {
        (self.stale.items.len() + self.stale.storages.len()) as u64 + u64::from(self.stale.everything)
    }

    pub fn next_stale(&self, wanted: Option<&KeyRange>) -> Option<CopyRequest> {
        if self.stale.everything {
            return Some(CopyRequest::Storages);
        }
        if let Some(table) = self.stale.storages.first() {
            return Some(CopyRequest::Range { from: Box::new(KeyRange::whole(*table)) });
        }
        let in_range = |item: &&Item| wanted.is_none_or(|range| range.contains(item.key.as_bytes()));
        let items: Vec<Item> = self.stale.items.tree().iter().filter(in_range).cloned().collect();
        (!items.is_empty()).then_some(CopyRequest::Items(items))
    }

    pub fn read_copies(&self, wanted: &CopyRequest) -> Copies {
        let version = |item: &Item| self.rows.get(item).copied().unwrap_or_default();
        match wanted {
            CopyRequest::Items(items) => {
                let fresh = items.iter().filter(|item| !self.is_stale(item));
                Copies::Items(fresh.map(|item| (item.clone(), version(item), None)).collect())
            }
            CopyRequest::Range { from } => {
                let rows = self.rows.iter().map(|(item, version)| (item.key.clone(), *version, None)).collect();
                Copies::Range { range: (**from).clone(), rows }
            }
            CopyRequest::Storages => Copies::Storages(vec![TABLE]),
        }
    }

    pub fn install(&mut self, copies: &Copies) -> AccessReply {
        let (mut items, mut storages) = (Vec::new(), Vec::new());
        match copies {
            Copies::Items(copies) => {
                for (item, version, _) in copies.iter().filter(|(item, ..)| self.stale.items.tree().contains(item)) {
                    self.rows.insert(item.clone(), *version);
                    items.push(item.clone());
                }
                self.stale.items.tree_mut().retain(|item| !items.contains(item));
            }
            Copies::Range { range, rows } => {
                let taken = rows.iter().map(|(key, version, _)| (Item { table: TABLE, key: key.clone() }, *version));
                self.rows = taken.collect();
                self.stale.storages.remove(&range.table);
                storages.push(range.table);
            }
            Copies::Storages(listed) => {
                self.stale.everything = false;
                self.stale.storages.extend(listed);
            }
        }
        AccessReply::Refreshed { items, storages }
    }
}
