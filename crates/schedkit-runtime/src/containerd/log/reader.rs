//! Reads a log: the older file, the newer one, and then what is added, also when the log writer
//! begins another file meanwhile.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::bounded_file::{before, part, part_of};
use super::entry::{Entry, LineEnd, Note, Source};
use crate::driver::{OutputChunk, OutputStream};

const CHUNK: usize = 64 * 1024;
/// As much as one call reads: its caller has to hear a signal, too.
const MAX_READ: usize = 1 << 20;
/// No first line of a log writer is as long.
const MAX_FIRST_LINE: usize = 200;
/// For a log writer that begins another file just now.
const OPEN_TRIES: usize = 20;

/// Whether each line begins with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::containerd) enum LineTimes {
    Hidden,
    Shown,
}

#[derive(Debug)]
pub(in crate::containerd) struct LogReader {
    path: PathBuf,
    times: LineTimes,
    file: Option<OpenFile>,
    /// The number of the file before.
    part: Option<u64>,
    shown: Shown,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    id: (u64, u64),
    offset: u64,
    /// The log writer does not remove it now.
    locked: bool,
    format: Format,
    /// A line that has not ended.
    rest: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// The first line will tell.
    Unknown,
    Entries,
    /// As the scheduler wrote it: the shim of an older schedctl's container writes to it.
    Plain,
}

/// Collects what is passed on, so that there is not a call for every line.
#[derive(Debug)]
struct Shown {
    stream: OutputStream,
    bytes: Vec<u8>,
    /// Whether a line of this stream goes on: its time has been shown.
    open: [bool; 2],
}

impl LogReader {
    pub(super) fn new(path: &Path, times: LineTimes) -> Self {
        Self {
            path: path.to_owned(),
            times,
            file: None,
            part: None,
            shown: Shown {
                stream: OutputStream::Stdout,
                bytes: Vec::new(),
                open: [false; 2],
            },
        }
    }

    /// Whether this log has times; not so if an older schedctl has started the container.
    pub(in crate::containerd) fn has_times(&self) -> io::Result<bool> {
        match File::open(&self.path) {
            Ok(file) => Ok(file.metadata()?.len() == 0 || part(&file)?.is_some()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Passes on what was added since the last call, or a part of it, and returns whether that was
    /// anything. A missing file counts as empty: others have started the container.
    pub(in crate::containerd) fn read(
        &mut self,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> io::Result<bool> {
        let mut found = false;
        if self.file.is_none() {
            self.file = self.oldest()?;
        }
        while let Some(file) = &mut self.file {
            // Asked first: what is in the old file then is all that it will ever have.
            let next = next_file(&self.path, file)?;
            let (part, shown) = (&mut self.part, &mut self.shown);
            let length = file.read_on(&self.path, self.times, part, shown, on_output)?;
            found |= length > 0;
            match next {
                _ if length >= MAX_READ => break,
                Some(next) => self.file = Some(next),
                None => break,
            }
        }
        self.shown.pass_on(on_output);
        Ok(found)
    }

    fn oldest(&self) -> io::Result<Option<OpenFile>> {
        for _ in 0..OPEN_TRIES {
            let Some(newer) = OpenFile::open(&self.path)? else {
                // Between two renames only the older one has a name.
                return OpenFile::open(&before(&self.path));
            };
            let Some(older) = OpenFile::open(&before(&self.path))? else {
                return Ok(Some(newer));
            };
            let follows = match (part(&older.file)?, part(&newer.file)?) {
                (Some(older), Some(newer)) => older < newer,
                _ => true,
            };
            if older.id != newer.id && follows {
                return Ok(Some(older));
            }
        }
        OpenFile::open(&self.path)
    }
}

/// The one that the log writer began after this one.
fn next_file(path: &Path, current: &OpenFile) -> io::Result<Option<OpenFile>> {
    let is_current = |path: &Path| match fs::metadata(path) {
        Ok(found) => Ok(id(&found) == current.id),
        // Between two renames, or the container was removed.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    };
    if is_current(path)? {
        return Ok(None);
    }
    if !is_current(&before(path))?
        && let Some(between) = OpenFile::open(&before(path))?
    {
        return Ok(Some(between));
    }
    OpenFile::open(path)
}

impl OpenFile {
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            id: id(&file.metadata()?),
            file,
            offset: 0,
            locked: false,
            format: Format::Unknown,
            rest: Vec::new(),
        }))
    }

    /// Reads up to the present end, or about [`MAX_READ`] bytes; returns how many.
    fn read_on(
        &mut self,
        path: &Path,
        times: LineTimes,
        part: &mut Option<u64>,
        shown: &mut Shown,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> io::Result<usize> {
        if self.was_emptied(*part)? {
            self.offset = 0;
            self.rest.clear();
        }
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut buffer = vec![0; CHUNK];
        let mut total = 0;
        while total < MAX_READ {
            self.keep(path);
            let length = self.file.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            total += length;
            self.offset += length as u64;
            self.rest.extend_from_slice(&buffer[..length]);
            self.take_lines(times, part, shown, on_output);
        }
        Ok(total)
    }

    /// Locks the older file until it has been read. The newer one is locked by the log writer.
    fn keep(&mut self, path: &Path) {
        let is_older = |found: Metadata| id(&found) != self.id;
        if !self.locked && fs::metadata(path).is_ok_and(is_older) {
            self.locked = self.file.try_lock_shared().is_ok();
        }
    }

    /// It has become shorter, or has another first line than the one that was read.
    fn was_emptied(&self, part: Option<u64>) -> io::Result<bool> {
        let mut line = [0; MAX_FIRST_LINE];
        let length = self.file.read_at(&mut line, 0)?;
        let first = line[..length].split(|byte| *byte == b'\n').next();
        let other = self.format == Format::Entries && first.and_then(part_of) != part;
        Ok(other || self.file.metadata()?.len() < self.offset)
    }

    fn take_lines(
        &mut self,
        times: LineTimes,
        part: &mut Option<u64>,
        shown: &mut Shown,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) {
        if self.format == Format::Unknown {
            self.format = format(&self.rest);
        }
        match self.format {
            Format::Unknown => {}
            Format::Plain => {
                shown.add(
                    OutputStream::Stdout,
                    &std::mem::take(&mut self.rest),
                    on_output,
                );
            }
            Format::Entries => {
                let rest = std::mem::take(&mut self.rest);
                let complete = rest.iter().rposition(|byte| *byte == b'\n');
                let (lines, incomplete) = rest.split_at(complete.map_or(0, |at| at + 1));
                for line in lines.split_inclusive(|byte| *byte == b'\n') {
                    let line = line.strip_suffix(b"\n").unwrap_or(line);
                    // The line of a writer that was killed while it wrote is skipped.
                    if let Some(entry) = Entry::parse(line) {
                        shown.add_entry(&entry, times, part, on_output);
                    }
                }
                self.rest = incomplete.to_vec();
            }
        }
    }
}

/// By the beginning of a file.
fn format(bytes: &[u8]) -> Format {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) if part_of(&bytes[..end]).is_some() => Format::Entries,
        None if bytes.len() < MAX_FIRST_LINE => Format::Unknown,
        _ => Format::Plain,
    }
}

