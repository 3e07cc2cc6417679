//! Every check passes on a machine without problems, and fails on one with a single problem.

#![cfg(test)]

use std::path::Path;

use schedkit_core::{CheckStatus, Finding, Severity, Summary};
use schedkit_host::capabilities::Capabilities;
use schedkit_host::command_line::CommandLine;
use schedkit_host::kconfig::{ConfigSource, KernelConfig};
use schedkit_host::kernel::BpfJit;
use schedkit_host::lockdown::Lockdown;
use schedkit_host::other_managers::OtherManager;
use schedkit_host::preflight::{
    ImageRequirements, MinKernel, Reachability, Requirements, Socket, examine, kernel_gaps,
};
use schedkit_host::tracefs::TraceMounts;
use schedkit_host::{Architecture, Fact, HostRoot, HostSnapshot};

/// Those of the documented interface first.
const SEVERITIES: &[(&str, Severity)] = &[
    ("kernel.version", Severity::Error),
    ("kernel.sched_ext", Severity::Error),
    ("kernel.btf", Severity::Error),
    ("kernel.config", Severity::Error),
    ("caps.cap_bpf", Severity::Error),
    ("caps.cap_sys_admin", Severity::Error),
    ("caps.cap_perfmon", Severity::Error),
    ("runtime.podman_socket", Severity::Warn),
    ("runtime.containerd_socket", Severity::Warn),
    ("runtime.any", Severity::Error),
    ("kernel.config_file", Severity::Warn),
    ("kernel.bpf_jit", Severity::Warn),
    ("kernel.lockdown", Severity::Warn),
    ("kernel.tracefs", Severity::Warn),
    ("kernel.preempt_rt", Severity::Info),
    ("cpu.isolcpus", Severity::Warn),
    ("cpu.nohz_full", Severity::Info),
    ("scheduler.rivals", Severity::Warn),
    ("scheduler.attached", Severity::Info),
    ("image.kernel", Severity::Error),
    ("image.architecture", Severity::Error),
];

fn machine(name: &str) -> HostSnapshot {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    HostSnapshot::read(&HostRoot::at(fixtures.join(name)))
}

fn socket(path: &str, reachability: Reachability) -> Socket {
    Socket {
        path: path.to_owned(),
        reachability,
    }
}

fn refused() -> Reachability {
    Reachability::Unreachable("connection refused".to_owned())
}

/// All requirements, met by `ready-idle`.
fn requirements() -> Requirements {
    Requirements {
        podman: socket("/run/podman/podman.sock", Reachability::Reachable),
        containerd: socket("/run/containerd/containerd.sock", Reachability::Reachable),
        image: Some(ImageRequirements {
            min_kernel: MinKernel::parse("6.18"),
            architectures: vec![Architecture::Arm64, Architecture::Amd64],
        }),
    }
}

fn failed(findings: &[Finding]) -> Vec<&'static str> {
    let failed = findings
        .iter()
        .filter(|finding| finding.status == CheckStatus::Fail);
    failed.map(|finding| finding.id).collect()
}

fn config(source: ConfigSource, without: &str) -> Fact<KernelConfig> {
    let lines = "CONFIG_BPF=y\nCONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_DEBUG_INFO_BTF=y\nCONFIG_SCHED_CLASS_EXT=y\n";
    let kept: Vec<&str> = lines.lines().filter(|line| *line != without).collect();
    Fact::Known(KernelConfig::parse(source, &kept.join("\n")).unwrap())
}

fn capabilities(mask: u64) -> Fact<Capabilities> {
    Fact::Known(Capabilities::parse(&format!("CapEff:\t{mask:016x}\n")).unwrap())
}

#[test]
fn a_ready_machine_passes_everything_in_order() {
    let findings = examine(&machine("ready-idle"), &requirements());
    let made: Vec<_> = findings
        .iter()
        .map(|finding| (finding.id, finding.severity))
        .collect();
    assert_eq!(made, SEVERITIES);
    for finding in &findings {
        assert_eq!(finding.status, CheckStatus::Pass, "{finding:?}");
        assert_eq!(finding.remediation, None, "{finding:?}");
    }
    assert_eq!(Summary::of(&findings).passed, SEVERITIES.len());
}

