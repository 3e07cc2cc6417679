//! Results of pure functions by their input, of which only a hash is kept: the checker asks the
//! planner the same thing in very many states.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

#[derive(Debug)]
pub(super) struct Memo<T>(Mutex<HashMap<u64, T>>);

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Memo<T> {
    pub(super) fn get(&self, input: &impl Hash, compute: impl FnOnce() -> T) -> T {
        let key = hash(input);
        if let Some(known) = self.0.lock().unwrap().get(&key) {
            return known.clone();
        }
        let new = compute();
        self.0.lock().unwrap().insert(key, new.clone());
        new
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
