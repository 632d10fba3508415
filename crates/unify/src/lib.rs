//! Empty on purpose. Cargo resolves features per selected package, and a selection with fewer
//! features below Lance would compile Lance a second time; depending on this crate makes every
//! selection resolve to one set. It must hold no code.
