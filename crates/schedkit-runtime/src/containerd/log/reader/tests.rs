//! Logs as the log writer leaves them, and what is shown of them.

use std::io::Write;

use super::*;

const TIME: &str = "2026-01-31T08:00:00.000000001Z";

struct LogFolder {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl LogFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        Self { folder, path }
    }

    fn add(&self, text: &str) {
        let mut options = fs::OpenOptions::new();
        let mut file = options.create(true).append(true).open(&self.path).unwrap();
        file.write_all(text.replace('@', TIME).as_bytes()).unwrap();
    }

    /// As the log writer does it.
    fn begin_part(&self, number: u64) {
        let draft = self.folder.path().join("draft");
        fs::write(&draft, format!("{TIME} schedctl F part {number}\n")).unwrap();
        if self.path.exists() {
            fs::rename(&self.path, before(&self.path)).unwrap();
        }
        fs::rename(draft, &self.path).unwrap();
    }

    fn reader(&self, times: LineTimes) -> LogReader {
        LogReader::new(&self.path, times)
    }
}

fn read(reader: &mut LogReader) -> String {
    let mut text = String::new();
    let mut take = |piece: OutputChunk<'_>| {
        let mark = match piece.stream {
            OutputStream::Stdout => "",
            OutputStream::Stderr => "!",
        };
        text += mark;
        text += std::str::from_utf8(piece.bytes).unwrap();
    };
    while reader.read(&mut take).unwrap() {}
    text
}

#[test]
fn a_log_is_read_with_and_without_times() {
    let log = LogFolder::new();
    let mut reader = log.reader(LineTimes::Hidden);
    assert_eq!(read(&mut reader), "");
    log.begin_part(1);
    log.add("@ stdout F one\n@ stdout P a\n@ stderr F b\n@ stdout F  long line\n@ stderr P end");
    assert_eq!(read(&mut reader), "one\na!b\n long line\n");
    assert_eq!(read(&mut reader), "");
    log.add("\n@ stdout F last\n");
    assert_eq!(read(&mut reader), "!endlast\n");
    let mut timed = log.reader(LineTimes::Shown);
    let expected = "@ one\n@ a!@ b\n long line\n!@ end@ last\n";
    assert_eq!(read(&mut timed), expected.replace('@', TIME));
    assert!(timed.has_times().unwrap());
}

#[test]
fn reading_goes_on_in_the_next_file() {
    let log = LogFolder::new();
    log.begin_part(1);
    log.add("@ stdout F one\n");
    let mut reader = log.reader(LineTimes::Hidden);
    assert_eq!(read(&mut reader), "one\n");
    log.add("@ stdout F two\n");
    log.begin_part(2);
    log.add("@ stdout F three\n");
    assert_eq!(read(&mut reader), "two\nthree\n");
    assert_eq!(
        read(&mut log.reader(LineTimes::Hidden)),
        "one\ntwo\nthree\n"
    );
    // Two files later the first one has no name any more.
    log.add("@ stdout F four\n");
    log.begin_part(3);
    log.begin_part(4);
    log.add("@ stdout F five\n");
    assert_eq!(read(&mut reader), "four\nfive\n");
    assert_eq!(read(&mut reader), "");
}

#[test]
fn what_came_too_fast_is_noted() {
    let log = LogFolder::new();
    log.begin_part(1);
    let mut reader = log.reader(LineTimes::Hidden);
    assert_eq!(read(&mut reader), "");
    for number in 2..6 {
        log.begin_part(number);
        log.add(&format!("@ stdout F {number}\n"));
    }
    let missing = "!schedctl: some output is missing here: it came faster than it was read\n";
    assert_eq!(read(&mut reader), format!("{missing}4\n5\n"));
    // Emptied, where no further file could be made.
    fs::write(&log.path, "").unwrap();
    log.add("@ schedctl F part 7\n@ stdout F 7\n");
    assert_eq!(read(&mut reader), format!("{missing}7\n"));
}

#[test]
fn a_container_of_an_older_schedctl_has_a_log_without_times() {
    let log = LogFolder::new();
    log.add("INFO: attached\n2026-01-31T08:00:00Z stdout F x\n");
    let mut reader = log.reader(LineTimes::Hidden);
    let text = "INFO: attached\n2026-01-31T08:00:00Z stdout F x\n";
    assert_eq!(read(&mut reader), text);
    log.add("no end");
    assert_eq!(read(&mut reader), "no end");
    assert!(!reader.has_times().unwrap());
    // Older programs emptied it.
    fs::write(&log.path, "more\n").unwrap();
    assert_eq!(read(&mut reader), "more\n");
}

#[test]
fn lines_that_are_no_entries_are_skipped() {
    let log = LogFolder::new();
    log.begin_part(1);
    log.add("@ stdout F one\n@ stdo\n\n@ schedctl F something new\n@ stdout F two\n");
    assert_eq!(read(&mut log.reader(LineTimes::Hidden)), "one\ntwo\n");
}
