//! Reads small files of a machine, up to a size limit and without blocking.
//!
//! Every reader of this crate uses it. A pipe, a device or a folder in place of a file is unreadable.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::fact::Fact;

/// The bytes of a file of at most `limit` bytes.
pub(crate) fn bytes(path: &Path, limit: usize) -> Fact<Vec<u8>> {
    match beginning(path, limit + 1) {
        Fact::Known(bytes) if bytes.len() > limit => {
            Fact::Unreadable(format!("it has more than {limit} bytes"))
        }
        other => other,
    }
}

/// The text of a file of at most `limit` bytes.
pub(crate) fn text(path: &Path, limit: usize) -> Fact<String> {
    bytes(path, limit).and_then(|bytes| match String::from_utf8(bytes) {
        Ok(text) => Fact::Known(text),
        Err(error) => Fact::malformed(&String::from_utf8_lossy(error.as_bytes())),
    })
}

/// At most `length` bytes from the beginning of a file of any size.
pub(crate) fn beginning(path: &Path, length: usize) -> Fact<Vec<u8>> {
    match try_beginning(path, length) {
        Ok(bytes) => Fact::Known(bytes),
        Err(error) => fact_of(&error),
    }
}

/// Whether there is a folder.
pub(crate) fn folder(path: &Path) -> Fact<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Fact::Known(()),
        Ok(_) => Fact::malformed("it is not a folder"),
        Err(error) => fact_of(&error),
    }
}

fn try_beginning(path: &Path, length: usize) -> io::Result<Vec<u8>> {
    // Opening a pipe without a writer would block; so would some devices.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    read_up_to(file, length)
}

pub(crate) fn read_up_to(source: impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// ENODEV counts as absent: the kernel removes files of sysfs while they are being read.
fn fact_of<T>(error: &io::Error) -> Fact<T> {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => Fact::Absent,
        _ => Fact::Unreadable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType};

    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path, 5), Fact::Known("12345".to_owned()));
        assert!(matches!(text(&path, 4), Fact::Unreadable(_)));
        assert_eq!(beginning(&path, 2), Fact::Known(b"12".to_vec()));
        fs::write(&path, [0xff, 0x1b]).unwrap();
        assert_eq!(
            text(&path, 5),
            Fact::Malformed("\u{fffd}\u{fffd}".to_owned())
        );
    }

    #[test]
    fn a_reader_is_read_up_to_the_limit() {
        let plenty = io::repeat(7).take(1 << 20);
        assert_eq!(read_up_to(plenty, 3).unwrap(), [7, 7, 7]);
    }

    #[test]
    fn a_missing_file_is_absent() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(text(&dir.path().join("none"), 5), Fact::Absent);
        assert_eq!(text(&file.join("below"), 5), Fact::Absent);
        assert_eq!(fact_of::<()>(&Errno::NODEV.into()), Fact::Absent);
        assert!(matches!(
            fact_of::<()>(&Errno::ACCESS.into()),
            Fact::Unreadable(_)
        ));
        assert!(matches!(folder(&file), Fact::Malformed(_)));
        assert_eq!(folder(dir.path()), Fact::Known(()));
    }

    #[test]
    fn folders_pipes_and_devices_are_unreadable() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for path in [dir.path(), &pipe, Path::new("/dev/zero")] {
            assert!(matches!(bytes(path, 5), Fact::Unreadable(_)), "{path:?}");
        }
    }
}
