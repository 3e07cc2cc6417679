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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Unpacked twice, as by a node that is rebooted.
    #[test]
    fn what_is_unpacked_again_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (file, tree) = (folder.path().join("archive"), folder.path().join("tree"));
        let mut archive = ConfigArchive::default();
        archive.program("etc/init", "run").unwrap();
        archive.link("etc/masked.service", "/dev/null").unwrap();
        archive.write(&file).unwrap();
        fs::create_dir(&tree).unwrap();
        for _ in 0..2 {
            let mut tar = Command::new("tar");
            tar.arg("-xf").arg(&file).arg("-C").arg(&tree);
            assert!(tar.status().unwrap().success());
            let masked = fs::read_link(tree.join("etc/masked.service")).unwrap();
            assert_eq!(masked, Path::new("/dev/null"));
            assert_eq!(fs::read_to_string(tree.join("etc/init")).unwrap(), "run");
        }
    }
}
