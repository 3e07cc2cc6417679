//! `schedctl verify`: what the trust policy says about an image. The policy is read before anybody
//! is asked anything: who cannot say whom to trust need not know what there is.

use jiff::Timestamp;
use schedkit_image::registry::{Client, resolve};
use schedkit_image::signature;
use schedkit_image::trust::{Policy, PolicyError};

use super::find::find;
use crate::exit::Exit;
use crate::output::{Printer, verdict::Verdict, waiting};
use crate::request::{PolicySource, Settings};

pub(super) async fn verify(
    word: &str,
    source: &PolicySource,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let policy = read(source)?;
    for warning in policy.warnings() {
        printer.warn(format!("the trust policy's {warning}"));
    }
    let found = find(word, settings, printer).await?;
    let registry = Client::new(settings.registry.clone());
    let asking = async {
        let image = resolve(&registry, found.image()).await?;
        let answer = signature::verify(&registry, &policy, &image, Timestamp::now()).await;
        anyhow::Ok((image, answer))
    };
    let note = format!("asking {}", found.image().repository().host());
    let (image, answer) = waiting::noted(&note, asking).await?;
    let verdict = Verdict::of(&found, &image, (source, &policy), answer)?;
    printer.print(&verdict)?;
    Ok(if verdict.is_accepted() {
        Exit::Ok
    } else {
        Exit::Refused
    })
}

fn read(source: &PolicySource) -> Result<Policy, PolicyError> {
    match source {
        PolicySource::BuiltIn => Policy::built_in(),
        PolicySource::File(path) => Policy::read(path),
    }
}
