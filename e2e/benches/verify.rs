//! `schedctl verify` against `cosign verify` of the same image in the same run: wall time and
//! memory, interleaved, in a registry with the referrers API and in one without. Fails when ours
//! takes more than a fifth of either.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lab::oci::{Image, Registry, Subject};
use lab::signing::{Algorithm, Cosign, Edition, Form, KeyPair};
use lab::{Lab, LabSpec, Signing, Topology};
use testkit::bench::command::{kilobytes, median, program, timed};
use testkit::bench::figures::beside;

const RUNS: usize = 20;
const TARGET: f64 = 0.2;

fn main() -> anyhow::Result<ExitCode> {
    let spec = LabSpec {
        signing: Signing::Cosign,
        nodes: 0,
        schedulers: Vec::new(),
        ..LabSpec::new(
            "bench-verify",
            Topology::Registry,
            &testkit::program::labs(),
        )
    };
    let lab = Lab::up(&spec, |_| {})?;
    let (cosign, sigstore) = (lab.cosign()?, lab.sigstore()?);
    let key = sigstore.key_pair("bench", Algorithm::EcdsaP256)?;
    // Two programs are compared, not the lab's way in to its registries.
    let [registry, referrers] = lab.enter_network()?;
    let mut met = true;
    for (name, address) in [
        ("without the referrers API", &registry),
        ("with the referrers API", &referrers),
    ] {
        met &= compare(
            name,
            &Registry::new(address),
            (&cosign, &key),
            &lab.state().path("bench"),
        )?;
    }
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn compare(
    name: &str,
    registry: &Registry,
    (cosign, key): (&Cosign, &KeyPair),
    folder: &Path,
) -> anyhow::Result<bool> {
    std::fs::create_dir_all(folder)?;
    let image = Image::marked("bench")?;
    registry.push_image("bench", "latest", &image)?;
    let address = registry.address();
    let signed = format!("{address}/bench@{}", Subject::from(&image).digest);
    cosign.sign(Edition::V3, Form::Bundle, key, &signed, &[])?;
    let tag = format!("{address}/bench:latest");
    let ours = || ours(folder, address, &key.public_key, &tag);
    let theirs = || cosign.verify_command(Edition::V3, &key.public_key, &tag);
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        our_times.push(timed(&mut ours()?)?);
        their_times.push(timed(&mut theirs())?);
    }
    let (mut our_memory, mut their_memory) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        our_memory.push(kilobytes(&ours()?, folder)?);
        their_memory.push(kilobytes(&theirs(), folder)?);
    }
    let cosign = |figures| ("cosign", median(figures));
    let wall = beside(name, "ms", median(our_times), cosign(their_times), TARGET)?;
    let memory = beside(name, "kB", median(our_memory), cosign(their_memory), TARGET)?;
    Ok(wall && memory)
}

fn ours(folder: &Path, address: &str, key: &Path, tag: &str) -> anyhow::Result<Command> {
    let (config, policy): (PathBuf, PathBuf) =
        (folder.join("config.toml"), folder.join("policy.yaml"));
    std::fs::write(
        &config,
        format!("[registry.\"{address}\"]\nsecurity = \"plain-http\"\n"),
    )?;
    std::fs::write(&policy, format!("keys:\n  - path: {}\n", key.display()))?;
    let mut schedctl = Command::new(program()?);
    schedctl.env_clear().arg("--config").arg(config);
    schedctl
        .args(["verify", "--trust-policy"])
        .arg(policy)
        .arg(tag);
    Ok(schedctl)
}
