//! What the operating system has measured of a TCP connection (tcp(7), `TCP_INFO`).

use mio::net::TcpStream;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::AsRawFd;

/// See the module's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round trip, in microseconds.
    pub round_trip_us: u32,
    /// Segments sent again, since the connection was made.
    pub segments_again: u32,
}

/// Asks for it; `None`: the operating system does not say.
pub(super) fn tcp_info(stream: &TcpStream) -> Option<TcpInfo> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `stream` lives, and the kernel writes at most `length` bytes to `info`, which has so many.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    // SAFETY: it was zeroed before anything was written to it, and zeros are a value of it: it has only integers.
    let info = unsafe { info.assume_init() };
    (result == 0).then_some(TcpInfo { round_trip_us: info.tcpi_rtt, segments_again: info.tcpi_total_retrans })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{SocketAddr, TcpListener};

    #[test]
    fn a_connection_of_this_host_has_a_short_round_trip() {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        let made = std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
        let info = tcp_info(&TcpStream::from_std(made)).expect("a connection");
        assert!(info.round_trip_us > 0 && info.round_trip_us < 1_000_000, "{info:?}");
    }
}
