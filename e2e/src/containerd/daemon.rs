//! A containerd of the tests' own: own folders, own socket, gone with its value. The one of the
//! distribution is never asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use schedkit_runtime::containerd;
use tempfile::TempDir;

use crate::wait::TIMEOUT;

pub struct Daemon {
    folder: TempDir,
    process: Child,
    disk: Option<PathBuf>,
}

impl Daemon {
    pub fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), None)
    }

    /// With a disk of so many bytes.
    pub fn start_on_small_disk(bytes: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        let size = format!("size={bytes}");
        run(Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&root));
        Self::start_in(folder, Some(root))
    }

    fn start_in(folder: TempDir, disk: Option<PathBuf>) -> Self {
        let at = |name: &str| folder.path().join(name).display().to_string();
        let config = format!(
            "version = 2\nroot = \"{}\"\nstate = \"{}\"\n\
             disabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n\
             [grpc]\naddress = \"{}\"\n",
            at("root"),
            at("state"),
            at("containerd.sock"),
        );
        fs::write(folder.path().join("config.toml"), config).unwrap();
        let process = launch(folder.path());
        let daemon = Self {
            folder,
            process,
            disk,
        };
        daemon.wait();
        daemon
    }

    /// Ends it the hard way and starts it again, with everything that it had. May be called by
    /// what runs in a runtime: whether it answers is asked in another thread.
    pub fn restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.process = launch(self.folder.path());
        let this = &*self;
        std::thread::scope(|scope| scope.spawn(|| this.wait()).join()).unwrap();
    }

    /// Puts a file into the content store of a namespace, to stay. It is nobody's between the two
    /// steps, so the garbage collector may take it, and then it is put there again.
    pub fn ingest(&self, namespace: &str, digest: &str, file: &Path) {
        let ctr = |words: &[&str], file: &Path| {
            let mut command = Command::new("ctr");
            command.arg("--address").arg(self.socket());
            command
                .args(["--namespace", namespace, "content"])
                .args(words);
            command
                .stdin(fs::File::open(file).unwrap())
                .stdout(Stdio::null());
            command.status().unwrap().success()
        };
        let kept = (0..10).any(|_| {
            ctr(&["ingest", "--expected-digest", digest, "test"], file);
            ctr(&["label", digest, "containerd.io/gc.root=test"], file)
        });
        assert!(kept, "{digest} does not stay");
    }

    fn wait(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.unwrap();
        let end = Instant::now() + TIMEOUT;
        loop {
            let answer = runtime.block_on(containerd::ping(&self.socket()));
            match answer {
                Ok(version) => return println!("containerd {}", version.version),
                Err(error) if Instant::now() > end => {
                    let log = fs::read_to_string(self.folder.path().join("daemon.log"));
                    panic!("{error}\n{}", log.unwrap_or_default());
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("containerd.sock")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What containerd's own client says; the lines without the heading.
    pub fn ctr(&self, namespace: &str, words: &[&str]) -> String {
        let mut command = Command::new("ctr");
        command.arg("--address").arg(self.socket());
        let output = command
            .args(["--namespace", namespace])
            .args(words)
            .output();
        let output = output.unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ctr {words:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// All that somebody left in our namespace, one a line.
    pub fn leftovers(&self) -> String {
        let lists: [&[&str]; 5] = [
            &["content", "ls", "--quiet"],
            &["content", "active"],
            &["snapshots", "ls"],
            &["leases", "ls", "--quiet"],
            &["images", "ls", "--quiet"],
        ];
        let said = lists.map(|words| self.ctr("schedkit", words));
        let lines = said.iter().flat_map(|said| said.lines());
        let heading = |line: &&str| !line.starts_with("KEY") && !line.starts_with("REF");
        lines.filter(heading).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Containers are its shims' children, not its own: they would outlive it.
        for namespace in ["schedkit", "k8s.io"] {
            let ids = self.ctr(namespace, &["tasks", "ls", "--quiet"]);
            for id in ids.lines() {
                self.ctr(namespace, &["tasks", "rm", "--force", id]);
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(disk) = &self.disk {
            run(Command::new("umount").arg("--lazy").arg(disk));
        }
    }
}

/// Starts the edition that was asked for, with the configuration in a folder.
fn launch(folder: &Path) -> Child {
    let log = fs::File::create(folder.join("daemon.log")).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = match programs() {
        Some(programs) => {
            let mut command = Command::new(programs.join("containerd"));
            command.env("PATH", format!("{}:{path}", programs.display()));
            command
        }
        None => Command::new("containerd"),
    };
    command
        .arg("--config")
        .arg(folder.join("config.toml"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}");
}

/// Where the edition is that was asked for; Debian's own is in the path.
fn programs() -> Option<PathBuf> {
    use lab::parts::containerd::{Edition, make};
    let edition = match std::env::var("SCHEDKIT_CONTAINERD").as_deref() {
        Err(_) | Ok("debian") => return None,
        Ok("1.7") => Edition::V1_7,
        Ok("2") => Edition::V2,
        Ok(other) => panic!("SCHEDKIT_CONTAINERD={other}: debian, 1.7 or 2"),
    };
    let cache = lab::cache::Cache::new(lab::environment::cache_folder());
    let reporter = lab::progress::Reporter::new(std::io::sink());
    let made = make(&cache, edition, &reporter);
    Some(made.unwrap_or_else(|error| panic!("{}", lab::error_chain(&error))))
}
