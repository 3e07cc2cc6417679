//! The log of a detached container: its limit, its times, and that a scheduler goes on whatever
//! happens to what writes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use schedkit_runtime::{
    After, ContainerId, ContainerState, Driver, ExitCode, OutputChunk, OutputStream, TimedOutput,
    Until,
};
use testkit::containerd::ContainerdFixture;
use testkit::containerd::image::ImageRecipe;
use testkit::wait::TIMEOUT;

const MAX_LOG: u64 = 2 * (10 << 20);

/// A file that a container sees and waits for.
struct Mark(PathBuf);

impl Mark {
    fn new(name: &str) -> Self {
        let path = format!("/var/run/scx/.{name}-{}", std::process::id());
        let _ = fs::remove_file(&path);
        Self(path.into())
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn set(&self) {
        fs::write(&self.0, "").unwrap();
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A small disk in the place of a folder.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn at(folder: PathBuf, size: &str) -> Self {
        fs::create_dir(&folder).unwrap();
        mount(&folder, &format!("size={size},mode=0700"));
        Self(folder)
    }

    fn resize(&self, size: &str) {
        mount(&self.0, &format!("remount,size={size}"));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn mount(folder: &Path, options: &str) {
    let mut command = Command::new("mount");
    command.args(["-t", "tmpfs", "-o", options, "tmpfs"]);
    assert!(command.arg(folder).status().unwrap().success(), "{options}");
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < end, "waiting until {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn until_exited(fixture: &ContainerdFixture) -> ExitCode {
    let mut code = None;
    until("it has exited", || {
        if let ContainerState::Exited(found) = fixture.list()[0].state {
            code = Some(found);
        }
        code.is_some()
    });
    code.unwrap()
}

/// What is in the log now.
fn shown(fixture: &ContainerdFixture, id: &ContainerId) -> String {
    let mut heard = Vec::new();
    let mut take = |piece: OutputChunk<'_>| heard.extend_from_slice(piece.bytes);
    let now = fixture.driver.output(id, Until::Now, &mut take);
    fixture.runtime.block_on(now).unwrap();
    String::from_utf8(heard).unwrap()
}

fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

/// The processes that write a container's log: the writer, then its standby.
fn log_writers(id: &ContainerId) -> [Vec<Pid>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let state = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(pid) = pid.and_then(Pid::from_raw)
            && line.contains("write-log")
            && line.contains(id.as_str())
            && !state.contains(") Z ")
        {
            found[usize::from(line.contains("--standby"))].push(pid);
        }
    }
    found
}

#[test]
fn a_detached_scheduler_cannot_fill_the_disk() {
    let fixture = ContainerdFixture::fresh();
    let mut args = vec!["flood"; 40];
    args.extend(["say", "end"]);
    let id = fixture.run(&ImageRecipe::new("detached"), &args);
    assert_eq!(until_exited(&fixture), ExitCode(0));
    let size = size(&fixture.daemon.path("logs"));
    assert!(size <= MAX_LOG, "the log has {size} bytes");
    let (log, _) = fixture.output(&id);
    assert!(log.ends_with("line 99998\nline 99999\n[end]\n"));
    assert!(log.len() > 1 << 20, "{} bytes are left", log.len());
    fixture.end(&id, After::Remove);
    assert_eq!(log_writers(&id), [vec![], vec![]]);
}

#[test]
fn a_scheduler_goes_on_when_the_disk_of_its_log_is_full() {
    let fixture = ContainerdFixture::fresh();
    let disk = SmallDisk::at(fixture.daemon.path("logs"), "1m");
    let [full, room] = [Mark::new("full"), Mark::new("room")];
    let args = [
        "say",
        "begin",
        "flood",
        "flood",
        "flood",
        "touch",
        full.path(),
        "await",
        room.path(),
        "say",
        "end",
        "exit",
        "3",
    ];
    let id = fixture.run(&ImageRecipe::new("full"), &args);
    until("the disk is full", || {
        full.0.exists() || fixture.list()[0].pid().is_none()
    });
    assert!(full.0.exists(), "{:?}", fixture.list()[0].state);
    disk.resize("16m");
    room.set();
    assert_eq!(until_exited(&fixture), ExitCode(3));
    let (log, _) = fixture.output(&id);
    assert!(log.starts_with("[begin]\nline 0\n"), "{}", &log[..40]);
    assert!(log.contains("bytes of output are missing here: No space left on device"));
    assert!(log.ends_with("[end]\n"), "{}", &log[log.len() - 200..]);
    fixture.end(&id, After::Remove);
    drop(disk);
}

#[test]
fn a_scheduler_goes_on_when_what_writes_its_log_is_killed() {
    let fixture = ContainerdFixture::fresh();
    let marks = ["one", "two", "three"].map(Mark::new);
    let mut args = vec!["say", "begin"];
    for mark in &marks {
        args.extend(["await", mark.path(), "say", mark.path(), "flood"]);
    }
    args.extend(["exit", "3"]);
    let id = fixture.run(&ImageRecipe::new("killed"), &args);
    let count = |expected: usize| {
        until("there is a writer and a standby", || {
            log_writers(&id).concat().len() == expected
        });
    };
    let complete = |mark: &Mark| {
        until("its output is in the log", || {
            let log = shown(&fixture, &id);
            let after = log.split_once(&format!("[{}]\n", mark.path()));
            after.is_some_and(|(_, after)| after.contains("line 99999\n"))
        });
    };
    count(2);
    // Everything that can be asked to end; then one of the two; then the other one.
    for (mark, signal) in marks.iter().zip([Signal::TERM, Signal::KILL, Signal::KILL]) {
        let all = log_writers(&id).concat();
        let victims = match (signal, std::ptr::eq(mark, &marks[1])) {
            (Signal::TERM, _) => &all[..],
            (_, true) => &all[..1],
            (_, false) => &all[1..],
        };
        for victim in victims {
            kill_process(*victim, signal).unwrap();
        }
        mark.set();
        complete(mark);
        count(2);
    }
    assert_eq!(until_exited(&fixture), ExitCode(3));
    let (log, _) = fixture.output(&id);
    assert_eq!(log.matches("line 99999\n").count(), 3);
    assert!(log.starts_with("[begin]\n") && !log.contains("missing"));
    fixture.end(&id, After::Remove);
    until("nothing is left", || log_writers(&id).concat().is_empty());
}

#[test]
fn a_log_has_times_and_both_streams() {
    let fixture = ContainerdFixture::fresh();
    let args = ["say", "a", "complain", "b", "stretch", "10", "say", "c"];
    let id = fixture.run(&ImageRecipe::new("times"), &args);
    let (plain, code) = fixture.output(&id);
    assert_eq!(code, Some(ExitCode(0)));
    let (mut out, mut err) = (String::new(), String::new());
    let mut take = |piece: OutputChunk<'_>| match piece.stream {
        OutputStream::Stdout => out += std::str::from_utf8(piece.bytes).unwrap(),
        OutputStream::Stderr => err += std::str::from_utf8(piece.bytes).unwrap(),
    };
    let timed = fixture.driver.timed_output(&id, Until::Exit, &mut take);
    let code = fixture.runtime.block_on(timed).unwrap();
    assert_eq!(code, Some(ExitCode(0)));
    let without_times: Vec<&str> = out
        .lines()
        .chain(err.lines())
        .map(|line| {
            let (time, text) = line.split_once(' ').unwrap();
            let age = jiff::Timestamp::now().duration_since(time.parse().unwrap());
            assert!((-5..3600).contains(&age.as_secs()), "{time}");
            text
        })
        .collect();
    // A line of ten megabytes is one line.
    let long = "x".repeat(10 << 20);
    assert_eq!(without_times.len(), 4, "{}", without_times.len());
    assert!(without_times == ["[a]", &long, "[c]", "<b>"]);
    assert_eq!(plain.len(), "[a]\n<b>\n\n[c]\n".len() + long.len());
    fixture.end(&id, After::Remove);
}

/// Faster than anybody can read it: then the log says that some is missing, and ends with its end.
#[test]
fn following_goes_on_in_the_next_file() {
    let fixture = ContainerdFixture::fresh();
    let mut args = vec!["flood"; 20];
    args.extend(["say", "end", "exit", "3"]);
    let id = fixture.run(&ImageRecipe::new("followed"), &args);
    let (log, code) = fixture.output(&id);
    assert_eq!(code, Some(ExitCode(3)));
    assert!(log.ends_with("[end]\n"), "{}", &log[log.len() - 200..]);
    let complete = log.matches("line 99999\n").count() == 20;
    let noted = log.contains("some output is missing here: it came faster than it was read");
    assert!(complete || noted);
    println!("complete: {complete}");
    fixture.end(&id, After::Remove);
}

/// A scheduler without one would stop as soon as its pipe is full.
#[test]
fn nothing_is_started_without_a_log_writer() {
    let fixture = ContainerdFixture::fresh();
    let settings = schedkit_runtime::containerd::ContainerdConfig {
        socket: fixture.daemon.socket(),
        log_folder: fixture.daemon.path("logs"),
        log_writer: "/bin/true".into(),
        ..Default::default()
    };
    let id = fixture.make(&ImageRecipe::new("no-writer"), &["wait"]);
    let registry = testkit::containerd::registry();
    let client = testkit::containerd::client(registry.address());
    let driver = schedkit_runtime::Containerd::new(settings, client);
    let error = fixture.runtime.block_on(driver.start(&id)).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("/bin/true, which writes its log, ended at once"),
        "{error}"
    );
    assert_eq!(fixture.list()[0].state, ContainerState::Created);
    fixture.end(&id, After::Remove);
}
