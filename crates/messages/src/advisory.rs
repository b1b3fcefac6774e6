//! Advisory locks as rows of a table of the system: for each that anybody holds or awaits, who does.
//!
//! Nothing here decides who gets one: sessions do that, by transactions that read and write one row (`user_interface::locks`). A claim is worth something only
//! while the life of its site belongs to the epoch. As `pg_locks` shows it, each claim of each row is a row.

use crate::database_id::DatabaseId;
use crate::epoch::Epoch;
use crate::item::Row;
use crate::key::Key;
use crate::schema::{Column, TableSchema};
use identifiers::{EpochNumber, Incarnation, SessionId, SiteId, TableId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, LazyLock};
use values::{Type, Value, ValueError, row};

/// The channel on which sessions of all sites are told that they have been given a lock. No client can say anything there.
pub const CHANNEL: &str = "advisory locks";
/// The process id that says it: no session has it.
pub const PROCESS: i32 = i32::MIN;

/// Which lock. In order: those of one number before those of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AdvisoryKey {
    /// What the numbers name. A lock of one kind is no lock of another.
    pub kind: LockedKind,
    /// The first number, or the upper half of the one (`classid`).
    pub class: u32,
    /// The second number, or the lower half of the one (`objid`).
    pub object: u32,
    /// The database in which they name it.
    pub database: DatabaseId,
}

/// What the numbers of a lock name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LockedKind {
    /// One number of the client's.
    Number,
    /// Two numbers of the client's.
    Pair,
    /// A table, by its object identifier (`LOCK TABLE`).
    Table,
}

/// How a lock is held: PostgreSQL's modes, of which locks by number have the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AdvisoryMode {
    /// Beside others that share it.
    Share,
    /// Alone; of a table, beside those that only read.
    Exclusive,
    /// SELECT.
    AccessShare,
    /// SELECT ... FOR UPDATE.
    RowShare,
    /// Changes of rows.
    RowExclusive,
    /// VACUUM.
    ShareUpdateExclusive,
    /// As `Share`, and not beside another of it.
    ShareRowExclusive,
    /// Alone.
    AccessExclusive,
}

/// Who holds or awaits: a session, of one life of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AdvisoryOwner {
    /// The site.
    pub site: SiteId,
    /// Its life.
    pub incarnation: Incarnation,
    /// The session, which is of no other client in that life.
    pub session: SessionId,
}

/// That a session holds or awaits a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AdvisoryClaim {
    /// Who.
    pub owner: AdvisoryOwner,
    /// How.
    pub mode: AdvisoryMode,
    /// The process id of the session.
    pub process: i32,
    /// An epoch to which that life belonged before it made the claim: it is over once a later one is without it.
    pub epoch: EpochNumber,
}

/// All claims on one lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvisoryQueue {
    /// Who holds it.
    pub holders: Vec<AdvisoryClaim>,
    /// Who awaits it, the next one first.
    pub waiters: Vec<AdvisoryClaim>,
}

impl AdvisoryKey {
    /// Named by one number, in the first database.
    pub fn of_number(number: i64) -> AdvisoryKey {
        let bits = number as u64;
        let (class, object) = ((bits >> 32) as u32, bits as u32);
        AdvisoryKey { kind: LockedKind::Number, class, object, database: DatabaseId::FIRST }
    }

    /// Named by two, likewise.
    pub fn of_pair(class: i32, object: i32) -> AdvisoryKey {
        let (class, object) = (class as u32, object as u32);
        AdvisoryKey { kind: LockedKind::Pair, class, object, database: DatabaseId::FIRST }
    }

    /// Of the table with this object identifier, likewise.
    pub fn of_table(oid: u32) -> AdvisoryKey {
        AdvisoryKey { kind: LockedKind::Table, class: 0, object: oid, database: DatabaseId::FIRST }
    }

    /// The same in another database.
    pub fn within(self, database: DatabaseId) -> AdvisoryKey {
        AdvisoryKey { database, ..self }
    }

