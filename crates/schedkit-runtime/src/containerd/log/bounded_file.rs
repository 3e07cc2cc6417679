//! The file that the log writer appends to. It never fails: what cannot be written is dropped and
//! counted, because a scheduler must not depend on its log.
//!
//! ```text
//! full ─▶ ID.log becomes ID.log.1 (replacing the one before) ─▶ a new ID.log, the next part
//!   │        └─ else, such as on a full disk: ID.log is emptied
//!   └─ somebody still reads ID.log.1: ID.log grows up to a larger limit
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;

use super::entry::{Entry, Note};

/// Of each of the two files.
pub(in crate::containerd) const MAX_BYTES: u64 = 10 << 20;
/// While a reader has not finished the older file, as many times as large.
const FOLLOWED: u64 = 6;
/// For a reader that looks whether the file is locked.
const LOCK_TRIES: usize = 100;
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(in crate::containerd) struct BoundedFile {
    path: PathBuf,
    /// `None` when the file cannot be opened: the container was removed.
    file: Option<File>,
    part: u64,
    max_bytes: u64,
    lost: u64,
    reason: String,
}

/// Where the older part of a log is.
pub(in crate::containerd) fn before(path: &Path) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(".1");
    name.into()
}

impl BoundedFile {
    /// Opens a file that exists, and locks it: that tells readers that somebody writes to it.
    pub(in crate::containerd) fn open(path: &Path) -> Self {
        Self::with_limit(path, MAX_BYTES)
    }

    fn with_limit(path: &Path, max_bytes: u64) -> Self {
        let options = OpenOptions::new().read(true).append(true).open(path);
        let (file, reason) = match options {
            Ok(file) => (Some(file), String::new()),
            Err(error) => (None, error.to_string()),
        };
        if let Some(file) = &file {
            lock(file);
        }
        if let Some(file) = &file {
            end_line(file);
        }
        let part = file.as_ref().and_then(|file| part(file).ok().flatten());
        Self {
            path: path.to_owned(),
            file,
            part: part.unwrap_or(0),
            max_bytes,
            lost: 0,
            reason,
        }
    }

    /// Appends complete entries with so many bytes of output.
    pub(in crate::containerd) fn append(&mut self, entries: &[u8], output: u64, now: Timestamp) {
        if entries.is_empty() {
            return;
        }
        match self.try_append(entries, now) {
            Ok(()) => self.lost = 0,
            Err(error) => self.lose(output, &error.to_string()),
        }
    }

    /// Output that never got here; the log will say so.
    pub(in crate::containerd) fn lose(&mut self, output: u64, reason: &str) {
        self.lost += output;
        self.reason = reason.to_owned();
    }

    fn try_append(&mut self, entries: &[u8], now: Timestamp) -> io::Result<()> {
        let added = entries.len() as u64;
        let length = self.length()?;
        let is_full = |limit: u64| length > 0 && length + added > limit;
        if is_full(FOLLOWED * self.max_bytes) || is_full(self.max_bytes) && !self.is_read() {
            self.begin_part(now);
        }
        let mut text = Vec::with_capacity(entries.len() + 200);
        if self.length()? == 0 {
            self.part += 1;
            Note::Part(self.part).write(&mut text, now);
        }
        if self.lost > 0 {
            let (bytes, reason) = (self.lost, self.reason.clone());
            Note::Missing { bytes, reason }.write(&mut text, now);
        }
        text.extend_from_slice(entries);
        self.write_whole(&text)
    }

    /// Everything or nothing.
    fn write_whole(&mut self, text: &[u8]) -> io::Result<()> {
        let length = self.length()?;
        let mut file = self.file()?;
        let written = file.write_all(text);
        if written.is_err() {
            let _ = file.set_len(length);
        }
        written
    }

    fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or(io::ErrorKind::NotFound.into())
    }

    /// Asked each time: somebody may have emptied the file.
    fn length(&self) -> io::Result<u64> {
        Ok(self.file()?.metadata()?.len())
    }

    /// Whether a reader has locked the older file.
    fn is_read(&self) -> bool {
        let older = File::open(before(&self.path)).map(|file| file.try_lock());
        matches!(older, Ok(Err(TryLockError::WouldBlock)))
    }

    fn begin_part(&mut self, now: Timestamp) {
        match self.next_file(now) {
            Ok(file) => {
                self.part += 1;
                self.file = Some(file);
            }
            Err(_) => {
                // A reader sees that a part is missing.
                self.part += 1;
                let _ = self.file().and_then(|file| file.set_len(0));
            }
        }
    }

    /// Complete and locked before it has its name.
    fn next_file(&self, now: Timestamp) -> io::Result<File> {
        let mut draft = self.path.clone().into_os_string();
        draft.push(".new");
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create_new(true).mode(0o600);
        let _ = fs::remove_file(&draft);
        let mut file = options.open(&draft)?;
        lock(&file);
        let mut text = Vec::new();
        Note::Part(self.part + 1).write(&mut text, now);
        let moved = file.write_all(&text).and_then(|()| {
            fs::rename(&self.path, before(&self.path))?;
            fs::rename(&draft, &self.path)
        });
        if moved.is_err() {
            let _ = fs::remove_file(&draft);
        }
        moved.map(|()| file)
    }
}

/// Without it the log is written as well, and a reader may miss its end.
fn lock(file: &File) {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return,
            Err(_) => sleep(LOCK_INTERVAL),
        }
    }
}

