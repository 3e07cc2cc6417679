//! Containers from their first to their last hour.

use std::time::{Duration, Instant};

use schedkit_runtime::{
    After, Container, ContainerId, ContainerState, Driver, DriverError, ExitCode, Trust, Until,
};
use serde_json::json;

use crate::ground::{Ground, ground};

const GRACE: Duration = Duration::from_secs(60);

async fn seen(ground: &Ground, id: &ContainerId) -> Option<Container> {
    let all = ground.podman().list().await.unwrap();
    all.into_iter().find(|one| one.id == *id)
}

async fn gone(ground: &Ground, id: &ContainerId, grace: Duration) {
    let podman = ground.podman();
    podman.end(id, grace, After::Remove).await.unwrap();
    assert_eq!(seen(ground, id).await, None);
}

#[tokio::test]
async fn arguments_arrive_as_they_are_and_the_exit_code_comes_back() {
    let ground = ground();
    let args = ["exit", "two words", "line\nbreak", "", "$HOME \"'`", "7"];
    let id = ground.started(&args).await;
    let heard = ground.hear(&id, Until::Exit).await;
    let words = args.map(|arg| format!("<{arg}>\n")).concat();
    assert_eq!(heard.out, format!("</program>\n{words}"));
    assert!(heard.err.starts_with("uid 0 gid 0 pid "), "{}", heard.err);
    assert_eq!(heard.exit, Some(ExitCode(7)));
    let container = seen(ground, &id).await.unwrap();
    assert_eq!(container.state, ContainerState::Exited(ExitCode(7)));
    assert_eq!(container.record.args, args);
    gone(ground, &id, GRACE).await;
}

#[tokio::test]
async fn without_arguments_the_images_own_are_used() {
    let ground = ground();
    let id = ground.started(&[]).await;
    let heard = ground.hear(&id, Until::Exit).await;
    assert_eq!(heard.out, "</program>\n<exit>\n<4>\n");
    assert_eq!(heard.exit, Some(ExitCode(4)));
    gone(ground, &id, GRACE).await;
}

#[tokio::test]
async fn a_scheduler_has_what_it_needs_and_no_network() {
    let ground = ground();
    let config = json!({"Entrypoint": ["/program"], "User": "1000:1000"});
    let trusted = ground.push("user", "1", &ground.image("amd64", &config));
    ground.podman().pull(&trusted, &mut |_| {}).await.unwrap();
    let id = ground.started_of(&trusted, &["wait"]).await;
    let heard = ground.until_heard(&id, "lo:").await;
    let Some(ContainerState::Running { pid, started }) =
        seen(ground, &id).await.map(|one| one.state)
    else {
        panic!("it does not run");
    };
    assert!(started.is_some());
    // The same number inside: it is in the namespace of Podman itself.
    let who = format!("uid 0 gid 0 pid {pid}\n");
    for words in [&who, "scx writable\n", "proxy unknown\n"] {
        assert!(heard.err.contains(words), "{words} {}", heard.err);
    }
    let boot = if std::path::Path::new("/boot").is_dir() {
        "read-only"
    } else {
        "absent"
    };
    assert!(
        heard.err.contains(&format!("boot {boot}\n")),
        "{}",
        heard.err
    );
    let interfaces = heard
        .err
        .lines()
        .filter(|line| line.starts_with("/proc/net/dev"));
    assert_eq!(interfaces.count(), 1, "{}", heard.err);
    let effective = heard
        .err
        .lines()
        .find_map(|line| line.split_once("CapEff:\t"));
    let effective = u64::from_str_radix(effective.unwrap().1, 16).unwrap();
    for (name, number) in [("SYS_ADMIN", 21), ("PERFMON", 38), ("BPF", 39)] {
        assert!(effective & (1 << number) != 0, "{name}");
    }
    gone(ground, &id, GRACE).await;
}

#[tokio::test]
async fn what_was_made_and_not_started_is_found_and_goes() {
    let ground = ground();
    let trusted = ground.usual().await;
    let launch = ground.launch(&trusted, &["wait"]);
    let id = ground.podman().create(&launch).await.unwrap();
    let container = seen(ground, &id).await.unwrap();
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
    gone(ground, &id, GRACE).await;
}

#[tokio::test]
async fn the_oldest_is_listed_first() {
    let ground = ground();
    let launch = ground.launch(&ground.usual().await, &[]);
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(ground.podman().create(&launch).await.unwrap());
    }
    let listed = ground
        .podman()
        .list()
        .await
        .unwrap()
        .into_iter()
        .map(|one| one.id);
    let listed = listed.filter(|id| made.contains(id)).collect::<Vec<_>>();
    assert_eq!(listed, made);
    for id in &made {
        gone(ground, id, GRACE).await;
    }
}

