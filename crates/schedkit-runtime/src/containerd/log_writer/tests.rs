//! The parts of a log writer; the tests with a real containerd have the processes.

use std::io::pipe;

use super::super::log::{LineTimes, Log};
use super::*;

#[test]
fn the_address_has_one_parameter_whatever_the_paths_are() {
    let plain = address(
        Path::new("/usr/bin/schedctl"),
        Path::new("/var/log/schedctl/a.log"),
    );
    let expected = "binary:///usr/bin/schedctl?write-log=/var/log/schedctl/a.log";
    assert_eq!(plain, expected);
    let odd = address(Path::new("/a b?&"), Path::new("/c+%=#"));
    assert_eq!(odd, "binary:///a%20b%3F%26?write-log=/c%2B%25%3D%23");
}

#[test]
fn only_a_shim_and_a_writer_ask_for_a_log() {
    let requested = |line: &str| {
        let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        LogToWrite::requested(&argv).map(|log| (log.path.display().to_string(), log.role))
    };
    let path = "/a.log".to_owned();
    assert_eq!(
        requested("exe write-log /a.log"),
        Some((path.clone(), Role::Writer))
    );
    let standby = requested("schedctl write-log /a.log --standby");
    assert_eq!(standby, Some((path, Role::Standby)));
    for line in [
        "schedctl",
        "schedctl write-log",
        "schedctl logs write-log /a.log",
    ] {
        assert_eq!(requested(line), None, "{line}");
    }
}

#[test]
fn this_program_can_be_started() {
    assert!(this_program().metadata().unwrap().is_file());
}

#[test]
fn both_streams_are_written_to_their_last_byte() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::of(folder.path(), "a");
    log.reset().unwrap();
    let (sender, receiver) = sync_channel(QUEUE);
    let (stdout, mut to_stdout) = pipe().unwrap();
    let (stderr, mut to_stderr) = pipe().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|pipe| File::from(OwnedFd::from(pipe)));
    forward(stdout, Source::Stdout, sender.clone()).unwrap();
    forward(stderr, Source::Stderr, sender).unwrap();
    let written = thread::spawn(move || {
        for _ in 0..1000 {
            to_stdout.write_all(&[b'o'; 1000]).unwrap();
            to_stderr.write_all(b"e\n").unwrap();
        }
    });
    let mut file = BoundedFile::open(log.path());
    assert!(log.is_written());
    write_pieces(&receiver, &mut file);
    written.join().unwrap();
    drop(file);
    assert!(!log.is_written());
    let (mut out, mut err) = (0, 0);
    let mut count = |piece: crate::OutputChunk<'_>| match piece.stream {
        crate::OutputStream::Stdout => out += piece.bytes.len(),
        crate::OutputStream::Stderr => err += piece.bytes.len(),
    };
    log.reader(LineTimes::Hidden).read(&mut count).unwrap();
    assert_eq!((out, err), (1_000_000, 2000));
}

/// Nobody takes anything out of the queue, as if writing never returned.
#[test]
fn a_disk_that_hangs_does_not_stop_the_scheduler() {
    let (to, pieces) = sync_channel(QUEUE);
    let mut queue = Queue { to, lost: 0 };
    for _ in 0..3 * QUEUE {
        queue.push(Source::Stdout, b"12345");
    }
    assert_eq!(queue.lost, 2 * QUEUE as u64 * 5);
    assert_eq!(pieces.try_iter().map(|piece| piece.lost).sum::<u64>(), 0);
    queue.push(Source::Stdout, b"6");
    assert_eq!(pieces.try_recv().unwrap().lost, 2 * QUEUE as u64 * 5);
    queue.push(Source::Stdout, b"7");
    assert_eq!(pieces.try_recv().unwrap().lost, 0);
}
