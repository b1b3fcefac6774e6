//! A server of files by pages, as workstations without a disk have them, and of programs, which it moves into their memory.
//!
//! `cargo run --release -p message_transactions --example page_server`. A page comes with the reply, or goes with the request: two packets each. To read
//! a page twice is to read it once. To write one twice is not: a late copy of a write would undo the next one, so it is executed exactly
//! once. A program is loaded as in V: its first page says how long it is, and the rest is moved in units. Tables 3-9 to 3-12 of the thesis.

#[path = "common/hosts.rs"]
mod hosts;

use message_transactions::ProcessId;
use message_transactions::host::faulty::{FaultyTransport, PacketFaults};
use message_transactions::host::transport::PacketTransport;
use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess, ReceivedCall};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

const PAGE_BYTES: usize = 512;
const PAGES_MAX: u64 = 1 << 20;
const OPEN_FILES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 64;
const UNIT_BYTES_MAX: u32 = 64 << 10;
const UNITS: [u32; 4] = [1 << 10, 4 << 10, 16 << 10, UNIT_BYTES_MAX];
/// Bytes of a program beside its first page.
const IMAGE_BYTES_MAX: usize = 1 << 24;
const PROGRAM_MARK: &[u8; 8] = b"program\n";
const _: () = assert!(PAGE_BYTES < message_transactions::limits::MESSAGE_BYTES_MAX, "a page travels with its message");

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What a client says.
#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// For a number that stands for a file, which is made if it is not there. Harmless when it comes twice.
    Open { name: String },
    /// For a page, into the memory that is lent. Harmless when it comes twice.
    ReadPage { file: u32, page: u64 },
    /// That the page that is lent be written.
    WritePage { file: u32, page: u64 },
    /// For all but the first page of a file, in units of so many bytes. Harmless when it comes twice.
    Load { file: u32, unit: u32 },
    /// That the server end.
    Stop,
}

/// What the server says to it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Answer {
    /// The file's number, and how many bytes it has.
    Opened { file: u32, bytes: u64 },
    /// So many bytes were read, written or moved.
    Done { bytes: u64 },
    /// It was not done, for a reason.
    Refused(Refusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Refusal {
    NotUnderstood,
    BadName,
    TooManyOpen,
    NotOpen,
    BadPage,
    BadUnit,
    DiskFailed,
}

/// The server: the files of one folder.
struct Files {
    folder: PathBuf,
    open: Vec<(String, File)>,
}

impl Files {
    /// Serves until it is told to stop.
    fn serve<T: PacketTransport>(mut self, server: &mut HostProcess<T>) -> Result<(), HostError> {
        loop {
            let call = server.receive()?;
            let ask = postcard::from_bytes(call.message());
            let stops = matches!(ask, Ok(Ask::Stop));
            let served = self.serve_one(server, call, ask.ok());
            // Any other error is the client's, who does not wait any more.
            if let Err(HostError::System(_)) = served {
                return served;
            }
            if stops {
                return Ok(());
            }
        }
    }

    fn serve_one<T: PacketTransport>(
        &mut self,
        server: &mut HostProcess<T>,
        call: ReceivedCall,
        ask: Option<Ask>,
    ) -> Result<(), HostError> {
        let mut page = Vec::new();
        let done = match ask {
            None => Err(Refusal::NotUnderstood),
            Some(Ask::Stop) => Ok(Answer::Done { bytes: 0 }),
            Some(Ask::Open { name }) => self.open(name),
            Some(Ask::ReadPage { file, page: number }) => self.read(file, number, call.rights().bytes, &mut page),
            Some(Ask::WritePage { file, page: number }) => {
                page = taken(server, &call)?;
                self.write(file, number, &page).inspect(|_| page.clear())
            }
            Some(Ask::Load { file, unit }) => match self.loadable(file, unit) {
                Ok(file) => load(server, &call, file, unit as usize)?,
                Err(refusal) => Err(refusal),
            },
        };
        let answer = done.unwrap_or_else(|refusal| {
            page.clear();
            Answer::Refused(refusal)
        });
        server.reply_with(call, &encoded(&answer), 0, &page)
    }

    /// Names stand for files of this folder and for nothing above or below it.
    fn open(&mut self, name: String) -> Result<Answer, Refusal> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(plain) {
            return Err(Refusal::BadName);
        }
        let at = match self.open.iter().position(|(known, _)| *known == name) {
            Some(at) => at,
            None if self.open.len() >= OPEN_FILES_MAX => return Err(Refusal::TooManyOpen),
            None => {
                let mut options = OpenOptions::new();
                options.read(true).write(true).create(true).truncate(false);
                let file = options.open(self.folder.join(&name)).map_err(|_| Refusal::DiskFailed)?;
                self.open.push((name, file));
                self.open.len() - 1
            }
        };
        let metadata = self.open[at].1.metadata().map_err(|_| Refusal::DiskFailed)?;
        Ok(Answer::Opened { file: at as u32, bytes: metadata.len() })
    }

    fn file(&self, number: u32) -> Result<&File, Refusal> {
        self.open.get(number as usize).map(|(_, file)| file).ok_or(Refusal::NotOpen)
    }

    fn loadable(&self, file: u32, unit: u32) -> Result<&File, Refusal> {
        if unit == 0 || unit > UNIT_BYTES_MAX { Err(Refusal::BadUnit) } else { self.file(file) }
    }

    /// Reads a page, or what the client has room for, or what there is of it.
    fn read(&self, file: u32, number: u64, room: u64, page: &mut Vec<u8>) -> Result<Answer, Refusal> {
        if number >= PAGES_MAX {
            return Err(Refusal::BadPage);
        }
        page.resize(PAGE_BYTES.min(room as usize), 0);
        let bytes = read_full(self.file(file)?, page, number * PAGE_BYTES as u64).map_err(|_| Refusal::DiskFailed)?;
        page.truncate(bytes);
        Ok(Answer::Done { bytes: bytes as u64 })
    }

    fn write(&self, file: u32, number: u64, page: &[u8]) -> Result<Answer, Refusal> {
        if number >= PAGES_MAX || page.len() != PAGE_BYTES {
            return Err(Refusal::BadPage);
        }
        let written = self.file(file)?.write_all_at(page, number * PAGE_BYTES as u64);
        written.map(|()| Answer::Done { bytes: PAGE_BYTES as u64 }).map_err(|_| Refusal::DiskFailed)
    }
}

