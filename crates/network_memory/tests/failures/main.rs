//! What fails in the real world: processes are killed and stopped, networks cut, memories lost, disks left behind. Each test tells one
//! failure.

mod disk;
mod network;
mod processes;
mod servers;
