//! References: no text panics, and a printed reference parses to the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedkit_core::ImageRef;

fuzz_target!(|text: &str| {
    if let Ok(image) = text.parse::<ImageRef>() {
        let again = image.to_string().parse::<ImageRef>();
        assert_eq!(again.as_ref(), Ok(&image));
    }
});
