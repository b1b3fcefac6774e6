//! What the sessions of a process are doing: `pg_stat_activity`, for all user interfaces of the process.
//!
//! Invariant: a session writes to its own entry only, and locks are held for moments.

use crate::counters::SessionState;
use messages::query::SessionActivity;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

type ActivityEntry = Arc<Mutex<SessionActivity>>;

/// A session's entry, and the state that it shows.
#[derive(Debug)]
pub(crate) struct ShownActivity {
    pub entry: ActivityEntry,
    pub state: SessionState,
}

/// The entries of all sessions of a process.
#[derive(Debug, Default)]
pub struct ActivityBoard {
    sessions: Mutex<BTreeMap<i32, Weak<Mutex<SessionActivity>>>>,
}

impl ActivityBoard {
    /// A session that has been let in. It is listed as long as it keeps its entry.
    pub(crate) fn enter(&self, activity: SessionActivity) -> ShownActivity {
        let process = activity.process;
        let entry = Arc::new(Mutex::new(activity));
        let mut sessions = locked(&self.sessions);
        sessions.retain(|_, known| known.strong_count() > 0);
        sessions.insert(process, Arc::downgrade(&entry));
        ShownActivity { entry, state: SessionState::Starting }
    }

    /// The role that logged in with this process id; `None`: there is no such session.
    pub(crate) fn role_of(&self, process: i32) -> Option<u32> {
        let entry = locked(&self.sessions).get(&process).and_then(Weak::upgrade)?;
        let role = locked(&entry).role;
        Some(role)
    }

    /// The process ids of the sessions in a database, but for this one.
    pub(crate) fn sessions_in(&self, database: &str, but: Option<i32>) -> Vec<i32> {
        let entries: Vec<ActivityEntry> = locked(&self.sessions).values().filter_map(Weak::upgrade).collect();
        let of = |entry: &ActivityEntry| {
            let known = locked(entry);
            (known.database == database && Some(known.process) != but).then_some(known.process)
        };
        entries.iter().filter_map(of).collect()
    }

    /// What all of them are doing, by their process ids.
    pub(crate) fn all(&self) -> Arc<[SessionActivity]> {
        let entries: Vec<ActivityEntry> = locked(&self.sessions).values().filter_map(Weak::upgrade).collect();
        entries.iter().map(|entry| locked(entry).clone()).collect()
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of this lock panics")
}
