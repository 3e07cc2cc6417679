//! Manifests and indexes: no bytes panic, and lists are limited.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedkit_image::registry::Content;

fuzz_target!(|bytes: &[u8]| {
    match Content::parse(bytes) {
        Ok(Content::Manifest(manifest)) => assert!(manifest.layers.len() <= 1000),
        Ok(Content::Index(index)) => assert!(index.manifests.len() <= 1000),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
