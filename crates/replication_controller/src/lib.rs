//! Epochs seen from a site: leases, seals, fail-locks, copiers.
