//! Resolves an image to its digest and verifies its signature, or finds a verdict that was kept.
//! Every command that pulls or starts an image calls it.
//!
//! ```text
//! --pull always    ask the registry ─ it cannot be reached ─▶ kept verdict, with a warning
//! --pull missing   kept verdict and stored image ─ none ─▶ as always
//! --pull never     kept verdict and stored image, else an error
//! ```
//!
//! A refusal is final: no kept verdict overrides it, and it deletes those about that image.

use anyhow::{Context, bail};
use jiff::Timestamp;
use schedctl_args::args::PullPolicy;
use schedkit_core::{ImageRef, PinnedRef};
use schedkit_image::info::InfoError;
use schedkit_image::registry::{Client, Platform, RegistryError, Retry, resolve};
use schedkit_image::signature::{
    self, AskedImage, Kept, Trusted, VerdictStore, Verified, VerifyError, Waived, waive,
};
use schedkit_image::trust::Policy;
use schedkit_runtime::{Driver, ImageInStore};

use crate::audit_log::AuditLog;
use crate::error_text;
use crate::output::{Printer, progress};
use crate::request::TrustRequirement;
use crate::untrusted_image::UntrustedImage;

/// Why an image is not verified with `--pull never`, or if it was enabled without a signature.
const NOT_ASKED: &str = "no registry was asked for a signature";

pub(crate) struct ImageCheck<'a, D> {
    /// As it was asked for.
    pub(crate) reference: &'a ImageRef,
    /// What `schedctl enable` pinned it to.
    pub(crate) pin: Option<&'a PinnedRef>,
    /// The name that it was asked for as, if a catalog led to it.
    pub(crate) catalog_name: Option<&'a str>,
    pub(crate) trust: &'a TrustRequirement,
    pub(crate) registry: &'a Client,
    /// `None` for users who cannot keep any.
    pub(crate) verdicts: Option<&'a VerdictStore>,
    pub(crate) driver: &'a D,
    /// `None` for users who start nothing, and where nothing is started.
    pub(crate) audit: Option<&'a AuditLog>,
}

