//! Challenges (`WWW-Authenticate`), one header a line: no text panics, and a token server has a URL
//! without a password.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedkit_image::registry::{Challenge, parse_challenge};

fuzz_target!(|text: &str| {
    match parse_challenge(text.lines()) {
        Ok(Challenge::Bearer(bearer)) => {
            assert!(matches!(bearer.realm.scheme(), "http" | "https"));
            assert!(bearer.realm.username().is_empty());
            assert_eq!(bearer.realm.password(), None);
        }
        Ok(Challenge::Basic) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
