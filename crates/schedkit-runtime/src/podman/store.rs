//! Lists and removes images of Podman's store.

use hyper::{Method, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;

use super::Podman;
use super::client::ApiRequest;
use super::target::Target;
use crate::driver::DriverError;
use crate::image_store::{ImageEntry, ImageOwner, ImageStore};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    #[serde(default)]
    repo_digests: Option<Vec<String>>,
    #[serde(default)]
    created: i64,
    #[serde(default)]
    size: i64,
    #[serde(default)]
    containers: i64,
}

impl ImageStore for Podman {
    async fn images(&self) -> Result<Vec<ImageEntry>, DriverError> {
        let target = Target::new(&["images", "json"]);
        let request = ApiRequest::new("list its images", Method::GET, target);
        let response = self.client.send(request).await?.accepted()?;
        response.parse(parse)
    }

    /// Podman refuses if a container uses it: `force` is not set.
    async fn remove(&self, image: &ImageEntry) -> Result<(), DriverError> {
        let target = Target::new(&["images", &image.id]);
        let request = ApiRequest::new("remove an image", Method::DELETE, target);
        let response = self.client.send(request).await?;
        match response.status {
            StatusCode::NOT_FOUND => Ok(()),
            _ => response.accepted().map(drop),
        }
    }
}

/// Parses the response to `images/json`.
fn parse(text: &str) -> Result<Vec<ImageEntry>, serde_json::Error> {
    let listed = serde_json::from_str::<Vec<Listed>>(text)?;
    Ok(listed.into_iter().map(entry).collect())
}

fn entry(listed: Listed) -> ImageEntry {
    let Listed {
        id,
        repo_tags,
        repo_digests,
        created,
        size,
        containers,
    } = listed;
    let (mut tags, names) = (
        repo_tags.unwrap_or_default(),
        repo_digests.unwrap_or_default(),
    );
    // Podman 4 lists the name of an image that was pulled by digest here, too.
    tags.retain(|tag| !tag.contains('@'));
    let digests = names.iter().filter_map(|name| name.split_once('@'));
    ImageEntry {
        id,
        digests: digests.map(|(_, digest)| digest.to_owned()).collect(),
        size: u64::try_from(size).ok(),
        created: Timestamp::from_second(created).ok(),
        containers: usize::try_from(containers).unwrap_or_default(),
        owner: match tags.is_empty() {
            true => ImageOwner::Unknown,
            false => ImageOwner::Other,
        },
        names: tags.into_iter().chain(names).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_shows_that_others_use_the_image() {
        let list = r#"[
            {"Id": "0", "RepoTags": ["a.b/c@sha256:12"], "RepoDigests": ["a.b/c@sha256:12"]},
            {"Id": "1", "RepoTags": null, "RepoDigests": ["a.b/c@sha256:12"], "Created": 1700000000,
             "Size": 5, "Containers": 2},
            {"Id": "2", "RepoTags": ["a.b/c:1"], "RepoDigests": ["a.b/c@sha256:34"]},
            {"Id": "3", "Containers": -1}
        ]"#;
        let images = parse(list).unwrap();
        let owners: Vec<_> = images.iter().map(|image| image.owner).collect();
        let (unknown, other) = (ImageOwner::Unknown, ImageOwner::Other);
        assert_eq!(owners, [unknown, unknown, other, unknown]);
        assert_eq!(images[0].names, ["a.b/c@sha256:12"]);
        assert_eq!(images[1].digests, ["sha256:12"]);
        assert_eq!((images[1].size, images[1].containers), (Some(5), 2));
        assert_eq!(images[2].names, ["a.b/c:1", "a.b/c@sha256:34"]);
        assert_eq!(images[3].containers, 0);
        assert!(parse("{}").is_err());
    }
}
