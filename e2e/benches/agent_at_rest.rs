//! What one agent costs while nothing happens, with the probes of `config/agent`: memory, and
//! processor time of a real core, which an emulated node does not have.
//!
//! `SKED` names the program under test.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use serde_json::json;
use testkit::bench::cluster::BenchCluster;
use testkit::bench::figures::within;
use testkit::bench::operator::Operator;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, interval, sleep};

const AGENTS: &str = "sked-system";
const AGENT: &str = "sked-node-agent";
const NODE: &str = "node-0000";
/// So that its first report is written and its connections are there.
const SETTLED: Duration = Duration::from_secs(60);
const REST: Duration = Duration::from_secs(300);
/// The period of the readiness probe in `config/agent`.
const PROBE: Duration = Duration::from_secs(2);
const MOST_OF_A_CORE: f64 = 0.05;
const MOST_MEGABYTES: f64 = 10.0;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let cluster = BenchCluster::up("bench-agent-at-rest", false).await?;
    let token = cluster.lab.state().path("token");
    std::fs::write(&token, token_of_the_agents_pod(&cluster).await?)?;
    let probes = free_address()?;
    let sked = std::env::var_os("SKED").context("SKED names no program")?;
    let mut command = Command::new(sked);
    command
        .arg("node-agent")
        .arg(format!("--token-file={}", token.display()))
        .arg(format!("--health-probe-bind-address={probes}"))
        .arg(format!("--metrics-bind-address={}", free_address()?))
        .env("KUBECONFIG", cluster.kubeconfig()?);
    let agent = Operator::run(&mut command, &cluster.lab.state().path("agent.log"))?;
    sleep(SETTLED).await;
    let (begin, before) = (Instant::now(), agent.processor()?);
    let mut turns = interval(PROBE);
    while begin.elapsed() < REST {
        turns.tick().await;
        let answer = probe(probes).await?;
        ensure!(answer.contains(" 200 "), "the agent is not ready: {answer}");
    }
    let used = (agent.processor()? - before).as_secs_f64();
    let share = used / begin.elapsed().as_secs_f64() * 100.0;
    let mut met = within("an agent at rest, processor", "%", share, MOST_OF_A_CORE)?;
    met &= within(
        "an agent at rest, memory",
        "MB",
        agent.peak_megabytes()?,
        MOST_MEGABYTES,
    )?;
    agent.stop()?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// An agent reads from it which node it is on.
async fn token_of_the_agents_pod(cluster: &BenchCluster) -> anyhow::Result<String> {
    cluster.namespace(AGENTS).await?;
    let client = &cluster.client;
    let once = PostParams::default();
    let node: Node = serde_json::from_value(json!({"metadata": {"name": NODE}}))?;
    Api::all(client.clone()).create(&once, &node).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), AGENTS);
    let account = serde_json::from_value(json!({"metadata": {"name": AGENT}}))?;
    accounts.create(&once, &account).await?;
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": AGENT},
        "spec": {
            "nodeName": NODE, "serviceAccountName": AGENT,
            "containers": [{"name": "agent", "image": "registry.example/sked:1"}],
        },
    }))?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), AGENTS);
    let pod = pods.create(&once, &pod).await?;
    let bound = json!({"kind": "Pod", "apiVersion": "v1", "name": AGENT, "uid": pod.uid()});
    let request: TokenRequest =
        serde_json::from_value(json!({"spec": {"audiences": [], "boundObjectRef": bound}}))?;
    let granted = accounts.create_token_request(AGENT, &once, &request);
    Ok(granted.await?.status.context("no token")?.token)
}

/// As kubelet does: a new connection each time.
async fn probe(address: SocketAddr) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = "GET /readyz HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn free_address() -> anyhow::Result<SocketAddr> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(free.local_addr()?)
}
