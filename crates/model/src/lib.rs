//! Explicit-state models of the protocol.
