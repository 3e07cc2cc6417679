//! Policies: no text stumbles, nobody who names nobody is taken, and what is wrong is told.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use schedkit_image::trust::PolicyFile;

fuzz_target!(|text: &str| {
    // The folder does not exist, so no text makes us read a file of this machine by a relative
    // name; by an absolute one it would be a key or root file, which has its own limits.
    let nowhere = Path::new("/nonexistent");
    let loaded = PolicyFile::parse(text).and_then(|file| file.load(nowhere));
    match loaded {
        Ok(policy) => {
            assert!(!policy.keys().is_empty() || !policy.identities().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
