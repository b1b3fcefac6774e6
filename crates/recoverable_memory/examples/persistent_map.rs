//! A map on disk that is a data structure in memory: `cargo run -p recoverable_memory --example persistent_map -- --help`.
//!
//! Invariants:
//! * every entry is in the list of its key's bucket or in the list of free ones, and in one place of it;
//! * a command is one transaction: killed at any moment, the map has what it had or what it was to have.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use recoverable_memory::transaction::RestoreMode;
use recoverable_memory::{CommitMode, Enlisted, Memory, Offset, RangeError, RecoverableMemoryOptions, Region};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

const HELP: &str = "\
Keeps keys and values in a folder. A key has up to 63 bytes, a value up to 447; there is room for about 32,000.

  persistent_map FOLDER insert KEY VALUE   puts in, or replaces
  persistent_map FOLDER get KEY            prints the value; status 1 if there is none
  persistent_map FOLDER remove KEY         status 1 if there is none
  persistent_map FOLDER list               prints all, a line each: key, tab, value
  persistent_map FOLDER serve              reads such commands from standard input, a line each; answers when they are durable
";

const SEGMENT: &str = "map";
const SEGMENT_BYTES: u64 = 16 << 20;
const BUCKETS: usize = 4096;
const KEY_BYTES: usize = 64;
const VALUE_BYTES: usize = 448;

/// At offset 0.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Root {
    /// Where the part begins that was never used; 0 in a new map.
    unused: u64,
    /// Entries that were removed.
    free: Offset<Entry>,
    buckets: [Offset<Entry>; BUCKETS],
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Entry {
    next: Offset<Entry>,
    key: Text<KEY_BYTES>,
    value: Text<VALUE_BYTES>,
}

/// Text in the front, zeros behind it.
#[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(transparent)]
struct Text<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Text<BYTES> {
    fn new(text: &str) -> Result<Text<BYTES>, String> {
        if text.len() >= BYTES || text.bytes().any(|byte| byte == 0) {
            return Err(format!("`{text}` has {} bytes, or a zero among them; {} are the most", text.len(), BYTES - 1));
        }
        let mut bytes = [0; BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Text(bytes))
    }

