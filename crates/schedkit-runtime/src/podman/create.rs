//! Making a container of an image that is in the store.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use hyper::Method;
use serde::Deserialize;

use super::Podman;
use super::reply;
use super::spec;
use super::target::Target;
use super::wire::Ask;
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
    /// Makes the container; nothing runs yet. libpod never pulls here.
    pub(super) async fn make(&self, launch: &Launch) -> Result<ContainerId, DriverError> {
        let image = launch.image().image();
        let attempt = format!("create a container of {image}");
        let stored = self.stored(image).await?;
        let stored = stored.ok_or_else(|| {
            reply::refused(&attempt, "the image is not in its store: pull it first")
        })?;
        stored.check_machine(image)?;
        let command = stored.command(image, launch.args())?;
        let mounts = mounts::prepare(Path::new("/"))?;
        let name = spec::name(launch.scheduler(), random());
        let spec = spec::spec(&name, launch, &stored.id, &command, &mounts);
        let target = Target::new(&["containers", "create"]);
        let ask = Ask::new(attempt, Method::POST, target).json(&spec);
        let answer = self.wire.whole(ask).await?.accepted()?;
        let created = answer.read(|text| serde_json::from_str::<Created>(text))?;
        Ok(ContainerId::new(created.id))
    }
}

/// Enough to tell two containers apart; a name that is taken is refused by Podman.
fn random() -> u32 {
    let number = RandomState::new().build_hasher().finish();
    (number >> 32) as u32
}
