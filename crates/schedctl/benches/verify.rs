//! `schedctl verify` against `cosign verify` of the same image in the same run: wall time and
//! memory, interleaved, in a registry with the referrers API and in one without. Fails when ours
//! takes more than a fifth of either.

#[path = "shared/figures.rs"]
mod figures;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use figures::{beside, kilobytes, median, program, timed};
use lab::oci::{Image, Registry, Subject};
use lab::signing::{Algorithm, Cosign, Edition, Form};
use lab::{Lab, LabSpec, Topology};

const RUNS: usize = 20;
const TARGET: f64 = 0.2;

fn main() -> anyhow::Result<ExitCode> {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab");
    let order = LabSpec {
        signing: true,
        nodes: 0,
        schedulers: Vec::new(),
        ..LabSpec::new("bench-verify", Topology::Registry, &labs)
    };
    let lab = Lab::up(&order, |_| {})?;
    let running = lab.running();
    let tools = running.tools.as_ref().context("tools were ordered")?;
    let desk = Cosign::open(tools, &lab.state().path("cosign"))?;
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
            &desk,
            &lab.state().path("bench"),
        )?;
    }
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn compare(name: &str, registry: &Registry, desk: &Cosign, folder: &Path) -> anyhow::Result<bool> {
    std::fs::create_dir_all(folder)?;
    let image = Image::marked("bench")?;
    registry.push_image("bench", "latest", &image)?;
    let address = registry.address();
    let signed = format!("{address}/bench@{}", Subject::from(&image).digest);
    let key = desk.key_pair("bench", Algorithm::EcdsaP256)?;
    desk.sign(Edition::V3, Form::Bundle, &key, &signed, &[])?;
    let tag = format!("{address}/bench:latest");
    let ours = || ours(folder, address, &key.public_key, &tag);
    let cosign = || desk.verify_command(Edition::V3, &key.public_key, &tag);
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        our_times.push(timed(&mut ours()?)?);
        their_times.push(timed(&mut cosign())?);
    }
    let (mut our_memory, mut their_memory) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        our_memory.push(kilobytes(&ours()?, folder)?);
        their_memory.push(kilobytes(&cosign(), folder)?);
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
