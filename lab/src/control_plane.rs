//! Starts etcd, the API server, the controller manager and the scheduler of one lab.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::kwok;
use crate::network::{self, API};
use crate::parts::kube::KubeBinaries;
use crate::pki::{self, Identity, Pki, PkiError};
use crate::service::{Service, ServiceError};
use crate::state::State;

const ETCD: &str = "http://127.0.0.1:2379";
const PEER: &str = "http://127.0.0.1:2380";

/// Long, because emulated nodes boot on the same processors meanwhile.
const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Pki(#[from] PkiError),
    #[error("cannot write the configuration of the control plane: check that the disk is not full")]
    Io(#[from] io::Error),
}

/// Starts all four, and kwok if its program is given. Waits until the API server reports ready and
/// the others listen. `outside` is the API server's URL on this machine's loopback.
pub fn start(
    state: &State,
    kube: &KubeBinaries,
    pki: &Pki,
    outside: &str,
    kwok: Option<&Path>,
) -> Result<Vec<Service>, ControlPlaneError> {
    let inside = format!("https://{API}");
    let admin = pki.client("admin", "admin", "system:masters")?;
    write_kubeconfig(&state.path("kubeconfig"), outside, pki, &admin)?;
    let etcd = start_etcd(state, kube)?;
    let load = Load::of(kwok);
    let mut api_server = start_api_server(state, kube, pki, load)?;
    let (kubectl, config) = (kube.program("kubectl"), state.path("kubeconfig"));
    let server = inside.clone();
    let readyz = move || {
        network::without_proxies(&kubectl)
            .arg("--kubeconfig")
            .arg(&config)
            .args([
                "--server",
                &server,
                "--request-timeout=2s",
                "get",
                "--raw",
                "/readyz",
            ])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    api_server.ready_when(TIMEOUT, move || listens(API) && readyz())?;
    let mut controller_manager = start_controller_manager(state, kube, pki, &inside, load)?;
    let mut scheduler = start_scheduler(state, kube, pki, &inside, load)?;
    let local = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    controller_manager.ready_when(TIMEOUT, move || listens(local(10257)))?;
    scheduler.ready_when(TIMEOUT, move || listens(local(10259)))?;
    let mut services = vec![etcd, api_server, controller_manager, scheduler];
    if let Some(program) = kwok {
        let config = state.path("kubeconfig");
        let command = kwok::command(state, program, &inside, &config)?;
        services.push(Service::start("kwok", command, state.log("kwok"))?);
    }
    Ok(services)
}

/// Which flags the programs get besides their own. With thousands of simulated nodes the default
/// rate limits would take minutes, and on two processors heartbeats come late, so the controllers
/// that mark and evict such nodes are off.
#[derive(Clone, Copy)]
enum Load {
    Default,
    SimulatedNodes,
}

impl Load {
    fn of(kwok: Option<&Path>) -> Self {
        kwok.map_or(Self::Default, |_| Self::SimulatedNodes)
    }

    fn client_flags(self) -> &'static [&'static str] {
        match self {
            Self::Default => &[],
            Self::SimulatedNodes => &["--kube-api-qps=1000", "--kube-api-burst=1000"],
        }
    }

    /// No controller would remove the taint of a new node.
    fn api_server_flags(self) -> &'static [&'static str] {
        match self {
            Self::Default => &[],
            Self::SimulatedNodes => &["--disable-admission-plugins=TaintNodesByCondition"],
        }
    }

    fn controller_flags(self) -> &'static [&'static str] {
        match self {
            Self::Default => &[],
            Self::SimulatedNodes => {
                &["--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"]
            }
        }
    }
}

fn listens(address: SocketAddrV4) -> bool {
    TcpStream::connect_timeout(&SocketAddr::V4(address), Duration::from_secs(1)).is_ok()
}

