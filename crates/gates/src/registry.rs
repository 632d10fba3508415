//! One manager for each graph root in a process. Owns the sharing; must not know how a root is made
//! canonical.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use graphwrite_protocol_types::Env;
use parking_lot::Mutex;

use crate::GateManager;

static PROCESS: GateRegistry = GateRegistry::new();

/// Hands the same [`GateManager`] to every handle of one graph. It only remembers managers that
/// somebody still uses: a handle, or the guard of an attempt that outlives its handle.
#[derive(Debug, Default)]
pub struct GateRegistry {
    managers: Mutex<BTreeMap<String, Weak<GateManager>>>,
}

impl GateRegistry {
    /// A registry of its own, which stands for a process of its own.
    pub const fn new() -> Self {
        Self { managers: Mutex::new(BTreeMap::new()) }
    }

    /// The registry of this process.
    pub fn process() -> &'static Self {
        &PROCESS
    }

    /// The manager of the graph at this root. Roots are compared as text, so two spellings of one
    /// root must have been made equal before; nothing breaks if they were not (RFC-022 section 9),
    /// races are merely lost later. The first caller's `env` measures for all.
    pub fn for_root(&self, canonical_root: &str, env: Arc<dyn Env>) -> Arc<GateManager> {
        let mut managers = self.managers.lock();
        if let Some(manager) = managers.get(canonical_root).and_then(Weak::upgrade) {
            return manager;
        }
        managers.retain(|_, manager| manager.strong_count() > 0);
        let manager = GateManager::new(env);
        managers.insert(canonical_root.to_owned(), Arc::downgrade(&manager));
        manager
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct NoClock;

    impl Env for NoClock {
        fn unix_micros(&self) -> u64 {
            0
        }

        fn monotonic_micros(&self) -> u64 {
            0
        }

        fn random_u128(&self) -> u128 {
            0
        }
    }

    #[test]
    fn roots_that_nobody_uses_are_forgotten() {
        let registry = GateRegistry::new();
        for root in ["a", "b", "c"] {
            drop(registry.for_root(root, Arc::new(NoClock)));
        }
        let _used = registry.for_root("d", Arc::new(NoClock));
        let _also = registry.for_root("e", Arc::new(NoClock));
        assert_eq!(registry.managers.lock().len(), 2);
    }
}
