//! The rows of `raid.snapshots`, `raid.snapshot_parts` and `raid.snapshot_progress`: what is in the site's folder of snapshots, and what is being written there.

use super::desk::SnapshotProgress;
use super::files;
use crate::config::SiteConfig;
use crate::layout::orders;
use crate::snapshot::files::Listed;
use messages::{Key, Row, TableId};
use values::{Value, row};

/// Microseconds from 1970 to 2000, where SQL's timestamps count from.
const EPOCH_2000_MICROS: i64 = 946_684_800_000_000;

/// The rows of one of these tables. Errors: the folder cannot be read, or the site's process does not answer.
pub(crate) fn rows(table: TableId, config: &SiteConfig) -> Result<Vec<(Key, Row)>, String> {
    let folder = config.snapshot_folder();
    let listed = || files::list(&folder).map_err(|error| error.to_string());
    let rows: Vec<Vec<Value>> = match table {
        TableId::SNAPSHOTS => {
            let place = folder.display().to_string();
            listed()?.into_iter().map(|listed| snapshot(listed, &place)).collect()
        }
        TableId::SNAPSHOT_PARTS => listed()?.into_iter().flat_map(parts).collect(),
        _ => orders::snapshot_progress(&config.data)?.map(|progress| shown(&progress, config.id)).into_iter().collect(),
    };
    let keyed = |(place, values): (u64, Vec<Value>)| {
        let mut bytes = Vec::new();
        row::encode_row(&values, &mut bytes);
        (Key::new(&place.to_be_bytes()), Row::from(bytes))
    };
    Ok((0..).zip(rows).map(keyed).collect())
}

fn big(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

fn instant(micros: u64) -> Value {
    Value::TimestampTz(i64::try_from(micros).unwrap_or(i64::MAX).saturating_sub(EPOCH_2000_MICROS))
}

fn snapshot((name, manifest): Listed, folder: &str) -> Vec<Value> {
    match manifest {
        Ok(manifest) => vec![
            Value::text(name),
            Value::text("permanent"),
            Value::Integer(manifest.site.into()),
            instant(manifest.taken_us),
            big(manifest.bytes()),
            big(manifest.base_rows),
            big(manifest.epoch),
            Value::text(manifest.instance),
            Value::text(folder),
        ],
        Err(error) => {
            let mut values = vec![Value::Null; 9];
            (values[0], values[1], values[8]) =
                (Value::text(name), Value::text(error.to_string()), Value::text(folder));
            values
        }
    }
}

fn parts((name, manifest): Listed) -> Vec<Vec<Value>> {
    let parts = manifest.map(|manifest| manifest.parts).unwrap_or_default();
    let shown =
        |part: files::Part| vec![Value::text(&*name), Value::text(part.file), big(part.bytes), big(part.frames)];
    parts.into_iter().map(shown).collect()
}

fn shown(progress: &SnapshotProgress, site: u16) -> Vec<Value> {
    vec![
        Value::text(&*progress.name),
        Value::Integer(site.into()),
        Value::text(&*progress.phase),
        instant(progress.began_us),
        big(progress.bytes),
        big(progress.bytes_expected),
        progress.seconds_left.map_or(Value::Null, big),
    ]
}
