//! The columns of a result: names, types, and the columns of tables that they are.

use super::catalog::SnapshotCatalog;
use super::stored;
use super::system::WrittenAs;
use analyzer::tree::{EntryKind, ExprId, Node, QueryId, Tree};
use analyzer::types::{CHAR, INTERVAL};
use messages::namespace;
use messages::program::ResultColumn;
use values::Type;

/// How many queries a column is followed through.
const QUERIES_MAX: usize = 64;

/// The columns of a query's rows; `None` if one is of a type that results do not have.
pub(crate) fn columns(tree: &Tree, query: QueryId, names: &SnapshotCatalog<'_>) -> Option<Vec<ResultColumn>> {
    let shown = tree[query].targets.iter().filter(|target| !target.junk);
    shown
        .map(|target| {
            let typed = tree[target.value].typed;
            if WrittenAs::of(typed.id).is_some() {
                let (name, origin) = (target.name.clone(), origin(tree, query, target.value).unwrap_or_default());
                return Some(ResultColumn { name, column_type: Type::Text, origin });
            }
            // Of system relations it is a text, as all kinds of texts are.
            let is_char = typed.id == CHAR && !names.shows_catalog();
            let is_told = |held: &Type| !is_char && (typed.id != INTERVAL || held.typmod() == typed.modifier);
            let column_type = stored(typed, names).filter(is_told)?;
            let origin = origin(tree, query, target.value).unwrap_or_default();
            // A cast is called as its type is, which may have the number of a schema in it.
            let name = namespace::shown(&target.name).into_owned();
            Some(ResultColumn { name, column_type, origin })
        })
        .collect()
}

/// The table and the number of the column that an expression is, if it is one and nothing else.
fn origin(tree: &Tree, query: QueryId, value: ExprId) -> Option<(u32, i16)> {
    // The queries around the one that is looked at, which is the last.
    let mut around = vec![query];
    let mut value = value;
    for _ in 0..QUERIES_MAX {
        let Node::Column { levels_up, entry, column } = &tree[value].node else { return None };
        around.truncate(around.len().checked_sub(*levels_up as usize)?);
        let of = &tree[*around.last()?];
        // A query of several is of none of its tables.
        let inner = match &of.range_table.get(*entry as usize)?.kind {
            EntryKind::Relation { relation, .. } => return Some((relation.0, i16::try_from(*column).ok()? + 1)),
            EntryKind::Join { columns, .. } => {
                value = *columns.get(*column as usize)?;
                continue;
            }
            EntryKind::Query(inner) => *inner,
            EntryKind::Common { levels_up, number, itself: false } => {
                let holder = around.len().checked_sub(1 + *levels_up as usize)?;
                around.truncate(holder + 1);
                tree[*around.last()?].with.get(*number as usize)?.query?
            }
            _ => return None,
        };
        if tree[inner].set_operation.is_some() {
            return None;
        }
        let mut shown = tree[inner].targets.iter().filter(|target| !target.junk);
        value = shown.nth(*column as usize)?.value;
        around.push(inner);
    }
    None
}
