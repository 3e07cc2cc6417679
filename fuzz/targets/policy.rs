//! Policies: no text panics, and every valid policy names a key or an identity.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use schedkit_image::trust::PolicyFile;
use schedkit_image::untrusted::Reader;

fuzz_target!(|text: &str| {
    // The folder does not exist, so no relative path leads to a file of this machine; an absolute
    // one would be read as a key or root file, which have their own limits.
    let folder = Path::new("/nonexistent");
    let loaded = PolicyFile::parse(text).and_then(|file| file.load(folder, Reader::User));
    match loaded {
        Ok(policy) => {
            assert!(!policy.keys().is_empty() || !policy.identities().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
