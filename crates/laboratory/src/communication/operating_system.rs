//! The system calls that are measured and that no crate offers safely, and memory that two processes have in common.
//!
//! Invariants: no reference to shared bytes ever exists, only copies in and out; words are atomic. What is made is taken away with its value.

use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::{CString, c_int, c_void};
use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

/// Who may use a queue or a set of semaphores: its owner.
const OWNER: c_int = 0o600;

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Memory of a file, which other processes map as well.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    length: usize,
}

impl SharedMemory {
    /// Makes the file.
    pub fn create(path: &Path, length: usize) -> io::Result<()> {
        std::fs::File::create_new(path)?.set_len(length as u64)
    }

    /// Maps all of the file, which must not shrink.
    pub fn open(path: &Path) -> io::Result<SharedMemory> {
        let file = std::fs::File::options().read(true).write(true).open(path)?;
        let length = file.metadata()?.len() as usize;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use is replaced.
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags, file.as_fd(), 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SharedMemory { start, length })
    }

    /// The word at an offset.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.length, "word at {at}");
        // SAFETY: the word lies within the mapping, which lives as long as `self`, and is aligned; it is accessed as an atomic word only.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Copies bytes in.
    pub fn write(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.length, "{} bytes at {at}", bytes.len());
        // SAFETY: the target lies within the mapping; no reference into it exists, so the two do not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(at), bytes.len()) }
    }

    /// Copies bytes out.
    pub fn read(&self, at: usize, into: &mut [u8]) {
        assert!(at + into.len() <= self.length, "{} bytes at {at}", into.len());
        // SAFETY: the source lies within the mapping; no reference into it exists, so the two do not overlap. The two processes take turns.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr().add(at), into.as_mut_ptr(), into.len()) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `open` made; nothing borrowed from it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A System V message queue (msgop(2)).
#[derive(Clone, Copy, Debug)]
pub struct Queue(pub c_int);

/// Takes the queue away with its value.
#[derive(Debug)]
pub struct QueueOwner(pub Queue);

impl Queue {
    /// Makes one.
    pub fn create() -> io::Result<QueueOwner> {
        // SAFETY: it takes no memory of ours.
        checked(unsafe { libc::msgget(libc::IPC_PRIVATE, OWNER) }).map(|queue| QueueOwner(Queue(queue)))
    }

    /// Sends a message. Its first eight bytes are its type, above zero in this machine's byte order.
    pub fn send(self, message: &[u8]) -> io::Result<()> {
        assert!(message.len() >= size_of::<libc::c_long>(), "a message begins with its type");
        let bytes = message.len() - size_of::<libc::c_long>();
        // SAFETY: the kernel reads the type and `bytes` bytes behind it, which is all of the slice, and no alignment is asked for.
        checked(unsafe { libc::msgsnd(self.0, message.as_ptr().cast(), bytes, 0) }).map(drop)
    }

    /// Waits for a message of this type, and puts it behind the eight bytes of its type.
    pub fn receive(self, message: &mut [u8], kind: libc::c_long) -> io::Result<()> {
        assert!(message.len() >= size_of::<libc::c_long>(), "a message begins with its type");
        let bytes = message.len() - size_of::<libc::c_long>();
        // SAFETY: the kernel writes the type and at most `bytes` bytes behind it.
        let received = unsafe { libc::msgrcv(self.0, message.as_mut_ptr().cast(), bytes, kind, 0) };
        if received < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for QueueOwner {
    fn drop(&mut self) {
        // SAFETY: this command takes no memory of ours.
        let _ = unsafe { libc::msgctl(self.0.0, libc::IPC_RMID, ptr::null_mut()) };
    }
}

/// Two System V semaphores (semop(2)).
#[derive(Clone, Copy, Debug)]
pub struct Semaphores(pub c_int);

/// Takes the semaphores away with its value.
#[derive(Debug)]
pub struct SemaphoresOwner(pub Semaphores);

impl Semaphores {
    /// Makes two that are at zero.
    pub fn create() -> io::Result<SemaphoresOwner> {
        // SAFETY: it takes no memory of ours.
        checked(unsafe { libc::semget(libc::IPC_PRIVATE, 2, OWNER) }).map(|set| SemaphoresOwner(Semaphores(set)))
    }

    /// Adds to one of the two, or waits until it can be subtracted from.
    pub fn add(self, which: u16, change: i16) -> io::Result<()> {
        let mut operation = libc::sembuf { sem_num: which, sem_op: change, sem_flg: 0 };
        // SAFETY: one operation is passed, and one is announced.
        checked(unsafe { libc::semop(self.0, &raw mut operation, 1) }).map(drop)
    }
}

impl Drop for SemaphoresOwner {
    fn drop(&mut self) {
        // SAFETY: this command takes no argument.
        let _ = unsafe { libc::semctl(self.0.0, 0, libc::IPC_RMID) };
    }
}

/// A POSIX message queue (mq_overview(7)).
#[derive(Debug)]
pub struct PosixQueue(c_int);

/// Takes the name of a queue away with its value.
#[derive(Debug)]
pub struct PosixQueueName(pub CString);

impl Drop for PosixQueueName {
    fn drop(&mut self) {
        // SAFETY: the name ends with a zero.
        let _ = unsafe { libc::mq_unlink(self.0.as_ptr()) };
    }
}

impl PosixQueue {
    /// Opens one of messages up to `bytes`; makes it, if it is not there.
    pub fn open(name: &CString, bytes: usize) -> io::Result<PosixQueue> {
        // SAFETY: all fields are numbers, for which zero is a value.
        let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
        attributes.mq_maxmsg = 1;
        attributes.mq_msgsize = bytes.max(1) as libc::c_long;
        let flags = libc::O_RDWR | libc::O_CREAT;
        // SAFETY: the name ends with a zero, and the attributes live during the call.
        checked(unsafe { libc::mq_open(name.as_ptr(), flags, OWNER as libc::mode_t, &raw mut attributes) })
            .map(PosixQueue)
    }

    /// Sends a message; waits while the queue is full.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the slice is read during the call.
        checked(unsafe { libc::mq_send(self.0, bytes.as_ptr().cast(), bytes.len(), 0) }).map(drop)
    }

    /// Waits for a message. There is room for the queue's longest.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        // SAFETY: at most the slice's length is written.
        let received = unsafe { libc::mq_receive(self.0, into.as_mut_ptr().cast(), into.len(), ptr::null_mut()) };
        if received < 0 { Err(io::Error::last_os_error()) } else { Ok(received.unsigned_abs()) }
    }
}

impl Drop for PosixQueue {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        let _ = unsafe { libc::mq_close(self.0) };
    }
}