fn id(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

impl Shown {
    fn add_entry(
        &mut self,
        entry: &Entry<'_>,
        times: LineTimes,
        part: &mut Option<u64>,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) {
        let (stream, index) = match entry.source {
            Source::Stdout => (OutputStream::Stdout, 0),
            Source::Stderr => (OutputStream::Stderr, 1),
            Source::Writer => return self.add_note(entry, times, part, on_output),
        };
        let goes_on = self.open[index];
        self.open[index] = entry.end == LineEnd::Open;
        if times == LineTimes::Shown && !goes_on {
            self.add(stream, format!("{} ", entry.time).as_bytes(), on_output);
        }
        self.add(stream, entry.text, on_output);
        if entry.end == LineEnd::Newline {
            self.add(stream, b"\n", on_output);
        }
    }

    fn add_note(
        &mut self,
        entry: &Entry<'_>,
        times: LineTimes,
        part: &mut Option<u64>,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) {
        let text = match Note::parse(entry.text) {
            Some(Note::Part(number)) => {
                let before = part.replace(number);
                if before.is_none_or(|before| number <= before + 1) {
                    return;
                }
                "schedctl: some output is missing here: it came faster than it was read\n"
                    .to_owned()
            }
            Some(Note::Missing { bytes, reason }) => {
                format!("schedctl: {bytes} bytes of output are missing here: {reason}\n")
            }
            None => return,
        };
        let mut line = String::new();
        if times == LineTimes::Shown {
            line = format!("{} ", entry.time);
        }
        line.push_str(&text);
        self.add(OutputStream::Stderr, line.as_bytes(), on_output);
    }

    fn add(
        &mut self,
        stream: OutputStream,
        bytes: &[u8],
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) {
        if self.stream != stream || self.bytes.len() >= CHUNK {
            self.pass_on(on_output);
            self.stream = stream;
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn pass_on(&mut self, on_output: &mut dyn FnMut(OutputChunk<'_>)) {
        if !self.bytes.is_empty() {
            let stream = self.stream;
            let bytes = &std::mem::take(&mut self.bytes)[..];
            on_output(OutputChunk { stream, bytes });
        }
    }
}

#[cfg(test)]
mod tests;
