//! ALTER ... OWNER TO, REASSIGN OWNED and DROP OWNED, from tokens to what they ask for.
//!
//! Invariant: what is no such statement is left as it was.

use crate::errors::Result;
use crate::sql::grants::{Object, arguments, comma_separated, object_name};
use crate::sql::role_syntax::{RoleStatement, named};
use crate::sql::words::Words;

/// Parses what stands behind ALTER if it gives something away; `None`: it is something else.
pub(super) fn parse_owner(words: &mut Words) -> Result<Option<RoleStatement>> {
    let mut ahead = Words { text: words.text, rest: words.rest };
    let word = ["procedure", "function", "routine"].into_iter().find(|word| ahead.peek_is(word));
    let object = if let Some(word) = word {
        ahead.advance();
        let Ok(name) = object_name(&mut ahead) else { return Ok(None) };
        Object::Procedure(word, name, arguments(&mut ahead)?)
    } else if ahead.skip(&["sequence"]) {
        if ahead.skip(&["if"]) {
            return Ok(None);
        }
        let Ok(name) = object_name(&mut ahead) else { return Ok(None) };
        Object::Sequence(name)
    } else if ahead.skip(&["schema"]) {
        Object::Schema(ahead.name()?)
    } else if ahead.skip(&["database"]) {
        Object::Database(ahead.name()?)
    } else {
        return Ok(None);
    };
    if !ahead.skip(&["owner"]) {
        return Ok(None);
    }
    ahead.expect("to")?;
    let owner = named(&mut ahead)?;
    *words = ahead;
    Ok(Some(RoleStatement::Owner(object, owner)))
}

/// Parses what stands behind REASSIGN.
pub(super) fn parse_reassign(words: &mut Words) -> Result<RoleStatement> {
    words.expect("owned")?;
    words.expect("by")?;
    let of = comma_separated(words, named)?;
    words.expect("to")?;
    Ok(RoleStatement::Reassign(of, named(words)?))
}

/// Parses what stands behind DROP OWNED.
pub(super) fn parse_drop_owned(words: &mut Words) -> Result<RoleStatement> {
    words.expect("by")?;
    let of = comma_separated(words, named)?;
    let cascade = words.skip(&["cascade"]);
    if !cascade {
        words.skip(&["restrict"]);
    }
    Ok(RoleStatement::DropOwned(of, cascade))
}