    /// What `pg_locks` shows as `objsubid`, but for a table.
    pub fn kind(self) -> i16 {
        match self.kind {
            LockedKind::Number => 1,
            LockedKind::Pair => 2,
            LockedKind::Table => 3,
        }
    }

    /// Its values in the table's key.
    pub fn values(self) -> [Value; 3] {
        let number = u64::from(self.class) << 32 | u64::from(self.object);
        [Value::SmallInt(self.kind()), Value::BigInt(number as i64), Value::Oid(self.database.0)]
    }
}

/// As PostgreSQL names it.
impl fmt::Display for AdvisoryKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LockedKind::Table => write!(formatter, "relation {} of database {}", self.object, self.database.0),
            _ => {
                let AdvisoryKey { database: DatabaseId(database), class, object, .. } = self;
                write!(formatter, "advisory lock [{database},{class},{object},{}]", self.kind())
            }
        }
    }
}

impl AdvisoryMode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            AdvisoryMode::Share => "ShareLock",
            AdvisoryMode::Exclusive => "ExclusiveLock",
            AdvisoryMode::AccessShare => "AccessShareLock",
            AdvisoryMode::RowShare => "RowShareLock",
            AdvisoryMode::RowExclusive => "RowExclusiveLock",
            AdvisoryMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            AdvisoryMode::ShareRowExclusive => "ShareRowExclusiveLock",
            AdvisoryMode::AccessExclusive => "AccessExclusiveLock",
        }
    }

    /// Its place in the order of PostgreSQL, from the weakest on.
    fn place(self) -> usize {
        match self {
            AdvisoryMode::AccessShare => 0,
            AdvisoryMode::RowShare => 1,
            AdvisoryMode::RowExclusive => 2,
            AdvisoryMode::ShareUpdateExclusive => 3,
            AdvisoryMode::Share => 4,
            AdvisoryMode::ShareRowExclusive => 5,
            AdvisoryMode::Exclusive => 6,
            AdvisoryMode::AccessExclusive => 7,
        }
    }

    /// Whether two sessions cannot hold a lock in these modes (`LockConflicts` in lock.c).
    pub fn conflicts_with(self, other: AdvisoryMode) -> bool {
        // For each mode, from the weakest on, a bit for each that it conflicts with.
        const CONFLICTS: [u8; 8] =
            [0b1000_0000, 0b1100_0000, 0b1111_0000, 0b1111_1000, 0b1110_1100, 0b1111_1100, 0b1111_1110, 0b1111_1111];
        CONFLICTS[self.place()] & (1 << other.place()) != 0
    }
}

impl AdvisoryClaim {
    /// Whether it is the same session's, in the same mode.
    pub fn is_like(&self, other: &AdvisoryClaim) -> bool {
        self.owner == other.owner && self.mode == other.mode
    }

    /// Whether its owner's life is over, as far as this epoch tells: it belonged to an epoch before, and does not to this one. A life that has left
    /// comes into no epoch again.
    pub fn is_void_in(&self, epoch: &Epoch) -> bool {
        epoch.number >= self.epoch && !epoch.has(self.owner.site, self.owner.incarnation)
    }
}

static TABLE: LazyLock<Arc<TableSchema>> = LazyLock::new(|| {
    let columns =
        [("kind", Type::SmallInt), ("number", Type::BigInt), ("database", Type::Oid), ("claims", Type::Bytea)];
    let columns = columns.map(|(name, column_type)| Column::new(name, column_type, true)).to_vec();
    let table = TableSchema::new("advisory_locks", TableId::ADVISORY_LOCKS, columns);
    Arc::new(TableSchema { primary_key: vec![0, 1, 2], ..table })
});

