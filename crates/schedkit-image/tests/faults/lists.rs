//! Tags and referrers: pages that never end, and lists that are none.

use schedkit_image::registry::Registry;

use crate::client::{client, digest, hex, message, pinned, repository};
use crate::server::{Reply, Server, ok, status, typed, with};

const IMAGE: &[u8] = b"an image";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A page of tags and the link behind it.
fn page(tags: &str, link: &str) -> Reply {
    let headers = vec![("Link", link.to_owned())];
    Reply::Full(
        200,
        headers,
        format!(r#"{{"name": "x", "tags": {tags}}}"#).into(),
    )
}

#[tokio::test]
async fn pages_of_tags() {
    let no_use = |why: &str| {
        Err(format!(
            "cannot get the list of tags of HOST/team/scx from HOST: the response cannot be used: {why}"
        ))
    };
    let circle = "its next page was read before, or belongs to another list";
    let next = |link: &str| page(r#"["a"]"#, &format!("<{link}>; rel=\"next\""));
    let too_many = |many: &str| {
        Err(format!(
            "cannot get the list of tags of HOST/team/scx from HOST: the list has more than {many}"
        ))
    };
    let many = format!("[{}]", vec![r#""a""#; 50_001].join(","));
    for (name, reply, expected, requests) in [
        ("none", page("null", ""), Ok(0), 1),
        ("two", page(r#"["b", "a"]"#, ""), Ok(2), 1),
        ("no next", page(r#"["b"]"#, "</x>; rel=\"prev\""), Ok(1), 1),
        (
            "circle",
            next("/v2/team/scx/tags/list?n=1000"),
            no_use(circle),
            1,
        ),
        ("circle of one's own", next("?last=a"), no_use(circle), 2),
        (
            "other host",
            next("http://other.invalid/v2/team/scx/tags/list?x"),
            no_use(circle),
            1,
        ),
        (
            "other list",
            next("/v2/team/other/tags/list?x"),
            no_use(circle),
            1,
        ),
        ("no link", next("http://["), no_use(circle), 1),
        (
            "garbage",
            ok("<html>"),
            no_use("not the expected JSON, at line 1, column 1"),
            1,
        ),
        (
            "no list",
            ok(r#"{"tags": "a"}"#),
            no_use("not the expected JSON, at line 1, column 12"),
            1,
        ),
        (
            "no tag",
            page(r#"["a", "\u001b[2J/b"]"#, ""),
            no_use("it lists \"�[2J/b\", which is not a tag"),
            1,
        ),
        (
            "long tag",
            page(&format!("[\"{}\"]", "a".repeat(100_000)), ""),
            no_use(&format!(
                "it lists \"{}…\", which is not a tag",
                "a".repeat(200)
            )),
            1,
        ),
        (
            "huge page",
            Reply::Flood(None),
            Err("cannot get the list of tags of HOST/team/scx from HOST: it has more than 1048576 bytes".to_owned()),
            1,
        ),
        ("huge list", page(&many, ""), too_many("50000 tags"), 1),
        (
            "gone",
            status(404),
            Err(
                "cannot get the list of tags of HOST/team/scx from HOST: it was not found: check the name"
                    .to_owned(),
            ),
            1,
        ),
    ] {
        let server = Server::start(move |_| reply.clone()).await;
        let outcome = client(&server.host).tags(&repository(&server.host)).await;
        let outcome = outcome.map(|tags| tags.len());
        let outcome = outcome.map_err(|error| message(&error, &[(&server.host, "HOST")]));
        assert_eq!(outcome, expected, "{name}");
        assert_eq!(server.count(), requests, "{name}");
    }
}

#[tokio::test]
async fn the_number_of_pages_is_limited() {
    let server = Server::start(|request| {
        let number = request
            .line
            .rsplit_once("p=")
            .map_or(0, |(_, n)| n.parse::<u32>().unwrap());
        page(r#"["a"]"#, &format!("<?p={}>; rel=next", number + 1))
    })
    .await;
    let error = client(&server.host)
        .tags(&repository(&server.host))
        .await
        .unwrap_err();
    assert_eq!(
        message(&error, &[(&server.host, "HOST")]),
        "cannot get the list of tags of HOST/team/scx from HOST: the list has more than 100 pages"
    );
    assert_eq!(server.count(), 100);
}

#[tokio::test]
async fn a_page_that_breaks_off_is_requested_again() {
    let server = Server::start(|request| match (request.is("last=a"), request.nth) {
        (false, _) => page(
            r#"["a"]"#,
            "</v2/team/scx/tags/list?n=1&last=a>; rel=\"next\"",
        ),
        (true, 0) => Reply::Cut(100, b"{".to_vec()),
        (true, _) => page(r#"["b"]"#, ""),
    })
    .await;
    let tags = client(&server.host)
        .tags(&repository(&server.host))
        .await
        .unwrap();
    let tags = tags.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        (tags, server.count()),
        (vec!["a".to_owned(), "b".to_owned()], 3)
    );
}

fn index(contents: &[&str]) -> String {
    let entry = |content: &&str| {
        format!(
            r#"{{"digest": "{}", "size": 1}}"#,
            digest(content.as_bytes())
        )
    };
    let entries = contents.iter().map(entry).collect::<Vec<_>>().join(",");
    format!(r#"{{"manifests": [{entries}]}}"#)
}

#[tokio::test]
async fn referrers_by_the_api_or_by_the_tag() {
    let elsewhere = Server::start(|_| status(429)).await;
    let away = format!("http://{}/web", elsewhere.host);
    let api = |contents: &[&str]| typed(INDEX, index(contents));
    let manifest = format!(
        r#"{{"config": {{"digest": "{}", "size": 1}}}}"#,
        digest(b"x")
    );
    let no_use = |why: &str| {
        Err(format!(
            "cannot get LIST from HOST: the response cannot be used: {why}"
        ))
    };
    let failed = |status| {
        Err(format!(
            "cannot get LIST from HOST: the response has HTTP status {status}"
        ))
    };
    let not_json = "not the expected JSON, at line 1, column 1";
    let many = vec!["a"; 10_001];
    for (name, by_api, by_tag, expected) in [
        ("only the API counts", api(&["a"]), ok(index(&["b", "c"])), Ok(1)),
        ("whatever the tag has", api(&["a"]), ok("garbage"), Ok(1)),
        ("an empty list of the API counts", api(&[]), ok(index(&["b"])), Ok(0)),
        ("neither", status(404), status(404), Ok(0)),
        ("the tag", status(404), ok(index(&["a", "b"])), Ok(2)),
        ("no API by 400", status(400), ok(index(&["a"])), Ok(1)),
        ("no API by 405", status(405), ok(index(&["a"])), Ok(1)),
        ("no API by 406", status(406), ok(index(&["a"])), Ok(1)),
        ("a web page", typed("text/html; charset=utf-8", vec![b'x'; 5 << 20]), ok(index(&["a"])), Ok(1)),
        ("a web site", with(303, "Location", away.clone()), ok(index(&["a"])), Ok(1)),
        ("garbage", typed(INDEX, "garbage"), ok(index(&["a"])), no_use(not_json)),
        ("one image", typed(INDEX, &manifest), ok(index(&["a"])), no_use("it is a single image, not a list of images")),
        ("both kinds", typed(INDEX, r#"{"config": 1, "manifests": []}"#), status(404), no_use("it is not an image index: both a manifest and an index")),
        ("too many", api(&many), status(404), Err("cannot get LIST from HOST: the list has more than 10000 referrers".to_owned())),
        ("flood", typed(INDEX, vec![b' '; (4 << 20) + 1]), status(404), Err("cannot get LIST from HOST: it has more than 4194304 bytes".to_owned())),
        ("the API fails", status(500), ok(index(&["a"])), failed(500)),
        ("the API denies access", status(403), ok(index(&["a"])), Err("cannot get LIST from HOST: access denied: the request was sent without credentials; check the name, or log in (`podman login`) if it is not public".to_owned())),
        ("the tag fails", status(404), status(500), failed(500)),
        ("tag is garbage", status(404), ok("garbage"), no_use(not_json)),
        ("tag is one image", status(404), ok(&manifest), no_use("it is a single image, not a list of images")),
        ("tag is the image itself", status(404), ok(IMAGE), Ok(0)),
    ] {
        let server = Server::start(move |request| match request.is("/referrers/") {
            true => by_api.clone(),
            false => by_tag.clone(),
        })
        .await;
        let image = pinned(&server.host, IMAGE);
        let outcome = client(&server.host).referrers(&image).await;
        let list = format!("the list of referrers of {image}");
        let outcome = outcome.map(|list| list.len());
        let outcome = outcome.map_err(|error| message(&error, &[(&list, "LIST"), (&server.host, "HOST")]));
        assert_eq!(outcome, expected, "{name}");
        assert!(server.count() <= 6, "{name}: {} requests", server.count());
    }
    assert_eq!(elsewhere.count(), 0);
}

#[tokio::test]
async fn referrers_cost_one_round_trip() {
    // Each reply waits for the other request: sent one after another, neither would be answered.
    let server = Server::start(|request| match request.is("/referrers/") {
        true => Reply::After("/manifests/", Box::new(status(404))),
        false => Reply::After("/referrers/", Box::new(ok(index(&["a"])))),
    })
    .await;
    let image = pinned(&server.host, IMAGE);
    let list = client(&server.host).referrers(&image).await.unwrap();
    assert_eq!((list.len(), server.count()), (1, 2));
    let lines = server.requests().into_iter().map(|request| request.line);
    let mut lines = lines.collect::<Vec<_>>();
    lines.sort();
    let hex = hex(IMAGE);
    assert_eq!(
        lines,
        [
            format!("GET /v2/team/scx/manifests/sha256-{hex}"),
            format!("GET /v2/team/scx/referrers/sha256:{hex}"),
        ]
    );
}

#[tokio::test]
async fn pages_of_referrers() {
    let server = Server::start(
        |request| match (request.is("/referrers/"), request.is("page=2")) {
            (true, false) => {
                let headers = vec![
                    ("Content-Type", INDEX.to_owned()),
                    ("Link", "<?page=2>; rel=\"next\"".to_owned()),
                ];
                Reply::Full(200, headers, index(&["a"]).into())
            }
            (true, true) => typed(INDEX, index(&["b"])),
            (false, _) => status(404),
        },
    )
    .await;
    let list = client(&server.host)
        .referrers(&pinned(&server.host, IMAGE))
        .await
        .unwrap();
    assert_eq!(list.len(), 2);
    let endless = Server::start(|request| {
        let number = request
            .line
            .rsplit_once("p=")
            .map_or(0, |(_, n)| n.parse::<u32>().unwrap());
        let link = format!("<?p={}>; rel=next", number + 1);
        let headers = vec![("Content-Type", INDEX.to_owned()), ("Link", link)];
        Reply::Full(200, headers, index(&["a"; 100]).into())
    })
    .await;
    let image = pinned(&endless.host, IMAGE);
    let error = client(&endless.host).referrers(&image).await.unwrap_err();
    let message = message(&error, &[(&endless.host, "HOST")]);
    assert!(
        message.ends_with("the list has more than 10000 referrers"),
        "{message}"
    );
    assert_eq!(endless.count_of("/referrers/"), 101);
}

/// A page of referrers with a link to a second.
fn first_of_two(body: String) -> Reply {
    let headers = vec![
        ("Content-Type", INDEX.to_owned()),
        ("Link", "<?page=2>; rel=\"next\"".to_owned()),
    ];
    Reply::Full(200, headers, body.into())
}

#[tokio::test]
async fn a_second_page_of_referrers_that_fails_is_an_error() {
    let lost = "cannot get LIST from HOST: the response cannot be used: it names a next page, and the request for that page returns no list";
    for (name, second, expected) in [
        ("gone", status(404), lost),
        ("400", status(400), lost),
        ("405", status(405), lost),
        ("406", status(406), lost),
        (
            "a web site",
            with(303, "Location", "http://web.invalid/"),
            lost,
        ),
        ("a web page", typed("text/html", "<html>"), lost),
        (
            "failure",
            status(500),
            "cannot get LIST from HOST: the response has HTTP status 500",
        ),
    ] {
        let server =
            Server::start(
                move |request| match (request.is("/referrers/"), request.is("page=2")) {
                    (true, false) => first_of_two(index(&["a"])),
                    (true, true) => second.clone(),
                    (false, _) => status(404),
                },
            )
            .await;
        let image = pinned(&server.host, IMAGE);
        let error = client(&server.host).referrers(&image).await.unwrap_err();
        let list = format!("the list of referrers of {image}");
        let message = message(&error, &[(&list, "LIST"), (&server.host, "HOST")]);
        assert_eq!(message, expected, "{name}");
    }
}

#[tokio::test]
async fn the_size_of_all_pages_of_referrers_is_limited() {
    let half = 2 << 20;
    for (second, fits) in [(half, true), (half + 1, false)] {
        let padded = |content: &str, length: usize| {
            let page = index(&[content]);
            " ".repeat(length - page.len()) + &page
        };
        let server =
            Server::start(
                move |request| match (request.is("/referrers/"), request.is("page=2")) {
                    (true, false) => first_of_two(padded("a", half)),
                    (true, true) => typed(INDEX, padded("b", second)),
                    (false, _) => status(404),
                },
            )
            .await;
        let image = pinned(&server.host, IMAGE);
        let outcome = client(&server.host).referrers(&image).await;
        let outcome = outcome.map(|list| list.len());
        let outcome = outcome.map_err(|error| message(&error, &[(&server.host, "HOST")]));
        let expected = match fits {
            true => Ok(2),
            false => {
                let list =
                    format!("the list of referrers of {image}").replace(&server.host, "HOST");
                Err(format!(
                    "cannot get {list} from HOST: it has more than 4194304 bytes"
                ))
            }
        };
        assert_eq!(outcome, expected);
    }
}

#[tokio::test]
async fn annotations_of_referrers_are_dropped_unless_they_tell_signatures_apart() {
    let annotated = format!(
        r#"{{"manifests": [{{"digest": "{}", "size": 1, "artifactType": "x", "annotations": {{"a": "b", "dev.sigstore.bundle.predicateType": "c"}}}}]}}"#,
        digest(b"a")
    );
    for by_api in [typed(INDEX, &annotated), status(404)] {
        let annotated = annotated.clone();
        let server = Server::start(move |request| match request.is("/referrers/") {
            true => by_api.clone(),
            false => ok(&annotated),
        })
        .await;
        let image = pinned(&server.host, IMAGE);
        let list = client(&server.host).referrers(&image).await.unwrap();
        assert_eq!(list[0].artifact_type.as_deref(), Some("x"));
        let kept = list[0]
            .annotations
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let expected = ("dev.sigstore.bundle.predicateType", "c");
        assert_eq!(kept.collect::<Vec<_>>(), [expected]);
    }
}
