//! What the tree derives from sked's types and from the list of its rights: the definition that
//! the API server gets, the roles, the pages that explain them, and the chart's copies. `make
//! manifests` writes them; a test fails when they drift.

mod chart;
mod crd;
mod crd_page;
mod rbac;
mod yaml;

use std::fs;
use std::path::Path;

use anyhow::Context;

/// A file below the root of the tree.
struct Derived {
    path: String,
    text: String,
}

/// All of them. A new one is one more line.
fn derive(root: &Path) -> anyhow::Result<Vec<Derived>> {
    let schedext = sked_api::crd::schedext()?;
    let schedextnode = sked_api::crd::schedextnode()?;
    let mut derived = vec![
        crd::definition(&schedext)?,
        crd::definition(&schedextnode)?,
        crd::kustomization()?,
        crd_page::derive(&schedext, &schedextnode)?,
        rbac::page(root)?,
    ];
    derived.extend(rbac::roles());
    derived.extend(chart::copies(root, &derived)?);
    Ok(derived)
}

/// Writes them all.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    for Derived { path, text } in derive(root)? {
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
    fn the_chart_has_no_file_that_nothing_is_copied_to() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let derived = derive(&root).unwrap();
        for folder in fs::read_dir(root.join("charts/sked/files")).unwrap() {
            let folder = folder.unwrap();
            for file in fs::read_dir(folder.path()).unwrap() {
                let (folder, file) = (folder.file_name(), file.unwrap().file_name());
                let path = Path::new("charts/sked/files").join(folder).join(file);
                let known = derived
                    .iter()
                    .any(|file| Path::new(&file.path).starts_with(&path));
                assert!(known, "{}: remove it", path.display());
            }
        }
    }

    #[test]
    fn what_is_in_the_tree_is_what_the_types_say() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for Derived { path, text } in derive(&root).unwrap() {
            let kept = fs::read_to_string(root.join(&path)).unwrap_or_default();
            assert!(
                kept == text,
                "{path} is not what the types say: run `make manifests` and commit it"
            );
        }
    }
}
