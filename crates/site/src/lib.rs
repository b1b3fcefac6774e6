//! The real world: puts servers into processes; loops, sockets, files, clocks, configuration.
