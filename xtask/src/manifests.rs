//! What the tree derives from sked's types: the definition that the API server gets and the page
//! that explains it. `make manifests` writes them; a test fails when they drift.

mod crd;
mod page;
mod yaml;

use std::fs;
use std::path::Path;

use anyhow::Context;

/// A file below the root of the tree.
struct Derived {
    path: &'static str,
    text: String,
}

/// All of them. A new one is one more line.
fn derive() -> anyhow::Result<Vec<Derived>> {
    let definition = sked_api::crd::schedext()?;
    Ok(vec![
        crd::definition(&definition)?,
        crd::kustomization()?,
        page::derive(&definition)?,
    ])
}

/// Writes them all.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    for Derived { path, text } in derive()? {
        let file = root.join(path);
        let folder = file.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_tree_is_what_the_types_say() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for Derived { path, text } in derive().unwrap() {
            let kept = fs::read_to_string(root.join(path)).unwrap_or_default();
            assert!(
                kept == text,
                "{path} is not what the types say: run `make manifests` and commit it"
            );
        }
    }
}
