//! `enable` and what a boot then finds, with folders of the test in place of `/etc` and `/run`. Links
//! are made by the real systemctl; its requests to a running systemd are answered by a script.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::Output;
use crate::bad_input::this_architecture;
use crate::fake_podman::FakePodman;
use crate::registry::{RegistryFixture, SIGNER, STRANGER};

const UNITS: &str = "etc/systemd/system";
const KEPT: &str = "etc/schedctl/enabled";
const FAILURE: &str = "run/schedctl/boot-failure.json";
const ATTACHED: &str = "ActiveState=active\nConditionResult=yes\nStatusText=the kernel has it\n";

/// `FOLDER/fail-VERB` makes a change of links fail, `FOLDER/slow` makes each take a while.
const SYSTEMCTL: &str = "#!/bin/sh
case $1 in
--root)
  [ -e FOLDER/slow ] && sleep 0.5
  [ -e FOLDER/fail-$3 ] && { echo 'no space left' >&2; exit 1; }
  exec /usr/bin/systemctl \"$@\" ;;
show) cat FOLDER/shown ;;
esac
";

pub(crate) struct Machine {
    pub(crate) registry: RegistryFixture,
    _podman: FakePodman,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let registry = RegistryFixture::new();
        let fixture = &registry.fixture;
        registry.trusting(SIGNER);
        // Both names lead to one image, whose title is one of them.
        let policy = "version: 2\nsigners: {us: {key: key.pem}}\nrules: [{scope: '*', signers: [us], title: any}]\n";
        fixture.write("policy.yaml", policy);
        let (host, digest) = (&registry.server.address, &registry.digest);
        let image = |name: &str| json!({"imageURI": format!("{host}/team/{name}:1.0")});
        let catalog = json!({
            "scx_one": image("one"), "quick": image("one"), "zippy": image("bare"),
        });
        fixture.write("catalog.json", &catalog.to_string());
        for folder in ["bin", UNITS, KEPT, "run/systemd/system"] {
            fs::create_dir_all(fixture.path(folder)).unwrap();
        }
        let folder = fixture.path("");
        let script = SYSTEMCTL.replace("FOLDER/", &folder.display().to_string());
        let script = fixture.write("bin/systemctl", &script);
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        fixture.write("shown", ATTACHED);
        let stored = |name: &str| {
            json!({
                "Id": "0123", "Os": "linux", "Architecture": this_architecture(),
                "RepoDigests": [format!("{host}/team/{name}@{digest}")],
            })
        };
        let (stored, list) = (
            stored("one").to_string(),
            json!([stored("bare")]).to_string(),
        );
        let podman =
            FakePodman::listen(&fixture.path("podman.sock"), move |request| match request {
                _ if request.contains("/images/json") => (200, list.clone()),
                _ if request.contains("/images/") => (200, stored.clone()),
                _ if request.contains("/containers/json") => (200, "[]".to_owned()),
                _ => (200, "OK".to_owned()),
            });
        Self {
            registry,
            _podman: podman,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.registry.fixture.path(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn spawn(&self, args: &str) -> Child {
        let fixture = &self.registry.fixture;
        let script = "mount --bind \"$0/etc\" /etc && mount --bind \"$0/run\" /run && exec \"$@\"";
        let folder = fixture.path("");
        let path = format!("{}/bin:/usr/bin:/bin", folder.display());
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .arg(&folder)
            .arg(fixture.command().get_program())
            .args(["--socket", "podman.sock"])
            .args(args.split(' '))
            .current_dir(&folder)
            .env("PATH", path)
            .env("SCHEDCTL_CONFIG", fixture.path("config.toml"))
            .env("SCHEDCTL_CATALOG", fixture.path("catalog.json"))
            .env("SCHEDCTL_CACHE", fixture.path("cache"))
            .env("SCHEDCTL_STATE", fixture.path("state"))
            .env("SCHEDCTL_TRUST_POLICY", fixture.path("policy.yaml"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn run(&self, args: &str) -> Output {
        end(self.spawn(args))
    }

    #[track_caller]
    pub(crate) fn expect(&self, code: i32, args: &str) -> Output {
        let output = self.run(args);
        assert_eq!(output.code, code, "{args}: {}{}", output.out, output.err);
        output
    }

    /// The schedulers with a link in a target's folder.
    fn linked(&self) -> Vec<String> {
        let targets = fs::read_dir(self.path(UNITS)).unwrap().flatten();
        let targets = targets.filter(|target| target.path().is_dir());
        let links = targets.flat_map(|target| names(&target.path()));
        let links = links.filter_map(|link| scheduler(&link, ".service"));
        links.collect()
    }

    /// The schedulers with a file from which their unit starts.
    fn kept(&self) -> Vec<String> {
        let files = names(&self.path(KEPT)).into_iter();
        let kept = files.filter_map(|file| scheduler(&file, ".service.json"));
        kept.collect()
    }

    fn failure(&self) -> Option<Value> {
        let text = fs::read_to_string(self.path(FAILURE)).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }

    fn save_failure(&self, boot_id: &str) {
        let failure = json!({
            "scheduler": "scx_one", "reason": "the disk is full", "at": "2026-01-02T03:04:05Z",
            "boot_id": boot_id,
        });
        self.write(FAILURE, &failure.to_string());
        let folder = self.path("run/schedctl");
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

fn end(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    Output {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn scheduler(file: &str, suffix: &str) -> Option<String> {
    let name = file.strip_prefix("schedctl@")?.strip_suffix(suffix)?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[test]
fn a_failed_enable_leaves_what_was_enabled_before() {
    let machine = Machine::new();
    machine.expect(0, "enable scx_one");
    let unit = "etc/schedctl/enabled/schedctl@scx_one.service.json";
    let before = fs::read_to_string(machine.path(unit)).unwrap();
    for verb in ["enable", "disable"] {
        let fail = format!("fail-{verb}");
        machine.write(&fail, "");
        let output = machine.expect(1, "enable quick -- --fast");
        assert!(output.err.contains("no space left"), "{}", output.err);
        fs::remove_file(machine.path(&fail)).unwrap();
        assert_eq!(machine.linked(), ["scx_one"], "{verb}");
        assert_eq!(machine.kept(), ["scx_one"], "{verb}");
        assert_eq!(fs::read_to_string(machine.path(unit)).unwrap(), before);
    }
    machine.write("fail-enable", "");
    machine.expect(1, "enable scx_one -- --fast");
    assert_eq!(fs::read_to_string(machine.path(unit)).unwrap(), before);
    assert_eq!(machine.linked(), ["scx_one"]);
}

#[test]
fn of_two_that_enable_at_once_one_is_enabled_in_the_end() {
    let machine = Machine::new();
    machine.write("slow", "");
    let both = ["scx_one", "quick"].map(|name| machine.spawn(&format!("enable {name}")));
    for output in both.map(end) {
        assert_eq!(output.code, 0, "{}", output.err);
    }
    assert_eq!(machine.linked().len(), 1, "{:?}", machine.linked());
    assert_eq!(machine.kept(), machine.linked());
}

#[test]
fn a_unit_of_any_target_is_disabled() {
    let machine = Machine::new();
    machine.expect(0, "enable scx_one");
    let link = format!("{UNITS}/graphical.target.requires/schedctl@scx_old.service");
    machine.write(&format!("{UNITS}/graphical.target.requires/x.service"), "");
    symlink("/etc/systemd/system/schedctl@.service", machine.path(&link)).unwrap();
    let output = machine.expect(0, "enable scx_one -o json");
    assert_eq!(
        output.json()["disabled"],
        json!(["schedctl@scx_old.service"])
    );
    assert_eq!(machine.linked(), ["scx_one"]);
}

/// As `enable` of a machine whose kernel has no sched_ext: `systemctl start` succeeds.
#[test]
fn a_unit_that_systemd_skips_is_not_said_to_run() {
    let machine = Machine::new();
    for (shown, part) in [
        (
            "ActiveState=inactive\nConditionResult=no\nStatusText=\nExecMainStatus=0\n",
            "did not start: systemd skipped it",
        ),
        (
            "ActiveState=activating\nConditionResult=yes\nStatusText=no registry\nExecMainStatus=1\n",
            "did not start: no registry",
        ),
        ("", "whether it runs is unknown"),
    ] {
        machine.write("shown", shown);
        let output = machine.expect(1, "enable scx_one --now");
        assert!(output.err.contains(part), "{shown}: {}", output.err);
        assert!(
            !output.out.contains("the kernel runs it now"),
            "{}",
            output.out
        );
        assert_eq!(machine.linked(), ["scx_one"]);
    }
    machine.write("shown", ATTACHED);
    let output = machine.expect(0, "enable scx_one --now");
    assert!(
        output.out.contains("the kernel runs it now"),
        "{}",
        output.out
    );
}

#[test]
fn the_image_that_is_pinned_for_the_boot_is_not_pruned() {
    let machine = Machine::new();
    machine.write(
        &format!(
            "cache/pulled/{}",
            &machine.registry.digest["sha256:".len()..]
        ),
        "",
    );
    let removed = || {
        let output = machine.expect(0, "prune --dry-run -o json");
        output.json()["images"].as_array().unwrap().len()
    };
    assert_eq!(removed(), 1);
    machine.expect(0, "enable zippy --allow-unsigned");
    assert_eq!(removed(), 0);
    // Nothing is removed while it is unknown what is pinned.
    machine.write(&format!("{KEPT}/schedctl@zippy.service.json"), "{");
    let output = machine.expect(1, "prune --force");
    assert!(
        output.err.contains("was not written by this schedctl"),
        "{}",
        output.err
    );
}

#[test]
fn an_older_failure_of_the_unit_is_forgotten() {
    let machine = Machine::new();
    machine.save_failure("another boot");
    let warned = || machine.run("status").err.contains("the disk is full");
    assert!(!warned());
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    machine.save_failure(boot.trim());
    assert!(warned());
    machine.expect(0, "enable scx_one");
    assert_eq!(machine.failure(), None);
    assert!(!warned());
}

#[test]
fn status_has_the_reason_when_the_unit_fails_early() {
    let machine = Machine::new();
    machine.write(&format!("{KEPT}/schedctl@scx_one.service.json"), "{");
    machine.expect(1, "run --attach --enabled scx_one");
    let failure = machine.failure().unwrap();
    assert_eq!(failure["scheduler"], "scx_one");
    let reason = failure["reason"].as_str().unwrap();
    assert!(
        reason.contains("was not written by this schedctl"),
        "{reason}"
    );
    let status = machine.run("status");
    assert!(status.err.contains(reason), "{}", status.err);
    // An edited unit.
    machine.expect(1, "run --attach --enabled scx_two --bogus");
    let failure = machine.failure().unwrap();
    assert_eq!(failure["scheduler"], "scx_two");
    let reason = failure["reason"].as_str().unwrap();
    assert!(reason.contains("unexpected argument '--bogus'"), "{reason}");
}

#[test]
fn the_verdict_for_the_boot_is_the_last_to_make_room() {
    let machine = Machine::new();
    machine.expect(0, "enable scx_one");
    let verdicts = machine.path("state/verdicts");
    let [of_the_boot] = &names(&verdicts)[..] else {
        panic!("one verdict")
    };
    for number in 0..100 {
        machine.write(&format!("state/verdicts/{number}.json"), "{}");
    }
    machine.write("stranger.pem", STRANGER);
    machine.write(
        "both.yaml",
        "keys:\n  - path: key.pem\n  - path: stranger.pem\n",
    );
    machine.expect(0, "pull scx_one --trust-policy both.yaml");
    let left = names(&verdicts);
    assert_eq!(left.len(), 64);
    assert!(left.contains(of_the_boot), "{left:?}");
}

#[test]
fn root_does_not_believe_a_policy_that_others_may_write_to() {
    let machine = Machine::new();
    let mode = |name: &str, mode: u32| {
        fs::set_permissions(machine.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let verify = "verify scx_one --trust-policy policy.yaml";
    machine.expect(0, verify);
    for (name, loose, tight) in [
        ("policy.yaml", 0o664, 0o644),
        ("key.pem", 0o646, 0o600),
        ("", 0o777, 0o700),
    ] {
        mode(name, loose);
        let output = machine.expect(1, verify);
        let part = "can be changed by others than root";
        assert!(output.err.contains(part), "{name}: {}", output.err);
        mode(name, tight);
        machine.expect(0, verify);
    }
    // As `/tmp`: nobody can replace the files of others.
    mode("", 0o1777);
    machine.expect(0, verify);
}
