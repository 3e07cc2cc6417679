//! When an image is read, and what is kept of it.

use super::*;

fn named(images: &[&str]) -> HashSet<String> {
    images.iter().map(|image| (*image).to_owned()).collect()
}

fn read(floor: Option<&str>, is_fixed: bool) -> Option<Read> {
    Some(Read {
        floor: floor.map(|text| text.parse().unwrap()),
        is_fixed,
    })
}

fn now_read(image: &str) -> Next {
    Next::Read(image.to_owned())
}

#[tokio::test]
async fn an_image_is_read_when_it_is_named_and_again_only_if_it_can_change() {
    let floors = Floors::default();
    let now = Instant::now();
    let both = named(&["digest", "tag"]);
    assert_eq!(floors.next(&both, now), now_read("digest"));
    assert!(!floors.remember("digest", read(None, true), now));
    assert_eq!(floors.next(&both, now), now_read("tag"));
    assert!(floors.remember("tag", read(Some("6.14"), false), now));
    assert_eq!(floors.next(&both, now), Next::At(now + READ_AGAIN));
    assert_eq!(floors.next(&both, now + READ_AGAIN), now_read("tag"));
    // The tag moved, and the new one asks for less.
    assert!(floors.remember("tag", read(Some("6.12"), false), now));
    assert!(!floors.remember("tag", read(Some("6.12"), false), now));
    let one = named(&["digest"]);
    floors.keep_only(&one);
    assert_eq!(floors.next(&one, now), Next::Rest);
    assert_eq!(floors.next(&both, now), now_read("tag"), "it was forgotten");
}

#[tokio::test]
async fn an_image_that_cannot_be_read_keeps_what_was_known_and_is_tried_less_and_less() {
    let floors = Floors::default();
    let now = Instant::now();
    let one = named(&["one"]);
    assert!(floors.remember("one", read(Some("6.14"), false), now));
    let mut last = now;
    for _ in 0..20 {
        assert!(!floors.remember("one", None, now), "nothing changed");
        let Next::At(due) = floors.next(&one, now) else {
            panic!("read again at once");
        };
        assert!(due >= last && due <= now + READ_AGAIN, "{:?}", due - now);
        last = due;
    }
    assert!(last > now + READ_AGAIN / 4 && floors.has_failed("one"));
    // Whoever was never read goes first.
    assert_eq!(floors.next(&named(&["one", "two"]), last), now_read("two"));
    assert!(floors.known()["one"].floor.is_some());
}
