//! etcd, the API server, the controller manager and the scheduler: real ones, for one lab.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::kwok;
use crate::network::{self, API};
use crate::parts::kube::Binaries;
use crate::pki::{self, Identity, Pki, PkiError};
use crate::service::{Service, ServiceError};
use crate::state::State;

const ETCD: &str = "http://127.0.0.1:2379";
const PEER: &str = "http://127.0.0.1:2380";

/// Generous, because emulated nodes boot on the same processors meanwhile.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Why the control plane is not there.
#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    /// One of its programs failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Its certificates failed.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A configuration could not be written.
    #[error("cannot write the configuration of the control plane")]
    Io(#[from] io::Error),
}

/// Starts all four and waits until the API server says it is ready and the others listen.
pub fn start(
    state: &State,
    binaries: &Binaries,
    pki: &Pki,
    outside: &str,
    kwok: Option<&Path>,
) -> Result<Vec<Service>, ControlPlaneError> {
    let inside = format!("https://{API}");
    let admin = pki.client("admin", "admin", "system:masters")?;
    write_kubeconfig(&state.path("kubeconfig"), outside, pki, &admin)?;
    let etcd = start_etcd(state, binaries)?;
    let pace = Pace::of(kwok);
    let mut api_server = start_api_server(state, binaries, pki, pace)?;
    let (kubectl, config) = (binaries.program("kubectl"), state.path("kubeconfig"));
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
    let mut controller_manager = start_controller_manager(state, binaries, pki, &inside, pace)?;
    let mut scheduler = start_scheduler(state, binaries, pki, &inside, pace)?;
    let own = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    controller_manager.ready_when(TIMEOUT, move || listens(own(10257)))?;
    scheduler.ready_when(TIMEOUT, move || listens(own(10259)))?;
    let mut services = vec![etcd, api_server, controller_manager, scheduler];
    if let Some(program) = kwok {
        let config = state.path("kubeconfig");
        services.push(kwok::start(state, program, &inside, &config)?);
    }
    Ok(services)
}

/// How fast the controllers may ask the API server. With thousands of nodes their usual pace takes
/// minutes, and on two processors heartbeats come late: nobody is called lost then.
#[derive(Clone, Copy)]
enum Pace {
    Usual,
    Kwok,
}

impl Pace {
    fn of(kwok: Option<&Path>) -> Self {
        kwok.map_or(Self::Usual, |_| Self::Kwok)
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Usual => &[],
            Self::Kwok => &["--kube-api-qps=1000", "--kube-api-burst=1000"],
        }
    }

    /// Nobody takes the taint of a new node away where kubelets are played.
    fn admission(self) -> &'static [&'static str] {
        match self {
            Self::Usual => &[],
            Self::Kwok => &["--disable-admission-plugins=TaintNodesByCondition"],
        }
    }

    fn timeout(self) -> &'static [&'static str] {
        match self {
            Self::Usual => &[],
            Self::Kwok => {
                &["--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"]
            }
        }
    }
}

fn listens(address: SocketAddrV4) -> bool {
    TcpStream::connect_timeout(&SocketAddr::V4(address), Duration::from_secs(1)).is_ok()
}

fn start_etcd(state: &State, binaries: &Binaries) -> Result<Service, ControlPlaneError> {
    let mut etcd = network::without_proxies(binaries.program("etcd"));
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
    binaries: &Binaries,
    pki: &Pki,
    pace: Pace,
) -> Result<Service, ControlPlaneError> {
    let own = pki.api_server()?;
    let to_kubelets = pki.client("api-server-to-kubelet", "api-server", "system:masters")?;
    let authority = pki.authority();
    let mut command = network::without_proxies(binaries.program("kube-apiserver"));
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
    command.args(pace.admission());
    for (flag, file) in [
        ("tls-cert-file", &own.certificate),
        ("tls-private-key-file", &own.key),
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
    binaries: &Binaries,
    pki: &Pki,
    server: &str,
    pace: Pace,
) -> Result<Service, ControlPlaneError> {
    let who = pki.client(
        "controller-manager",
        "system:kube-controller-manager",
        "lab",
    )?;
    let config = state.path("controller-manager.kubeconfig");
    write_kubeconfig(&config, server, pki, &who)?;
    let mut command = network::without_proxies(binaries.program("kube-controller-manager"));
    command.args([
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--use-service-account-credentials",
    ]);
    command.args(pace.flags()).args(pace.timeout());
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
    binaries: &Binaries,
    pki: &Pki,
    server: &str,
    pace: Pace,
) -> Result<Service, ControlPlaneError> {
    let who = pki.client("scheduler", "system:kube-scheduler", "lab")?;
    let config = state.path("scheduler.kubeconfig");
    write_kubeconfig(&config, server, pki, &who)?;
    let mut command = network::without_proxies(binaries.program("kube-scheduler"));
    command
        .args(["--bind-address=127.0.0.1", "--leader-elect=false"])
        .args(pace.flags())
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
    who: &Identity,
) -> Result<(), ControlPlaneError> {
    fs::write(path, pki::kubeconfig(server, &pki.authority(), who)?)?;
    Ok(())
}
