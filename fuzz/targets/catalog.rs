//! Catalogs: no text panics, and every name of a catalog can be resolved.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedkit_image::catalog::Catalog;

fuzz_target!(|text: &str| {
    match Catalog::parse(text) {
        Ok(catalog) => {
            for (name, image) in catalog.entries() {
                let found = catalog.resolve(&name.to_string()).expect("a listed name");
                assert_eq!(found.image(), image);
            }
            // Any other text is an error with suggestions.
            let _ = catalog.resolve(text.get(..32).unwrap_or(text));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
