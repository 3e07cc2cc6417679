//! The tar archive that a node unpacks over its root file system at every boot.

use std::io;
use std::path::Path;

pub(crate) struct ConfigArchive(tar::Builder<Vec<u8>>);

impl Default for ConfigArchive {
    fn default() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }
}

impl ConfigArchive {
    pub(crate) fn file(&mut self, path: &str, text: &str) -> io::Result<()> {
        self.put(path, text.as_bytes(), 0o644)
    }

    pub(crate) fn program(&mut self, path: &str, text: &str) -> io::Result<()> {
        self.put(path, text.as_bytes(), 0o755)
    }

    pub(crate) fn secret(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(path, bytes, 0o600)
    }

    /// A symbolic link at `path` to `target`.
    pub(crate) fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        header.set_mode(0o777);
        self.0.append_link(&mut header, path, target)
    }

    pub(crate) fn write(self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.0.into_inner()?)
    }

    fn put(&mut self, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        self.0.append_data(&mut header, path, bytes)
    }
}