#[test]
fn gaps_of_a_kernel_are_what_is_missing_and_not_what_may_not_be_read() {
    let gaps = |snapshot: &HostSnapshot| {
        let gaps = kernel_gaps(snapshot).into_iter();
        gaps.map(|gap| gap.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(gaps(&machine("ready-idle")), Vec::<String>::new());
    let mut snapshot = machine("no-btf");
    assert_eq!(gaps(&snapshot), ["kernel.btf", "kernel.config"]);
    snapshot.btf = Fact::Unreadable("permission denied".to_owned());
    assert_eq!(gaps(&snapshot), ["kernel.config"]);
}

#[test]
fn without_an_image_its_checks_are_left_out() {
    let requirements = Requirements {
        image: None,
        ..requirements()
    };
    let findings = examine(&machine("ready-idle"), &requirements);
    assert!(
        findings
            .iter()
            .all(|finding| !finding.id.starts_with("image."))
    );
    assert_eq!(findings.len(), SEVERITIES.len() - 2);
}

type Break = fn(&mut HostSnapshot, &mut Requirements);

/// A change of the machine, and the checks that fail because of it.
const BREAKS: &[(Break, &[&str])] = &[
    (
        |host, requirements| {
            host.kernel.release = Fact::Known("6.11.9".parse().unwrap());
            requirements.image = None;
        },
        &["kernel.version"],
    ),
    (
        |host, _| host.sched_ext = Fact::Absent,
        &["kernel.sched_ext"],
    ),
    (|host, _| host.btf = Fact::Absent, &["kernel.btf"]),
    (
        |host, _| host.btf = Fact::Malformed("it is empty".to_owned()),
        &["kernel.btf"],
    ),
    (
        |host, _| host.config = config(ConfigSource::Proc, "CONFIG_BPF=y"),
        &["kernel.config"],
    ),
    (
        |host, _| host.config = config(ConfigSource::Proc, "CONFIG_BPF_SYSCALL=y"),
        &["kernel.config"],
    ),
    (
        |host, _| host.config = config(ConfigSource::Proc, "CONFIG_BPF_JIT=y"),
        &["kernel.config"],
    ),
    (
        |host, _| host.config = config(ConfigSource::Proc, "CONFIG_DEBUG_INFO_BTF=y"),
        &["kernel.config"],
    ),
    (
        |host, _| host.config = config(ConfigSource::Proc, "CONFIG_SCHED_CLASS_EXT=y"),
        &["kernel.config"],
    ),
    (
        |host, _| host.capabilities = capabilities(!(1 << 39)),
        &["caps.cap_bpf"],
    ),
    (
        |host, _| host.capabilities = capabilities(!(1 << 21)),
        &["caps.cap_sys_admin"],
    ),
    (
        |host, _| host.capabilities = capabilities(!(1 << 38)),
        &["caps.cap_perfmon"],
    ),
    (
        |_, requirements| requirements.podman.reachability = refused(),
        &["runtime.podman_socket"],
    ),
    (
        |_, requirements| requirements.containerd.reachability = refused(),
        &["runtime.containerd_socket"],
    ),
    (
        |_, requirements| {
            requirements.podman.reachability = refused();
            requirements.containerd.reachability = refused();
        },
        &[
            "runtime.podman_socket",
            "runtime.containerd_socket",
            "runtime.any",
        ],
    ),
    (
        |host, _| host.config = config(ConfigSource::Modules("6.18.15".parse().unwrap()), ""),
        &["kernel.config_file"],
    ),
    (
        |host, _| host.config = Fact::Absent,
        &["kernel.config_file"],
    ),
    (
        |host, _| host.kernel.bpf_jit = Fact::Known(BpfJit::Off),
        &["kernel.bpf_jit"],
    ),
    (
        |host, _| host.lockdown = Fact::Known(Lockdown::Confidentiality),
        &["kernel.lockdown"],
    ),
    (
        |host, _| host.trace_mounts = Fact::Known(TraceMounts::default()),
        &["kernel.tracefs"],
    ),
    (
        |host, _| host.kernel.realtime = Fact::Known(true),
        &["kernel.preempt_rt"],
    ),
    (
        |host, _| host.command_line = Fact::Known(CommandLine::parse("isolcpus=2-3")),
        &["cpu.isolcpus"],
    ),
    (
        |host, _| host.command_line = Fact::Known(CommandLine::parse("nohz_full=2-3")),
        &["cpu.nohz_full"],
    ),
    (
        |host, _| {
            host.other_managers = vec![OtherManager::Process {
                pid: 640,
                name: "scx_loader",
            }];
        },
        &["scheduler.rivals"],
    ),
    (
        |host, _| host.sched_ext = machine("ready-attached").sched_ext,
        &["scheduler.attached"],
    ),
    (
        |_, requirements| {
            requirements.image.as_mut().unwrap().min_kernel = MinKernel::parse("6.18.16");
        },
        &["image.kernel"],
    ),
    (
        |_, requirements| {
            requirements.image.as_mut().unwrap().architectures = vec![Architecture::Arm64];
        },
        &["image.architecture"],
    ),
];

#[test]
fn every_check_fails_alone_and_has_a_remedy() {
    for (number, (breaks, expected)) in BREAKS.iter().enumerate() {
        let (mut host, mut requirements) = (machine("ready-idle"), requirements());
        breaks(&mut host, &mut requirements);
        let findings = examine(&host, &requirements);
        assert_eq!(failed(&findings), *expected, "number {number}");
        for finding in findings.iter().filter(|f| f.status == CheckStatus::Fail) {
            let remedy = finding.remediation.as_deref().unwrap_or_default();
            assert!(
                !remedy.is_empty() && !finding.detail.is_empty(),
                "{finding:?}"
            );
        }
    }
    for (id, _) in SEVERITIES {
        let broken = BREAKS.iter().any(|(_, expected)| expected.contains(id));
        assert!(broken, "{id} never fails");
    }
}

#[test]
fn a_failure_names_what_was_observed() {
    let find = |name: &str, id: &str| {
        let findings = examine(&machine(name), &requirements());
        let found = findings.into_iter().find(|finding| finding.id == id);
        found.unwrap()
    };
    for (name, id, detail) in [
        (
            "ready-attached",
            "scheduler.attached",
            "bpfland_1.1.4_x86_64_unknown_linux_gnu is attached",
        ),
        (
            "no-sched-ext",
            "kernel.sched_ext",
            "/sys/kernel/sched_ext is not there",
        ),
        (
            "no-sched-ext",
            "kernel.config",
            "CONFIG_SCHED_CLASS_EXT not set in /lib/modules/6.12.48+deb13-amd64/config",
        ),
        (
            "no-sched-ext",
            "image.kernel",
            "6.12.48+deb13-amd64; the image needs 6.18 or newer",
        ),
        (
            "no-btf",
            "kernel.btf",
            "/sys/kernel/btf/vmlinux is not there",
        ),
        (
            "malformed",
            "image.architecture",
            "this machine is vax; the image was made for arm64, amd64",
        ),
        (
            "all-warnings",
            "scheduler.rivals",
            "scx.service, scx_loader (pid 640): may attach or detach a scheduler at any time",
        ),
        (
            "all-warnings",
            "kernel.tracefs",
            "neither is mounted; some schedulers, such as scx_lavd, do not start without",
        ),
        (
            "all-warnings",
            "cpu.isolcpus",
            "isolcpus=managed_irq,2-3: most schedulers use these processors all the same",
        ),
    ] {
        let finding = find(name, id);
        assert_eq!(finding.status, CheckStatus::Fail, "{name} {id}");
        assert_eq!(finding.detail, detail, "{name}");
    }
}

#[test]
fn whether_a_scheduler_is_attached_is_never_guessed() {
    let mut nameless = machine("ready-attached");
    if let Fact::Known(sched_ext) = &mut nameless.sched_ext {
        sched_ext.ops = Fact::Absent;
    }
    for (host, status) in [
        (machine("ready-idle"), CheckStatus::Pass),
        (machine("ready-attached"), CheckStatus::Fail),
        (nameless, CheckStatus::Fail),
        (machine("partial"), CheckStatus::Skip),
        (machine("malformed"), CheckStatus::Skip),
        (machine("unreadable"), CheckStatus::Skip),
        (machine("no-sched-ext"), CheckStatus::Skip),
    ] {
        let findings = examine(&host, &requirements());
        let found = findings.iter().find(|one| one.id == "scheduler.attached");
        assert_eq!(found.unwrap().status, status, "{found:?}");
    }
}

#[test]
fn all_warnings_together_do_not_block() {
    let findings = examine(&machine("all-warnings"), &requirements());
    assert_eq!(
        failed(&findings),
        [
            "kernel.bpf_jit",
            "kernel.lockdown",
            "kernel.tracefs",
            "kernel.preempt_rt",
            "cpu.isolcpus",
            "cpu.nohz_full",
            "scheduler.rivals",
        ]
    );
    assert_eq!(Summary::of(&findings).blocking, 0);
}

/// Unknown values are skipped with a reason; what schedulers cannot read either fails.
#[test]
fn an_unreadable_machine_does_not_fail_as_a_whole() {
    let unspecified = Requirements {
        podman: socket("/run/podman/podman.sock", Reachability::NotChecked),
        containerd: socket("/run/containerd/containerd.sock", Reachability::NotChecked),
        image: Some(ImageRequirements {
            min_kernel: MinKernel::Unspecified,
            architectures: Vec::new(),
        }),
    };
    let findings = examine(&machine("unreadable"), &unspecified);
    assert_eq!(
        failed(&findings),
        ["kernel.btf", "kernel.config_file"],
        "sched_ext's folder is there; BTF and configuration cannot be read by schedulers either"
    );
    for finding in &findings {
        assert!(!finding.detail.is_empty(), "{finding:?}");
    }
    let skipped = Summary::of(&findings).skipped;
    assert_eq!(skipped, SEVERITIES.len() - 2 - 2, "{findings:?}");
    let malformed = Requirements {
        image: Some(ImageRequirements {
            min_kernel: MinKernel::parse("the newest"),
            architectures: vec![Architecture::Amd64],
        }),
        ..unspecified
    };
    let findings = examine(&machine("ready-idle"), &malformed);
    assert_eq!(failed(&findings), [] as [&str; 0]);
}
