//! The header `Link` of a list in pages, one a line: no text panics, and the next page belongs to the
//! same list on the same host.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedkit_image::registry::next_page;

const LIST: &str = "https://registry.example/v2/a/referrers/sha256:0";

fuzz_target!(|text: &str| {
    let headers: Vec<&str> = text.lines().collect();
    if let Some(next) = next_page(LIST, &headers) {
        let query = next.strip_prefix(LIST).expect("the same list");
        assert!(query.is_empty() || query.starts_with('?'));
    }
});
