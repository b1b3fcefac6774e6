//! Huge pages of this process's memory, which the allocator asks the kernel for: not before the site serves.
//!
//! They make a site faster that runs, and one that starts slower: the kernel clears 2 MiB where the first row of a page is put, and under
//! a hypervisor that has to find that memory first it takes milliseconds each time.

/// From now on the kernel may give huge pages (`true`), or gives small ones. Without effect on kernels that do not know them.
pub fn allow(allowed: bool) {
    let _ = rustix::thread::disable_transparent_huge_pages(!allowed);
}
