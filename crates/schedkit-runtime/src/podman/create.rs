//! Creates a container of an image that is in the store.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use hyper::Method;
use serde::Deserialize;

use super::Podman;
use super::client::ApiRequest;
use super::response::refused;
use super::spec;
use super::target::Target;
use crate::container::ContainerId;
use crate::driver::DriverError;
use crate::launch::Launch;
use crate::mounts;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Created {
    id: String,
}

impl Podman {
    /// Creates the container without starting it. libpod never pulls here.
    pub(super) async fn create_container(
        &self,
        launch: &Launch,
    ) -> Result<ContainerId, DriverError> {
        let image = launch.image().image();
        let attempt = format!("create a container of {image}");
        let stored = self.stored(image).await?;
        let stored = stored
            .ok_or_else(|| refused(&attempt, "the image is not in its store: pull it first"))?;
        stored.check_machine(image)?;
        let command = stored.command(image, launch.args())?;
        let mounts = mounts::prepare(Path::new("/"))?;
        let name = spec::name(launch.scheduler(), random());
        let spec = spec::spec(&name, launch, &stored, &command, &mounts);
        let target = Target::new(&["containers", "create"]);
        let request = ApiRequest::new(attempt, Method::POST, target).json(&spec);
        let response = self.client.send(request).await?.accepted()?;
        let created = response.parse(|text| serde_json::from_str::<Created>(text))?;
        Ok(ContainerId::new(created.id))
    }
}

/// Distinguishes the names of containers; Podman refuses a name that is in use.
fn random() -> u32 {
    let number = RandomState::new().build_hasher().finish();
    (number >> 32) as u32
}