/// What the checks of the machine may ask.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needs<'a> {
    /// Also what this image needs, from its registry: of the digest that is then verified.
    OfImage(&'a PinnedRef),
    /// Also what this image needs, as it is stored. No registry is asked.
    OfStoredImage(&'a ImageInStore),
}

/// `catalog_name` is the name that was asked for, if a catalog led to the image.
pub(crate) async fn verify(
    image: &ImageRef,
    catalog_name: Option<&str>,
    policy: &Policy,
    registry: &Client,
) -> anyhow::Result<(PinnedRef, Result<Verified, VerifyError>)> {
    let pinned = pin(image, registry).await?;
    let result = verify_pinned(&pinned, catalog_name, policy, registry).await;
    Ok((pinned, result))
}

async fn pin(image: &ImageRef, registry: &Client) -> Result<PinnedRef, RegistryError> {
    let note = format!("asking {}", image.repository().host());
    progress::with_spinner(&note, resolve(registry, image)).await
}

async fn verify_pinned(
    image: &PinnedRef,
    catalog_name: Option<&str>,
    policy: &Policy,
    registry: &Client,
) -> Result<Verified, VerifyError> {
    let note = format!("asking {}", image.repository().host());
    let machine = Platform::this_machine();
    let asked = AskedImage::new(image).named(catalog_name).on(&machine);
    let verifying = signature::verify(registry, policy, asked, Timestamp::now());
    progress::with_spinner(&note, verifying).await
}

impl<D: Driver> ImageCheck<'_, D> {
    /// Only the result may be pulled. `check_needs` is called before a registry is asked for the
    /// signature, and before a kept verdict is used.
    pub(crate) async fn require_trust_by(
        &self,
        policy: &Policy,
        pull: PullPolicy,
        check_needs: impl AsyncFn(Needs<'_>) -> anyhow::Result<()>,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        let outcome = self.judge(policy, pull, check_needs, printer).await;
        self.record(policy, outcome, printer)
    }

    /// Asks the registry, and keeps its answer.
    pub(crate) async fn ask(
        &self,
        policy: &Policy,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        let outcome = self.ask_registry(policy, printer).await;
        self.record(policy, outcome, printer)
    }

    fn record(
        &self,
        policy: &Policy,
        outcome: anyhow::Result<Trusted>,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        let log = self.audit;
        let recorded = log.map(|log| log.record(self.reference, policy, &outcome));
        if let Some(Err(error)) = recorded {
            let error = error_text::one_line(error.as_ref());
            printer.warn(format!("the verdict is not recorded: {error}"));
        }
        outcome
    }

    /// A waiver that nobody would ever see is none. `why` the image is not verified.
    pub(crate) fn record_waiver(
        &self,
        policy: &Policy,
        waived: &Waived,
        why: &str,
    ) -> anyhow::Result<()> {
        let Some(log) = self.audit else { return Ok(()) };
        log.record_waiver(self.reference, policy, waived, why)
            .context("an image without an accepted signature runs only if that is recorded")
    }

    async fn judge(
        &self,
        policy: &Policy,
        pull: PullPolicy,
        check_needs: impl AsyncFn(Needs<'_>) -> anyhow::Result<()>,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        if pull != PullPolicy::Always
            && let Some((trusted, stored)) = self.offline(pull, policy, NOT_ASKED, printer).await?
        {
            check_needs(Needs::OfStoredImage(&stored)).await?;
            return Ok(trusted);
        }
        if pull == PullPolicy::Never {
            bail!(
                "{} was not verified under this trust policy before, or the runtime does not have \
                 it: `schedctl pull` does both",
                self.wanted()
            );
        }
        let asked = async {
            // The tag is resolved once: it may move between the check and the verification.
            let pinned = pin(&self.wanted(), self.registry).await?;
            check_needs(Needs::OfImage(&pinned)).await?;
            self.ask_about(pinned, policy, printer).await
        };
        let error = match asked.await {
            Err(error) if is_unreachable(&error) => error,
            outcome => return outcome,
        };
        let why = error_text::one_line(error.as_ref());
        let offline = self.offline(PullPolicy::Never, policy, &why, printer);
        let Some((trusted, stored)) = offline.await? else {
            return Err(error);
        };
        if let Trusted::Kept(kept) = &trusted {
            printer.warn(instead_of_registry(kept, &error));
        }
        check_needs(Needs::OfStoredImage(&stored)).await?;
        Ok(trusted)
    }

    async fn ask_registry(
        &self,
        policy: &Policy,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        let pinned = pin(&self.wanted(), self.registry).await?;
        self.ask_about(pinned, policy, printer).await
    }

    async fn ask_about(
        &self,
        pinned: PinnedRef,
        policy: &Policy,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        let result = verify_pinned(&pinned, self.catalog_name, policy, self.registry).await;
        forget_refused(self.verdicts, &pinned, policy, &result, printer);
        match (result, self.trust.waiver) {
            (Ok(verified), _) => {
                self.keep(&verified, policy, printer);
                Ok(verified.into())
            }
            (Err(error), Some(waiver)) => {
                let reason = error_text::one_line(&error);
                printer.warn(format!(
                    "{pinned} runs unverified because of {waiver}: {reason}"
                ));
                let waived = waive(pinned, waiver);
                self.record_waiver(policy, &waived, &reason)?;
                Ok(waived.into())
            }
            (Err(error), None) if error.is_refusal() => Err(UntrustedImage {
                image: pinned.to_string(),
                reason: error_text::one_line(&error),
            }
            .into()),
            (Err(error), None) => Err(error.into()),
        }
    }

    /// What may run without a registry: the image must be in the runtime's store, and verified
    /// before, or waived for exactly this digest. `why` it is not verified now.
    async fn offline(
        &self,
        pull: PullPolicy,
        policy: &Policy,
        why: &str,
        printer: &mut Printer,
    ) -> anyhow::Result<Option<(Trusted, ImageInStore)>> {
        let wanted = self.wanted();
        let name = policy.name_to_check(wanted.repository(), self.catalog_name);
        let kept = self
            .verdicts
            .map(|store| store.find_as(&wanted, policy, name));
        let kept = kept.transpose().unwrap_or_else(|error| {
            printer.warn(error_text::one_line(&error));
            None
        });
        // With `missing`, a registry that can be reached may have a signature.
        let waiver = self.trust.waiver.filter(|_| {
            let pinned_before = self.pin.is_some();
            pull == PullPolicy::Never || pinned_before
        });
        let trusted: Trusted = match (kept.flatten(), waiver, wanted.digest()) {
            (Some(kept), ..) => kept.into(),
            (None, Some(waiver), Some(digest)) => {
                let pinned = PinnedRef::new(wanted.repository().clone(), digest.clone());
                waive(pinned, waiver).into()
            }
            (None, ..) => return Ok(None),
        };
        let Some(stored) = self.driver.stored_image(trusted.image()).await? else {
            return Ok(None);
        };
        if let Trusted::Waived(waived) = &trusted {
            let (image, reason) = (waived.image(), waived.reason());
            printer.warn(format!(
                "{image} runs unverified because of {reason}: {why}"
            ));
            self.record_waiver(policy, waived, why)?;
        }
        Ok(Some((trusted, stored)))
    }

    fn keep(&self, verified: &Verified, policy: &Policy, printer: &mut Printer) {
        let Some(store) = self.verdicts else { return };
        let kept = store.keep(self.reference, verified, policy, Timestamp::now());
        if let Err(error) = kept {
            let error = error_text::one_line(&error);
            printer.warn(format!(
                "without a registry it will not start, because the verdict was not kept: {error}"
            ));
        }
    }

    fn wanted(&self) -> ImageRef {
        let pinned = self.pin.cloned().map(ImageRef::from);
        pinned.unwrap_or_else(|| self.reference.clone())
    }
}

/// A refusal ends the verdicts that were kept about the image, whoever asked and whether or not it is
/// waived.
pub(crate) fn forget_refused(
    verdicts: Option<&VerdictStore>,
    image: &PinnedRef,
    policy: &Policy,
    result: &Result<Verified, VerifyError>,
    printer: &mut Printer,
) {
    let refused = result.as_ref().is_err_and(VerifyError::is_refusal);
    let forgotten = verdicts.filter(|_| refused);
    let forgotten = forgotten.map(|store| store.forget(image, policy));
    if let Some(Err(error)) = forgotten {
        printer.warn(error_text::one_line(&error));
    }
}

/// Whether the registry gave no answer, so that asking again may help. An answer of any other kind
/// counts, also that the image is gone.
fn is_unreachable(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        // Transparent: the chain goes on with what is below it.
        let info = match cause.downcast_ref::<InfoError>() {
            Some(InfoError::Registry(error)) => Some(error),
            _ => None,
        };
        let registry = cause.downcast_ref::<RegistryError>().or(info);
        let verify = cause.downcast_ref::<VerifyError>();
        registry.is_some_and(|error| error.retry() != Retry::Never)
            || matches!(verify, Some(VerifyError::Timeout { .. }))
    })
}