#[tokio::test]
async fn who_listens_ends_by_itself_and_tells_only_of_its_latest_start() {
    let ground = ground();
    let podman = ground.podman();
    let id = ground.started(&["wait"]).await;
    for _ in 0..3 {
        ground.until_heard(&id, "<wait>").await;
        // A second start of what runs changes nothing.
        let before = seen(ground, &id).await.unwrap();
        podman.start(&id).await.unwrap();
        assert_eq!(seen(ground, &id).await.unwrap(), before);
        podman.end(&id, GRACE, After::Keep).await.unwrap();
        podman.end(&id, GRACE, After::Keep).await.unwrap();
        let ended = seen(ground, &id).await.unwrap();
        assert_eq!(ended.state, ContainerState::Exited(ExitCode(0)));
        let heard = ground.hear(&id, Until::Exit).await;
        assert_eq!(heard.out, "</program>\n<wait>\nasked to end\n");
        assert_eq!(heard.exit, Some(ExitCode(0)));
        podman.start(&id).await.unwrap();
    }
    gone(ground, &id, GRACE).await;
}

#[tokio::test]
async fn who_is_deaf_is_killed_after_the_grace() {
    let ground = ground();
    let podman = ground.podman();
    let id = ground.started(&["deaf"]).await;
    ground.until_heard(&id, "<deaf>").await;
    let grace = Duration::from_millis(500);
    let begin = Instant::now();
    podman.end(&id, grace, After::Keep).await.unwrap();
    assert!(begin.elapsed() >= grace);
    let container = seen(ground, &id).await.unwrap();
    assert_eq!(container.state, ContainerState::Exited(ExitCode(128 + 9)));
    podman.start(&id).await.unwrap();
    gone(ground, &id, Duration::ZERO).await;
}

#[tokio::test]
async fn whoever_has_children_ends_with_them() {
    let ground = ground();
    let id = ground.started(&["parent"]).await;
    ground.until_heard(&id, "has a child").await;
    ground.podman().end(&id, GRACE, After::Keep).await.unwrap();
    let heard = ground.hear(&id, Until::Now).await;
    assert!(heard.out.contains("asked to end"), "{}", heard.out);
    let container = seen(ground, &id).await.unwrap();
    assert_eq!(container.state, ContainerState::Exited(ExitCode(0)));
    gone(ground, &id, GRACE).await;
}

#[tokio::test]
async fn a_follower_hears_the_end() {
    let ground = ground();
    let id = ground.started(&["wait"]).await;
    let follow = ground.hear(&id, Until::Exit);
    let end = async {
        ground.until_heard(&id, "<wait>").await;
        let podman = ground.podman();
        podman.end(&id, GRACE, After::Keep).await.unwrap();
    };
    let (heard, ()) = tokio::join!(follow, end);
    assert_eq!(heard.out, "</program>\n<wait>\nasked to end\n");
    assert_eq!(heard.exit, Some(ExitCode(0)));
    gone(ground, &id, GRACE).await;
}

#[tokio::test]
async fn what_is_gone_is_no_trouble_to_end_and_cannot_start() {
    let ground = ground();
    let podman = ground.podman();
    let id = ground.started(&["exit", "0"]).await;
    gone(ground, &id, GRACE).await;
    gone(ground, &id, GRACE).await;
    podman.end(&id, GRACE, After::Keep).await.unwrap();
    let never = ContainerId::new("../../_ping?x=");
    podman.end(&never, GRACE, After::Remove).await.unwrap();
    let started = podman.start(&id).await;
    assert!(
        matches!(started, Err(DriverError::NoContainer { .. })),
        "{started:?}"
    );
    let heard = podman.output(&id, Until::Now, &mut |_| {}).await;
    assert!(
        matches!(heard, Err(DriverError::NoContainer { .. })),
        "{heard:?}"
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told_and_leaves_nothing() {
    let ground = ground();
    let config = json!({"Entrypoint": ["/absent"]});
    let trusted = ground.push("absent", "1", &ground.image("amd64", &config));
    let podman = ground.podman();
    podman.pull(&trusted, &mut |_| {}).await.unwrap();
    let id = podman.create(&ground.launch(&trusted, &[])).await.unwrap();
    for tried in [podman.ready(&id).await, podman.start(&id).await] {
        let Err(DriverError::Refused { message: said, .. }) = tried else {
            panic!("{tried:?}");
        };
        assert!(said.contains("/absent"), "{said}");
    }
    assert!(seen(ground, &id).await.is_some());
    gone(ground, &id, GRACE).await;
}

#[tokio::test]
async fn what_is_ready_runs_nothing_yet_and_starts_or_goes() {
    let ground = ground();
    let podman = ground.podman();
    let launch = ground.launch(&ground.usual().await, &["exit", "7"]);
    let id = podman.create(&launch).await.unwrap();
    // Once more is the same.
    for _ in 0..2 {
        podman.ready(&id).await.unwrap();
        assert_eq!(
            seen(ground, &id).await.unwrap().state,
            ContainerState::Created
        );
        assert_eq!(ground.hear(&id, Until::Now).await.out, "");
    }
    podman.start(&id).await.unwrap();
    let heard = ground.hear(&id, Until::Exit).await;
    assert_eq!(heard.exit, Some(ExitCode(7)));
    // One that has ended can be made ready again, and need not start.
    podman.ready(&id).await.unwrap();
    gone(ground, &id, GRACE).await;
    assert!(matches!(
        podman.ready(&id).await,
        Err(DriverError::NoContainer { .. })
    ));
}
