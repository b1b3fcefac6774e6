//! The simulated world: the same servers under faults, and the checkers.
