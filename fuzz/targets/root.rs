//! Trusted roots: no text panics, and a root that serves identities also serves logs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedkit_image::trust::{RootOrigin, TrustRoot};

fuzz_target!(|text: &str| {
    match TrustRoot::parse(text, RootOrigin::File("root.json".into())) {
        Ok(root) => {
            assert!(root.serves_logs() || !root.serves_identities());
            assert_eq!(root.serves_logs(), root.log_urls().next().is_some());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