/// The page that a client lends; one byte more if it is too long, so that it is refused.
fn taken<T: PacketTransport>(server: &mut HostProcess<T>, call: &ReceivedCall) -> Result<Vec<u8>, HostError> {
    let mut page = vec![0; (call.rights().bytes as usize).min(PAGE_BYTES + 1)];
    let travelled = call.data().len().min(page.len());
    page[..travelled].copy_from_slice(&call.data()[..travelled]);
    // What had to be left behind is fetched.
    if travelled < page.len() {
        server.read(call, travelled as u64, &mut page[travelled..])?;
    }
    Ok(page)
}

/// Moves all but the first page of a file to the client's memory, as far as it reaches.
fn load<T: PacketTransport>(
    server: &mut HostProcess<T>,
    call: &ReceivedCall,
    file: &File,
    unit: usize,
) -> Result<Result<Answer, Refusal>, HostError> {
    let (mut buffer, mut moved) = (vec![0; unit], 0);
    while moved < call.rights().bytes {
        let wanted = buffer.len().min((call.rights().bytes - moved) as usize);
        let Ok(bytes) = read_full(file, &mut buffer[..wanted], PAGE_BYTES as u64 + moved) else {
            return Ok(Err(Refusal::DiskFailed));
        };
        if bytes == 0 {
            break;
        }
        server.write(call, moved, &buffer[..bytes])?;
        moved += bytes as u64;
    }
    Ok(Ok(Answer::Done { bytes: moved }))
}

/// Reads until the buffer is full or the file ends.
fn read_full(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut bytes = 0;
    while bytes < buffer.len() {
        match file.read_at(&mut buffer[bytes..], at + bytes as u64)? {
            0 => break,
            read => bytes += read,
        }
    }
    Ok(bytes)
}

fn encoded(said: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(said).expect("these have only what can be encoded")
}

/// A workstation without a disk: the routines that stand for the server.
struct Workstation<T: PacketTransport> {
    process: HostProcess<T>,
    server: ProcessId,
}

impl<T: PacketTransport> Workstation<T> {
    fn answer(&mut self, request: BlockedRequest<'_>) -> Outcome<Answer> {
        Ok(postcard::from_bytes(&self.process.send(self.server, request)?.message)?)
    }