fn instead_of_registry(kept: &Kept, error: &anyhow::Error) -> String {
    let error = error_text::one_line(error.as_ref());
    let (image, signer, at) = (kept.image(), kept.signer(), kept.verified_at());
    format!(
        "{error}; {image} may run nevertheless, because the signature of {signer} was accepted at {at:.0}"
    )
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use schedctl_args::args::Format;
    use schedkit_image::hash::sha256;
    use schedkit_image::registry::{ClientConfig, HostConfig, Hosts, Security};
    use schedkit_image::trust::BuiltIn;

    use super::*;
    use crate::fixtures::fake_runtime::{Behaviour, FakeRuntime};
    use crate::settings::PolicySource;

    /// A registry whose tag leads somewhere else at each request.
    fn moving_registry() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for (count, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let is_tag = head
                    .first()
                    .is_some_and(|line| line.contains("/manifests/1.0 "));
                let status = if is_tag { 200 } else { 404 };
                let digest = sha256(&count.to_be_bytes());
                let _ = write!(
                    &stream,
                    "HTTP/1.1 {status} -\r\ndocker-content-digest: {digest}\r\ncontent-length: 0\r\n\
                     connection: close\r\n\r\n"
                );
            }
        });
        address
    }

    /// Otherwise a tag that moves would have one image compared with the machine, and run another.
    #[tokio::test]
    async fn fit_and_trust_are_about_the_same_digest() {
        let host = moving_registry();
        let config = HostConfig {
            security: Security::PlainHttp,
            ..HostConfig::default()
        };
        let registry = Client::new(ClientConfig {
            hosts: Hosts::new([(host.parse().unwrap(), config)]).unwrap(),
            ..ClientConfig::default()
        });
        let reference = format!("{host}/team/one:1.0").parse().unwrap();
        let trust = TrustRequirement {
            policy: PolicySource::default(),
            waiver: Some("--allow-unsigned"),
        };
        let check = ImageCheck {
            reference: &reference,
            pin: None,
            catalog_name: None,
            trust: &trust,
            registry: &registry,
            verdicts: None,
            driver: &FakeRuntime::new(Behaviour::Attaches),
            audit: None,
        };
        let compared = RefCell::new(Vec::new());
        let compare = async |needs: Needs<'_>| {
            let Needs::OfImage(image) = needs else {
                panic!("{needs:?}");
            };
            compared.borrow_mut().push(image.clone());
            Ok(())
        };
        let mut printer = Printer::new(Format::Text);
        let policy = BuiltIn::Schedkit.policy().unwrap();
        let trusted = check.require_trust_by(&policy, PullPolicy::Always, compare, &mut printer);
        let trusted = trusted.await.unwrap();
        assert_eq!(*compared.borrow(), [trusted.image().clone()]);
        let now = resolve(&registry, &reference).await.unwrap();
        assert_ne!(now, *trusted.image());
    }
}
