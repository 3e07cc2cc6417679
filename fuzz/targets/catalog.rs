//! Catalogs: no text stumbles, and what a catalog names can be resolved.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedkit_image::catalog::Catalog;

fuzz_target!(|text: &str| {
    match Catalog::parse(text) {
        Ok(catalog) => {
            for (name, image) in catalog.entries() {
                let found = catalog.resolve(&name.to_string()).expect("it is in there");
                assert_eq!(found.image(), image);
            }
            // Any word gets an answer, if only a suggestion.
            let _ = catalog.resolve(text.get(..32).unwrap_or(text));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
