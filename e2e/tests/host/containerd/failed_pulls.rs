//! Pulls that fail, and what they leave behind.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schedkit_runtime::{Containerd, Driver, DriverError, PullProgress, Pulled, containerd};

use testkit::containerd::daemon::Daemon;
use testkit::containerd::image::{ImageRecipe, Packing, layer, noise};
use testkit::containerd::{ContainerdFixture, REPOSITORY, client, registry, trusted};

fn big(mark: u64, bytes: usize) -> String {
    let mut recipe = ImageRecipe::new("big");
    recipe
        .layers
        .push((layer("noise", &noise(mark, bytes)), Packing::Plain));
    recipe.push_index(&registry(), REPOSITORY)
}

#[test]
fn a_full_disk_is_named_and_nothing_half_made_is_left() {
    let fixture = ContainerdFixture::with(Daemon::start_on_small_disk(16 << 20));
    // The first does not fit into the content store; the second fits there, but not unpacked.
    for (mark, bytes) in [(1, 20 << 20), (2, 10 << 20)] {
        let image = trusted(registry().address(), &big(mark, bytes));
        let error = fixture.try_pull(&image, &mut |_| {}).unwrap_err();
        assert!(
            matches!(error, DriverError::NoSpace { .. }),
            "{bytes}: {error:?}"
        );
        assert_eq!(fixture.daemon.leftovers(), "", "{bytes}");
    }
    let small = ImageRecipe::new("small").push(&registry(), REPOSITORY);
    assert_eq!(
        fixture.pull(&trusted(registry().address(), &small)),
        Pulled::Fetched
    );
}

#[test]
fn what_a_killed_pull_leaves_goes_with_its_lease() {
    let fixture = ContainerdFixture::fresh();
    let digest = big(3, 8 << 20);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "containerd::failed_pulls::child_that_pulls",
            "--nocapture",
        ])
        .env("CHILD_SOCKET", fixture.daemon.socket())
        .env("CHILD_REGISTRY", registry().address())
        .env("CHILD_DIGEST", &digest)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    let half = said
        .lines()
        .map_while(Result::ok)
        .any(|line| line.contains("HALF"));
    assert!(half, "the child did not come that far");
    child.kill().unwrap();
    child.wait().unwrap();

    let lease = fixture.daemon.ctr("schedkit", &["leases", "ls"]);
    assert!(lease.contains("containerd.io/gc.expire="), "{lease}");
    let image = trusted(registry().address(), &digest);
    assert_eq!(fixture.pull(&image), Pulled::Fetched);
    fixture
        .daemon
        .ctr("schedkit", &["images", "rm", &image.image().to_string()]);
    // What its expiry does by itself, one hour later.
    let id = fixture.daemon.ctr("schedkit", &["leases", "ls", "--quiet"]);
    fixture
        .daemon
        .ctr("schedkit", &["leases", "rm", "--sync", id.trim()]);
    assert_eq!(fixture.daemon.leftovers(), "");
}

/// No test by itself: it is killed half way by the one above.
#[tokio::test]
async fn child_that_pulls() {
    let word = |name: &str| std::env::var(name).ok();
    let (Some(socket), Some(address)) = (word("CHILD_SOCKET"), word("CHILD_REGISTRY")) else {
        return;
    };
    let Some(digest) = word("CHILD_DIGEST") else {
        return;
    };
    let settings = containerd::ContainerdConfig {
        socket: socket.into(),
        ..containerd::ContainerdConfig::default()
    };
    let driver = Containerd::new(settings, client(&address));
    let image = trusted(&address, &digest);
    let mut told = |progress| {
        if let PullProgress::Bytes { received, total } = progress
            && received > total / 2
        {
            println!("HALF");
            loop {
                std::thread::park();
            }
        }
    };
    let _ = driver.pull(&image, &mut told).await;
}

#[test]
fn an_image_beyond_the_limit_is_refused_before_anything_is_fetched() {
    let fixture = ContainerdFixture::fresh();
    let settings = containerd::ContainerdConfig {
        socket: fixture.daemon.socket(),
        max_image_bytes: 1 << 20,
        ..containerd::ContainerdConfig::default()
    };
    let driver = Containerd::new(settings, client(registry().address()));
    let image = trusted(registry().address(), &big(4, 2 << 20));
    let mut told = |progress| panic!("{progress:?}");
    let pull = driver.pull(&image, &mut told);
    let error = fixture.runtime.block_on(pull).unwrap_err();
    assert!(matches!(error, DriverError::Registry { .. }), "{error:?}");
    assert_eq!(fixture.daemon.leftovers(), "");
}

#[test]
fn a_layer_that_is_cut_off_begins_anew() {
    let fixture = ContainerdFixture::fresh();
    let digest = big(5, 8 << 20);
    let (address, cuts) = cutting_once(registry().address(), 4 << 20);
    let settings = containerd::ContainerdConfig {
        socket: fixture.daemon.socket(),
        log_folder: fixture.daemon.path("logs"),
        ..containerd::ContainerdConfig::default()
    };
    let driver = Containerd::new(settings, client(&address));
    let image = trusted(&address, &digest);
    let mut told = Vec::new();
    let mut tell = |progress| {
        if let PullProgress::Bytes { received, .. } = progress {
            told.push(received);
        }
    };
    let pulled = fixture.runtime.block_on(driver.pull(&image, &mut tell));
    assert_eq!(pulled.unwrap(), Pulled::Fetched);
    assert_eq!(cuts.load(Ordering::SeqCst), 1);
    assert!(!told.is_sorted(), "it fell back once");
    assert_eq!(
        fixture
            .daemon
            .ctr("schedkit", &["content", "active"])
            .lines()
            .count(),
        1
    );
    let id = fixture.create(&image, &["see", "/noise"]).unwrap();
    fixture.start(&id);
    assert_eq!(fixture.output(&id).0, "/noise there\n");
}

/// Stands before a registry and hangs up once, after so many bytes of one connection.
fn cutting_once(registry: &str, after: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (registry, cuts) = (registry.to_owned(), Arc::new(AtomicUsize::new(0)));
    let count = cuts.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, count) = (client.unwrap(), count.clone());
            let mut server = TcpStream::connect(&registry).unwrap();
            let (mut asked, mut asks) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || io::copy(&mut asked, &mut asks));
            std::thread::spawn(move || {
                let mut buffer = [0; 16 * 1024];
                let mut given = 0;
                while let Ok(length @ 1..) = server.read(&mut buffer) {
                    given += length;
                    let too_much = given > after && count.load(Ordering::SeqCst) == 0;
                    if too_much || client.write_all(&buffer[..length]).is_err() {
                        count.fetch_add(usize::from(too_much), Ordering::SeqCst);
                        break;
                    }
                }
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    (address, cuts)
}
