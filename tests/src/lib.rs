//! The workspace's integration tests live in `tests/`; this library is empty, so that there is one
//! test binary to link.
