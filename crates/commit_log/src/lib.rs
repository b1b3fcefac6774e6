//! The log of a site: mapped segments, checksummed records, background sync.