fn start_etcd(state: &State, kube: &KubeBinaries) -> Result<Service, ControlPlaneError> {
    let mut etcd = network::without_proxies(kube.program("etcd"));
    etcd.arg("--data-dir")
        .arg(state.path("etcd"))
        .args(["--unsafe-no-fsync", "--log-level=error"]);
    etcd.args([
        "--listen-client-urls",
        ETCD,
        "--advertise-client-urls",
        ETCD,
    ]);
    etcd.args([
        "--listen-peer-urls",
        PEER,
        "--initial-advertise-peer-urls",
        PEER,
    ]);
    etcd.args(["--initial-cluster", &format!("default={PEER}")]);
    Ok(Service::start("etcd", etcd, state.log("etcd"))?)
}

fn start_api_server(
    state: &State,
    kube: &KubeBinaries,
    pki: &Pki,
    load: Load,
) -> Result<Service, ControlPlaneError> {
    let server = pki.api_server()?;
    let to_kubelets = pki.client("api-server-to-kubelet", "api-server", "system:masters")?;
    let authority = pki.authority();
    let mut command = network::without_proxies(kube.program("kube-apiserver"));
    command.args([
        &format!("--etcd-servers={ETCD}"),
        "--bind-address=0.0.0.0",
        &format!("--secure-port={}", API.port()),
        &format!("--advertise-address={}", network::HOST),
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--kubelet-preferred-address-types=InternalIP",
    ]);
    command.args(load.api_server_flags());
    for (flag, file) in [
        ("tls-cert-file", &server.certificate),
        ("tls-private-key-file", &server.key),
        ("client-ca-file", &authority),
        ("kubelet-certificate-authority", &authority),
        ("kubelet-client-certificate", &to_kubelets.certificate),
        ("kubelet-client-key", &to_kubelets.key),
        (
            "service-account-signing-key-file",
            &pki.service_account_key(),
        ),
        (
            "service-account-key-file",
            &pki.service_account_public_key(),
        ),
    ] {
        command.arg(format!("--{flag}={}", file.display()));
    }
    Ok(Service::start(
        "kube-apiserver",
        command,
        state.log("kube-apiserver"),
    )?)
}

fn start_controller_manager(
    state: &State,
    kube: &KubeBinaries,
    pki: &Pki,
    server: &str,
    load: Load,
) -> Result<Service, ControlPlaneError> {
    let user = pki.client(
        "controller-manager",
        "system:kube-controller-manager",
        "lab",
    )?;
    let config = state.path("controller-manager.kubeconfig");
    write_kubeconfig(&config, server, pki, &user)?;
    let mut command = network::without_proxies(kube.program("kube-controller-manager"));
    command.args([
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--use-service-account-credentials",
    ]);
    command
        .args(load.client_flags())
        .args(load.controller_flags());
    command.arg("--kubeconfig").arg(&config);
    command
        .arg("--service-account-private-key-file")
        .arg(pki.service_account_key());
    command.arg("--root-ca-file").arg(pki.authority());
    Ok(Service::start(
        "kube-controller-manager",
        command,
        state.log("kube-controller-manager"),
    )?)
}

fn start_scheduler(
    state: &State,
    kube: &KubeBinaries,
    pki: &Pki,
    server: &str,
    load: Load,
) -> Result<Service, ControlPlaneError> {
    let user = pki.client("scheduler", "system:kube-scheduler", "lab")?;
    let config = state.path("scheduler.kubeconfig");
    write_kubeconfig(&config, server, pki, &user)?;
    let mut command = network::without_proxies(kube.program("kube-scheduler"));
    command
        .args(["--bind-address=127.0.0.1", "--leader-elect=false"])
        .args(load.client_flags())
        .arg("--kubeconfig")
        .arg(&config);
    Ok(Service::start(
        "kube-scheduler",
        command,
        state.log("kube-scheduler"),
    )?)
}

fn write_kubeconfig(
    path: &Path,
    server: &str,
    pki: &Pki,
    user: &Identity,
) -> Result<(), ControlPlaneError> {
    fs::write(path, pki::kubeconfig(server, &pki.authority(), user)?)?;
    Ok(())
}
