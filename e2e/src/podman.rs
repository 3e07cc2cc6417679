//! A Podman of the tests' own, with its own store, for all tests of a suite; its images come from
//! the plain one of the suite's [`registries`]. Containers go with the test program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use lab::oci::{File, Image, Registry};
use schedkit_core::{ImageRef, PinnedRef, Repository};
use schedkit_image::registry::{Credentials, Hosts};
use schedkit_image::signature::{Trusted, waive};
use schedkit_runtime::{
    ContainerId, Driver, ExitCode, Launch, OutputChunk, OutputStream, Podman, Until,
};
use serde_json::{Value, json};

use crate::registries::registries;
use crate::wait::TIMEOUT;

/// Podman's own limits are what no test of ours is about: runc and explicit limits work on
/// machines without CAP_SYS_RESOURCE, too.
pub const CONFIGURATION: &str = r#"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"#;
/// The first process of a namespace: when the test's end of the pipe closes, however the test
/// ends, everything in it goes, containers included; so it does when Podman ends by itself.
const END_WITH_TEST: &str = r#"
exec 3<&0
(read -r _ <&3; kill -KILL -1) &
podman "$@"
rm -rf --one-file-system "$RUN"
"#;

/// Podman's service, and the program that the tests' images run.
pub struct PodmanService {
    folder: PathBuf,
    program: PathBuf,
    _process: Child,
}

/// What a container wrote.
#[derive(Debug, Default)]
pub struct ContainerOutput {
    pub out: String,
    pub err: String,
    pub exit: Option<ExitCode>,
}

pub fn podman_service() -> &'static PodmanService {
    static SERVICE: OnceLock<PodmanService> = OnceLock::new();
    SERVICE.get_or_init(|| {
        let folder = registries().lab().state().path("podman");
        std::fs::create_dir_all(&folder).unwrap();
        PodmanService {
            program: compile(&folder),
            _process: serve(&folder),
            folder,
        }
    })
}

fn compile(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/podman/program.c");
    let program = folder.join("program");
    let mut cc = Command::new("cc");
    cc.args(["-static", "-Os", "-s", "-o"]);
    assert!(cc.arg(&program).arg(source).status().unwrap().success());
    program
}

fn serve(folder: &Path) -> Child {
    let path = |name: &str| folder.join(name).display().to_string();
    let configuration = path("containers.conf");
    std::fs::write(&configuration, CONFIGURATION).unwrap();
    let log = std::fs::File::create(path("podman.log")).unwrap();
    // Podman wants it to be short.
    let run = tempfile::Builder::new()
        .prefix("podman")
        .tempdir()
        .unwrap()
        .keep();
    let run = run.display().to_string();
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", END_WITH_TEST, "podman"])
        .args(["--root", &path("root"), "--runroot", &run])
        .args(["--tmpdir", &path("tmp"), "--storage-driver", "vfs"])
        .args(["system", "service", "--time", "0"])
        .arg(format!("unix://{}", path("podman.sock")))
        // It would go into every container that does not keep it out.
        .env("http_proxy", "http://proxy.invalid:1")
        .env("no_proxy", "127.0.0.1")
        .env("CONTAINERS_CONF", configuration)
        .env("RUN", &run)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log);
    for name in [
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ] {
        command.env_remove(name);
    }
    let mut child = command.spawn().unwrap();
    let socket = folder.join("podman.sock");
    let begin = Instant::now();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        if let Some(status) = child.try_wait().unwrap() {
            let said = std::fs::read_to_string(path("podman.log"));
            panic!("podman ended with {status}: {said:?}");
        }
        assert!(begin.elapsed() < TIMEOUT, "podman does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The pipe stays open as long as this process lives.
    child.stdin.as_mut().unwrap().flush().unwrap();
    child
}

impl PodmanService {
    pub fn registry(&self) -> Registry {
        registries().plain()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("podman.sock")
    }

    /// The driver under test; the registry has no TLS, which has to be said.
    pub fn podman(&self) -> Podman {
        let hosts = json!({self.registry().address(): {"security": "plain-http"}});
        let hosts = serde_json::from_value::<Hosts>(hosts).unwrap();
        Podman::new(self.socket(), hosts, Credentials::none())
    }

    /// An image of the program, with this configuration.
    pub fn image(&self, architecture: &str, config: &Value) -> Image {
        let file = File {
            from: self.program.clone(),
            to: "/program".into(),
        };
        Image::configured(architecture, &[file], config).unwrap()
    }

    /// Pushes an image under a tag; its digest may run.
    pub fn push(&self, name: &str, tag: &str, image: &Image) -> Trusted {
        self.registry().push_image(name, tag, image).unwrap();
        self.trust(name, &image.manifest.digest)
    }

    pub fn trust(&self, name: &str, digest: &str) -> Trusted {
        let pinned = PinnedRef::new(self.repository(name), digest.parse().unwrap());
        waive(pinned, "a test").into()
    }

    fn repository(&self, name: &str) -> Repository {
        format!("{}/{name}", self.registry().address())
            .parse()
            .unwrap()
    }

    pub fn launch(&self, image: &Trusted, args: &[&str]) -> Launch {
        let requested = format!("{}:1", image.image().repository());
        let requested = requested.parse::<ImageRef>().unwrap();
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Launch::new("scx_test".to_owned(), requested, image.clone(), args).unwrap()
    }

    /// An image of the program, in the store.
    pub async fn default_image(&self) -> Trusted {
        let config = json!({"Entrypoint": ["/program"], "Cmd": ["exit", "4"]});
        let trusted = self.push("default", "1", &self.image("amd64", &config));
        self.podman().pull(&trusted, &mut |_| {}).await.unwrap();
        trusted
    }

    /// A container of that image that was started with these arguments.
    pub async fn started(&self, args: &[&str]) -> ContainerId {
        let trusted = self.default_image().await;
        self.started_of(&trusted, args).await
    }

    /// A container of an image in the store that was started with these arguments.
    pub async fn started_of(&self, image: &Trusted, args: &[&str]) -> ContainerId {
        let podman = self.podman();
        let id = podman.create(&self.launch(image, args)).await.unwrap();
        podman.start(&id).await.unwrap();
        id
    }

    /// What a container wrote, until then.
    pub async fn output(&self, id: &ContainerId, until: Until) -> ContainerOutput {
        let mut output = ContainerOutput::default();
        let podman = self.podman();
        let mut take = |piece: OutputChunk<'_>| {
            let text = String::from_utf8_lossy(piece.bytes);
            match piece.stream {
                OutputStream::Stdout => output.out.push_str(&text),
                OutputStream::Stderr => output.err.push_str(&text),
            }
        };
        let exit = podman.output(id, until, &mut take).await.unwrap();
        ContainerOutput { exit, ..output }
    }

    /// Waits until the container has written this.
    pub async fn until_output(&self, id: &ContainerId, text: &str) -> ContainerOutput {
        let begin = Instant::now();
        loop {
            let output = self.output(id, Until::Now).await;
            if output.out.contains(text) || output.err.contains(text) {
                return output;
            }
            assert!(begin.elapsed() < TIMEOUT, "{text:?} is not in {output:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
