//! Public keys: no text panics, no key accepts an empty signature, and the fingerprint is that of the
//! key's bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedkit_image::hash::sha256;
use schedkit_image::trust::PublicKey;

fuzz_target!(|text: &str| {
    match PublicKey::parse(text) {
        Ok(key) => {
            assert_eq!(key.fingerprint(), &sha256(key.der()));
            assert!(key.verify(text.as_bytes(), &[]).is_err());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
