//! A manager under test. It is killed when the test lets go of it, also in a panic, and never
//! asked: an out-of-memory killer does not ask either.

use std::process::Child;

pub(crate) struct Manager(Child);

impl Manager {
    pub(crate) fn new(process: Child) -> Self {
        Self(process)
    }

    /// Fails when it has ended: it may only be ended.
    pub(crate) fn lives(&mut self) {
        let ended = self.0.try_wait().unwrap();
        assert!(ended.is_none(), "the manager ended: {ended:?}");
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
