//! A manager under test. It is killed with SIGKILL when dropped, as an out-of-memory killer does it.

use std::process::Child;

pub(crate) struct Manager(Child);

impl Manager {
    pub(crate) fn new(process: Child) -> Self {
        Self(process)
    }

    pub(crate) fn assert_running(&mut self) {
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
