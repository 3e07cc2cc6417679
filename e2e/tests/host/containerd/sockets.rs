//! Who listens where, and what the kubelet's containers look like.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use schedkit_runtime::{DriverError, containerd};

use testkit::containerd::image::{ImageRecipe, program};
use testkit::containerd::{ContainerdFixture, REPOSITORY, registry, trusted};

#[tokio::test]
async fn no_daemon_and_another_daemon_are_different_errors() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("absent.sock");
    let error = containerd::ping(&socket).await.unwrap_err();
    let DriverError::Unreachable { source, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);

    let stale = folder.path().join("stale.sock");
    drop(UnixListener::bind(&stale).unwrap());
    let error = containerd::ping(&stale).await.unwrap_err();
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error}");

    // Podman's service, and every other server of its kind, answers like this.
    let web = folder.path().join("podman.sock");
    let listener = UnixListener::bind(&web).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400");
        }
    });
    let error = containerd::ping(&web).await.unwrap_err();
    assert!(
        matches!(error, DriverError::WrongService { .. }),
        "{error:?}"
    );
}

/// The clock runs ahead whenever everybody waits, so this takes no time.
#[tokio::test(start_paused = true)]
async fn a_silent_socket_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("silent.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let error = containerd::ping(&socket).await.unwrap_err();
    assert!(
        matches!(error, DriverError::Timeout { seconds: 10, .. }),
        "{error:?}"
    );
}

#[test]
fn without_permission_the_error_says_so() {
    let fixture = ContainerdFixture::fresh();
    fs::set_permissions(fixture.daemon.path(""), Permissions::from_mode(0o755)).unwrap();
    let version = fixture
        .runtime
        .block_on(containerd::ping(&fixture.daemon.socket()))
        .unwrap();
    assert!(!version.version.is_empty());
    // As somebody else, in a process of their own.
    let output = std::process::Command::new("setpriv")
        .args([
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "--inh-caps=-all",
        ])
        .arg(child_copy(&fixture.daemon.path("child")))
        .args([
            "--exact",
            "containerd::sockets::child_that_pings",
            "--nocapture",
        ])
        .env("CHILD_SOCKET", fixture.daemon.socket())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("PermissionDenied"), "{said}{output:?}");
}

/// This program where everybody can run it.
fn child_copy(to: &std::path::Path) -> std::path::PathBuf {
    fs::copy(std::env::current_exe().unwrap(), to).unwrap();
    fs::set_permissions(to, Permissions::from_mode(0o755)).unwrap();
    to.to_owned()
}

/// No test by itself: the other half of the one above.
#[tokio::test]
async fn child_that_pings() {
    let Ok(socket) = std::env::var("CHILD_SOCKET") else {
        return;
    };
    let error = containerd::ping(socket.as_ref()).await.unwrap_err();
    println!("{error:?}");
}

#[test]
fn the_kubelets_containers_are_found_by_their_labels() {
    let fixture = ContainerdFixture::fresh();
    let digest = ImageRecipe::new("kubelet").push(&registry(), REPOSITORY);
    fixture.pull(&trusted(registry().address(), &digest));
    let rootfs = fixture.daemon.path("rootfs");
    fs::create_dir(&rootfs).unwrap();
    fs::write(rootfs.join("program"), program()).unwrap();
    let mode = Permissions::from_mode(0o755);
    fs::set_permissions(rootfs.join("program"), mode).unwrap();
    let rootfs = rootfs.display().to_string();
    let run = |id: &str, labels: &[&str]| {
        let mut words = vec!["run", "--detach", "--null-io"];
        words.extend(labels.iter().flat_map(|label| ["--label", label]));
        words.extend(["--rootfs", &rootfs, id, "/program", "wait"]);
        fixture.daemon.ctr("k8s.io", &words);
    };
    // As the CRI plugin labels them.
    let pod = |name: &str, by: &str| {
        let uid = format!("io.kubernetes.pod.uid={name}-uid");
        let named = format!("io.kubernetes.pod.name={name}");
        let both = [uid.as_str(), &named, "io.kubernetes.pod.namespace=team"];
        let by = format!("managed-by={by}");
        let sandbox = ["io.cri-containerd.kind=sandbox", &by, "name=lab"];
        run(&format!("{name}-sandbox"), &[&both[..], &sandbox].concat());
        let container = [
            "io.cri-containerd.kind=container",
            "io.kubernetes.container.name=scx",
        ];
        run(&format!("{name}-scx"), &[&both[..], &container].concat());
    };
    pod("lab-abc", "sked-controller");
    pod("stranger", "else");
    let socket = fixture.daemon.socket();
    let sought = containerd::PodContainerQuery {
        container: "scx",
        label: ("managed-by", "sked-controller"),
    };
    let asked = containerd::pod_containers(&socket, sought);
    let found = fixture.runtime.block_on(asked).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let found = &found[0];
    assert_eq!(found.pod.to_string(), "team/lab-abc");
    assert_eq!(found.labels["name"], "lab");
    assert_eq!(found.container.name, "scx");
    assert_eq!(found.container.id.as_str(), "lab-abc-scx");
    let tasks = fixture.daemon.ctr("k8s.io", &["tasks", "ls"]);
    let mut rows = tasks.lines().map(|line| line.split_whitespace());
    let pid = rows.find_map(|mut row| (row.next() == Some("lab-abc-scx")).then(|| row.next()));
    let pid = pid.flatten().unwrap().parse().unwrap();
    assert_eq!(found.container.pid(), Some(pid));
    assert!(fixture.list().is_empty(), "they are not ours");

    let nobody = containerd::PodContainerQuery {
        label: ("managed-by", "nobody"),
        ..sought
    };
    let asked = containerd::pod_containers(&socket, nobody);
    assert_eq!(fixture.runtime.block_on(asked).unwrap(), []);
}
