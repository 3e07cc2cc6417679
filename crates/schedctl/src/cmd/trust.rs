//! From an image to one that may run: its digest, and who vouches for it. Called by every command
//! that brings bytes to this machine.

use jiff::Timestamp;
use schedkit_core::ImageRef;
use schedkit_image::registry::{Client, resolve};
use schedkit_image::signature::{self, Trusted, waive};
use schedkit_image::trust::{Policy, PolicyError};

use crate::output::{Printer, sentence, waiting};
use crate::request::{Demand, PolicySource};

/// Why an image may not run. A type of its own: it has an exit code of its own.
#[derive(Debug, thiserror::Error)]
#[error("{image} is not trusted: {why}")]
pub(crate) struct Distrust {
    image: String,
    why: String,
}

/// The trust policy, with what a person should know about it.
pub(super) fn policy(source: &PolicySource, printer: &mut Printer) -> Result<Policy, PolicyError> {
    let policy = match source {
        PolicySource::BuiltIn => Policy::built_in()?,
        PolicySource::File(path) => Policy::read(path)?,
    };
    for warning in policy.warnings() {
        printer.warn(format!("the trust policy's {warning}"));
    }
    Ok(policy)
}

/// Pins the image and verifies it. What comes out is the only thing that may be pulled.
pub(super) async fn trust(
    image: &ImageRef,
    demand: &Demand,
    registry: &Client,
    printer: &mut Printer,
) -> anyhow::Result<Trusted> {
    let policy = policy(&demand.policy, printer)?;
    let asking = async {
        let pinned = resolve(registry, image).await?;
        let answer = signature::verify(registry, &policy, &pinned, Timestamp::now()).await;
        anyhow::Ok((pinned, answer))
    };
    let note = format!("asking {}", image.repository().host());
    let (pinned, answer) = waiting::noted(&note, asking).await?;
    match (answer, demand.waiver) {
        (Ok(verified), _) => Ok(verified.into()),
        (Err(error), Some(who)) => {
            let why = sentence(&error);
            printer.warn(format!(
                "{pinned} runs unverified, because {who} says so: {why}"
            ));
            Ok(waive(pinned, who).into())
        }
        (Err(error), None) if error.is_refusal() => {
            let (image, why) = (pinned.to_string(), sentence(&error));
            Err(Distrust { image, why }.into())
        }
        (Err(error), None) => Err(error.into()),
    }
}