/// A writer that was killed may have written the beginning of an entry.
fn end_line(mut file: &File) {
    let length = file.metadata().map_or(0, |found| found.len());
    let mut last = [b'\n'];
    let read = file.read_exact_at(&mut last, length.saturating_sub(1));
    if length > 0 && read.is_ok() && last != *b"\n" {
        let _ = file.write_all(b"\n");
    }
}

/// The number of a file that a log writer began.
pub(super) fn part(file: &File) -> io::Result<Option<u64>> {
    let mut line = Vec::new();
    BufReader::new(file.take(200)).read_until(b'\n', &mut line)?;
    Ok(line.strip_suffix(b"\n").and_then(part_of))
}

/// The number that the first line of a file says.
pub(super) fn part_of(first_line: &[u8]) -> Option<u64> {
    match Note::parse(Entry::parse(first_line)?.text)? {
        Note::Part(number) => Some(number),
        Note::Missing { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::LineTimes;
    use super::super::entry::{LineEnd, Source, time_text, write};
    use super::super::reader::LogReader;
    use super::*;

    fn line(number: usize) -> Vec<u8> {
        let mut entry = Vec::new();
        let text = format!("line {number}");
        let end = LineEnd::Newline;
        write(
            &mut entry,
            &time_text(Timestamp::UNIX_EPOCH),
            Source::Stdout,
            end,
            text.as_bytes(),
        );
        entry
    }

    fn append(file: &mut BoundedFile, number: usize) {
        file.append(&line(number), 7, Timestamp::UNIX_EPOCH);
    }

    fn log(path: &Path) -> String {
        let mut shown = Vec::new();
        let mut reader = LogReader::new(path, LineTimes::Hidden);
        let read = reader.read(&mut |piece| shown.extend_from_slice(piece.bytes));
        read.unwrap();
        String::from_utf8(shown).unwrap()
    }

    fn new_log() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        File::create(&path).unwrap();
        (folder, path)
    }

    #[test]
    fn two_files_of_limited_size_have_the_newest_lines() {
        let (folder, path) = new_log();
        let mut file = BoundedFile::with_limit(&path, 1000);
        for number in 0..1000 {
            append(&mut file, number);
        }
        let files = fs::read_dir(folder.path()).unwrap();
        let sizes: Vec<u64> = files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .collect();
        assert!(
            sizes.len() == 2 && sizes.iter().all(|size| *size <= 1000),
            "{sizes:?}"
        );
        let log = log(&path);
        let lines: Vec<&str> = log.lines().collect();
        assert!(lines.len() > 20, "{}", lines.len());
        let first = 1000 - lines.len();
        let expected: Vec<String> = (first..1000)
            .map(|number| format!("line {number}"))
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_is_being_read_is_kept_for_some_time() {
        let (folder, path) = new_log();
        let mut file = BoundedFile::with_limit(&path, 1000);
        let mut numbers = 0..;
        while !before(&path).exists() {
            append(&mut file, numbers.next().unwrap());
        }
        let older = File::open(before(&path)).unwrap();
        older.lock_shared().unwrap();
        let first = fs::read(before(&path)).unwrap();
        while file.length().unwrap() < 5900 {
            append(&mut file, numbers.next().unwrap());
            assert_eq!(fs::read(before(&path)).unwrap(), first);
        }
        for _ in 0..5 {
            append(&mut file, numbers.next().unwrap());
        }
        assert_ne!(fs::read(before(&path)).unwrap(), first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn another_writer_goes_on_where_the_first_was_killed() {
        let (_folder, path) = new_log();
        for number in 0..100 {
            append(&mut BoundedFile::with_limit(&path, 1000), number);
        }
        let file = BoundedFile::with_limit(&path, 1000);
        assert!(file.part > 2, "{}", file.part);
        drop(file);
        assert!(log(&path).ends_with("line 98\nline 99\n"));
        // It was killed while it wrote.
        let mut killed = OpenOptions::new().append(true).open(&path).unwrap();
        killed.write_all(b"2026-01-31T08:0").unwrap();
        append(&mut BoundedFile::with_limit(&path, 1000), 100);
        assert!(log(&path).ends_with("line 99\nline 100\n"));
    }

    /// `/dev/full` accepts no byte; a real disk is in the tests with a container.
    #[test]
    fn what_cannot_be_written_is_dropped_and_noted() {
        let (folder, path) = new_log();
        let mut file = BoundedFile::with_limit(&path, 1000);
        append(&mut file, 0);
        let good = file
            .file
            .replace(OpenOptions::new().append(true).open("/dev/full").unwrap());
        append(&mut file, 1);
        append(&mut file, 2);
        file.file = good;
        append(&mut file, 3);
        append(&mut file, 4);
        let shown = log(&path);
        let expected = "line 0\nschedctl: 14 bytes of output are missing here: \
                        No space left on device (os error 28)\nline 3\nline 4\n";
        assert_eq!(shown, expected);
        // The folder is gone, so that no further file can be made: the one that is open is emptied.
        fs::rename(folder.path(), folder.path().with_extension("away")).unwrap();
        for number in 0..100 {
            append(&mut file, number);
        }
        assert!(file.length().unwrap() <= 1000);
        fs::rename(folder.path().with_extension("away"), folder.path()).unwrap();
    }

    #[test]
    fn a_log_that_was_removed_is_not_made_again() {
        let (folder, path) = new_log();
        fs::remove_file(&path).unwrap();
        let mut file = BoundedFile::open(&path);
        append(&mut file, 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_somebody_emptied_is_begun_again() {
        let (_folder, path) = new_log();
        let mut file = BoundedFile::open(&path);
        append(&mut file, 1);
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        append(&mut file, 2);
        assert_eq!(log(&path), "line 2\n");
        assert_eq!(file.part, 2);
    }
}
