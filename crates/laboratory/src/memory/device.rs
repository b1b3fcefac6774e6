//! A log on memory servers that goes from one recoverable memory to the next, each with a capacity of its own: making one takes longer than a turn.
//!
//! Invariant: only one memory has it at a time, and each finds it empty.

use network_memory::host::remote_log::{LogTerms, RemoteLog};
use network_memory::writer::Intent;
use recoverable_memory::device::LogExtent;
use recoverable_memory::{DeviceError, DeviceReceipt, Durability, LogDevice, LogOffset};
use remote_recoverable_log::RemoteLogDevice;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crate::memory::limits::DEVICE_BYTES;

/// See the module's description.
#[derive(Clone)]
pub struct SharedDevice(Arc<RemoteLogDevice>);

impl SharedDevice {
    /// Makes a log that is durable when all of these servers hold it; `folder` is for the copy on disk.
    ///
    /// # Errors
    /// A server does not answer, or of the operating system.
    pub fn create(servers: &[SocketAddr], folder: &Path) -> Result<SharedDevice, DeviceError> {
        let name = RemoteLog::draw_log().map_err(DeviceError::io("name"))?;
        let terms = LogTerms::new(name, servers.len() as u8, servers.to_vec(), Some(folder.to_path_buf()));
        let terms = LogTerms { intent: Intent::Create, ..terms };
        Ok(SharedDevice(Arc::new(RemoteLogDevice::open(terms, DEVICE_BYTES)?)))
    }

    /// Gives everything up that it holds, and gives it out with this capacity (bytes).
    ///
    /// # Errors
    /// Of the device.
    pub fn emptied(&self, capacity: u64) -> Result<Bounded, DeviceError> {
        self.0.reset(self.0.extent()?.end)?;
        Ok(Bounded { device: Arc::clone(&self.0), capacity: capacity.min(DEVICE_BYTES) })
    }
}

/// It, with a capacity.
pub struct Bounded {
    device: Arc<RemoteLogDevice>,
    capacity: u64,
}

impl LogDevice for Bounded {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn extent(&self) -> Result<LogExtent, DeviceError> {
        self.device.extent()
    }

    fn append(&self, bytes: &[u8]) -> Result<LogOffset, DeviceError> {
        let extent = self.device.extent()?;
        let (needed, free) = (bytes.len() as u64, self.capacity.saturating_sub(extent.end.since(extent.start)));
        if needed > free {
            return Err(DeviceError::Full { needed, free });
        }
        self.device.append(bytes)
    }

    fn flush(&self, upto: LogOffset, wanted: Durability) -> Result<DeviceReceipt, DeviceError> {
        self.device.flush(upto, wanted)
    }

    fn read(&self, from: LogOffset, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.device.read(from, buffer)
    }

    fn truncate(&self, upto: LogOffset) -> Result<(), DeviceError> {
        self.device.truncate(upto)
    }

    fn reset(&self, at: LogOffset) -> Result<(), DeviceError> {
        self.device.reset(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use network_memory::host::local_servers::LocalServers;
    use recoverable_memory::conformance;

    /// If this fails, one turn finds what another has left, or a log of some kilobytes is as large as all others.
    #[test]
    fn a_shared_device_keeps_the_contract_of_each_capacity_it_is_given_out_with() {
        let servers = LocalServers::start(2, 64 << 20).expect("servers");
        let folder = tempfile::tempdir().expect("a folder");
        let shared = SharedDevice::create(servers.addresses(), folder.path()).expect("they answer");
        conformance::check(&|capacity| Box::new(shared.emptied(capacity).expect("it is well")));
        let small = shared.emptied(8192).expect("it is well");
        small.append(&[1; 8192]).expect("there is room");
        assert!(matches!(small.append(&[1]), Err(DeviceError::Full { needed: 1, free: 0 })));
        let next = shared.emptied(u64::MAX).expect("it is well");
        let extent = next.extent().expect("an extent");
        assert_eq!((extent.start, next.capacity()), (extent.end, DEVICE_BYTES));
    }
}
