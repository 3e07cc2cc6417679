//! A thousand SchedExts that name fifty images, with a trust policy and without: how long until each
//! has its DaemonSet and its status, and how much memory that takes, while a hostile registry's
//! documents are read as well. On a real API server without kubelets, with a real registry.
//!
//! `SKED` names the program under test.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::Api;
use lab::oci::{Blob, Image, Registry, Subject};
use serde_json::{Value, json};
use sked_api::{SchedExt, SchedExtSpec, VerificationState};
use testkit::KeySigner;
use testkit::bench::cluster::{BenchCluster, CONCURRENCY, each};
use testkit::bench::figures::{beside, print, within};
use testkit::bench::operator::Operator;

const COUNT: usize = 1000;
const IMAGES: usize = 50;
/// SchedExts whose images have as much attached as a registry takes.
const HOSTILE: usize = 5;
const REFERRERS: usize = 10_000;
/// A registry takes four megabytes of a manifest.
const ANNOTATION: usize = 3_900_000;
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const NAMESPACE: &str = "fleet";
const REPOSITORY: &str = "fleet/x";
const MOST_OF_UNVERIFIED: f64 = 2.0;
const MOST_MEGABYTES: f64 = 40.0;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let fleet = Fleet::up().await?;
    let named = format!("--registries={}", fleet.registries()?.display());
    let policy = format!("--trust-policy={}", fleet.policy()?.display());
    let (unverified, _) = fleet.measure("unverified", &[&named], 0).await?;
    let (verified, memory) = fleet.measure("verified", &[&named, &policy], 0).await?;
    let mut met = beside(
        "1,000 SchedExts of 50 images, verified",
        "s",
        verified,
        ("unverified", unverified),
        MOST_OF_UNVERIFIED,
    )?;
    met &= within("peak memory", "MB", memory, MOST_MEGABYTES)?;
    let (_, memory) = fleet
        .measure("hostile", &[&named, &policy], HOSTILE)
        .await?;
    met &= within(
        "peak memory, hostile manifests",
        "MB",
        memory,
        MOST_MEGABYTES,
    )?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Fleet {
    cluster: BenchCluster,
    registry: Registry,
    key: KeySigner,
}

impl Fleet {
    async fn up() -> anyhow::Result<Self> {
        let cluster = BenchCluster::up("bench-verified-fleet", false).await?;
        cluster.namespace(NAMESPACE).await?;
        let fleet = Self {
            registry: Registry::new(&cluster.lab.running().registry),
            key: KeySigner::new(),
            cluster,
        };
        for number in 0..IMAGES {
            let image = Image::marked(&number.to_string())?;
            let tag = number.to_string();
            fleet.registry.push_image(REPOSITORY, &tag, &image)?;
            let subject = Subject::from(&image);
            fleet.key.sign(&fleet.registry, REPOSITORY, &subject);
        }
        for number in 0..HOSTILE {
            fleet.push_hostile(number)?;
        }
        Ok(fleet)
    }

    /// An image whose manifest, signatures and list of referrers are as large as they can be, and
    /// which nobody signed.
    fn push_hostile(&self, number: usize) -> anyhow::Result<()> {
        let image = Image::marked(&format!("hostile {number}"))?;
        for blob in &image.blobs {
            self.registry.push_blob(REPOSITORY, blob)?;
        }
        let mut manifest: Value = serde_json::from_slice(&image.manifest.bytes)?;
        let kind = manifest["mediaType"].as_str().context("a media type")?;
        let kind = kind.to_owned();
        manifest["annotations"] = json!({"padding": "x".repeat(ANNOTATION)});
        let large = Blob::new(manifest.to_string().into_bytes());
        let tag = format!("hostile-{number}");
        self.registry
            .push_manifest(REPOSITORY, &tag, &kind, &large)?;
        let listed = large.digest.replace(':', "-");
        let signatures = format!("{listed}.sig");
        self.registry
            .push_manifest(REPOSITORY, &signatures, &kind, &large)?;
        let one = image.manifest.descriptor(&kind);
        let list = json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": vec![one; REFERRERS],
        });
        let list = Blob::new(list.to_string().into_bytes());
        self.registry
            .push_manifest(REPOSITORY, &listed, INDEX, &list)?;
        Ok(())
    }

    fn file(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.cluster.lab.state().path(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }

    fn policy(&self) -> anyhow::Result<PathBuf> {
        self.file("trusted.pub", &self.key.public_key())?;
        self.file("policy.yaml", "keys:\n- path: trusted.pub\n")
    }

    fn registries(&self) -> anyhow::Result<PathBuf> {
        let text = format!(
            "\"{}\": {{security: plain-http}}\n",
            self.registry.address()
        );
        self.file("registries.yaml", &text)
    }

    /// How long a manager that finds the SchedExts when it starts needs, and its peak memory in
    /// megabytes.
    async fn measure(
        &self,
        name: &str,
        args: &[&str],
        hostile: usize,
    ) -> anyhow::Result<(f64, f64)> {
        let schedexts: Api<SchedExt> = Api::namespaced(self.cluster.client.clone(), NAMESPACE);
        let daemonsets: Api<DaemonSet> = Api::namespaced(self.cluster.client.clone(), NAMESPACE);
        let named = |name: String, tag: String| {
            let sched = format!("{}/{REPOSITORY}:{tag}", self.registry.address());
            let spec = SchedExtSpec {
                sched,
                ..SchedExtSpec::default()
            };
            SchedExt::new(&name, spec)
        };
        let bad = (0..hostile).map(|at| named(format!("a-{at}"), format!("hostile-{at}")));
        let good = (0..COUNT).map(|at| named(format!("x-{at:04}"), (at % IMAGES).to_string()));
        let all: Vec<SchedExt> = bad.chain(good).collect();
        self.cluster.create(&schedexts, &all).await?;
        let program = std::env::var_os("SKED").context("SKED names no program")?;
        let log = self.cluster.lab.state().path(&format!("{name}.log"));
        let concurrency = format!("--concurrency={CONCURRENCY}");
        let args = [&["manager", &concurrency], args].concat();
        let begin = Instant::now();
        let mut operator =
            Operator::start(program.as_ref(), &args, &self.cluster.kubeconfig()?, &log)?;
        let made = each("the DaemonSets", COUNT, daemonsets.clone(), |_| true);
        operator.while_running(made).await?;
        let is_verified = args.iter().any(|arg| arg.starts_with("--trust-policy"));
        let told = |one: &SchedExt| {
            let state = one.status.as_ref().and_then(|status| status.verification);
            match is_verified {
                true => state == Some(VerificationState::Verified),
                false => one.status.is_some(),
            }
        };
        let reported = each("the statuses", COUNT, schedexts.clone(), told);
        operator.while_running(reported).await?;
        let took = begin.elapsed().as_secs_f64();
        if hostile > 0 {
            let judged = |one: &SchedExt| {
                let conditions = one.status.iter().flat_map(|status| &status.conditions);
                let mut verified = conditions.filter(|one| one.type_ == "Verified");
                verified.any(|one| one.reason != "Verified" && one.reason != "Verifying")
            };
            let judged = each(
                "verdicts of the hostile",
                hostile,
                schedexts.clone(),
                judged,
            );
            operator.while_running(judged).await?;
        }
        let memory = operator.peak_megabytes()?;
        print(&format!("{name}: {took:.2} s, {memory:.1} MB"))?;
        operator.stop()?;
        self.cluster.clear(&schedexts).await?;
        self.cluster.clear(&daemonsets).await?;
        Ok((took, memory))
    }
}
