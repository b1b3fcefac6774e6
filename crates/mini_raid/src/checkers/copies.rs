//! Equal copies: when everything has settled, all sites hold the same rows in the same versions, and nothing is stale.

use crate::programs::name_of;
use messages::{Key, Row, TableId, Timestamp};

/// What one site holds.
#[derive(Clone, Debug)]
pub struct CopyContents {
    /// Which site.
    pub site: usize,
    /// Storage, key, version and row, in order.
    pub rows: Vec<(TableId, Key, Timestamp, Row)>,
    /// Why it could not be read to the end.
    pub stale: Option<String>,
}

/// Compares all copies. Errors: the first difference.
pub fn check(copies: &[CopyContents]) -> Result<(), String> {
    for copy in copies {
        if let Some(stale) = &copy.stale {
            return Err(format!("site {} still holds something stale: {stale}", copy.site));
        }
    }
    let Some((first, others)) = copies.split_first() else { return Ok(()) };
    for other in others {
        if let Some(difference) = difference(first, other) {
            return Err(difference);
        }
    }
    Ok(())
}

fn difference(left: &CopyContents, right: &CopyContents) -> Option<String> {
    let place =
        (0..left.rows.len().max(right.rows.len())).find(|place| left.rows.get(*place) != right.rows.get(*place))?;
    let tell = |contents: &CopyContents| match contents.rows.get(place) {
        Some((table, key, version, row)) => {
            let text = String::from_utf8_lossy(row);
            format!("site {}: {} {key:?} version {version} {text:?}", contents.site, name_of(*table))
        }
        None => format!("site {}: nothing more", contents.site),
    };
    Some(format!("the copies differ at row {place}:\n  {}\n  {}", tell(left), tell(right)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::EpochNumber;

    fn contents(site: usize, clock: u64) -> CopyContents {
        let version = Timestamp::snapshot(EpochNumber(1), clock);
        CopyContents { site, rows: vec![(TableId(16), Key::new(b"k"), version, Row::from_static(b"v"))], stale: None }
    }

    /// If this fails, copies that drift apart go unnoticed.
    #[test]
    fn equal_rows_of_different_versions_differ() {
        assert_eq!(check(&[contents(1, 5), contents(2, 5)]), Ok(()));
        assert!(check(&[contents(1, 5), contents(2, 6)]).unwrap_err().contains("differ"));
        let stale = CopyContents { stale: Some("x".into()), ..contents(2, 5) };
        assert!(check(&[contents(1, 5), stale]).unwrap_err().contains("stale"));
    }
}