    fn text(&self) -> String {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(BYTES);
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

const ROOT: Offset<Root> = Offset::new(0);

/// Where the head of a key's list stands. By FNV-1a: the standard library's hash may be another one in its next release, and the
/// places of what is on disk may not.
fn bucket(key: &Text<KEY_BYTES>) -> Offset<Offset<Entry>> {
    let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let index = key.0.iter().fold(0xcbf2_9ce4_8422_2325, mix) % BUCKETS as u64;
    Offset::new(std::mem::offset_of!(Root, buckets) as u64 + index * size_of::<Offset<Entry>>() as u64)
}

/// The key's entry, and the link that leads to it.
fn find<M: RestoreMode>(
    map: &Enlisted<'_, '_, M>,
    key: &Text<KEY_BYTES>,
) -> Result<(Offset<Offset<Entry>>, Offset<Entry>), RangeError> {
    let mut link = bucket(key);
    let mut at = *map.get(link)?;
    while !at.is_null() {
        let entry = map.get(at)?;
        if entry.key == *key {
            break;
        }
        // The link is an entry's first field.
        link = Offset::new(at.bytes());
        at = entry.next;
    }
    Ok((link, at))
}

fn insert<M: RestoreMode>(map: &mut Enlisted<'_, '_, M>, key: &str, value: &str) -> Result<(), Box<dyn Error>> {
    let (key, value) = (Text::new(key)?, Text::new(value)?);
    let (_, found) = find(map, &key)?;
    if !found.is_null() {
        map.set(found)?.value = value;
        return Ok(());
    }
    let root = map.get(ROOT)?;
    let (free, unused) = (root.free, root.unused.max(size_of::<Root>() as u64));
    let (unused_at, free_at) = (Offset::<u64>::new(0), Offset::<Offset<Entry>>::new(8));
    let at = if free.is_null() {
        if unused + size_of::<Entry>() as u64 > map.range().end {
            return Err("the map is full".into());
        }
        *map.set(unused_at)? = unused + size_of::<Entry>() as u64;
        Offset::new(unused)
    } else {
        *map.set(free_at)? = map.get(free)?.next;
        free
    };
    let head = bucket(&key);
    let next = *map.get(head)?;
    *map.set(at)? = Entry { next, key, value };
    *map.set(head)? = at;
    Ok(())
}

fn remove<M: RestoreMode>(map: &mut Enlisted<'_, '_, M>, key: &str) -> Result<bool, Box<dyn Error>> {
    let (link, found) = find(map, &Text::new(key)?)?;
    if found.is_null() {
        return Ok(false);
    }
    let free_at = Offset::<Offset<Entry>>::new(8);
    *map.set(link)? = map.get(found)?.next;
    let free = *map.get(free_at)?;
    *map.set(Offset::<Offset<Entry>>::new(found.bytes()))? = free;
    *map.set(free_at)? = found;
    Ok(true)
}

fn list(region: &Region) -> Result<Vec<(String, String)>, RangeError> {
    let mut entries = Vec::new();
    for &head in &region.get(ROOT)?.buckets {
        let mut at = head;
        while !at.is_null() {
            let entry = region.get(at)?;
            entries.push((entry.key.text(), entry.value.text()));
            at = entry.next;
        }
    }
    entries.sort();
    Ok(entries)
}

/// Runs a command. `Ok(None)`: there is no such key.
fn run(memory: &Memory, region: &mut Region, command: &[&str]) -> Result<Option<String>, Box<dyn Error>> {
    match command {
        ["list"] => {
            let lines = list(region)?.into_iter().map(|(key, value)| format!("{key}\t{value}"));
            return Ok(Some(lines.collect::<Vec<_>>().join("\n")));
        }
        ["get", key] => {
            let transaction = memory.begin();
            let map = transaction.enlist(region)?;
            let (_, found) = find(&map, &Text::new(key)?)?;
            return Ok(if found.is_null() { None } else { Some(map.get(found)?.value.text()) });
        }
        _ => {}
    }
    let transaction = memory.begin();
    let mut map = transaction.enlist(region)?;
    let there = match command {
        ["insert", key, value] => insert(&mut map, key, value).map(|()| true)?,
        ["remove", key] => remove(&mut map, key)?,
        _ => return Err(format!("`{}` is no command; see --help", command.join(" ")).into()),
    };
    transaction.commit(CommitMode::Flush)?;
    Ok(there.then(|| "ok".to_string()))
}

fn serve(memory: &Memory, region: &mut Region) -> Result<(), Box<dyn Error>> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        // A value may have blanks.
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match run(memory, region, &words) {
            Ok(answer) => writeln!(output, "{}", answer.unwrap_or_else(|| "none".to_string()))?,
            Err(error) => writeln!(output, "error: {error}")?,
        }
        output.flush()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match start() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("persistent_map: {error}");
            ExitCode::from(2)
        }
    }
}

fn start() -> Result<ExitCode, Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((folder, command)) =
        words.split_first().filter(|(first, rest)| !first.starts_with('-') && !rest.is_empty())
    else {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    let memory = Memory::open_or_create(Path::new(folder), RecoverableMemoryOptions::default())?;
    if memory.segment_bytes(SEGMENT)?.is_none() {
        memory.create_segment(SEGMENT, SEGMENT_BYTES)?;
    }
    let mut region = memory.map_all(SEGMENT)?;
    if command == ["serve"] {
        serve(&memory, &mut region)?;
        return Ok(ExitCode::SUCCESS);
    }
    match run(&memory, &mut region, command)? {
        Some(answer) => println!("{answer}"),
        None => return Ok(ExitCode::FAILURE),
    }
    Ok(ExitCode::SUCCESS)
}