static SHOWN: LazyLock<Arc<TableSchema>> = LazyLock::new(|| {
    let columns = [
        ("locktype", Type::Text),
        ("database", Type::Oid),
        ("relation", Type::Oid),
        ("page", Type::Integer),
        ("tuple", Type::SmallInt),
        ("virtualxid", Type::Text),
        ("transactionid", Type::BigInt),
        ("classid", Type::Oid),
        ("objid", Type::Oid),
        ("objsubid", Type::SmallInt),
        ("virtualtransaction", Type::Text),
        ("pid", Type::Integer),
        ("mode", Type::Text),
        ("granted", Type::Boolean),
        ("fastpath", Type::Boolean),
        ("waitstart", Type::TimestampTz(None)),
    ];
    let columns = columns.map(|(name, column_type)| Column::new(name, column_type, false)).to_vec();
    Arc::new(TableSchema::new("pg_catalog.pg_locks", TableId::ADVISORY_LOCKS, columns))
});

/// The table that is stored: which lock, and the claims on it.
pub fn table() -> Arc<TableSchema> {
    Arc::clone(&TABLE)
}

/// The same as `pg_locks` shows it: of a batch of its rows [`shown`] makes others.
pub fn shown_table() -> Arc<TableSchema> {
    Arc::clone(&SHOWN)
}

impl AdvisoryQueue {
    /// As the table's last column.
    pub fn encode(&self) -> Value {
        Value::Bytea(postcard::to_stdvec(self).expect("claims always encode").into())
    }

    /// Back from the table's columns. Errors: it is no such row.
    pub fn decode(values: &[Value]) -> Result<(AdvisoryKey, AdvisoryQueue), ValueError> {
        let damaged =
            || ValueError::new(values::error::sqlstate::DATA_CORRUPTED, "a row of an advisory lock is damaged");
        let [kind, Value::BigInt(number), Value::Oid(database), Value::Bytea(claims)] = values else {
            return Err(damaged());
        };
        let of_number = AdvisoryKey::of_number(*number);
        let kind = match kind.as_integer() {
            Some(1) => LockedKind::Number,
            Some(2) => LockedKind::Pair,
            Some(3) => LockedKind::Table,
            _ => return Err(damaged()),
        };
        let key = AdvisoryKey { kind, database: DatabaseId(*database), ..of_number };
        let queue = postcard::from_bytes(claims).map_err(|_| damaged())?;
        Ok((key, queue))
    }
}

/// Rows of the table as `pg_locks` shows them. Errors: one is no such row.
pub fn shown(rows: Vec<(Key, Row)>) -> Result<Vec<(Key, Row)>, ValueError> {
    let mut all = Vec::new();
    for (key, stored) in rows {
        let (lock, queue) = AdvisoryQueue::decode(&row::decode_row(&stored, TABLE.columns.len())?)?;
        let held = queue.holders.iter().map(|claim| (claim, true));
        for (claim, is_granted) in held.chain(queue.waiters.iter().map(|claim| (claim, false))) {
            let mut bytes = Vec::new();
            row::encode_row(&shown_claim(lock, claim, is_granted), &mut bytes);
            all.push((key.clone(), Row::from(bytes)));
        }
    }
    Ok(all)
}

