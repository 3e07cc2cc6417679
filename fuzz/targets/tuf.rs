//! Kept trusted roots, with the TUF metadata in them: no text panics, and what is accepted is a root
//! that is accepted again as it is written.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use schedkit_image::hash::sha256;
use schedkit_image::trust::{Anchor, KeptRoot};
use schedkit_image::untrusted::Reader;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tuf_root.json");

static ANCHOR: LazyLock<Anchor> = LazyLock::new(|| {
    let digest = sha256(include_bytes!("../fixtures/tuf_root.json"));
    Anchor::read(Path::new(ROOT), &digest, Reader::User).expect("a root of TUF")
});

fuzz_target!(|text: &str| {
    match KeptRoot::parse(text, &ANCHOR) {
        Ok(kept) => {
            assert!(kept.checked_at() <= kept.expires());
            let text = kept.text().expect("text");
            let again = KeptRoot::parse(&text, &ANCHOR).expect("the same root");
            assert_eq!(again.root().digest(), kept.root().digest());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
