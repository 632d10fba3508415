//! Answers of pure functions, kept: the production's decisions over its own types cost microseconds,
//! and a model asks for the same few of them a million times.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

/// The answers that one pure function has given so far.
pub(crate) struct Memo<K, V>(RwLock<HashMap<K, V>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(RwLock::new(HashMap::new()))
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// The answer for `key`, computed if it is new.
    pub(crate) fn get(&self, key: K, compute: impl FnOnce(&K) -> V) -> V {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let value = compute(&key);
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            all.insert(key, value.clone());
            value
        })
    }
}

impl<K, V> fmt::Debug for Memo<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}