fn shown_claim(lock: AdvisoryKey, claim: &AdvisoryClaim, is_granted: bool) -> [Value; 16] {
    let AdvisoryOwner { site, session, .. } = claim.owner;
    let is_table = lock.kind == LockedKind::Table;
    let by_number = |value: Value| if is_table { Value::Null } else { value };
    [
        Value::text(if is_table { "relation" } else { "advisory" }),
        Value::Oid(lock.database.0),
        if is_table { Value::Oid(lock.object) } else { Value::Null },
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        by_number(Value::Oid(lock.class)),
        by_number(Value::Oid(lock.object)),
        by_number(Value::SmallInt(lock.kind())),
        // A session of a site, where PostgreSQL has a process and its transaction.
        Value::text(format!("{}/{}", site.0, session.0)),
        Value::Integer(claim.process),
        Value::text(claim.mode.name()),
        Value::Boolean(is_granted),
        Value::Boolean(false),
        Value::Null,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(site: u16, mode: AdvisoryMode) -> AdvisoryClaim {
        let owner = AdvisoryOwner { site: SiteId(site), incarnation: Incarnation(4), session: SessionId(9) };
        AdvisoryClaim { owner, mode, process: 77, epoch: EpochNumber(3) }
    }

    /// If this fails, two locks are taken for one, or pg_locks shows other numbers than a client has named.
    #[test]
    fn keys_are_those_that_postgresql_shows() {
        let negative = AdvisoryKey::of_number(-2);
        assert_eq!((negative.class, negative.object, negative.kind()), (u32::MAX, u32::MAX - 1, 1));
        let pair = AdvisoryKey::of_pair(-1, -2);
        assert_ne!(pair, negative);
        assert_eq!(pair.to_string(), "advisory lock [5,4294967295,4294967294,2]");
        let table = AdvisoryKey::of_table(16_384);
        assert_eq!(table.to_string(), "relation 16384 of database 5");
        for key in [
            negative,
            pair,
            table,
            AdvisoryKey::of_number(i64::MIN),
            AdvisoryKey::of_pair(3, i32::MIN).within(DatabaseId(7)),
        ] {
            let [kind, number, database] = key.values();
            let queue = AdvisoryQueue::default();
            assert_eq!(AdvisoryQueue::decode(&[kind, number, database, queue.encode()]), Ok((key, queue)));
        }
        assert!(AdvisoryQueue::decode(&[Value::SmallInt(1), Value::BigInt(1), Value::Null]).is_err());
    }

    /// If this fails, two would have a table that PostgreSQL keeps apart, or wait where it lets both go on.
    #[test]
    fn modes_conflict_as_in_postgresql() {
        use AdvisoryMode::*;
        let modes = [
            AccessShare,
            RowShare,
            RowExclusive,
            ShareUpdateExclusive,
            Share,
            ShareRowExclusive,
            Exclusive,
            AccessExclusive,
        ];
        // The table of the manual, "Table-Level Lock Modes".
        let conflicting =
            [".......x", "......xx", "....xxxx", "...xxxxx", "..xx.xxx", "..xxxxxx", ".xxxxxxx", "xxxxxxxx"];
        for (mode, row) in modes.into_iter().zip(conflicting) {
            let found: String = modes.map(|other| if mode.conflicts_with(other) { 'x' } else { '.' }).iter().collect();
            assert_eq!(found, row, "{}", mode.name());
        }
    }

    /// If this fails, pg_locks leaves out who waits, or calls them holders.
    #[test]
    fn each_claim_is_shown() {
        let queue = AdvisoryQueue {
            holders: vec![claim(1, AdvisoryMode::Share), claim(2, AdvisoryMode::Share)],
            waiters: vec![claim(3, AdvisoryMode::Exclusive)],
        };
        let [kind, number, database] = AdvisoryKey::of_pair(6, 7).within(DatabaseId(9)).values();
        let mut bytes = Vec::new();
        row::encode_row(&[kind, number, database, queue.encode()], &mut bytes);
        let rows = shown(vec![(Key::new(b"k"), Row::from(bytes))]).expect("it is a row");
        let decoded: Vec<Vec<Value>> = rows.iter().map(|(_, row)| row::decode_row(row, 16).expect("a row")).collect();
        let granted: Vec<&Value> = decoded.iter().map(|row| &row[13]).collect();
        assert_eq!(granted, [&Value::Boolean(true), &Value::Boolean(true), &Value::Boolean(false)]);
        assert_eq!(decoded[2][1], Value::Oid(9));
        assert_eq!(decoded[2][7..10], [Value::Oid(6), Value::Oid(7), Value::SmallInt(2)]);
        assert_eq!(decoded[2][11..13], [Value::Integer(77), Value::text("ExclusiveLock")]);
        assert_eq!(SHOWN.columns.len(), 16);
    }
}