/// The signal that processes of an experiment send each other; kept from them but where they wait for it.
#[derive(Debug)]
pub struct AwaitedSignal(libc::sigset_t);

impl AwaitedSignal {
    /// Keeps SIGUSR1 from this thread until it is waited for.
    pub fn keep() -> io::Result<AwaitedSignal> {
        // SAFETY: a set of signals is made of numbers, and is filled in before it is used.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set lives during the calls.
        checked(unsafe { libc::sigemptyset(&raw mut set) })?;
        // SAFETY: as above.
        checked(unsafe { libc::sigaddset(&raw mut set, libc::SIGUSR1) })?;
        // SAFETY: as above; the old set is not asked for.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) } {
            0 => Ok(AwaitedSignal(set)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Waits for it, and returns the process that has sent it.
    pub fn wait(&self) -> io::Result<i32> {
        // SAFETY: made of numbers, and filled in by the call.
        let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: both live during the call.
        checked(unsafe { libc::sigwaitinfo(&raw const self.0, &raw mut information) })?;
        // SAFETY: a signal that kill(2) sent tells its sender.
        Ok(unsafe { information.si_pid() })
    }
}

/// Sends the same bytes to all destinations with one system call (sendmmsg(2)); returns to how many.
pub fn send_to_all(socket: &UdpSocket, bytes: &[u8], destinations: &[SocketAddrV4]) -> io::Result<usize> {
    let mut addresses: Vec<libc::sockaddr_in> = destinations
        .iter()
        .map(|destination| libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: destination.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(destination.ip().octets()) },
            sin_zero: [0; 8],
        })
        .collect();
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(), iov_len: bytes.len() };
    let mut messages: Vec<libc::mmsghdr> = addresses
        .iter_mut()
        .map(|address| {
            // SAFETY: made of numbers and pointers, for which zero is a value.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_name = (&raw mut *address).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            message.msg_hdr.msg_iov = &raw mut part;
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    // SAFETY: as many messages are announced as there are; their addresses and their part live during the call, and the kernel only reads
    // what they point to.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), messages.len() as u32, 0) };
    checked(sent).map(|sent| sent.unsigned_abs() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a figure of queues is one of something else, or queues stay behind.
    #[test]
    fn a_queue_brings_messages_by_type_and_goes_with_its_owner() {
        let owner = Queue::create().expect("a queue");
        let queue = owner.0;
        for kind in [1_i64, 2] {
            queue.send(&[&kind.to_ne_bytes()[..], &[kind as u8; 3]].concat()).expect("it is taken");
        }
        let mut message = [0; 11];
        queue.receive(&mut message, 2).expect("the second");
        assert_eq!(message[8..], [2; 3]);
        drop(owner);
        assert!(queue.receive(&mut message, 1).is_err());
    }

    /// If this fails, a multicast by one system call reaches some only, and looks cheap.
    #[test]
    fn one_call_reaches_all_destinations() {
        let receivers: Vec<UdpSocket> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a socket")).collect();
        let destinations: Vec<SocketAddrV4> = receivers
            .iter()
            .map(|receiver| match receiver.local_addr().expect("it is bound") {
                std::net::SocketAddr::V4(address) => address,
                std::net::SocketAddr::V6(_) => panic!("it was bound to another address"),
            })
            .collect();
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        assert_eq!(send_to_all(&sender, b"prepare", &destinations).expect("it is sent"), 3);
        for receiver in &receivers {
            let mut bytes = [0; 16];
            let length = receiver.recv(&mut bytes).expect("a datagram");
            assert_eq!(&bytes[..length], b"prepare");
        }
    }
}
