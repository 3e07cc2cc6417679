//! The states of a container in Podman: created, running, stopped, killed, removed.

use std::time::{Duration, Instant};

use schedkit_runtime::{
    After, Container, ContainerId, ContainerState, Driver, DriverError, ExitCode, OutputChunk,
    TimedOutput, Trust, Until,
};
use serde_json::json;

use testkit::podman::{PodmanService, podman_service};

const GRACE: Duration = Duration::from_secs(60);

async fn seen(service: &PodmanService, id: &ContainerId) -> Option<Container> {
    let all = service.podman().list().await.unwrap();
    all.into_iter().find(|one| one.id == *id)
}

async fn gone(service: &PodmanService, id: &ContainerId, grace: Duration) {
    let podman = service.podman();
    podman.end(id, grace, After::Remove).await.unwrap();
    assert_eq!(seen(service, id).await, None);
}

#[tokio::test]
async fn arguments_arrive_as_they_are_and_the_exit_code_comes_back() {
    let service = podman_service();
    let args = ["exit", "two words", "line\nbreak", "", "$HOME \"'`", "7"];
    let id = service.started(&args).await;
    let output = service.output(&id, Until::Exit).await;
    let words = args.map(|arg| format!("<{arg}>\n")).concat();
    assert_eq!(output.out, format!("</program>\n{words}"));
    assert!(output.err.starts_with("uid 0 gid 0 pid "), "{}", output.err);
    assert_eq!(output.exit, Some(ExitCode(7)));
    let container = seen(service, &id).await.unwrap();
    assert_eq!(container.state, ContainerState::Exited(ExitCode(7)));
    assert_eq!(container.record.args, args);
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn without_arguments_the_images_own_are_used() {
    let service = podman_service();
    let id = service.started(&[]).await;
    let output = service.output(&id, Until::Exit).await;
    assert_eq!(output.out, "</program>\n<exit>\n<4>\n");
    assert_eq!(output.exit, Some(ExitCode(4)));
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn a_scheduler_has_what_it_needs_and_no_network() {
    let service = podman_service();
    let config = json!({"Entrypoint": ["/program"], "User": "1000:1000"});
    let trusted = service.push("user", "1", &service.image("amd64", &config));
    service.podman().pull(&trusted, &mut |_| {}).await.unwrap();
    let id = service.started_of(&trusted, &["wait"]).await;
    let output = service.until_output(&id, "lo:").await;
    let Some(ContainerState::Running { pid, started }) =
        seen(service, &id).await.map(|one| one.state)
    else {
        panic!("it does not run");
    };
    assert!(started.is_some());
    // The same number inside: it is in the namespace of Podman itself.
    let who = format!("uid 0 gid 0 pid {pid}\n");
    for words in [&who, "scx writable\n", "proxy unknown\n"] {
        assert!(output.err.contains(words), "{words} {}", output.err);
    }
    let boot = if std::path::Path::new("/boot").is_dir() {
        "read-only"
    } else {
        "absent"
    };
    assert!(
        output.err.contains(&format!("boot {boot}\n")),
        "{}",
        output.err
    );
    let interfaces = output
        .err
        .lines()
        .filter(|line| line.starts_with("/proc/net/dev"));
    assert_eq!(interfaces.count(), 1, "{}", output.err);
    let effective = output
        .err
        .lines()
        .find_map(|line| line.split_once("CapEff:\t"));
    let effective = u64::from_str_radix(effective.unwrap().1, 16).unwrap();
    for (name, number) in [("SYS_ADMIN", 21), ("PERFMON", 38), ("BPF", 39)] {
        assert!(effective & (1 << number) != 0, "{name}");
    }
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn what_was_created_and_not_started_is_listed_and_removed() {
    let service = podman_service();
    let trusted = service.default_image().await;
    let launch = service.launch(&trusted, &["wait"]);
    let id = service.podman().create(&launch).await.unwrap();
    let container = seen(service, &id).await.unwrap();
    assert_eq!(container.state, ContainerState::Created);
    assert!(
        container.name.starts_with("schedkit-scx_test-"),
        "{}",
        container.name
    );
    assert_eq!(container.image, trusted.image().to_string());
    assert_eq!(container.image_id.map(|id| id.len()), Some(64));
    assert_eq!(container.record.scheduler.as_deref(), Some("scx_test"));
    assert_eq!(
        container.record.requested,
        Some(launch.requested().to_string())
    );
    assert_eq!(
        container.record.trust,
        Some(Trust::Waived("a test".to_owned()))
    );
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn the_oldest_is_listed_first() {
    let service = podman_service();
    let launch = service.launch(&service.default_image().await, &[]);
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(service.podman().create(&launch).await.unwrap());
    }
    let listed = service
        .podman()
        .list()
        .await
        .unwrap()
        .into_iter()
        .map(|one| one.id);
    let listed = listed.filter(|id| made.contains(id)).collect::<Vec<_>>();
    assert_eq!(listed, made);
    for id in &made {
        gone(service, id, GRACE).await;
    }
}

#[tokio::test]
async fn output_ends_with_the_container_and_begins_with_its_latest_start() {
    let service = podman_service();
    let podman = service.podman();
    let id = service.started(&["wait"]).await;
    for _ in 0..3 {
        service.until_output(&id, "<wait>").await;
        // A second start of what runs changes nothing.
        let before = seen(service, &id).await.unwrap();
        podman.start(&id).await.unwrap();
        assert_eq!(seen(service, &id).await.unwrap(), before);
        podman.end(&id, GRACE, After::Keep).await.unwrap();
        podman.end(&id, GRACE, After::Keep).await.unwrap();
        let ended = seen(service, &id).await.unwrap();
        assert_eq!(ended.state, ContainerState::Exited(ExitCode(0)));
        let output = service.output(&id, Until::Exit).await;
        assert_eq!(output.out, "</program>\n<wait>\nasked to end\n");
        assert_eq!(output.exit, Some(ExitCode(0)));
        podman.start(&id).await.unwrap();
    }
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn what_ignores_sigterm_is_killed_after_the_grace_period() {
    let service = podman_service();
    let podman = service.podman();
    let id = service.started(&["deaf"]).await;
    service.until_output(&id, "<deaf>").await;
    let grace = Duration::from_millis(500);
    let begin = Instant::now();
    podman.end(&id, grace, After::Keep).await.unwrap();
    assert!(begin.elapsed() >= grace);
    let container = seen(service, &id).await.unwrap();
    assert_eq!(container.state, ContainerState::Exited(ExitCode(128 + 9)));
    podman.start(&id).await.unwrap();
    gone(service, &id, Duration::ZERO).await;
}

/// The program handles SIGTERM only.
#[tokio::test]
async fn the_stop_signal_of_the_image_is_sent() {
    let service = podman_service();
    let podman = service.podman();
    let config = json!({"Entrypoint": ["/program"], "StopSignal": "SIGINT"});
    let trusted = service.push("interrupted", "1", &service.image("amd64", &config));
    podman.pull(&trusted, &mut |_| {}).await.unwrap();
    let id = service.started_of(&trusted, &["wait"]).await;
    service.until_output(&id, "<wait>").await;
    podman.end(&id, GRACE, After::Keep).await.unwrap();
    let container = seen(service, &id).await.unwrap();
    assert_eq!(container.state, ContainerState::Exited(ExitCode(128 + 2)));
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn each_line_has_its_time_if_asked() {
    let service = podman_service();
    let id = service.started(&["exit", "4"]).await;
    let plain = service.output(&id, Until::Exit).await;
    let mut timed = String::new();
    let mut take = |piece: OutputChunk<'_>| timed += &String::from_utf8_lossy(piece.bytes);
    let podman = service.podman();
    podman
        .timed_output(&id, Until::Exit, &mut take)
        .await
        .unwrap();
    let lines = timed.lines().map(|line| line.split_once(' ').unwrap());
    let (times, texts): (Vec<_>, Vec<_>) = lines.unzip();
    assert!(
        times
            .iter()
            .all(|time| time.starts_with("20") && time.contains('T')),
        "{timed}"
    );
    assert_eq!(texts, (plain.out + &plain.err).lines().collect::<Vec<_>>());
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn children_end_with_their_parent() {
    let service = podman_service();
    let id = service.started(&["parent"]).await;
    service.until_output(&id, "has a child").await;
    service.podman().end(&id, GRACE, After::Keep).await.unwrap();
    let output = service.output(&id, Until::Now).await;
    assert!(output.out.contains("asked to end"), "{}", output.out);
    let container = seen(service, &id).await.unwrap();
    assert_eq!(container.state, ContainerState::Exited(ExitCode(0)));
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn following_the_output_ends_with_the_container() {
    let service = podman_service();
    let id = service.started(&["wait"]).await;
    let follow = service.output(&id, Until::Exit);
    let end = async {
        service.until_output(&id, "<wait>").await;
        let podman = service.podman();
        podman.end(&id, GRACE, After::Keep).await.unwrap();
    };
    let (output, ()) = tokio::join!(follow, end);
    assert_eq!(output.out, "</program>\n<wait>\nasked to end\n");
    assert_eq!(output.exit, Some(ExitCode(0)));
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn what_is_removed_can_be_ended_again_and_cannot_start() {
    let service = podman_service();
    let podman = service.podman();
    let id = service.started(&["exit", "0"]).await;
    gone(service, &id, GRACE).await;
    gone(service, &id, GRACE).await;
    podman.end(&id, GRACE, After::Keep).await.unwrap();
    let never = ContainerId::new("../../_ping?x=");
    podman.end(&never, GRACE, After::Remove).await.unwrap();
    let started = podman.start(&id).await;
    assert!(
        matches!(started, Err(DriverError::NoContainer { .. })),
        "{started:?}"
    );
    let output = podman.output(&id, Until::Now, &mut |_| {}).await;
    assert!(
        matches!(output, Err(DriverError::NoContainer { .. })),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_missing_program_is_reported_and_leaves_nothing() {
    let service = podman_service();
    let config = json!({"Entrypoint": ["/absent"]});
    let trusted = service.push("absent", "1", &service.image("amd64", &config));
    let podman = service.podman();
    podman.pull(&trusted, &mut |_| {}).await.unwrap();
    let id = podman.create(&service.launch(&trusted, &[])).await.unwrap();
    for tried in [podman.prepare(&id).await, podman.start(&id).await] {
        let Err(DriverError::Refused { message: said, .. }) = tried else {
            panic!("{tried:?}");
        };
        assert!(said.contains("/absent"), "{said}");
    }
    assert!(seen(service, &id).await.is_some());
    gone(service, &id, GRACE).await;
}

#[tokio::test]
async fn what_is_ready_runs_nothing_until_it_is_started() {
    let service = podman_service();
    let podman = service.podman();
    let launch = service.launch(&service.default_image().await, &["exit", "7"]);
    let id = podman.create(&launch).await.unwrap();
    // Once more is the same.
    for _ in 0..2 {
        podman.prepare(&id).await.unwrap();
        assert_eq!(
            seen(service, &id).await.unwrap().state,
            ContainerState::Created
        );
        assert_eq!(service.output(&id, Until::Now).await.out, "");
    }
    podman.start(&id).await.unwrap();
    let output = service.output(&id, Until::Exit).await;
    assert_eq!(output.exit, Some(ExitCode(7)));
    // One that has ended can be made ready again, and need not start.
    podman.prepare(&id).await.unwrap();
    gone(service, &id, GRACE).await;
    assert!(matches!(
        podman.prepare(&id).await,
        Err(DriverError::NoContainer { .. })
    ));
}
