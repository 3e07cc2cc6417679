//! Accepted and refused references; printing and parsing are inverse.

use proptest::prelude::*;

use super::*;
use crate::digest::DigestError;

const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn an_accepted_reference_is_printed_in_full() {
    for (text, printed) in [
        (
            "ghcr.io/schedkit/scx_lavd",
            "ghcr.io/schedkit/scx_lavd:latest",
        ),
        (
            "GHCR.io/schedkit/scx_lavd:V1",
            "ghcr.io/schedkit/scx_lavd:V1",
        ),
        ("localhost/a", "localhost/a:latest"),
        ("localhost:5000/a/b-c:1", "localhost:5000/a/b-c:1"),
        ("[2001:DB8::1]:5000/a:1", "[2001:db8::1]:5000/a:1"),
        ("[::1]/a", "[::1]/a:latest"),
        ("[0:0::0:1]:5000/a:1", "[::1]:5000/a:1"),
        ("[::FFFF:7f00:1]/a:1", "[::ffff:127.0.0.1]/a:1"),
        ("0x7f.example/a:1", "0x7f.example/a:1"),
        ("1.2.3.4a/a:1", "1.2.3.4a/a:1"),
        ("192.0.2.1/a__b.c---d:1", "192.0.2.1/a__b.c---d:1"),
        ("docker.io/nginx", "docker.io/library/nginx:latest"),
        ("docker.io/team/nginx", "docker.io/team/nginx:latest"),
        (
            "ghcr.io/schedkit/scheds/scx_rusty:latest",
            "ghcr.io/schedkit/scheds/scx_rusty:latest",
        ),
    ] {
        assert_eq!(text.parse::<ImageRef>().unwrap().to_string(), printed);
    }
    for version in [format!("@sha256:{HEX}"), format!(":1@sha256:{HEX}")] {
        let text = format!("a.b/c{version}");
        assert_eq!(text.parse::<ImageRef>().unwrap().to_string(), text);
    }
}

#[test]
fn a_refused_reference_has_its_error() {
    let long = format!("a.b/{}", "c".repeat(MAX_LENGTH));
    for (text, error) in [
        ("", ImageRefError::Empty),
        (&long, ImageRefError::TooLong),
        ("nginx", ImageRefError::NoHost),
        ("nginx:1", ImageRefError::NoHost),
        ("library/nginx", ImageRefError::NoHost),
        ("/a.b/c", ImageRefError::NoHost),
        ("-a.b/c", ImageRefError::Host("-a.b".to_owned())),
        ("a..b/c", ImageRefError::Host("a..b".to_owned())),
        ("a.b:0/c", ImageRefError::Host("a.b:0".to_owned())),
        ("a.b:99999/c", ImageRefError::Host("a.b:99999".to_owned())),
        ("a.b:/c", ImageRefError::Host("a.b:".to_owned())),
        ("[::1%lo]/c", ImageRefError::Host("[::1%lo]".to_owned())),
        ("user@a.b/c", ImageRefError::Digest(DigestError::Algorithm)),
        ("a.b/C", ImageRefError::Path("C".to_owned())),
        ("a.b/", ImageRefError::Path(String::new())),
        ("a.b/c//d", ImageRefError::Path("c//d".to_owned())),
        ("a.b/../d", ImageRefError::Path("../d".to_owned())),
        ("a.b/c___d", ImageRefError::Path("c___d".to_owned())),
        ("a.b/c_", ImageRefError::Path("c_".to_owned())),
        ("a.b/c d", ImageRefError::Path("c d".to_owned())),
        ("a.b/c\n", ImageRefError::Path("c\n".to_owned())),
        ("a.b/c:", ImageRefError::Tag(String::new())),
        ("a.b/c:.x", ImageRefError::Tag(".x".to_owned())),
        ("a.b/c:x/y", ImageRefError::Path("c:x/y".to_owned())),
        (
            "a.b/c@sha1:00",
            ImageRefError::Digest(DigestError::Algorithm),
        ),
        ("a.b/c@sha256:00", ImageRefError::Digest(DigestError::Hex)),
        ("https://a.b/c", ImageRefError::Host("https:".to_owned())),
    ] {
        assert_eq!(text.parse::<ImageRef>(), Err(error), "{text:?}");
    }
    let tag = "t".repeat(129);
    let text = format!("a.b/c:{tag}");
    assert_eq!(text.parse::<ImageRef>(), Err(ImageRefError::Tag(tag)));
}

/// URLs take these for IPv4 addresses.
#[test]
fn an_ipv4_address_has_one_spelling() {
    for host in [
        "127.1",
        "127.0.1",
        "127:5000",
        "2130706433:5000",
        "0x7f000001:5000",
        "0X7F.0.0.1",
        "127.0.0.0x1",
        "127.0.0.0x",
        "0177.0.0.1",
        "010.0.0.1:5000",
        "1.2.3.4.5",
        "256.0.0.1",
        "registry.example.1",
    ] {
        let refused = format!("{host}/team/one").parse::<ImageRef>();
        assert_eq!(refused, Err(ImageRefError::Host(host.to_owned())));
    }
}

#[test]
fn a_path_that_is_too_long_only_in_full_is_refused() {
    let name = "n".repeat(255 - "library/".len());
    assert!(format!("docker.io/{name}").parse::<ImageRef>().is_ok());
    let name = format!("{name}n");
    let refused = format!("docker.io/{name}").parse::<ImageRef>();
    assert_eq!(refused, Err(ImageRefError::Path(name)));
}

#[test]
fn another_tag_drops_the_digest() {
    let image = format!("a.b/c:1@sha256:{HEX}");
    let image = image.parse::<ImageRef>().unwrap();
    assert_eq!(image.with_tag("2".parse().unwrap()).to_string(), "a.b/c:2");
}

proptest! {
    #[test]
    fn display_and_parse_round_trip(
        host in r"([a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?\.){1,3}[a-z]{2,5}(:[1-9][0-9]{0,3})?|\[::1\](:5000)?|localhost",
        path in r"[a-z0-9]{1,8}((\.|_|__|-{1,3})[a-z0-9]{1,4}){0,3}(/[a-z0-9]{1,8}){0,3}",
        version in r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,20})?(@sha256:[0-9a-f]{64})?",
    ) {
        let image = format!("{host}/{path}{version}").parse::<ImageRef>().unwrap();
        prop_assert_eq!(image.to_string().parse::<ImageRef>(), Ok(image.clone()));
        prop_assert!(image.tag().is_some() || image.digest().is_some());
    }

    #[test]
    fn parsing_never_panics(text in r"\PC*|[a-c./:@\[\]_-]{0,40}") {
        if let Ok(image) = text.parse::<ImageRef>() {
            prop_assert_eq!(image.to_string().parse::<ImageRef>(), Ok(image));
        }
    }
}
