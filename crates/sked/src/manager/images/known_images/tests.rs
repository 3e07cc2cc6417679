//! When an image is read, and what is stored.

use super::*;

fn named(images: &[&str]) -> HashSet<String> {
    images.iter().map(|image| (*image).to_owned()).collect()
}

fn read(min_kernel: Option<&str>, is_immutable: bool) -> Option<ImageInfo> {
    Some(ImageInfo {
        facts: ImageFacts {
            min_kernel: min_kernel.map(|text| text.parse().unwrap()),
            ..ImageFacts::default()
        },
        is_immutable,
    })
}

fn read_now(image: &str) -> NextRead {
    NextRead::Now(image.to_owned())
}

#[tokio::test]
async fn an_image_is_read_when_it_is_named_and_again_only_if_it_can_change() {
    let images = KnownImages::default();
    let now = Instant::now();
    let both = named(&["digest", "tag"]);
    assert_eq!(images.next(&both, now), read_now("digest"));
    assert!(images.record("digest", read(None, true), now));
    assert_eq!(images.next(&both, now), read_now("tag"));
    assert!(images.record("tag", read(Some("6.14"), false), now));
    assert_eq!(images.next(&both, now), NextRead::At(now + READ_AGAIN));
    assert_eq!(images.next(&both, now + READ_AGAIN), read_now("tag"));
    // The tag moved, and the new image has a lower minimum.
    assert!(images.record("tag", read(Some("6.12"), false), now));
    assert!(!images.record("tag", read(Some("6.12"), false), now));
    let one = named(&["digest"]);
    images.keep_only(&one);
    assert_eq!(images.next(&one, now), NextRead::OnChange);
    assert_eq!(images.next(&both, now), read_now("tag"), "it was forgotten");
}

#[tokio::test]
async fn an_image_that_cannot_be_read_keeps_what_is_known_and_backs_off() {
    let images = KnownImages::default();
    let now = Instant::now();
    let one = named(&["one"]);
    assert!(images.record("one", read(Some("6.14"), false), now));
    let mut last = now;
    for _ in 0..20 {
        assert!(!images.record("one", None, now), "nothing changed");
        let NextRead::At(due) = images.next(&one, now) else {
            panic!("read again at once");
        };
        assert!(due >= last && due <= now + READ_AGAIN, "{:?}", due - now);
        last = due;
    }
    assert!(last > now + READ_AGAIN / 4 && images.has_failed("one"));
    // An image that never failed comes first.
    assert_eq!(images.next(&named(&["one", "two"]), last), read_now("two"));
    assert!(images.facts("one").is_some());
}
