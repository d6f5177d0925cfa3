//! The only place where bytes are fetched: byte ranges, the sans-I/O contract, and drivers.
