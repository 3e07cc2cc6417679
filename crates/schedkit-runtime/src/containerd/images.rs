//! Lists and removes images of schedctl's namespace.

use std::collections::HashMap;

use jiff::Timestamp;
use schedkit_core::{ImageRef, PinnedRef};

use super::Containerd;
use super::api::containers::ListContainersRequest;
use super::api::images::{DeleteImageRequest, Image, ListImagesRequest};
use super::call_error::CallResult;
use super::session::Session;
use super::store;
use crate::driver::DriverError;
use crate::image_store::{ImageEntry, ImageOwner, ImageStore};

impl ImageStore for Containerd {
    async fn images(&self) -> Result<Vec<ImageEntry>, DriverError> {
        let session = self.session("list its images".to_owned()).await?;
        let mut containers = session.containers();
        let listed = containers.list(ListContainersRequest::default());
        let listed = session.call(listed).await?;
        let mut used = HashMap::<String, usize>::new();
        for container in listed.containers {
            *used.entry(container.image).or_default() += 1;
        }
        let mut images = session.images();
        let found = images.list(ListImagesRequest::default());
        let found = session.call(found).await?.images;
        let mut entries = Vec::new();
        for image in found {
            let containers = used.get(&image.name).copied().unwrap_or_default();
            entries.push(entry(&session, image, containers).await?);
        }
        Ok(entries)
    }

    /// Returns when containerd has removed its layers.
    async fn remove(&self, image: &ImageEntry) -> Result<(), DriverError> {
        let session = self.session("remove an image".to_owned()).await?;
        let request = DeleteImageRequest {
            name: image.id.clone(),
            sync: true,
        };
        let mut images = session.images();
        let removed = session.call(images.delete(request)).await;
        removed.if_found().map(drop)
    }
}

async fn entry(
    session: &Session,
    image: Image,
    containers: usize,
) -> Result<ImageEntry, DriverError> {
    let created = image.created_at;
    let created = created.and_then(|time| Timestamp::new(time.seconds, time.nanos).ok());
    let digest = image.target.map(|target| target.digest);
    let size = match pinned(&image.name, digest.as_deref()) {
        Some(pinned) => store::size(session, &pinned).await?,
        None => None,
    };
    Ok(ImageEntry {
        names: vec![image.name.clone()],
        id: image.name,
        digests: digest.into_iter().collect(),
        size,
        created,
        containers,
        owner: ImageOwner::Schedctl,
    })
}

/// Images of the older schedctl have a tag in their name.
fn pinned(name: &str, digest: Option<&str>) -> Option<PinnedRef> {
    let reference: ImageRef = name.parse().ok()?;
    let digest = digest?.parse().ok()?;
    Some(PinnedRef::new(reference.repository().clone(), digest))
}
