//! The operator under measurement: its process, its memory and its processor time.

use std::fs::{self, File};
use std::path::Path;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::cluster::{BenchCluster, CONCURRENCY};

/// A running operator. Dropping it kills it.
pub struct Operator(Child);

impl Operator {
    /// The program that `SKED` names, with the concurrency of the bare loop beside it.
    pub fn sked(cluster: &BenchCluster) -> anyhow::Result<Self> {
        let sked = std::env::var_os("SKED").context("SKED names no program")?;
        let log = cluster.lab.state().path("sked.log");
        let args = ["manager", &format!("--concurrency={CONCURRENCY}")];
        Self::start(Path::new(&sked), &args, &cluster.kubeconfig()?, &log)
    }

    /// Starts a program with these arguments and those that every operator of this contract
    /// understands. Its output goes to `log`.
    pub fn start(
        program: &Path,
        args: &[&str],
        kubeconfig: &Path,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(args)
            .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .env("KUBECONFIG", kubeconfig);
        Self::run(&mut command, log)
    }

    /// Starts a command. Its output goes to `log`.
    pub fn run(command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(log)?)
            .stderr(File::options().append(true).create(true).open(log)?)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self(child))
    }

    /// Waits for something, and fails as soon as the operator ends.
    pub async fn while_running(
        &mut self,
        wait: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        let mut wait = pin!(wait);
        loop {
            let moment = Duration::from_millis(200);
            if let Ok(done) = tokio::time::timeout(moment, &mut wait).await {
                return done;
            }
            if let Some(status) = self.0.try_wait()? {
                bail!("the operator ended with {status}; see its log");
            }
        }
    }

    /// Its peak memory so far, in MB.
    pub fn peak_megabytes(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|rest| rest.trim().split(' ').next());
        Ok(kilobytes.context("no VmHWM")?.parse::<f64>()? / 1024.0)
    }

    /// The processor time that it used so far.
    pub fn processor(&self) -> anyhow::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        // The second field is a name in parentheses, which may hold anything.
        let (_, rest) = stat.rsplit_once(") ").context("no name in stat")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let (user, system) = (fields[11].parse::<u64>()?, fields[12].parse::<u64>()?);
        // A tick is 10 ms on every Linux that Rust runs on.
        Ok(Duration::from_millis((user + system) * 10))
    }

    /// Sends SIGTERM and expects exit code 0.
    pub fn stop(mut self) -> anyhow::Result<()> {
        let pid = self.0.id().to_string();
        ensure!(Command::new("kill").arg(&pid).status()?.success());
        let status = self.0.wait()?;
        ensure!(status.success(), "the operator ended with {status}");
        Ok(())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