    fn bytes(&mut self, request: BlockedRequest<'_>) -> Outcome<usize> {
        match self.answer(request)? {
            Answer::Done { bytes } => Ok(bytes as usize),
            other => Err(format!("the page server answered {other:?}").into()),
        }
    }

    fn open(&mut self, name: &str) -> Outcome<(u32, u64)> {
        match self.answer(BlockedRequest::at_least_once(&encoded(&Ask::Open { name: name.to_owned() })))? {
            Answer::Opened { file, bytes } => Ok((file, bytes)),
            other => Err(format!("the page server answered {other:?}").into()),
        }
    }

    fn read_page(&mut self, file: u32, page: u64, into: &mut [u8; PAGE_BYTES]) -> Outcome<usize> {
        self.bytes(BlockedRequest::at_least_once(&encoded(&Ask::ReadPage { file, page })).writable(into))
    }

    fn write_page(&mut self, file: u32, page: u64, from: &[u8; PAGE_BYTES]) -> Outcome<usize> {
        self.bytes(BlockedRequest::exactly_once(&encoded(&Ask::WritePage { file, page })).readable(from))
    }

    /// Loads a program: first the page that says how long its code and data are, then these.
    fn load(&mut self, file: u32, unit: u32) -> Outcome<Vec<u8>> {
        let mut first = [0; PAGE_BYTES];
        self.read_page(file, 0, &mut first)?;
        if !first.starts_with(PROGRAM_MARK) {
            return Err("this file is no program".into());
        }
        let word = |at: usize| first[at..at + 4].iter().rev().fold(0, |word, &byte| word << 8 | usize::from(byte));
        let bytes = word(8).saturating_add(word(12));
        if bytes > IMAGE_BYTES_MAX {
            return Err(format!("this program has {bytes} bytes; {IMAGE_BYTES_MAX} can be loaded").into());
        }
        let mut image = vec![0; bytes];
        let load = encoded(&Ask::Load { file, unit });
        let moved = self.bytes(BlockedRequest::at_least_once(&load).writable(&mut image))?;
        if moved == bytes { Ok(image) } else { Err(format!("{moved} of {bytes} bytes are there").into()) }
    }
}

