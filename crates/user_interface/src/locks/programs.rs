//! The programs that read and write the row of a lock.
//!
//! Invariant: a row that is read to be written is locked at this site first, so of the sessions here one after the other has its turn.

use messages::advisory::{AdvisoryKey, AdvisoryOwner, AdvisoryQueue, CHANNEL, PROCESS, table};
use messages::database::DatabaseId;
use messages::notification::PAYLOAD_BYTES_END;
use messages::program::{
    AccessPath, Action, Expression, InsertInput, PrefixBounds, Program, ResultColumn, RowLockStrength, RowSource,
    SelectLock,
};
use messages::{Incarnation, SessionId, SiteId};
use std::sync::Arc;
use values::{Type, Value};

/// Where the claims stand in the table's rows.
const CLAIMS: u16 = 3;

fn constant(value: Value) -> Expression {
    Expression::Constant(value)
}

fn row_of(key: AdvisoryKey) -> RowSource {
    let path = AccessPath::Point(key.values().map(constant).into());
    RowSource { table: table(), path, reverse: false }
}

fn program(actions: Vec<Action>, columns: &[(&str, Type)], read_only: bool) -> Arc<Program> {
    let column = |(name, column_type): &(&str, Type)| ResultColumn {
        name: (*name).to_owned(),
        column_type: *column_type,
        origin: (0, 0),
    };
    Arc::new(Program {
        parameters: Vec::new(),
        actions,
        columns: columns.iter().map(column).collect(),
        relies_on: Arc::default(),
        read_only,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    })
}

fn selection(source: RowSource, lock: Option<SelectLock>) -> Arc<Program> {
    let output = (0..=CLAIMS).map(Expression::Column).collect();
    let action = Action::Select {
        source: Some(source),
        filter: None,
        output,
        offset: None,
        limit: None,
        lock,
        order: Vec::new(),
    };
    let columns =
        [("kind", Type::SmallInt), ("number", Type::BigInt), ("database", Type::Oid), ("claims", Type::Bytea)];
    program(vec![action], &columns, lock.is_none())
}

/// Reads a lock's row, to write it.
pub fn read(key: AdvisoryKey) -> Arc<Program> {
    selection(row_of(key), Some(SelectLock::waiting(RowLockStrength::Update)))
}

/// Reads all of them.
pub fn read_all() -> Arc<Program> {
    let path = AccessPath::KeyRange(PrefixBounds::default());
    selection(RowSource { table: table(), path, reverse: false }, None)
}

/// Writes a lock's row, which was there before or was not, and tells those who have got it.
pub fn write(key: AdvisoryKey, queue: &AdvisoryQueue, was_there: bool, given: &[AdvisoryOwner]) -> Arc<Program> {
    let change = match (crate::locks::queue::is_idle(queue), was_there) {
        (true, _) => Action::Delete { source: row_of(key), filter: None, returning: Vec::new(), guard: None },
        (false, true) => Action::Update {
            source: row_of(key),
            filter: None,
            assignments: vec![(usize::from(CLAIMS), constant(queue.encode()))],
            returning: Vec::new(),
            guard: None,
        },
        (false, false) => {
            let row = key.values().into_iter().chain([queue.encode()]).map(constant).collect();
            Action::Insert {
                table: table(),
                values: (0..=CLAIMS).map(Expression::Column).collect(),
                input: InsertInput::Rows(vec![row]),
                on_conflict: None,
                returning: Vec::new(),
                private: false,
                guard: None,
            }
        }
    };
    let told = payloads(given).into_iter().map(|payload| Action::Notify {
        channel: constant(Value::text(CHANNEL)),
        payload: constant(Value::text(payload)),
        process: PROCESS,
        database: DatabaseId::FIRST,
    });
    program([change].into_iter().chain(told).collect(), &[], false)
}

/// Who is to be told, in as few texts as can be sent.
fn payloads(given: &[AdvisoryOwner]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for AdvisoryOwner { site, incarnation, session } in given {
        let one = format!("{}.{}.{}", site.0, incarnation.0, session.0);
        match all.last_mut().filter(|last| last.len() + 1 + one.len() < PAYLOAD_BYTES_END) {
            Some(last) => {
                last.push(' ');
                last.push_str(&one);
            }
            None => all.push(one),
        }
    }
    all
}

/// Who such a text names.
pub fn told(payload: &str) -> impl Iterator<Item = AdvisoryOwner> {
    payload.split(' ').filter_map(|one| {
        let mut numbers = one.split('.');
        let site = SiteId(numbers.next()?.parse().ok()?);
        let incarnation = Incarnation(numbers.next()?.parse().ok()?);
        let session = SessionId(numbers.next()?.parse().ok()?);
        Some(AdvisoryOwner { site, incarnation, session })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, somebody who has got a lock is not told, or a notification is refused because too many got it.
    #[test]
    fn all_are_told() {
        let owner = |session| AdvisoryOwner { site: SiteId(3), incarnation: Incarnation(40_000), session };
        let given: Vec<AdvisoryOwner> = (0..2_000).map(|number| owner(SessionId(number << 40))).collect();
        let texts = payloads(&given);
        assert!(texts.len() > 1 && texts.iter().all(|text| text.len() < PAYLOAD_BYTES_END));
        let heard: Vec<AdvisoryOwner> = texts.iter().flat_map(|text| told(text)).collect();
        assert_eq!(heard, given);
        assert!(payloads(&[]).is_empty() && told("x 1.2 1.2.x").next().is_none());
    }
}
