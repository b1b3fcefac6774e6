//! Triggers as the catalog keeps them, with the table that they are on.

use serde::{Deserialize, Serialize};

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredTrigger", into = "StoredTrigger")]
pub struct TriggerSchema {
    /// Its name, which no other trigger of the table has.
    pub name: String,
    /// Its object identifier.
    pub oid: u32,
    /// The catalog's name of its function, and the function's object identifier.
    pub function: (String, u32),
    /// When it fires.
    pub timing: TriggerTiming,
    /// Whether it fires for each row: else once for a statement.
    pub is_for_rows: bool,
    /// What it fires for.
    pub events: TriggerEvents,
    /// UPDATE OF: positions of columns; empty: any.
    pub columns: Vec<usize>,
    /// WHEN, as an expression over `old` and `new`.
    pub condition: Option<String>,
    /// What it hands to its function.
    pub arguments: Vec<String>,
    /// Whether it fires at all.
    pub is_enabled: bool,
    /// What the rows that a statement has changed are called in its function.
    pub transitions: TransitionNames,
}

/// When a trigger fires. Rows of the catalog have its number, which was a truth value in earlier versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerTiming {
    /// Behind the change.
    After,
    /// Before it.
    Before,
    /// In its place.
    InsteadOf,
}

/// Names of transition tables: `REFERENCING`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionNames {
    /// The rows as they were.
    pub old: Option<String>,
    /// The rows as they are.
    pub new: Option<String>,
}

impl TransitionNames {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.old.is_none() && self.new.is_none()
    }
}

/// A trigger as rows of the catalog hold it. One without transition tables is as earlier versions wrote it.
#[derive(Clone, Serialize, Deserialize)]
struct StoredTrigger {
    name: String,
    oid: u32,
    function: (String, u32),
    timing: TriggerTiming,
    is_for_rows: bool,
    events: TriggerEvents,
    columns: Vec<usize>,
    condition: Option<String>,
    arguments: Vec<String>,
    form: StoredTriggerForm,
}

/// Earlier versions had a flag in its place, whose bytes are those of the first two.
#[derive(Clone, Serialize, Deserialize)]
enum StoredTriggerForm {
    Off,
    On,
    Detailed { is_enabled: bool, transitions: TransitionNames },
}

impl From<TriggerSchema> for StoredTrigger {
    fn from(trigger: TriggerSchema) -> StoredTrigger {
        let TriggerSchema { name, oid, function, timing, is_for_rows, events, columns, condition, .. } = trigger;
        let (is_enabled, transitions, arguments) = (trigger.is_enabled, trigger.transitions, trigger.arguments);
        let form = match transitions.is_empty() {
            true if is_enabled => StoredTriggerForm::On,
            true => StoredTriggerForm::Off,
            false => StoredTriggerForm::Detailed { is_enabled, transitions },
        };
        StoredTrigger { name, oid, function, timing, is_for_rows, events, columns, condition, arguments, form }
    }
}

impl From<StoredTrigger> for TriggerSchema {
    fn from(stored: StoredTrigger) -> TriggerSchema {
        let StoredTrigger { name, oid, function, timing, is_for_rows, events, columns, condition, arguments, form } =
            stored;
        let (is_enabled, transitions) = match form {
            StoredTriggerForm::Off => (false, TransitionNames::default()),
            StoredTriggerForm::On => (true, TransitionNames::default()),
            StoredTriggerForm::Detailed { is_enabled, transitions } => (is_enabled, transitions),
        };
        TriggerSchema {
            name,
            oid,
            function,
            timing,
            is_for_rows,
            events,
            columns,
            condition,
            arguments,
            is_enabled,
            transitions,
        }
    }
}

/// What a trigger fires for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub struct TriggerEvents {
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
    pub truncate: bool,
}

/// A statement that changes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
    Truncate,
}

impl TriggerEvents {
    /// Whether it is among them.
    pub fn has(self, event: TriggerEvent) -> bool {
        match event {
            TriggerEvent::Insert => self.insert,
            TriggerEvent::Update => self.update,
            TriggerEvent::Delete => self.delete,
            TriggerEvent::Truncate => self.truncate,
        }
    }
}

impl TriggerEvent {
    /// What SQL calls it.
    pub fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }
}

impl TriggerTiming {
    /// What SQL calls it.
    pub fn word(self) -> &'static str {
        match self {
            TriggerTiming::After => "AFTER",
            TriggerTiming::Before => "BEFORE",
            TriggerTiming::InsteadOf => "INSTEAD OF",
        }
    }
}

impl TriggerSchema {
    /// Whether it takes the place of what is done to a row of a view.
    pub fn is_instead_of(&self, event: TriggerEvent) -> bool {
        self.timing == TriggerTiming::InsteadOf && self.events.has(event)
    }

    /// `pg_trigger.tgtype`: what it fires for, when, and for each of what, as bits.
    pub fn bits(&self) -> i16 {
        let bits = [
            (self.is_for_rows, 1),
            (self.timing == TriggerTiming::Before, 2),
            (self.events.insert, 4),
            (self.events.delete, 8),
            (self.events.update, 16),
            (self.events.truncate, 32),
            (self.timing == TriggerTiming::InsteadOf, 64),
        ];
        bits.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As earlier versions had it.
    #[derive(Serialize)]
    struct EarlierTrigger {
        name: String,
        oid: u32,
        function: (String, u32),
        is_before: bool,
        is_for_rows: bool,
        events: TriggerEvents,
        columns: Vec<usize>,
        condition: Option<String>,
        arguments: Vec<String>,
        is_enabled: bool,
    }

    /// If this fails, a site cannot read the triggers that it has kept.
    #[test]
    fn triggers_of_earlier_versions_are_read() {
        for (is_before, is_enabled) in [(true, true), (false, true), (true, false)] {
            let earlier = EarlierTrigger {
                name: "t".to_owned(),
                oid: 7,
                function: ("f".to_owned(), 8),
                is_before,
                is_for_rows: true,
                events: TriggerEvents { insert: true, ..TriggerEvents::default() },
                columns: vec![1],
                condition: Some("true".to_owned()),
                arguments: vec!["a".to_owned()],
                is_enabled,
            };
            let bytes = postcard::to_stdvec(&earlier).expect("encodes");
            let trigger: TriggerSchema = postcard::from_bytes(&bytes).expect("an earlier trigger");
            assert_eq!((trigger.timing == TriggerTiming::Before, trigger.is_enabled), (is_before, is_enabled));
            assert_eq!(postcard::to_stdvec(&trigger).expect("encodes"), bytes);
            let transitions = TransitionNames { old: None, new: Some("n".to_owned()) };
            let detailed = TriggerSchema { transitions, ..trigger };
            let bytes = postcard::to_stdvec(&detailed).expect("encodes");
            assert_eq!(postcard::from_bytes::<TriggerSchema>(&bytes).expect("a trigger"), detailed);
        }
    }
}