/// Code and data of a program, and the file that it stands in.
fn program(code_bytes: u32, data_bytes: u32) -> (Vec<u8>, Vec<u8>) {
    let image: Vec<u8> = (0..code_bytes + data_bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut file = PROGRAM_MARK.to_vec();
    file.extend(code_bytes.to_le_bytes());
    file.extend(data_bytes.to_le_bytes());
    file.resize(PAGE_BYTES, 0);
    file.extend(&image);
    (image, file)
}

/// What one check or measurement does.
type Task<T, R> = fn(&mut Workstation<T>, &Path) -> Outcome<R>;

/// Does something at one host with a page server at that or another one.
fn with_server<T: PacketTransport, R>(here: &Host<T>, there: &Host<T>, task: Task<T, R>) -> Outcome<R> {
    let folder = tempfile::tempdir()?;
    let files = Files { folder: folder.path().to_owned(), open: Vec::new() };
    let mut server = there.process()?;
    let mut workstation = Workstation { process: here.process()?, server: server.id() };
    let served = std::thread::spawn(move || files.serve(&mut server).map_err(|error| error.to_string()));
    let result = task(&mut workstation, folder.path())?;
    workstation.bytes(BlockedRequest::exactly_once(&encoded(&Ask::Stop)))?;
    served.join().map_err(|_| "the page server panicked")??;
    Ok(result)
}

/// Writes, overwrites, reads and loads, and looks at every byte.
fn check<T: PacketTransport>(workstation: &mut Workstation<T>, folder: &Path) -> Outcome<()> {
    const PAGES: u64 = 60;
    let page = |number: u64, version: u64| -> [u8; PAGE_BYTES] {
        std::array::from_fn(|at| (at as u64 * 3 + number * 7 + version * 11) as u8)
    };
    let (file, bytes) = workstation.open("notes")?;
    assert_eq!(bytes, 0, "it was not there");
    for number in 0..PAGES {
        for version in 0..3 {
            assert_eq!(workstation.write_page(file, number, &page(number, version))?, PAGE_BYTES);
        }
    }
    let mut read = [0; PAGE_BYTES];
    for number in (0..PAGES).rev() {
        assert_eq!(workstation.read_page(file, number, &mut read)?, PAGE_BYTES);
        assert!(read == page(number, 2), "page {number} is as it was written last");
    }
    assert_eq!(workstation.read_page(file, PAGES, &mut read)?, 0, "there the file ends");
    let expected: Vec<u8> = (0..PAGES).flat_map(|number| page(number, 2)).collect();
    assert!(std::fs::read(folder.join("notes"))? == expected, "the file has what was written");

    // A length that no unit divides.
    let (image, bytes) = program(50_001, 31_000);
    std::fs::write(folder.join("editor"), &bytes)?;
    let (file, bytes) = workstation.open("editor")?;
    assert_eq!(bytes, (PAGE_BYTES + image.len()) as u64);
    for unit in UNITS {
        assert!(workstation.load(file, unit)? == image, "the program is whole, in units of {unit} bytes");
    }
    refusals(workstation)
}

/// What a client must not do is refused, and the server goes on.
fn refusals<T: PacketTransport>(workstation: &mut Workstation<T>) -> Outcome<()> {
    let name = |name: &str| Ask::Open { name: name.to_owned() };
    let cases = [
        (name("../passwords"), Refusal::BadName),
        (name(""), Refusal::BadName),
        (Ask::ReadPage { file: 99, page: 0 }, Refusal::NotOpen),
        (Ask::ReadPage { file: 0, page: u64::MAX }, Refusal::BadPage),
        // Nothing is lent to write from.
        (Ask::WritePage { file: 0, page: 0 }, Refusal::BadPage),
        (Ask::Load { file: 0, unit: 0 }, Refusal::BadUnit),
        (Ask::Load { file: 0, unit: u32::MAX }, Refusal::BadUnit),
    ];
    for (ask, refusal) in cases {
        let answer = workstation.answer(BlockedRequest::exactly_once(&encoded(&ask)))?;
        assert_eq!(answer, Answer::Refused(refusal), "to {ask:?}");
    }
    let answer = workstation.answer(BlockedRequest::exactly_once(b"\xff\xff"))?;
    assert_eq!(answer, Answer::Refused(Refusal::NotUnderstood));
    Ok(())
}

/// Mean microseconds of so many runs, after one that is not counted.
fn mean(rounds: u32, mut run: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    run()?;
    let begun = Instant::now();
    for _ in 0..rounds {
        run()?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(rounds))
}

/// Microseconds to read a page, to write one, and to load 64 KB in each of the units.
fn measure<T: PacketTransport>(workstation: &mut Workstation<T>, folder: &Path) -> Outcome<Vec<f64>> {
    let mut page = [7; PAGE_BYTES];
    let (file, _) = workstation.open("notes")?;
    let written = mean(200, || workstation.write_page(file, 3, &page).map(drop))?;
    let read = mean(200, || workstation.read_page(file, 3, &mut page).map(drop))?;
    let (image, bytes) = program(48 << 10, 16 << 10);
    std::fs::write(folder.join("editor"), bytes)?;
    let (file, _) = workstation.open("editor")?;
    let mut times = vec![read, written];
    for unit in UNITS {
        times.push(mean(10, || {
            let loaded = workstation.load(file, unit)?;
            if loaded == image { Ok(()) } else { Err("the program is damaged".into()) }
        })?);
    }
    Ok(times)
}

fn main() -> Outcome<()> {
    let faults = PacketFaults { loss_percent: 10, duplicate_percent: 10, reorder_percent: 10 };
    let mut seed = 0;
    let faulty = hosts::start_on(2, |socket| {
        seed += 1;
        FaultyTransport::new(socket, faults, seed)
    })?;
    with_server(&faulty[0], &faulty[1], check)?;
    println!("every byte is right, of 100 packets 10 lost, 10 doubled, 10 late");

    let hosts = hosts::start(2)?;
    with_server(&hosts[0], &hosts[1], check)?;
    let local = with_server(&hosts[0], &hosts[0], measure)?;
    let remote = with_server(&hosts[0], &hosts[1], measure)?;
    println!("microseconds, mean                 one kernel    two kernels");
    let operations = ["read a page of 512 bytes".to_owned(), "write a page of 512 bytes".to_owned()].into_iter();
    let loads = UNITS.map(|unit| format!("load 64 KB in units of {} KB", unit >> 10));
    for ((operation, local), remote) in operations.chain(loads).zip(local).zip(remote) {
        println!("{operation:<32} {local:>12.1} {remote:>14.1}");
    }
    Ok(())
}
